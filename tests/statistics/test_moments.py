"""Forgetting moments equals never having learned, or is refused; at every scale, and never another answer."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import NotLearned, StatisticsError
from posteriori.kernels import naive
from posteriori.statistics import CoMoments, Moments
from posteriori.statistics.moments import comoments, is_covariance, left_in, take_away

RUNS = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 1500


def of(x: np.ndarray, y: np.ndarray) -> Moments:
    return Moments.of(*naive.class_moments(x[:, None], y.astype(np.uint8), 2))


def exact(x: np.ndarray) -> tuple[float, float]:
    """(mean, M2) by fractions, rounded at the end."""
    values = [Fraction(float(v)) for v in x]
    mean = sum(values, Fraction(0)) / max(len(values), 1)
    return float(mean), float(sum(((v - mean) ** 2 for v in values), Fraction(0)))


def learn_and_forget(x: np.ndarray, y: np.ndarray, gone: np.ndarray) -> bool:
    """Refit is the oracle; whether the rows were forgotten, not refused."""
    try:
        left = of(x, y) - of(x[gone], y[gone])
    except NotLearned:
        raise
    except StatisticsError as error:
        if "fit again" not in str(error):
            raise
        return False
    column = exact(x[~gone])[1]
    for c in (0, 1):
        stay = x[(y == c) & ~gone]
        mean, m2 = exact(stay)
        assert left.n[c, 0] == len(stay)
        if len(stay):
            size = np.abs(x[y == c]).max()
            assert abs(left.mean[c, 0] - mean) <= 1e-13 * len(x) * size
            assert abs(left.m2[c, 0] - m2) <= max(1e-6 * m2, 1e-8 * column)
    return True


def table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = int(rng.integers(3, 16))
    spread = 10.0 ** rng.integers(0, 10) if rng.random() < 0.5 else 1.0
    x = rng.normal(size=n) * np.where(rng.random(n) < 0.3, spread, 1.0)
    x = np.round(x) if rng.random() < 0.2 else x + (10.0 ** rng.integers(0, 6) if rng.random() < 0.2 else 0.0)
    return x * 10.0 ** rng.integers(-140, 141), rng.integers(0, 2, n), rng.random(n) < 0.4


def test_forgetting_over_many_runs_and_scales() -> None:
    rng = np.random.default_rng(0)
    done = sum(learn_and_forget(*table(rng)) for _ in range(RUNS))
    assert done > 0.5 * RUNS  # refusals are for what cannot be told, not the rule


@given(st.integers(0, 2**32 - 1))
def test_forgetting_equals_never_having_learned(seed: int) -> None:
    learn_and_forget(*table(np.random.default_rng(seed)))


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, lambda: po.NaiveBayes(density="gaussian")])
def test_an_outlier_leaves_no_trace_or_is_refused(Model) -> None:
    x, y = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [12.0]]), np.array([0, 0, 0, 0, 1, 1])
    plain = Model().fit(x, y).predict_proba(x)
    forgotten = 0
    for far in (30.0, 1e2, 1e3, 1e5, 1e8, 1e9, 1e12, -1e15):
        model = Model().fit(np.vstack([x, [[far]]]), np.append(y, 0))
        try:
            model.forget([[far]], [0])
        except StatisticsError as error:
            if "fit again" not in str(error):
                raise
            assert abs(far) > 1e3
            assert model.class_count_.tolist() == [5, 2]  # nothing was changed
            continue
        forgotten += 1
        np.testing.assert_allclose(model.predict_proba(x), plain, rtol=1e-5, atol=1e-12)
    assert forgotten >= 3


@pytest.mark.parametrize("Model", [po.GaussianNB, po.NaiveBayes, po.GaussianBayes])
def test_states_that_cannot_be_are_refused(Model) -> None:
    model = Model().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(NotLearned):
        model.forget([[0.5]], [0])  # the row that stays would have a variance
    with pytest.raises(NotLearned):
        model.forget([[9.0]], [0])
    assert model.class_count_.tolist() == [2, 2]


@given(st.floats(1e-3, 1e6), st.sampled_from([1e-8, 1e-6, 1e-5]))
def test_only_rounding_is_wiped_out(n: float, share: float) -> None:
    whole = np.array([n])
    assert take_away(whole, whole * (1 - 1e-12)).tolist() == [0.0]
    assert take_away(whole, whole * (1 + 1e-12)).tolist() == [0.0]
    np.testing.assert_allclose(take_away(whole, whole * (1 - share)), whole * share, rtol=1e-6)
    with pytest.raises(NotLearned, match="number of rows"):
        take_away(whole, whole * (1 + share))


def test_a_class_whose_rows_are_all_forgotten_is_as_if_it_had_never_been() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(5, 1, (9, 2)), np.array([0] * 4 + [1] * 5)
    whole, second = comoments(X, y, 2, None), comoments(X[4:], y[4:], 2, None)
    left = whole - second
    assert left == comoments(X[:4], y[:4], 2, None)
    assert (left.n[1], left.mean[1].tolist(), left.c[1].tolist()) == (0, [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]])
    assert (whole - whole) == CoMoments.zero(2, 2)
    assert (of(X[:, 0], y) - of(X[:, 0], y)) == Moments.zero(2, 1)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3))
def test_small_weights_are_forgotten_as_great_ones_are(seed, weight):
    """(A + B) − B = A, also where all rows of a class together weigh less than one."""
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(10, 2)), np.arange(10) % 2, np.full(10, weight / 5)
    a, b = (comoments(X[part], y[part], 2, w[part]) for part in (slice(0, 6), slice(6, 10)))
    left = (a + b) - b
    np.testing.assert_allclose(left.n, a.n)
    np.testing.assert_allclose(left.mean, a.mean, atol=1e-9)
    np.testing.assert_allclose(left.c, a.c, atol=1e-9)


def test_rows_of_zeros_are_forgotten_without_an_error_to_speak_of():
    rows, y = np.zeros((6, 2)), np.arange(6) % 2
    a, b = comoments(rows[:4], y[:4], 2, None), comoments(rows[4:], y[4:], 2, None)
    assert (a + b) - b == a


@pytest.mark.parametrize("kind", [Moments, CoMoments])
def test_moments_of_other_shapes_neither_add_nor_take_away(kind):
    wide, narrow = kind.zero(2, 3), kind.zero(2, 1)
    for a, b in ((wide, narrow), (narrow, wide), (wide, kind.zero(1, 3))):
        with pytest.raises(StatisticsError, match="cannot be added"):
            a + b
        with pytest.raises(StatisticsError, match="cannot be added"):
            a - b


def test_a_row_that_counts_twice_is_two_rows():
    x, y = np.array([1.0, 2, 4, 7]), np.array([0, 0, 1, 1])
    once, twice = of(x, y), of(np.tile(x, 2), np.tile(y, 2))
    doubled = once.scaled(2.0)
    for name in ("n", "mean", "m2", "largest"):
        np.testing.assert_allclose(getattr(doubled, name), getattr(twice, name))


def test_where_no_span_is_known_one_row_that_stays_has_no_spread():
    n, m2 = np.array([[0.5, 1.0, 1.0, 2.0, 10.0]]), np.array([[9.0, 1e-9, 9.0, 9.0, 9.0]])
    zero = np.zeros_like(n)
    span, alone, never = left_in(None, None, n, zero, m2, zero, np.full_like(n, 1e-6))
    assert span is None
    assert alone.tolist() == [[False, True, True, False, False]]
    assert never.tolist() == [[False, False, True, False, False]]


def test_a_column_without_spread_takes_no_part_in_a_covariance():
    c, kept = np.array([[[0.0, 5.0], [5.0, 0.0]]] * 3), np.array([[0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
    assert is_covariance(c, kept, 1e-9).tolist() == [True, True, False]
