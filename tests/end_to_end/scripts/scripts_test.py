#!/usr/bin/python3
"""tools/run and tools/test on machines made of fakes: a folder of commands that record how they
were called stands in for PATH, so that nothing is installed and nothing is built."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
ORDINARY = ("bash awk cat dirname env grep head mkdir mktemp readlink rm sed tail tee test wc").split()

FAKES = {
    # Installed is whatever the file `installed` says; like the real one it fails when it does not know
    # a package.
    "dpkg-query": 'while read -r name; do echo "installed $name"; done <"$FAKE/installed"; '
                  'exec test "$(wc -l <"$FAKE/installed")" -ge "$(cat "$FAKE/known")"',
    "apt-get": 'echo "apt-get $*" >>"$FAKE/calls"; if [ -e "$FAKE/apt_fails" ]; then '
               'echo "E: no network"; exit 100; fi; case "$*" in install*) '
               'for word; do echo "$word"; done >>"$FAKE/installed";; esac',
    "id": 'cat "$FAKE/user"',
    "nproc": "echo 2",
    "cmake": 'echo "cmake $*" >>"$FAKE/calls"; preset=${2}; mkdir -p "build/$preset/bin"; '
             ': >"build/$preset/build.ninja"',
    "ninja": 'echo "ninja $*" >>"$FAKE/calls"; cat "$FAKE/ninja_says"; exit "$(cat "$FAKE/ninja_exit")"',
    "ctest": 'echo "ctest $*" >>"$FAKE/calls"; while [ $# -gt 0 ]; do case "$1" in '
             '--output-junit) if [ -e "$FAKE/report" ]; then cat "$FAKE/report" >"$2"; fi;; esac; shift; done',
}

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4" failures="1" disabled="0" skipped="0">
 <testcase name="a" status="run"/><testcase name="b" status="run"/>
 <testcase name="c" status="run"/><testcase name="d" status="fail"><failure message=""/></testcase>
</testsuite>
"""


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.root = self.top / "berth"
        self.fake = self.top / "fake"
        (self.root / "tools/bench").mkdir(parents=True)
        (self.root / ".ci").mkdir()
        (self.fake / "bin").mkdir(parents=True)
        for name in ("tools/run", "tools/test", "tools/packages.sh", "tools/packages.txt",
                     "tools/bench/run", ".ci/run"):
            shutil.copy(SOURCE / name, self.root / name)
        shutil.copytree(SOURCE / "tests/live", self.root / "tests/live")
        for name in ORDINARY:
            os.symlink(shutil.which(name, path="/usr/bin:/bin"), self.fake / "bin" / name)
        for name, body in FAKES.items():
            self.command(name, body)
        self.set("user", "0")
        self.set("ninja_says", "[1/2] one\n[2/2] two\n")
        self.set("ninja_exit", "0")
        self.set("calls", "")
        self.install_everything()
        berth = self.root / "build/release/bin/berth"
        berth.parent.mkdir(parents=True)
        berth.write_text('#!/bin/bash\necho "in $PWD"\nfor word; do echo "<$word>"; done\ncat\nexit 7\n')
        berth.chmod(0o755)

    def command(self, name, body):
        path = self.fake / "bin" / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)

    def set(self, name, text):
        (self.fake / name).write_text(text)

    def calls(self):
        return (self.fake / "calls").read_text().splitlines()

    def install_everything(self, but=()):
        lines = (SOURCE / "tools/packages.txt").read_text().splitlines()
        names = [line.split("#")[0].split()[0] for line in lines if line.split("#")[0].strip()]
        self.set("installed", "".join(f"{name}\n" for name in names if name not in but))
        self.set("known", str(len(names)))

    def run_script(self, *words, stdin="", cwd=None, **environment):
        return subprocess.run([str(self.root / words[0]), *words[1:]], cwd=cwd or self.top,
                              input=stdin, capture_output=True, text=True, timeout=60,
                              env={"PATH": str(self.fake / "bin"), "FAKE": str(self.fake), **environment})


