"""Counts of several columns together against rows counted one by one: narrow and wide scopes, all operations."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import posteriori as po
from posteriori.errors import MemoryBudgetError, NotLearned, StatisticsError
from posteriori.statistics import joint
from posteriori.statistics.counts import Counts
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.joint import (
    Joint,
    collect_families,
    collect_pairs,
    collect_triples,
    count_joint,
    refuse_triples,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[CodedTable, np.ndarray, int, np.ndarray | None]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, d, K = int(rng.integers(0, 40)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    sizes = tuple(int(s) for s in rng.integers(1, 6, d))
    holes = draw(st.booleans())
    codes = [rng.integers(0, s + holes, n).astype(np.uint8) for s in sizes]  # the code after the last is a missing cell
    missing = int(sum((c == s).sum() for c, s in zip(codes, sizes, strict=True)))
    weights = rng.integers(0, 3, n).astype(float) if draw(st.booleans()) else None
    return CodedTable(codes, sizes, n_missing=missing), rng.integers(0, K, n).astype(np.uint8), K, weights


def by_hand(table: CodedTable, scope: tuple[int, ...], y: np.ndarray, K: int, weights: np.ndarray | None) -> np.ndarray:
    out = np.zeros((*(table.sizes[j] for j in scope), K))
    for r in range(len(y)):
        cell = tuple(int(table.column(j)[r]) for j in scope)
        if all(v < table.sizes[j] for v, j in zip(cell, scope, strict=True)):
            out[(*cell, y[r])] += 1 if weights is None else weights[r]
    return out


def scopes_of(d: int) -> list[tuple[int, ...]]:
    return [(j,) for j in range(d)] + list(itertools.permutations(range(d), 2)) + [tuple(range(d))]


wide = st.sampled_from([None, 0, 3])  # cells beyond which only those that some row has are kept


@given(tables(), wide)
def test_every_scope_is_what_the_rows_say(case, wide) -> None:
    table, y, K, weights = case
    scopes = scopes_of(len(table.sizes))
    found = count_joint(table, scopes, y, K, weights, 1, wide)
    for s, scope in enumerate(scopes):
        assert found.columns(s) == scope
        assert (found.table(s, table.sizes) == by_hand(table, scope, y, K, weights)).all()
        cells, counts = found.part(found.find(scope))
        assert (np.diff(cells) > 0).all()
        assert (counts == found.table(s, table.sizes).reshape(-1, K)[cells]).all()


@given(tables(), wide, st.integers(0, 40))
def test_halves_add_up_and_come_apart_again(case, wide, at) -> None:
    table, y, K, weights = case
    scopes = scopes_of(len(table.sizes))

    def counted(rows: slice) -> Joint:
        part = CodedTable([table.column(j)[rows] for j in range(len(table.sizes))], table.sizes, n_missing=1)
        return count_joint(part, scopes, y[rows], K, None if weights is None else weights[rows], 1, wide)

    first, second, whole = counted(slice(0, at)), counted(slice(at, None)), counted(slice(None))
    for s in range(len(scopes)):
        for found, want in ((first + second, whole), (whole - second, first)):
            assert (found.table(s, table.sizes) == want.table(s, table.sizes)).all()
    assert (whole.scaled(0.5).counts.table == whole.counts.table * 0.5).all()
    if len(y) > at:
        one = counted(slice(at, at + 1))
        with pytest.raises((StatisticsError, NotLearned)):
            _ = one - (one + one + counted(slice(None)))


@given(tables(), st.randoms(use_true_random=False))
def test_turned_counts_are_the_counts_of_the_turned_table(case, random) -> None:
    table, y, K, weights = case
    d = len(table.sizes)
    order = list(range(d))
    random.shuffle(order)
    other = CodedTable(
        [table.column(j) for j in order], tuple(table.sizes[j] for j in order), n_missing=table.n_missing
    )
    for collect in (collect_pairs, collect_triples):
        found = collect(table, y, K, weights, 1, None).reorder_columns(order, table.sizes)
        want = collect(other, y, K, weights, 1, None)
        assert found == want or not len(want.scopes)
    families = [(*range(j), j) for j in range(d)]
    place = {j: k for k, j in enumerate(order)}
    found = count_joint(table, families, y, K, weights, 1).reorder_columns(order, table.sizes)
    assert [found.columns(s)[-1] for s in range(d)] == list(range(d))  # families stand by their child
    for family in families:
        moved = tuple(place[j] for j in family)
        assert (found.table(found.find(moved), other.sizes) == by_hand(other, moved, y, K, weights)).all()


@given(tables())
def test_all_pairs_and_triples(case) -> None:
    table, y, K, weights = case
    for size, collect in ((2, collect_pairs), (3, collect_triples)):
        found = collect(table, y, K, weights, 1, None)
        scopes = list(itertools.combinations(range(len(table.sizes)), size))
        assert [found.columns(s) for s in range(len(found.scopes))] == scopes
        assert found.counts.table.dtype.kind == ("i" if weights is None else "f")
        for s, scope in enumerate(scopes):
            assert (found.table(s, table.sizes) == by_hand(table, scope, y, K, weights)).all()
        for a, b in itertools.permutations(range(len(table.sizes)), 2) if size == 2 else ():
            cells, counts = found.part_of((a, b), table.sizes)
            want = by_hand(table, (a, b), y, K, weights).reshape(-1, K)
            assert (counts == want[cells]).all()
            assert want.sum() == counts.sum()


@given(tables())
def test_wide_pairs_are_the_narrow_ones_without_the_empty_cells(case) -> None:
    table, y, K, weights = case
    narrow = collect_pairs(table, y, K, weights, 1, None)
    before = joint.WIDE
    joint.WIDE = 3
    try:
        found = collect_pairs(table, y, K, weights, 1, None)
    finally:
        joint.WIDE = before
    for s in range(len(narrow.scopes)):
        assert (found.table(s, table.sizes) == narrow.table(s, table.sizes)).all()
        a, b = narrow.columns(s)
        cells, counts = found.part_of((b, a), table.sizes)
        assert (counts == by_hand(table, (b, a), y, K, weights).reshape(-1, K)[cells]).all()


def test_other_scopes_do_not_add_and_too_many_cells_are_refused() -> None:
    table = CodedTable([np.zeros(3, np.uint8)] * 2, (2, 2))
    y = np.zeros(3, np.uint8)
    with pytest.raises(StatisticsError, match="differ in structure"):
        _ = count_joint(table, [(0,)], y, 1, None, 1) + count_joint(table, [(1,)], y, 1, None, 1)
    with pytest.raises(MemoryBudgetError, match="pair counts of 2 columns"):
        collect_pairs(table, y, 1, None, 1, 8.0)


@pytest.mark.parametrize(
    "model", [po.TAN(), po.AODE(), po.A2DE(), po.SPODE(super_parent="a")], ids=["TAN", "AODE", "A2DE", "SPODE"]
)
def test_models_with_their_columns_in_another_order_add_up(model) -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 60) for name in "abcd"}
    y = rng.integers(0, 2, 60)
    half = [
        {name: X[name][part] for name in names} for names, part in (("abcd", slice(0, 30)), ("cadb", slice(30, 60)))
    ]
    model.set_params(kinds="categorical")
    whole = clone(model).fit(X, y)
    both = clone(model).fit(half[0], y[:30]) + clone(model).fit(half[1], y[30:])
    assert (both.predict_proba(X) == whole.predict_proba(X)).all()
    assert Counter(both.statistics_.rows.tolist()) == Counter(whole.statistics_.rows.tolist())


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_memory_is_asked_for_the_cells_of_narrow_scopes_and_the_rows_of_wide_ones(n_classes):
    full, n = [3, 40, joint.WIDE, joint.WIDE + 1, 10 * joint.WIDE], joint.WIDE + 7
    narrow, wide = 3 + 40 + joint.WIDE, (joint.WIDE + 1) + n  # a wide scope has no more cells than rows
    peak = 8 * (n_classes * narrow + 2 * (n_classes + 2) * wide)
    joint.refuse_joint(full, n, n_classes, "families", "fewer", peak)
    with pytest.raises(MemoryBudgetError, match=f"families, {n_classes} classes would take .*; fewer"):
        joint.refuse_joint(full, n, n_classes, "families", "fewer", peak - 1)


def test_more_combinations_than_can_be_numbered_are_refused():
    joint.refuse_joint([2.0**62 * (1 - 2**-50)], 10, 2, "families", "fewer", None)
    with pytest.raises(StatisticsError, match=r"more than 2\^62 combinations"):
        joint.refuse_joint([2.0**61, 2.0**61], 10, 2, "families", "fewer", None)


@pytest.mark.parametrize("batch", [1, 50, 10**9])
def test_scopes_are_counted_alike_however_many_at_a_time(monkeypatch, batch):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, (60, 4)).astype(np.uint8), rng.integers(0, 2, 60).astype(np.uint8)
    table, scopes = (
        CodedTable(codes, (3, 4, 4, 4), n_missing=int((codes[:, 0] == 3).sum())),
        [(0,), (0, 1), (1, 2, 3), (2, 3), (3,)],
    )
    codes[:, 0] = np.minimum(codes[:, 0], 3)  # 3 is missing there
    monkeypatch.setattr(joint, "BATCH", batch)
    for wide in (2, 20, 10**6):
        found = count_joint(table, scopes, y, 2, None, 1, wide)
        for s, scope in enumerate(scopes):
            cells = Counter((*codes[i, list(scope)].tolist(), int(y[i])) for i in range(60))
            dense = np.zeros([*(table.sizes[j] for j in scope), 2], np.int64)
            for key, k in cells.items():
                if all(v < table.sizes[j] for v, j in zip(key, scope)):
                    dense[key] = k
            assert found.counts.scope(s).sum() == dense.sum()
            np.testing.assert_array_equal(found.counts.scope(s).sum(axis=0), dense.reshape(-1, 2).sum(axis=0))


@given(st.lists(st.integers(1, 5), min_size=3, max_size=5), st.integers(1, 3))
def test_triples_are_refused_at_the_bytes_that_they_take(sizes, n_classes):
    """All triples, and those that begin with one column beside them, eight bytes a class."""
    cells = {t: math.prod(sizes[j] for j in t) for t in itertools.combinations(range(len(sizes)), 3)}
    most = max(sum(n for t, n in cells.items() if t[0] == j) for j in range(len(sizes)))
    whole = 8 * n_classes * (sum(cells.values()) + most)
    refuse_triples(sizes, 10, n_classes, whole)
    with pytest.raises(MemoryBudgetError, match=f"triple counts of {len(sizes)} columns, {n_classes} classes"):
        refuse_triples(sizes, 10, n_classes, whole - 1)


@pytest.mark.parametrize(
    "sizes",
    [(1, 65_536), (1, 1 << 32), (255, 257), (256, 256), (257, 256), (300, 300), (65_535, 65_537), (65_537, 65_537)],
)
def test_the_code_of_a_family_is_wide_enough_for_all_its_cells(sizes):
    last = [np.array([0, size - 1], dtype=np.uint32) for size in sizes]
    found = CodedTable(last, sizes).family_codes((0, 1))
    assert found.tolist() == [0, sizes[0] * sizes[1] - 1]


def test_families_are_refused_at_the_bytes_that_they_take():
    table = CodedTable([np.array([0, 1, 2], np.uint8)] * 3, (3, 3, 3))
    families, y = [(0, 1), (0, 1, 2)], np.zeros(3, np.uint8)
    room = 8 * (9 + 27) * 2
    collect_families(table, families, y, 2, None, None, room)
    with pytest.raises(MemoryBudgetError, match="counts of 2 families"):
        collect_families(table, families, y, 2, None, None, room - 1)


@pytest.mark.parametrize("sizes", [(41, 40, 40), (3, 50, 40, 60), (70, 2, 60, 50, 40)])
def test_wide_triples_are_refused_at_the_bytes_of_their_rows(sizes):
    cells = [math.prod(some) for some in itertools.combinations(sizes, 3)]
    n, K = 1000, 3
    narrow, wide = sum(c for c in cells if c <= joint.WIDE), [min(c, n) for c in cells if c > joint.WIDE]
    whole = 8 * (K * narrow + 2 * (K + 2) * sum(wide))
    if not wide:  # all triples, and those that begin with one column beside them
        whole = 8 * K * 2 * narrow
    refuse_triples(sizes, n, K, whole)
    with pytest.raises(MemoryBudgetError, match=f"triple counts of {len(sizes)} columns, {K} classes"):
        refuse_triples(sizes, n, K, whole - 1)


def test_triples_are_refused_before_they_are_counted():
    table = CodedTable([np.zeros(3, np.uint8)] * 3, (2, 3, 4))
    collect_triples(table, np.zeros(3, np.uint8), 2, None, 1, 8 * 2 * 2 * 24)
    with pytest.raises(MemoryBudgetError, match="triple counts of 3 columns"):
        collect_triples(table, np.zeros(3, np.uint8), 2, None, 1, 8 * 2 * 2 * 24 - 1)


@given(tables(), wide)
def test_some_scopes_are_those_of_all(case, wide) -> None:
    table, y, K, weights = case
    scopes = scopes_of(len(table.sizes))
    whole = count_joint(table, scopes, y, K, weights, 1)
    assert whole.take(scopes[1:3], table.sizes) == count_joint(table, scopes[1:3], y, K, weights, 1)
    assert (whole == 3) is False
    some = count_joint(table, scopes, y, K, weights, 1, wide)
    assert (some == whole) == (some.cells is None)
    for name in ("scopes", "full"):
        assert replace(whole, **{name: getattr(whole, name) + 1}) != whole
    assert whole.scaled(2.0) != whole or not whole.counts.table.any()


@given(tables())
def test_shares_are_counted_in_every_class(case) -> None:
    table, y, K, _ = case
    shares = np.random.default_rng(len(y)).dirichlet(np.ones(K), len(y))
    scopes = scopes_of(len(table.sizes))
    each = [count_joint(table, scopes, np.full_like(y, 0), 1, shares[:, k].copy(), 1) for k in range(K)]
    for limit in (None, 0, 3):
        found = count_joint(table, scopes, y, K, shares, 1, limit)
        for s in range(len(scopes)):
            want = np.concatenate([one.table(s, table.sizes) for one in each], axis=-1)
            np.testing.assert_allclose(found.table(s, table.sizes), want, atol=1e-12)


def test_no_scopes_are_no_scopes_however_wide_they_would_have_been():
    counts = Counts(np.zeros((0, 2), np.int64), np.array([0]))
    empty = [Joint(np.zeros((0, width), np.int32), np.zeros(0, np.int64), counts) for width in (1, 2, 3)]
    empty.append(Joint.of([], [], [2], np.zeros((0, 2), np.int64)))
    for one in empty:
        assert all(one == other == one + other == one - other for other in empty)
