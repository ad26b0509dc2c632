"""kDB members: counts that come back, tables as their definition says, answers as the tables say."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.errors import MemoryBudgetError
from posteriori.kernels import members as module
from posteriori.kernels import native
from posteriori.kernels.members import MemberCounts, grow_members
from posteriori.kernels.reference.members import bits_of, member_tables, read_cells, write_cells
from posteriori.kernels.trees import Codes, draw_bags

from .test_trees import tables


def grown(table, seed, M=2, most=1 << 12):
    codes, y, K, w = table
    seeds = np.random.default_rng(seed).integers(0, 2**63, M).astype(np.uint64)
    blank = [not named and size > 1 for named, size in zip(codes.named, codes.sizes)]
    return seeds, grow_members(codes, blank, y, K, w, seeds, most)


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2, 31, 32, 33, 300, 5000]), st.integers(1, 2000)), max_size=20))
def test_counts_come_back(cells):
    table = np.zeros(sum(gap + 1 for gap, _ in cells) + 3, np.int64)
    place = -1
    for gap, count in cells:
        place += gap + 1
        table[place] = count
    assert_array_equal(read_cells(iter(write_cells(table)), table.shape, int(table.sum())), table)


@given(tables(most_rows=60), st.integers(0, 2**31))
def test_counts_are_those_of_the_rows_drawn(table, seed):
    """What is told in bits is what counting the bag by hand gives, in no other bits than the twin writes."""
    codes, y, K, w = table
    seeds, members = grown(table, seed)
    first, opened = np.cumsum([0, *codes.sizes]), members.opened()
    ids = Codes(np.arange(codes.n, dtype=np.uint16)[None], (codes.n,), (True,))
    for m in range(2):
        # how often a row is drawn is what a column of row numbers counts
        alone = grow_members(ids, [False], y, K, w, seeds[m : m + 1], 1 << 12)
        bag = read_cells(after(4, bits_of(alone.cells)), (codes.n, K), codes.n).sum(axis=1)
        assert_array_equal(bag > 0, _bits(draw_bags(codes.n, w, seeds[m : m + 1]), codes.n))
        assert bag.sum() == codes.n
        value = [opened.values[m, first[j] : first[j + 1]][codes.cells[j]].astype(int) for j in range(len(codes.sizes))]
        bits = list(bits_of(members.cells[members.cell_ends[m] : members.cell_ends[m + 1]]))
        at = 0
        for j, own in enumerate(value):
            above = [p - 1 for p in members.parents[m, j].tolist() if p > 0]
            wanted = np.zeros((*(int(members.sizes[m, p]) for p in above), int(members.sizes[m, j]), K), np.int64)
            np.add.at(wanted, (*(value[p] for p in above), own, y), bag)
            told, at = write_cells(wanted), at + 4 * (len(above) + 1)
            assert bits[at : at + len(told)] == told
            at += len(told)
        assert len(bits) - at < 8
        assert not any(bits[at:])


def after(many, bits):
    for _ in range(many):
        next(bits)
    return bits


def _bits(bags, n):
    return np.unpackbits(bags.astype("<u8").view(np.uint8), bitorder="little")[:n].astype(bool)


@given(tables(most_rows=60), st.integers(0, 2**31))
def test_tables_are_what_their_definition_says(table, seed):
    members = grown(table, seed)[1]
    opened, (values, ladders) = members.opened(), member_tables(*members.held)
    assert_array_equal(opened.parents, members.parents - 1)
    assert members.room == len(opened.tables) == opened.starts[-1, -1]
    assert_array_equal(opened.values, values)
    for m, columns in enumerate(ladders):
        for j, rungs in enumerate(columns):
            own = opened.tables[opened.starts[m, j] : opened.starts[m, j + 1]]
            assert opened.sizes[m, j] == rungs[0].shape[0]
            assert_allclose(own, np.log(np.concatenate([r.ravel() for r in rungs])), rtol=2e-6, atol=1e-7)


@given(tables(most_rows=60), st.integers(0, 2**31))
def test_values_are_runs_of_codes(table, seed):
    """Names stand for themselves; numbers are cut into at most twelve bins, a missing cell before them."""
    codes, opened = table[0], grown(table, seed)[1].opened()
    for own in opened.values:
        for j, value in enumerate(np.split(own.astype(int), np.cumsum(codes.sizes)[:-1])):
            assert value[0] == 0
            steps = np.diff(value)
            assert set(steps.tolist()) <= {0, 1}
            if codes.named[j]:
                assert (steps == 1).all()
            else:
                assert value[-1] <= 12
                assert codes.sizes[j] == 1 or value[1] == 1  # code 0 is a missing cell


def brute_member(codes, member, m, row, y):
    """ln P(y) + Σ ln θ of one row, from the member's own tables."""
    first = np.concatenate([[0], np.cumsum(codes.sizes)])
    value = [
        None if c >= s else int(member.values[m, f + c]) for c, s, f in zip(row.tolist(), codes.sizes, first.tolist())
    ]
    total, K = float(member.prior[m, y]), member.prior.shape[1]
    for i, x in enumerate(value):
        if x is None:
            continue
        V, at, shape = int(member.sizes[m, i]), int(member.starts[m, i]), []
        given_ = []
        for p in member.parents[m, i].tolist():
            if p < 0 or value[p] is None:
                break
            at += int(np.prod(shape, dtype=int)) * V * K
            shape.append(int(member.sizes[m, p]))
            given_.append(value[p])
        table = member.tables[at : at + int(np.prod(shape, dtype=int)) * V * K].reshape(*shape, V, K)
        assert_allclose(np.exp(table).sum(axis=-2), 1.0, rtol=1e-5)
        total += float(table[(*given_, x, y)])
    return total


