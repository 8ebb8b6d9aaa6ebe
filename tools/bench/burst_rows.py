"""Many requests in the same moment, and many one after the other."""

from harness import PYTHON, NotMeasured
from neighbours import bubblewrap, engines
from report import Figure, Goal, Growth, Row, quantile, times
from single_rows import COLD, FORK, PRINT, pool, provider_arguments

PROGRAM = [PYTHON, "-c", PRINT]
# As many as a pool may hold, without those that the harness looks at.
POOL_MAX = 996


def ours(bench, config, count, ready=0):
    report = bench.sandboxes("burst", *provider_arguments(config, ready), "--count", count, "--code",
                             PRINT)
    return [took for one in report["rounds"] for took in one["first_output"]]


def from_pool(bench, count):
    ready = min(count, POOL_MAX)
    return ours(bench, pool(ready), count, ready)


def attempt(measure, *arguments):
    """(samples, "") or (None, why not)."""
    try:
        return measure(*arguments), ""
    except NotMeasured as reason:
        return None, str(reason)


def theirs(bench, count):
    """{name: (samples, note)} of the engines, and the reasons of those that are absent."""
    found = {}
    with engines(bench, PROGRAM, count) as (there, absent):
        for name, engine in there.items():
            samples, why = attempt(engine.burst, count)
            if samples is None:
                absent[name] = why
            elif name == "crun":
                start = quantile(engine.client_start(count), 0.95)
                found[name] = ([took - start for took in samples],
                               f"less {start / 1e6:.0f} ms, the p95 of {count} clients that do nothing")
            else:
                found[name] = (samples, "through the socket of its service")
    return found, absent


def burst_row(name, samples, why, best, goal):
    if samples is None:
        return Row(name, goals=[goal], not_measured=why)
    row = times(name, "ms", samples)
    if best is None:
        row.note = "nothing to compare it with"
        return row
    best_name, best_samples = best
    row.goals = [goal]
    row.beside_name, row.beside = best_name, Figure.of(best_samples, 1e-6)
    # How many times faster, so that more is better.
    row.ratio = {"p95": row.beside.p95 / row.figure.p95}
    return row


def burst(bench):
    count = bench.size(100, 3)
    found, absent = theirs(bench, count)
    best = min(((name, samples) for name, (samples, _) in found.items()),
               key=lambda item: quantile(item[1], 0.95), default=None)
    label = f"burst of {count}, first output"
    rows = [burst_row(f"{label}, pool of {count}", *attempt(from_pool, bench, count), best,
                      Goal("p95", 20, at_least=True)),
            burst_row(f"{label}, pool of 0", *attempt(ours, bench, FORK, count), best,
                      Goal("p95", 5, at_least=True)),
            burst_row(f"{label}, cold", *attempt(ours, bench, COLD, count), best, None)]
    rows[-1].goals = []
    for name, (samples, note) in found.items():
        rows.append(times(f"{label}, {name}", "ms", samples, note=note))
    rows += [Row(f"{label}, {name}", not_measured=why) for name, why in absent.items()]
    for name, command in (("bubblewrap", bubblewrap(*PROGRAM)), ("bare", PROGRAM)):
        samples = bench.sandboxes("commands", "--count", count, "--", *command)["first_output"]
        rows.append(times(f"{label}, {name}", "ms", samples))
    return rows


def growth_of(name, numbers, measure):
    values, note = {}, ""
    for count in numbers:
        samples, why = attempt(measure, count)
        values[count] = quantile(samples, 0.95) / 1e6 if samples else None
        note = note or why
    return Growth(f"{name}: first output of so many at once, p95", "ms", values, note=note)


def growth(bench):
    numbers = bench.size([1, 10, 100, 1000], [1, 2])
    grown = [growth_of("pool", numbers, lambda count: from_pool(bench, count)),
             growth_of("fork", numbers, lambda count: ours(bench, FORK, count)),
             growth_of("cold", numbers, lambda count: ours(bench, COLD, count))]
    grown.append(growth_of("bare", numbers, lambda count: bench.sandboxes(
        "commands", "--count", count, "--", *PROGRAM)["first_output"]))
    return grown


def rate(bench):
    """Ten pools' worth, a few at a time, with the pool filled again meanwhile."""
    size = bench.size(20, 2)
    config = {"startup": "template", "templates": ["python"], "readyLeast": size, "readyMost": size}
    report = bench.sandboxes("rate", *provider_arguments(config), "--count", size * 10, "--in-flight",
                             bench.size(4, 2), "--code", PRINT, "--", *PROGRAM)
    row = Row(f"rate over ten pools of {size}, refill included", "/s",
              Figure(report["count"], report["ours_per_second"]), beside_name="python3 alone")
    row.beside = Figure(report["count"] // 2, report["beside_per_second"])
    row.ratio = {"p50": row.figure.p50 / row.beside.p50}
    return [row]


MEASUREMENTS = [
    ("burst: first output of 100 at once", burst),
    ("burst: how it grows", growth),
    ("rate: ten pools' worth", rate),
]
