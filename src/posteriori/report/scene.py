"""A drawing as a tree of SVG elements, built once; two back ends show it: SVG text (`svg`), matplotlib axes (`on_axes`).

Colours are classes of the page's style sheet, or attributes of an element where a drawing stands alone; texts of the data
are escaped by either back end. Places are pixels, to the right and down.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup

from ..arrays import Floats
from ..errors import MissingExtra
from ..explain.whatif import cut, plain
from .markup import WORDS, fill

FONT, LINE, MARGIN = 12, 16, 6  # of a drawing that stands alone
BOX, EDGE, INK, PAPER, BAR = "#5b7083", "#5b7083", "#1c2733", "#eef3f8", "#b9d3ec"
ACCENT, AGAINST, SOFT, GRID = "#0f5f9e", "#c05a00", "#56606b", "#e3e0d9"
DASHES = "5 4"

Point = tuple[float, float]
Look = dict[str, Any]  # attributes of an element


def element(tag: str, *children: Element, says: str = "", tip: str | None = None, **look: Any) -> Element:
    """An element; numbers have one digit, `class_` and `stroke_width` mean class and stroke-width, "" is left out."""
    found = Element(tag)
    for key, value in look.items():
        if value != "":
            said = f"{value:.1f}" if isinstance(value, float) else str(value)
            found.set(key.rstrip("_").replace("_", "-"), said)
    found.text = says or None
    found.extend([] if tip is None else [element("title", says=plain(tip))])
    found.extend(children)
    return found


def path(d: str, class_: str = "", **look: Any) -> Element:
    """A line, or an area."""
    return element("path", class_=class_, d=d, **look)


def text(x: float, y: float, said: str, style: str = "", anchor: str = "middle", **look: Any) -> Element:
    """Text that is data or a number."""
    where = "" if anchor == "start" else anchor
    return element("text", says=cut(said), x=float(x), y=float(y), text_anchor=where, class_=style, **look)


def word(x: float, y: float, key: str, *parts: Any, style: str, anchor: str = "middle", turn: bool = False) -> Element:
    """Text of the dictionary, which the page can turn into the other language."""
    told = [cut(p, 300) for p in parts]
    args = json.dumps(told, ensure_ascii=False) if told else ""
    turned = f"rotate(-90 {x:.1f} {y:.1f})" if turn else ""
    more = {"data-w": key, "data-a": args, "text-anchor": anchor, "transform": turned}
    return element("text", says=fill(WORDS[key][0], told), x=float(x), y=float(y), class_=style, **more)


def chart(body: Iterable[Element], label: str, wide: float, tall: float, more: str = "") -> Element:
    """A picture of a page, as wide as there is room, up to its own width; `label` is a key of the dictionary."""
    size = {"viewBox": f"0 0 {wide:.0f} {tall:.0f}", "width": f"{wide:.0f}", "height": f"{tall:.0f}"}
    named = {"role": "img", "data-l": label, "aria-label": WORDS[label][0]}
    return element("svg", *body, class_=f"chart{more}", **named, **size, xmlns="http://www.w3.org/2000/svg")


def alone(
    body: Iterable[Element], label: str, wide: float, tall: float, margin: int = MARGIN, font: int = FONT
) -> Element:
    """A drawing that brings its own colours, with a margin around so many pixels."""
    wide, tall = wide + 2 * margin, tall + 2 * margin
    digits = 1 if margin else 0
    size = {"width": f"{wide:.0f}", "height": f"{tall:.0f}"}
    size["viewBox"] = f"{-margin} {-margin} {wide:.{digits}f} {tall:.{digits}f}"
    letters: Look = {"font-family": "system-ui,sans-serif", "font-size": font}
    named = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": label}
    return element("svg", *body, **named, **size, style="max-width:100%;height:auto", **letters)


def svg(drawn: Element) -> Markup:
    """The text of a drawing."""
    return Markup(tostring(drawn, encoding="unicode"))


def text_width(said: str, letter: float = 0.6, capital: float = 0.7, wide: float = 1.0, size: float = FONT) -> float:
    """About how many pixels a text takes; full-width letters (中文) take twice the room of others."""
    kinds = unicodedata.east_asian_width
    return sum(wide if kinds(c) in "WF" else capital if c.isupper() else letter for c in said) * size


def label_width(said: str) -> float:
    """The same of a text on a page's picture, of 11.5 pixels."""
    return text_width(said, 6.5, 6.5, 11.5, 1)


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Numbers from low to high → pixels from start to end.

    >>> scale(0, 100, 20.0, 220.0)(25)
    70.0
    """
    return lambda v: start + (end - start) * (v - low) / ((high - low) or 1.0)


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


class Plane:
    """A frame with two axes between its corners in pixels: data in, pixels out."""

    def __init__(self, x: Point, y: Point, left: float, right: float, top: float, bottom: float) -> None:
        self.x, self.y = x, y
        self.left, self.right, self.top, self.bottom = left, right, top, bottom

    def at_x(self, v: Any) -> Any:
        """Pixels from the left."""
        return self.left + (v - self.x[0]) / ((self.x[1] - self.x[0]) or 1.0) * (self.right - self.left)

    def at_y(self, v: Any) -> Any:
        """Pixels from the top."""
        return self.bottom - (v - self.y[0]) / ((self.y[1] - self.y[0]) or 1.0) * (self.bottom - self.top)

    def points(self, xs: Floats | Sequence[float], ys: Floats | Sequence[float]) -> list[Point]:
        """The places of some data."""
        return [(self.at_x(a), self.at_y(b)) for a, b in zip(xs, ys)]


# How the classes of the page's style sheet look on axes.
LOOKS: dict[str, dict[str, Any]] = {
    "name": {"font-size": 12.5},
    "tick": {"fill": SOFT, "font-size": 10.5},
    "faint": {"fill": SOFT},
    "grid": {"stroke": GRID},
    "dotted": {"stroke-dasharray": "1 4"},
    "rule": {"stroke": SOFT},
    "thin": {"stroke": GRID},
    "strong": {"stroke": INK, "stroke-width": 1.3, "font-weight": 600},
    "line": {"stroke-width": 2},
    "accent": {"stroke": ACCENT},
    "unknown": {"fill": "white", "stroke": SOFT, "stroke-width": 1.4},
    "unknown-line": {"stroke": SOFT, "stroke-dasharray": "3 3"},
    "tie": {"stroke": SOFT, "stroke-opacity": 0.55},
    "box": {"fill": "white", "stroke": SOFT},
    "target": {"stroke": ACCENT, "stroke-width": 1.6},
}
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def pyplot() -> Any:
    """matplotlib's figures, where it is installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("plots need matplotlib: pip install 'posteriori[plot]'") from error
    return plt


