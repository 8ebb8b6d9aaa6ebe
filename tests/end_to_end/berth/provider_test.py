#!/usr/bin/python3
"""What a provider's author does with the command: begin, watch, have a clause explained."""

import json
import re
import signal
import subprocess
from pathlib import Path

import cli
from cli import BerthCase, wait_until

CONTRACT = Path(__file__).parents[3] / "sdk" / "docs" / "CONTRACT.md"
TEMPLATE = Path(__file__).parents[3] / "sdk" / "template"
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(Small LANGUAGES C)
add_library(small MODULE small.c)
set_target_properties(small PROPERTIES PREFIX "" SUFFIX ".so")
enable_testing()
add_test(NAME small COMMAND true)
"""


class Explain(BerthCase):
    def test_every_clause_of_the_contract_is_explained(self):
        clauses = set(re.findall(r"^\| ([A-Z]+-\d{3}) \|", CONTRACT.read_text(), re.MULTILINE))
        told = json.loads(self.berth("provider", "explain", "--json").stdout)["clauses"]
        self.assertEqual({clause["clause"] for clause in told}, clauses)
        for clause in told:
            for part in ("text", "why", "enforced_by", "remedy"):
                self.assertTrue(clause[part], f"{clause['clause']} has no {part}")

    def test_a_clause_is_explained_in_words(self):
        done = self.berth("provider", "explain", "load-003")
        self.assertRegex(done.stdout, r"(?s)\ALOAD-003  .*\nwhy .*\nenforced by  loader\nwhat to do .*\n\Z")

    def test_a_clause_that_is_none_is_refused_with_what_to_do(self):
        done = self.berth("provider", "explain", "META-" + "999", expect=201)
        self.assertIn("'berth provider explain' lists them all", done.stderr)
        self.assertIn("near it is KEY-001", self.berth("provider", "explain", "kye-001", expect=201).stderr)


class Conformance(BerthCase):
    def test_an_installed_provider_is_tested_by_its_id(self):
        for command in (["run", "reference", "--only", "META-006"], ["fuzz", "reference", "--time", "0.1"],
                        ["list", "reference"]):
            with self.subTest(command=command):
                self.berth("conformance", *command)
        done = self.berth("conformance", "run", "nowhere", expect=2)
        self.assertIn('no provider "nowhere" was found', done.stderr)


class New(BerthCase):
    def test_the_template_is_written_under_the_name_and_nothing_says_hello_any_more(self):
        for language, source, named in (("cxx", "my-box.cc", "class MyBoxProvider"), ("c", "my-box.c", "my_box_sh"),
                                        ("rust", "my-box.rs", 'include_str!("my-box.sh")')):
            with self.subTest(language=language):
                folder = self.work / language
                self.berth("provider", "new", "my-box", "--language", language, "--into", str(folder))
                written = {path.name: path.read_text() for path in folder.iterdir()}
                self.assertEqual(len(written), len([*TEMPLATE.glob("*.*"), *TEMPLATE.glob(f"{language}/*")]))
                self.assertEqual(json.loads(written["my-box.json"])["id"], "my-box")
                self.assertIn(named, written[source])
                for name, text in written.items():
                    self.assertNotIn("hello", (name + text).lower(), name)
                rows = re.findall(r"^\| `([^`]+)` \| \S", written["README.md"], re.MULTILINE)
                self.assertEqual(sorted([*rows, "README.md"]), sorted(written))

    def test_an_id_that_another_provider_has_is_warned_about(self):
        ours = [json.loads(path.read_text())["id"] for path in cli.MANIFESTS.glob("*.json")
                if not path.name.endswith(".schema.json")]
        self.assertIn("local", ours)
        for searched in ("", "/nowhere"):
            environment = {"BERTH_PROVIDER_PATH": searched} if searched else {}
            for name in ours:
                with self.subTest(name=name, searched=searched):
                    into = str(self.work / f"{name}{bool(searched)}")
                    done = self.berth("provider", "new", name, "--into", into, "--json", environment=environment)
                    self.assertIn("berth: ", done.stderr)
                    self.assertIn("take another name", done.stderr)
                    self.assertIn(json.loads(done.stdout)["warning"], done.stderr)
        done = self.berth("provider", "new", "nobodys", "--into", str(self.work / "nobodys"), "--json")
        self.assertEqual((done.stderr, json.loads(done.stdout)["warning"]), ("", ""))

    def test_nothing_is_written_over(self):
        folder = self.work / "mine"
        folder.mkdir()
        (folder / "README.md").write_text("mine")
        done = self.berth("provider", "new", "mine", "--into", str(folder), expect=201)
        self.assertIn("nothing is written over", done.stderr)
        self.assertEqual([path.name for path in folder.iterdir()], ["README.md"])

    def test_a_name_that_no_manifest_could_have_is_refused(self):
        for name in ("My", "1st", "a_b", "-a", "../a", "ä", "a" * 65, "a b"):
            with self.subTest(name=name):
                done = self.berth("provider", "new", "--into", str(self.work / "x"), "--", name, expect=200)
                self.assertIn("small letter", done.stderr)
                self.assertFalse((self.work / "x").exists())


class Watch(BerthCase):
    def setUp(self):
        super().setUp()
        self.folder_of_provider = self.work / "small"
        self.folder_of_provider.mkdir()
        (self.folder_of_provider / "CMakeLists.txt").write_text(PROJECT)
        (self.folder_of_provider / "small.c").write_text("int small;\n")

    def watch(self):
        return self.start("provider", "watch", str(self.folder_of_provider), "--json", stderr=subprocess.DEVNULL,
                          text=True)

    def steps(self, process, last):
        """The ends of steps, up to one called `last`."""
        said = []
        for line in process.stdout:
            said.append(json.loads(line))
            if said[-1]["step"] == last:
                return [(step["step"], step["good"]) for step in said]
        self.fail(f"it ended after {said}")

    def test_it_builds_judges_and_tests_again_when_a_file_is_saved_and_ends_at_once(self):
        process = self.watch()
        # It is not a provider, which the second step finds out.
        self.assertEqual(self.steps(process, "inspect"), [("configure", True), ("build", True), ("inspect", False)])
        (self.folder_of_provider / "small.c").write_text("int small\n")
        self.assertEqual(self.steps(process, "build"), [("configure", True), ("build", False)])
        (self.folder_of_provider / "lib").mkdir()
        (self.folder_of_provider / "lib" / "more.h").write_text("int more;\n")
        self.steps(process, "build")
        # A new folder is watched as well, and an editor's own files are not.
        (self.folder_of_provider / "lib" / ".more.h.swp").write_text("")
        (self.folder_of_provider / "small.c").write_text('#include "lib/more.h"\n')
        self.assertEqual(self.steps(process, "inspect"), [("configure", True), ("build", True), ("inspect", False)])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)

    def test_the_steps_are_in_the_order_in_which_an_author_wants_to_know(self):
        reference = Path(cli.BERTH).parents[1] / "lib/berth/providers/reference.so"
        (self.folder_of_provider / "CMakeLists.txt").write_text(
            f'{PROJECT}\nconfigure_file("{reference}" "${{CMAKE_BINARY_DIR}}/reference.so" COPYONLY)\n'
            'set_target_properties(small PROPERTIES LIBRARY_OUTPUT_DIRECTORY apart)\n')
        process = self.watch()
        self.assertEqual(self.steps(process, "conformance"),
                         [(step, True) for step in ("configure", "build", "inspect", "test", "conformance")])

    def test_a_signal_ends_it_in_the_middle_of_a_step_with_all_that_was_started(self):
        (self.folder_of_provider / "CMakeLists.txt").write_text('execute_process(COMMAND sleep 1000)\n')
        process = self.watch()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        started = wait_until(lambda: children.read_text().split(), "a step begins")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 143)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), "the step ends")

    def test_a_folder_without_a_project_is_refused(self):
        done = self.berth("provider", "watch", str(self.work), expect=201)
        self.assertIn("has no CMakeLists.txt", done.stderr)


if __name__ == "__main__":
    cli.main()
