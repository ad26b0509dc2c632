"""A nomogram: points for every value, read off by eye and added up; the sum leads to the probability.

Symbols: t target, a the class it is weighed against; w_j(v) = ln P(v|t)/P(v|a). Points of v = (w_j(v) − min w_j)/unit, the
attribute that tells most having 100. ln P(t|x)/P(a|x) = ln P(t)/P(a) + Σ min w_j + unit · (sum of the points).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..arrays import Floats
from ..explain.whatif import Attribute, WhatIf, bin_labels, cut
from .charts import number_marks
from .scene import chart, element, label_width, path, scale, text, tick_text, ticks, word

MOST_DRAWN = 16  # attributes
MOST_LABELS = 14  # of an attribute
FEW = 8  # whole numbers that are named like values
FAR = 12.0  # nats that a value may be worth in the drawing
SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute: what each of its values says, in nats, the least first being 0 points."""

    name: str
    labels: tuple[str | None, ...]
    numbers: Floats | None
    odds: Floats  # w_j(v), held within ±FAR of what is usual
    dates: bool = False  # whether the numbers are days

    @property
    def low(self) -> float:
        """The least of its values and of "unknown", which says 0."""
        return min(float(self.odds.min()), 0.0)

    @property
    def range(self) -> float:
        """From the least to the most."""
        return max(float(self.odds.max()), 0.0) - self.low

    @property
    def bent(self) -> bool:
        """Whether a number speaks now the more, now the less for one class as it grows; a wrinkle is none."""
        steps, blur = np.diff(self.odds), 0.02 * float(np.ptp(self.odds))
        return self.numbers is not None and not bool((steps >= -blur).all() or (steps <= blur).all())


@dataclass(frozen=True, eq=False)
class Scales:
    """All attributes of a nomogram for t against a, the most telling first."""

    target: Any
    against: Any
    axes: tuple[Axis, ...]
    start: float  # ln P(t)/P(a) + Σ_j min w_j: the log-odds of no points
    unit: float  # nats a point
    among: int = 2  # classes there are: of more than two, the sum leads to P(t | t or a), not to P(t)

    def stretch(self, axis: Axis) -> tuple[float, float, float]:
        """The points of "unknown", of the least and of the most that an attribute can have."""
        zero = -axis.low / self.unit
        points = (axis.odds - axis.low) / self.unit
        return zero, min(zero, float(points.min())), max(zero, float(points.max()))

    def log_odds(self, points: float) -> float:
        """What a sum of points means."""
        return self.start + self.unit * points

    def points(self, log_odds: float) -> float:
        """The sum of points that means these log-odds."""
        return (log_odds - self.start) / self.unit


def scales(table: WhatIf, target: int, against: int, most: int = MOST_DRAWN) -> Scales:
    """The nomogram of a model whose attributes add up; values that rule a class out are drawn as worth `FAR` nats."""
    found = [_axis(a, target, against) for a in table.attributes]
    found.sort(key=lambda axis: -axis.range)
    drawn = tuple(axis for axis in found[:most] if axis.range > 1e-9)
    unit = max((axis.range for axis in drawn), default=1.0) / 100
    prior = _far(table.log_prior[target] - table.log_prior[against])
    start = prior + sum(axis.low for axis in drawn)
    return Scales(table.classes[target], table.classes[against], drawn, start, unit, len(table.classes))


def _axis(a: Attribute, t: int, r: int) -> Axis:
    with np.errstate(invalid="ignore"):
        odds = np.nan_to_num(a.log_p[:, t] - a.log_p[:, r], nan=0.0, posinf=np.inf, neginf=-np.inf)
    labels, grid = a.labels, a.numbers
    if grid is not None and a.share is not None and len(grid) > 8:  # where the rows are, not the last tail
        beyond = np.cumsum(a.share)
        first, last = np.searchsorted(beyond, [0.004, 0.996])
        keep = slice(max(int(first) - 1, 0), min(int(last) + 2, len(grid)))
        odds, labels, grid = odds[keep], labels[keep], grid[keep]
    odds = np.clip(odds, -FAR, FAR)
    if a.cuts is not None:  # neighbouring bins of one worth are one bin to these two classes
        starts = np.flatnonzero(np.abs(np.diff(odds, prepend=np.inf)) > 1e-9)
        return Axis(a.name, bin_labels(a.cuts[starts[1:] - 1], a.dates), None, odds[starts])
    return Axis(a.name, labels, None if grid is not None and len(grid) <= FEW else grid, odds, a.dates)


