"""Saved documents: kept by revision, run by their ids alone."""

import json
import unittest
from pathlib import Path

import cli
from cli import BerthCase

SCHEMA = Path(__file__).parents[3] / "manifests" / "execution-result.schema.json"
NO_ID = "00000000-0000-4000-8000-000000000000"


class Documents(BerthCase):
    def put(self, code, *arguments, name="chart.py"):
        return self.document("document", "put", self.file(name, code), *arguments)

    def run_ids(self, saved, *arguments, **options):
        return self.berth("document", "run", saved["document_id"], "--revision", saved["revision_id"], *arguments,
                          **options)


class Saving(Documents):
    def test_put_prints_ids_that_show_gives_the_exact_bytes_for(self):
        code = b"# -*- coding: latin-1 -*-\r\nprint('\xe9')"
        done = self.berth("document", "put", self.file("a.py", code))
        document, revision = done.stdout.split()
        self.assertIn("is now revision 1", done.stderr)
        shown = self.berth("document", "show", document, "--revision", revision, text=False)
        self.assertEqual(shown.stdout, code)
        listed = self.document("document", "show", document)
        self.assertEqual((listed["title"], listed["language"], listed["bytes"]), ("a.py", "python", len(code)))
        self.assertNotIn("code", listed)
        self.assertIn("code_base64", listed)

    def test_a_program_from_standard_input_needs_a_title(self):
        done = self.berth("document", "put", "-", input="print(1)", expect=cli.USAGE)
        self.assertIn("--title", done.stderr)
        saved = json.loads(self.berth("document", "put", "-", "--title", "x.js", "--json", input="1").stdout)
        self.assertEqual((saved["title"], saved["language"], saved["revision"]), ("x.js", "javascript", 1))

    def test_revisions_are_counted_and_the_latest_put_again_is_itself(self):
        first = self.put("print(1)")
        again = self.put("print(1)", "--document", first["document_id"])
        self.assertTrue(again["unchanged"])
        self.assertEqual(again["revision_id"], first["revision_id"])
        second = self.put("print(2)", "--document", first["document_id"], name="other-name.py")
        self.assertEqual((second["revision"], second["title"], second["unchanged"]), (2, "chart.py", False))
        third = self.put("print(1)", "--document", first["document_id"])
        self.assertEqual(third["revision"], 3)
        rows = self.document("document", "revisions", first["document_id"])["revisions"]
        self.assertEqual([row["revision"] for row in rows], [1, 2, 3])
        self.assertEqual([row["sha256"] for row in rows][0], rows[2]["sha256"])
        document, = self.document("document", "list")["documents"]
        self.assertEqual((document["document_id"], document["revision"]), (first["document_id"], 3))
        self.assertIn(first["document_id"], self.berth("document", "list").stdout)
        self.assertIn(second["revision_id"], self.berth("document", "revisions", first["document_id"]).stdout)

    def test_what_cannot_be_saved_is_named_and_nothing_is(self):
        self.assertIn("NUL", self.berth("document", "put", self.file("n.py", b"a\0b"), expect=cli.INPUT).stderr)
        large = self.file("l.py", b"#" * ((1 << 20) + 1))
        self.assertIn("l.py", self.berth("document", "put", large, expect=cli.INPUT).stderr)
        self.berth("document", "put", str(self.work), expect=cli.INPUT)
        self.berth("document", "put", self.file("a.py", ""), "--document", "7", expect=cli.INPUT)
        self.assertEqual(self.document("document", "list"), {"documents": []})

    def test_documents_of_other_owners_and_sessions_are_not_found(self):
        saved = self.put("print(1)", "--owner", "ann", "--session", "s")
        for place in ([], ["--owner", "bob", "--session", "s"], ["--owner", "ann"]):
            for command in (["show", saved["document_id"]], ["revisions", saved["document_id"]],
                            ["run", saved["document_id"], "--revision", saved["revision_id"]],
                            ["put", self.file("a.py", "print(2)"), "--document", saved["document_id"]]):
                with self.subTest(place=place, command=command[0]):
                    done = self.berth("document", *command, *place, expect=cli.INPUT)
                    self.assertIn("not found", done.stderr)
                    self.assertEqual(done.stdout, "")
        self.assertEqual(self.document("intents")["intents"], [])


