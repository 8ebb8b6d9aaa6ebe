"""The command line: `berth run` of print(1), whole, beside the bare interpreter and bubblewrap."""

import subprocess
import time
from pathlib import Path

from harness import PYTHON, NotMeasured
from neighbours import bubblewrap
from report import times

PROGRAM = "print(1)"


def timed(command, **options):
    """Nanoseconds until `command` has printed 1 and ended."""
    begun = time.perf_counter_ns()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, **options)
    took = time.perf_counter_ns() - begun
    if done.returncode != 0 or done.stdout != b"1\n":
        raise NotMeasured(f"{' '.join(command)} ended with {done.returncode} and printed {done.stdout!r}: "
                          f"{done.stderr.decode(errors='replace')[-2000:]}")
    return took


def rows_of(samples):
    return [times("print(1) by `berth run`", "ms", samples["berth"], beside=name,
                  beside_samples=samples[name]) for name in ("python3 alone", "bubblewrap")]


def measure(bench):
    program = Path(bench.folder, "one.py")
    program.write_text(PROGRAM + "\n", encoding="utf-8")
    commands = {
        "python3 alone": [PYTHON, "-c", PROGRAM],
        "bubblewrap": bubblewrap(PYTHON, "-c", PROGRAM),
        "berth": [str(bench.build / "bin/berth"), "run", "--quiet", "--state-dir",
                  str(bench.folder / "command-state"), str(program)],
    }
    samples = {name: [] for name in commands}
    for turn in range(bench.size(20, 2) + 1):
        for name, command in commands.items():
            took = timed(command, cwd=bench.folder)
            if turn > 0:  # the first turn warms caches and makes the store
                samples[name].append(took)
    return rows_of(samples)


MEASUREMENTS = [("command: berth run", measure)]
