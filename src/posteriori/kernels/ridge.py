"""Ridge logistic regression of several draws of rows at a time. `reference.ridge` specifies it; symbols as there."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Floats
from . import n_threads, native

__all__ = ["ridge_folds"]


def ridge_folds(
    points: Floats,
    y: Array,
    weights: Floats,
    rows: list[Array],
    offset: Floats,
    charge: Floats,
    metric: Floats,
    B: Floats,
    steps: int,
    tol: float,
    n_jobs: int | None = None,
) -> Floats:
    """L of each model, whose B[m] walks from where it is to where L of its own rows is least.

    L = Σ_r w_r/W ln Σ_c exp(η_rc − η_r,y_r) + ½ Σ_cj charge_j B[c, j]²/W, W = Σ_r w_r, η = B z + intercept + offset; one
    row of B, that of the second class, where there are two. `metric` is about the inverse of L's second derivatives. A
    walk ends with a step that would promise less than `tol`, or after so many `steps`. Threads take a model each.
    """
    ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    loss = np.empty(len(rows))
    at = np.concatenate(rows).astype(np.int32)
    threads = n_threads(n_jobs, 10 * len(at) * metric.size)
    y = np.ascontiguousarray(y, dtype=np.uint32)
    native().ridge_folds(points, y, weights, at, ends, offset, charge, metric, B, loss, steps, float(tol), threads)
    return loss
