"""What lasts: replays, conflicts, cancellation, and what a killed host leaves behind."""

import json
import os
import re
import signal
import time
import unittest
from pathlib import Path

import cli
from cli import BerthCase, processes_with, wait_until


class Replays(BerthCase):
    def test_the_same_call_twice_is_one_allocation_one_receipt_and_the_recorded_answer(self):
        path = self.file("p.py", "import random\nprint(random.random())\nimport sys\nsys.exit(5)")
        first = self.berth("run", path, "--call", "c", expect=5)
        second = self.berth("run", path, "--call", "c", expect=5)
        self.assertEqual(first.stdout, second.stdout)
        self.assertIn("no charge", second.stderr)
        self.assertEqual(len(self.receipts()), 1)
        document = self.document("run", path, "--call", "c", expect=5)
        self.assertTrue(document["replayed"])
        self.assertEqual(len(self.document("intents")["intents"]), 1)

    def test_another_program_under_the_same_call_is_a_conflict(self):
        self.program("print(1)", "--call", "c")
        done = self.program("print(2)", "--call", "c", expect=cli.REFUSED)
        self.assertEqual(done.stdout, "")
        self.assertIn("berth: ", done.stderr)
        self.assertEqual(len(self.receipts()), 1)

    def test_owners_and_sessions_keep_calls_apart(self):
        for more in ([], ["--owner", "ann"], ["--session", "other"]):
            self.assertEqual(self.program("print(1)", "--call", "c", *more).stdout, "1\n")
        self.assertEqual(len(self.receipts()), 3)

    def test_concurrent_deliveries_of_one_call_run_it_once(self):
        path = self.file("p.py", "import time, random\ntime.sleep(0.5)\nprint(random.random())")
        processes = [self.start("run", path, "--call", "c") for _ in range(3)]
        outputs = set()
        for process in processes:
            out, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
            self.assertIn(process.returncode, (0, cli.REFUSED), err)
            if process.returncode == 0:
                outputs.add(out)
            else:
                self.assertRegex(err.decode(), r"is under way: process \d+ of this machine has worked on it since "
                                               r"20\d\d-.*wait for that to end and ask again")
        self.assertEqual(len(outputs), 1)
        self.assertEqual(len(self.receipts()), 1)


