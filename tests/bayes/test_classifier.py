"""From log P(y, x) to every answer: log P(y|x), and the row that no class can have."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ImpossibleEvidence, PosterioriError

X = [["a", "p"], ["a", "q"], ["b", "q"], ["b", "q"]]
Y = [0, 0, 1, 1]


@pytest.mark.parametrize("ask", ["predict_proba", "predict_log_proba", "predict"])
def test_the_impossible_row_is_named(ask):
    """Without smoothing (b, p) is impossible in both classes: it is the second of these rows."""
    model = po.NaiveBayes(smoothing=0, kinds="categorical").fit(X, Y)
    with pytest.raises(PosterioriError, match=r"\brow 1\b"):
        getattr(model, ask)([["a", "p"], ["b", "p"], ["b", "q"]])


def test_logs_are_the_logs():
    model = po.NaiveBayes(kinds="categorical").fit(X, Y)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    joint = np.exp(model.predict_joint_log_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("Model", [po.MixtureBayes, po.GaussianBayes, po.GaussianNB, po.NaiveBayes])
def test_a_row_too_far_from_every_class_is_told_so(Model):
    rng = np.random.default_rng(0)
    model = Model().fit(rng.normal(size=(40, 2)), np.repeat([0, 1], 20))
    with pytest.raises(ImpossibleEvidence, match=r"row 1 .* look at the row") as told:
        model.predict_proba([[0.0, 0.0], [1e200, 0.0]])
    assert "smooth" not in str(told.value)
