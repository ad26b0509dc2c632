"""Codes are as narrow as may be, and no narrower: the code after the last value stands for a missing cell."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.table.encode import code_columns, distinct, factorize
from posteriori.table.frame import open_frame
from posteriori.table.labels import narrowest
from posteriori.table.schema import is_missing

pandas = pytest.importorskip("pandas")
EDGES = [1, 2, 254, 255, 256, 257, 65_534, 65_535, 65_536, 65_537]


def width(size: int) -> int:
    """Bytes that hold the codes 0 .. size − 1."""
    return 1 if size <= 2**8 else 2 if size <= 2**16 else 4


@pytest.mark.parametrize("n", EDGES)
def test_narrowest_holds_its_codes(n):
    assert np.dtype(narrowest(n)).itemsize == width(n)
    assert np.iinfo(narrowest(n)).max >= n - 1


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("make", [lambda n: np.arange(n) - 3, lambda n: np.array([f"{i:06d}" for i in range(n)])])
def test_a_column_keeps_every_value_and_room_for_a_missing_cell(n, make):
    cells = make(n)
    values, codes = factorize(cells, "x")
    assert codes.dtype.itemsize == width(n + 1)
    assert list(values) == cells.tolist()
    assert codes.tolist() == list(range(n))
    holes = np.append(cells.astype(object), None)
    values, codes = factorize(holes, "x")
    assert codes.dtype.itemsize == width(n + 1)
    assert codes[-1] == len(values) == n


@pytest.mark.parametrize(
    ("low", "high"), [(0, 254), (0, 255), (0, 256), (-1, 253), (-1, 254), (1, 255), (1, 256), (0, 65_534)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64])
def test_a_matrix_of_integers_is_its_own_code(low, high, dtype):
    if low < np.iinfo(dtype).min or high > np.iinfo(dtype).max:
        return
    column = np.resize(np.arange(low, high + 1), 2 * (high - low + 1)).astype(dtype)
    coded = code_columns(open_frame(column[:, None]), [0])
    values, codes = coded.values[0], coded.column(0)
    assert [values[c] for c in codes.tolist()] == column.tolist()
    assert len(values) <= np.iinfo(codes.dtype).max  # the code for a missing cell fits too
    assert coded.n_missing == 0


@pytest.mark.parametrize("cell", [None, np.nan, float("nan"), np.datetime64("NaT"), pandas.NA, pandas.NaT])
def test_missing_is_missing(cell):
    assert is_missing(cell)
    assert not any(map(is_missing, (0, "", "nan", False, (), np.inf)))


@pytest.mark.parametrize("n", [1, 3])
def test_a_column_of_nothing_has_no_values(n):
    values, codes = factorize(np.full(n, np.nan), "x")
    assert list(values) == []
    assert codes.tolist() == [0] * n


@pytest.mark.parametrize("n", [3, 5_000])
def test_distinct_values_are_those_of_factorize_however_long_the_column(n):
    import pyarrow as pa

    cells = np.random.default_rng(0).choice(["b", "a", "ü", "", None], n).tolist()
    column = pa.array(cells, pa.string())
    values, codes = factorize(column, "x")
    assert distinct(column, "x") == (values, sum(c is not None for c in cells))
    assert [None if c == len(values) else values[c] for c in codes.tolist()] == cells
