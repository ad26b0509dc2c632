"""LinearSVC beside liblinear, and its errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import svm as peers
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin import linear_svc
from posteriori.margin.linear import objective

X, Y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)


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


def test_the_hinge_of_few_rows_is_solved_by_pairs(monkeypatch):
    """Three classes, weights and equal rows; what pairs leave, descent ends, and both give the same planes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)).round(1), np.arange(90) % 3
    X[:9] = X[9:18]
    weight = rng.integers(1, 4, 90).astype(float)
    options = {"loss": "hinge", "tol": 1e-7, "max_iter": 100_000}
    pairs = po.LinearSVC(**options).fit(X, y, weight)
    descent = po.LinearSVC(solver="dual", **options).fit(X, y, weight)
    assert pairs.coef_ == pytest.approx(descent.coef_, abs=1e-4)
    assert pairs.intercept_ == pytest.approx(descent.intercept_, abs=1e-4)
    assert 0 < pairs.n_iter_ < descent.n_iter_
    solved = linear_svc.by_pairs
    monkeypatch.setattr(linear_svc, "by_pairs", lambda X, sign, *args: None if sign[0] > 0 else solved(X, sign, *args))
    mixed = po.LinearSVC(random_state=0, **options).fit(X, y, weight)
    assert mixed.coef_ == pytest.approx(descent.coef_, abs=1e-4)
    monkeypatch.setattr(linear_svc, "by_pairs", None)  # sparse rows do not ask it
    found = po.LinearSVC(random_state=0, **options).fit(sparse.csr_array(X), y, weight)
    assert found.coef_ == pytest.approx(descent.coef_, abs=1e-4)
