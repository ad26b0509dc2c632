"""The compiled searches: a kd-tree as a tuple of arrays, brute force as a panel of floats.

Arrays are C-contiguous, finite and of one float type; the callers of this module have seen to it. Results do not depend on
the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Ints
from . import n_threads, native

Floats = NDArray[np.floating[Any]]

METRICS = {"euclidean": 0, "manhattan": 1, "chebyshev": 2, "minkowski": 3}
NO_SKIP = np.empty(0, dtype=np.int32)


class Flat(NamedTuple):
    """A kd-tree as it is stored; the letters are explained in native/neighbors/kdtree.hpp."""

    dim: NDArray[np.int32]
    value: Floats
    right: NDArray[np.int32]
    lo: Floats
    hi: Floats
    leaf_block: NDArray[np.int32]
    leaf_count: NDArray[np.int32]
    blocks: Floats
    ids: NDArray[np.int32]
    wide_box: NDArray[np.float32]
    wide_child: NDArray[np.int32]
    centre: NDArray[np.float64]
    unit: float


class Panel(NamedTuple):
    """Points prepared for products; the letters are explained in native/neighbors/brute.hpp."""

    blocks: NDArray[np.float32]
    half: NDArray[np.float32]
    centre: NDArray[np.float64]
    unit: float
    largest: float


def bounds(X: Floats, n_jobs: int | None = None) -> tuple[Floats, Floats, bool]:
    """(lo, hi, finite): the least and largest value of each column, and whether every cell is finite."""
    lo, hi, finite = native().neighbor_bounds(X, n_threads(n_jobs, X.size))
    return lo, hi, finite


def build(X: Floats, scale: float, leaf_size: int, n_jobs: int | None = None) -> Flat:
    """The kd-tree of X·scale."""
    return Flat(*native().kdtree_build(X, scale, leaf_size, n_threads(n_jobs, X.size, 100_000)))


def _search(flat: Flat) -> tuple[Any, ...]:
    return (*flat[:3], *flat[5:])


def nearest(
    flat: Flat,
    leaf_size: int,
    Q: Floats,
    k: int,
    metric: str,
    p: float,
    skip: NDArray[np.int32] = NO_SKIP,
    n_jobs: int | None = None,
) -> tuple[Floats, Ints]:
    """(distance, index), each (m, k), by distance and then by index; row skip[i] is no neighbour of query i."""
    distance = np.empty((len(Q), k), dtype=Q.dtype)
    index = np.empty((len(Q), k), dtype=np.int64)
    threads = n_threads(n_jobs, len(Q) * Q.shape[1], 1000)
    native().kdtree_nearest(*_search(flat), leaf_size, Q, skip, METRICS[metric], p, threads, distance, index)
    return distance, index


def within(
    flat: Flat, leaf_size: int, Q: Floats, radius: Floats, metric: str, p: float, n_jobs: int | None = None
) -> tuple[Ints, Ints, Floats]:
    """(start, index, distance): query i found index[start[i] : start[i+1]], in the tree's order."""
    threads = n_threads(n_jobs, len(Q) * Q.shape[1], 1000)
    start, index, distance = native().kdtree_within(
        *_search(flat), leaf_size, Q, radius, METRICS[metric], p, threads, True
    )
    return start, index.astype(np.int64), distance


def count(
    flat: Flat, leaf_size: int, Q: Floats, radius: Floats, metric: str, p: float, n_jobs: int | None = None
) -> Ints:
    """How many points are at most radius[i] from query i."""
    threads = n_threads(n_jobs, len(Q) * Q.shape[1], 1000)
    found = native().kdtree_within(*_search(flat), leaf_size, Q, radius, METRICS[metric], p, threads, False)[0]
    return np.array(found[1:], dtype=np.int64)


def panel(X: Floats, lo: Floats, hi: Floats, n_jobs: int | None = None) -> Panel:
    """The points of X prepared for `brute_nearest`."""
    return Panel(*native().brute_panel(X, lo, hi, n_threads(n_jobs, X.size)))


def brute_nearest(
    X: Floats, prepared: Panel, Q: Floats, k: int, skip: NDArray[np.int32] = NO_SKIP, n_jobs: int | None = None
) -> tuple[Floats, Ints]:
    """The k nearest by the Euclidean metric from all distances; the same answer as `nearest`."""
    distance = np.empty((len(Q), k), dtype=Q.dtype)
    index = np.empty((len(Q), k), dtype=np.int64)
    threads = n_threads(n_jobs, len(Q) * X.shape[0] * X.shape[1], 2_000_000)
    native().brute_nearest(X, *prepared, Q, skip, threads, distance, index)
    return distance, index
