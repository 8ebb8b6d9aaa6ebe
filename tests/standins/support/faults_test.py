"""What a stand-in is told to get wrong, it gets wrong, so that no test of an adapter passes for want of the fault; and
what it runs is real under load and at its ends.

usage: faults_test.py STANDIN FOLDER [unittest's arguments]
"""

import concurrent.futures
import http.client
import json
import re
import socket
import ssl
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from stand_in import StandIn  # noqa: E402

PROGRAM, FOLDER = sys.argv[1:3]
TOKEN = {"Authorization": "Bearer token-1"}
EXECUTE = "POST /toolbox/{id}/process/execute"
PATIENCE_SECONDS = 60
Path(FOLDER).mkdir(parents=True, exist_ok=True)


class DaytonaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stand_in = StandIn(PROGRAM, "daytona", tempfile.mkdtemp(dir=FOLDER))
        cls.addClassCleanup(cls.stand_in.__exit__)

    def setUp(self):
        self.addCleanup(self.stand_in.ask, clear=True)

    def ask(self, method, path, body=None, token=TOKEN):
        status, headers, data = self.stand_in.request(method, path, None if body is None else json.dumps(body), token)
        is_json = (headers.get("Content-Type") or "").startswith("application/json")
        return status, json.loads(data) if is_json and data else data

    def create(self, **body):
        status, made = self.ask("POST", "/api/sandbox", body)
        self.assertEqual(status, 200, made)
        self.addCleanup(self.delete, made["id"])
        return made["id"]

    def delete(self, id_):
        self.ask("DELETE", f"/api/sandbox/{id_}")
        self.wait(lambda: self.ask("GET", f"/api/sandbox/{id_}")[0] == 404)

    def wait(self, holds):
        until = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), until, "it did not come to be within a minute")
            time.sleep(0.02)

    def run_in(self, id_, command, **more):
        return self.ask("POST", f"/toolbox/{id_}/process/execute", {"command": command, "timeout": 60, **more})

    def test_a_lost_request_is_not_done_and_a_lost_reply_is(self):
        for when, count in (("before", 0), ("after", 1)):
            self.stand_in.faults({"endpoint": "POST /sandbox", "do": "drop", "when": when})
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionError, ssl.SSLError)):
                self.ask("POST", "/api/sandbox", {"name": f"lost-{when}"})
            self.assertEqual(self.stand_in.machines(), count)
        entry = self.stand_in.journal()[-1]
        self.assertEqual((entry["status"], entry["faults"]), (0, ["drop"]))
        self.delete(self.ask("GET", "/api/sandbox/lost-after")[1]["id"])

    def test_another_answer_comes_in_place_of_doing_it_or_after_it_was_done(self):
        for when, count in (("before", 0), ("after", 1)):
            self.stand_in.faults({"endpoint": "POST /sandbox", "do": "answer", "when": when, "status": 503,
                                  "headers": {"Retry-After": "3"}, "type": "text/html", "body": "<html>"})
            status, headers, body = self.stand_in.request("POST", "/api/sandbox", '{"name": "odd"}', TOKEN)
            self.assertEqual((status, headers["Retry-After"], body), (503, "3", b"<html>"))
            self.assertEqual(self.stand_in.machines(), count)
        self.delete(self.ask("GET", "/api/sandbox/odd")[1]["id"])

    def test_a_storm_lasts_for_as_many_calls_as_it_is_told_and_begins_with_the_nth(self):
        self.stand_in.faults({"endpoint": "GET /sandbox", "do": "answer", "status": 429, "nth": 2, "times": 3})
        self.assertEqual([self.ask("GET", "/api/sandbox")[0] for _ in range(6)], [200, 429, 429, 429, 200, 200])

    def test_an_answer_drips_line_by_line_and_is_whole(self):
        self.stand_in.faults({"endpoint": "GET /health", "do": "drip", "type": "text/plain", "body": "one\ntwo\nlast",
                              "pauseMs": 50})
        status, headers, body = self.stand_in.request("GET", "/api/health", headers=TOKEN)
        self.assertEqual((status, body, headers["Transfer-Encoding"]), (200, b"one\ntwo\nlast", "chunked"))

    def test_an_answer_comes_twice_on_one_connection(self):
        self.stand_in.faults({"endpoint": "GET /health", "do": "twice"})
        context = ssl.create_default_context(cafile=self.stand_in.authority)
        port = self.stand_in.ready["port"]
        with socket.create_connection(("127.0.0.1", port), 60) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as stream:
            stream.sendall(b"GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer t\r\n\r\n")
            data = b""
            while piece := stream.recv(65536):
                data += piece
        self.assertEqual(len(re.findall(rb"HTTP/1\.1 200", data)), 2)

    def test_a_body_ends_where_it_was_told_to_be_cut(self):
        self.stand_in.faults({"endpoint": "GET /config", "do": "cut", "bytes": 10})
        with self.assertRaises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
            self.ask("GET", "/api/config")

    def test_nothing_is_answered_and_the_connection_stays(self):
        self.stand_in.faults({"endpoint": "GET /health", "do": "stall"})
        with self.stand_in.connection(timeout=0.5) as connection:
            connection.request("GET", "/api/health", headers=TOKEN)
            with self.assertRaises(TimeoutError):
                connection.getresponse()
        self.assertEqual(self.ask("GET", "/api/health")[0], 200)

    def test_a_token_expires_and_another_is_good(self):
        self.assertEqual(self.ask("GET", "/api/health", token={})[0], 401)
        self.stand_in.faults({"endpoint": "GET /health", "do": "expire"})
        self.assertEqual([self.ask("GET", "/api/health")[0], self.ask("GET", "/api/config")[0]], [401, 401])
        self.assertEqual(self.ask("GET", "/api/health", token={"Authorization": "Bearer token-2"})[0], 200)

    def test_what_is_made_is_seen_later_and_what_is_deleted_for_longer(self):
        self.stand_in.faults({"endpoint": "POST /sandbox", "do": "hide", "looks": 2},
                             {"endpoint": "DELETE /sandbox/{id}", "do": "linger", "looks": 2})
        id_ = self.create(name="late")
        self.assertEqual(self.ask("POST", "/api/sandbox", {"name": "late"})[0], 409)
        self.assertEqual(self.ask("GET", "/api/sandbox/late")[0], 404)
        self.assertEqual(self.ask("GET", "/api/sandbox")[1]["items"], [])
        self.assertEqual(self.ask("GET", "/api/sandbox/late")[0], 200)
        self.ask("DELETE", f"/api/sandbox/{id_}")
        self.wait(lambda: self.stand_in.machines() == 0)
        seen = [self.ask("GET", f"/api/sandbox/{id_}") for _ in range(3)]
        self.assertEqual([status for status, _ in seen], [200, 200, 404])
        self.assertEqual(seen[0][1]["state"], "destroying")

    def test_what_is_deleted_comes_back_in_lists_and_nowhere_else(self):
        self.stand_in.faults({"endpoint": "DELETE /sandbox/{id}", "do": "flap", "looks": 2})
        self.delete(self.create())
        lists = [[one["state"] for one in self.ask("GET", "/api/sandbox")[1]["items"]] for _ in range(3)]
        self.assertEqual(lists, [["started"], ["started"], []])

    def test_a_state_nobody_knows_is_shown_for_some_looks(self):
        self.stand_in.faults({"endpoint": "POST /sandbox", "do": "state", "state": "quantum", "looks": 2})
        id_ = self.create()
        states = [self.ask("GET", f"/api/sandbox/{id_}")[1]["state"] for _ in range(3)]
        self.assertEqual(states, ["quantum", "quantum", "started"])

    def test_a_page_leaves_one_out_and_repeats_another(self):
        ids = [self.create() for _ in range(4)]
        self.stand_in.faults({"endpoint": "GET /sandbox", "do": "page"})
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ask("GET", f"/api/sandbox?limit=2&cursor={cursor}")[1]
            seen += [one["id"] for one in page["items"]]
            cursor = page["nextCursor"]
        self.assertEqual(seen, [ids[0], ids[0], ids[2], ids[3]])

    def test_a_fault_that_means_nothing_is_refused_whole(self):
        for fault in ({"endpoint": "GET /nothing", "do": "drop"}, {"endpoint": "GET /health", "do": "dance"},
                      {"endpoint": "GET /health"}, {"endpoint": "GET /health", "do": "drop", "loud": True}):
            with self.assertRaises(RuntimeError):
                self.stand_in.faults({"endpoint": "GET /health", "do": "drop"}, fault)
        self.assertEqual(self.ask("GET", "/api/health")[0], 200)

    def test_a_log_is_told_behind_what_was_written(self):
        id_ = self.create()
        session = f"/toolbox/{id_}/process/session"
        self.ask("POST", session, {"sessionId": "s"})
        command = self.ask("POST", f"{session}/s/exec", {"command": "echo one; echo two"})[1]
        self.assertEqual(command["stdout"], "one\ntwo\n")
        logs = "GET /toolbox/{id}/process/session/{session}/command/{command}/logs"
        self.stand_in.faults({"endpoint": logs, "do": "behind", "bytes": 5})
        path = f"{session}/s/command/{command['cmdId']}/logs"
        token = {**TOKEN, "X-Daytona-SDK-Version": "0.218.0"}
        self.assertEqual([self.ask("GET", path, token=token)[1]["stdout"] for _ in range(2)], ["one", "one\ntwo\n"])

    def test_a_great_deal_of_output_is_whole(self):
        id_ = self.create()
        status, done = self.run_in(id_, "head -c 50000000 /dev/zero | tr '\\0' x; echo end")
        self.assertEqual((status, done["exitCode"], len(done["result"])), (200, 0, 50_000_004))

    def test_many_commands_run_in_one_sandbox_at_once(self):
        id_ = self.create()
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            # None ends before all have begun.
            command = "touch begun.{0}; while [ $(ls begun.* | wc -l) -lt 60 ]; do sleep 0.05; done; echo {0}"
            done = list(pool.map(lambda i: self.run_in(id_, command.format(i))[1]["result"], range(60)))
        self.assertEqual(done, [f"{i}\n" for i in range(60)])

    def test_output_that_comes_after_a_shell_has_ended_does_not_keep_its_end_waiting(self):
        id_ = self.create()
        done = self.run_in(id_, "(sleep 300; echo late) & echo first")[1]
        self.assertEqual(done["result"], "first\n")

    def test_a_session_whose_shell_ends_never_says_how_its_command_did(self):
        id_ = self.create()
        session = f"/toolbox/{id_}/process/session"
        self.ask("POST", session, {"sessionId": "s"})
        command = self.ask("POST", f"{session}/s/exec", {"command": "exit 3", "runAsync": True})[1]["cmdId"]
        self.wait(lambda: self.ask("POST", f"{session}/s/exec", {"command": "true", "runAsync": True})[0] == 410)
        self.assertNotIn("exitCode", self.ask("GET", f"{session}/s/command/{command}")[1])
        self.assertEqual(self.ask("DELETE", f"{session}/s")[0], 204)

    def test_a_sandbox_whose_daemon_is_killed_answers_as_a_gateway_does_and_is_said_to_run(self):
        id_ = self.create()
        self.run_in(id_, "kill -9 $PPID")
        self.wait(lambda: self.run_in(id_, "true")[0] == 502)
        self.assertEqual(self.ask("GET", f"/api/sandbox/{id_}")[1]["state"], "started")


    def test_there_are_more_sandboxes_than_one_worker_has_operations_for(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(lambda _: self.ask("POST", "/api/sandbox", {})[1]["id"], range(70)))
            self.assertEqual(self.stand_in.machines(), 70)
            echoes = list(pool.map(lambda one: self.run_in(one, "echo $HOSTNAME")[1]["result"], ids))
            self.assertEqual(len(set(echoes)), 70)
            list(pool.map(self.delete, ids))
        self.wait(lambda: self.stand_in.machines() == 0)


