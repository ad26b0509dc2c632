"""What trees in a file must hold: kernels walk them without looking."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError
from posteriori.kernels.trees import Trees
from posteriori.store.forms import form_of

from .refusals import judged, remade


def tree() -> Trees:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return po.BayesTree().fit(X, (X[:, 0] + X[:, 1] > 0).astype(int)).statistics_.tree


@pytest.mark.parametrize("child", [-1, 0, 1_000, 2**31 - 2, 2**31 - 1])
def test_the_children_of_a_node_come_after_it_and_exist(child):
    held, form = tree(), form_of(Trees)
    assert np.array_equal(form.make(form.take(held)).child, held.child)
    asks = np.flatnonzero(held.column >= 0)
    for at in asks:
        changed = held.child.copy()
        changed[at] = child
        with pytest.raises(ModelFileError):
            form.make(form.take(dataclasses.replace(held, child=changed)))


def forest() -> po.BayesForest:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return po.BayesForest(n_trees=2, n_members=2, random_state=0).fit(X, np.arange(60) % 3)


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("members", lambda m: {"tables": np.full_like(m.tables, 1e30)}, None),
        ("members", lambda m: {"tables": np.full_like(m.tables, 3e38)}, "sums that are numbers"),
        ("members", lambda m: {"tables": np.full_like(m.tables, -1.1e30)}, "sums that are numbers"),
        ("members", lambda m: {"prior": np.full_like(m.prior, -1.1e30)}, "sums that are numbers"),
        (None, {"concentration": 0.0}, None),
        (None, {"concentration": -1e-300}, "a concentration must not be negative"),
    ],
)
def test_what_a_forest_says_has_sums_that_are_numbers(part, change, said):
    model = forest()
    grown = dataclasses.replace(model.grown_, exponents=np.array([1.0, 1.0, 0.0]))  # all parts are asked
    made = judged(grown if part is None else grown.members, change, said)
    if made is not None:
        grown = made if part is None else remade(grown, {part: made})
        answered = remade(model, {"grown_": grown}).predict_proba(np.zeros((2, 3)))
        assert np.allclose(answered.sum(axis=1), 1)


@pytest.mark.parametrize(("count", "said"), [(8e307, None), (1e308, "the counts of a node must have a sum")])
def test_the_counts_of_a_node_have_a_sum(count, said):
    rng = np.random.default_rng(0)
    model = po.BayesTree().fit(rng.normal(size=(60, 3)), np.arange(60) % 2)
    held = model.statistics_
    wide = dataclasses.replace(held.tree, counts=np.full_like(held.tree.counts, count))
    made = judged(held, {"tree": wide}, said)
    if made is not None:
        assert np.allclose(remade(model, {"statistics_": made}).predict_proba(np.zeros((2, 3))).sum(axis=1), 1)
