"""What all densities share: counts that are drawn, information by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.bayes.densities import MOST, drawn_counts, mutual_information
from posteriori.errors import BadValue


def test_counts_are_drawn_about_their_means_as_far_as_they_can_be_counted():
    rng = np.random.default_rng(0)
    found = drawn_counts(np.array([0.0, 3.0, 1e6, MOST]), rng)
    assert found[0] == 0
    assert abs(found[2] - 1e6) < 1e4
    assert abs(found[3] / MOST - 1) < 1e-6
    with pytest.raises(BadValue, match="means up to 1e"):
        drawn_counts(np.array([1.0, 2 * MOST]), rng)


@given(arrays(np.float64, (3, 2), elements=st.sampled_from([0.0, 0.5, 1.0, 7.0])))
def test_information_is_what_joining_saves(joint):
    """I = H(X) + H(Y) − H(X, Y)."""

    def entropy(p):
        p = p[p > 0] / joint.sum()
        return -(p * np.log(p)).sum()

    found = mutual_information(joint)
    if joint.sum() == 0:
        assert found == 0.0
    else:
        wanted = entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel())
        assert found == pytest.approx(wanted, abs=1e-12)
        assert found >= 0
