"""Risks and decisions: worked figures, what is refused, labels and weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.decision.decide import cost_curve, reject_price, risk_coverage
from posteriori.errors import BadValue, LossError, ModelError, UnknownValue
from posteriori.table.labels import places


def test_the_worked_risks_of_a_doctor():
    """P(ill|x) = 0.2; missing an illness costs 10, treating a healthy one 1: treat, at risk 0.8."""
    loss = po.Loss([[0, 10], [1, 0]], classes=["healthy", "ill"])
    assert po.risk([0.8, 0.2], loss) == pytest.approx([2.0, 0.8])
    assert po.decide([0.8, 0.2], loss) == "ill"
    assert po.decide([0.8, 0.2]) == 0


def test_ties_go_to_the_first_action():
    assert po.decide([0.5, 0.5]) == 0
    assert po.decide([0.5, 0.5], po.Loss.zero_one(2).with_reject(0.5)) == 0
    assert po.decide([0.25] * 4, classes=list("abcd")) == "a"


def test_a_frame_says_its_classes():
    frame = pd.DataFrame({"spam": [0.7, 0.2], "ham": [0.3, 0.8]})
    assert po.decide(frame).tolist() == ["spam", "ham"]
    assert po.decide(frame, {"ham": 10, "spam": 1}).tolist() == ["ham", "ham"]


def test_a_loss_in_another_order_than_a_model_would_have_asks_for_the_classes():
    loss = po.Loss([[0, 1], [10, 0]], classes=["spam", "ham"])
    with pytest.raises(LossError, match=r"pass classes=model\.classes_"):
        po.decide([0.3, 0.7], loss)
    assert po.decide([0.3, 0.7], loss, classes=["ham", "spam"]) == "spam"
    mixed = po.Loss.zero_one([0, "x"])
    with pytest.raises(LossError, match="classes_"):
        po.risk([0.3, 0.7], mixed)


@pytest.mark.parametrize(
    ("posterior", "said"),
    [
        ([[0.5, 0.5], [0.5, np.nan]], "row 1 of the posterior"),
        ([[0.7, 0.7]], "sum 1.4"),
        ([[1.5, -0.5]], "row 0"),
        ([["a", "b"]], "holds numbers"),
        (np.zeros((2, 0)), "shape"),
        (np.zeros((1, 1, 1)), "shape"),
    ],
)
def test_what_is_no_posterior_is_refused(posterior, said):
    with pytest.raises(BadValue, match=said):
        po.decide(posterior)


def test_shapes_that_do_not_meet():
    with pytest.raises(LossError, match="the posterior has 3 classes, the loss 2"):
        po.risk([[0.2, 0.3, 0.5]], [[0, 1], [1, 0]])
    with pytest.raises(BadValue, match="2 columns, but there are 3 classes"):
        po.risk([[0.5, 0.5]], classes=["a", "b", "c"])


def test_bayes_risk_and_its_weights():
    posterior = [[0.9, 0.1], [0.5, 0.5]]
    assert po.bayes_risk(posterior) == pytest.approx(0.3)
    assert po.bayes_risk(posterior, sample_weight=[3, 1]) == pytest.approx(0.2)
    assert po.bayes_risk(posterior, po.Loss.zero_one(2).with_reject(0.2)) == pytest.approx(0.15)
    with pytest.raises(BadValue, match="no rows"):
        po.bayes_risk(np.zeros((0, 2)))


def test_mean_loss():
    loss = po.Loss.per_class({"ham": 10, "spam": 1}).with_reject(0.5)
    truth, said = ["ham", "ham", "spam", "spam"], ["ham", "spam", "ham", "reject"]
    assert po.mean_loss(truth, said, loss) == pytest.approx((0 + 10 + 1 + 0.5) / 4)
    assert po.mean_loss(truth, said, loss, sample_weight=[1, 0, 0, 0]) == 0
    assert po.mean_loss([0, 1, 1], [0, 1, 0]) == pytest.approx(1 / 3)
    with pytest.raises(UnknownValue, match=r"y_true holds 'hamm'.*did you mean 'ham'"):
        po.mean_loss(["hamm"], ["ham"], loss)
    with pytest.raises(UnknownValue, match="y_pred holds 'unsure'"):
        po.mean_loss(["ham"], ["unsure"], loss)
    with pytest.raises(BadValue, match="do not compare"):
        po.mean_loss(np.array(["ham", None], object), ["ham", "ham"], loss)
    with pytest.raises(LossError, match="does not say which class"):
        po.mean_loss([0, 1], [0, 1], [[0, 1], [1, 0]])
    with pytest.raises(BadValue, match="2 rows, y_pred 1"):
        po.mean_loss(["ham", "ham"], ["ham"], loss)


def test_the_curve_with_the_truth_and_what_cannot_be_reached():
    posterior = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.55, 0.45]])
    curve = po.risk_coverage(posterior, None, [0, 1, 1, 0])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk == pytest.approx([0, 0, 1 / 3, 1 / 4])
    assert curve.area == pytest.approx((0 + 0 + 1 / 3 + 1 / 4) / 4)
    assert po.reject_price(posterior, None, [0, 1, 1, 0], risk=0.26) > 0.45  # beyond the bump at 0.75
    with pytest.raises(ModelError, match=r"the least on these rows is 0.1, at coverage 0.25"):
        po.reject_price(posterior, risk=0.05)
    with pytest.raises(LossError, match=r"\(0, 1\]"):
        po.reject_price(posterior, coverage=1.5)
    for wrong in ({}, {"coverage": 0.5, "risk": 0.1}):
        with pytest.raises(LossError, match="one of coverage= and risk="):
            po.reject_price(posterior, **wrong)
    with pytest.raises(BadValue, match="needs rows"):
        po.risk_coverage([0.5, 0.5])
    with pytest.raises(BadValue, match="y has 1 rows"):
        po.risk_coverage(posterior, None, [0])


def test_rows_of_equal_risk_stay_together():
    curve = po.risk_coverage([[0.7, 0.3], [0.3, 0.7], [0.9, 0.1]])
    assert curve.coverage == pytest.approx([1 / 3, 1.0])
    assert po.reject_price([[0.7, 0.3], [0.3, 0.7], [0.9, 0.1]], coverage=0.4) > 0.3


@pytest.mark.parametrize(
    ("total", "fine"), [(1.0009, True), (0.9991, True), (1.002, False), (0.95, False), (1.09, False)]
)
def test_a_posterior_sums_to_one_up_to_a_thousandth(total, fine):
    row = [0.6 * total, 0.4 * total]
    if fine:
        assert po.decide(row) == 0
    else:
        with pytest.raises(BadValue, match="no distribution"):
            po.decide(row)


@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000])
def test_a_coverage_is_a_share_of_rows_however_it_is_rounded(n):
    posterior = np.column_stack([1 - np.arange(1, n + 1) / (3 * n), np.arange(1, n + 1) / (3 * n)])
    for k in {1, n // 3 + 1, n - 1}:
        curve = po.risk_coverage(posterior)
        for share in (k / n, np.nextafter(k / n, 1), np.nextafter(k / n, 0)):
            price = po.reject_price(posterior, coverage=share)
            assert (curve.price <= price).sum() == k


def test_risks_that_differ_by_rounding_are_one_point_of_the_curve():
    row = [0.7, 0.2, 0.1]
    other = [0.7, 0.1, 0.2]
    near = np.array([row, other, [0.1 + 0.2, 0.7 - 1e-15, 1e-15], [0.7 - 1e-9, 0.3 + 1e-9, 0.0]])
    curve = po.risk_coverage(near)
    assert len(curve.price) == 2  # 1e-15 is rounding, 1e-9 is not
    assert curve.coverage.tolist() == [0.75, 1.0]


def test_labels_are_told_apart_by_type_before_text_and_number():
    assert places([True, 1, "1", 1.0], [1, True, "1", 1.0]) == [1, 0, 2, 3]
    assert places(["1", 1], ["1.0", 1]) == [1, 1]  # the text of a number before its value
    assert places(["1.0"], ["1"]) == [None]  # two words that are not the same
    assert places(["2.0", 3], [2, "3.0"]) == [0, 1]


@pytest.mark.parametrize("off", [0.0011, 0.002, 0.05, 0.09])
def test_a_posterior_sums_to_one_within_a_thousandth(off):
    for sign in (-1, 1):
        with pytest.raises(BadValue, match="no distribution"):
            po.decide([0.3, 0.7 + sign * off])
        assert po.decide([0.3, 0.7 + sign * 0.0009]) == 1


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
