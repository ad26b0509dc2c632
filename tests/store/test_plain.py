"""Plain values: what comes back is the same value of the same type, and a file cannot ask for anything else."""

from __future__ import annotations

import datetime
import fractions
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import ModelFileError
from posteriori.store.plain import PLAIN, read_plain, write_plain

VALUES = st.one_of(
    st.binary(max_size=20),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.uuids(),
    st.integers(-128, 127).map(np.int8),
    st.integers(0, 2**64 - 1).map(np.uint64),
    st.floats().map(np.float64),
    st.floats(width=32).map(np.float32),
    st.booleans().map(np.bool_),
    st.integers(-(2**62), 2**62).map(lambda n: np.datetime64(n, "ns")),
    st.integers(-(2**62), 2**62).map(lambda n: np.timedelta64(n, "us")),
)


@given(VALUES)
def test_a_plain_value_comes_back_through_json(value):
    said = write_plain(value)
    if getattr(value, "fold", 0):  # the second of two hours is not written: such a value is refused by name
        assert said is None
        return
    assert said is not None
    said = json.loads(json.dumps(said))
    back = read_plain(said.pop("is"), said)
    assert type(back) is type(value)
    assert repr(back) == repr(value)


def test_streams_go_on_where_they_were():
    for stream in (np.random.RandomState(3), np.random.default_rng(3)):
        stream.normal(size=7)
        said = json.loads(json.dumps(write_plain(stream)))
        twin = read_plain(said.pop("is"), said)
        assert twin.normal(size=5).tolist() == stream.normal(size=5).tolist()
    assert write_plain(np.random.Generator(np.random.MT19937(0))) is None


def test_what_is_no_plain_value_has_no_tag():
    class Timestamp(pd.Timestamp):
        pass

    for value in (object(), [1], {"a": 1}, complex(1), np.complex128(1), type("date", (), {})()):
        assert write_plain(value) is None


@pytest.mark.parametrize(
    ("tag", "of"),
    [
        ("bytes", "zz"),
        ("date", "2024-02-30"),
        ("date", 5),
        ("date", "x" * 20_000),
        ("timedelta", "3"),
        ("timedelta", [[1]]),
        ("Fraction", [1, 0]),
        ("int8", 300),
        ("int8", True),
        ("float64", [1]),
        ("datetime64", [1, "us"]),
        ("datetime64", [1, "fortnights", 1]),
        ("datetime64", [2**70, "us", 1]),
        ("Timestamp", [1, "us", "Mars/Olympus"]),
        ("RandomState", [[1, 2], 0, 0, 0.0]),
        ("RandomState", [[0] * 624, 625, 0, 0.0]),
        ("Generator", ["PCG64", 1, 2, 0, 0]),
        ("Generator", ["os.system", 1, 1, 0, 0]),
        ("RandomState", [[0] * 624, -1, 0, 0.0]),
        ("RandomState", [[0] * 624, 1.0, 0, 0.0]),
        ("RandomState", [[0] * 624, 0, 2, 0.0]),
        *(("Generator", ["PCG64", number, 1, 0, 0]) for number in (-1, 2**128, 1.0, True)),
        *(("Generator", ["PCG64", 1, step, 0, 0]) for step in (-1, 2**128 + 1, 1.0, 2)),
        *(("Generator", ["PCG64", 1, 1, 0, last]) for last in (-1, 2**32, 1.0)),
        ("Generator", ["PCG64", 1, 1, 2, 0]),
    ],
)
def test_no_other_value_can_be_asked_for(tag, of):
    with pytest.raises((ModelFileError, ValueError, TypeError, OverflowError, ArithmeticError)):
        read_plain(tag, {"of": of})


def test_a_plain_value_has_one_field():
    with pytest.raises(ModelFileError, match="field 'of' alone"):
        read_plain("date", {"of": "2024-01-01", "more": 1})
    assert set(PLAIN) >= {"date", "Decimal", "Generator"}
    assert read_plain("date", {"of": "2024-02-29"}) == datetime.date(2024, 2, 29)
    assert read_plain("Fraction", {"of": [1, 3]}) == fractions.Fraction(1, 3)


@pytest.mark.parametrize(("number", "step", "last"), [(0, 1, 0), (2**128 - 1, 2**128 - 1, 2**32 - 1)])
def test_a_stream_may_stand_at_either_end(number, step, last):
    read_plain("Generator", {"of": ["PCG64", number, step, 1, last]}).random()
    read_plain("RandomState", {"of": [[7] * 624, 624, 1, 0.5]}).random_sample()
    read_plain("RandomState", {"of": [[7] * 624, 0, 0, 0.0]}).random_sample()
