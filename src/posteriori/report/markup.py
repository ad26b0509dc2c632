"""Text on its way into a page: sentences in two languages, numbers, templates that escape what is put in.

Names and values of the data come as one line that is not too long (`cut`); `Markup` marks what is HTML already.
"""

from __future__ import annotations

import functools
import json
import math
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..explain.whatif import LONGEST, cut

if TYPE_CHECKING:
    from jinja2 import Environment

LANGUAGES = ("en", "zh")


def static(file: str) -> str:
    """The text of a style sheet or a script."""
    return _file("static", file)


def _file(*path: str) -> str:
    return resources.files(__package__).joinpath(*path).read_text(encoding="utf-8")


def _words() -> dict[str, tuple[str, ...]]:
    english, *others = (json.loads(_file("words", f"{language}.json")) for language in LANGUAGES)
    return {key: (said, *(other[key] for other in others)) for key, said in english.items()}


WORDS = _words()  # key → the sentence in each language; {0}, {1} are filled in


@functools.cache
def _templates() -> Environment:
    """The templates; their line breaks and indentation are for who reads them: a page has nothing between two tags."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(file: str) -> str:
        return re.sub(r"\n *(.)", lambda m: ("" if m[1] in "<{" else " ") + m[1], _file("templates", file).rstrip())

    made = Environment(autoescape=True, loader=FunctionLoader(load), undefined=StrictUndefined)
    made.globals |= {"say": say, "name": name, "percent": percent, "figure": figure, "amount": amount, "cut": cut}
    made.globals |= {"words": WORDS, "data_block": data_block}
    return made


def render(file: str, macro: str, *values: Any, **more: Any) -> Markup:
    """A piece of a page: a macro of `templates/{file}.html`, filled in."""
    return Markup(getattr(_templates().get_template(f"{file}.html").module, macro)(*values, **more))


def name(text: Any) -> Markup:
    """A name from the data, in its own direction: right-to-left text does not turn what stands around it.

    >>> name("<b>")
    Markup('<bdi>&lt;b&gt;</bdi>')
    """
    said = "" if text is None else str(text)
    tip = Markup(' title="{}"').format(cut(said, 400)) if len(said) > LONGEST else ""
    return Markup("<bdi{}>{}</bdi>").format(tip, cut(said))


def say(key: str, *parts: Any, tag: str = "span", **attributes: str) -> Markup:
    """A sentence of the dictionary in an element that the page can turn into the other language.

    >>> print(say("rows", 12))
    <span data-w="rows" data-a="[&#34;12&#34;]">12 rows</span>
    """
    said = {"data-w": key}
    told = [cut(p, 300) for p in parts]
    if told:
        said["data-a"] = json.dumps(told, ensure_ascii=False)
    said |= {k.rstrip("_"): v for k, v in attributes.items()}
    inside = "".join(f' {k}="{escape(v)}"' for k, v in said.items())
    return Markup(f"<{tag}{inside}>{escape(fill(WORDS[key][0], told))}</{tag}>")


def fill(sentence: str, parts: list[str]) -> str:
    """{0}, {1}, … replaced, once: what comes from the data is not read again."""
    out = []
    for i, piece in enumerate(sentence.split("{")):
        number, brace, rest = piece.partition("}")
        out.append(piece if not i else parts[int(number)] + rest if brace and number.isdigit() else "{" + piece)
    return "".join(out)


def data_block(identity: str, value: Any) -> Markup:
    """JSON that the page's script reads: no character of it can end the element or open another."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return Markup(f'<script type="application/json" id="{identity}">{text}</script>')


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


def amount(n: float) -> str:
    """How many rows; a weight where they are weighed.

    >>> amount(12345.0), amount(2.5)
    ('12,345', '2.5')
    """
    return f"{n:,.0f}" if n == round(n) else f"{n:,.4g}"
