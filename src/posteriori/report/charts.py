"""The report's charts: curves over shares, how columns are spread, bars; colours are classes of the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup

from ..arrays import Floats
from ..explain.whatif import cut
from ..table.dates import date_marks
from .markup import WORDS, percent
from .scene import Plane, chart, element, label_width, path, scale, svg, text, tick_text, ticks, word

SERIES = 6  # classes that have a colour of their own
WIDE, TALL = 340.0, 262.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 20.0, 12.0, 40.0

ASIDES = {WORDS[key][0]: key for key in ("prior", "together", "other_words")}  # bars that are no attribute's

Line = tuple[Sequence[float], Sequence[float], str]  # x, y, class of the style sheet


def number_marks(low: float, high: float, most: int, dates: bool) -> list[tuple[float, str]]:
    """Round numbers, or dates, from one end to the other, with their texts; the first end where there is none between.

    >>> number_marks(0.0, 1.0, 2, False), number_marks(18262, 18650, 2, True)
    ([(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')], [(18262.0, '2020'), (18628.0, '2021')])
    """
    if dates:
        return date_marks(low, high, most)
    some = [v for v in ticks(low, high, most) if low <= v <= high] or [low]
    return [(v, tick_text(v, some)) for v in some]


def plane(x: tuple[float, float] = (0.0, 1.0), y: tuple[float, float] = (0.0, 1.0)) -> Plane:
    """The frame of a chart."""
    return Plane(x, y, LEFT, WIDE - RIGHT, TOP, TALL - BOTTOM)


def axes(p: Plane, x_key: str, y_key: str, shares: bool = True) -> list[Element]:
    """Grid lines, marks and names of the axes; `shares`: whether those upwards are percentages, as those across are."""
    body = []
    for v in ticks(*p.x, most=5):
        w = p.at_x(v)
        body += [path(f"M{w:.1f},{p.top:.1f}V{p.bottom:.1f}", "grid"), text(w, p.bottom + 15, percent(v, 0), "tick")]
    marks = ticks(*p.y, most=5)
    for v in marks:
        h, told = p.at_y(v), percent(v, 0) if shares else tick_text(v, marks)
        body += [path(f"M{p.left:.0f},{h:.1f}H{p.right:.0f}", "grid"), text(p.left - 6, h + 4, told, "tick", "end")]
    body.append(word((p.left + p.right) / 2, TALL - 7, x_key, style="axis"))
    body.append(word(11, (p.top + p.bottom) / 2, y_key, style="axis", turn=True))
    return body


def curve(p: Plane, xs: Sequence[float], ys: Sequence[float], style: str) -> Element:
    """A line through points."""
    return path("M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in p.points(xs, ys)), f"line {style}")


def thinned(xs: Floats, ys: Floats, most: int = 240) -> tuple[list[float], list[float]]:
    """At most so many points of a curve, its ends kept: those that stray least from what is drawn are left out.

    >>> thinned(np.arange(5.0), np.zeros(5), 2)
    ([0.0, 4.0], [0.0, 0.0])
    """
    if len(xs) > most:
        at = np.unique(np.concatenate([np.linspace(0, len(xs) - 1, most).astype(int), [0, len(xs) - 1]]))
        xs, ys = xs[at], ys[at]
    return xs.tolist(), ys.tolist()


def reliability_chart(found: Any) -> Markup:
    """Said against came: a disc a bin, as large as its share of the rows."""
    p, said, came = plane(), found.said.tolist(), found.came.tolist()
    body = [*axes(p, "axis_said", "axis_came"), curve(p, [0, 1], [0, 1], "aside"), curve(p, said, came, "s0")]
    for (x, y), a, b, share in zip(p.points(said, came), said, came, found.share.tolist()):
        tip = f"{percent(a)} → {percent(b)} (n: {percent(share)})"
        body.append(element("circle", tip=tip, class_="dot s0", cx=x, cy=y, r=2.5 + 8 * math.sqrt(share)))
    return svg(chart(body, "chart_reliability", WIDE, TALL))


def curves_chart(lines: Sequence[Line], x_key: str, y_key: str, label: str, aside: Sequence[Line] = ()) -> Markup:
    """Curves over shares on both axes."""
    p = plane()
    body = axes(p, x_key, y_key) + [curve(p, *line) for line in (*aside, *lines)]
    return svg(chart(body, label, WIDE, TALL))


def free_chart(lines: Sequence[Line], x_key: str, y_key: str, label: str) -> Markup:
    """Curves over a share; the other axis is as high as they are."""
    top = max((max(ys) for _, ys, _ in lines if len(ys)), default=1.0)
    low = min(0.0, *(min(ys) for _, ys, _ in lines if len(ys)))
    p = plane(y=(low, low + ((top - low) * 1.08 or 1.0)))
    body = axes(p, x_key, y_key, shares=False) + [curve(p, *line) for line in lines]
    return svg(chart(body, label, WIDE, TALL))


def spread_chart(facts: Any, order: Sequence[int]) -> Markup:
    """How a column is spread within each class: lines over a grid, or a dot a class at each value."""
    if facts.table is None:
        return Markup("")
    table = facts.table[:, order]
    return _lines_of(facts, table) if facts.grid is not None else _dots_of(facts, table)


def _lines_of(facts: Any, table: Floats) -> Markup:
    wide, tall = 250.0, 104.0
    grid, low, high = facts.grid, float(facts.grid[0]), float(facts.grid[-1])
    at, up = scale(low, high, 6.0, wide - 6), scale(0.0, float(table.max()) or 1.0, 84.0, 8.0)
    foot, end = 84.0, -math.inf
    body = [path(f"M6,{foot:.0f}H{wide - 6:.0f}", "rule")]
    for v, told in number_marks(low, high, 3 if facts.dates else 4, facts.dates):
        x, width = at(v), label_width(told)
        body.append(path(f"M{x:.1f},{foot:.0f}v4", "rule"))
        anchor = "start" if x < max(width / 2, 20) else "end" if x > wide - max(width / 2, 20) else "middle"
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        if left > end:
            body.append(text(x, foot + 16, told, "tick", anchor))
            end = left + width + 4
    for k in range(table.shape[1]):
        steps = "".join(f"V{up(v):.1f}H{at(float(b)):.1f}" for v, b in zip(table[:, k], grid[1:]))
        body.append(path(f"M{at(low):.1f},{foot:.1f}{steps}V{foot:.1f}", f"line s{k}"))
    return svg(chart(body, "chart_spread", wide, tall, " spread"))


def _dots_of(facts: Any, table: Floats) -> Markup:
    wide, row, n = 250.0, 19.0, len(table)
    split = 18 + max(label_width(label[:16]) if label else 34.0 for label in facts.labels)
    top = max(float(table.max()), 0.05)
    top = next(t for t in (0.1, 0.25, 0.5, 1.0) if t >= top - 1e-12)
    at = scale(0.0, top, split, wide - 10)
    tall = row * n + 20
    body = []
    for share in (0.0, top / 2, top):
        body.append(path(f"M{at(share):.1f},2V{row * n:.1f}", "grid"))
        x, anchor = (at(share) + 8, "end") if share == top else (at(share), "middle")
        body.append(text(x, tall - 5, percent(share, 0), "tick", anchor))
    for i, (label, shares) in enumerate(zip(facts.labels, table)):
        y = row * i + row / 2
        body.append(named(split - 8, y + 4, label, 16, "rare_value" if label is None else ""))
        body.append(path(f"M{at(shares.min()):.1f},{y:.1f}H{at(shares.max()):.1f}", "rule thin"))
        for k, share in enumerate(shares.tolist()):
            body.append(element("circle", tip=percent(share), class_=f"dot s{k}", cx=at(share), cy=y, r=4.2))
    return svg(chart(body, "chart_spread", wide, tall, " spread"))


def named(x: float, y: float, label: str | None, most: int, key: str) -> Element:
    """The name of a row of a chart, cut, its whole as a tip; or a word of the dictionary."""
    if key:
        return word(x, y, key, style="faint", anchor="end")
    return element("g", text(x, y, cut(label, most), "value", "end"), tip=cut(label))


def bars_chart(rows: Sequence[tuple[str, float]], key: str) -> Markup:
    """Named bars to both sides of zero: what speaks for it to the right, what speaks against it to the left."""
    wide, row, split = 340.0, 22.0, 146.0
    told = 6 + max((label_width(signed(v)) for _, v in rows), default=0.0)  # beside the longest bar, either side
    values = [v if math.isfinite(v) else math.copysign(1e9, v) for _, v in rows]
    top = max((abs(v) for v in values if abs(v) < 1e9), default=1.0) or 1.0
    values = [float(np.clip(v, -top, top)) / top for v in values]  # of the longest: the least of floats have no inverse
    low, high = min(0.0, *values), max(0.0, *values)
    room = wide - split - told * ((low < 0) + (high > 0))
    unit = room / ((high - low) or 1.0)
    zero = split + (told if low < 0 else 0.0) - low * unit
    body = [path(f"M{zero:.1f},0V{row * len(rows):.1f}", "rule")]
    for i, ((label, exact), value) in enumerate(zip(rows, values)):
        y, size = row * i + row / 2, abs(value) * unit
        body.append(named(split - 8, y + 4, label, 20, ASIDES.get(label, "")))
        side, left = ("against", zero - size) if value < 0 else ("for", zero)
        body.append(element("rect", class_=side, x=left, y=y - 6, width=size, height=12, rx=2))
        leftwards = value < 0 or (value == 0 and high == 0 > low)  # beside zero, where there is room
        x, anchor = (zero - size - 4, "end") if leftwards else (zero + size + 4, "start")
        body.append(text(x, y + 4, signed(exact), "tick", anchor))
    return svg(chart(body, key, wide, row * len(rows) + 2))


def signed(value: float) -> str:
    """A number with its sign, as people write it.

    >>> signed(1.5), signed(-0.25), signed(-12345.0), signed(math.inf)
    ('+1.50', '−0.25', '−1.23e+04', '+∞')
    """
    size = "∞" if math.isinf(value) else f"{abs(value):.2f}" if abs(value) < 1e4 else f"{abs(value):.2e}"
    return ("−" if value < 0 else "+") + size
