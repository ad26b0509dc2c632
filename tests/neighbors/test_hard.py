"""What a hostile reader found once in the neighbour models."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import BadValue

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60)


@pytest.mark.parametrize("classes", [[[0, 1], [2, 3]], 5])
def test_a_failed_partial_fit_leaves_the_model_as_it_was(classes):
    model = po.KNeighborsClassifier().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(BadValue, match="list of labels"):
        model.partial_fit(X[:5], Y[:5], classes=classes)
    with pytest.raises(BadValue, match="do not mix"):
        model.partial_fit(X, ["a"] * 60)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("model", [po.KNeighborsClassifier(), po.KNeighborsRegressor()], ids=repr)
def test_a_failed_fit_leaves_the_model_as_it_was(model):
    model.fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError):
        model.fit(X, Y[:5])
    np.testing.assert_array_equal(model.predict(X), before)


def test_no_row_is_its_own_neighbour_at_an_infinite_distance():
    Z = np.array([[1, np.nan], [np.nan, 1], [2, np.nan], [np.nan, 2]])
    model = po.KNeighborsClassifier(3, metric="nan_euclidean").fit(Z, [0, 1, 0, 1])
    _, index = model.kneighbors()
    assert all(i not in row for i, row in enumerate(index))


def test_k_can_be_changed_after_training_and_no_query_has_no_answer():
    model = po.KNeighborsClassifier(5).fit(X, Y).set_params(n_neighbors=1)
    assert model.score(X, Y) == 1.0
    assert po.KDTree(X).query_radius(np.empty((0, 3)), 1.0) == []
