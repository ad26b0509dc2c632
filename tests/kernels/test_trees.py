"""Trees, boosted trees and kDB members against their definitions.

Every node of a compiled tree is the node that trying every split finds, by counts or by gain and value; no order or thread
changes a sum. Members' counts come back, their tables are as defined, answers as the tables say.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori import kernels
from posteriori.errors import MemoryBudgetError
from posteriori.kernels import (
    boost,
    boost_tree,
    boosted_posterior,
    draw_bags,
    forest_sums,
    forest_truth,
    grow_members,
    grow_trees,
)
from posteriori.kernels import trees as module
from posteriori.kernels.trees import Boosting, Codes, MemberCounts

from .conftest import many_threads
from .reference.trees import (
    bits_of,
    boosted_gain,
    grow_boosted,
    grow_tree,
    member_tables,
    path_posterior,
    read_cells,
    write_cells,
)


def parts(made):
    """The arrays of trees or members, in their order."""
    return tuple(vars(made).values())


@st.composite
def tables(draw, most_rows=30):
    """(codes, y, K, weights or None)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, K = draw(st.integers(1, most_rows)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    sizes = tuple(int(s) for s in rng.integers(1, 7, d))
    if draw(st.integers(0, 9)) == 0:
        sizes = (300, *sizes[1:])
    dtype = np.uint8 if max(sizes) < 256 else np.uint16
    cells = np.stack([rng.integers(0, s, n) for s in sizes]).astype(dtype)
    weights = draw(st.sampled_from([None, "whole", "parts", "any"]))
    w = None if weights is None else rng.integers(1, 4, n).astype(float) * (1.0 if weights == "whole" else 0.25)
    w = w + rng.random(n) if weights == "any" else w
    return Codes(cells, sizes, tuple(bool(x) for x in rng.integers(0, 2, d))), rng.integers(0, K, n), K, w


def same(tree, node, codes, at=0):
    """Whether node `at` of the compiled tree, and all below it, is this node."""
    assert_array_equal(tree.counts[at], node["counts"])
    j = int(tree.column[at])
    if "below" not in node:
        assert j == -1
        return
    assert j == node["column"]
    if codes.named[j]:
        words = -(-codes.sizes[j] // 64)
        bits = tree.bits[tree.cut[at] : tree.cut[at] + 2 * words].astype("<u8").view(np.uint8)
        left, seen = np.unpackbits(bits, bitorder="little").reshape(2, -1)
        assert set(np.flatnonzero(left)) == set(node["left"].tolist())
        assert set(np.flatnonzero(seen)) == set(node["seen"].tolist())
    else:
        assert int(tree.cut[at]) == len(node["left"]) - 1
    for side in (0, 1):
        same(tree, node["below"][side], codes, int(tree.child[at]) + side)


@pytest.mark.parametrize("criterion", ["entropy", "ratio", "gini"])
@given(tables(), st.sampled_from([None, 1, 3]), st.sampled_from([0.0, 2.0]))
def test_a_tree_is_what_trying_every_split_finds(criterion, table, depth, least):
    codes, y, K, w = table
    tree = grow_trees(codes, y, K, w, criterion=criterion, max_depth=depth, least=least)
    node = grow_tree(codes.cells, codes.named, y, K, w, criterion, 1 << 30 if depth is None else depth, least)
    same(tree, node, codes)


@given(tables(), st.sampled_from([0.0, 0.5, 8.0]), st.sampled_from([0.0, 1.0, 16.0]), st.integers(0, 99))
def test_a_row_backs_off_along_its_way(table, c, between, seed):
    codes, y, K, w = table
    tree, node = grow_trees(codes, y, K, w), grow_tree(codes.cells, codes.named, y, K, w)
    rng = np.random.default_rng(seed)
    asked = Codes(np.stack([rng.integers(0, s + 2, 12) for s in codes.sizes]).astype(codes.cells.dtype), *_rest(codes))
    found, used = forest_sums(tree, asked, c, between=between)
    assert (used == 1).all()
    wanted = [path_posterior(node, row, codes.named, codes.sizes, c, between) for row in asked.cells.T]
    assert_allclose(found, wanted, rtol=1e-12)
    own, _ = forest_truth(tree, asked, rng.integers(0, K, 12).astype(np.uint32), [c], between=between)
    truth = np.random.default_rng(seed)
    [truth.integers(0, s + 2, 12) for s in codes.sizes]
    assert_allclose(own[:, 0], found[np.arange(12), truth.integers(0, K, 12)], rtol=1e-12)


def _rest(codes):
    return codes.sizes, codes.named


@given(tables(most_rows=60), st.sampled_from([0.0, 0.5, 8.0]), st.booleans())
def test_many_rows_at_once_hear_what_one_hears(table, c, bagged):
    codes, y, K, w = table
    seeds = np.arange(3, dtype=np.uint64)
    trees = grow_trees(codes, y, K, w, tried=1, drawn=True, seeds=seeds)
    bags = draw_bags(codes.n, w, seeds) if bagged else None
    many = np.tile(np.arange(codes.n), 20)  # more rows than nodes: the posterior of every node is made once
    found, used = forest_sums(trees, Codes(codes.cells[:, many].copy(), *_rest(codes)), c, between=3.0)
    for r in range(codes.n):
        alone, once = forest_sums(trees, Codes(codes.cells[:, r : r + 1].copy(), *_rest(codes)), c, between=3.0)
        assert_array_equal(alone[0], found[r])
        assert once[0] == used[r] == 3
    if bags is not None:
        heard, times = forest_sums(trees, codes, c, bags)
        seen = np.unpackbits(bags.astype("<u8").view(np.uint8).reshape(3, -1), axis=1, bitorder="little")[:, : codes.n]
        each = [
            forest_sums(type(trees)(*(np.asarray(p) for p in one_of(trees, t))), codes, c)[0] * (1 - seen[t])[:, None]
            for t in range(3)
        ]
        assert_allclose(heard, sum(each), rtol=1e-12)
        assert_array_equal(times, 3 - seen.sum(axis=0))


def one_of(trees, t):
    """The parts of one tree."""
    nodes, words = (slice(int(s[t]), int(s[t + 1])) for s in (trees.starts, trees.bit_starts))
    ends = [np.array([0, s.stop - s.start]) for s in (nodes, words)]
    return *ends, trees.column[nodes], trees.cut[nodes], trees.child[nodes], trees.counts[nodes], trees.bits[words]


@given(tables())
def test_rows_counted_along_their_ways_are_the_tree(table):
    codes, y, K, w = table
    tree = grow_trees(codes, y, K, w)
    assert_allclose(kernels.path_counts(tree, codes, y, w), tree.counts, rtol=1e-12)
    leaves = kernels.tree_leaves(tree, codes)[0]
    assert (tree.column[leaves] == -1).all()


@given(tables(), st.integers(0, 2**31))
def test_threads_change_nothing_and_a_bag_is_n_rows(table, seed):
    codes, y, K, w = table
    seeds = np.random.default_rng(seed).integers(0, 2**63, 5).astype(np.uint64)
    how = dict(tried=1, drawn=True, seeds=seeds)
    one = grow_trees(codes, y, K, w, **how)
    with many_threads() as jobs:
        for a, b in zip(parts(one), parts(grow_trees(codes, y, K, w, **how, n_jobs=jobs))):
            assert_array_equal(a, b)
    roots = one.counts[one.starts[:-1]]
    assert (roots.sum(axis=1) == codes.n).all()
    bags = draw_bags(codes.n, w, seeds)
    _, used = forest_sums(one, codes, 1.0, bags)
    seen = np.unpackbits(bags.astype("<u8").view(np.uint8).reshape(5, -1), axis=1, bitorder="little")[:, : codes.n]
    assert_array_equal(used, 5 - seen.sum(axis=0))


def test_rows_of_no_weight_are_never_drawn():
    seeds = np.arange(50, dtype=np.uint64)
    bags = draw_bags(4, np.array([0.0, 1.0, 0.0, 3.0]), seeds)
    assert set((bags[:, 0] & np.uint64(0b0101)).tolist()) == {0}


@pytest.mark.parametrize(
    "broken",
    [
        {"cells": np.full((1, 4), 9, np.uint8)},
        {"y": np.array([0, 1, 2, 9], np.uint32)},
        {"weights": np.array([1.0, np.nan, 1.0, 1.0])},
        {"weights": np.zeros(4)},
        {"sizes": [0]},
        {"sizes": [1 << 20]},
        {"K": 0},
        {"criterion": "odd"},
    ],
)
def test_what_does_not_fit_is_refused(broken):
    codes = {"cells": np.array([[0, 1, 2, 3]], np.uint8), "sizes": [4], "named": [False]}
    codes = Codes(**{name: broken.pop(name, part) for name, part in codes.items()})
    with pytest.raises(ValueError):
        grow_trees(codes, **{"y": np.array([0, 1, 1, 0], np.uint32), "K": 2, **broken})


def test_a_tree_that_leads_upwards_is_refused():
    codes = Codes(np.array([[0, 1]], np.uint8), (2,), (False,))
    tree = grow_trees(codes, np.array([0, 1]), 2)
    for name, at in (("child", 0), ("child", 2), ("column", 5)):
        held = dict(
            zip(("starts", "bit_starts", "column", "cut", "child", "counts", "bits"), map(np.copy, parts(tree)))
        )
        held[name][0] = at
        with pytest.raises(ValueError):
            forest_sums(type(tree)(**held), codes, 1.0)


@st.composite
def slopes(draw, most_rows=60, values=(1, 2, 3)):
    """(codes, g, h); many values of one column, or few, so that sums are kept and made anew."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, V = draw(st.integers(1, most_rows)), draw(st.integers(1, 4)), draw(st.sampled_from(values))
    sizes = tuple(int(s) for s in rng.integers(1, draw(st.sampled_from([3, 7, 40])), d))
    if draw(st.integers(0, 9)) == 0:
        sizes = (300, *sizes[1:])
    cells = np.stack([rng.integers(0, s, n) for s in sizes]).astype(np.uint8 if max(sizes) < 256 else np.uint16)
    named = tuple(bool(x) and V == 1 for x in rng.integers(0, 2, d))  # which class orders named values is drawn
    g = rng.uniform(-1, 1, (n, V))
    if draw(st.booleans()):  # a column that tells: named values are worth what is charged for them
        g = np.clip(0.2 * g + rng.uniform(-1, 1, (sizes[0], V))[cells[0]], -1, 1)
    return Codes(cells, sizes, named), g, rng.uniform(0.01, 0.25, (n, V))


def same_boosted(tree, gains, node, codes, at=0):
    """Whether node `at` of the compiled tree, and all below it, is this node."""
    assert_allclose(tree.counts[at], node["value"], rtol=1e-4, atol=1e-6)
    j = int(tree.column[at])
    if "below" not in node:
        assert j == -1
        return
    assert j == node["column"]
    assert_allclose(gains[at], node["gain"], rtol=1e-4, atol=1e-6)
    if codes.named[j]:
        words = -(-codes.sizes[j] // 64)
        bits = tree.bits[tree.cut[at] : tree.cut[at] + words].astype("<u8").view(np.uint8)
        assert set(np.flatnonzero(np.unpackbits(bits, bitorder="little"))) == set(node["left"].tolist())
    else:
        assert int(tree.cut[at]) == len(node["left"]) - 1
    for side in (0, 1):
        same_boosted(tree, gains, node["below"][side], codes, int(tree.child[at]) + side)


@given(slopes(), st.sampled_from([0, 1, 4]), st.sampled_from([1, 3]), st.sampled_from([0.5, 1.0]))
def test_a_boosted_tree_is_what_trying_every_split_finds(table, depth, least, ridge):
    codes, g, h = table
    tree, gains = boost_tree(codes, g, h, Boosting(depth=depth, least=least, rate=1.0, ridge=ridge))
    same_boosted(tree, gains, grow_boosted(codes.cells, codes.named, g, h, depth, least, ridge), codes)


@st.composite
def whole_tables(draw):
    """(codes, g, h) in whole steps, as words of few rows have them, of up to three times eight values."""
    codes, g, _ = draw(slopes(most_rows=400, values=(1, 3, 7, 8, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    g, h = rng.integers(-319, 320, g.shape).astype(float), rng.integers(1, 640, g.shape).astype(float)
    g[0], h[0] = 319, 639
    return codes, g / 319, h / 639


@given(whole_tables(), st.sampled_from([1, 3]))
def test_words_hold_whole_steps_exactly(table, least):
    codes, g, h = table
    tree, gains = boost_tree(codes, g, h, Boosting(depth=3, least=least, rate=1.0), words=True)
    same_boosted(tree, gains, grow_boosted(codes.cells, codes.named, g, h, 3, least), codes)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_half_a_word_holds_as_many_rows_as_a_cell_gets(side):
    n, V = 70_000, 9
    rng = np.random.default_rng(0)
    cells = np.stack([np.arange(n) // 35_000, rng.integers(0, 5, n), np.zeros(n, int), rng.integers(0, 200, n)])
    codes = Codes(cells.astype(np.uint8), (2, 5, 1, 200), (False,) * 4)
    g, h = np.full((n, V), side), np.ones((n, V))
    g[: n // 2, 3] = 0.0
    tree, gains = boost_tree(codes, g, h, Boosting(depth=2, rate=1.0), words=True)
    exact, wanted = boost_tree(codes, g, h, Boosting(depth=2, rate=1.0))
    assert_array_equal(tree.column[:2], exact.column[:2])
    assert tree.column[0] == 0
    assert_allclose(gains[0], wanted[0], rtol=1e-6)
    assert_allclose(tree.counts[:3], exact.counts[:3], rtol=1e-6)


def test_words_are_right_on_average():
    rng = np.random.default_rng(0)
    n, V = 50, 10
    codes = Codes(np.zeros((1, n), np.uint8), (1,), (False,))
    g, h = rng.uniform(-1, 1, (n, V)), rng.uniform(0.001, 0.25, (n, V))
    g[0], h[0] = 1.0, 0.25
    how = Boosting(depth=0, rate=1.0, ridge=1e6)  # so that the root's value is −G/λ
    seeds = rng.integers(0, 1 << 32, 400).tolist()
    found = np.stack([-1e6 * boost_tree(codes, g, h, how, seed, words=True)[0].counts[0] for seed in seeds])
    error = found.mean(axis=0) - g.sum(axis=0)
    assert np.abs(error).max() < 5 * np.sqrt(n / 4 / 400) / 319
    assert found.std(axis=0).max() < np.sqrt(n) / 2 / 319 * 1.2
    assert found.std(axis=0).min() > 0


@given(slopes(most_rows=300))
def test_the_order_of_rows_changes_no_bit(table):
    codes, g, h = table
    order = np.random.default_rng(0).permutation(codes.n)
    turned = replace(codes, cells=np.ascontiguousarray(codes.cells[:, order]))
    how = Boosting(depth=5)
    named = any(codes.named)  # Σg² of the charge is a sum of floats
    for a, b in zip(parts(boost_tree(codes, g, h, how)[0]), parts(boost_tree(turned, g[order], h[order], how)[0])):
        assert named or np.array_equal(a, b)


def test_named_values_of_many_classes_part_where_one_class_says():
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 8, (1, 400)).astype(np.uint8), (8,), (True,))
    y = np.where(codes.cells[0] % 3 == 0, 0, rng.integers(0, 3, 400))
    p = np.full((400, 3), 1 / 3)
    g, h = p - np.eye(3)[y], p * (1 - p)
    for seed in range(5):
        tree, gains = boost_tree(codes, g, h, Boosting(depth=1), seed)
        left = np.unpackbits(tree.bits[:1].view(np.uint8), bitorder="little")[:8]
        free = boosted_gain(g, h, left[codes.cells[0]].astype(bool))
        charge = [6 * (g[:, k] ** 2).sum() / (h[:, k].sum() + 2) for k in range(3)]
        assert min(abs(free - c - gains[0]) for c in charge) < 1e-3
        assert set(np.flatnonzero(left)) in ({0, 3, 6}, {1, 2, 4, 5, 7})


def rows_of(n=3000, d=6, K=2, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 30, (d, n)).astype(np.uint8)
    y = (cells[0] // 8 + (cells[1] > 14) + rng.integers(0, 2, n)) % K
    return Codes(cells, (30,) * d, (False,) * (d - 1) + (True,)), y, (np.arange(n) % 5).astype(np.uint8)


@pytest.mark.parametrize("K", [2, 3, 12])
@pytest.mark.parametrize("exponential", [False, True])
def test_any_number_of_threads_gives_the_same_bits(K, exponential):
    codes, y, fold = rows_of(20_000, K=K)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, codes.n)
    seeds = np.arange(5, dtype=np.uint64)
    how = Boosting(exponential=exponential, tried=3, rounds=20, depth=5)
    found = [boost(codes, y, K, weights, fold, seeds, how, jobs) for jobs in (1, 2, 3, 7)]
    for other in found[1:]:
        for a, b in zip((*parts(found[0][0]), *found[0][1:]), (*parts(other[0]), *other[1:])):
            assert_array_equal(a, b)
    trees, _, start, _, _ = found[0]
    one, many = (boosted_posterior(trees, start, K, codes, jobs) for jobs in (1, 3))
    assert_array_equal(one, many)


@pytest.mark.parametrize("K", [3, 9])
def test_both_instruction_sets_grow_the_same_trees(K):
    codes, y, fold = rows_of(6000, K=K)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, codes.n)
    found = []
    for isa in ("_base", "_avx2"):
        found.append(
            pytest.importorskip(f"posteriori.kernels.{isa}").boost(
                codes, y, K, weights, fold, np.arange(5, dtype=np.uint64), Boosting(tried=3, rounds=10), 2
            )
        )
    for a, b in zip((*parts(found[0][0]), *found[0][1:]), (*parts(found[1][0]), *found[1][1:])):
        assert_array_equal(a, b)


@pytest.mark.parametrize("K", [4, 11])
def test_words_learn_as_much_as_exact_sums(K):
    """Weights of which one is ten times the mean are summed exactly, all others in words."""
    codes, y, fold = rows_of(8000, K=K)
    seeds, how = np.arange(5, dtype=np.uint64), Boosting(tried=3, rounds=40, depth=5)
    heavy = np.ones(codes.n)
    heavy[0] = 10.0
    words, exact = (boost(codes, y, K, w, fold, seeds, how) for w in (None, heavy))
    assert words[3].min() == pytest.approx(exact[3].min(), abs=0.01)
    assert not np.array_equal(words[4], exact[4])


@pytest.mark.parametrize("K", [2, 4])
def test_answers_out_of_fold_are_those_of_the_fold_s_own_model(K):
    codes, y, fold = rows_of(500, K=K)
    trees, _, start, losses, F = boost(codes, y, K, None, fold, np.arange(5, dtype=np.uint64), Boosting(rounds=30))
    rounds = len(trees) // 5
    assert rounds in (0, 10, 20, 30)
    assert rounds == 10 * int(np.argmin(losses))
    at = kernels.tree_leaves(trees, codes)
    V = 1 if K == 2 else K
    wanted = np.empty((500, V), np.float32)
    for f in range(5):
        counts = [np.bincount(y[fold != f], minlength=K)[k] + 0.5 for k in range(K)]
        first = [np.log(counts[1] / counts[0])] if V == 1 else np.log(np.array(counts) / sum(counts))
        assert_allclose(start[f], first, rtol=1e-6)
        total = np.tile(start[f], (500, 1))
        for t in range(f * rounds, (f + 1) * rounds):
            total += trees.counts[trees.starts[t] + at[t]]
        wanted[fold == f] = total[fold == f]
    assert_allclose(F, wanted, rtol=1e-4, atol=1e-5)
    z = F if V > 1 else np.concatenate([np.zeros((500, 1)), F], axis=1)
    own = z[np.arange(500), y] - np.log(np.exp(z).sum(axis=1))
    assert losses.min() == pytest.approx(-own.mean(), abs=1e-6)


def test_the_first_tree_of_both_losses_is_the_same_where_classes_are_even():
    codes, _, fold = rows_of(1000)
    y = np.arange(1000) // 5 % 2  # as many of each in every fold
    y[codes.cells[0] > 14] = 1 - y[codes.cells[0] > 14]
    y = np.argsort(np.argsort(y, kind="stable"), kind="stable") // 500
    fold = np.empty(1000, np.uint8)
    fold[np.argsort(y, kind="stable")] = np.arange(1000) % 5
    seeds = np.arange(5, dtype=np.uint64)
    how = Boosting(rounds=1, every=1, patience=9)
    log, exp = (boost(codes, y, 2, None, fold, seeds, replace(how, exponential=e)) for e in (False, True))
    assert_array_equal(log[0].column, exp[0].column)
    assert_allclose(log[0].counts, exp[0].counts, rtol=1e-5, atol=1e-7)


def test_a_round_of_exponential_loss_goes_downhill():
    codes, y, fold = rows_of(800, K=3)
    found = boost(codes, y, 3, None, fold, np.arange(5, dtype=np.uint64), Boosting(exponential=True, rounds=60))
    assert (np.diff(found[3][: 1 + int(np.argmin(found[3]))]) < 0).all()
    assert found[3].min() < found[3][0] - 0.1


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
    opened, (values, ladders) = (
        members.opened(),
        member_tables(members.codes.tolist(), parts(members)[1:8], members.drawn),
    )
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
    with many_threads() as many:
        one, three = (grow_members(codes, [False] * 6, y, 3, None, seeds, 1 << 12, jobs) for jobs in (1, many))
    for a, b in zip(parts(one), parts(three)):
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
