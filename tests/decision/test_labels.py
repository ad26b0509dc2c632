"""Labels keep the type they came in, and a mixture keeps each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.decision.labels import joined, united

plain = st.one_of(st.integers(-9, 9), st.text("abc", min_size=1, max_size=3), st.floats(-2, 2))


@given(st.lists(st.integers(-9, 9), unique=True, max_size=4), st.lists(plain, unique=True, max_size=3))
def test_a_label_stays_what_it_was(labels, further):
    both = joined(np.array(labels, dtype=np.int64), further)
    assert both[: len(labels)].tolist() == labels
    assert set(both[len(labels) :].tolist()) == set(further)


@pytest.mark.parametrize(
    ("labels", "further", "kind"),
    [
        ([0, 1], [2], "i"),
        ([0, 1], [0.5], "f"),
        (["no"], ["reject"], "U"),
        ([0, 1], ["reject"], "O"),
        (["no"], [-1], "O"),
    ],
)
def test_numbers_stay_numbers_and_text_stays_text(labels, further, kind):
    both = joined(np.array(labels), further)
    assert both.dtype.kind == kind
    assert both.tolist() == [*labels, *further]


def test_united_labels_keep_the_type_that_they_share():
    assert united(["b", "a"], ["c"]).dtype.kind == "U"
    assert united([2, 1], [3.5]).dtype.kind == "f"
    assert {type(label) for label in united([1], ["a"]).tolist()} == {int, str}  # a number does not become a word
