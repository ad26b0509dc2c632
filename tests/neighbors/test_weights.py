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
