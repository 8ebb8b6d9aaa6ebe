#!/usr/bin/python3
"""Measures Berth beside what it competes with, and prints every figure with its ratio and its goal.

What is compared is measured in turns within the same run, since the speed of a shared disk or
processor changes from one minute to the next. A ratio is ours over theirs at the same quantile, or
times faster for a burst. Where others used more than a twentieth of the processors meanwhile, nothing
is claimed. Every layer of the sandbox is on, always.
"""

import argparse
import json
import re
import signal
import sys
from pathlib import Path

import alive_rows
import burst_rows
import command_rows
import library_rows
import machine
import remote_rows
import single_rows
from harness import Bench, NotMeasured, Progress, ended_by_signal
from report import Row, show

MEASUREMENTS = [measurement for module in (library_rows, command_rows, single_rows, alive_rows, burst_rows, remote_rows)
                for measurement in module.MEASUREMENTS]


def measure(bench, chosen, patience):
    rows = []
    progress = Progress(len(chosen))
    try:
        for name, function in chosen:
            progress.step(name)
            machine.await_idle(patience)
            others = machine.Others()
            try:
                found = function(bench)
            except NotMeasured as reason:
                found = [Row(name, not_measured=str(reason))]
            noise = "too few to say anything" if bench.quick else others.noise()
            for row in found:
                row.noise = row.noise or noise
            rows += found
    finally:
        progress.close()
    return rows


def parse():
    parser = argparse.ArgumentParser(prog="tools/bench/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE",
                        help="write the report there as well; - for standard output instead of the table")
    parser.add_argument("--only", metavar="REGEX", type=re.compile, default=re.compile(""),
                        help="only measurements whose name fits (see --list)")
    parser.add_argument("--list", action="store_true", help="the names of all measurements")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS",
                        help="before each measurement, wait at most so long until nobody else uses the "
                             "processors (default 0)")
    parser.add_argument("--quick", action="store_true",
                        help="sizes that show that it works; nothing is claimed of the figures")
    arguments = parser.parse_args()
    chosen = [one for one in MEASUREMENTS if arguments.only.search(one[0])]
    if not chosen:
        parser.error("no measurement is called like that; --list shows their names")
    return arguments, chosen


def main():
    arguments, chosen = parse()
    if arguments.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    signal.signal(signal.SIGTERM, ended_by_signal)
    about = machine.about()
    warning = "" if arguments.quick else machine.warning()
    if warning:
        print(warning, file=sys.stderr)
    bench = Bench(arguments.build.resolve(), arguments.quick)
    try:
        rows = measure(bench, chosen, arguments.wait)
    except KeyboardInterrupt:
        print("interrupted; nothing is left running", file=sys.stderr)
        return 130
    finally:
        bench.close()
    document = json.dumps({"machine": about, "rows": [row.to_json() for row in rows]}, indent=2)
    if arguments.json == "-":
        print(document)
        return 0
    print(f"{about['processor']}, {about['cores']} cores, Linux {about['kernel']}, {about['date']}")
    print("\n".join(show(rows)))
    if arguments.json:
        Path(arguments.json).write_text(document + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
