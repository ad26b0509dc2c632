"""Dates are days since 1970-01-01, the same numbers whatever they come from: files, pandas, Arrow, NumPy, Python."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from .schema import is_missing

WRITTEN = r"\d{4}[-/]\d{2}[-/]\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?"  # year first: no doubt
PARTS = ("year", "month", "weekday", "hour")  # besides the day itself: what a date is like
DAY = 86_400_000_000  # microseconds


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


def as_dates(words: Any) -> Any:
    """A pandas column of words as dates, where all are written year first; else None."""
    import pandas as pd

    if not words.str.fullmatch(WRITTEN).all():
        return None
    try:
        return plain_dates(pd.to_datetime(words.str.replace("/", "-"), format="ISO8601", utc=True))
    except (ValueError, OverflowError):  # the 31st of February
        return None


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
