"""Missing cells: the marginals of SciPy, expectations by hand, and better means than imputed ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import posteriori as po
from posteriori.mixture.climb import Climb
from posteriori.mixture.normals import normals

KINDS = ("full", "tied", "diag", "spherical")


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
