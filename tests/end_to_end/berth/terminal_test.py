"""What a person at a terminal sees."""

import os
import pty
import re
import select
import subprocess
import time

import cli
from cli import BerthCase


class Terminal(BerthCase):
    def on_terminal(self, *arguments, expect=0, environment=None):
        """Runs with standard output and standard error on one terminal; returns what it showed."""
        master, slave = pty.openpty()
        process = subprocess.Popen([cli.BERTH, *arguments], stdin=slave, stdout=slave, stderr=slave, cwd=self.work,
                                   env=self.environment(**{"TERM": "xterm", **(environment or {})}),
                                   preexec_fn=cli.own_signals)
        self.running.append(process)
        os.close(slave)
        shown = b""
        end = time.monotonic() + cli.TIMEOUT_SECONDS
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.2)
            if ready:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                shown += data
        os.close(master)
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), expect, shown.decode(errors="replace"))
        return shown.decode().replace("\r\n", "\n")

    def test_output_first_then_one_quiet_line_about_time_and_cost(self):
        shown = self.on_terminal("run", self.file("p.py", "print('hello')"))
        self.assertTrue(shown.startswith("hello\n"), shown)
        last = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()[-1]
        self.assertRegex(last, r"^berth: \d.* m?s, cost \$0\.05$")

    def test_output_then_what_was_saved_where_then_time_and_cost(self):
        code = ("import matplotlib.pyplot as plt\nprint('hello')\nplt.plot([1, 2])\n"
                "chart = {'type': 'bar', 'elements': [{'label': 'a', 'value': 1}]}\n")
        shown = self.on_terminal("run", self.file("p.py", code), "--output", "out", environment={"NO_COLOR": "1"})
        lines = re.sub(r"[^\n]*\r|\x1b\[K", "", shown).splitlines()
        self.assertEqual(lines[:-1], ["hello", "berth: saved out/p-1.json", "berth: saved out/p-1.html",
                                      "berth: saved out/p-2.png"])
        self.assertRegex(lines[-1], r"^berth: \d.* m?s, cost \$0\.05$")

    def test_event_lines_on_a_terminal_have_no_progress_between_them(self):
        shown = self.on_terminal("run", self.file("p.py", "import time\ntime.sleep(2)"), "--stream", "json", "--quiet")
        self.assertEqual({line[:9] for line in shown.splitlines()}, {'{"event":'})

    def test_quiet_is_quiet(self):
        self.assertEqual(self.on_terminal("run", self.file("p.py", "print('hello')"), "--quiet"), "hello\n")

    def test_colours_only_where_they_are_wanted(self):
        path = self.file("p.py", "print('hello')")
        self.assertIn("\x1b[", self.on_terminal("run", path))
        self.assertNotIn("\x1b[", self.on_terminal("run", path, environment={"NO_COLOR": "1"}))
        done = self.berth("doctor", expect=None)
        self.assertNotIn("\x1b[", done.stdout)

    def test_foreign_text_in_our_own_lines_cannot_drive_the_terminal(self):
        shown = self.on_terminal("run", "\x1b]0;title\x07.py", expect=cli.INPUT, environment={"NO_COLOR": "1"})
        self.assertNotIn("\x1b", shown)
        self.assertIn("\\x1b", shown)

    def test_a_dumb_terminal_gets_no_control_sequences(self):
        shown = self.on_terminal("run", self.file("p.py", "import time\ntime.sleep(2)\nprint('x')"),
                                 environment={"TERM": "dumb"})
        self.assertNotIn("\x1b", shown)
        self.assertNotIn("\r", shown)

    def test_no_progress_line_stays(self):
        shown = self.on_terminal("run", self.file("p.py", "import time\ntime.sleep(2)\nprint('x')"),
                                 environment={"NO_COLOR": "1"})
        for line in shown.split("\n"):
            self.assertNotIn("...", line.split("\x1b[K")[-1])


if __name__ == "__main__":
    cli.main()