@given(tables(most_rows=60), st.integers(0, 2**31))
def test_members_say_what_their_tables_do(table, seed):
    codes, _, K, _ = table
    members = grown(table, seed)[1].opened()
    rng = np.random.default_rng(seed)
    asked = Codes(
        np.stack([rng.integers(0, s + 1, 6) for s in codes.sizes]).astype(codes.cells.dtype), codes.sizes, codes.named
    )
    found, used = members.sums(asked)
    assert (used == 2).all()
    wanted = np.zeros((6, K))
    for m in range(2):
        logs = np.array([[brute_member(codes, members, m, row, k) for k in range(K)] for row in asked.cells.T])
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        wanted += p / p.sum(axis=1, keepdims=True)
    assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    order = np.argsort(members.parents[0, :, 0] >= 0)  # no circle: a walk up ends
    for i in order:
        seen, todo = set(), [int(i)]
        while todo:
            j = todo.pop()
            todo += [int(p) for p in members.parents[0, j] if p >= 0]
            assert len(seen) < 100
            assert j != int(i) or not seen
            seen.add(j)


def test_members_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    codes = Codes(rng.integers(0, 9, (6, 200)).astype(np.uint8), (9,) * 6, (False,) * 6)
    seeds, y = np.arange(7, dtype=np.uint64), rng.integers(0, 3, 200).astype(np.uint32)
    one, three = (native().grow_members(*codes.told, [0] * 6, y, 3, None, 1 << 12, seeds, t) for t in (1, 3))
    for a, b in zip(one, three):
        assert_array_equal(a, b)


@given(tables(most_rows=40), st.integers(0, 2**31))
def test_members_one_by_one_are_members_together(table, seed):
    codes, y, K, w = table
    seeds, members = grown(table, seed, 3)
    blank = [not named and size > 1 for named, size in zip(codes.named, codes.sizes)]
    one, rest = (grow_members(codes, blank, y, K, w, s, 1 << 12) for s in (seeds[:1], seeds[1:]))
    for joined in (one + rest, pickle.loads(pickle.dumps(members)), copy.copy(members)):
        assert len(joined) == 3
        assert joined.drawn == codes.n
        for name in FIELDS:
            assert_array_equal(getattr(joined, name), getattr(members, name))
        assert_array_equal(joined.sums(codes)[0], members.sums(codes)[0])


def test_tables_are_made_once_and_are_no_part_of_a_copy():
    codes = Codes(np.tile(np.arange(6, dtype=np.uint8), (3, 10)), (6,) * 3, (False,) * 3)
    members = grow_members(codes, [False] * 3, np.arange(60) % 2, 2, None, np.arange(2, dtype=np.uint64), 1 << 12)
    assert members.opened() is members.opened()
    assert "_opened" in vars(members)
    assert "_opened" not in vars(pickle.loads(pickle.dumps(members)))


def test_tables_that_do_not_fit_are_refused(monkeypatch):
    codes = Codes(np.zeros((1, 4), np.uint8), (2,), (True,))
    members = grow_members(codes, [False], np.array([0, 1, 0, 1]), 2, None, np.zeros(3, np.uint64), 99)
    assert members.room == 12
    monkeypatch.setattr(module, "memory_budget", lambda: 143.0)
    with pytest.raises(MemoryBudgetError, match=r"3 members would take 144 bytes"):
        members.sums(codes)
    monkeypatch.setattr(module, "memory_budget", lambda: 144.0)
    members.sums(codes)


@pytest.mark.parametrize("V", [2, 6, 16, 20])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_a_column_leans_on_its_copy(V, K):
    """Nothing tells more of it; few values are counted by bitmaps, many row by row, classes of any number of rows."""
    rng = np.random.default_rng(V * K)
    y = np.minimum(rng.geometric(0.3, 3000) - 1, K - 1)
    base = rng.integers(0, V, (3, 3000))
    codes = Codes(np.concatenate([base, (base + 1) % V]).astype(np.uint8), (V,) * 6, (True,) * 6)
    members = grow_members(codes, [False] * 6, y, K, None, np.arange(8, dtype=np.uint64), 1 << 16)
    first = members.parents[:, :, 0] - 1
    leans = [(first[:, j] == j + 3) | (first[:, j + 3] == j) for j in range(3)]
    assert np.mean(leans) > 0.7  # a fifth, if what they tell were not counted


