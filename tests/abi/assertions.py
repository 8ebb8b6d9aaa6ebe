#!/usr/bin/python3
"""A class that disagrees with its manifest does not compile, and the compiler says why in a sentence.

usage: assertions.py INCLUDE_FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

HEADERS = """
#include <array>
#include <string_view>
#include "berth/provider.hpp"
"""
FACTS = """
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



def source_of(cases):
    """All of them, each in a namespace and, to the compiler, a file of its own; the headers are most of the work."""
    parts = [HEADERS]
    for number, (_, facts, more, last, _) in enumerate(cases):
        values = {"minor": 0, "fences": "false", "count": 0, "extensions": "", **facts}
        text = FACTS.format(**values) + PROVIDER.format(more=more, last=last)
        parts.append(f'#line 1 "case{number}"\nnamespace case{number} {{\n{text}\n}}\n')
    return "".join(parts)


def errors_of(said):
    """{number of a case: its errors}. Whose an error is, say the lines that lead to it; nobody's are under None."""
    found, of = {}, set()
    for line in said.splitlines():
        named = set(re.findall(r"\bcase(\d+)\b", line))
        if re.match(r"\S+ (In|At) ", line):
            of = named
        elif " required from " in line:
            of = of | named
        elif " error: " in line:
            for number in {int(one) for one in of | named} or {None}:
                found.setdefault(number, []).append(line)
    return found


def main():
    run = subprocess.run(["g++", "-std=c++20", f"-I{Path(sys.argv[1]).resolve()}", "-fsyntax-only", "-x", "c++", "-"],
                         input=source_of(CASES), capture_output=True, text=True, timeout=240)
    errors = errors_of(run.stderr)
    failures = 0
    for number, (what, _, _, _, sentence) in enumerate(CASES):
        of_case = errors.get(number, [])
        if any(sentence in error for error in of_case) if sentence else not of_case:
            continue
        failures += 1
        print(f"{what}: expected {sentence or 'no error'}, got: {of_case}")
    if failures or None in errors:
        print(run.stderr)
    print(f"{failures} of {len(CASES)} cases judged wrongly, {len(errors.get(None, []))} errors of none of them")
    return 1 if failures or None in errors else 0


if __name__ == "__main__":
    sys.exit(main())
