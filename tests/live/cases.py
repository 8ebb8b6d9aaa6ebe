"""What has to work at a real service. Each case says how many sandboxes it makes; its docstring is its name."""

import signal

from bench import Failed, expect

REFUSED, NOT_MADE, INTERRUPTED = 205, 206, 130
PRICE_MICROS = 50_000
RUNS_ON = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"
CHART = """!pip install matplotlib
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [3, 1, 2])
plt.show()
"""

CASES = []


def case(sandboxes):
    def add(function):
        CASES.append((function, sandboxes))
        return function

    return add


def settled(bench, call, settlement, micros):
    """One intent that is over, one receipt, and a sandbox that is gone."""
    receipt = bench.receipt(call)
    expect((receipt["settlement"], receipt["cost_micro_usd"]) == (settlement, micros),
           f"the receipt says {receipt['settlement']} and {receipt['cost_micro_usd']}")
    expect(bench.intent(call)["state"] == "RELEASED", f"the intent is {bench.intent(call)['state']}")
    bench.expect_gone(call)


@case(sandboxes=1)
def javascript(bench):
    """a JavaScript program prints 42, costs one receipt and leaves nothing"""
    call = bench.new_call()
    code, out, err = bench.run("console.log(6 * 7)\n", call, "--language", "javascript")
    expect((code, out) == (0, "42\n"), f"code {code}, {out!r}: {err.strip()}")
    settled(bench, call, "completed", PRICE_MICROS)


@case(sandboxes=1)
def python(bench):
    """a Python program prints 42, its error stream and its exit code come back, and nothing is left"""
    call = bench.new_call()
    source = "import sys\nprint(6 * 7)\nprint('e', file=sys.stderr)\nsys.exit(7)\n"
    code, out, err = bench.run(source, call, "--language", "python")
    expect((code, out) == (7, "42\n") and "e\n" in err, f"code {code}, {out!r}: {err.strip()}")
    settled(bench, call, "completed", PRICE_MICROS)


@case(sandboxes=1)
def picture(bench):
    """a picture that a Python program draws comes back as a PNG"""
    call = bench.new_call()
    # Where matplotlib is not part of the image, pip brings it, from where the sandbox can reach.
    charts = bench.folder / "charts"
    code, _, err = bench.run(CHART, call, "--language", "python", "--network", "open", "--output", charts)
    expect(code == 0, f"code {code}: {err.strip()}")
    pictures = [path.read_bytes() for path in charts.glob("*.png")]
    expect(len(pictures) == 1 and pictures[0].startswith(b"\x89PNG\r\n\x1a\n"), f"{len(pictures)} pictures")
    settled(bench, call, "completed", PRICE_MICROS)


@case(sandboxes=1)
def duplicates(bench):
    """a call that was made is answered from its record, and refused with another program; neither makes a sandbox"""
    call = bench.new_call()
    source = "import random\nprint(random.random())\n"
    _, first, err = bench.run(source, call, "--language", "python")
    expect(first.strip(), err.strip())
    code, again, _ = bench.run(source, call, "--language", "python")
    expect((code, again) == (0, first), f"the second answer has code {code} and {again!r}")
    code, out, err = bench.run("print(1)\n", call, "--language", "python")
    expect((code, out) == (REFUSED, ""), f"another program under the same call: code {code}, {out!r}: {err.strip()}")
    settled(bench, call, "completed", PRICE_MICROS)


@case(sandboxes=1)
def cancelled(bench):
    """a program that is cancelled ends with its sandbox, free of charge"""
    call = bench.new_call()
    child = bench.begin(RUNS_ON, call)
    child.send_signal(signal.SIGINT)
    code, _, err = bench.wait(child, bench.seconds_left())
    expect(code == INTERRUPTED, f"code {code}: {err.strip()}")
    settled(bench, call, "cancelled", 0)


def lose_the_host(bench):
    """A call whose sandbox runs on while everything that knew of it is dead."""
    call = bench.new_call()
    bench.kill(bench.begin(RUNS_ON, call))
    intent = bench.intent(call)
    expect(intent["state"] != "RELEASED", "the intent is over although nobody cleaned up")
    expect(bench.witness.is_there(intent["name"]), "the service has no sandbox of this name")
    return call, intent["name"]


def reconcile_twice(bench):
    for _ in range(2):
        code, out, err = bench.tell("reconcile")
        expect(code == 0, f"reconcile: code {code}: {(err or out).strip()}")


@case(sandboxes=1)
def fresh_process(bench):
    """what a killed host leaves is not made again, is cleaned by a fresh process, and cleaning again succeeds"""
    call, _ = lose_the_host(bench)
    code, out, err = bench.run(RUNS_ON, call, "--language", "python")
    # Either it is still open, or it was settled meanwhile, since any host cleans what a dead one left.
    refused = code == REFUSED or (code == NOT_MADE and "host_died" in err)
    expect(refused and out == "", f"the same call again: code {code}, {out!r}: {err.strip()}")
    expect(len(bench.intents()) == bench.calls, "the call was made once more")
    reconcile_twice(bench)
    settled(bench, call, "host_died", 0)


@case(sandboxes=1)
def deleted_by_another(bench):
    """a sandbox that somebody else has deleted is confirmed absent, and that settles its call"""
    call, name = lose_the_host(bench)
    bench.witness.delete(name)
    if not bench.witness.is_gone(name, seconds=bench.patience):
        raise Failed(f"the service did not delete {name}")
    reconcile_twice(bench)
    settled(bench, call, "host_died", 0)
