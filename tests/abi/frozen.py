#!/usr/bin/python3
"""A provider of a released minor, built from its frozen sources against the frozen header, works on the host of now.

usage: frozen.py BERTH C_HOST FILE             FILE is the frozen provider, C_HOST drives every slot of it
       frozen.py BERTH C_HOST FILE --whole     with every case of the kit's smoke profile
       frozen.py BERTH C_HOST FILE --self      FILE is one that has to be found wrong
"""

import re
import subprocess
import sys


# How it is found, loaded, opened, keyed and answers, which is where a host of another minor could fail it.
AREAS = ("META", "NEG", "TRUST", "LOAD", "OPEN", "SCOPE", "OP", "KEY", "OUT", "EXT")


def findings(berth, host, file):
    part = [] if "--whole" in sys.argv else [word for area in AREAS for word in ("--only", f"{area}-*")]
    for what, command in {"the loader": [berth, "provider", "inspect", file],
                          "a host in C": [host, file],
                          "the conformance kit": [berth, "conformance", "run", file, "--profile", "smoke", *part]}.items():
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        print(done.stdout + done.stderr)
        if done.returncode != 0:
            yield f"{what} has something against it"
        elif what == "the conformance kit" and not re.search(r"^[1-9]\d* passed, 0 failed, ", done.stdout, re.MULTILINE):
            yield f"{what} ran no case of it"


def main():
    found = list(findings(*sys.argv[1:4]))
    if "--self" in sys.argv:
        found = [] if len(found) >= 2 else [f"it was found wrong by no more than {found}"]
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
