"""berth doctor at the stand-in of a service: what the provider needs is looked at before anything is made, and looked at
again by whatever would make something.

usage: doctor_test.py BERTH STANDIN SERVICE [unittest's arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "standins" / "support"))
import stand_in  # noqa: E402

BERTH, STANDIN, SERVICE = sys.argv[1:4]
KEY = "very-secret-key"
VARIABLES = {"daytona": {"DAYTONA_API_KEY": KEY, "DAYTONA_ORGANIZATION_ID": "org-1"},
             "vercel": {"VERCEL_TOKEN": KEY, "VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"}}[SERVICE]
CREATE = {"daytona": "POST /sandbox", "vercel": "POST /v3/sandboxes"}[SERVICE]
LIST = {"daytona": "GET /sandbox", "vercel": "GET /v2/sandboxes"}[SERVICE]
IMAGE = {"daytona": "snapshot", "vercel": "imagePython"}[SERVICE]
TIMEOUT_SECONDS = 180


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stand_in.for_all_tests(cls, STANDIN, SERVICE, "doctor-")

    def setUp(self):
        self.stand_in.ask(clear=True)
        self.folder = Path(tempfile.mkdtemp(dir=self.place))

    def berth(self, *arguments, config=None, variables=None, source=None):
        own = {"apiUrl": self.stand_in.url + "/api", "caFile": self.stand_in.authority, **(config or {})}
        file = self.folder / "config.json"
        file.write_text(json.dumps({"provider": SERVICE, "providers": {SERVICE: {"config": own}}}))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DAYTONA_", "VERCEL_"))}
        done = subprocess.run([BERTH, *arguments, "--config", file, "--state-dir", self.folder / "state"], text=True,
                              input=source, env={**kept, **VARIABLES, **(variables or {})}, capture_output=True,
                              timeout=TIMEOUT_SECONDS)
        self.assertNotIn(KEY, done.stdout + done.stderr)
        return done

    def checks(self, **more):
        """Exit code, and the checks of this provider by name."""
        done = self.berth("doctor", "--provider", SERVICE, "--json", **more)
        found = json.loads(done.stdout)["checks"]
        return done.returncode, {one["name"]: one for one in found if one["group"] == f"provider {SERVICE}"}

    def assert_nothing_is_made(self, said, **more):
        """Neither by the doctor nor by a run, which says the same."""
        done = self.berth("run", "-", "--no-templates", source="print(1)\n", **more)
        self.assertEqual((done.returncode, done.stdout), (204, ""), done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(self.stand_in.calls(CREATE), 0)
        self.assertEqual(json.loads(self.berth("intents", "--json", **more).stdout)["intents"], [])


class DoctorTest(Case):
    def test_all_that_is_needed_is_there_and_said(self):
        code, checks = self.checks()
        self.assertEqual(code, 0, checks)
        names = list(VARIABLES) if SERVICE == "daytona" else ["VERCEL_TEAM_ID", "VERCEL_PROJECT_ID", "VERCEL_TOKEN"]
        self.assertEqual(checks["environment"]["detail"], " and ".join(names) + " are set")
        self.assertTrue(all(one["ok"] for one in checks.values()), checks)
        self.assertEqual(self.stand_in.machines(), 0)

    def test_a_variable_that_is_missing_or_blank_is_named_and_nothing_is_asked(self):
        for name in VARIABLES:
            for value in ("", " \t"):
                code, checks = self.checks(variables={name: value})
                self.assertEqual((code, list(checks)), (1, ["environment"]), checks)
                self.assertFalse(checks["environment"]["ok"])
                self.assertIn(name, checks["environment"]["remedy"])
        self.assert_nothing_is_made(name, variables={name: " "})
        self.assertEqual(self.stand_in.journal(), [])

    def test_a_key_that_is_refused_is_found_out_without_making_anything(self):
        self.stand_in.faults({"endpoint": LIST, "do": "answer", "when": "before", "status": 401, "body": "{}", "times": 0})
        code, checks = self.checks()
        self.assertEqual(code, 1)
        self.assertIn("401", checks["api"]["detail"])
        self.assertIn(next(iter(VARIABLES)), checks["api"]["remedy"])
        self.assert_nothing_is_made("401")

    def test_what_is_no_image_is_refused_before_anything_is_asked(self):
        bad = {IMAGE: "python:3.12 && true"}
        code, checks = self.checks(config=bad)
        self.assertEqual(code, 1, checks)
        self.assert_nothing_is_made("image", config=bad)
        self.assertEqual(self.stand_in.journal(), [])


if SERVICE == "daytona":
    # Vercel tells of an image only when a sandbox is made of it.
    class SnapshotTest(Case):
        def test_a_snapshot_has_to_be_there_and_active(self):
            def ask(path, body=None):
                status, _, _ = self.stand_in.request("POST", "/api/snapshots" + path, json.dumps(body or {}),
                                                     {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
                self.assertIn(status, (200, 204))

            code, checks = self.checks(config={"snapshot": "nowhere"})
            self.assertEqual((code, checks["image"]["detail"]), (1, "there is no snapshot nowhere"))
            self.assert_nothing_is_made("there is no snapshot nowhere", config={"snapshot": "nowhere"})
            ask("", {"name": "mine", "imageName": "debian:12"})
            ask("/mine/deactivate")
            code, checks = self.checks(config={"snapshot": "mine"})
            self.assertEqual((code, checks["image"]["detail"]), (1, "snapshot mine is inactive"))
            self.assert_nothing_is_made("snapshot mine is inactive", config={"snapshot": "mine"})
            ask("/mine/activate")
            code, checks = self.checks(config={"snapshot": "mine"})
            self.assertEqual((code, checks["image"]["detail"]), (0, "snapshot mine is active"))

        def test_a_key_that_may_not_look_at_snapshots_may_still_use_one(self):
            self.stand_in.faults({"endpoint": "GET /snapshots/{id}", "do": "answer", "when": "before", "status": 403,
                                  "body": "{}", "times": 0})
            code, checks = self.checks(config={"snapshot": "daytona-small"})
            self.assertEqual((code, checks["image"]["verdict"]), (0, "note"), checks)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
