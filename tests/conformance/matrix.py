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
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

# Case -> file. Everything else is a fault of broken.so.
LOADER_TWINS = {
    "META-001": "truncated_note", "META-002": "disagreeing_note", "META-003": "odd_recovery",
    "META-004": "claim_without_table", "META-005": "broken_unclaimed_table", "META-007": "other_kind",
    "META-008": "one_language", "LOAD-001": "made:folder", "LOAD-002": "made:cut",
    "LOAD-003": "executable_stack", "LOAD-004": "extra_exports", "LOAD-005": "broken_entry_prints",
    "LOAD-006": "broken_constructor_runs", "TRUST-001": "host:other digest in the lock file",
    "TRUST-002": "host:no signature", "TRUST-003": "host:in quarantine", "NEG-001": "wrong_major",
    "NEG-002": "newer_minor", "NEG-003": "host_extension", "NEG-004": "null_slots", "NEG-005": "wrong_size",
    "NEG-006": "table_on_heap", "NEG-007": "broken_accepts_any_host", "OPEN-001": "broken_answers_early",
    "OPEN-003": "broken_needs_more_than_it_says",
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


def file_of(twin, plugins, folder):
    if twin == "made:folder":
        path = Path(folder, "folder.so")
        path.mkdir(exist_ok=True)
        return path
    if twin == "made:cut":
        path = Path(folder, "cut.so")
        path.write_bytes(Path(plugins, "good.so").read_bytes()[:300])
        return path
    return Path(plugins, ("broken" if twin.startswith("host:") else twin) + ".so")


def surroundings_of(case, fault, twin, file, folder):
    """The host's configuration, its lock file and its quarantine, as the twin needs them. The folder to use."""
    place = Path(folder, fault.replace("/", "-"))
    place.mkdir()
    config = {"programs": "host"}
    if twin == "broken":
        config["fault"] = fault
    document = {"providers": {"broken": {"config": config}}}
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    locked = {"TRUST-001": "0" * 64, "TRUST-002": digest}.get(case)
    if locked:
        entry = {"version": "0.1.0", "sha256": locked}
        Path(place, "providers.lock.json").write_text(json.dumps({"lockVersion": 1, "providers": {"broken": entry}}))
    if case == "TRUST-002":
        document["requireSignature"] = True
    if case == "TRUST-003":
        entry = {"sha256": digest, "provider": "broken", "reason": "it crashed", "crashes": 3, "lastUnixMs": 1,
                 "quarantined": True}
        Path(place, "quarantine.json").write_text(json.dumps({"entries": [entry]}))
    Path(place, "config.json").write_text(json.dumps(document))
    return place


def run_twin(berth, plugins, case, fault, only, jobs, folder):
    """The kit's report on a case's twin, and its results by id."""
    twin = LOADER_TWINS.get(case, "broken")
    file = file_of(twin, plugins, folder)
    place = surroundings_of(case, fault, twin, file, folder)
    command = [berth, "conformance", "run", str(file), "--config", str(Path(place, "config.json")),
               "--state-dir", str(place), "--json", "--seed", "1", "--timeout-scale", "0.5", "--jobs", str(jobs)]
    for glob in only:
        command += ["--only", glob]
    environment = {**os.environ, "BERTH_BROKEN_SECRET": "a-secret-nobody-may-see"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
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
    print(f"{'CLAUSE':<11}{'CASE':<11}{'TWIN':<36}FOUND")
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
                print(f"{case['clause']:<11}{name:<11}{twin:<36}{wrong or statuses[name]}", flush=True)
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
