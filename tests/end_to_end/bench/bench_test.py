#!/usr/bin/python3
"""The benchmark measures what it says and computes its ratios right; how fast anything is does not
matter here.

usage: bench_test.py BUILD
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

BUILD = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "bench"))
import burst_rows  # noqa: E402
import command_rows  # noqa: E402
import compare  # noqa: E402
import harness  # noqa: E402
import library_rows  # noqa: E402
import machine  # noqa: E402
import neighbours  # noqa: E402
import report  # noqa: E402
import single_rows  # noqa: E402

COLD = json.dumps(single_rows.COLD)


def figure(median_ns):
    return {"samples": 1, "median_ns": median_ns, "p99_ns": median_ns}


def sandboxes(*arguments, scratch=None):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(BUILD / "bin/berth-bench-sandboxes"), "--scratch", scratch or folder,
                               *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120)
        if scratch is None:
            assert not os.listdir(folder), "its folder is left behind"
        return done


class Library(unittest.TestCase):
    def test_every_figure_is_there_and_greater_than_zero(self):
        done = subprocess.run([str(BUILD / "bin/berth-bench"), "--turns", "2", "--seconds", "0.05",
                               "--operations", "200", "--mebibytes", "4"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        for name in ("abi_call", "abi_operation", "operation_in_process", "operation_in_worker"):
            self.assertGreater(found[name]["median_ns"], 0, name)
            self.assertGreaterEqual(found[name]["p99_ns"], found[name]["median_ns"], name)
        for way in ("library", "cat_wc"):
            self.assertEqual(len(found["bulk_output"][way]), 2)
            self.assertTrue(all(rate > 0 for rate in found["bulk_output"][way]), way)
        self.assertEqual(len(found["durable"]), 2)
        for turn in found["durable"]:
            self.assertGreater(turn["raw_commits_per_second"], 0)
            self.assertEqual(set(turn["executions_per_second"]), {"1", "8", "64"})
            self.assertTrue(all(rate > 0 for rate in turn["executions_per_second"].values()))
        self.assertEqual(list((BUILD / "bin").glob("bench-*")), [], "its folder is left behind")

    def test_a_ratio_is_the_median_of_the_ratios_of_each_turn(self):
        # The disk doubles its speed from one turn to the next; what is compared must not notice.
        turns = [{"raw_commits_per_second": speed,
                  "executions_per_second": {"1": speed * 0.5, "8": speed * 2, "64": speed * 2.5}}
                 for speed in (100, 200, 400)]
        rows = library_rows.rows_of({"abi_call": figure(2), "abi_operation": figure(200),
                                     "operation_in_process": figure(3000),
                                     "operation_in_worker": figure(16000), "durable": turns,
                                     "bulk_output": {"library": [2, 8], "cat_wc": [10, 10]}})
        by_name = {row.name: row for row in rows}
        one, many = (by_name[f"durable executions, {n} in flight"] for n in (1, 64))
        self.assertEqual((one.ratio["p50"], one.verdict()), (0.5, "met"))
        self.assertEqual((many.ratio["p50"], many.verdict()), (2.5, "missed"))
        bulk = by_name["bulk output to a consumer that keeps it"]
        self.assertEqual((bulk.ratio["p50"], bulk.verdict()), (0.5, "met"))
        worker = by_name["an operation of the loaded provider, in its worker"]
        self.assertEqual((worker.figure.p50, worker.verdict()), (16.0, "missed"))


class Rows(unittest.TestCase):
    def test_a_ratio_compares_the_same_quantile_of_both(self):
        row = report.times("x", "ms", [1e6] * 90 + [9e6] * 10, beside="y",
                           beside_samples=[2e6] * 90 + [3e6] * 10)
        self.assertEqual((row.figure.p50, row.figure.p95, row.ratio), (1, 9, {"p50": 0.5, "p95": 3}))

    def test_a_goal_is_met_only_when_every_quantile_meets_it(self):
        goals = [report.Goal("p50", 0.1), report.Goal("p95", 0.3)]
        good, bad = ([0.05e6] * 100, [0.05e6] * 90 + [0.5e6] * 10)
        for samples, verdict in ((good, "met"), (bad, "missed")):
            row = report.times("x", "ms", samples, goals, beside="y", beside_samples=[1e6] * 100)
            self.assertEqual(row.verdict(), verdict)

    def test_nothing_is_claimed_of_what_was_disturbed_or_not_measured(self):
        row = report.times("x", "ms", [1], [report.Goal("p50", 1)], beside="y", beside_samples=[2])
        self.assertEqual(row.verdict(), "met")
        row.noise = "others used 50% of the processors"
        self.assertEqual(row.verdict(), "no claim")
        absent = report.Row("x", goals=[report.Goal("p50", 1)], not_measured="crun is not installed")
        self.assertEqual(absent.verdict(), "not measured")
        shown = "\n".join(report.show([row, absent]))
        self.assertIn("no claim: others used 50%", shown)
        self.assertIn("not measured: crun is not installed", shown)

    def test_a_burst_is_compared_with_the_best_engine_in_times_faster(self):
        found = ({"crun": ([40e6], ""), "podman": ([900e6], "")}, {})
        with mock.patch.object(burst_rows, "theirs", return_value=found), \
                mock.patch.object(burst_rows, "from_pool", return_value=[1e6]), \
                mock.patch.object(burst_rows, "ours", return_value=[10e6]), \
                mock.patch.object(burst_rows, "bubblewrap", return_value=["bwrap"]):
            bench = mock.Mock(size=lambda full, quick: quick)
            bench.sandboxes.return_value = {"first_output": [1]}
            pool, fork = burst_rows.burst(bench)[:2]
        self.assertEqual((pool.beside_name, pool.ratio["p95"], pool.verdict()), ("crun", 40, "met"))
        self.assertEqual((fork.ratio["p95"], fork.verdict()), (4, "missed"))

    def test_every_measurement_has_a_name_of_its_own(self):
        names = [name for name, _ in compare.MEASUREMENTS]
        self.assertEqual(len(set(names)), len(names))

    def test_programs_are_compared_with_both_neighbours(self):
        rows = command_rows.rows_of({"python3 alone": [20], "bubblewrap": [40], "kept": [60], "alone": [120]})
        self.assertEqual([row.ratio["p50"] for row in rows], [3, 1.5, 6, 3])

    def test_a_program_that_does_not_print_1_is_not_timed(self):
        with self.assertRaises(harness.NotMeasured):
            command_rows.timed(["/bin/echo", "2"])

    def test_an_engine_that_is_not_installed_is_named(self):
        with self.assertRaisesRegex(harness.NotMeasured, "no-such-engine not installed"):
            neighbours.require("sh", "no-such-engine")


class Machine(unittest.TestCase):
    BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"

    def test_what_is_below_this_process_is_not_somebody_else(self):
        child = subprocess.Popen([harness.PYTHON, "-c", self.BUSY.format(30)])
        try:
            everyone = machine.processes()
            self.assertTrue(machine.is_own(child.pid, everyone))
            self.assertTrue(machine.is_own(os.getpid(), everyone))
            self.assertFalse(machine.is_own(1, everyone))
        finally:
            child.kill()
            child.wait()

    def test_processor_time_of_strangers_is_noise_and_counted_once(self):
        ticks, me = machine.TICKS_A_SECOND, os.getpid()
        before = {1: (0, 0), 50: (1, 7), 51: (50, 900 * ticks), me: (1, 0)}
        # 51 has ended, and what it had taken before is now its parent's.
        after = {1: (0, 0), 50: (1, 7 + 910 * ticks), me: (1, 500 * ticks), 60: (me, 5 * ticks)}
        with mock.patch.object(machine, "processes", side_effect=[before, after]), \
                mock.patch.object(machine.time, "monotonic", side_effect=[0.0, 100.0]):
            self.assertAlmostEqual(machine.Others().share(), 0.1 / os.cpu_count())


class Sandboxes(unittest.TestCase):
    def measured(self, *arguments):
        done = sandboxes(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def all_positive(self, samples, count):
        self.assertEqual(len(samples), count)
        self.assertTrue(all(sample > 0 for sample in samples), samples)

    def test_programs_take_turns_with_the_same_thing_bare(self):
        found = self.measured("programs", "--config", COLD, "--startup", "cold", "--samples", "2", "--",
                              harness.PYTHON, "-c", "print(1)")
        self.all_positive(found["ours"], 2)
        self.all_positive(found["beside"], 2)
        self.assertIn("cleanup", found["phases"])

    def test_a_program_that_says_something_else_than_the_bare_one_is_not_measured(self):
        done = sandboxes("programs", "--config", COLD, "--samples", "1", "--", "echo", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bare, it wrote '2", done.stderr)

    def test_a_setting_that_the_provider_does_not_have_is_said_plainly(self):
        done = sandboxes("burst", "--config", '{"noSuchSetting": 1}')
        self.assertEqual(done.returncode, 1)
        self.assertIn("noSuchSetting", done.stderr)

    def test_true_is_done_before_its_receipt_is_there(self):
        found = self.measured("cold-true", "--config", COLD, "--samples", "2", "--", "/bin/true")
        for done, receipt in zip(found["done"], found["receipt"]):
            self.assertLess(0, done)
            self.assertLess(done, receipt)
        self.all_positive(found["beside"], 2)

    def test_every_program_of_a_burst_has_a_first_output(self):
        found = self.measured("burst", "--config", COLD, "--count", "3", "--rounds", "2")
        for one in found["rounds"]:
            self.all_positive(one["first_output"], 3)
            self.all_positive(one["receipt"], 3)

    def test_sandboxes_alive_are_counted_weighed_used_and_ended(self):
        found = self.measured("alive", "--config", COLD, "--counts", "1", "3", "--commands", "2")
        self.assertEqual([level["count"] for level in found["levels"]], [1, 3])
        self.assertEqual([len(level["gone"]) for level in found["levels"]], [1, 2])
        for level in found["levels"]:
            self.assertGreaterEqual(level["memory"]["processes"], level["count"])
            self.assertGreater(level["memory"]["sandboxes_bytes"], 0)
            self.all_positive(level["command"], 2)
            self.all_positive(level["command_bare"], 2)

    def test_a_rate_is_counted_for_both(self):
        found = self.measured("rate", "--config", COLD, "--count", "4", "--in-flight", "2", "--",
                              harness.PYTHON, "-c", "print(1)")
        self.assertGreater(found["ours_per_second"], 0)
        self.assertGreater(found["beside_per_second"], 0)

    def test_commands_get_a_number_each_and_one_that_fails_is_an_error(self):
        found = self.measured("commands", "--count", "3", "--", "sh", "-c", "echo {}; test {} -lt 3")
        self.all_positive(found["first_output"], 3)
        self.assertTrue(all(first <= end for first, end in zip(found["first_output"], found["ended"])))
        self.assertEqual(sandboxes("commands", "--count", "3", "--", "test", "{}", "=", "0").returncode, 1)

    def test_an_interrupted_measurement_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen(
                [str(BUILD / "bin/berth-bench-sandboxes"), "--scratch", folder, "programs", "--config",
                 COLD, "--samples", "100000", "--", harness.PYTHON, "-c", "print(1)"],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
            records = Path(folder)
            until = time.monotonic() + 60
            while time.monotonic() < until and not list(records.glob("*/state/providers/local/allocations/*")):
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
            self.assertEqual(child.returncode, 1, said)
            self.assertEqual(os.listdir(folder), [])


class Podman(unittest.TestCase):
    """The client, at a service that answers as podman's does."""

    def serve(self, path, start_status):
        import socket
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(64)
        attached = {}
        self.asked = []

        def answer(client):
            request = b""
            while b"\r\n\r\n" not in request:
                request += client.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            method, target, _ = head.decode().split("\r\n")[0].split()
            length = next(int(line.split(":")[1]) for line in head.decode().split("\r\n")
                          if line.startswith("Content-Length"))
            while len(body) < length:
                body += client.recv(65536)
            self.asked.append((method, target.rpartition("/containers/")[2]))
            name = target.partition("/containers/")[2].partition("/")[0].partition("?")[0]
            if name == "create":
                client.sendall(b"HTTP/1.1 201 Created\r\n\r\n{}")
            elif "/attach" in target:
                client.sendall(b"HTTP/1.1 101 UPGRADED\r\n\r\n")
                attached[name] = client
                return
            elif target.endswith("/start"):
                client.sendall(b"HTTP/1.1 %d X\r\n\r\n" % start_status)
                attached[name].sendall(b"\x01\0\0\0\0\0\0\x02")
                attached[name].sendall(b"1\n")
            else:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            client.close()

        def accept():
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        self.addCleanup(server.close)

    def burst(self, start_status):
        with tempfile.TemporaryDirectory() as folder:
            self.serve(f"{folder}/s", start_status)
            return sandboxes("podman", "--socket", f"{folder}/s", "--count", "3", "--container", "{}")

    def test_each_container_is_timed_to_its_first_output_and_removed(self):
        done = self.burst(204)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["first_output"]), 3)
        self.assertEqual(sorted(target for method, target in self.asked if method == "DELETE"),
                         [f"berth-bench-{i}?force=true" for i in range(3)])

    def test_what_the_service_refuses_is_said_and_removed_all_the_same(self):
        done = self.burst(500)
        self.assertEqual(done.returncode, 1)
        self.assertIn("podman answers 500", done.stderr)
        self.assertEqual(sum(method == "DELETE" for method, _ in self.asked), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
