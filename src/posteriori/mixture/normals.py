"""The components of a Gaussian mixture, the M-step that gives them, and rows with missing cells under them.

Symbols: s units of the columns, powers of two, z = x / s; π weights, μ means and Σ covariances in these units, Σ⁻¹ = U Uᵀ;
N, S, Q the sums of a turn (see `tests/kernels/reference/mixture.py`) around the pivots p.

    π = N / Σ N      μ = p + S / N      Σ = Q / N − (S / N)(S / N)ᵀ + floor

Differences z − p are taken before anything is squared, and a power of two rounds nothing: a column at 1e9 with unit noise,
or one of 1e150 beside one of 1e-150, loses no digits.

Rows that lack the same cells form a pattern: o the cells that a row has, m those it lacks; B = Σ_mo Σ_oo⁻¹ and
C = Σ_mm − B Σ_om of each component. A row's density is that of its own cells, N(z_o; μ_o, Σ_oo); what it lacks is expected
at ẑ_m = μ_m + B (z_o − μ_o), and its square at ẑ_m ẑ_mᵀ + C (Ghahramani and Jordan, 1994).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import BadValue, SingularCovariance
from ..kernels.mixture import broken_log_joint, broken_sums
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


@dataclass(frozen=True, eq=False)
class Broken:
    """Rows that lack cells, pattern after pattern: which rows, where each pattern begins, their cells in units."""

    rows: Ints
    starts: Ints
    cells: Floats
    log_unit: Floats

    @classmethod
    def of(cls, X: Array, unit: Floats) -> tuple[Ints, Broken]:
        """(the complete rows, the others)."""
        gone = np.isnan(X)
        lacks = gone.any(axis=1)
        broken = np.flatnonzero(lacks)
        keys, back = np.unique(np.packbits(gone[broken], axis=1), axis=0, return_inverse=True)
        rows = broken[np.argsort(back.ravel(), kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(back.ravel(), minlength=len(keys)))]).astype(np.int64)
        cells = np.ascontiguousarray(X[rows].astype(np.float64) * unit)
        return np.flatnonzero(~lacks), cls(rows, starts, cells, np.log(unit))

    def log_joint(self, theta: Normals, n_jobs: int | None) -> Floats:
        """log π_k + log N(x_o; μ_o, Σ_oo) of these rows."""
        return broken_log_joint(
            self.cells, self.starts, theta.means, theta.covariances, theta.log_weights, self.log_unit, n_jobs
        )

    def sums(
        self, theta: Normals, weights: Floats | None, pivots: Floats, shares: Floats | None, n_jobs: int | None
    ) -> Sums:
        """The sums of these rows; `weights` and `shares` are those of all rows."""
        w = None if weights is None else weights[self.rows]
        r = None if shares is None else np.ascontiguousarray(shares[self.rows])
        ask = (self.cells, self.starts, w, theta.means, theta.covariances, theta.log_weights, self.log_unit, pivots, r)
        return Sums(*broken_sums(*ask, n_jobs), pivots)


def has_gaps(X: Array) -> bool:
    """Whether a cell is missing; the sum tells at once where none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum())) and bool(np.isnan(X).any())


def refuse_empty_columns(X: Array) -> None:
    """A column without a single cell has no mean."""
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise BadValue(f"column {int(np.argmax(empty))} has no cell at all: leave it out")


def filled(X: Array) -> Array:
    """X with the mean of its column in each missing cell: for a start alone."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)
