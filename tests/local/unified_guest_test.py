"""The local provider on a machine with control groups of version 2 alone, and an older kernel.

unified_guest_test.py FILE... -- TEST...

Boots Debian's cloud kernel in an emulated machine whose only file system holds the test binaries, what they
load, and the programs their sandboxes run; the guest runs each TEST as root and as an ordinary user. A FILE is
taken along at its own path. Without qemu or that kernel nothing is tested, which is said.
"""

import glob
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

BOOT_SECONDS = 2400
MEMORY_MIB = 2048

COMMANDS = """bash cat chmod cp cut dash dd echo env false find grep head id ipcmk ipcs ln ls mkdir mkfifo mknod mount
mv printf python3 rm rmdir sed seq setsid sh sleep sort stat switch_root tail tee test timeout touch tr true umount uname
wc yes""".split()

PYTHON_LEFT_OUT = {"test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "pydoc_data", "dist-packages",
                   "__pycache__"}

# The root of a fresh machine cannot be pivoted away from, so everything moves to another one first.
FIRST_STEPS = """#!/bin/sh
export PATH=/usr/bin:/usr/sbin:/bin:/sbin
mount -t proc proc /proc
mount -t tmpfs -o size=75% root /new
for part in /*; do
  case $part in /new | /proc) ;; *) cp -a "$part" /new/ ;; esac
done
mkdir -p /new/proc /new/new
umount /proc
exec switch_root /new /run_tests
"""

PREPARATION = """#!/bin/sh
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/tmp LANG=C.UTF-8 GTEST_COLOR=no
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ulimit -n 20000
python3 - <<'END'
import fcntl, socket, struct
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x49))  # SIOCSIFFLAGS: up, loopback, running
END
run() {
  echo "guest: begin $*"
  timeout 900 "$@" < /dev/null
  echo "guest: end $? $*"
}
"""


def said_absent(what):
    print(f"nothing is tested: {what}")
    sys.exit(0)


def newest_kernel():
    kernels = sorted(glob.glob("/boot/vmlinuz-*-cloud-amd64"))
    if not kernels:
        said_absent("there is no cloud kernel in /boot (package linux-image-cloud-amd64)")
    return kernels[-1]


class Tree:
    """A folder that becomes the guest's file system."""

    def __init__(self, folder):
        self.folder = folder
        self.taken = set()
        for name in ("dev", "etc", "new", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/lib", "usr/lib64", "usr/sbin"):
            os.makedirs(os.path.join(folder, name))
        os.chmod(os.path.join(folder, "tmp"), 0o1777)
        for name in ("bin", "lib", "lib64", "sbin"):
            os.symlink("usr/" + name, os.path.join(folder, name))
        self.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nplain:x:10001:10001::/tmp:/bin/sh\n")
        self.write("etc/group", "root:x:0:\nplain:x:10001:\n")

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def take(self, path):
        """Copies a file to its own path, behind every link on the way, and what it loads."""
        real = os.path.realpath(path)
        if path in self.taken:
            return
        self.taken.add(path)
        inside = os.path.join(self.folder, os.path.realpath(os.path.dirname(path)).lstrip("/"), os.path.basename(path))
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        if os.path.islink(path):
            if not os.path.lexists(inside):
                os.symlink(os.readlink(path), inside)
            self.take(os.path.join(os.path.dirname(path), os.readlink(path)))
            return
        if not os.path.exists(inside):
            shutil.copy2(real, inside)
        loaded = subprocess.run(["ldd", real], capture_output=True, text=True, check=False).stdout
        for word in loaded.split():
            if word.startswith("/"):
                self.take(word)

    def take_python(self):
        for folder in sorted(glob.glob("/usr/lib/python3.1?")):
            for above, folders, files in os.walk(folder):
                folders[:] = [name for name in folders if name not in PYTHON_LEFT_OUT]
                for name in files:
                    path = os.path.join(above, name)
                    if name.endswith(".so"):
                        self.take(path)
                    elif not os.path.islink(path):
                        inside = os.path.join(self.folder, path.lstrip("/"))
                        os.makedirs(os.path.dirname(inside), exist_ok=True)
                        shutil.copy2(path, inside)


def archive(folder, to):
    """The folder as a cpio archive of the kind the kernel unpacks ("newc"), everything owned by root."""
    entries = [""]
    for above, folders, files in os.walk(folder):
        here = os.path.relpath(above, folder)
        entries += [os.path.normpath(os.path.join(here, name)) for name in sorted(folders + files)]
    with open(to, "wb") as out:
        def add(name, mode, data):
            encoded = name.encode() + b"\0"
            fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
            header = b"070701" + b"".join(b"%08X" % field for field in fields)
            out.write(header + encoded + b"\0" * (-(len(header) + len(encoded)) % 4))
            out.write(data + b"\0" * (-len(data) % 4))

        for name in entries[1:]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                add(name, status.st_mode, os.readlink(path).encode())
            elif stat.S_ISDIR(status.st_mode):
                add(name, status.st_mode, b"")
            else:
                with open(path, "rb") as file:
                    add(name, status.st_mode, file.read())
        add("TRAILER!!!", 0, b"")


def build(files, tests, folder):
    tree = Tree(os.path.join(folder, "root-of-guest"))
    for command in COMMANDS:
        found = shutil.which(command, path="/usr/bin:/usr/sbin:/bin:/sbin")
        if found:
            tree.take(found)
    tree.take_python()
    for file in files + [word for test in tests for word in test.split() if os.path.isfile(word)]:
        tree.take(os.path.realpath(file))
    steps = "".join(f"run {test}\n" for test in tests)
    tree.write("init", FIRST_STEPS, 0o755)
    tree.write("run_tests", PREPARATION + steps + "echo 'guest: done'\nsleep 1000\n", 0o755)
    image = os.path.join(folder, "initrd")
    archive(tree.folder, image)
    return image


def boot(qemu, kernel, image):
    """Yields what the guest says, line by line, until it says that it is done, ends, or its time is over."""
    command = [qemu, "-M", "pc", "-accel", "tcg", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MIB), "-nodefaults",
               "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", kernel, "-initrd", image,
               "-append", "console=ttyS0 quiet panic=-1 cgroup_no_v1=all"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as guest:
        too_late = threading.Timer(BOOT_SECONDS, guest.kill)
        too_late.start()
        try:
            for raw in guest.stdout:
                line = raw.decode(errors="replace").rstrip()
                yield line
                if line == "guest: done":
                    break
        finally:
            too_late.cancel()
            guest.kill()


def main(words):
    files, tests = words[: words.index("--")], words[words.index("--") + 1 :]
    qemu = shutil.which("qemu-system-x86_64")
    if platform.machine() != "x86_64":
        said_absent("the guest's kernel is of another architecture")
    if qemu is None:
        said_absent("there is no qemu-system-x86_64 (package qemu-system-x86)")
    kernel = newest_kernel()
    ends = []
    done = False
    with tempfile.TemporaryDirectory(prefix="berth-guest-") as folder:
        for line in boot(qemu, kernel, build(files, tests, folder)):
            print(line, flush=True)
            if line.startswith("guest: end "):
                ends.append(line.split()[2])
            done = done or line == "guest: done"
    if not done or len(ends) != len(tests) or set(ends) != {"0"}:
        print(f"{ends.count('0')} of {len(tests)} tests passed in the guest" + ("" if done else ", which ended early"))
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
