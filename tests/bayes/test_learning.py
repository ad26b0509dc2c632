"""Learning, forgetting and fading: all of a call or nothing of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import StatisticsError

X = np.array([["a", "u"], ["b", "u"], ["a", "v"], ["b", "v"]], dtype=object)
Y = np.array(["no", "yes", "yes", "no"])


@pytest.mark.parametrize("make", [po.NaiveBayes, po.TAN, po.AODE])
def test_the_last_row_is_not_forgotten(make):
    model = make().fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y)
    assert np.array_equal(model.predict_proba(X), before)
    model.forget(X[1:], Y[1:])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X[:1], Y[:1])
    assert model.predict(X[:1]).tolist() == ["no"]


def test_declared_classes_do_not_stand_for_rows():
    model = po.NaiveBayes().partial_fit(X, Y, classes=["maybe", "no", "yes"])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y)
    assert model.forget(X[1:], Y[1:]).classes_.tolist() == ["maybe", "no", "yes"]


def test_weights_that_cancel_leave_no_model():
    model = po.NaiveBayes().fit(X, Y, [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(StatisticsError, match="last row"):
        model.forget(X, Y, [0.1, 0.2, 0.3, 0.4])


def test_a_decay_that_leaves_nothing_is_refused():
    model = po.NaiveBayes().fit(X, Y)
    with pytest.raises(StatisticsError, match="underflow"):
        model.decay(1e-200).decay(1e-200)
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        model.decay(0.0)
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        model.decay(1.5)


def test_a_failed_call_forgets_nothing_of_before():
    model = po.NaiveBayes().fit(X, Y)
    before, state = model.predict_proba(X), set(vars(model))
    with pytest.raises(ValueError):
        model.forget(np.array([["a", "w"]], dtype=object), ["no"])
    with pytest.raises(ValueError):
        model.partial_fit(X[:, :1], Y)
    assert np.array_equal(model.predict_proba(X), before)
    assert set(vars(model)) == state


@pytest.mark.parametrize("make", [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE, po.A2DE, po.CategoricalNB])
def test_fitted_anew_a_model_has_nothing_left_of_before(make):
    """Not even the names of its columns."""
    frame, y = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 0, 1, 1]}), np.array([0, 1, 1, 0])
    fresh, again = (make().fit(frame.to_numpy(), y), make().fit(frame, y).fit(frame.to_numpy(), y))
    assert set(vars(again)) == set(vars(fresh))
    assert not hasattr(again, "feature_names_in_")
