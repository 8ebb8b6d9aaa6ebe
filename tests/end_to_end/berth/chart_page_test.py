"""The page that a chart dictionary is saved as, opened by a real browser without a network."""

import html
import json
import re
import shutil
import struct
import zlib
from pathlib import Path

import cli
from browser import Browser
from cli import BerthCase

EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">{a|b}&amp;"
COLOURS = ("#2f6fb2", "#d9772b", "#3a9a5c")


def pixels(path):
    """The colours of an 8-bit RGB or RGBA screenshot, as a set of (red, green, blue), and its size."""
    data = Path(path).read_bytes()
    at, compressed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            compressed += body
        at += size + 12
    assert depth == 8 and colour in (2, 6), (depth, colour)
    step = 3 if colour == 2 else 4
    raw, stride = zlib.decompress(compressed), width * step
    before, found = bytearray(stride), {}
    for row in range(height):
        start = row * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride):
            left = line[i - step] if i >= step else 0
            up, corner = before[i], before[i - step] if i >= step else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                near = min((left, up, corner), key=lambda one: abs(guess - one))
                line[i] = (line[i] + near) & 255
        for i in range(0, stride, step):
            colour_here = tuple(line[i:i + 3])
            found[colour_here] = found.get(colour_here, 0) + 1
        before = line
    return found


class ChartPage(BerthCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def save(self, chart, name="chart.py"):
        self.program(f"chart = {chart!r}", name=name)
        return self.work / name.replace(".py", "-1.html")

    def open(self, page, screenshot=None):
        text, complaints = self.browser.open(page.as_uri(), screenshot)
        self.assertEqual(complaints, [], "the page complains")
        return text

    def drawn(self, chart):
        """The picture elements of the opened page: (whole document, attributes of each path or circle)."""
        text = self.open(self.save(chart))
        self.assertIn(f'data-drawn="{chart["type"]}"', text)
        picture = text[text.index("<svg"):text.index("</svg>")]
        return text, re.findall(r"<(?:path|circle|rect) [^>]*>", picture)

    def marks(self, elements, colour, kind):
        return [one for one in elements if f'{kind}="{colour}"' in one]

    def test_a_line_over_time(self):
        text, elements = self.drawn({"type": "line", "title": "growth", "x_label": "when", "y_label": "how much",
                                     "x_scale": "datetime",
                                     "elements": [{"label": "first", "points": [["2026-01-01", 1], ["2026-02-01", 3],
                                                                                ["2026-03-01", 2]]},
                                                  {"label": "second", "points": [["2026-01-01", 2],
                                                                                 ["2026-03-01", 5]]}]})
        for colour in COLOURS[:2]:
            self.assertTrue([one for one in self.marks(elements, colour, "stroke") if 'fill="none"' in one], colour)
        for word in ("first", "second", "when", "how much", ">2026<", "growth"):
            self.assertIn(word, text)

    def test_a_scatter_has_a_mark_for_each_point_and_none_for_a_missing_one(self):
        count = 12
        points = [[x, x * x] for x in range(count)] + [[3.5, float("nan")]]
        page = self.work / "chart-1.html"
        self.program("nan = float('nan')\nchart = " + repr({"type": "scatter", "elements": [{"label": "a", "points": points}]}),
                     name="chart.py")
        text = self.open(page)
        picture = re.findall(r"<(?:path|circle) [^>]*>", text[text.index("<svg"):text.index("</svg>")])
        # One more is the legend's.
        self.assertEqual(len(self.marks(picture, COLOURS[0], "fill")), count + 1)

    def test_bars_stand_on_one_another_by_group(self):
        bars = [{"group": "g", "label": "Q1", "value": 3}, {"group": "h", "label": "Q1", "value": 4},
                {"group": "g", "label": "Q2", "value": 5}, {"group": "g", "label": "Q2", "value": 1}]
        text, elements = self.drawn({"type": "bar", "title": "b", "elements": bars})
        # A bar for each value, and the legend's.
        self.assertEqual(len(self.marks(elements, COLOURS[0], "fill")), 3 + 1)
        self.assertEqual(len(self.marks(elements, COLOURS[1], "fill")), 1 + 1)
        left = set()
        for one in self.marks(elements, COLOURS[0], "fill") + self.marks(elements, COLOURS[1], "fill"):
            found = re.search(r' d="M([\d.]+) ([\d.]+)', one)
            if found and float(found.group(2)) > 80:
                left.add(found.group(1))
        self.assertEqual(len(left), 2, "the bars of one label stand in one place")
        self.assertIn(">Q2<", text)

    def test_words_on_the_x_axis_keep_their_order(self):
        text, _ = self.drawn({"type": "line", "elements": [{"label": "a", "points": [["zebra", 1], ["ape", 3]]}]})
        self.assertLess(text.index(">zebra<"), text.index(">ape<"))

    def test_foreign_text_stays_text(self):
        for kind, elements in [("line", [{"label": EVIL, "points": [[EVIL, 1], ["b", 2]]}]),
                               ("bar", [{"group": EVIL, "label": EVIL, "value": 1}])]:
            with self.subTest(kind=kind):
                chart = {"type": kind, "title": EVIL, "x_label": EVIL, "y_label": EVIL, "elements": elements}
                page = self.save(chart, name=f"{kind}.py")
                text = self.open(page)
                shown = re.search(r'<h1 id="title">(.*?)</h1>', text, re.DOTALL).group(1)
                self.assertEqual(html.unescape(shown), EVIL)
                bare = re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
                self.assertNotIn("<img", bare)
                self.assertEqual(bare.count("<script"), 3)
                self.assertNotIn("<title>broken", text)
                data = re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                 page.read_text(), re.DOTALL).group(1)
                self.assertEqual(json.loads(data), chart)

    def test_a_title_of_the_call_is_text_too(self):
        self.program("chart = {'type': 'bar', 'elements': [{'label': 'a', 'value': 1}]}", "--title", EVIL)
        page, = self.work.glob("*.html")
        text = page.read_text()
        self.assertEqual(html.unescape(re.search(r"<title>(.*?)</title>", text).group(1)), EVIL)
        self.open(page)

    def test_the_page_names_no_address_and_allows_no_other_script(self):
        text = self.save({"type": "bar", "elements": [{"label": "a", "value": 1}]}).read_text()
        bare = re.sub(r"(<script[^>]*>).*?</script>", r"\1", text, flags=re.DOTALL)
        self.assertNotRegex(bare, r"\b(src|href)=|https?:")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
        self.assertIn("default-src 'none'", policy)
        self.assertRegex(policy, r"script-src 'sha256-[^']+' 'sha256-[^']+';")

    def test_an_added_script_does_not_run(self):
        page = self.save({"type": "bar", "elements": [{"label": "a", "value": 1}]})
        page.write_text(page.read_text().replace("</body>", "<script>document.title='broken'</script></body>"))
        with self.assertRaisesRegex(AssertionError, "the page complains"):
            self.open(page)

    def test_thousands_of_points_are_painted(self):
        code = ("import math\nchart = {'type': 'scatter', 'elements': [{'label': 'a', 'points': "
                "[[i, math.sin(i / 300)] for i in range(20_000)]}]}")
        self.program(code, name="many.py")
        picture = self.folder / "screen.png"
        self.open(self.work / "many-1.html", picture)
        blue = tuple(int(COLOURS[0][i:i + 2], 16) for i in (1, 3, 5))
        close = sum(count for colour, count in pixels(picture).items()
                    if all(abs(a - b) < 48 for a, b in zip(colour, blue)))
        self.assertGreater(close, 2000)


