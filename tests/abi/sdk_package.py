#!/usr/bin/python3
"""The SDK as an author gets it: installed, found by CMake or by pkg-config, and enough to build, test and drive
a provider outside this tree.

usage: sdk_package.py BUILD WORK BERTH HOST LANGUAGE [--conformance | --test TEST]

Installs the SDK of the build folder BUILD below WORK, lets BERTH begin a provider in LANGUAGE there, builds it
with warnings as errors, runs its own test, with --conformance the smoke profile of the kit as well, and drives it
with HOST, a host in C. Where CMake is not needed (LANGUAGE cxx), the provider is built once more with what
pkg-config says. The template's test is one source for all languages, and most of the compiler's work: TEST is that
program as another language's project has built it, and then the provider alone is built here.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ID = "my-box"
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"


def run(*command, **more):
    command = [str(word) for word in command]
    print("+", " ".join(command), flush=True)
    return subprocess.run(command, check=True, timeout=600, text=True, **more)


def pkg_config(prefix, *options):
    folders = [str(path.parent) for path in prefix.rglob("berth-sdk.pc")]
    environment = {**os.environ, "PKG_CONFIG_PATH": ":".join(folders)}
    return run("pkg-config", *options, "berth-sdk", env=environment, capture_output=True).stdout.split()


def build_by_hand(prefix, project, folder):
    """Without CMake: the manifest's notes by the installed tool, the flags from pkg-config."""
    folder.mkdir()
    notes, facts = folder / "notes.c", folder / "facts.hpp"
    run(*pkg_config(prefix, "--variable=embed_manifest"), project / f"{ID}.json", notes, facts)
    text = (project / f"{ID}.sh").read_bytes()
    folder.joinpath("my-box_provider_texts.h").write_text(
        f"static const char my_box_sh[] = {{{','.join(str(byte) for byte in text)},0}};\n")
    flags = pkg_config(prefix, "--cflags")
    run("gcc", *flags, "-c", notes, "-o", folder / "notes.o")
    run("g++", "-std=c++20", *flags, f"-I{folder}", f'-DBERTH_MANIFEST_HEADER="{facts}"', "-c",
        project / f"{ID}.cc", "-o", folder / "provider.o")
    library = folder / f"{ID}.so"
    run("g++", folder / "provider.o", folder / "notes.o", *pkg_config(prefix, "--libs"), "-o", library)
    return library


def main():
    build, work, berth, host, language = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:6]
    shutil.rmtree(work, ignore_errors=True)
    prefix, project = work / "prefix", work / ID
    run("cmake", "--install", build, "--prefix", prefix, "--component", "sdk", stdout=subprocess.DEVNULL)
    run(berth, "provider", "new", ID, "--language", language, "--into", project)
    run("cmake", "-S", project, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={WARNINGS}", f"-DCMAKE_C_FLAGS={WARNINGS}",
        f"-DBERTH_INSPECT_COMMAND={berth};provider;inspect")
    providers = [work / "build" / f"{ID}.so"]
    if "--test" in sys.argv:
        run("cmake", "--build", work / "build", "--target", f"{ID}_provider")
        run(sys.argv[-1], providers[0])
    else:
        run("cmake", "--build", work / "build")
        run("ctest", "--test-dir", work / "build", "--output-on-failure", "--no-tests=error")
    if language == "cxx":
        providers.append(build_by_hand(prefix, project, work / "by_hand"))
    for provider in providers:
        run(berth, "provider", "inspect", provider)
        if "--conformance" in sys.argv:
            run(berth, "conformance", "run", provider, "--profile", "smoke")
        run(host, provider)


if __name__ == "__main__":
    main()
