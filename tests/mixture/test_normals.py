"""The M-step against weighted means and covariances of the rows, factors against inverses, units that round nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import posteriori as po
from posteriori.errors import SingularCovariance
from posteriori.mixture.climb import Climb
from posteriori.mixture.normals import KINDS, Normals, Sums, by_precisions, maximise, normals, precision_factors, units

seeds = st.integers(0, 300)


def sums_of(X, r, pivots, full):
    gaps = X[:, None, :] - pivots[None]
    first = np.einsum("nk,nkd->kd", r, gaps)
    second = np.einsum("nk,nkd,nke->kde", r, gaps, gaps) if full else np.einsum("nk,nkd->kd", r, gaps**2)
    return Sums(-7.0, r.sum(axis=0), first, second, pivots)


@given(seeds, st.sampled_from(KINDS), st.integers(1, 3), st.integers(1, 3))
def test_the_best_components_of_shares(seed, kind, K, d):
    rng = np.random.default_rng(seed)
    X, r = rng.normal(size=(30, d)) * 3 + 5, rng.dirichlet(np.ones(K), 30)
    floor = rng.random(d)
    sums = sums_of(X, r, rng.normal(size=(K, d)) * 4, kind in ("full", "tied"))
    weights, means, spread = maximise(sums, floor, kind)
    assert weights == pytest.approx(r.mean(axis=0))
    own = [np.average(X, axis=0, weights=r[:, k]) for k in range(K)]
    assert means == pytest.approx(np.array(own))
    cov = np.array([np.cov(X.T, aweights=r[:, k], ddof=0).reshape(d, d) for k in range(K)])
    if kind == "tied":
        cov = np.repeat(np.einsum("k,kij->ij", weights, cov)[None], K, axis=0)
    cov = cov + np.diag(floor)
    diagonal = np.diagonal(cov, axis1=1, axis2=2)
    wanted = {
        "full": cov,
        "tied": cov,
        "diag": diagonal,
        "spherical": np.repeat(diagonal.mean(axis=1)[:, None], d, axis=1),
    }
    assert spread == pytest.approx(wanted[kind])
    both = sums + sums
    assert both.log_likelihood == -14.0
    assert maximise(both, floor, kind)[1] == pytest.approx(means)
    assert maximise(both, floor, kind)[2] == pytest.approx(spread)


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_without_rows_has_no_covariance(kind):
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(30, 2)), np.column_stack([np.ones(30), np.full(30, 1e-18)])
    weights, _, spread = maximise(sums_of(X, r, np.zeros((2, 2)), kind in ("full", "tied")), np.zeros(2), kind)
    assert weights[0] == pytest.approx(1.0)
    assert np.isfinite(spread[0]).all()
    assert np.isnan(spread[1]).any() or kind == "tied"
    if kind == "tied":
        assert spread[1] == pytest.approx(np.cov(X.T, ddof=0))


@given(seeds, st.integers(1, 4))
def test_factors_are_roots_of_precisions(seed, d):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, d, d))
    cov = a @ a.transpose(0, 2, 1) + np.eye(d) * 0.1
    factors, singular = precision_factors(cov)
    assert singular == []
    assert factors @ factors.transpose(0, 2, 1) == pytest.approx(np.linalg.inv(cov))
    assert np.triu(factors) == pytest.approx(factors)
    back, roots = by_precisions(np.linalg.inv(cov))
    assert back == pytest.approx(cov)
    assert roots == pytest.approx(factors)
    diag, bad = precision_factors(np.diagonal(cov, axis1=1, axis2=2))
    assert bad == []
    assert diag**-2 == pytest.approx(np.diagonal(cov, axis1=1, axis2=2))
    assert by_precisions(diag**2)[1] == pytest.approx(diag)
    assert by_precisions(diag**2)[0] == pytest.approx(diag**-2)


def test_what_has_no_factor_is_named():
    good, flat, nan = np.eye(2), np.ones((2, 2)), np.full((2, 2), np.nan)
    factors, singular = precision_factors(np.array([flat, good, nan, good, -good]))
    assert singular == [0, 2, 4]
    assert factors[1].tolist() == factors[3].tolist() == good.tolist()
    assert np.isnan(factors[[0, 2, 4]]).all()
    assert precision_factors(np.array([flat, -good]))[1] == [0, 1]
    roots, singular = precision_factors(np.array([[1.0, 4.0], [0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0]]))
    assert singular == [1, 2, 3]
    assert roots[0].tolist() == [1.0, 0.5]
    with pytest.raises(SingularCovariance, match=r"\(component 0, 2\)"):
        normals(np.ones(3) / 3, np.zeros((3, 2)), np.array([flat, good, nan]))
    found = normals(np.array([1.0, 0.0]), np.zeros((2, 2)), np.array([good, good]))
    assert isinstance(found, Normals)
    assert found.log_weights.tolist() == [0.0, -np.inf]


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.booleans())
def test_units_are_powers_of_two_next_to_half_the_range(low, width, gaps):
    X = np.array([[low, 0.0], [low + width, 1.0], [low + width / 3, 0.5]])
    if gaps:
        X = np.vstack([X, [np.nan, np.nan]])
    s = units(X, 0.0, "full", gaps)
    half = (X[1, 0] - X[0, 0]) / 2
    assert np.frexp(s)[0].tolist() == [0.5, 0.5]
    assert s[0] / 2 <= half * (1 + 1e-9) <= s[0] * (1 + 1e-9)
    assert s[1] == 1.0
    assert units(X, 0.0, "spherical", gaps).tolist() == [max(s)] * 2
    wide = units(X, 100.0 * half**2, "diag", gaps)
    assert wide[0] / 2 <= 10 * half * (1 + 1e-9) <= wide[0] * (1 + 1e-9)


def case(kind: str, seed: int = 0, n: int = 40, d: int = 4, K: int = 3):
    """(rows with gaps, weights of rows, θ with covariances as matrices)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 2
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    X[0] = np.nan  # a row that says nothing
    X[1] = rng.normal(size=d)
    A = rng.normal(size=(K, d, d))
    sigma = A @ A.transpose(0, 2, 1) + 0.5 * np.eye(d)
    if kind == "tied":
        sigma[:] = sigma[0]
    if kind in ("diag", "spherical"):
        sigma = np.array([np.diag(np.diag(s) if kind == "diag" else np.full(d, s[0, 0])) for s in sigma])
    pi = rng.dirichlet(np.ones(K))
    return X, rng.uniform(0.2, 2, size=n), pi, rng.normal(size=(K, d)), sigma


