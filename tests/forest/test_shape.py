"""The shape of a tree: pruning is the cheapest of all smaller trees, gains are shares, questions read right."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.forest.shape import depths, impurity, pruned
from posteriori.kernels.trees import Codes, grow_trees


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
