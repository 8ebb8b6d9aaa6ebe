"""berth run, end to end: the real binary, worker, provider and sandbox."""

import json
import os
import subprocess
import time
import unittest

import cli
from cli import BerthCase

PNG = b"\x89PNG\r\n\x1a\n"


class Output(BerthCase):
    def test_a_python_program_prints_and_ends_with_its_code(self):
        done = self.program("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(3)", expect=3)
        self.assertEqual(done.stdout, "out\n")
        self.assertEqual(done.stderr, "err\n")

    def test_a_javascript_program_does_too(self):
        done = self.program("console.log('out'); console.error('err'); process.exit(4)", name="p.mjs", expect=4)
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_standard_input_is_a_program(self):
        self.assertEqual(self.berth("run", "-", input="print(6 * 7)").stdout, "42\n")
        done = self.berth("run", "-", "--language", "javascript", input="console.log(6 * 7)")
        self.assertEqual(done.stdout, "42\n")

    def test_bytes_pass_unchanged(self):
        code = "import os\nos.write(1, bytes(range(256)) * 3)\nos.write(2, b'\\xff\\x00\\xfe')"
        done = self.program(code, text=False)
        self.assertEqual(done.stdout, bytes(range(256)) * 3)
        self.assertEqual(done.stderr, b"\xff\x00\xfe")

    def test_output_comes_while_the_program_runs(self):
        path = self.file("slow.py", "import time\nprint('first', flush=True)\ntime.sleep(60)")
        process = self.start("run", path)
        self.assertEqual(process.stdout.readline(), b"first\n")
        self.assertIsNone(process.poll())
        process.send_signal(cli.signal.SIGINT)
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), cli.INTERRUPTED)

    def test_a_traceback_names_the_users_file_and_line(self):
        done = self.program("x = 1\n\nraise ValueError('why')\n", name="faulty.py", expect=1)
        self.assertIn('faulty.py", line 3', done.stderr)
        self.assertIn("ValueError: why", done.stderr)
        self.assertEqual(done.stderr.count("ValueError: why"), 1)

    def test_a_signal_ends_as_128_and_its_number(self):
        done = self.program("import os\nos.kill(os.getpid(), 11)", expect=128 + 11)
        self.assertIn("SIGSEGV", done.stderr)
        self.program("import os\nos.kill(os.getpid(), 9)", expect=128 + 9)

    def test_the_program_reads_end_of_file(self):
        self.assertEqual(self.program("import sys\nprint(repr(sys.stdin.read()))").stdout, "''\n")

    def test_input_files_are_there_under_their_names(self):
        self.file("data.csv", "a,b\n1,2\n")
        done = self.program("print(open('data.csv').read(), end='')", "--file", "data.csv")
        self.assertEqual(done.stdout, "a,b\n1,2\n")

    def test_nothing_but_the_programs_own_words_is_printed_away_from_a_terminal(self):
        done = self.program("pass")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_the_result_is_shown(self):
        self.assertEqual(self.program("result = [1, 2]").stdout, "[1, 2]\n")

    def test_a_reader_that_goes_away_cancels(self):
        mark = f"endless{os.getpid()}x{time.monotonic_ns()}"
        path = self.file(f"{mark}.py", "while True:\n    print('y' * 1000)")
        process = self.start("run", path)
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), cli.READER_GONE)
        self.assertEqual(process.stderr.read(), b"")
        self.assertEqual([r["settlement"] for r in self.receipts()], ["cancelled"])
        self.assert_nothing_left(mark)

    def test_a_slow_reader_slows_the_program_and_gets_everything(self):
        code = "import sys\nfor i in range(60):\n    sys.stdout.write(str(i % 10) * 100000)\n"
        process = self.start("run", self.file("much.py", code))
        time.sleep(1.0)
        out, _ = process.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(out, b"".join(str(i % 10).encode() * 100000 for i in range(60)))

    def test_a_full_and_a_closed_standard_output_end_with_a_clear_error(self):
        path = self.file("p.py", "print('x')")
        with open("/dev/full", "wb") as full:
            done = self.berth("run", path, stdout=full, expect=cli.OUTPUT)
        self.assertIn("cannot write to standard output: No space left", done.stderr)
        done = subprocess.run(["sh", "-c", f"exec '{cli.BERTH}' run '{path}' >&-"], text=True, cwd=self.work,
                              env=self.environment(), capture_output=True, timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(done.returncode, cli.OUTPUT, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)
        self.assertEqual(self.unresolved(), [])

    def test_two_runs_at_once_do_not_meet(self):
        code = "import os, time\nopen('mine', 'x').close()\ntime.sleep(0.5)\nprint(os.listdir('.').count('mine'))"
        path = self.file("p.py", code)
        processes = [self.start("run", path) for _ in range(4)]
        for process in processes:
            out, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
            self.assertEqual((process.returncode, out), (0, b"1\n"), err)
        self.assertEqual(len(self.receipts()), 4)


class Document(BerthCase):
    def run_document(self, code, *arguments, name="program.py", expect=0):
        return self.document("run", self.file(name, code), *arguments, expect=expect)

    def test_it_is_one_document_with_everything_in_it(self):
        document = self.run_document("import sys\nprint('out')\nprint('err', file=sys.stderr)\nresult = 5")
        self.assertEqual(document["status"], "completed")
        self.assertTrue(document["stdout"].startswith("out\n"))
        self.assertEqual(document["stderr"], "err\n")
        self.assertEqual(document["receipt"]["settlement"], "completed")
        self.assertEqual(document["receipt"]["session"], "cli")
        self.assertRegex(document["receipt"]["call"], r"^[0-9a-f]{32}$")

    def test_it_fits_the_published_schema_whatever_happened(self):
        documents = [self.run_document("print(1)"), self.run_document("1/0", expect=1),
                     self.run_document("import os; os.kill(os.getpid(), 15)", expect=143),
                     self.run_document("import time; time.sleep(60)", "--timeout", "0.3", expect=137)]
        self.assert_valid("execution-result", documents)

    def test_a_limit_is_told_from_a_signal(self):
        document = self.run_document("import time; time.sleep(60)", "--timeout", "0.3", expect=137)
        self.assertEqual((document["status"], document["cause"]), ("failed", "wall"))
        document = self.run_document("x = bytearray(1 << 30)\nprint(len(x))", "--memory", "200M", expect=None)
        self.assertEqual((document["status"], document["cause"]), ("failed", "oom"), document)

    def test_nothing_is_saved_unless_asked(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
        document = self.run_document(code)
        self.assertEqual(len(document["charts"]), 1)
        self.assertEqual([p.name for p in self.work.iterdir()], ["program.py"])
        self.run_document(code, "--output", "charts")
        self.assertEqual([p.name for p in (self.work / "charts").iterdir()], ["program-1.png"])


class Charts(BerthCase):
    FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, {}])\nplt.title('t')\nplt.show()\n"

    def pngs(self, folder=None):
        return sorted(p.name for p in (folder or self.work).glob("*.png"))

    def test_figures_are_saved_in_the_current_folder_and_named(self):
        done = self.program(self.FIGURE.format(2) + "plt.figure()\nplt.plot([3])\n", name="report.py")
        self.assertEqual(self.pngs(), ["report-1.png", "report-2.png"])
        self.assertTrue((self.work / "report-1.png").read_bytes().startswith(PNG))
        self.assertEqual(done.stderr, "berth: saved report-1.png\nberth: saved report-2.png\n")

    def test_an_existing_file_is_never_touched(self):
        self.file("report-1.png", "mine")
        self.program(self.FIGURE.format(2), name="report.py")
        self.assertEqual((self.work / "report-1.png").read_text(), "mine")
        self.assertEqual(self.pngs(), ["report-1.png", "report-2.png"])

    def test_the_same_figure_again_is_not_saved_twice(self):
        self.program(self.FIGURE.format(2), name="report.py")
        done = self.program(self.FIGURE.format(2), name="report.py")
        self.assertEqual(self.pngs(), ["report-1.png"])
        self.assertIn("already there: report-1.png", done.stderr)

    def test_replace_replaces_and_says_so(self):
        self.file("report-1.png", "mine")
        done = self.program(self.FIGURE.format(2), "--replace", name="report.py")
        self.assertEqual(self.pngs(), ["report-1.png"])
        self.assertTrue((self.work / "report-1.png").read_bytes().startswith(PNG))
        self.assertIn("replaced report-1.png", done.stderr)

    def test_output_names_a_folder_that_is_made(self):
        self.program(self.FIGURE.format(2), "--output", "a/b", "--title", "Über/alles: 1", name="report.py")
        self.assertEqual(self.pngs(self.work / "a" / "b"), ["Über-alles-1-1.png"])

    def test_a_folder_that_cannot_be_made_or_written_is_refused_before_anything_runs(self):
        self.file("taken", "")
        path = self.file("report.py", self.FIGURE.format(2))
        document = self.berth("document", "put", path).stdout.split()
        before = self.document("intents")
        for folder in ("taken", "taken/x", "/proc/nowhere/x"):
            with self.subTest(folder=folder):
                done = self.berth("run", path, "--output", folder, expect=cli.OUTPUT)
                self.assertIn(f"--output: charts cannot be saved in '{folder}'", done.stderr)
                self.assertEqual(done.stdout, "")
                self.berth("document", "run", document[0], "--revision", document[1], "--output", folder,
                           expect=cli.OUTPUT)
        self.assertEqual(self.document("intents"), before)

    def test_a_refused_or_chartless_run_leaves_no_folder_behind(self):
        self.berth("run", self.file("p.py", "print(1)"), "--output", "a/b")
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["p.py"])
        (self.work / "here").mkdir()
        self.berth("run", self.file("p.py", "print(1)"), "--output", "here")
        self.assertEqual(list((self.work / "here").iterdir()), [])

    def test_a_folder_that_becomes_unusable_meanwhile_keeps_the_answer(self):
        # What it writes is more than what lies between it and its reader, so it waits for the reader.
        path = self.file("report.py", "print('up', flush=True)\nprint('x' * (32 << 20))\n" + self.FIGURE.format(2))
        process = self.start("run", path, "--output", "taken/x", "--call", "c1")
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.file("taken", "")
        _, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, cli.OUTPUT, err)
        self.assertIn("--call 'c1'", err.decode())
        again = self.berth("run", path, "--output", "fresh", "--call", "c1")
        self.assertEqual(self.pngs(self.work / "fresh"), ["report-1.png"])
        self.assertIn("no charge", again.stderr)
        self.assertEqual(len(self.receipts()), 1)

    def test_quiet_says_nothing(self):
        self.assertEqual(self.program(self.FIGURE.format(2), "--quiet").stderr, "")