class Running(Documents):
    def test_the_stored_bytes_run_and_the_document_says_which(self):
        first = self.put("import sys\nprint('one', __file__.rsplit('/', 1)[-1])\nsys.exit(3)")
        self.put("print('two')", "--document", first["document_id"])
        done = self.run_ids(first, expect=3)
        self.assertEqual(done.stdout, "one chart.py\n")
        document = json.loads(self.run_ids(first, "--json", expect=3).stdout)
        self.assertEqual(document["document_id"], first["document_id"])
        self.assertEqual(document["revision_id"], first["revision_id"])
        self.assertEqual((document["title"], document["language"]), ("chart.py", "python"))
        self.assertTrue(document["code"].startswith("import sys\nprint('one'"))
        self.assertEqual(document["receipt"]["cost_micro_usd"], 50000)
        schema = json.loads(SCHEMA.read_text())
        self.assertEqual(set(document) - set(schema["properties"]), set())
        self.assertEqual(set(schema["required"]) - set(document), set())

    def test_the_title_tells_the_language_in_any_case(self):
        for title, code, expected in (("a.MJS", "console.log(await 7)", "7\n"),
                                      ("a.cjs", "console.log(typeof require)", "function\n"),
                                      ("plain", "print(1 // 1)", "1\n"), ("a.PY", "print(2)", "2\n")):
            with self.subTest(title=title):
                saved = self.put(code, "--title", title)
                self.assertEqual(self.run_ids(saved).stdout, expected)
        other = self.put("let a: number = 1", "--title", "a.ts")
        done = self.run_ids(other, expect=cli.INPUT)
        self.assertIn("Only Python and JavaScript documents can be run.", done.stderr)

    def test_nothing_can_be_supplied_beside_the_ids(self):
        saved = self.put("print(1)")
        for extra in ([self.file("b.py", "print(2)")], ["--title", "b.py"], ["--language", "javascript"],
                      ["--file", self.file("c.csv", "x")]):
            with self.subTest(extra=extra):
                self.run_ids(saved, *extra, expect=cli.USAGE)
        self.berth("document", "run", saved["document_id"], expect=cli.USAGE)
        self.berth("document", "run", saved["document_id"], "--revision", NO_ID, expect=cli.INPUT)
        self.assertEqual(self.document("intents")["intents"], [])

    def test_a_refused_chart_becomes_a_message_and_the_charge_stays(self):
        saved = self.put("chart = {'type': 'pie', 'elements': []}\nprint('done')")
        document = json.loads(self.run_ids(saved, "--json").stdout)
        self.assertEqual(document["status"], "completed")
        self.assertEqual(document["charts"], [])
        self.assertIn("chart", document["message"])
        self.assertEqual(document["receipt"]["cost_micro_usd"], 50000)

    def test_the_latest_run_of_a_revision_is_never_that_of_another(self):
        first = self.put("print('one')")
        second = self.put("print('two')", "--document", first["document_id"])
        show = ["document", "show", first["document_id"], "--run", "--revision"]
        self.assertIn("never run", self.berth(*show, first["revision_id"], expect=1).stderr)
        self.run_ids(first, "--call", "a")
        self.assertIsNone(self.document(*show, second["revision_id"], expect=1)["run"])
        self.run_ids(second, "--call", "b")
        self.assertEqual(self.berth(*show, first["revision_id"]).stdout, "one\n")
        run = self.document(*show, second["revision_id"])["run"]
        self.assertEqual((run["call"], run["result"]["stdout"]), ("b", "two\n"))
        replayed = self.run_ids(first, "--call", "a")
        self.assertEqual(replayed.stdout, "one\n")
        self.assertEqual(len(self.receipts()), 2)
        self.run_ids(second, "--call", "a", expect=cli.REFUSED)

    def test_the_configuration_may_forbid_it(self):
        saved = self.put("print(1)")
        self.config({"documents": {"run": False}})
        done = self.run_ids(saved, expect=cli.REFUSED)
        self.assertIn("Document execution is disabled.", done.stderr)
        self.berth("document", "show", saved["document_id"])


if __name__ == "__main__":
    cli.main()
