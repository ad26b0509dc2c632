"""Ridge logistic regression in folds: no slope is left where it ends, by the NumPy twin and on both instruction sets."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.kernels import ridge
from posteriori.kernels.reference.ridge import ridge_loss


@pytest.fixture(params=["best", "base"])
def instruction_set(request, monkeypatch):
    if request.param == "base":
        base = importlib.import_module("posteriori.kernels._base")
        monkeypatch.setattr(ridge, "native", lambda: base)


def task(n, f, K, seed):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(n, f)), rng.integers(0, K, n)
    C = 1 if K == 2 else K
    rows = [np.sort(rng.choice(n, max(1, n - n // 3), replace=False)) for _ in range(3)]
    charge = np.append(np.full(f, 0.5), 0.25)
    metric = 1.0 / (0.2 + np.tile(charge / n, (C, 1)))
    return Z, y, rng.random(n) + 0.1, rows, rng.normal(size=C), charge, metric, np.zeros((3, C, f + 1))


@pytest.mark.parametrize(("n", "f", "K"), [(40, 3, 2), (60, 17, 3), (30, 1, 2), (50, 0, 4), (20, 33, 5), (3, 2, 2)])
def test_the_end_has_no_slope(instruction_set, n, f, K):
    Z, y, w, rows, offset, charge, metric, B = task(n, f, K, n + f)
    loss = ridge.ridge_folds(Z, y, w, rows, offset, charge, metric, B, 500, 1e-16)
    for m, own in enumerate(rows):
        wanted, slope = ridge_loss(Z, y, w, own, offset, charge, B[m])
        assert loss[m] == pytest.approx(wanted, rel=1e-10)
        assert np.abs(slope).max() < 1e-6
        rng = np.random.default_rng(0)
        for _ in range(5):  # L is convex: this is the least of all
            near = B[m] + 0.1 * rng.normal(size=B[m].shape)
            assert ridge_loss(Z, y, w, own, offset, charge, near)[0] > wanted


@given(st.integers(2, 30), st.integers(0, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_every_step_goes_down(n, f, K, seed):
    Z, y, w, rows, offset, charge, metric, B = task(n, f, K, seed)
    before = np.inf
    for _ in range(4):
        loss = ridge.ridge_folds(Z, y, w, rows, offset, charge, metric, B, 1, 0.0)
        assert (loss <= before).all()
        before = loss


def test_slopes_of_the_twin_are_differences():
    Z, y, w, rows, offset, charge, _, B = task(20, 3, 3, 0)
    at = np.random.default_rng(0).normal(size=B[0].shape)
    slope = ridge_loss(Z, y, w, rows[0], offset, charge, at)[1]
    for c, j in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[c, j] = 1e-6
        up, down = (ridge_loss(Z, y, w, rows[0], offset, charge, at + s * step)[0] for s in (1, -1))
        assert slope[c, j] == pytest.approx((up - down) / 2e-6, abs=1e-7)


def test_threads_change_no_bit():
    one, three = (task(3000, 40, 3, 0) for _ in range(2))
    ridge.ridge_folds(*one, 20, 0.0, 1)
    ridge.ridge_folds(*three, 20, 0.0, 3)
    assert_array_equal(one[-1], three[-1])


def test_two_classes_are_two_rows_of_half_the_weight():
    Z, y, w, rows, _, _, _, _ = task(60, 4, 2, 1)
    ends = []
    for C, charge in ((1, 0.5), (2, 1.0)):
        B = np.zeros((3, C, 5))
        full = np.full(5, charge)
        ridge.ridge_folds(Z, y, w, rows, np.zeros(C), full, np.full((C, 5), 3.0), B, 500, 1e-16)
        ends.append(B[:, 0] if C == 1 else B[:, 1] - B[:, 0])
    assert_allclose(*ends, atol=1e-5)
