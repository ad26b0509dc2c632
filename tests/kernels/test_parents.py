"""Super-parent kernels against their twins, with factors that would underflow and with missing cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori import kernels

from .reference import pairs as reference


def case(seed, K, tiny=0, missing=0.2):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, rng.integers(1, 7))
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    V, P = int(first[-1]), kernels.padded(K)
    theta = np.ones((V, V, P))
    theta[:, :, :K] = rng.random((V, V, K)) * 10.0 ** -rng.integers(0, tiny + 1, (V, V, K))
    cells = (rng.integers(0, sizes, (30, len(sizes))) + first[:-1]).astype(np.int32)
    cells[rng.random(cells.shape) < missing] = -1
    return rng, first, theta, cells


@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0, 5, 250]))
def test_sum_of_products_is_reference(seed, K, tiny):
    _, _, theta, cells = case(seed, K, tiny)
    theta[theta < 1e-3] *= seed % 2  # zeros too
    found = kernels.sum_of_products(cells, cells, theta, K)
    assert np.allclose(found, reference.sum_of_products(cells, cells, theta, K), rtol=1e-12, atol=1e-12)


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 3, 40]),
    st.sampled_from([0.0, 0.2]),
)
def test_leave_one_out_is_reference(seed, K, raw, weighted, tiny, missing):
    rng, first, theta, cells = case(seed, K, tiny, missing)
    d, n = cells.shape[1], len(cells)
    own = theta * rng.random(theta.shape)
    totals = rng.random((len(theta), d, theta.shape[2])) * 9 + 20 if raw else None
    own = own * 5 + 2 if raw else own
    y, w = rng.integers(0, K, n).astype(np.int32), rng.random(n) * 2 if weighted else None
    args = (cells, first, y, theta, own, totals, rng.random(K) + 0.1, rng.random(n) + 0.1, w)
    assert np.allclose(kernels.leave_one_out(*args), reference.leave_one_out(*args), rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans(), st.sampled_from([0.0, 0.5, 1.0]))
def test_pair_tables_is_reference(seed, K, some, smoothing):
    """Counts of whole numbers or weights, of all cells or some, and any pairs of values."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0 if seed % 5 == 0 else 1, 4, rng.integers(0, 6)).tolist()
    scopes = np.array(list(itertools.combinations(range(len(sizes)), 3)), np.int32).reshape(-1, 3)
    cells = [np.arange(math.prod(sizes[j] for j in s)) for s in scopes]
    cells = [c[rng.random(len(c)) < 0.5] if some else c for c in cells]
    offsets = np.cumsum([0, *map(len, cells)])
    counts = rng.integers(0, 4, (offsets[-1], K)) * (rng.random((offsets[-1], K)) if seed % 2 else 1)
    pairs = sum(a * b for a, b in itertools.combinations(sizes, 2))
    keys = np.flatnonzero(rng.random(pairs) < rng.choice([0.5, 1.0]))
    args = scopes, offsets, np.concatenate([np.empty(0, int), *cells]) if some else None, counts, sizes, keys, smoothing
    found = kernels.pair_tables(*args)
    np.testing.assert_allclose(found, reference.pair_tables(*args), rtol=1e-13)
    assert np.array_equal(found, kernels.pair_tables(*args, n_jobs=1))


def test_ten_thousand_tiny_factors_do_not_underflow():
    theta = np.full((1, 1, 2), 1e-5)
    cells = np.zeros((1, 10_000), np.int32)
    found = kernels.sum_of_products(np.zeros((1, 1), np.int32), cells, theta, 2)
    assert found == pytest.approx(np.full((1, 2), 10_000 * np.log(1e-5)), rel=1e-13)


def test_codes_out_of_range_are_refused():
    theta = np.ones((2, 2, 2))
    with pytest.raises(IndexError, match="outside"):
        kernels.sum_of_products(np.array([[2]], np.int32), np.zeros((1, 1), np.int32), theta, 2)
    with pytest.raises(IndexError, match="outside"):
        kernels.sum_of_products(np.zeros((1, 1), np.int32), np.array([[5]], np.int32), theta, 2)
