"""Codes are as narrow as may be, and no narrower: the code after the last value stands for a missing cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue
from posteriori.table.encode import Coded, code_columns, distinct, factorize, seen_columns
from posteriori.table.frame import open_frame
from posteriori.table.labels import narrowest
from posteriori.table.schema import Column, is_missing

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


@given(data=st.data())
def test_columns_have_the_declared_values_and_those_of_cells_that_were_seen(data):
    values = data.draw(st.lists(st.lists(st.integers(0, 9), unique=True).map(tuple), min_size=1, max_size=4))
    coded = Coded(tuple(values), [], 0)
    size = sum(len(v) + 1 for v in values)
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    declared = [data.draw(st.frozensets(st.integers(0, 9), max_size=3)) for _ in values]
    columns = [Column(f"x{j}", "categorical", tuple(sorted(d)), d) for j, d in enumerate(declared)]
    found, places = seen_columns(coded, seen, columns)
    flat = [
        (j, v) for j, column in enumerate(found) for v in column.values
    ]  # all values of all columns, in their order
    cells = [(j, v) for j, of in enumerate(values) for v in (*of, None)]
    for j, column in enumerate(found):
        met = {v for (k, v), u in zip(cells, seen) if k == j and u and v is not None}
        assert column.values == tuple(sorted(met | declared[j]))
        assert column.declared == declared[j]
    for cell, place, u in zip(cells, places.tolist(), seen):
        assert place == (flat.index(cell) if u and cell[1] is not None else -1)


@pytest.mark.parametrize(
    ("values", "seen", "declared", "then"),
    [
        ((0, 1), [1, 0], (), (0, 1)),  # one of the two was met
        ((False, True), [0, 1], (), (False, True)),
        ((0, 1, 2, 7), [0, 0, 1, 1], (), (2, 7)),
        (("no", "yes"), [0, 1], ("no", "yes"), ("no", "yes")),
        ((0, 1, 2), [1, 1, 1], (), None),
        ((5,), [1], (1, 2), None),
    ],
)
def test_a_binary_column_has_two_values(values, seen, declared, then):
    coded, column = Coded((values,), [], 0), Column("flag", "binary", declared, frozenset(declared))
    met = np.array([*seen, 1], bool)
    if then is None:
        with pytest.raises(BadValue, match=r"column 'flag' is binary but has \d values: \[.*\]; give it the kind"):
            seen_columns(coded, met, [column])
    else:
        found = seen_columns(coded, met, [column])[0][0].values
        assert found == then
        assert list(map(type, found)) == list(map(type, then))
