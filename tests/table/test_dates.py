"""Dates are days, whatever they come from, and what a date is like is what the calendar says."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.table.dates import (
    YEAR_FIRST,
    as_dates,
    date_columns,
    date_form,
    date_part,
    days,
    holds_dates,
    plain_dates,
    without_dates,
)
from posteriori.table.frame import open_frame

moments = st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1))
EPOCH = datetime.datetime(1970, 1, 1)


@given(st.lists(st.one_of(st.none(), moments), min_size=1, max_size=5), st.sampled_from(["us", "ns"]))
def test_days_since_1970(cells, unit):
    wanted = [np.nan if c is None else (c - EPOCH) / datetime.timedelta(days=1) for c in cells]
    array = np.array(
        [np.datetime64("NaT") if c is None else np.datetime64(c) for c in cells], dtype=f"datetime64[{unit}]"
    )
    assert days(array) == pytest.approx(wanted, nan_ok=True, abs=1e-9)
    assert without_dates(pa.array(cells, type=pa.timestamp("us"))) == pytest.approx(wanted, nan_ok=True, abs=1e-9)
    series = pd.Series(pd.to_datetime(pd.Series(cells, dtype="datetime64[us]")))
    for part, of in (("year", "year"), ("month", "month"), ("hour", "hour")):
        assert date_part(series, part).tolist() == [None if c is None else getattr(c, of) for c in cells]
    assert date_part(series, "weekday").tolist() == [None if c is None else c.weekday() for c in cells]


def test_spans_and_times_of_day():
    assert days(np.array([36], dtype="timedelta64[h]")).tolist() == [1.5]
    assert without_dates(pa.array([datetime.time(12, 0)])).tolist() == [0.5]
    assert without_dates(pa.array([datetime.time(6, 0)], type=pa.time32("s"))).tolist() == [0.25]
    assert without_dates(pa.array([datetime.date(1970, 1, 11)])).tolist() == [10.0]
    plain = pa.array([1, 2])
    assert without_dates(plain) is plain


@pytest.mark.parametrize(
    ("cells", "are"),
    [
        ([None, datetime.date(2020, 1, 1)], True), ([datetime.timedelta(1)], True), ([datetime.time(1)], True),
        ([float("nan"), datetime.datetime(2020, 1, 1)], True), (["2020-01-01"], False), ([None], False), ([3], False),
    ],
)  # fmt: skip
def test_python_s_own_dates(cells, are):
    assert holds_dates(np.array(cells, dtype=object)) == are


def test_columns_of_dates():
    frame = pd.DataFrame(
        {"d": pd.to_datetime(["2020-01-01"]), "x": [1.5], "n": [1], "w": ["a"], "span": pd.to_timedelta([1], "D")}
    )
    assert date_columns(frame) == {"d"}
    assert date_columns(pa.table({"d": pa.array([datetime.date(2020, 1, 1)]), "x": [1.0]})) == {"d"}
    assert date_columns({"d": [1]}) == set()
    zoned = pd.DataFrame({"z": pd.to_datetime(["2020-01-01"]).tz_localize("UTC"), 5: [1]})
    assert date_columns(zoned) == {"z"}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["2020-01-31", "1999/12/01"], ["2020-01-31T00:00", "1999-12-01T00:00"]),
        (["2020-01-31 10:30", "2020-01-31T10:30:15.5"], ["2020-01-31T10:30", "2020-01-31T10:30:15.5"]),
        (["2020-01-31T10:30Z", "2020-01-31T10:30+02:00"], ["2020-01-31T10:30", "2020-01-31T08:30"]),
        (["2020-02-31"], None), (["2020-1-1"], None), (["2020-01-31", "soon"], None),
    ],
)  # fmt: skip
def test_words_that_are_dates(words, wanted):
    form = date_form(pd.Series(words))
    assert form == (None if wanted is None else YEAR_FIRST)
    if wanted is not None:
        found = as_dates(pd.Series(words), form)
        assert found.to_numpy().tolist() == np.array(wanted, dtype="datetime64[us]").tolist()
        assert str(found.dtype) == "datetime64[us]"


def test_zones_are_taken_out():
    zoned = pd.Series(pd.to_datetime(["2020-06-01 12:00"])).dt.tz_localize("Europe/Berlin")
    assert plain_dates(zoned).tolist() == [pd.Timestamp("2020-06-01 10:00")]
    assert plain_dates(pd.Series(pd.to_datetime(["2020-06-01"]))).dtype == "datetime64[us]"


@pytest.mark.parametrize(
    "form", [list, tuple, lambda c: np.array(c, dtype=object), lambda c: pd.Series(c, dtype=object), pa.array]
)
def test_dates_of_a_dict_are_days_in_any_form(form):
    cells = [datetime.datetime(1970, 1, 2, 12), None, datetime.datetime(1969, 12, 31)]
    column = open_frame({"d": form(cells)}).column(0)
    assert np.asarray(column, dtype=float) == pytest.approx([1.5, np.nan, -1.0], nan_ok=True)
    assert np.asarray(open_frame({"d": form([datetime.date(1970, 1, 11)])}).column(0)).tolist() == [10.0]


def test_cells_that_will_not_say_are_passed_over():
    assert holds_dates(np.array([pd.NA, pd.NaT, datetime.date(2020, 1, 1)], dtype=object))
    assert not holds_dates(np.array([pd.NA, "x"], dtype=object))
