"""The components of a Gaussian mixture, the M-step that gives them, and rows with missing cells under them.

Symbols: s units of the columns, powers of two, z = x / s; π weights, μ means and Σ covariances in these units, Σ⁻¹ = U Uᵀ;
N, S, Q the sums of a turn (see `tests/kernels/reference/mixture.py`) around the pivots p.

    π = N / Σ N      μ = p + S / N      Σ = Q / N − (S / N)(S / N)ᵀ + floor

Differences z − p are taken before anything is squared, and a power of two rounds nothing: a column at 1e9 with unit noise,
or one of 1e150 beside one of 1e-150, loses no digits.

Rows that lack the same cells form a pattern: o the cells that a row has, m those it lacks; B = Σ_mo Σ_oo⁻¹ and
C = Σ_mm − B Σ_om of each component. A row's density is that of its own cells, N(z_o; μ_o, Σ_oo); what it lacks is expected
at ẑ_m = μ_m + B (z_o − μ_o), and its square at ẑ_m ẑ_mᵀ + C (Ghahramani and Jordan, 1994).

`Climb` has the rows and the two steps of EM for `em.ascend`. A component that no row belongs to any more, or whose
covariance has lost its inverse in spite of the floor, has collapsed. It begins anew at the row that the others
explain worst, as wide as they are, and a warning names it; one that collapses too often ends the climb, or, where it
only lacks rows, stays with weight zero.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy
from sklearn.exceptions import ConvergenceWarning

from ..arrays import Array, Floats, Ints
from ..budget import refuse_answer, refuse_over
from ..errors import BadValue, SingularCovariance
from ..fields import Natural
from ..kernels import broken_log_joint, broken_sums, column_bounds, mixture_log_joint, mixture_sums, normalise

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
    ends = (np.fmin.reduce(X), np.fmax.reduce(X)) if gaps else column_bounds(X, n_jobs)[:2]
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


RESTARTS = 3  # of one component in a climb
FAR = (
    1e6  # a mean that moved by so many of its variances (squared) is too far for its covariance: the sums are made anew
)


@dataclass(frozen=True)
class Restart:
    """A component that began anew: in which turn, and why."""

    turn: Natural
    component: Natural
    why: str

    def __str__(self) -> str:
        return f"component {self.component} began anew: {self.why}"


class Climb:
    """Rows, weights and units; `expect` and `maximise`, the steps."""

    def __init__(self, X: Array, weights: Floats | None, kind: str, floor: float | Floats, n_jobs: int | None) -> None:
        self.gaps = has_gaps(X)
        if self.gaps:
            refuse_empty_columns(X)
        scale = units(X, floor, kind, self.gaps, n_jobs)
        self.X, self.kind, self.scale, self.unit, self.n_jobs = X, kind, scale, 1.0 / scale, n_jobs
        self.total = float(len(X))
        self.weights = None
        if weights is not None:  # by a power of two, so that neither sums nor squares leave the floats
            scaled = weights * np.ldexp(1.0, -np.frexp(weights.max())[1])
            self.weights = np.maximum(scaled, np.finfo(np.float64).smallest_subnormal)  # no row is lost
            self.total = float(self.weights.sum())
        self.floor = floor * self.unit**2
        self.is_matrix = kind in ("full", "tied")
        self.whole: Array = X
        self.broken: Broken | None = None
        if self.is_matrix and self.gaps:
            at, self.broken = Broken.of(X, self.unit)
            self.whole, self._at = np.ascontiguousarray(X[at]), at
        self.restarts: list[Restart] = []
        self.turn = 0

    def refuse_large(self, K: int) -> None:
        """Refuse K components whose covariances do not fit: a turn has some sixteen of their size, its sums in parts."""
        refuse_answer(len(self.X), K, what="components")
        if self.is_matrix:
            what = f"{K} covariances of {self.X.shape[1]} columns"
            refuse_over(None, 128.0 * K * self.X.shape[1] ** 2, what, 'use covariance_type="diag", or fewer columns')

    def sums(self, theta: Normals, pivots: Floats, shares: Floats | None = None) -> Sums:
        """One pass over the rows; `shares` are P(k | x) where they are known."""
        w, r = self.weights, shares
        if self.broken is not None:
            w = None if w is None else w[self._at]
            r = None if r is None else r[self._at]
        ask = (self.whole, w, self.unit, theta.means, theta.factors, theta.log_weights, pivots, r)
        found = Sums(*mixture_sums(*ask, self.n_jobs), pivots)
        if self.broken is not None:
            found = found + self.broken.sums(theta, self.weights, pivots, shares, self.n_jobs)
        return found

    def expect(self, theta: Normals) -> tuple[tuple[Normals, Sums], float]:
        """(θ and its sums, the mean log-likelihood)."""
        found = self.sums(theta, theta.means)
        return (theta, found), found.log_likelihood / self.total

    def maximise(self, expected: tuple[Normals, Sums]) -> Normals:
        """The best θ for the sums; collapsed components begin anew."""
        self.turn += 1
        return self.revived(*self._best(expected), expected[0])

    def expected(self, before: tuple[Normals, Sums], theta: Normals) -> float:
        """Q(θ|θ_t), a mean as ℓ is, from the sums of θ_t: Σ_k N (ln π + ln|U| − d/2 ln 2π) − ½ tr UᵀMU, M around μ."""
        sums, d = before[1], self.X.shape[1]
        shift, n = theta.means - sums.pivots, sums.n
        if self.is_matrix:
            cross = sums.first[:, :, None] * shift[:, None, :]
            around = (
                sums.second - cross - cross.swapaxes(1, 2) + n[:, None, None] * shift[:, :, None] * shift[:, None, :]
            )
            spread = (theta.factors * (around @ theta.factors)).sum(axis=(1, 2))
            roots = np.log(np.diagonal(theta.factors, axis1=1, axis2=2)).sum(axis=1)
        else:
            around = sums.second - 2 * shift * sums.first + n[:, None] * shift**2
            spread, roots = (theta.factors**2 * around).sum(axis=1), np.log(theta.factors).sum(axis=1)
        level = roots + np.log(self.unit).sum() - 0.5 * d * np.log(2 * np.pi)
        return float((xlogy(n, theta.weights) + n * level - 0.5 * spread).sum()) / self.total

    def _best(self, expected: tuple[Normals, Sums]) -> tuple[Floats, Floats, Floats]:
        """(π, μ, Σ); where a mean moved far, its covariance from sums around where it moved to."""
        theta, sums = expected
        found = maximise(sums, self.floor, self.kind)
        if self._is_far(found[1] - sums.pivots, found[2]):
            again = self.sums(theta, np.where(np.isfinite(found[1]), found[1], sums.pivots))
            found = maximise(again, self.floor, self.kind)
        return found

    def settled(self, expected: tuple[Normals, Sums]) -> Normals:
        """The last M-step, which nothing follows: where a component would collapse in it, θ as it was seen."""
        weights, means, covariances = self._best(expected)
        factors, singular = precision_factors(covariances)
        if singular or not (weights > DEAD).all():
            return expected[0]
        return Normals(weights, means, covariances, factors)

    @staticmethod
    def _is_far(shift: Floats, covariances: Floats) -> bool:
        variances = covariances if covariances.ndim == 2 else np.diagonal(covariances, axis1=1, axis2=2)
        return bool((shift * shift > FAR * variances).any())

    def revived(self, weights: Floats, means: Floats, covariances: Floats, before: Normals | None) -> Normals:
        """θ, after every collapsed component has been given a new place."""
        factors, singular = precision_factors(covariances)
        dead = np.flatnonzero(~(weights > DEAD)).tolist()
        singular = sorted({*singular, *dead})
        if not singular:
            return Normals(weights, means, covariances, factors)
        if self.kind == "tied" and len(singular) == len(weights) and not dead:
            raise SingularCovariance(f"{ILL_DEFINED} (the common covariance has no inverse)")
        spent = [k for k in singular if sum(r.component == k for r in self.restarts) >= RESTARTS]
        if any(k not in dead for k in spent) or (spent and before is None):
            raise SingularCovariance(f"{ILL_DEFINED} (component {', '.join(map(str, spent))})")
        whole = self._whole_covariance()
        sound = [k for k in range(len(weights)) if k not in singular]
        width = covariances[sound].mean(axis=0) if sound else whole
        width_factor = precision_factors(width[None])[0][0]
        if sound:
            rest = Normals(weights[sound] / weights[sound].sum(), means[sound], covariances[sound], factors[sound])
            worst = np.argsort(self.evidence(rest), kind="stable")
        else:
            worst = np.linspace(0, len(self.X) - 1, len(weights)).astype(np.int64)
        weights, means, covariances = weights.copy(), means.copy(), covariances.copy()
        taken = 0
        for k in singular:
            if k in spent:
                assert before is not None
                weights[k], means[k] = 0.0, before.means[k]
                covariances[k], factors[k] = before.covariances[k], before.factors[k]
                continue
            cells = self.X[worst[min(taken, len(worst) - 1)]] * self.unit
            taken += 1
            means[k] = np.where(np.isnan(cells), means[sound].mean(axis=0) if sound else 0.0, cells)
            weights[k], covariances[k], factors[k] = 1.0 / len(weights), width, width_factor
            why = "no row belonged to it" if k in dead else "its covariance had no inverse"
            self.restarts.append(Restart(self.turn, k, why))
            warnings.warn(
                f"component {k} collapsed in turn {self.turn} ({why}): it begins anew at the row that the others explain "
                "worst",
                ConvergenceWarning,
                stacklevel=2,
            )
        return Normals(weights / weights.sum(), means, covariances, factors)

    def _whole_covariance(self) -> Floats:
        """The covariance of all rows, as wide as a component may begin; without an inverse nothing can be mended."""
        one = np.ones((len(self.X), 1))
        sums = self._sums_of(one)
        covariance = maximise(sums, self.floor, self.kind)[2]
        if precision_factors(covariance)[1]:
            raise SingularCovariance(f"{ILL_DEFINED} (a column is constant, or columns depend on each other)")
        return np.asarray(covariance[0])

    def _sums_of(self, shares: Floats) -> Sums:
        """The sums of rows whose components are known, around their own means."""
        K, d = shares.shape[1], self.X.shape[1]
        mean, variance = self.X[0].astype(np.float64) * self.unit, np.ones(d)
        if self.gaps:  # what is missing is expected where its column is, as wide as it is
            cells = self.X.astype(np.float64) * self.unit
            mean, variance = np.nanmean(cells, axis=0), np.nanvar(cells, axis=0) + self.floor
        covariance = np.diag(variance) if self.is_matrix else variance
        factor = np.sqrt(np.where(covariance > 0, 1.0 / np.where(covariance > 0, covariance, 1.0), 0.0))
        shape = (K, d, d) if self.is_matrix else (K, d)
        start = Normals(
            np.full(K, 1.0 / K),
            np.broadcast_to(mean, (K, d)).copy(),
            np.broadcast_to(covariance, shape).copy(),
            np.broadcast_to(np.where(variance > 0, factor, np.eye(d)) if self.is_matrix else factor, shape).copy(),
        )
        rough = self.sums(start, start.means, shares)
        n = np.where(rough.n > 0, rough.n, 1.0)[:, None]
        means = rough.pivots + rough.first / n
        return self.sums(replace(start, means=means), means, shares)

    def from_shares(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """(π, μ, Σ) of rows whose components are known, as the start of a climb."""
        return maximise(self._sums_of(shares), self.floor, self.kind)

    def log_joint(self, theta: Normals) -> Floats:
        """log π_k + log N(x; k) of each row."""
        return log_joint(theta, self.X, self.unit, self.n_jobs)

    def evidence(self, theta: Normals) -> Floats:
        """log P(x) of each row."""
        return normalise(self.log_joint(theta))[1]


def log_joint(theta: Normals, X: Array, unit: Floats, n_jobs: int | None) -> Floats:
    """log π_k + log N(x; k), a row with missing cells by the cells it has."""
    refuse_answer(len(X), len(theta.means), what="components")
    if theta.factors.ndim == 3 and has_gaps(X):
        at, broken = Broken.of(X, unit)
        out = np.empty((len(X), len(theta.means)))
        out[at] = mixture_log_joint(
            np.ascontiguousarray(X[at]), unit, theta.means, theta.factors, theta.log_weights, n_jobs
        )
        out[broken.rows] = broken.log_joint(theta, n_jobs)
        return out
    return mixture_log_joint(X, unit, theta.means, theta.factors, theta.log_weights, n_jobs)


def refuse_overflow(*arrays: Array) -> None:
    """Refuse covariances, or their inverses, that are too large for the type that X has."""
    if all(np.isfinite(a).all() for a in arrays):
        return
    if arrays[0].dtype == np.float32:
        raise BadValue(
            "the squares of X, or their inverses, are too large for float32 (values beyond about 1e19 or below 1e-19); "
            "rescale the columns or give X as float64"
        )
    raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")
