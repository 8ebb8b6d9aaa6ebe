#!/usr/bin/python3
"""The header alone, in every dialect it promises, by every compiler: no warning, no error.

usage: header.py INCLUDE_FOLDER            checks every header of the binary contract
       header.py INCLUDE_FOLDER --self     proves that the check can fail
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILERS = {"c": ("gcc", "clang-16"), "c++": ("g++", "clang++-16")}
DIALECTS = {"c": ("c11", "c17"), "c++": ("c++17", "c++20")}
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wundef", "-Wold-style-declaration"]


def compile_alone(header):
    """What each compiler has to say, one after the other; the header is the whole translation unit."""
    for language, compilers in COMPILERS.items():
        for compiler in compilers:
            if shutil.which(compiler) is None:
                yield f"{compiler} is not installed; tools/test installs what is missing"
                continue
            for dialect in DIALECTS[language]:
                flags = [flag for flag in WARNINGS if language == "c" and "gcc" in compiler or flag != "-Wold-style-declaration"]
                run = subprocess.run([compiler, f"-std={dialect}", *flags, "-fsyntax-only", "-x", language, "-"],
                                     input=f'#include "{header}"\n', capture_output=True, text=True, timeout=120)
                if run.returncode != 0:
                    yield f"{header.name} as {dialect} by {compiler}: {run.stderr.strip().splitlines()[0]}"


def includes_only_stdint(header):
    includes = [line for line in header.read_text().splitlines() if line.lstrip().startswith("#include")]
    return [] if includes == ["#include <stdint.h>"] else [f"{header.name} includes {includes}"]


def self_test(text):
    planted = {
        "a C++ word": text.replace("#endif /* BERTH_ABI_H */", "class berth_class;\n#endif"),
        "a type without its include": text.replace("#include <stdint.h>", ""),
        "bool, which C11 does not know": text.replace("typedef uint64_t berth_op;", "typedef bool berth_op;"),
        "a // comment is fine but an empty struct is not": text.replace(
            "#endif /* BERTH_ABI_H */", "typedef struct berth_empty {} berth_empty;\n#endif"),
        "an initialised field, which only C++ knows": text.replace("  uint64_t len;\n} berth_str;", "  uint64_t len = 0;\n} berth_str;"),
    }
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, changed in planted.items():
            header = Path(folder, "abi.h")
            header.write_text(changed)
            # The first that notices it is enough.
            if changed == text or not any(compile_alone(header)):
                missed.append(f"not noticed: {name}")
    return missed


def main():
    folder = Path(sys.argv[1])
    headers = [folder / "berth/abi.h", *sorted((folder / "berth/ext").glob("*.h"))]
    if "--self" in sys.argv:
        found = self_test(headers[0].read_text())
    else:
        found = [line for header in headers for line in compile_alone(header.resolve())]
        found += includes_only_stdint(headers[0])
    print("\n".join(found) or f"{len(headers)} header, as it must be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
