"""Dates are days since 1970-01-01, the same numbers whatever they come from; and for people they are dates again."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from .schema import is_missing

WRITTEN = r"\d{4}[-/]\d{2}[-/]\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?"  # year first: no doubt
PARTS = ("year", "month", "weekday", "hour")  # besides the day itself: what a date is like
DAY = 86_400_000_000  # microseconds
YEAR_FIRST, OPEN = "ISO8601", "?"  # forms of dates: the one that is always understood, and one that cells leave open
CLOCK = r"((?: \d{1,2}:\d{2}(?::\d{2})?)?)"
NUMBERED = rf"(\d{{1,2}})([./-])(\d{{1,2}})\2\d{{4}}{CLOCK}"
NAMED = rf"(?:\d{{1,2}}[ -]|[A-Z])[A-Za-z]{{2,8}}[ -](?:\d{{1,2}}, )?\d{{4}}{CLOCK}"
NAMES = ("%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%d-%B-%Y", "%b %d, %Y", "%B %d, %Y")
MAYBE = re.compile(f"{WRITTEN}|{NUMBERED}|{NAMED}".replace(r"\2", r"[./-]"))  # a word that may be a date
EPOCH = datetime.datetime(1970, 1, 1)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
RANGES = {"month": range(1, 13), "weekday": range(7), "hour": range(24)}


def days(cells: Array) -> Floats:
    """Dates as days since 1970-01-01, spans of time as days: a measurement like any other; a missing one is NaN.

    >>> days(np.array(["1970-01-02T12:00", "NaT"], dtype="datetime64[m]"))
    array([1.5, nan])
    """
    whole = cells.astype(f"{cells.dtype.kind}8[us]").view(np.int64)
    return np.where(np.isnat(cells), np.nan, whole / DAY)


def holds_dates(cells: Array) -> bool:
    """Whether a column of objects is one of Python's own dates, times or spans."""
    first = next((v for v in cells if not is_missing(v)), None)
    return isinstance(first, datetime.date | datetime.timedelta | datetime.time)


