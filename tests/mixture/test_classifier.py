"""MixtureBayes: the densities are its mixtures', one component a class is GaussianBayes, and bad input has a name."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import BadParameter, BadType, BadValue, SingularCovariance, UnknownValue

X, Y = load_iris(return_X_y=True)
KINDS = ("full", "tied", "diag", "spherical")


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_one_component_is_gaussian_bayes(kind: str) -> None:
    ours = po.MixtureBayes(1, covariance_type=kind, reg_covar=0).fit(X, Y)
    theirs = po.GaussianBayes(kind).fit(X, Y)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.class_prior_, theirs.class_prior_)


@pytest.mark.parametrize("kind", KINDS)
def test_the_joint_is_the_prior_and_the_mixture(kind: str) -> None:
    model = po.MixtureBayes(2, covariance_type=kind, random_state=0, max_iter=500).fit(X, Y)
    for c, mixture in enumerate(model.mixtures_):
        assert_allclose(
            model.predict_joint_log_proba(X)[:, c], np.log(model.class_prior_[c]) + mixture.score_samples(X)
        )
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert_allclose(model.score_samples(X), np.logaddexp.reduce(model.predict_joint_log_proba(X), axis=1))
    told = clone(model).set_params(priors=[0.8, 0.1, 0.1]).fit(X, Y)
    ratio = told.predict_joint_log_proba(X) - model.predict_joint_log_proba(X)
    assert_allclose(ratio, np.log([[2.4, 0.3, 0.3]] * len(X)))


def test_humps_that_one_normal_does_not_have() -> None:
    rng = np.random.default_rng(0)
    of = rng.integers(0, 2, size=600)
    stripe = 2 * rng.integers(0, 2, size=600) + of  # the classes take turns
    points = np.column_stack([stripe * 7.0, np.zeros(600)]) + rng.normal(size=(600, 2))
    assert cross_val_score(po.GaussianBayes(), points, of).mean() < 0.8
    assert cross_val_score(po.MixtureBayes(2, random_state=0), points, of).mean() > 0.98
    chosen = po.MixtureBayes("auto", random_state=0).fit(points, of)
    assert chosen.n_components_.tolist() == [2, 2]
    by_class = po.MixtureBayes({0: 2, 1: "auto"}, random_state=0).fit(points, of)
    assert by_class.n_components_.tolist() == [2, 2]
    decided = po.RiskClassifier(po.MixtureBayes(2, random_state=0), reject=0.1).fit(points, of)
    assert len(decided.predict(points)) == 600
    gone = points.copy()
    gone[rng.uniform(size=gone.shape) < 0.2] = np.nan
    assert po.MixtureBayes(2, random_state=0).fit(gone, of).score(points, of) > 0.95


def test_weights_are_rows_and_no_weight_is_none() -> None:
    times = np.random.default_rng(1).integers(0, 3, size=len(X))
    model = po.MixtureBayes(1)
    a = clone(model).fit(X, Y, sample_weight=times)
    b = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-8)
    without = clone(model).fit(X, Y, sample_weight=(Y > 0).astype(float))
    assert (without.predict_proba(X)[:, 0] == 0).all()
    assert without.n_components_.tolist() == [0, 1, 1]


def test_few_rows() -> None:
    points, of = np.array([[0.0, 1.0], [5.0, 5.0], [6.0, 5.0]]), ["one", "two", "two"]
    model = po.MixtureBayes(3, random_state=0).fit(points, of)
    assert model.n_components_.tolist() == [1, 2]
    assert_array_equal(model.predict(points), of)
    with pytest.raises(SingularCovariance, match="class 'one'"):
        po.MixtureBayes(3, reg_covar=0).fit(points, of)


def test_samples_look_like_the_rows() -> None:
    model = po.MixtureBayes(2, random_state=0).fit(X, Y)
    drawn, of = model.sample(3000, random_state=0)
    assert model.score(drawn, of) > 0.9
    assert_allclose(np.bincount(of) / 3000, model.class_prior_, atol=0.05)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_bad_input_has_a_name() -> None:
    with pytest.raises(UnknownValue, match="names no class"):
        po.MixtureBayes({0: 1, 1: 1, 2: 1, 7: 1}).fit(X, Y)
    with pytest.raises(BadParameter, match="no number for class 2"):
        po.MixtureBayes({0: 1, 1: 1}).fit(X, Y)
    with pytest.raises(BadParameter, match="class 0"):
        po.MixtureBayes({0: 0, 1: 1, 2: 1}).fit(X, Y)
    with pytest.raises(BadValue, match="priors"):
        po.MixtureBayes(1, priors=[0.5, 0.5]).fit(X, Y)
    with pytest.raises(BadType, match="sparse"):
        po.MixtureBayes(1).fit(sp.csr_matrix(X), Y)
    with pytest.warns(ConvergenceWarning, match=r"class .*did not converge"):
        po.MixtureBayes(3, max_iter=1, random_state=0).fit(X, Y)
    with pytest.raises(BadParameter, match="n must be"):
        po.MixtureBayes(1).fit(X, Y).sample(0)


@pytest.mark.parametrize("model", [po.MixtureBayes(1), po.MixtureBayes(random_state=0)], ids=repr)
def test_check_estimator(model: po.MixtureBayes) -> None:
    expected = {}
    if model.n_components != 1:
        expected["check_sample_weight_equivalence_on_dense_data"] = "weights and repeated rows lead to other seeds"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
