"""The live suite, unmodified, at the stand-in of a service: it passes where everything works, fails where something
does not, keeps its ceiling, and leaves nothing behind, or says what.

usage: live_test.py BERTH STANDIN SERVICE [unittest's arguments]
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "standins" / "support"))
sys.path.insert(0, str(HERE))
from cases import CASES  # noqa: E402
import stand_in  # noqa: E402

BERTH, STANDIN, SERVICE = sys.argv[1:4]
SECRET = "very-secret-credential"
CREDENTIALS = {"daytona": {"DAYTONA_API_KEY": SECRET, "DAYTONA_ORGANIZATION_ID": "org-1"},
               "vercel": {"VERCEL_TOKEN": SECRET, "VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"}}[SERVICE]
CREATE = {"daytona": "POST /sandbox", "vercel": "POST /v3/sandboxes"}[SERVICE]
ENDS = {"daytona": ["DELETE /sandbox/{id}", "POST /sandbox/{id}/stop"],
        "vercel": ["DELETE /v2/sandboxes/{name}", "POST /v2/sandboxes/sessions/{session}/stop"]}[SERVICE]
TIMEOUT_SECONDS = 600
FAILED, USAGE, NO_CREDENTIALS, LEFT = 1, 2, 3, 4


class LiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stand_in.for_all_tests(cls, STANDIN, SERVICE, "live-")

    def setUp(self):
        self.stand_in.ask(clear=True)
        self.folders = Path(tempfile.mkdtemp(dir=self.place))

    def start(self, *arguments, credentials=None, endpoint=True, berth=BERTH, **more):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("DAYTONA_", "VERCEL_")) and name != "CI"}
        where = ["--api-url", self.stand_in.url + "/api", "--ca-file", self.stand_in.authority] if endpoint else []
        return subprocess.Popen([sys.executable, "-B", HERE / "live.py", "--berth", berth, SERVICE, *where, *arguments],
                                env={**kept, **(CREDENTIALS if credentials is None else credentials), **more,
                                     "TMPDIR": str(self.folders)},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def live(self, *arguments, **more):
        child = self.start(*arguments, **more)
        return self.over(child, child.communicate(timeout=TIMEOUT_SECONDS)[0])

    def over(self, child, out):
        child.stdout.close()
        self.assertNotIn(SECRET, out)
        return child.returncode, out

    def announced(self, out):
        return int(re.search(r"at most (\d+) sandboxes", out).group(1))

    def test_all_of_it_passes_within_the_ceiling_and_nothing_is_left(self):
        code, out = self.live()
        self.assertEqual(code, 0, out)
        self.assertNotIn("FAIL", out)
        self.assertIn(f"{len(CASES)} passed, 0 not", out)
        made = self.stand_in.calls(CREATE)
        self.assertLessEqual(made, self.announced(out))
        self.assertIn(f"live: {made} sandboxes in", out)
        self.assertEqual(self.stand_in.machines(), 0)
        self.assertEqual(list(self.folders.iterdir()), [])

    def test_without_credentials_it_says_which_and_asks_the_service_nothing(self):
        for name in CREDENTIALS:
            code, out = self.live(credentials={**CREDENTIALS, name: " "})
            self.assertEqual(code, NO_CREDENTIALS, out)
            self.assertIn(name, out)
        self.assertEqual(self.stand_in.journal(), [])

    def test_in_continuous_integration_it_reaches_no_real_service(self):
        code, out = self.live(endpoint=False, CI="true")
        self.assertEqual(code, USAGE, out)

    def test_a_credential_that_is_refused_makes_nothing(self):
        self.stand_in.faults({"endpoint": "*", "do": "answer", "when": "before", "status": 401, "body": "{}", "times": 0})
        code, out = self.live()
        self.assertEqual(code, FAILED, out)
        self.assertIn("nothing was made", out)
        self.assertEqual(self.stand_in.calls(CREATE), 0)

    def test_a_ceiling_that_is_lowered_holds_and_what_was_not_run_has_not_passed(self):
        code, out = self.live("--sandboxes", "1")
        self.assertEqual(code, FAILED, out)
        self.assertIn(f"1 passed, {len(CASES) - 1} not", out)
        self.assertEqual(self.stand_in.calls(CREATE), 1)
        self.assertEqual(self.stand_in.machines(), 0)

    def test_nothing_begins_after_its_time(self):
        code, out = self.live("--seconds", "0")
        self.assertEqual(code, FAILED, out)
        self.assertIn(f"0 passed, {len(CASES)} not", out)
        self.assertEqual(self.stand_in.calls(CREATE), 0)

    def test_a_service_that_makes_nothing_fails_every_case(self):
        self.stand_in.faults({"endpoint": CREATE, "do": "answer", "when": "before", "status": 500, "body": "{}",
                              "times": 0})
        code, out = self.live("--sandboxes", "1")
        self.assertEqual(code, FAILED, out)
        self.assertIn("0 passed", out)
        self.assertEqual(self.stand_in.machines(), 0)

    def test_a_signal_ends_it_and_every_sandbox(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start()
            lines = []
            for line in child.stdout:
                lines.append(line)
                # The first case is over: the next one's sandbox is being made, or runs.
                if line.startswith("pass"):
                    break
            child.send_signal(number)
            out = "".join(lines) + child.communicate(timeout=TIMEOUT_SECONDS)[0]
            code, out = self.over(child, out)
            self.assertEqual(code, 128 + number, out)
            self.assertIn("every one gone", out)
            self.assertEqual(self.stand_in.machines(), 0)
            self.assertEqual(list(self.folders.iterdir()), [])

    def test_a_sandbox_that_is_not_deleted_is_named_with_what_ends_it(self):
        self.stand_in.faults(*({"endpoint": each, "do": "answer", "when": "before", "status": 500, "body": "{}",
                                "times": 0} for each in ENDS))
        child = self.start("--sandboxes", "1", "--patience", "5")
        code, out = self.over(child, child.communicate(timeout=TIMEOUT_SECONDS)[0])
        self.assertEqual(code, LEFT, out)
        self.assertEqual(self.stand_in.machines(), 1)
        self.assertRegex(out, r"1 may be left at \w+: berth-")
        command = re.search(r"live: (berth reconcile .*)", out).group(1).split()
        self.stand_in.ask(clear=True)
        environment = {**os.environ, **CREDENTIALS}
        done = subprocess.run([BERTH, *command[1:], "--json"], env=environment, capture_output=True, text=True,
                              timeout=TIMEOUT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["settled"])
        self.assertEqual(self.stand_in.machines(), 0)

    def test_a_berth_that_tells_nothing_at_the_end_may_have_left_something(self):
        berth = self.folders / "berth"
        berth.write_text('#!/bin/sh\nfor word; do test "$before" != --state-dir || mkdir -p "$word"; before=$word; done\n'
                         'exit 203\n')
        berth.chmod(0o700)
        code, out = self.live("--sandboxes", "1", "--patience", "2", berth=berth)
        self.assertEqual(code, LEFT, out)
        self.assertIn("sandboxes whose names are not known", out)
        self.assertIn("berth reconcile --state-dir", out)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
