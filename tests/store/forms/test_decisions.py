"""What a classifier that decides must hold in a file."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError
from posteriori.store.forms import form_of


@pytest.mark.parametrize("inner", [None, 3, po.KDTree(np.ones((2, 2)))])
def test_a_fitted_decision_has_a_fitted_classifier(inner):
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = po.RiskClassifier(po.GaussianNB(), loss=[[0, 1], [5, 0]]).fit(X, y)
    form = form_of(po.RiskClassifier)
    fields = form.take(model)
    assert np.array_equal(form.make(dict(fields)).predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="estimator_ must be"):
        form.make({**fields, "estimator_": inner})
