"""The shape of a tree: pruning is the cheapest of all smaller trees, gains are shares, questions read right."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.forest.shape import _either, depths, importances, impurity, pruned
from posteriori.kernels.trees import Codes, Trees, grow_trees


def cheapest(tree, criterion, alpha):
    """(least cost, fewest leaves at that cost) over all prunings, by trying every one."""
    cost = impurity(tree.counts, criterion) / tree.counts[0].sum()

    def below(i):
        options = [(cost[i] + alpha, 1)]
        if tree.column[i] >= 0:
            at = int(tree.child[i])
            options += [(a + b, m + n) for (a, m), (b, n) in itertools.product(below(at), below(at + 1))]
        return options

    every = below(0)
    least = min(c for c, _ in every)
    return least, min(n for c, n in every if c <= least + 1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["entropy", "gini"]), st.sampled_from([0.001, 0.02, 0.1, 1.0]))
def test_pruning_is_the_cheapest_tree(seed, criterion, alpha):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    codes = Codes(rng.integers(0, 4, (2, n)).astype(np.uint8), (4, 4), (False, True))
    tree = grow_trees(codes, rng.integers(0, 3, n), 3, criterion=criterion)
    small = pruned(tree, criterion, alpha)
    cost = impurity(small.counts, criterion) / small.counts[0].sum() + alpha
    leaves = small.column < 0
    least, fewest = cheapest(tree, criterion, alpha)
    assert cost[leaves].sum() == pytest.approx(least)
    assert leaves.sum() == fewest
    asks = ~leaves
    assert (small.counts[asks] == small.counts[small.child[asks]] + small.counts[small.child[asks] + 1]).all()


def test_impurity_by_hand():
    counts = np.array([[5.0, 9.0], [0.0, 4.0], [0.0, 0.0]])
    assert impurity(counts, "entropy") / np.log(2) == pytest.approx([14 * 0.940286, 0, 0], abs=1e-5)
    assert impurity(counts, "gini") == pytest.approx([14 * (1 - (25 + 81) / 196), 0, 0])


def test_importances_and_depths():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = (X[:, 1] > 0).astype(int)
    model = po.BayesTree(ccp_alpha=0.0, backoff=1.0).fit(X, y)
    assert model.feature_importances_.tolist() == [0.0, 1.0, 0.0]
    assert depths(model.statistics_.tree).tolist() == [0, 1, 1]
    assert (model.n_nodes_, model.n_leaves_, model.depth_) == (3, 2, 1)


def test_questions_in_words():
    X = pd.DataFrame({"n": [1.0, 2.0, np.nan, np.nan], "w": list("abcd")})
    numbers = po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(X[["n"]], [0, 0, 1, 1])
    assert numbers.rules() == "if n is missing then 1 (P = 1.000, 2 of 2)\nif n is known then 0 (P = 1.000, 2 of 2)"
    lower = po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(X[["n"]], [0, 1, 0, 0]).rules()
    assert lower.splitlines()[0] == "if n < 1.5 (or missing) then 0 (P = 1.000, 3 of 3)"
    words = po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(X[["w"]], [0, 1, 0, 1]).rules()
    assert words == "if w is b or d then 1 (P = 1.000, 2 of 2)\nif w is a or c then 0 (P = 1.000, 2 of 2)"
    many = po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(
        {"w": [str(i) for i in range(10, 30)]}, [i // 10 for i in range(20)]
    )
    assert "4 more" in many.rules()
    assert po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(X[["w"]], [0, 1, 2, 3]).rules(max_depth=1).count("\n") == 1


def one_tree(column, child, counts, cut=None):
    n = len(column)
    cut = [0] * n if cut is None else cut
    ints = (np.array(a, dtype=np.int32) for a in (column, cut, child))
    return Trees(np.array([0, n]), np.array([0, 0]), *ints, np.array(counts, float), np.zeros(0, np.uint64))


# 0 asks column 2: 1 asks column 0 (3, 4), 2 asks column 2 again (5, 6)
TREE = one_tree(
    [2, 0, 2, -1, -1, -1, -1], [1, 3, 5, 0, 0, 0, 0],
    [[8, 8], [7, 2], [1, 6], [7, 0], [0, 2], [1, 1], [0, 5]],
)  # fmt: skip


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_gains_of_the_questions_of_each_column_are_shares(criterion):
    R = impurity(TREE.counts, criterion)
    gains = np.array([R[1] - R[3] - R[4], 0.0, (R[0] - R[1] - R[2]) + (R[2] - R[5] - R[6]), 0.0])
    counts = SimpleNamespace(tree=TREE, table=TREE.counts, schema=range(4))
    assert importances(counts, criterion) == pytest.approx(gains / gains.sum())
    leaf = one_tree([-1], [0], [[3, 4]])
    assert importances(SimpleNamespace(tree=leaf, table=leaf.counts, schema=range(4)), criterion).tolist() == [0.0] * 4
    assert depths(TREE).tolist() == [0, 1, 1, 2, 2, 2, 2]


def test_what_is_kept_of_a_pruned_tree():
    """The second question costs more than it gains, the others do not."""
    R = impurity(TREE.counts, "gini") / 16
    worth = [R[0] - R[1] - R[2], R[1] - R[3] - R[4], R[2] - R[5] - R[6]]
    assert worth[2] < worth[1]
    small = pruned(TREE, "gini", (worth[1] + worth[2]) / 2)
    assert small.column.tolist() == [2, 0, -1, -1, -1]
    assert small.child.tolist() == [1, 3, 0, 0, 0]
    assert small.counts.tolist() == TREE.counts[:5].tolist()
    assert small.starts.tolist() == [0, 5]
    at = pruned(TREE, "gini", worth[2])  # of equal cost the smaller tree
    assert at.column.tolist() == [2, 0, -1, -1, -1]
    assert pruned(TREE, "gini", worth[2] * (1 - 1e-9)).column.tolist() == TREE.column.tolist()
    assert pruned(TREE, "gini", 1.0).column.tolist() == [-1]
    assert pruned(TREE, "gini", 0.0) is TREE
    assert pruned(TREE, "gini", -1.0) is TREE
    other = one_tree([0, -1, 1, -1, -1], [1, 0, 3, 0, 0], [[8, 8], [2, 2], [6, 6], [6, 0], [0, 6]], [4, 0, 7, 0, 0])
    same = pruned(other, "entropy", 1e-9)
    assert (same.column.tolist(), same.cut.tolist(), same.child.tolist()) == (
        [0, -1, 1, -1, -1],
        [4, 0, 7, 0, 0],
        [1, 0, 3, 0, 0],
    )


def test_long_lists_of_words_are_cut_where_that_saves_a_word():
    words = [*"abcdefghij"]
    assert _either(words[:1]) == "a"
    assert _either(words[:6]) == "a or b or c or d or e or f"
    assert _either(words[:7]) == "a or b or c or d or e or f or g"  # "1 more" would be as long
    assert _either(words[:8]) == "a or b or c or d or e or f or 2 more"
    assert _either(words, 2) == "a or b or 8 more"


def test_rules_end_at_so_many_questions():
    X = {"n": [1.0, 2.0, 3.0, 4.0], "w": ["a", "b", "a", "b"]}
    model = po.BayesTree(ccp_alpha=0.0, backoff=0.0).fit(X, [0, 1, 2, 3], sample_weight=[1, 2, 3, 4])
    assert model.rules(max_depth=0) == "3 (P = 0.400, 4 of 10)"
    assert model.rules(max_depth=1).count("\n") == 1
    assert model.rules(max_depth=1).splitlines()[1] == "if n ≥ 3.5 then 3 (P = 1.000, 4 of 4)"
    assert model.rules(max_depth=2).count("\n") == 2
    assert model.rules() == model.rules(max_depth=3)
    assert model.rules().count("\n") == 3