def _far(value: float) -> float:
    return float(np.clip(np.nan_to_num(value, nan=0.0), -2 * FAR, 2 * FAR))


def nomogram(found: Scales, wide: bool) -> Element:
    """The nomogram for print and for the eye; `wide` has names beside the lines, else they stand above."""
    width, left = (880.0, 206.0) if wide else (352.0, 12.0)
    right = width - (24.0 if wide else 14.0)
    at = scale(0, 100, left, right)
    y = 20.0 if wide else 36.0
    marks = range(0, 101, 10 if wide else 20)
    body = [_title("scale_points", 14.0 if wide else left, y + 4 if wide else y - 21)]
    body += _ruler([(at(p), f"{p}") for p in marks], (left, right), y)
    top, y = y, y + 12
    rows: list[Element] = []
    for axis in found.axes:
        head = 0.0 if wide else 16.0  # a name above its line
        drawn, middle, end = (_curve if axis.bent else _line)(axis, found, at, y + head, wide)
        place = (14.0, middle + 4) if wide else (left, y + 10)
        label = text(*place, cut(axis.name, 22 if wide else 44), "name", "start")
        rows += [element("g", label, tip=cut(axis.name)), *drawn]
        y = end + (10 if wide else 14)
    body += [path(f"M{at(p):.1f},{top:.0f}V{y - 4:.0f}", "grid") for p in marks]
    foot, y = _foot(found, y + 18, left, right, wide)
    more = " nomogram wide" if wide else " nomogram narrow"
    return chart(body + rows + foot, "chart_nomogram", width, y + 20, more)


def _title(key: str, x: float, y: float, *parts: Any) -> Element:
    return word(x, y, key, *parts, anchor="start", style="name strong")


def _ruler(marks: list[tuple[float, str]], ends: tuple[float, float], y: float) -> list[Element]:
    body = [path(f"M{ends[0]:.1f},{y:.1f}H{ends[1]:.1f}", "rule strong")]
    for x, told in marks:
        body += [path(f"M{x:.1f},{y:.1f}v-5", "rule"), text(x, y - 8, told, "tick")]
    return body


def _marked(axis: Axis, found: Scales) -> list[tuple[float, str | None]]:
    """(points, label) of what is marked on a line: values, round numbers of a grid, and the unknown."""
    points = (axis.odds - axis.low) / found.unit
    if axis.numbers is None:
        marks = [(float(p), label) for p, label in zip(points, axis.labels)]
        if len(marks) > MOST_LABELS:  # the ends and some between
            order = np.argsort(points, kind="stable")
            kept = {int(order[i]) for i in np.linspace(0, len(order) - 1, MOST_LABELS).astype(int)}
            marks = [(p, label if i in kept else None) for i, (p, label) in enumerate(marks)]
        return marks
    grid = axis.numbers
    some = number_marks(float(grid[0]), float(grid[-1]), 5 if axis.dates else 7, axis.dates)
    return [(float(np.interp(v, grid, points)), told) for v, told in some]


Placed = list[tuple[float, str | None, int]]


def levels(axis: Axis, found: Scales, at: Any) -> Placed:
    """(x, label, level) of the marks: 0 just above the line, 1 just below, 2 and 3 farther; −1 where there is no room."""
    ends = [-math.inf] * 4
    placed: Placed = []
    for points, label in sorted(_marked(axis, found), key=lambda m: m[0]):
        x = at(points)
        if label is None:
            placed.append((x, None, -1))
            continue
        short = cut(label, 18)
        half = label_width(short) / 2 + 3
        begin = _inside(x, half, at) - half
        level = next((k for k in range(4) if ends[k] <= begin), -1)
        if level >= 0:
            ends[level] = begin + 2 * half
        placed.append((x, label, level))
    return placed


def _inside(x: float, half: float, at: Any) -> float:
    """The middle of a label that keeps within the picture."""
    return float(max(min(x, at(100) + 12 - half), at(0) - 10 + half))


