"""Posteriors from scores: Platt's sigmoid for two classes, pairwise coupling for more.

Symbols: f score, r_ij = P(y = i | y ∈ {i, j}, x), p_i = P(y = i | x).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = 1e-7  # no pair is more certain than this


def sigmoid(scores: Floats, A: float, B: float) -> Floats:
    """P(+ | f) = 1 / (1 + exp(Af + B)), written so that neither end overflows.

    >>> sigmoid(np.array([0.0, 800.0]), -1.0, 0.0).tolist()
    [0.5, 1.0]
    """
    z = A * scores + B
    small = np.exp(-np.abs(z))
    return np.where(z >= 0, small / (1 + small), 1 / (1 + small))


def fit_sigmoid(scores: Floats, positive: NDArray[np.bool_], steps: int = 100) -> tuple[float, float]:
    """(A, B) of the largest likelihood, by Newton's method with backtracking (Lin, Lin and Weng 2007).

    The targets are Platt's: (N₊+1)/(N₊+2) and 1/(N₋+2), so that separable scores keep a finite slope.
    """
    plus = float(positive.sum())
    minus = len(scores) - plus
    target = np.where(positive, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def loss(A: float, B: float) -> float:
        z = A * scores + B
        return float((np.logaddexp(0, -np.abs(z)) + np.where(z >= 0, target * z, (target - 1) * z)).sum())

    A, B = 0.0, float(np.log((minus + 1) / (plus + 1)))
    now = loss(A, B)
    for _ in range(steps):
        p = sigmoid(scores, A, B)
        d1, d2 = target - p, p * (1 - p)
        g = np.array([scores @ d1, d1.sum()])
        if np.abs(g).max() < 1e-5:
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


def folds(positive: NDArray[np.bool_], count: int, random: np.random.RandomState) -> Ints:
    """A fold for each row, the classes dealt out evenly."""
    fold = np.empty(len(positive), np.int64)
    for side in (positive, ~positive):
        order = random.permutation(np.flatnonzero(side))
        fold[order] = np.arange(len(order)) % count
    return fold
