#!/usr/bin/python3
"""The layout of the binary contract, as text that can be frozen and compared.

usage: layout.py dump HEADER               prints the layout of HEADER
       layout.py asserts HEADER [FILE]     prints the C source that asserts it; with FILE, compares
       layout.py check HEADER FOLDER       compares HEADER with every frozen layout in FOLDER
       layout.py self HEADER FOLDER        proves that the comparison sees what it must see

A frozen layout is a file `<minor>.layout`. What it says of a struct must still be true, line by line, and
come first: fields may only be added at the end. Constants keep their values. Functions of the tables keep
their signatures and their thread tags, because who may call what from where is part of the contract. No
frozen layout at all is an error. The compiler is that of $CC, or gcc.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"typedef struct (berth_\w+) \{\n(.*?)\n\} \1;", re.DOTALL)
DEFINE = re.compile(r"^#define (BERTH_\w+) +(.+?) *$", re.MULTILINE)
ALIAS = re.compile(r"^typedef (\w+) (berth_\w+);", re.MULTILINE)
FUNCTION_TYPE = re.compile(r"^typedef ([\w ]+)\(\*(berth_\w+)\)\((.*?)\);", re.MULTILINE | re.DOTALL)
SLOT = re.compile(r"^(.*?)\(\*(\w+)\)\((.*)\)$", re.DOTALL)
TAG = re.compile(r"\[([a-z]+(?:-[a-z]+)+)\]")


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def members(body):
    """(name, type, tags) of every field of a struct's body, in order."""
    at = 0
    tags = []
    declaration = ""
    for piece in re.finditer(r"/\*.*?\*/|;|[^;/]+|/", body, re.DOTALL):
        text = piece.group(0)
        if text.startswith("/*"):
            if not declaration.strip():
                tags = TAG.findall(text)
        elif text == ";":
            declaration = squeeze(declaration)
            slot = SLOT.match(declaration)
            if slot:
                yield slot.group(2), f"{squeeze(slot.group(1))} (*)({squeeze(slot.group(3))})", tags
            else:
                kind, name = re.match(r"(.*?)(\w+)$", declaration).groups()
                yield name, squeeze(kind), []
            declaration, tags = "", []
        else:
            declaration += text
        at = piece.end()
    if squeeze(COMMENT.sub("", body[at:])):
        sys.exit(f"cannot read the end of a struct: {body[at:]!r}")


def parse(header):
    structs = [(name, list(members(body))) for name, body in STRUCT.findall(header)]
    plain = COMMENT.sub("", header)
    constants = [(name, squeeze(value)) for name, value in DEFINE.findall(plain)
                 if name not in {"BERTH_ABI_H", "BERTH_ABI_MINOR"}]
    aliases = ALIAS.findall(plain)
    functions = [(name, f"{squeeze(result)} (*)({squeeze(arguments)})")
                 for result, name, arguments in FUNCTION_TYPE.findall(plain)]
    return structs, constants, aliases, functions


