"""Cells, names and labels as text for a person: one line, not too long, nothing in it that steers a page."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

LONGEST = 80  # characters of a name, label or value that are shown


def cut(text: Any, most: int = LONGEST) -> str:
    """One line of at most so many characters; what would steer the page (controls, breaks) is written out.

    >>> cut("a\\nb\\x1b"), cut("abcdef", 4)
    ('a\\\\nb\\\\x1b', 'abc…')
    """
    said = text if isinstance(text, str) else shown(text)
    said = said if len(said) <= 4 * most else said[: 4 * most] + "…"  # a megabyte is not looked at whole
    plain = "".join(c if _plain(c) else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in said)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def _plain(c: str) -> bool:
    """Whether a character stands for itself: no control, no break, no half of a pair; marks of direction stay, in <bdi>."""
    return unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp")


def shown(value: Any) -> str:
    """A cell as a person reads it.

    >>> shown(3.0), shown(0.1 + 0.2), shown(True), shown(None), shown("x")
    ('3', '0.3', 'True', '–', 'x')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value.item().__str__() if hasattr(value, "item") else str(value)
