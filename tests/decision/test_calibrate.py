"""Reliability and calibration error: a sum over bins by hand, weights as repeated rows, borders, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.decision.calibrate import calibration_error, reliability, temperature, tempered
from posteriori.errors import BadParameter, BadValue, UnknownValue


def by_hand(p, hit, w, bins):
    """Row by row into the bins (b/B, (b+1)/B]; a dictionary of sums."""
    sums = {}
    for pi, hi, wi in zip(p, hit, w):
        b = next(k for k in range(bins) if pi <= (k + 1) / bins or k == bins - 1)
        said, came, mass = sums.get(b, (0.0, 0.0, 0.0))
        sums[b] = said + wi * pi, came + wi * hi, mass + wi
    total = sum(mass for _, _, mass in sums.values())
    return sum(abs(came - said) for said, came, _ in sums.values()) / total, {b for b in sums if sums[b][2]}


@st.composite
def judged(draw):
    n, k = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    cells = draw(st.lists(st.lists(st.integers(0, 20), min_size=k, max_size=k), min_size=n, max_size=n))
    table = np.array(cells, dtype=float) + (np.array(cells).sum(axis=1, keepdims=True) == 0)
    y = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    w = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    w[0] += not w.any()
    return table / table.sum(axis=1, keepdims=True), y, w, draw(st.integers(1, 20))


@given(judged())
def test_errors_are_the_sums_by_hand(case):
    posterior, y, w, bins = case
    top = posterior.argmax(axis=1)
    wanted, live = by_hand(posterior.max(axis=1), top == y, w, bins)
    found = reliability(posterior, y, bins=bins, sample_weight=w)
    assert found.error == pytest.approx(wanted, abs=1e-12)
    assert found.error == calibration_error(posterior, y, bins=bins, sample_weight=w)
    assert len(found.share) == len(live)
    each = [by_hand(posterior[:, c], y == c, w, bins)[0] for c in range(posterior.shape[1])]
    for c, one in enumerate(each):
        assert reliability(posterior, y, c, bins=bins, sample_weight=w).error == pytest.approx(one, abs=1e-12)
    assert calibration_error(posterior, y, classwise=True, bins=bins, sample_weight=w) == pytest.approx(
        np.mean(each), abs=1e-12
    )


@given(judged())
def test_bins_are_shares_and_means(case):
    posterior, y, w, bins = case
    found = reliability(posterior, y, bins=bins, sample_weight=w)
    assert found.share.sum() == pytest.approx(1)
    for values in (found.said, found.came, found.share):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert (values <= 1).all()
    assert (found.low <= found.said).all()
    assert (found.said <= found.high).all()
    assert 0 <= found.error <= found.worst <= 1


@given(judged())
def test_a_weight_is_a_row_repeated_whatever_its_scale(case):
    posterior, y, w, bins = case
    repeated = calibration_error(np.repeat(posterior, w, axis=0), np.repeat(y, w), bins=bins)
    for scale in (1.0, 1e-300, 1e300):
        assert calibration_error(posterior, y, bins=bins, sample_weight=w * scale) == pytest.approx(repeated, abs=1e-12)


@given(judged(), st.randoms(use_true_random=False))
def test_the_order_of_rows_means_nothing(case, random):
    posterior, y, w, bins = case
    order = list(range(len(y)))
    random.shuffle(order)
    one = calibration_error(posterior, y, bins=bins, sample_weight=w)
    other = calibration_error(posterior[order], y[order], bins=bins, sample_weight=w[order])
    assert other == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 100])
def test_a_probability_on_a_border_belongs_below(bins):
    for b in range(1, bins + 1):
        p = b / bins
        found = reliability([[1 - p, p]], [1], 1, bins=bins)
        assert found.high.tolist() == [b / bins]
    assert reliability([[1.0, 0.0]], [1], 1, bins=bins).low.tolist() == [0.0]


def test_a_posterior_that_is_right_in_every_bin_has_no_error():
    posterior = np.repeat([[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]], 4, axis=0)
    y = [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    assert calibration_error(posterior, y) == 0
    assert calibration_error(posterior, y, classwise=True) == 0


def test_labels_say_which_column_is_which():
    posterior = pd.DataFrame({"no": [0.9, 0.2], "yes": [0.1, 0.8]})
    named = calibration_error(posterior, ["no", "yes"])
    assert named == pytest.approx(calibration_error(posterior.to_numpy(), ["no", "yes"], classes=["no", "yes"]))
    assert named == pytest.approx(calibration_error(posterior.to_numpy(), [0, 1]))
    assert reliability(posterior, ["no", "yes"], "yes", bins=1).said.tolist() == [pytest.approx(0.45)]


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: calibration_error(np.empty((0, 2)), []), BadValue, "needs rows"),
        (lambda: calibration_error([0.5, 0.5], [0]), BadValue, "needs rows"),
        (lambda: calibration_error([[0.5, 0.5]], [0, 1]), BadValue, "y has 2 rows"),
        (lambda: calibration_error([[0.5, np.nan]], [0]), BadValue, "row 0"),
        (lambda: calibration_error([[0.5, 0.5]], [2]), UnknownValue, "holds 2"),
        (lambda: calibration_error([[0.5, 0.5]], [0], sample_weight=[0]), BadValue, "all sample weights are zero"),
        (lambda: reliability([[0.5, 0.5]], ["a"], "c", classes=["a", "b"]), UnknownValue, "no class 'c'"),
        *(
            (lambda bins=bins: calibration_error([[0.5, 0.5]], [0], bins=bins), BadParameter, "bins is a whole")
            for bins in (0, -1, 2.5, np.nan, True, "ten", None, 10**9)
        ),
    ],
)
def test_what_is_refused(call, error, word):
    with pytest.raises(error, match=word):
        call()


def log_loss(posterior, y, w, T):
    logs = np.log(np.maximum(posterior, 1e-12)) / T
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return -(w * logs[np.arange(len(y)), y]).sum() / w.sum()


@given(judged())
def test_no_temperature_has_less_log_loss(case):
    posterior, y, w, _ = case
    T = temperature(posterior, y, sample_weight=w)
    assert 0.0099 < T < 101
    least = log_loss(posterior, y, w, T)
    for other in (*(T * np.array([0.9, 0.999, 1.001, 1.1])), 1.0, 0.01, 100.0):
        if 0.01 <= other <= 100:
            assert least <= log_loss(posterior, y, w, other) + 1e-9


@given(judged())
def test_the_temperature_of_repeated_rows_is_that_of_weights_at_any_scale(case):
    posterior, y, w, _ = case
    repeated = temperature(np.repeat(posterior, w, axis=0), np.repeat(y, w))
    for scale in (1.0, 1e-300, 1e300):
        found = temperature(posterior, y, sample_weight=w * scale)
        assert log_loss(posterior, y, w, found) == pytest.approx(log_loss(posterior, y, w, repeated), abs=1e-9)


@given(judged(), st.floats(0.05, 20), st.floats(0.05, 20))
def test_tempering_keeps_the_order_and_multiplies(case, a, b):
    posterior = case[0]
    once = tempered(posterior, a)
    np.testing.assert_allclose(once.sum(axis=1), 1)
    np.testing.assert_allclose(tempered(posterior, 1.0), posterior, atol=1e-15)
    rising = np.take_along_axis(once, posterior.argsort(axis=1, kind="stable"), axis=1)
    assert (np.diff(rising, axis=1) >= -1e-15).all()
    if (posterior > 1e-12).all() and (once > 1e-12).all():
        np.testing.assert_allclose(tempered(once, b), tempered(posterior, a * b), atol=1e-9)


def test_a_posterior_that_means_what_it_says_has_temperature_one():
    posterior = np.repeat([[0.75, 0.25], [0.25, 0.75]], 4, axis=0)
    assert temperature(posterior, [0, 0, 0, 1, 1, 1, 1, 0]) == pytest.approx(1)
    assert temperature([[0.5, 0.5]] * 3, [0, 1, 1]) == 1.0  # nothing changes it
    assert temperature([[1.0]] * 3, ["a"] * 3, classes=["a"]) == 1.0
    assert temperature([[0.9, 0.1]], [0]) == pytest.approx(0.01)
    assert temperature([[0.9, 0.1]], [1]) == pytest.approx(100)


def test_a_temperature_mends_a_classifier_that_is_too_sure():
    rng = np.random.default_rng(0)
    truth = rng.random(4000)
    y = (rng.random(4000) < truth).astype(int)
    logit = 3 * np.log(truth / (1 - truth))
    p = 1 / (1 + np.exp(-logit))
    sure = np.column_stack([1 - p, p])
    T = temperature(sure[:2000], y[:2000])
    assert abs(T / 3 - 1) < 0.15
    mended = tempered(sure[2000:], T)
    assert calibration_error(mended, y[2000:]) < 0.5 * calibration_error(sure[2000:], y[2000:])
    named = pd.DataFrame(sure[:2000], columns=["no", "yes"])
    assert temperature(named, np.where(y[:2000], "yes", "no")) == T


@pytest.mark.parametrize("T", [0, -1, np.nan, np.inf, True, "warm", None])
def test_a_temperature_is_a_number_above_zero(T):
    with pytest.raises(BadParameter, match="temperature is a number"):
        tempered([[0.5, 0.5]], T)
