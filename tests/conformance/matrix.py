#!/usr/bin/python3
"""Runs the kit against a broken twin of every case, and expects that case, and it alone, to be bad.

usage: matrix.py BERTH PLUGINS [--whole] [--only GLOB] [--jobs N]
       matrix.py BERTH PLUGINS --self      proves that the check can fail

A twin is the library broken.so told to commit the fault of that id, or, for what breaks while a provider is
loaded, a small file of its own (LOADER_TWINS). Without --whole each twin meets its own area and a sample of
the other cases; with it every twin meets every case. The table of clause, case and twin is printed.
"""

import argparse
import fnmatch
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

# Case -> file. Everything else is a fault of broken.so.
LOADER_TWINS = {
}
# Cases that must find several faults, beside the one of their own name.
MORE_FAULTS = {"OP-001": ["writes"], "OP-002": ["never"], "STRM-101": ["repeats", "reorders"],
               "STRM-005": ["stops"]}
SAMPLE_SIZE = 6
GOOD = {"pass", "warn", "skip-undeclared", "skip-environment"}


def cases_of(berth):
    listed = subprocess.run([berth, "conformance", "list", "--profile", "full", "--json"], check=True,
                            capture_output=True, text=True, timeout=60)
    return json.loads(listed.stdout)["cases"]


def faults_of(case):
    return [case, *(f"{case}/{more}" for more in MORE_FAULTS.get(case, []))]


def area_of(case):
    return case.split("-")[0]


def run_twin(berth, plugins, case, fault, only, jobs, folder):
    """The ids that were bad, the statuses of all, and the loader's refusal."""
    name = LOADER_TWINS.get(case, "broken")
    config = Path(folder, f"{fault.replace('/', '-')}.json")
    chosen = {} if name != "broken" else {"providers": {"broken": {"config": {"fault": fault, "programs": "host"}}}}
    config.write_text(json.dumps(chosen))
    command = [berth, "conformance", "run", str(Path(plugins, f"{name}.so")), "--config", str(config), "--json",
               "--seed", "1", "--timeout-scale", "0.5", "--jobs", str(jobs)]
    for glob in only:
        command += ["--only", glob]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if not ran.stdout.startswith("{"):
        sys.exit(f"{case}: the kit did not report (exit {ran.returncode}): {ran.stderr[-2000:]}")
    report = json.loads(ran.stdout)
    return report, {one["id"]: one for one in report.get("cases", [])}


def verdict(case, statuses):
    """What is wrong with the run of a case's twin, or nothing. `statuses`: id -> status."""
    bad = sorted(one for one, status in statuses.items() if status not in GOOD)
    if "harness" in statuses.values():
        return "the kit itself failed"
    if case not in bad:
        return f"its own case did not find it; bad: {', '.join(bad) or 'none'}"
    others = [one for one in bad if one != case]
    return f"other cases went bad too: {', '.join(others)}" if others else ""


def needed(record):
    """Every case whose removal would go unnoticed: those that are not the only ones to find their twin."""
    return sorted(case for case, statuses in record.items()
                  if [one for one, status in statuses.items() if status not in GOOD] != [case])


def self_test():
    record = {"A-001": {"A-001": "fail", "A-002": "pass"}, "A-002": {"A-001": "pass", "A-002": "crash"}}
    planted = {
        "a case that finds nothing": verdict("A-001", {"A-001": "pass", "A-002": "pass"}),
        "a case that is skipped": verdict("A-001", {"A-001": "skip-environment", "A-002": "pass"}),
        "a second case that goes bad": verdict("A-001", {"A-001": "fail", "A-002": "leak"}),
        "a kit that fails": verdict("A-001", {"A-001": "harness"}),
        "a case that is gone": verdict("A-001", {"A-002": "pass"}),
        "a case two find": needed({**record, "A-003": {"A-001": "fail", "A-003": "fail"}}),
    }
    missed = [name for name, noticed in planted.items() if not noticed]
    if verdict("A-001", record["A-001"]) or needed(record):
        missed.append("a good record is called bad")
    print("\n".join(f"not noticed: {name}" for name in missed) or "every planted fault was noticed")
    return 1 if missed else 0


def tell(report, results):
    for one in results.values():
        if one["status"] not in GOOD:
            print(f"    {one['id']} {one['status']}: {one.get('text', '')[:600]}")
    if report.get("refusal"):
        print(f"    refused: {report['refusal'][:600]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("berth")
    parser.add_argument("plugins")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--only", default="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--self", action="store_true", dest="self_test")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()

    cases = cases_of(arguments.berth)
    ids = [case["id"] for case in cases]
    chance = random.Random(1)
    record, faults = {}, []
    print(f"{'CLAUSE':<11}{'CASE':<11}{'TWIN':<34}FOUND")
    with tempfile.TemporaryDirectory(prefix="berth-matrix-") as folder:
        for case in cases:
            name = case["id"]
            if not fnmatch.fnmatch(name, arguments.only):
                continue
            only = [] if arguments.whole else [f"{area_of(name)}-*", *chance.sample(ids, min(SAMPLE_SIZE, len(ids)))]
            for fault in faults_of(name):
                report, results = run_twin(arguments.berth, arguments.plugins, name, fault, only, arguments.jobs,
                                           folder)
                statuses = {one: result["status"] for one, result in results.items()}
                record.setdefault(name, statuses)
                wrong = verdict(name, statuses)
                twin = LOADER_TWINS.get(name, f"broken, fault {fault}")
                print(f"{case['clause']:<11}{name:<11}{twin:<34}{wrong or statuses[name]}", flush=True)
                if wrong:
                    faults.append(fault)
                    tell(report, results)
    if not record:
        print("no case matches")
        return 1
    print(f"{len(record)} twins, {len(faults)} not found as they should be")
    return 1 if faults or needed(record) else 0


if __name__ == "__main__":
    sys.exit(main())
