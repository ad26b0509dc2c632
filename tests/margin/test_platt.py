"""Platt's sigmoid is the maximum of its likelihood under Platt's targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from posteriori.margin.platt import fit_sigmoid, sigmoid


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_fit_is_stationary_under_platts_targets(seed, weighted):
    """Σ w (t − p) = 0 and Σ w f (t − p) = 0 with t = (N₊+1)/(N₊+2) and 1/(N₋+2)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    positive = np.arange(n) % 3 == 0
    scores = rng.normal(size=n) + positive
    weight = rng.uniform(0.5, 2, n) if weighted else None
    w = np.ones(n) if weight is None else weight
    plus, minus = w[positive].sum(), w[~positive].sum()
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))
    p = sigmoid(scores, *fit_sigmoid(scores, positive, weight))
    assert abs(w @ (target - p)) < 1e-4
    assert abs(w @ (scores * (target - p))) < 1e-4


def test_separable_scores_keep_a_finite_slope():
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    positive = scores > 0
    A, B = fit_sigmoid(scores, positive)
    target = np.where(positive, 3 / 4, 1 / 4)

    def loss(x):
        z = x[0] * scores + x[1]
        return (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z)).sum()

    found = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert pytest.approx(found.x, abs=1e-4) == [A, B]
