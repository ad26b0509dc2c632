"""Gaussian mixtures: scikit-learn's optimum from the same start, a climb that never falls, and the ends of the data."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as Peer
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import BadParameter, BadType, BadValue, ModelError, SingularCovariance
from posteriori.mixture.gaussian import _in_units, n_parameters
from posteriori.mixture.kmeans import Lloyd, Turn
from posteriori.mixture.normals import Climb, log_joint
from posteriori.mixture.starts import INITS

KINDS = ("full", "tied", "diag", "spherical")
each_kind = pytest.mark.parametrize("kind", KINDS)


def blobs(separation: float, seed: int = 0, n: int = 300, d: int = 3, K: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """(rows, the means they were drawn around)."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(K, d)) * separation
    return np.vstack([rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + m for m in means]), means


def told(kind: str, means: np.ndarray) -> dict[str, Any]:
    """One start for us and for a peer."""
    K, d = means.shape
    precisions = {
        "full": np.array([np.eye(d)] * K),
        "tied": np.eye(d),
        "diag": np.ones((K, d)),
        "spherical": np.ones(K),
    }
    return {
        "n_components": K,
        "covariance_type": kind,
        "weights_init": np.full(K, 1 / K),
        "means_init": means,
        "precisions_init": precisions[kind],
    }


def quiet(model: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@each_kind
@pytest.mark.parametrize("separation", [8.0, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_start_has_scikit_learns_end(kind: str, separation: float, seed: int) -> None:
    X, means = blobs(separation, seed)
    start = told(kind, means + 0.1)
    ours = quiet(po.GaussianMixture(tol=1e-9, max_iter=200, **start), X)
    theirs = quiet(Peer(tol=1e-9, max_iter=200, **start), X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_ == theirs.converged_
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6)
    assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-9)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6, atol=1e-8)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))
    assert ours.bic(X) == pytest.approx(theirs.bic(X))


# scikit-learn's common covariance of K rows, a component each, counts all rows as if they were these: another start
ONE_ROW_EACH = ("k-means++", "random_from_data")
STARTS = [(kind, how) for kind in KINDS for how in INITS if kind != "tied" or how not in ONE_ROW_EACH]


@pytest.mark.parametrize(("kind", "how"), STARTS)
@pytest.mark.parametrize("separation", [8.0, 2.0])
def test_the_same_seed_has_scikit_learns_end(kind: str, how: str, separation: float) -> None:
    X, _ = blobs(separation, 0)
    same = {"covariance_type": kind, "init_params": how, "random_state": 0, "tol": 1e-7, "max_iter": 150}
    ours, theirs = quiet(po.GaussianMixture(3, **same), X), quiet(Peer(3, **same), X)
    assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    assert_allclose(ours.covariances_, theirs.covariances_, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_the_climb_never_falls(kind: str, seed: int, d: int, K: int, weighted: bool, gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) + 2 * rng.integers(0, 3, size=(60, 1))
    w = rng.uniform(0.1, 3, size=60) if weighted else None
    if gaps:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        X[:2] = [np.zeros(d), np.ones(d)]
    # with its floor at zero the M-step maximises; `random` starts wide, so that nothing collapses in a few turns
    model = po.GaussianMixture(
        K, covariance_type=kind, reg_covar=0, max_iter=12, tol=0, init_params="random", random_state=seed
    )
    try:
        quiet(model, X, sample_weight=w)
    except SingularCovariance:
        return
    if not model.restarts_:
        trace = model.lower_bounds_
        assert all(b >= a - 1e-9 * (1 + abs(a)) for a, b in itertools.pairwise(trace))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 4), st.integers(1, 3))
