#!/usr/bin/python3
"""A class that disagrees with its manifest does not compile, and the compiler says why in a sentence.

usage: assertions.py INCLUDE_FOLDER
"""

import subprocess
import sys
import tempfile
from pathlib import Path

FACTS = """
#include <array>
#include <string_view>
struct Facts {{
  static constexpr bool kKnown = true;
  static constexpr const char* kId = "x";
  static constexpr unsigned kMinor = {minor};
  static constexpr unsigned kMinorRequired = 0;
  static constexpr bool kFences = {fences};
  static constexpr bool kCombinedStreams = false;
  static constexpr std::array<std::string_view, {count}> kExtensions{{{extensions}}};
  static constexpr std::array<std::string_view, 0> kHostExtensions{{}};
}};
"""
PROVIDER = """
#include "berth/provider.hpp"
struct P : berth::Provider {{
  {more}
  berth::ProbeReport probe(berth::Operation&) override {{ return {{}}; }}
  berth::Scope scope(berth::Operation&) override {{ return {{}}; }}
  berth::Created create(berth::Operation&, std::string_view, const berth::CreateSpec&) override {{ return {{}}; }}
  berth::Found lookup(berth::Operation&, std::string_view) override {{ return {{}}; }}
  berth::RunResult run(berth::Operation&, std::string_view, const berth::Command&) override {{ return {{}}; }}
  void put_file(berth::Operation&, std::string_view, const berth::PutFile&) override {{}}
  berth::GotFile get_file(berth::Operation&, std::string_view, const berth::GetFile&) override {{ return {{}}; }}
  berth::Destroyed destroy(berth::Operation&, std::string_view, std::string_view) override {{ return {{}}; }}
  {last}
}};
auto* const entry = &berth::provider_entry<P, Facts>;
"""
FENCE = "berth::Found fence(berth::Operation&, std::string_view) override { return {}; }"
LIST = "berth::ListPage list_owned(berth::Operation&, std::string_view, std::string_view) override { return {}; }"
EXTENSION = "static const void* extension(std::string_view) { return nullptr; }"

# what, the facts that differ, what the class has more, its last slot, the sentence expected (None: compiles)
CASES = [
    ("a class that agrees", {}, "", LIST, None),
    ("a class that fences and says so", {"fences": "true"}, FENCE, LIST, None),
    ("fence claimed but not there", {"fences": "true"}, "", LIST, "does not override fence()"),
    ("fence there but not claimed", {}, FENCE, LIST, "leave fence() out"),
    ("extensions claimed but not there", {"count": 1, "extensions": '"a.b/1"'}, "", LIST, "the class has no static extension()"),
    ("extensions there but not claimed", {}, EXTENSION, LIST, "the manifest lists no extensions"),
    ("extensions there and claimed", {"count": 1, "extensions": '"a.b/1"'}, EXTENSION, LIST, None),
    ("a slot left out", {}, "", "", "does not override every slot"),
    ("a constructor with arguments", {}, "explicit P(int) {}", LIST, "default constructor"),
    ("another minor", {"minor": 7}, "", LIST, "abi.minor is not that of the berth/abi.h"),
]


def main():
    flags = ["-std=c++20", f"-I{Path(sys.argv[1]).resolve()}", "-x"]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        # Compiled once: the headers are most of the work of every case.
        header = Path(folder, "before.hpp")
        header.write_text('#include "berth/provider.hpp"\n')
        subprocess.run(["g++", *flags, "c++-header", header, "-o", f"{header}.gch"], check=True, timeout=120)
        for what, facts, more, last, sentence in CASES:
            values = {"minor": 0, "fences": "false", "count": 0, "extensions": "", **facts}
            source = FACTS.format(**values) + PROVIDER.format(more=more, last=last)
            run = subprocess.run(["g++", *flags, "c++", "-fsyntax-only", "-include", header, "-"],
                                 input=source, capture_output=True, text=True, timeout=120)
            right = run.returncode == 0 if sentence is None else run.returncode != 0 and sentence in run.stderr
            if not right:
                failures += 1
                print(f"{what}: expected {sentence or 'no error'}, got:\n{run.stderr[:1500]}")
    print(f"{failures} of {len(CASES)} cases judged wrongly")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
