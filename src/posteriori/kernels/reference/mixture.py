"""One turn of EM for a Gaussian mixture, in NumPy.

Symbols: z = x · unit a row in the model's units; π weight, μ mean, U factor of a component, Σ⁻¹ = U Uᵀ (U upper
triangular, or its diagonal alone); r[n, k] = P(k | x_n); w weight of a row, p pivot of a component.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Floats

LOG_2PI = float(np.log(2 * np.pi))


def mixture_log_joint(
    X: Array, unit: Floats, means: Floats, factors: Floats, log_weights: Floats, n_jobs: int | None = None
) -> Floats:
    """log π_k + log N(x_n; k), shape (n, K); by the diagonal factors (K, d) a missing cell (NaN) takes no part."""
    out = np.empty((len(X), len(means)))
    z = X.astype(np.float64) * unit
    log_unit = np.log(unit)
    for k, (mean, factor) in enumerate(zip(means, factors)):
        if factor.ndim == 2:
            y = (z - mean) @ factor
            log_root = np.log(np.diag(factor)) + log_unit - LOG_2PI / 2
            out[:, k] = log_weights[k] + log_root.sum() - 0.5 * (y * y).sum(axis=1)
        else:
            cell = np.log(factor) + log_unit - LOG_2PI / 2 - 0.5 * ((z - mean) * factor) ** 2
            out[:, k] = log_weights[k] + np.where(np.isnan(z), 0.0, cell).sum(axis=1)
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
    """(ℓ, N, S, Q): ℓ = Σ_n w log Σ_k π_k N, N_k = Σ w r, S_k = Σ w r (z − p), Q_k = Σ w r (z − p)(z − p)ᵀ or its diagonal.

    A missing cell (diagonal factors) is expected: z − p is m = μ − p, and its square m² + u⁻². `shares` are r where they
    are known, and ℓ is then 0.
    """
    total = 0.0
    w = np.ones(len(X)) if weights is None else weights
    if shares is None:
        joint = mixture_log_joint(X, unit, means, factors, log_weights)
        top = joint.max(axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        shares = np.exp(joint - top[:, None])
        mass = shares.sum(axis=1)
        with np.errstate(divide="ignore"):
            total = float((w * (top + np.log(mass)))[w > 0].sum())
        shares = shares / np.where(mass > 0, mass, 1.0)[:, None]
    r = shares * w[:, None]
    z = X.astype(np.float64) * unit
    first, second = np.empty_like(means), np.empty_like(factors)
    for k, (mean, pivot, factor) in enumerate(zip(means, pivots, factors)):
        gap = z - pivot
        if factor.ndim == 2:
            first[k] = r[:, k] @ gap
            second[k] = (gap * r[:, k, None]).T @ gap
        else:
            away = mean - pivot
            missing = np.isnan(gap)
            first[k] = r[:, k] @ np.where(missing, away, gap)
            second[k] = r[:, k] @ np.where(missing, away**2 + factor**-2.0, gap**2)
    return total, r.sum(axis=0), first, second


def kmeans_step(X: Array, weights: Floats | None, shift: Floats, centres: Floats) -> tuple[Array, Floats, Floats]:
    """(label, S, N): the nearest centre c of x − shift, the first of equals, and the weighted sums and sizes by label."""
    z = X.astype(np.float64) - shift
    w = np.ones(len(X)) if weights is None else weights
    label = ((z[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1).astype(np.int32)
    mine = np.eye(len(centres))[label] * w[:, None]
    return label, mine.T @ z, mine.sum(axis=0)


def kmeans_distances(X: Array, shift: Floats, centres: Floats, label: Array) -> Floats:
    """‖x − shift − c_label‖² of each row."""
    return np.asarray(((X.astype(np.float64) - shift - centres[label]) ** 2).sum(axis=1))


def kmeans_candidates(X: Array, shift: Floats, candidates: Array, closest: Floats) -> Floats:
    """min(closest[r], ‖x_r − x_c‖²) of each candidate c and row r, shape (candidates, n)."""
    z = X.astype(np.float64) - shift
    return np.asarray(np.minimum(closest, ((z[None] - z[candidates][:, None, :]) ** 2).sum(axis=2)))
