"""Counts subtract exactly, weighted ones up to rounding and no further."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from posteriori.errors import StatisticsError
from posteriori.statistics.counts import Counts, subtract


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_whole_counts_subtract_exactly_or_not_at_all(pairs):
    a, b = np.array(pairs).T
    left = subtract(a, b)
    if (a < b).any():
        assert left is None
    else:
        assert left.tolist() == (a - b).tolist()


@given(st.floats(1e-3, 1e6), st.sampled_from([1e-8, 1e-6, 1e-5]))
def test_only_rounding_is_wiped_out(n, share):
    whole = np.array([n])
    assert subtract(whole, whole * (1 - 1e-12)).tolist() == [0.0]
    assert subtract(whole, whole * (1 + 1e-12)).tolist() == [0.0]
    assert_allclose(subtract(whole, whole * (1 - share)), whole * share, rtol=1e-6)
    assert subtract(whole, whole * (1 + share)) is None


def test_counts_over_other_values_do_not_add():
    a, b = Counts.zero([2, 3], 2), Counts.zero([3, 2], 2)
    for join in (lambda: a + b, lambda: a - b, lambda: a + Counts.zero([2, 3], 3)):
        with pytest.raises(StatisticsError, match="unite their schemas"):
            join()


def test_totals_know_scopes_without_values():
    counts = Counts(np.array([[1, 2], [3, 4]]), np.array([0, 0, 2, 2]))
    assert counts.sizes.tolist() == [0, 2, 0]
    assert counts.totals().tolist() == [[0, 0], [4, 6], [0, 0]]
