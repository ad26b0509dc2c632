"""A kd-tree: space cut by coordinate planes, so that a search looks at a few boxes and not at every point.

Symbols: X points (n, d), Q queries (m, d), k neighbours, r radius.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array, Ints
from ..errors import BadValue, ModelError, did_you_mean, listed
from ..kernels import neighbors as kernel
from .extremes import answer_one_by_one, scale_for, too_far, underflowed
from .nodes import Nodes

MOST_POINTS = 2**31 - 2**12  # rows are numbered in 32 bits inside the tree
NAMES = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
    "chebyshev": "chebyshev",
    "infinity": "chebyshev",
    "minkowski": "minkowski",
}


def auto_leaf_size(d: int) -> int:
    """Points of a leaf, measured (docs/neighbors.md): fewer where boxes prune well, more where they do not.

    >>> auto_leaf_size(3), auto_leaf_size(8)
    (32, 64)
    """
    return 32 if d <= 5 else 64


def metric_named(metric: str, p: float) -> tuple[str, float]:
    """(metric, p) in the kernels' names; Minkowski with p = 1, 2, ∞ is the metric that it is.

    >>> metric_named("minkowski", 1)
    ('manhattan', 1.0)
    """
    if metric not in NAMES:
        raise ModelError(
            f"metric={metric!r} is none that a kd-tree can search{did_you_mean(metric, NAMES)} (metrics: {listed(NAMES)})"
        )
    if not p > 0:
        raise ModelError(f"p={p!r}: the Minkowski exponent must be positive")
    name = NAMES[metric]
    if name == "minkowski":
        name = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(float(p), name)
    return name, float(p)


def float_rows(X: ArrayLike, what: str = "X") -> Array:
    """A C-contiguous table of float32 (if it is float32 already) or float64."""
    A = np.asarray(X)
    if A.dtype == object or A.dtype.kind not in "fiub":
        try:
            A = A.astype(np.float64)
        except (TypeError, ValueError) as e:
            raise BadValue(f"{what} must hold numbers, got {A.dtype} ({e})") from None
    if A.ndim != 2:
        raise BadValue(f"{what} must have two dimensions (rows, columns), got {A.ndim}: reshape one row to (1, -1)")
    return np.ascontiguousarray(A, dtype=np.float32 if A.dtype == np.float32 else np.float64)


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
        self.metric, self.p = metric_named(metric, p)
        rows = float_rows(X)
        n, d = rows.shape
        if n == 0 or d == 0:
            raise BadValue(f"X must have at least one row and one column, got shape {rows.shape}")
        if n > MOST_POINTS:
            raise BadValue(f"a kd-tree holds at most {MOST_POINTS} points, got {n}")
        if leaf_size != "auto" and (isinstance(leaf_size, str) or not 1 <= int(leaf_size) <= 2**20):
            raise ModelError(f"leaf_size={leaf_size!r}: a positive number of points, or 'auto'")
        self.leaf_size = auto_leaf_size(d) if leaf_size == "auto" else int(leaf_size)
        self.n_jobs = n_jobs
        self.shape = (n, d)
        self.dtype = rows.dtype
        lo, hi, finite = kernel.bounds(rows, n_jobs)
        if not finite:
            raise BadValue("X holds NaN or infinite cells; a kd-tree needs finite points")
        self._scale = scale_for(lo, hi)
        self._flat = kernel.build(rows, self._scale, self.leaf_size, n_jobs)

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

    def query(self, Q: ArrayLike, k: int = 1, return_distance: bool = True, skip: ArrayLike | None = None) -> Any:
        """(distance, index), each (m, k), nearest first; `skip[i]` is a row that is no neighbour of query i.

        >>> KDTree([[0.0], [1.0], [3.0]]).query([[1.0]], k=2, return_distance=False)
        array([[1, 0]])
        """
        rows = self._queries(Q)
        left_out = kernel.NO_SKIP if skip is None else np.ascontiguousarray(skip, dtype=np.int32)
        most = len(self) - (skip is not None)
        if not 1 <= k <= most:
            raise ModelError(f"k={k} neighbours of {most} points: k must be at least 1 and at most {most}")
        if skip is not None and left_out.shape != (len(rows),):
            raise BadValue(f"skip must have one row number for each of the {len(rows)} queries, got {left_out.shape}")
        far = too_far(rows, self._scale)
        near = np.where(far[:, None], self.dtype.type(0), rows) if far.any() else rows
        scaled = near if self._scale == 1 else near * self.dtype.type(self._scale)
        distance, index = kernel.nearest(
            self._flat, self.leaf_size, scaled, int(k), self.metric, self.p, left_out, self.n_jobs
        )
        lost = underflowed(distance, index, scaled, self._place) if self.metric == "euclidean" else None
        if self._scale != 1:
            distance /= self.dtype.type(self._scale)
        strange = far if lost is None else far | lost
        if strange.any():
            answer_one_by_one(self.data, rows, strange, k, skip, self.metric, self.p, distance, index)
        return (distance, index) if return_distance else index

    def query_radius(self, Q: ArrayLike, r: ArrayLike, return_distance: bool = False) -> Any:
        """The points at most r from each query, nearest first: one array of rows a query, and one of distances if wanted.

        >>> [list(found) for found in KDTree([[0.0], [1.0], [3.0]]).query_radius([[1.0]], r=1.0)]
        [[np.int64(1), np.int64(0)]]
        """
        rows, radius = self._balls(Q, r)
        start, index, distance = kernel.within(
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
        return kernel.count(self._flat, self.leaf_size, rows, radius, self.metric, self.p, self.n_jobs)

    def plot(self, ax: Any = None, query: ArrayLike | None = None, k: int = 1) -> Any:
        """The classic figure of a tree in the plane: points, cuts and, for a query, its k neighbours."""
        from .figure import draw_tree

        return draw_tree(self, ax, query, k)

    def _queries(self, Q: ArrayLike) -> Array:
        rows = float_rows(Q, "the queries")
        if rows.shape[1] != self.shape[1]:
            raise BadValue(f"the queries have {rows.shape[1]} columns, the tree was built on {self.shape[1]}")
        rows = np.ascontiguousarray(rows, dtype=self.dtype)
        if not np.isfinite(rows).all():
            raise BadValue("the queries hold NaN or infinite cells; a kd-tree needs finite points")
        return rows

    @cached_property
    def _slot(self) -> NDArray[np.int64]:
        """Where each row is among the leaves."""
        ids = self._flat.ids.ravel()
        slot = np.empty(len(self), dtype=np.int64)
        held = np.flatnonzero(ids < len(self))
        slot[ids[held]] = held
        return slot

    def _place(self, index: Ints) -> Array:
        """The (scaled) coordinates of rows."""
        slot = self._slot[index]
        found: Array = self._flat.blocks[slot // 8, :, slot % 8]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_slot"}

    def _balls(self, Q: ArrayLike, r: ArrayLike) -> tuple[Array, Array]:
        rows = self._queries(Q)
        far = too_far(rows, self._scale)
        if far.any():
            raise BadValue(f"query {int(np.flatnonzero(far)[0])} is too far from the points for a search by radius")
        radius = np.broadcast_to(np.asarray(r, dtype=self.dtype), (len(rows),))
        if np.isnan(radius).any():
            raise BadValue("the radius is NaN")
        scale = self.dtype.type(self._scale)
        return (rows, np.ascontiguousarray(radius)) if scale == 1 else (rows * scale, radius * scale)
