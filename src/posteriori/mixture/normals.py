"""The components of a Gaussian mixture, and the M-step that gives them.

Symbols: s units of the columns, powers of two, z = x / s; π weights, μ means and Σ covariances in these units, Σ⁻¹ = U Uᵀ;
N, S, Q the sums of a turn (see `kernels.reference.mixture`) around the pivots p.

    π = N / Σ N      μ = p + S / N      Σ = Q / N − (S / N)(S / N)ᵀ + floor

Differences z − p are taken before anything is squared, and a power of two rounds nothing: a column at 1e9 with unit noise,
or one of 1e150 beside one of 1e-150, loses no digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats
from ..errors import SingularCovariance
from ..kernels.neighbors import bounds

KINDS = ("full", "tied", "diag", "spherical")
DEAD = 10 * np.finfo(float).eps  # the share of all rows below which a component has none
ILL_DEFINED = (
    "Fitting the mixture model failed because some components have ill-defined empirical covariance (for instance caused "
    "by singleton or collapsed samples). Try to decrease the number of components, increase reg_covar, or scale the "
    "input data."
)


@dataclass(frozen=True, eq=False)
class Sums:
    """What one pass over the rows gives: ℓ, N, S and Q around the pivots."""

    log_likelihood: float
    n: Floats
    first: Floats
    second: Floats
    pivots: Floats

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.log_likelihood + other.log_likelihood,
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.pivots,
        )


@dataclass(frozen=True, eq=False)
class Normals:
    """θ: weights (K,), means (K, d), covariances and factors (K, d, d), or (K, d) of their diagonals."""

    weights: Floats
    means: Floats
    covariances: Floats
    factors: Floats

    @property
    def log_weights(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))


def units(X: Array, floor: float | Floats, kind: str, gaps: bool, n_jobs: int | None = None) -> Floats:
    """s: for each column the power of two next to half its range, or to the floor's root; one for all if spherical."""
    ends = (np.fmin.reduce(X), np.fmax.reduce(X)) if gaps else bounds(X, n_jobs)[:2]
    lo, hi = (np.asarray(end, dtype=np.float64) for end in ends)
    half = np.maximum(hi / 2 - lo / 2, np.sqrt(floor))
    if kind == "spherical":
        half = np.full_like(half, half.max())
    return np.asarray(np.ldexp(1.0, np.frexp(half)[1]))


def maximise(sums: Sums, floor: Floats, kind: str) -> tuple[Floats, Floats, Floats]:
    """(π, μ, Σ) that are best for the sums; Σ of a component without rows is NaN. `floor` is added to the variances."""
    total = sums.n.sum()
    alive = sums.n > DEAD * total
    n = np.where(alive, sums.n, np.nan)[:, None]
    shift = sums.first / n
    means = sums.pivots + shift
    if sums.second.ndim == 3:
        matrices = sums.second / n[:, :, None] - shift[:, :, None] * shift[:, None, :]
        if kind == "tied":
            pooled = np.einsum("k,kij->ij", sums.n / total, np.where(alive[:, None, None], matrices, 0.0))
            matrices = np.broadcast_to(pooled, matrices.shape).copy()
        at = np.arange(matrices.shape[1])
        matrices[:, at, at] += floor
        return sums.n / total, means, matrices
    variances = sums.second / n - shift * shift + floor
    if kind == "spherical":
        variances = np.repeat(variances.mean(axis=1, keepdims=True), variances.shape[1], axis=1)
    return sums.n / total, means, variances


def precision_factors(covariances: Floats) -> tuple[Floats, list[int]]:
    """(U with Σ⁻¹ = U Uᵀ, the components whose Σ has none)."""
    if covariances.ndim == 2:
        with np.errstate(invalid="ignore", divide="ignore"):
            roots = np.where(covariances > 0, covariances, np.nan) ** -0.5
        return roots, np.flatnonzero(~np.isfinite(roots).all(axis=1)).tolist()
    factors = np.full_like(covariances, np.nan)
    singular = [k for k in range(len(covariances)) if not np.isfinite(covariances[k]).all()]
    whole = [k for k in range(len(covariances)) if k not in singular]
    try:
        lower = np.linalg.cholesky(covariances[whole])
    except np.linalg.LinAlgError:
        kept = []
        for k in whole:
            try:
                kept.append((k, np.linalg.cholesky(covariances[k])))
            except np.linalg.LinAlgError:
                singular.append(k)
        whole = [k for k, _ in kept]
        lower = np.array([one for _, one in kept]).reshape(-1, *covariances.shape[1:])
    if whole:
        factors[whole] = np.triu(np.linalg.inv(lower).transpose(0, 2, 1))
    singular += [k for k in whole if not np.isfinite(factors[k]).all()]
    return factors, sorted(singular)


def by_precisions(precisions: Floats) -> tuple[Floats, Floats]:
    """(Σ, U) of Σ⁻¹ = U Uᵀ: U is the Cholesky factor of the matrix turned upside down, turned back."""
    if precisions.ndim == 2:
        return 1.0 / precisions, np.sqrt(precisions)
    turned = np.linalg.cholesky(precisions[:, ::-1, ::-1])
    factors = np.ascontiguousarray(turned[:, ::-1, ::-1])
    inverse = np.linalg.inv(factors)
    return inverse.transpose(0, 2, 1) @ inverse, factors


def normals(weights: Floats, means: Floats, covariances: Floats) -> Normals:
    """θ, or the error that names the components whose covariance has no inverse."""
    factors, singular = precision_factors(covariances)
    if singular:
        raise SingularCovariance(f"{ILL_DEFINED} (component {', '.join(map(str, singular))})")
    return Normals(weights, means, covariances, factors)
