"""Every misbehaviour of a service at every step of a call's life, against fault_matrix.txt.

usage: fault_matrix.py BERTH STANDIN [--part sample|whole] [--service NAME] [--cell ROW[:COLUMN]] [--lanes N]
       fault_matrix.py BERTH STANDIN --self       proves that a wrong table is found

A lane has a stand-in of its own and runs one cell after the other. The sample has every row and every column of each
service. The table that came out is printed; what differs from the one that was written down fails.
"""

import argparse
import concurrent.futures
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "standins" / "support"))
from stand_in import StandIn  # noqa: E402

TABLE = Path(__file__).with_name("fault_matrix.txt")
PATIENCE_SECONDS = 180
PROGRAM = "print(6 * 7)\nresult = {'seven': 7}\n"
OUTCOMES = {205: "refused", 206: "infra", 207: "deadline", 208: "uncertain"}
PRICE_MICROS = 50_000
RELEASED = "RELEASED"

# The request that goes wrong at each step: endpoint, which call of it, and what must go wrong before it.
STEPS = {
    "daytona": {
        "create": ("POST /sandbox", 1, []),
        "confirm": ("GET /sandbox/{id}", 1, [{"endpoint": "POST /sandbox", "do": "drop", "when": "after"}]),
        "upload": ("POST /toolbox/{id}/files/bulk-upload", 1, []),
        "run": ("POST /toolbox/{id}/process/session/{session}/exec", 1, []),
        "output": ("GET /toolbox/{id}/process/session/{session}/command/{command}/logs", 1, []),
        "download": ("GET /toolbox/{id}/files/download", 1, []),
        "destroy": ("DELETE /sandbox/{id}", 1, []),
        "absence": ("GET /sandbox/{id}", 2, []),
    },
    "vercel": {
        "create": ("POST /v3/sandboxes", 1, []),
        "confirm": ("GET /v2/sandboxes/{name}", 1, [{"endpoint": "POST /v3/sandboxes", "do": "drop", "when": "after"}]),
        "upload": ("POST /v2/sandboxes/sessions/{session}/fs/write", 1, []),
        # Each of the two files that go in before is moved into its place by a command.
        "run": ("POST /v2/sandboxes/sessions/{session}/cmd", 3, []),
        "output": ("GET /v2/sandboxes/sessions/{session}/cmd/{command}/logs", 1,
                   [{"endpoint": "POST /v2/sandboxes/sessions/{session}/cmd", "nth": 3, "do": "cut", "bytes": 400}]),
        "download": ("POST /v2/sandboxes/sessions/{session}/fs/read", 1, []),
        "destroy": ("DELETE /v2/sandboxes/{name}", 1, []),
        "absence": ("GET /v2/sandboxes/{name}", 2, []),
    },
}
LISTS = {"daytona": "GET /sandbox", "vercel": "GET /v2/sandboxes"}
ENVIRONMENT = {
    "daytona": {"DAYTONA_API_KEY": "dtn_very-secret-key", "DAYTONA_ORGANIZATION_ID": "org-1"},
    "vercel": {"VERCEL_TOKEN": "vcp_very-secret-token", "VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"},
}


def says(service, status, headers=None):
    """An answer in the service's own words."""
    if service == "daytona":
        body = {"statusCode": status, "error": "Error", "message": "it went wrong", "path": "/", "timestamp": "now"}
    else:
        body = {"error": {"code": "rate_limited" if status == 429 else "internal_server_error", "message": "it went wrong"}}
    return {"do": "answer", "status": status, "type": "application/json", "body": json.dumps(body),
            "headers": headers or {}}


def misbehaviour(service, row):
    """The fault of the request, without endpoint and count."""
    lost, for_ever = {"do": "drop", "when": "after"}, {"when": "before", "times": 0}
    later = {"Retry-After-authenticated": "1"} if service == "daytona" else {"Retry-After": "1"}
    return {
        "request-lost": {"do": "drop", "when": "before"},
        "reply-lost": lost,
        "unreachable": {"do": "drop", **for_ever},
        "twice": {"do": "twice"},
        "cut": {"do": "cut", "bytes": 20},
        "stall": {"do": "stall", "when": "after"},
        "throttled": {**says(service, 429, later), "when": "before", "times": 2},
        "storm": {**says(service, 429, later), **for_ever},
        "gateway": {"do": "answer", "status": 503, "type": "text/html", "body": "<html>", "when": "before"},
        "failed-after": {**says(service, 500), "when": "after"},
        "broken": {**says(service, 500), **for_ever},
        "expired": {"do": "expire"},
        "hidden": lost,
        "unknown-state": lost,
        "lingering": {**says(service, 500), "when": "after"},
        "flapping": lost,
        "torn-pages": lost,
    }[row]


