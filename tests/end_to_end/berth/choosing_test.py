"""Which provider an application uses: berth.json, what changes it, and how providers compare."""

import hashlib
import json
import os
import unittest
from pathlib import Path

import cli
from cli import BerthCase


class ChoosingCase(BerthCase):
    def select(self, value, folder=None):
        path = Path(folder or self.work) / "berth.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def used(self, *arguments, **options):
        """The provider that ran a program."""
        document = self.document("run", self.file("p.py", "print(1)"), *arguments, **options)
        return document["receipt"]["provider"]


class Selection(ChoosingCase):
    def test_the_nearest_file_selects_and_an_option_goes_before_it(self):
        self.config({"provider": "local"})
        self.select({"provider": "reference"}, self.folder)
        self.assertEqual(self.used(), "reference")
        self.assertEqual(self.used("--provider", "local"), "local")
        self.select({"provider": "local"})
        self.assertEqual(self.used(), "local")

    def test_without_a_file_the_configuration_selects_and_without_that_it_is_local(self):
        self.assertEqual(self.used(), "local")
        self.config({"provider": "reference"})
        self.assertEqual(self.used(), "reference")

    def test_one_that_only_simulates_says_so_everywhere_and_costs_nothing(self):
        path = self.file("p.py", "print(1)")
        done = self.berth("run", path, "--provider", "reference")
        self.assertEqual(done.stdout, "")
        self.assertIn("no program was run: provider 'reference' only simulates", done.stderr)
        document = self.document("run", path, "--provider", "reference", "--call", "c")
        again = self.document("run", path, "--provider", "reference", "--call", "c")
        lines = self.berth("run", path, "--provider", "reference", "--stream", "json").stdout.splitlines()
        for one in (document, again, json.loads(lines[-1])["result"]):
            self.assertTrue(one["simulated"])
            self.assertEqual(len([note for note in one["notes"] if "no program was run" in note]), 1)
            self.assertEqual(one["message"].count("no program was run"), 1)
            self.assertEqual(one["receipt"]["cost_micro_usd"], 0)
            self.assert_valid("execution-result", [one])
        self.assertNotIn("simulated", self.document("run", path))

    def test_an_answer_from_the_record_tells_of_the_provider_that_gave_it(self):
        path = self.file("p.py", "print(1)")
        self.document("run", path, "--provider", "reference", "--call", "simulated")
        self.document("run", path, "--call", "real")
        again = self.document("run", path, "--call", "simulated")
        self.assertTrue(again["simulated"])
        self.assertEqual(again["message"].count("no program was run"), 1)
        again = self.document("run", path, "--provider", "reference", "--call", "real")
        self.assertNotIn("simulated", again)
        self.assertNotIn("no program was run", again["message"])

    def test_the_same_one_with_real_processes_is_no_simulation(self):
        self.config({"provider": "reference", "providers": {"reference": {"config": {"programs": "host"}}}})
        # It knows no image to find an interpreter in, and says of what it tried what became of it.
        document = self.document("run", self.file("p.py", "print(1)"), expect=cli.INFRASTRUCTURE)
        self.assertNotIn("simulated", document)

    def test_a_file_that_does_not_select_exactly_one_is_an_error_and_nothing_runs(self):
        for text in ("", "{", "[]", "{}", '{"provider": ""}', '{"provider": 1}', '{"provider": null}',
                     '{"provider": ["local", "reference"]}', '{"provider": "local", "config": {}}',
                     '{"provider": "local", "provider": "reference"}', "[" * 100, '{"provider": "local"} x'):
            with self.subTest(text=text):
                path = self.select(text)
                done = self.program("print(1)", expect=cli.CONFIGURATION)
                self.assertIn(str(path), done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse(self.state.exists(), "nothing was begun")

    def test_a_file_that_everyone_may_write_or_that_is_none_is_refused(self):
        path = self.select({"provider": "reference"})
        path.chmod(0o666)
        self.assertIn("chmod o-w", self.program("print(1)", expect=cli.CONFIGURATION).stderr)
        path.unlink()
        os.mkfifo(path)
        self.assertIn("not a regular file", self.program("print(1)", expect=cli.CONFIGURATION).stderr)

    def test_a_link_that_leads_nowhere_is_refused_and_not_passed_over(self):
        self.select({"provider": "reference"}, self.folder)
        link = self.work / "berth.json"
        link.symlink_to("nowhere.json")
        done = self.program("print(1)", expect=cli.CONFIGURATION)
        self.assertIn(f"'{link}' is a link to 'nowhere.json', which is not there", done.stderr)

    def test_one_that_is_not_installed_is_named_and_no_other_runs_instead(self):
        self.select({"provider": "nowhere"})
        done = self.program("print(1)", expect=cli.PROVIDER)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_doctor_says_who_selected_what(self):
        path = self.select({"provider": "reference"})
        report = self.document("doctor", "--provider", "reference", expect=None)
        details = [check["detail"] for check in report["checks"] if check["name"] == "provider"]
        self.assertEqual(len(details), 1, report)
        self.assertIn("reference", details[0])
        self.assertIn(str(path), details[0])


class Replacement(ChoosingCase):
    def lose_a_create(self):
        """One whose outcome is found out only when the provider is asked again, without the fault."""
        slots = {"create": [{"reply": "never"}], "lookup": [{"presence": "unknown"}],
                 "fence": [{"outcome": "rejected", "code": "unsupported"}]}
        self.configure(slots)
        self.select({"provider": "reference"})
        self.program("print(1)", "--call", "lost", expect=cli.UNCERTAIN)
        intent, = self.unresolved()
        return intent["name"]

    def configure(self, slots):
        self.config({"deadlines": {"create": "1s"}, "providers": {"reference": {"config": {"slots": slots}}}})

    def test_while_something_is_open_it_is_refused_and_says_what(self):
        name = self.lose_a_create()
        path = self.select({"provider": "local"})
        done = self.program("print(2)", expect=cli.REFUSED)
        self.assertEqual(done.stdout, "")
        for word in (name, str(path), "'reference'", "'local'", "berth drain --provider reference"):
            self.assertIn(word, done.stderr)
        self.assertEqual(len(self.receipts()), 1, "the refused call has none")
        # An option is for this once, and selecting the first again is no replacement.
        self.assertEqual(self.used("--provider", "local"), "local")
        self.configure({})
        self.select({"provider": "reference"})
        self.assertEqual(self.used(), "reference")

    def test_once_drained_the_other_is_used(self):
        name = self.lose_a_create()
        self.select({"provider": "local"})
        report = self.document("drain", expect=1)
        self.assertFalse(report["drained"])
        self.assertEqual([intent["name"] for intent in report["open"]["reference"]], [name])
        self.configure({})
        report = self.document("drain", "--provider", "reference")
        self.assertTrue(report["drained"])
        self.assertEqual(report["open"], {"reference": []})
        self.assertEqual(self.unresolved(), [])
        self.assertEqual(self.used(), "local")

    def test_draining_what_has_nothing_open_says_so(self):
        self.assertEqual(self.document("drain"), {
            "settled": True, "intents": [], "unknown_resources": [], "made_ahead": [], "problems": [],
            "drained": True, "open": {}})
        done = self.berth("drain", "--provider", "reference")
        self.assertIn("provider 'reference' has nothing open", done.stdout)

    def test_what_a_living_host_works_on_is_left_to_it_and_is_not_drained(self):
        process = self.start("run", self.file("p.py", "print('up', flush=True)\nimport time\ntime.sleep(1000)"))
        self.assertEqual(process.stdout.readline(), b"up\n")
        report = self.document("drain", expect=1)
        self.assertFalse(report["drained"])
        self.assertEqual(len(report["open"]["local"]), 1)
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), cli.TERMINATED)
        self.assertTrue(self.document("drain")["drained"])

    def test_a_provider_that_is_gone_is_a_problem_that_is_named(self):
        self.lose_a_create()
        nothing = self.folder / "nothing"
        nothing.mkdir()
        done = self.berth("drain", expect=1, environment={"BERTH_PROVIDER_PATH": str(nothing)})
        self.assertIn("'reference' cannot be used", done.stderr)


