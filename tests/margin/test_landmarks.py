"""Landmarks: the kernel by its formula, and products that are the kernel's own between landmarks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.margin.landmarks import Landmarks


def kernel(A, B, v):
    return np.exp(-np.square(A[:, None] - B[None]).sum(axis=2) / v)


@settings(max_examples=40)
@given(st.integers(1, 5), st.floats(0.1, 100), st.integers(1, 30), st.integers(0, 100))
def test_products_are_the_kernel_between_landmarks_and_no_more_elsewhere(size, v, m, seed):
    rng = np.random.default_rng(seed)
    marks = Landmarks.draw(rng.normal(size=(m, size)), v)
    Z = rng.normal(size=(6, size))
    assert_allclose(marks(Z), kernel(Z, marks.at, v), atol=1e-13)
    turn = marks.axes()
    phi = marks(marks.at) @ turn
    assert_allclose(phi @ phi.T, kernel(marks.at, marks.at, v), atol=1e-4)  # but for directions that are rounding
    away = marks(Z) @ turn
    assert (np.square(away).sum(axis=1) <= 1 + 1e-9).all()  # k(z, z) = 1
    left = kernel(Z, Z, v) - away @ away.T  # what the landmarks do not span is a kernel too
    assert np.linalg.eigvalsh(left).min() > -1e-6


def test_a_point_that_stands_twice_is_one_landmark():
    rows = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    marks = Landmarks.draw(rows, 3.0)
    assert_array_equal(marks.at, [[0.0, 5.0], [1.0, 2.0]])
    assert marks.at.dtype == np.float32
    assert_array_equal(Landmarks.draw(rows[::-1], 3.0).at, marks.at)
    assert marks.v == 3.0
    assert marks.axes().shape == (2, 2)


def test_points_that_do_not_differ_are_one():
    marks = Landmarks.draw(np.zeros((4, 3)), 0.0)
    assert_array_equal(marks(np.zeros((2, 3))), np.ones((2, 1)))
    assert_allclose(np.abs(marks.axes()), [[1.0]])


def test_a_point_never_lies_nearer_than_itself():
    """‖z‖² + ‖l‖² − 2 zᵀl may round below zero."""
    Z = np.random.default_rng(0).normal(size=(50, 40)) * 1e4
    found = Landmarks(Z, 1e-9)(Z)  # of doubles, which are themselves
    assert found.max() <= 1.0
