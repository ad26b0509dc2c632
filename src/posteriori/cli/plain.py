"""Text from data as text: nothing in it moves a cursor, colours a line, turns its direction or begins a formula."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, line and paragraph separators, and marks that turn the direction of what follows
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(text: object) -> str:
    r"""The text on one line, its controls written out.

    >>> plain("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    return CONTROLS.sub(_written, str(text))


def _written(found: re.Match[str]) -> str:
    mark = found[0]
    return NAMED.get(mark) or (f"\\x{ord(mark):02x}" if ord(mark) < 256 else f"\\u{ord(mark):04x}")


def cut(text: object, most: int) -> str:
    """`plain`, and no longer than `most` characters.

    >>> cut("abcdef", 4)
    'abc…'
    """
    said = plain(text)
    return said if len(said) <= most else said[: most - 1] + "…"
