#!/usr/bin/python3
"""`berth conformance` as its users see it: exit codes, reports, evidence, and providers that misbehave.

usage: commands_test.py BERTH PROVIDERS PLUGINS
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

from sanitizer_log import SanitizerLog

BERTH, PROVIDERS, PLUGINS = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
HOST_PROGRAMS = {"programs": "host"}


class Conformance(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="berth-kit-")
        self.addCleanup(self.folder.cleanup)
        self.place = Path(self.folder.name)
        self.scratch = self.place / "tmp"
        self.scratch.mkdir()
        # Faults of the twins here are none that a sanitizer would tell of.
        log = SanitizerLog(self.place / "log")
        self.addCleanup(lambda: self.assertEqual(log.findings(), {}))
        self.surroundings = {**log.environment(), "TMPDIR": str(self.scratch)}

    def environment(self):
        return dict(self.surroundings)

    def command(self, *arguments, provider=None, config=None):
        line = [BERTH, "conformance", *map(str, arguments), "--state-dir", str(self.place / "state")]
        file = self.place / "config.json"
        file.write_text(json.dumps({"providers": {provider: {"config": config}}} if provider else {}))
        return [*line, "--config", str(file)]

    def run_it(self, *arguments, timeout=300, **more):
        return subprocess.run(self.command(*arguments, **more), capture_output=True, text=True, timeout=timeout,
                              env=self.environment())

    def broken(self, fault, *arguments, **more):
        return self.run_it("run", PLUGINS / "broken.so", *arguments, provider="broken",
                           config={**HOST_PROGRAMS, "fault": fault}, **more)

    def test_the_reference_provider_passes_profile_smoke_without_programs(self):
        ran = self.run_it("run", PROVIDERS / "reference.so", "--profile", "smoke")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_a_filter_that_matches_nothing_is_no_success(self):
        ran = self.run_it("run", PROVIDERS / "reference.so", "--only", "NO-SUCH-*")
        self.assertEqual(ran.returncode, 2)

    def test_a_file_that_is_not_there_is_a_usage_error(self):
        self.assertEqual(self.run_it("run", self.place / "none.so").returncode, 2)

    def test_a_file_the_loader_refuses_ends_with_3_and_the_reason(self):
        ran = self.run_it("run", PLUGINS / "wrong_major.so")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("[NEG-001]", ran.stdout)

    def test_a_broken_provider_ends_with_1_and_a_line_to_repeat_it(self):
        ran = self.broken("KEY-001", "--only", "KEY-001")
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertIn("--seed", ran.stdout)
        self.assertEqual(ran.stdout.strip().splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_known_deviation_does_not_count_and_proves_nothing(self):
        ran = self.broken("KEY-001", "--only", "KEY-00[12]", "--allow", "KEY-001", "--json")
        statuses = {one["id"]: one["status"] for one in json.loads(ran.stdout)["cases"]}
        self.assertEqual(statuses["KEY-001"], "known-deviation")
        alone = self.broken("KEY-001", "--only", "KEY-001", "--allow", "KEY-001")
        self.assertEqual(alone.returncode, 2, "nothing but a deviation ran")

    def test_a_provider_that_hangs_ends_within_its_budget_and_is_told_where(self):
        ran = self.broken("hang", "--only", "CLEAN-001", "--timeout-scale", "0.05", timeout=60)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("timeout", ran.stdout)
        self.assertIn('lookup', ran.stdout)
        self.assertIn('waiting for ever', ran.stdout)

    def test_a_provider_that_crashes_is_told_with_signal_and_stage(self):
        ran = self.broken("crash", "--only", "CLEAN-001")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("signal 6", ran.stdout)
        self.assertIn("about to crash", ran.stdout)

    def test_a_provider_that_floods_is_bounded(self):
        ran = self.broken("flood", "--only", "CLEAN-001", "--only", "OP-002", "--json", timeout=120)
        report = json.loads(ran.stdout)
        self.assertEqual(report["cases"][0]["status"], "pass", ran.stdout[:2000])
        self.assertLess(len(ran.stdout), 200_000)

    def test_reports_are_written_in_every_form(self):
        json_file, junit_file = self.place / "r.json", self.place / "r.xml"
        ran = self.broken("KEY-001", "--only", "KEY-001", "--only", "OP-002", "--report", f"json:{json_file}",
                          "--report", f"junit:{junit_file}")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        report = json.loads(json_file.read_text())
        self.assertEqual((report["passed"], report["failed"]), (1, 1))
        self.assertEqual(len(report["digest"]), 64)
        suite = tree.fromstring(junit_file.read_text())
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))

    def test_a_whole_report_is_evidence_for_this_digest_and_no_other(self):
        self.run_it("run", PROVIDERS / "reference.so", "--profile", "smoke")
        kept = list((self.place / "state" / "conformance").glob("*.json"))
        self.assertEqual(len(kept), 1)
        report = json.loads(kept[0].read_text())
        self.assertEqual(kept[0].stem, report["digest"])
        listed = subprocess.run([BERTH, "provider", "list", "--json", "--state-dir", str(self.place / "state")],
                                capture_output=True, text=True, timeout=60,
                                env={**self.environment(), "BERTH_PROVIDER_PATH": str(PROVIDERS)})
        found = {one["manifest"]["id"]: one for one in json.loads(listed.stdout)["providers"] if one.get("manifest")}
        self.assertIn("smoke", found["reference"]["conformance"]["base"])
        if "local" in found:
            self.assertEqual(found["local"]["conformance"]["base"], "not run on this file")

    def test_a_part_of_the_cases_is_no_evidence(self):
        self.run_it("run", PROVIDERS / "reference.so", "--only", "KEY-001")
        self.assertFalse((self.place / "state" / "conformance").exists())

    def test_an_interrupted_run_ends_its_children_and_cleans_up(self):
        command = self.command("run", PROVIDERS / "reference.so", provider="reference", config=HOST_PROGRAMS)
        command += ["--report", f"json:{self.place / 'report.json'}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as run:
            limit = time.monotonic() + 30
            while not list(self.scratch.glob("bc-*/*/s")) and time.monotonic() < limit:
                time.sleep(0.02)
            run.send_signal(signal.SIGINT)
            told, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)
        self.assertRegex(told.decode(), r"interrupted: .*\n\n\d+ passed, 0 failed, \d+ skipped\n$")
        report = json.loads((self.place / "report.json").read_text())
        self.assertEqual((report["interrupted"], report["whole"], report["failed"]), (True, False, 0))
        self.assertEqual(list(self.scratch.glob("bc-*")), [])

    def test_a_single_case_runs_in_this_process(self):
        ran = self.run_it("run", "--in-process", "--only", "KEY-001", PROVIDERS / "reference.so")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn('"result":"ok"', ran.stdout)
        self.assertEqual(list(self.scratch.glob("bc-*")), [])

    def test_a_mistyped_seed_repeats_nothing(self):
        for seed in ["x", "-5", "1.5", "12 ", "1" * 23]:
            for command in [("run", "--seed", seed, "--only", "KEY-001"), ("fuzz", "--seed", seed),
                            ("fuzz", "--reproduce", seed)]:
                with self.subTest(command=command):
                    ran = self.run_it(command[0], PROVIDERS / "reference.so", *command[1:])
                    self.assertEqual((ran.returncode, ran.stdout), (2, ""), ran.stderr)
                    self.assertIn("is no seed", ran.stderr)

    def test_fuzzing_finds_no_contradiction_in_the_reference_provider(self):
        ran = self.run_it("fuzz", PROVIDERS / "reference.so", "--time", "2s", provider="reference", config=HOST_PROGRAMS)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_fuzzing_finds_a_second_sandbox_and_repeats_it_by_its_seed(self):
        config = {**HOST_PROGRAMS, "fault": "KEY-001"}
        found = self.run_it("fuzz", PLUGINS / "broken.so", "--time", "60s", "--seed", "1", "--json",
                            provider="broken", config=config)
        self.assertEqual(found.returncode, 1, found.stdout)
        seed = json.loads(found.stdout)["seed"]
        again = self.run_it("fuzz", PLUGINS / "broken.so", "--reproduce", seed, provider="broken", config=config)
        self.assertEqual(again.returncode, 1)
        self.assertIn(seed, again.stdout)

    def plain(self, *arguments):
        return subprocess.run([BERTH, "conformance", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                              env={**self.environment(), "HOME": str(self.place)})

    def refused(self, *arguments):
        """A usage error: its code, in words too where --json asks for them, and nothing else said."""
        ran = self.plain(*arguments)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""), ran.stderr)
        self.assertRegex(ran.stderr, r"\Aberth: ")
        return ran.stderr

    def test_explain_is_one_document_with_json(self):
        told = json.loads(self.plain("explain", "KEY-001", "--json").stdout)
        self.assertEqual(told["id"], "KEY-001")
        self.assertIn("KEY-001", [case["clause"] for case in told["cases"]])
        self.assertTrue(told["remedy"])

    def test_explain_names_the_clause_and_what_to_do(self):
        told = self.plain("explain", "KEY-001")
        self.assertEqual(told.returncode, 0)
        self.assertIn("what to do", told.stdout)
        for spelled in ("key-001", "Key-001"):
            self.assertEqual(self.plain("explain", spelled).stdout, told.stdout)

    def test_a_wrong_command_line_ends_with_the_code_that_the_help_says(self):
        help_text = subprocess.run([BERTH, "--help"], capture_output=True, text=True, timeout=30).stdout
        _, _, table = help_text.partition("Exit codes of berth conformance")
        self.assertRegex(table, r"(?m)^  2 +command line")
        for line in ([], ["frob"], ["--frob"], ["list", "a", "b"], ["list", "--profile", "some"], ["run"],
                     ["run", "x.so", "--frob"], ["run", "x.so", "y.so"], ["run", "x.so", "--profile", "some"],
                     ["run", "x.so", "--jobs", "0"], ["run", "x.so", "--timeout-scale", "x"], ["fuzz"],
                     ["fuzz", "x.so", "--time", "0"], ["explain"], ["explain", "FROB-001"], ["compare"],
                     ["compare", "a"], ["compare", "/nowhere/a", "/nowhere/b"]):
            with self.subTest(line=line):
                self.refused(*line)

    def test_an_error_in_json_names_the_code_that_the_command_ends_with(self):
        for line in (["run", self.place / "none.so"], ["run", PROVIDERS / "reference.so", "--only", "NO-SUCH"],
                     ["list", self.place], ["explain", "FROB-001"], ["compare", "/nowhere/a", "/nowhere/b"],
                     ["fuzz", self.place / "none.so"]):
            with self.subTest(line=line):
                ran = self.plain(*line, "--json")
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertEqual(json.loads(ran.stdout)["error"]["exit_code"], 2)

    def test_what_names_no_case_is_refused_and_what_is_near_is_named(self):
        provider = PROVIDERS / "reference.so"
        for option, text, near in (("--allow", "KYE-001", "KEY-001"), ("--allow", "key001", "KEY-001"),
                                   ("--allow", "FLIE-003", "FILE-003"), ("--only", "OPN-001", "OPEN-001"),
                                   ("--skip", "SHUT-01", "SHUT-001")):
            with self.subTest(option=option, text=text):
                told = self.refused("run", provider, option, text)
                self.assertIn(f"{option} '{text}'", told)
                self.assertRegex(told, rf"near it (is|are) .*{near}")
        self.assertNotIn("near it", self.refused("run", provider, "--allow", "nothing like it"))
        # Of several patterns one that asks for nothing is no less wrong.
        self.assertIn("--only 'NO-SUCH-*'", self.refused("run", provider, "--only", "KEY-001", "--only", "NO-SUCH-*"))

    def test_cases_are_named_in_any_case(self):
        ran = self.broken("KEY-001", "--only", "key-00[12]", "--allow", "key-001", "--json")
        statuses = {one["id"]: one["status"] for one in json.loads(ran.stdout)["cases"]}
        self.assertEqual(statuses, {"KEY-001": "known-deviation", "KEY-002": "pass"})

    def test_reports_that_cannot_be_written_are_refused_before_anything_runs(self):
        (self.place / "folder").mkdir()
        os.mkfifo(self.place / "fifo")
        (self.place / "link.json").symlink_to("one.json")
        one, absent = self.place / "one.json", self.place / "absent" / "r.json"
        for files, named in (([f"json:{one}", f"html:{one}"], one), ([f"json:{one}", f"json:{one}"], one),
                             ([f"json:{one}", f"junit:{self.place}/folder/../one.json"], "folder/../one.json"),
                             ([f"json:{absent}"], f"cannot write {absent}: No such file or directory\n"),
                             ([f"html:{one}", "json:/proc/nowhere/r.json"], "cannot write /proc/nowhere/r.json: "),
                             ([f"json:{self.place / 'folder'}"], self.place / "folder"),
                             ([f"json:{self.place / 'fifo'}"], self.place / "fifo"),
                             (["xml:r.xml"], "'xml:r.xml'"), (["json:"], "'json:'")):
            with self.subTest(files=files):
                reports = [word for file in files for word in ("--report", file)]
                told = self.refused("run", PROVIDERS / "reference.so", "--only", "KEY-001", *reports)
                self.assertIn(str(named), told)
                self.assertFalse(one.exists())
        self.assertEqual(sorted(path.name for path in self.place.iterdir()),
                         ["fifo", "folder", "link.json", "log", "tmp"])
        one.write_text("old")
        self.assertIn("one file", self.refused("run", PROVIDERS / "reference.so", "--report", f"json:{one}",
                                               "--report", f"junit:{self.place / 'link.json'}"))
        self.assertIn("--in-process", self.refused("run", PROVIDERS / "reference.so", "--in-process", "--only",
                                                   "KEY-001", "--report", f"json:{one}"))
        self.assertEqual(one.read_text(), "old")

    def test_a_file_that_is_no_provider_is_refused_with_the_reason_and_is_no_evidence(self):
        text, cut = self.place / "text.so", self.place / "cut.so"
        text.write_text("not a library\n")
        cut.write_bytes((PLUGINS / "good.so").read_bytes()[:300])
        for file in (text, cut, self.place):
            with self.subTest(file=file):
                self.assertRegex(self.refused("list", file), r"\[[A-Z]+-\d{3}\]")
                ran = self.run_it("run", file)
                self.assertEqual(ran.returncode, 3, ran.stdout + ran.stderr)
                self.assertRegex(ran.stdout, r"\[[A-Z]+-\d{3}\]")
                self.assertEqual(self.run_it("fuzz", file, "--time", "1s").returncode, 3)
                self.assertFalse((self.place / "state" / "conformance").exists())

    def killed(self, provider, config, only, sign="names"):
        """A run that is killed while a case is under way, once there is `sign` in the case's folder."""
        before = set(self.scratch.glob("bc-*"))
        command = self.command("run", provider, *[word for one in only for word in ("--only", one)], "--jobs", "2",
                               provider=provider.stem, config=config)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=self.environment()) as run:
            limit = time.monotonic() + 60
            while not list(self.scratch.glob(f"bc-*/*/{sign}")) and time.monotonic() < limit:
                time.sleep(0.002)
            run.kill()
        left = set(self.scratch.glob("bc-*")) - before
        self.assertEqual(len(left), 1)
        self.assertTrue(list(left.pop().glob("*/request")))

    def groups_left(self):
        ids = {file.read_text().strip()[:12] for file in self.scratch.glob("bc-*/*/s/installation")}
        return [group for one in ids for group in Path("/sys/fs/cgroup").glob(f"**/berth-{one}")]

    def test_what_a_killed_run_left_is_cleaned_by_the_next(self):
        for provider, config, sign in ((PROVIDERS / "local.so", {}, "s/allocations/berth-*/process"),
                                       (PROVIDERS / "reference.so", HOST_PROGRAMS, "names")):
            with self.subTest(provider=provider.stem):
                self.killed(provider, config, ["RUN-004", "KEY-006"], sign)
                groups = self.groups_left()
                self.assertEqual(bool(groups), provider.stem == "local")
                # Of another provider: whose run was killed is written down.
                ran = self.run_it("run", PROVIDERS / "reference.so", "--only", "META-001")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("cleaned up after a run of the kit that was killed", ran.stderr)
                self.assertEqual(list(self.scratch.glob("bc-*")), [])
                self.assertEqual([group for group in groups if group.exists()], [])
                again = self.run_it("run", PROVIDERS / "reference.so", "--only", "META-001")
                self.assertEqual(again.stderr, "")

    def test_only_what_is_a_dead_runs_for_certain_is_swept(self):
        command = self.command("run", PROVIDERS / "reference.so", "--only", "KEY-006", provider="reference",
                               config=HOST_PROGRAMS)
        strange = {"bc-text": None, "bc-open": 0o755, "bc-bare": 0o700}
        for name, mode in strange.items():
            path = self.scratch / name
            if mode is None:
                path.write_text("somebody's")
                continue
            path.mkdir()
            path.chmod(mode)
            if name != "bc-bare":  # a run marks its folder once it has locked it
                (path / "run").write_text("")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=self.environment()) as living:
            limit = time.monotonic() + 60
            while not list(self.scratch.glob("bc-*/*/names")) and time.monotonic() < limit:
                time.sleep(0.01)
            ran = self.run_it("run", PROVIDERS / "reference.so", "--only", "META-001")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(list(self.scratch.glob("bc-*/*/names")), "the living run has lost its folder")
            _, told = living.communicate(timeout=120)
        self.assertEqual((living.returncode, told), (0, ""))
        self.assertEqual(sorted(path.name for path in self.scratch.glob("bc-*")), sorted(strange))

    def test_what_cannot_be_cleaned_stays_and_is_told_of(self):
        gone = self.place / "reference.so"
        gone.write_bytes((PROVIDERS / "reference.so").read_bytes())
        self.killed(gone, HOST_PROGRAMS, ["KEY-006"])
        gone.unlink()
        for _ in range(2):
            ran = self.run_it("run", PROVIDERS / "reference.so", "--only", "META-001")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn(f"{gone} is not there any more", ran.stderr)
            self.assertEqual(len(list(self.scratch.glob("bc-*/*/names"))), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
