"""The keeper of a user, as the command line uses it: real sandboxes, real kills."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import cli
from cli import BerthCase, processes_with, wait_until

LOCAL = {"config": {"startup": "template", "readyLeast": 1, "readyMost": 2}}


class KeeperCase(BerthCase):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.addCleanup(self.end_keepers)

    def end_keepers(self):
        subprocess.run([cli.BERTH, "templates", "stop"], env=self.environment(), capture_output=True,
                       timeout=cli.TIMEOUT_SECONDS, check=False)

    def keepers(self, expect=None):
        return self.document("templates", "status", expect=expect)["keepers"]

    def only(self):
        found = self.keepers()
        self.assertEqual(len(found), 1, found)
        return found[0]

    def kill_keeper(self, pid):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes_with("--keep") or pid not in processes_with("--keep"), "it ends")

    def start_marked(self, code, *arguments):
        mark = f"mark{os.getpid()}x{time.monotonic_ns()}"
        process = self.start("run", self.file(f"{mark}.py", code), *arguments)
        return process, mark


class Use(KeeperCase):
    def test_the_first_run_starts_one_that_serves_the_next_and_is_stopped(self):
        self.assertEqual(self.keepers(expect=1), [])
        self.assertEqual(self.program("print(1)").stdout, "1\n")
        first = self.only()
        self.assertEqual((first["provider"], first["state_dir"]), ("local", str(self.state / "providers/local")))
        self.assertEqual((first["hosts"], first["served"]), (0, 1))
        for code, expect in (("print(2)", 0), ("import sys; sys.exit(7)", 7), ("1/0", 1)):
            self.program(code, expect=expect)
        again = self.only()
        self.assertEqual((again["pid"], again["served"]), (first["pid"], 4))
        self.assertRegex(self.berth("templates", "status").stdout, r"^local  .*\n.*\n    4 runs so far, 0 now; goes in ")
        self.assertEqual(len(self.receipts()), 4)
        self.assert_nothing_left()
        stopped = self.document("templates", "stop")["keepers"]
        self.assertEqual([(one["pid"], one["gone"]) for one in stopped], [(first["pid"], True)])
        self.assertEqual(self.keepers(expect=1), [])
        self.assertIn("no keeper", self.berth("templates", "stop").stderr)
        self.assertEqual(processes_with(str(self.state)), {})
        self.assertEqual(list((self.runtime / "berth").iterdir()), [])

    def test_two_first_runs_at_once_share_one(self):
        path = self.file("p.py", "print(1)")
        for process in [self.start("run", path) for _ in range(4)]:
            out, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
            self.assertEqual((process.returncode, out), (0, b"1\n"), err)
        self.assertEqual(self.only()["served"], 4)

    def test_it_goes_when_nobody_used_it(self):
        self.config({"templates": {"idle": "1s"}})
        self.program("print(1)")
        wait_until(lambda: not processes_with(str(self.state)), "the keeper goes")
        self.assertEqual(self.keepers(expect=1), [])

    def test_the_flag_and_the_configuration_switch_it_off(self):
        self.program("print(1)", "--no-templates")
        self.assertEqual(self.keepers(expect=1), [])
        self.config({"templates": {"keep": False}})
        self.program("print(1)")
        self.assertEqual(self.keepers(expect=1), [])
        self.config({"templates": {"keep": "no"}})
        self.program("print(1)", expect=cli.CONFIGURATION)
        self.assertFalse((self.runtime / "berth").exists())

    def test_another_configuration_gets_another_one(self):
        self.program("print(1)")
        first = self.only()
        self.config({"providers": {"local": {"config": {"processes": 77}}}})
        self.program("print(1)")
        second = self.only()
        self.assertNotEqual(first["pid"], second["pid"])
        wait_until(lambda: first["pid"] not in processes_with("--keep"), "the first one goes")

    def test_a_folder_that_others_can_use_is_done_without(self):
        (self.runtime / "berth").mkdir()
        (self.runtime / "berth").chmod(0o755)
        self.assertEqual(self.program("print(1)").stdout, "1\n")
        self.assertEqual(list((self.runtime / "berth").iterdir()), [])
        self.assertEqual(self.berth("templates", "status", expect=None).returncode, cli.STATE)

    def test_what_waits_ready_is_told_from_what_no_record_knows(self):
        self.config({"providers": {"local": LOCAL}})
        self.program("print(1)")
        wait_until(lambda: re.search(r"[1-9]\d* ready, a template of python", self.only()["made_ahead"]),
                   "a template and ready sandboxes")
        pid = self.only()["pid"]
        report = self.document("reconcile")
        self.assertTrue(report["settled"])
        self.assertEqual(report["unknown_resources"], [])
        held = [one["ref"] for one in report["made_ahead"] if one["holder"].endswith(f"/{pid}")]
        self.assertTrue(any("ready" in ref for ref in held), report)
        self.assertTrue(any("template" in ref for ref in held), report)
        checks = self.document("doctor", expect=None)["checks"]
        self.assertTrue([one for one in checks if one["name"] == "made ahead" and
                         one["detail"].endswith(f"/{pid}")], checks)
        self.assertTrue([one for one in checks if one["name"] == "keeper" and str(pid) in one["detail"]], checks)


class Lost(KeeperCase):
    def test_a_killed_run_leaves_nothing_and_the_keeper_serves_the_next(self):
        self.program("print(0)")
        pid = self.only()["pid"]
        process, mark = self.start_marked("import time\nprint('up', flush=True)\ntime.sleep(1000)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        process.kill()
        process.wait()
        wait_until(lambda: not processes_with(mark), "the sandbox of the killed run ends")
        self.assertEqual(len(self.unresolved()), 1)
        self.berth("reconcile")
        self.assert_nothing_left(mark)
        self.assertEqual(self.receipts()[-1]["cost_micro_usd"], 0)
        self.assertEqual(self.program("print(1)").stdout, "1\n")
        self.assertEqual(self.only()["pid"], pid)

    def test_a_killed_keeper_ends_the_run_without_a_result_and_without_a_trace(self):
        self.program("print(0)")
        pid = self.only()["pid"]
        process, mark = self.start_marked("import time\nprint('up', flush=True)\ntime.sleep(1000)")
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.kill_keeper(pid)
        _, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, cli.INFRASTRUCTURE, err)
        self.assert_nothing_left(mark)
        self.assertEqual(self.receipts()[-1]["cost_micro_usd"], 0)
        self.assertEqual(self.program("print(1)").stdout, "1\n")
        self.assertNotEqual(self.only()["pid"], pid)

    def test_a_keeper_killed_at_any_moment_never_makes_a_run_hang_or_an_intent_vanish(self):
        self.config({"providers": {"local": LOCAL}})
        self.program("print(0)")
        path = self.file("p.py", "print(1)")
        for step in range(12):
            keepers = self.keepers()
            process = self.start("run", path, "--call", f"c{step}")
            time.sleep(0.004 * step)
            for one in keepers:
                self.kill_keeper(one["pid"])
            out, err = process.communicate(timeout=cli.TIMEOUT_SECONDS)
            self.assertIn(process.returncode, (0, cli.INFRASTRUCTURE, cli.UNCERTAIN), err)
            self.assertEqual(out, b"1\n" if process.returncode == 0 else out)
            self.berth("reconcile")
            self.assertEqual(self.unresolved(), [])
        self.assert_nothing_left()
        self.assertEqual(len(self.document("intents")["intents"]), 13)
        self.assertEqual(len(self.receipts()), 13)

    def test_a_keeper_that_does_not_answer_is_done_without(self):
        self.program("print(0)")
        pid = self.only()["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.program("print(1)").stdout, "1\n")
            done = self.berth("templates", "status", expect=1)
            self.assertIn("does not answer", done.stdout)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.only()["pid"], pid)
        self.assert_nothing_left()

    def test_nothing_of_a_sandbox_reaches_the_keeper(self):
        self.program("print(0)")
        socket = next(path for path in (self.runtime / "berth").iterdir() if path.suffix == ".sock")
        seen = self.program(f"""
import os, socket
for path in ({str(socket)!r}, {str(Path(socket).parent)!r}, {str(self.folder)!r}):
    print(os.path.exists(path))
s = socket.socket(socket.AF_UNIX)
try:
    s.connect({str(socket)!r})
    print("connected")
except OSError as error:
    print(type(error).__name__)
print(open("/proc/net/unix").read().count({str(self.folder)!r}) if os.path.exists("/proc/net/unix") else 0)
""").stdout.split()
        self.assertEqual(seen[:3], ["False"] * 3)
        self.assertIn(seen[3], ("FileNotFoundError", "PermissionError"))
        self.assertEqual(seen[4], "0")


if __name__ == "__main__":
    cli.main()