def faults_of(service, row, column):
    endpoint, nth, before = STEPS[service][column]
    create, destroy = STEPS[service]["create"][0], STEPS[service]["destroy"][0]
    # A state nobody knows is looked at until it is known, three times.
    if row == "unknown-state" and column == "absence":
        nth += 3
    more = {
        "hidden": [{"endpoint": create, "do": "hide", "looks": 2}],
        "unknown-state": [{"endpoint": create, "do": "state", "state": "quantum", "looks": 2}],
        "lingering": [{"endpoint": destroy, "do": "linger", "looks": 3}],
        "flapping": [{"endpoint": destroy, "do": "flap", "looks": 3}],
        "torn-pages": [{"endpoint": LISTS[service], "do": "page", "times": 0}],
    }.get(row, [])
    return [*before, *more, {"endpoint": endpoint, "nth": nth, **misbehaviour(service, row)}]


def deadlines_of(row):
    """Short where they are what ends the wait, and long where nothing should wait for them."""
    if row == "stall":
        return {"call": "8s", "create": "5s", "cleanup": "4s", "lifetime": "60s"}
    # What is refused is asked for again until the time of the step is over.
    if row in ("unreachable", "storm", "broken", "expired", "request-lost", "gateway"):
        return {"call": "90s", "create": "6s", "cleanup": "7s", "lifetime": "120s"}
    return {"call": "90s", "create": "30s", "cleanup": "30s", "lifetime": "120s"}


def read_table(text):
    """{service: {row: {column: cell}}}; whatever is not whole is refused."""
    tables, columns, service = {}, None, None
    for line in text.splitlines():
        words = line.split()
        if line.startswith("service "):
            service, columns = words[1], None
            tables[service] = {}
        elif line.startswith("#"):
            if service is not None and columns is None:
                columns = words[1:]
        elif words:
            if columns is None or len(words) != len(columns) + 1:
                raise ValueError(f"{service} {words[0]} has {len(words) - 1} cells")
            tables[service][words[0]] = dict(zip(columns, words[1:]))
    rows = {service: list(table) for service, table in tables.items()}
    for service, steps in STEPS.items():
        for row in rows[service]:
            misbehaviour(service, row)
            if list(tables[service][row]) != list(steps):
                raise ValueError(f"{service} {row} has the columns {list(tables[service][row])}")
    return tables


class Lane:
    """One stand-in, and cells one after the other."""

    def __init__(self, berth, standin, service, folder):
        self.berth, self.service, self.folder = berth, service, Path(folder)
        (self.folder / "service").mkdir(parents=True)
        self.stand_in = StandIn(standin, service, str(self.folder / "service"))
        self.cells = 0

    def close(self):
        self.stand_in.__exit__()

    def call(self, *arguments, source=None):
        done = subprocess.run([self.berth, *arguments, "--config", self.config, "--state-dir", self.state, "--json"],
                              env={**os.environ, **ENVIRONMENT[self.service]}, input=source, text=True,
                              capture_output=True, timeout=PATIENCE_SECONDS)
        for secret in ENVIRONMENT[self.service].values():
            if secret.startswith(("dtn_", "vcp_")) and secret in done.stdout + done.stderr:
                raise RuntimeError("a secret was printed")
        try:
            return done.returncode, json.loads(done.stdout or "{}"), done.stderr
        except json.JSONDecodeError:
            raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stdout} {done.stderr}")

    def run(self, row, column):
        """The cell that comes out, and what is wrong beside it."""
        self.cells += 1
        cell = self.folder / f"{self.cells}-{row}-{column}"
        cell.mkdir()
        self.state, self.config = str(cell / "state"), str(cell / "config.json")
        self.config_of(row)
        self.stand_in.ask(clear=True)
        before = self.living(), self.stand_in.machines()
        self.stand_in.faults(*faults_of(self.service, row, column))
        code, result, said = self.call("run", "-", "--no-templates", source=PROGRAM)
        met = any(entry.get("faults") for entry in self.stand_in.journal())
        outcome = OUTCOMES.get(code, str(code))
        if code == 0:
            # Its output, and its result, which comes another way.
            right = result["stdout"] == "42\n{'seven': 7}\n" and (result["result"] or {}).get("json") == {"seven": 7}
            outcome = "ok" if right else "wrong"
        # The service is well again; what its lists show is not in its hands.
        self.stand_in.ask(clear=True)
        if row == "torn-pages":
            self.stand_in.faults({"endpoint": LISTS[self.service], "do": "page", "times": 0})
        reconciled = self.call("reconcile")
        intent = result["intent"]
        # What reconcile has nothing to say of was released before, with the receipt that the run showed.
        settled = [one for one in reconciled[1]["intents"] if one["name"] == intent]
        state = settled[0]["after"] if settled else RELEASED
        receipts = self.call("receipts")[1]["receipts"] if settled else [result["receipt"]]
        cost = receipts[0]["cost_micro_usd"]
        wrong = [] if met else ["no request met the fault"]
        if len(receipts) != 1 or len(reconciled[1]["intents"]) != len(settled):
            wrong.append(f"{len(receipts)} receipts, and intents of another name")
        wrong += self.account(intent, state, before)
        charge = {None: "unknown", 0: "free", PRICE_MICROS: "paid"}.get(cost, str(cost))
        end = "gone" if state == RELEASED else state.lower()
        detail = f"{said.strip()} | reconcile: {reconciled[0]} {reconciled[2].strip()} {json.dumps(reconciled[1])[:600]}"
        shutil.rmtree(cell)
        return f"{outcome}/{end}/{charge}", wrong, detail

    def config_of(self, row):
        config = {"apiUrl": self.stand_in.url + "/api", "caFile": self.stand_in.authority, "pollFirstMs": 10,
                  "pollMostMs": 100}
        Path(self.config).write_text(json.dumps({"provider": self.service, "deadlines": deadlines_of(row),
                                                 "providers": {self.service: {"config": config}}}))

    def living(self):
        return {one["id"] if "id" in one else one["name"] for one in self.sandboxes() if one["live"]}

    def sandboxes(self):
        return self.stand_in.ask(state=True)["state"]["sandboxes"]

    def account(self, intent, state, before):
        """What lives since then is this intent's, and open; and no name was made twice."""
        named = [one for one in self.sandboxes() if intent in one["name"]]
        new = self.living() - before[0]
        wrong = []
        if len(named) > 1:
            wrong.append(f"{len(named)} sandboxes were made under one name")
        if new and (state == RELEASED or len(new) > 1 or not any(one["live"] for one in named)):
            wrong.append(f"nobody accounts for {', '.join(new)}")
        machines = self.stand_in.machines() - before[1]
        if machines != len(new):
            wrong.append(f"{machines} more machines and {len(new)} more sandboxes live")
        return wrong


