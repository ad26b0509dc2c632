"""A kd-tree: space cut by coordinate planes, so that a search looks at a few boxes and not at every point.

Symbols: X points (n, d), Q queries (m, d), k neighbours, r radius.

Four ways to the k nearest rows: a kd-tree, blocked products, all distances by any function, distances told in advance.

Every way has `query(Q, k, skip, n_jobs)` and gives (distance, index), by distance and then by index.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from .. import kernels, views
from ..arrays import Array, Floats, Ints
from ..errors import BadValue, ModelError
from ..estimator import N_JOBS, check_declared
from ..kernels import neighbors as kernel
from .metrics import EXPONENT, NAMES, metric_named

LEAF_SIZE = [Interval(Integral, 1, 2**20, closed="both"), StrOptions({"auto"})]
PARAMETERS: dict[str, list[Any]] = {
    "metric": [StrOptions(set(NAMES))],
    "p": EXPONENT,
    "leaf_size": LEAF_SIZE,
    "n_jobs": N_JOBS,
}
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
ROUNDING = 1e-12  # of two lengths that are equal
MOST_POINTS = 2**31 - 2**12  # rows are numbered in 32 bits inside the tree


def auto_leaf_size(d: int) -> int:
    """Points of a leaf, measured (docs/neighbors.md): fewer where boxes prune well, more where they do not.

    >>> auto_leaf_size(3), auto_leaf_size(8)
    (32, 64)
    """
    return 32 if d <= 5 else 64


def float_rows(X: ArrayLike, what: str = "X") -> Array:
    """A C-contiguous table of float32 (if it is float32 already) or float64."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.flags.c_contiguous:
        return X
    if hasattr(X, "tocsr"):
        raise BadValue(f"{what} must be a dense table: call .toarray() on a sparse one")
    try:
        A = np.asarray(X)
        A = A.astype(np.float64) if A.dtype == object else A
    except (TypeError, ValueError, OverflowError) as e:
        raise BadValue(f"{what} must hold numbers in rows of one length ({e})") from None
    if A.dtype.kind not in "fiub":
        raise BadValue(f"{what} must hold numbers, got {A.dtype}")
    if np.ma.is_masked(X):
        raise BadValue(f"{what} holds masked cells; a kd-tree needs every coordinate")
    if A.ndim != 2:
        raise BadValue(f"{what} must have two dimensions (rows, columns), got {A.ndim}: reshape one row to (1, -1)")
    return np.ascontiguousarray(A, dtype=np.float32 if A.dtype == np.float32 else np.float64)


def _declared(metric: str, p: float, leaf_size: int | str, n_jobs: int | None) -> tuple[str, float]:
    """The metric by its name in the kernels, of parameters that are what was declared."""
    check_declared(PARAMETERS, {"metric": metric, "p": p, "leaf_size": leaf_size, "n_jobs": n_jobs}, "KDTree")
    return metric_named(metric, p)


_seen_before = lru_cache(maxsize=64, typed=True)(_declared)  # a check takes as long as a tree of some hundred points


class Node(NamedTuple):
    """One node: a cut (left: x[dim] < value) or, where dim is −1, a leaf with its points.

    lo and hi are the box around its points, `region` the two corners of its part of space, which is all of it at the root.
    """

    dim: int
    value: float
    left: int
    right: int
    lo: Array
    hi: Array
    points: Ints
    region: tuple[Floats, Floats]

    @property
    def is_leaf(self) -> bool:
        return self.dim < 0


class Step(NamedTuple):
    """A look at a node: the least distance that a point in its box may have, the k-th least found before, and what came in.

    Nothing below the node can come in where `bound` is beyond `reach`: it `is_cut` off.
    """

    node: int
    bound: float
    reach: float
    found: tuple[int, ...]

    @property
    def is_cut(self) -> bool:
        return self.bound > self.reach * (1 + ROUNDING)


