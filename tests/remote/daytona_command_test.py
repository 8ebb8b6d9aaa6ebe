"""berth run at Daytona's stand-in: programs, files and receipts, and what happens without credentials or with an
answer that is lost."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BERTH = os.environ["BERTH_BINARY"]
STANDIN = os.environ["BERTH_STANDIN"]
KEY = "dtn_very-secret-key"
TIMEOUT_SECONDS = 180


class DaytonaCommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="berth-daytona-"))
        cls.standin = subprocess.Popen([STANDIN, "daytona", "--folder", str(cls.place)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready = json.loads(cls.standin.stdout.readline())
        cls.config = cls.place / "config.json"
        cls.config.write_text(json.dumps({"provider": "daytona", "providers": {"daytona": {"config": {
            "apiUrl": ready["url"] + "/api", "caFile": ready["ca"], "pollFirstMs": 20, "pollMostMs": 200}}}}))

    @classmethod
    def tearDownClass(cls):
        cls.standin.stdin.close()
        cls.standin.wait(timeout=TIMEOUT_SECONDS)
        cls.standin.stdout.close()
        shutil.rmtree(cls.place, ignore_errors=True)

    def ask(self, **command):
        self.standin.stdin.write(json.dumps(command) + "\n")
        self.standin.stdin.flush()
        return json.loads(self.standin.stdout.readline())

    def setUp(self):
        self.ask(clear=True)

    def berth(self, *arguments, key=KEY, source=None):
        environment = {**os.environ, "DAYTONA_ORGANIZATION_ID": "org-1"}
        environment.pop("DAYTONA_API_KEY", None)
        if key is not None:
            environment["DAYTONA_API_KEY"] = key
        done = subprocess.run([BERTH, *arguments, "--config", str(self.config), "--state-dir",
                               str(self.place / "state")], env=environment, input=source, text=True,
                              capture_output=True, timeout=TIMEOUT_SECONDS)
        self.assertNotIn(KEY, done.stdout + done.stderr)
        return done

    def test_programs_of_both_languages_run_and_leave_nothing(self):
        for language, source in (("python", "import sys\nprint(6 * 7)\nprint('e', file=sys.stderr)\n"),
                                 ("javascript", "console.log(6 * 7); console.error('e');\n")):
            done = self.berth("run", "-", "--language", language, "--json", source=source)
            result = json.loads(done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(result["stdout"], "42\n", result)
            self.assertEqual(result["stderr"], "e\n")
        self.assertEqual(self.ask(machines=True)["machines"], 0)

    def test_a_program_reads_a_file_and_its_exit_code_comes_back(self):
        data = self.place / "data.txt"
        data.write_text("seven\n")
        done = self.berth("run", "-", "--file", str(data),
                          source="import sys\nprint(open('data.txt').read(), end='')\nsys.exit(7)\n")
        self.assertEqual(done.stdout, "seven\n", done.stderr)
        self.assertEqual(done.returncode, 7)

    def test_without_a_key_nothing_is_asked_of_the_service(self):
        for key in (None, " "):
            done = self.berth("run", "-", key=key, source="print(1)\n")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("DAYTONA_API_KEY", done.stderr)
        self.assertEqual(self.ask(journal=True)["journal"], [])

    def test_a_lost_answer_to_the_create_is_one_sandbox_and_one_run(self):
        self.ask(faults=[{"endpoint": "POST /sandbox", "do": "drop", "when": "after"}])
        done = self.berth("run", "-", source="print('once')\n")
        self.assertEqual(done.stdout, "once\n", done.stderr)
        created = [each for each in self.ask(journal=True)["journal"] if each["endpoint"] == "POST /sandbox"]
        self.assertEqual(len(created), 1)
        self.assertEqual(self.ask(machines=True)["machines"], 0)


if __name__ == "__main__":
    unittest.main()