class Comparison(ChoosingCase):
    ASPECTS = ["languages", "cancellation", "output", "identity", "cleanup", "accounting", "concurrency",
               "capabilities"]

    def compared(self, *subjects):
        document = self.document("provider", "compare", *subjects)
        return {provider["id"]: provider for provider in document["providers"]}

    def test_every_usable_provider_is_there_with_every_aspect(self):
        providers = self.compared()
        self.assertLessEqual({"local", "reference"}, set(providers))
        for provider in providers.values():
            self.assertEqual(list(provider["aspects"]), self.ASPECTS)
            for aspect in provider["aspects"].values():
                self.assertTrue(aspect["claim"])
                self.assertIsNone(aspect["evidence"], "nothing was shown in this state folder")
        self.assertIn("fence", providers["local"]["aspects"]["cleanup"]["claim"])
        self.assertEqual(providers["local"]["aspects"]["languages"]["claim"], "python javascript")

    def test_the_table_says_what_was_not_shown(self):
        text = self.berth("provider", "compare", "reference").stdout
        for row in ("languages", "deadline and cancellation", "output and files", "identity before creation",
                    "cleanup after restart", "accounting"):
            self.assertIn(row, text)
        self.assertIn("not shown on this file", text)

    def test_evidence_is_counted_for_exactly_the_file_it_is_of(self):
        provider = self.compared("reference")["reference"]
        digest = hashlib.sha256(Path(provider["file"]).read_bytes()).hexdigest()
        report = self.document("conformance", "run", provider["file"], "--profile", "smoke", expect=None)
        kept = self.state / "conformance" / f"{digest}.json"
        self.assertTrue(kept.exists(), report)
        evidence = self.compared("reference", "local")
        shown = evidence["reference"]["aspects"]["identity"]["evidence"]
        self.assertEqual(shown["profile"], "smoke")
        of_area = [case for case in json.loads(kept.read_text())["cases"]
                   if case["clause"].split("-")[0] in ("KEY", "SCOPE")]
        self.assertEqual(shown["passed"] + shown["failed"] + shown["skipped"], len(of_area))
        self.assertGreater(shown["passed"], 0)
        self.assertEqual(shown["failed"], 0)
        self.assertIsNone(evidence["local"]["aspects"]["identity"]["evidence"])

    def test_what_is_no_provider_is_refused(self):
        self.berth("provider", "compare", self.file("x.so", "no elf"), expect=cli.PROVIDER)
        self.berth("provider", "compare", "nowhere", expect=cli.PROVIDER)


if __name__ == "__main__":
    cli.main()