class Refusals(BerthCase):
    def test_an_unknown_provider_is_named_with_where_was_searched(self):
        done = self.program("print(1)", "--provider", "nowhere", expect=cli.PROVIDER)
        self.assertIn("nowhere", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_an_open_network_is_refused_where_there_is_none(self):
        done = self.program("print(1)", "--network", "open", expect=cli.REFUSED)
        self.assertIn("network", done.stderr)
        self.assertEqual([r["settlement"] for r in self.receipts()], ["refused"])
        self.assertEqual([r["cost_micro_usd"] for r in self.receipts()], [0])

    def test_a_blank_owner_is_refused(self):
        self.program("print(1)", "--owner", "  ", expect=cli.INPUT)

    def test_a_retired_session_takes_no_more_calls(self):
        self.program("print(1)", "--owner", "ann", "--session", "s")
        done = self.berth("session", "retire", "ann", "s")
        self.assertIn("retired", done.stdout)
        done = self.program("print(2)", "--owner", "ann", "--session", "s", expect=cli.REFUSED)
        self.assertIn("retire", done.stderr)
        self.program("print(2)", "--owner", "ann", "--session", "t")
        self.berth("session", "retire", "ann", "s")

    def test_credits_run_out(self):
        self.config({"billing": {"kind": "credits", "initialGrantMicroUsd": 50000}, "priceMicroUsd": 50000})
        self.program("print(1)")
        done = self.program("print(1)", expect=cli.REFUSED)
        self.assertIn("balance", done.stderr)
        self.assertEqual(len(self.receipts()), 1)


class Settings(BerthCase):
    def test_price_and_limits_come_from_the_configuration(self):
        self.config({"priceMicroUsd": 123, "limits": {"timeout": "300ms"}})
        self.program("import time; time.sleep(60)", expect=137)
        self.assertEqual([r["cost_micro_usd"] for r in self.receipts()], [123])
        self.program("import time; time.sleep(0.6)", "--timeout", "30")

    def test_the_deadline_over_everything_is_not_the_programs_fault(self):
        self.config({"deadlines": {"call": "2s"}})
        done = self.program("import time; time.sleep(60)", expect=cli.DEADLINE)
        self.assertRegex(done.stderr, r"berth: .*deadline")
        receipt, = self.receipts()
        self.assertEqual((receipt["settlement"], receipt["cost_micro_usd"]), ("infrastructure_failure", 0))


class Machine(BerthCase):
    def test_doctor_finds_this_machine_fit(self):
        document = self.document("doctor", expect=None)
        missing = [check for check in document["checks"] if not check["ok"]]
        self.assertEqual(missing, [])
        names = {check["name"] for check in document["checks"]}
        for name in ("state folder", "store", "configuration", "python", "node", "numpy", "fonts for CJK"):
            self.assertIn(name, names)
        self.assertEqual(self.unresolved(), [])
        self.assertEqual({r["cost_micro_usd"] for r in self.receipts()}, {0})

    def test_doctor_names_each_thing_of_a_provider_once(self):
        checks = [check for check in self.document("doctor", expect=None)["checks"] if check["group"] != "host"]
        self.assertIn("provider local", {check["group"] for check in checks})
        names = {"python3": "python", "fonts": "fonts for CJK"}
        named = [(check["group"].split()[-1], names.get(check["name"], check["name"])) for check in checks]
        self.assertEqual(sorted({one for one in named if named.count(one) > 1}), [])
        for name in ("python", "node", "yfinance", "fonts for CJK", "usable", "seccomp"):
            self.assertIn(("local", name), named)

    def test_doctor_says_what_is_missing(self):
        document = self.document("doctor", "--provider", "nowhere", expect=1)
        self.assertIn("provider nowhere", {c["group"] for c in document["checks"] if not c["ok"]})

    def test_the_local_provider_is_listed_and_inspected(self):
        document = self.document("provider", "list", expect=None)
        self.assertIn("local", json.dumps(document))
        done = self.berth("provider", "inspect", "local")
        self.assertIn("can be loaded", done.stdout)

    def test_a_file_that_is_no_provider_is_refused_with_a_clause(self):
        done = self.berth("provider", "inspect", self.file("x.so", b"\x7fELF nonsense"), expect=1)
        self.assertRegex(done.stdout, r"refused +\[[A-Z]+-\d+\]")


if __name__ == "__main__":
    cli.main()
