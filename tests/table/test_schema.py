"""A schema is a value: united by value, written and read, told or inferred; what cannot be one is refused by name."""

from __future__ import annotations

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, TableError, UnknownColumn
from posteriori.table.schema import Column, Schema, check_kind, in_order, is_missing

values = st.one_of(st.integers(-5, 5), st.text("ab", max_size=2), st.booleans(), st.floats(-3, 3))


@given(st.sets(values, max_size=8), st.randoms())
def test_the_order_of_values_is_one(found, random):
    once = in_order(found)
    mixed = list(found)
    random.shuffle(mixed)
    assert in_order(mixed) == once
    assert set(once) == found
    numbers = [v for v in once if not isinstance(v, str)]
    words = [v for v in once if isinstance(v, str)]
    assert list(once) == sorted(numbers) + sorted(words)


def test_values_of_any_type_have_an_order():
    odd = [datetime.date(2026, 1, 2), (1, 2), "x", decimal.Decimal("1.5"), 1, datetime.date(2025, 1, 1), None]
    assert in_order(odd)[:3] == (1, decimal.Decimal("1.5"), "x")
    assert in_order(odd) == in_order(odd[::-1])
    assert in_order([datetime.date(2026, 1, 2), datetime.date(2025, 1, 1)])[0].year == 2025
    assert in_order([complex(2), complex(1)]) == (1 + 0j, 2 + 0j)  # no order of their own: by how they are written
    assert in_order([2, 1.5, True]) == (True, 1.5, 2)


@pytest.mark.parametrize("cell", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_cells(cell):
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, "", False, "nan", 1.5, np.zeros(1), ()])
def test_cells_that_are_there(cell):
    assert not is_missing(cell)


@given(st.sets(st.text("abc", max_size=1)), st.sets(st.text("abcd", max_size=1)), st.sets(st.text("de", max_size=1)))
def test_columns_are_united_by_value(a, b, told):
    one = Column("x", "categorical", in_order(a | told), frozenset(told))
    two = Column("x", "categorical", in_order(b), frozenset())
    both = one.united(two)
    assert both.values == in_order(a | b | told)
    assert both.declared == told
    assert two.united(one) == both
    assert one.united(one) is one
    assert [both.place[v] for v in both.values] == list(range(len(both.values)))
    assert one.with_values(b).values == in_order(b | told)
    assert one.with_values(b).declared == told


def test_columns_that_do_not_unite():
    for other in (Column("y", "numeric"), Column("x", "count")):
        with pytest.raises(TableError, match="cannot be united"):
            Column("x", "numeric").united(other)
    with pytest.raises(TableError, match="'x' is binary but would have 3 values"):
        Column("x", "binary", (0, 1)).united(Column("x", "binary", (1, 2)))
    assert Column("x", "binary", (0,)).united(Column("x", "binary", (1,))).values == (0, 1)
    told = Column("x", "categorical", ("a",), frozenset("a"))
    assert Column("x", "categorical", ("a",)).united(told).declared == {"a"}


def schema(*values, classes=("n", "y"), declared=()):
    return Schema((Column("a", "numeric"), Column("b", "categorical", values)), classes, frozenset(declared), "t")


def test_schemas_add_up():
    one, two = schema("p"), schema("q", classes=("y", "z"), declared=("z",))
    both = one + two
    assert both["b"].values == ("p", "q")
    assert both.classes == ("n", "y", "z")
    assert both.declared_classes == {"z"}
    assert both.target == "t"
    assert one + one is one
    assert both + two is both
    assert (one + schema("p", declared=("y",))).declared_classes == {"y"}
    assert (one + schema("p", classes=("x",))).classes == ("n", "x", "y")
    with pytest.raises(UnknownColumn, match=r"only left .?b.?; only right .?c"):
        one + Schema((Column("a", "numeric"), Column("c", "numeric")))
    with pytest.raises(UnknownColumn, match=r"columns: only left 'b'$"):
        one + Schema((Column("a", "numeric"),))


def test_columns_by_name():
    s = schema("p")
    assert s.index("b") == 1
    assert s["a"].kind == "numeric"
    assert len(s) == 2
    assert s.kinds == ("numeric", "categorical")
    with pytest.raises(UnknownColumn, match="no column 'bb'; did you mean 'b'"):
        s["bb"]
    with pytest.raises(UnknownColumn, match=r"duplicate columns: .?a"):
        Schema((Column("a", "numeric"), Column("b", "numeric"), Column("a", "count")))
    assert "<td>b</td>" in s._repr_html_()
    assert schema("p") == Schema(s.columns, s.classes, s.declared_classes, "t", notes=("other notes",))


def test_written_and_read():
    s = Schema.declare({"a": "numeric", "b": ["y", "x"], "c": "text"}, ["no", "yes"], "t")
    assert Schema.from_dict(json.loads(json.dumps(s.to_dict()))) == s
    assert s["b"] == Column("b", "categorical", ("x", "y"), frozenset("xy"))
    assert s.declared_classes == {"no", "yes"}
    observed = schema("p")
    assert observed.to_dict()["columns"][1] == {"name": "b", "kind": "categorical", "values": ["p"], "declared": []}
    assert Schema.from_dict(observed.to_dict()) == observed


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Schema.declare([("a", "numeric")]), "columns must be a dict"),
        (lambda: Schema.declare({"a": "number"}), "column 'a': a kind is one of .*Got 'number'"),
        (lambda: Schema.declare({"a": [1, None]}), "the values of column 'a'"),
        (lambda: Schema.declare({"a": [[1]]}), "the values of column 'a'"),
        (lambda: Schema.declare({"a": 3}), "the values of column 'a'"),
        (lambda: Schema.declare({"a": b"ab"}), "the values of column 'a'"),
        (lambda: Schema.declare({}, "ab"), "classes must be a list"),
        (lambda: Schema.declare({}, (), 3), "target must be"),
        (lambda: check_kind(["numeric"], "x"), "column 'x'"),
    ],
)
def test_what_is_no_schema(call, said):
    with pytest.raises((BadParameter, TableError), match=said):
        call()


def test_an_inferred_schema_is_that_of_kinds():
    assert (
        Schema.infer({"a": [1.5, 2.5], "b": ["u", "v"]}).kinds
        == po.Schema.infer({"a": [1.5, 2.5], "b": ["u", "v"]}).kinds
    )
    assert check_kind("text", "x") == "text"