class TimersTest(unittest.TestCase):
    """Minutes of 200 ms."""

    @classmethod
    def setUpClass(cls):
        cls.stand_in = StandIn(PROGRAM, "daytona", tempfile.mkdtemp(dir=FOLDER), "--minute-ms", "200")
        cls.addClassCleanup(cls.stand_in.__exit__)

    ask, wait = DaytonaTest.ask, DaytonaTest.wait

    def state(self, id_):
        status, seen = self.ask("GET", f"/api/sandbox/{id_}")
        return "gone" if status == 404 else seen["state"]

    def create(self, **body):
        return self.ask("POST", "/api/sandbox", body)[1]["id"]

    def test_a_lifetime_ends_a_sandbox_however_busy_it_is(self):
        id_ = self.create(ttlMinutes=5, autoStopInterval=0)
        execute = f"/toolbox/{id_}/process/execute"
        self.assertNotEqual(self.ask("POST", execute, {"command": "sleep 300", "timeout": 200})[0], 200)
        self.wait(lambda: self.state(id_) == "gone" and self.stand_in.machines() == 0)

    def test_what_nobody_asks_anything_of_stops_and_goes_after_it_has_been_stopped(self):
        id_ = self.create(autoStopInterval=2, autoDeleteInterval=10)
        self.wait(lambda: self.state(id_) == "stopped")
        self.wait(lambda: self.state(id_) == "gone")

    def test_what_goes_when_it_stops_is_never_seen_stopped(self):
        id_ = self.create(autoStopInterval=1, autoDeleteInterval=0)
        self.wait(lambda: self.state(id_) == "gone")

    def test_requests_to_the_toolbox_keep_a_sandbox_and_looks_at_it_do_not(self):
        id_ = self.create(autoStopInterval=20)
        until = time.monotonic() + 6
        while time.monotonic() < until:
            self.assertEqual(self.ask("GET", f"/toolbox/{id_}/version")[0], 200)
            time.sleep(0.1)
        self.wait(lambda: self.state(id_) == "stopped")
        self.assertEqual(self.ask("POST", f"/api/sandbox/{id_}/start")[0], 200)
        self.assertEqual(self.state(id_), "started")


class VercelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stand_in = StandIn(PROGRAM, "vercel", tempfile.mkdtemp(dir=FOLDER))
        cls.addClassCleanup(cls.stand_in.__exit__)

    def setUp(self):
        self.addCleanup(self.stand_in.ask, clear=True)

    def ask(self, method, path, body=None, query=""):
        data = None if body is None else json.dumps(body)
        status, headers, data = self.stand_in.request(method, f"/api/{path}?teamId=t&projectId=p&project=p{query}", data, TOKEN)
        if headers.get("Content-Type") == "application/x-ndjson":
            return status, [json.loads(line) for line in data.splitlines()]
        return status, json.loads(data) if data else None

    def create(self, name):
        status, made = self.ask("POST", "v3/sandboxes", {"projectId": "p", "ports": [], "name": name})
        self.assertEqual(status, 200, made)
        self.addCleanup(self.ask, "DELETE", f"v2/sandboxes/{name}")
        return made["session"]["id"]

    def test_what_is_made_is_seen_later_and_what_is_deleted_for_longer(self):
        self.stand_in.faults({"endpoint": "POST /v3/sandboxes", "do": "hide", "looks": 2},
                             {"endpoint": "DELETE /v2/sandboxes/{name}", "do": "linger", "looks": 2})
        self.create("late")
        self.assertEqual(self.ask("POST", "v3/sandboxes", {"projectId": "p", "name": "late"})[0], 400)
        self.assertEqual(self.ask("GET", "v2/sandboxes/late")[0], 404)
        self.assertEqual(self.ask("GET", "v2/sandboxes")[1]["sandboxes"], [])
        self.assertEqual(self.ask("GET", "v2/sandboxes/late")[0], 200)
        self.ask("DELETE", "v2/sandboxes/late")
        self.assertEqual(self.stand_in.machines(), 0)
        self.assertEqual([self.ask("GET", "v2/sandboxes/late")[0] for _ in range(3)], [200, 200, 404])

    def test_what_is_deleted_comes_back_in_lists_and_nowhere_else(self):
        self.stand_in.faults({"endpoint": "DELETE /v2/sandboxes/{name}", "do": "flap", "looks": 1})
        self.create("back")
        self.ask("DELETE", "v2/sandboxes/back")
        self.assertEqual(self.ask("GET", "v2/sandboxes/back")[0], 404)
        lists = [len(self.ask("GET", "v2/sandboxes")[1]["sandboxes"]) for _ in range(2)]
        self.assertEqual(lists, [1, 0])

    def test_a_status_nobody_knows_is_shown_for_some_looks(self):
        self.stand_in.faults({"endpoint": "POST /v3/sandboxes", "do": "state", "state": "quantum", "looks": 2})
        self.create("odd")
        seen = [self.ask("GET", "v2/sandboxes/odd")[1]["session"]["status"] for _ in range(3)]
        self.assertEqual(seen, ["quantum", "quantum", "running"])

    def test_a_stream_ends_before_its_command_is_said_to_have_ended_and_can_be_asked(self):
        session = self.create("cut")
        endpoint = "POST /v2/sandboxes/sessions/{session}/cmd"
        self.stand_in.faults({"endpoint": endpoint, "do": "cut", "bytes": 400})
        with self.assertRaises((http.client.IncompleteRead, ConnectionError, ssl.SSLError)):
            self.ask("POST", f"v2/sandboxes/sessions/{session}/cmd",
                     {"command": "sh", "args": ["-c", "seq 1000; exit 7"], "wait": True, "logs": True})
        command = self.ask("GET", f"v2/sandboxes/sessions/{session}/cmd")[1]["commands"][0]
        path = f"v2/sandboxes/sessions/{session}/cmd/{command['id']}"
        self.assertEqual(self.ask("GET", path, query="&wait=true")[1]["command"]["exitCode"], 7)
        lines = "".join(line["data"] for line in self.ask("GET", f"{path}/logs")[1])
        self.assertEqual(lines, "".join(f"{i}\n" for i in range(1, 1001)))

    def test_a_page_leaves_one_out_and_repeats_another(self):
        for name in "abcd":
            self.create(name)
        self.stand_in.faults({"endpoint": "GET /v2/sandboxes", "do": "page"})
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ask("GET", "v2/sandboxes", query=f"&sortBy=name&sortOrder=asc&limit=2&cursor={cursor}")[1]
            seen += [one["name"] for one in page["sandboxes"]]
            cursor = page["pagination"]["next"]
        self.assertEqual(seen, ["a", "a", "c", "d"])


class EndTest(unittest.TestCase):
    def test_a_stand_in_that_ends_leaves_no_sandbox_and_ends_well(self):
        with StandIn(PROGRAM, "vercel", tempfile.mkdtemp(dir=FOLDER)) as stand_in:
            body = json.dumps({"projectId": "p", "ports": [], "name": "left"})
            status, _, _ = stand_in.request("POST", "/api/v3/sandboxes?teamId=t", body, TOKEN)
            self.assertEqual((status, stand_in.machines()), (200, 1))
        self.assertEqual(stand_in.process.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
