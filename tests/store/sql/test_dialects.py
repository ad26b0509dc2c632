"""What each database is told, letter by letter where they differ; DuckDB reads it as it was meant."""

from __future__ import annotations

import dataclasses
import datetime
import math

import duckdb
import numpy as np
import pandas as pd
import pytest

from posteriori.errors import NotStorable
from posteriori.store.sql.dialects import DIALECTS, LOW
from posteriori.table.dates import PARTS, date_part, days

DUCKDB, POSTGRES, SPARK = (DIALECTS[name] for name in ("duckdb", "postgres", "spark"))


def read(expression):
    """What DuckDB makes of an expression."""
    return duckdb.sql(f"SELECT {expression}").fetchall()[0][0]


def test_the_three_of_them():
    assert list(DIALECTS) == [d.name for d in DIALECTS.values()] == ["duckdb", "postgres", "spark"]
    assert [d.folds for d in DIALECTS.values()] == [True, False, True]
    assert LOW == -1e300
    with pytest.raises(dataclasses.FrozenInstanceError):
        DUCKDB.quote = "'"


@pytest.mark.parametrize(
    ("name", "duck", "spark"),
    [
        ("a", '"a"', "`a`"),
        ("", '""', "``"),
        ('a"b', '"a""b"', '`a"b`'),
        ('"', '""""', '`"`'),
        ("a`b", '"a`b"', "`a``b`"),
        ("a'; --", '"a\'; --"', "`a'; --`"),
        ("\\", '"\\"', "`\\`"),
        ("你好", '"你好"', "`你好`"),
    ],
)
def test_names(name, duck, spark):
    assert (DUCKDB.column(name), POSTGRES.column(name), SPARK.column(name)) == (duck, duck, spark)
    if name:
        assert duckdb.sql(f"SELECT 1 AS {DUCKDB.column(name)}").columns == [name]


@pytest.mark.parametrize(
    ("value", "duck", "postgres", "spark"),
    [
        (0.1, "1.00000000000000006e-01", "CAST('0.1' AS float8)", "0.1D"),
        (-2, "-2.00000000000000000e+00", "CAST('-2.0' AS float8)", "-2.0D"),
        (0, "0.00000000000000000e+00", "CAST('0.0' AS float8)", "0.0D"),
        (-math.inf, "-1.00000000000000005e+300", "CAST('-1e+300' AS float8)", "-1e+300D"),
        (np.float64(5e-324), "4.94065645841246544e-324", "CAST('5e-324' AS float8)", "5e-324D"),
    ],
)
def test_numbers(value, duck, postgres, spark):
    assert (DUCKDB.number(value), POSTGRES.number(value), SPARK.number(value)) == (duck, postgres, spark)
    assert read(duck) == (LOW if value == -math.inf else value)


@pytest.mark.parametrize("value", [math.inf, math.nan, np.float64("nan")])
def test_numbers_that_no_query_holds(value):
    for dialect in DIALECTS.values():
        with pytest.raises(NotStorable, match=f"cannot hold the number {value}"):
            dialect.number(value)


def test_one_of_many_numbers():
    numbers = [0.5, -math.inf, -1e-300]
    assert DUCKDB.nth(numbers, "p") == "CAST(string_split('0.5,-1e+300,-1e-300', ',') AS DOUBLE[])[p]"
    assert POSTGRES.nth(numbers, "p") == "(CAST(string_to_array('0.5,-1e+300,-1e-300', ',') AS float8[]))[p]"
    assert SPARK.nth(numbers, "p") == "element_at(from_json('[0.5,-1e+300,-1e-300]', 'array<double>'), p)"
    assert [read(DUCKDB.nth(numbers, str(k))) for k in (1, 2, 3)] == [0.5, LOW, -1e-300]