def test_where_the_floor_makes_a_turn_fall_the_best_is_kept(kind: str, seed: int, n: int, d: int, K: int) -> None:
    """Few different rows with gaps: a floor that is added anew in every turn outweighs what is seen of a column."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)))
    X[1:][rng.random((n - 1, d)) < 0.5] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = po.GaussianMixture(min(K, n), covariance_type=kind, random_state=0, tol=1e-6).fit(X)
    since = model.lower_bounds_[max([r.turn for r in model.restarts_], default=0) :]
    assert model.lower_bound_ >= max(since) - 1e-9 * abs(max(since))
    if model.lower_bound_ != model.lower_bounds_[-1]:
        assert_allclose(model.score(X), model.lower_bound_, rtol=1e-6, atol=1e-6)


@each_kind
@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_squares_beyond_single_precision_are_refused(kind: str, scale: float) -> None:
    X = (np.random.default_rng(0).normal(size=(50, 2)) * scale).astype(np.float32)
    model = po.GaussianMixture(2, covariance_type=kind, reg_covar=0.0, random_state=0)
    with pytest.raises(BadValue, match=r"too large for float32.*give X as float64"):
        model.fit(X)
    wide = model.fit(X.astype(np.float64))
    assert np.isfinite(wide.precisions_).all()
    assert (wide.covariances_ != 0).any()


@each_kind
@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
def test_weights_that_vanish_beside_others_are_no_crash(kind: str, how: str) -> None:
    X, w = np.random.default_rng(0).normal(size=(12, 2)), np.geomspace(1e-320, 1e300, 12)
    for K in (1, 3, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = po.GaussianMixture(K, covariance_type=kind, init_params=how, random_state=0).fit(X, sample_weight=w)
        assert np.isfinite(model.score_samples(X)).all()


def test_what_is_no_number_is_named_in_a_sentence() -> None:
    with pytest.raises(BadValue, match=r"row 1, column 0: a mixture needs every cell it has to be finite$"):
        po.GaussianMixture().fit([[0.0], [np.inf]])
    with pytest.raises(BadValue, match=r"holds 'x': a mixture needs every cell it has to be a number\. Encode words"):
        po.GaussianMixture().fit({"a": ["x", "y"]})


@each_kind
def test_weight_two_is_the_row_twice(kind: str) -> None:
    X, means = blobs(2.0)
    times = np.random.default_rng(1).integers(0, 4, size=len(X))
    start = told(kind, means)
    a = quiet(po.GaussianMixture(tol=1e-9, max_iter=50, **start), X, sample_weight=times)
    b = quiet(po.GaussianMixture(tol=1e-9, max_iter=50, **start), np.repeat(X, times, axis=0))
    for name in ("weights_", "means_", "covariances_", "lower_bounds_"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-8, atol=1e-10)
    for scale in (1e-300, 1e290):
        c = quiet(po.GaussianMixture(tol=1e-9, max_iter=50, **start), X, sample_weight=times * scale)
        assert_allclose(c.means_, a.means_, rtol=1e-8)


@each_kind
def test_order_changes_nothing_but_rounding_and_threads_nothing(kind: str) -> None:
    X, means = blobs(2.0, n=3000)
    start = told(kind, means)
    first = quiet(po.GaussianMixture(max_iter=10, **start), X)
    turned = quiet(po.GaussianMixture(max_iter=10, **start), X[::-1].copy())
    assert_allclose(turned.means_, first.means_, rtol=1e-9, atol=1e-10)
    for n_jobs in (1, 2, 3):
        again = quiet(po.GaussianMixture(max_iter=10, n_jobs=n_jobs, **start), X)
        assert_array_equal(again.means_, first.means_)
        assert_array_equal(again.covariances_, first.covariances_)
        assert again.lower_bounds_ == first.lower_bounds_


@each_kind
@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_start_finds_separate_groups(kind: str, how: str) -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    X = np.vstack([rng.normal(size=(100, 2)) + c for c in centres])
    best = quiet(
        po.GaussianMixture(3, covariance_type=kind, init_params=how, n_init=20, random_state=0, max_iter=500), X
    )
    if how != "random" or kind == "full":  # an even start does not tell components apart within a tied width
        order = np.lexsort(best.means_.round().T)
        assert_allclose(best.means_[order], centres[np.lexsort(centres.T)], atol=0.5)
    assert len(best.lower_bounds_) == best.n_iter_


@each_kind
def test_predictions_are_the_densities_of_scipy(kind: str) -> None:
    X, _ = blobs(2.0)
    model = quiet(po.GaussianMixture(3, covariance_type=kind, random_state=0), X)
    sigma = {
        "full": lambda k: model.covariances_[k],
        "tied": lambda k: model.covariances_,
        "diag": lambda k: np.diag(model.covariances_[k]),
        "spherical": lambda k: model.covariances_[k] * np.eye(3),
    }[kind]
    joint = np.column_stack(
        [np.log(model.weights_[k]) + multivariate_normal(model.means_[k], sigma(k)).logpdf(X) for k in range(3)]
    )
    assert_allclose(model.score_samples(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-9)
    assert_array_equal(model.predict(X), joint.argmax(axis=1))
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


@each_kind
def test_auto_finds_the_number_by_bic(kind: str) -> None:
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(200, 2)) + c for c in ([0, 0], [9, 0], [0, 9])])
    model = quiet(po.GaussianMixture("auto", covariance_type=kind, random_state=0), X)
    assert model.n_components_ == 3 == len(model.means_)
    curve = model.bic_curve_
    assert min(curve, key=curve.__getitem__) == 3
    assert curve[3] == pytest.approx(model.bic(X))
    doubled = quiet(
        po.GaussianMixture("auto", covariance_type=kind, random_state=0), X, sample_weight=np.full(600, 2.0)
    )
    assert doubled.bic_curve_[1] == pytest.approx(
        quiet(po.GaussianMixture(1, covariance_type=kind), np.tile(X, (2, 1))).bic(np.tile(X, (2, 1)))
    )
    with pytest.raises(BadParameter, match="means_init tells it"):
        po.GaussianMixture("auto", means_init=[[0, 0]]).fit(X)


def test_a_warm_start_goes_on() -> None:
    X, means = blobs(1.0)
    start = told("full", means)
    whole = quiet(po.GaussianMixture(max_iter=6, tol=0, **start), X)
    parts = po.GaussianMixture(max_iter=2, tol=0, warm_start=True, **start)
    for _ in range(3):
        quiet(parts, X)
    assert_allclose(parts.means_, whole.means_, rtol=1e-10)
    assert parts.lower_bound_ == pytest.approx(whole.lower_bound_)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    X, means = blobs(1.0)

    def stop(turn: int, value: float) -> None:
        if turn == 4:
            raise KeyboardInterrupt

    model = po.GaussianMixture(tol=0, max_iter=50, progress=stop, **told("full", means))
    with pytest.warns(ConvergenceWarning, match="interrupted in turn 4"):
        model.fit(X)
    reached = quiet(po.GaussianMixture(tol=0, max_iter=4, **told("full", means)), X)
    assert_array_equal(model.means_, reached.means_)
    assert not model.converged_


@pytest.mark.parametrize("n_init", [1, 3])
def test_ctrl_c_while_a_start_is_sought_is_heard(n_init: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = blobs(1.0)
    model = po.GaussianMixture(3, n_init=n_init, random_state=0)
    before = quiet(clone(model).set_params(n_init=1), X)
    quiet(model, X)
    kept, step, begun = pickle.dumps(model), Lloyd.expect, []

    def stop(self: Lloyd, turn: Turn) -> tuple[Turn, float]:
        if self not in begun:
            begun.append(self)
        if len(begun) == n_init and self.nearest.before is not None:  # in the second step of the last start
            raise KeyboardInterrupt
        return step(self, turn)

    monkeypatch.setattr(Lloyd, "expect", stop)
    if n_init == 1:  # nothing was found yet
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
        assert pickle.dumps(model) == kept
    else:
        with pytest.warns(ConvergenceWarning, match="interrupted in start 2"):
            model.fit(X)
        assert model.lower_bound_ >= before.lower_bound_


@each_kind
@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160])
def test_rows_that_differ_by_less_than_has_a_square(kind: str, how: str, scale: float) -> None:
    """The floor is wider than all of them: any start will do, and none is refused."""
    X = np.random.default_rng(0).normal(size=(30, 2)) * scale
    model = quiet(po.GaussianMixture(2, covariance_type=kind, init_params=how, random_state=0), X)
    assert_allclose(model.covariances_[..., 0].max(), 1e-6)
    assert np.isfinite(model.score_samples(X)).all()


@each_kind
def test_a_million_identical_points(kind: str) -> None:
    X = np.full((10**6, 2), 3.25)
    model = quiet(po.GaussianMixture(2, covariance_type=kind, random_state=0), X)
    assert_array_equal(model.means_, 3.25)
    assert_allclose(model.covariances_.max(), 1e-6)
    assert_allclose(model.weights_.sum(), 1)
    assert np.isfinite(model.lower_bound_)


@each_kind
def test_one_distinct_point_for_each_component(kind: str) -> None:
    points = np.array([[0.0, 1.0], [5.0, -2.0], [9.0, 4.0]])
    model = quiet(po.GaussianMixture(3, covariance_type=kind, random_state=0), np.repeat(points, 20, axis=0))
    assert_allclose(model.means_[np.argsort(model.means_[:, 0])], points, atol=1e-12)
    assert_allclose(model.weights_, 1 / 3)
    assert_allclose(np.diag(model.covariances_[0]) if kind == "full" else model.covariances_.max(), 1e-6)


@each_kind
def test_columns_that_depend_on_each_other(kind: str) -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    X = np.hstack([x, 2 * x, 1 - x])
    model = quiet(po.GaussianMixture(2, covariance_type=kind, random_state=0), X)  # the floor makes it regular
    assert np.isfinite(model.score(X))
    if kind in ("full", "tied"):
        with pytest.raises(SingularCovariance, match="increase reg_covar"):
            quiet(po.GaussianMixture(2, covariance_type=kind, reg_covar=0, random_state=0), X)


@each_kind
def test_unit_noise_at_a_billion(kind: str) -> None:
    X, means = blobs(4.0)
    near = quiet(po.GaussianMixture(max_iter=30, **told(kind, means)), X.round(3))
    far = quiet(po.GaussianMixture(max_iter=30, **told(kind, means + 1e9)), X.round(3) + 1e9)
    assert_allclose(far.means_ - 1e9, near.means_, atol=1e-5)
    assert_allclose(far.covariances_, near.covariances_, atol=1e-5)
    assert far.lower_bound_ == pytest.approx(near.lower_bound_, abs=1e-6)


@each_kind
def test_columns_far_apart_in_scale(kind: str) -> None:
    X, means = blobs(4.0)
    scale = np.array([1e140, 1.0, 1e-140]) if kind != "spherical" else np.full(3, 2.0**400)
    start = told(kind, means)
    near = quiet(po.GaussianMixture(max_iter=20, reg_covar=0, **start), X)
    P = start["precisions_init"]
    start["precisions_init"] = {
        "full": lambda: P / scale[:, None] / scale,
        "tied": lambda: P / scale[:, None] / scale,
        "diag": lambda: P / scale**2,
        "spherical": lambda: P / scale[0] ** 2,
    }[kind]()
    far = quiet(po.GaussianMixture(max_iter=20, reg_covar=0, **start | {"means_init": means * scale}), X * scale)
    assert_allclose(far.means_ / scale, near.means_, rtol=1e-8)
    assert_allclose(far.predict_proba(X * scale), near.predict_proba(X), atol=1e-8)
    with pytest.raises(BadValue, match="too large"):
        quiet(po.GaussianMixture(2, covariance_type=kind), X * 1e200)


@each_kind
@pytest.mark.parametrize("n", [2, 5])
def test_as_many_components_as_rows_and_one(kind: str, n: int) -> None:
    X = np.arange(2.0 * n).reshape(n, 2) ** 2
    model = quiet(po.GaussianMixture(n, covariance_type=kind, random_state=0), X)
    assert_allclose(np.sort(model.means_[:, 0]), X[:, 0], atol=1e-6)
    one = quiet(po.GaussianMixture(1, covariance_type=kind), X)
    assert_allclose(one.means_[0], X.mean(axis=0))
    with pytest.raises(BadValue, match="Expected n_samples >= n_components"):
        po.GaussianMixture(n + 1, covariance_type=kind).fit(X)
    with pytest.raises(BadValue, match="minimum of 2"):
        po.GaussianMixture(1, covariance_type=kind).fit(X[:1])


@each_kind
def test_single_precision_is_kept(kind: str) -> None:
    X, means = blobs(3.0)
    wide = quiet(po.GaussianMixture(max_iter=20, **told(kind, means)), X)
    model = quiet(po.GaussianMixture(max_iter=20, **told(kind, means)), X.astype(np.float32))
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert getattr(model, name).dtype == np.float32
        assert_allclose(getattr(model, name), getattr(wide, name), rtol=1e-4, atol=1e-5)
    assert model.score_samples(X.astype(np.float32)).dtype == np.float32


def test_rubbish_is_refused_by_name_and_changes_nothing() -> None:
    X, _ = blobs(3.0)
    model = quiet(po.GaussianMixture(2, random_state=0), X)
    before = {k: v for k, v in vars(model).items() if k != "_kept"}
    spoilt = X.copy()
    spoilt[7, 1] = np.inf
    with pytest.raises(BadValue, match="row 7, column 1"):
        model.fit(spoilt)
    spoilt[:, 1] = np.nan
    with pytest.raises(BadValue, match="column 1 has no cell"):
        model.fit(spoilt)
    with pytest.raises(BadType, match="sparse"):
        model.fit(sp.csr_matrix(X))
    with pytest.raises(BadValue, match="weight"):
        model.fit(X, sample_weight=-np.ones(len(X)))
    after = {k: v for k, v in vars(model).items() if k != "_kept"}
    assert before.keys() == after.keys()
    assert all(before[k] is after[k] for k in before)
    with pytest.raises(ModelError, match="fit again"):
        model.set_params(covariance_type="diag").predict(X)


@each_kind
def test_any_memory_is_read(kind: str) -> None:
    X, means = blobs(3.0)
    model = po.GaussianMixture(max_iter=5, **told(kind, means))
    first = quiet(clone(model), X)
    wide = np.zeros((len(X), 6))
    wide[:, ::2] = X
    readonly = X.copy()
    readonly.flags.writeable = False
    for other in (np.asfortranarray(X), wide[:, ::2], readonly, X.tolist()):
        assert_array_equal(quiet(clone(model), other).means_, first.means_)
    again = pickle.loads(pickle.dumps(first))
    assert_array_equal(again.predict_proba(X), first.predict_proba(X))


@each_kind
def test_samples_have_the_moments(kind: str) -> None:
    X, _ = blobs(6.0)
    model = quiet(po.GaussianMixture(4, covariance_type=kind, random_state=0), X)
    drawn, of = model.sample(40_000)
    assert_array_equal(of, np.sort(of))
    for k in range(4):
        assert_allclose(drawn[of == k].mean(axis=0), model.means_[k], atol=0.2)
    assert model.score(drawn) == pytest.approx(model.score(model.set_params(random_state=1).sample(40_000)[0]), abs=0.1)
    with pytest.raises(BadParameter, match="n_samples"):
        model.sample(0)


def test_free_parameters() -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    for kind in KINDS:
        peer = quiet(Peer(3, covariance_type=kind), X)
        assert n_parameters(kind, 3, 4) == peer._n_parameters()


@each_kind
def test_check_estimator(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(po.GaussianMixture(covariance_type=kind), on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}


# -- the pieces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_units_change_no_density(kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1e-3, 1e4]
    model = po.GaussianMixture(2, covariance_type=kind, random_state=0, reg_covar=1e-9).fit(X)
    climb, plain = Climb(X, None, kind, 1e-9, 1), model._theta(np.ones(2))
    here = _in_units(plain, climb)
    assert_allclose(log_joint(here, X, climb.unit, 1), log_joint(plain, X, np.ones(2), 1), rtol=1e-9)
    assert_allclose(here.means * climb.scale, plain.means)
    told = model._theta(climb.scale)
    for name in ("weights", "means", "covariances", "factors"):
        assert_allclose(getattr(told, name), getattr(here, name), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_are_moments_and_their_inverses(kind: str) -> None:
    X = np.random.default_rng(1).normal(size=(40, 2)) * [1.0, 300.0]
    model = po.GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    shapes = {"full": (2, 2, 2), "tied": (2, 2), "diag": (2, 2), "spherical": (2,)}
    for name in ("covariances_", "precisions_", "precisions_cholesky_"):
        assert getattr(model, name).shape == shapes[kind]
    if kind in ("full", "tied"):
        assert_allclose(model.precisions_ @ model.covariances_, np.broadcast_to(np.eye(2), shapes[kind]), atol=1e-9)
        root = model.precisions_cholesky_
        assert_allclose(root @ np.swapaxes(root, -1, -2), model.precisions_)
    else:
        assert_allclose(model.precisions_ * model.covariances_, 1.0)
        assert_allclose(model.precisions_cholesky_**2, model.precisions_)
    assert model.n_components_ == 2
    assert model.n_iter_ == len(model.lower_bounds_)
    assert model.lower_bound_ == max(model.lower_bounds_)
    assert not hasattr(model, "bic_curve_")


def test_a_warm_start_needs_the_same_kind_and_number() -> None:
    X = np.random.default_rng(2).normal(size=(30, 2))
    model = po.GaussianMixture(2, random_state=0, warm_start=True).fit(X)
    assert_allclose(model._before().means, model.means_)
    for other in ({"warm_start": False}, {"n_components": 3}, {"n_components": "auto"}, {"covariance_type": "diag"}):
        before = model.get_params()
        assert model.set_params(**other)._before() is None
        model.set_params(**before)
    assert po.GaussianMixture(2, warm_start=True)._before() is None
    again = model.fit(X)
    assert again.n_iter_ <= 2
    assert again.converged_
    wider = model.fit(np.random.default_rng(2).normal(size=(30, 3)))  # other columns: from the beginning
    assert wider.means_.shape == (2, 3)


def test_a_warm_start_that_goes_on_where_it_stopped_has_converged() -> None:
    """One turn whose ℓ is that of the last fit: nothing is gained any more."""
    X = np.vstack([np.random.default_rng(3).normal(size=(40, 1)), np.random.default_rng(4).normal(6, 1, (40, 1))])
    model = po.GaussianMixture(2, random_state=0, warm_start=True, max_iter=50, tol=1e-9).fit(X)
    assert model.converged_
    assert model.set_params(max_iter=1, tol=1e-3).fit(X).converged_
    cold = po.GaussianMixture(2, random_state=0, max_iter=1, tol=1e-3)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        assert not cold.fit(X).converged_


def test_no_turn_leaves_the_start() -> None:
    X = np.random.default_rng(3).normal(size=(30, 2))
    start = {
        "weights_init": [0.25, 0.75],
        "means_init": [[0, 0], [1, 1]],
        "precisions_init": [np.eye(2), 4 * np.eye(2)],
    }
    model = po.GaussianMixture(2, max_iter=0, **start).fit(X)
    assert_allclose(model.weights_, [0.25, 0.75])
    assert_allclose(model.means_, [[0, 0], [1, 1]])
    assert_allclose(model.precisions_, start["precisions_init"])
    assert_allclose(model.covariances_[1], np.eye(2) / 4)
    assert (model.converged_, model.n_iter_, model.lower_bound_, model.lower_bounds_) == (False, 0, -np.inf, [])
    parts = po.GaussianMixture(2, max_iter=0, random_state=0, means_init=[[0, 0], [1, 1]]).fit(X)
    assert_allclose(parts.means_, [[0, 0], [1, 1]])
    assert parts.weights_.sum() == pytest.approx(1.0)
    shares = po.GaussianMixture(2, max_iter=0, random_state=0, weights_init=[0.25, 0.75]).fit(X)
    assert_allclose(shares.weights_, [0.25, 0.75])


def test_auto_looks_no_further_than_three_worse_ones() -> None:
    X = np.random.default_rng(5).normal(size=(80, 1))
    model = po.GaussianMixture("auto", random_state=0, max_iter=30, tol=1e-2).fit(X)
    assert model.n_components_ == 1
    assert sorted(model.bic_curve_) == [1, 2, 3, 4]
    assert model.bic_curve_[1] == pytest.approx(po.GaussianMixture(1).fit(X).bic(X))
    most = po.GaussianMixture("auto", max_components=2, random_state=0).fit(X)
    assert sorted(most.bic_curve_) == [1, 2]
    few = po.GaussianMixture("auto", random_state=0).fit(X[:2])
    assert sorted(few.bic_curve_) == [1, 2]
    heavy = po.GaussianMixture("auto", random_state=0, max_components=1).fit(X, sample_weight=np.full(80, 3.0))
    often = po.GaussianMixture(1).fit(X)
    assert heavy.bic_curve_[1] == pytest.approx(3 * -2 * often.score(X) * 80 + 2 * np.log(240))
    assert not hasattr(model.set_params(n_components=2).fit(X), "bic_curve_")


def test_what_is_said_and_told_on_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.vstack([np.random.default_rng(3).normal(size=(40, 1)), np.random.default_rng(4).normal(2, 1, (40, 1))])
    told: list[tuple[int, float]] = []
    how = {"random_state": 0, "max_iter": 5, "tol": 0.0, "n_init": 2, "progress": lambda *a: told.append(a)}
    with pytest.warns(ConvergenceWarning):
        model = po.GaussianMixture(2, verbose=2, verbose_interval=2, **how).fit(X)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("Init")] == [
        "Initialization 0", "Initialization did not converge.", "Initialization 1", "Initialization did not converge.",
    ]  # fmt: skip
    assert [line.split("\t")[0] for line in said if "Iteration" in line] == ["  Iteration 2", "  Iteration 4"] * 2
    assert [turn for turn, _ in told] == [1, 2, 3, 4, 5] * 2
    assert max(value for _, value in told) == model.lower_bound_
    assert f"ll {told[1][1]:.5f}" in said[1]
    with pytest.warns(ConvergenceWarning):
        po.GaussianMixture(2, verbose=1, verbose_interval=2, **how).fit(X)
    assert "ll" not in capsys.readouterr().out.replace("Initialization", "")
    with pytest.warns(ConvergenceWarning):
        po.GaussianMixture(2, **how).fit(X)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["n_components", "max_iter", "n_init", "tol", "reg_covar"])
def test_numbers_that_are_none_are_named(name: str) -> None:
    X = np.arange(6.0)[:, None]
    with pytest.raises(BadParameter, match=f"{name} must be a number. Got True"):
        po.GaussianMixture(**{name: True}).fit(X)
    for wrong in ({"tol": np.inf}, {"reg_covar": np.inf}):
        with pytest.raises(BadParameter, match=r"range \[0.0, inf\). Got inf"):
            po.GaussianMixture(**wrong).fit(X)
    for told in ("weights_init", "means_init", "precisions_init"):
        with pytest.raises(BadParameter, match=f"chooses their number, {told} tells it"):
            po.GaussianMixture("auto", **{told: [1.0]}).fit(X)
    with pytest.raises(BadValue, match=r"1 sample\(s\)"):
        po.GaussianMixture().fit(X[:1])
    with pytest.raises(BadValue, match="n_components = 3, n_samples = 2"):
        po.GaussianMixture(3).fit(X, sample_weight=[1, 0, 0, 0, 1, 0])
    assert po.GaussianMixture(2).fit(X, sample_weight=[1, 0, 0, 0, 1, 0]).means_.ravel().tolist() in ([0, 4], [4, 0])
