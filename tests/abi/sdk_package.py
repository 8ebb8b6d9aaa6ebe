#!/usr/bin/python3
"""The SDK as an author gets it: installed, found by CMake, and enough to build a provider outside this tree.

usage: sdk_package.py BUILD WORK template SOURCE_FOLDER HOST [BERTH]
       sdk_package.py BUILD WORK guide GUIDE.md HOST [BERTH]

Installs the SDK of the build folder BUILD below WORK, builds there either a copy of the template or the files
written out in the guide, and drives the resulting provider with HOST, a host in C. With BERTH, the path of
the berth command, the file is inspected too.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDE_LINES_MAX = 120


def run(*command, **more):
    command = [str(word) for word in command]
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, timeout=600, **more)


def write_guide(guide, folder):
    files = dict(BLOCK.findall(guide.read_text()))
    if set(files) != {"notes.json", "CMakeLists.txt", "notes.cc"}:
        sys.exit(f"{guide}: it writes out {sorted(files)}")
    if len(files["notes.cc"].splitlines()) > GUIDE_LINES_MAX:
        sys.exit(f"{guide}: its provider is no longer one of about 100 lines")
    folder.mkdir(parents=True)
    for name, text in files.items():
        folder.joinpath(name).write_text(text)


def main():
    build, work, what, source = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    host, berth = sys.argv[5], sys.argv[6:7]
    shutil.rmtree(work, ignore_errors=True)
    prefix, project = work / "prefix", work / "project"
    run("cmake", "--install", build, "--prefix", prefix, "--component", "sdk", stdout=subprocess.DEVNULL)
    if what == "template":
        shutil.copytree(source, project)
    else:
        write_guide(source, project)
    inspect = [f"-DBERTH_INSPECT_COMMAND={berth[0]};provider;inspect"] if berth else []
    run("cmake", "-S", project, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror", *inspect)
    run("cmake", "--build", work / "build")
    if what == "template":
        run("ctest", "--test-dir", work / "build", "--output-on-failure")
    providers = sorted((work / "build").glob("*.so"))
    if len(providers) != 1:
        sys.exit(f"the build made {providers}, not one provider")
    run(host, providers[0])


if __name__ == "__main__":
    main()
