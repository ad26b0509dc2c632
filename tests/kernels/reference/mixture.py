"""One turn of EM for a Gaussian mixture, in NumPy.

Symbols: z = x · unit a row in the model's units; π weight, μ mean, U factor of a component, Σ⁻¹ = U Uᵀ (U upper
triangular, or its diagonal alone); r[n, k] = P(k | x_n); w weight of a row, p pivot of a component.
"""

from __future__ import annotations

import numpy as np

from posteriori.arrays import Array, Floats

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
        top = np.maximum(top, -np.finfo(np.float64).max)
        shares = np.exp(joint - top[:, None])
        mass = shares.sum(axis=1)
        with np.errstate(divide="ignore"):
            total = float((w * (top + np.log(mass)))[w > 0].sum())
        shares = shares / np.maximum(mass, 1.0)[:, None]  # that of the likeliest is 1, unless all are 0
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


def broken_row(z: Floats, mean: Floats, sigma: Floats) -> tuple[float, Floats, Floats]:
    """(log N(z_o), E[z], Cov[z]) of a row that has the cells o and lacks the cells m (NaN).

    B = Σ_mo Σ_oo⁻¹; what is missing is expected at μ_m + B (z_o − μ_o), and varies by Σ_mm − B Σ_om.
    """
    o, m = np.flatnonzero(~np.isnan(z)), np.flatnonzero(np.isnan(z))
    gap = z[o] - mean[o]
    inverse = np.linalg.inv(sigma[np.ix_(o, o)])
    B = sigma[np.ix_(m, o)] @ inverse
    whole, spread = z.copy(), np.zeros_like(sigma)
    whole[m] = mean[m] + B @ gap
    spread[np.ix_(m, m)] = sigma[np.ix_(m, m)] - B @ sigma[np.ix_(o, m)]
    log_det = np.linalg.slogdet(sigma[np.ix_(o, o)])[1] if len(o) else 0.0
    return float(-0.5 * (len(o) * LOG_2PI + log_det + gap @ inverse @ gap)), whole, spread


def broken_log_joint(
    Z: Floats, starts: Array, means: Floats, covariances: Floats, log_weights: Floats, log_unit: Floats
) -> Floats:
    """log π_k + log N(cells that are there; k), shape (n, K); `log_unit` is added for each such cell."""
    out = np.array([[broken_row(z, m, c)[0] for m, c in zip(means, covariances)] for z in Z])
    units = np.where(np.isnan(Z), 0.0, log_unit).sum(axis=1)
    return np.asarray(out.reshape(len(Z), len(means)) + log_weights + units[:, None])


def broken_sums(
    Z: Floats,
    starts: Array,
    weights: Floats | None,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    pivots: Floats,
    shares: Floats | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) as `mixture_sums` gives them, of rows with missing cells, row by row."""
    w = np.ones(len(Z)) if weights is None else weights
    joint = broken_log_joint(Z, starts, means, covariances, log_weights, log_unit)
    evidence = np.logaddexp.reduce(joint, axis=1)
    r = (np.exp(joint - evidence[:, None]) if shares is None else shares) * w[:, None]
    first, second = np.zeros_like(means), np.zeros_like(covariances)
    for z, share in zip(Z, r):
        for k in range(len(means)):
            _, whole, spread = broken_row(z, means[k], covariances[k])
            gap = whole - pivots[k]
            first[k] += share[k] * gap
            second[k] += share[k] * (np.outer(gap, gap) + spread)
    return float(w @ evidence) if shares is None else 0.0, r.sum(axis=0), first, second


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
