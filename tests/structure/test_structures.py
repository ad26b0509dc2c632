"""Who depends on whom, and who comes first among equals."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from posteriori.structure.structures import by_information, kdb

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
