"""Risk against coverage, beside a curve made by hand, and the price of a wanted point of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.decision.curve import cost_curve, reject_price, risk_coverage


@pytest.mark.parametrize("n", [3, 7, 10, 30, 49])
def test_a_wanted_share_is_reached_however_it_is_rounded(n):
    """k of n rows are k rows: k/n as a float asks for no row more."""
    p = np.linspace(0.55, 0.99, n)
    posterior = np.column_stack([p, 1 - p])
    curve = risk_coverage(posterior)
    for k in range(1, n + 1):
        for wanted in (k / n, np.nextafter(k / n, 1) if k < n else 1.0, sum([1 / n] * k)):
            price = reject_price(posterior, coverage=min(wanted, 1.0))
            assert np.count_nonzero(1 - p <= price) == k
            assert curve.coverage[k - 1] == k / n


def test_rows_that_differ_by_rounding_are_decided_together():
    p = np.array([0.7, np.nextafter(0.7, 1), np.nextafter(0.7, 0), 0.9])
    curve = risk_coverage(np.column_stack([p, 1 - p]))
    assert curve.coverage.tolist() == [0.25, 1.0]
    apart = np.array([0.7, 0.7 + 1e-9, 0.9])
    assert len(risk_coverage(np.column_stack([apart, 1 - apart])).coverage) == 3


@given(st.lists(st.integers(1, 19), min_size=1, max_size=12), st.data())
def test_each_point_is_the_mean_loss_of_the_rows_it_decides(cells, data):
    p = np.array(cells) / 20
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
    curve = risk_coverage(np.column_stack([p, 1 - p]), y=y)
    least = np.minimum(p, 1 - p)
    wrong = np.where(p >= 0.5, y == 1, y == 0)
    assert (np.diff(curve.price) > 0).all()
    assert curve.coverage[-1] == 1
    for price, coverage, risk in zip(curve.price, curve.coverage, curve.risk):
        inside = least <= price + 1e-9
        assert coverage == pytest.approx(inside.mean())
        assert risk == pytest.approx(wrong[inside].mean())


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.data())
def test_the_mean_of_a_cost_curve_is_half_the_brier_score(cells, data):
    """∫ c[p ≥ c] dc = p²/2 of a false alarm, ∫ (1 − c)[p < c] dc = (1 − p)²/2 of a miss."""
    p = np.array(cells) / 20
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
    curve = cost_curve(np.column_stack([1 - p, p]), y, 1, points=4001)
    area = float(np.mean((curve.cost[1:] + curve.cost[:-1]) / 2))
    assert area == pytest.approx(float(np.mean((p - y) ** 2)) / 2, abs=1e-3)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.data())
def test_a_cost_curve_counts_mistakes_at_their_price(cells, data):
    p = np.array(cells) / 20
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
    curve = cost_curve(np.column_stack([1 - p, p]), y, 1, points=11)
    for c, cost, always, never in zip(curve.share, curve.cost, curve.always, curve.never):
        said = p >= c
        wanted = c * np.mean(said & (y == 0)) + (1 - c) * np.mean(~said & (y == 1))
        assert cost == pytest.approx(wanted)
        assert always == pytest.approx(c * np.mean(y == 0))
        assert never == pytest.approx((1 - c) * np.mean(y == 1))


@given(st.lists(st.tuples(st.integers(1, 19), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=12))
def test_a_weight_is_as_many_rows(rows):
    p, y, w = (np.array(column) for column in zip(*rows))
    if not w.any():
        return
    posterior = np.column_stack([20 - p, p]) / 20
    twice = np.repeat(np.arange(len(p)), w)
    a, b = risk_coverage(posterior, y=y, sample_weight=w), risk_coverage(posterior[twice], y=y[twice])
    assert np.allclose(a.price, b.price)
    assert np.allclose(a.coverage, b.coverage)
    assert np.allclose(a.risk, b.risk)
    a, b = cost_curve(posterior, y, 1, sample_weight=w), cost_curve(posterior[twice], y[twice], 1)
    for name in ("share", "cost", "always", "never"):
        assert np.allclose(getattr(a, name), getattr(b, name))
