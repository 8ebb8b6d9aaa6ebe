"""One sandbox after the other: from the request to the receipt, in turns with the same thing bare."""

import json

from harness import PYTHON
from neighbours import bubblewrap
from report import Goal, quantile, times

PRINT = "print(1)"
PICTURE = """import pandas as pd
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
frame = pd.DataFrame({"x": range(100), "y": [i * i % 97 for i in range(100)]})
frame.groupby(frame.x % 5).y.mean().plot(kind="bar")
plt.savefig("chart.png")
"""
COLD = {"startup": "cold"}
# Nothing waits ready: what a request needs is forked from the template when it comes.
FORK = {"startup": "template", "templates": ["python"], "readyLeast": 0, "readyMost": 0}
UNMEASURED = 2  # turns that the harness does not count


def pool(count, language="python"):
    """So many sandboxes that wait ready, and none made again while they are used up. What the harness
    uses to look at one of them is there too."""
    return {"startup": "template", "templates": [language], "readyLeast": 1,
            "readyMost": min(count + 3, 1000)}


def provider_arguments(config, ready=0):
    return ["--config", json.dumps(config), "--startup", config["startup"], "--ready", ready]


def programs(bench, name, config, samples, code, beside, goals, ready=0, extra=(), beside_name=None):
    report = bench.sandboxes("programs", *provider_arguments(config, ready), "--samples", samples,
                             "--code", code, *extra, "--", *beside)
    bounds = [Goal(quantile, bound) for quantile, bound in zip(("p50", "p95"), goals)]
    row = times(name, "ms", report["ours"], bounds, beside=beside_name or " ".join(beside),
                beside_samples=report["beside"])
    row.note = "p50 in us: " + ", ".join(f"{phase} {quantile(took, 0.5) / 1e3:,.0f}"
                                         for phase, took in report["phases"].items())
    return [row]


def ready_python(bench):
    samples = bench.size(100, 3)
    return programs(bench, "create to print(1) done and receipt, from a pool", pool(samples + UNMEASURED),
                    samples, PRINT, [PYTHON, "-c", PRINT], (0.1, 0.3), samples + UNMEASURED)


def forked_python(bench):
    return programs(bench, "the same forked on the request", FORK, bench.size(100, 3), PRINT,
                    [PYTHON, "-c", PRINT], (0.35, 0.7))


def javascript(bench, name, config, samples, goals, ready=0):
    code = "console.log(1)"
    return programs(bench, name, config, samples, code, ["node", "-e", code], goals, ready,
                    ["--language", "javascript"])


def ready_javascript(bench):
    samples = bench.size(40, 2)
    return javascript(bench, "the same for JavaScript, from a pool",
                      pool(samples + UNMEASURED, "javascript"), samples,
                      (0.05, 0.1), samples + UNMEASURED)


def forked_javascript(bench):
    return javascript(bench, "the same for JavaScript, forked on the request",
                      {**FORK, "templates": ["javascript"]}, bench.size(40, 2), ())


def picture(bench):
    samples = bench.size(15, 1)
    return programs(bench, "create to a pandas and matplotlib PNG", pool(samples + UNMEASURED), samples,
                    PICTURE, [PYTHON, "-c", PICTURE], (0.15,), samples + UNMEASURED, ["--chart"],
                    "the same script bare")


def cold_true(bench):
    report = bench.sandboxes("cold-true", *provider_arguments(COLD), "--samples", bench.size(150, 3), "--",
                             *bubblewrap("/bin/true"))
    return [times("cold create to /bin/true done", "ms", report["done"], [Goal("p50", 1.0)],
                  beside="bubblewrap", beside_samples=report["beside"]),
            times("the same until its receipt is there", "ms", report["receipt"], beside="bubblewrap",
                  beside_samples=report["beside"])]


MEASUREMENTS = [
    ("pool: print(1)", ready_python),
    ("fork: print(1)", forked_python),
    ("pool: JavaScript", ready_javascript),
    ("fork: JavaScript", forked_javascript),
    ("pool: PNG", picture),
    ("cold: /bin/true", cold_true),
]
