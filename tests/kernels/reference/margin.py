"""Kernel blocks, the pairwise solver and ridge logistic regression, in NumPy.

Symbols: a, b tables of rows; K(a_i, b_j) their kernel; β multipliers between `low` and `high`, v = p − Kβ. Of ridge
regression: z_r the point of row r, C scores (one where there are two classes: that of the second), B[c] its weights and,
last, its intercept; W = Σ w.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from posteriori.arrays import Array, Floats

if TYPE_CHECKING:
    from posteriori.kernels.margin import KernelSpec

FLAT = 1e-12


def kernel_rows(spec: KernelSpec, a: Array, b: Array) -> Floats:
    """K(a_i, b_j): of s = scale·aᵀb + shift, "dot" is s, "polynomial" its power, "sigmoid" its tanh; "rbf" is
    exp(−scale·‖a−b‖²), "distance" exp(−scale·‖a−b‖), "manhattan" exp(−scale·‖a−b‖₁)."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    gaps = a[:, None, :] - b[None, :, :]
    if spec.kind == "manhattan":
        return np.asarray(np.exp(-spec.scale * np.abs(gaps).sum(axis=2)))
    if spec.kind in ("rbf", "distance"):
        squared = (gaps**2).sum(axis=2)
        return np.asarray(np.exp(-spec.scale * (squared if spec.kind == "rbf" else np.sqrt(squared))))
    line = spec.scale * (a @ b.T) + spec.shift
    return np.asarray(line if spec.kind == "dot" else line**spec.degree if spec.kind == "polynomial" else np.tanh(line))


def kernel_sums(spec: KernelSpec, a: Array, b: Array, coef: Floats) -> Floats:
    """Σ_j K(a_i, b_j) coef[c, j], shape (rows of a, rows of coef)."""
    return kernel_rows(spec, a, b) @ coef.T


def subtract_rows(rows: Array, slot: Array, step: Floats, v: Floats) -> None:
    """v −= Σ_r step[r]·rows[slot[r]], in place."""
    v -= step @ rows[slot, : len(v)].astype(np.float64)


def smo_block(
    K: Array, low: Floats, high: Floats, beta: Floats, v: Floats, tol: float, max_steps: int
) -> tuple[int, float]:
    """Move pairs of second-order choice until max_up v − min_down v ≤ tol; (steps, gap), beta and v in place."""
    K = np.asarray(K, dtype=np.float64)
    diagonal, steps = K.diagonal(), 0
    while True:
        above, below = np.where(beta < high, v, -np.inf), np.where(beta > low, v, np.inf)
        i = int(above.argmax())
        gap = float(above[i] - below.min())
        if np.isneginf(above[i]) or gap <= tol or steps >= max_steps:
            return steps, gap
        fall, bend = above[i] - below, diagonal[i] + diagonal - 2.0 * K[i]
        bend = np.where(bend > 0.0, bend, FLAT)
        j = int(np.where(fall > 0.0, np.where(fall > 0.0, fall, 0.0) ** 2 / bend, -1.0).argmax())
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        t = min(fall[j] / bend[j], room_i, room_j)
        if not t < 1e60:
            return steps, gap
        new_i, new_j = high[i] if t >= room_i else beta[i] + t, low[j] if t >= room_j else beta[j] - t
        if new_i == beta[i] and new_j == beta[j]:
            return steps, gap
        v -= (new_i - beta[i]) * K[i] + (new_j - beta[j]) * K[j]
        beta[i], beta[j] = new_i, new_j
        steps += 1


def descent_dual(X: Floats, y: Floats, ridge: Floats, alpha: Floats) -> float:
    """½‖Σ α_i y_i x_i‖² + ½ Σ ridge_i α_i² − Σ α_i: what a pass of dual coordinate descent may only lower."""
    w = X.T @ (alpha * y)
    return float(0.5 * w @ w + 0.5 * ridge @ alpha**2 - alpha.sum())


def free_move(Q: Floats, g: Floats) -> Floats:
    """−Q⁻¹g: where the conjugate gradients of the rows off their bounds end."""
    return np.asarray(-np.linalg.solve(Q, g), dtype=np.float64)


def pair_votes(decisions: Floats, n_classes: int) -> Floats:
    """A class's wins, and below them (under ½) the sum of its decisions; of a pair (i, j), i < j, f > 0 is a win of i."""
    wins, trust = np.zeros((len(decisions), n_classes)), np.zeros((len(decisions), n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        f = decisions[:, k]
        wins[:, i] += f > 0
        wins[:, j] += f <= 0
        trust[:, i] += f
        trust[:, j] -= f
    return np.asarray(wins + trust / (3 * (np.abs(trust) + 1)))


def merge_rows(X: Floats, target: Floats, weight: Floats) -> list[list[int]]:
    """The rows of positive weight, those with equal cells and targets together."""
    groups: dict[tuple[float, ...], list[int]] = {}
    for i in np.flatnonzero(weight > 0).tolist():
        groups.setdefault((float(target[i]), *X[i].tolist()), []).append(i)
    return list(groups.values())


def ridge_loss(
    points: Floats, y: Array, weights: Floats, rows: Array, offset: Floats, charge: Floats, B: Floats
) -> tuple[float, Floats]:
    """(L, ∂L/∂B) over some rows: L = Σ_r w_r/W ln Σ_c exp(η_rc − η_r,y_r) + ½ Σ_cj charge_j B[c, j]²/W."""
    z = np.column_stack([points[rows], np.ones(len(rows))])
    eta = z @ B.T + offset
    if len(B) == 1:
        eta = np.column_stack([np.zeros(len(rows)), eta])
    top = eta.max(axis=1, keepdims=True)
    log_p = eta - top - np.log(np.exp(eta - top).sum(axis=1, keepdims=True))
    w = weights[rows] / weights[rows].sum()
    charge = charge / weights[rows].sum()
    gap = np.exp(log_p) - np.eye(eta.shape[1])[y[rows]]
    gap = gap[:, 1:] if len(B) == 1 else gap
    own = log_p[np.arange(len(rows)), y[rows]]
    return float(-(w * own).sum() + 0.5 * (charge * B**2).sum()), (w[:, None] * gap).T @ z + charge * B
