"""The risk of a network: enumerated, and sampled with the error that it has."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.network.numbers import Numbers
from posteriori.network.risk import sampled_risk
from posteriori.network.weighting import forward_sample


@pytest.mark.parametrize("draws", [2, 3, 10])
def test_the_standard_error_is_that_of_a_mean(draws):
    """s/√n with s² = Σ (x − x̄)²/(n − 1), of the risks of the very cases that are drawn."""
    model = Numbers.of([2, 3], [(), (0,)], [[0.6, 0.4], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]])
    joint = np.array([0.6, 0.4])[:, None] * np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    of_case = 1 - joint.max(axis=0) / joint.sum(axis=0)
    risks = of_case[forward_sample(model, draws, 5)[:, 1]]
    mean, error = sampled_risk(model, 0, 1 - np.eye(2), draws=draws, random_state=5)
    assert mean == pytest.approx(risks.mean())
    assert error == pytest.approx(risks.std(ddof=1) / np.sqrt(draws))
