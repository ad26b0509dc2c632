"""Margins as posteriors: small classes are no error, sparse points and weights are taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Perceptron

import posteriori as po
from posteriori.decision.calibrated import Calibrated


class Margins(ClassifierMixin, BaseEstimator):
    """Its margins are the coordinates."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0] if len(self.classes_) == 2 else X


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


def test_two_classes_one_of_a_single_row():
    X, y = points(k=2)
    y = np.where(np.arange(90) == 0, "b", "a")
    p = Calibrated(po.LinearSVC()).fit(X, y).predict_proba(X)
    assert np.allclose(p.sum(axis=1), 1)


@given(st.integers(2, 5), st.integers(0, 20))
@settings(max_examples=20, deadline=None)
def test_the_sigmoid_is_logistic_regression_of_margins(k, seed):
    """On rows whose margins are their own coordinates: the posterior is scikit-learn's, class by class."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % k
    S = rng.normal(size=(60, k)) + 1.5 * np.eye(k)[y]
    S = S if k > 2 else S[:, 1] - S[:, 0]
    fitted = Calibrated(Margins()).fit(S.reshape(60, -1), y)
    two = np.column_stack([-S, S]) if k == 2 else S
    expected = LogisticRegression(max_iter=1000).fit(two, y).predict_proba(two)
    assert np.allclose(fitted.predict_proba(S.reshape(60, -1)), expected, atol=1e-6)


def test_two_classes_that_inner_folds_could_test_are_judged_by_these():
    """The margins of rows that a model has learned are too large, and are taken only where there are no others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), np.arange(30) % 2
    found = Calibrated(Perceptron(random_state=0), 0).fit(X, y)
    own = Perceptron(random_state=0).fit(X, y)
    assert own.score(X, y) == 1.0  # of labels that are noise: learned by heart
    assert found.predict_proba(X).max(axis=1).mean() < 0.9
