"""SVR, LinearSVC, posteriors, the picture, and scikit-learn's own checks."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import svm as peers
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin.linear import objective
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


# -- regression ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_svr_is_libsvms(kernel, C):
    A, t = make_regression(200, 5, noise=3, random_state=0)
    t = t / t.std()
    options = {"kernel": kernel, "C": C, "epsilon": 0.05, "tol": 1e-6}
    ours, theirs = po.SVR(**options).fit(A, t), peers.SVR(**options).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=1e-4)
    assert abs(len(ours.support_) - len(theirs.support_)) <= 1
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_svr_by_rounds_and_precomputed():
    A, t = make_regression(1500, 5, noise=3, random_state=1)
    t = t / t.std()
    ours, theirs = po.SVR(tol=1e-4).fit(A, t), peers.SVR(tol=1e-4).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=2e-3)
    K = A[:200] @ A[:200].T
    fitted = po.SVR(kernel="precomputed").fit(K, t[:200])
    assert_allclose(fitted.predict(K), po.SVR(kernel="linear").fit(A[:200], t[:200]).predict(A[:200]), atol=5e-3)
    with pytest.raises(ModelError, match="epsilon"):
        po.SVR(epsilon=-1).fit(A, t)


# -- linear -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scaling", [1.0, 5.0])
def test_linear_reaches_liblinears_objective(solver, loss, kind, scaling):
    if (solver, loss) == ("newton", "hinge"):
        with pytest.raises(ModelError, match="squared hinge"):
            po.LinearSVC(loss=loss, solver=solver).fit(X, Y)
        return
    weight = np.random.RandomState(1).random_sample(300) + 0.1
    options = {
        "loss": loss,
        "tol": 1e-5,
        "C": 0.3,
        "intercept_scaling": scaling,
        "max_iter": 100_000,
        "random_state": 0,
    }
    ours = po.LinearSVC(solver=solver, **options).fit(kind(X), Y, sample_weight=weight)
    theirs = peers.LinearSVC(**options).fit(X, Y, sample_weight=weight)
    sign = np.where(Y == 1, 1.0, -1.0)
    value, best = (
        objective(X, sign, 0.3 * weight, np.append(m.coef_[0], m.intercept_ / scaling), scaling, loss)
        for m in (ours, theirs)
    )
    assert_allclose(value, best, rtol=1e-5)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)


def test_linear_with_more_columns_than_a_hessian_takes():
    random = np.random.RandomState(0)
    A = sparse.random_array((1500, 1200), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = (A @ random.normal(size=1200) > 0).astype(int)
    ours, theirs = (po.LinearSVC(tol=1e-5), peers.LinearSVC(tol=1e-6))
    sign = np.where(y == 1, 1.0, -1.0)
    value, best = (
        objective(A, sign, np.ones(1500), np.append(m.coef_[0], m.intercept_), 1.0, "squared_hinge")
        for m in (ours.fit(A, y), theirs.fit(sparse.csr_matrix(A), y))
    )
    assert_allclose(value, best, rtol=1e-6)


def test_linear_of_several_classes_and_its_errors():
    A, y = load_iris(return_X_y=True)
    ours, theirs = po.LinearSVC(tol=1e-6).fit(A, y), peers.LinearSVC(tol=1e-6, dual=False, max_iter=10_000).fit(A, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert (ours.predict(A) == theirs.predict(A)).mean() > 0.99
    hinge = po.LinearSVC(loss="hinge", C=0.01, random_state=0, max_iter=20_000)
    assert (hinge.fit(A, y).coef_ == clone(hinge).fit(A, y).coef_).all()
    assert po.LinearSVC(fit_intercept=False).fit(A, y).intercept_.tolist() == [0, 0, 0]
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        po.LinearSVC(loss="hinge", max_iter=1, random_state=0).fit(A, y)
    with pytest.raises(ModelError, match="did you mean 'hinge'"):
        po.LinearSVC(loss="hing").fit(A, y)
    with pytest.raises(ModelError, match="hard margin"):
        po.LinearSVC(C=np.inf).fit(A, y)


# -- posteriors ---------------------------------------------------------------------------------------------------------


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