def without_dates(column: Any) -> Any:
    """An Arrow column; dates, times and spans of time as days."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_time(column.type):
        return column.cast(pa.time64("us")).cast(pa.int64()).cast(pa.float64()).to_numpy(zero_copy_only=False) / DAY
    return days(column.to_numpy(zero_copy_only=False)) if t.is_temporal(column.type) else column


def date_columns(X: Any) -> set[str]:
    """The columns of a table that are dates, before a frame makes them days."""
    if hasattr(X, "iloc"):
        types = zip(X.columns, X.dtypes)
    elif hasattr(X, "column_names"):
        types = zip(X.column_names, X.schema.types)
    else:
        return set()
    maybe = ((name, dtype) for name, dtype in types if getattr(dtype, "name", "") not in ("float64", "int64", "str"))
    return {str(name) for name, dtype in maybe if str(dtype).startswith(("date", "timestamp"))}


def as_dates(words: Any, form: str) -> Any:
    """A pandas column of words as dates of a form; None where one is none, as the 31st of February."""
    import pandas as pd

    plain = words.str.strip()
    try:
        plain = plain.str.replace("/", "-") if form == YEAR_FIRST else plain
        return plain_dates(pd.to_datetime(plain, format=form, utc=True))
    except (ValueError, OverflowError):
        return None


def date_form(words: Any) -> str | None:
    """How the dates of a column of words are written, `OPEN` where day and month may change places, None if none are.

    >>> import pandas as pd
    >>> [date_form(pd.Series(w)) for w in (["2020-12-31"], ["31.12.2020"], ["1/2/2020", "1/13/2020"], ["5 Dec 2020"])]
    ['ISO8601', '%d.%m.%Y', '%m/%d/%Y', '%d %b %Y']
    >>> date_form(pd.Series(["1/2/2020"])), date_form(pd.Series(["1.5"]))
    ('?', None)
    """
    import pandas as pd

    distinct = pd.Series(words.unique())
    if distinct.str.fullmatch(WRITTEN).all():
        return YEAR_FIRST if as_dates(distinct, YEAR_FIRST) is not None else None
    found = distinct.str.extract(f"^{NUMBERED}$")
    if found.notna().all(axis=None):
        first, second = found[0].astype(int), found[2].astype(int)
        marks, clock = set(found[1]), _clock(found[3])
        if len(marks) > 1 or clock is None:
            return None
        mark = marks.pop()
        days_first, months_first = bool(second.max() <= 12), bool(first.max() <= 12)
        if days_first and months_first and mark != ".":  # with dots the day comes first, wherever they are written
            return OPEN
        forms = [f"%d{mark}%m{mark}%Y{clock}"] if days_first else [f"%m{mark}%d{mark}%Y{clock}"] * (mark != ".")
    else:
        found = distinct.str.extract(f"^{NAMED}$")
        clock = _clock(found[0]) if found.notna().all(axis=None) else None
        forms = [] if clock is None else [name + clock for name in NAMES]
    return next((form for form in forms if as_dates(distinct, form) is not None), None)


def no_dates(words: Any) -> Any:
    """Which of a column's distinct words are no dates of the form that most have; None where most are no dates at all.

    >>> import pandas as pd
    >>> no_dates(pd.Series(["2024-01-31", "2024-02-30", "2024-03-01"])).tolist(), no_dates(pd.Series(["a", "b"]))
    ([False, True, False], None)
    """
    import pandas as pd

    plain = words.str.strip()
    some = plain.iloc[:: max(1, len(plain) // 100)]  # enough to tell what most are
    alike = some.str.fullmatch(MAYBE.pattern)
    if alike.mean() <= 0.5:
        return None
    some = some[alike]
    shapes = some.str.replace(r"\d+", "0", regex=True).str.replace(r"[A-Za-z]+", "a", regex=True)
    one = some[shapes == shapes.mode().iloc[0]].iloc[0]
    if re.fullmatch(WRITTEN, one):
        made = pd.to_datetime(plain.str.replace("/", "-"), format=YEAR_FIRST, utc=True, errors="coerce")
        return made.isna() | ~plain.str.fullmatch(WRITTEN)
    clock = ("", " %H:%M", " %H:%M:%S")[one.count(":")]
    mark = found[2] if (found := re.fullmatch(NUMBERED, one)) else ""
    forms = [f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"] if mark else NAMES
    tried = [pd.to_datetime(plain, format=form + clock, errors="coerce").isna() for form in forms]
    return min(tried, key=lambda odd: int(odd.sum()))


def _clock(times: Any) -> str | None:
    """The form of the times behind dates, one for all."""
    colons = set(times.str.count(":"))
    return ("", " %H:%M", " %H:%M:%S")[colons.pop()] if len(colons) == 1 else None


def as_names(cells: Any) -> Any:
    """Dates as labels: 2020-12-31, with the time where one of them has one; None where it is missing.

    >>> import pandas as pd
    >>> as_names(pd.Series(pd.to_datetime(["2020-12-31", None]))).tolist()
    ['2020-12-31', None]
    """
    form = "%Y-%m-%d" if (cells.dropna() == cells.dropna().dt.normalize()).all() else "%Y-%m-%dT%H:%M:%S"
    return cells.dt.strftime(form).astype(object).where(cells.notna(), None).to_numpy()


def plain_dates(cells: Any) -> Any:
    """Dates and times as microseconds of UTC, without a zone: what every format can hold."""
    cells = cells.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(cells.dt, "tz", None) is not None else cells
    return cells.astype("datetime64[us]")


def date_part(cells: Any, part: str) -> Any:
    """The year, month (1 to 12), weekday (0, Monday, to 6) or hour of a pandas column of dates; None where it is missing.

    >>> import pandas as pd
    >>> date_part(pd.Series(pd.to_datetime(["2026-11-17", None])), "weekday").tolist()
    [1, None]
    """
    found = getattr(cells.dt, "day_of_week" if part == "weekday" else part)
    made = np.empty(len(found), dtype=object)
    made[:] = [None if v != v else int(v) for v in found.tolist()]
    return made


def date_of(days: Any) -> Any:
    """Days since 1970-01-01 as a date, or as a date with its time (to a second); a number that is none stays what it is.

    >>> str(date_of(18271.0)), str(date_of(18271.5)), date_of(1e9), date_of(None)
    ('2020-01-10', '2020-01-10 12:00:00', 1000000000.0, None)
    """
    if not isinstance(days, int | float) or not math.isfinite(days):
        return days
    try:
        found = EPOCH + datetime.timedelta(seconds=round(days * 86_400))
    except OverflowError:
        return days
    return found.date() if float(days).is_integer() else found


def date_text(days: float) -> str:
    """The same as text, without seconds that are none.

    >>> date_text(18271), date_text(18271.5), date_text(18271.00001)
    ('2020-01-10', '2020-01-10 12:00', '2020-01-10 00:00:01')
    """
    found = date_of(days)
    if isinstance(found, datetime.datetime):
        return found.strftime("%Y-%m-%d %H:%M" if not found.second else "%Y-%m-%d %H:%M:%S")
    return f"{found:.6g}" if isinstance(found, float) else str(found)


def part_of(days: Any, part: str) -> int | None:
    """The year, month (1 to 12), weekday (0, Monday, to 6) or hour of a day; None of what is no date.

    >>> [part_of(18271.5, part) for part in ("year", "month", "weekday", "hour")]
    [2020, 1, 4, 12]
    """
    found = date_of(days)
    if not isinstance(found, datetime.date):
        return None
    if part == "hour":
        return found.hour if isinstance(found, datetime.datetime) else 0
    return found.weekday() if part == "weekday" else int(getattr(found, part))


def dates_in(schema: Any, known: Any = ()) -> dict[str, dict[str, str]]:
    """The columns that are dates, each with its parts: {"when": {"month": "when.month"}}.

    Dates are those that are `known`, those that the schema was read with, and, of a schema that says nothing, numbers
    beside which columns named as their parts stand, with values that such parts have.
    """
    if schema is None:
        return {str(name): {} for name in known}
    reading = getattr(schema, "reading", None)
    told = {str(name) for name in known} | {str(name) for name, _ in getattr(reading, "dates", ())}
    found: dict[str, dict[str, str]] = {name: {} for name in schema.names if name in told}
    for column in schema.columns:
        stem, dot, part = column.name.rpartition(".")
        if not dot or part not in PARTS or stem not in schema.names or schema[stem].kind != "numeric":
            continue
        if stem in told or (part in RANGES and column.values and all(v in RANGES[part] for v in column.values)):
            found.setdefault(stem, {})[part] = column.name
    for stem, parts in found.items():  # years are numbers like others: of a date that is known they are its own
        if f"{stem}.year" in schema.names:
            parts["year"] = f"{stem}.year"
    return found


def weekdays_in(dates: dict[str, dict[str, str]]) -> frozenset[str]:
    """The columns that are weekdays of dates."""
    return frozenset(parts["weekday"] for parts in dates.values() if "weekday" in parts)


def weekday_text(value: Any) -> Any:
    """0 is Monday; a value that is no weekday stays what it is.

    >>> weekday_text(0), weekday_text("x")
    ('Mon', 'x')
    """
    return WEEKDAYS[int(value)] if value in RANGES["weekday"] else value


def date_marks(low: float, high: float, most: int = 5) -> list[tuple[float, str]]:
    """At most about `most` dates between two days, at the beginnings of years, months, days or hours, each with its text.

    >>> date_marks(18262, 18992, 4)
    [(18262.0, '2020'), (18628.0, '2021')]
    """
    return _marks(low, high, most) or [(low, date_text(low)), (high, date_text(high))]


def _marks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    first, last = date_of(float(low)), date_of(float(high))
    if not isinstance(first, datetime.date) or not isinstance(last, datetime.date):
        return []
    width = (high - low) / most
    if 10 < width <= 150:
        step = next(s for s in (1, 2, 3, 6) if 25 * s >= width)
        at = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
        return _between(low, high, [(m // 12, m % 12 + 1) for m in at if m % step == 0], "%Y-%m")
    if width > 150:
        gap = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if 366 * s >= width)
        return _between(low, high, [(y, 1) for y in range(first.year, last.year + 1) if y % gap == 0 and y], "%Y")
    if width > 0.4:
        gap = next(s for s in (1, 2, 5, 7, 14) if s >= width * 0.99)
        found = [float(d) for d in range(math.ceil(low), math.floor(high) + 1) if (d - math.ceil(low)) % gap == 0]
        return [(d, date_text(d)) for d in found]
    hours = next(s for s in (1, 2, 3, 6, 12) if s >= 24 * width * 0.99)
    return [
        (h / 24, date_text(h / 24)) for h in range(math.ceil(24 * low), math.floor(24 * high) + 1) if h % hours == 0
    ]


def _between(low: float, high: float, at: list[tuple[int, int]], form: str) -> list[tuple[float, str]]:
    found = []
    for year, month in at:
        begin = datetime.datetime(year, month, 1)
        days = (begin - EPOCH) / datetime.timedelta(days=1)
        if low <= days <= high:
            found.append((days, begin.strftime(form)))
    return found
