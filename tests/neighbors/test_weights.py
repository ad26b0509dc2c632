"""What a vote weighs."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.neighbors import weights

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
    found = weights.vote_weights(D, name, h)
    for i in range(2):
        wanted = [max(formula(min(d / h[i, 0], 1.0)), 0.0) for d in D[i]]
        np.testing.assert_allclose(found[i], wanted, atol=1e-15)
    np.testing.assert_allclose(
        weights.vote_weights(D, name)[0], found[0]
    )  # the last is the bandwidth, unless it is told
    assert weights.needs_next(name)
    rim = formula(1.0)
    for h in (0.0, np.inf):  # no bandwidth: all at the rim, and equal where that is nothing
        np.testing.assert_allclose(weights.vote_weights(D[:1], name, np.array([[h]])), [[rim if rim > 0 else 1.0] * 4])


def test_one_over_the_distance_and_only_those_that_are_there():
    D = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 3.0]])
    assert weights.vote_weights(D, "distance").tolist() == [[1.0, 0.5, 0.25], [1.0, 1.0, 0.0]]
    assert weights.vote_weights(np.full((1, 2), np.inf), "distance").tolist() == [
        [1.0, 1.0]
    ]  # nobody near: equal votes
    assert weights.vote_weights(D, None) is weights.vote_weights(D, "uniform") is None
    assert not any(weights.needs_next(w) for w in ("uniform", "distance", None, np.exp))
    assert weights.vote_weights(D, lambda d: d + 1).tolist() == (D + 1).tolist()


def test_weights_that_a_function_gives_are_named_by_query_and_distance():
    D = np.array([[1.0, 2.0], [3.0, 4.0]])
    for give, said in [
        (lambda d: np.where(d == 3, -1.0, 1.0), "gave -1.0 for a neighbour at distance 3.0 (query 1)"),
        (lambda d: np.where(d == 4, np.inf, 1.0), "gave inf for a neighbour at distance 4.0 (query 1)"),
        (lambda d: (d < 3).astype(float), "gave all 2 neighbours of query 1 (distances 3 to 4) a weight of zero"),
        (lambda d: d[:1], "gave shape (1, 2) for distances of shape (2, 2)"),
    ]:
        with pytest.raises((BadValue, ModelError), match=re.escape(said)):
            weights.told_weights(D, give)
    assert weights.told_weights(D, lambda d: np.where(d == 3, 0, 2)).tolist() == [[2, 2], [0, 2]]


def test_huge_weights_are_halved_together():
    assert weights.summable(np.array([[2.0**1000, 2.0**999, 0.0], [3.0, 1.0, 0.0]]), 4).tolist() == [
        [8, 4, 0],
        [3, 1, 0],
    ]
    w = np.array([[7.0, 15.0]])
    assert weights.summable(w, 4) is w
    assert weights.summable(np.array([[16.0, 8.0]]), 4).tolist() == [[8.0, 4.0]]
    assert weights.summable(np.zeros((2, 0))).shape == (2, 0)


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
        assert weights.taken(rows[None], k).tolist() == [wanted]
        there = [d for d, r in zip(far, rows) if r > 0]
        past = [d for d, held in zip(far, np.cumsum(rows)) if held > k]
        assert weights.bandwidth(far[None], rows[None], k).tolist() == [[past[0] if past else there[-1]]]
    assert weights.reach(FAR, ROWS).tolist() == [[1.0, 1.0, 3.0, 5.0], [0.0, 1.0, 4.0, 6.0]]


@pytest.mark.parametrize("name", ["uniform", "distance", "triangular", "gaussian", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("k", [2, 4])
def test_a_row_that_is_repeated_votes_as_often(name, k):
    rows, far = np.array([2, 0, 3, 1]), np.array([1.0, 2.0, 3.0, 5.0])
    found = weights.repeated_weights(far[None], rows[None].astype(float), name, k)[0]
    copies = np.repeat(far, rows)
    next_one = np.array([[copies[k]]])
    w = weights.vote_weights(copies[None, :k], name, next_one)
    w = np.ones((1, k)) if w is None else w
    wanted = [w[0][copies[:k] == d].sum() for d in far]
    np.testing.assert_allclose(found, wanted)


def test_where_nobody_weighs_anything_all_that_are_taken_vote():
    rows = np.array([[1.0, 2.0]])
    found = weights.repeated_weights(np.array([[3.0, 3.0]]), rows, "triangular", 3)
    assert found.tolist() == [[1.0, 2.0]]
