#!/usr/bin/python3
"""Every clause that a source cites stands in the contract, and the contract says each thing once, with its
reason and with what to do about a breach.

usage: clauses_test.py ROOT            checks the tree
       clauses_test.py ROOT --self     proves that the check can fail
"""

import re
import sys
from pathlib import Path

AREAS = ("META LOAD TRUST NEG OPEN SCOPE OP KEY OUT RUN FILE CANC STRM CLEAN FENCE CONC MEM ERR USE EXT SHUT "
         "LANG LEAK").split()
# From 101 on a number is that of a case of the kit that stands beside its clause's own.
CITED = re.compile(r"\b((?:%s)-0\d{2})\b" % "|".join(AREAS))
FOLDERS = ("sdk/include", "sdk/docs", "sdk/template", "core", "plugins", "tools", "tests")
ENFORCERS = re.compile(r"(loader|host|case|no one|provider)")


def rows(contract, width):
    """The cells of every row of `width` cells that begins with a clause."""
    for line in contract.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == width and CITED.fullmatch(cells[0]):
            yield cells


def findings(contract, sources):
    defined = {}
    for clause, text, why, enforcer in rows(contract, 4):
        if clause in defined:
            yield f"{clause} is defined twice"
        if not text:
            yield f"{clause} says nothing"
        if not why:
            yield f"{clause} does not say why it is there"
        if not ENFORCERS.match(enforcer):
            yield f"{clause} does not say who enforces it"
        defined[clause] = text
    remedies = dict(rows(contract, 2))
    for clause in sorted(set(defined) ^ {clause for clause, remedy in remedies.items() if remedy}):
        yield f"{clause} is a clause without a remedy, or a remedy without a clause"
    if not defined:
        yield "the contract defines no clause"
    for area in AREAS:
        if not any(clause.startswith(area + "-") for clause in defined):
            yield f"the area {area} has no clause"
    for path, text in sources:
        for clause in sorted(set(CITED.findall(text)) - set(defined)):
            yield f"{path} cites {clause}, which the contract does not define"


def sources_of(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".h", ".hpp", ".c", ".cc", ".md"} and path.is_file() and "fixtures" not in path.parts:
                yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def self_test(contract):
    wrong = {
        "a clause nobody defined": (contract, [("a.cc", "see [OP-" + "099]")]),
        "a clause defined twice": (contract + "\n| OP-001 | again | why | host |\n", []),
        "a clause without text": (contract + "\n| OP-098 |  | why | host |\n", []),
        "a clause nobody enforces": (contract + "\n| OP-097 | text | why | |\n| OP-097 | mend |\n", []),
        "a clause without a reason": (contract + "\n| OP-096 | text | | host |\n| OP-096 | mend |\n", []),
        "a clause without a remedy": (contract + "\n| OP-095 | text | why | host |\n", []),
        "a remedy without a clause": (contract + "\n| OP-094 | mend |\n", []),
        "an empty contract": ("", []),
    }
    return [name for name, (text, sources) in wrong.items() if not list(findings(text, sources))]


def main():
    root = Path(sys.argv[1])
    contract = (root / "sdk/docs/CONTRACT.md").read_text(encoding="utf-8")
    if "--self" in sys.argv:
        missed = self_test(contract)
        print("\n".join(f"not noticed: {name}" for name in missed) or "every planted fault was noticed")
        return 1 if missed else 0
    found = list(findings(contract, sources_of(root)))
    print("\n".join(found) or f"{len(list(rows(contract, 4)))} clauses, every citation resolves")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
