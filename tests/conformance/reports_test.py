#!/usr/bin/python3
"""The kit's reports, and what is said of two of them.

usage: reports_test.py BERTH PLUGINS
"""

import html.parser
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

TIMEOUT_SECONDS = 120
VOID = {"meta", "link", "br", "img"}


class Page(html.parser.HTMLParser):
    """What a page shows, what it would load, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.shown, self.loads, self.ids, self.open = "", [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.loads += [value for key, value in attributes if key in ("src", "href")]
        self.ids += [value for key, value in attributes if key == "id"]
        if tag == "script":
            self.loads.append("a script")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.shown += data


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="berth-reports-")
        cls.folder = Path(cls.scratch.name)
        cls.good = cls.run_kit("good", "")
        cls.bad = cls.run_kit("bad", "KEY-001")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def berth(cls, *arguments):
        return subprocess.run([BERTH, "conformance", *map(str, arguments)], capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS)

    @classmethod
    def run_kit(cls, name, fault):
        config = cls.folder / f"{name}-config.json"
        config.write_text(json.dumps({"providers": {"broken": {"config": {"fault": fault, "account": "<&\">"}}}}))
        files = {kind: cls.folder / f"{name}.{kind}" for kind in ("json", "junit", "html")}
        reports = [word for kind, file in files.items() for word in ("--report", f"{kind}:{file}")]
        done = cls.berth("run", PLUGINS / "broken.so", "--config", config, "--profile", "smoke", "--only", "KEY-*",
                         "--seed", "1", *reports)
        assert done.returncode == (1 if fault else 0), done.stdout + done.stderr
        return {kind: file.read_text(encoding="utf-8") for kind, file in files.items()}

    def compare(self, before, after, *options):
        paths = []
        for name, report in (("before", before), ("after", after)):
            paths.append(self.folder / f"{self.id()}-{name}.json")
            paths[-1].write_text(json.dumps(report))
        return self.berth("compare", *paths, *options)

    def test_a_page_shows_every_case_and_loads_nothing(self):
        for name, report in (("good", self.good), ("bad", self.bad)):
            with self.subTest(report=name):
                page = Page(report["html"])
                self.assertEqual(page.loads, [])
                self.assertNotIn("url(", report["html"])
                self.assertEqual(sorted(page.ids), sorted(one["id"] for one in json.loads(report["json"])["cases"]))
                for one in json.loads(report["json"])["cases"]:
                    self.assertIn(one.get("text", ""), page.shown)

    def test_a_page_says_what_to_do_about_what_is_bad(self):
        self.assertIn("Breaks the contract", Page(self.bad["html"]).shown)
        self.assertIn("What to do:", Page(self.bad["html"]).shown)
        self.assertIn("Keeps the contract", Page(self.good["html"]).shown)
        self.assertNotIn("What to do:", Page(self.good["html"]).shown)

    def test_junit_counts_what_the_report_counts(self):
        suite = xml.etree.ElementTree.fromstring(self.bad["junit"])
        report = json.loads(self.bad["json"])
        self.assertEqual(suite.get("tests"), str(len(report["cases"])))
        self.assertEqual(len(suite.findall(".//failure")), report["failed"])

    def test_the_same_report_is_not_worse(self):
        report = json.loads(self.good["json"])
        done = self.compare(report, report)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"0 worse, 0 better, 0 different, {len(report['cases'])} as before", done.stdout)

    def test_what_goes_bad_is_worse_and_back_is_better(self):
        good, bad = json.loads(self.good["json"]), json.loads(self.bad["json"])
        worse = self.compare(good, bad, "--json")
        self.assertEqual(worse.returncode, 1, worse.stderr)
        document = json.loads(worse.stdout)
        self.assertEqual([(one["id"], one["change"], one["before"], one["after"]) for one in document["changed"]],
                         [("KEY-001", "worse", "pass", "fail")])
        better = self.compare(bad, good)
        self.assertEqual(better.returncode, 0, better.stderr)
        self.assertIn("0 worse, 1 better", better.stdout)

    def test_reports_of_two_providers_are_not_compared(self):
        report = json.loads(self.good["json"])
        other = {**report, "provider": "another"}
        done = self.compare(report, other)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for word in ("'broken'", "'another'", "-before.json", "-after.json"):
            self.assertIn(word, done.stderr)
        # What has lost its manifest has no id, and is the same file made worse.
        lost = {**report, "provider": "", "refusal": "[META-001] no notes", "cases": []}
        self.assertEqual(self.compare(report, lost).returncode, 1)

    def test_what_is_not_shown_any_more_is_worse(self):
        for change in ("skip", "gone", "refused"):
            with self.subTest(change=change):
                before, after = json.loads(self.good["json"]), json.loads(self.good["json"])
                if change == "skip":
                    after["cases"][0]["status"] = "skip-environment"
                elif change == "gone":
                    del after["cases"][0]
                else:
                    after["refusal"] = "[META-001] no notes"
                self.assertEqual(self.compare(before, after).returncode, 1)

    def test_a_broken_case_that_is_left_out_is_neither(self):
        before, after = json.loads(self.bad["json"]), json.loads(self.bad["json"])
        after["cases"] = [one for one in after["cases"] if one["id"] != "KEY-001"]
        done = self.compare(before, after)
        self.assertEqual(done.returncode, 0)
        self.assertIn("0 worse, 0 better, 1 different", done.stdout)

    def test_what_is_no_report_is_refused_with_what_to_do(self):
        nothing = self.folder / "nothing.json"
        for text in ("", "[]", "{}", '{"format": 2}'):
            nothing.write_text(text)
            done = self.berth("compare", nothing, nothing)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("--report json:FILE", done.stderr)
        self.assertEqual(self.berth("compare", self.folder / "none", nothing).returncode, 2)


if __name__ == "__main__":
    BERTH, PLUGINS = sys.argv[1], Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
