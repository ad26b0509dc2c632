"""Posteriors from scores: Platt's sigmoid for two classes, pairwise coupling for more.

Symbols: f score, r_ij = P(y = i | y ∈ {i, j}, x), p_i = P(y = i | x).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints

NEVER = 1e-7  # no pair is more certain than this
ROUNDING = 1e-9
LOWEST = float(np.finfo(np.float64).min)


def sigmoid(scores: Floats, A: float, B: float) -> Floats:
    """P(+ | f) = 1 / (1 + exp(Af + B)), written so that neither end overflows.

    >>> sigmoid(np.array([0.0, 800.0]), -1.0, 0.0).tolist()
    [0.5, 1.0]
    """
    z = A * scores + B
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, small / (1 + small), 1 / (1 + small))


def normalised(scores: Floats, sigmoids: list[tuple[float, float]]) -> Floats:
    """Each column's sigmoid over the sum of its row, by logarithms: far from every class all of them underflow."""
    slope, shift = np.array(sigmoids).T
    log_p = np.maximum(-np.logaddexp(0, slope * scores + shift), LOWEST)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def fit_sigmoid(
    scores: Floats, positive: NDArray[np.bool_], weight: Floats | None = None, *, steps: int = 100
) -> tuple[float, float]:
    """(A, B) of the largest likelihood, by Newton's method with backtracking (Lin, Lin and Weng 2007).

    The targets are Platt's: (N₊+1)/(N₊+2) and 1/(N₋+2), so that separable scores keep a finite slope.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    plus, minus = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))
    top = float(weight.max())
    weight, near = weight / top, max(1e-5 / top, 1e-12)  # sums of huge weights are no floats

    def loss(A: float, B: float) -> float:
        z = A * scores + B
        return float(weight @ (np.logaddexp(0, -np.abs(z)) + np.where(z >= 0, target * z, (target - 1) * z)))

    A, B = 0.0, float(np.log((minus + 1) / (plus + 1)))
    now = loss(A, B)
    for _ in range(steps):
        p = sigmoid(scores, A, B)
        d1, d2 = weight * (target - p), weight * p * (1 - p)
        g = np.array([scores @ d1, d1.sum()])
        if np.abs(g).max() < near:
            break
        ridge = 1e-12
        H = np.array([[scores**2 @ d2 + ridge, scores @ d2], [scores @ d2, d2.sum() + ridge]])
        move = -np.linalg.solve(H, g)
        step = 1.0
        while step >= 1e-10:
            then = loss(A + step * move[0], B + step * move[1])
            if then < now + 1e-4 * step * (g @ move):
                break
            step /= 2
        else:
            break
        A, B, now = A + step * move[0], B + step * move[1], then
    return A, B


def couple(r: Floats) -> Floats:
    """p of least Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)² with Σp = 1 (Wu, Lin and Weng 2004), for r of shape (n, K, K).

    With Q_ii = Σ_{j≠i} r_ji² and Q_ij = −r_ji r_ij, p solves Qp + b1 = 0, 1ᵀp = 1.

    >>> couple(np.array([[[0., .6], [.4, 0.]]])).round(6).tolist()
    [[0.6, 0.4]]
    """
    n, K, _ = r.shape
    r = np.clip(r, NEVER, 1 - NEVER)
    off = r * (1 - np.eye(K))
    system = np.zeros((n, K + 1, K + 1))
    system[:, :K, :K] = -np.swapaxes(off, 1, 2) * off
    system[:, np.arange(K), np.arange(K)] = (off**2).sum(axis=1)
    system[:, :K, K] = system[:, K, :K] = 1.0
    goal = np.zeros((n, K + 1, 1))
    goal[:, K] = 1.0
    p = np.clip(np.linalg.solve(system, goal)[:, :K, 0], 0.0, None)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def deal(positive: NDArray[np.bool_], weight: Floats, count: int, random: np.random.RandomState) -> Floats:
    """share[k, i]: how much of row i fold k holds out; a row of weight w is w rows, the classes dealt out evenly.

    >>> deal(np.array([True, False]), np.array([4.0, 1.0]), 2, np.random.RandomState(0)).tolist()
    [[0.5, 1.0], [0.5, 0.0]]
    """
    unit = weight / weight.min()
    share, fold = np.zeros((count, len(weight))), np.arange(count)[:, None]
    for side in (positive, ~positive):
        order = random.permutation(np.flatnonzero(side))
        end = np.cumsum(unit[order])
        share[:, order] = (_dealt(end, fold, count) - _dealt(end - unit[order], fold, count)) / unit[order]
    share[share < ROUNDING], share[share > 1 - ROUNDING] = 0.0, 1.0  # a remnant of rounding is no part of a row
    return share


def _dealt(length: Floats, fold: Ints, count: int) -> Floats:
    """How much of the first `length` rows fell to each fold, dealt one row after another."""
    turns, rest = np.divmod(length, count)
    return np.asarray(turns + np.clip(rest - fold, 0.0, 1.0))
