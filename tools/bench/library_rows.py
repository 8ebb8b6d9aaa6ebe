"""The library alone: calls through the contract, commits, bulk output. Figures of berth-bench."""

import json
import statistics

import harness
from report import Figure, Goal, Row, value


def median_ratio(ours, theirs):
    return statistics.median(a / b for a, b in zip(ours, theirs))


def measured(name, unit, figures, scale, goals=()):
    """A row of what berth-bench has summed up already."""
    return Row(name, unit, Figure(figures["samples"], figures["median_ns"] * scale,
                                  p99=figures["p99_ns"] * scale), goals=list(goals))


def rows_of(report):
    rows = [measured("a call through the provider's table, in process", "ns", report["abi_call"], 1),
            measured("an operation ended in its slot, in process", "ns", report["abi_operation"], 1),
            measured("an operation of the loaded provider, in process", "us",
                     report["operation_in_process"], 1e-3),
            measured("an operation of the loaded provider, in its worker", "us",
                     report["operation_in_worker"], 1e-3, [Goal("p50", 15, of_ratio=False)])]
    bulk = report["bulk_output"]
    rows.append(value("bulk output to a consumer that keeps it", "MiB/s",
                      [rate / 2**20 for rate in bulk["library"]], "cat into wc -c",
                      median_ratio(bulk["library"], bulk["cat_wc"]), [Goal("p50", 0.3, at_least=True)]))
    turns = report["durable"]
    raw = [turn["raw_commits_per_second"] for turn in turns]
    rows.append(value("single SQLite commits, synchronous=FULL", "/s", raw))
    for flight, goal in ((1, 0.25), (8, None), (64, 3.0)):
        ours = [turn["executions_per_second"][str(flight)] for turn in turns]
        rows.append(value(f"durable executions, {flight} in flight", "/s", ours, "single commits",
                          median_ratio(ours, raw),
                          [Goal("p50", goal, at_least=True)] if goal else []))
    return rows


def measure(bench):
    arguments = ["--turns", "2", "--seconds", "0.05", "--operations", "200", "--mebibytes", "4"]
    return rows_of(json.loads(harness.run(
        [str(bench.build / "bin/berth-bench"), *(arguments if bench.quick else [])], 900)))


MEASUREMENTS = [("library: the contract, commits and bulk output", measure)]
