"""The adapters of remote services: a command's cost beside the service's own client, with the same requests to the
same stand-in, and a thousand commands that stream at once.

The stand-in answers commands without executing them, so that both sides wait for nothing but their own work and its.
"""

import base64
import json
import os
import statistics
import sys
from pathlib import Path

import harness
from harness import NotMeasured
from report import Figure, Goal, Row

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/standins/support"))
from stand_in import StandIn  # noqa: E402

SERVICES = {"daytona": "Daytona", "vercel": "Vercel"}
KEYS = {"DAYTONA_API_KEY": "dtn_bench", "DAYTONA_ORGANIZATION_ID": "org-1", "VERCEL_TOKEN": "tok_bench",
        "VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"}
PIECES, PAUSE_MS = 24, 200
BYTES_MOST = 96 * 1024
SESSION = "/toolbox/{id}/process/session"


def standing(endpoint, body="", status=200, **more):
    """Answers every call of an endpoint, from now on."""
    return {"endpoint": endpoint, "do": "answer", "when": "before", "times": 0, "status": status, "body": body,
            "type": "application/json" if body else "", **more}


def daytona_commands():
    log = "~o 0 aGVsbG8K\n~x 1 exited 0 6 0\n"
    begun = {"cmdId": "c1", "output": None, "stdout": None, "stderr": None, "exitCode": None}
    return [standing(f"POST {SESSION}", status=201),
            standing(f"POST {SESSION}/{{session}}/exec", json.dumps(begun), 202),
            standing(f"GET {SESSION}/{{session}}/command/{{command}}/logs",
                     json.dumps({"output": log, "stdout": log, "stderr": ""})),
            standing(f"DELETE {SESSION}/{{session}}", status=204)]


def vercel_lines(*outputs):
    command = {"id": "cmd_1", "name": "sh", "args": [], "cwd": "/", "sessionId": "sbx_1", "exitCode": None, "startedAt": 1}
    lines = [{"command": command}, *({"stream": "stdout", "data": one} for one in outputs),
             {"command": {**command, "exitCode": 0, "durationMs": 1}}]
    return "".join(json.dumps(line) + "\n" for line in lines)


def vercel_commands():
    body = vercel_lines(":aGVsbG8K\n", "~exited 0 6 0\n")
    return [standing("POST /v2/sandboxes/sessions/{session}/cmd", body, type="application/x-ndjson")]


def vercel_streams():
    piece = b"x" * 60
    lines = [":" + base64.b64encode(piece).decode() + "\n"] * PIECES + [f"~exited 0 {PIECES * len(piece)} 0\n"]
    return [{"endpoint": "POST /v2/sandboxes/sessions/{session}/cmd", "do": "drip", "times": 0, "pauseMs": PAUSE_MS,
             "type": "application/x-ndjson", "body": vercel_lines(*lines)}]


def daytona_streams():
    piece = b"x" * 60
    text = base64.b64encode(piece).decode()
    mark = "\x01\x01\x01"
    lines = [f"{mark}~o {place} {text}\n" for place in range(PIECES)]
    lines.append(f"{mark}~x {PIECES} exited 0 {PIECES * len(piece)} 0\n")
    nothing = json.dumps({"output": "", "stdout": "", "stderr": ""})
    begun = {"cmdId": "c1", "output": None, "stdout": None, "stderr": None, "exitCode": None}
    logs = f"GET {SESSION}/{{session}}/command/{{command}}/logs"
    return [standing(f"POST {SESSION}", status=201),
            standing(f"POST {SESSION}/{{session}}/exec", json.dumps(begun), 202),
            {"endpoint": logs, "do": "drip", "upgrade": True, "times": 0, "pauseMs": PAUSE_MS, "body": "".join(lines)},
            standing(logs, nothing),
            standing(f"GET {SESSION}/{{session}}/command/{{command}}",
                     json.dumps({"id": "c1", "command": "true"})),
            standing(f"DELETE {SESSION}/{{session}}", status=204)]