class Open(BerthCase):
    CHART = "chart = {'type': 'bar', 'elements': [{'label': 'a', 'value': 1}]}"

    def opener(self, code=0):
        folder = self.folder / "bin"
        folder.mkdir()
        opener = folder / "xdg-open"
        opener.write_text(f"#!/bin/sh\nprintf '%s' \"$1\" > '{self.folder}/part'\nmv '{self.folder}/part' '{self.folder}/opened'\nexit {code}\n")
        opener.chmod(0o755)
        return {"PATH": f"{folder}:/usr/bin:/bin"}

    def opened(self):
        path = self.folder / "opened"
        cli.wait_until(path.exists, "the desktop's program is started")
        return path.read_text()

    def test_it_shows_the_page_on_a_desktop(self):
        for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
            with self.subTest(variable=variable):
                shutil.rmtree(self.folder / "bin", ignore_errors=True)
                done = self.program(self.CHART, "--open", environment={**self.opener(), variable: "x"})
                self.assertEqual(self.opened(), str(self.work / "program-1.html"))
                self.assertNotIn("desktop", done.stderr)
                (self.folder / "opened").unlink()

    def test_it_shows_a_picture_where_there_is_no_dictionary(self):
        self.program("import matplotlib.pyplot as plt\nplt.plot([1])", "--open",
                     environment={**self.opener(), "DISPLAY": ":9"})
        self.assertEqual(self.opened(), str(self.work / "program-1.png"))

    def test_with_json_it_saves_what_it_shows(self):
        self.document("run", self.file("p.py", self.CHART), "--open", environment={**self.opener(), "DISPLAY": ":9"})
        self.assertEqual(self.opened(), str(self.work / "p-1.html"))

    def test_without_a_desktop_it_says_which_file_to_open_elsewhere(self):
        done = self.program(self.CHART, "--open", environment=self.opener())
        self.assertIn(f"there is no desktop here (neither DISPLAY nor WAYLAND_DISPLAY is set); open '{self.work}/program-1.html'",
                      done.stderr)
        self.assertFalse((self.folder / "opened").exists())

    def test_without_an_opener_it_says_what_to_install(self):
        folder = self.folder / "empty"
        folder.mkdir()
        done = self.program(self.CHART, "--open", environment={"PATH": str(folder), "DISPLAY": ":9"})
        self.assertIn("xdg-utils", done.stderr)

    def test_without_a_chart_there_is_nothing_to_show(self):
        done = self.program("pass", "--open", environment={**self.opener(), "DISPLAY": ":9"})
        self.assertIn("no chart to show", done.stderr)


if __name__ == "__main__":
    cli.main()
