"""A pool of posteriors: exponents by which several answers are multiplied, fitted on rows that none of them has seen.

Symbols: S_i[r, y] what part i says of row r, u_i its exponent, u_0 that of the prior π; P the number of parts, n rows, w
weights: P(y|x) ∝ π_y^{u_0} Π_i S_i(y|x)^{u_i}.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Floats

__all__ = ["FLOOR", "class_shares", "fit_exponents", "pooled"]

FLOOR = 1e-12  # of every probability whose logarithm is taken
TOGETHER = 1.1  # what the parts' exponents sum to where rows do not say otherwise
STRONGEST, PRIOR = 4.0, 1.0  # bounds of u_i, and of |u_0|


def class_shares(y: Array, K: int, weights: Floats | None = None) -> Floats:
    """π_y = n_y/n.

    >>> class_shares(np.array([0, 0, 2]), 3).round(2).tolist()
    [0.67, 0.0, 0.33]
    """
    mass = np.bincount(y, weights, minlength=K).astype(np.float64)
    found: Floats = mass / mass.sum()
    return found


def _logs(parts: Sequence[Floats], prior: Floats) -> list[Floats]:
    return [np.log(np.maximum(part, FLOOR)) for part in (*parts, prior[None, :])]


def pooled(parts: Sequence[Floats], prior: Floats, exponents: Floats) -> Floats:
    """P(y|x), the exponents of the parts and then that of the prior.

    >>> pooled([np.array([[0.8, 0.2]])], np.array([0.5, 0.5]), np.array([2.0, 0.0])).round(3).tolist()
    [[0.941, 0.059]]
    """
    return _shares(_logs(parts, prior), exponents)


def _shares(logs: Sequence[Floats], exponents: Floats) -> Floats:
    z = exponents[0] * logs[0]
    for u, part in zip(exponents[1:], logs[1:]):
        z = z + u * part
    z = np.exp(z - z.max(axis=1, keepdims=True))
    found: Floats = z / z.sum(axis=1, keepdims=True)
    return found


def fit_exponents(parts: Sequence[Floats], prior: Floats, y: Array, weights: Floats | None = None) -> Floats:
    """u of least mean log loss + (P/n) Σ (u − u°)², u° = 1.1/P and 0 for the prior, u_i in [0, 4], u_0 in [−1, 1].

    The loss is convex in u. Without rows u is u°. `weights` are shares of all rows, those that are not here among them:
    rows that hardly weigh anything leave u where it is.

    >>> said = np.array([[0.6, 0.4], [0.4, 0.6]] * 50)
    >>> bool(fit_exponents([said], np.array([0.5, 0.5]), np.array([0, 1] * 50))[0] > 2)
    True
    """
    P, n = len(parts), len(y)
    usual = np.array([*[TOGETHER / P] * P, 0.0])
    if n == 0:
        return usual
    logs, at = _logs(parts, prior), (np.arange(n), y)
    w = np.full(n, 1.0 / n) if weights is None else weights
    own = [np.broadcast_to(part, (n, part.shape[1]))[at] for part in logs]
    low, high = np.array([*[0.0] * P, -PRIOR]), np.array([*[STRONGEST] * P, PRIOR])

    def loss(u: Floats) -> tuple[float, Floats]:
        p = _shares(logs, u)
        found = -(w * np.log(np.maximum(p[at], 1e-300))).sum() + P / n * ((u - usual) ** 2).sum()
        return float(found), p

    u = usual
    value, p = loss(u)
    for _ in range(50):  # Newton's method, within the bounds
        slope, bend = _derivatives(logs, own, p, w)
        slope, bend = slope + 2 * P / n * (u - usual), bend + 2 * P / n * np.eye(P + 1)
        free = ~(((u <= low) & (slope > 0)) | ((u >= high) & (slope < 0)))
        if not free.any() or np.abs(slope[free]).max() < 1e-10:
            break
        step = np.zeros(P + 1)
        step[free] = -np.linalg.solve(bend[np.ix_(free, free)], slope[free])
        size, before = 1.0, value
        while size > 1e-6:
            tried = np.clip(u + size * step, low, high)
            then, shares = loss(tried)
            if then < value:
                u, value, p = tried, then, shares
                break
            size /= 2
        if before - value < 1e-13:
            break
    return u


def _derivatives(logs: Sequence[Floats], own: Sequence[Floats], p: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Slope and bend of the weighted log loss: Σ_r w (E ln S_i − ln S_i(y_r)) and Σ_r w cov(ln S_i, ln S_j) under p."""
    said = [p * part for part in logs]
    mean = [part.sum(axis=1) for part in said]
    slope = np.array([(w * (m - true)).sum() for m, true in zip(mean, own)])
    bend = np.empty((len(logs), len(logs)))
    for i, a in enumerate(said):
        for j in range(i + 1):
            bend[i, j] = bend[j, i] = (w * ((a * logs[j]).sum(axis=1) - mean[i] * mean[j])).sum()
    return slope, bend
