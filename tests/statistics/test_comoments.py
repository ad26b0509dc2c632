"""Co-moments as sums over rows, forgotten or refused; those of families by configuration, moved and turned by value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue, StatisticsError
from posteriori.statistics.comoments import collect_family_moments, collect_mixed, comoments, is_covariance
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.moments import (
    known_error,
)
from posteriori.table.encode import Coded
from posteriori.table.schema import Column, Schema


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


def test_a_column_without_spread_takes_no_part_in_a_covariance():
    c, kept = np.array([[[0.0, 5.0], [5.0, 0.0]]] * 3), np.array([[0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
    assert is_covariance(c, kept, 1e-9).tolist() == [True, True, False]


def test_comoments_of_some_classes_stand_where_they_are_put():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    X[3, 1] = 9.0
    whole = comoments(X, y, 3, None) - comoments(X[3:4], y[3:4], 3, None)
    some, wide = whole.select_classes(np.array([2, 0])), whole.reindex_classes(np.array([3, 0, 1]), 4)
    for name in ("n", "mean", "c", "largest"):
        mine = getattr(whole, name)
        assert (getattr(some, name) == mine[[2, 0]]).all()
        assert (getattr(wide, name)[[3, 0, 1]] == mine).all()
        assert not getattr(wide, name)[2].any()
        factor = 1.0 if name == "mean" else 0.25
        assert (getattr(whole.scaled(0.25), name) == mine * factor).all()
    assert (some.span.low == whole.span.low[[2, 0]]).all()
    assert (wide.span.high[[3, 0, 1]] == whole.span.high).all()
    assert wide.span.low[2].tolist() == [np.inf] * 2
    assert whole.scaled(0.25).span is whole.span
    assert whole.largest[0, 1] > whole.c[0, 1, 1]


@given(st.integers(0, 10_000), st.sampled_from([None, "weights", "some"]))
def test_comoments_are_sums_over_the_rows_of_a_class(seed, how):
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(1, 25)), int(rng.integers(1, 4)), 3
    X, y = rng.normal(2, 3, (n, d)), rng.integers(0, K, n)
    w = None if how is None else rng.random(n) * (1.0 if how == "weights" else rng.random(n) < 0.5)
    found = comoments(X, y, K, w)
    for c in range(K):
        own = np.ones(n) if w is None else w
        rows, share = X[(y == c) & (own > 0)], own[(y == c) & (own > 0)]
        assert found.n[c] == pytest.approx(share.sum())
        low, high = (rows.min(axis=0), rows.max(axis=0)) if len(rows) else (np.full(d, np.inf), np.full(d, -np.inf))
        assert (found.span.low[c].tolist(), found.span.high[c].tolist()) == (low.tolist(), high.tolist())
        mean = share @ rows / share.sum() if len(rows) else np.zeros(d)
        np.testing.assert_allclose(found.mean[c], mean, atol=1e-12)
        np.testing.assert_allclose(found.c[c], ((rows - mean) * share[:, None]).T @ (rows - mean), atol=1e-9)
    assert found.span.weighted == (w is not None)


def test_the_mean_of_large_numbers_keeps_its_digits():
    X = 1e9 + np.array([[0.25], [0.5], [0.75], [1.5]]) * 2.0**-20
    found = comoments(X, np.zeros(4, int), 1, np.array([1.0, 2.0, 3.0, 0.1]))
    mean = sum(Fraction(w) * Fraction(x) for w, x in zip((1.0, 2.0, 3.0, 0.1), X[:, 0])) / Fraction(6.1)
    assert abs(Fraction(found.mean.item()) - mean) <= Fraction(np.spacing(1e9))


def test_doubt_is_the_error_that_forgetting_left_as_a_share():
    X, y = np.array([[0.0, 1.0], [4.0, 5.0], [9.0, 2.0], [1.0, 1.0]]), np.array([0, 0, 0, 1])
    whole = comoments(X, y, 3, None)
    assert whole.doubt.tolist() == [0.0, 0.0, 0.0]
    left = whole - comoments(X[2:3], y[2:3], 3, None)
    error = known_error(left, left, left.n[:, None], left.largest)[0] * (left.largest > np.diagonal(left.c[0]))[0]
    assert left.doubt.tolist() == [pytest.approx((error / np.diagonal(left.c[0])).max()), 0.0, 0.0]
    assert left.doubt[0] > 0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_covariance_has_no_direction_of_negative_variance(d):
    """Its least eigenvalue, as of correlations, may be below zero by ten times the error for each column."""
    rng = np.random.default_rng(d)
    scale = 10.0 ** rng.integers(-3, 4, d)
    rows = rng.normal(size=(9, d))
    true = rows.T @ rows
    true = true / np.sqrt(np.outer(np.diag(true), np.diag(true)))
    found = [c * np.outer(scale, scale) for c in (true, np.full((d, d), 1.0))]
    assert is_covariance(np.array(found), np.array([scale**2] * 2), 1e-7).tolist() == [True, True]
    if d > 1:
        for r, good in ((1.0 + 9e-7, True), (1.0 + 3e-6 * d, False)):
            c = np.eye(d)
            c[0, 1] = c[1, 0] = r
            assert is_covariance((c * np.outer(scale, scale))[None], scale[None] ** 2, 1e-7).tolist() == [good]


SCHEMA = Schema(
    tuple(
        Column(n, "numeric" if n in "xz" else "categorical", v) for n, v in zip("axbz", (("u", "v"), (), (0, 1, 2), ()))
    ),
    ("no", "yes"),
)
SCOPES = [((0, 2), (1,)), ((2,), (1, 3))]


def collected(seed: int, n: int, weighted: bool = False):
    rng = np.random.default_rng(seed)
    codes = [
        rng.integers(0, 3, n),
        np.zeros(n, int),
        rng.integers(0, 4, n),
        np.zeros(n, int),
    ]  # the last code is missing
    x = np.where(rng.random((n, 2)) < 0.2, np.nan, rng.normal(size=(n, 2)))
    y, w = rng.integers(0, 2, n), rng.integers(1, 3, n).astype(float) if weighted else None
    table = CodedTable(codes, (2, 0, 3, 0), n_missing=1)
    return codes, x, y, w, collect_family_moments(table, x, (1, 3), SCOPES, y, 2, w, SCHEMA.names)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), weighted=st.booleans())
def test_each_configuration_is_that_of_its_rows(seed, n, weighted):
    codes, x, y, w, found = collected(seed, n, weighted)
    w = np.ones(n) if w is None else w
    sizes = {0: 2, 2: 3}
    for (above, numbers), table in zip(found.scopes, found.tables, strict=True):
        part = x[:, [{1: 0, 3: 1}[j] for j in numbers]]
        for flat, cell in enumerate(np.ndindex(*(sizes[j] for j in above), 2)):
            rows = ~np.isnan(part).any(axis=1) & (y == cell[-1])
            for j, value in zip(above, cell):
                rows &= codes[j] == value
            assert table.n[flat] == w[rows].sum()
            if rows.any():
                mean = np.average(part[rows], axis=0, weights=w[rows])
                gap = part[rows] - mean
                np.testing.assert_allclose(table.mean[flat], mean, atol=1e-12)
                np.testing.assert_allclose(table.c[flat], (gap * w[rows, None]).T @ gap, atol=1e-12)


def test_values_move_by_name_and_columns_by_place():
    found = collected(1, 60)[-1]
    wide = Schema(
        tuple(replace(c, values=v) for c, v in zip(SCHEMA.columns, (("t", "u", "v"), (), (2, 0, 1), ()))),
        ("maybe", "no", "yes"),
    )
    there = found.reindex(SCHEMA, wide)
    a, b = (m.tables[0].n.reshape(s) for m, s in ((found, (2, 3, 2)), (there, (3, 3, 3))))
    np.testing.assert_array_equal(b[1:][:, [1, 2, 0], 1:], a)
    assert b[0].sum() == 0
    assert there.reindex(wide, SCHEMA) == found
    turned = found.reorder_columns([3, 2, 1, 0], (2, 0, 3, 0))
    assert turned.scopes == (((1,), (2, 0)), ((3, 1), (2,)))  # by their child
    assert turned.reorder_columns([3, 2, 1, 0], (0, 3, 0, 2)) == found
    assert found.scaled(0.5).tables[0].n.sum() == found.tables[0].n.sum() / 2
    with pytest.raises(StatisticsError, match="differ in structure"):
        found + turned


def test_squares_that_do_not_fit_are_named():
    schema, nothing = Schema((Column("x", "numeric"),), (0,)), Coded((), np.zeros((2, 0), np.uint8), 0)
    for large in (1e200, 1e308):
        with pytest.raises(BadValue, match="column 'x': its numbers are so large"):
            collect_mixed(nothing, np.array([[large], [-large]]), [0], schema, np.zeros(2, np.uint8), None, 1)
