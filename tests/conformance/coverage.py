#!/usr/bin/python3
"""Every clause that can be tested has a case, every case cites a clause, and the keeper of each clause is there.

usage: coverage.py BERTH CONTRACT.md
       coverage.py BERTH CONTRACT.md --self      proves that the check can fail
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROW = re.compile(r"^\| ([A-Z]+-\d{3}) \|")


def clauses_of(page):
    """clause -> who enforces it."""
    out = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if ROW.match(line) and len(cells) == 4:
            out[cells[0]] = cells[3]
    return out


def findings(clauses, cases):
    testable = {clause for clause, enforcer in clauses.items() if not enforcer.startswith("no one")}
    cited = {case["clause"] for case in cases}
    ids = [case["id"] for case in cases]
    for clause in sorted(testable - cited):
        yield f"{clause} can be tested and has no case"
    for clause in sorted(cited - set(clauses)):
        yield f"a case cites {clause}, which the contract does not have"
    for clause in sorted(cited & set(clauses) - testable):
        yield f"{clause} has a case, and the contract says that it cannot be tested"
    for clause in sorted(cited & testable - set(ids)):
        yield f"{clause} has cases and no keeper: one must have the clause's own id"
    for one in sorted({one for one in ids if ids.count(one) > 1}):
        yield f"{one} is the id of two cases"


def self_test():
    clauses = {"OP-001": "host", "OP-002": "no one"}
    good = [{"id": "OP-001", "clause": "OP-001"}]
    planted = {
        "a clause without a case": (clauses, []),
        "a case without a clause": (clauses, good + [{"id": "OP-009", "clause": "OP-009"}]),
        "a case of what cannot be tested": (clauses, good + [{"id": "OP-002", "clause": "OP-002"}]),
        "a clause without a keeper": (clauses, [{"id": "OP-101", "clause": "OP-001"}]),
        "an id used twice": (clauses, good + good),
    }
    missed = [name for name, case in planted.items() if not list(findings(*case))]
    if list(findings(clauses, good)):
        missed.append("a good kit is called bad")
    print("\n".join(f"not noticed: {name}" for name in missed) or "every planted fault was noticed")
    return 1 if missed else 0


def main():
    if "--self" in sys.argv:
        return self_test()
    clauses = clauses_of(Path(sys.argv[2]).read_text(encoding="utf-8"))
    listed = subprocess.run([sys.argv[1], "conformance", "list", "--json"], check=True, capture_output=True,
                            text=True, timeout=60)
    cases = json.loads(listed.stdout)["cases"]
    found = list(findings(clauses, cases))
    untestable = sum(enforcer.startswith("no one") for enforcer in clauses.values())
    print("\n".join(found) or f"{len(clauses)} clauses, {untestable} of them untestable; {len(cases)} cases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
