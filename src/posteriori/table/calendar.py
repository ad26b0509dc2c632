"""Dates for people: what a model holds as days since 1970-01-01 is read as a date, and its parts go with it."""

from __future__ import annotations

import datetime
import math
from typing import Any

from .dates import PARTS

EPOCH = datetime.datetime(1970, 1, 1)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
RANGES = {"month": range(1, 13), "weekday": range(7), "hour": range(24)}


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
