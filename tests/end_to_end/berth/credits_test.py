"""Credits and the books: grants, debits, what blocks paid work, and totals over receipts."""

import csv
import io
import json
import sqlite3
import unittest

import cli
from cli import BerthCase

BILLING = {"billing": {"kind": "credits", "initialGrantMicroUsd": 500000}}


class Credits(BerthCase):
    def setUp(self):
        super().setUp()
        self.config(BILLING)

    def balance(self, *arguments):
        return self.document("credits", "balance", *arguments)["balance_micro_usd"]

    def test_without_billing_a_sentence_says_what_is_missing(self):
        self.config({})
        for command in (["balance"], ["statement"], ["grant", "ann", "1"]):
            with self.subTest(command=command):
                done = self.berth("credits", *command, expect=cli.CONFIGURATION)
                self.assertIn("billing is not enabled", done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse(self.state.exists())

    def test_a_run_costs_five_cents_of_the_initial_grant(self):
        self.assertEqual(self.berth("credits", "balance").stdout, "$0.50\n")
        self.program("print(1)", "--call", "a")
        self.program("print(1)", "--call", "a")
        self.assertEqual(self.balance(), 450000)
        postings = self.document("credits", "statement")["postings"]
        self.assertEqual([p["amount_micro_usd"] for p in postings], [500000, -50000])
        self.assertEqual([p["balance_micro_usd"] for p in postings], [500000, 450000])
        self.assertEqual([p["account"] for p in postings], ["grants", "usage"])
        rows = list(csv.DictReader(io.StringIO(self.berth("credits", "statement", "--format", "csv").stdout)))
        self.assertEqual([row["amount_micro_usd"] for row in rows], ["500000", "-50000"])
        lines = self.berth("credits", "statement", "--format", "jsonl").stdout.splitlines()
        self.assertEqual([json.loads(line) for line in lines], postings)
        self.assertIn("-$0.05", self.berth("credits", "statement").stdout)

    def test_eight_deliveries_at_once_are_one_debit(self):
        path = self.file("p.py", "print(1)")
        processes = [self.start("run", path, "--call", "c") for _ in range(8)]
        for process in processes:
            _, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
            self.assertIn(process.returncode, (0, cli.REFUSED), err)
        self.assertIn(0, [process.returncode for process in processes])
        self.assertEqual(len(self.receipts()), 1)
        self.assertEqual(self.balance(), 450000)

    def test_a_grant_is_given_once_by_its_key(self):
        first = self.document("credits", "grant", "ann", "2.50", "--key", "k", "--memo", "a gift")
        self.assertEqual((first["granted_before"], first["balance_micro_usd"]), (False, 3000000))
        again = self.document("credits", "grant", "ann", "2.50", "--key", "k")
        self.assertEqual((again["granted_before"], again["balance_micro_usd"]), (True, 3000000))
        done = self.berth("credits", "grant", "ann", "3", "--key", "k", expect=cli.REFUSED)
        self.assertIn("$2.50, not $3.00", done.stderr)
        self.assertEqual(self.balance("--owner", "ann"), 3000000)
        self.assertIn("a gift", self.berth("credits", "statement", "--owner", "ann").stdout)
        self.assertEqual(self.balance("--owner", "bob"), 500000)

    def test_amounts_are_checked(self):
        for amount in ("0", "-1", "1.1234567", "1e3", "abc", "1000001", "1.", ".5", "$"):
            with self.subTest(amount=amount):
                done = self.berth("credits", "grant", "ann", f"--key=k", "--", amount, expect=cli.USAGE)
                self.assertIn("is not an amount", done.stderr)
        self.assertEqual(self.document("credits", "grant", "ann", "$0.000001")["amount_micro_usd"], 1)

    def test_costs_are_rounded_up_to_the_cent_once_per_turn(self):
        self.config({**BILLING, "priceMicroUsd": 1000})
        self.program("print(1)", "--turn", "t")
        self.program("print(2)", "--turn", "t")
        self.assertEqual(self.balance(), 490000)
        self.program("print(3)", "--turn", "u")
        self.assertEqual(self.balance(), 480000)

    def test_an_owner_without_credit_is_refused_before_anything_is_allocated(self):
        self.config({"billing": {"kind": "credits", "initialGrantMicroUsd": 50000}})
        self.program("print(1)")
        done = self.program("print(2)", expect=cli.REFUSED)
        self.assertEqual(done.stdout, "")
        self.assertIn("no credit left", done.stderr)
        self.assertEqual(len(self.document("intents")["intents"]), 1)
        self.assertFalse(self.document("credits", "balance")["may_start_paid_work"])
        owner = self.document("credits", "balance")["owner"]
        self.document("credits", "grant", owner, "0.01")
        self.assertEqual(self.program("print(2)").stdout, "2\n")

    def test_an_unknown_cost_blocks_its_owner_alone_and_is_listed(self):
        self.berth("receipts", "--json")
        database = sqlite3.connect(self.state / "berth.db")
        # A call whose sandbox may still exist, at a provider that is not here now.
        database.execute("INSERT INTO places VALUES (9, 'gone', '1', 'd', '[]')")
        database.execute("INSERT INTO holders VALUES (9, '', '', '')")
        database.execute(
            "INSERT INTO intents (name, owner, session, call, turn, place, spec_digest, created_at, holder, state, "
            "open, dispatched, cancel_requested, ref, result_expired, updated_at, cleanup_attempts, last_error, "
            "last_stage, revision) VALUES (?, 'ann', 's', 'c', 'c', 9, 's', 1, 9, 'UNCERTAIN', 1, 1, 0, '', 0, 1, 0, "
            "'lost', 'create', 1)", ("berth-" + "0" * 32,))
        database.execute("INSERT INTO receipts SELECT seq, owner, 'uncertain', NULL, 1764460800000, 1764460800000, "
                         "'lost', NULL, '', 0, 0, '[]', NULL, NULL, NULL, NULL FROM intents")
        database.commit()
        database.close()
        done = self.program("print(1)", "--owner", "ann", expect=cli.REFUSED)
        self.assertIn("berth receipts --owner ann --unknown", done.stderr)
        self.assertEqual(self.program("print(1)", "--owner", "bob").stdout, "1\n")
        balance = self.document("credits", "balance", "--owner", "ann")
        self.assertEqual((balance["unknown_costs"], balance["may_start_paid_work"]), (1, False))
        self.assertEqual(balance["balance_micro_usd"], 500000)
        unknown, = self.document("receipts", "--owner", "ann", "--unknown")["receipts"]
        self.assertIsNone(unknown["cost_micro_usd"])
        total = self.document("receipts", "--summary", "--owner", "ann")["total"]
        self.assertEqual((total["cost_micro_usd"], total["unknown_costs"]), (0, 1))


class Receipts(BerthCase):
    def test_totals_per_day_and_provider_as_a_table_and_as_a_document(self):
        self.assertEqual(self.document("receipts", "--summary")["days"], [])
        self.program("print('x' * 9)")
        self.program("import sys\nsys.exit(1)", "--owner", "ann", expect=1)
        summary = self.document("receipts", "--summary")
        row, = summary["days"]
        self.assertRegex(row["day"], r"^\d{4}-\d\d-\d\d$")
        self.assertEqual((row["provider"], row["calls"], row["settlements"]), ("local", 2, {"completed": 2}))
        self.assertEqual((row["cost_micro_usd"], row["unknown_costs"], row["stdout_bytes"]), (100000, 0, 10))
        self.assertGreater(row["wall_us"], 0)
        self.assertEqual({**summary["total"], "day": row["day"], "provider": "local"}, row)
        self.assertEqual(self.document("receipts", "--summary", "--owner", "ann")["total"]["calls"], 1)
        table = self.berth("receipts", "--summary").stdout.splitlines()
        self.assertEqual(len(table), 3)
        self.assertIn("$0.10", table[2])
        self.berth("receipts", "--summary", "--format", "csv", expect=cli.USAGE)

    def test_times_are_days_ages_or_rfc_3339_with_an_offset(self):
        self.program("print(1)")
        recorded = self.receipts()[0]["recorded_at"]
        moment = recorded[:-1]
        for since, count in ((recorded, 1), (moment + "+00:00", 1), (moment + "-01:00", 0),
                             (moment + "+01:00", 1), (moment.replace("T", "t") + "z", 1),
                             (moment + "999999Z", 1), ("1h", 1), ("2000-01-01", 1), ("2999-01-01", 0)):
            with self.subTest(since=since):
                found = self.document("receipts", f"--since={since}")["receipts"]
                self.assertEqual(len(found), count)
                self.assertEqual(self.document("receipts", "--summary", f"--since={since}")["total"]["calls"], count)
        for wrong in (moment, moment + "+1:00", moment + "+24:00", moment[:-4] + ".Z"):
            self.berth("receipts", f"--since={wrong}", expect=cli.USAGE)

    def test_every_format_has_every_receipt(self):
        for call in "abc":
            self.program("print(1)", "--call", call)
        document = self.document("receipts")["receipts"]
        self.assertEqual([r["call"] for r in document], ["a", "b", "c"])
        self.assertEqual(self.receipts(), document)
        rows = list(csv.DictReader(io.StringIO(self.berth("receipts", "--format", "csv").stdout)))
        self.assertEqual([row["call"] for row in rows], ["a", "b", "c"])
        self.assertEqual(len(self.berth("receipts").stdout.splitlines()), 4)
        self.assertEqual(self.document("receipts", "--unknown"), {"receipts": []})


class LargeStores(BerthCase):
    COUNT = 60_000

    def fill(self):
        """Receipts by the hundred: a store as years of use leave it."""
        self.berth("receipts", "--json")
        database = sqlite3.connect(self.state / "berth.db")
        database.execute("INSERT INTO places VALUES (9, 'local', '1', 'd', '[]')")
        database.execute("INSERT INTO holders VALUES (9, '', '', '')")
        database.executemany(
            "INSERT INTO intents (name, owner, session, call, turn, place, spec_digest, created_at, holder, state, "
            "open, dispatched, cancel_requested, ref, result_expired, updated_at, cleanup_attempts, last_error, "
            "last_stage, revision) VALUES (?, 'ann', 's', ?, 't', 9, 's', 0, 9, 'RELEASED', 0, 1, 0, '', 0, 0, 0, "
            "'', '', 1)", ((f"berth-{i:032x}", str(i)) for i in range(self.COUNT)))
        database.execute("INSERT INTO intent_names SELECT name, seq FROM intents ORDER BY name")
        database.execute("INSERT INTO intent_calls SELECT owner, session, call, seq FROM intents ORDER BY 1, 2, 3")
        database.execute("UPDATE marks SET value = (SELECT max(seq) FROM intents) WHERE name = 'listed_to'")
        database.execute(
            "INSERT INTO receipts SELECT seq, owner, 'completed', 50000, 1764460800000 + seq * 60000, 0, 'evidence', "
            "0, 'exited', 1, 2, '[[\"run\",3]]', NULL, NULL, NULL, NULL FROM intents")
        database.commit()
        database.close()

    def peak_kib(self, *arguments):
        """Runs the command into a file that is thrown away; the most memory it had."""
        with open("/dev/null", "wb") as nowhere:
            process = self.start(*arguments, stdout=nowhere)
            _, status, usage = cli.os.wait4(process.pid, 0)
        process.returncode = cli.os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        return usage.ru_maxrss

    def test_memory_does_not_grow_with_the_store(self):
        small = self.peak_kib("receipts", "--json")
        self.fill()
        for arguments in (["--json"], ["--format", "jsonl"], ["--format", "csv"], ["--format", "table"],
                          ["--summary"]):
            with self.subTest(arguments=arguments):
                self.assertLess(self.peak_kib("receipts", *arguments), small + 32 * 1024)
        total = self.document("receipts", "--summary")["total"]
        self.assertEqual((total["calls"], total["cost_micro_usd"]), (self.COUNT, self.COUNT * 50000))
        self.assertEqual(len(self.berth("receipts", "--format", "jsonl").stdout.splitlines()), self.COUNT)
        self.assertEqual(len(self.document("receipts")["receipts"]), self.COUNT)


if __name__ == "__main__":
    cli.main()
