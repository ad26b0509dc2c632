"""Dates are days since 1970-01-01, the same numbers whatever they come from: files, pandas, Arrow, NumPy, Python."""

from __future__ import annotations

import datetime
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