def measure(header_path, structs, aliases):
    """Offsets and sizes from the compiler: {"struct.field": (offset, size), "struct": (0, size)}."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{Path(header_path).resolve()}"', "int main(void) {"]
    for name, fields in structs:
        lines.append(f'  printf("{name} 0 %zu\\n", sizeof({name}));')
        for field, _, _ in fields:
            lines.append(f'  printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    for _, name in aliases:
        lines.append(f'  printf("{name} 0 %zu\\n", sizeof({name}));')
    lines += ["  return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "measure.c"), Path(folder, "measure")
        source.write_text("\n".join(lines) + "\n")
        subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-o", binary, source], check=True, timeout=120)
        out = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=60).stdout
    return {words[0]: (words[1], words[2]) for words in (line.split() for line in out.splitlines())}


def dump(header_path):
    structs, constants, aliases, functions = parse(Path(header_path).read_text())
    if not structs or not constants:
        sys.exit(f"{header_path}: no struct or no constant was found in it")
    sizes = measure(header_path, structs, aliases)
    lines = []
    for name, fields in structs:
        lines.append(f"struct {name} size {sizes[name][1]}")
        for field, kind, tags in fields:
            offset, size = sizes[f"{name}.{field}"]
            lines.append(f"  {field} at {offset} size {size} type {kind}" + (f" tags {' '.join(sorted(tags))}" if tags else ""))
    lines += [f"alias {name} size {sizes[name][1]} of {of}" for of, name in aliases]
    lines += [f"function {name} {signature}" for name, signature in functions]
    lines += [f"constant {name} {value}" for name, value in constants]
    return lines


def blocks(lines):
    """{"struct x": [field lines], "constant y": [...]}, and the header line of each."""
    out, heads, current = {}, {}, None
    for line in lines:
        if line.startswith("  "):
            out[current].append(line)
        else:
            current = " ".join(line.split()[:2])
            out[current], heads[current] = [], line
    return out, heads


def differences(frozen, now):
    old, old_heads = blocks(frozen)
    new, new_heads = blocks(now)
    for key, fields in old.items():
        if key not in new:
            yield f"{key} is gone"
            continue
        if new[key][:len(fields)] != fields:
            for before, after in zip(fields, new[key] + [""] * len(fields)):
                if before != after:
                    yield f"{key}: '{before.strip()}' became '{after.strip() or 'nothing'}'"
                    break
        elif len(new[key]) == len(fields) and new_heads[key] != old_heads[key]:
            yield f"'{old_heads[key]}' became '{new_heads[key]}'"


def check(header, folder):
    frozen = sorted(Path(folder).glob("*.layout"))
    if not frozen:
        return [f"{folder} holds no frozen layout: without one nothing is compared"]
    now = dump(header)
    return [f"{path.name}: {difference}" for path in frozen
            for difference in differences(path.read_text().splitlines(), now)]


def asserts(header):
    structs, _, aliases = parse(Path(header).read_text())[:3]
    sizes = measure(header, structs, aliases)
    lines = ["/* Made by layout.py asserts; the layout of every ABI struct, asserted wherever this is compiled. */",
             '#include "berth/abi.h"', "", "#include <stddef.h>", ""]
    for name, fields in structs:
        lines.append(f'_Static_assert(sizeof({name}) == {sizes[name][1]}, "{name}");')
        for field, _, _ in fields:
            lines.append(f'_Static_assert(offsetof({name}, {field}) == {sizes[f"{name}.{field}"][0]}, "{name}.{field}");')
    return "\n".join(lines) + "\n"


def self_test(header, folder):
    """Plants each kind of change in a copy of the header; returns what was judged wrongly."""
    text = Path(header).read_text()
    changes = {
        "an appended field": (True, "  uint64_t size_bytes;\n} berth_get_file_result;",
                              "  uint64_t size_bytes;\n  uint64_t checksum;\n} berth_get_file_result;"),
        "an appended slot": (True, "  void (*shutdown)(void *self, berth_op op);\n}",
                             "  void (*shutdown)(void *self, berth_op op);\n  void (*pause)(void *self, berth_op op);\n}"),
        "a new constant": (True, "#define BERTH_CAUSE_LOST 9u", "#define BERTH_CAUSE_LOST 9u\n#define BERTH_CAUSE_NEW 10u"),
        "two fields in another order": (False, "  uint64_t wall_ns;\n  uint64_t cpu_ns;", "  uint64_t cpu_ns;\n  uint64_t wall_ns;"),
        "a field in the middle": (False, "  berth_cause cause;\n  int32_t exit_code;", "  berth_cause cause;\n  uint32_t core;\n  int32_t exit_code;"),
        "another type of the same size": (False, "  int32_t exit_code;", "  uint32_t exit_code;"),
        "a field taken away": (False, "  berth_str ref;   ", "  "),
        "a slot in another place": (False, "  void (*probe)(void *self, berth_op op);\n", ""),
        "a slot with another argument": (False, "void (*lookup)(void *self, berth_op op, berth_str name);",
                                         "void (*lookup)(void *self, berth_op op, berth_str name, uint32_t how);"),
        "another value": (False, "#define BERTH_UNCERTAIN 5u", "#define BERTH_UNCERTAIN 6u"),
        "another thread tag": (False, "[OPEN-001] [host-loop] [no-block]", "[OPEN-001] [host-loop] [may-block]"),
        "a wider alias": (False, "typedef uint32_t berth_cause;", "typedef uint64_t berth_cause;"),
    }
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, (allowed, before, after) in changes.items():
            if before not in text and name != "a field taken away":
                wrong.append(f"{name}: the header has no '{before}' to change")
                continue
            changed = Path(scratch, "abi.h")
            if name == "a field taken away":
                changed.write_text(text.replace("  uint32_t mode;\n  uint64_t size_bytes;\n} berth_get_file_result;",
                                                "  uint32_t mode;\n} berth_get_file_result;", 1))
            else:
                changed.write_text(text.replace(before, after, 1))
            found = check(changed, folder)
            if allowed == bool(found):
                wrong.append(f"{name}: {found or 'was not noticed'}")
        if not check(header, scratch):
            wrong.append("a missing frozen layout was not noticed")
    return wrong


def main():
    verb, header = sys.argv[1], sys.argv[2]
    if verb == "dump":
        print("\n".join(dump(header)))
        return 0
    if verb == "asserts":
        made = asserts(header)
        if len(sys.argv) == 3:
            sys.stdout.write(made)
            return 0
        if Path(sys.argv[3]).read_text() == made:
            return 0
        print(f"{sys.argv[3]} is not what layout.py makes of {header}: make it again")
        return 1
    found = check(header, sys.argv[3]) if verb == "check" else self_test(header, sys.argv[3])
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
