"""BernoulliNB is Π_j θ_yj^x_j (1 − θ_yj)^(1 − x_j), to the last zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import posteriori as po


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.5]))
def test_the_joint_is_the_product(form, seed, alpha):
    """Without smoothing, where θ is 0 or 1 for some cells, too: there a row is possible or not."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (6, 3)), np.array([0, 0, 0, 1, 1, 1])
    model = po.BernoulliNB(alpha=alpha, force_alpha=True).fit(form(X), y)
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    theta = np.array([(X[y == c].sum(axis=0) + alpha) / (3 + 2 * alpha) for c in (0, 1)])
    joint = 0.5 * np.prod(np.where(rows[:, None] == 1, theta, 1 - theta), axis=2)
    assert np.exp(model.predict_joint_log_proba(form(rows))) == pytest.approx(joint)


def test_every_feature_may_have_a_smoothing_of_its_own():
    """θ_yj = (N_yj + α_j)/(N_y + 2α_j)."""
    X, y, alpha = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 0]]), np.array([0, 0, 1]), np.array([0.5, 1.0, 2.0])
    model = po.BernoulliNB(alpha=alpha).fit(X, y)
    expected = [(X[y == c].sum(axis=0) + alpha) / ((y == c).sum() + 2 * alpha) for c in (0, 1)]
    assert np.exp(model.feature_log_prob_) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("cell", [-0.5, 2.5])
def test_without_a_threshold_cells_are_shares_sparse_or_not(form, cell):
    X, y = np.array([[0.5, 1.0], [0.0, 0.25], [1.0, 0.0]]), [0, 1, 0]
    po.BernoulliNB(binarize=None).fit(form(X), y)
    X[1, 0] = cell
    with pytest.raises(ValueError, match="between 0 and 1"):
        po.BernoulliNB(binarize=None).fit(form(X), y)
