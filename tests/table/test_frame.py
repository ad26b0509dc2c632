"""Any table becomes a frame by the way that it offers itself."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.errors import TableError, UnknownColumn
from posteriori.table.frame import ScoresTables, Table, _taken, columns_of, labelled, open_frame
from posteriori.table.schema import Column, Schema

TABLE = pa.table({"a": [1, 2], "b": ["p", "q"]})


class Streams:
    """Has an Arrow stream, and a `collect` that is something else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)

    def collect(self):
        raise AssertionError("a table that streams needs no collecting")


class Waits:
    """Offers nothing before it is collected."""

    def collect(self):
        return TABLE


def test_a_stream_is_read_and_a_promise_collected():
    for given in (TABLE, Streams(), Waits()):
        frame = open_frame(given)
        assert frame.names == ("a", "b")
        assert np.asarray(frame.column(0)).tolist() == [1, 2]


@pytest.mark.parametrize("source", [np.asarray, sp.csr_matrix, lambda x: pd.DataFrame(x, columns=list("abc"))])
def test_columns_in_another_order_are_the_same_columns(source):
    x = np.arange(12.0).reshape(4, 3)
    frame = open_frame(source(x))
    turned = frame.take_columns([2, 0, 1])
    assert (turned.n, turned.d) == (4, 3)
    assert [turned.name(j) for j in range(3)] == [frame.name(j) for j in (2, 0, 1)] or frame.names is None
    cells = (
        turned.sparse.toarray() if turned.sparse is not None else np.column_stack([turned.column(j) for j in range(3)])
    )
    np.testing.assert_array_equal(cells, x[:, [2, 0, 1]])
    assert frame.take_columns([0, 1, 2]) is frame


def test_rows_of_a_view_of_strings_can_be_taken():
    """polars gives its strings so: rows of weight zero were an error of Arrow's."""
    polars = pytest.importorskip("polars")
    X, y = polars.DataFrame({"a": ["x", "y", "x", None]}), [0, 1, 0, 1]
    weighted = po.NaiveBayes().fit(X, y, sample_weight=[1, 1, 0, 1])
    assert weighted.statistics_.rows.tolist() == [1, 2]


@pytest.mark.parametrize(
    "cells",
    [
        [(1, 2), (3, 4), (5, 6)],
        [[1, 2], [3], []],
        [np.ones(2), np.ones(2), np.ones(3)],
        [np.ones(2), 1, 2],
        [np.ones(1), 1, 2],
        [{1: 2}, {}, {}],
        np.ones((3, 2)),
        [10**400, 1, 2],
        [-(10**5000), 1, "x"],
    ],
    ids=range(9),
)
@pytest.mark.parametrize("model", [po.NaiveBayes(), po.TAN(), po.KNeighborsClassifier(1), po.SVC()], ids=repr)
def test_a_cell_that_is_no_cell_is_named_by_its_column(model, cells):
    with pytest.raises(TableError, match="column 'odd'"):
        model.fit({"odd": cells, "plain": [1.0, 2.0, 3.0]}, [0, 1, 0])


def test_a_masked_cell_is_a_missing_one():
    cells = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    frame = open_frame(cells)
    np.testing.assert_array_equal(frame.matrix, [[1.0, np.nan], [3.0, 4.0]])
    whole = open_frame(np.ma.masked_array([["a", "b"]], mask=False))
    assert whole.matrix.tolist() == [["a", "b"]]


def test_a_frame_is_one_of_three_and_knows_its_size():
    x = np.arange(6.0).reshape(2, 3)
    for frame in (open_frame(x), open_frame(sp.csr_matrix(x)), open_frame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]})):
        assert (frame.n, frame.d) == (2, 3)
        assert [np.asarray(frame.column(j)).tolist() for j in range(3)] == x.T.tolist()
        assert frame.name(1) == ("b" if frame.names else "x1")
        for rows in (np.array([False, True]), np.array([1])):
            some = frame.take_rows(rows)
            assert (some.n, some.d, some.names) == (1, 3, frame.names)
            assert [np.asarray(some.column(j)).tolist() for j in range(3)] == x[1:].T.tolist()
        two = frame.take_columns([2, 0])
        assert (two.n, two.d) == (2, 2)
        assert two.names == (("c", "a") if frame.names else None)
        assert [np.asarray(two.column(j)).tolist() for j in range(2)] == x[:, [2, 0]].T.tolist()
        assert open_frame(frame) is frame


