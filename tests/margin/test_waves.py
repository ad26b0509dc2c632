"""Waves: their mean product is the kernel, by its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from posteriori.margin.waves import WAVES, Waves


@settings(max_examples=20)
@given(st.integers(1, 5), st.floats(0.1, 10), st.integers(0, 100))
def test_the_mean_product_is_the_kernel(size, v, seed):
    rng = np.random.default_rng(seed)
    waves = Waves.draw(size, v, rng, 20_000)
    Z = rng.normal(size=(6, size))
    found = waves(Z) @ waves(Z).T / 20_000
    gaps = np.square(Z[:, None] - Z[None]).sum(axis=2)
    assert np.abs(found - np.exp(-gaps / v)).max() < 0.06


def test_points_that_do_not_differ_have_one_wave_each():
    waves = Waves.draw(3, 0.0, np.random.default_rng(0))
    assert waves.omega.shape == (3, WAVES)
    found = waves(np.random.default_rng(1).normal(size=(4, 3)))
    assert_array_equal(found, np.broadcast_to(found[0], found.shape))
    assert np.abs(found).max() <= np.sqrt(2) + 1e-12


def test_the_same_stream_gives_the_same_waves():
    one, other = (Waves.draw(2, 1.0, np.random.default_rng(4)) for _ in range(2))
    assert_array_equal(one.omega, other.omega)
    assert one.phase.min() >= 0
    assert one.phase.max() <= 2 * np.pi
    assert one.omega.std() == pytest.approx(np.sqrt(2), rel=0.1)
