"""A pool of posteriors: exponents by which several answers are multiplied, fitted on rows that none of them has seen.

Symbols: S_i[r, y] what part i says of row r, u_i its exponent, u_0 that of the prior π; P the number of parts, n rows, w
weights: P(y|x) ∝ π_y^{u_0} Π_i S_i(y|x)^{u_i}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..arrays import Array, Floats
from ..table.encode import team_map

__all__ = ["FLOOR", "class_shares", "fit_exponents", "in_blocks", "pooled"]

T = TypeVar("T")

FLOOR = 1e-12  # of every probability whose logarithm is taken
TOGETHER = 1.1  # what the parts' exponents sum to where rows do not say otherwise
STRONGEST, PRIOR = 4.0, 1.0  # bounds of u_i, and of |u_0|
NEAR = 1 << 15  # numbers that are worked on together


def class_shares(y: Array, K: int, weights: Floats | None = None) -> Floats:
    """π_y = n_y/n.

    >>> class_shares(np.array([0, 0, 2]), 3).round(2).tolist()
    [0.67, 0.0, 0.33]
    """
    mass = np.bincount(y, weights, minlength=K).astype(np.float64)
    found: Floats = mass / mass.sum()
    return found


def pooled(parts: Sequence[Floats], prior: Floats, exponents: Floats, n_jobs: int | None = 1) -> Floats:
    """P(y|x), the exponents of the parts and then that of the prior.

    >>> pooled([np.array([[0.8, 0.2]])], np.array([0.5, 0.5]), np.array([2.0, 0.0])).round(3).tolist()
    [[0.941, 0.059]]
    """
    out = np.empty(parts[0].shape)
    own = _log(prior)[None, :]

    def some(rows: slice) -> None:
        out[rows] = _shares([*(_log(part[rows]) for part in parts), own], exponents)

    in_blocks(some, len(out), len(prior), n_jobs)
    return out


def in_blocks(work: Callable[[slice], T], n: int, K: int, n_jobs: int | None) -> list[T]:
    """What `work` makes of some rows at a time, whose numbers stay near, in the order of the rows."""
    step = max(1, NEAR // K)
    return team_map(work, [slice(at, min(n, at + step)) for at in range(0, n, step)], n * K * 10, n_jobs)


def _log(p: Floats) -> Floats:
    found: Floats = np.maximum(p, FLOOR)
    return np.log(found, out=found)


def _shares(logs: Sequence[Floats], exponents: Floats) -> Floats:
    z: Floats = exponents[0] * logs[0]
    for u, part in zip(exponents[1:], logs[1:]):
        z += u * part
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def fit_exponents(
    parts: Sequence[Floats], prior: Floats, y: Array, weights: Floats | None = None, n_jobs: int | None = 1
) -> Floats:
    """u of least mean log loss + (P/n) Σ (u − u°)², u° = 1.1/P and 0 for the prior, u_i in [0, 4], u_0 in [−1, 1].

    The loss is convex in u. Without rows u is u°. `weights` are shares of all rows, those that are not here among them:
    rows that hardly weigh anything leave u where it is.

    >>> said = np.array([[0.6, 0.4], [0.4, 0.6]] * 50)
    >>> bool(fit_exponents([said], np.array([0.5, 0.5]), np.array([0, 1] * 50))[0] > 2)
    True
    """
    P, n, K = len(parts), len(y), len(prior)
    usual = np.array([*[TOGETHER / P] * P, 0.0])
    if n == 0:
        return usual
    w = np.full(n, 1.0 / n) if weights is None else weights
    own = _log(prior)[None, :]
    blocks = in_blocks(lambda rows: ([*(_log(part[rows]) for part in parts), own], y[rows], w[rows]), n, K, n_jobs)
    low, high = np.array([*[0.0] * P, -PRIOR]), np.array([*[STRONGEST] * P, PRIOR])

    def look(u: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its slope and its bend."""
        some = team_map(lambda block: _loss(u, *block), blocks, n * K * 10, n_jobs)
        loss, slope, bend = (sum(each) for each in zip(*some))
        gap, stiff = u - usual, P / n
        return float(loss + stiff * (gap**2).sum()), slope + 2 * stiff * gap, bend + 2 * stiff * np.eye(P + 1)

    u = usual
    value, slope, bend = look(u)
    for _ in range(50):  # Newton's method, within the bounds
        free = ~(((u <= low) & (slope > 0)) | ((u >= high) & (slope < 0)))
        if not free.any() or np.abs(slope[free]).max() < 1e-10:
            break
        step = np.zeros(P + 1)
        step[free] = -np.linalg.solve(bend[np.ix_(free, free)], slope[free])
        size, before = 1.0, value
        while size > 1e-6:
            tried = np.clip(u + size * step, low, high)
            then = look(tried)
            if then[0] < value:
                u, (value, slope, bend) = tried, then
                break
            size /= 2
        if before - value < 1e-13:
            break
    return u


def _loss(u: Floats, logs: Sequence[Floats], y: Array, w: Floats) -> tuple[float, Floats, Floats]:
    """The weighted log loss of some rows, its slope and its bend.

    Slope: Σ_r w (E ln S_i − ln S_i(y_r)); bend: Σ_r w cov(ln S_i, ln S_j) under p.
    """
    p, at = _shares(logs, u), np.arange(len(y))
    loss = -float(w @ np.log(np.maximum(p[at, y], 1e-300)))
    said = [p * part for part in logs]
    mean = [part.sum(axis=1) for part in said]
    own = [part[at if len(part) == len(y) else 0, y] for part in logs]
    slope = np.array([w @ (m - true) for m, true in zip(mean, own)])
    bend = np.empty((len(logs), len(logs)))
    for i, a in enumerate(said):
        for j in range(i + 1):
            bend[i, j] = bend[j, i] = w @ (
                np.einsum("rk,rk->r", a, np.broadcast_to(logs[j], a.shape)) - mean[i] * mean[j]
            )
    return loss, slope, bend
