"""Folds: every row tested once, classes and sizes even, the same for a seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.decision.folds import Stratified, stratified


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.integers(2, 12), st.integers(0, 9))
def test_folds_differ_by_at_most_one_row_in_all_and_in_every_class(y, k, seed):
    y = np.array(y)
    k = min(k, len(y))
    fold = stratified(y, k, seed)
    sizes = np.bincount(fold, minlength=k)
    assert sizes.max() - sizes.min() <= 1
    for c in np.unique(y):
        of_class = np.bincount(fold[y == c], minlength=k)
        assert of_class.max() - of_class.min() <= 1
    assert np.array_equal(fold, stratified(y, k, seed))


def test_a_splitter_takes_classes_of_one_row():
    y = np.array(["a", "a", "a", "b"])
    parts = list(Stratified(3, 0).split(np.zeros((4, 1)), y))
    assert len(parts) == 3
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == [0, 1, 2, 3]
    assert all(set(train) | set(test) == {0, 1, 2, 3} for train, test in parts)


@pytest.mark.parametrize("seed", [0, 1])
def test_another_seed_deals_otherwise(seed):
    y = np.zeros(50, dtype=int)
    assert not np.array_equal(stratified(y, 5, seed), stratified(y, 5, seed + 1))


def test_a_generator_goes_on_from_where_it_is():
    """What models draw after the folds is the same whether a seed or its generator dealt them."""
    y, rng = np.arange(40) % 3, np.random.default_rng(7)
    assert np.array_equal(stratified(y, 5, rng), stratified(y, 5, 7))
    assert not np.array_equal(stratified(y, 5, rng), stratified(y, 5, 7))
