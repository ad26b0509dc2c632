"""Boosted trees against their definition: gain, value and split of every node; sums that no order or thread changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.kernels.boosting import Boosting, boost, boost_tree, boosted_posterior
from posteriori.kernels.reference.boosting import grow_boosted, split_gain
from posteriori.kernels.trees import Codes


@st.composite
def tables(draw, most_rows=60, values=(1, 2, 3)):
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


def same(tree, gains, node, codes, at=0):
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
        same(tree, gains, node["below"][side], codes, int(tree.child[at]) + side)


@given(tables(), st.sampled_from([0, 1, 4]), st.sampled_from([1, 3]), st.sampled_from([0.5, 1.0]))
def test_a_tree_is_what_trying_every_split_finds(table, depth, least, ridge):
    codes, g, h = table
    tree, gains = boost_tree(codes, g, h, Boosting(depth=depth, least=least, rate=1.0, ridge=ridge))
    same(tree, gains, grow_boosted(codes.cells, codes.named, g, h, depth, least, ridge), codes)


@st.composite
def whole_tables(draw):
    """(codes, g, h) in whole steps, as words of few rows have them, of up to three times eight values."""
    codes, g, _ = draw(tables(most_rows=400, values=(1, 3, 7, 8, 20)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    g, h = rng.integers(-319, 320, g.shape).astype(float), rng.integers(1, 640, g.shape).astype(float)
    g[0], h[0] = 319, 639
    return codes, g / 319, h / 639


@given(whole_tables(), st.sampled_from([1, 3]))
def test_words_hold_whole_steps_exactly(table, least):
    codes, g, h = table
    tree, gains = boost_tree(codes, g, h, Boosting(depth=3, least=least, rate=1.0), words=True)
    same(tree, gains, grow_boosted(codes.cells, codes.named, g, h, 3, least), codes)


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


@given(tables(most_rows=300))
def test_the_order_of_rows_changes_no_bit(table):
    codes, g, h = table
    order = np.random.default_rng(0).permutation(codes.n)
    turned = replace(codes, cells=np.ascontiguousarray(codes.cells[:, order]))
    how = Boosting(depth=5)
    named = any(codes.named)  # Σg² of the charge is a sum of floats
    for a, b in zip(boost_tree(codes, g, h, how)[0].held, boost_tree(turned, g[order], h[order], how)[0].held):
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
        free = split_gain(g, h, left[codes.cells[0]].astype(bool))
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
        for a, b in zip((*found[0][0].held, *found[0][1:]), (*other[0].held, *other[1:])):
            assert_array_equal(a, b)
    trees, _, start, _, _ = found[0]
    one, many = (boosted_posterior(trees, start, K, codes, jobs) for jobs in (1, 3))
    assert_array_equal(one, many)


@pytest.mark.parametrize("K", [3, 9])
def test_both_instruction_sets_grow_the_same_trees(K, monkeypatch):
    codes, y, fold = rows_of(6000, K=K)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, codes.n)
    found = []
    for isa in ("_base", "_avx2"):
        module = pytest.importorskip(f"posteriori.kernels.{isa}")
        monkeypatch.setattr("posteriori.kernels.boosting.native", lambda module=module: module)
        found.append(boost(codes, y, K, weights, fold, np.arange(5, dtype=np.uint64), Boosting(tried=3, rounds=10), 2))
    for a, b in zip((*found[0][0].held, *found[0][1:]), (*found[1][0].held, *found[1][1:])):
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
    at = trees.leaves(codes)
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
