#!/usr/bin/python3
"""The benchmark measures what it says and computes its ratios right; how fast anything is does not
matter here.

usage: bench_test.py BUILD
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools" / "bench"))
import compare  # noqa: E402


def figure(median_ns):
    return {"median_ns": median_ns}


class Bench(unittest.TestCase):
    def test_every_figure_is_there_and_greater_than_zero(self):
        done = subprocess.run([str(BUILD / "bin/berth-bench"), "--turns", "2", "--seconds", "0.05",
                               "--operations", "200", "--mebibytes", "4"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        for name in ("abi_call", "abi_operation", "operation_in_process", "operation_in_worker"):
            self.assertGreater(report[name]["median_ns"], 0, name)
            self.assertGreaterEqual(report[name]["p99_ns"], report[name]["median_ns"], name)
        for way in ("library", "cat_wc"):
            self.assertEqual(len(report["bulk_output"][way]), 2)
            self.assertTrue(all(rate > 0 for rate in report["bulk_output"][way]), way)
        self.assertEqual(len(report["durable"]), 2)
        for turn in report["durable"]:
            self.assertGreater(turn["raw_commits_per_second"], 0)
            self.assertEqual(set(turn["executions_per_second"]), {"1", "8", "64"})
            self.assertTrue(all(rate > 0 for rate in turn["executions_per_second"].values()))
        self.assertEqual(list((BUILD / "bin").glob("bench-*")), [], "its folder is left behind")

    def test_a_ratio_is_the_median_of_the_ratios_of_each_turn(self):
        # The disk doubles its speed from one turn to the next; what is compared must not notice.
        turns = [{"raw_commits_per_second": speed,
                  "executions_per_second": {"1": speed * 0.5, "8": speed * 2, "64": speed * 2.5}}
                 for speed in (100, 200, 400)]
        rows = compare.library_rows({"abi_call": figure(2), "abi_operation": figure(200),
                                     "operation_in_process": figure(3000),
                                     "operation_in_worker": figure(16000), "durable": turns,
                                     "bulk_output": {"library": [2, 8], "cat_wc": [10, 10]}})
        by_name = {row["name"]: row for row in rows}
        one, many = (by_name[f"durable executions, {n} in flight"] for n in (1, 64))
        self.assertEqual((one["ratio"], one["met"]), (0.5, True))
        self.assertEqual((many["ratio"], many["met"]), (2.5, False))
        bulk = by_name["bulk output to a consumer that keeps it"]
        self.assertEqual((bulk["ratio"], bulk["met"]), (0.5, True))
        worker = by_name["an operation of the loaded provider, through its worker"]
        self.assertEqual((worker["value"], worker["met"]), (16.0, False))

    def test_programs_are_compared_with_both_neighbours(self):
        rows = compare.program_rows({"bare": [0.02, 0.03], "bubblewrap": [0.04, 0.04],
                                     "berth": [0.06, 0.09]})
        self.assertEqual([round(row["ratio"], 3) for row in rows if row["ratio"]], [3.0, 1.875])

    def test_a_program_that_does_not_print_1_is_not_timed(self):
        with self.assertRaises(SystemExit):
            compare.timed(["/bin/echo", "2"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
