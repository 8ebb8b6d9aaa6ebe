#!/usr/bin/python3
"""The notes of a provider survive what packagers do: every linker, link-time optimisation, garbage
collection of sections, and strip.

usage: notes.py EMBED INCLUDE MAP MANIFEST            EMBED is berth-embed-manifest, MAP the version script
       notes.py EMBED INCLUDE MAP MANIFEST --self     proves that a lost or damaged note is noticed
"""

import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from elf_notes import notes

PROVIDER = """
#define BERTH_PROVIDER_BUILD 1
#include "berth/abi.h"
uint32_t berth_provider_entry_v1(const berth_offer *offer, berth_reply *reply) {
  (void)offer;
  (void)reply;
  return 1;
}
"""
# lld cannot read the objects of gcc's link-time optimisation; everything else goes with everything.
BUILDS = [(compiler, linker, lto)
          for compiler in ("gcc", "clang-16")
          for linker in ("bfd", "gold", "mold", "lld")
          for lto in (False, True)
          if not (compiler == "gcc" and linker == "lld" and lto)
          and not (compiler == "clang-16" and lto and linker in ("bfd", "gold", "mold"))]


def run(*command):
    subprocess.run([str(word) for word in command], check=True, timeout=120)


def linker_flag(compiler, linker):
    """clang's own lld, of the same version: another cannot read its bitcode."""
    if compiler == "clang-16" and linker == "lld":
        return f"--ld-path={shutil.which('ld.lld-16')}"
    return f"-fuse-ld={linker}"


def compiled(folder, options, compiler, flags):
    objects = []
    for source in ("provider.c", "notes.c"):
        objects.append(Path(folder, f"{compiler}{''.join(flags)}-{source}.o"))
        run(compiler, "-std=c11", "-O2", "-fPIC", "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", *flags,
            f"-I{options.include}", "-c", Path(folder, source), "-o", objects[-1])
    return objects


def link(folder, options, compiler, linker, flags, objects):
    library = Path(folder, f"{compiler}-{linker}{''.join(flags) or '-plain'}.so")
    run(compiler, "-shared", "-O2", *flags, linker_flag(compiler, linker), "-Wl,--gc-sections", f"-Wl,--version-script={options.map}",
        "-Wl,-z,defs", "-Wl,-z,now", "-Wl,-z,nodelete", *objects, "-o", library)
    return library


def build(folder, options):
    return link(folder, options, "gcc", "bfd", [], compiled(folder, options, "gcc", []))


def judge(library, manifest):
    """What is wrong with the notes of a file, compared with the manifest they were made from."""
    try:
        found = notes(library)
    except ValueError as error:
        return [str(error)]
    if sorted(found) != [1, 2] or any(len(payloads) != 1 for payloads in found.values()):
        return [f"{library.name}: it carries notes {({kind: len(p) for kind, p in found.items()})}, not one of each"]
    wrong = []
    fields = struct.unpack("<HHHHI", found[1][0])
    abi = manifest["abi"]
    if fields != (1, abi["major"], abi["minor"], abi["minorRequired"], 0):
        wrong.append(f"{library.name}: the ABI note says {fields}")
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    if found[2][0] != canonical:
        wrong.append(f"{library.name}: the manifest note is not the canonical manifest")
    return wrong


def missing_tools():
    needed = ("gcc", "clang-16", "ld.bfd", "ld.gold", "ld.mold", "ld.lld", "ld.lld-16", "strip", "objcopy")
    return [f"{tool} is not installed; tools/test installs it" for tool in needed if shutil.which(tool) is None]


def prepare(folder, options, manifest_path):
    Path(folder, "provider.c").write_text(PROVIDER)
    run(options.embed, manifest_path, Path(folder, "notes.c"), Path(folder, "facts.hpp"))


def check(folder, options, manifest):
    wrong = []
    # Every linker is given the same objects.
    objects = {}
    for compiler, linker, lto in BUILDS:
        flags = ["-flto"] if lto else []
        if (compiler, lto) not in objects:
            objects[compiler, lto] = compiled(folder, options, compiler, flags)
        library = link(folder, options, compiler, linker, flags, objects[compiler, lto])
        wrong += judge(library, manifest)
        for flags in (["--strip-all"], ["--strip-unneeded", "-R", ".comment"]):
            stripped = library.with_suffix(f".{len(flags)}.so")
            run("strip", *flags, "-o", stripped, library)
            wrong += judge(stripped, manifest)
    return wrong


def self_test(folder, options, manifest):
    library = build(folder, options)
    good = Path(folder, "notes.c").read_text()
    planted = {
        "a note taken out of the file": lambda to: run("objcopy", "--remove-section", ".note.berth.manifest", library, to),
        "a note that is not one to the linker": lambda to: rebuild(good.replace(".note.berth.manifest", ".berth.manifest"), to),
        "a variable that the compiler may drop": lambda to: rebuild(good.replace(", used", ""), to),
        "another byte in the manifest": lambda to: to.write_bytes(library.read_bytes().replace(b'"kind":"sandbox"', b'"kind":"sandbax"')),
        "another major in the ABI note": lambda to: to.write_bytes(
            library.read_bytes().replace(b"BERTH\0\0\0\x01\0\x01\0", b"BERTH\0\0\0\x01\0\x02\0")),
    }

    def rebuild(text, to):
        Path(folder, "notes.c").write_text(text)
        shutil.copy(build(folder, options), to)

    missed = []
    for number, (name, plant) in enumerate(planted.items()):
        shutil.copy(library, library.with_suffix(".kept"))
        broken = Path(folder, f"broken{number}.so")
        plant(broken)
        shutil.copy(library.with_suffix(".kept"), library)
        if not judge(broken, manifest):
            missed.append(f"not noticed: {name}")
    return missed


class Options:
    def __init__(self, arguments):
        self.embed, self.include, self.map = arguments[:3]


def main():
    options, manifest_path = Options(sys.argv[1:]), sys.argv[4]
    manifest = json.loads(Path(manifest_path).read_text())
    found = missing_tools()
    if not found:
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder, options, manifest_path)
            found = (self_test if "--self" in sys.argv else check)(folder, options, manifest)
    print("\n".join(found) or f"{len(BUILDS)} builds, as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
