"""One turn of EM for a Gaussian mixture, and one of k-means, compiled.

The twins in `reference.mixture` say what each function computes."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Codes, Floats, Ints
from . import n_threads, native

__all__ = [
    "Nearest",
    "broken_log_joint",
    "broken_sums",
    "kmeans_candidates",
    "kmeans_distances",
    "mixture_log_joint",
    "mixture_sums",
]

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


def broken_log_joint(
    Z: Floats,
    starts: Ints,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    n_jobs: int | None = None,
) -> Floats:
    """log π_k + log N(cells that are there; k) of rows with missing cells, pattern after pattern."""
    out = np.empty((len(Z), len(means)))
    threads = n_threads(n_jobs, len(Z) * covariances.size, GRAIN)
    native().broken_log_joint(Z, starts, means, covariances, log_weights, log_unit, out, threads)
    return out


def broken_sums(
    Z: Floats,
    starts: Ints,
    weights: Floats | None,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of rows with missing cells, what is missing as it is expected."""
    n, first, second = np.empty(len(means)), np.empty_like(means), np.empty_like(covariances)
    ask = (Z, starts, weights, means, covariances, log_weights, log_unit, pivots, shares)
    total: float = native().broken_sums(*ask, n, first, second, n_threads(n_jobs, len(Z) * covariances.size, GRAIN))
    return total, n, first, second


class Nearest:
    """The rows of k-means, step after step: labels, and bounds that spare rows whose label no step could have changed.

    Rows are x − shift, in units (a power of two) in which none is much longer than one. Products are in single precision
    until too many rows have to be settled in double.
    """

    def __init__(self, X: Array, weights: Floats | None, shift: Floats, unit: float, bounded: bool, n_jobs: int | None):
        self.X, self.weights, self.shift, self.unit, self.n_jobs = X, weights, shift, unit, n_jobs
        self.label: Codes = np.zeros(len(X), np.int32)
        self.bounds = np.empty((len(X), 2), np.float32) if bounded else None
        self.wide = False
        self.before: Floats | None = None

    def step(self, centres: Floats) -> tuple[int, Floats, Floats]:
        """(labels that changed, S, N) for these centres, (K, d), from the shift."""
        K, d = centres.shape
        sums, sizes = np.empty((K, d)), np.empty(K)
        drift = None
        if self.before is not None and self.bounds is not None:
            drift = np.sqrt(((centres - self.before) ** 2).sum(axis=1)) * self.unit * (1 + 1e-9)
        threads = n_threads(self.n_jobs, len(self.X) * (K * d + 4 * K + 8 * d), GRAIN)
        ask = (self.X, self.weights, self.shift, self.unit, centres, drift, self.wide)
        changed, settled = native().kmeans_step(*ask, self.label, self.bounds, sums, sizes, threads)
        if self.before is None:
            changed = len(self.X)
        self.wide = self.wide or 10 * settled > len(self.X)
        self.before = centres
        return changed, sums, sizes


def kmeans_distances(X: Array, shift: Floats, centres: Floats, label: Codes, n_jobs: int | None = None) -> Floats:
    """‖x − shift − c_label‖² of each row."""
    out = np.empty(len(X))
    native().kmeans_distances(X, shift, centres, label, out, n_threads(n_jobs, X.size, GRAIN))
    return out


def kmeans_candidates(X: Array, shift: Floats, candidates: Ints, closest: Floats, n_jobs: int | None = None) -> Floats:
    """min(closest[r], ‖x_r − x_c‖²) of each candidate c and row r."""
    out = np.empty((len(candidates), len(X)))
    threads = n_threads(n_jobs, X.size * len(candidates), GRAIN)
    native().kmeans_candidates(X, shift, candidates, closest, out, threads)
    return out
