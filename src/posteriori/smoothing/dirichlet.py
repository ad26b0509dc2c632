"""Additive smoothing: the posterior mean under a symmetric Dirichlet prior.

Symbols: N[x, y] counts of a scope with S values, N[y] their sum, λ the smoothing, K classes.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..errors import ModelError
from ..statistics import Counts


def log_dirichlet(counts: Counts, smoothing: float) -> Floats:
    """ln θ[x, y] = ln (N[x, y] + λ) − ln (N[y] + Sλ) for every cell; uniform where a class has no counts and λ = 0.

    >>> two = Counts(np.array([[1], [3]]), np.array([0, 2]))
    >>> np.exp(log_dirichlet(two, 1.0)).round(4).tolist()
    [[0.3333], [0.6667]]
    """
    sizes = counts.sizes
    totals = counts.totals() + sizes[:, None] * smoothing
    blank = np.where(totals > 0, 0.0, 1.0)  # no counts, no smoothing: every value alike
    with np.errstate(divide="ignore"):
        log_theta = np.log(counts.table + smoothing + np.repeat(blank, sizes, axis=0))
    out: Floats = log_theta - np.repeat(np.log(totals + blank * sizes[:, None].clip(1)), sizes, axis=0)
    return out


def log_unseen(counts: Counts, smoothing: float) -> Floats:
    """ln λ/(N[y] + (S+1)λ) of each scope: the mass of a value that no row had; −inf where λ = 0."""
    totals = counts.totals() + (counts.sizes[:, None] + 1) * smoothing
    with np.errstate(divide="ignore"):
        out: Floats = np.log(smoothing) - np.log(np.where(totals > 0, totals, 1.0))
    return out


def log_prior(n: Floats, prior: object, smoothing: float) -> Floats:
    """ln P(y): "smoothed" (N_y + λ)/(N + Kλ), "empirical" N_y/N, "uniform" 1/K, or an array that sums to one."""
    n = np.asarray(n, dtype=np.float64)
    if isinstance(prior, str):
        if prior not in ("smoothed", "empirical", "uniform"):
            raise ModelError(
                f"prior must be 'smoothed', 'empirical', 'uniform' or an array of probabilities. Got {prior!r} instead."
            )
        extra = {"smoothed": smoothing, "empirical": 0.0, "uniform": 0.0}[prior]
        mass = np.ones_like(n) if prior == "uniform" else n + extra
    else:
        try:
            mass = np.asarray(prior, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"prior must be a word or an array of probabilities. Got {prior!r} instead.") from None
        if mass.shape != n.shape:
            raise ModelError(
                f"prior must have one probability for each of the {len(n)} classes. Got {mass.shape} instead."
            )
        if not (mass >= 0).all() or abs(mass.sum() - 1.0) > 1e-8:
            raise ModelError(f"prior must be non-negative and sum to one. Got {mass} (sum {mass.sum()}) instead.")
    with np.errstate(divide="ignore"):
        out: Floats = np.log(mass) - np.log(mass.sum())
    return out
