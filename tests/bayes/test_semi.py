"""What the semi-naive models share: numbers in bins, and the way back from a bin to a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes.semi import _from_bins, _from_values, _told
from posteriori.errors import ModelError


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6, unique=True).map(sorted), st.integers(0, 99))
def test_a_number_that_is_drawn_lies_in_its_bin(cut, seed):
    cut = np.array(cut)
    codes = np.random.default_rng(seed).integers(0, len(cut) + 1, 50)
    drawn = _from_bins(codes, cut, np.random.default_rng(seed))
    width = np.diff(cut).mean() if len(cut) > 1 else max(abs(cut[0]), 1.0)
    edges = np.concatenate([[cut[0] - width], cut, [cut[-1] + width]])  # the outer bins are as wide as the usual one
    assert (edges[codes] <= drawn).all()
    assert (drawn <= edges[codes + 1]).all()
    inner = drawn[(codes > 0) & (codes < len(cut))]
    assert (inner >= cut[0]).all()
    assert (inner <= cut[-1]).all()


def test_draws_fill_their_bin():
    drawn = _from_bins(np.full(4000, 1), np.array([2.0, 6.0]), np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(4, abs=0.1)
    assert np.ptp(drawn) > 3.9
    assert _from_bins(np.zeros(3, int), np.zeros(0), np.random.default_rng(0)).tolist() == [0, 0, 0]


def test_codes_become_values_again():
    assert _from_values(np.array([1, 0, 1]), ("a", 2)).tolist() == [2, "a", 2]
    assert _from_values(np.array([0, 0]), ()).tolist() == [None, None]


@pytest.mark.parametrize("cuts", [[2, 1], [1, 1], [0, np.nan], [np.inf], ["a"], [[1, 2]], 3])
def test_cuts_that_are_told_rise(cuts):
    with pytest.raises(ModelError, match="'z': cuts must be finite numbers in rising order"):
        _told("z", cuts)
    assert _told("z", [1, 2]).tolist() == [1, 2]
    assert _told("z", []).tolist() == []


def test_a_model_s_sample_has_its_kinds():
    X = {"sky": ["a", "b", "b", "a"] * 5, "wind": [1.0, 5.0, 6.0, 2.0] * 5}
    model = po.TAN(cuts={"wind": [3.5]}).fit(X, [0, 1, 1, 0] * 5)
    rows, y = model.sample(50, random_state=0)
    assert set(rows["sky"]) <= {"a", "b"}
    assert ((rows["wind"] >= 0) & (rows["wind"] <= 7)).all()
    assert set(y) <= {0, 1}
