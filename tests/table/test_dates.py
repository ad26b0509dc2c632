"""Dates are days, whatever they come from; for people they are dates again, with parts, and marks on an axis."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.table.dates import (
    PARTS,
    YEAR_FIRST,
    as_dates,
    date_columns,
    date_form,
    date_marks,
    date_of,
    date_part,
    date_text,
    dates_in,
    days,
    holds_dates,
    part_of,
    plain_dates,
    weekday_text,
    weekdays_in,
    without_dates,
)
from posteriori.table.frame import open_frame
from posteriori.table.schema import Column, Reading, Schema

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


def day(text):
    return float((np.datetime64(text, "s") - np.datetime64("1970-01-01")) / np.timedelta64(1, "D"))


@pytest.mark.parametrize(
    ("low", "high", "most", "texts"),
    [
        ("2019-06-01", "2023-06-01", 4, ["2020", "2021", "2022", "2023"]),
        ("2019-06-01", "2023-06-01", 3, ["2020", "2022"]),  # 487 days each: every second year
        ("2000-01-01", "2024-01-02", 5, ["2000", "2005", "2010", "2015", "2020"]),
        ("2020-01-15", "2020-05-15", 5, ["2020-02", "2020-03", "2020-04", "2020-05"]),
        ("2019-12-01", "2020-12-15", 8, ["2020-01", "2020-03", "2020-05", "2020-07", "2020-09", "2020-11"]),
        ("2019-12-01", "2021-12-15", 6, ["2020-01", "2020-07", "2021-01", "2021-07"]),
        ("2020-01-01", "2020-01-05", 5, ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04", "2020-01-05"]),
        ("2020-01-01", "2020-01-09", 5, ["2020-01-01", "2020-01-03", "2020-01-05", "2020-01-07", "2020-01-09"]),
        ("2020-01-01T12:00", "2020-01-21", 4, ["2020-01-02", "2020-01-07", "2020-01-12", "2020-01-17"]),
        ("2020-01-01T01:30", "2020-01-01T06:30", 5, [f"2020-01-01 0{h}:00" for h in (2, 3, 4, 5, 6)]),
        ("2020-01-01T01:30", "2020-01-01T12:30", 5, [f"2020-01-01 {h:02d}:00" for h in (3, 6, 9, 12)]),
        ("2020-01-01T20:00", "2020-01-02T12:10", 2, ["2020-01-02", "2020-01-02 12:00"]),
        (
            "2020-01-01T01:10",
            "2020-01-01T01:20",
            5,
            ["2020-01-01 01:10", "2020-01-01 01:20"],
        ),  # no hour begins: both ends
    ],
)
def test_marks_are_round_dates(low, high, most, texts):
    found = date_marks(day(low), day(high), most)
    assert [told for _, told in found] == texts
    for at, told in found:
        assert at == pytest.approx(
            day(told if len(told) > 7 else f"{told}-01-01" if len(told) == 4 else f"{told}-01"), abs=1e-9
        )


def test_marks_of_what_is_no_date_are_its_ends():
    assert date_marks(1e9, 2e9) == [(1e9, "1e+09"), (2e9, "2e+09")]
    assert date_marks(18262.0, 2e9) == [(18262.0, "2020-01-01"), (2e9, "2e+09")]


def test_a_day_is_a_date_and_a_part_of_it_a_time():
    assert date_of(18271) == datetime.date(2020, 1, 10)
    assert type(date_of(18271.0)) is datetime.date
    assert date_of(18271 + 1.4 / 86_400) == datetime.datetime(2020, 1, 10, 0, 0, 1)  # to a second
    assert date_text(18271 + 61 / 86_400) == "2020-01-10 00:01:01"
    assert date_text(18271 + 60 / 86_400) == "2020-01-10 00:01"
    assert date_text(1e9) == "1e+09"
    assert part_of(18271, "hour") == 0
    assert part_of("x", "hour") is None


def test_dates_are_those_that_were_read_so():
    columns = (
        ("d", "numeric", ()),
        ("d.month", "categorical", ()),
        ("e", "numeric", ()),
        ("e.hour", "categorical", (0, 23)),
    )
    read = dataclasses.replace(schema(*columns), reading=Reading(dates=(("d", "ISO8601"),)))
    assert dates_in(read) == {"d": {"month": "d.month"}, "e": {"hour": "e.hour"}}  # e by the values of its part
    assert dates_in(schema(*columns)) == {"e": {"hour": "e.hour"}}
    assert dates_in(schema(("e", "numeric", ()), ("e.hour", "categorical", (0, 24)))) == {}
    assert dates_in(schema(("e", "numeric", ()), ("e.size", "categorical", (0, 3)))) == {}
    assert dates_in(schema(("e.hour", "categorical", (0, 3)))) == {}
    assert dates_in(schema(("d", "numeric", ())), {"x"}) == {}
    assert weekdays_in({"a": {"weekday": "a.weekday"}, "b": {"month": "b.month"}}) == {"a.weekday"}
