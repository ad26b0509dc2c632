"""Counts at the nodes of one tree: they add, come apart, fade and compare, whatever classes either side has."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import NotLearned, StatisticsError
from posteriori.forest.counts import _either, depths, importances, impurity, pruned, same_questions
from posteriori.kernels import grow_trees
from posteriori.kernels.trees import Codes, Trees

RNG = np.random.default_rng(0)
X = {"sky": RNG.choice(["a", "b", "c", "d"], 200), "wind": RNG.normal(size=200)}
Y = np.where(RNG.random(200) < 0.8, np.isin(X["sky"], ["a", "c"]) ^ (X["wind"] > 0), RNG.random(200) < 0.5)
Y = np.where(Y, "in", "out")


def rows(at):
    return {name: cells[at] for name, cells in X.items()}


def tree():
    return po.BayesTree(backoff=1.0).fit(X, Y)


def test_a_node_has_the_rows_that_go_its_way():
    counts = tree().statistics_
    assert counts.rows.tolist() == [(Y == "in").sum(), (Y == "out").sum()]
    for i, j in enumerate(counts.tree.column.tolist()):
        if j < 0:
            assert len(counts.left[i]) == 0
            continue
        at = int(counts.tree.child[i])
        assert np.array_equal(counts.table[i], counts.table[at] + counts.table[at + 1])
        assert set(counts.left[i]) < set(counts.asked(i))


def test_learning_other_rows_and_forgetting_them_leaves_what_was():
    model = tree()
    before = model.statistics_
    new = np.array(["new"] * 50)
    model.partial_fit(rows(slice(0, 50)), new)
    assert model.classes_.tolist() == ["in", "new", "out"]
    assert model.statistics_.rows.tolist() == [before.rows[0], 50, before.rows[1]]
    assert model.statistics_ != before
    model.forget(rows(slice(0, 50)), new, keep="questions")
    assert model.statistics_ == before
    with pytest.raises(NotLearned, match="never learned"):
        model.forget(rows(slice(0, 1)), ["other"], keep="questions")
    with pytest.raises(NotLearned, match="below zero"):
        model.forget({k: np.tile(v, 3) for k, v in X.items()}, np.tile(Y, 3), keep="questions")
    assert model.statistics_ == before


def test_trees_of_other_questions_do_not_add():
    one, other = tree(), po.BayesTree(backoff=1.0).fit(rows(slice(0, 60)), Y[:60])
    with pytest.raises(StatisticsError, match="ask different questions"):
        one.statistics_ + other.statistics_
    assert one.statistics_ != other.statistics_
    same = tree().statistics_
    assert same == one.statistics_
    assert np.array_equal((same + one.statistics_).table, 2 * same.table)
    assert same.__eq__("another thing") is NotImplemented


def test_after_a_decay_nothing_can_be_forgotten():
    counts = tree().statistics_
    half = counts.scaled(0.5)
    assert np.array_equal(half.table, counts.table / 2)
    assert half.decayed
    assert not counts.decayed
    assert (half + counts).decayed
    assert (counts + half).decayed
    assert half != dataclasses.replace(half, decayed=False)
    for a, b in ((half, counts), (counts, half)):
        with pytest.raises(NotLearned, match="after decay"):
            a - b


def test_a_declared_class_stays_though_no_row_has_it():
    model = po.BayesTree(backoff=1.0).partial_fit(X, Y, classes=["in", "out", "never"])
    assert model.statistics_.rows.tolist()[1] == 0
    left = model.forget(rows(np.flatnonzero(Y == "in")), Y[Y == "in"], keep="questions")
    assert left.classes_.tolist() == ["in", "never", "out"]


def test_codes_that_go_left_and_those_that_a_node_knows():
    """Of numbers those up to the cut, of names the set that was put there; more than 64 of them too."""
    names = np.array([f"v{i:03d}" for i in range(150)])
    many = np.tile(names, 2)
    y = np.tile(np.arange(150) % 7 < 3, 2)
    counts = po.BayesTree(backoff=1.0).fit({"v": many}, y).statistics_
    left, right = ({int(c) for c in part} for part in (counts.left[0], np.setdiff1d(counts.asked(0), counts.left[0])))
    assert counts.asked(0).tolist() == list(range(150))
    assert {frozenset(left), frozenset(right)} == {
        frozenset(np.flatnonzero(np.arange(150) % 7 < 3).tolist()),
        frozenset(np.flatnonzero(np.arange(150) % 7 >= 3).tolist()),
    }
    number = po.BayesTree(backoff=1.0).fit({"n": [1.0, 2.0, 3.0, 4.0]}, [0, 1, 1, 1]).statistics_
    assert number.left[0].tolist() == [0]
    assert number.asked(0).tolist() == [0, 1, 2, 3]
    assert [len(part) for part in number.left[1:]] == [0, 0]


def test_questions_are_the_same_where_columns_codes_and_trees_are():
    counts, again = tree().statistics_, tree().statistics_
    assert same_questions(counts, counts)
    assert same_questions(counts, again)
    other = po.BayesTree(backoff=1.0).fit(rows(slice(0, 60)), Y[:60]).statistics_
    mixed = dataclasses.replace(counts, coding=dataclasses.replace(counts.coding, blank=(True, False)))
    named = dataclasses.replace(counts.coding.schema.columns[0], name="air")
    schema = dataclasses.replace(counts.coding.schema, columns=(named, counts.coding.schema.columns[1]))
    renamed = dataclasses.replace(counts, coding=dataclasses.replace(counts.coding, schema=schema))
    cut = dataclasses.replace(counts, coding=dataclasses.replace(counts.coding, cuts=(None, np.array([0.25]))))
    uncut = dataclasses.replace(counts, coding=dataclasses.replace(counts.coding, cuts=(None, None)))
    assert len(counts.coding.cuts[1]) > 1
    moved = dataclasses.replace(counts.tree, column=counts.tree.column.copy(), cut=counts.tree.cut + 1)
    shorter = dataclasses.replace(counts, tree=moved)
    for strange in (other, mixed, renamed, cut, uncut, shorter):
        assert not same_questions(counts, strange)
        assert not same_questions(strange, counts)
    assert counts != renamed
    assert counts != dataclasses.replace(counts, schema=dataclasses.replace(counts.schema, classes=("in", "OUT")))
    assert counts != dataclasses.replace(counts, tree=dataclasses.replace(counts.tree, counts=2 * counts.table))


def test_a_class_that_no_row_has_any_more_vanishes():
    model = tree()
    before = model.statistics_
    gone = before - before.counted(
        before.coding.code(model._open(rows(Y == "in")))[0],
        dataclasses.replace(before.schema, classes=("in",)),
        np.zeros((Y == "in").sum(), dtype=int),
        None,
    )
    assert gone.schema.classes == ("out",)
    assert gone.table.tolist() == before.table[:, 1:].tolist()


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
    assert importances(TREE, 4, criterion) == pytest.approx(gains / gains.sum())
    leaf = one_tree([-1], [0], [[3, 4]])
    assert importances(leaf, 4, criterion).tolist() == [0.0] * 4
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
