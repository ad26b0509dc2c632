"""What a neighbour's vote weighs, by its distance.

Symbols: D distances (m, k), sorted; h bandwidth (m, 1), the distance of the next neighbour; u = D/h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadValue, ModelError

KERNELS: dict[str, Callable[[Any], Any]] = {
    "triangular": lambda u: 1 - u,
    "epanechnikov": lambda u: 1 - u**2,
    "biweight": lambda u: (1 - u**2) ** 2,
    "tricube": lambda u: (1 - u**3) ** 3,
    "cosine": lambda u: np.cos(np.pi / 2 * u),
    "gaussian": lambda u: np.exp(-(u**2) / 2),
}
NAMES = ("uniform", "distance", *KERNELS)
MOST = 500  # weights up to 2^MOST are left as they are: beside them no smoothing counts


def needs_next(weights: Any) -> bool:
    """Whether the weights are a kernel, whose bandwidth is the distance of the neighbour after the last."""
    return isinstance(weights, str) and weights in KERNELS


def vote_weights(D: Array, weights: Any, h: Array | None = None) -> Array | None:
    """The weight of each neighbour, or None where all weigh the same.

    "distance": 1/D, and where a neighbour is at distance 0 only such neighbours count. A kernel: K(D/h).

    >>> vote_weights(np.array([[1.0, 2.0]]), "distance")
    array([[1. , 0.5]])
    """
    if weights is None or weights == "uniform":
        return None
    if callable(weights):
        return told_weights(D, weights)
    D = D.astype(np.float64)
    if weights == "distance":
        with np.errstate(divide="ignore"):
            w = 1 / D
        infinite = np.isinf(w)
        w = np.where(infinite.any(axis=1, keepdims=True), infinite.astype(np.float64), w)
        return _or_equal(summable(w))
    width = D[:, -1:] if h is None else h
    u = np.divide(D, width, out=np.ones_like(D), where=(width > 0) & np.isfinite(width))
    return _or_equal(np.maximum(KERNELS[weights](np.minimum(u, 1.0)), 0.0))


def told_weights(D: Array, weights: Callable[[Array], Any]) -> Floats:
    """What a function says that the neighbours weigh: finite, not negative, and for every query something."""
    try:
        given = np.asarray(weights(D), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"the weights function failed on distances of shape {D.shape}: {error}") from error
    if given.shape != D.shape:
        raise ModelError(f"the weights function gave shape {given.shape} for distances of shape {D.shape}")
    wrong = ~(np.isfinite(given) & (given >= 0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise BadValue(
            f"the weights function gave {given[i, j]} for a neighbour at distance {D[i, j]} (query {i}): a vote weighs a "
            "finite number of at least 0"
        )
    return someone_votes(summable(given), D)


def summable(w: Floats, most: int = MOST) -> Floats:
    """Weights of a row beyond 2^most, all smaller by the same power of two: their sums are numbers, their shares the same.

    >>> summable(np.array([[2.0**1000, 2.0**999], [3.0, 1.0]]), 4).tolist()
    [[8.0, 4.0], [3.0, 1.0]]
    """
    over = np.frexp(w.max(axis=1, keepdims=True, initial=0.0))[1] - most
    return np.asarray(np.ldexp(w, -np.maximum(over, 0))) if (over > 0).any() else w


def someone_votes(w: Floats, D: Array) -> Floats:
    """Weights of a function, refused where a query's neighbours weigh nothing at all."""
    silent = ~(w > 0).any(axis=1)
    if silent.any():
        i = int(np.argmax(silent))
        raise BadValue(
            f"the weights function gave all {D.shape[1]} neighbours of query {i} (distances {D[i, 0]:.6g} to "
            f"{D[i, -1]:.6g}) a weight of zero, so nobody votes: let it reach further"
        )
    return w


def taken(rows: Array, k: float) -> Array:
    """How much of each neighbour is among the first k, a row of weight w being w neighbours: the last may be cut.

    >>> taken(np.array([[2.0, 3.0, 1.0]]), 4)
    array([[2., 2., 0.]])
    """
    before = np.cumsum(rows, axis=1) - rows
    return np.clip(k - before, 0.0, rows)


def bandwidth(D: Array, rows: Array, k: float) -> Array:
    """The distance of the neighbour after the first k, or of the last one; a row of no weight is not there."""
    after = np.cumsum(rows, axis=1) > k
    at = np.where(after.any(axis=1), after.argmax(axis=1), D.shape[1] - 1)
    found: Array = np.take_along_axis(reach(D, rows), at[:, None], axis=1)
    return found


def reach(D: Array, rows: Array) -> Floats:
    """The distance of each neighbour, or of the one before it where it has no weight; 0 before the first."""
    found: Floats = np.maximum.accumulate(np.where(rows > 0, D, 0.0), axis=1)
    return found


def repeated_weights(D: Array, rows: Array, weights: Any, k: float) -> Array:
    """The weights of neighbours that are themselves repeated `rows` times, k of them in all."""
    share = taken(rows, k)
    if callable(weights):
        return someone_votes(share * told_weights(D, weights), D)
    h = bandwidth(D, rows, k) if needs_next(weights) else None
    w = vote_weights(np.where(rows > 0, D, np.inf), weights, h)
    both = share if w is None else share * w
    return np.where(both.sum(axis=1, keepdims=True) > 0, both, share)


def _or_equal(w: Array) -> Array:
    """Rows in which nobody weighs anything (all at the rim of their kernel) are equal votes."""
    return np.where(w.sum(axis=1, keepdims=True) > 0, w, 1.0)