def cells_of(tables, part):
    """(service, row, column). The sample: a column of each row, every column of each service, another at the other."""
    for service, table in tables.items():
        for number, row in enumerate(table):
            columns = list(table[row])
            if part == "sample":
                shift = 0 if service == "daytona" else len(columns) // 2
                columns = [columns[(number + shift) % len(columns)]]
            for column in columns:
                yield service, row, column


def run_cells(arguments, cells):
    """{cell: (what came out, what is wrong, detail)}"""
    found, work = {}, {}
    for cell in cells:
        work.setdefault(cell[0], queue.SimpleQueue()).put(cell)
    lock = threading.Lock()
    folder = tempfile.mkdtemp(prefix="berth-matrix-")

    def lane(service, number):
        one = Lane(arguments.berth, arguments.standin, service, f"{folder}/{service}{number}")
        try:
            while True:
                try:
                    cell = work[service].get_nowait()
                except queue.Empty:
                    return
                result = one.run(cell[1], cell[2])
                with lock:
                    found[cell] = result
        finally:
            one.close()

    try:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(lane, service, number) for service in work for number in range(arguments.lanes)]:
                done.result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def report(tables, found):
    """Prints what came out, and says how many cells are not as they were written down."""
    wrong = []
    for service, table in tables.items():
        columns = list(STEPS[service])
        if not any(cell[0] == service for cell in found):
            continue
        print(f"\n{service:14}" + "".join(f"{column:28}" for column in columns))
        for row in [row for row in table if any(cell[:2] == (service, row) for cell in found)]:
            line = f"{row:14}"
            for column in columns:
                cell = found.get((service, row, column))
                shown = "." if cell is None else cell[0]
                bad = cell is not None and (cell[0] != table[row][column] or cell[1])
                line += f"{('*' if bad else '') + shown:28}"
                if bad:
                    wrong.append(f"{service} {row} {column}: {cell[0]}, written down as {table[row][column]}"
                                 + "".join(f"; {one}" for one in cell[1]) + f"\n    {cell[2]}")
            print(line.rstrip())
    print(f"\n{len(found)} cells, {len(wrong)} not as written down" + "".join(f"\n  {one}" for one in wrong))
    return len(wrong)


def prove_that_it_can_fail(arguments, tables):
    """Three cells, each with another of its three parts written down wrongly, and one that is right."""
    cells = [("daytona", "twice", "create"), ("vercel", "storm", "create"), ("daytona", "request-lost", "run"),
             ("vercel", "twice", "create")]
    tables["daytona"]["twice"]["create"] = "infra/gone/paid"
    tables["vercel"]["storm"]["create"] = "refused/uncertain/free"
    tables["daytona"]["request-lost"]["run"] = "infra/gone/paid"
    wrong = report(tables, run_cells(arguments, cells))
    print(f"{wrong} of 3 wrong cells were found")
    return 0 if wrong == 3 else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("berth")
    parser.add_argument("standin")
    parser.add_argument("--part", choices=("sample", "whole"), default="whole")
    parser.add_argument("--service")
    parser.add_argument("--cell")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--self", action="store_true")
    arguments = parser.parse_args()
    tables = read_table(TABLE.read_text())
    if arguments.self:
        return prove_that_it_can_fail(arguments, tables)
    cells = [cell for cell in cells_of(tables, arguments.part)
             if arguments.service in (None, cell[0]) and f"{cell[1]}:{cell[2]}:".startswith(f"{arguments.cell}:" if arguments.cell else "")]
    if not cells:
        raise ValueError("there is no such cell")
    return 1 if report(tables, run_cells(arguments, cells)) else 0


if __name__ == "__main__":
    sys.exit(main())
