"""All statistics of a table as one value."""

from __future__ import annotations

from dataclasses import replace

import pytest

import posteriori as po
from posteriori.errors import NotLearned

X = {"sky": ["a", "b", "b", "a", "c"], "wind": [1.0, 5.0, 6.0, 2.0, 2.5]}
WHOLE = po.NaiveBayes().fit(X, [0, 1, 1, 0, 0]).statistics_
PART = po.NaiveBayes().fit({name: cells[:2] for name, cells in X.items()}, [0, 1]).statistics_
BARE = replace(PART, sample=None)


def test_a_sample_is_kept_where_both_have_one():
    assert WHOLE.sample is not None
    assert (WHOLE + PART).sample == WHOLE.sample + PART.sample
    assert (WHOLE - PART).sample == WHOLE.sample - PART.sample
    for one in (WHOLE + BARE, BARE + WHOLE, WHOLE - BARE, replace(WHOLE, sample=None) - PART):
        assert one.sample is None


def test_what_was_scaled_is_not_forgotten():
    assert (WHOLE.scaled(0.5) + PART).decayed
    assert (PART + WHOLE.scaled(0.5)).decayed
    assert not (WHOLE + PART).decayed
    for a, b in ((WHOLE.scaled(0.5), PART), (WHOLE, PART.scaled(0.5))):
        with pytest.raises(NotLearned, match="after decay"):
            a - b
