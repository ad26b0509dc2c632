"""One turn of EM for a Gaussian mixture, compiled. The twins in `reference.mixture` say what each function computes."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Floats
from . import n_threads, native

__all__ = ["mixture_log_joint", "mixture_sums"]

GRAIN = 500_000  # products that are worth a thread
NO_MATRIX, NO_DIAGONAL = np.empty((0, 0, 0)), np.empty((0, 0))


def _threads(X: Array, factors: Floats, n_jobs: int | None) -> int:
    return n_threads(n_jobs, len(X) * (factors.size + 16 * len(factors)), GRAIN)


def _factors(factors: Floats) -> tuple[Floats, Floats]:
    return (factors, NO_MATRIX) if factors.ndim == 2 else (NO_DIAGONAL, factors)


def mixture_log_joint(
    X: Array, unit: Floats, means: Floats, factors: Floats, log_weights: Floats, n_jobs: int | None = None
) -> Floats:
    """log π_k + log N(x_n; k), shape (n, K); by diagonal factors (K, d) a missing cell (NaN) takes no part."""
    out = np.empty((len(X), len(means)))
    native().mixture_log_joint(X, unit, means, *_factors(factors), log_weights, out, _threads(X, factors, n_jobs))
    return out


def mixture_sums(
    X: Array,
    weights: Floats | None,
    unit: Floats,
    means: Floats,
    factors: Floats,
    log_weights: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of one pass over the rows."""
    n, first, second = np.empty(len(means)), np.empty_like(means), np.empty(factors.size)
    ask = (X, weights, unit, means, *_factors(factors), log_weights, pivots, shares)
    total: float = native().mixture_sums(*ask, n, first, second, _threads(X, factors, n_jobs))
    return total, n, first, second.reshape(factors.shape)
