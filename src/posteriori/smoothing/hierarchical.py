"""Back-off: where a context is rare, its distribution leans on that of the context without its last parent.

Symbols: N[…, x, y] counts of x in a context, N[…, y] their sum over x, λ additive smoothing, m the weight of the back-off.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Floats


def log_dirichlet_table(counts: Array, smoothing: float) -> Floats:
    """ln (N[…, x, y] + λ) − ln (N[…, y] + Sλ); uniform where there are no counts and λ = 0.

    >>> np.exp(log_dirichlet_table(np.array([[1], [3]]), 1.0)).round(4).tolist()
    [[0.3333], [0.6667]]
    """
    size = counts.shape[-2]
    totals = counts.sum(axis=-2, keepdims=True) + size * smoothing
    blank = np.where(totals > 0, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        out: Floats = np.log(counts + smoothing + blank) - np.log(totals + blank * max(size, 1))
    return out


def log_backoff(counts: Array, log_base: Floats, weight: float) -> Floats:
    """ln θ[…, x, y] = ln (N[…, x, y] + m·base[x, y]) − ln (N[…, y] + m); the base alone where both are zero.

    >>> base = np.log(np.array([[0.5], [0.5]]))
    >>> np.exp(log_backoff(np.array([[[5], [0]]]), base, 5.0)).round(4).tolist()
    [[[0.75], [0.25]]]
    """
    totals = counts.sum(axis=-2, keepdims=True) + weight
    with np.errstate(divide="ignore"):
        own = np.log(counts + weight * np.exp(log_base)) - np.log(np.where(totals > 0, totals, 1.0))
    return np.where(totals > 0, own, log_base)