def test_what_is_made_of_a_frame_is_kept_where_it_is_read_again():
    made = []
    frame = dataclasses.replace(open_frame({"a": [1, 2]}), memo={})
    for _ in range(2):
        assert frame.once("key", lambda bare: made.append(bare) or "thing") == "thing"
    assert len(made) == 1
    assert made[0].memo is None


def test_columns_are_matched_by_name():
    frame = open_frame({"a": [1], "b": [2], "c": [3]})
    assert frame.matched(("a", "b", "c")) is frame
    assert open_frame(np.zeros((1, 3))).matched(("a", "b", "c")).names is None
    turned = frame.matched(("c", "a", "b"))
    assert (turned.names, [turned.column(j)[0] for j in range(3)]) == (("c", "a", "b"), [3, 1, 2])
    with pytest.raises(UnknownColumn, match=r"missing columns: 'cc'; did you mean 'c'\? The table has: 'a', 'b', 'c'"):
        frame.matched(("a", "b", "cc"))
    with pytest.raises(UnknownColumn, match=r"not known from training: 'c'. Expected: 'b', 'a'"):
        frame.matched(("b", "a"))


def test_a_table_brings_its_labels_and_says_what_was_decided():
    schema = Schema((Column("a", "numeric"),), classes=("n", "y"), notes=("a: numeric",))
    table = Table(pd.DataFrame({"a": [1.0, 2.0]}), ["y", "n"], schema, ("read so",))
    assert labelled(table, None) == (table, ["y", "n"])
    assert labelled(table, ["n", "n"]) == (table, ["n", "n"])
    assert labelled("X", None) == ("X", None)
    assert columns_of(table) is table.X
    assert columns_of("X") == "X"
    assert (len(table), repr(table)) == (2, "Table of 2 rows, classes 'n', 'y'\n  read so\n  a: numeric")
    assert repr(dataclasses.replace(table, schema=Schema(schema.columns))) == "Table of 2 rows\n  read so"
    assert open_frame(table).names == ("a",)


class Score:
    def score(self, X, y, sample_weight=None):
        return (X, y, sample_weight)


def test_a_score_compares_with_the_labels_of_the_table():
    class Scored(ScoresTables, Score):
        pass

    table = Table([1], ["y"], Schema(()))
    assert Scored().score(table) == (table, ["y"], None)
    assert Scored().score(1, 2, sample_weight=3) == (1, 2, 3)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.zeros(3), r"got a 1D array instead \(shape \(3,\)\)"),
        (np.float64(3), "a table must be|got a scalar array instead"),
        (np.array(3.0), "got a scalar array instead"),
        (np.zeros((1, 1), complex), "Complex data not supported"),
        (sp.csr_matrix(np.zeros((1, 1), complex)), "Complex data not supported"),
        (np.zeros((1, 1), "V4"), "a matrix of dtype .* cannot be used"),
        ([{"a": 1}], "a list of dicts is no table"),
        ([[1, 2], [3]], "the rows differ in length"),
        (pd.Series([1, 2]), "a Series is no table"),
        ({"a": "xy"}, "column 'a' must be a list or an array of cells. Got 'xy' instead"),
        ({"a": 5}, "column 'a' must be a list or an array of cells. Got 5 instead"),
        ({"a": [1], "b": [1, 2]}, r"columns differ in length: \{'a': 1, 'b': 2\}"),
        ({"a": np.zeros((2, 2))}, r"column 'a' must be a list of cells. Got an array of shape \(2, 2\)"),
        (pd.DataFrame([[1, 2, 3]], columns=["b", "a", "b"]), "duplicate columns: 'b'; every"),
        (3, "a table must be a NumPy array.* Got int instead"),
    ],
)
def test_what_is_no_table_is_said_to_be_none(X, said):
    with pytest.raises(TableError, match=said):
        open_frame(X)


def test_words_among_numbers_stay_apart_and_narrow_floats_are_widened():
    assert open_frame([["a", 1], ["b", 2]]).matrix.tolist() == [["a", 1], ["b", 2]]
    assert open_frame([["a", "b"]]).matrix.dtype.kind == "U"
    assert open_frame({"c": ["a", 1]}).column(0).tolist() == ["a", 1]
    assert open_frame({"c": ["a", "b"]}).column(0).dtype.kind == "U"
    for dtype, kept in [(np.float16, False), (np.float32, True), (np.longdouble, False), (np.int8, True)]:
        assert open_frame(np.ones((1, 2), dtype)).matrix.dtype == (dtype if kept else np.float64)
    dates = np.array([["1970-01-02", "NaT"]], "M8[D]")
    np.testing.assert_array_equal(open_frame(dates).matrix, [[1.0, np.nan]])