FIELDS = "codes", "sizes", "cuts", "parents", "cells", "cut_ends", "cell_ends", "prior"


def edited(members, **change):
    return MemberCounts(**{f: getattr(members, f) for f in (*FIELDS, "drawn")} | change)


def told(*bits):
    """Cells of so many bits."""
    cells = np.packbits(np.array(bits, np.uint8), bitorder="little")
    return {"cells": cells, "cell_ends": np.array([0, len(cells)])}


def test_counts_that_are_none_are_refused_by_name():
    """One member of one column of two values and one class, 60 rows."""
    codes = Codes(np.array([[0, 1] * 30], np.uint8), (2,), (True,))
    good = grow_members(codes, [False], np.zeros(60, int), 1, None, np.zeros(1, np.uint64), 99)
    rung = [0, 1, 0, 0]  # c = 1
    all_first = [*rung, *write_cells(np.array([60, 0]))]
    known = edited(good, **told(*all_first))
    assert known.room == 2
    assert_allclose(np.exp(known.opened().tables), [60.5 / 61, 0.5 / 61], rtol=1e-6)
    none = "the counts of a column are those of the rows"
    for change, why in [
        ({"drawn": 61}, none),
        ({"drawn": 59}, none),
        (told(*all_first[:-8]), none),  # too short
        ({"cells": known.cells[:0], "cell_ends": np.array([0, 0])}, none),
        (told(*all_first, *[0] * 8), "cells lie end to end"),
        (told(*all_first, 1), "cells lie end to end"),  # a bit that means nothing
        (told(*rung, *write_cells(np.array([0, 0, 60]))), none),  # there is no third cell
        (told(*rung, *[1] * 8, *[1] * 400), none),  # a number without end
        (told(1, 0, 1, 1, *all_first[4:]), "no such concentration"),
        (told(0, 0, 1, 1, *all_first[4:]), None),
        ({"cell_ends": np.array([1, len(known.cells)])}, "begin at the beginning"),
        ({"cell_ends": np.array([0, len(known.cells) - 1])}, "members lie end to end"),
        ({"cut_ends": np.array([0, 1])}, "members lie end to end"),
        ({"cuts": np.zeros(1, np.uint16), "cut_ends": np.array([0, 1])}, "a value begins with a code"),
        ({"sizes": np.array([[3]], np.int32)}, "some of its codes as values"),
        ({"sizes": np.array([[0]], np.int32)}, "some of its codes as values"),
        ({"sizes": np.array([[1]], np.int32)}, None),
        ({"parents": np.array([[[2, 0]]], np.int32)}, "no such parent"),
        ({"parents": np.array([[[-1, 0]]], np.int32)}, "no such parent"),
        ({"parents": np.array([[[0, 1]]], np.int32)}, "no such parent"),
        ({"prior": np.zeros((2, 1), np.float32)}, "all its parts"),
        ({"prior": np.zeros((1, 0), np.float32)}, "some classes"),
        ({"sizes": np.ones((1, 2), np.int32)}, "all its parts"),
        ({"codes": np.array([0])}, "1 to 65536 values"),
        ({"drawn": 1 << 53}, "fewer than 2⁵³ rows"),
    ]:
        if why is None:
            assert edited(known, **change).room <= 2
            continue
        with pytest.raises(ValueError, match=why):
            _ = edited(known, **change).room


CUTS = [((2, 4), True), ((1, 9), True), ((0, 4), False), ((4, 4), False), ((4, 3), False), ((2, 10), False)]


@pytest.mark.parametrize(("cuts", "fits"), CUTS)
def test_values_begin_with_codes_that_rise(cuts, fits):
    held = MemberCounts(
        codes=np.array([10]),
        sizes=np.array([[3]], np.int32),
        cuts=np.array(cuts, np.uint16),
        parents=np.zeros((1, 1, 2), np.int32),
        cut_ends=np.array([0, 2]),
        prior=np.zeros((1, 1), np.float32),
        drawn=1,
        **told(0, 0, 1, 0, *write_cells(np.array([1, 0, 0]))),
    )
    if fits:
        a, b = cuts
        assert held.opened().values.tolist() == [[0] * a + [1] * (b - a) + [2] * (10 - b)]
    else:
        with pytest.raises(ValueError, match="a value begins with a code after"):
            _ = held.room


def test_tables_larger_than_any_memory_are_refused_before_they_are_made():
    held = MemberCounts(
        codes=np.full(3, 65536),
        sizes=np.full((1, 3), 65536, np.int32),
        cuts=np.zeros(0, np.uint16),
        parents=np.array([[[0, 0], [1, 0], [1, 2]]], np.int32),
        cut_ends=np.array([0, 0]),
        prior=np.zeros((1, 1), np.float32),
        drawn=1,
        **told(*([0] * 4 + write_cells(np.array([1])) + [0] * 8) * 3),
    )
    with pytest.raises(ValueError, match="tables are too large"):
        _ = held.room
