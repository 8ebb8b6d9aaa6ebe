#!/usr/bin/python3
"""Checks the rules of this tree that a compiler does not know.

usage: tidy.py --root DIR [--build DIR] CHECK [CHECK ...]

Every check prints one line per finding, `file:line: sentence`, and the exit code is 1 when there is
any. The checks are described at their functions; tidy_test.py proves that each of them can fail.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("core", "plugins", "sdk", "manifests", "tests", "tools")
CODE = {".h", ".hpp", ".c", ".cc", ".cpp"}
HEADERS = {".h", ".hpp"}
SCRIPTS = {".py", ".js", ".mjs", ".sh"}
SKIPPED_FOLDERS = {"build", "node_modules", "__pycache__"}

# What each module of core may include of core, beside itself. Anything absent may include nothing.
CORE_ARROWS = {
    "base": set(),
    "os": {"base"},
    "accounting": {"base"},
    "lifecycle": {"accounting", "base"},
    "store": {"lifecycle", "accounting", "base", "os"},
    "registry": {"lifecycle", "base", "os"},
    "plugin": {"lifecycle", "accounting", "registry", "base", "os"},
    "conformance": {"plugin", "lifecycle", "registry", "base", "os"},
    "execution": {"lifecycle", "accounting", "base", "os"},
    "host": {"execution", "plugin", "store", "registry", "lifecycle", "accounting", "base", "os"},
    "session": {"lifecycle", "accounting", "base", "os"},
    "server": {"session", "execution", "lifecycle", "accounting", "base", "os"},
}
# The modules whose effects go through interfaces only, and the headers that would be a way around.
PURE_MODULES = {"lifecycle", "accounting"}
IMPURE_HEADER = re.compile(
    r"^(fstream|filesystem|cstdio|stdio\.h|unistd\.h|fcntl\.h|spawn\.h|sqlite3\.h|dlfcn\.h|sys/.*|"
    r"netinet/.*|openssl/.*|boost/(dll|process|filesystem)/.*|boost/asio/(ip|local|posix)/.*)$")

LINES_MAX = 500
FUNCTION_LINES_MAX = 75
REASON = re.compile(r"\blong because\b", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class Tree:
    """The files of a source tree, read once. Paths are relative to the root, with slashes."""

    def __init__(self, root, build=None):
        self.root = Path(root).resolve()
        self.build = Path(build).resolve() if build else None
        self.files = sorted(self._walk())
        self._texts = {}

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            top = Path(folder) == self.root
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and
                          (f in FOLDERS or f == ".ci" if top else True)]
            for name in names:
                path = Path(folder) / name
                # In a second work tree of one clone this is a file, and no part of the project.
                if name == ".git":
                    continue
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(self.root).as_posix()

    def text(self, path):
        if path not in self._texts:
            data = (self.root / path).read_bytes()
            self._texts[path] = "" if b"\0" in data else data.decode("utf-8", "replace")
        return self._texts[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def code(self):
        return [p for p in self.files if Path(p).suffix in CODE]

    def shell_scripts(self):
        shebang = re.compile(r"#!.*\b(ba|da)?sh\b")
        return [p for p in self.files
                if p.endswith(".sh") or shebang.match(self.text(p).split("\n", 1)[0])]


INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(tree, path):
    """(line number, written name, path in the tree or None) of every include of a file."""
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match.group(1) == '"', match.group(2)
        candidates = [name, f"sdk/include/{name}"]
        if quoted:  # the folders of an include path are always above the file that names it
            above = [parent.as_posix() for parent in Path(path).parents]
            candidates = [os.path.normpath(f"{folder}/{name}") for folder in above] + candidates
        found = next((c for c in candidates if c in tree_set(tree)), None)
        yield number, name, found


def tree_set(tree):
    if not hasattr(tree, "file_set"):
        tree.file_set = set(tree.files)
    return tree.file_set


def is_fixture(path):
    """Files that are input to a test or to a person, not part of a target of this build."""
    parts = Path(path).parts
    return "fixtures" in parts or path.startswith("sdk/template/")


def arrow_refusal(source, target):
    """Why `source` may not include `target` (both paths in the tree), or None."""
    s, t = Path(source).parts, Path(target).parts
    if s[0] in ("tests", "manifests"):
        return None
    if s[0] == "core":
        if t[0] == "core":
            if t[1] == s[1] or t[1] in CORE_ARROWS.get(s[1], set()):
                return None
            allowed = ", ".join(sorted(CORE_ARROWS.get(s[1], set()))) or "nothing"
            return f"core/{s[1]} may include {allowed} of core, not core/{t[1]}"
        if target == "sdk/include/berth/abi.h" or target.startswith("sdk/include/berth/ext/"):
            return None
        return "core knows berth/abi.h and berth/ext/ and nothing else outside core"
    if s[0] == "sdk":
        return None if t[0] == "sdk" else f"sdk knows nothing of {t[0]}"
    if s[0] == "plugins":
        if t[0] == "sdk" or (t[0] == "plugins" and t[1] in (s[1], "http")):
            return None
        return "a plugin knows only the sdk, itself and plugins/http"
    if s[0] == "tools":
        if t[0] in ("tools", "core") or target == "sdk/include/berth/abi.h":
            return None
        if target.startswith("sdk/include/berth/ext/"):
            return None
        return f"tools stand on core, not on {t[0]}"
    return None


def check_arrows(tree):
    """Dependencies point down only, read from the #include lines."""
    for path in tree.code():
        if is_fixture(path):
            continue
        parts = Path(path).parts
        if parts[0] == "core" and len(parts) > 2 and parts[1] not in CORE_ARROWS:
            yield Finding(path, 1, f"core/{parts[1]} has no place among the arrows")
        for number, name, target in includes(tree, path):
            if name.startswith("../"):
                yield Finding(path, number, f"include \"{name}\" climbs; name it from the root")
            elif target:
                refusal = arrow_refusal(path, target)
                if refusal:
                    yield Finding(path, number, f"includes {target}: {refusal}")
            elif (parts[0] == "core" and parts[1] in PURE_MODULES and IMPURE_HEADER.match(name)):
                yield Finding(path, number, f"includes <{name}>: core/{parts[1]} does no input or "
                                            "output of its own")


