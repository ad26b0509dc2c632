"""What the compiled searches take, a kd-tree as a tuple of arrays and points as a panel of floats, and both at any scale.

Squares over- and underflow long before numbers do: points are scaled by a power of two, and the few
queries that this does not serve are answered by scaled differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..arrays import Bools, Ints

Floats = NDArray[np.floating[Any]]


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


def scale_for(lo: Floats, hi: Floats) -> float:
    """A power of two that brings the points' extent where squares neither over- nor underflow; 1 almost always.

    >>> scale_for(np.array([0.0]), np.array([5.0]))
    1.0
    """
    room = 100 if lo.dtype == np.float64 else 12
    low, high = lo.tolist(), hi.tolist()  # numbers: there are few of them, and arrays would take longer
    extent = max((b / 2 - a / 2 for a, b in zip(low, high)), default=0.0)
    furthest = max(map(abs, low + high), default=0.0)
    if furthest > 2.0 ** (4 * room):  # few points far out: a query at the origin is as far away
        extent = max(extent, furthest)
    if extent == 0 or 2.0**-room < extent < 2.0**room:
        return 1.0
    most = 1000 if lo.dtype == np.float64 else 120  # the scale itself must be a number of that type
    return float(2.0 ** -min(max(math.frexp(extent)[1], -most), most))


def too_far(Q: Floats, scale: float, n_jobs: int | None = None) -> Bools | None:
    """The queries so far away that the square of a distance would overflow; None where there is none, almost always."""
    if not len(Q):
        return None
    lo, hi, _ = kernels.column_bounds(Q, n_jobs)
    limit = min(2.0 ** (480 if Q.dtype == np.float64 else 55) / scale, float(np.finfo(Q.dtype).max))
    if max(map(abs, lo.tolist() + hi.tolist())) <= limit:
        return None
    return np.asarray((np.abs(Q) > limit).any(axis=1), dtype=np.bool_)


def fine(X: Floats) -> bool:
    """Whether a cell is so near to zero, and is not zero, that the square of a difference may be lost.

    Two numbers a ≠ b of at least 2^−420 differ by 2^−473 or more (float32: of 2^−25, by 2^−48), whose square is a number.

    >>> fine(np.array([[0.0, 1.0]])), fine(np.array([[1e-200, 1.0]]))
    (False, True)
    """
    least = 2.0 ** (-420 if X.dtype == np.float64 else -25)
    parts = (X[b : b + 4096] for b in range(0, len(X), 4096))
    return any(bool(((np.abs(part) < least) & (part != 0)).any()) for part in parts)


class Scaled(NamedTuple):
    """Points that are searched scaled; `place(rows)` are their coordinates as they are searched, `all()` as they were.

    `fine()` is `fine` of all points as they are searched.
    """

    scale: float
    metric: str
    p: float
    search: Callable[[Floats], tuple[Floats, Ints]]
    place: Callable[[Ints], Floats]
    all: Callable[[], Floats]
    fine: Callable[[], bool]

    def nearest(self, Q: Floats, k: int, skip: Ints | None) -> tuple[Floats, Ints]:
        """What the search finds, but for the queries whose squares over- or underflow: those by differences."""
        strange = too_far(Q, self.scale)
        scaled = Q if strange is None else np.where(strange[:, None], Q.dtype.type(0), Q)
        scaled = scaled if self.scale == 1 else scaled * Q.dtype.type(self.scale)
        distance, index = self.search(scaled)
        lost = self._lost(distance, index, scaled) if self.metric == "euclidean" else None
        if self.scale != 1:
            distance /= Q.dtype.type(self.scale)
        again = [some for some in (strange, lost) if some is not None]
        if again:
            points = self.all().astype(np.float64)
            for i in np.flatnonzero(np.any(again, axis=0)):
                with np.errstate(over="ignore"):
                    D = differences(points, Q[i].astype(np.float64), self.metric, self.p)
                    if skip is not None:
                        D[skip[i]] = np.nan  # after every distance, infinite ones too
                    index[i] = np.argsort(D, kind="stable")[:k]
                    distance[i] = D[index[i]].astype(distance.dtype)
        return distance, index

    def _lost(self, distance: Floats, index: Ints, Q: Floats) -> Bools | None:
        """The queries with a neighbour so near that the square of its distance is lost, although they are not one point."""
        least = 2.0 ** (-480 if Q.dtype == np.float64 else -50)
        if not len(Q) or not distance[:, 0].min() < least or not (self.fine() or fine(Q)):
            return None
        lost = np.zeros(len(Q), dtype=np.bool_)
        near = distance < least
        query, _ = np.nonzero(near)
        lost[query[(self.place(index[near]) != Q[query]).any(axis=1)]] = True
        return lost


def differences(X: Floats, q: Floats, metric: str, p: float) -> Floats:
    """‖X_r − q‖ = m·‖(X_r − q)/m‖, m the largest difference: no overflow where the result fits.

    >>> differences(np.array([[3e200, 4e200]]), np.zeros(2), "euclidean", 2.0)
    array([5.e+200])
    """
    gap = np.abs(X - q)
    top: Floats = gap.max(axis=1)
    if metric == "chebyshev":
        return top
    if metric == "manhattan":
        total: Floats = gap.sum(axis=1)
        return total
    power = 2.0 if metric == "euclidean" else p
    safe = np.where((top > 0) & np.isfinite(top), top, 1.0)
    with np.errstate(under="ignore"):
        norm: Floats = top * ((gap / safe[:, None]) ** power).sum(axis=1) ** (1 / power)
    return np.where(np.isinf(top), top, norm)
