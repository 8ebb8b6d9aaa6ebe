"""berth run --stream json: the events of a run, as they happen and to the byte."""

import base64
import json
import os
import random
import re
import subprocess
import time
from pathlib import Path

import cli
from cli import BerthCase


def pieces(events, stream):
    """The bytes of a stream as its lines give them, and that their offsets leave nothing out."""
    whole = b""
    for event in events:
        if event["event"] != stream:
            continue
        raw = base64.b64decode(event["base64"]) if "base64" in event else event["text"].encode()
        if event["offset"] != len(whole) or event["bytes"] != len(raw):
            raise AssertionError(f"at byte {len(whole)}: {event}")
        whole += raw
    return whole


class Events(BerthCase):
    def events(self, code, *arguments, name="program.py", expect=0, **options):
        done = self.program(code, "--stream", "json", *arguments, name=name, expect=expect, **options)
        events = [json.loads(line) for line in done.stdout.rstrip("\n").split("\n")]
        self.assert_valid("execution-event", events)
        self.assertEqual([event["sequence"] for event in events], list(range(len(events))))
        ages = [event["at_us"] for event in events]
        self.assertEqual(ages, sorted(ages))
        return events

    def test_every_kind_of_event_comes_in_order_and_fits_the_schema(self):
        events = self.events("import sys\nprint('out')\nprint('err', file=sys.stderr)\n"
                             "chart = {'type': 'bar', 'elements': [{'group': 'g', 'label': 'a', 'value': 1}]}\n"
                             "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nresult = {'a': [1]}\n",
                             "--title", "a title", "--session", "s")
        kinds = [event["event"] for event in events]
        self.assertEqual(set(kinds), {"started", "stage", "stdout", "stderr", "chart", "result", "finished"})
        self.assertEqual(kinds.count("started"), 1)
        self.assertEqual(kinds.index("finished"), len(kinds) - 1)
        for kind in ("stdout", "stderr", "chart", "result"):
            self.assertLess(kinds.index("started"), kinds.index(kind))
        stages = [event["stage"] for event in events if event["event"] == "stage"]
        self.assertEqual(len(stages), len(set(stages)), "each is said once")
        started = next(event for event in events if event["event"] == "started")
        self.assertEqual((started["title"], started["language"], started["session"]), ("a title", "python", "s"))
        self.assertEqual([event["index"] for event in events if event["event"] == "chart"], [0, 1])
        last = events[-1]
        self.assertEqual((last["exit"], last["left_out"]), (0, []))
        self.assert_valid("execution-result", [last["result"]])
        self.assertEqual([event["chart"] for event in events if event["event"] == "chart"], last["result"]["charts"])
        self.assertEqual([event["result"] for event in events if event["event"] == "result"], [last["result"]["result"]])
        self.assertEqual(last["result"]["receipt"]["call"], started["call"])

    def test_the_last_lines_document_is_the_one_that_json_gives(self):
        path = self.file("p.py", "print('x')\nresult = 1")
        streamed = json.loads(self.berth("run", path, "--stream", "json", "--call", "c").stdout.splitlines()[-1])
        document = self.document("run", path, "--call", "c")
        self.assertTrue(document.pop("replayed"))
        self.assertFalse(streamed["result"].pop("replayed"))
        self.assertEqual(streamed["result"], document)

    def test_random_bytes_on_both_streams_come_back_exactly(self):
        seed = random.SystemRandom().getrandbits(32)
        code = (f"import os, random\nr = random.Random({seed})\n"
                "for i in range(300):\n"
                "    size = r.choice([1, 2, 3, 100, 5000])\n"
                "    data = r.choice([r.randbytes(size), ('\\u00e9\\u4e16\\U0001f600' * size).encode()[:size + 1]])\n"
                "    os.write(r.choice([1, 2]), data)\n")
        wanted = {1: b"", 2: b""}
        draw = random.Random(seed)
        for _ in range(300):
            size = draw.choice([1, 2, 3, 100, 5000])
            data = draw.choice([draw.randbytes(size), ("\u00e9\u4e16\U0001f600" * size).encode()[:size + 1]])
            wanted[draw.choice([1, 2])] += data
        events = self.events(code)
        self.assertEqual(pieces(events, "stdout"), wanted[1], f"seed {seed}")
        self.assertEqual(pieces(events, "stderr"), wanted[2], f"seed {seed}")
        self.assertTrue(any("base64" in event for event in events))

    def test_a_character_that_is_written_in_parts_is_never_cut(self):
        events = self.events("import os, time\nfor byte in '\u20acx\U0001f600'.encode():\n"
                             "    os.write(1, bytes([byte]))\n    time.sleep(0.02)\n")
        texts = [event["text"] for event in events if event["event"] == "stdout"]
        self.assertEqual("".join(texts), "\u20acx\U0001f600")
        self.assertNotIn("base64", json.dumps(events))
        self.assertEqual(pieces(events, "stdout"), "\u20acx\U0001f600".encode())

    def test_events_come_while_the_program_runs_and_a_signal_still_gives_the_last_one(self):
        path = self.file("slow.py", "import time\nprint('first', flush=True)\ntime.sleep(60)")
        process = self.start("run", path, "--stream", "json")
        lines = []
        while not lines or json.loads(lines[-1])["event"] != "stdout":
            lines.append(process.stdout.readline())
            self.assertTrue(lines[-1], "the stream ended early")
        self.assertIsNone(process.poll())
        process.send_signal(cli.signal.SIGINT)
        out, _ = process.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, cli.INTERRUPTED)
        last = json.loads(out.splitlines()[-1])
        self.assertEqual((last["event"], last["exit"], last["result"]["status"]),
                         ("finished", cli.INTERRUPTED, "cancelled"))

    def test_what_was_large_is_not_repeated_in_the_last_line(self):
        events = self.events("print('y' * 300_000)\n")
        self.assertEqual(pieces(events, "stdout"), b"y" * 300_000 + b"\n")
        self.assertTrue(all(event["bytes"] <= 65536 for event in events if event["event"] == "stdout"))
        self.assertEqual(events[-1]["left_out"], ["stdout"])
        self.assertNotIn("stdout", events[-1]["result"])
        self.assertEqual(events[-1]["result"]["streams"]["stdout"]["bytes"], 300_001)

    def test_a_program_that_fails_and_a_run_that_is_refused_finish(self):
        last = self.events("import sys\nsys.exit(3)", expect=3)[-1]
        self.assertEqual((last["exit"], last["result"]["exit_code"]), (3, 3))
        last = self.events("print(1)", "--network", "open", expect=cli.REFUSED)[-1]
        self.assertEqual((last["event"], last["result"]["failure"]["kind"]), ("finished", "refused"))

    def test_a_run_that_cannot_begin_says_so_in_one_line(self):
        for arguments, code in [(["nowhere.py"], cli.INPUT),
                                ([self.file("p.py", ""), "--provider", "nowhere"], cli.PROVIDER),
                                ([self.file("q.py", ""), "--config", "nowhere.json"], cli.CONFIGURATION)]:
            with self.subTest(code=code):
                done = self.berth("run", *arguments, "--stream", "json", expect=code)
                events = [json.loads(line) for line in done.stdout.splitlines()]
                self.assert_valid("execution-event", events)
                self.assertEqual((events[-1]["event"], events[-1]["exit"]), ("failed", code))

    def test_it_excludes_json_and_knows_one_format(self):
        path = self.file("p.py", "")
        self.berth("run", path, "--stream", "json", "--json", expect=cli.USAGE)
        self.assertIn("'xml' is not json", self.berth("run", path, "--stream", "xml", expect=cli.USAGE).stderr)

    def test_charts_are_saved_only_when_asked(self):
        code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
        self.events(code)
        self.assertEqual([p.name for p in self.work.iterdir()], ["program.py"])
        self.events(code, "--output", "charts")
        self.assertEqual([p.name for p in (self.work / "charts").iterdir()], ["program-1.png"])


