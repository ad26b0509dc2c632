"""Rows as features: products, scores and sums against the dense matrix, the metric against the system it solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.bayes import ridge as module
from posteriori.bayes.ridge import Blocks, ByColumn, ByValue, Diagonal, _pair_cells, _some


def rows(n=40, sizes=(2, 3, 1, 4), q=2, seed=0, matrix=False):
    """Codes, of which the last of the last column does not occur, and numbers."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, max(1, s - (j == len(sizes) - 1)), n).astype(np.uint8) for j, s in enumerate(sizes)]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return ByValue(np.stack(codes, axis=1) if matrix else codes, offsets, rng.normal(size=(n, q)))


def shares(n, K, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), n)
    w = rng.uniform(0.5, 2.0, n)
    return w / w.sum(), p


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 3), st.integers(1, 30), st.booleans(), st.booleans())
def test_products_are_those_of_the_dense_features(seed, K, q, n, by_pairs, matrix):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 6, rng.integers(1, 5)).tolist())
    design, v = rows(n, sizes, q, seed, matrix), rng.random((n, K))
    kept = np.flatnonzero(rng.random(design.size) < 0.8)
    Z, before = design.dense()[:, kept], module.PAIR
    module.PAIR = 0 if by_pairs else 1 << 40
    try:
        found = design.products(v, kept)
    finally:
        module.PAIR = before
    assert found.shape == (K, len(kept), len(kept))
    for k in range(K):
        assert_allclose(np.triu(found[k]), np.triu((Z * v[:, [k]]).T @ Z), atol=1e-12)


def test_pairs_are_counted_where_columns_have_many_values(monkeypatch):
    called = []
    monkeypatch.setattr(module, "count_pairs", lambda *a, **k: called.append(1) or np.zeros((a[4].shape[1], 0)).T)
    monkeypatch.setattr(module, "_pair_cells", lambda sizes: (np.zeros(0, dtype=int), np.zeros(0, dtype=int)))
    few, many = rows(30, (2,) * 6, 1), rows(30, (20,) * 3, 1)
    few.products(np.ones((30, 1)), np.arange(few.size))
    assert not called
    many.products(np.ones((30, 1)), np.arange(many.size))
    assert called


@given(st.lists(st.integers(0, 4), min_size=0, max_size=5))
def test_pairs_in_the_order_of_the_counts(sizes):
    first = np.cumsum([0, *sizes])
    told = [
        (first[i] + a, first[j] + b)
        for i in range(len(sizes))
        for j in range(i + 1, len(sizes))
        for a in range(sizes[i])
        for b in range(sizes[j])
    ]
    found = _pair_cells(np.array(sizes, dtype=np.int64))
    assert list(zip(*(c.tolist() for c in found))) == told


def test_features_that_vary():
    codes = [np.array([0, 0, 0], np.uint8), np.array([0, 2, 2], np.uint8)]
    design = ByValue(codes, np.array([0, 2, 5]), np.zeros((3, 1)))
    assert design.varied().tolist() == [2, 4, 5]  # neither the constant, nor what no row has; a number always


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_the_metric_solves_each_class_with_its_intercept(K, ridge):
    """[Σ v z zᵀ + λ, Σ v z; Σ v zᵀ, Σ v] x = (g, c), with features that are constant or in no row."""
    design, (w, p) = rows(60), shares(60, K)
    found = design.metric(w, p, ridge)
    assert isinstance(found, Blocks)
    rng = np.random.default_rng(1)
    g, c = rng.normal(size=(design.size, K)), rng.normal(size=K)
    B, b = found.newton(g, c)
    v = w[:, None] * (p * (1 - p) + module.DOUBT / K)
    Z = np.column_stack([design.dense(), np.ones(60)])
    for k in range(K):
        whole = (Z * v[:, [k]]).T @ Z + np.diag([ridge] * design.size + [0.0])
        assert_allclose(
            np.append(B[:, k], b[k]), np.linalg.solve(whole, np.append(g[:, k], c[k])), rtol=1e-5, atol=1e-7
        )


def test_no_ridge_leaves_a_metric():
    design, (w, p) = rows(5), shares(5, 3)
    for at in (w, np.array([1.0, 0, 0, 0, 0])):  # fewer rows than features; one row with all the weight
        B, b = design.metric(at, p, 0.0).newton(np.ones((design.size, 3)), np.ones(3))
        assert np.isfinite(B).all()
        assert np.isfinite(b).all()


@pytest.mark.parametrize("numbers", [False, True])
def test_many_features_have_the_diagonal_alone(monkeypatch, numbers):
    design, (w, p) = rows(), shares(40, 3)
    many = len(design.varied())
    assert isinstance(design.metric(w, p, 0.1, many), Blocks)
    if numbers:
        monkeypatch.setattr(module, "NUMBERS", 3 * design.size**2)  # of all classes
        assert isinstance(design.metric(w, p, 0.1, many), Blocks)
        monkeypatch.setattr(module, "NUMBERS", 3 * design.size**2 - 1)
    found = design.metric(w, p, 0.1, many if numbers else many - 1)
    assert isinstance(found, Diagonal)
    v, Z = w[:, None] * (p * (1 - p) + module.DOUBT / 3), design.dense()
    B, b = found.newton(np.ones((design.size, 3)), np.ones(3))
    assert_allclose(B, 1 / (np.square(Z).T @ v + 0.1), rtol=1e-8)
    assert_allclose(b, 1 / v.sum(axis=0))


@pytest.mark.parametrize("K", [2, 3])
def test_the_metric_of_columns_is_the_covariance_of_what_they_say(K):
    design, (w, p) = rows(q=0), shares(40, K)
    table = np.random.default_rng(3).normal(size=(design.cells, K))
    columns = ByColumn(design.codes, design.offsets, table, 40)
    said = np.stack([table[o + c] for o, c in zip(design.offsets, design.codes)], axis=1)  # [row, column, class]
    S = 0.1 * np.eye(4)
    for r in range(40):
        apart = said[r] - (said[r] @ p[r])[:, None]
        S += w[r] * (apart * p[r]) @ apart.T
    g = np.arange(4.0)[:, None]
    B, b = columns.metric(w, p, 0.1).newton(g, np.ones(K))
    assert_allclose(B, np.linalg.solve(S, g), rtol=1e-6)
    assert_allclose(b, 1 / (w[:, None] * (p * (1 - p) + module.DOUBT / K)).sum(axis=0))


@given(st.integers(1, 20_000), st.integers(0, 2000))
def test_rows_of_a_metric_are_evenly_spaced(n, size):
    found = _some(n, size)
    assert len(found) == min(n, max(module.SAMPLE * size, module.ROWS))
    assert found[0] == 0
    assert found[-1] < n
    gaps = np.diff(found)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("matrix", [False, True])
def test_rows_are_taken_from_lists_and_matrices(matrix):
    design, some = rows(matrix=matrix), np.array([3, 1, 30])
    assert_array_equal(design.take(some).dense(), design.dense()[some])
    table = np.random.default_rng(0).normal(size=(design.cells, 2))
    columns = ByColumn(design.codes, design.offsets, table, design.n)
    B, b = np.ones((4, 1)), np.zeros(2)
    assert_array_equal(columns.take(some).scores(B, b), columns.scores(B, b)[some])
