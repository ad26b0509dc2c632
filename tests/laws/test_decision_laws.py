"""What every decision obeys, whatever the model: least risk, argmax under zero-one loss, Chow's rule, monotone coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import posteriori as po

FAR = 1e-9  # decisions nearer to a tie than this may fall either way by rounding


@st.composite
def posteriors(draw: st.DrawFn, most_rows: int = 12) -> np.ndarray:
    n, k = draw(st.integers(1, most_rows)), draw(st.integers(2, 5))
    weight = draw(arrays(float, (n, k), elements=st.floats(1e-6, 1.0)))
    return weight / weight.sum(axis=1, keepdims=True)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    posterior = draw(posteriors())
    k = posterior.shape[1]
    return posterior, draw(arrays(float, (k, k), elements=st.floats(-5, 20)))


@given(problems())
def test_decide_minimises_the_risk_by_brute_force(problem):
    posterior, loss = problem
    for row, action in zip(posterior, po.decide(posterior, loss)):
        risks = [sum(loss[a, y] * row[y] for y in range(len(row))) for a in range(len(loss))]
        assert risks[action] == pytest.approx(min(risks), abs=FAR)
        assert po.risk(row, loss) == pytest.approx(risks, abs=FAR)


@given(posteriors())
def test_zero_one_loss_is_argmax_to_the_bit(posterior):
    assert np.array_equal(po.decide(posterior), posterior.argmax(axis=1))
    near = np.nextafter(posterior, 1.0)
    near[:, 0] = posterior[:, 0]  # neighbours in floating point still decide as argmax does
    assert np.array_equal(po.decide(near), near.argmax(axis=1))


@given(problems(), st.data())
def test_a_constant_added_to_a_column_changes_no_decision(problem, data):
    posterior, loss = problem
    shift = data.draw(arrays(float, loss.shape[1], elements=st.floats(-10, 10)))
    risks = np.sort(po.risk(posterior, loss), axis=1)
    clear = risks[:, 1] - risks[:, 0] > FAR
    assert np.array_equal(po.decide(posterior, loss)[clear], po.decide(posterior, loss + shift)[clear])


@given(problems(), st.floats(-5, 20))
def test_a_row_is_rejected_where_its_least_risk_is_above_the_price(problem, price):
    posterior, loss = problem
    least = po.risk(posterior, loss).min(axis=1)
    rejected = po.decide(posterior, po.Loss(loss).with_reject(price)) == -1
    clear = np.abs(least - price) > FAR
    assert np.array_equal(rejected[clear], (least > price)[clear])


@given(posteriors(), st.floats(0.01, 0.99))
def test_chows_rule(posterior, price):
    doubt = 1 - posterior.max(axis=1)
    rejected = po.decide(posterior, po.Loss.zero_one(posterior.shape[1]).with_reject(price)) == -1
    clear = np.abs(doubt - price) > FAR
    assert np.array_equal(rejected[clear], (doubt > price)[clear])


@given(problems())
def test_the_bayes_risk_is_no_more_than_the_risk_of_any_fixed_action(problem):
    posterior, loss = problem
    assert po.bayes_risk(posterior, loss) <= po.risk(posterior, loss).mean(axis=0).min() + FAR


@given(problems(), st.data())
def test_coverage_grows_with_the_price_and_so_does_the_expected_risk(problem, data):
    posterior, loss = problem
    curve = po.risk_coverage(posterior, loss)
    assert np.all(np.diff(curve.price) > 0)
    assert np.all(np.diff(curve.coverage) > 0)
    assert np.all(np.diff(curve.risk) >= -FAR)
    assert curve.coverage[-1] == 1
    assert curve.risk[-1] == pytest.approx(po.bayes_risk(posterior, loss))
    y = data.draw(arrays(int, len(posterior), elements=st.integers(0, loss.shape[1] - 1)))
    real = po.risk_coverage(posterior, loss, y)
    assert np.array_equal(real.coverage, curve.coverage)
    assert real.risk[-1] == pytest.approx(loss[po.decide(posterior, loss), y].mean())


@given(problems(), st.floats(0.01, 1.0))
def test_the_price_reaches_the_wanted_coverage_and_a_lower_one_does_not(problem, wanted):
    posterior, loss = problem
    price = po.reject_price(posterior, loss, coverage=wanted)
    decided = po.decide(posterior, po.Loss(loss).with_reject(price)) != -1
    assert decided.mean() >= wanted - FAR
    curve = po.risk_coverage(posterior, loss)
    fewer = curve.coverage[curve.price < po.risk(posterior, loss).min(axis=1)[decided].max() - FAR]
    assert np.all(fewer < wanted)


@given(problems(), st.floats(0.0, 1.0))
def test_the_price_keeps_the_wanted_risk(problem, share):
    posterior, loss = problem
    curve = po.risk_coverage(posterior, loss)
    wanted = curve.risk[0] + share * (curve.risk[-1] - curve.risk[0]) + FAR
    priced = po.Loss(loss).with_reject(po.reject_price(posterior, loss, risk=wanted))
    decided = po.decide(posterior, priced) != -1
    assert decided.any()
    assert po.risk(posterior, loss).min(axis=1)[decided].mean() <= wanted + FAR


@given(problems(), st.randoms(use_true_random=False))
def test_labels_decide_never_positions(problem, random):
    posterior, matrix = problem
    names = [f"c{i}" for i in range(matrix.shape[1])]
    shuffled = random.sample(range(len(names)), len(names))
    table = {names[a]: {names[y]: matrix[a, y] for y in shuffled} for a in random.sample(range(len(names)), len(names))}
    plain = po.decide(posterior, po.Loss(matrix, classes=names))
    assert np.array_equal(po.decide(posterior, table, classes=names), plain)
