"""The compiled turn of EM against its NumPy twin, on both instruction sets and in both precisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori import kernels
from posteriori.kernels import mixture

from .reference import mixture as reference

pytestmark = pytest.mark.usefixtures("instruction_set")


def case(seed, n, d, K, full, dtype=np.float64, weighted=False, gaps=False):
    """The arguments of `mixture_sums`."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * 3).astype(dtype)
    if gaps:
        X[rng.uniform(size=X.shape) < 0.3] = np.nan
    unit = 2.0 ** rng.integers(-3, 3, size=d)
    factors = rng.uniform(0.2, 2, size=(K, d))
    if full:
        factors = np.array([np.diag(f) + 0.3 * np.triu(rng.normal(size=(d, d)), 1) for f in factors])
    weights = rng.uniform(0, 2, size=n) if weighted else None
    means = rng.normal(size=(K, d))
    return X, weights, unit, means, factors, np.log(rng.dirichlet(np.ones(K))), means + rng.normal(size=(K, d))


def compare(args, shares=None):
    found = kernels.mixture_sums(*args, shares)
    wanted = reference.mixture_sums(*args, shares)
    for a, b in zip(found, wanted):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    X, _, unit, means, factors, log_weights, _ = args
    ask = (X, unit, means, factors, log_weights)
    assert_allclose(kernels.mixture_log_joint(*ask), reference.mixture_log_joint(*ask), rtol=1e-10, atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.integers(1, 21),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_one_turn_is_its_twin(seed, n, d, K, full, weighted, gaps):
    compare(case(seed, n, d, K, full, weighted=weighted, gaps=gaps and not full))


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize(("n", "d", "K"), [(5000, 64, 3), (3000, 1, 70), (0, 3, 2), (1, 1, 1), (20_000, 2, 2)])
def test_one_turn_is_its_twin_at_the_ends(n, d, K, full):
    args = case(1, n, d, K, full)
    compare(args)
    shares = np.random.default_rng(2).dirichlet(np.ones(K), size=n)
    compare(args, shares)


@pytest.mark.parametrize("full", [True, False])
def test_single_precision_is_read_and_summed_in_double(full):
    compare(case(3, 1000, 5, 4, full, dtype=np.float32, weighted=True))


@pytest.mark.parametrize("full", [True, False])
def test_threads_change_no_bit(full):
    args = case(4, 30_000, 7, 5, full, weighted=True)
    first = kernels.mixture_sums(*args, None, 1)
    for n_jobs in (2, 3, 7):
        for a, b in zip(kernels.mixture_sums(*args, None, n_jobs), first):
            assert_array_equal(a, b)


@pytest.mark.parametrize("full", [True, False])
def test_a_component_without_weight_and_rows_far_away(full):
    X, _, unit, means, factors, log_weights, pivots = case(5, 200, 3, 4, full)
    log_weights[1] = -np.inf
    X[0] = 1e6
    compare((X, None, unit, means, factors, log_weights, pivots))
    X[1] = 1e200
    total, n, *_ = kernels.mixture_sums(X, None, unit, means, factors, log_weights, pivots)
    assert total == -np.inf
    assert np.isfinite(n).all()


def rows_of(seed, n, d, dtype):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 5).astype(dtype), rng.uniform(0, 2, size=n), rng.normal(size=d) + 5


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 700),
    st.integers(1, 19),
    st.integers(1, 40),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.sampled_from([True, False, None]),
    st.booleans(),
)
def test_steps_of_k_means_are_their_twin(seed, n, d, K, dtype, weighted, bounded, wide):
    X, w, shift = rows_of(seed, n, d, dtype)
    rng = np.random.default_rng(seed + 1)
    if seed % 3 == 0:
        X = np.round(X)  # ties
    weights = w if weighted else None
    rows = mixture.Nearest(X, weights, shift, 0.125, None, bounded=bounded, kept=seed % 2 == 0)
    rows.wide = wide
    centres = X[rng.integers(0, n, size=K)].astype(float) - shift
    last = None
    for _ in range(5):
        changed, sums, sizes = rows.step(centres)
        label, wanted, wanted_sizes = reference.kmeans_step(X, weights, shift, centres)
        ours = reference.kmeans_distances(X, shift, centres, rows.label)
        assert_allclose(ours, reference.kmeans_distances(X, shift, centres, label), rtol=1e-12, atol=1e-12)
        if seed % 3:
            assert_array_equal(rows.label, label)
            assert_allclose(sums, wanted, atol=1e-9)
            assert_allclose(sizes, wanted_sizes)
            assert changed == (n if last is None else (label != last).sum())
            last = label
        assert_allclose(kernels.kmeans_distances(X, shift, centres, rows.label), ours, atol=1e-12)
        full = sizes > 0
        moved = np.where(full[:, None], sums / np.where(full, sizes, 1)[:, None], centres)
        centres = np.ascontiguousarray((moved + centres) / 2 + 0.01 * rng.normal(size=centres.shape))
    at = rng.integers(0, n, size=3)
    closest = rng.uniform(0, 4, size=n)
    assert_allclose(
        kernels.kmeans_candidates(X, shift, at, closest), reference.kmeans_candidates(X, shift, at, closest), atol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 7), st.integers(1, 4), st.booleans(), st.booleans())
