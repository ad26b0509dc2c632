"""Margins as posteriors: small classes are no error, sparse points and weights are taken."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Perceptron

import posteriori as po
from posteriori.leaderboard.calibrated import Calibrated


def points(n=90, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + 2 * np.eye(4)[y], np.array(["a", "b", "c", "d"])[y]


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("model", [Perceptron(), po.LinearSVC()], ids=["perceptron", "linear-svc"])
def test_a_posterior_that_is_one_and_tells(model, k):
    X, y = points(k=k)
    fitted = Calibrated(model).fit(X, y)
    p = fitted.predict_proba(X)
    assert p.shape == (90, k)
    assert np.allclose(p.sum(axis=1), 1)
    assert (fitted.predict(X) == y).mean() > 0.6
    thin = sparse.csr_matrix(X)
    q = Calibrated(model).fit(thin, y).predict_proba(thin)
    assert np.allclose(q.sum(axis=1), 1)
    if not isinstance(model, Perceptron):  # whose intercept decays on sparse rows
        assert np.allclose(q, p, atol=1e-4)


def test_classes_of_one_or_two_rows():
    X, y = points()
    y = y.astype(object)
    y[0], y[1:3] = "alone", "few"
    p = Calibrated(Perceptron()).fit(X, y.astype(str)).predict_proba(X)
    assert p.shape == (90, 5)
    assert np.allclose(p.sum(axis=1), 1)


def test_a_weight_is_as_many_rows_for_the_sigmoid():
    X, y = points(k=2)
    p = Calibrated(po.LinearSVC()).fit(X, y, sample_weight=np.where(y == "a", 50.0, 1.0)).predict_proba(X)
    assert p[:, 0].mean() > Calibrated(po.LinearSVC()).fit(X, y).predict_proba(X)[:, 0].mean()