class Nodes(Sequence[Node]):
    """The nodes of a tree in preorder, the root first; made when they are asked for."""

    def __init__(self, flat: kernel.Flat, scale: float) -> None:
        self._flat, self._scale = flat, scale

    def __len__(self) -> int:
        return len(self._flat.dim)

    @overload
    def __getitem__(self, i: int) -> Node: ...
    @overload
    def __getitem__(self, i: slice) -> list[Node]: ...
    def __getitem__(self, i: int | slice) -> Node | list[Node]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        f, scale = self._flat, self._scale
        dim, right = int(f.dim[i]), int(f.right[i])
        lo, hi = f.lo[i] / scale, f.hi[i] / scale
        region = self._region(i)
        if dim >= 0:
            return Node(dim, float(f.value[i]) / scale, i + 1, right, lo, hi, np.empty(0, dtype=np.int64), region)
        ids = f.ids[f.leaf_block[right] : f.leaf_block[right + 1]].ravel()[: f.leaf_count[right]]
        return Node(-1, math.nan, -1, -1, lo, hi, np.sort(ids).astype(np.int64), region)

    def _region(self, i: int) -> tuple[Floats, Floats]:
        """What the cuts above leave: in preorder what is on the left of a node stands before its right child."""
        f, d, at = self._flat, self._flat.lo.shape[1], 0
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        while at != i:
            dim, value, left = int(f.dim[at]), float(f.value[at]) / self._scale, i < f.right[at]
            (high if left else low)[dim] = value
            at = at + 1 if left else int(f.right[at])
        return low, high

    def __iter__(self) -> Iterator[Node]:
        return (self[i] for i in range(len(self)))


def _length(x: Floats, power: float) -> float:
    """The L_p norm of one vector of any size."""
    top = float(np.abs(x).max())
    return top and top * float(np.linalg.norm(x / top, power))


