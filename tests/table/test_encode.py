"""Codes are as narrow as may be, and no narrower: the code after the last value stands for a missing cell."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadType, BadValue
from posteriori.table.encode import (
    Coded,
    as_floats,
    code_columns,
    count_words,
    dense,
    distinct,
    factorize,
    numbers,
    seen_columns,
    team_map,
    words_of,
)
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


def coded_by_hand(cells):
    """(values in order, codes) of cells, one by one."""
    values = sorted({c for c in cells if not is_missing(c)})
    return values, [len(values) if is_missing(c) else values.index(c) for c in cells]


COLUMNS = {
    "bytes": np.array([7, 250, 7, 0], np.uint8),
    "signed": np.array([-5, 3, -5, 120], np.int8),
    "far apart": np.array([-(2**40), 5, 2**40, 5]),
    "beyond int64": np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64),
    "booleans": np.array([True, True, False]),
    "one boolean": np.array([True, True]),
    "floats": np.array([2.5, np.nan, -0.0, 0.0, np.nan, 2.5]),
    "floats all there": np.array([2.5, 1.5, 2.5]),
    "long floats": np.resize(np.array([2.5, np.nan, -1.0]), 1500),
    "words": np.array(["b", None, "a", "b"], dtype=object),
    "many words": np.array(["b", None, "a", "ab"] * 80, dtype=object),
    "fixed words": np.array(["b", "a", "c"]),
    "objects": np.array([3, None, 1, 3], dtype=object),
    "huge": np.array([10**30, 5, None, 10**30, np.int64(5)], dtype=object),
    "arrow words": pa.array(["b", None, "a", "b"] * 60),
    "few arrow words": pa.array(["b", None, "a"]),
    "arrow numbers": pa.array([3, None, 1]),
    "nothing": np.array([], dtype=np.int64),
    "no words": np.array([], dtype=object),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_is_coded_as_one_would_by_hand(column):
    cells = COLUMNS[column]
    listed = cells.tolist() if isinstance(cells, np.ndarray) else cells.to_pylist()
    wanted, places = coded_by_hand(listed)
    values, codes = factorize(cells, "x")
    assert list(values) == wanted
    assert list(map(type, values)) == list(map(type, wanted))
    assert codes.tolist() == places
    assert codes.dtype == narrowest(len(values) + 1)
    assert distinct(cells, "x") == (values, sum(place < len(wanted) for place in places))


def test_words_of_a_dictionary_that_no_cell_has_are_no_values():
    cells = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 2] * 60), pa.array(["c", "b", "a"]))
    values, codes = factorize(cells, "x")
    assert (values, codes.tolist()) == (("a", "c"), [0, 2, 1, 0] * 60)
    assert distinct(cells, "x") == (("a", "c"), 180)


@pytest.mark.parametrize("n", [127, 128])
def test_a_dictionary_may_use_every_code_of_its_type(n):
    """A missing cell of 128 words in int8 has no code of its own there."""
    words = pa.array([f"w{i:03d}" for i in range(n)])
    cells = pa.DictionaryArray.from_arrays(pa.array([0, n - 1, None] * 100, pa.int8()), words)
    assert factorize(cells, "x")[1].tolist() == [0, 1, 2] * 100


def test_a_cell_that_has_no_hash_is_named():
    with pytest.raises(BadType, match=r"column 'x', row 2: argument must be a string or a number, not \[1\]"):
        factorize(np.array([10**30, "a", [1]], dtype=object), "x")


def test_offsets_leave_a_row_for_missing_cells_and_columns_stand_upright():
    coded = Coded((("a", "b"), (), ("c",)), np.array([[0, 0, 1], [2, 0, 0]], np.uint8), 3)
    assert coded.offsets.tolist() == [0, 3, 4, 6]
    assert coded.offsets.dtype == np.int64
    assert [c.tolist() for c in coded.columns] == [[0, 2], [0, 0], [1, 0]]
    assert coded.upright.flags.f_contiguous
    assert coded.upright.tolist() == coded.codes.tolist()
    parts = Coded((("a",), ("b",)), [np.array([0]), np.array([1])], 1)
    assert parts.upright is parts.codes
    assert [c.tolist() for c in parts.columns] == [[0], [1]]


def test_columns_of_a_frame_are_coded_each_and_missing_cells_counted():
    frame = open_frame({"a": ["u", None, "v"], "x": [1.5, np.nan, np.nan], "n": [3, 1, 3]})
    coded = code_columns(frame, [2, 0, 1])
    assert [list(v) for v in coded.values] == [[1, 3], ["u", "v"], [1.5]]
    assert [c.tolist() for c in coded.columns] == [[1, 0, 1], [0, 2, 1], [0, 1, 1]]
    assert coded.n_missing == 3
    kept = dataclasses.replace(frame, memo={})
    assert code_columns(kept, [0]) is code_columns(kept, [0])
    assert code_columns(kept, [0]) is not code_columns(kept, [2])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.int64, np.uint64])
def test_codes_of_a_matrix_are_as_narrow_as_may_be(dtype):
    matrix = np.array([[3, 5], [4, 3], [5, 5]], dtype)
    coded = code_columns(open_frame(matrix), [0, 1])
    assert [[coded.values[k][c] for c in coded.column(k)] for k in (0, 1)] == matrix.T.tolist()
    assert coded.codes.dtype == narrowest(len(coded.values[0]) + 1) == np.uint8
    assert code_columns(open_frame(np.array([[True], [False]])), [0]).values == ((False, True),)
    part = code_columns(open_frame(matrix), [1])
    assert (list(part.values[0]), part.column(0).tolist()) == ([3, 5], [1, 0, 1])
    wide = code_columns(open_frame(np.array([[0], [2**17]], np.int32)), [0])
    assert list(wide.values[0]) == [0, 2**17]  # no code for each number in between
    assert len(code_columns(open_frame(np.zeros((0, 2), dtype)), [0, 1]).values) == 2


def test_numbers_of_any_frame():
    x = np.array([[1.5, np.nan, 3.0], [0.0, 5.0, 6.5]])
    frame = open_frame(x)
    assert numbers(frame, [0, 1, 2]) is frame.matrix
    np.testing.assert_array_equal(numbers(frame, [2, 0]), x[:, [2, 0]])
    sparse = open_frame(sp.csr_matrix(np.array([[1, 0, 3], [0, 5, 0]])))
    assert numbers(sparse, [0, 1, 2]).tolist() == [[1, 0, 3], [0, 5, 0]]
    assert numbers(sparse, [2, 0]).tolist() == [[3, 1], [0, 0]]
    assert numbers(sparse, [2, 0]).dtype == np.float64
    assert dense(sparse).matrix.tolist() == [[1, 0, 3], [0, 5, 0]]
    mixed = open_frame({
        "a": ["1.5", None], "b": pa.array([1, None]), "c": [True, False], "d": pa.array(["2", "3"]).dictionary_encode(),
        "e": np.array([3, None], dtype=object),
    })  # fmt: skip
    found = numbers(mixed, [4, 3, 2, 1, 0])
    np.testing.assert_array_equal(found, [[3, 2, 1, 1, 1.5], [np.nan, 3, 0, np.nan, np.nan]])
    assert found.flags.f_contiguous
    kept = dataclasses.replace(mixed, memo={})
    assert numbers(kept, [0]) is numbers(kept, [0])


@pytest.mark.parametrize(
    ("cells", "error", "said"),
    [
        (np.array([1, "x"], dtype=object), BadValue, "column 'c', row 1: expected a number. Got 'x' instead."),
        (
            np.array([1, [2]], dtype=object),
            BadType,
            r"column 'c', row 1: argument must be a string or a number, not [2]",
        ),
        (
            np.array([None, 10**400], dtype=object),
            BadValue,
            "row 1: expected a number. Got a whole number larger than any",
        ),
        (pa.array(["1", "x"]), BadValue, "column 'c': expected numbers. "),
    ],
)
def test_what_is_no_number_is_named(cells, error, said):
    with pytest.raises(error, match=re.escape(said)):
        as_floats(cells, "c")


def test_words_are_counted_in_the_order_of_the_alphabet():
    for cells in (np.array(["b a b", None, "", "c a"], dtype=object), pa.array(["b a b", None, "", "c a"])):
        vocabulary, bags = count_words(cells, "t")
        assert (vocabulary, bags.shape) == ([], (4, 0))  # a word has two letters at least
    texts = np.array(["win cash win", None, "", "Cash now"], dtype=object)
    vocabulary, bags = count_words(texts, "t")
    assert vocabulary == ["cash", "now", "win"]
    assert bags.toarray().tolist() == [[1, 0, 2], [0, 0, 0], [0, 0, 0], [1, 1, 0]]
    assert bags.nnz == 4
    with pytest.raises(BadValue, match=r"row 1, column 't': expected text. Got 5 instead"):
        count_words(np.array(["a", 5], dtype=object), "t")
    frame = dataclasses.replace(open_frame({"x": [1, 2], "t": ["one two", "two"]}), memo={})
    assert words_of(frame, 1)[0] == ["one", "two"]
    assert words_of(frame, 1) is words_of(frame, 1)


def test_work_in_threads_is_in_order():
    for cells in (10, 1 << 20):
        assert team_map(lambda j: 2 * j, range(5), cells, 3) == [0, 2, 4, 6, 8]
        assert team_map(lambda j: 2 * j, [7], cells, 3) == [14]
