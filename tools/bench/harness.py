"""Starts what measures, and takes everything away again, however it ends."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

PYTHON = "/usr/bin/python3"
# A process that is asked to end takes its sandboxes along; this is more than it ever needs.
END_SECONDS = 40


class NotMeasured(Exception):
    """A sentence that says why there is no figure."""


def ended_by_signal(number, _frame):
    raise KeyboardInterrupt(number)


def run(command, seconds, **options):
    """Its standard output. It ends with this process, in order when that is interrupted."""
    child = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True, **options)
    try:
        out, problems = child.communicate(timeout=seconds)
    except BaseException as reason:
        end(child)
        if isinstance(reason, subprocess.TimeoutExpired):
            raise NotMeasured(f"it does not end in {seconds} s") from reason
        raise
    if child.returncode != 0:
        said = problems.strip().splitlines()
        raise NotMeasured(said[-1] if said else f"it ended with {child.returncode}")
    return out


def end(child):
    """Asks a process to end, then ends it with all of its group."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=END_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


class Bench:
    """What every measurement is given."""

    def __init__(self, build, quick):
        self.build = build
        self.quick = quick  # sizes that show that it works and nothing more
        self.folder = Path(tempfile.mkdtemp(dir=build, prefix="bench-"))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def size(self, full, quick):
        return quick if self.quick else full

    def sandboxes(self, family, *arguments, prefix=(), seconds=180):
        """The report of one family of berth-bench-sandboxes."""
        program = self.build / "bin/berth-bench-sandboxes"
        return json.loads(run([*prefix, str(program), "--scratch", str(self.folder), family,
                               *map(str, arguments)], seconds))


class Progress:
    """One moving line on a terminal, a line each elsewhere."""

    def __init__(self, total):
        self.total = total
        self.begun = 0
        self.terminal = sys.stderr.isatty()

    def step(self, name):
        self.begun += 1
        text = f"measuring, {self.begun} of {self.total}: {name}"
        if self.terminal:
            print(f"\r{text[:shutil.get_terminal_size().columns - 1]}\033[K", end="", file=sys.stderr,
                  flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
