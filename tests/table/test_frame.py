"""Any table becomes a frame by the way that it offers itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import posteriori as po
from posteriori.errors import TableError
from posteriori.table.frame import open_frame

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
