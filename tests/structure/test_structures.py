"""Who depends on whom, and who comes first among equals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.structure.structures import by_information, kdb, tree

levels = st.integers(0, 2).map(lambda v: v / 4)


@given(st.lists(levels, max_size=7))
def test_the_order_falls_and_of_equals_the_lower_comes_first(information):
    order = by_information(np.array(information))
    assert order == sorted(range(len(information)), key=lambda j: (-information[j], j))


@given(st.lists(levels, min_size=1, max_size=6), st.integers(0, 3), st.data())
def test_parents_come_before_the_strongest_first_and_of_equals_the_lower(information, k, data):
    d = len(information)
    cells = data.draw(st.lists(levels, min_size=d * d, max_size=d * d))
    strength = np.array(cells).reshape(d, d)
    strength = strength + strength.T
    barred = data.draw(st.integers(0, d - 1))
    strength[barred, 0] = strength[0, barred] = -np.inf
    order = by_information(np.array(information))
    for i, parents in enumerate(kdb(np.array(information), strength, k).parents):
        before = [j for j in order[: order.index(i)] if strength[i, j] > -np.inf]
        assert list(parents) == sorted(before, key=lambda j: (-strength[i, j], j))[:k]


def test_rounding_makes_no_order():
    assert by_information(np.array([0.1 + 1e-15, 0.1, 0.1 + 2e-15])) == [0, 1, 2]
    even = np.full((3, 3), 0.2) + np.arange(9).reshape(3, 3) * 1e-16
    assert kdb(np.array([0.3, 0.2, 0.1]), even, 1).parents == ((), (0,), (0,))


@pytest.mark.parametrize("seed", range(20))
def test_whichever_attribute_is_the_root_the_tree_is_the_same(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    weight = rng.random((d, d))
    weight = weight + weight.T
    skeletons = set()
    for root in range(d):
        parents = tree(weight, [root, *(j for j in range(d) if j != root)]).parents
        assert parents[root] == ()
        assert all(len(p) == 1 for j, p in enumerate(parents) if j != root)
        skeletons.add(frozenset(frozenset((j, *p)) for j, p in enumerate(parents) if p))
    assert len(skeletons) == 1
