"""What trees in a file must hold: kernels walk them without looking."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelFileError
from posteriori.kernels.trees import Trees
from posteriori.store.forms import form_of


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