def by_hand(X, w, pi, mu, sigma):
    """(ℓ, N, E[x], E[x xᵀ]) of the weighted rows, row by row and component by component."""
    K, d = mu.shape
    n, first, second, total = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d)), 0.0
    for x, weight in zip(X, w):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        density = np.array(
            [multivariate_normal(mu[k, o], sigma[k][np.ix_(o, o)]).pdf(x[o]) if len(o) else 1.0 for k in range(K)]
        )
        r = pi * density
        total += weight * np.log(r.sum())
        r = weight * r / r.sum()
        for k in range(K):
            full, spread = x.copy(), np.zeros((d, d))
            B = sigma[k][np.ix_(m, o)] @ np.linalg.inv(sigma[k][np.ix_(o, o)])
            full[m] = mu[k, m] + B @ (x[o] - mu[k, o])
            spread[np.ix_(m, m)] = sigma[k][np.ix_(m, m)] - B @ sigma[k][np.ix_(o, m)]
            n[k] += r[k]
            first[k] += r[k] * full
            second[k] += r[k] * (np.outer(full, full) + spread)
    return total, n, first, second


@pytest.mark.parametrize("kind", KINDS)
def test_the_expectation_is_the_one_by_hand(kind: str) -> None:
    X, w, pi, mu, sigma = case(kind)
    climb = Climb(X, w, kind, 0.0, None)
    s = climb.scale
    given = sigma / s[:, None] / s
    theta = normals(pi, mu / s, given if climb.is_matrix else np.diagonal(given, axis1=1, axis2=2).copy())
    (_, sums), value = climb.expect(theta)
    total, n, first, second = by_hand(X, w, pi, mu, sigma)
    ratio = w.sum() / climb.total  # weights are kept by a power of two
    assert value * climb.total * ratio == pytest.approx(total)
    assert_allclose(sums.n * ratio, n)
    assert_allclose((sums.first + sums.n[:, None] * sums.pivots) * s * ratio, first, atol=1e-10)
    around = second - first[:, :, None] * mu[:, None, :] - mu[:, :, None] * first[:, None, :]
    around += n[:, None, None] * mu[:, :, None] * mu[:, None, :]
    found = sums.second * ratio * (s[:, None] * s if climb.is_matrix else s * s)
    assert_allclose(found, around if climb.is_matrix else np.diagonal(around, axis1=1, axis2=2), atol=1e-9)
    model = po.GaussianMixture(3, covariance_type=kind)
    keep = {"tied": sigma[0], "full": sigma, "diag": np.diagonal(sigma, axis1=1, axis2=2), "spherical": sigma[:, 0, 0]}
    model.fit(np.random.default_rng(0).normal(size=(9, 4)))
    model.weights_, model.means_, model.covariances_ = pi, mu, keep[kind]
    roots = np.linalg.inv(np.linalg.cholesky(sigma)).transpose(0, 2, 1)
    model.precisions_cholesky_ = roots[0] if kind == "tied" else roots if kind == "full" else keep[kind] ** -0.5
    assert w @ model.score_samples(X) == pytest.approx(total)
    assert_allclose(model.predict_proba(X[:1]), pi[None])


@pytest.mark.parametrize("kind", KINDS)
def test_thirty_percent_removed_beats_mean_imputation(kind: str) -> None:
    rng = np.random.default_rng(5)
    A = rng.normal(size=(4, 4))
    sigma = {"full": A @ A.T + np.eye(4), "diag": np.diag([1.0, 2.0, 3.0, 4.0]), "spherical": 2 * np.eye(4)}
    sigma["tied"] = sigma["full"]
    X = rng.multivariate_normal(np.arange(4.0), sigma[kind], size=2000)
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    model = po.GaussianMixture(1, covariance_type=kind, tol=1e-8, max_iter=200).fit(X)
    imputed = po.GaussianMixture(1, covariance_type=kind).fit(np.where(np.isnan(X), np.nanmean(X, axis=0), X))

    def off(m):
        full = {
            "full": lambda: m.covariances_[0],
            "tied": lambda: m.covariances_,
            "diag": lambda: np.diag(m.covariances_[0]),
            "spherical": lambda: m.covariances_[0] * np.eye(4),
        }[kind]()
        return np.linalg.norm(full - sigma[kind])

    assert off(model) < 0.5 * off(imputed)
    assert np.abs(model.means_ - np.arange(4.0)).max() < 0.2


def test_groups_are_found_though_cells_are_missing() -> None:
    rng = np.random.default_rng(2)
    of = np.repeat([0, 1], 400)
    X = rng.normal(size=(800, 5)) + 4 * of[:, None]
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = po.GaussianMixture(2, random_state=0).fit(X)
    agree = (model.predict(X) == of).mean()
    assert max(agree, 1 - agree) > 0.98
