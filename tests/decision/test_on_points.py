"""A classifier of points on any table: the same as by hand, and it knows what was missing, unseen and absent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron

import posteriori as po
from posteriori.decision.on_points import Calibrated, OnPoints
from posteriori.errors import PosterioriError


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
    found = Calibrated(Perceptron(random_state=0), seed=0).fit(X, y)
    own = Perceptron(random_state=0).fit(X, y)
    assert own.score(X, y) == 1.0  # of labels that are noise: learned by heart
    assert found.predict_proba(X).max(axis=1).mean() < 0.9


def mixed(n=80, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"a": rng.normal(size=n) + y, "b": np.where(rng.random(n) < 0.7, y, 1 - y).astype(str)})
    X["c"] = rng.choice(["x", "y", "z"], n)
    X.loc[::9, "a"] = np.nan
    return X, np.array(["no", "yes"])[y]


INNER = {
    "svc": po.SVC(probability=True, random_state=0),
    "linear": Calibrated(po.LinearSVC(random_state=0)),
    "gaussian": po.GaussianBayes(shrinkage=0.1),
    "peer": LogisticRegression(),
}


@pytest.mark.parametrize("inner", INNER)
def test_it_is_the_classifier_on_the_points(inner):
    X, y = mixed()
    model = OnPoints(INNER[inner]).fit(X, y)
    from posteriori.table.frame import open_frame

    by_hand = clone(INNER[inner]).fit(model.prepare_(open_frame(X)), y)
    expected = by_hand.predict_proba(model.prepare_(open_frame(X)))
    assert np.array_equal(model.predict_proba(X), expected)
    assert np.allclose(np.exp(model.predict_log_proba(X)), expected)
    assert np.array_equal(model.predict(X), by_hand.classes_[expected.argmax(axis=1)])
    assert model.score(X, y) > 0.6
    assert np.array_equal(model.predict_proba(X[["c", "b", "a"]]), expected)  # by name
    assert np.array_equal(np.vstack([model.predict_proba(X.iloc[[i]]) for i in range(5)]), expected[:5]) or np.allclose(
        np.vstack([model.predict_proba(X.iloc[[i]]) for i in range(5)]), expected[:5], atol=1e-12
    )


def test_a_weight_of_two_is_the_row_twice_and_of_none_no_row():
    X, y = mixed()
    w = np.arange(len(y)) % 3
    model = OnPoints(po.GaussianBayes(shrinkage=0.1)).fit(X, y, sample_weight=w)
    # how points are scaled does not look at weights: rows of none alone are left out
    left = OnPoints(po.GaussianBayes(shrinkage=0.1)).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
    assert np.allclose(model.predict_proba(X), left.predict_proba(X))


def test_missing_and_unseen_are_counted_and_names_are_matched():
    X, y = mixed()
    model = OnPoints(po.SVC(probability=True, random_state=0)).fit(X, y)
    model.predict_proba({"a": [1.0, None], "b": ["0", "9"], "c": [None, "w"]})
    assert (model.n_missing_, model.n_unseen_) == (2, 2)
    with pytest.raises(PosterioriError, match="missing columns"):
        model.predict(X.drop(columns="c"))
    with pytest.raises(PosterioriError):
        model.predict(X[:0])
    with pytest.raises(NotFittedError):
        OnPoints(po.SVC()).predict(X)


@pytest.mark.parametrize("inner", INNER)
def test_what_a_column_says_is_what_its_absence_changes(inner):
    X, y = mixed()
    model = OnPoints(INNER[inner]).fit(X, y)
    row = X.iloc[[1]]
    why = model.explain(row.iloc[0].to_dict(), "yes", "no", changes=1)
    assert why.way == "absence"
    whole = model.predict_proba(row)[0]
    for part in why.parts:
        without = row.copy()
        without[part.column] = np.nan if part.column == "a" else None
        p = model.predict_proba(without)[0]
        floor = lambda q: np.log(np.maximum(q, 1e-3))  # noqa: E731
        expected = (floor(whole)[1] - floor(whole)[0]) - (np.log(p[1]) - np.log(p[0]))
        assert part.log_odds == pytest.approx(expected, abs=1e-9)
    for change in why.changes:
        other = row.copy()
        for name, (_, value) in change.values.items():
            other[name] = value
        assert model.predict(other)[0] == change.decision != model.predict(row)[0]


def test_a_call_that_fails_changes_nothing():
    X, y = mixed()
    model = OnPoints(po.SVC(probability=True, random_state=0)).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError):
        model.fit(X, ["one"] * len(y))
    assert np.array_equal(model.predict_proba(X), before)
    with pytest.raises(PosterioriError, match="view"):
        OnPoints(po.GaussianBayes(), view="two-hot").fit(X, y)


def test_words_and_thousands_of_corners_are_left_out_as_any_cell_is():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"say": rng.choice(["win cash", "see you now", "cash"], 60), "n": rng.normal(size=60)})
    for j in range(4):
        X[f"c{j}"] = rng.integers(0, 150, 60).astype(str)
    X.loc[::5, "n"] = np.nan
    X.loc[3, "c1"] = None
    kinds = {"say": "text", "n": "numeric"}
    model = OnPoints(Calibrated(po.LinearSVC(random_state=0)), kinds=kinds).fit(X, np.arange(60) % 2)
    row = X.iloc[[7]]
    found = model._log_without(row)[0]
    for j, name in enumerate(X.columns):
        without = row.astype(object)
        without[name] = None
        assert np.allclose(found[j], model.predict_log_proba(without)[0])
