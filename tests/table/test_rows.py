"""Rows to learn from, in one visit: the same for every form of table, every order of its columns, every weight of zero."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.errors import TableError, UnknownColumn, UnknownValue
from posteriori.table.frame import Table
from posteriori.table.rows import open_rows, read_rows
from posteriori.table.schema import Schema

X = {"sky": ["blue", "grey", "blue"], "wind": [1.0, 2.0, 3.0]}
Y = ["out", "in", "out"]
SCHEMA = Schema.declare({"sky": ["blue", "grey"], "wind": "numeric"}, classes=["in", "out", "ill"])


def test_one_visit_gives_all():
    rows = read_rows(X, Y, who="NaiveBayes")
    assert rows.schema.names == ("sky", "wind")
    assert rows.schema.kinds == ("categorical", "numeric")
    assert rows.schema.classes == ("in", "out")
    assert rows.codes.tolist() == [1, 0, 1]
    assert rows.weights is None
    assert rows.labels.dtype.kind == "U"


def test_rows_of_weight_zero_are_left_out():
    rows = read_rows(X, Y, [1, 0, 2], who="m", class_weight={"in": 1, "out": 3})
    assert rows.frame.n == 2
    assert rows.schema.classes == ("out",)
    assert rows.codes.tolist() == [0, 0]
    assert rows.weights.tolist() == [3.0, 6.0]


def test_a_table_brings_its_labels_and_schema():
    table = Table(X, np.array(Y), Schema.declare({"sky": "text", "wind": "numeric"}))
    rows = read_rows(table, None, who="m")
    assert rows.schema.kinds == ("text", "numeric")
    assert rows.codes.tolist() == [1, 0, 1]
    assert read_rows(table, [0, 0, 1], who="m", kinds={"sky": "categorical"}).schema.kinds[0] == "categorical"


def test_columns_follow_the_schema():
    turned = {"wind": [1.0], "sky": ["grey"]}
    assert open_rows(turned, SCHEMA, "m").names == ("sky", "wind")
    assert open_rows({"wind": 1.0, "sky": "grey"}, SCHEMA, "m").n == 1
    assert open_rows(np.ones((2, 2)), SCHEMA, "m").n == 2
    assert open_rows({"a": [1], "b": [2]}, SCHEMA, "m", named=False).names == ("a", "b")
    with pytest.raises(UnknownColumn, match="missing columns"):
        open_rows({"a": [1], "b": [2]}, SCHEMA, "m")
    with pytest.raises(TableError, match="X has 3 features, but m is expecting 2"):
        open_rows(np.ones((2, 3)), SCHEMA, "m")


@pytest.mark.parametrize(
    ("y", "classes"), [(Y, ("ill", "in", "out")), ([0, 1, 0], (0, 1)), (["in", "?", "in"], ("?", "in"))]
)
def test_a_declaration_yields_to_other_labels(y, classes):
    assert read_rows(X, y, who="m", kinds=SCHEMA).schema.classes == classes


def test_declared_classes_are_kept_and_bind():
    rows = read_rows(X, Y, who="m", declared=("in", "out", "ill"))
    assert rows.schema.classes == ("ill", "in", "out")
    assert rows.codes.tolist() == [2, 1, 2]
    more = read_rows(X, ["up", "in", "up"], who="m", known=rows.schema)
    assert more.schema.classes == ("ill", "in", "out", "up")
    with pytest.raises(UnknownValue, match=r"'in' in y do not exist in the initial classes .*; did you mean 'inn'"):
        read_rows(X, Y, who="m", declared=("inn", "out"))


def test_many_classes_have_codes_that_hold_them():
    rows = read_rows(np.zeros((300, 1)), np.arange(300) % 200, who="m", declared=tuple(range(-200, 200)))
    assert rows.codes.max() == 399
    assert rows.codes.tolist()[:2] == [200, 201]


@pytest.mark.parametrize("empty", [np.ones((0, 2)), np.ones((2, 0))])
def test_no_rows_or_columns_are_refused(empty):
    with pytest.raises(TableError, match="minimum of 1 is required"):
        read_rows(empty, np.zeros(len(empty)), who="m")