COMMANDS = {"daytona": daytona_commands, "vercel": vercel_commands}
STREAMS = {"daytona": daytona_streams, "vercel": vercel_streams}


def tests_of(build):
    """The folder of a build that has the tests: this one's, or the one tools/test makes."""
    for one in (build, build.parent / "dev"):
        if (one / "tests/standin").exists():
            return one / "tests"
    raise NotMeasured("no stand-in is built; tools/test builds it")


class Service:
    """A stand-in for one measurement."""

    def __init__(self, bench, service, faults):
        self.bench, self.service, self.tests = bench, service, tests_of(bench.build)
        folder = bench.folder / f"{service}-{len(list(bench.folder.iterdir()))}"
        (folder / "service").mkdir(parents=True)
        self.folder = folder
        self.stand_in = StandIn(str(self.tests / "standin"), service, str(folder / "service"))
        self.stand_in.faults(*faults)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stand_in.__exit__()

    def ours(self, *arguments):
        command = [str(self.bench.build / "bin/berth-bench-remote"), "--service", self.service, "--url",
                   self.stand_in.url + "/api", "--authority", self.stand_in.authority, "--folder", str(self.folder),
                   *map(str, arguments)]
        return json.loads(harness.run(command, 300, env={**os.environ, **KEYS}))

    def theirs(self, commands):
        modules = self.tests / "standins/clients"
        if not (modules / "node_modules").exists():
            raise NotMeasured("the services' own clients are not installed; ctest -R standins.install_clients does it")
        command = ["node", str(Path(__file__).with_name("clients.mjs")), str(modules), self.service, self.stand_in.url,
                   str(commands)]
        return json.loads(harness.run(command, 300, env={**os.environ, "NODE_EXTRA_CA_CERTS": self.stand_in.authority}))


def beside(name, ours, theirs, key, goals=()):
    of = [run[key] / run["commands"] / 1e3 for run in ours]
    other = [run[key] / run["commands"] / 1e3 for run in theirs]
    row = Row(name, "us", Figure(len(of), statistics.median(of)), "its own client",
              Figure(len(other), statistics.median(other)), goals=list(goals))
    row.ratio = {"p50": statistics.median(a / b for a, b in zip(of, other))}
    row.note = f"each of {ours[0]['commands']} commands in one warm process"
    return row


def cost(bench, service):
    commands = bench.size(1000, 20)
    ours, theirs = [], []
    with Service(bench, service, COMMANDS[service]()) as at:
        for _ in range(bench.size(5, 1)):
            ours.append(at.ours("turn", "--commands", commands))
            theirs.append(at.theirs(commands))
    title = f"{SERVICES[service]}: a command"
    return [beside(f"{title}, processor", ours, theirs, "cpu_ns", [Goal("p50", 0.1)]),
            beside(f"{title}, from begin to end", ours, theirs, "wall_ns")]


def crowd(bench, service):
    with Service(bench, service, STREAMS[service]()) as at:
        seen = at.ours("at-once", "--sandboxes", bench.size(125, 2), "--each", 8, "--pause-ms", PAUSE_MS)
    late, count = seen["late"], seen["commands"]
    memory = Row(f"{SERVICES[service]}: {count} commands that stream, memory of each", "KiB",
                 Figure(count, seen["bytes_each"] / 1024), goals=[Goal("p50", BYTES_MOST / 1024, of_ratio=False)])
    memory.note = f"{seen['threads']} threads in all"
    pieces = Row(f"{SERVICES[service]}: the same, how late a piece comes", "ms",
                 Figure(late["samples"], late["median_ns"] / 1e6, p99=late["p99_ns"] / 1e6))
    pieces.note = f"p99 {late['p99_ns'] / 1e6:.1f} ms of {late['samples']} pieces"
    return [memory, pieces]


MEASUREMENTS = [(f"remote: {name}, a command's cost", lambda bench, service=service: cost(bench, service))
                for service, name in SERVICES.items()]
MEASUREMENTS += [(f"remote: {name}, a thousand commands at once", lambda bench, service=service: crowd(bench, service))
                 for service, name in SERVICES.items()]
