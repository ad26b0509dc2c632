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
from posteriori.bayes import gaussian_bayes as module
from posteriori.bayes.gaussian_bayes import normal_of
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


def uneven(seed=0):
    """Three classes of 4, 9 and 15 rows, by weight otherwise, of two columns that go together."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [4, 9, 15])
    return rng.normal(size=(28, 2)) @ [[2.0, 1.0], [0.0, 0.5]] + y[:, None], y, rng.uniform(0.5, 3.0, 28)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_covariances_by_weight_are_their_formulas(covariance, ddof):
    """Σ_y = Σ w (x − μ)(x − μ)ᵀ/(N_y − ddof); tied: of all classes/(N − K·ddof)."""
    cells, labels, w = uneven()
    model = po.GaussianBayes(covariance, ddof=ddof, shrinkage=0.25).fit(cells, labels, w)
    n = np.bincount(labels, w)
    means = np.stack([np.average(cells[labels == c], axis=0, weights=w[labels == c]) for c in range(3)])
    gaps = [cells[labels == c] - means[c] for c in range(3)]
    around = np.stack([(g.T * w[labels == c]) @ g for c, g in enumerate(gaps)])
    tied = around.sum(axis=0) / (n.sum() - 3 * ddof)
    own = {
        "full": around / (n - ddof)[:, None, None],
        "tied": np.broadcast_to(tied, around.shape),
        "diag": around / (n - ddof)[:, None, None] * np.eye(2),
        "spherical": np.stack([np.trace(a / (m - ddof)) / 2 * np.eye(2) for a, m in zip(around, n)]),
    }[covariance]
    expected = 0.75 * own + 0.25 * np.trace(tied) / 2 * np.eye(2)
    shown = {
        "full": expected,
        "tied": expected[0],
        "diag": np.diagonal(expected, axis1=1, axis2=2),
        "spherical": expected[:, 0, 0],
    }
    assert_allclose(model.covariances_, shown[covariance])
    assert_allclose(model.means_, means)
    assert_allclose(model.class_prior_, n / n.sum())
    assert_allclose(model.class_count_, n)
    joint = [np.log(m / n.sum()) + multivariate_normal(a, s).logpdf(cells) for m, a, s in zip(n, means, expected)]
    assert_allclose(model.predict_joint_log_proba(cells), np.stack(joint, axis=1))


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_what_a_column_says_given_the_others(covariance):
    """ln p(x_j | y, the others) = ln p(x|y) − ln p(the others|y), by marginal densities."""
    cells, labels, _ = uneven()
    model = po.GaussianBayes(covariance).fit(cells, labels)
    found, without = model._given_others(cells), model._log_without(cells)
    joint = model.predict_joint_log_proba(cells)
    for c, sigma in enumerate(model._matrices()):
        whole = multivariate_normal(model.means_[c], sigma).logpdf(cells)
        for j in (0, 1):
            other = multivariate_normal(model.means_[c, 1 - j], sigma[1 - j, 1 - j]).logpdf(cells[:, 1 - j])
            assert_allclose(found[:, j, c], whole - other)
            assert_allclose(without[:, j, c], joint[:, c] - found[:, j, c])
    told = model._log_parts(cells)
    assert (told is None) == (covariance in ("full", "tied"))
    if told is not None:
        assert_allclose(told[0] + told[1].sum(axis=1), joint)


def test_many_rows_are_worked_on_in_blocks(monkeypatch):
    cells, labels, w = uneven()
    whole = po.GaussianBayes().fit(cells, labels, w)
    expected = whole.predict_joint_log_proba(cells)
    monkeypatch.setattr(module, "BLOCK", 5)
    parts = po.GaussianBayes().fit(cells, labels, w)
    assert_allclose(parts.covariances_, whole.covariances_)
    assert_allclose(parts.predict_joint_log_proba(cells), expected)
    assert_allclose(po.GaussianBayes().fit(cells, labels).means_[1], cells[labels == 1].mean(axis=0))


def test_a_class_that_is_told_but_never_came_is_impossible():
    cells, labels, _ = uneven()
    model = po.GaussianBayes().partial_fit(cells, labels, classes=[0, 1, 2, 3])
    assert_array_equal(model.class_prior_[3], 0.0)
    assert_array_equal(model.predict_joint_log_proba(cells)[:, 3], -np.inf)
    assert_array_equal(model._given_others(cells)[:, :, 3], -np.inf)
    rows, drawn = model.sample(50, random_state=0)
    assert rows.shape == (50, 2)
    assert np.isfinite(rows).all()
    assert 3 not in drawn
    alone = po.GaussianBayes().partial_fit(cells[:1], labels[:1], classes=[0, 1])
    with pytest.raises(
        SingularCovariance, match=r'class 0 is singular: column 0 does not vary; .* covariance="tied" or'
    ):
        alone.predict(cells)
    with pytest.raises(SingularCovariance, match='shrinkage, covariance="diag", or more rows'):
        po.GaussianBayes("tied").partial_fit(cells[:1], labels[:1], classes=[0, 1]).predict(cells)
    one = po.GaussianBayes(ddof=1, shrinkage=0.5).fit(
        cells[3:], labels[3:]
    )  # a class of one row has no spread of its own
    within = sum((np.bincount(labels)[c] - 1) * np.trace(np.cov(cells[labels == c].T)) for c in (1, 2)) / (25 - 3) / 2
    assert_allclose(one.covariances_[0], 0.5 * within * np.eye(2))


def test_a_covariance_is_factored_or_the_reason_told():
    """Σ = diag(s) L Lᵀ diag(s); dependent to the last digit, or to the last that forgetting left, is no density."""
    sigma = np.array([[4.0, 1.0], [1.0, 9.0]])
    normal = normal_of(np.zeros(2), sigma)
    assert_allclose(normal.scale, [2.0, 3.0])
    assert_allclose(np.diag(normal.scale) @ normal.factor @ normal.factor.T @ np.diag(normal.scale), sigma)
    assert normal_of(np.zeros(2), np.diag([1.0, 0.0])) == "column 1 does not vary"
    assert normal_of(np.zeros(2), np.diag([1.0, -1.0])) == "column 1 does not vary"
    assert "linearly dependent, or it has too few rows" in normal_of(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]))

    def corr(left):  # 1 − r² = left
        r = np.sqrt(1 - left)
        return np.array([[1.0, r], [r, 1.0]])

    last = 16 * np.finfo(float).eps
    assert "to the last digit" in normal_of(np.zeros(2), corr(last * 0.8))
    assert not isinstance(normal_of(np.zeros(2), corr(last * 1.3)), str)
    for doubt, known in ((1e-9, True), (1e-6, False)):  # of two columns 2·doubt may be 1e-5 of what is left
        found = normal_of(np.zeros(2), corr(1e-2), doubt)
        assert isinstance(found, str) != known
    assert "after forgetting; fit it again" in found
    for doubt, known in ((0.49e-7, True), (0.51e-7, False)):
        assert isinstance(normal_of(np.zeros(2), corr(1e-2), doubt), str) != known
    assert not isinstance(normal_of(np.zeros(1), np.eye(1), 0.9e-5), str)
    assert isinstance(normal_of(np.zeros(1), np.eye(1), 1.1e-5), str)


def test_a_sample_is_the_mean_and_the_factor_times_normals():
    cells, labels, _ = uneven()
    normal = po.GaussianBayes().fit(cells, labels)._densities()[0][2]
    z = np.random.RandomState(3).standard_normal((6, 2))
    root = np.diag(normal.scale) @ normal.factor
    assert_allclose(normal.sample(6, np.random.RandomState(3)), normal.mean + z @ root.T)


def test_one_column_has_one_variance_a_class_whatever_the_shape():
    X, y = np.array([[0.0], [2.0], [5.0], [9.0]]), [0, 0, 1, 1]
    for covariance in ("diag", "spherical", "full"):
        model = po.GaussianBayes(covariance).fit(X, y)
        assert_allclose(np.ravel(model.covariances_), [1.0, 4.0], rtol=1e-6)
