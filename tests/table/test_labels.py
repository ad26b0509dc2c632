"""Labels become codes; what is no label is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from posteriori.errors import BadParameter, BadValue, UnknownValue
from posteriori.table.labels import encode_labels, hidden_labels

values = st.one_of(
    st.lists(st.integers(-(2**40), 2**40), min_size=1),
    st.lists(st.integers(0, 5), min_size=1),
    st.lists(st.booleans(), min_size=1),
    st.lists(st.text(), min_size=1),
    st.lists(st.integers(-50, 50).map(float), min_size=1),
)


@given(values, st.booleans())
def test_codes_point_to_sorted_classes(labels: list[Any], as_objects: bool) -> None:
    y = np.array(labels, dtype=object) if as_objects else np.array(labels)
    classes, codes = encode_labels(y)
    expected = np.unique(y)
    assert_array_equal(classes, expected)
    assert classes.dtype == y.dtype
    assert_array_equal(classes[codes], y)
    assert codes.dtype == np.uint8
    assert_array_equal(encode_labels(y, classes)[1], codes)


def test_many_classes_take_wider_codes() -> None:
    assert encode_labels(np.arange(300))[1].dtype == np.uint16
    assert encode_labels(np.arange(70_000))[1].dtype == np.uint32
    assert encode_labels([str(i) for i in range(300)])[1].dtype == np.uint16
    assert encode_labels(np.array([], dtype=int))[0].shape == (0,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.5, 2.0], "Unknown label type: continuous"),
        (np.array([1.5, 2], dtype=object), "Unknown label type: continuous"),
        ([np.nan, 1.0], "contains NaN .first in row 0."),
        ([1.0, np.inf], "infinity"),
        (np.array(["a", None], dtype=object), "contains NaN .None in row 1."),
        (np.array(["a", np.nan], dtype=object), "contains NaN"),
        (np.array(["a", 1], dtype=object), "mix 'int', 'str'"),
        (np.array([[1], [2, 3]], dtype=object), "Unknown label type"),
        (np.array([1 + 2j]), "Complex data not supported"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "Unknown label type"),
        (None, "requires y to be passed"),
    ],
)
def test_what_is_no_label_is_refused(y: Any, message: str) -> None:
    with pytest.raises(BadValue, match=message):
        encode_labels(y)


def test_shapes_and_bytes() -> None:
    with pytest.warns(DataConversionWarning):
        assert encode_labels(np.array([[1], [2]]))[1].tolist() == [0, 1]
    with pytest.raises(ValueError, match="1d array"):
        encode_labels([[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="bytes"):
        encode_labels(np.array([b"a"]))


def test_labels_outside_the_classes_are_named() -> None:
    with pytest.raises(UnknownValue, match=r"label\(s\) \[7\] in y do not exist in the initial classes \[1 2\]"):
        encode_labels([1, 7], np.array([1, 2]))
    with pytest.raises(UnknownValue, match="do not exist"):
        encode_labels(["a"], np.array([1, 2]))
    assert encode_labels([2], np.array([1, 2, 3]))[1].tolist() == [1]


def test_floats_are_whole_numbers_up_to_two_to_the_62():
    assert encode_labels(np.array([2.0**61, 1.0]))[0].tolist() == [1, 2**61]
    for label in (2.0**62, -(2.0**62), 2.0**62.5):
        with pytest.raises(BadValue):
            encode_labels(np.array([label, 1.0]))


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["a", "b"], ["a", "b"], [0, 1]),
        (["b", "b"], ["a", "b"], [1, 1]),
        ([2, 1], [0, 1, 2], [2, 1]),
        ([1.0, 2.0], [1, 2], [0, 1]),
        (["a", "c"], ["a", "b"], None),  # as many as there are, and others
        (["c"], ["a", "b"], None),
        ([3], [1, 2], None),
        (["1"], [1, 2], None),
        ([1], ["1", "2"], None),
    ],
)
def test_labels_among_known_classes(y, classes, codes):
    classes = np.array(classes)
    if codes is None:
        with pytest.raises(UnknownValue, match="in y do not exist in the initial classes"):
            encode_labels(y, classes)
    else:
        known, found = encode_labels(y, classes)
        assert known is classes
        assert found.tolist() == codes


@pytest.mark.parametrize("marks", [[-1], np.array([-1]), {-1}, {-1: 0}, ([-1],), (None, np.array([0]))])
def test_a_mark_that_can_be_no_label_is_refused(marks: Any) -> None:
    with pytest.raises(BadParameter, match="a label, or a tuple of labels"):
        hidden_labels([0, 1, -1], marks)
    assert hidden_labels([0, 1, -1], (-1, None))[1].tolist() == [False, False, True]


@pytest.mark.parametrize("values", [[0, 3, 1], [True, False, True], [0.5, 1.0, 2.0], ["a", "b", "c"], [1, "b", 2.5]])
def test_a_missing_mark_leaves_the_type_of_the_labels(values):
    y = np.array([*values, None], dtype=object)
    labels, hidden = hidden_labels(y, None)
    assert hidden.tolist() == [False] * 3 + [True]
    assert labels[:3].tolist() == values
    assert [type(v) for v in labels[:3].tolist()] == [type(v) for v in values]
    numbers = len({type(v) for v in values}) == 1 and not isinstance(values[0], str)
    assert (labels.dtype == object) == (not numbers)  # as scikit-learn's metrics ask of classes_
