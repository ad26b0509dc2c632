"""GaussianBayes against SciPy's density, scikit-learn's discriminants, and its own laws."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import posteriori as po
from posteriori.errors import BadValue, ImpossibleEvidence, SingularCovariance

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_log_joint_is_scipys_density(covariance: str, shrinkage: float) -> None:
    model = po.GaussianBayes(covariance, shrinkage=shrinkage).fit(X, y)
    level = sum(np.trace(np.cov(X[y == c].T, bias=True)) / 3 for c in range(3)) / 4
    for c in range(3):
        rows = X[y == c]
        sigma = np.cov(rows.T, bias=True)
        if covariance == "tied":
            sigma = sum(np.cov(X[y == k].T, bias=True) for k in range(3)) / 3
        elif covariance == "diag":
            sigma = np.diag(np.diag(sigma))
        elif covariance == "spherical":
            sigma = np.eye(4) * np.trace(sigma) / 4
        sigma = (1 - shrinkage) * sigma + shrinkage * level * np.eye(4)
        expected = np.log(1 / 3) + multivariate_normal(rows.mean(axis=0), sigma).logpdf(X)
        assert_allclose(model.predict_joint_log_proba(X)[:, c], expected, rtol=1e-10)
    assert (
        model.covariances_.shape == {"full": (3, 4, 4), "tied": (4, 4), "diag": (3, 4), "spherical": (3,)}[covariance]
    )
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_quadratic_and_linear_discriminants_agree() -> None:
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    assert_allclose(po.GaussianBayes("full").fit(X, y).predict_proba(X), quadratic.predict_proba(X), atol=1e-12)
    for shrinkage in (0.0, 0.2):
        linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage or None).fit(X, y)
        ours = po.GaussianBayes("tied", shrinkage=shrinkage).fit(X, y)
        assert_allclose(ours.predict_proba(X), linear.predict_proba(X), atol=1e-12)
    assert_allclose(po.GaussianBayes(ddof=1).fit(X, y).covariances_[0], np.cov(X[y == 0].T))


def test_diagonal_is_naive() -> None:
    naive = po.GaussianNB(var_smoothing=0).fit(X, y)
    assert_allclose(po.GaussianBayes("diag").fit(X, y).predict_proba(X), naive.predict_proba(X), rtol=1e-9, atol=1e-300)


def test_singular_covariance_is_named_with_its_class_and_the_way_out() -> None:
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = po.GaussianBayes().fit(wide, np.array(["se", "ve", "vi"])[y])
    with pytest.raises(
        SingularCovariance, match=r"class 'se' is singular: its columns are linearly dependent.*shrinkage"
    ):
        model.predict(wide)
    assert model.set_params(shrinkage=0.1).score(wide, np.array(["se", "ve", "vi"])[y]) > 0.9
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.raises(SingularCovariance, match="column 4 does not vary"):
        po.GaussianBayes("diag").fit(constant, y).predict(constant)
    few = po.GaussianBayes().fit(X[48:52], y[48:52])
    with pytest.raises(SingularCovariance, match="more rows than columns"):
        few.predict_proba(X)


def test_scales_far_apart_are_no_singularity() -> None:
    scale = np.array([1e-150, 1.0, 1e8, 1e-5])
    model = po.GaussianBayes().fit(X * scale, y)
    assert_allclose(model.predict_proba(X * scale), po.GaussianBayes().fit(X, y).predict_proba(X), atol=1e-8)
    moved = po.GaussianBayes().fit(X + 1e9, y)
    assert (moved.predict(X + 1e9) == po.GaussianBayes().fit(X, y).predict(X)).mean() > 0.98


def test_samples_come_from_the_model() -> None:
    model = po.GaussianBayes(priors=[0.5, 0.25, 0.25]).fit(X, y)
    rows, labels = model.sample(20_000, random_state=0)
    again, _ = model.sample(20_000, random_state=0)
    assert_array_equal(rows, again)
    assert abs((labels == 0).mean() - 0.5) < 0.02
    assert_allclose(rows[labels == 1].mean(axis=0), model.means_[1], atol=0.03)
    assert_allclose(np.cov(rows[labels == 1].T), model.covariances_[1], atol=0.02)


def test_what_it_does_not_take() -> None:
    with pytest.raises(ValueError, match="NaN"):
        po.GaussianBayes().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(BadValue, match="sum to 1"):
        po.GaussianBayes(priors=[0.5, 0.6, 0.1]).fit(X, y)
    with pytest.raises(ValueError, match="'covariance' parameter"):
        po.GaussianBayes("ful").fit(X, y)
    with pytest.raises(BadValue, match="too large"):
        po.GaussianBayes().fit([[1e200], [-1e200]], [0, 0])
    assert_allclose(po.GaussianBayes().fit(X, y).score_samples(X[:1]).shape, (1,))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_shrinkage_goes_to_the_mean_variance(share):
    """Σ_y = (1 − s)·Σ̂_y + s·(tr Σ̂/d)·I, with Σ̂ the one of all classes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1, 2, 3], np.arange(40) % 2
    within = sum(np.cov(X[y == c].T, ddof=0) * 20 for c in (0, 1)) / 40
    model = po.GaussianBayes(shrinkage=share).fit(X, y)
    for c in (0, 1):
        own = np.cov(X[y == c].T, ddof=0)
        np.testing.assert_allclose(model.covariances_[c], (1 - share) * own + share * np.trace(within) / 3 * np.eye(3))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("far", [1e153, 1e200, 1e308, -1.7e308])
def test_a_row_beyond_all_densities_has_a_posterior_or_none_but_no_nan(covariance, far):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) * 1e-3, np.arange(60) % 3
    model = po.GaussianBayes(covariance).fit(X, y)
    for row in ([far, 0.0, 0.0], [far, far, -far], [0.0, far, 1.0]):
        with suppress(ImpossibleEvidence):
            assert model.predict_proba([row]).sum() == pytest.approx(1)
    near = replace(model._densities()[0][0], mean=np.array([1e308, 0.0, 0.0]))
    assert (near.log_density(X) == -np.inf).all()
    assert not np.isnan(near.log_given_others(X)).any()
