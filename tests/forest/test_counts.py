"""Counts at the nodes of one tree: they add, come apart, fade and compare, whatever classes either side has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import NotLearned, StatisticsError

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
    model.forget(rows(slice(0, 50)), new)
    assert model.statistics_ == before
    with pytest.raises(NotLearned, match="never learned"):
        model.forget(rows(slice(0, 1)), ["other"])
    with pytest.raises(NotLearned, match="more rows"):
        model.forget({k: np.tile(v, 3) for k, v in X.items()}, np.tile(Y, 3))
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
    left = model.forget(rows(np.flatnonzero(Y == "in")), Y[Y == "in"])
    assert left.classes_.tolist() == ["in", "never", "out"]
