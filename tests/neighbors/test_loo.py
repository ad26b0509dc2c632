"""Every k at once is every k by itself."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.neighbors import loo
from posteriori.neighbors.loo import (
    KERNELS,
    NAMES,
    error_curve,
    first_over,
    in_v,
    largest_k,
    repeated_weights,
    squared_curve,
    totals,
    vote_weights,
)

X, Y = load_iris(return_X_y=True)
RUBBISH = {
    "nobody votes": lambda d: np.zeros_like(d),
    "at least 0": lambda d: d - 100,
    "finite": lambda d: np.full_like(d, np.nan),
    "shape": lambda d: np.ones(3),
    "failed": lambda d: ["a"] * len(d),
}


@pytest.mark.parametrize("words", RUBBISH)
@pytest.mark.parametrize("model", [po.KNeighborsClassifier, po.KNeighborsRegressor])
@pytest.mark.parametrize("sample_weight", [None, np.arange(150) % 3])
def test_a_weights_function_that_gives_no_votes_is_named(model, words, sample_weight):
    fitted = model(5, weights=RUBBISH[words]).fit(X, Y, sample_weight)
    with pytest.raises((BadValue, ModelError), match=words):
        fitted.predict(X)


def test_one_silent_query_among_many_is_named():
    fitted = po.KNeighborsClassifier(5, weights=lambda d: (d < 2).astype(float)).fit(X, Y)
    with pytest.raises(BadValue, match="query 1 "):
        fitted.predict_proba([X[0], X[0] + 50])
    assert fitted.predict(X[:1]) == Y[:1]


@pytest.mark.parametrize("weights", ["triangular", "gaussian", "distance"])
def test_a_last_neighbour_of_no_weight_is_not_there(weights):
    """Repetition, where k is all rows and the farthest is repeated no times."""
    A, y, w = np.array([[0.0], [1.0], [2.0], [9.0]]), [0, 1, 1, 0], [1, 2, 1, 0]
    weighted = po.KNeighborsClassifier(4, weights=weights).fit(A, y, sample_weight=w)
    repeated = po.KNeighborsClassifier(4, weights=weights).fit(np.repeat(A, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba([[0.3]]), repeated.predict_proba([[0.3]]))


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.1, 2, 150)], ids=["rows", "weights"])
@pytest.mark.parametrize("k", [5, "auto"])
@pytest.mark.parametrize("scale", [2.0**-1015, 2.0**-600, 2.0**600])
def test_one_over_a_distance_has_sums_at_any_scale(scale, k, sample_weight):
    rng = np.random.default_rng(0)
    far, asked, t = rng.uniform(1, 2, (150, 2)), rng.uniform(3, 4, (20, 2)), rng.normal(size=150) * 1e10
    for model, y in (
        (po.KNeighborsClassifier(k, weights="distance"), Y),
        (po.KNeighborsRegressor(k, weights="distance"), t),
    ):
        way = "predict_proba" if y is Y else "predict"
        wanted = getattr(model.fit(far, y, sample_weight), way)(asked)
        chosen = model.n_neighbors_
        found = getattr(model.fit(far * scale, y, sample_weight), way)(asked * scale)
        assert model.n_neighbors_ == chosen
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_weights_of_a_function_have_sums():
    model = po.KNeighborsClassifier(3, weights=lambda d: np.full_like(d, 1e308)).fit(X, Y)
    wanted = po.KNeighborsClassifier(3).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), wanted.predict_proba(X))


# the functions themselves


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("triangular", lambda u: 1 - u), ("epanechnikov", lambda u: 1 - u * u), ("biweight", lambda u: (1 - u * u) ** 2),
        ("tricube", lambda u: (1 - u**3) ** 3), ("cosine", lambda u: math.cos(math.pi * u / 2)),
        ("gaussian", lambda u: math.exp(-u * u / 2)),
    ],
)  # fmt: skip
def test_a_kernel_of_distance_over_bandwidth(name, formula):
    D, h = np.array([[0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 2.0, 9.0]]), np.array([[4.0], [8.0]])
    found = loo.vote_weights(D, name, h)
    for i in range(2):
        wanted = [max(formula(min(d / h[i, 0], 1.0)), 0.0) for d in D[i]]
        np.testing.assert_allclose(found[i], wanted, atol=1e-15)
    np.testing.assert_allclose(loo.vote_weights(D, name)[0], found[0])  # the last is the bandwidth, unless it is told
    assert loo.needs_next(name)
    rim = formula(1.0)
    for h in (0.0, np.inf):  # no bandwidth: all at the rim, and equal where that is nothing
        np.testing.assert_allclose(loo.vote_weights(D[:1], name, np.array([[h]])), [[rim if rim > 0 else 1.0] * 4])


def test_one_over_the_distance_and_only_those_that_are_there():
    D = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 3.0]])
    assert loo.vote_weights(D, "distance").tolist() == [[1.0, 0.5, 0.25], [1.0, 1.0, 0.0]]
    assert loo.vote_weights(np.full((1, 2), np.inf), "distance").tolist() == [[1.0, 1.0]]  # nobody near: equal votes
    assert loo.vote_weights(D, None) is loo.vote_weights(D, "uniform") is None
    assert not any(loo.needs_next(w) for w in ("uniform", "distance", None, np.exp))
    assert loo.vote_weights(D, lambda d: d + 1).tolist() == (D + 1).tolist()


def test_weights_that_a_function_gives_are_named_by_query_and_distance():
    D = np.array([[1.0, 2.0], [3.0, 4.0]])
    for give, said in [
        (lambda d: np.where(d == 3, -1.0, 1.0), "gave -1.0 for a neighbour at distance 3.0 (query 1)"),
        (lambda d: np.where(d == 4, np.inf, 1.0), "gave inf for a neighbour at distance 4.0 (query 1)"),
        (lambda d: (d < 3).astype(float), "gave all 2 neighbours of query 1 (distances 3 to 4) a weight of zero"),
        (lambda d: d[:1], "gave shape (1, 2) for distances of shape (2, 2)"),
    ]:
        with pytest.raises((BadValue, ModelError), match=re.escape(said)):
            loo.told_weights(D, give)
    assert loo.told_weights(D, lambda d: np.where(d == 3, 0, 2)).tolist() == [[2, 2], [0, 2]]


def test_huge_weights_are_halved_together():
    assert loo.summable(np.array([[2.0**1000, 2.0**999, 0.0], [3.0, 1.0, 0.0]]), 4).tolist() == [
        [8, 4, 0],
        [3, 1, 0],
    ]
    w = np.array([[7.0, 15.0]])
    assert loo.summable(w, 4) is w
    assert loo.summable(np.array([[16.0, 8.0]]), 4).tolist() == [[8.0, 4.0]]
    assert loo.summable(np.zeros((2, 0))).shape == (2, 0)


ROWS, FAR = (
    np.array([[2.0, 0.0, 3.0, 1.0], [0.0, 1.5, 1.0, 1.0]]),
    np.array([[1.0, 2.0, 3.0, 5.0], [0.5, 1.0, 4.0, 6.0]]),
)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 9])
def test_the_first_k_of_rows_that_are_repeated(k):
    for rows, far in zip(ROWS, FAR):
        left, wanted = k, []
        for r in rows:
            wanted.append(min(left, r))
            left -= wanted[-1]
        assert loo.taken(rows[None], k).tolist() == [wanted]
        there = [d for d, r in zip(far, rows) if r > 0]
        past = [d for d, held in zip(far, np.cumsum(rows)) if held > k]
        assert loo.bandwidth(far[None], rows[None], k).tolist() == [[past[0] if past else there[-1]]]
    assert loo.reach(FAR, ROWS).tolist() == [[1.0, 1.0, 3.0, 5.0], [0.0, 1.0, 4.0, 6.0]]


@pytest.mark.parametrize("name", ["uniform", "distance", "triangular", "gaussian", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("k", [2, 4])
def test_a_row_that_is_repeated_votes_as_often(name, k):
    rows, far = np.array([2, 0, 3, 1]), np.array([1.0, 2.0, 3.0, 5.0])
    found = loo.repeated_weights(far[None], rows[None].astype(float), name, k)[0]
    copies = np.repeat(far, rows)
    next_one = np.array([[copies[k]]])
    w = loo.vote_weights(copies[None, :k], name, next_one)
    w = np.ones((1, k)) if w is None else w
    wanted = [w[0][copies[:k] == d].sum() for d in far]
    np.testing.assert_allclose(found, wanted)


def test_where_nobody_weighs_anything_all_that_are_taken_vote():
    rows = np.array([[1.0, 2.0]])
    found = loo.repeated_weights(np.array([[3.0, 3.0]]), rows, "triangular", 3)
    assert found.tolist() == [[1.0, 2.0]]


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
