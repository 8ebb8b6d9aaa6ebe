#!/usr/bin/python3
"""Runs the kit against a broken twin of every case, and expects that case, and it alone, to be bad.

usage: matrix.py BERTH PLUGINS [--whole] [--only GLOB] [--jobs N]
       matrix.py BERTH PLUGINS --self      proves that the check can fail

twins.txt is the record of which case finds which twin. Without --whole each twin meets its own case and one other,
of its own area where that has more, the same in each run; with it every twin meets every case, which alone shows that
no other case finds it. The table of clause, case and twin is printed.
"""

import argparse
import fnmatch
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
RECORD = HERE / "twins.txt"
FAULTS = HERE.parent / "plugins" / "broken"
SAMPLE_SIZE = 1
GOOD = {"pass", "warn", "skip-undeclared", "skip-environment"}


def cases_of(berth):
    listed = subprocess.run([berth, "conformance", "list", "--profile", "full", "--json"], check=True,
                            capture_output=True, text=True, timeout=60)
    return json.loads(listed.stdout)["cases"]


class Twin(NamedTuple):
    clause: str
    case: str
    kind: str  # file, fault, made or host
    what: str


def read_record(text):
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [Twin(clause, case, *twin.split(":")) for clause, case, twin in lines]


def faults_of_broken(folder):
    """The ids of the faults in the sources, without those that end a case from outside and break no clause."""
    row = re.compile(r'\{"([A-Z]+-\d{3}(?:/\w+)?)",\s*&make<')
    return [fault for file in sorted(folder.glob("faults_*.cc")) for fault in row.findall(file.read_text())]


def differences(record, cases, faults):
    """What the record says and the kit or its twins do not, and the other way round. `cases`: (clause, id)."""
    recorded = {(twin.clause, twin.case) for twin in record}
    known = {twin.what for twin in record if twin.kind == "fault"}
    for clause, case in sorted(recorded - set(cases)):
        yield f"{case} of {clause} finds a twin, and the kit has no such case"
    for clause, case in sorted(set(cases) - recorded):
        yield f"{case} of {clause} has no twin in {RECORD.name}"
    for fault in sorted(known - set(faults)):
        yield f"the fault {fault} is in {RECORD.name} and not in broken.so"
    for fault in sorted(set(faults) - known):
        yield f"the fault {fault} of broken.so is found by no case"
    for twin in sorted({twin for twin in record if record.count(twin) > 1}):
        yield f"{twin.kind}:{twin.what} is recorded twice"


def area_of(case):
    return case.split("-")[0]


def file_of(twin, plugins, folder):
    if twin.kind in ("host", "fault"):
        return Path(plugins, "broken.so")
    if twin.kind == "file":
        return Path(plugins, f"{twin.what}.so")
    path = Path(folder, f"{twin.what}.so")
    if twin.what == "folder":
        path.mkdir(exist_ok=True)
    else:
        path.write_bytes(Path(plugins, "good.so").read_bytes()[:300])
    return path


def surroundings_of(twin, file, folder):
    """The host's configuration, its lock file and its quarantine, as the twin needs them. The folder to use."""
    place = Path(tempfile.mkdtemp(prefix=f"{twin.case}-", dir=folder))
    config = {"programs": "host"}
    if twin.kind == "fault":
        config["fault"] = twin.what
    document = {"providers": {"broken": {"config": config}}}
    digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    locked = {"other-digest": "0" * 64, "no-signature": digest}.get(twin.what)
    if locked:
        entry = {"version": "0.1.0", "sha256": locked}
        Path(place, "providers.lock.json").write_text(json.dumps({"lockVersion": 1, "providers": {"broken": entry}}))
    if twin.what == "no-signature":
        document["requireSignature"] = True
    if twin.what == "quarantine":
        entry = {"sha256": digest, "provider": "broken", "reason": "it crashed", "crashes": 3, "lastUnixMs": 1,
                 "quarantined": True}
        Path(place, "quarantine.json").write_text(json.dumps({"entries": [entry]}))
    Path(place, "config.json").write_text(json.dumps(document))
    return place


