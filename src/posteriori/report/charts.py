"""Charts as inline SVG: colours are classes of the page's style sheet, texts are words of its dictionary or escaped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from ..arrays import Floats
from ..explain.whatif import cut
from ..table.dates import date_marks
from .markup import WORDS, percent, say

SERIES = 6  # classes that have a colour of their own
WIDE, TALL = 340.0, 262.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 20.0, 12.0, 40.0

ASIDES = {WORDS[key][0]: key for key in ("prior", "together", "other_words")}  # bars that are no attribute's

Line = tuple[Sequence[float], Sequence[float], str]  # x, y, class of the style sheet


def picture(body: str, label: str, wide: float, tall: float, more: str = "") -> Markup:
    """An SVG that fills the width it is given, up to its own; `label` is a key of the dictionary."""
    told = escape(WORDS[label][0])
    return Markup(
        f'<svg class="chart{more}" role="img" data-l="{label}" aria-label="{told}" viewBox="0 0 {wide:.0f} {tall:.0f}" '
        f'width="{wide:.0f}" height="{tall:.0f}" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def text(x: float, y: float, said: str, *, anchor: str = "middle", style: str = "") -> str:
    """Text that is data or a number."""
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}{kind}>{escape(cut(said))}</text>'


def word(x: float, y: float, key: str, *parts: Any, anchor: str = "middle", style: str = "", turn: bool = False) -> str:
    """Text of the dictionary."""
    more = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "class": style}
    more |= {"transform": f"rotate(-90 {x:.1f} {y:.1f})"} if turn else {}
    return say(key, *parts, tag="text", **more)


def text_width(said: str) -> float:
    """About how wide a text of 11.5 pixels is; 中文 takes twice the room."""
    return sum(11.5 if ord(c) >= 0x2E80 else 6.5 for c in said)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two ends.

    >>> ticks(0.0, 1.0), ticks(0.3, 7.2)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [2.0, 4.0, 6.0])
    """
    width = high - low
    if not (math.isfinite(width) and width > 1e-290):
        return [low]
    base = 10.0 ** math.floor(math.log10(width / most))
    step = next(m * base for m in (1, 2, 5, 10) if m * base >= width / most * (1 - 1e-9))
    if max(abs(low), abs(high)) / step > 1e9:
        return [low, high]
    places = max(0, -math.floor(math.log10(step)))
    found = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(i * step, places) for i in found]


def tick_text(value: float, marks: Sequence[float]) -> str:
    """A mark with the digits that its neighbours ask for."""
    size = max(map(abs, marks))
    gap = min((b - a for a, b in itertools.pairwise(marks)), default=size)
    if size >= 1e7 or 0 < size < 1e-3:
        return f"{value:.{max(3, math.ceil(math.log10(size / gap)) + 1)}g}"
    if len(marks) == 1 and size < 1e4:
        return f"{value:.6g}"
    places = min(max(0, -math.floor(math.log10(gap) + 1e-9)), 6)
    return f"{value:,.{places}f}" if size >= 1e4 else f"{value:.{places}f}"


def number_marks(low: float, high: float, most: int, dates: bool) -> list[tuple[float, str]]:
    """Round numbers, or dates, from one end to the other, with their texts; the first end where there is none between.

    >>> number_marks(0.0, 1.0, 2, False), number_marks(18262, 18650, 2, True)
    ([(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')], [(18262.0, '2020'), (18628.0, '2021')])
    """
    if dates:
        return date_marks(low, high, most)
    some = [v for v in ticks(low, high, most) if low <= v <= high] or [low]
    return [(v, tick_text(v, some)) for v in some]


