"""Four ways to the k nearest rows: a kd-tree, blocked products, all distances by any function, distances told in advance.

Every way has `query(Q, k, skip, n_jobs)` and gives (distance, index), by distance and then by index.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Ints
from ..errors import ModelError
from ..kernels import neighbors as kernel
from .kdtree import KDTree

ALGORITHMS = ("auto", "kd_tree", "ball_tree", "brute")
CHUNK_CELLS = 1 << 22  # distances held at once by the way that computes all of them
SMALL = 1000  # rows of which a buffer is never worth a new index, nor a table a look at its tree


class Search(Protocol):
    """What answers queries."""

    def query(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]: ...


def make_search(X: Array, metric: str, p: float, algorithm: str, leaf_size: int | str, n_jobs: int | None) -> Search:
    """A tree or brute force over rows that are finite, contiguous and in the coordinates of their space.

    "auto" takes the tree up to 8 dimensions and for metrics that have no products (a tree of one leaf is their brute
    force); above, it builds the tree and looks how much of it a query would see. The answers are the same to the bit.
    """
    n, d = X.shape
    if metric == "euclidean" and (algorithm == "brute" or (algorithm == "auto" and d > 8 and n < SMALL)):
        return Products(X, n_jobs)
    tree = Tree(KDTree(X, metric, p, 2**20 if algorithm == "brute" else leaf_size, n_jobs))
    if algorithm == "auto" and metric == "euclidean" and d > 8 and not tree_wins(tree.tree):
        return Products(X, n_jobs)
    return tree


def tree_wins(tree: KDTree) -> bool:
    """Whether a tree answers sooner than brute force: seen · (3 + d/12) < 1 + 3000/n, by 16 of its own points.

    `seen` is the share of leaves within the distance of the tenth neighbour, which is what decides: points near a surface
    of few dimensions are found at once however many columns they have. A point of a leaf costs 3 + d/12 times what it costs
    in a product, and a query by products as much as 3,000 points before it looks at any: measured (docs/neighbors.md).

    >>> tree_wins(KDTree(np.random.default_rng(0).standard_normal((5000, 16))))
    False
    >>> tree_wins(KDTree(np.sin(np.outer(np.linspace(0, 3, 5000), np.arange(16)))))  # a curve
    True
    """
    n, d = tree.shape
    seen = tree.seen(np.linspace(0, n - 1, 16).astype(np.int64))
    return bool(seen * (3 + d / 12) < 1 + 3000 / n)


class Tree:
    """The kd-tree."""

    def __init__(self, tree: KDTree) -> None:
        self.tree = tree

    def query(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]:
        return self.tree.nearest(Q, k, skip, n_jobs)


class Products:
    """Euclidean distances by blocked matrix products, the nearest measured again exactly."""

    def __init__(self, X: Array, n_jobs: int | None) -> None:
        lo, hi, _ = kernel.bounds(X, n_jobs)
        self.scale = X.dtype.type(kernel.scale_for(lo, hi))
        self.X = X if self.scale == 1 else X * self.scale
        self.panel = kernel.panel(self.X, lo * self.scale, hi * self.scale, n_jobs)

    @cached_property
    def fine(self) -> bool:
        return kernel.fine(self.X)

    def query(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]:
        out = kernel.NO_SKIP if skip is None else np.ascontiguousarray(skip, dtype=np.int32)
        return kernel.Scaled(
            float(self.scale),
            "euclidean",
            2.0,
            lambda scaled: kernel.brute_nearest(self.X, self.panel, scaled, k, out, n_jobs),
            self.X.__getitem__,
            lambda: self.X / self.scale,
            lambda: self.fine,
        ).nearest(np.ascontiguousarray(Q, dtype=self.X.dtype), k, skip)


class Pairwise:
    """All distances by a function of (Q, X) → (m, n), a few queries at a time; a distance of NaN counts as infinite."""

    def __init__(self, X: Any, distances: Callable[[Any, Any], Array]) -> None:
        self.X, self.distances = X, distances

    def query(self, Q: Any, k: int, skip: Ints | None, n_jobs: int | None = None) -> tuple[Array, Ints]:
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


class Told:
    """Distances told in advance, a matrix (queries, rows); of a sparse one what is stored is a neighbour, zeros too."""

    def query(self, Q: Any, k: int, skip: Ints | None, n_jobs: int | None = None) -> tuple[Array, Ints]:
        if isinstance(Q, np.ndarray):
            return Pairwise(Q.T, lambda part, _: part).query(Q, k, skip)
        row = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
        mine = slice(None) if skip is None else Q.indices != skip[row]
        row, column, distance = row[mine], Q.indices[mine].astype(np.int64), Q.data[mine].astype(np.float64)
        stored = np.bincount(row, minlength=Q.shape[0])
        if len(stored) and stored.min() < k:
            few = int(np.argmin(stored))
            raise ModelError(
                f"{k} neighbors are required for every row, but row {few} of the sparse precomputed distances stores only "
                f"{stored[few]}: what is not stored is no neighbour. Store more of them, or ask for fewer neighbours"
            )
        order = np.lexsort((column, distance, row))[(np.cumsum(stored) - stored)[:, None] + np.arange(k)]
        return distance[order], column[order]


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


class Store:
    """Rows in the coordinates of their space: searched by an index over most of them and a buffer of the latest.

    An answer never depends on which rows are where: both parts are searched exactly and merged by distance and row.
    """

    def __init__(self, rows: Any, index: Callable[[Array], Search]) -> None:
        self.rows = rows
        self._main = index(rows)
        self._indexed = len(self)
        self._late: Search | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def n_buffered(self) -> int:
        """Rows that wait in the buffer."""
        return len(self) - self._indexed

    def with_rows(self, rows: Array, index: Callable[[Array], Search]) -> Store:
        """More rows: in the buffer, or all in a new index where the buffer would hold a quarter of them."""
        more = copy.copy(self)
        more.rows = np.concatenate([self.rows, rows])
        if more.n_buffered > max(SMALL, self._indexed // 3):
            return Store(more.rows, index)
        more._late = index(more.rows[self._indexed :])
        return more

    def check(self, k: int, skip: Ints | None) -> None:
        """Refuse more neighbours than there are rows."""
        most = len(self) - (skip is not None)
        if not 1 <= k <= most:
            raise ModelError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {most}: "
                f"ask for at least 1 and at most {most} neighbours"
            )

    def query(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]:
        """(distance, row) of the k nearest."""
        self.check(k, skip)
        if self._late is None:
            return self._main.query(Q, k, skip, n_jobs)
        more = k + (skip is not None)  # one more: the row itself may be among them
        a = self._main.query(Q, min(more, self._indexed), None, n_jobs)
        b = self._late.query(Q, min(more, self.n_buffered), None, n_jobs)
        distance, row = merged(a, (b[0], b[1] + self._indexed), more)
        if skip is None:
            return distance, row
        itself = row == np.asarray(skip)[:, None]
        itself[~itself.any(axis=1), -1] = True  # the row itself was farther than k + 1 equals: the last goes
        return distance[~itself].reshape(len(Q), k), row[~itself].reshape(len(Q), k)
