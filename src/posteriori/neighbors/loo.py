"""k by exact leave-one-out: one search for the neighbours of every training row, then every k at once.

Symbols: n rows, M the largest k, D and I distances and rows of the neighbours (n, N), N ≥ M, the row itself left out;
t targets of the neighbours, the last column all ones; μ how often a neighbour is repeated; h bandwidth, v = 1 − D/h.

A kernel's bandwidth changes with k and so do all weights, but not their moments' law: a kernel is a polynomial in v, and
when h grows to h', v becomes a·v + b with a = h/h', b = 1 − a. So the sums B_j = Σ μ t v^j are carried from one neighbour
to the next, all terms positive, and every k costs the same.

What a neighbour's vote weighs, by its distance.

Symbols: D distances (m, k), sorted; h bandwidth (m, 1), the distance of the next neighbour; u = D/h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from ..arrays import Array, Bools, Floats
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


CELLS = 1 << 20  # votes held at once: rows × neighbours × columns of the target
DEGREE = 12  # at which the cosine and the Gaussian are polynomials on [0, 1], to 2e-15


def largest_k(n: int) -> int:
    """The largest k that is tried: 2√n + 10, as many neighbours as there are and as fit into memory.

    >>> largest_k(100), largest_k(5)
    (30, 4)
    """
    return max(1, min(n - 1, int(2 * np.sqrt(n)) + 10, 50_000_000 // max(n, 1)))


def totals(D: Floats, t: Floats, rows: Floats | None, weights: Any, M: int) -> Floats:
    """Σ_{r ≤ k} w_r t_r for k = 1 … M, shape (n, M, columns of t).

    A function's weights may depend on all distances that it is shown, so it is asked again for every k.
    """
    if callable(weights) and rows is None:
        sums = [np.einsum("nk,nkc->nc", told_weights(D[:, :k], weights), t[:, :k]) for k in range(1, M + 1)]
        return np.asarray(np.stack(sums, axis=1))
    n, N, _ = t.shape
    mass = np.ones((n, N)) if rows is None else rows
    held = np.cumsum(mass, axis=1)
    k = np.arange(1.0, M + 1)
    whole = first_over(held, M)  # neighbours that k holds entirely; the next one it may hold in part
    spare = np.where(whole < N, k - np.where(whole > 0, _at(held, whole - 1), 0.0), 0.0)[:, :, None]
    edge = np.minimum(whole, N - 1)
    equal: Floats = _at(_summed(mass[:, :, None] * t), whole) + spare * _at(t, edge)
    if weights is None or weights == "uniform":
        return equal
    if needs_next(weights):
        kernel, h = in_v(weights), reach(D, mass)
        at_rim = spare * kernel[0] * usable(_at(h, edge))[:, :, None]
        votes = _at(carried(h, mass[:, :, None] * t, kernel), whole) + at_rim * _at(t, edge)
    else:
        w = vote_weights(D if callable(weights) else np.where(mass > 0, D, np.inf), weights)
        weighed = t if w is None else w[:, :, None] * t
        votes = _at(_summed(mass[:, :, None] * weighed), whole) + spare * _at(weighed, edge)
    if callable(weights):
        someone_votes(votes[:, :, -1].min(axis=1, keepdims=True), D)
    return np.where(votes[:, :, -1:] > 0, votes, equal)


def first_over(held: Floats, M: int) -> Array:
    """#{r : held_r ≤ k} for k = 1 … M, for each row, in one pass over `held`.

    >>> first_over(np.array([[0.5, 1.0, 3.5]]), 4)
    array([[2, 2, 2, 3]])
    """
    n = len(held)
    since = np.minimum(np.ceil(held), M + 1).astype(np.int64) + (M + 2) * np.arange(n)[:, None]
    return np.cumsum(np.bincount(since.ravel(), minlength=n * (M + 2)).reshape(n, M + 2), axis=1)[:, 1 : M + 1]


def in_v(name: str) -> Floats:
    """The coefficients of a kernel as a polynomial in v = 1 − u.

    >>> in_v("epanechnikov")
    array([ 0.,  2., -1.])
    """
    kernel = KERNELS[name]
    if name in ("cosine", "gaussian"):
        near = Chebyshev.interpolate(lambda v: kernel(1 - v), DEGREE, domain=[0, 1])
        found = np.asarray(near.convert(kind=Polynomial).coef, dtype=np.float64)
    else:
        found = np.asarray(kernel(Polynomial([1.0, -1.0])).coef, dtype=np.float64)
    found[0] = kernel(1.0) if name == "gaussian" else 0.0  # at the rim all others are zero
    return found


def usable(h: Floats) -> Bools:
    """Whether a distance can be a bandwidth: all votes are equal where the next neighbour is at distance 0 or infinity."""
    return np.asarray((h > 0) & np.isfinite(h))


def carried(D: Floats, t: Floats, kernel: Floats) -> Floats:
    """Σ_{i < r} t_i K(D_i/h) with h = D_r, for r = 0 … N (the last with h = D_{N−1}); 0 where h is 0 or infinite."""
    n, N, columns = t.shape
    votes = np.zeros((n, N + 1, columns))
    B = np.zeros((len(kernel), n, columns))
    ends = usable(np.append(D[:, 1:], D[:, -1:], axis=1))
    D = np.where(np.isfinite(D), D, 0.0)
    for r in range(N):
        B[0] += t[:, r]  # at h = D_r, its own distance, v is 0
        h, wider = D[:, r], D[:, min(r + 1, N - 1)]
        grows = wider > h
        if grows.any():
            b = np.where(grows, (wider - h) / np.where(grows, wider, 1.0), 0.0)[:, None]
            a = np.where(grows, h / np.where(grows, wider, 1.0), 1.0)[:, None]
            for level in range(1, len(kernel)):  # after it, B_j is Σ t v^(j−level) (a·v + b)^level
                B[level:] = a * B[level:] + b * B[level - 1 : -1]
        votes[:, r + 1] = np.tensordot(kernel, B, axes=1)
    votes[:, 1:] *= ends[:, :, None]
    return votes


def _at(A: Array, at: Array) -> Array:
    """A[i, at[i, k]]."""
    return A[np.arange(len(A))[:, None], at]


def _summed(t: Floats) -> Floats:
    """Sums of the first 0, 1, … N along the second axis."""
    return np.concatenate([np.zeros_like(t[:, :1]), np.cumsum(t, axis=1)], axis=1)


def _parts(D: Floats, I: Array, t: Floats, weights: Any, sample_weight: Floats | None, M: int) -> Iterator[Any]:
    """(rows, their totals), a few rows at a time."""
    step = max(1, CELLS // (D.shape[1] * t.shape[1]))
    for b in range(0, len(D), step):
        rows = slice(b, b + step)
        repeated = None if sample_weight is None else sample_weight[I[rows]]
        yield rows, totals(D[rows], t[I[rows]], repeated, weights, M)


def error_curve(
    D: Floats, I: Array, codes: Array, K: int, weights: Any, sample_weight: Floats | None, M: int
) -> Floats:
    """The share of training rows that k = 1 … M neighbours, the row itself not among them, put into a wrong class."""
    share = np.ones(len(D)) if sample_weight is None else sample_weight
    hot = np.hstack([np.eye(K)[codes], np.ones((len(D), 1))])
    wrong = np.zeros(M)
    for rows, votes in _parts(D, I, hot, weights, sample_weight, M):
        wrong += share[rows] @ (votes[:, :, :K].argmax(axis=2) != codes[rows, None])
    return np.asarray(wrong / share.sum())


def squared_curve(D: Floats, I: Array, y: Floats, weights: Any, sample_weight: Floats | None, M: int) -> Floats:
    """The mean squared error of the mean of k = 1 … M neighbours, the row itself not among them; y is (n, outputs)."""
    share = np.ones(len(D)) if sample_weight is None else sample_weight
    full = np.hstack([y, np.ones((len(D), 1))])
    level = np.average(y, axis=0, weights=share)  # where no neighbour has a weight
    lost = np.zeros(M)
    for rows, sums in _parts(D, I, full, weights, sample_weight, M):
        weight = sums[:, :, -1:]
        mean = np.where(weight > 0, sums[:, :, :-1] / np.where(weight > 0, weight, 1.0), level)
        lost += share[rows] @ ((mean - y[rows, None]) ** 2).sum(axis=2)
    return np.asarray(lost / share.sum())