class Plane:
    """A frame with two axes: data in, pixels out."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], wide: float = WIDE, tall: float = TALL) -> None:
        self.x, self.y, self.wide, self.tall = x, y, wide, tall
        self.body: list[str] = []

    def at_x(self, v: float) -> float:
        """Pixels from the left."""
        share = (v - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0)
        return LEFT + share * (self.wide - LEFT - RIGHT)

    def at_y(self, v: float) -> float:
        """Pixels from the top."""
        share = (v - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0)
        return self.tall - BOTTOM - share * (self.tall - TOP - BOTTOM)

    def axes(self, x_key: str, y_key: str, shares: tuple[bool, bool] = (True, True)) -> None:
        """Grid lines, marks and names of the axes; `shares`: whose marks are percentages."""
        foot, head = self.at_y(self.y[0]), self.at_y(self.y[1])
        for marks, across in ((ticks(*self.x, most=5), False), (ticks(*self.y, most=5), True)):
            for v in marks:
                told = percent(v, 0) if shares[across] else tick_text(v, marks)
                if across:
                    h = self.at_y(v)
                    self.body.append(f'<path class="grid" d="M{LEFT:.0f},{h:.1f}H{self.wide - RIGHT:.0f}"/>')
                    self.body.append(text(LEFT - 6, h + 4, told, anchor="end", style="tick"))
                else:
                    w = self.at_x(v)
                    self.body.append(f'<path class="grid" d="M{w:.1f},{head:.1f}V{foot:.1f}"/>')
                    self.body.append(text(w, foot + 15, told, style="tick"))
        self.body.append(word((LEFT + self.wide - RIGHT) / 2, self.tall - 7, x_key, style="axis"))
        self.body.append(word(11, (head + foot) / 2, y_key, style="axis", turn=True))

    def line(self, xs: Sequence[float], ys: Sequence[float], style: str, step: bool = False) -> None:
        """A curve through points, or steps."""
        points = [(self.at_x(a), self.at_y(b)) for a, b in zip(xs, ys)]
        path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
        path += "".join(f"H{a:.1f}V{b:.1f}" if step else f"L{a:.1f},{b:.1f}" for a, b in points[1:])
        self.body.append(f'<path class="line {style}" d="{path}"/>')

    def dots(self, xs: Sequence[float], ys: Sequence[float], style: str, sizes: Sequence[float], tips: Any) -> None:
        """Discs with a tip each."""
        for a, b, r, tip in zip(xs, ys, sizes, tips):
            self.body.append(
                f'<circle class="dot {style}" cx="{self.at_x(a):.1f}" cy="{self.at_y(b):.1f}" r="{r:.1f}">'
                f"<title>{escape(cut(tip))}</title></circle>"
            )

    def svg(self, label: str) -> Markup:
        """The picture."""
        return picture("".join(self.body), label, self.wide, self.tall)


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
    plane = Plane((0.0, 1.0), (0.0, 1.0))
    plane.axes("axis_said", "axis_came")
    plane.line([0, 1], [0, 1], "aside")
    plane.line(found.said.tolist(), found.came.tolist(), "s0")
    sizes = (2.5 + 8 * np.sqrt(found.share)).tolist()
    tips = [f"{percent(a)} → {percent(b)} (n: {percent(s)})" for a, b, s in zip(found.said, found.came, found.share)]
    plane.dots(found.said.tolist(), found.came.tolist(), "s0", sizes, tips)
    return plane.svg("chart_reliability")


def curves_chart(lines: Sequence[Line], x_key: str, y_key: str, label: str, aside: Sequence[Line] = ()) -> Markup:
    """Curves over shares on both axes."""
    plane = Plane((0.0, 1.0), (0.0, 1.0))
    plane.axes(x_key, y_key)
    for xs, ys, style in (*aside, *lines):
        plane.line(xs, ys, style)
    return plane.svg(label)


def free_chart(lines: Sequence[Line], x_key: str, y_key: str, label: str, step: bool = False) -> Markup:
    """Curves over a share; the other axis is as high as they are."""
    top = max((max(ys) for _, ys, _ in lines if len(ys)), default=1.0)
    low = min(0.0, *(min(ys) for _, ys, _ in lines if len(ys)))
    plane = Plane((0.0, 1.0), (low, low + ((top - low) * 1.08 or 1.0)))
    plane.axes(x_key, y_key, (True, False))
    for xs, ys, style in lines:
        plane.line(xs, ys, style, step=step and style != "aside")
    return plane.svg(label)


def spread_chart(facts: Any, order: Sequence[int]) -> Markup:
    """How a column is spread within each class: lines over a grid, or a dot a class at each value."""
    if facts.table is None:
        return Markup("")
    table = facts.table[:, order]
    return _lines_of(facts, table) if facts.grid is not None else _dots_of(facts, table)


def _lines_of(facts: Any, table: Floats) -> Markup:
    wide, tall, foot = 250.0, 104.0, 84.0
    grid, top = facts.grid, float(table.max()) or 1.0
    low, high = float(grid[0]), float(grid[-1])

    def at(v: float) -> float:
        return 6 + (wide - 12) * (v - low) / (high - low)

    body = [f'<path class="rule" d="M6,{foot:.0f}H{wide - 6:.0f}"/>']
    end = -math.inf
    for v, told in number_marks(low, high, 3 if facts.dates else 4, facts.dates):
        body.append(f'<path class="rule" d="M{at(v):.1f},{foot:.0f}v4"/>')
        width = text_width(told)
        anchor = "start" if at(v) < max(width / 2, 20) else "end" if at(v) > wide - max(width / 2, 20) else "middle"
        left = at(v) - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        if left > end:
            body.append(text(at(v), foot + 16, told, anchor=anchor, style="tick"))
            end = left + width + 4
    for k in range(table.shape[1]):
        path = f"M{at(low):.1f},{foot:.1f}"
        for share, b in zip(table[:, k], grid[1:]):
            path += f"V{foot - (foot - 8) * share / top:.1f}H{at(float(b)):.1f}"
        body.append(f'<path class="line s{k}" d="{path}V{foot:.1f}"/>')
    return picture("".join(body), "chart_spread", wide, tall, " spread")


def _dots_of(facts: Any, table: Floats) -> Markup:
    wide, row, n = 250.0, 19.0, len(table)
    split = 18 + max(text_width(label[:16]) if label else 34.0 for label in facts.labels)
    top = max(float(table.max()), 0.05)
    top = next(t for t in (0.1, 0.25, 0.5, 1.0) if t >= top - 1e-12)
    tall = row * n + 20

    def at(share: float) -> float:
        return split + (wide - split - 10) * share / top

    body = []
    for share in (0.0, top / 2, top):
        body.append(f'<path class="grid" d="M{at(share):.1f},2V{row * n:.1f}"/>')
        anchor = "end" if share == top else "middle"
        body.append(
            text(at(share) + (8 if share == top else 0), tall - 5, percent(share, 0), anchor=anchor, style="tick")
        )
    for i, (label, shares) in enumerate(zip(facts.labels, table)):
        y = row * i + row / 2
        if label is None:
            body.append(word(split - 8, y + 4, "rare_value", anchor="end", style="faint"))
        else:
            short = label if len(label) <= 16 else label[:15] + "…"
            body.append(
                f"<g><title>{escape(cut(label))}</title>{text(split - 8, y + 4, short, anchor='end', style='value')}</g>"
            )
        body.append(
            f'<path class="rule thin" d="M{at(float(shares.min())):.1f},{y:.1f}H{at(float(shares.max())):.1f}"/>'
        )
        for k, share in enumerate(shares):
            tip = f"<title>{percent(float(share))}</title>"
            body.append(f'<circle class="dot s{k}" cx="{at(float(share)):.1f}" cy="{y:.1f}" r="4.2">{tip}</circle>')
    return picture("".join(body), "chart_spread", wide, tall, " spread")


def bars_chart(rows: Sequence[tuple[str, float]], key: str) -> Markup:
    """Named bars to both sides of zero: what speaks for it to the right, what speaks against it to the left."""
    wide, row, split = 340.0, 22.0, 146.0
    told = 6 + max((text_width(signed(v)) for _, v in rows), default=0.0)  # beside the longest bar, either side
    values = [v if math.isfinite(v) else math.copysign(1e9, v) for _, v in rows]
    top = max((abs(v) for v in values if abs(v) < 1e9), default=1.0) or 1.0
    values = [float(np.clip(v, -top, top)) / top for v in values]  # of the longest: the least of floats have no inverse
    low, high = min(0.0, *values), max(0.0, *values)
    room = wide - split - told * ((low < 0) + (high > 0))
    unit = room / ((high - low) or 1.0)
    zero = split + (told if low < 0 else 0.0) - low * unit
    body = [f'<path class="rule" d="M{zero:.1f},0V{row * len(rows):.1f}"/>']
    for i, ((label, exact), value) in enumerate(zip(rows, values)):
        y, size = row * i + row / 2, abs(value) * unit
        if label in ASIDES:
            body.append(word(split - 8, y + 4, ASIDES[label], anchor="end", style="faint"))
        else:
            said = text(split - 8, y + 4, cut(label, 20), anchor="end", style="value")
            body.append(f"<g><title>{escape(cut(label))}</title>{said}</g>")
        side, left = ("against", zero - size) if value < 0 else ("for", zero)
        body.append(f'<rect class="{side}" x="{left:.1f}" y="{y - 6:.1f}" width="{size:.1f}" height="12" rx="2"/>')
        leftwards = value < 0 or (value == 0 and high == 0 > low)  # beside zero, where there is room
        x, anchor = (zero - size - 4, "end") if leftwards else (zero + size + 4, "start")
        body.append(text(x, y + 4, signed(exact), anchor=anchor, style="tick"))
    return picture("".join(body), key, wide, row * len(rows) + 2)


def signed(value: float) -> str:
    """A number with its sign, as people write it.

    >>> signed(1.5), signed(-0.25), signed(-12345.0), signed(math.inf)
    ('+1.50', '−0.25', '−1.23e+04', '+∞')
    """
    size = "∞" if math.isinf(value) else f"{abs(value):.2f}" if abs(value) < 1e4 else f"{abs(value):.2e}"
    return ("−" if value < 0 else "+") + size
