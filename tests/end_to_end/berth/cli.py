"""What the tests of the berth command share: running the real binary on a state folder of its own."""

import atexit
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BERTH = os.environ["BERTH_BINARY"]
MANIFESTS = Path(__file__).parents[3] / "manifests"
MANIFEST_TESTS = Path(__file__).parents[2] / "manifests"
# No step of these tests takes nearly this long; it only keeps a broken one from hanging.
TIMEOUT_SECONDS = 120

USAGE, INPUT, CONFIGURATION, STATE, PROVIDER = 200, 201, 202, 203, 204
REFUSED, INFRASTRUCTURE, DEADLINE, UNCERTAIN, OUTPUT = 205, 206, 207, 208, 209
READER_GONE, INTERRUPTED, QUIT, TERMINATED, HANGUP = 141, 130, 131, 143, 129


def own_signals():
    """A child starts with the signals' default actions, whatever this process was started with."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def wait_until(condition, what, seconds=TIMEOUT_SECONDS):
    """Waits for something that is bound to happen, and says what did not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain: {what}")


def processes_with(text):
    """Command lines of the living processes that mention `text`."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode("utf-8", "replace")
            if text not in line:
                continue
            state = re.search(r"^State:\s+(\S)", Path("/proc", name, "status").read_text(), re.MULTILINE)
        except OSError:
            continue
        if state and state.group(1) not in "ZX":
            found[int(name)] = line
    return found


class Judge:
    """What knows the published schemas: started once, because it reads and compiles them all."""

    def __init__(self):
        command = ["node", MANIFEST_TESTS / "documents.mjs", os.environ["BERTH_AJV"], MANIFESTS]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.close)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def wrong(self, schema, documents):
        self.process.stdin.write(json.dumps({"schema": schema, "documents": documents}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"what judges documents ended with code {self.process.wait(TIMEOUT_SECONDS)}")
        return json.loads(answer)


@functools.cache
def judge():
    return Judge()


class BerthCase(unittest.TestCase):
    """A test with a folder of its own: state, configuration, programs and saved charts."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="berth-test-"))
        self.addCleanup(self.remove_folder)
        self.state = self.folder / "state"
        self.work = self.folder / "work"
        self.work.mkdir()
        self.running = []
        self.addCleanup(self.end_running)

    def remove_folder(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_running(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None and not stream.closed:
                    stream.close()

    def environment(self, **more):
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        # No keeper outlives a test by chance: there is no such folder unless a test makes it.
        return {**kept, "HOME": str(self.folder), "BERTH_STATE_DIR": str(self.state),
                "XDG_RUNTIME_DIR": str(self.folder / "runtime"), **more}

    def file(self, name, text):
        path = self.work / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return str(path)

    def config(self, value):
        folder = self.folder / ".config" / "berth"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "config.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def start(self, *arguments, environment=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([BERTH, *arguments], cwd=self.work, preexec_fn=own_signals,
                                   env=self.environment(**(environment or {})), **options)
        self.running.append(process)
        return process

    def berth(self, *arguments, expect=0, text=True, **options):
        """Runs to the end, checks the exit code, returns what was printed."""
        data = options.pop("input", None)
        if data is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        data = data.encode() if isinstance(data, str) else data
        out, err = process.communicate(data, timeout=TIMEOUT_SECONDS)
        done = subprocess.CompletedProcess(arguments, process.returncode, out, err)
        if expect is not None:
            self.assertEqual(done.returncode, expect,
                             f"berth {' '.join(arguments)}\n--- stdout\n{(out or b'')[-4000:].decode(errors='replace')}"
                             f"\n--- stderr\n{(err or b'')[-4000:].decode(errors='replace')}")
        if text:
            done.stdout = (out or b"").decode()
            done.stderr = (err or b"").decode()
        return done

    def document(self, *arguments, expect=0, **options):
        """Standard output as the one JSON document it must be."""
        done = self.berth(*arguments, "--json", expect=expect, **options)
        return json.loads(done.stdout)

    def program(self, code, *arguments, name="program.py", **options):
        return self.berth("run", self.file(name, code), *arguments, **options)

    def assert_valid(self, schema, documents):
        """Judges documents by manifests/<schema>.schema.json."""
        self.assertTrue(documents)
        self.assertEqual(judge().wrong(schema, documents), [])

    def receipts(self):
        lines = self.berth("receipts", "--format", "jsonl").stdout.splitlines()
        return [json.loads(line) for line in lines]

    def unresolved(self):
        done = self.berth("intents", "--unresolved", "--json", expect=None)
        return json.loads(done.stdout)["intents"]

    def assert_nothing_left(self, mark=None):
        """No open intent, no sandbox that the provider still knows of, no process that has `mark`."""
        self.assertEqual(self.unresolved(), [])
        report = self.document("reconcile", expect=None)
        self.assertEqual(report["unknown_resources"], [], report)
        if mark:
            wait_until(lambda: not processes_with(mark), f"processes with {mark} end")


def main():
    unittest.main(verbosity=2)
