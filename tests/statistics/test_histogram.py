"""The histogram is the multiset of a column: any order, chunking or grouping gives the same one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.errors import NotLearned, StatisticsError
from posteriori.statistics import histogram
from posteriori.statistics.histogram import FEWEST, LIMIT, NUMBERS, SHARED, Histogram, most_cells

some_floats = st.floats(allow_infinity=False, allow_nan=True, width=64)


@st.composite
def columns(draw, n_classes=3):
    n = draw(st.integers(0, 40))
    x = draw(arrays(np.float64, n, elements=some_floats))
    y = draw(arrays(np.uint8, n, elements=st.integers(0, n_classes - 1)))
    return x, y


@given(columns())
def test_counts_every_value_of_every_class(case):
    x, y = case
    h = Histogram.of(x, y, 3)
    assert h.exact
    assert (np.diff(h.values) > 0).all()
    for v, row in zip(h.values, h.table):
        assert row.tolist() == [int(((x == v) & (y == c)).sum()) for c in range(3)]
    assert h.table.sum() == (~np.isnan(x)).sum()


@pytest.mark.parametrize("limit", [histogram.LIMIT, 5])
@given(columns(), columns(), columns())
def test_merge_is_associative_commutative_with_a_zero_and_equals_one_pass(limit, a, b, c):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "LIMIT", limit)
        A, B, C = (Histogram.of(*part, 3) for part in (a, b, c))
        whole = Histogram.of(np.concatenate([a[0], b[0], c[0]]), np.concatenate([a[1], b[1], c[1]]), 3)
        assert (A + B) + C == A + (B + C) == whole
        assert A + B == B + A
        assert A + Histogram.zero(3) == A
        assert len(whole.values) <= limit
        if whole.exact:
            assert whole - C == A + B


@given(columns(), st.randoms())
def test_order_does_not_matter(case, random):
    x, y = case
    order = list(range(len(x)))
    random.shuffle(order)
    assert Histogram.of(x[order], y[order], 3) == Histogram.of(x, y, 3)


def test_weight_two_is_two_rows():
    x, y = np.array([1.0, 2.0, 2.0, np.nan]), np.array([0, 1, 0, 1])
    weighted = Histogram.of(x, y, 2, weights=np.full(4, 2.0))
    twice = Histogram.of(np.tile(x, 2), np.tile(y, 2), 2)
    assert np.array_equal(weighted.values, twice.values)
    assert np.array_equal(weighted.table, twice.table)
    assert np.array_equal(Histogram.of(x, y, 2).scaled(2.0).table, twice.table)


def test_many_distinct_values_become_cells_that_hold_all_rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200_000), rng.integers(0, 2, 200_000).astype(np.uint8)
    h = Histogram.of(x, y, 2)
    assert not h.exact
    assert 10_000 < len(h.values) <= histogram.LIMIT
    cell = np.searchsorted(h.values, x, side="right") - 1
    assert np.array_equal(np.bincount(cell, minlength=len(h.values)), h.table.sum(axis=1))
    assert (h.centres >= h.values).all()
    assert (h.centres[:-1] < h.values[1:]).all()
    halves = Histogram.of(x[:70_000], y[:70_000], 2) + Histogram.of(x[70_000:], y[70_000:], 2)
    assert halves == h


def test_extremes_keep_their_order_and_stay_finite():
    top = np.finfo(float).max
    x = np.array([-top, -5e-324, -0.0, 0.0, 5e-324, top])
    h = Histogram.of(x, np.zeros(6, np.uint8), 1)
    assert h.values.tolist() == [-top, -5e-324, 0.0, 5e-324, top]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "LIMIT", 2)
        coarse = Histogram.of(x, np.zeros(6, np.uint8), 1)
    assert np.isfinite(coarse.values).all()
    assert np.isfinite(coarse.centres).all()
    assert coarse.table.sum() == 6


def test_forgetting_what_was_not_learned_is_refused():
    h = Histogram.of([1.0], [0], 2)
    with pytest.raises(NotLearned, match="were not all learned"):
        h - Histogram.of([2.0], [0], 2)


def test_classes_are_renamed_before_adding():
    h = Histogram.of([1.0, 2.0], [0, 1], 2)
    with pytest.raises(StatisticsError, match="reindex_classes"):
        h + Histogram.zero(3)
    assert h.reindex_classes([2, 0], 3).table.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_forgetting_cleans_rounding_and_nothing_else(scale):
    """What is left of a weight is nothing within 1e-9 of the greatest, and what is missing an error beyond it."""
    some = Histogram.of([1.0, 2.0], [0, 1], 2, np.array([1.0, 1.0]) * scale)
    for excess in (-5e-10, 5e-10):
        left = some - Histogram.of([1.0], [0], 2, np.array([1.0 + excess]) * scale)
        assert left.values.tolist() == [2.0]
    assert len((some - Histogram.of([1.0], [0], 2, np.array([1.0 - 5e-9]) * scale)).values) == 2
    with pytest.raises(NotLearned):
        some - Histogram.of([1.0], [0], 2, np.array([1.0 + 5e-9]) * scale)


def test_a_histogram_is_equal_to_histograms_only():
    some = Histogram.of([1.0], [0], 2)
    assert (some == 3) is False
    assert (some != Histogram.zero(2)) is True


@given(columns(), st.sampled_from([0.0, 0.5, 1e-320]), st.sets(st.integers(0, 2), min_size=1))
def test_no_value_stays_that_nobody_has(case, factor, kept):
    x, y = case
    kept = sorted(kept)
    h = Histogram.of(x, y, 3, weights=np.ones(len(x)))
    some = np.isin(y, kept)
    assert h.select_classes(kept) == Histogram.of(
        x[some], np.searchsorted(kept, y[some]), len(kept), np.ones(some.sum())
    )
    for found in (h.scaled(factor), h.scaled(1e-10).scaled(factor), h.select_classes(kept)):
        assert found.table.any(axis=1).all()
        assert len(found.values) == len(found.table)


@pytest.mark.parametrize(
    ("classes", "columns", "cells"),
    [(1, 0, LIMIT), (900, 0, LIMIT), (1, 1, SHARED), (2, 64, SHARED), (2, 65, NUMBERS // 130), (0, 200, NUMBERS // 200),
     (3, 300, NUMBERS // 900), (2, 512, FEWEST), (2, 513, FEWEST), (2, 511, NUMBERS // 1022)],
)  # fmt: skip
def test_columns_and_classes_share_the_memory(classes, columns, cells):
    assert most_cells(classes, columns) == cells


@given(columns(), st.booleans())
def test_moments_of_a_histogram_are_those_of_its_rows(case, weighted):
    x, y = case
    x, y = np.round(np.clip(x, -1e3, 1e3), 1), np.minimum(y, 1)  # the last class has no row
    w = np.random.default_rng(len(x)).random(len(x)) + 0.1 if weighted else None
    there = ~np.isnan(x)
    n, mean, m2, low, high = Histogram.of(x, y, 3, w).moments()
    for part in (n, mean, m2, low, high):
        assert part.shape == (3, 1)
    for c in range(3):
        mine, own = x[there & (y == c)], (np.ones(len(x)) if w is None else w)[there & (y == c)]
        assert n[c, 0] == pytest.approx(own.sum())
        assert (low[c, 0], high[c, 0]) == (mine.min(initial=np.inf), mine.max(initial=-np.inf))
        centre = np.average(mine, weights=own) if len(mine) else 0.0
        assert mean[c, 0] == pytest.approx(centre, abs=1e-9)
        assert m2[c, 0] == pytest.approx((own * (mine - centre) ** 2).sum(), rel=1e-9, abs=1e-9)


def test_moments_are_right_to_the_last_digit_however_far_from_zero():
    """Beside exact fractions: the mean to half a digit of the largest value, M2 to a few."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        far = 10.0 ** rng.integers(0, 7) * rng.choice([-1, 1])
        x = np.unique(rng.normal(size=rng.integers(2, 40)) * 10.0 ** rng.integers(-3, 3) + far)
        w = rng.integers(1, 9, len(x)).astype(float)
        _, mean, m2, _, _ = Histogram.of(x, np.zeros(len(x), np.uint8), 1, w).moments()
        exact, shares = [Fraction(v) for v in x], [Fraction(v) for v in w]
        centre = sum(a * b for a, b in zip(shares, exact)) / sum(shares)
        spread = sum(a * (b - centre) ** 2 for a, b in zip(shares, exact))
        assert abs(Fraction(mean.item()) - centre) <= Fraction(0.51 * np.spacing(abs(x).max()))
        assert abs(Fraction(m2.item()) - spread) <= spread * Fraction(1e-15)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(2, 9))
