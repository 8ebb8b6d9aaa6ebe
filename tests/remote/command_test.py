"""berth run at the stand-in of a service: programs, files and receipts, and what happens without credentials, with an
answer that is lost, and with a key that is changed while a sandbox may be left.

usage: command_test.py BERTH STANDIN SERVICE [unittest's arguments]
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "standins" / "support"))
import stand_in  # noqa: E402

BERTH, STANDIN, SERVICE = sys.argv[1:4]
KEY, OTHER_KEY = "very-secret-key", "another-secret-key"
TIMEOUT_SECONDS = 180
KEY_VARIABLE = {"daytona": "DAYTONA_API_KEY", "vercel": "VERCEL_TOKEN"}[SERVICE]
VARIABLES = {"daytona": {"DAYTONA_ORGANIZATION_ID": "org-1"},
             "vercel": {"VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"}}[SERVICE]
CREATE = {"daytona": "POST /sandbox", "vercel": "POST /v3/sandboxes"}[SERVICE]
PRICE_MICROS = 50_000


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stand_in.for_all_tests(cls, STANDIN, SERVICE, "")
        cls.config = cls.place / "config.json"
        cls.config.write_text(json.dumps({"provider": SERVICE, "deadlines": {"create": "10s"}, "providers": {SERVICE: {
            "config": {"apiUrl": cls.stand_in.url + "/api", "caFile": cls.stand_in.authority, "pollFirstMs": 20,
                       "pollMostMs": 200}}}}))

    def setUp(self):
        self.stand_in.ask(clear=True)
        self.state = self.place / self.id().rpartition(".")[2]

    def berth(self, *arguments, key=KEY, source=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DAYTONA_", "VERCEL_"))}
        environment.update(VARIABLES)
        if key is not None:
            environment[KEY_VARIABLE] = key
        done = subprocess.run([BERTH, *arguments, "--config", self.config, "--state-dir", self.state], env=environment,
                              input=source, text=True, capture_output=True, timeout=TIMEOUT_SECONDS)
        for secret in (KEY, OTHER_KEY):
            self.assertNotIn(secret, done.stdout + done.stderr)
        return done

    def asked(self, *arguments, **more):
        return json.loads(self.berth(*arguments, "--json", **more).stdout)

    def test_programs_of_both_languages_run_and_leave_nothing(self):
        for language, source in (("python", "import sys\nprint(6 * 7)\nprint('e', file=sys.stderr)\n"),
                                 ("javascript", "console.log(6 * 7); console.error('e');\n")):
            done = self.berth("run", "-", "--language", language, "--json", source=source)
            result = json.loads(done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((result["stdout"], result["stderr"]), ("42\n", "e\n"))
        self.assertEqual(self.stand_in.machines(), 0)
        receipts = self.asked("receipts")["receipts"]
        self.assertEqual([(one["provider"], one["cost_micro_usd"]) for one in receipts], 2 * [(SERVICE, PRICE_MICROS)])

    def test_a_program_reads_a_file_and_its_exit_code_comes_back(self):
        data = self.place / "data.txt"
        data.write_text("seven\n")
        done = self.berth("run", "-", "--file", str(data),
                          source="import sys\nprint(open('data.txt').read(), end='')\nsys.exit(7)\n")
        self.assertEqual(done.stdout, "seven\n", done.stderr)
        self.assertEqual(done.returncode, 7)

    def test_what_a_program_leaves_as_its_result_comes_back(self):
        result = self.asked("run", "-", source="result = {'seven': 7}\n")
        self.assertEqual(result["result"]["json"], {"seven": 7}, result)

    def test_a_chart_a_program_makes_comes_back(self):
        source = ("chart = {'type': 'bar', 'title': 't', 'elements': [{'group': 'g', 'label': 'l', 'value': 3}]}\n")
        result = self.asked("run", "-", source=source)
        self.assertEqual(result["charts"][0]["data"]["elements"][0]["value"], 3, result)

    def test_without_a_key_nothing_is_asked_of_the_service(self):
        for key in (None, " "):
            done = self.berth("run", "-", key=key, source="print(1)\n")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(KEY_VARIABLE, done.stderr)
        self.assertEqual(self.stand_in.journal(), [])

    def test_a_lost_answer_to_the_create_is_one_sandbox_and_one_run(self):
        self.stand_in.faults({"endpoint": CREATE, "do": "drop", "when": "after"})
        done = self.berth("run", "-", source="print('once')\n")
        self.assertEqual(done.stdout, "once\n", done.stderr)
        self.assertEqual(self.stand_in.calls(CREATE), 1)
        self.assertEqual(self.stand_in.machines(), 0)

    def test_what_may_be_left_is_settled_with_its_own_key_and_no_other(self):
        # Its looks find nothing for as long as the create may take.
        look = {"daytona": "GET /sandbox/{id}", "vercel": "GET /v2/sandboxes/{name}"}[SERVICE]
        self.stand_in.faults({"endpoint": CREATE, "do": "drop", "when": "after"},
                             {"endpoint": look, "do": "drop", "when": "before", "times": 0})
        self.assertEqual(self.berth("run", "-", source="print(1)\n").returncode, 208)
        self.stand_in.ask(clear=True)
        self.assertEqual(self.stand_in.machines(), 1)
        refused = self.berth("reconcile", key=OTHER_KEY)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("another scope", refused.stdout + refused.stderr)
        self.assertEqual(self.stand_in.machines(), 1)
        self.assertEqual(self.berth("reconcile").returncode, 0)
        self.assertEqual(self.stand_in.machines(), 0)
        self.assertEqual([one["cost_micro_usd"] for one in self.asked("receipts")["receipts"]], [0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
