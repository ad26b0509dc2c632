"""The M-step against weighted means and covariances of the rows, factors against inverses, units that round nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import BadValue, SingularCovariance
from posteriori.mixture.normals import (
    DEAD,
    KINDS,
    RESTARTS,
    Climb,
    Normals,
    Restart,
    Sums,
    by_precisions,
    maximise,
    normals,
    precision_factors,
    refuse_overflow,
    units,
)

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


KINDS = ("full", "tied", "diag", "spherical")


def rows(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 8])


@pytest.mark.parametrize("kind", KINDS)
def test_a_component_without_rows_begins_anew_and_is_named(kind: str) -> None:
    X = rows()
    precisions = {"full": [np.eye(2)] * 2, "tied": np.eye(2), "diag": np.ones((2, 2)), "spherical": np.ones(2)}[kind]
    start = {"weights_init": [0.5, 0.5], "means_init": [[4, 4], [1e4, 1e4]], "precisions_init": precisions}
    with pytest.warns(ConvergenceWarning, match=r"component 1 collapsed in turn 1 \(no row belonged to it\)"):
        model = po.GaussianMixture(2, covariance_type=kind, max_iter=300, **start).fit(X)
    assert model.restarts_[0].component == 1
    assert model.marks_[0] == (1, "component 1 began anew: no row belonged to it")
    assert np.isfinite(model.lower_bound_)
    if kind == "tied":  # one width for both begins as wide as everything, and may stay so
        return
    assert_allclose(np.sort(model.means_[:, 0]), [X[:100, 0].mean(), X[100:, 0].mean()], atol=0.3)
    assert_allclose(model.weights_, 0.5, atol=0.05)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_a_component_on_one_point_begins_anew_where_there_is_no_floor(kind: str) -> None:
    X = np.vstack([rows(), np.full((3, 2), 50.0)])  # three rows that are one point
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = po.GaussianMixture(3, covariance_type=kind, reg_covar=0, random_state=0, max_iter=200).fit(X)
        except SingularCovariance as error:
            assert "increase reg_covar" in str(error)  # noqa: PT017
            return
    assert np.isfinite(model.score(X))
    assert model.restarts_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_expected_log_likelihood_is_that_of_the_responsibilities(kind: str, weighted: bool) -> None:
    """Q(θ'|θ) = mean of Σ_k r_k (ln π'_k + ln N'_k), θ and θ' by fits of one turn and of two."""
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(40, 2)) * [1, 30] + rng.integers(0, 2, (40, 1)) * [3, 50], None
    if weighted:
        w = rng.random(40) + 0.1
    how = {"covariance_type": kind, "reg_covar": 0, "random_state": 0, "tol": 0, "verbose": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        turns = [po.GaussianMixture(2, max_iter=n, **how).fit(X, sample_weight=w) for n in (1, 2, 3)]
    own = [turns[0].predict_proba(X) * (np.log(m.predict_proba(X)) + m.score_samples(X)[:, None]) for m in turns[:2]]
    wanted = [np.average(q.sum(axis=1), weights=w) for q in own]
    assert turns[2].expected_[:1] == turns[1].expected_
    assert turns[2].expected_[1] == pytest.approx(wanted, rel=1e-9)
    assert po.GaussianMixture(2, random_state=0).fit(X).expected_ == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_a_turn_raises_what_it_expects_and_the_likelihood_at_least_as_much(kind: str, gaps: float) -> None:
    X = np.hstack([rows(), rows(1)])
    X[np.random.default_rng(0).random(X.shape) < gaps] = np.nan
    model = po.GaussianMixture(3, covariance_type=kind, reg_covar=0, random_state=0, tol=1e-6, max_iter=500, verbose=2)
    own, raised = np.array(model.fit(X).expected_).T
    assert len(own) == model.n_iter_ - 1
    assert (raised >= own - 1e-12).all()
    assert (np.diff(model.lower_bounds_) >= raised - own - 1e-12).all()


def test_the_last_step_collapses_nothing() -> None:
    """What would collapse in the M-step after the last turn stays as it was seen."""
    X = np.vstack([rows(), np.full((2, 2), 60.0)])
    start = {"weights_init": [0.9, 0.1], "means_init": [[4, 4], [60, 60]], "precisions_init": [np.eye(2)] * 2}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = po.GaussianMixture(2, reg_covar=0, max_iter=1, **start).fit(X)
    assert not model.restarts_
    assert not any("collapsed" in str(w.message) for w in heard)
    assert_allclose(model.means_[1], 60)
    assert_allclose(model.covariances_[1], np.eye(2))


def test_a_mean_that_moves_far_keeps_the_digits_of_its_covariance() -> None:
    X = rows() * 1e-4
    start = {"weights_init": [1.0], "means_init": [[1e7, -1e7]], "precisions_init": [np.eye(2) * 1e-14]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = po.GaussianMixture(1, reg_covar=0, max_iter=1, **start).fit(X)
    assert_allclose(model.covariances_[0], np.cov(X.T, bias=True), rtol=1e-6)


def test_weights_are_kept_by_a_power_of_two() -> None:
    X = rows()
    climb = Climb(X, np.full(200, 3e200), "full", 1e-6, None)
    assert climb.total == pytest.approx(200 * 3e200 / 2.0 ** np.frexp(3e200)[1])
    assert 0.5 <= climb.weights.max() < 1


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e-4])
@pytest.mark.parametrize("kind", KINDS)
def test_the_floor_is_added_to_every_variance_in_the_units_of_the_rows(kind: str, scale: float) -> None:
    X = rows()[:100] * [scale, 2 * scale]
    floor = 0.3 * scale**2
    found = po.GaussianMixture(1, covariance_type=kind, reg_covar=floor).fit(X).covariances_
    whole = np.cov(X.T, ddof=0) + floor * np.eye(2)
    wanted = {"full": whole[None], "tied": whole, "diag": np.diag(whole)[None], "spherical": [np.diag(whole).mean()]}
    assert_allclose(found, wanted[kind], rtol=1e-9)


@pytest.mark.parametrize(("weight", "dead"), [(DEAD, True), (2 * DEAD, False)])
def test_the_last_step_is_not_taken_where_a_component_would_have_no_rows(monkeypatch, weight, dead) -> None:
    best = np.array([weight, 1 - weight]), np.zeros((2, 2)), np.array([np.eye(2)] * 2)
    monkeypatch.setattr(Climb, "_best", lambda self, expected: best)
    before = object()
    found = Climb(rows(), None, "full", 1e-6, None).settled((before, None))
    assert (found is before) == dead


# -- components that begin anew, by hand --------------------------------------------------------------------------------


def theta(means, width: float = 1.0, kind: str = "diag", weights=None) -> Normals:
    K, d = np.shape(means)
    spread = np.full((K, d), width) if kind in ("diag", "spherical") else np.array([width * np.eye(d)] * K)
    weights = np.full(K, 1 / K) if weights is None else np.asarray(weights)
    return Normals(weights, np.asarray(means, float), spread, precision_factors(spread)[0])


def in_units(climb: Climb, *given):
    """μ and Σ of components of diagonals, in the units of a climb."""
    weights, means, variances = (np.asarray(a, dtype=float) for a in given)
    return weights, means * climb.unit, variances * climb.unit**2


def test_a_component_without_rows_goes_to_the_row_that_the_others_explain_worst() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.0], [9.0, 1.0], [1.0, 0.0], [7.0, 0.0]])
    climb = Climb(X, None, "diag", 1e-6, 1)
    climb.turn = 4
    given = in_units(climb, [0.5, 0.0, 0.3], [[0.0, 0.0], [5.0, 5.0], [1.0, 1.0]], [[1, 2], [3, 3], [3, 4]])
    with pytest.warns(ConvergenceWarning, match=r"component 1 collapsed in turn 4 \(no row belonged to it\)") as heard:
        found = climb.revived(*given, None)
    assert len(heard) == 1
    assert_allclose(found.weights, np.array([0.5, 1 / 3, 0.3]) / (0.8 + 1 / 3))
    assert_allclose(found.means / climb.unit, [[0, 0], [9, 1], [1, 1]])
    assert_allclose(found.covariances / climb.unit**2, [[1, 2], [2, 3], [3, 4]])  # as wide as the others in the mean
    assert_allclose(found.factors, found.covariances**-0.5)
    assert climb.restarts == [Restart(4, 1, "no row belonged to it")]
    assert_allclose(given[0], [0.5, 0.0, 0.3])  # what was given stays


def test_two_collapse_each_for_its_own_reason() -> None:
    X = np.array([[0.0], [1.0], [30.0], [0.5], [np.nan], [20.0]])
    climb = Climb(X, np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0]), "diag", 1e-6, 1)
    given = in_units(climb, [0.4, 0.0, 0.6], [[9.0], [9.0], [0.5]], [[0.0], [1.0], [1.0]])
    with pytest.warns(ConvergenceWarning):
        found = climb.revived(*given, None)
    assert [(r.component, r.why) for r in climb.restarts] == [
        (0, "its covariance had no inverse"),
        (1, "no row belonged to it"),
    ]
    assert_allclose(found.means / climb.unit, [[30.0], [20.0], [0.5]])
    assert_allclose(found.weights, np.array([1 / 3, 1 / 3, 0.6]) / (2 / 3 + 0.6))
    blank = Climb(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [np.nan, 90.0]]), None, "diag", 1e-6, 1)
    given = in_units(blank, [0.5, 0.0, 0.5], [[1.0, 1.0], [0.0, 0.0], [2.0, 3.0]], np.ones((3, 2)))
    with pytest.warns(ConvergenceWarning):
        found = blank.revived(*given, None)
    assert_allclose(found.means[1] / blank.unit, [1.5, 90.0])  # what the row lacks is as in the others


def test_where_no_component_is_sound_they_begin_at_rows_of_all_the_table() -> None:
    X = np.array([[0.0], [2.0], [4.0], [8.0], [6.0]])
    climb = Climb(X, None, "diag", 0.0, 1)
    with pytest.warns(ConvergenceWarning):
        found = climb.revived(*in_units(climb, [0.0, 0.0, 1.0], [[1.0], [1.0], [1.0]], [[1.0], [1.0], [0.0]]), None)
    assert_allclose(found.means / climb.unit, [[0.0], [4.0], [6.0]])
    assert_allclose(found.covariances / climb.unit**2, X.var())
    assert_allclose(found.weights, 1 / 3)
    flat = Climb(np.ones((3, 1)), None, "diag", 0.0, 1)
    with pytest.raises(SingularCovariance, match="a column is constant"):
        flat.revived(np.ones(1), np.ones((1, 1)), np.zeros((1, 1)), None)


@pytest.mark.parametrize(("times", "spent"), [(RESTARTS - 1, False), (RESTARTS, True)])
def test_one_that_collapses_too_often_is_left_without_rows_or_ends_the_climb(times: int, spent: bool) -> None:
    X = np.arange(8.0)[:, None]
    climb, before = Climb(X, None, "diag", 1e-6, 1), theta([[0.1], [0.2]], 3.0)
    climb.restarts = [Restart(1, 1, "")] * times + [Restart(1, 0, "")] * 5
    dead = in_units(climb, [1.0, 0.0], [[1.0], [2.0]], [[1.0], [1.0]])
    if not spent:
        with pytest.warns(ConvergenceWarning):
            assert climb.revived(*dead, before).weights[1] > 0
        return
    found = climb.revived(*dead, before)
    assert found.weights.tolist() == [1.0, 0.0]
    assert (found.means[1], found.covariances[1], found.factors[1]) == (0.2, 3.0, 3.0**-0.5)
    assert len(climb.restarts) == times + 5
    with pytest.raises(SingularCovariance, match=r"\(component 1\)"):
        climb.revived(*dead, None)
    with pytest.raises(SingularCovariance, match=r"\(component 1\)"):
        climb.revived(*in_units(climb, [0.5, 0.5], [[1.0], [2.0]], [[1.0], [0.0]]), before)


def test_a_common_covariance_without_an_inverse_cannot_be_mended() -> None:
    climb = Climb(rows(), None, "tied", 1e-6, 1)
    flat = np.array([np.ones((2, 2))] * 2)
    with pytest.raises(SingularCovariance, match="the common covariance"):
        climb.revived(np.array([0.5, 0.5]), np.zeros((2, 2)), flat, None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [False, True])
def test_a_start_from_shares_is_their_means_and_covariances(kind: str, gaps: bool) -> None:
    """With weights; a component without shares has none, and nothing is said of it."""
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(12, 2)) * [1.0, 50.0] + [0.0, 900.0], rng.random(12) + 0.2
    if gaps:
        X[0, 1] = np.nan
    r = np.zeros((12, 3))
    r[np.arange(12), np.arange(12) % 2 * 2] = 1.0
    climb = Climb(X, w, kind, 0.01, 1)
    weights, means, spread = climb.from_shares(r)
    assert_allclose(weights, [w[::2].sum() / w.sum(), 0.0, w[1::2].sum() / w.sum()])
    odd = X[1::2]
    assert_allclose(means[2] / climb.unit, np.average(odd, axis=0, weights=w[1::2]))
    assert np.isnan(means[1]).all()
    if gaps:
        cell = np.nanmean(X[:, 1])  # what is missing is expected where its column is,
        cell = np.average(np.r_[cell, X[2::2, 1]], weights=w[::2])  # then where its component is by this
        assert_allclose(means[0, 1] / climb.unit[1], np.average(np.r_[cell, X[2::2, 1]], weights=w[::2]))
    if kind in ("full", "diag"):
        cov = np.cov(odd.T, aweights=w[1::2], ddof=0) + 0.01 * np.eye(2)
        own = spread[2] / climb.unit**2 if kind == "diag" else spread[2] / climb.unit[:, None] / climb.unit
        assert_allclose(own, np.diag(cov) if kind == "diag" else cov, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_and_evidence_by_scipy(kind: str) -> None:
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(9, 2)) * [1.0, 20.0], rng.random(9)
    climb = Climb(X, w, kind, 1e-6, 1)
    here = theta([[0.0, 0.0], [0.1, -0.2], [0.3, 0.3]], 0.7, kind, [0.2, 0.5, 0.3])
    normal = [multivariate_normal(m / climb.unit, 0.7 * np.diag(climb.scale**2)) for m in here.means]
    joint = np.column_stack([np.log(p) + n.logpdf(X) for p, n in zip(here.weights, normal)])
    assert_allclose(climb.log_joint(here), joint)
    assert_allclose(climb.evidence(here), np.log(np.exp(joint).sum(axis=1)))
    (same, sums), value = climb.expect(here)
    assert same is here
    assert_allclose(value, np.average(np.log(np.exp(joint).sum(axis=1)), weights=w))
    r = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True) * climb.weights[:, None]
    assert_allclose(sums.n, r.sum(axis=0))
    assert_allclose(sums.n.sum(), climb.total)
    assert climb.turn == 0
    climb.maximise((here, sums))
    assert climb.turn == 1


def test_a_mean_is_far_by_its_own_variance() -> None:
    wide, shift = np.array([[4.0, 1.0]]), np.array([[2000.0, 0.0]])
    for s, far in ((0.999, False), (1.001, True)):
        assert Climb._is_far(s * shift, wide) is far
        assert Climb._is_far(-s * shift, np.array([np.diag(wide[0])])) is far
    assert not Climb._is_far(shift[:, ::-1] / 2.001, wide)


def test_squares_that_overflow_are_refused_in_the_type_of_the_rows() -> None:
    fine = np.ones(2)
    refuse_overflow(fine, fine.astype(np.float32))
    with pytest.raises(BadValue, match="too large for float64"):
        refuse_overflow(fine, np.array([1.0, np.inf]))
    with pytest.raises(BadValue, match="too large for float32"):
        refuse_overflow(np.array([np.nan], dtype=np.float32))
