"""Many sandboxes alive and idle: memory, commands in one of them, and their end."""

from report import Figure, Goal, Growth, Row, times
from single_rows import COLD, FORK, provider_arguments

MEBIBYTE = 2**20


def memory_row(level, name, goal):
    each = level["memory"]["sandboxes_bytes"] / level["count"] / MEBIBYTE
    return Row(name, "MiB", Figure(level["memory"]["processes"], each),
               goals=[Goal("p50", goal, of_ratio=False)])


def used(report):
    """What the machine has less for each sandbox than when there was none, the kernel's own included."""
    before = report["before"]["available_bytes"]
    return {level["count"]: (before - level["memory"]["available_bytes"]) / level["count"] / MEBIBYTE
            for level in report["levels"]}


def median(samples, scale):
    return Figure.of(samples, scale).p50 if samples else None


def grown(kind, report):
    levels = report["levels"]
    yield Growth(f"{kind}, alive: proportional memory of each", "MiB",
                 {level["count"]: level["memory"]["sandboxes_bytes"] / level["count"] / MEBIBYTE
                  for level in levels})
    yield Growth(f"{kind}, alive: what the machine has less, for each", "MiB",
                 used(report))
    yield Growth(f"{kind}, alive: a command in one, p50", "us",
                 {level["count"]: median(level["command"], 1e-3) for level in levels})
    yield Growth(f"{kind}, alive: gone, p50", "us",
                 {level["count"]: median(level["gone"], 1e-3) for level in levels})


def counts(bench):
    return bench.size([1, 10, 100, 1000], [1, 2])


def alive(bench, config):
    return bench.sandboxes("alive", *provider_arguments(config), "--counts", *counts(bench),
                           "--commands", bench.size(100, 3))


def light(bench):
    report = alive(bench, COLD)
    first, last = report["levels"][0], report["levels"][-1]
    gone = [took for level in report["levels"] for took in level["gone"]]
    return [memory_row(last, f"{last['count']} alive and idle, no interpreter: memory of each", 1.5),
            times("a command in a living sandbox", "us", first["command"], [Goal("p50", 3)],
                  beside="posix_spawn", beside_samples=first["command_bare"]),
            destroyed(gone), *grown("cold", report)]


def destroyed(gone):
    row = times("destroy until nothing is left", "ms", gone)
    row.note = f"p99 {row.figure.p99:.2f} ms of {len(gone)}"
    return row


def heavy(bench):
    report = alive(bench, FORK)
    last = report["levels"][-1]
    return [memory_row(last, f"{last['count']} alive and idle, pandas imported: memory of each", 3),
            *grown("template", report)]


MEASUREMENTS = [
    ("alive: cold, memory, commands, destroy", light),
    ("alive: pandas imported, memory", heavy),
]
