"""Weights of rows and classes: what is refused, what they multiply to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_class_weight

from posteriori.errors import BadParameter, BadValue, UnknownValue
from posteriori.table.weights import check_weights, class_weights, row_weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, np.nan, 1.0], "row 1.*NaN"),
        ([1.0, 1.0, np.inf], "row 2.*inf"),
        ([-1.0, 1.0, 1.0], "row 0.*negative"),
        ([0.0, 0.0, 0.0], "all sample weights are zero"),
        ([1e308, 1e308, 1e308], "overflows"),
        (["a", "b", "c"], "must be numbers"),
        ([1.0, 2.0], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([[1.0], [1.0], [1.0]], "1D array or scalar"),
        ([[1.0], [1.0, 2.0]], "1D array or scalar"),
        ([None, None, None], "must be numbers"),
        (1j, "must be numbers"),
    ],
)
def test_what_is_no_weight_is_named(weights, message):
    with pytest.raises(BadValue, match=message):
        check_weights(weights, 3)


def test_one_number_stands_for_all():
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    given = np.array([1.0, 2.0])
    checked = check_weights(given, 2)
    checked[0] = 7.0
    assert given[0] == 1.0  # the caller's weights stay the caller's


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_balanced_is_scikit_learns_and_weighs_classes_alike(y):
    classes, codes = np.unique(y, return_inverse=True)
    found = class_weights("balanced", classes, codes)
    np.testing.assert_allclose(found, compute_class_weight("balanced", classes=classes, y=np.array(y)))
    mass = np.bincount(codes, row_weights(None, "balanced", classes, codes))
    np.testing.assert_allclose(mass, mass[0])


def test_balanced_says_which_class_weighs_too_little():
    classes, codes = np.array(["ham", "spam"]), np.array([0, 1, 0, 1])
    with pytest.raises(BadValue, match=r"class 'ham' sum to 2e-300 of 1e\+300"):
        row_weights([1e-300, 1e300, 1e-300, 1e200], "balanced", classes, codes)


def test_balanced_holds_up_to_the_largest_weights():
    found = class_weights("balanced", np.array(["a", "b"]), np.array([0, 1]), np.array([9e307, 8e307]))
    np.testing.assert_allclose(found, [17 / 18, 17 / 16])


def test_balanced_counts_only_classes_that_weigh_something():
    classes, codes = np.array([0, 1, 2]), np.array([0, 0, 1, 2])
    w = np.array([1.0, 1.0, 4.0, 0.0])
    assert row_weights(w, "balanced", classes, codes).tolist() == [1.5, 1.5, 3.0, 0.0]


def test_a_dict_of_class_weights():
    classes, codes = np.array(["ham", "spam"]), np.array([0, 1, 1])
    assert class_weights({"spam": 3}, classes, codes).tolist() == [1.0, 3.0]
    assert class_weights(None, classes, codes).tolist() == [1.0, 1.0]
    assert row_weights(None, None, classes, codes) is None
    assert row_weights([1, 2, 0], {"spam": 3}, classes, codes).tolist() == [1.0, 6.0, 0.0]
    with pytest.raises(UnknownValue, match=r"'spma'; did you mean 'spam'"):
        class_weights({"spma": 3}, classes, codes)
    absent = {"ham": 1, "spam": 3, "scam": 9}  # a fold may lack a class
    assert class_weights(absent, classes, codes).tolist() == [1.0, 3.0]
    assert class_weights({"scam": 9}, classes, codes, known=["scam"]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wrong", ["even", 2.0, [1, 2], {"ham": -1}, {"ham": np.nan}, {"ham": "two"}, {"ham": None}])
def test_what_is_no_class_weight_is_named(wrong):
    with pytest.raises(BadParameter, match="class_weight"):
        class_weights(wrong, np.array(["ham", "spam"]), np.array([0, 1]))
