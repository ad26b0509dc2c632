"""What every decision obeys, whatever the model: least risk, argmax under zero-one loss, Chow's rule, monotone coverage."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import posteriori as po
from posteriori.decision.decide import exact_risks

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


def exact(posterior: np.ndarray, loss: np.ndarray) -> list[Fraction]:
    """The risks of one row as rational numbers."""
    return [sum(Fraction(x) * Fraction(p) for x, p in zip(line, posterior)) for line in loss.tolist()]


@st.composite
def tied(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors in shares and losses in decimals, so that many risks are equal on paper and few in floating point."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    shares = draw(arrays(int, (n, k), elements=st.integers(0, 10)))
    shares[:, 0] += shares.sum(axis=1) == 0
    loss = draw(arrays(int, (draw(st.integers(2, 5)), k), elements=st.integers(-3, 9)))
    return shares / shares.sum(axis=1, keepdims=True), loss / draw(st.sampled_from([1, 3, 7, 10, 1e6, 1e-6]))


@given(tied(), st.none() | st.integers(-3, 9))
def test_ties_go_to_the_first_action_batch_or_row_alike(problem, price):
    posterior, matrix = problem
    loss = po.Loss(matrix, actions=range(len(matrix)))
    loss = loss if price is None else loss.with_reject(price / 10)
    decided = po.decide(posterior, loss).tolist()
    assert [po.decide(row, loss) for row in posterior] == decided
    assert po.decide(posterior[::-1], loss).tolist() == decided[::-1]
    for row, said in zip(posterior, decided):
        action = len(matrix) if said == -1 else said
        risks, least = exact(row, loss.matrix), min(exact(row, loss.matrix))
        sizes = exact(row, np.abs(loss.matrix))
        own = [4 * Fraction(float(np.spacing(float(max(s, sizes[risks.index(least)]))))) for s in sizes]
        near = [(r - least) / u for r, u in zip(risks, own)]
        assert near[action] <= 1 + Fraction(1, 10**6)  # the sizes themselves are rounded
        assert all(d > 1 - Fraction(1, 2) for d in near[:action])
        if not any(Fraction(1, 2) < d <= 2 for d in near):
            assert action == next(i for i, d in enumerate(near) if d <= 1)


@given(tied())
def test_the_risks_that_settle_a_tie_are_exact(problem):
    posterior, loss = problem
    high, low, size = exact_risks(posterior, loss)
    for i, row in enumerate(posterior):
        for a, (risk, scale) in enumerate(zip(exact(row, loss), exact(row, np.abs(loss)))):
            assert abs(Fraction(high[i, a]) + Fraction(low[i, a]) - risk) <= scale * Fraction(2) ** -95
            assert abs(Fraction(size[i, a]) - scale) <= scale * Fraction(2) ** -48


@pytest.mark.parametrize(
    ("posterior", "loss", "said"),
    [
        ([0.6, 0.4], [[0, 3], [2, 0]], 0),
        ([0.7, 0.3], po.Loss.zero_one(2).with_reject(0.3), 0),
        ([0.9, 0.1], po.Loss.per_class([1, 3]).with_reject(0.3), 0),
        ([0.8, 0.2], po.Loss.zero_one(2).with_reject(0.1), -1),
        ([1e-300, 1.0], [[1e300, 0], [1e300, 0]], 0),
    ],
)
def test_ties_on_paper_are_ties(posterior, loss, said):
    assert po.decide(posterior, loss) == said
    assert po.decide([posterior] * 7, loss).tolist() == [said] * 7


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
