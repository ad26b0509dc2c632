"""Ridge logistic regression, in NumPy.

Symbols: z_r the point of row r, C scores (one where there are two classes: that of the second), B[c] its weights and, last,
its intercept; W = Σ w.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Floats

__all__ = ["ridge_loss"]


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
