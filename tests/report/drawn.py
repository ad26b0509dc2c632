"""A picture as its reader sees it: elements with numbers, where texts lie, whether all is inside and nothing on another."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

from posteriori.report.scene import label_width


class Text(NamedTuple):
    said: str
    x: float
    y: float
    left: float
    right: float
    style: str


class Seen:
    """What an SVG shows: its text, a drawing, or pieces of one."""

    def __init__(self, drawn: str | ET.Element | list[ET.Element]) -> None:
        if isinstance(drawn, list):
            pieces, drawn = drawn, ET.Element("svg", viewBox="0 0 900 900")
            drawn.extend(pieces)
        self.root = ET.fromstring(drawn) if isinstance(drawn, str) else drawn
        self.x0, self.y0, self.wide, self.tall = map(float, self.root.get("viewBox").split())

    def all(self, tag: str, style: str = "") -> list[ET.Element]:
        found = (e for e in self.root.iter() if e.tag.split("}")[-1] == tag)
        return [e for e in found if set(style.split()) <= set((e.get("class") or "").split())]

    def numbers(self, tag: str, style: str = "", keys: str = "x y width height") -> list[tuple[float, ...]]:
        return [tuple(float(e.get(k)) for k in keys.split()) for e in self.all(tag, style)]

    def texts(self, style: str = "") -> list[Text]:
        found = []
        for e in self.all("text", style):
            said, x, y = "".join(e.itertext()), float(e.get("x")), float(e.get("y"))
            width, anchor = label_width(said), e.get("text-anchor", "start")
            left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            found.append(Text(said, x, y, left, left + width, e.get("class") or ""))
        return found

    def paths(self, style: str = "") -> list[list[tuple[float, float]]]:
        """The corners of every path; H, V, v and curves included."""
        return [corners(e.get("d")) for e in self.all("path", style)]

    def everything_is_inside(self, slack: float = 0.6) -> None:
        for path in self.paths():
            for x, y in path:
                self._inside(x, y, slack)
        for x, y, r in self.numbers("circle", keys="cx cy r"):
            self._inside(x, y, slack - r)
        for x, y, width, height in self.numbers("rect"):
            assert width >= 0
            self._inside(x, y, slack)
            self._inside(x + width, y + height, slack)
        for e in self.all("text"):
            self._inside(float(e.get("x")), float(e.get("y")), slack)

    def _inside(self, x: float, y: float, slack: float) -> None:
        assert self.x0 - slack <= x <= self.x0 + self.wide + slack, (x, y)
        assert self.y0 - slack <= y <= self.y0 + self.tall + slack, (x, y)

    def no_text_on_another(self, style: str = "") -> None:
        texts = self.texts(style)
        for i, a in enumerate(texts):
            for b in texts[:i]:
                assert abs(a.y - b.y) >= 10 or a.right <= b.left + 1 or b.right <= a.left + 1, (a, b)


def corners(d: str) -> list[tuple[float, float]]:
    at, found = (0.0, 0.0), []
    for letter, rest in re.findall(r"([MLHVvhC])([^MLHVvhC]*)", d):
        n = [float(v) for v in re.findall(r"-?\d+\.?\d*", rest)]
        if letter in "Hh":
            points = [(n[0] + (at[0] if letter == "h" else 0.0), at[1])]
        elif letter in "Vv":
            points = [(at[0], n[0] + (at[1] if letter == "v" else 0.0))]
        else:
            points = list(zip(n[::2], n[1::2]))
        found += points
        at = points[-1]
    return found