class Packages(ScriptTest):
    def test_what_is_missing_is_named_and_only_that_is_installed(self):
        self.install_everything(but=["ninja-build", "libboost1.81-dev"])
        done = self.run_script("tools/run", "a.py")
        self.assertIn("missing Debian packages: ninja-build libboost1.81-dev\n", done.stderr)
        install = [call for call in self.calls() if "install" in call]
        self.assertEqual(len(install), 1)
        self.assertTrue(install[0].endswith("-- ninja-build libboost1.81-dev"), install[0])
        self.assertIn("--no-install-recommends", install[0])

    def test_a_second_run_installs_nothing(self):
        self.install_everything(but=["ninja-build"])
        self.run_script("tools/run", "a.py")
        self.set("calls", "")
        self.run_script("tools/run", "a.py")
        self.assertEqual([call for call in self.calls() if call.startswith("apt-get")], [])

    def test_a_run_does_not_install_what_only_tests_need(self):
        self.install_everything(but=["libgtest-dev", "libclang-rt-16-dev", "crun"])
        self.run_script("tools/run", "a.py")
        self.assertEqual([call for call in self.calls() if call.startswith("apt-get")], [])

    def test_tests_install_what_tests_need_and_all_installs_the_rest(self):
        self.install_everything(but=["libgtest-dev", "libclang-rt-16-dev", "crun"])
        self.assertIn("packages: libgtest-dev\n", self.run_script("tools/test").stderr)
        self.install_everything(but=["libgtest-dev", "libclang-rt-16-dev", "crun"])
        self.assertIn("packages: libgtest-dev libclang-rt-16-dev\n",
                      self.run_script("tools/test", "--all").stderr)

    def test_the_benchmark_installs_its_neighbours_and_what_a_run_needs(self):
        self.install_everything(but=["ninja-build", "libgtest-dev", "crun"])
        self.assertIn("packages: ninja-build crun\n", self.run_script("tools/bench/run").stderr)

    def test_the_benchmark_says_what_it_can_do_before_it_installs_anything(self):
        self.install_everything(but=["crun"])
        (self.root / "tools/bench/compare.py").write_text("import sys\nprint(sys.argv)\n")
        for word in ("--help", "--list"):
            self.assertIn(word, self.run_script("tools/bench/run", word).stdout)
        self.assertEqual(self.calls(), [])

    def test_a_command_that_came_otherwise_replaces_its_package(self):
        self.install_everything(but=["nodejs"])
        self.assertIn("packages: nodejs\n", self.run_script("tools/run", "a.py").stderr)
        self.install_everything(but=["nodejs"])
        self.command("node", "true")
        self.assertNotIn("missing", self.run_script("tools/run", "a.py").stderr)

    def test_without_root_or_sudo_the_command_to_type_is_shown(self):
        self.set("user", "1000")
        self.install_everything(but=["mold"])
        done = self.run_script("tools/run", "a.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("as root: apt-get install --no-install-recommends mold", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_sudo_is_used_where_it_is(self):
        self.set("user", "1000")
        self.command("sudo", 'echo "sudo $*" >>"$FAKE/calls"; exec "$@"')
        self.install_everything(but=["mold"])
        self.assertEqual(self.run_script("tools/run", "a.py").returncode, 7)
        self.assertTrue(any(call.startswith("sudo apt-get update") for call in self.calls()))

    def test_an_installation_that_fails_shows_the_words_of_apt(self):
        self.install_everything(but=["mold"])
        self.set("apt_fails", "")
        done = self.run_script("tools/run", "a.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: no network", done.stderr)
        self.assertIn("Debian 12", done.stderr)

    def test_another_system_is_told_what_to_install(self):
        (self.fake / "bin/dpkg-query").unlink()
        done = self.run_script("tools/run", "a.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a Debian system", done.stderr)
        self.assertIn("libboost1.81-dev", done.stderr)


class Live(ScriptTest):
    def test_without_credentials_nothing_is_built_and_it_says_which(self):
        done = self.run_script("tests/live/run", "daytona")
        self.assertEqual(done.returncode, 3)
        self.assertIn("DAYTONA_API_KEY + DAYTONA_ORGANIZATION_ID", done.stdout)
        self.assertEqual(self.calls(), [])

    def test_with_credentials_it_builds_what_it_needs_and_asks_the_service(self):
        # Nobody listens there.
        done = self.run_script("tests/live/run", "daytona", "--api-url", "https://127.0.0.1:1/api",
                               DAYTONA_API_KEY="dtn_secret", DAYTONA_ORGANIZATION_ID="org")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nothing was made", done.stdout)
        self.assertNotIn("dtn_secret", done.stdout + done.stderr)
        [built] = [call for call in self.calls() if call.startswith("ninja")]
        self.assertTrue(built.endswith("build/release berth_run berth_daytona berth_vercel"), built)


class Run(ScriptTest):
    def test_arguments_standard_input_folder_and_exit_code_are_those_of_the_person(self):
        folder = self.top / "elsewhere"
        folder.mkdir()
        done = self.run_script("tools/run", "--timeout", "5 s", "a b.py", stdin="text", cwd=folder)
        self.assertEqual(done.stdout, f"in {folder}\n<run>\n<--timeout>\n<5 s>\n<a b.py>\ntext")
        self.assertEqual(done.returncode, 7)

    def test_a_link_to_the_script_works(self):
        link = self.top / "link"
        link.symlink_to(self.root / "tools/run")
        done = subprocess.run([str(link), "a.py"], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.fake / "bin"), "FAKE": str(self.fake)})
        self.assertEqual(done.returncode, 7)

    def test_without_arguments_the_shipped_example_runs(self):
        done = self.run_script("tools/run")
        files = [line[1:-1] for line in done.stdout.splitlines() if "/examples/" in line]
        self.assertEqual(len(files), 2)
        for file in files:
            self.assertTrue((SOURCE / Path(file).relative_to(self.root)).is_file(), file)

    def test_configuring_happens_once(self):
        self.run_script("tools/run", "a.py")
        self.run_script("tools/run", "a.py")
        self.assertEqual(self.calls().count("cmake --preset release"), 1)
        self.assertEqual(len([call for call in self.calls() if call.startswith("ninja")]), 2)

    def test_a_failed_build_shows_the_compiler_and_runs_nothing(self):
        self.set("ninja_says", "[1/2] one\nFAILED: x.o\nx.cc:1: error: no\n[2/2] two\n")
        self.set("ninja_exit", "1")
        done = self.run_script("tools/run", "a.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("x.cc:1: error: no", done.stderr)
        self.assertNotIn("[1/2]", done.stderr)
        self.assertEqual(done.stdout, "")


class Test(ScriptTest):
    def test_the_last_line_is_the_tally_and_a_failure_is_an_exit_code(self):
        self.set("report", REPORT)
        done = self.run_script("tools/test")
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 1 failed")
        self.assertEqual(done.returncode, 1)

    def test_the_cases_of_a_test_that_failed_are_named_at_the_end(self):
        said = "[  FAILED  ] Pool.Empties (3 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Pool.Empties\n"
        for output, told in ((said, "[  FAILED  ] Pool.Empties"), ("FAIL: test_it (__main__.It)\n", "FAIL: test_it"),
                             ("no\n", "what it printed is above")):
            self.set("report", REPORT.replace("</testcase>\n</test", f"<system-out>{output}</system-out></testcase>\n</test"))
            self.assertIn(f"d failed; {told}\n", self.run_script("tools/test").stderr)

    def test_all_passed_is_exit_code_zero(self):
        self.set("report", REPORT.replace('status="fail"', 'status="run"'))
        done = self.run_script(".ci/run")
        self.assertEqual(done.stdout.splitlines()[-1], "4 passed, 0 failed")
        self.assertEqual(done.returncode, 0)

    def test_a_test_that_did_not_run_has_not_passed(self):
        self.set("report", REPORT.replace('status="fail"', 'status="notrun"'))
        self.assertEqual(self.run_script("tools/test").returncode, 1)

    def test_a_test_that_makes_no_sense_in_a_build_is_told_apart(self):
        self.set("report", REPORT.replace('status="fail"', 'status="disabled"'))
        done = self.run_script("tools/test")
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 0 failed, 1 not run")
        self.assertEqual(done.returncode, 0)

    def test_a_test_that_leaves_for_want_of_a_network_says_why_and_is_not_counted(self):
        left = '<skipped message="SKIP_RETURN_CODE=77"/><system-out>begins\nnpm is out of reach</system-out>'
        self.set("report", REPORT.replace('status="fail"><failure message=""/>', f'status="notrun">{left}'))
        done = self.run_script("tools/test")
        self.assertEqual(done.stdout.splitlines()[-1], "3 passed, 0 failed, 1 not run")
        self.assertIn("d did not run: npm is out of reach", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_tests_of_which_all_are_left_out_have_not_passed(self):
        self.set("report", REPORT.replace('status="fail"', 'status="disabled"').replace("run", "disabled"))
        self.assertEqual(self.run_script("tools/test").returncode, 1)

    def test_a_build_that_fails_is_a_failure_and_the_next_one_is_begun(self):
        self.set("report", REPORT.replace('status="fail"', 'status="run"'))
        self.set("ninja_exit", "1")
        done = self.run_script("tools/test", "--all")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 5 failed")
        self.assertEqual(len([call for call in self.calls() if call.startswith("ninja")]), 5)

    def test_no_report_is_a_failure(self):
        done = self.run_script("tools/test")
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed")
        self.assertEqual(done.returncode, 1)

    def test_an_old_report_is_not_taken_for_a_new_one(self):
        (self.root / "build/dev").mkdir(parents=True)
        (self.root / "build/dev/tests.xml").write_text(REPORT.replace('status="fail"', 'status="run"'))
        self.assertEqual(self.run_script("tools/test").returncode, 1)

    def test_slow_tests_run_with_all_only(self):
        self.set("report", REPORT)
        self.run_script("tools/test")
        self.assertTrue(all("-LE slow" in c for c in self.calls() if c.startswith("ctest")))
        self.set("calls", "")
        self.run_script("tools/test", "--all")
        ctest = [c for c in self.calls() if c.startswith("ctest")]
        self.assertEqual([c.split("/build/")[1].split()[0] for c in ctest],
                         ["dev", "asan", "tsan", "clang", "fuzz"])
        self.assertNotIn("-LE slow", ctest[0])
        self.assertIn("-L fuzz", ctest[4])

    def test_usage(self):
        self.assertEqual(self.run_script("tools/test", "--help").returncode, 0)
        wrong = self.run_script("tools/test", "--everything")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("--help", wrong.stderr)
        self.assertEqual(self.calls(), [])


del ScriptTest  # the base has no case of its own

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
