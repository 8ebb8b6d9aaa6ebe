#!/usr/bin/python3
"""Makes the Debian packages of a build, unpacks them into an empty folder, and works with what is there.

usage: packages_test.py BUILD SOURCE
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(2)).resolve()
BUILD = Path(sys.argv.pop(1)).resolve()
NAMES = ("berth", "berth-sdk", "berth-dev")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="berth-packages-")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.root = Path(folder.name, "root")
        cls.prefix = cls.root / "usr"
        cls.work = Path(folder.name, "work")
        cls.work.mkdir()
        # What is not sent anywhere need not be small.
        run("cpack", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "-G", "DEB", "-B", folder.name, "--config", BUILD / "CPackConfig.cmake", cwd=folder.name)
        cls.packages = {}
        for path in Path(folder.name).glob("*.deb"):
            fields = dict(re.findall(r"^ ?([A-Z][\w-]+): (.*)$", run("dpkg-deb", "-I", path), re.MULTILINE))
            cls.packages[fields["Package"]] = (path, fields)
            run("dpkg-deb", "-x", path, cls.root)

    def berth(self, *words, **more):
        environment = {"PATH": f"{self.prefix}/bin:/usr/bin:/bin", "HOME": str(self.work), **more}
        return run(self.prefix / "bin/berth", *words, cwd=self.work, env=environment)

    def test_there_are_three_and_each_names_what_it_needs(self):
        self.assertEqual(sorted(self.packages), sorted(NAMES))
        needed = {name: fields.get("Depends", "") for name, (_, fields) in self.packages.items()}
        for library in ("libc6", "libstdc++6", "libssl3", "libsqlite3-0", "libfmt9"):
            self.assertIn(library, needed["berth"])
        self.assertIn("g++", needed["berth-sdk"])
        self.assertIn("libboost1.81-dev", needed["berth-dev"])
        for name, (_, fields) in self.packages.items():
            self.assertTrue(fields["Description"], name)
            self.assertRegex(fields["Maintainer"], r".+ <.+@.+>")

    def test_no_file_is_in_two_of_them_or_outside_usr(self):
        seen = {}
        for name, (path, _) in self.packages.items():
            for line in run("dpkg-deb", "-c", path).splitlines():
                mode, owner, _, _, _, file = line.split(None, 5)
                self.assertEqual(owner, "root/root", file)
                self.assertNotRegex(mode[1:], r"^.{4}w|^.{7}w", f"{file} can be written by others")
                self.assertTrue("./usr/".startswith(file) or file.startswith("./usr/"), file)
                if not file.endswith("/"):
                    self.assertNotIn(file, seen, f"in {name} and {seen.get(file)}")
                    seen[file] = name

    def test_nothing_in_them_leads_back_to_where_they_were_built(self):
        # The archive of a build for debugging says where its sources are; that of a release does not.
        run("strip", "--strip-debug", self.prefix / "lib/libberth_core.a")
        for where in (BUILD, SOURCE):
            named = subprocess.run(["grep", "-rlaF", str(where), str(self.root)], capture_output=True, text=True,
                                   timeout=60).stdout.split()
            self.assertEqual(named, [])

    def test_each_says_under_what_licence_it_is(self):
        for name in NAMES:
            self.assertIn("Apache License", (self.prefix / f"share/doc/{name}/copyright").read_text())

    def test_the_manual_page_is_there(self):
        self.assertIn(".Dt BERTH 1", (self.prefix / "share/man/man1/berth.1").read_text())

    def test_the_command_finds_its_providers_and_its_worker_beside_itself(self):
        self.assertIn(f"{self.prefix}/lib/berth/providers/reference.so", self.berth("provider", "list"))
        told = self.berth("conformance", "run", self.prefix / "lib/berth/providers/reference.so", "--profile", "smoke")
        self.assertRegex(told, r"[1-9]\d* passed, 0 failed, \d+ skipped\n\Z")

    def test_the_shell_completes_commands_and_options(self):
        def completed(*words):
            script = (f"source '{self.prefix}/share/bash-completion/completions/berth'; "
                      'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; printf "%s\\n" "${COMPREPLY[@]}"')
            return run("bash", "-c", script, "bash", "berth", *words,
                       env={"PATH": f"{self.prefix}/bin:/usr/bin:/bin"}).split()
        self.assertIn("doctor", completed(""))
        self.assertEqual(completed("prov"), ["provider"])
        self.assertIn("inspect", completed("provider", ""))
        self.assertEqual(completed("run", "a.py", "--stre"), ["--stream"])

    def test_a_stranger_builds_a_provider_with_them_and_it_passes(self):
        commands = self.berth("provider", "new", "my-box")
        lines = [line.strip() for line in commands.splitlines() if line.startswith("  ")]
        self.assertIn(f"cmake -B build -DCMAKE_PREFIX_PATH={self.prefix}", lines)
        # What was printed is what is run, as it stands.
        told = run("bash", "-ec", "\n".join(lines), cwd=self.work,
                   env={"PATH": f"{self.prefix}/bin:/usr/bin:/bin", "HOME": str(self.work)})
        self.assertRegex(told, r"[1-9]\d* passed, 0 failed, 1 skipped\n")
        # It works without a state folder, so an open that fails cannot be brought about from outside.
        self.assertEqual(re.findall(r"^skip\S* +(\S+)", told, re.MULTILINE), ["OPEN-002"])
        self.assertIn("can be loaded", told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