def compiled_sources(tree):
    if tree.build is None:
        sys.exit("the check 'built' needs --build, a configured build folder")
    database = tree.build / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"{database} is missing; configure with CMAKE_EXPORT_COMPILE_COMMANDS=ON")
    sources = set()
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        # A unit that CMake makes of several sources is a list of them.
        paths = [path]
        if path.parent.name == "Unity":
            paths = [Path(name) for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE)]
        sources.update(path.relative_to(tree.root).as_posix() for path in paths if path.is_relative_to(tree.root))
    return sources


def unreached_lists(tree):
    """The CMakeLists.txt files that configuring `tree.build` did not read."""
    ninja = (tree.build / "build.ninja").read_text(errors="replace")
    return [p for p in tree.files if Path(p).name == "CMakeLists.txt" and
            not is_fixture(p) and str(tree.root / p) not in ninja]


BENCHMARKS = "tools/bench/"


def leaves_out_the_benchmarks(tree):
    cache = tree.build / "CMakeCache.txt"
    return cache.is_file() and "BERTH_BUILD_BENCH:BOOL=OFF" in cache.read_text()


def check_built(tree):
    """Every source is compiled by a target, every header is included by a compiled source, every
    CMakeLists.txt is read, every script is named by some other file: nothing lies dead in the tree.
    A source under tests/ may instead be named by a script or list there: tests compile some themselves.
    What the build was told to leave out is asked of the build that has it."""
    reached = compiled_sources(tree) & tree_set(tree)
    if leaves_out_the_benchmarks(tree):
        tree.files = [p for p in tree.files if not p.startswith(BENCHMARKS)]
    unread = unreached_lists(tree)
    for path in unread:
        yield Finding(path, 1, "no add_subdirectory reaches this folder")
    readers = [p for p in tree.files if p not in unread and
               (Path(p).suffix in {".txt", ".cmake", ".py", ".sh", ".md"} or p in tree.shell_scripts())]
    named = {p: tree.text(p) for p in readers}
    named_in_tests = "\n".join(text for p, text in named.items() if p.startswith("tests/"))
    reached |= {p for p in tree.code() if p.startswith("tests/") and Path(p).name in named_in_tests}
    pending = list(reached)
    while pending:
        for _, _, target in includes(tree, pending.pop()):
            if target and target not in reached:
                reached.add(target)
                pending.append(target)
    for path in tree.files:
        suffix, name = Path(path).suffix, Path(path).name
        if path.startswith("sdk/template/"):
            continue
        if suffix in CODE and path not in reached:
            yield Finding(path, 1, "no compiled source includes this header" if suffix in HEADERS
                          else "no target compiles this source")
        elif suffix in SCRIPTS and not any(
                name in text or re.search(rf"^\s*(import|from) {Path(path).stem}\b", text, re.MULTILINE)
                for p, text in named.items() if p != path):
            yield Finding(path, 1, "no other file names this script")


