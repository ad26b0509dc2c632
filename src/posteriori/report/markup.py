"""Text on its way into a page: all that comes from data is escaped, cut and kept to its own direction."""

from __future__ import annotations

import html
import json
import math
from typing import Any

from ..explain.whatif import LONGEST, cut, shown
from .words import WORDS

__all__ = ["cut", "data_block", "esc", "figure", "fill", "name", "percent", "say", "shown"]


def esc(text: Any, most: int = LONGEST) -> str:
    """Text for an element or a quoted attribute.

    >>> esc('<b> "x"')
    '&lt;b&gt; &quot;x&quot;'
    """
    return html.escape(cut(text, most))


def name(text: Any) -> str:
    """A name from the data, in its own direction: right-to-left text does not turn what stands around it."""
    said = "" if text is None else str(text)
    tip = f' title="{esc(said, 400)}"' if len(said) > LONGEST else ""
    return f"<bdi{tip}>{esc(said)}</bdi>"


def say(key: str, *parts: Any, tag: str = "span", more: str = "") -> str:
    """A sentence of the dictionary in an element that the page can turn into the other language.

    >>> say("rows", 12)
    '<span data-w="rows" data-a="[&quot;12&quot;]">12 rows</span>'
    """
    told = [cut(p, 300) for p in parts]
    args = f' data-a="{html.escape(json.dumps(told, ensure_ascii=False))}"' if told else ""
    return f'<{tag} data-w="{key}"{args}{more}>{html.escape(fill(WORDS[key][0], told))}</{tag}>'


def fill(sentence: str, parts: list[str]) -> str:
    """{0}, {1}, … replaced, once: what comes from the data is not read again."""
    out = []
    for i, piece in enumerate(sentence.split("{")):
        number, brace, rest = piece.partition("}")
        out.append(piece if not i else parts[int(number)] + rest if brace and number.isdigit() else "{" + piece)
    return "".join(out)


def data_block(identity: str, value: Any) -> str:
    """JSON that the page's script reads: no character of it can end the element or open another."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return f'<script type="application/json" id="{identity}">{text}</script>'


def percent(share: float, digits: int = 1) -> str:
    """A share as people say it; what is not 0 or 1 does not look like it.

    >>> percent(0.123), percent(1.0), percent(0.99999), percent(0.00001), percent(0.0)
    ('12.3%', '100%', '>99.9%', '<0.1%', '0%')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    least = 10.0 ** -(digits + 2)
    if share < least / 2:
        return f"<{least:.{digits}%}"
    return f">{1 - least:.{digits}%}" if share > 1 - least / 2 else f"{share:.{digits}%}"


def figure(value: float, digits: int = 3) -> str:
    """A number of a few digits; – where there is none.

    >>> figure(0.12345), figure(12345.6), figure(float("nan")), figure(1e-9), figure(0.0)
    ('0.123', '12,346', '–', '1.00e-09', '0')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 0.5 * 10**-digits:
        return f"{value:.2e}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.{digits}f}" if size < 100 else f"{value:.1f}"