def test_cells_that_are_coarse_hold_the_rows_between_their_ends(seed, few, fewer):
    """At the least level that is coarse enough, wherever the rows came from, and no row is lost or leaves its cell."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=40) * 10.0 ** rng.integers(-3, 4, 40), rng.integers(0, 2, 40).astype(np.uint8)
    fine = Histogram.of(x, y, 2)
    coarse = fine.coarser(few)
    assert len(coarse.values) <= few
    assert fine.coarser(40) is fine
    assert coarse.coarser(fewer).coarser(few) == fine.coarser(min(few, fewer))
    cell = np.searchsorted(coarse.values, x, side="right") - 1
    assert [[int(((cell == k) & (y == c)).sum()) for c in (0, 1)] for k in range(len(coarse.values))] == (
        coarse.table.tolist()
    )
    keys = np.sort(x.view(np.uint64) ^ np.where(x < 0, ~np.uint64(0), np.uint64(1 << 63)))
    assert len(np.unique(keys >> np.uint64(coarse.level))) <= few
    if coarse.level:
        assert len(np.unique(keys >> np.uint64(coarse.level - 1))) > few
        top = np.append(coarse.values[1:], np.inf)
        assert ((coarse.values <= coarse.centres) & (coarse.centres < top)).all()
        ends = [x[cell == k] for k in range(len(coarse.values))]
        width = [np.ptp(own) for own in ends]
        assert all(abs(c - own).max() >= w / 2 for c, own, w in zip(coarse.centres, ends, width))
        with pytest.raises(NotLearned, match="coarser than the one"):
            fine - coarse
    assert (coarse - fine).table.tolist() == []
    assert (coarse - fine).level == 0
    left = coarse - Histogram.of(x[:9], y[:9], 2)
    stay = np.isin(coarse.values, coarse.values[cell[9:]])
    assert left.values.tolist() == coarse.values[stay].tolist()
    assert left.table.sum(axis=0).tolist() == np.bincount(y[9:], minlength=2).tolist()
    assert left.level == coarse.level


def test_a_column_of_a_table_stays_one():
    alone, beside = Histogram.of([1.0, 2.0], [0, 1], 2), replace(Histogram.of([2.0], [1], 2), columns=7)
    for both in (
        alone + beside,
        beside + alone,
        (alone + beside) - beside,
        beside.scaled(0.5),
        beside.select_classes([1]),
    ):
        assert both.columns == 7
    assert (alone + alone).columns == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_no_rows_are_whole_or_weights(weighted):
    nothing = Histogram.zero(3, weighted)
    assert (nothing.values.shape, nothing.table.shape, nothing.table.dtype.kind) == (
        (0,),
        (0, 3),
        "f" if weighted else "i",
    )
    assert nothing.centres.tolist() == []
    assert nothing.moments()[3].tolist() == [[np.inf]] * 3


def test_a_column_by_itself_may_have_all_cells():
    assert most_cells(3) == most_cells(1000) == LIMIT
    assert most_cells(3, 10**9) == FEWEST