def functions(lines):
    """(first line, last line) of what looks like a function in the house's formatting: a statement
    that ends in ') ... {', and the first following line that is '}' at the statement's indentation."""
    at = 0
    while at < len(lines):
        first = at
        if lines[at].endswith("{"):
            while first > 0 and not re.search(r"([;{}]|:|\*/)$|^\s*(//|#|$)", lines[first - 1]):
                first -= 1
        head = " ".join(line.strip() for line in lines[first:at + 1])
        indent = len(lines[first]) - len(lines[first].lstrip(" "))
        if (head.endswith("{") and ")" in head and indent <= 4 and
                not re.match(r"(\}|if|for|while|switch|do|else|try|catch|namespace|class|enum|typedef|struct)\b", head)):
            close = next((i for i in range(at + 1, len(lines))
                          if re.match(rf"^ {{{indent}}}\}}[;,)]*\s*(//.*)?$", lines[i])), None)
            if close is not None:
                yield first + 1, close + 1
                at = close
        at += 1


def check_length(tree):
    """A file fits one sitting and a function a screen, or says why it does not."""
    for path in tree.files:
        suffix = Path(path).suffix
        lines = tree.lines(path)
        if suffix not in CODE | {".py", ".mjs", ".js", ".sh"} or is_fixture(path):
            continue
        if len(lines) > LINES_MAX and not any(REASON.search(line) for line in lines[:40]):
            yield Finding(path, 1, f"has {len(lines)} lines; beyond {LINES_MAX} its first comment "
                                   "says why, in a sentence with the words 'long because'")
        if suffix not in CODE:
            continue
        for first, last in functions(lines):
            around = lines[max(0, first - 6):first + 2]
            if last - first + 1 > FUNCTION_LINES_MAX and not any(REASON.search(x) for x in around):
                yield Finding(path, first, f"this function has {last - first + 1} lines; beyond "
                                           f"{FUNCTION_LINES_MAX} a comment says why ('long because')")


