"""A report as people write one: it prints, draws figures and leaves a chart dictionary."""

import json
import subprocess

import cli
from cli import BerthCase

REPORT = """
import matplotlib.pyplot as plt
import pandas as pd

frame = pd.read_csv("sales.csv", parse_dates=["day"])
print(frame.groupby("shelf")["sold"].sum().to_string())
frame.groupby("shelf")["sold"].sum().plot.bar()
plt.show()
plt.figure(figsize=(5, 4))
plt.plot(frame["day"], frame["sold"].cumsum())
plt.savefig("mine.png")
plt.close()
chart = {
    "type": "line", "title": "sold", "x_label": "day", "y_label": "pieces", "x_scale": "datetime",
    "elements": [{"label": shelf, "points": list(zip(part["day"], part["sold"]))}
                 for shelf, part in frame.groupby("shelf")],
}
result = {"days": frame["day"].nunique(), "sold": float(frame["sold"].sum())}
"""
SALES = "day,shelf,sold\n2026-01-01,a,3\n2026-01-01,b,4\n2026-01-02,a,5\n2026-01-02,b,\n"

# Reads a picture with the library that has drawn it, and tells size and number of colours.
LOOK = ("import sys, json\nimport matplotlib.image as image\nimport numpy\np = image.imread(sys.argv[1])\n"
        "print(json.dumps([p.shape[1], p.shape[0], len(numpy.unique(p.reshape(-1, p.shape[2]), axis=0))]))\n")


class Report(BerthCase):
    def look(self, path):
        done = subprocess.run(["/usr/bin/python3", "-c", LOOK, path], text=True, capture_output=True,
                              timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_it_prints_and_saves_data_page_and_pictures(self):
        self.file("sales.csv", SALES)
        done = self.program(REPORT, "--file", "sales.csv", "--output", "out", name="report.py")
        self.assertRegex(done.stdout, r"a +8\.0\nb +4\.0\n")
        saved = ["report-1.json", "report-1.html", "report-2.png", "report-3.png"]
        self.assertEqual(done.stderr, "".join(f"berth: saved out/{name}\n" for name in saved))
        folder = self.work / "out"
        self.assertEqual(sorted(path.name for path in folder.iterdir()), sorted(saved))
        for name in saved[2:]:
            width, height, colours = self.look(str(folder / name))
            self.assertGreater(min(width, height), 300)
            self.assertGreater(colours, 20, f"{name} is blank")
        chart = json.loads((folder / "report-1.json").read_text())
        self.assertEqual([element["label"] for element in chart["elements"]], ["a", "b"])
        self.assertIsNone(chart["elements"][1]["points"][1][1])
        page = (folder / "report-1.html").read_text()
        self.assertIn('"x_scale":"datetime"', page)

    def test_its_document_fits_the_published_schema_and_has_everything(self):
        self.file("sales.csv", SALES)
        document = self.document("run", self.file("report.py", REPORT), "--file", "sales.csv")
        self.assert_valid("execution-result", [document])
        self.assertEqual([chart["format"] for chart in document["charts"]], ["interactive", "png", "png"])
        self.assertEqual(document["chart"], document["charts"][0])
        self.assertEqual(document["result"]["json"]["days"], 2)

    def test_every_way_to_end_gives_a_document_that_fits(self):
        documents = [self.document("run", self.file("p.py", code), *arguments, expect=code_wanted)
                     for code, arguments, code_wanted in [
                         ("print(1)", [], 0), ("1/0", [], 1), ("import os; os.kill(os.getpid(), 15)", [], 143),
                         ("import time; time.sleep(60)", ["--timeout", "0.3"], 137),
                         ("import os; os.write(1, bytes(range(256)))", [], 0),
                         ("result = float('nan')", [], 0), ("print('x' * 3_000_000)", [], 0),
                         ("print(1)", ["--network", "open"], cli.REFUSED)]]
        self.assert_valid("execution-result", documents)

    def test_the_judge_refuses_what_does_not_fit(self):
        document = self.document("run", self.file("p.py", "print(1)"))
        for name, value in [("status", "fine"), ("exit_code", 256), ("more", 1), ("receipt", {})]:
            with self.subTest(name=name), self.assertRaises(AssertionError):
                self.assert_valid("execution-result", [{**document, name: value}])

    def test_a_page_and_its_data_share_a_number_and_touch_nobodys_file(self):
        self.file("report-1.html", "mine")
        self.program("chart = {'type': 'bar', 'elements': [{'label': 'a', 'value': 1}]}", name="report.py")
        self.assertEqual((self.work / "report-1.html").read_text(), "mine")
        self.assertFalse((self.work / "report-1.json").exists())
        self.assertTrue((self.work / "report-2.json").exists())
        self.assertTrue((self.work / "report-2.html").exists())


if __name__ == "__main__":
    cli.main()
