#!/usr/bin/python3
"""abidiff between the frozen header and the current one, through a library that mentions every ABI type.

usage: anchor.py HEADER FROZEN_HEADER            compares
       anchor.py HEADER FROZEN_HEADER --self     proves that the comparison sees what it must see

Its exit code does not tell an append from an insertion, and its suppression of appends also hides changed types,
so its report is read: what is allowed is a struct that became larger by members that begin at its old end.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ANCHOR = Path(__file__).with_name("anchor.c")
USAGE_ERROR_BITS = 0b11


def build(header, folder):
    """The anchor library built against `header`, as a shared object with debug information."""
    include = Path(folder, "include/berth")
    include.mkdir(parents=True)
    include.joinpath("abi.h").write_text(header)
    library = Path(folder, "anchor.so")
    subprocess.run(["gcc", "-std=c11", "-g", "-shared", "-fPIC", f"-I{include.parent}", "-o", library, ANCHOR],
                   check=True, timeout=120)
    return library


def is_append(block):
    """Whether one struct's part of the report says nothing but members added at its end."""
    size = re.fullmatch(r"type size changed from (\d+) to \d+ \(in bits\)", block[0])
    if not size or not re.fullmatch(r"\d+ data member insertions?:", block[1]):
        return False
    offsets = [re.search(r", at offset (\d+) \(in bits\)", line) for line in block[2:]]
    return bool(offsets) and all(at and int(at.group(1)) >= int(size.group(1)) for at in offsets)


def compare(frozen, current):
    """abidiff's complaints about the step from one header text to another, appends left out."""
    with tempfile.TemporaryDirectory() as folder:
        old, new = build(frozen, Path(folder, "old")), build(current, Path(folder, "new"))
        run = subprocess.run(["abidiff", "--leaf-changes-only", old, new], capture_output=True, text=True, timeout=300)
    if run.returncode & USAGE_ERROR_BITS:
        return [f"abidiff failed: {run.stderr.strip()}"]
    if run.returncode == 0:
        return []
    wrong = [line for line in run.stdout.splitlines()
             if re.match(r"Removed/Changed/Added", line) and re.search(r"[1-9]\d* (Removed|Changed|Added)", line)]
    changed = re.split(r"^'(.*)' changed:$", run.stdout, flags=re.MULTILINE)
    for name, text in zip(changed[1::2], changed[2::2]):
        block = [line.strip() for line in text.splitlines() if line.strip()]
        if not is_append(block):
            wrong.append(f"{name} changed: {'; '.join(block[:4])}")
    return wrong if len(changed) > 1 or wrong else ["abidiff reports a change this check cannot read"]


def unmentioned(header):
    anchor = ANCHOR.read_text()
    return [name for name in re.findall(r"^\} (berth_\w+);", header, re.MULTILINE)
            if not re.search(rf"\b{name}\b", anchor) and name not in {
                "berth_str", "berth_bytes", "berth_str_list", "berth_pair", "berth_pair_list"}]


def self_test(header):
    changes = {
        "an appended field": (True, "  uint64_t size_bytes;\n} berth_get_file_result;",
                              "  uint64_t size_bytes;\n  uint64_t checksum;\n} berth_get_file_result;"),
        "an appended slot": (True, "  void (*shutdown)(void *self, berth_op op);\n}",
                             "  void (*shutdown)(void *self, berth_op op);\n  void (*pause)(void *self, berth_op op);\n}"),
        "a field in the middle": (False, "  berth_cause cause;\n  int32_t exit_code;", "  berth_cause cause;\n  uint64_t core;\n  int32_t exit_code;"),
        "a slot with another argument": (False, "void (*lookup)(void *self, berth_op op, berth_str name);",
                                         "void (*lookup)(void *self, berth_op op, berth_str name, uint32_t how);"),
        "a field taken away": (False, "  uint32_t mode;\n  uint64_t size_bytes;\n} berth_get_file_result;",
                               "  uint32_t mode;\n} berth_get_file_result;"),
        "another type": (False, "  uint64_t created_unix_ms; /* 0: not known */", "  uint32_t created_unix_ms;"),
    }
    wrong = []
    for name, (allowed, before, after) in changes.items():
        if before not in header:
            wrong.append(f"{name}: the header has no '{before}' to change")
        elif allowed == bool(compare(header, header.replace(before, after, 1))):
            wrong.append(f"{name}: was judged wrongly")
    if not unmentioned(header + "\ntypedef struct berth_new {\n  uint32_t x;\n} berth_new;\n"):
        wrong.append("a type the anchor does not mention was not noticed")
    return wrong


def main():
    header, frozen = Path(sys.argv[1]).read_text(), Path(sys.argv[2]).read_text()
    if shutil.which("abidiff") is None:
        print("abidiff is not installed; tools/test installs it (abigail-tools)")
        return 1
    if "--self" in sys.argv:
        found = self_test(header)
    else:
        found = [f"the anchor does not mention {name}" for name in unmentioned(header)] + compare(frozen, header)
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
