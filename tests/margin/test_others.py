"""Posteriors, the picture, and scikit-learn's own checks."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin.platt import couple, fit_sigmoid, sigmoid

X, Y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)


CHECKED = [po.SVC(), po.SVC(multi_class="ovr"), po.SVR(), po.LinearSVC(), po.LinearSVC(loss="hinge")]


@pytest.mark.parametrize("estimator", CHECKED, ids=repr)
def test_scikit_learns_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = check_estimator(estimator, on_fail=None)
    assert len(results) > 50
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("estimator", [po.SVC(probability=True, random_state=0), po.SVR(), po.LinearSVC()], ids=repr)
def test_clone_and_pickle(estimator):
    fitted = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()


def test_sigmoid_finds_the_slope_it_was_drawn_from():
    random = np.random.RandomState(0)
    f = random.normal(size=20_000) * 2
    A, B = fit_sigmoid(f, random.random_sample(20_000) < sigmoid(f, -1.5, 0.4))
    assert_allclose([A, B], [-1.5, 0.4], atol=0.06)
    A, B = fit_sigmoid(np.array([-3.0, -2.0, 2.0, 3.0]), np.array([False, False, True, True]))
    assert A < 0
    assert np.isfinite([A, B]).all()


@given(st.lists(st.floats(0.01, 10.0), min_size=2, max_size=6))
def test_coupling_returns_the_posterior_its_pairs_came_from(weights):
    p = np.array(weights) / np.sum(weights)
    r = p[:, None] / (p[:, None] + p)
    assert_allclose(couple(r[None]), [p], atol=1e-6)


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_posteriors(scheme):
    A, y = load_iris(return_X_y=True)
    machine = po.SVC(probability=True, random_state=0, multi_class=scheme).fit(A, y)
    posterior = machine.predict_proba(A)
    assert_allclose(posterior.sum(axis=1), 1)
    assert (posterior >= 0).all()
    assert (machine.classes_[posterior.argmax(axis=1)] == y).mean() > 0.93
    assert_allclose(np.exp(machine.predict_log_proba(A)), posterior)
    same = clone(machine).fit(A, y).predict_proba(A)
    assert (same == posterior).all()
    assert_allclose(machine.predict_proba(A[:1]), posterior[:1], atol=1e-12)


def test_posteriors_of_two_classes_are_calibrated():
    A, y = make_classification(3000, 5, n_informative=4, n_redundant=0, flip_y=0.2, random_state=3)
    p = po.SVC(probability=True, random_state=0).fit(A[:1500], y[:1500]).predict_proba(A[1500:])[:, 1]
    bins = np.digitize(p, [0.2, 0.4, 0.6, 0.8])
    for b in np.unique(bins):
        inside = bins == b
        if inside.sum() > 60:
            assert abs(p[inside].mean() - y[1500:][inside].mean()) < 0.12
    tiny = po.SVC(probability=True, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert np.isfinite(tiny.predict_proba([[0.5]])).all()


# -- the picture --------------------------------------------------------------------------------------------------------


def test_plot_margin():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])
    machine = po.SVC(kernel="linear", C=np.inf).fit(A, y)
    ax = machine.plot_margin(A, y)
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == ["-1", "1", "support vectors"]
    assert "1.41" in ax.get_title()
    rings = ax.collections[-1].get_offsets()
    assert {tuple(r) for r in np.asarray(rings)} == {(3.0, 3.0), (1.0, 1.0)}
    matplotlib.pyplot.close(ax.figure)
    with pytest.raises(ModelError, match="two columns"):
        po.SVC().fit(X, Y).plot_margin(X, Y)


def test_a_fit_takes_a_turn_at_least():
    assert po.LinearSVC().fit([[0.0], [0.0], [0.0]], [0, 1, 1]).n_iter_ >= 1
