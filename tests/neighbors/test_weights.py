"""What a vote weighs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.errors import BadValue, ModelError

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