# Written with one-letter classes so that this file does not contain what it forbids.
FORBIDDEN_EVERYWHERE = [
    (re.compile(r"/wor[k]/(main|shared|steering)(?![.\w])|/farm[/-]|/tmp/(bash_job[s]|tea[m])|/roo[t]/\.\w"),
     "names a path of one particular machine"),
    (re.compile(r"deb\.debia[n]\.org|registry\.npmj[s]"), "names the host of a package registry"),
    (re.compile(r"\b(design|reference)/[a-z0-9-]+\.m[d]\b"), "refers to a document outside the tree"),
    (re.compile(r"\b[Ii]ssue #?\d+"), "refers to a task; say the reason itself"),
]
FORBIDDEN_IN_CODE = [
    (re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b|\bnot implemente[d]\b"), "is unfinished work"),
    (re.compile(r"\bGTEST_SKI[P]\b|\bDISABLE[D]_\w|\bunittest\.ski[p]"), "switches a test off"),
    (re.compile(r"(?<![<,] )(?<!<)\b(class|struct|namespace|enum class)\s+\w*(Manager|Handler|Util|Instance|manager|handler|util|instance)s?\b"),
     "a name must say what the thing is; manager, handler, util and instance do not"),
]
FORBIDDEN_FILE_NAME = re.compile(r"(^|_)(util|utils|helpers|manager|handler|misc|common)(_|\.|$)")
OWNED_CALL = re.compile(r"(?<![\w.>:])(::close|::kill|dlopen|dlclose|::dlopen|::dlclose)\(")


def check_words(tree):
    """No unfinished work, no switched-off test, no empty name, nothing of one machine."""
    for path in tree.files:
        if path.startswith("tests/tidy/"):
            continue
        is_code = Path(path).suffix in CODE | SCRIPTS or path in tree.shell_scripts()
        rules = FORBIDDEN_EVERYWHERE + (FORBIDDEN_IN_CODE if is_code else [])
        if is_code and FORBIDDEN_FILE_NAME.search(Path(path).name):
            yield Finding(path, 1, "the file's name does not say what is in it")
        owned = path.startswith("core/") and not path.startswith("core/os/")
        for number, line in enumerate(tree.lines(path), 1):
            for pattern, why in rules:
                if pattern.search(line):
                    yield Finding(path, number, f"'{pattern.search(line).group(0)}' {why}")
            if owned and OWNED_CALL.search(line):
                yield Finding(path, number, "descriptors, processes and libraries have owner types in "
                                            "core/os; nothing else in core calls this")
            if Path(path).name == "CMakeLists.txt" and re.search(r"\bfile\s*\(\s*GLOB", line):
                yield Finding(path, number, "sources are listed, never globbed")


def check_readmes(tree):
    """Every top-level folder says what lives in it, and every link between documents leads somewhere."""
    for folder in FOLDERS:
        if any(p.startswith(f"{folder}/") for p in tree.files) and f"{folder}/README.md" not in tree_set(tree):
            yield Finding(folder, 1, "has no README.md")
    link = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            for match in link.finditer(line):
                target = match.group(1)
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not (tree.root / os.path.dirname(path) / target).exists():
                    yield Finding(path, number, f"links to {target}, which is not there")


def check_scripts(tree):
    """Shell scripts parse, and shellcheck has nothing to say; Python parses."""
    if shutil.which("shellcheck") is None:
        yield Finding("tools/packages.txt", 1, "shellcheck is not installed; tools/test installs it")
        return
    for path in tree.shell_scripts():
        for command in (["bash", "-n", path], ["shellcheck", "-x", "-s", "bash", "-f", "gcc", path]):
            run = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, timeout=120)
            for line in (run.stdout + run.stderr).splitlines() if run.returncode else []:
                yield Finding(path, 1, line)
    for path in tree.files:
        if path.endswith(".py") and not is_fixture(path):
            try:
                compile(tree.text(path), path, "exec")
            except SyntaxError as error:
                yield Finding(path, error.lineno or 1, f"python cannot read it: {error.msg}")


CHECKS = {
    "arrows": check_arrows,
    "built": check_built,
    "length": check_length,
    "words": check_words,
    "readmes": check_readmes,
    "scripts": check_scripts,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build")
    parser.add_argument("checks", nargs="+", choices=sorted(CHECKS))
    arguments = parser.parse_args()
    tree = Tree(arguments.root, arguments.build)
    if not tree.code():
        sys.exit(f"{tree.root} has no source to check")
    findings = [f for name in arguments.checks for f in CHECKS[name](tree)]
    for finding in findings:
        print(finding)
    print(f"{len(tree.files)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
