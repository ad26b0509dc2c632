"""Statistics by class, whatever they are of: a class whose rows are all forgotten leaves no trace."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po

MODELS = [po.CategoricalNB, po.MultinomialNB, po.ComplementNB, po.BernoulliNB, po.GaussianNB]


@pytest.mark.parametrize("gone", [0, 1, 2])
@pytest.mark.parametrize("Model", MODELS)
def test_a_class_that_is_forgotten_was_never_there(Model, gone) -> None:
    rng = np.random.default_rng(gone)
    X, y = rng.integers(0, 2, (30, 4)), np.arange(30) % 3
    model = Model().fit(X, y).forget(X[y == gone], y[y == gone])
    fresh = Model().fit(X[y != gone], y[y != gone])
    assert model.classes_.tolist() == fresh.classes_.tolist()
    np.testing.assert_allclose(model.predict_proba(X), fresh.predict_proba(X), rtol=1e-9, atol=1e-12)
