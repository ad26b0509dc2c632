"""Every k at once is every k by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadValue
from posteriori.neighbors import loo
from posteriori.neighbors.loo import error_curve, first_over, in_v, largest_k, squared_curve, totals
from posteriori.neighbors.weights import KERNELS, NAMES, repeated_weights, vote_weights


def by_itself(D, t, rows, weights, k):
    """Σ w_r t_r of the first k neighbours, their weights worked out for this k alone."""
    if rows is not None:
        return np.einsum("nk,nkc->nc", repeated_weights(D, rows, weights, k), t)
    h = D[:, k : k + 1] if weights in KERNELS and D.shape[1] > k else None
    w = vote_weights(D[:, :k], weights, h)
    return np.einsum("nk,nkc->nc", np.ones((len(D), k)) if w is None else w, t[:, :k])


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([*NAMES, None, "function"]),
    st.sampled_from(["wide", "rim", "grid", "equal", "infinite"]),
    st.sampled_from([None, "whole", "parts", "zeros"]),
    st.integers(1, 30),
)
def test_the_totals_of_every_k_are_those_of_each(seed, weights, kind, repeated, N):
    rng = np.random.default_rng(seed)
    n, columns = 6, 3
    D = {
        "wide": rng.random((n, N)) * 10.0 ** rng.uniform(-150, 150, (n, 1)),
        "rim": 1 + 1e-4 * rng.random((n, N)),
        "grid": rng.integers(0, 4, (n, N)).astype(float),
        "equal": np.full((n, N), rng.integers(0, 2), dtype=float),
        "infinite": np.where(rng.random((n, N)) < 0.5, np.inf, rng.integers(0, 3, (n, N))),
    }[kind]
    D.sort(axis=1)
    t = np.concatenate([rng.random((n, N, columns)), np.ones((n, N, 1))], axis=2)
    rows = {
        None: None,
        "whole": rng.integers(1, 4, (n, N)).astype(float),
        "parts": rng.random((n, N)) * 3,
        "zeros": rng.integers(0, 2, (n, N)).astype(float),
    }[repeated]
    if rows is not None:
        rows[:, 0] = np.maximum(rows[:, 0], 0.5)  # somebody must be there
    asked = (lambda d: 1 / (1 + d) + 1e-9) if weights == "function" else weights
    found = totals(D, t, rows, asked, N)
    assert found.shape == (n, N, columns + 1)
    for k in range(1, N + 1):
        wanted = by_itself(D, t, rows, asked, k)
        share, exact = found[:, k - 1] / found[:, k - 1, -1:], wanted / wanted[:, -1:]
        np.testing.assert_allclose(share, exact, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_a_polynomial(name):
    v = np.linspace(0, 1, 1001)
    found = np.polynomial.polynomial.polyval(v, in_v(name))
    np.testing.assert_allclose(found, KERNELS[name](1 - v), atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(NAMES), st.booleans(), st.booleans())
def test_the_curve_is_fitting_without_each_row(seed, weights, weighted, grid):
    rng = np.random.default_rng(seed)
    n = 14
    X = rng.integers(0, 3, (n, 2)).astype(float) if grid else rng.standard_normal((n, 2))
    y, z = rng.integers(0, 3, n), rng.standard_normal(n)
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    given_weight = w if weighted else None
    models = {
        "error": po.KNeighborsClassifier("auto", weights=weights).fit(X, y, given_weight),
        "squared": po.KNeighborsRegressor("auto", weights=weights).fit(X, z, given_weight),
    }
    for k in (1, 2, 5, len(models["error"].loo_curve_)):
        lost, low, high = [], [], []
        for i in range(n):
            rest = np.arange(n) != i
            one = po.KNeighborsClassifier(k, weights=weights)
            one.fit(X[rest], y[rest], w[rest] if weighted else None)
            P = one.predict_proba(X[[i]])[0]
            sure = P.max() - 1e-9 > np.sort(P)[-2] if len(P) > 1 else True
            missed = one.classes_[P.argmax()] != y[i]
            low.append(w[i] * (missed and sure))
            high.append(w[i] * (missed or not sure))  # a tie may fall either way by a rounding
            one = po.KNeighborsRegressor(k, weights=weights).fit(X[rest], z[rest], w[rest] if weighted else None)
            lost.append(w[i] * (one.predict(X[[i]])[0] - z[i]) ** 2)
        assert sum(low) / w.sum() - 1e-12 <= models["error"].loo_curve_[k - 1] <= sum(high) / w.sum() + 1e-12
        assert models["squared"].loo_curve_[k - 1] == pytest.approx(sum(lost) / w.sum(), rel=1e-6)


def test_where_no_neighbour_has_a_weight_the_mean_of_all_answers():
    D, I, y = np.array([[1.0], [1.0]]), np.array([[1], [0]]), np.array([[3.0], [5.0]])
    assert squared_curve(D, I, y, "uniform", np.array([1.0, 0.0]), 1).tolist() == [0.0]  # the mean is 3
    assert squared_curve(D, I, y, "uniform", None, 1).tolist() == [4.0]


@pytest.mark.parametrize("sample_weight", [None, [1.0, 2.0, 1.0, 1.0]])
def test_a_function_that_silences_a_row_is_refused(sample_weight):
    X, y = [[0.0], [1.0], [2.0], [50.0]], [0, 1, 1, 0]
    for model in (po.KNeighborsClassifier, po.KNeighborsRegressor):
        with pytest.raises(BadValue, match="nobody votes"):
            model("auto", weights=lambda d: (d < 5).astype(float)).fit(X, y, sample_weight)


@pytest.mark.parametrize(
    ("n", "k"), [(1, 1), (2, 1), (5, 4), (14, 13), (18, 17), (19, 18), (20, 18), (100, 30), (10_000, 210)]
)
def test_as_many_neighbours_as_twice_the_root_and_ten_more(n, k):
    assert largest_k(n) == k == max(1, min(n - 1, int(2 * n**0.5) + 10))


def test_neighbours_that_k_holds_whole():
    rng = np.random.default_rng(0)
    held = np.cumsum(rng.integers(0, 5, (4, 7)) / 2, axis=1)
    for M in (1, 3, 9):
        assert first_over(held, M).tolist() == [[int((row <= k).sum()) for k in range(1, M + 1)] for row in held]


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    n, N, K = 11, 5, 3
    D, I = np.sort(rng.random((n, N)), axis=1), np.array([rng.permutation(n)[:N] for _ in range(n)])
    y, w = rng.integers(0, K, n), rng.random(n) + 0.5
    whole = (
        error_curve(D, I, y, K, "distance", w, N),
        squared_curve(D, I, rng.normal(size=(n, 2)) * 0 + y[:, None], "distance", w, N),
    )
    monkeypatch.setattr(loo, "CELLS", 1)
    again = (
        error_curve(D, I, y, K, "distance", w, N),
        squared_curve(D, I, np.tile(y[:, None], (1, 2)) * 1.0, "distance", w, N),
    )
    for a, b in zip(whole, again):
        np.testing.assert_allclose(a, b)
    by_hand = np.zeros(N)
    for k in range(1, N + 1):
        for i in range(n):
            votes = np.zeros(K)
            left = float(k)
            for d, j in zip(D[i], I[i]):
                part = min(left, w[j])
                votes[y[j]] += part / d
                left -= part
            by_hand[k - 1] += w[i] * (votes.argmax() != y[i])
    np.testing.assert_allclose(whole[0], by_hand / w.sum())


def test_as_many_neighbours_are_tried_as_distances_fit_into_memory():
    assert [largest_k(n) for n in (2, 100, 80_000, 100_000, 1_000_000, 10**9)] == [1, 30, 575, 500, 50, 1]
