"""Scores against scikit-learn's, and against their formulas written another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import posteriori as po
from posteriori.errors import BadValue
from posteriori.leaderboard import scores


def draw(seed, n, k):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, rng.integers(0, k, n), rng.random(n) + 0.1


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 5))
def test_scores_are_those_of_scikit_learn(seed, n, k):
    p, y, w = draw(seed, n, k)
    labels = list(range(k))
    expected = metrics.log_loss(y, p, sample_weight=w, labels=labels)
    assert scores.log_loss(p, y, w) == pytest.approx(expected, rel=1e-9)
    assert scores.error(p, y, w) == pytest.approx(1 - metrics.accuracy_score(y, p.argmax(axis=1), sample_weight=w))
    whole = metrics.brier_score_loss(y, p, sample_weight=w, labels=labels, scale_by_half=False)
    assert scores.brier(p, y, w) == pytest.approx(whole, rel=1e-9, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 5))
def test_calibration_error_is_the_sum_over_bins(seed, n, k):
    p, y, w = draw(seed, n, k)
    confidence, hit = p.max(axis=1), (p.argmax(axis=1) == y).astype(float)
    total = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            gap = np.average(hit[inside], weights=w[inside]) - np.average(confidence[inside], weights=w[inside])
            total += w[inside].sum() / w.sum() * abs(gap)
    assert scores.calibration_error(p, y, w) == pytest.approx(total, abs=1e-12)


@given(st.integers(0, 10**6))
def test_cost_is_the_mean_loss_of_what_decide_says(seed):
    p, y, w = draw(seed, 40, 3)
    loss = po.Loss([[0, 1, 5], [2, 0, 1], [9, 3, 0]], classes=[0, 1, 2]).with_reject(0.7)
    said = po.decide(p, loss, classes=[0, 1, 2])
    assert scores.cost(p, y, w, loss) == pytest.approx(po.mean_loss(y, said, loss, sample_weight=w))


def test_a_class_without_probability_costs_thirty_six_nats_and_no_infinity():
    p = scores.over_classes(np.array([[1.0]]), [0], 2)
    assert scores.log_loss(p, np.array([1]), np.ones(1)) == pytest.approx(36.0437, abs=1e-3)
    assert scores.error(p, np.array([1]), np.ones(1)) == 1.0


@pytest.mark.parametrize("p", [[[0.5, 0.2]], [[np.nan, 1.0]], [[-0.5, 1.5]], [[1.0]]])
def test_what_is_no_posterior_is_refused(p):
    with pytest.raises(BadValue):
        scores.over_classes(np.array(p), [0, 1], 2)
