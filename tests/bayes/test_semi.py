"""What the semi-naive models share: numbers in bins, and the way back to values."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.semi import _from_values, _told
from posteriori.errors import ModelError


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