def test_masked_cells_are_missing_and_the_rest_is_not_rounded():
    whole = np.ma.masked_array([2**60 + 1, 5], mask=[False, True])
    assert open_frame({"n": whole}).column(0).tolist() == [2**60 + 1, None]
    assert open_frame({"n": np.ma.masked_array([3, 5], mask=False)}).column(0).tolist() == [3, 5]
    floats = open_frame(np.ma.masked_array(np.ones((1, 2), np.float32), mask=[[True, False]])).matrix
    np.testing.assert_array_equal(floats, [[np.nan, 1.0]])


def test_cells_of_a_sparse_matrix_that_were_given_twice_are_added():
    twice = sp.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert open_frame(twice).sparse.toarray().tolist() == [[0.0, 3.0]]
    rows = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    assert open_frame(rows).sparse.nnz == 1
    assert rows.nnz == 2  # the caller's own is as it was
    assert open_frame(rows).n == 1


@pytest.mark.parametrize("n", [3, 1500])
def test_columns_of_pandas_by_type(n):
    days = pd.Series(pd.to_datetime(["1970-01-02", None, "1970-01-04"]))
    frame = pd.DataFrame({
        "i": [1, 2, 3], "w": ["u", None, "v"], "f": [1.5, np.nan, 2.5], "j": [4, 5, 6], "b": [True, False, True],
        "when": days, "c": pd.Categorical(["y", None, "x"], categories=["x", "y", "z"]),
        "g": np.array([1, 2, 3], np.float32), "s": pd.arrays.SparseArray([0, 0, 7]),
        "o": np.array([datetime.date(1970, 1, 3), None, None], dtype=object),
        "k": np.array([1, "a", None], dtype=object), "d": pd.Categorical(["y", "x", "y"]),
        "r": pd.cut([1, 5, 9], [0, 5, 10]), "n": pd.array([1, None, 3], "Int64"),
    })  # fmt: skip
    frame = pd.concat([frame] * (n // 3), ignore_index=True)
    opened = open_frame(frame)
    assert (opened.n, opened.names) == (n, tuple(frame.columns))
    cells = {name: opened.column(j) for j, name in enumerate(opened.names)}
    plain = {k: (c.tolist() if isinstance(c, np.ndarray) else c.to_pylist())[:3] for k, c in cells.items()}
    assert (plain["i"], plain["j"], plain["b"]) == ([1, 2, 3], [4, 5, 6], [True, False, True])
    assert (plain["g"], plain["s"], plain["n"]) == ([1, 2, 3], [0, 0, 7], [1, None, 3])
    np.testing.assert_array_equal(plain["f"], [1.5, np.nan, 2.5])
    np.testing.assert_array_equal(np.array(plain["when"], float), [1, np.nan, 3])
    np.testing.assert_array_equal(np.array(plain["o"], float), [2, np.nan, np.nan])
    assert [None if v != v else v for v in plain["w"]] == ["u", None, "v"]
    assert (plain["c"], plain["d"], plain["k"][:2]) == (["y", None, "x"], ["y", "x", "y"], [1, "a"])
    assert plain["r"] == list(pd.cut([1, 5, 9], [0, 5, 10]))
    for only, kind in ((["i", "j"], "i"), (["f", "g"], "f"), (["b"], "b")):
        part = open_frame(frame[only])
        assert part.matrix.dtype.kind == kind
        np.testing.assert_array_equal(part.matrix, frame[only].to_numpy())
    assert open_frame(frame[["i", "f"]]).matrix is None  # whole numbers are not rounded to floats
    assert (open_frame(frame[[]]).n, open_frame(frame[[]]).d) == (n, 0)


def test_lists_in_a_dict_and_dates_of_python():
    frame = open_frame(
        {
            "d": [datetime.date(1970, 1, 2), None],
            "t": np.array(["1970-01-02", "NaT"], "M8[D]"),
            "x": pa.array([1, None]),
        }
    )
    np.testing.assert_array_equal(np.array(frame.column(0), float), [1, np.nan])
    np.testing.assert_array_equal(frame.column(1), [1, np.nan])
    assert frame.column(2).to_pylist() == [1, None]
    assert (open_frame({}).n, open_frame({}).d) == (0, 0)
    assert _taken(pa.array(["a", "b", "c"], pa.string_view()), np.array([2, 0])).to_pylist() == ["c", "a"]
    assert _taken(pa.array([b"a", b"b"], pa.binary_view()), np.array([1])).to_pylist() == [b"b"]
