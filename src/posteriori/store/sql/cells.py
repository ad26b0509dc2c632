"""A cell of a table in the type that the model reads: a text, a number, a moment; or the end of the query, with a name.

What type a column has is asked of the database: a type that says the same is cast, any other is an error with the name of
the column. Of words a type says the same where each of its cells is one of them in one way alone: TRUE and FALSE are yes
and no, 7 is 07, a date is the word that writes it, and the padding of a char is no part of a word.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ...errors import NotStorable
from ...table.dates import WRITTEN
from ...table.schema import MEASURED, NUMBER, Column, Reading
from .dialects import Dialect

PAIRS = (("false", "true"), ("f", "t"), ("no", "yes"), ("n", "y"), ("off", "on"), ("0", "1"))  # FALSE, TRUE as words
FLOAT = "[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])"
MOMENT = "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?"
T = TypeVar("T")
WHOLE = 1 << 53  # beyond, float64 does not hold every whole number


def need(column: Column) -> str:
    """What the model reads of a column: "number", "whole" (more digits than a float has), "word" or "moment"."""
    values: tuple[Any, ...] = column.values
    types = {type(v.item() if hasattr(v, "item") else v) for v in values}
    if column.kind in MEASURED:
        return "number"
    if types <= {str}:
        return "word"
    if types <= {int} and any(abs(v) > WHOLE for v in values):
        return "whole"
    if types <= {int, float} or types == {bool}:
        return "number"
    if len(types) == 1 and issubclass(next(iter(types)), datetime.date):
        return "moment"
    names = ", ".join(sorted(t.__name__ for t in types))
    raise NotStorable(
        f"column {column.name!r:.50} has values of several types ({names}); a column of a database has one"
    )


def cell_of(column: Column, reading: Reading | None, d: Dialect) -> str:
    """The cell of a column, NULL where it is missing; `reading` is that of the model's own file."""
    wanted = need(column)
    if wanted == "word":
        return _word(column, d)
    if wanted == "moment":
        return moment(column.name, d)
    gaps = [d.no_number] if wanted == "number" else []
    if reading and column.kind in MEASURED:
        gaps += [d.number(n) for n in reading.told_numbers.values() if np.isfinite(n)]
    found = _number(column, reading.gaps if reading else (), d, wanted == "whole")
    for gap in gaps:
        found = f"NULLIF({found}, {gap})"
    return found


def moment(name: str, d: Dialect) -> str:
    """The date and time of a column, that of UTC where it has a zone."""
    cell = d.column(name)
    text = d.trimmed(cell)
    return _cases(
        cell,
        [
            (d.is_a("zoned", cell), d.in_utc(cell)),
            (d.is_a("moment", cell), d.moment(d.iso(cell))),
            (d.matches(text, MOMENT), d.moment(f"REPLACE({text}, '/', '-')")),
        ],
        d.fail(f"column {name!r:.50} must be a date or time (texts: year first), and is ", cell, d.time),
    )


def _number(column: Column, gaps: Iterable[str], d: Dialect, whole: bool) -> str:
    """A number; TRUE is 1, and texts are numbers where they are written as one."""
    cell, values, kind = d.column(column.name), column.values, d.whole_type if whole else d.double
    text, number, what = d.trimmed(cell), d.whole(cell) if whole else d.float(cell), f"column {column.name!r:.50}"
    fail = d.fail(f"{what} must hold numbers, and has another text; it is ", cell, kind)
    branches = [(d.is_a("boolean", cell), f"CASE {d.words(cell)} WHEN 'true' THEN 1 ELSE 0 END")]
    narrow = [float(v) for v in values if isinstance(v, float) and abs(v) < 3e38]
    if any(float(np.float32(v)) != v for v in narrow):  # 0.1 of single precision is another number
        singles = _inverse(narrow, lambda v: float(np.float32(v)))
        branches.append((d.is_a("single", cell), _mapped(number, singles, d, number) if singles else fail))
    branches.append((d.is_a("number", cell), number))
    dates = f"{what} must be a number: a date is one where it is among `dates` (--date); it is "
    branches.append((d.is_a("moment", cell), d.fail(dates, cell, kind)))
    if values and all(isinstance(v, bool | np.bool_) for v in values):
        branches += [(f"lower({text}) IN ({_listed((p[k] for p in PAIRS), d)})", str(k)) for k in (0, 1)]
    if gaps:
        branches.append((f"{text} IN ({_listed(gaps, d)})", "NULL"))
    return _cases(cell, [*branches, (d.matches(text, FLOAT), number)], fail)


def _word(column: Column, d: Dialect) -> str:
    """A text; of another type the word of the model that says the same."""
    cell, words = d.column(column.name), list(map(str, column.values))
    text = d.words(cell)
    if not words:
        return text
    ways: list[tuple[str, str, dict[Any, str]]] = [
        ("boolean", text, _truths(words)),
        ("number", d.float(cell), _inverse(words, _number_in)),
        ("moment", d.moment(d.iso(cell)), _inverse(words, _moment_in)),
        ("bytes", text, {}),
    ]
    if any(w.endswith(" ") for w in words):  # elsewhere blanks at the end are gone with the cast
        ways.append(("padded", text, _inverse(words, lambda w: w.rstrip(" "))))
    fail = d.fail(f"column {column.name!r:.50} must be text as in training, and is ", cell, d.text)
    branches = [(d.is_a(kind, cell), _mapped(read, said, d, text) if said else fail) for kind, read, said in ways]
    return _cases(cell, branches, text)


def _truths(words: list[str]) -> dict[Any, str]:
    """The words of FALSE and TRUE, if one pair is among the words, once."""
    found: dict[Any, str] = {}
    for pair in PAIRS:
        spelled = [w for w in words if w.casefold() in pair]
        if {w.casefold() for w in spelled} == set(pair):
            if found or len(spelled) > 2:
                return {}
            found = {str(w.casefold() == pair[1]).lower(): w for w in spelled}
    return found


def _number_in(word: str) -> float | None:
    return float(word) if NUMBER.fullmatch(word) and abs(float(word)) <= WHOLE else None


def _moment_in(word: str) -> datetime.datetime | None:
    if not re.fullmatch(WRITTEN, word):
        return None
    try:
        found = datetime.datetime.fromisoformat(word.replace("/", "-"))
    except ValueError:  # the 31st of February
        return None
    return found.astimezone(datetime.UTC).replace(tzinfo=None) if found.tzinfo else found


def _inverse(words: Iterable[T], read: Callable[[T], Any]) -> dict[Any, T]:
    """{what is read: the word}, empty where two words are read alike."""
    pairs = [(said, word) for word in words if (said := read(word)) is not None]
    found = dict(pairs)
    return found if len(found) == len(pairs) else {}


def _mapped(read: str, said: dict[Any, Any], d: Dialect, otherwise: str) -> str:
    some = "".join(f" WHEN {d.literal(v, 'a cell')} THEN {d.literal(w, 'a cell')}" for v, w in said.items())
    return f"CASE {read}{some} ELSE {otherwise} END"


def _listed(words: Iterable[str], d: Dialect) -> str:
    return ", ".join(d.literal(w, "a cell") for w in words)


def _cases(cell: str, branches: list[tuple[str, str]], otherwise: str) -> str:
    some = "".join(f" WHEN {when} THEN {then}" for when, then in branches)
    return f"CASE WHEN {cell} IS NULL THEN NULL{some} ELSE {otherwise} END"
