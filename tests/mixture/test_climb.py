"""A collapsed component begins anew, is named, and never costs the model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import SingularCovariance
from posteriori.mixture.climb import Climb
from posteriori.mixture.normals import DEAD

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