class Interrupted(BerthCase):
    def start_marked(self, code, *arguments):
        """A program that has announced itself, and the mark its processes carry."""
        mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
        path = self.file(f"{mark}.py", code.replace("MARK", mark))
        process = self.start("run", path, *arguments)
        return process, mark

    def test_a_signal_while_the_program_runs_cleans_up_and_costs_nothing(self):
        for number, code in ((signal.SIGINT, cli.INTERRUPTED), (signal.SIGTERM, cli.TERMINATED),
                             (signal.SIGHUP, cli.HANGUP), (signal.SIGQUIT, cli.QUIT)):
            with self.subTest(signal=number):
                process, mark = self.start_marked(
                    "import time, subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                    "print('up', flush=True)\ntime.sleep(1000)")
                self.assertEqual(process.stdout.readline(), b"up\n")
                process.send_signal(number)
                _, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
                self.assertEqual(process.returncode, code, err)
                self.assert_nothing_left(mark)
                receipt = self.receipts()[-1]
                self.assertEqual((receipt["settlement"], receipt["cost_micro_usd"]), ("cancelled", 0))

    def test_a_program_that_ignores_the_signal_is_ended_too(self):
        process, mark = self.start_marked(
            "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', flush=True)\n"
            "while True:\n    time.sleep(1)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), cli.INTERRUPTED)
        self.assert_nothing_left(mark)

    def test_a_signal_at_any_moment_of_the_start_cleans_up(self):
        for delay in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
            with self.subTest(delay=delay):
                process, mark = self.start_marked("import time\ntime.sleep(1000)")
                time.sleep(delay)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
                # Before the handler is there, the signal's own action ends the process.
                self.assertIn(process.returncode, (cli.INTERRUPTED, -signal.SIGINT), err)
                self.assert_nothing_left(mark)
        self.assertEqual({r["cost_micro_usd"] for r in self.receipts()} - {0}, set())


class Killed(BerthCase):
    def kill_when(self, process, condition, what):
        wait_until(condition, what)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def settle(self):
        """Reconciles until nothing is open: right after a kill, the dead host's worker may still be
        on its way out."""
        def settled():
            return self.document("reconcile", expect=None)["settled"]
        wait_until(settled, "reconcile settles everything")

    def assert_settled_without_charge(self, mark):
        self.settle()
        self.assert_nothing_left(mark)
        self.assertEqual(sum(r["cost_micro_usd"] for r in self.receipts()), 0)

    def test_kill_9_while_the_program_runs_then_reconcile(self):
        mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
        path = self.file(f"{mark}.py", "import time\nprint('up', flush=True)\ntime.sleep(1000)")
        process = self.start("run", path, "--call", "c")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assert_settled_without_charge(mark)
        receipt, = self.receipts()
        self.assertEqual(receipt["settlement"], "host_died")
        again = self.berth("run", path, "--call", "c", expect=None)
        self.assertNotEqual(again.returncode, 0)
        self.assertEqual(again.stdout, "")

    def test_kill_9_at_any_moment_of_the_start_then_reconcile(self):
        for step in range(8):
            with self.subTest(step=step):
                mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
                process = self.start("run", self.file(f"{mark}.py", "import time\ntime.sleep(1000)"))
                time.sleep(0.03 * step)
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.assert_settled_without_charge(mark)

    def test_reconcile_never_touches_what_a_living_host_works_on(self):
        path = self.file("p.py", "import time\nprint('up', flush=True)\ntime.sleep(3)\nprint('down')")
        process = self.start("run", path)
        self.assertEqual(process.stdout.readline(), b"up\n")
        report = self.document("reconcile")
        self.assertEqual([i["result"] for i in report["intents"]], ["held"])
        out, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual((process.returncode, out), (0, b"down\n"), err)

    def test_the_next_run_cleans_up_after_a_dead_one_by_itself(self):
        mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
        path = self.file(f"{mark}.py", "import time\nprint('up', flush=True)\ntime.sleep(1000)")
        process = self.start("run", path)
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        def cleaned():
            self.program("print(1)")
            return not self.unresolved()
        wait_until(cleaned, "later runs clean up")
        self.assert_nothing_left(mark)

    def test_an_intent_is_shown_with_its_journal(self):
        document = self.document("run", self.file("p.py", "print(1)"))
        name = document["receipt"]["name"]
        shown = self.document("intents", name)
        self.assertEqual(shown["state"], "RELEASED")
        self.assertEqual(shown["journal"][-1]["to"], "RELEASED")
        self.assertIn(name, self.berth("intents").stdout)
        self.assertIn("RELEASED", self.berth("intents", name).stdout)
        self.assertIn(name, self.berth("receipts", "--format", "csv").stdout)

    def test_a_list_that_is_cut_has_the_newest_intents_and_says_so(self):
        program = self.file("p.py", "")
        names = [self.document("run", program)["receipt"]["name"] for _ in range(3)]
        self.assertEqual([one["name"] for one in self.document("intents", "--limit", "2")["intents"]], names[1:])
        cut, whole = self.berth("intents", "--limit", "2"), self.berth("intents", "--limit", "3")
        self.assertIn("these are the newest 2; --limit shows more", cut.stderr)
        self.assertNotIn(names[0], cut.stdout)
        self.assertIn(names[0], whole.stdout)
        self.assertEqual(whole.stderr, "")

    def test_reconcile_of_one_name_that_is_released_says_so(self):
        name = self.document("run", self.file("p.py", "print(1)"))["receipt"]["name"]
        done = self.berth("reconcile", "--name", name, expect=cli.INPUT)
        self.assertIn("released", done.stderr)


class Established(BerthCase):
    """What an operator has found out about a create whose outcome is lost."""

    EVIDENCE = ("--established", "absent", "--evidence", "its console lists nothing")

    def lose_a_create(self, call="lost"):
        """A provider that answers neither a create nor any question about it: only a person can."""
        slots = {"create": [{"reply": "never"}], "lookup": [{"presence": "unknown"}],
                 "fence": [{"outcome": "rejected", "code": "unsupported"}]}
        self.config({"provider": "reference", "deadlines": {"create": "1s"},
                     "providers": {"reference": {"config": {"slots": slots}}}})
        self.program("print(1)", "--call", call, expect=cli.UNCERTAIN)
        intent, = self.unresolved()
        return intent["name"]

    def removed(self):
        """An environment in which no provider is installed any more."""
        nothing = self.folder / "nothing"
        nothing.mkdir(exist_ok=True)
        return {"BERTH_PROVIDER_PATH": str(nothing)}

    def assert_established(self, name):
        self.assertEqual(self.unresolved(), [])
        shown = self.document("intents", name)
        self.assertEqual(shown["state"], "RELEASED")
        self.assertIn("its console lists nothing", json.dumps(shown))
        receipt, = self.receipts()
        self.assertEqual(receipt["cost_micro_usd"], 0)
        again = self.program("print(1)", "--call", "lost", expect=cli.INFRASTRUCTURE)
        self.assertEqual(again.stdout, "")

    def test_absence_with_evidence_settles_what_the_provider_cannot(self):
        name = self.lose_a_create()
        self.berth("reconcile", expect=1)
        self.berth("reconcile", "--name", name, *self.EVIDENCE)
        self.assert_established(name)
        done = self.berth("reconcile", "--name", name, *self.EVIDENCE, expect=cli.INPUT)
        self.assertIn("released already", done.stderr)

    def test_absence_is_accepted_for_a_provider_that_was_removed(self):
        name = self.lose_a_create()
        done = self.berth("reconcile", "--name", name, expect=1, environment=self.removed())
        self.assertIn("--established absent", done.stderr)
        done = self.berth("reconcile", "--name", name, "--established", "present", "--evidence", "seen",
                          expect=1, environment=self.removed())
        self.assertEqual(len(self.unresolved()), 1)
        self.berth("reconcile", "--name", name, *self.EVIDENCE, environment=self.removed())
        self.assert_established(name)

    def test_what_could_not_be_deleted_at_a_provider_that_was_removed_is_settled_too(self):
        self.config({"provider": "reference", "deadlines": {"cleanup": "1s"},
                     "providers": {"reference": {"config": {"slots": {
                         "destroy": [{"outcome": "failed_dirty", "code": "internal"}]}}}}})
        self.program("print(1)", "--call", "lost", expect=cli.INFRASTRUCTURE)
        intent, = self.unresolved()
        self.assertEqual(intent["state"], "CLEANING")
        self.berth("reconcile", "--name", intent["name"], *self.EVIDENCE, expect=1)
        self.assertEqual(len(self.unresolved()), 1, "its provider is there to delete it")
        self.berth("reconcile", "--name", intent["name"], *self.EVIDENCE, environment=self.removed())
        self.assert_established(intent["name"])

    def test_evidence_is_required_and_may_not_be_blank(self):
        name = self.lose_a_create()
        self.berth("reconcile", "--name", name, "--established", "absent", expect=cli.USAGE)
        for blank in ("", " ", "\t\n"):
            done = self.berth("reconcile", "--name", name, "--established", "absent", "--evidence", blank,
                              expect=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(len(self.unresolved()), 1)

    def test_another_owner_cannot_establish_anything(self):
        name = self.lose_a_create()
        for environment in ({}, self.removed()):
            self.berth("reconcile", "--name", name, "--owner", "mallory", *self.EVIDENCE, expect=cli.INPUT,
                       environment=environment)
        self.assertEqual(len(self.unresolved()), 1)


class Hostile(BerthCase):
    @staticmethod
    def watch(process, peaks_kib):
        """True while the process lives; notes the most memory it has had."""
        if process.poll() is not None:
            return False
        status = Path(f"/proc/{process.pid}/status").read_text()
        peaks_kib += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")]
        return True

    def test_a_daemon_that_ignores_signals_and_floods_ends_at_its_limits(self):
        mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
        code = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
block = b"y" * 65535 + b"\\n"
while True:
    os.write(1, block)
"""
        path = self.file(f"{mark}.py", code)
        with open(self.folder / "document.json", "wb") as out:
            process = self.start("run", path, "--timeout", "2", "--json", "--memory", "200M", "--processes", "16",
                                 stdout=out)
            peaks_kib = []
            wait_until(lambda: not self.watch(process, peaks_kib), "the program reaches its time limit")
        self.assertEqual(process.returncode, 137, process.stderr.read())
        document = cli.json.loads((self.folder / "document.json").read_text())
        self.assertEqual(document["cause"], "wall")
        counts = document["streams"]["stdout"]
        self.assertGreater(counts["bytes"], 1 << 20)
        self.assertTrue(counts["truncated"])
        kept = re.sub(r"\n\[\.\.\. \d+ bytes omitted \.\.\.\]\n", "", document["stdout"])
        self.assertEqual(counts["bytes"], counts["omitted_bytes"] + len(kept))
        self.assertEqual(set(kept), {"y", "\n"})
        self.assertLess(max(peaks_kib), 160 * 1024)
        self.assert_nothing_left(mark)


class Rootless(BerthCase):
    """The same command as an ordinary user."""

    USER = 65534

    def run_as_user(self, code, *arguments):
        path = self.file("p.py", code)
        as_user = []
        if os.geteuid() == 0:
            as_user = ["setpriv", f"--reuid={self.USER}", f"--regid={self.USER}", "--clear-groups"]
            for folder, _, names in os.walk(self.folder):
                for place in (folder, *(os.path.join(folder, name) for name in names)):
                    os.chown(place, self.USER, self.USER)
        return cli.subprocess.run([*as_user, cli.BERTH, "run", path, *arguments], cwd=self.work,
                                  env=self.environment(), capture_output=True, text=True,
                                  stdin=cli.subprocess.DEVNULL, timeout=cli.TIMEOUT_SECONDS,
                                  preexec_fn=cli.own_signals)

    def test_a_missing_layer_is_named_with_its_remedy_and_nothing_runs_without_it(self):
        done = self.run_as_user("print('ran')")
        if done.returncode == 0:
            self.assertEqual(done.stdout, "ran\n")  # this machine delegates control groups to its users
            return
        self.assertEqual((done.returncode, done.stdout), (cli.PROVIDER, ""), done.stderr)
        self.assertIn("acceptMissingLayers", done.stderr)

    def test_a_layer_whose_absence_is_accepted_by_name_does_not_stop_a_run(self):
        self.config({"providers": {"local": {"acceptMissingLayers": ["cgroup"]}}})
        done = self.run_as_user("print('ran')")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)


if __name__ == "__main__":
    cli.main()
