"""How wide columns are over all rows: by hand, at any scale, with weights and holes; floors of small classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.mixture.spread import FAINT, PRIOR, Spread


@given(st.integers(0, 300), st.sampled_from([1.0, 1e-150, 1e140]), st.booleans())
def test_means_and_variances_by_hand(seed, scale, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(2, 3, (25, 2))
    X[rng.random((25, 2)) < 0.2] = np.nan
    w = rng.random(25) if weighted else np.ones(25)
    found = Spread.of(X * [scale, 1.0], w if weighted else None)
    for j, s in ((0, scale), (1, 1.0)):
        there = ~np.isnan(X[:, j])
        mean = np.average(X[there, j], weights=w[there])
        assert found.mean[j] / s == pytest.approx(mean)
        assert found.variance[j] / s / s == pytest.approx(np.average((X[there, j] - mean) ** 2, weights=w[there]))
    assert not found.constant.any()


def test_constant_columns_are_as_wide_as_they_are_large():
    found = Spread.of(np.array([[0.0, 7.0, 0.25], [0.0, 7.0, 0.25]]), None)
    assert found.constant.all()
    assert found.variance.tolist() == [1.0, 49.0, 1.0]
    nobody = Spread.of(np.array([[1.0], [3.0], [np.nan]]), np.array([0.0, 0.0, 1.0]))
    assert nobody.mean.tolist() == [2.0]
    assert nobody.constant.all()


@given(st.floats(1, 1e6), st.integers(1, 4))
def test_floors_of_a_class(n, d):
    found = Spread(np.zeros(d + 1), np.arange(1.0, d + 2), np.arange(d + 1) == 0)
    rows = d + 2
    floors = found.floors(n)
    assert floors[0] == 1.0
    assert floors[1:] == pytest.approx(PRIOR * rows / (n + rows) * np.arange(2.0, d + 2))
    assert found.floors(n, 0.0)[1:].tolist() == [0.0] * d


def test_a_column_that_a_class_lacks_is_completed_faintly():
    found = Spread(np.array([1.0, 5.0, 9.0]), np.array([4.0, 9.0, 81.0]), np.array([False, False, True]))
    rows = np.array([[0.0, np.nan, np.nan], [2.0, np.nan, np.nan]])
    more, weights = found.completed(rows, np.array([1.0, 3.0]))
    assert np.array_equal(more[:2], rows, equal_nan=True)
    assert more[2:, 1].tolist()[:2] == [2.0, 8.0]
    assert more[4:, 2].tolist() == [9.0, 9.0]
    assert np.isnan(more[2:, 0]).all()
    assert weights.tolist() == pytest.approx([1.0, 3.0, *[FAINT * 2.0] * 4])
    assert found.completed(rows, None)[1].tolist() == pytest.approx([1.0, 1.0, *[FAINT] * 4])
    whole = np.zeros((2, 3))
    assert found.completed(whole, None) == (whole, None) or found.completed(whole, None)[1] is None


def test_a_column_that_differs_by_rounding_is_constant_and_as_wide_as_it_is_large():
    found = Spread.of(np.array([[1e6, 1.0], [1e6 + 2e-10, 3.0]]), None)
    assert found.constant.tolist() == [True, False]
    assert found.variance == pytest.approx([1e12, 1.0])
    assert found.mean == pytest.approx([1e6, 2.0])
    assert found.floors(4.0) == pytest.approx([1e12, PRIOR * 3 / 7])


def test_a_row_of_no_weight_says_nothing_of_a_column():
    X, w = np.array([[1.0, 5.0], [3.0, np.nan], [100.0, 7.0]]), np.array([2.0, 2.0, 0.0])
    found = Spread.of(X, w)
    assert found.mean == pytest.approx([2.0, 5.0])
    assert found.variance == pytest.approx([1.0, 25.0])
    assert found.constant.tolist() == [False, True]
    whole = np.zeros((2, 2))
    assert found.completed(whole, None) == (whole, None)
    assert found.completed(whole, w)[1] is w
