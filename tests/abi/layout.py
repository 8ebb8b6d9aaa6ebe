#!/usr/bin/python3
"""The layout of the binary contract, as text that can be frozen and compared.

usage: layout.py dump HEADER               prints the layout of HEADER
       layout.py asserts HEADER [FILE]     prints the C source that asserts it; with FILE, compares
       layout.py rust HEADER [FILE]        prints the same layout in Rust; with FILE, compares, and lets rustc
                                           say whether every size and offset is that of C
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


RUST_WORDS = {"self": "self_", "ref": "ref_"}
RUST_NUMBERS = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "int32_t": "i32",
                "void": "c_void", "char": "u8"}


def rust_type(kind):
    """A C type as the header writes it, in Rust; a function pointer may be null, so it is an Option."""
    function = re.fullmatch(r"(.*?) ?\(\*\)\((.*)\)", kind)
    if function:
        arguments = [rust_type(re.sub(r"\w+$", "", squeeze(one)).strip()) for one in function.group(2).split(",")]
        result = squeeze(function.group(1))
        arrow = "" if result == "void" else f" -> {rust_type(result)}"
        return f"Option<unsafe extern \"C\" fn({', '.join(arguments)}){arrow}>"
    if kind.endswith("*"):
        inner = kind[:-1].strip()
        constant = inner.startswith("const ")
        return f"{'*const' if constant else '*mut'} {rust_type(inner.removeprefix('const '))}"
    return RUST_NUMBERS.get(kind, kind)


def rust(header):
    """The header's types and constants in Rust. Struct and field names are those of C."""
    structs, constants, aliases, functions = parse(Path(header).read_text())
    lines = ["// The binary contract of berth/abi.h in Rust, made from it (tests/abi/layout.py rust). Its comments are there.",
             "#![allow(non_camel_case_types, dead_code)]", "", "use std::os::raw::c_void;", ""]
    lines += [f"pub type {name} = {rust_type(of)};" for of, name in aliases]
    lines += [f"pub type {name} = {rust_type(signature)};" for name, signature in functions]
    for name, fields in structs:
        lines += ["", "#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
        lines += [f"    pub {RUST_WORDS.get(field, field)}: {rust_type(kind)}," for field, kind, _ in fields]
        lines.append("}")
    lines.append("")
    for name, value in constants:
        number = re.fullmatch(r"(\d+)u?", value)
        if number:
            lines.append(f"pub const {name}: u32 = {number.group(1)};")
        elif value == "UINT64_MAX":
            lines.append(f"pub const {name}: u64 = u64::MAX;")
    lines.append(f"pub const BERTH_ABI_MINOR: u32 = {minor_of(Path(header).read_text())};")
    return "\n".join(lines) + "\n"


def minor_of(text):
    return int(re.search(r"^#define BERTH_ABI_MINOR (\d+)u", text, re.MULTILINE).group(1))


def measure_rust(source, structs):
    """The same as measure(), from rustc."""
    lines = [f'#[path = "{Path(source).resolve()}"]', "mod abi;", "use std::mem::{size_of, MaybeUninit};",
             "use std::ptr::addr_of;", "fn main() {"]
    for name, fields in structs:
        lines += ["    {", f"        let it = MaybeUninit::<abi::{name}>::uninit();", "        let at = it.as_ptr();",
                  f'        println!("{name} 0 {{}}", size_of::<abi::{name}>());']
        for field, _, _ in fields:
            word = RUST_WORDS.get(field, field)
            lines.append(f'        println!("{name}.{field} {{}} {{}}", unsafe {{ addr_of!((*at).{word}) as usize }} - at as usize, '
                         f"size_of_field(|x: &abi::{name}| &x.{word}));")
        lines.append("    }")
    lines += ["}", "fn size_of_field<T, F>(_: impl Fn(&T) -> &F) -> usize { size_of::<F>() }"]
    with tempfile.TemporaryDirectory() as folder:
        main, binary = Path(folder, "measure.rs"), Path(folder, "measure")
        main.write_text("\n".join(lines) + "\n")
        subprocess.run(["/usr/bin/rustc", "--edition=2021", "-o", binary, main], check=True, timeout=300)
        out = subprocess.run([binary], check=True, capture_output=True, text=True, timeout=60).stdout
    return {words[0]: (words[1], words[2]) for words in (line.split() for line in out.splitlines())}


def check_rust(header, source):
    if Path(source).read_text() != rust(header):
        return [f"{source} is not what layout.py makes of {header}: make it again"]
    return rust_differences(header, source)


def rust_differences(header, source):
    structs, _, aliases, _ = parse(Path(header).read_text())
    in_c, in_rust = measure(header, structs, aliases), measure_rust(source, structs)
    found = [f"{name}: C has offset and size {in_c[name]}, Rust {here}" for name, here in in_rust.items() if in_c[name] != here]
    return found if in_rust else ["rustc measured nothing"]


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
        made = rust(header)
        for name, before, after in (("two fields in another order in Rust", "    pub cause: berth_cause,\n    pub exit_code: i32,", "    pub exit_code: i32,\n    pub cause: berth_cause,"),
                                    ("a narrower field in Rust", "pub exit_code: i32", "pub exit_code: i16")):
            source = Path(scratch, "abi.rs")
            source.write_text(made.replace(before, after, 1))
            if not rust_differences(header, source):
                wrong.append(f"{name} was not noticed")
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
    if verb == "rust":
        if len(sys.argv) == 3:
            sys.stdout.write(rust(header))
            return 0
        found = check_rust(header, sys.argv[3])
        print("\n".join(found) or "as it must be")
        return 1 if found else 0
    found = check(header, sys.argv[3]) if verb == "check" else self_test(header, sys.argv[3])
    print("\n".join(found) or "as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
