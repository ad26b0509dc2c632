"""The error of a mean over chains, and whether they agree."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.network.sampling import batch_error


def test_chains_that_differ_are_told():
    """R̂ = √((B − 1)/B + between/within) over B batches a chain."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4, 10, 2)) + np.array([0.0, 1.0])[None, None] * np.arange(4)[:, None, None]
    mean, error, r_hat = batch_error(means)
    within, between = means.var(axis=1, ddof=1).mean(axis=0), means.mean(axis=1).var(axis=0, ddof=1)
    assert mean == pytest.approx(means.mean(axis=(0, 1)))
    assert r_hat == pytest.approx(np.sqrt(0.9 + between / within))
    assert r_hat[1] > 1.5 > r_hat[0]
    assert (error > 0).all()


def test_independent_batches_have_the_error_of_a_mean():
    means = np.random.default_rng(1).normal(size=(4, 500, 1))
    assert batch_error(means)[1] == pytest.approx([1 / np.sqrt(2000)], rel=0.25)
