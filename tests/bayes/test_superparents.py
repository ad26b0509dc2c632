"""Tables of super-parents: the places of values, and when a value is frequent enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.bayes.superparents import Places, reaches


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_every_value_of_every_column_has_one_place(sizes):
    places = Places(sizes)
    told = [(j, v) for j, size in enumerate(sizes) for v in range(size)]
    assert len(places) == len(told) == sum(sizes)
    assert list(zip(places.column.tolist(), places.value.tolist())) == told
    assert [places.first[j] + v for j, v in told] == list(range(len(told)))


@pytest.mark.parametrize("least", [1, 30, 0.3, 1e6])
def test_as_many_rows_as_asked_are_enough_however_their_weights_are_summed(least):
    """Ten weights of a tenth may sum to a last digit less than one."""
    summed = np.array([least * (1 - 1e-12), least, least * (1 + 1e-12)])
    assert reaches(summed, least).all()
    assert not reaches(np.array([0.0, least * (1 - 1e-7), least - min(0.5, least / 2)]), least).any()
    assert reaches(np.add.accumulate(np.full(10, least / 10))[-1:], least).all()
