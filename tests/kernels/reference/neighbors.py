"""Neighbours by computing every distance, in NumPy.

Symbols: X points (n, d), Q queries (m, d), k neighbours. Ties are broken by the lower index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from posteriori.arrays import Ints

Floats = NDArray[np.floating[Any]]


def distances(X: Floats, Q: Floats, metric: str = "euclidean", p: float = 2.0) -> Floats:
    """D[i, r] = ‖X_r − Q_i‖, by differences: no cancellation, and no overflow where the result fits."""
    if X.shape[1] == 0:
        return np.zeros((len(Q), len(X)))
    with np.errstate(over="ignore"):
        gap = np.abs(X[None, :, :] - Q[:, None, :])
    top: Floats = gap.max(axis=2)
    if metric == "chebyshev":
        return top
    if metric == "manhattan":
        total: Floats = gap.sum(axis=2)
        return total
    power = 2.0 if metric == "euclidean" else p
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        share = np.divide(gap, top[:, :, None], out=np.zeros_like(gap), where=top[:, :, None] > 0)
        norm = top * (share**power).sum(axis=2) ** (1 / power)
    whole: Floats = np.where(np.isinf(top), top, norm)
    return whole


def nearest(
    X: Floats, Q: Floats, k: int, metric: str = "euclidean", p: float = 2.0, skip: Ints | None = None
) -> tuple[Floats, Ints]:
    """(distance, index), each (m, k): the k nearest rows of X, by distance and then by index, without row skip[i]."""
    D = distances(X, Q, metric, p)
    if skip is not None:
        D[np.arange(len(Q)), skip] = np.inf
    index = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, index, axis=1), index.astype(np.int64)


def within(
    X: Floats, Q: Floats, radius: Floats, metric: str = "euclidean", p: float = 2.0
) -> tuple[Ints, Ints, Floats]:
    """(start, index, distance): the rows of X at most radius[i] from Q_i are index[start[i] : start[i+1]], by index."""
    D = distances(X, Q, metric, p)
    inside = radius[:, None] >= D
    start = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
    return start, np.nonzero(inside)[1].astype(np.int64), D[inside]
