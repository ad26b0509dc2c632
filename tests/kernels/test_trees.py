"""Trees against their definition: every node of the compiled one is the node that trying every split finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.kernels import native
from posteriori.kernels.reference.trees import grow_tree, path_posterior
from posteriori.kernels.trees import CRITERIA, Codes, draw_bags, grow_trees


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


@pytest.mark.parametrize("criterion", CRITERIA)
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
    found, used = tree.sums(asked, c, between=between)
    assert (used == 1).all()
    wanted = [path_posterior(node, row, codes.named, codes.sizes, c, between) for row in asked.cells.T]
    assert_allclose(found, wanted, rtol=1e-12)
    own, _ = tree.truth(asked, rng.integers(0, K, 12).astype(np.uint32), [c], between=between)
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
    found, used = trees.sums(Codes(codes.cells[:, many].copy(), *_rest(codes)), c, between=3.0)
    for r in range(codes.n):
        alone, once = trees.sums(Codes(codes.cells[:, r : r + 1].copy(), *_rest(codes)), c, between=3.0)
        assert_array_equal(alone[0], found[r])
        assert once[0] == used[r] == 3
    if bags is not None:
        heard, times = trees.sums(codes, c, bags)
        seen = np.unpackbits(bags.astype("<u8").view(np.uint8).reshape(3, -1), axis=1, bitorder="little")[:, : codes.n]
        each = [
            type(trees)(*(np.asarray(p) for p in one_of(trees, t))).sums(codes, c)[0] * (1 - seen[t])[:, None]
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
    assert_allclose(tree.path_counts(codes, y, w), tree.counts, rtol=1e-12)
    leaves = tree.leaves(codes)[0]
    assert (tree.column[leaves] == -1).all()


@given(tables(), st.integers(0, 2**31))
def test_threads_change_nothing_and_a_bag_is_n_rows(table, seed):
    codes, y, K, w = table
    seeds = np.random.default_rng(seed).integers(0, 2**63, 5).astype(np.uint64)
    how = dict(tried=1, drawn=True, seeds=seeds)
    one = grow_trees(codes, y, K, w, **how)
    args = (*codes.told, y.astype(np.uint32), K, w, 0, 1, True, 1 << 30, 0.0, seeds, True)
    for a, b in zip(one.held, native().grow_trees(*args, 3)):
        assert_array_equal(a, b)
    roots = one.counts[one.starts[:-1]]
    assert (roots.sum(axis=1) == codes.n).all()
    bags = draw_bags(codes.n, w, seeds)
    _, used = one.sums(codes, 1.0, bags)
    seen = np.unpackbits(bags.astype("<u8").view(np.uint8).reshape(5, -1), axis=1, bitorder="little")[:, : codes.n]
    assert_array_equal(used, 5 - seen.sum(axis=0))


def test_rows_of_no_weight_are_never_drawn():
    seeds = np.arange(50, dtype=np.uint64)
    bags = draw_bags(4, np.array([0.0, 1.0, 0.0, 3.0]), seeds)
    assert set((bags[:, 0] & np.uint64(0b0101)).tolist()) == {0}


@pytest.mark.parametrize(
    "broken",
    [
        {"codes": np.full((1, 4), 9, np.uint8)},
        {"y": np.array([0, 1, 2, 9], np.uint32)},
        {"weights": np.array([1.0, np.nan, 1.0, 1.0])},
        {"weights": np.zeros(4)},
        {"sizes": [0]},
        {"sizes": [1 << 20]},
        {"K": 0},
        {"criterion": 7},
    ],
)
def test_what_does_not_fit_is_refused(broken):
    args = {
        "codes": np.array([[0, 1, 2, 3]], np.uint8),
        "sizes": [4],
        "named": [0],
        "y": np.array([0, 1, 1, 0], np.uint32),
        "K": 2,
        "weights": None,
        "criterion": 0,
    }
    rest = dict(tried=0, drawn=False, max_depth=9, least=0.0, seeds=np.zeros(1, np.uint64), bagged=False, threads=1)
    with pytest.raises(ValueError):
        native().grow_trees(**{**args, **broken}, **rest)


def test_a_tree_that_leads_upwards_is_refused():
    codes = Codes(np.array([[0, 1]], np.uint8), (2,), (False,))
    tree = grow_trees(codes, np.array([0, 1]), 2)
    for name, at in (("child", 0), ("child", 2), ("column", 5)):
        held = dict(zip(("starts", "bit_starts", "column", "cut", "child", "counts", "bits"), map(np.copy, tree.held)))
        held[name][0] = at
        with pytest.raises(ValueError):
            type(tree)(**held).sums(codes, 1.0)
