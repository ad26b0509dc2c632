"""LinearSVC beside liblinear, and its errors."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

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


@pytest.mark.parametrize(
    ("solver", "loss", "shape", "newton"),
    [
        ("newton", "squared_hinge", (5, 5000), True),
        ("dual", "squared_hinge", (5, 5), False),
        ("auto", "hinge", (5, 5), False),
        ("auto", "squared_hinge", (5, 1000), True),  # up to 1000 columns
        ("auto", "squared_hinge", (5, 1001), False),
        ("auto", "squared_hinge", (1001, 1001), True),  # or up to as many as there are rows
        ("auto", "squared_hinge", (1001, 1002), False),
    ],
)
def test_who_is_solved_by_newton(solver, loss, shape, newton):
    assert po.LinearSVC(solver=solver, loss=loss)._use_newton(SimpleNamespace(shape=shape)) == newton


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_weigh_nothing_and_class_weights(loss):
    weight = np.where(np.arange(300) % 5 == 0, 0.0, 1.0 + np.arange(300) % 3)
    options = {"loss": loss, "tol": 1e-8, "max_iter": 100_000, "random_state": 0, "C": 0.2}
    whole = po.LinearSVC(**options).fit(X, Y, weight)
    part = po.LinearSVC(**options).fit(X[weight > 0], Y[weight > 0], weight[weight > 0])
    assert_allclose(whole.coef_, part.coef_, atol=1e-5)
    by_class = po.LinearSVC(**options | {"class_weight": {0: 0.5, 1: 2.0}}).fit(X, Y)
    by_row = po.LinearSVC(**options).fit(X, Y, np.where(Y == 1, 2.0, 0.5))
    assert_allclose(by_class.coef_, by_row.coef_, atol=1e-5)
    assert_allclose(by_class.intercept_, by_row.intercept_, atol=1e-5)


def test_a_cell_whose_square_overflows_is_named():
    """largest² · columns · C below 1e150."""
    for size, fits in ((0.9e74, True), (1.1e74, False)):
        table = X[:, :4].copy()
        table[0, 0] = size * 5  # (5e74)² · 4 = 1e150
        model = po.LinearSVC(max_iter=1, solver="dual")
        if fits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(table, Y)
        else:
            with pytest.raises(ModelError, match=r"a cell of 5.5e\+74 is too large for C=1"):
                model.fit(table, Y)
    with pytest.raises(ModelError, match="is too large for C=1"):
        po.LinearSVC(intercept_scaling=1e80).fit(X, Y)
    model = po.LinearSVC().fit(X, Y)
    model.coef_[:] = 2.0
    with pytest.raises(ModelError, match="overflows"):
        model.decision_function(np.full((1, 6), 1e308))


def test_the_intercept_is_that_of_its_scale_and_a_tie_falls_to_the_first():
    model = po.LinearSVC(intercept_scaling=4.0, tol=1e-9).fit(X, Y)
    assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    assert model.coef_.shape == (1, 6)
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert model.predict(X[:2]).tolist() == [0, 0]
    three = po.LinearSVC().fit(X, np.arange(300) % 3)
    assert three.coef_.shape == (3, 6)
    assert_allclose(three.decision_function(X), X @ three.coef_.T + three.intercept_)
    assert (three.predict(X) == three.decision_function(X).argmax(axis=1)).all()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 rounds with its gradient above tol=1e-09") as said:
        po.LinearSVC(max_iter=1, tol=1e-9).fit(X, Y)
    assert said[0].filename == __file__


def test_every_class_has_a_seed_of_its_own(monkeypatch):
    seeds = []

    def by_descent(X, y, C, bias, tol, rounds, loss, seed, stop):
        seeds.append(seed)
        return linear_svc.Plane(np.zeros(X.shape[1] + 1), 1, True)

    monkeypatch.setattr(linear_svc, "by_descent", by_descent)
    po.LinearSVC(solver="dual", random_state=3, n_jobs=1).fit(X, np.arange(300) % 3)
    assert len(set(seeds)) == 3
    again = list(seeds)
    po.LinearSVC(solver="dual", random_state=3, n_jobs=1).fit(X, np.arange(300) % 3)
    assert seeds == again * 2
