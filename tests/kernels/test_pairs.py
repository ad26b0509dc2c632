"""Pair counts: the compiled kernel is its NumPy twin, however the columns lie in memory and however many threads count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import MemoryBudgetError
from posteriori.kernels import count_pairs

from .conftest import many_threads
from .reference import pairs as reference


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, K = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    n = draw(st.sampled_from([0, 1, 63, 64, 65, 255, 300, 1000, 5000]))
    sizes = rng.integers(1, draw(st.sampled_from([3, 6, 20, 300])), d).tolist()
    missing = draw(st.booleans())
    columns = []
    for s in sizes:
        codes = rng.integers(0, s + missing, n)
        columns.append(codes.astype(np.uint8 if s < 255 and rng.random() < 0.5 else rng.choice([np.uint16, np.uint32])))
    return columns, sizes, rng.integers(0, K, n).astype(np.uint8), K, rng.random(n)


@given(tables(), st.sampled_from(["auto", "bitmaps", "scalar"]))
def test_native_is_reference(case, way):
    columns, sizes, y, K, weights = case
    expected = reference.count_pairs(columns, sizes, y, K)
    assert np.array_equal(count_pairs(columns, sizes, y, K, way=way), expected)
    weighted = count_pairs(columns, sizes, y, K, weights)
    assert np.allclose(weighted, reference.count_pairs(columns, sizes, y, K, weights), rtol=1e-10)


def test_sums_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (9000, 20)).astype(np.uint8), rng.integers(0, 2, 9000).astype(np.uint8)
    w, columns = rng.random(9000), list(X.T)
    one = count_pairs(columns, [3] * 20, y, 2, w, n_jobs=1)
    assert np.array_equal(one, count_pairs(columns, [3] * 20, y, 2, w, n_jobs=2))
    with many_threads() as jobs:
        assert np.array_equal(one, count_pairs(columns, [3] * 20, y, 2, w, n_jobs=jobs))
        for way in ("auto", "bitmaps", "scalar"):
            counted = count_pairs(columns, [3] * 20, y, 2, way=way, n_jobs=1)
            assert np.array_equal(counted, count_pairs(columns, [3] * 20, y, 2, way=way, n_jobs=jobs))


@pytest.mark.parametrize("lay", [np.ascontiguousarray, np.asfortranarray, lambda X: X[::-1, ::-1][::-1, ::-1]])
def test_any_layout(lay):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (70_000, 7)).astype(np.uint8), rng.integers(0, 3, 70_000).astype(np.uint16)
    expected = reference.count_pairs(list(X.T), [4] * 7, y, 3)
    assert np.array_equal(count_pairs(lay(X), [4] * 7, y, 3), expected)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    assert np.array_equal(count_pairs(wide, [4] * 7, y, 3), expected)


def test_a_code_out_of_range_is_named_and_nothing_is_written_out_of_bounds():
    X, y = np.zeros((600, 3), np.uint8), np.zeros(600, np.uint8)
    X[500, 1] = 7
    for way in ("bitmaps", "scalar"):
        with pytest.raises(IndexError, match="column 1 has the code 7"):
            count_pairs(X, [2, 2, 2], y, 1, way=way)
    with pytest.raises(IndexError, match="the class"):
        count_pairs(X[:400], [2, 2, 2], y[:400] + np.uint8(3), 1)


def test_memory_is_refused_with_figures_before_anything_is_allocated():
    with pytest.raises(
        MemoryBudgetError, match=r"1000 columns, 5 classes would take .* TiB, over the budget of 953\.7 MiB"
    ):
        count_pairs(np.zeros((1, 1000), np.uint16), [1000] * 1000, np.zeros(1, np.uint8), 5, max_memory=1e9)
