"""Counts at the nodes of one tree: they add, come apart, fade and compare, whatever classes either side has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import NotLearned, StatisticsError
from posteriori.forest.counts import same_questions
from posteriori.table.encode import Seen

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
        before.coding.code(model._open(rows(Y == "in")), Seen()),
        dataclasses.replace(before.schema, classes=("in",)),
        np.zeros((Y == "in").sum(), dtype=int),
        None,
    )
    assert gone.schema.classes == ("out",)
    assert gone.table.tolist() == before.table[:, 1:].tolist()