def on_axes(drawn: Element, ax: Any = None) -> Any:
    """A drawing on matplotlib axes, which are returned; a figure of its own is as large as the drawing."""
    plt = pyplot()
    left, top, wide, tall = map(float, drawn.get("viewBox", "").split())
    if ax is None:
        ax = plt.figure(figsize=(max(wide, 200) / 90, max(tall, 120) / 90)).add_axes((0, 0, 1, 1))
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    points = 72 * min(inches.width / wide, inches.height / tall)  # of a pixel
    for place, part in enumerate(drawn.iter()):
        _draw(ax, part, float(drawn.get("font-size", 11.5)), points, place)
    ax.set(xlim=(left, left + wide), ylim=(top + tall, top), aspect="equal")
    ax.axis("off")
    return ax


def _draw(ax: Any, part: Element, font: float, points: float, place: int) -> None:
    """One element, over those before it."""
    from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon

    look: dict[str, Any] = {"font-size": font, "stroke-width": 1}
    for style in part.get("class", "").split():
        look |= LOOKS.get(style, {})
    look |= part.attrib

    def number(key: str) -> float:
        return float(look.get(key, 0.0))

    patch: Any = None
    if part.tag == "text":
        how = {"ha": ANCHORS[look.get("text-anchor", "start")], "parse_math": False, "zorder": place}
        how["va"] = "center_baseline" if "dominant-baseline" in look else "baseline"
        how |= {"color": look.get("fill", INK), "weight": "bold" if "font-weight" in look else "normal"}
        size = float(look["font-size"]) * points
        ax.text(number("x"), number("y"), part.text, fontsize=size, rotation=90 * ("transform" in look), **how)
    elif part.tag == "path":
        patch = PathPatch(_path(look["d"]))
    elif part.tag == "polygon":
        patch = Polygon([tuple(map(float, p.split(","))) for p in look["points"].split()], closed=True)
    elif part.tag == "circle":
        patch = Circle((number("cx"), number("cy")), number("r"))
    elif part.tag == "rect":
        r = number("rx")
        corner, size_of = (number("x") + r, number("y") + r), (number("width") - 2 * r, number("height") - 2 * r)
        patch = FancyBboxPatch(corner, max(size_of[0], 0.0), max(size_of[1], 0.0), boxstyle=f"round,pad={r}")
    if patch is not None:
        dashes = [float(v) for v in look.get("stroke-dasharray", "").split()]
        patch.set(fc=look.get("fill", "none"), ec=look.get("stroke", "none"), lw=number("stroke-width") * points)
        patch.set(ls=(0, dashes) if dashes else "-", alpha=look.get("stroke-opacity"), zorder=place)
        ax.add_patch(patch)


def _path(d: str) -> Any:
    """The curve that a path's letters M, L, H, V, C (and h, v: so far from here) describe."""
    from matplotlib.path import Path

    points: list[Point] = []
    codes: list[Any] = []
    for letter, rest in re.findall(r"([MLHVCvh])([^MLHVCvh]*)", d):
        n = [float(v) for v in re.findall(r"-?\d+\.?\d*", rest)]
        x, y = points[-1] if points else (0.0, 0.0)
        shift = {"h": (n[0] + x, y), "v": (x, n[0] + y), "H": (n[0], y), "V": (x, n[0])}
        points += [shift[letter]] if letter in shift else list(zip(n[::2], n[1::2]))
        codes += {"M": [Path.MOVETO], "C": [Path.CURVE4] * 3}.get(letter, [Path.LINETO])
    return Path(points, codes)
