#!/usr/bin/python3
"""Installs a build into an empty folder and uses it from there, with nothing of the build in reach.

usage: install_test.py BUILD
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()


def inherited_settings():
    """Of the build that was installed: its compiler, and its sanitizers, which a program that links its
    archives needs as well."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    known = dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.MULTILINE))
    settings = ["-DCMAKE_CXX_COMPILER=" + known["CMAKE_CXX_COMPILER"]]
    if known.get("BERTH_SANITIZE"):
        settings.append("-DCMAKE_CXX_FLAGS=-fsanitize=" + known["BERTH_SANITIZE"])
    return settings


INHERITED = inherited_settings()


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="berth-install-")
        cls.addClassCleanup(folder.cleanup)
        # Not the caller's private folder: programs in sandboxes have other identities.
        os.chmod(folder.name, 0o755)
        cls.prefix = Path(folder.name, "usr")
        cls.state = Path(folder.name, "state")
        done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(cls.prefix)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"cmake --install failed:\n{done.stdout}{done.stderr}")
        # Else the keeper that the first run starts would wait for another for five minutes.
        cls.addClassCleanup(cls.berth, "templates", "stop")

    @classmethod
    def berth(cls, *words, stdin=""):
        return subprocess.run([str(cls.prefix / "bin/berth"), *words], input=stdin, cwd=cls.prefix,
                              capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(cls.state),
                                   "XDG_STATE_HOME": str(cls.state)})

    def test_the_files_are_where_others_expect_them(self):
        for path in ("bin/berth", "lib/berth/providers/local.so", "lib/berth/providers/reference.so",
                     "include/berth/abi.h", "include/berth/provider.hpp",
                     "share/berth/examples/sales/sales.py", "share/berth/examples/sales/sales.csv",
                     "share/berth/chart/page.html", "share/berth/chart/licenses/LICENSE",
                     "share/berth/schemas/execution-result.schema.json",
                     "share/berth/schemas/execution-event.schema.json"):
            self.assertTrue((self.prefix / path).is_file(), f"{path} is not installed")

    def test_the_installed_command_saves_pages_that_draw_charts(self):
        folder = self.state / "charts"
        done = self.berth("run", "-", "--title", "c", "--output", str(folder),
                          stdin="chart = {'type': 'bar', 'elements': [{'label': 'a', 'value': 1}]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"label":"a"', (folder / "c-1.html").read_text())

    def test_no_text_and_no_search_path_leads_back_into_the_build(self):
        named = subprocess.run(["grep", "-rlIF", str(BUILD), str(self.prefix)], capture_output=True,
                               text=True, timeout=60).stdout.split()
        self.assertEqual(named, [])
        for binary in ("bin/berth", "libexec/berth/berth-worker", "lib/berth/providers/local.so"):
            dynamic = subprocess.run(["readelf", "-d", str(self.prefix / binary)], check=True,
                                     capture_output=True, text=True, timeout=60).stdout
            self.assertNotIn("RUNPATH", dynamic, binary)
            self.assertNotIn("RPATH", dynamic, binary)

    def test_the_providers_are_found_beside_the_command(self):
        done = self.berth("provider", "list", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(self.prefix / "lib/berth/providers/local.so"), done.stdout)
        json.loads(done.stdout)

    def test_an_installed_provider_can_be_inspected_by_its_id(self):
        done = self.berth("provider", "inspect", "reference")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_installed_berth_runs_a_program(self):
        done = self.berth("run", "-", stdin="print(6 * 7)\n")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)

    def build_outside(self, source, *settings):
        """Configures and builds a project that knows nothing but where Berth was installed."""
        build = self.prefix.parent / f"build-{source.name}"
        for command in (["cmake", "-S", str(source), "-B", str(build), "-G", "Ninja",
                         f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Debug",
                         *INHERITED, *settings],
                        ["cmake", "--build", str(build)]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=280)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return build

    def embed_example(self):
        return self.build_outside(self.prefix / "share/berth/examples/embed") / "embed_example"

    def test_a_program_with_berth_inside_builds_outside_the_tree_and_runs(self):
        source = self.prefix / "share/berth/examples/embed"
        self.assertLess(len((source / "embed.cc").read_text().splitlines()), 60)
        program = self.embed_example()
        state = self.state.parent / "embed-state"
        done = subprocess.run([str(program), str(state)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.state)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines(),
                         ["line 0", "line 1", "line 2", "{'answer': 42}", "first: completed",
                          "waiting", "second: cancelled",
                          "receipt: first, completed, 50000 micro-dollars",
                          "receipt: second, cancelled, 0 micro-dollars"])
        # The command and the program share one record of what happened.
        told = self.berth("receipts", "--json", "--state-dir", str(state))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn('"second"', told.stdout)

    def test_a_program_with_berth_inside_says_what_is_wrong(self):
        done = subprocess.run([str(self.embed_example())], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("needs a state folder", done.stderr)

    def test_every_installed_header_of_the_library_can_be_included(self):
        headers = self.prefix / "include/berth-core"
        names = sorted(path.relative_to(headers).as_posix() for path in headers.rglob("*.h"))
        self.assertIn("core/host/host.h", names)
        source = self.prefix.parent / "headers"
        source.mkdir()
        (source / "all.cc").write_text("".join(f'#include "{name}"\n' for name in names))
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(Headers LANGUAGES CXX)\n"
            "find_package(Berth 0.1 REQUIRED)\n"
            "add_library(headers OBJECT all.cc)\n"
            "target_link_libraries(headers PRIVATE berth::core)\n")
        self.build_outside(source)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
