"""Forgetting moments equals never having learned, or is refused; spans beside numbers tried one by one."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori import kernels
from posteriori.errors import BadValue, NotLearned, StatisticsError
from posteriori.statistics.comoments import CoMoments, comoments
from posteriori.statistics.moments import (
    DIGITS,
    ENOUGH,
    FLAT,
    LEAST,
    NOTHING,
    PLACED,
    Moments,
    Span,
    is_lost,
    known_error,
    left_in,
    mean_error,
    refuse_impossible,
    refuse_lost,
    take_away,
)

RUNS = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "fuzz" else 1500


def of(x: np.ndarray, y: np.ndarray) -> Moments:
    return Moments.of(*kernels.class_moments(x[:, None], y.astype(np.uint8), 2)[:5])


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
    n, m2 = np.array([[0.5, 1.0, 1.0, 1.0, 2.0, 10.0]]), np.array([[9.0, 1e-9, 1e-6, 9.0, 9.0, 9.0]])
    zero = np.zeros_like(n)
    span, alone, never = left_in(None, None, n, zero, m2, zero, np.full_like(n, 1e-6))
    assert span is None
    assert alone.tolist() == [[False, True, True, True, False, False]]
    assert never.tolist() == [[False, False, False, True, False, False]]


def test_moments_of_some_classes_and_columns_stand_where_they_are_put():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    X[3, 1] = 9.0  # the greatest there ever was, and then forgotten
    whole = Moments.of(*kernels.class_moments(X, y.astype(np.uint8), 3)[:5])
    whole = whole - Moments.of(*kernels.class_moments(X[3:4], y[3:4].astype(np.uint8), 3)[:5])
    assert whole.largest[0, 1] > whole.m2[0, 1]
    parts = ("n", "mean", "m2", "largest", "span.low", "span.high")

    def part(of: Moments, name: str) -> np.ndarray:
        for step in name.split("."):
            of = getattr(of, step)
        return of

    columns = [whole.select_columns([j]) for j in (2, 0, 3)]
    for name in parts:
        assert (part(whole.select_columns([3, 1]), name) == part(whole, name)[:, [3, 1]]).all()
        assert (part(whole.select_classes(np.array([2, 0])), name) == part(whole, name)[[2, 0]]).all()
        assert (part(Moments.concat(columns), name) == part(whole, name)[:, [2, 0, 3]]).all()
        wide = part(whole.reindex_classes(np.array([4, 0, 2]), 5), name)
        empty = {"span.low": np.inf, "span.high": -np.inf}.get(name, 0.0)
        assert wide.shape == (5, 4)
        assert (wide[[4, 0, 2]] == part(whole, name)).all()
        assert (wide[[1, 3]] == empty).all()
    unknown = Moments(whole.n, whole.mean, whole.m2)
    assert Moments.concat([unknown, whole]).span is None
    some, columns = unknown.select_classes(np.array([1])), unknown.select_columns([1])
    for made in (some, columns, unknown.reindex_classes(np.array([0, 1, 2]), 4)):
        assert made.span is None


def test_all_classes_together_are_the_moments_of_all_rows():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 2)), (np.arange(20) % 3).astype(np.uint8)
    pooled = Moments.of(*kernels.class_moments(X, y, 3)[:5]).pooled()
    np.testing.assert_allclose(pooled.n, [[20, 20]])
    np.testing.assert_allclose(pooled.mean[0], X.mean(axis=0))
    np.testing.assert_allclose(pooled.m2[0], 20 * X.var(axis=0))
    assert (pooled.span.low[0] == X.min(axis=0)).all()


def test_a_variance_needs_more_rows_than_it_takes_away():
    some = Moments(np.array([[0.0, 1.0, 2.0, 4.0]]), np.zeros((1, 4)), np.array([[0.0, 3.0, 3.0, 3.0]]))
    assert some.variance().tolist() == [[0.0, 3.0, 1.5, 0.75]]
    assert some.variance(1.0).tolist() == [[0.0, 0.0, 3.0, 1.0]]


def test_columns_are_too_wide_where_the_variance_of_all_classes_has_no_float():
    """Σ M2 + n (max μ − min μ)², of classes with rows alone."""
    n = np.array([[1.0] * 6, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0], [0.0] * 6])
    mean = np.array([[-1e153, -1e154, 0.0, 0.0, 1e160, 1e160], [1e153, 1e154, 0.0, 0.0, 1e160, -1e160], [1e200] * 6])
    m2 = np.array([[0.0, 0.0, 1e308, np.inf, 0.0, 0.0], [0.0, 0.0, 1e308, 0.0, 0.0, 0.0], [0.0] * 6])
    assert Moments(n, mean, m2).too_wide().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["moments", "comoments"])
def test_parts_whose_squares_do_not_fit_are_refused_and_remember_the_greatest(kind):
    def made(values: list[float]) -> Moments | CoMoments:
        x, y = np.array(values)[:, None], np.zeros(len(values), int)
        return comoments(x, y, 1, None) if kind == "comoments" else of(x[:, 0], y).select_classes(np.array([0]))

    with pytest.raises(BadValue, match="squares of X are too large"):
        made([1e160]) + made([-1e160])
    both = made([0.0, 4.0]) + made([10.0])
    assert both.largest.item() == pytest.approx(50.667, abs=1e-3)
    left = both - made([10.0])
    assert left.largest.item() == both.largest.item()  # once there, it has left its rounding
    assert (left + made([1.0])).largest.item() == both.largest.item()
    assert (left - left).largest.item() == 0.0
    assert (both.n.item(), left.n.item(), left.mean.item()) == (3.0, 2.0, pytest.approx(2.0))


def test_moments_are_equal_to_moments_of_the_same_numbers_only():
    a, b = of(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 1])), of(np.array([1.0, 2.0, 5.0]), np.array([0, 1, 1]))
    assert a == Moments(a.n, a.mean, a.m2)
    assert (a == 3) is False
    for name in ("n", "mean", "m2"):
        assert a != replace(a, **{name: getattr(b, name) + 1.0})
    x, y = np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1])
    one = comoments(x, y, 2, None)
    assert one == CoMoments(one.n, one.mean, one.c)
    assert (one == 3) is False
    for name in ("n", "mean", "c"):
        assert one != replace(one, **{name: getattr(one, name) + 1.0})


@pytest.mark.parametrize("size", [1.0, 0.1])
@pytest.mark.parametrize("shift", [1 - 1e-9, 1 + 1e-9])
def test_what_is_known_too_little_is_lost(shift, size):
    """An error above ENOUGH of M2, or of a flat class above NOTHING of its column; a mean off by PLACED of its spread."""
    lost = shift > 1
    n, column, zero = np.array([[2.0], [6.0]]) * size, np.array([8.0]), np.zeros((2, 1))
    m2 = np.array([[3.0], [5.0]])
    one = np.array([[1.0], [0.0]])  # only the first class is off
    assert is_lost(n, m2, column, one * ENOUGH * 3.0 * shift, zero).tolist() == [[lost], [False]]
    flat = np.array([[0.0], [8.0]])
    assert is_lost(n, flat, column, one * NOTHING * 8.0 * shift, zero).tolist() == [[lost], [False]]
    off = PLACED * np.sqrt(3.0 / (2.0 * size))
    assert is_lost(n, m2, column, zero, one * off * shift).tolist() == [[lost], [False]]
    off = PLACED * np.sqrt(FLAT * 0.25 * 8.0 / (2.0 * size))  # the class has a quarter of the rows
    assert is_lost(n, flat, column, zero, one * off * shift).tolist() == [[lost], [False]]
    alone = np.array([[2.0], [0.0]])
    assert is_lost(alone, m2 * one, column, zero, one * 1e9).tolist() == [[False], [False]]  # wherever it lies
    assert is_lost(zero, zero, np.zeros(1), zero, zero).tolist() == [[False], [False]]


def test_the_error_of_a_mean_is_that_of_the_means_it_is_made_of():
    n, gone = np.array([[4.0, 0.0]]), np.array([[2.0, 2.0]])
    whole, less = (Moments(gone, np.array([[m, m]]), np.zeros((1, 2))) for m in (-8.0, 16.0))
    assert mean_error(whole, less, n).tolist() == [[2.0**-51 * (8.0 * 1.5 + 16.0 * 0.5), 2.0**-51 * 8.0]]
    together = [CoMoments(m.n[:, 0], m.mean, np.zeros((1, 2, 2))) for m in (whole, less)]
    assert mean_error(*together, n).tolist() == mean_error(whole, less, n).tolist()


def test_the_error_of_m2_is_that_of_the_greatest_and_of_the_mean():
    whole, less = (Moments(np.ones((1, 1)), np.array([[m]]), np.zeros((1, 1))) for m in (3.0, -5.0))
    found = known_error(whole, less, np.array([[4.0]]), np.array([[9.0]])).item()
    assert found == pytest.approx(DIGITS * (9.0 + 5.0 * 6.0))
    assert known_error(less, whole, np.array([[4.0]]), np.array([[0.0]])).item() == 4.0 * LEAST
    assert known_error(whole, less, np.array([[4.0]]), np.array([[1e308]])).item() > 0  # nothing overflows aloud


def test_what_is_impossible_or_lost_has_a_place():
    no = np.zeros((2, 3), bool)
    refuse_impossible(no)
    refuse_lost(no)
    some = no.copy()
    some[1, 2] = True
    with pytest.raises(NotLearned, match="a variance would become impossible"):
        refuse_impossible(some)
    with pytest.raises(StatisticsError, match="attribute 2 of class 1"):
        refuse_lost(some)


@pytest.mark.parametrize("weighted", [False, True])
def test_where_a_span_is_known_one_row_or_one_value_has_no_spread(weighted):
    span = Span(np.array([[0.0, 0.0, 4.0]]), np.array([[8.0, 8.0, 4.0]]), weighted)
    n, mean, zero = np.array([[1.0, 10.0, 10.0]]), np.full((1, 3), 4.0), np.zeros((1, 3))
    left, alone, never = left_in(span, span, n, mean, zero, zero, zero)
    assert alone.tolist() == [[not weighted, False, True]]  # of weights one row may be two halves
    assert never.tolist() == [[False] * 3]
    assert left.low.tolist() == span.low.tolist()
    for a, b in ((span, None), (None, span)):
        assert left_in(a, b, n, mean, zero, zero, zero)[0] is None


def test_a_class_that_loses_no_row_keeps_its_spread_however_little_it_weighs():
    X, y, w = np.array([[0.0], [4.0], [1.0], [3.0]]), np.array([0, 0, 1, 1]), np.array([0.25, 0.25, 1.0, 1.0])
    gone = np.array([2])
    whole = Moments.of(*kernels.class_moments(X, y.astype(np.uint8), 2, w)[:5], True)
    left = whole - Moments.of(*kernels.class_moments(X[gone], y[gone].astype(np.uint8), 2, w[gone])[:5], True)
    assert left.m2.tolist() == [[2.0], [0.0]]
    together = comoments(X, y, 2, w) - comoments(X[gone], y[gone], 2, w[gone])
    assert together.c.tolist() == [[[2.0]], [[0.0]]]
    assert together.n.tolist() == [0.5, 1.0]


whole = st.lists(st.integers(-4, 4), min_size=1, max_size=7)


def of_one(x: list[float], weights: list[float] | None = None) -> Moments:
    w = None if weights is None else np.array(weights, dtype=float)
    y = np.zeros(len(x), dtype=np.uint8)
    return Moments.of(*kernels.class_moments(np.array(x, dtype=float)[:, None], y, 1, w)[:5], weights is not None)


@given(whole, whole)
def test_the_span_of_parts_is_that_of_all(a: list[int], b: list[int]) -> None:
    both = (of_one(a) + of_one(b)).span
    assert (both.low.item(), both.high.item()) == (min(a + b), max(a + b))
    alone = (of_one(a) + Moments.zero(1, 1)).span
    assert (alone.low.item(), alone.high.item()) == (min(a), max(a))
    none = (of_one(a) - of_one(a)).span
    assert (none.low.item(), none.high.item()) == (np.inf, -np.inf)


@given(st.integers(1, 4), st.integers(0, 24))
def test_no_numbers_within_the_ends_spread_further(n: int, total: int) -> None:
    """All n numbers from {0, ¼, … 6} with a given sum: the largest M2 is the bound."""
    mean = total / n / 4
    span = Span(np.array([[0.0]]), np.array([[6.0]]))
    if mean > 6:
        return
    tried = [
        sum((v / 4 - mean) ** 2 for v in x)
        for x in itertools.combinations_with_replacement(range(25), n)
        if sum(x) == total
    ]
    bound = span.most(np.array([[float(n)]]), np.array([[mean]])).item()
    assert max(tried) <= bound + 1e-9
    assert max(tried) == pytest.approx(bound, abs=1e-9)
    loose = Span(span.low, span.high, weighted=True).most(np.array([[float(n)]]), np.array([[mean]])).item()
    assert bound <= loose + 1e-9
    assert loose == pytest.approx(n * mean * (6 - mean))


@given(whole, st.data())
def test_what_was_learned_is_never_a_stranger(x: list[int], data: st.DataObject) -> None:
    scale, base = 10.0 ** data.draw(st.integers(-140, 140)), data.draw(st.sampled_from([0.0, 3.0, 1e3]))
    values = [(v + base) * scale for v in x]
    gone = data.draw(st.lists(st.sampled_from(range(len(x))), unique=True, max_size=len(x) - 1))
    weights = data.draw(st.sampled_from([None, [0.5] * len(x), [float(1 + k % 3) for k in range(len(x))]]))
    less = None if weights is None else [weights[k] for k in gone]
    if not gone:
        return
    try:
        of_one(values, weights) - of_one([values[k] for k in gone], less)
    except NotLearned:
        raise
    except ValueError as lost:
        if "fit again" not in str(lost):
            raise


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, lambda: po.NaiveBayes(density="gaussian")])
@given(st.integers(0, 2**32 - 1))
def test_a_stranger_outside_the_span_of_its_class_is_refused(Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 30)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    model = Model().fit(X, y)
    row, c, j = X[rng.integers(n)].copy(), int(rng.integers(2)), int(rng.integers(d))
    own = X[y == c, j]
    row[j] = own.max() + 10.0 ** rng.integers(-9, 3) if rng.random() < 0.5 else own.min() - 10.0 ** rng.integers(-9, 3)
    with pytest.raises(NotLearned, match="never"):
        model.forget(row[None], [c])
    assert model.class_count_.sum() == n


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, lambda: po.NaiveBayes(density="gaussian")])
def test_the_rows_that_stay_could_not_spread_so_far(Model) -> None:
    model = Model().fit([[0.0], [1.0], [2.0], [3.0], [9.0], [8.0]], [0, 0, 0, 0, 1, 1])
    with pytest.raises(NotLearned, match="variance"):
        model.forget([[1.5]], [0])  # 0, 1.5 and 3 would have M2 4.5, not 5
    weighted = Model().fit([[0.0], [1.0], [5.0], [7.0], [9.0]], [0, 0, 0, 1, 1], sample_weight=[0.5, 0.5, 1, 1, 1])
    assert weighted.forget([[5.0]], [0], sample_weight=[1.0]).class_count_.tolist() == [1.0, 2.0]  # one, of two halves


def test_rows_of_no_weight_are_not_in_the_span() -> None:
    span = of_one([1.0, 50.0, 2.0], [1.0, 0.0, 2.0]).span
    assert (span.low.item(), span.high.item(), span.weighted) == (1.0, 2.0, True)


def test_a_matrix_that_is_no_covariance_is_refused() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [1.5, 1.5], [0.3, 0.3]])
    model = po.GaussianBayes(covariance="diag").fit(X, np.zeros(6))
    with pytest.raises(NotLearned, match="variance"):
        model.forget([[0.4, 2.6]], [0])  # each column could have had it, the line of both could not


def one(low: float, high: float, weighted: bool = False) -> Span:
    return Span(np.array([[low]]), np.array([[high]]), weighted)


@pytest.mark.parametrize("weighted", list(itertools.product([False, True], repeat=2)))
def test_a_span_is_weighted_if_any_part_is(weighted) -> None:
    a, b = one(0.0, 9.0, weighted[0]), one(1.0, 5.0, weighted[1])
    for found in (a + b, a.without(b, np.array([[2.0]])), Span.concat([a, b])):
        assert found.weighted == any(weighted)
        assert (found.low[0, 0], found.high[0, 0]) == (0.0, 9.0)
    assert Span.concat([a, b]).low.tolist() == [[0.0, 1.0]]
    assert Span.concat([a, b]).high.tolist() == [[9.0, 5.0]]
    assert Span.concat([a, None]) is None
    assert a.pick(lambda part, blank: part).weighted == a.weighted


@pytest.mark.parametrize(("less", "value"), [((-1.0, 4.0), -1), ((3.0, 12.0), 12), ((-3.0, 12.0), -3)])
def test_what_lies_outside_is_named_with_its_place(less, value) -> None:
    whole = Span(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[8.0, 9.0], [7.0, 11.0]]))
    low, high = whole.low.copy(), whole.high.copy()
    low[1, 1], high[1, 1] = less
    said = f"attribute 1 of class 1 was never {value}, it lay between 3 and 11; nothing was changed"
    with pytest.raises(NotLearned, match=said):
        whole.without(Span(low, high), np.ones((2, 2)))
    left = whole.without(whole, np.array([[0.0, 1.0], [0.5, 0.0]]))  # its ends lie within
    assert left.low.tolist() == [[np.inf, 1.0], [2.0, np.inf]]
    assert left.high.tolist() == [[-np.inf, 9.0], [7.0, -np.inf]]


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_rounding_alone_makes_no_stranger(share) -> None:
    """A mean may be off by DIGITS of the greatest number, more if rows have gone, and M2 by as much as that tells."""
    span, n, gone, nothing = one(-5.0, -1.0), np.array([[2.0]]), np.array([[6.0]]), np.zeros((1, 1))
    off = DIGITS * 5.0 * (1 + 6 / 2)
    for mean in (-1.0 + share * off, -5.0 - share * off):
        assert span.too_wide(n, np.array([[mean]]), np.array([[-1.0]]), gone, nothing).item() == (share > 1)
    slack = 2 * 2.0 * (4.0 + off) * off
    for error in (0.0, 3.0 * slack):
        m2 = np.array([[8.0 + share * (slack + error)]])  # 8 is the greatest of two numbers, one at each end
        assert span.too_wide(n, np.array([[-3.0]]), m2, gone, np.array([[error]])).item() == (share > 1)
    assert not span.too_wide(nothing, np.array([[99.0]]), np.array([[99.0]]), gone, nothing).item()  # no rows
    point, tiny = one(0.0, 0.0), np.array([[2 * LEAST * (2.0 if share > 1 else 1.0)]])
    assert point.too_wide(n, nothing, tiny, gone, nothing).item() == (share > 1)
