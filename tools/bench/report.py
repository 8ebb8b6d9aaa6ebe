"""Rows of the benchmark: a figure, what it is beside, the ratio, the goal, and whether it is met."""

import dataclasses
import statistics


def quantile(samples, share):
    """The value below which `share` of the samples lie."""
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@dataclasses.dataclass
class Figure:
    """Samples of one thing, summed up."""
    samples: int
    p50: float
    p95: float | None = None
    p99: float | None = None

    @staticmethod
    def of(samples, scale=1.0):
        """Of nanoseconds; `scale` is what one of them is in the row's unit."""
        return Figure(len(samples), quantile(samples, 0.5) * scale, quantile(samples, 0.95) * scale,
                      quantile(samples, 0.99) * scale)


@dataclasses.dataclass
class Goal:
    """`bound` for the ratio, or for the figure itself, at a quantile."""
    quantile: str
    bound: float
    at_least: bool = False
    of_ratio: bool = True

    def text(self):
        what = "x" if self.of_ratio else ""
        return f"{'>=' if self.at_least else '<='} {self.bound:g}{what}"

    def met(self, row):
        value = row.ratio.get(self.quantile) if self.of_ratio else getattr(row.figure, self.quantile)
        return value >= self.bound if self.at_least else value <= self.bound


@dataclasses.dataclass
class Row:
    name: str
    unit: str = ""
    figure: Figure | None = None
    beside_name: str = ""
    beside: Figure | None = None
    ratio: dict = dataclasses.field(default_factory=dict)  # by quantile
    goals: list = dataclasses.field(default_factory=list)
    note: str = ""
    noise: str = ""          # why no claim can be made of it
    not_measured: str = ""   # why there is no figure

    def verdict(self):
        if not self.goals:
            return ""
        if self.not_measured:
            return "not measured"
        if self.noise:
            return "no claim"
        return "met" if all(goal.met(self) for goal in self.goals) else "missed"

    def to_json(self):
        document = dataclasses.asdict(self)
        document["verdict"] = self.verdict()
        return document


@dataclasses.dataclass
class Growth:
    """One thing at ever larger numbers."""
    name: str
    unit: str
    values: dict  # number -> value, or None where it was not measured
    noise: str = ""
    note: str = ""

    def to_json(self):
        return dataclasses.asdict(self)


SCALES = {"ns": 1.0, "us": 1e-3, "ms": 1e-6}


def times(name, unit, samples, goals=(), note="", beside="", beside_samples=None):
    """A row of nanoseconds; with `beside_samples`, also the ratio at each quantile."""
    scale = SCALES[unit]
    row = Row(name, unit, Figure.of(samples, scale), goals=list(goals), note=note)
    if beside_samples:
        row.beside_name = beside
        row.beside = Figure.of(beside_samples, scale)
        row.ratio = {name: getattr(row.figure, name) / getattr(row.beside, name)
                     for name in ("p50", "p95")}
    return row


def value(name, unit, samples, beside="", ratio=None, goals=()):
    """A row of plain values, of which the median counts."""
    row = Row(name, unit, Figure(len(samples), statistics.median(samples)), goals=list(goals))
    if ratio is not None:
        row.beside_name = beside
        row.ratio = {"p50": ratio}
    return row


def number(amount):
    if amount is None:
        return ""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.3g}" if amount < 10 else f"{amount:.1f}"


def cells(row):
    figure, beside = row.figure, row.beside
    if figure is None:
        return [row.name, "", "", "", "", "", "", "/".join(goal.text() for goal in row.goals),
                f"not measured: {row.not_measured}"]
    tail = row.verdict()
    if row.noise:
        tail = f"{tail or 'noisy'}: {row.noise}"
    ratio = " / ".join(number(row.ratio[q]) for q in ("p50", "p95") if q in row.ratio)
    theirs = f"{number(beside.p50)} / {number(beside.p95)}" if beside else ""
    return [row.name, row.unit, str(figure.samples), number(figure.p50), number(figure.p95),
            ratio and f"{ratio} x", f"{row.beside_name} {theirs}".strip(),
            " / ".join(goal.text() for goal in row.goals), tail]


def table(lines, head):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for line in [head, *lines]:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()


def show(rows):
    """The whole report as lines of text."""
    plain = [row for row in rows if isinstance(row, Row)]
    grown = [row for row in rows if isinstance(row, Growth)]
    if plain:
        yield from table([cells(row) for row in plain],
                         ["", "unit", "n", "p50", "p95", "ratio p50 / p95", "beside p50 / p95", "goal", ""])
    notes = [f"  {row.name}: {row.note}" for row in rows if row.note]
    if grown:
        numbers = sorted({number for row in grown for number in row.values})
        yield ""
        yield from table([[row.name, row.unit, *(number(row.values.get(n)) or "-" for n in numbers), row.noise]
                          for row in grown], ["how it grows", "unit", *map(str, numbers), ""])
    if notes:
        yield ""
        yield from notes
