"""What sandboxes are compared with: bubblewrap, crun and podman, each with the same /usr.

crun and podman run in a mount and process namespace of their own. There the unified control group
hierarchy is not mounted, since crun refuses a machine that has both kinds; and whatever they leave
running ends with that namespace.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness import NotMeasured

CGROUPS = Path("/sys/fs/cgroup")
STAGE = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
         "--propagation", "private", "sh", "-c",
         f"if mountpoint -q {CGROUPS}/unified; then umount {CGROUPS}/unified; fi; exec \"$@\"", "stage"]
MEMORY_BYTES = 1 << 30
PROCESSES = 256


def require(*commands):
    missing = [command for command in commands if not shutil.which(command)]
    if missing:
        raise NotMeasured(f"{', '.join(missing)} not installed; tools/bench/run installs what is needed")


def bubblewrap(*command):
    """With every namespace it knows."""
    require("bwrap")
    return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session",
            "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
            "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp", *command]


def make_root(folder):
    """A root whose /usr is the host's once that is mounted there."""
    for name in ("usr", "proc", "dev", "sys", "tmp", "run", "etc", "root"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "hosts", "hostname", "resolv.conf"):
        (folder / "etc" / name).touch()


class Crun:
    """Commands that run a program in a container each. Client start-up is what `--version` takes."""

    def __init__(self, bench, root, cgroup, command, count):
        require("crun", "unshare")
        self.bench = bench
        self.folder = bench.folder / "crun"
        for number in range(count):
            bundle = self.folder / f"bundle-{number}"
            bundle.mkdir(parents=True)
            (bundle / "config.json").write_text(
                json.dumps(self.config(root, f"{cgroup}/crun-{number}", command)), encoding="utf-8")

    @staticmethod
    def config(root, cgroup, command):
        quiet = ["nosuid", "noexec", "nodev"]
        return {
            "ociVersion": "1.0.0",
            "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": command, "cwd": "/tmp",
                        "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": True, "capabilities": {}},
            "root": {"path": str(root), "readonly": True},
            "hostname": "sandbox",
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc", "options": quiet},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
                 "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
                {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["size=512m"]},
                {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]}],
            "linux": {"namespaces": [{"type": kind} for kind in
                                     ("pid", "network", "ipc", "uts", "mount", "cgroup")],
                      "cgroupsPath": cgroup,
                      "resources": {"memory": {"limit": MEMORY_BYTES}, "pids": {"limit": PROCESSES},
                                    "cpu": {"quota": 100_000, "period": 100_000}}}}

    def burst(self, count):
        """Nanoseconds to the first output of each of `count` at once, client start-up included."""
        report = self.bench.sandboxes(
            "commands", "--count", count, "--", "crun", "--root", self.folder / "state", "run",
            "--bundle", self.folder / "bundle-{}", f"berth-bench-{os.getpid()}-{{}}", prefix=STAGE)
        return report["first_output"]

    def client_start(self, count):
        """Nanoseconds to the first output of each of `count` clients at once that do nothing."""
        report = self.bench.sandboxes("commands", "--count", count, "--", "crun", "--version",
                                      prefix=STAGE)
        return report["first_output"]


class Podman:
    """A service that is asked through its socket, so that no client starts at all."""

    def __init__(self, bench, root, cgroup, command):
        require("podman", "conmon", "crun", "unshare")
        self.bench = bench
        # It refuses to run from a folder with a long name.
        self.folder = folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="bench-"))
        self.socket = folder / "socket"
        self.container = {
            "rootfs": str(root), "command": command, "netns": {"nsmode": "none"},
            "cgroup_parent": cgroup, "terminal": False, "log_configuration": {"driver": "none"},
            "mounts": [{"destination": "/usr", "type": "bind", "source": "/usr",
                        "options": ["rbind", "ro"]}],
            # The defaults need a privilege that root does not have everywhere.
            "r_limits": [{"type": "nofile", "soft": 1024, "hard": 4096},
                         {"type": "nproc", "soft": 1000, "hard": 1000}],
            "resource_limits": {"memory": {"limit": MEMORY_BYTES}, "pids": {"limit": PROCESSES},
                                "cpu": {"quota": 100_000, "period": 100_000}}}
        self.log = open(folder / "log", "wb")  # noqa: SIM115
        self.service = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *STAGE, "podman", "--root", folder / "root", "--runroot",
             folder / "run", "--tmpdir", folder / "tmp", "--storage-driver", "vfs", "--cgroup-manager",
             "cgroupfs", "--runtime", "crun", "--events-backend", "none", "system", "service",
             "--time", "0", f"unix://{self.socket}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        until = time.monotonic() + 20
        while not self.socket.exists():
            if time.monotonic() > until or self.service.poll() is not None:
                said = (folder / "log").read_text(encoding="utf-8", errors="replace")[-500:]
                self.close()
                raise NotMeasured(f"podman's service does not start: {said.strip()}")
            time.sleep(0.02)

    def burst(self, count):
        """Nanoseconds to the first output of each of `count` at once."""
        return self.bench.sandboxes("podman", "--socket", self.socket, "--count", count, "--container",
                                    json.dumps(self.container))["first_output"]

    def close(self):
        # Its namespace ends with it, and with that everything that it has started.
        self.service.kill()
        self.service.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_cgroups(name):
    """What an engine leaves of control groups, innermost first."""
    for top in CGROUPS.glob(f"*{name}"):
        for folder, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


@contextlib.contextmanager
def engines(bench, command, count):
    """crun and podman for `command`: {"crun": Crun, "podman": Podman}, and {name: reason} of those
    that cannot be measured."""
    there, absent = {}, {}
    root = bench.folder / "root"
    make_root(root)
    cgroup = f"/berth-bench-{os.getpid()}"
    try:
        for name, make in (("crun", lambda: Crun(bench, root, cgroup, command, count)),
                           ("podman", lambda: Podman(bench, root, cgroup, command))):
            try:
                if os.geteuid() != 0:
                    raise NotMeasured("it is measured as root only")
                there[name] = make()
            except NotMeasured as reason:
                absent[name] = str(reason)
        yield there, absent
    finally:
        if "podman" in there:
            there["podman"].close()
        remove_cgroups(cgroup)
