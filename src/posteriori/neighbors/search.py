"""Three ways to the k nearest rows: a kd-tree, blocked products, all distances by any function.

Every way has `query(Q, k, skip)` and gives (distance, index), by distance and then by index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Ints
from ..errors import ModelError, did_you_mean, listed
from ..kernels import neighbors as kernel
from .extremes import answer_one_by_one, scale_for, too_far, underflowed
from .kdtree import KDTree

ALGORITHMS = ("auto", "kd_tree", "ball_tree", "brute")
CHUNK_CELLS = 1 << 22  # distances held at once by the way that computes all of them


class Search(Protocol):
    """What answers queries."""

    def query(self, Q: Array, k: int, skip: Ints | None = None) -> tuple[Array, Ints]: ...


def pick(n: int, d: int, metric: str) -> str:
    """The faster of "kd_tree" and "brute" for n points in d dimensions, measured (docs/neighbors.md).

    Brute force reads every point, at full width; a tree reads a share of them that grows with d: up to 8 dimensions the
    tree wins, above 100 000 points up to two dimensions more for every factor of ten.

    >>> pick(1_000_000, 3, "euclidean"), pick(50_000, 16, "euclidean")
    ('kd_tree', 'brute')
    """
    if metric != "euclidean":
        return "kd_tree"  # the other metrics have no products; a tree of one leaf is their brute force
    return "kd_tree" if d <= 8 + max(0, round(2 * math.log10(max(n, 1) / 1e5))) else "brute"


def make_search(X: Array, metric: str, p: float, algorithm: str, leaf_size: int | str, n_jobs: int | None) -> Search:
    """A tree or brute force over rows that are finite, contiguous and in the coordinates of their space."""
    if algorithm not in ALGORITHMS:
        raise ModelError(
            f"algorithm={algorithm!r} is none{did_you_mean(algorithm, ALGORITHMS)} (algorithms: {listed(ALGORITHMS)})"
        )
    way = pick(X.shape[0], X.shape[1], metric) if algorithm == "auto" else algorithm
    if way == "brute" and metric == "euclidean":
        return Products(X, n_jobs)
    return Tree(KDTree(X, metric, p, 2**20 if way == "brute" else leaf_size, n_jobs))


class Tree:
    """The kd-tree."""

    def __init__(self, tree: KDTree) -> None:
        self.tree = tree

    def query(self, Q: Array, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        distance, index = self.tree.query(Q, k, skip=skip)
        return distance, index


class Products:
    """Euclidean distances by blocked matrix products, the nearest measured again exactly."""

    def __init__(self, X: Array, n_jobs: int | None) -> None:
        lo, hi, _ = kernel.bounds(X, n_jobs)
        self.scale = X.dtype.type(scale_for(lo, hi))
        self.X = X if self.scale == 1 else X * self.scale
        self.panel = kernel.panel(self.X, lo * self.scale, hi * self.scale, n_jobs)
        self.n_jobs = n_jobs

    def query(self, Q: Array, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        far = too_far(Q, float(self.scale))
        near = np.where(far[:, None], Q.dtype.type(0), Q) if far.any() else Q
        rows = np.ascontiguousarray(near if self.scale == 1 else near * self.scale, dtype=self.X.dtype)
        out = kernel.NO_SKIP if skip is None else np.ascontiguousarray(skip, dtype=np.int32)
        distance, index = kernel.brute_nearest(self.X, self.panel, rows, k, out, self.n_jobs)
        lost = underflowed(distance, index, rows, self.X.__getitem__)
        distance = distance if self.scale == 1 else distance / self.scale
        strange = far if lost is None else far | lost
        if strange.any():
            answer_one_by_one(self.X / self.scale, Q, strange, k, skip, "euclidean", 2.0, distance, index)
        return distance, index


class Pairwise:
    """All distances by a function of (Q, X) → (m, n), a few queries at a time; a distance of NaN counts as infinite."""

    def __init__(self, X: Any, distances: Callable[[Any, Any], Array]) -> None:
        self.X, self.distances = X, distances

    def query(self, Q: Any, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        m, n = Q.shape[0], self.X.shape[0]
        distance, index = np.empty((m, k)), np.empty((m, k), dtype=np.int64)
        step = max(1, CHUNK_CELLS // max(n, 1))
        for b in range(0, m, step):
            D = np.array(self.distances(Q[b : b + step], self.X), dtype=np.float64)
            D[np.isnan(D)] = np.inf
            if skip is not None:
                D[np.arange(len(D)), skip[b : b + step]] = np.nan  # after every distance, infinite ones too
            distance[b : b + step], index[b : b + step] = smallest(D, k)
        return distance, index


def smallest(D: Array, k: int) -> tuple[Array, Ints]:
    """The k smallest of each row, by value and then by column.

    >>> smallest(np.array([[2.0, 1.0, 1.0]]), 2)
    (array([[1., 1.]]), array([[1, 2]]))
    """
    if k < D.shape[1]:  # the k-th value; of its equals the first columns are taken
        bar = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
        keep = bar > D
        ties = bar == D
        keep |= ties & (np.cumsum(ties, axis=1) <= k - keep.sum(axis=1, keepdims=True))
        index = np.nonzero(keep)[1].reshape(len(D), k)
    else:
        index = np.broadcast_to(np.arange(k), (len(D), k))
    distance = np.take_along_axis(D, index, axis=1)
    order = np.argsort(distance, axis=1, kind="stable")
    return np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1).astype(np.int64)


def merged(a: tuple[Array, Ints], b: tuple[Array, Ints], k: int) -> tuple[Array, Ints]:
    """The k nearest of two answers, by distance and then by index."""
    distance = np.concatenate([a[0], b[0]], axis=1)
    index = np.concatenate([a[1], b[1]], axis=1)
    order = np.lexsort((index, distance), axis=1)[:, :k]
    return np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1)
