"""Lazy AODE is AODE: the same parents take part, in prediction and in drawing."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.lazy import RowStore
from posteriori.errors import NotLearned


def test_a_rare_value_is_no_parent_of_a_draw():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 3)) < 0.5, "p", "q").astype(object)
    y = rng.integers(0, 2, 200)
    X[:4, 0] = "rare"
    for lazy in (False, True):
        rows, _ = po.AODE(lazy=lazy, min_frequency=30).fit(X, y).sample(2000, random_state=1)
        assert (np.asarray(rows)[:, 0] == "rare").mean() < 0.06  # as a parent it would be drawn as often as the others


def test_a_store_of_rows_adds_and_takes_away():
    a, b = (
        RowStore.of(np.array(rows, np.uint32), np.array(w)) for rows, w in [([[0, 1], [0, 1]], [1, 2]), ([[0, 0]], [2])]
    )
    both = a + b
    assert (both.rows.tolist(), both.weight.tolist()) == ([[0, 0], [0, 1]], [2, 3])
    left = both - b
    assert (left.rows.tolist(), left.weight.tolist()) == (a.rows.tolist(), a.weight.tolist())
    assert a.scaled(2.5).weight.tolist() == [7.5]
    with pytest.raises(NotLearned):
        a - b