class Backpressure(BerthCase):
    def test_a_reader_that_waits_stops_the_program_and_memory_stays_flat(self):
        """64 MiB of output; nothing is read until the program has stopped getting on."""
        code = ("import os\nblock = b'z' * 65536\n"
                "for i in range(1024):\n    os.write(1, block)\n")
        process = self.start("run", self.file("much.py", code), "--stream", "json", stderr=subprocess.DEVNULL)
        # The pipe is full when what berth holds no longer grows.
        cli.wait_until(lambda: self.is_still(process.pid), "the writer is stopped by its reader")
        self.assertIsNone(process.poll())
        count, size, last = 0, 0, None
        for line in process.stdout:
            event = json.loads(line)
            last = event["event"]
            if last == "stdout":
                self.assertEqual(event["offset"], size)
                size += event["bytes"]
                count += 1
            if count % 256 == 1:
                time.sleep(0.05)
                self.assertLess(self.peak_kib(process.pid), 96 << 10)
        self.assertEqual((process.wait(cli.TIMEOUT_SECONDS), size, last), (0, 64 << 20, "finished"))

    @staticmethod
    def written(pid):
        return int(re.search(r"^wchar: (\d+)$", Path(f"/proc/{pid}/io").read_text(), re.MULTILINE).group(1))

    def is_still(self, pid):
        before = self.written(pid)
        time.sleep(0.5)
        return before == self.written(pid) and before > 65536

    @staticmethod
    def peak_kib(pid):
        found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        return int(found.group(1)) if found else 0

    def test_a_reader_that_goes_away_cancels(self):
        mark = f"endless{os.getpid()}x{time.monotonic_ns()}"
        path = self.file(f"{mark}.py", "while True:\n    print('y' * 1000)")
        process = self.start("run", path, "--stream", "json")
        process.stdout.read(2000)
        process.stdout.close()
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), cli.READER_GONE)
        self.assertEqual([r["settlement"] for r in self.receipts()], ["cancelled"])
        self.assert_nothing_left(mark)


if __name__ == "__main__":
    cli.main()
