"""Platt's sigmoid is the maximum of its likelihood under Platt's targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from posteriori.margin.platt import couple, deal, fit_sigmoid, normalised, sigmoid


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_fit_is_stationary_under_platts_targets(seed, weighted):
    """Σ w (t − p) = 0 and Σ w f (t − p) = 0 with t = (N₊+1)/(N₊+2) and 1/(N₋+2)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    positive = np.arange(n) % 3 == 0
    scores = rng.normal(size=n) + positive
    weight = rng.uniform(0.5, 2, n) if weighted else None
    w = np.ones(n) if weight is None else weight
    plus, minus = w[positive].sum(), w[~positive].sum()
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))
    p = sigmoid(scores, *fit_sigmoid(scores, positive, weight))
    assert abs(w @ (target - p)) < 1e-4
    assert abs(w @ (scores * (target - p))) < 1e-4


def test_separable_scores_keep_a_finite_slope():
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    positive = scores > 0
    A, B = fit_sigmoid(scores, positive)
    target = np.where(positive, 3 / 4, 1 / 4)

    def loss(x):
        z = x[0] * scores + x[1]
        return (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z)).sum()

    found = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert pytest.approx(found.x, abs=1e-4) == [A, B]


def test_a_sigmoid_by_its_formula_and_at_both_ends():
    f = np.array([-3.0, -0.5, 0.0, 0.25, 7.0])
    assert sigmoid(f, -1.5, 0.4) == pytest.approx(1 / (1 + np.exp(-1.5 * f + 0.4)))
    assert sigmoid(np.array([-2e3, 2e3]), -1.0, 0.0).tolist() == [0.0, 1.0]
    assert sigmoid(np.array([-700.0]), -1.0, 0.0)[0] == pytest.approx(np.exp(-700.0))


def test_sigmoids_over_the_sum_of_their_row():
    f, ab = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -4.0]]), [(-1.0, 0.2), (-2.0, -0.3), (-0.5, 0.0)]
    each = np.column_stack([1 / (1 + np.exp(a * f[:, k] + b)) for k, (a, b) in enumerate(ab)])
    assert normalised(f, ab) == pytest.approx(each / each.sum(axis=1, keepdims=True))
    far = normalised(np.array([[-800.0, -801.0, -1e9]]), [(-1.0, 0.0)] * 3)  # where each sigmoid is 0
    assert far[0] == pytest.approx([1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0.0])
    assert normalised(np.array([[-np.inf] * 2]), [(-1.0, 0.0)] * 2).tolist() == [[0.5, 0.5]]
    assert normalised(np.array([[-np.inf, 0.0]]), [(-1.0, 0.0)] * 2).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_fit_is_the_least_loss_in_any_unit(seed, scale):
    """A full step of Newton's may climb; scores in other units have another slope and no other posterior."""
    rng = np.random.default_rng(seed)
    positive = rng.random(40) < [0.5, 0.04][seed % 2]
    positive[:2] = True, False
    scores = rng.standard_cauchy(40) + [1.0, -3.0, 0.0][seed % 3] * positive
    weight = rng.uniform(0.1, 9, 40)
    plus, minus = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def loss(x):
        z = x[0] * scores + x[1]
        return weight @ (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))

    A, B = fit_sigmoid(scale * scores, positive, weight)
    best = minimize(loss, [0.0, 0.0], tol=1e-12, method="Nelder-Mead", options={"maxiter": 4000})
    assert loss([A * scale, B]) <= best.fun * (1 + 1e-7)


def test_scores_that_are_all_alike_say_how_common_a_class_is():
    positive = np.arange(10) < 3
    p = sigmoid(np.full(10, 2.0), *fit_sigmoid(np.full(10, 2.0), positive))
    assert p == pytest.approx((3 * 4 / 5 + 7 / 9) / 10, abs=1e-6)


def test_no_step_leaves_the_prior_of_the_classes():
    """A = 0 and B = ln((N₋+1)/(N₊+1)), from which the steps set out."""
    positive = np.arange(10) < 3
    assert fit_sigmoid(np.arange(10.0), positive, steps=0) == (0.0, pytest.approx(np.log(8 / 4)))


@pytest.mark.parametrize("K", [2, 3, 5])
def test_coupled_posteriors_are_nearest_to_their_pairs(K):
    rng = np.random.default_rng(K)
    r = rng.uniform(0.02, 0.98, (7, K, K))
    r = np.triu(r, 1) + np.swapaxes(np.triu(1 - r, 1), 1, 2)  # pairs that no posterior has

    def off(r, p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(K) for j in range(K) if i != j)

    found = couple(r)
    assert found.sum(axis=1) == pytest.approx(1.0)
    for one, p in zip(r, found):
        least = off(one, p)
        for _ in range(30):
            other = np.abs(p + 0.01 * rng.normal(size=K))
            assert off(one, other / other.sum()) >= least - 1e-12


def test_pairs_that_are_certain_still_have_a_posterior():
    sure = np.array([[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    assert couple(sure)[0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    around = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    assert couple(around)[0] == pytest.approx([1 / 3] * 3)


@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(1e-3, 1e3))
def test_rows_are_dealt_one_after_another_each_as_often_as_it_weighs(seed, count, unit):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    times, positive = rng.integers(1, 8, n), rng.random(n) < 0.4
    times[rng.integers(n)] = 1
    wanted, draw = np.zeros((count, n)), np.random.RandomState(seed)
    for side in (positive, ~positive):
        cards = np.repeat(order := draw.permutation(np.flatnonzero(side)), times[order])
        np.add.at(wanted, (np.arange(len(cards)) % count, cards), 1.0)
    found = deal(positive, unit * times, count, np.random.RandomState(seed))
    assert found == pytest.approx(wanted / times, abs=1e-9)
    assert not ((found > 0) & (found < 1e-9)).any()
    assert not ((found < 1) & (found > 1 - 1e-9)).any()


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e12, 1e290])
def test_a_sigmoid_of_weights_in_any_unit_is_one(unit):
    """From many rows on Platt's targets are 0 and 1: then only the ratios of weights count."""
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=50), rng.random(50) < 0.4
    scores[positive] += 1
    weight = rng.random(50)
    if unit >= 1e12:
        A, B = fit_sigmoid(scores, positive, weight * unit)
        np.testing.assert_allclose([A, B], fit_sigmoid(scores, positive, weight * 1e10), rtol=1e-6)
    assert np.isfinite(fit_sigmoid(scores, positive, weight * unit)).all()
    assert np.isfinite(fit_sigmoid(np.zeros(50), positive, weight * unit)).all()
