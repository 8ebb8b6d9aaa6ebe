#!/usr/bin/python3
"""The binary contract does not change in passing: a header that differs from the frozen one of its minor needs a
new minor, and every minor has its words in CHANGES.md.

usage: tripwire.py INCLUDE_FOLDER FROZEN_FOLDER CHANGES.md            checks
       tripwire.py INCLUDE_FOLDER FROZEN_FOLDER CHANGES.md --self     proves that the check can fail

Comments may be worded better at any time; the clauses and the thread tags in them may not change (layout.py has
the tags). A minor that is released has a frozen header `abi-1.N.h`, a frozen layout `1.N.layout`, and a frozen
provider `provider-1.N`. All that is frozen is listed in SHA256SUMS with its digest.
"""

import hashlib
import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
CLAUSE = re.compile(r"\[[A-Z]+-\d{3}\]")


def meaning(header):
    """What of a header is not wording: its code, and the clauses it cites, in order."""
    code = re.sub(r"\s+", " ", COMMENT.sub(" ", header)).strip()
    return code, CLAUSE.findall(header)


def minor_of(header):
    return int(re.search(r"^#define BERTH_ABI_MINOR (\d+)u", header, re.MULTILINE).group(1))


def findings(headers, frozen, changes, sums):
    """`headers`: {name: text} of the contract now; `frozen`: {name: bytes} of everything frozen."""
    minor = minor_of(headers["abi.h"])
    released = sorted(int(number) for name in frozen for number in re.findall(r"^abi-1\.(\d+)\.h$", name))
    if not released:
        yield "no header is frozen: without one nothing is compared"
        return
    for number in released:
        for part in (f"1.{number}.layout", f"provider-1.{number}/"):
            if not any(name == part or name.startswith(part) and part.endswith("/") for name in frozen):
                yield f"minor {number} is frozen without its {part}"
    if minor in released:
        for name, text in headers.items():
            kept = frozen.get(f"{Path(name).stem}-1.{minor}.h", b"").decode()
            if meaning(kept) != meaning(text):
                yield (f"{name} is not that of minor {minor} any more: raise BERTH_ABI_MINOR to {released[-1] + 1}, "
                       f"and say in CHANGES.md what 1.{released[-1] + 1} adds")
    elif minor != released[-1] + 1:
        yield f"BERTH_ABI_MINOR is {minor}, and the one after the last frozen is {released[-1] + 1}"
    for number in sorted({*released, minor}):
        said = re.search(rf"^## 1\.{number}\n\n(.+?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL)
        if not said or not said.group(1).strip():
            yield f"CHANGES.md says nothing under '## 1.{number}'"
    listed = dict(reversed(line.split("  ", 1)) for line in sums.splitlines())
    for name in sorted(set(listed) ^ set(frozen)):
        yield f"{name} is frozen and not listed in SHA256SUMS, or listed and not there"
    for name in sorted(set(listed) & set(frozen)):
        if hashlib.sha256(frozen[name]).hexdigest() != listed[name]:
            yield f"{name} was changed after it was frozen"


def self_test(headers, frozen, changes, sums):
    text = headers["abi.h"]
    raised = {**headers, "abi.h": text.replace("#define BERTH_ABI_MINOR 0u", "#define BERTH_ABI_MINOR 1u")}

    def changed(name):
        return {**frozen, name: frozen[name] + b"\n"}

    allowed = {
        "a comment that is worded better": ({**headers, "abi.h": text.replace("The entry\n", "Entering\n", 1)}, frozen, changes),
        "a new minor with its words": (raised, frozen, changes + "\n## 1.1\n\nOne more field.\n"),
    }
    planted = {
        "a field that was added without a new minor": ({**headers, "abi.h": text.replace("  uint64_t size_bytes;\n} berth_get", "  uint64_t size_bytes;\n  uint64_t more;\n} berth_get")}, frozen, changes),
        "a clause that was taken away": ({**headers, "abi.h": text.replace("[OUT-001]", "", 1)}, frozen, changes),
        "a new minor without words": (raised, frozen, changes),
        "a minor that skips one": ({**headers, "abi.h": text.replace("#define BERTH_ABI_MINOR 0u", "#define BERTH_ABI_MINOR 5u")}, frozen, changes + "\n## 1.5\n\nx\n"),
        "a frozen header that was changed": (headers, changed("abi-1.0.h"), changes),
        "a frozen provider that was changed": (headers, changed("provider-1.0/hello.c"), changes),
        "a frozen provider that is gone": (headers, {name: data for name, data in frozen.items() if "provider" not in name}, changes),
        "an extension's header nobody froze": ({**headers, "ext/files.h": "struct x;"}, frozen, changes),
        "nothing frozen at all": (headers, {}, changes),
    }
    wrong = [f"was refused: {name}" for name, (now, kept, said) in allowed.items() if list(findings(now, kept, said, sums))]
    return wrong + [f"not noticed: {name}" for name, (now, kept, said) in planted.items() if not list(findings(now, kept, said, sums))]


def main():
    include, folder, changes = Path(sys.argv[1]) / "berth", Path(sys.argv[2]), Path(sys.argv[3]).read_text()
    headers = {path.relative_to(include).as_posix(): path.read_text()
               for path in [include / "abi.h", *sorted((include / "ext").glob("*.h"))]}
    frozen = {path.relative_to(folder).as_posix(): path.read_bytes()
              for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"}
    sums = (folder / "SHA256SUMS").read_text()
    found = self_test(headers, frozen, changes, sums) if "--self" in sys.argv else list(findings(headers, frozen, changes, sums))
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
