#!/usr/bin/python3
"""Every built provider exports its entry and nothing else, and is linked the way a provider must be.

usage: exports.py ENTRY FILE [FILE...]             checks each file
       exports.py ENTRY --self MAP                 proves that the check can fail

ENTRY is the name of the one symbol. With --self, small libraries are built that break one rule each.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def judge(entry, path):
    if not Path(path).is_file():
        return [f"{path}: is not built"]
    wrong = []
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", path).splitlines()]
    if exported != [entry]:
        wrong.append(f"{path}: it exports {exported[:5]}, not {entry} alone [LOAD-004]")
    dynamic = output("readelf", "-dW", path)
    for flag in ("NOW", "NODELETE"):
        if not re.search(rf"\(FLAGS_1\).*\b{flag}\b", dynamic):
            wrong.append(f"{path}: it is not linked with -z {flag.lower()} [LOAD-003]")
    for tag in ("RPATH", "RUNPATH", "TEXTREL"):
        if f"({tag})" in dynamic:
            wrong.append(f"{path}: it has a {tag} [LOAD-003]")
    if re.search(r"GNU_STACK.*\bRWE\b", output("readelf", "-lW", path)):
        wrong.append(f"{path}: its stack is executable [LOAD-003]")
    return wrong


def self_test(entry, version_script):
    good = [f"-Wl,--version-script={version_script}", "-Wl,-z,now", "-Wl,-z,nodelete"]
    source = f"int {entry}(void) {{ return 0; }}\nint another(void) {{ return 1; }}\n"
    planted = {
        "a second export": good[1:],
        "lazy binding": [good[0], "-Wl,-z,lazy", good[2]],
        "a file that can be unmapped": good[:2],
        "a run path": [*good, "-Wl,-rpath,/somewhere"],
        "an executable stack": [*good, "-Wl,-z,execstack"],
    }
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "library.c"), Path(folder, "library.so")
        code.write_text(source)
        for name, flags in {"": good, **planted}.items():
            subprocess.run(["gcc", "-fuse-ld=bfd", "-shared", "-fPIC", *flags, "-o", library, code], check=True, timeout=120)
            if bool(judge(entry, library)) != bool(name):
                missed.append(f"not noticed: {name}" if name else "a good library was refused")
    return missed


def main():
    entry, files = sys.argv[1], sys.argv[2:]
    if files[:1] == ["--self"]:
        found = self_test(entry, files[1])
    else:
        found = [line for path in files for line in judge(entry, path)] or ([] if files else ["no file was given"])
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
