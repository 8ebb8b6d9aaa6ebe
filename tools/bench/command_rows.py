"""The command line: `berth run` of print(1), whole, beside the bare interpreter and bubblewrap; with a keeper
that has ready sandboxes, and without one."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

from harness import PYTHON, NotMeasured
from neighbours import bubblewrap
from report import times

PROGRAM = "print(1)"
# What a keeper says of itself when there is enough for the next runs.
READY = re.compile(r"\b([3-9]|\d\d+) ready, a template of python")


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
    names = {"kept": "print(1) by `berth run`, a warm keeper", "alone": "the same with --no-templates"}
    return [times(name, "ms", samples[way], beside=beside, beside_samples=samples[beside])
            for way, name in names.items() for beside in ("python3 alone", "bubblewrap")]


class Keeper:
    """A keeper of this measurement alone, with ready sandboxes before each run."""

    def __init__(self, bench):
        self.berth = str(bench.build / "bin/berth")
        self.runtime = Path(bench.folder, "runtime")
        self.runtime.mkdir(mode=0o700)
        self.config = Path(bench.folder, "command.json")
        self.config.write_text(json.dumps({"providers": {"local": {"config": {
            "startup": "template", "readyLeast": 3, "readyMost": 4}}}}), encoding="utf-8")
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime)}

    def run(self, state, program, *more):
        return [self.berth, "run", "--quiet", "--config", str(self.config), "--state-dir", str(state), *more,
                str(program)]

    def ask(self, question):
        done = subprocess.run([self.berth, "templates", question, "--json"], env=self.environment, check=False,
                              capture_output=True, timeout=60)
        return json.loads(done.stdout)["keepers"]

    def await_ready(self):
        """Until what the last run used is made again, as it is between two commands of a person."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            said = [keeper["made_ahead"] for keeper in self.ask("status")]
            if any(READY.search(one) for one in said):
                return
            time.sleep(0.05)
        raise NotMeasured("the keeper has nothing ready after a minute")


def measure(bench):
    program = Path(bench.folder, "one.py")
    program.write_text(PROGRAM + "\n", encoding="utf-8")
    keeper = Keeper(bench)
    commands = {
        "python3 alone": [PYTHON, "-c", PROGRAM],
        "bubblewrap": bubblewrap(PYTHON, "-c", PROGRAM),
        "alone": keeper.run(bench.folder / "command-state", program, "--no-templates"),
        "kept": keeper.run(bench.folder / "kept-state", program),
    }
    samples = {name: [] for name in commands}
    try:
        for turn in range(bench.size(20, 2) + 1):
            if turn > 0:
                keeper.await_ready()
            for name, command in commands.items():
                took = timed(command, cwd=bench.folder, env=keeper.environment)
                if turn > 0:  # the first turn warms caches, makes the store and starts the keeper
                    samples[name].append(took)
    finally:
        keeper.ask("stop")
    return rows_of(samples)


MEASUREMENTS = [("command: berth run", measure)]
