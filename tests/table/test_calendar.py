"""Days as dates for people: what pandas says of the same days, whatever the day."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.table.calendar import (
    date_marks,
    date_of,
    date_text,
    dates_in,
    part_of,
    weekday_text,
    weekdays_in,
)
from posteriori.table.dates import PARTS, date_part
from posteriori.table.schema import Column, Schema

seconds = st.integers(-(10**10), 10**10)


@given(seconds)
def test_parts_are_those_that_a_file_s_dates_have(second):
    cell = pd.Timestamp(second, unit="s")
    days = second / 86_400
    for part in PARTS:
        assert part_of(days, part) == date_part(pd.Series([cell]), part)[0]
    assert pd.Timestamp(date_of(days)) == cell
    assert pd.Timestamp(date_text(days)) == cell


@given(st.integers(-700_000, 10**6), st.floats(1e-3, 1e6), st.integers(1, 9))
def test_marks_lie_in_between_in_order_and_say_where_they_are(low, width, most):
    found = date_marks(float(low), low + width, most)
    places = [v for v, _ in found]
    assert places
    assert places == sorted(places)
    assert low <= places[0]
    assert places[-1] <= low + width
    assert len(places) <= max(3 * most + 2, 3)
    assert len({told for _, told in found}) == len(found)
    for v, told in found:
        if len(told) >= 10:
            assert abs((np.datetime64(told) - np.datetime64("1970-01-01")) / np.timedelta64(1, "D") - v) < 1e-4


@pytest.mark.parametrize("value", [None, np.nan, np.inf, "x", 1e300])
def test_what_is_no_date_stays_what_it_is(value):
    found = date_of(value)
    assert found is value or found == value
    assert part_of(value, "month") is None


def schema(*columns):
    return Schema(tuple(Column(name, kind, tuple(values), frozenset(values)) for name, kind, values in columns))


def test_dates_are_told_by_their_parts_or_known():
    parts = ("d", "numeric", ()), ("d.month", "categorical", (1, 5)), ("d.weekday", "categorical", (0, 6))
    found = dates_in(schema(*parts, ("d.year", "numeric", ())))
    assert found == {"d": {"month": "d.month", "weekday": "d.weekday", "year": "d.year"}}
    assert weekdays_in(found) == {"d.weekday"}
    assert dates_in(schema(parts[0], ("d.month", "categorical", (1, 13)))) == {}  # no month
    assert dates_in(schema(parts[0], ("d.year", "numeric", ()))) == {}  # a number beside a number
    assert dates_in(schema(parts[0], ("d.year", "numeric", ())), {"d"}) == {"d": {"year": "d.year"}}
    assert dates_in(schema(("d", "categorical", ("a",)), parts[1])) == {}
    assert dates_in(None, {"d"}) == {"d": {}}


def test_weekdays_have_names():
    assert [weekday_text(v) for v in (0, 6, 7, "0", None)] == ["Mon", "Sun", 7, "0", None]
