"""Counts subtract exactly, weighted ones up to rounding and no further."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from posteriori.errors import CountOverflow, NotLearned, StatisticsError
from posteriori.statistics.counts import LARGEST, Counts, subtract


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_whole_counts_subtract_exactly_or_not_at_all(pairs):
    a, b = np.array(pairs).T
    if (a < b).any():
        with pytest.raises(NotLearned):
            subtract(a, b)
    else:
        assert subtract(a, b).tolist() == (a - b).tolist()


@given(st.floats(1e-3, 1e6), st.sampled_from([1e-8, 1e-6, 1e-5]))
def test_only_rounding_is_wiped_out(n, share):
    whole = np.array([n])
    assert subtract(whole, whole * (1 - 1e-12)).tolist() == [0.0]
    assert subtract(whole, whole * (1 + 1e-12)).tolist() == [0.0]
    assert_allclose(subtract(whole, whole * (1 - share)), whole * share, rtol=1e-6)
    with pytest.raises(NotLearned):
        subtract(whole, whole * (1 + share))


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 1e6))
def test_what_stays_is_a_row_or_rounding_or_nobody_can_tell(n, least):
    """The lightest row is more than rounding, or what is within rounding is refused; what is gone whole is gone."""
    whole, rounded = np.array([n, 1.0]), np.array([n * (1 - 1e-12), 0.0])
    assert subtract(whole, whole, least).tolist() == [0.0, 0.0]
    if n * 1e-9 <= least / 2:
        assert subtract(whole, rounded, least).tolist() == [0.0, 1.0]
    else:
        with pytest.raises(StatisticsError, match="its digits are lost"):
            subtract(whole, rounded, least)


def test_counts_over_other_values_do_not_add():
    a, b = Counts.zero([2, 3], 2), Counts.zero([3, 2], 2)
    for join in (lambda: a + b, lambda: a - b, lambda: a + Counts.zero([2, 3], 3)):
        with pytest.raises(StatisticsError, match="unite their schemas"):
            join()


def test_totals_know_scopes_without_values():
    counts = Counts(np.array([[1, 2], [3, 4]]), np.array([0, 0, 2, 2]))
    assert counts.sizes.tolist() == [0, 2, 0]
    assert counts.totals().tolist() == [[0, 0], [4, 6], [0, 0]]


SOME = Counts(np.array([[1, 2], [3, 4], [5, 6]]), np.array([0, 1, 3]))


def test_scopes_and_classes_stand_where_they_are_put():
    assert SOME.scope(0).tolist() == [[1, 2]]
    assert SOME.scope(1).tolist() == [[3, 4], [5, 6]]
    assert SOME.totals().tolist() == [[1, 2], [8, 10]]
    assert SOME.select_classes(np.array([1])).table.tolist() == [[2], [4], [6]]
    assert SOME.reindex_classes(np.array([2, 0]), 3).table.tolist() == [[2, 0, 1], [4, 0, 3], [6, 0, 5]]
    wide = SOME.reindex(np.array([0, 2, 5]), np.array([1, 4, 2]), np.array([0, 2]), 3)
    assert wide.table.tolist() == [[0, 0, 0], [1, 0, 2], [5, 0, 6], [0, 0, 0], [3, 0, 4]]
    assert wide.sizes.tolist() == [2, 3]
    assert (SOME.scaled(0.5).table == SOME.table / 2).all()
    more = SOME.add_at(np.array([2, 0]), np.array([1, 0]), np.array([[10, 20], [30, 40]]))
    assert more.table.tolist() == [[41, 32], [3, 4], [25, 16]]
    assert SOME.add_at(np.array([1]), np.array([0]), np.array([[0.5]])).table.tolist() == [[1, 2], [3.5, 4], [5, 6]]
    assert SOME.table.tolist() == [[1, 2], [3, 4], [5, 6]]  # what is added to stays as it was
    nothing = Counts.zero([0, 0], 3)
    assert nothing.totals().tolist() == [[0, 0, 0]] * 2
    assert (nothing + nothing) == nothing == (nothing - nothing)
    assert nothing.add_at(np.array([], int), np.array([0, 1, 2]), np.zeros((0, 3), int)) == nothing


def test_counts_are_equal_if_scopes_and_numbers_are():
    assert Counts(SOME.table.copy(), SOME.offsets.copy()) == SOME
    assert Counts(SOME.table, np.array([0, 2, 3])) != SOME
    assert Counts(SOME.table + 1, SOME.offsets) != SOME
    assert (SOME == 3) is False


def test_a_count_is_whole_as_long_as_64_bits_hold_it():
    most, one = (Counts(np.array([[v, 0]]), np.array([0, 1])) for v in (LARGEST - 1, 1))
    assert (most + one).table.tolist() == [[LARGEST, 0]]
    assert most.add_at(np.array([0]), np.array([0, 1]), one.table).table.tolist() == [[LARGEST, 0]]
    for join in (lambda: most + one + one, lambda: (most + one).add_at(np.array([0]), np.array([0, 1]), one.table)):
        with pytest.raises(CountOverflow, match=f"a count would reach {LARGEST + 1}, more than"):
            join()
    weights = Counts(np.array([[float(LARGEST)]]), np.array([0, 1]))
    assert (weights + weights).table.tolist() == [[2.0 * LARGEST]]
    with pytest.raises(NotLearned, match="a count would fall below zero"):
        one - (one + one)