def test_rows_with_missing_cells_are_their_twin(seed, n, d, K, weighted, known):
    rng = np.random.default_rng(seed)
    gone = rng.uniform(size=(n, d)) < 0.4
    gone = gone[np.lexsort(gone.T)]
    starts = np.concatenate([[0], np.flatnonzero((gone[1:] != gone[:-1]).any(axis=1)) + 1, [n]]).astype(np.int64)
    Z = np.where(gone, np.nan, rng.normal(size=(n, d)))
    A = rng.normal(size=(K, d, d))
    theta = (rng.normal(size=(K, d)), A @ A.transpose(0, 2, 1) + np.eye(d), np.log(rng.dirichlet(np.ones(K))))
    weights = rng.uniform(size=n) if weighted else None
    shares = rng.dirichlet(np.ones(K), size=n) if known else None
    log_unit = rng.normal(size=d)
    ask = (Z, starts, weights, *theta, log_unit, rng.normal(size=(K, d)), shares)
    for n_jobs in (1, 3):
        for a, b in zip(kernels.broken_sums(*ask, n_jobs), reference.broken_sums(*ask)):
            assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    assert_allclose(
        kernels.broken_log_joint(Z, starts, *theta, log_unit),
        reference.broken_log_joint(Z, starts, *theta, log_unit),
        rtol=1e-9,
        atol=1e-9,
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 8, 300]), st.sampled_from([1.0, 1e9]), st.booleans())
def test_a_row_that_leaves_takes_away_what_it_brought(seed, decades, far, bounded):
    """Sums carried from step to step are those of the rows that are there, whatever has been there."""
    rng = np.random.default_rng(seed)
    X, K = rng.normal(size=(200, 3)), 5
    X[:3] *= far
    weights = 10.0 ** rng.uniform(-decades, decades, size=200) if decades else None
    unit = float(np.ldexp(1.0, -int(np.frexp(np.abs(X).max())[1])))
    rows = mixture.Nearest(X, weights, np.zeros(3), unit, 2, bounded=bounded, kept=not bounded)
    w = np.ones(200) if weights is None else weights
    for _ in range(6):
        centres = X[rng.integers(0, 200, K)] + rng.normal(size=(K, 3))
        _, sums, sizes = rows.step(centres)
        for k in range(K):
            mine = rows.label == k
            size = math.fsum(w[mine])
            assert_allclose(sizes[k], size, rtol=1e-12)
            for j in range(3):
                parts = w[mine] * X[mine, j]
                assert_allclose(sums[k, j], math.fsum(parts), rtol=1e-12, atol=1e-14 * math.fsum(np.abs(parts)))


def test_labels_do_not_depend_on_where_distances_are_measured_from():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(500, 2)).astype(float)  # many rows lie halfway between two centres
    centres = rng.integers(0, 4, size=(6, 2)) + 0.5
    found = [
        mixture.Nearest(X, None, s, 0.25, None, kept=k).assigned(centres)
        for s in rng.normal(size=(9, 2))
        for k in (0, 1)
    ]
    for label in found:
        assert_array_equal(label, found[0])
