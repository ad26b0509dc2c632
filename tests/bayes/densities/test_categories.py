"""Categories of a sparse table: the joint is the product of its cells, to the last zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import posteriori as po


@given(seed=st.integers(0, 2**32 - 1), smoothing=st.sampled_from([0.0, 0.5]))
def test_a_sparse_table_has_the_joint_of_a_dense_one(seed, smoothing):
    """Without smoothing a cell may be impossible: one such cell of a row is enough."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (6, 3)), np.array([0, 0, 0, 1, 1, 1])
    X[0] = 1 - X[3]  # both values of every column are known
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    theta = np.array([(X[y == c].sum(axis=0) + smoothing) / (3 + 2 * smoothing) for c in (0, 1)])
    joint = 0.5 * np.prod(np.where(rows[:, None] == 1, theta, 1 - theta), axis=2)
    model = po.NaiveBayes(smoothing=smoothing, kinds="binary").fit(sparse.csr_matrix(X == 1), y)
    assert np.exp(model.predict_joint_log_proba(sparse.csr_matrix(rows == 1))) == pytest.approx(joint)
