"""Families with a class as an axis: parents by number, what is counted together, counts by brute force."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import StatisticsError, UnknownColumn
from posteriori.network.class_families import family_counts, scopes, told_parents


def test_parents_are_numbered_by_column_and_the_class_is_last():
    dag = po.Dag(["b", "y", "a"], [("y", "b"), ("a", "b"), ("a", "y")])
    assert told_parents(dag, ["a", "b", "unused"]) == ((), (3, 0), (), (0,))
    with pytest.raises(UnknownColumn, match=r"is the class; none is no column\. Columns: 'a', 'b', 'y'"):
        told_parents(dag, ["a", "b", "y"])
    with pytest.raises(UnknownColumn, match="'y', 'a' is no column"):
        told_parents(dag, ["b"])


def test_what_is_counted_together():
    parents = ((), (0, 3), (1, 0, 3), (0, 1))  # three columns, then the class
    assert scopes(parents) == [(0, 1), (1, 0, 2)]  # the class counts (0, 1), as column 1 does
    assert scopes(parents, {2}) == [(0, 1)]
    assert scopes(parents, {1}) == [(1, 0, 2), (0, 1)]
    assert scopes(((2,), (2,), ())) == []  # alone under the class: counted anyway


def test_counts_of_every_kind_of_family():
    rng = np.random.default_rng(0)
    n = 200
    columns = {"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n), "c": rng.integers(0, 4, n)}
    y = rng.integers(0, 5, n)
    edges = [("y", "a"), ("c", "b"), ("y", "b"), ("a", "b"), ("c", "y")]
    dag = po.Dag(["a", "b", "c", "y"], edges)
    model = po.BayesNetClassifier(dag, kinds="categorical").fit(pd.DataFrame(columns), y)
    every = {**columns, "y": y}
    sizes = {"a": 2, "b": 3, "c": 4, "y": 5}
    parents = told_parents(dag, ["a", "b", "c"])
    for v, node in enumerate(every):
        family = [*dag.parents(node), node]
        want = np.zeros([sizes[k] for k in family], int)
        np.add.at(want, tuple(every[k] for k in family), 1)
        found = family_counts(model.statistics_, v, parents)
        assert found.shape == want.shape
        assert found.tolist() == want.tolist()
    with pytest.raises(StatisticsError, match="no counts of columns 0, 2 together"):
        family_counts(model.statistics_, 2, ((), (), (0,), ()))