@pytest.mark.parametrize(
    ("value", "duck", "postgres", "spark"),
    [
        ("a", "'a'", "'a'", "'a'"),
        ("", "''", "''", "''"),
        ("a'b", "'a''b'", "'a''b'", "'a\\'b'"),
        ("a\\b", "'a\\b'", "E'a\\\\b'", "'a\\\\b'"),
        ("\\'", "'\\'''", "E'\\\\'''", "'\\\\\\''"),
        ('a"b`c', "'a\"b`c'", "'a\"b`c'", "'a\"b`c'"),
        (np.str_("é"), "'é'", "'é'", "'é'"),
        (True, "TRUE", "TRUE", "TRUE"),
        (np.bool_(False), "FALSE", "FALSE", "FALSE"),
        (3, "3", "3", "3"),
        (np.int8(-3), "-3", "-3", "-3"),
        (2**63 - 1, "9223372036854775807", "9223372036854775807", "9223372036854775807"),
        (1.5, "1.50000000000000000e+00", "CAST('1.5' AS float8)", "1.5D"),
        (np.float32(0.5), "5.00000000000000000e-01", "CAST('0.5' AS float8)", "0.5D"),
        (datetime.date(2024, 2, 29), *["DATE '2024-02-29'"] * 3),
        (np.datetime64("2024-02-29"), *["DATE '2024-02-29'"] * 3),
        (datetime.datetime(2024, 2, 29, 1, 2, 3), *["TIMESTAMP '2024-02-29 01:02:03'"] * 3),
        (pd.Timestamp("2024-02-29 01:02:03.5"), *["TIMESTAMP '2024-02-29 01:02:03.500000'"] * 3),
    ],
)
def test_values(value, duck, postgres, spark):
    assert [d.literal(value, "a") for d in DIALECTS.values()] == [duck, postgres, spark]
    plain = value.item() if hasattr(value, "item") else value
    assert read(duck) == plain


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, 2),
        b"a",
        2**63,
        -(2**63),
        1j,
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        pd.Timestamp("2024-01-01", tz="UTC"),
        datetime.time(1),
        pd.Interval(0, 1),
    ],
    ids=repr,
)
def test_values_that_no_query_holds_are_named(value):
    for dialect in DIALECTS.values():
        with pytest.raises(NotStorable, match=rf"column 'a' has the value .* which {dialect.name} does not write"):
            dialect.literal(value, "column 'a'")


@pytest.mark.parametrize(("text", "said"), [("a\0b", "has a NUL"), ("\ud83d", "is no legal text")])
def test_texts_that_no_database_holds_are_named(text, said):
    for dialect in DIALECTS.values():
        with pytest.raises(NotStorable, match=f"the name .* {said}"):
            dialect.column(text)
        with pytest.raises(NotStorable, match=f"the text .* {said}"):
            dialect.literal(text, "a")


@pytest.mark.parametrize(
    ("part", "duck", "postgres", "spark"),
    [
        (
            "days",
            "(epoch_us(CAST(c AS timestamp)) / 86400000000)",
            "(CAST(extract(epoch FROM CAST(c AS timestamp)) AS float8) / 86400)",
            "(timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01', CAST(c AS TIMESTAMP_NTZ)) / 86400000000)",
        ),
        (
            "weekday",
            "CAST(extract(isodow FROM CAST(c AS timestamp)) - 1 AS bigint)",
            "CAST(extract(isodow FROM CAST(c AS timestamp)) - 1 AS bigint)",
            "CAST(weekday(CAST(c AS TIMESTAMP_NTZ)) AS bigint)",
        ),
        *(
            (
                part,
                f"CAST(extract({part} FROM CAST(c AS timestamp)) AS bigint)",
                f"CAST(extract({part} FROM CAST(c AS timestamp)) AS bigint)",
                f"CAST(extract({part} FROM CAST(c AS TIMESTAMP_NTZ)) AS bigint)",
            )
            for part in ("year", "month", "hour")
        ),
    ],
)
def test_parts_of_dates(part, duck, postgres, spark):
    assert [d.part_of("c", part) for d in DIALECTS.values()] == [duck, postgres, spark]
    assert part in ("days", *PARTS)
    moments = pd.Series(
        pd.to_datetime(["2024-02-29 13:00:00.000001", "1969-12-28 00:00:00", "2024-01-01 23:59:59"], format="ISO8601")
    )
    t = pd.DataFrame({"c": moments})  # noqa: F841  DuckDB sees it by name
    found = [row[0] for row in duckdb.sql(f"SELECT {duck} FROM t").fetchall()]
    wanted = days(moments.to_numpy()) if part == "days" else date_part(moments, part)
    assert found == np.asarray(wanted).tolist()
