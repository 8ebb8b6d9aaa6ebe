#!/usr/bin/python3
"""The guide shows the template as it is: every piece of code it takes from there stands there, word for word.

usage: guide.py GUIDE.md TEMPLATE_FOLDER            checks
       guide.py GUIDE.md TEMPLATE_FOLDER --self     proves that the check can fail
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- from: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SLOTS = "open probe scope create lookup fence run put_file get_file destroy list_owned".split()
SLOT_LINES_MAX = 110


def findings(guide, files):
    """What is wrong with a guide, given the template's files as {name: text}."""
    blocks = BLOCK.findall(guide)
    for name, code in blocks:
        if name not in files:
            yield f"it shows {name}, which the template does not have"
        elif "\n" + code not in "\n" + files[name]:
            yield f"it shows of {name} what is not there: {code.splitlines()[0]} ..."
    shown = "".join(code for name, code in blocks if name == "cxx/hello.cc")
    for slot in SLOTS:
        if not re.search(rf"\b{slot}\(Operation&", shown):
            yield f"it does not show the slot {slot}"
    public = files.get("cxx/hello.cc", "").partition(" public:\n")[2].partition(" private:\n")[0]
    lines = [line for line in public.splitlines() if line.strip()]
    if not 0 < len(lines) <= SLOT_LINES_MAX:
        yield f"the slots have {len(lines)} lines, and the guide promises about 100"


def self_test(guide, files):
    source = files["cxx/hello.cc"]
    planted = {
        "code that changed in the template": (guide, {**files, "cxx/hello.cc": source.replace("op.stage(", "op.note(")}),
        "code that changed in the guide": (guide.replace("op.stage(", "op.note("), files),
        "a file that is gone": (guide, {name: text for name, text in files.items() if name != "hello.sh"}),
        "a slot that is not shown": (guide.replace("Destroyed destroy(", "Destroyed end("), {**files, "cxx/hello.cc": source.replace("Destroyed destroy(", "Destroyed end(")}),
        "slots that grew": (guide, {**files, "cxx/hello.cc": source.replace(" private:\n", "  int x;\n" * 50 + " private:\n")}),
    }
    return [f"not noticed: {name}" for name, (text, template) in planted.items() if not list(findings(text, template))]


def main():
    guide, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    found = self_test(guide, files) if "--self" in sys.argv else list(findings(guide, files))
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
