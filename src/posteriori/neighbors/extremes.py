"""Scales at which squares over- or underflow: points are scaled by a power of two, single queries answered one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Ints
from ..kernels.reference import neighbors as reference


def scale_for(lo: Array, hi: Array) -> float:
    """A power of two that brings the points' extent where squares neither over- nor underflow; 1 almost always.

    >>> scale_for(np.array([0.0]), np.array([5.0]))
    1.0
    """
    room = 100 if lo.dtype == np.float64 else 12
    with np.errstate(over="ignore"):
        extent = float(np.max(hi / 2 - lo / 2, initial=0.0))
    furthest = float(max(np.max(np.abs(lo), initial=0.0), np.max(np.abs(hi), initial=0.0)))
    if furthest > 2.0 ** (4 * room):  # few points far out: a query at the origin is as far away
        extent = max(extent, furthest)
    if extent == 0 or 2.0**-room < extent < 2.0**room:
        return 1.0
    most = 1000 if lo.dtype == np.float64 else 120  # the scale itself must be a number of that type
    return float(2.0 ** -min(max(math.frexp(extent)[1], -most), most))


def too_far(Q: Array, scale: float) -> NDArray[np.bool_]:
    """The queries so far away that the square of a distance would overflow."""
    limit = min(2.0 ** (480 if Q.dtype == np.float64 else 55) / scale, float(np.finfo(Q.dtype).max))
    return np.asarray((np.abs(Q) > limit).any(axis=1), dtype=np.bool_)


def underflowed(distance: Array, index: Ints, Q: Array, place: Callable[[Ints], Array]) -> NDArray[np.bool_] | None:
    """The queries with a neighbour so near that the square of its distance is lost, although it is not the same point."""
    near = distance < 2.0 ** (-480 if Q.dtype == np.float64 else -50)
    if not near.any():
        return None
    query, _ = np.nonzero(near)
    apart = (place(index[near]) != Q[query]).any(axis=1)
    lost = np.zeros(len(Q), dtype=bool)
    lost[query[apart]] = True
    return lost


def answer_one_by_one(
    X: Array,
    Q: Array,
    which: NDArray[np.bool_],
    k: int,
    skip: Any,
    metric: str,
    p: float,
    distance: Array,
    index: Ints,
) -> None:
    """The few queries that squares cannot serve, each by the scaled sum over all points; written into the answer."""
    points = X.astype(np.float64)
    for i in np.flatnonzero(which):
        left_out = None if skip is None else np.asarray(skip, dtype=np.int64)[i : i + 1]
        with np.errstate(over="ignore"):
            near, who = reference.nearest(points, Q[i : i + 1].astype(np.float64), k, metric, p, left_out)
            distance[i], index[i] = near[0].astype(distance.dtype), who[0]
