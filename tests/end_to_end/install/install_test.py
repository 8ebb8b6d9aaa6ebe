#!/usr/bin/python3
"""Installs a build into an empty folder and uses it from there, with nothing of the build in reach.

usage: install_test.py BUILD
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()


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

    def berth(self, *words, stdin=""):
        return subprocess.run([str(self.prefix / "bin/berth"), *words], input=stdin, cwd=self.prefix,
                              capture_output=True, text=True, timeout=120,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.state),
                                   "XDG_STATE_HOME": str(self.state)})

    def test_the_files_are_where_others_expect_them(self):
        for path in ("bin/berth", "lib/berth/providers/local.so", "lib/berth/providers/reference.so",
                     "include/berth/abi.h", "include/berth/provider.hpp",
                     "share/berth/examples/sales/sales.py", "share/berth/examples/sales/sales.csv"):
            self.assertTrue((self.prefix / path).is_file(), f"{path} is not installed")

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
