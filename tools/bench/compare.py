#!/usr/bin/python3
"""Runs berth-bench and whole programs, and prints every figure beside what it competes with.

What is compared is measured in turns within the same run, since the speed of a shared disk or
processor changes from one minute to the next; a ratio is the median over the turns.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = "/usr/bin/python3"
PROGRAM = "print(1)"
BUBBLEWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session",
              "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
              "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
              "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]


def timed(command, **options):
    """Seconds until `command` has printed 1 and ended."""
    begun = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, **options)
    took = time.perf_counter() - begun
    if done.returncode != 0 or done.stdout != b"1\n":
        sys.exit(f"{' '.join(command)} ended with {done.returncode} and printed {done.stdout!r}: "
                 f"{done.stderr.decode(errors='replace')[-2000:]}")
    return took


def measure_programs(build, rounds):
    """print(1), whole: bare, in bubblewrap, and through berth with its durable record."""
    with tempfile.TemporaryDirectory(dir=build, prefix="bench-") as folder:
        program = Path(folder, "one.py")
        program.write_text(PROGRAM + "\n")
        commands = {
            "bare": [PYTHON, "-c", PROGRAM],
            "bubblewrap": [*BUBBLEWRAP, PYTHON, "-c", PROGRAM],
            "berth": [str(build / "bin/berth"), "run", "--quiet", "--state-dir", f"{folder}/state",
                      str(program)],
        }
        seconds = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                took = timed(command, cwd=folder)
                if turn > 0:  # the first turn warms caches and makes the store
                    seconds[name].append(took)
    return seconds


def row(name, value, unit, beside="", ratio=None, goal=None, met=None):
    return {"name": name, "value": value, "unit": unit, "beside": beside, "ratio": ratio,
            "goal": goal, "met": met}


def median_ratio(ours, theirs):
    return statistics.median(a / b for a, b in zip(ours, theirs))


def program_rows(seconds):
    rows = [row(f"print(1): {label}", statistics.median(seconds[name]) * 1e3, "ms")
            for name, label in (("bare", "python3 alone"), ("bubblewrap", "in bubblewrap"))]
    for other, label in (("bare", "python3 alone"), ("bubblewrap", "bubblewrap")):
        rows.append(row("print(1): berth run, local provider",
                        statistics.median(seconds["berth"]) * 1e3, "ms", label,
                        median_ratio(seconds["berth"], seconds[other])))
    return rows


def library_rows(report):
    rows = [row("a call through the provider's table, in process", report["abi_call"]["median_ns"], "ns"),
            row("an operation through the table, ended in the slot, in process",
                report["abi_operation"]["median_ns"], "ns"),
            row("an operation of the loaded provider, in process",
                report["operation_in_process"]["median_ns"] / 1e3, "us"),
            row("an operation of the loaded provider, through its worker",
                report["operation_in_worker"]["median_ns"] / 1e3, "us", "",
                goal="at most 15 us", met=report["operation_in_worker"]["median_ns"] <= 15_000)]
    bulk = report["bulk_output"]
    ratio = median_ratio(bulk["library"], bulk["cat_wc"])
    rows.append(row("bulk output to a consumer that keeps it",
                    statistics.median(bulk["library"]) / 2**20, "MiB/s", "cat into wc -c", ratio,
                    "at least 0.3", ratio >= 0.3))
    turns = report["durable"]
    raw = [turn["raw_commits_per_second"] for turn in turns]
    rows.append(row("single SQLite commits, synchronous=FULL", statistics.median(raw), "/s"))
    for flight, goal in ((1, 0.25), (8, None), (64, 3.0)):
        ours = [turn["executions_per_second"][str(flight)] for turn in turns]
        ratio = median_ratio(ours, raw)
        rows.append(row(f"durable executions, {flight} in flight", statistics.median(ours), "/s",
                        "single commits", ratio, f"at least {goal}" if goal else None,
                        ratio >= goal if goal else None))
    return rows


def show(rows):
    width = max(len(r["name"]) for r in rows)
    for r in rows:
        figure = f"{r['value']:>12,.1f} {r['unit']:<3}"
        ratio = f"{r['ratio']:7.2f} x {r['beside']}" if r["ratio"] is not None else ""
        goal = f"   goal {r['goal']}: {'met' if r['met'] else 'missed'}" if r["goal"] else ""
        print(f"{r['name']:<{width}} {figure} {ratio}{goal}".rstrip())


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file
                      if line.startswith("model name")), platform.machine())
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def main():
    parser = argparse.ArgumentParser(prog="tools/bench/run", description=__doc__)
    parser.add_argument("--build", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report to FILE as well")
    parser.add_argument("--rounds", type=int, default=20, metavar="N",
                        help="how many times whole programs run (default 20)")
    parser.add_argument("--turns", type=int, default=5, metavar="N",
                        help="how many turns of durable executions (default 5)")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.turns < 1:
        parser.error("--rounds and --turns must be at least 1")
    bench = subprocess.run([str(arguments.build / "bin/berth-bench"), "--turns", str(arguments.turns)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=900)
    if bench.returncode != 0:
        sys.exit(f"berth-bench ended with {bench.returncode}")
    report = json.loads(bench.stdout)
    rows = library_rows(report) + program_rows(measure_programs(arguments.build, arguments.rounds))
    about = machine()
    print(f"{about['processor']}, {about['cores']} cores, Linux {about['kernel']}, {about['date']}")
    show(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": about, "rows": rows, "raw": report},
                                             indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
