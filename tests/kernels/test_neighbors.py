"""The compiled searches against their NumPy twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori import kernels
from posteriori.kernels import neighbors as native
from posteriori.neighbors.kdtree import KDTree, Products

from .conftest import use
from .reference import neighbors as reference

METRICS = [("euclidean", 2.0), ("manhattan", 1.0), ("chebyshev", 2.0), ("minkowski", 3.0), ("minkowski", 1.5)]


def built(X, scale, leaf_size, n_jobs=None):
    return native.Flat(*kernels.kdtree_build(X, scale, leaf_size, n_jobs))


def points(kind: str, n: int, d: int, dtype: type, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) if kind == "normal" else rng.integers(0, 3, (n, d))
    return np.ascontiguousarray(rows, dtype=dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["normal", "grid"])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 11, 16, 40])
@pytest.mark.parametrize("n", [1, 7, 300, 5000])
def test_tree_and_products_are_the_reference(n, d, kind, dtype):
    X = points(kind, n, d, dtype, seed=n + d)
    Q = np.concatenate([X[:15], points(kind, 15, d, dtype, seed=1)])
    exact = (X.astype(np.float64), Q.astype(np.float64))
    tolerance = 1e-12 if dtype == np.float64 else 2e-6
    lo, hi, finite = kernels.column_bounds(X)
    assert finite
    assert np.array_equal(lo, X.min(axis=0))
    assert np.array_equal(hi, X.max(axis=0))
    for leaf_size in (16, 100):
        flat = built(X, 1.0, leaf_size)
        assert np.array_equal(np.sort(flat.ids[flat.ids < n]), np.arange(n))
        for k in sorted({1, min(n, 10), min(n, 100)}):
            for metric, p in METRICS if n <= 300 else METRICS[:1]:
                distance, index = kernels.kdtree_nearest(flat, leaf_size, Q, k, metric, p)
                wanted, rows = reference.nearest(*exact, k, metric, p)
                np.testing.assert_allclose(distance, wanted, rtol=tolerance, atol=1e-300)
                if kind == "grid" and metric != "minkowski":  # whole numbers: no rounding, so ties are ties
                    assert np.array_equal(index, rows)
            by_tree = kernels.kdtree_nearest(flat, leaf_size, Q, k, "euclidean", 2.0)
            by_products = kernels.brute_nearest(X, native.Panel(*kernels.brute_panel(X, lo, hi)), Q, k)
            assert np.array_equal(by_tree[0], by_products[0])
            assert np.array_equal(by_tree[1], by_products[1])


@pytest.mark.parametrize(("metric", "p"), METRICS)
def test_within_is_the_reference(metric, p):
    X, Q = points("grid", 400, 3, np.float64, 0), points("grid", 30, 3, np.float64, 1)
    radius = np.linspace(-1, 3, 30) + 0.1
    radius[::3] = np.arange(10) % 4  # as far as some points of the grid lie, which are then inside
    start, index, distance = kernels.kdtree_within(built(X, 1.0, 16), 16, Q, radius, metric, p)
    wanted_start, wanted, far = reference.within(X, Q, radius, metric, p)
    assert np.array_equal(start, wanted_start)
    assert np.array_equal(kernels.kdtree_count(built(X, 1.0, 16), 16, Q, radius, metric, p), np.diff(start))
    for i in range(30):
        mine, theirs = slice(start[i], start[i + 1]), slice(wanted_start[i], wanted_start[i + 1])
        order = np.argsort(index[mine])
        assert np.array_equal(index[mine][order], wanted[theirs])
        np.testing.assert_allclose(distance[mine][order], far[theirs], rtol=1e-12)


def test_threads_change_nothing():
    X, Q = points("normal", 30_000, 4, np.float64, 0), points("normal", 3000, 4, np.float64, 1)
    one, two = built(X, 1.0, 32, 1), built(X, 1.0, 32, 2)
    for a, b in zip(one, two):
        assert np.array_equal(a, b)
    for a, b in zip(
        kernels.kdtree_nearest(one, 32, Q, 7, "euclidean", 2.0, n_jobs=1),
        kernels.kdtree_nearest(one, 32, Q, 7, "euclidean", 2.0, n_jobs=2),
    ):
        assert np.array_equal(a, b)


def test_skip_leaves_a_row_out():
    X = points("grid", 500, 2, np.float64, 3)
    skip = np.arange(500, dtype=np.int32)
    flat, (lo, hi, _) = built(X, 1.0, 16), kernels.column_bounds(X)
    wanted = reference.nearest(X, X, 80, skip=skip.astype(np.int64))
    for k in (5, 80):
        for found in (
            kernels.kdtree_nearest(flat, 16, X, k, "euclidean", 2.0, skip),
            kernels.brute_nearest(X, native.Panel(*kernels.brute_panel(X, lo, hi)), X, k, skip),
        ):
            assert np.array_equal(found[1], wanted[1][:, :k])


def test_bounds_sees_what_is_not_finite():
    for bad in (np.nan, np.inf, -np.inf):
        X = np.zeros((70_000, 2))
        X[69_999, 1] = bad
        assert not kernels.column_bounds(X)[2]


def test_base_instruction_set_agrees():
    X, Q = points("normal", 2000, 6, np.float64, 0), points("normal", 50, 6, np.float64, 1)
    fast = kernels.kdtree_nearest(built(X, 1.0, 32), 32, Q, 9, "euclidean", 2.0)
    use("_base")
    flat, (lo, hi, _) = built(X, 1.0, 32), kernels.column_bounds(X)
    for slow in (
        kernels.kdtree_nearest(flat, 32, Q, 9, "euclidean", 2.0),
        kernels.brute_nearest(X, native.Panel(*kernels.brute_panel(X, lo, hi)), Q, 9),
    ):
        np.testing.assert_allclose(slow[0], fast[0], rtol=1e-14)
        assert np.array_equal(slow[1], fast[1])
    use(kernels.native.__name__.split(".")[-1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("in_points", [True, False])
def test_differences_whose_squares_are_lost_are_found_again(dtype, in_points):
    """Beside points of ordinary size, one (a point or a query) that is not the origin although its square is nothing."""
    tiny = dtype(1e-200 if dtype is np.float64 else 1e-30)
    points = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, tiny if in_points else 0.0]], dtype=dtype)
    query = np.array([[0.0, 0.0 if in_points else tiny]], dtype=dtype)
    for engine in (KDTree(points), Products(points, 1)):
        found = engine.query(query, 3) if isinstance(engine, KDTree) else engine.query(query, 3, None, 1)
        wanted = np.array([0.0, tiny, np.sqrt(5)] if in_points else [tiny, tiny, np.sqrt(5)], dtype=dtype)
        np.testing.assert_allclose(found[0][0], wanted, rtol=1e-6)
        assert found[1][0].tolist() == [1, 2, 0]


@given(st.floats(-1e3, 1e3), st.integers(-3, 3), st.sampled_from([np.float64, np.float32]))
def test_cells_that_are_not_fine_differ_by_what_has_a_square(a, steps, dtype):
    with np.errstate(under="ignore"):
        a = b = dtype(a)
        for _ in range(abs(steps)):
            b = np.nextafter(b, dtype(np.inf if steps > 0 else -np.inf))
        if not native.fine(np.array([[a, b]], dtype=dtype)):
            assert (a == b) == ((a - b) * (a - b) == 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 3])
def test_scaled_points_have_squares(dtype, d):
    """Of any extent, and however far from zero: a power of two, 1 for numbers of an ordinary size."""
    info = np.finfo(dtype)
    for size in (0.0, 1e-3, 1.0, 1e3, info.smallest_subnormal, info.tiny, info.max / 2, info.max, 1e-20, 1e20, 1e30):
        for low in (0.0, -size):
            lo, hi = np.full(d, low, dtype), np.full(d, size, dtype)
            scale = native.scale_for(lo, hi)
            assert math.frexp(scale)[0] == 0.5
            assert np.isfinite(dtype(scale))
            assert dtype(scale) > 0
            if 1e-3 <= size <= 1e3 or size == 0:
                assert scale == 1.0
            extent = float(hi[0]) / 2 - float(lo[0]) / 2
            wide = d * (dtype(extent) * dtype(scale)) ** 2
            assert np.isfinite(wide * 4)
            assert wide > 0 or extent == 0 or size == info.smallest_subnormal
    far = dtype(2.0 ** (401 if dtype is np.float64 else 49))  # all in one place, so far out that its square is lost
    assert native.scale_for(np.full(d, far), np.full(d, far)) < 1.0
    assert native.scale_for(np.full(d, -far), np.full(d, -far)) < 1.0
    assert native.scale_for(np.zeros(0, dtype), np.zeros(0, dtype)) == 1.0


@pytest.mark.parametrize(("dtype", "power"), [(np.float64, 480), (np.float32, 55)])
def test_queries_too_far_for_a_square(dtype, power):
    limit = dtype(2.0**power)
    near = np.array([[0.0, limit], [-limit, 1.0]], dtype)
    assert native.too_far(near, 1.0) is None
    assert native.too_far(near[:0], 1.0) is None
    beyond = near.copy()
    beyond[1, 0] = np.nextafter(-limit, dtype(-np.inf))
    assert native.too_far(beyond, 1.0).tolist() == [False, True]
    assert native.too_far(near, 2.0).tolist() == [True, True]
    assert native.too_far(beyond, 0.5) is None
    least = 2.0**-900 if dtype is np.float64 else 2.0**-120
    assert native.too_far(np.array([[np.finfo(dtype).max]]), least) is None  # no number is beyond


@pytest.mark.parametrize(("dtype", "power"), [(np.float64, -420), (np.float32, -25)])
def test_cells_are_fine_below_a_limit_and_zero_is_not(dtype, power):
    limit = dtype(2.0**power)
    for sign in (1, -1):
        assert not native.fine(np.array([[0.0, sign * limit]], dtype))
        assert native.fine(np.array([[1.0, sign * np.nextafter(limit, dtype(0))]], dtype))
    long = np.ones((9000, 1), dtype)
    assert not native.fine(long)
    for place in (0, 4095, 4096, 8999):
        some = long.copy()
        some[place] = limit / 2
        assert native.fine(some)


@pytest.mark.parametrize(("metric", "p"), METRICS)
@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_differences_are_distances_at_any_size(metric, p, size):
    X, q = points("grid", 9, 3, np.float64, 0) * size, points("grid", 1, 3, np.float64, 1)[0] * size
    wanted = reference.distances(X / size, q[None] / size, metric, p)[0] * size
    np.testing.assert_allclose(native.differences(X, q, metric, p), wanted, rtol=1e-12)
    with np.errstate(over="ignore"):
        apart = native.differences(np.array([[1.7e308] * 3]), np.full(3, -1.7e308), metric, p)
    assert apart.tolist() == [np.inf]
    assert native.differences(q[None], q, metric, p).tolist() == [0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("skip", [False, True])
def test_far_queries_are_answered_by_differences(dtype, skip):
    """Beyond all squares, beside ordinary ones; a row that is skipped comes after all others."""
    X = points("normal", 12, 2, dtype, 0)
    far = dtype(1e300 if dtype is np.float64 else 1e30)
    Q = np.array([[far, 0.0], [0.5, 0.5], [0.0, -far]], dtype)
    out = np.array([3, 4, 5])

    def search(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = reference.nearest(X.astype(float), rows.astype(float), 4, skip=out if skip else None)
        return found[0].astype(dtype), found[1]

    scaled = native.Scaled(1.0, "euclidean", 2.0, search, X.__getitem__, lambda: X, lambda: native.fine(X))
    distance, index = scaled.nearest(Q, 4, out if skip else None)
    wanted, rows = reference.nearest(X.astype(float), Q.astype(float), 4, skip=out if skip else None)
    np.testing.assert_allclose(distance, wanted, rtol=1e-6)
    assert index[1].tolist() == rows[1].tolist()
    if skip:
        assert not (index == out[:, None]).any()