def _line(axis: Axis, found: Scales, at: Any, y: float, wide: bool) -> tuple[list[Element], float, float]:
    """(a straight line with its values, where it lies, where its labels end); `y` is the top of its room."""
    placed = levels(axis, found, at)
    used = {level for _, _, level in placed}
    y += 29.0 if 2 in used else 17.0
    zero, first, last = (at(points) for points in found.stretch(axis))
    body = [path(f"M{first:.1f},{y:.1f}H{last:.1f}", "rule strong")]
    body.append(element("circle", class_="unknown", cx=zero, cy=y, r=3))
    shift = {0: -7.0, 1: 16.0, 2: -19.0, 3: 28.0}
    for x, label, level in placed:
        if label is None or level < 0:
            body.append(path(f"M{x:.1f},{y:.1f}v-4", "rule thin", tip=cut(label or "")))
            continue
        body.append(path(f"M{x:.1f},{y:.1f}v{4 if level % 2 else -4}", "rule"))
        short = cut(label, 18)
        said = text(_inside(x, label_width(short) / 2, at), y + shift[level], short, "value")
        body.append(element("g", said, tip=cut(label)))
    return body, y, y + (30.0 if 3 in used else 18.0 if 1 in used else 5.0)


def _curve(axis: Axis, found: Scales, at: Any, y: float, wide: bool) -> tuple[list[Element], float, float]:
    """The same of a number that speaks for the target in the middle and against it at the ends, or the like: value upright,
    points across."""
    assert axis.numbers is not None
    y += 8
    tall, grid = 66.0, axis.numbers
    low, high = float(grid[0]), float(grid[-1])
    xs = [at(float(p)) for p in (axis.odds - axis.low) / found.unit]
    up = scale(low, high, y + tall, y)
    body = []
    for v, told in number_marks(low, high, 4, axis.dates):
        body.append(path(f"M{at(0):.1f},{up(v):.1f}H{at(100):.1f}", "grid dotted"))
        x, h = (at(0) - 6, up(v) + 4) if wide else (at(100), up(v) - 3)
        body.append(text(x, h, told, "value", "end"))
    zero = at(-axis.low / found.unit)
    body.append(path(f"M{zero:.1f},{y:.1f}v{tall:.1f}", "unknown-line"))
    body.append(path("M" + "L".join(f"{x:.1f},{up(float(v)):.1f}" for x, v in zip(xs, grid)), "line accent"))
    return body, y + tall / 2, y + tall + 4


def _foot(found: Scales, y: float, left: float, right: float, wide: bool) -> tuple[list[Element], float]:
    """The sum of the points, and below it the probability that it means."""
    most = sum(axis.range for axis in found.axes) / found.unit or 100.0
    low, high = useful(found, most)
    at = scale(low, high, left, right)
    body = [path(f"M{14.0 if wide else left:.0f},{y - 12:.1f}H{right:.1f}", "rule thin")]
    y += 16 if wide else 28
    body.append(_title("scale_total", 14.0 if wide else left, y + 4 if wide else y - 21))
    marks = ticks(low, high, 12 if wide else 5)
    body += _ruler([(at(v), tick_text(v, marks)) for v in marks], (left, right), y)
    pair = found.among > 2
    y += 36 if wide and not pair else 52
    x, h, fits = (14.0, y + 4, 192.0) if wide and not pair else (left, y - 21, right - left)
    body.append(_title("scale_pair" if pair else "scale_probability", x, h, *probability_of(found, fits)))
    shares, end = [], -math.inf
    for p in SHARES:
        x = at(found.points(math.log(p / (1 - p))))
        told = f"{p:.1%}" if p in (0.001, 0.999) else f"{p:.0%}"
        if left - 1 <= x <= right + 1 and x - end > 6.6 * len(told) + 5:
            shares.append((x, told))
            end = x
    return body + _ruler(shares, (left, right), y), y


def probability_of(found: Scales, room: float) -> list[str]:
    """What the lowest scale is the probability of: t, or t and a where there are more classes; cut to so many pixels."""
    names = [found.target, found.against][: 1 + (found.among > 2)]
    for most in range(24, 3, -1):
        told = [cut(n, most) for n in names]
        if 1.2 * label_width(f"P({told[0]})" if len(told) < 2 else f"P({told[0]} | {told[0]} or {told[1]})") <= room:
            break
    return told


def useful(found: Scales, most: float) -> tuple[float, float]:
    """The sums of points that matter: those where the probability is neither 0 nor 1, within what can be reached."""
    edge = math.log(0.9995 / 0.0005)
    low, high = max(0.0, found.points(-edge)), min(most, found.points(edge))
    if high - low < 1e-6 * (abs(low) + abs(high) + 1):
        return 0.0, most
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    return max(0.0, math.floor(low / step) * step), math.ceil(high / step) * step