class KDTree:
    """The k nearest points of a query, or all within a radius, without looking at every point.

    Distances are exact; ties go to the lower row number, whatever the leaf size and the number of threads. float32 points
    are searched in float32, all others in float64. Points and queries must be finite.

    Parameters
    ----------
    X : table (n, d)
    metric : "euclidean", "manhattan", "chebyshev", "minkowski" or one of their other names
    p : exponent of "minkowski"
    leaf_size : points of a leaf at most (more only where all are equal); "auto" takes what was measured to be best
    n_jobs : threads, None for all cores

    >>> tree = KDTree([[0, 0], [1, 0], [5, 5]])
    >>> distance, index = tree.query([[1.0, 1.0]], k=2)
    >>> index, distance.round(3)
    (array([[1, 0]]), array([[1.   , 1.414]]))
    """

    def __init__(
        self,
        X: ArrayLike,
        metric: str = "euclidean",
        p: float = 2.0,
        leaf_size: int | str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        try:
            self.metric, self.p = _seen_before(metric, p, leaf_size, n_jobs)
        except TypeError:  # what cannot be a key
            self.metric, self.p = _declared(metric, p, leaf_size, n_jobs)
        rows = float_rows(X)
        n, d = rows.shape
        if n == 0 or d == 0:
            raise BadValue(f"X must have at least one row and one column, got shape {rows.shape}")
        if n > MOST_POINTS:
            raise BadValue(f"a kd-tree holds at most {MOST_POINTS} points, got {n}")
        self.leaf_size = auto_leaf_size(d) if leaf_size == "auto" else int(leaf_size)
        self.n_jobs = n_jobs
        self.shape = (n, d)
        self.dtype = rows.dtype
        lo, hi, finite = kernels.column_bounds(rows, n_jobs)
        if not finite:
            raise BadValue("X holds NaN or infinite cells; a kd-tree needs finite points")
        self._scale = kernel.scale_for(lo, hi)
        self._flat = kernel.Flat(*kernels.kdtree_build(rows, self._scale, self.leaf_size, n_jobs))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __repr__(self) -> str:
        n, d = self.shape
        return f"KDTree({n} points, {d} dimensions, {self.metric}, {len(self._flat.dim)} nodes)"

    @property
    def nodes(self) -> Nodes:
        """The nodes in preorder: cut dimension and value, children, box; a leaf has its points."""
        return Nodes(self._flat, self._scale)

    @property
    def data(self) -> Array:
        """The points, in their rows."""
        n, d = self.shape
        out = np.empty((n, d), dtype=self.dtype)
        ids = self._flat.ids.ravel()
        held = ids < n
        out[ids[held]] = self._flat.blocks.transpose(0, 2, 1).reshape(-1, d)[held] / self._scale
        return out

    def seen(self, rows: Ints, k: int = 10) -> float:
        """The share of leaves that lie within the (Euclidean) distance of the k-th neighbour, a mean over some points."""
        Q, leaf, skip = np.ascontiguousarray(self._place(rows)), self._flat.dim < 0, rows.astype(np.int32)
        k = max(1, min(k, len(self) - 1))
        reach = kernels.kdtree_nearest(self._flat, self.leaf_size, Q, k, "euclidean", 2.0, skip, self.n_jobs)[0][:, -1]
        lo, hi = self._flat.lo[leaf], self._flat.hi[leaf]
        gaps = (np.maximum(np.maximum(lo - q, q - hi), 0) for q in Q)
        return float(np.mean([((gap**2).sum(axis=1) <= r * r).mean() for gap, r in zip(gaps, reach)]))

    def query(self, Q: ArrayLike, k: int = 1, return_distance: bool = True, skip: ArrayLike | None = None) -> Any:
        """(distance, index), each (m, k), nearest first; `skip[i]` is a row that is no neighbour of query i.

        >>> KDTree([[0.0], [1.0], [3.0]]).query([[1.0]], k=2, return_distance=False)
        array([[1, 0]])
        """
        rows = self._queries(Q)
        if type(k) is not int:
            check_declared({"k": [Integral]}, {"k": k}, "KDTree.query")
        most = len(self) - (skip is not None)
        if not 1 <= k <= most:
            raise ModelError(f"k={k} neighbours of {most} points: k must be at least 1 and at most {most}")
        distance, index = self.nearest(rows, int(k), None if skip is None else self._skip(skip, len(rows)), self.n_jobs)
        return (distance, index) if return_distance else index

    def nearest(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]:
        """`query` for rows that were checked: finite, contiguous, of the tree's type."""
        out = None if skip is None else skip.astype(np.int32)
        return kernel.Scaled(
            self._scale,
            self.metric,
            self.p,
            lambda scaled: kernels.kdtree_nearest(
                self._flat, self.leaf_size, scaled, k, self.metric, self.p, out, n_jobs
            ),
            self._place,
            lambda: self.data,
            lambda: self._fine,
        ).nearest(Q, k, skip)

    def query_radius(self, Q: ArrayLike, r: ArrayLike, return_distance: bool = False) -> Any:
        """The points at most r from each query, nearest first: one array of rows a query, and one of distances if wanted.

        >>> [list(found) for found in KDTree([[0.0], [1.0], [3.0]]).query_radius([[1.0]], r=1.0)]
        [[np.int64(1), np.int64(0)]]
        """
        rows, radius = self._balls(Q, r)
        start, index, distance = kernels.kdtree_within(
            self._flat, self.leaf_size, rows, radius, self.metric, self.p, self.n_jobs
        )
        if self._scale != 1:
            distance = distance / self.dtype.type(self._scale)
        query = np.repeat(np.arange(len(rows)), np.diff(start))
        order = np.lexsort((index, distance, query))
        cuts, m = start[1:-1], len(rows)
        found = np.split(index[order], cuts)[:m]  # no query, no part
        return (found, np.split(distance[order], cuts)[:m]) if return_distance else found

    def count(self, Q: ArrayLike, r: ArrayLike) -> Ints:
        """How many points are at most r from each query.

        >>> KDTree([[0.0], [1.0], [3.0]]).count([[1.0], [9.0]], r=1.0).tolist()
        [2, 0]
        """
        rows, radius = self._balls(Q, r)
        return kernels.kdtree_count(self._flat, self.leaf_size, rows, radius, self.metric, self.p, self.n_jobs)

    def trace(self, q: ArrayLike, k: int = 1) -> list[Step]:
        """The steps of a search for the k nearest of one point: down the side of the cut where q lies, then back.

        A subtree is cut off whose box is farther than the k-th neighbour so far. This is the search of the textbooks, by
        the same rule as `query`, which looks at eight boxes at once; both find the same.

        >>> tree = KDTree([[0.0], [1.0], [5.0], [9.0]], leaf_size=2)
        >>> [(step.node, step.is_cut, step.found) for step in tree.trace([1.2])]
        [(0, False, ()), (1, False, (1,)), (2, True, ())]
        """
        row = np.asarray(q)
        row = row.reshape(1, -1) if row.ndim == 1 else row
        if len(self.query(row, k)[0]) != 1:
            raise BadValue(
                f"a trace is of one query: give a row of {self.shape[1]} numbers. Got {len(row)} rows instead."
            )
        at_q, points, nodes = self._queries(row)[0].astype(np.float64), self.data, self.nodes
        power = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}.get(self.metric, self.p)
        nearest: list[tuple[float, int]] = []
        steps, waiting = list[Step](), [0]
        while waiting:
            at = waiting.pop()
            node, reach = nodes[at], nearest[-1][0] if len(nearest) == k else np.inf
            gap = np.maximum(np.maximum(node.lo - at_q, at_q - node.hi), 0.0)
            step = Step(at, _length(gap, power), reach, ())
            if not step.is_cut and node.is_leaf:
                more = [(_length(points[r] - at_q, power), r) for r in node.points.tolist()]
                nearest = sorted(nearest + more)[:k]
                step = step._replace(found=tuple(r for _, r in nearest if r in node.points))
            elif not step.is_cut:
                near_last = (node.right, node.left) if at_q[node.dim] < node.value else (node.left, node.right)
                waiting += near_last
            steps.append(step)
        return steps

    def plot(self, ax: Any = None, query: ArrayLike | None = None, k: int = 1) -> Any:
        """The classic figure of a tree in the plane: points, cuts and, for a query, its k neighbours."""
        return views.axes("a kd-tree", self, ax, query, k)

    def _queries(self, Q: ArrayLike) -> Array:
        rows = float_rows(Q, "the queries")
        if rows.shape[1] != self.shape[1]:
            raise BadValue(f"the queries have {rows.shape[1]} columns, the tree was built on {self.shape[1]}")
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        if len(rows) and not kernels.column_bounds(rows, self.n_jobs)[2]:
            raise BadValue("the queries hold NaN or infinite cells; a kd-tree needs finite points")
        return rows

    def _skip(self, skip: ArrayLike, m: int) -> Ints:
        left_out = np.asarray(skip)
        if left_out.shape != (m,):
            raise BadValue(f"skip must have one row number for each of the {m} queries, got {left_out.shape}")
        if m and (left_out.dtype.kind not in "iu" or left_out.min() < 0 or left_out.max() >= len(self)):
            raise BadValue(
                f"skip must hold row numbers, 0 to {len(self) - 1}. Got {left_out.dtype} {left_out.tolist()[:3]}"
            )
        return left_out.astype(np.int64)

    @cached_property
    def _slot(self) -> Ints:
        """Where each row is among the leaves."""
        ids = self._flat.ids.ravel()
        slot = np.empty(len(self), dtype=np.int64)
        held = np.flatnonzero(ids < len(self))
        slot[ids[held]] = held
        return slot

    @cached_property
    def _fine(self) -> bool:
        return kernel.fine(self._flat.blocks)

    def _place(self, index: Ints) -> Array:
        """The (scaled) coordinates of rows."""
        slot = self._slot[index]
        found: Array = self._flat.blocks[slot // 8, :, slot % 8]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_slot"}

    def _balls(self, Q: ArrayLike, r: ArrayLike) -> tuple[Array, Array]:
        rows = self._queries(Q)
        far = kernel.too_far(rows, self._scale, self.n_jobs)
        if far is not None:
            raise BadValue(f"query {int(np.flatnonzero(far)[0])} is too far from the points for a search by radius")
        try:
            with np.errstate(over="ignore"):
                radius = np.broadcast_to(np.asarray(r).astype(self.dtype, casting="same_kind"), (len(rows),))
        except (TypeError, ValueError, OverflowError):
            raise BadValue(
                f"r must be one radius, or one for each of the {len(rows)} queries. Got {r!r} instead."
            ) from None
        if np.isnan(radius).any():
            raise BadValue("the radius is NaN")
        scale = self.dtype.type(self._scale)
        return (rows, np.ascontiguousarray(radius)) if scale == 1 else (rows * scale, radius * scale)


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
        lo, hi, _ = kernels.column_bounds(X, n_jobs)
        self.scale = X.dtype.type(kernel.scale_for(lo, hi))
        self.X = X if self.scale == 1 else X * self.scale
        self.panel = kernel.Panel(*kernels.brute_panel(self.X, lo * self.scale, hi * self.scale, n_jobs))

    @cached_property
    def fine(self) -> bool:
        return kernel.fine(self.X)

    def query(self, Q: Array, k: int, skip: Ints | None, n_jobs: int | None) -> tuple[Array, Ints]:
        out = None if skip is None else np.ascontiguousarray(skip, dtype=np.int32)
        return kernel.Scaled(
            float(self.scale),
            "euclidean",
            2.0,
            lambda scaled: kernels.brute_nearest(self.X, self.panel, scaled, k, out, n_jobs),
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