def run_twin(berth, plugins, twin, only, jobs, scale, folder):
    """The kit's report on a twin, and its results by id."""
    file = file_of(twin, plugins, folder)
    place = surroundings_of(twin, file, folder)
    command = [berth, "conformance", "run", str(file), "--config", str(Path(place, "config.json")),
               "--state-dir", str(place), "--json", "--seed", "1", "--timeout-scale", scale, "--jobs", str(jobs)]
    for glob in only:
        command += ["--only", glob]
    environment = {**os.environ, "BERTH_BROKEN_SECRET": "a-secret-nobody-may-see"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if not ran.stdout.startswith("{"):
        sys.exit(f"{twin.case}: the kit did not report (exit {ran.returncode}): {ran.stderr[-2000:]}")
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


def self_test(cases):
    record, faults = read_record(RECORD.read_text()), faults_of_broken(FAULTS)
    alone = {"A-001": "fail", "A-002": "pass"}
    planted = {
        "a case that finds nothing": verdict("A-001", {"A-001": "pass", "A-002": "pass"}),
        "a case that is skipped": verdict("A-001", {"A-001": "skip-environment", "A-002": "pass"}),
        "a second case that goes bad": verdict("A-001", {**alone, "A-002": "leak"}),
        "a kit that fails": verdict("A-001", {"A-001": "harness"}),
        "a case without a twin": list(differences(record, [*cases, ("A-001", "A-001")], faults)),
        "a case of another clause": list(differences(record, [("A-001", case) for _, case in cases], faults)),
        "a fault that no case finds": list(differences(record, cases, [*faults, "A-001"])),
        "a fault that is not there": list(differences(record, cases, faults[1:])),
        "a twin that is recorded twice": list(differences([*record, record[0]], cases, faults)),
    }
    # Any one case taken out of the kit is missed, here and where its twin runs.
    for one in cases:
        planted[f"{one[1]} is gone"] = list(differences(record, [other for other in cases if other != one], faults))
        planted[f"nobody finds the twin of {one[1]}"] = verdict(one[1], {other: "pass" for _, other in cases
                                                                       if other != one[1]})
    missed = [name for name, noticed in planted.items() if not noticed]
    if verdict("A-001", alone) or list(differences(record, cases, faults)):
        missed.append("a good record is called bad")
    print("\n".join(f"not noticed: {name}" for name in missed) or
          f"every planted fault was noticed; taking out any of {len(cases)} cases is one")
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
    cases = [(case["clause"], case["id"]) for case in cases_of(arguments.berth)]
    if arguments.self_test:
        return self_test(cases)
    record = read_record(RECORD.read_text())
    wrong = list(differences(record, cases, faults_of_broken(FAULTS)))
    print("".join(f"{one}\n" for one in wrong), end="")

    ids = [case for _, case in cases]
    chance = random.Random(1)
    # A case that meets a twin which keeps it waiting is the rarer, the fewer it meets: the sample need not wait long.
    scale = "1" if arguments.whole else "0.5"
    met = 0
    print(f"{'CLAUSE':<11}{'CASE':<11}{'TWIN':<36}FOUND")
    with tempfile.TemporaryDirectory(prefix="berth-matrix-") as folder:
        for twin in record:
            if not fnmatch.fnmatch(twin.case, arguments.only):
                continue
            area = [one for one in ids if area_of(one) == area_of(twin.case) and one != twin.case]
            near = chance.sample(area, min((SAMPLE_SIZE + 1) // 2, len(area)))
            only = [twin.case, *near, *chance.sample(ids, SAMPLE_SIZE - len(near))]
            report, results = run_twin(arguments.berth, arguments.plugins, twin, [] if arguments.whole else only,
                                       arguments.jobs, scale, folder)
            statuses = {one: result["status"] for one, result in results.items()}
            found = verdict(twin.case, statuses)
            print(f"{twin.clause:<11}{twin.case:<11}{twin.kind + ':' + twin.what:<36}{found or statuses[twin.case]}",
                  flush=True)
            met += 1
            if found:
                wrong.append(twin.what)
                tell(report, results)
    if met == 0:
        print("no case matches")
        return 1
    print(f"{met} twins met {'every case' if arguments.whole else 'their own case and a sample'}, "
          f"{len(wrong)} things are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
