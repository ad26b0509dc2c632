"""A super-parent takes part from `min_frequency` rows on."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.choice(list("pqr"), (50, 3)).astype(object)
    X[:, 0] = ["rare"] * 4 + ["usual"] * 46
    return X, rng.integers(0, 2, 50)


def test_a_value_of_just_so_many_rows_is_a_parent(table):
    X, y = table
    row = X[:1]
    at, below, above = (po.AODE(min_frequency=m).fit(X, y).predict_log_proba(row) for m in (4, 3.5, 4.5))
    assert np.array_equal(at, below)
    assert not np.allclose(at, above)
