"""MixtureBayes: the densities are its mixtures', one component a class is GaussianBayes, and bad input has a name."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import BadParameter, BadType, BadValue, SingularCovariance, UnknownValue
from posteriori.mixture.classifier import FAINT, PRIOR, Spread

X, Y = load_iris(return_X_y=True)
KINDS = ("full", "tied", "diag", "spherical")


@given(st.integers(0, 300), st.sampled_from([1.0, 1e-150, 1e140]), st.booleans())
def test_means_and_variances_by_hand(seed, scale, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(2, 3, (25, 2))
    X[rng.random((25, 2)) < 0.2] = np.nan
    w = rng.random(25) if weighted else np.ones(25)
    found = Spread.of(X * [scale, 1.0], w if weighted else None)
    for j, s in ((0, scale), (1, 1.0)):
        there = ~np.isnan(X[:, j])
        mean = np.average(X[there, j], weights=w[there])
        assert found.mean[j] / s == pytest.approx(mean)
        assert found.variance[j] / s / s == pytest.approx(np.average((X[there, j] - mean) ** 2, weights=w[there]))
    assert not found.constant.any()


def test_constant_columns_are_as_wide_as_they_are_large():
    found = Spread.of(np.array([[0.0, 7.0, 0.25], [0.0, 7.0, 0.25]]), None)
    assert found.constant.all()
    assert found.variance.tolist() == [1.0, 49.0, 1.0]
    nobody = Spread.of(np.array([[1.0], [3.0], [np.nan]]), np.array([0.0, 0.0, 1.0]))
    assert nobody.mean.tolist() == [2.0]
    assert nobody.constant.all()


@given(st.floats(1, 1e6), st.integers(1, 4))
def test_floors_of_a_class(n, d):
    found = Spread(np.zeros(d + 1), np.arange(1.0, d + 2), np.arange(d + 1) == 0)
    rows = d + 2
    floors = found.floors(n)
    assert floors[0] == 1.0
    assert floors[1:] == pytest.approx(PRIOR * rows / (n + rows) * np.arange(2.0, d + 2))
    assert found.floors(n, 0.0)[1:].tolist() == [0.0] * d


def test_a_column_that_a_class_lacks_is_completed_faintly():
    found = Spread(np.array([1.0, 5.0, 9.0]), np.array([4.0, 9.0, 81.0]), np.array([False, False, True]))
    rows = np.array([[0.0, np.nan, np.nan], [2.0, np.nan, np.nan]])
    more, weights = found.completed(rows, np.array([1.0, 3.0]))
    assert np.array_equal(more[:2], rows, equal_nan=True)
    assert more[2:, 1].tolist()[:2] == [2.0, 8.0]
    assert more[4:, 2].tolist() == [9.0, 9.0]
    assert np.isnan(more[2:, 0]).all()
    assert weights.tolist() == pytest.approx([1.0, 3.0, *[FAINT * 2.0] * 4])
    assert found.completed(rows, None)[1].tolist() == pytest.approx([1.0, 1.0, *[FAINT] * 4])
    whole = np.zeros((2, 3))
    assert found.completed(whole, None) == (whole, None) or found.completed(whole, None)[1] is None


def test_a_column_that_differs_by_rounding_is_constant_and_as_wide_as_it_is_large():
    found = Spread.of(np.array([[1e6, 1.0], [1e6 + 2e-10, 3.0]]), None)
    assert found.constant.tolist() == [True, False]
    assert found.variance == pytest.approx([1e12, 1.0])
    assert found.mean == pytest.approx([1e6, 2.0])
    assert found.floors(4.0) == pytest.approx([1e12, PRIOR * 3 / 7])


def test_a_row_of_no_weight_says_nothing_of_a_column():
    X, w = np.array([[1.0, 5.0], [3.0, np.nan], [100.0, 7.0]]), np.array([2.0, 2.0, 0.0])
    found = Spread.of(X, w)
    assert found.mean == pytest.approx([2.0, 5.0])
    assert found.variance == pytest.approx([1.0, 25.0])
    assert found.constant.tolist() == [False, True]
    whole = np.zeros((2, 2))
    assert found.completed(whole, None) == (whole, None)
    assert found.completed(whole, w)[1] is w


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_one_component_is_gaussian_bayes(kind: str) -> None:
    ours = po.MixtureBayes(1, covariance_type=kind, reg_covar=0, background=0).fit(X, Y)
    theirs = po.GaussianBayes(kind).fit(X, Y)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.class_prior_, theirs.class_prior_)


@pytest.mark.parametrize("kind", KINDS)
def test_the_joint_is_the_prior_and_the_mixture(kind: str) -> None:
    model = po.MixtureBayes(2, covariance_type=kind, random_state=0, max_iter=500).fit(X, Y)
    for c, mixture in enumerate(model.mixtures_):
        own, all_rows = (np.exp(part.score_samples(X)) for part in (mixture, model.background_))
        wanted = model.class_prior_[c] * (50 * own + all_rows) / 51
        assert_allclose(model.predict_joint_log_proba(X)[:, c], np.log(wanted))
    bare = clone(model).set_params(background=0).fit(X, Y)
    for c, mixture in enumerate(bare.mixtures_):
        wanted = np.log(bare.class_prior_[c]) + mixture.score_samples(X)
        assert_allclose(bare.predict_joint_log_proba(X)[:, c], wanted)
    assert bare.background_ is None
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


def log_loss(model, X, y) -> float:
    p = np.clip(model.predict_proba(X), 1e-15, 1)
    return float(-np.log(p[np.arange(len(y)), y] / p.sum(axis=1)).mean())


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("rows", [30, 75])
def test_few_rows_make_no_catastrophe(load, rows: int) -> None:
    """Beside the models that are simpler, on tables of which a class has a dozen rows, 0/1 columns added."""
    points, of = load(return_X_y=True)
    rng, losses = np.random.default_rng(0), []
    points = np.hstack([points, rng.random((len(of), 3)) < 0.1 + 0.2 * (of[:, None] == 1)])
    for _ in range(3):
        order = rng.permutation(len(of))
        a, b = order[:rows], order[rows:]
        models = (
            po.MixtureBayes(random_state=0),
            po.NaiveBayes(density="gaussian"),
            po.GaussianBayes("diag", shrinkage=1e-3),
        )
        losses.append([log_loss(m.fit(points[a], of[a]), points[b], of[b]) for m in models])
    ours, *others = np.mean(losses, axis=0)
    assert ours < min(others) + 0.3
    assert ours < 0.7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", [2.0**-465, 2.0**-30, 2.0**30, 2.0**465])
def test_the_unit_of_a_column_changes_nothing(kind: str, unit: float) -> None:
    units = np.full(4, unit) if kind == "spherical" else np.array([1.0, unit, 1.0, 1 / unit])
    plain, scaled = (po.MixtureBayes(covariance_type=kind, random_state=0).fit(x, Y) for x in (X, X * units))
    assert_allclose(scaled.predict_proba(X * units), plain.predict_proba(X), atol=1e-9)


def test_a_constant_column_says_nothing() -> None:
    more = np.hstack([X, np.full((150, 1), 7.0)])
    plain, wide = (po.MixtureBayes(random_state=0).fit(x, Y) for x in (X, more))
    assert_allclose(wide.predict_proba(more), plain.predict_proba(X), atol=1e-9)
    more[:, 4] = 9.0
    assert_allclose(wide.predict_proba(more), plain.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_a_class_lacks_is_as_in_all_classes(kind: str) -> None:
    gone = X.copy()
    gone[Y == 1, 2] = np.nan
    model = po.MixtureBayes(1, covariance_type=kind).fit(gone, Y)
    assert_allclose(model.mixtures_[1].means_[0, 2], np.nanmean(gone[:, 2]), rtol=1e-6)
    assert model.score(X, Y) > 0.8
    gone[:, 2] = np.nan
    with pytest.raises(BadValue, match="column 2 has no cell at all"):
        model.fit(gone, Y)


def test_an_interrupt_ends_the_whole_fit(monkeypatch) -> None:
    from posteriori.mixture.normals import Climb

    model = po.MixtureBayes(2, random_state=0).fit(X, Y)
    before, expect, calls = model.predict_proba(X), Climb.expect, []

    def late(self, theta):
        calls.append(theta)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return expect(self, theta)

    monkeypatch.setattr(Climb, "expect", late)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert len(calls) == 3
    assert_array_equal(model.predict_proba(X), before)


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
    for far in (1e155, 1e300):
        with pytest.raises(BadValue, match="too large for float64"):
            po.MixtureBayes().fit([[0.0], [far], [1.0], [2 * far]], [0, 0, 1, 1])
    with pytest.raises(BadValue, match="too large for float32"):
        po.MixtureBayes().fit(np.array([[0.0], [1e25], [1.0], [2e25]], np.float32), [0, 0, 1, 1])


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


# -- the background, and what is drawn ----------------------------------------------------------------------------------


def test_a_class_is_its_mixture_and_a_row_more_of_all_rows() -> None:
    """ln P(y) + ln((n p(x|y) + b p₀(x))/(n + b)), n the weight of the class."""
    w = np.random.default_rng(0).uniform(0.5, 3, 150)
    model = po.MixtureBayes(2, background=2.5, random_state=0).fit(X, Y, w)
    joint, n = model._log_joint(X[::7]), np.bincount(Y, w)
    far = np.exp(model.background_.score_samples(X[::7]))
    for c, mixture in enumerate(model.mixtures_):
        own = np.exp(mixture.score_samples(X[::7]))
        assert_allclose(joint[:, c], np.log(n[c] / n.sum()) + np.log((n[c] * own + 2.5 * far) / (n[c] + 2.5)))
    assert_allclose(model.class_count_, n)
    assert_allclose(model.class_prior_, n / n.sum())
    assert_allclose(model.background_.means_[0], np.average(X, axis=0, weights=w))
    assert model.n_iter_ == max(m.n_iter_ for m in model.mixtures_)
    assert model.n_components_.tolist() == [2, 2, 2]
    none = po.MixtureBayes(2, background=0.0, random_state=0).fit(X, Y)
    assert none.background_ is None
    assert_allclose(none._log_joint(X[::7])[:, 1], np.log(1 / 3) + none.mixtures_[1].score_samples(X[::7]))
    off = model.set_params(background=0.0)._log_joint(X[::7])
    assert_allclose(off[:, 0], np.log(n[0] / n.sum()) + model.mixtures_[0].score_samples(X[::7]))


@pytest.mark.parametrize("background", [0.0, 50.0, 150.0])
def test_rows_are_drawn_from_the_background_by_its_share(background: float) -> None:
    """Two tight classes far apart: what lies away from both is drawn from the normal of all rows."""
    rng = np.random.default_rng(0)
    points = np.r_[rng.normal(0, 0.01, (50, 1)), rng.normal(100, 0.01, (50, 1))]
    model = po.MixtureBayes(1, background=background, reg_covar=1e-4, random_state=0).fit(
        points, ["a"] * 50 + ["b"] * 50
    )
    drawn, labels = model.sample(4000, random_state=1)
    away = np.minimum(np.abs(drawn[:, 0]), np.abs(drawn[:, 0] - 100)) > 0.5
    assert away.mean() == pytest.approx(background / (50 + background), abs=0.04)
    near = ~away
    assert ((drawn[near, 0] > 50) == (labels[near] == "b")).mean() > 0.97
    assert (labels == "a").mean() == pytest.approx(0.5, abs=0.04)
    assert drawn.shape == (4000, 1)
    again, same = model.sample(4000, random_state=1)
    assert_array_equal(again, drawn)
    assert_array_equal(same, labels)
    one, label = model.sample(random_state=1)
    assert (one.shape, label.shape) == ((1, 1), (1,))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "3"])
def test_as_many_rows_are_drawn_as_were_asked_for(wrong) -> None:
    model = po.MixtureBayes(1, random_state=0).fit(X, Y)
    with pytest.raises(BadParameter, match="n must be a whole number from 1 up"):
        model.sample(wrong)


def test_a_class_without_weight_has_no_mixture_and_gives_no_rows() -> None:
    w = np.where(Y == 1, 0.0, 1.0)
    model = po.MixtureBayes(1, random_state=0).fit(X, Y, w)
    assert model.mixtures_[1] is None
    assert model.n_components_.tolist() == [1, 0, 1]
    assert (model._log_joint(X)[:, 1] == -np.inf).all()
    assert set(model.sample(50, random_state=0)[1]) == {0, 2}
    told = po.MixtureBayes(1, random_state=0, priors=[0.2, 0.6, 0.2]).fit(X, Y, w)
    with pytest.raises(BadValue, match="class 1 has no rows of positive weight"):
        told.sample(50, random_state=0)


def test_before_a_fit_there_is_nothing() -> None:
    for name in ("class_prior_", "n_components_"):
        with pytest.raises(NotFittedError):
            getattr(po.MixtureBayes(), name)
    with pytest.raises(NotFittedError):
        po.MixtureBayes().sample()


@pytest.mark.parametrize("k", [0, 1.5, True, "many"])
def test_numbers_of_components_by_class_are_checked(k) -> None:
    with pytest.raises(BadParameter, match="n_components of class 1 must be a whole number from 1 up or 'auto'"):
        po.MixtureBayes({0: 1, 1: k, 2: "auto"}).fit(X, Y)
    assert po.MixtureBayes({0: 1, 1: 2, 2: 3}, random_state=0).fit(X, Y).n_components_.tolist() == [1, 2, 3]
    with pytest.raises(BadParameter, match="background must be a finite number"):
        po.MixtureBayes(background=True).fit(X, Y)


def test_warnings_and_errors_name_their_class() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        po.MixtureBayes(3, max_iter=1, tol=0.0, random_state=0, n_init=1).fit(X, Y)
    assert [str(w.message)[:27] for w in heard] == [f"class {c}: Best performing in" for c in range(3)]
    rows = np.array([[0.0], [1.0], [2.0], [5.0], [5.0], [5.0]])
    with pytest.raises(SingularCovariance, match="class 'b': "):
        po.MixtureBayes(1, reg_covar=0.0, random_state=0).fit(rows, list("aaabbb"))
    lone = po.MixtureBayes(1, random_state=0).fit(rows[:4], list("aaab"))
    assert lone.mixtures_[1].means_.tolist() == [[5.0]]
