"""A collapsed component begins anew, is named, and never costs the model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import BadValue, SingularCovariance
from posteriori.mixture.climb import RESTARTS, Climb, Restart, refuse_overflow
from posteriori.mixture.normals import DEAD, Normals, precision_factors

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
