"""Tables of super-parents: the places of values, and when a value is frequent enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.bayes import superparents
from posteriori.bayes.superparents import (
    Places,
    conditional_table,
    raw_tables,
    reaches,
    set_own,
    symmetric_counts,
    totals_of,
)
from posteriori.statistics.counts import Counts
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.joint import Joint, collect_pairs


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_every_value_of_every_column_has_one_place(sizes):
    places = Places(sizes)
    told = [(j, v) for j, size in enumerate(sizes) for v in range(size)]
    assert len(places) == len(told) == sum(sizes)
    assert list(zip(places.column.tolist(), places.value.tolist())) == told
    assert [places.first[j] + v for j, v in told] == list(range(len(told)))


@pytest.mark.parametrize("least", [1, 30, 0.3, 1e6])
def test_as_many_rows_as_asked_are_enough_however_their_weights_are_summed(least):
    """Ten weights of a tenth may sum to a last digit less than one."""
    summed = np.array([least * (1 - 1e-12), least, least * (1 + 1e-12)])
    assert reaches(summed, least).all()
    assert not reaches(np.array([0.0, least * (1 - 1e-7), least - min(0.5, least / 2)]), least).any()
    assert reaches(np.add.accumulate(np.full(10, least / 10))[-1:], least).all()


def counted(seed=0, n=60, weighted=False):
    """Pairs of three columns of 2, 3 and 4 values and of one without any, as counts and as rows."""
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, s, n).astype(np.uint8) for s in SIZES]
    for codes, s in zip(X, SIZES):
        codes[:s] = np.arange(s)
        codes[rng.random(n) < 0.1] = s  # missing
    y, w = rng.integers(0, 3, n).astype(np.uint8), rng.uniform(0.5, 2.0, n) if weighted else None
    table = CodedTable(X, SIZES, n_missing=1)
    return collect_pairs(table, y, 3, w, 1, None), X, y, np.ones(n) if w is None else w


SIZES = (2, 3, 4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_pairs_and_their_shares_are_counted_by_hand(monkeypatch, weighted, wide):
    """N[a, b, y], M[a, j, y] and P(b | y, a) of every two values, also where only met cells are kept, in blocks."""
    monkeypatch.setattr(superparents, "BLOCK", 20)
    pairs, X, y, w = counted(weighted=weighted)
    places = Places(SIZES)
    if wide:
        parts = [pairs.part(s) for s in range(len(pairs.scopes))]
        kept = [(np.flatnonzero(t.any(axis=1)), t[t.any(axis=1)]) for _, t in parts]
        pairs = Joint(
            pairs.scopes,
            pairs.full,
            Counts(np.concatenate([t for _, t in kept]), np.cumsum([0, *(len(t) for _, t in kept)])),
            np.concatenate([c for c, _ in kept]),
        )
    rows, lam = np.array([8, 0, 3]), 0.5
    n = np.zeros((9, 9, 3))
    for a, b, k in np.ndindex(9, 9, 3):
        i, j = places.column[a], places.column[b]
        if i != j:
            n[a, b, k] = w[(X[i] == places.value[a]) & (X[j] == places.value[b]) & (y == k)].sum()
    found = symmetric_counts(pairs, places, rows)
    assert found == pytest.approx(n[rows])
    whole = np.stack([n[:, places.column == j].sum(axis=1) for j in range(3)], axis=1)
    assert totals_of(found, places) == pytest.approx(whole[rows])
    for gone in (0.0, 1.0):
        above = np.maximum(n - gone, 0) + lam
        below = np.maximum(whole - gone, 0)[:, places.column] + lam * np.array(SIZES)[places.column, None]
        theta = above / below
        theta[places.column[:, None] == places.column] = 1.0
        got = conditional_table(pairs, places, rows, lam, gone)
        assert got[:, :, :3] == pytest.approx(theta[rows])
        assert (got[:, :, 3:] == 1.0).all()
    own, totals = raw_tables(pairs, places, lam)
    assert own[:, :, :3] == pytest.approx(n + lam)
    assert totals[:, :, :3] == pytest.approx(whole + lam * np.array(SIZES)[:, None])
    set_own(own, np.arange(9), np.arange(27.0).reshape(9, 3))
    assert own[4, 4, :3].tolist() == [12.0, 13.0, 14.0]
    assert own[4, 5, :3] == pytest.approx(n[4, 5] + lam)


@given(st.integers(0, 50), st.integers(1, 40), st.integers(1, 60))
def test_blocks_are_all_rows_in_order_none_of_them_large(n, numbers, most):
    before = superparents.BLOCK
    superparents.BLOCK = most
    try:
        found = superparents.blocks(np.arange(n), numbers)
    finally:
        superparents.BLOCK = before
    assert [int(r) for part in found for r in part] == list(range(n))
    assert all(len(part) <= max(1, most // numbers + 1) for part in found)


def test_columns_of_no_values_have_no_sums():
    assert totals_of(np.zeros((2, 0, 3)), Places([0, 0])).tolist() == np.zeros((2, 2, 3)).tolist()
    ones = totals_of(np.ones((1, 5, 1)), Places([2, 0, 3]))
    assert ones[0, :, 0].tolist() == [2.0, 0.0, 3.0]
