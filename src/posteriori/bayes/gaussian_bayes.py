"""Bayes classification with a multivariate normal in each class.

Symbols: μ_y = E[x | y]; Σ_y = E[(x − μ_y)(x − μ_y)ᵀ | y], both by maximum likelihood; s the standard deviations,
R = L Lᵀ the correlations with their Cholesky factor, so that Σ = diag(s) L Lᵀ diag(s).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats
from ..blas import one_thread
from ..budget import refuse_over
from ..errors import SingularCovariance
from ..estimator import parameters
from ..fields import need
from ..statistics.comoments import CoMoments, comoments
from ..table.points import checked_matrix
from .classifier import FAR
from .drop_ins import told_priors
from .learning import MatrixLearner

FLOATS = (np.float64, np.float32)
BLOCK = 1 << 14  # rows worked on at once
SHARP = 1e-5  # what may be unknown of a variance given the other columns


@dataclass(frozen=True, eq=False)
class Normal:
    """N(μ, Σ) in the form that densities and samples need."""

    mean: Floats
    scale: Floats
    factor: Floats

    def log_density(self, X: Array) -> Floats:
        """−½[d ln 2π + ln|Σ| + (x − μ)ᵀ Σ⁻¹ (x − μ)], ln|Σ| = 2 Σ_j ln s_j L_jj."""
        log_det = 2 * (np.log(self.scale) + np.log(np.diag(self.factor))).sum()
        out = np.empty(len(X))
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, len(X), BLOCK):
                gap = (X[begin : begin + BLOCK] - self.mean) / self.scale
                z = solve_triangular(self.factor, gap.T, lower=True, check_finite=False)
                out[begin : begin + BLOCK] = np.einsum("jr,jr->r", z, z)
        out[np.isnan(out)] = np.inf  # differences of gaps beyond all floats
        return np.asarray(-0.5 * (len(self.mean) * np.log(2 * np.pi) + log_det + out))

    def log_given_others(self, X: Array) -> Floats:
        """ln p(x_j | the other columns), shape (n, d): with P = Σ⁻¹ its variance is 1/P_jj, its gap (P(x − μ))_j/P_jj."""
        inverse = solve_triangular(self.factor, np.eye(len(self.mean)), lower=True, check_finite=False)
        precision = inverse.T @ inverse
        with np.errstate(over="ignore", invalid="ignore"):
            pull, own = (X - self.mean) / self.scale @ precision, np.diag(precision)
            square = pull**2 / own
        square[np.isnan(square)] = np.inf  # differences of gaps beyond all floats
        return np.asarray(-0.5 * (np.log(2 * np.pi / own) + square) - np.log(self.scale))

    def sample(self, n: int, random: np.random.RandomState) -> Floats:
        """μ + s · L z with z standard normal."""
        return self.mean + self.scale * (random.standard_normal((n, len(self.mean))) @ self.factor.T)


@parameters
class GaussianBayes(MatrixLearner):
    """log P(y, x) = log P(y) + log N(x; μ_y, Σ_y), mean and covariance by maximum likelihood.

    Co-moments are what is stored, so `partial_fit`, `forget` and `a + b` give what `fit` on the same rows gives. A
    covariance without an inverse (no more rows than columns, a constant or dependent column) is an error that names the
    class when predicting; a positive shrinkage is the way out. For that reason scikit-learn's check of sample weights,
    which gives a class a single row, holds with shrinkage only.

    Parameters
    ----------
    covariance : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix a class (quadratic borders); one for all classes (linear borders); variances alone; one variance a class.
    shrinkage : float in [0, 1], default=0.0
        Σ_y is replaced by (1 − shrinkage) Σ_y + shrinkage · (tr Σ̄ / d) I, Σ̄ the covariance within all classes together.
    priors : array-like of shape (n_classes,), default=None
        P(y); None takes the shares of the classes.
    ddof : {0, 1}, default=0
        1 divides by n − 1 instead of n (tied: by n − K).

    >>> X = [[0.0, 0.1], [1.0, 0.9], [0.2, 0.5], [4.0, 4.5], [5.0, 5.1], [4.5, 4.2]]
    >>> model = GaussianBayes(covariance="tied").fit(X, ["low"] * 3 + ["high"] * 3)
    >>> model.predict([[0.5, 0.5], [5.0, 5.0]]).tolist(), model.covariances_.shape
    (['low', 'high'], (2, 2))
    """

    covariance: Annotated[str, StrOptions({"full", "tied", "diag", "spherical"})] = "full"
    _: KW_ONLY
    shrinkage: Annotated[float, Interval(Real, 0, 1, closed="both")] = 0.0
    priors: Annotated[Any, "array-like", None] = None
    ddof: Annotated[int, Interval(Integral, 0, 1, closed="both")] = 0

    def _check_table(self, table: Any, rows: Floats) -> int:
        need(isinstance(table, CoMoments), "there must be co-moments")
        whole = np.allclose(table.n, rows, rtol=1e-6, atol=1e-9 * rows.sum())
        need(whole, "the statistic must be of the rows of every class")
        return int(table.mean.shape[1])

    @property
    def _moments(self) -> CoMoments:
        found: CoMoments = self.statistics_.table
        return found

    @property
    def class_count_(self) -> Floats:
        """N_y, the weight of each class."""
        return self._moments.n

    @property
    def class_prior_(self) -> Floats:
        """P(y)."""
        if self.priors is None:
            return np.asarray(self._moments.n / self._moments.n.sum())
        return told_priors(self.priors, self.classes_)

    @property
    def means_(self) -> Floats:
        """μ_y, shape (n_classes, n_features)."""
        return self._moments.mean

    @property
    def covariances_(self) -> Floats:
        """Σ_y after shrinkage: full (K, d, d), tied (d, d), diag (K, d), spherical (K,)."""
        matrices = self._matrices()
        if self.covariance == "tied":
            return np.asarray(matrices[0])
        if self.covariance == "full":
            return matrices
        variances = np.diagonal(matrices, axis1=1, axis2=2)
        return variances.copy() if self.covariance == "diag" else variances[:, 0].copy()

    def _matrices(self) -> Floats:
        """Σ_y of every class, shape (K, d, d)."""
        n, c = self._moments.n, self._moments.c
        eye = np.eye(c.shape[1])
        room = n.sum() - self.ddof * (n > 0).sum()
        tied = c.sum(axis=0) / room if room > 0 else np.zeros(c.shape[1:])
        if self.covariance == "tied":
            sigma = np.broadcast_to(tied, c.shape)
        else:
            own = (n - self.ddof)[:, None, None]
            sigma = np.divide(c, own, out=np.zeros_like(c), where=own > 0)
        if self.covariance == "spherical":
            sigma = np.trace(sigma, axis1=1, axis2=2)[:, None, None] / c.shape[1] * eye
        if self.covariance == "diag":
            sigma = sigma * eye
        return np.asarray((1 - self.shrinkage) * sigma + self.shrinkage * np.trace(tied) / c.shape[1] * eye)

    def _border(self, X: Any, reset: bool) -> Array:
        return np.asarray(checked_matrix(self, X, reset=reset, dtype=FLOATS))

    def _collect(self, X: Array, codes: Array, n_classes: int, weights: Floats | None) -> CoMoments:
        what = f"covariances of {X.shape[1]} columns for {n_classes} classes"
        refuse_over(None, 56.0 * n_classes * X.shape[1] ** 2, what, "give fewer columns, or NaiveBayes")
        total = CoMoments.zero(n_classes, X.shape[1])
        with one_thread(X.size * X.shape[1]):
            for begin in range(0, len(X), BLOCK):
                rows = slice(begin, begin + BLOCK)
                part = comoments(X[rows], codes[rows], n_classes, None if weights is None else weights[rows])
                total = total + part
        return total

    def _prepare(self) -> tuple[list[Normal | str], Floats]:
        """(the density of each class, or why it has none; log P(y)). A model is complete before its last row comes."""
        with np.errstate(divide="ignore"):
            log_prior = np.log(self.class_prior_)
        means, matrices = self.means_, self._matrices()
        with one_thread(matrices.size * matrices.shape[1]):
            return [normal_of(*each) for each in zip(means, matrices, self._doubt())], log_prior

    def _doubt(self) -> Floats:
        """How far each class's Σ may be off since rows were forgotten, as a share of its variances."""
        doubt = self._moments.doubt
        return np.full(len(doubt), doubt.max(initial=0.0)) if self.covariance == "tied" else doubt

    def _densities(self) -> tuple[list[Normal | None], Floats]:
        """The density of each class that is possible at all."""
        normals, log_prior = self._ready()
        for label, normal, prior in zip(self.classes_.tolist(), normals, log_prior):
            if isinstance(normal, str) and prior > -np.inf:
                ways = [f'covariance="{c}"' for c in ("tied", "diag") if c != self.covariance]
                more = "larger" if self.shrinkage else "positive"
                raise SingularCovariance(
                    f"the covariance of class {label!r} is singular: {normal}; use a {more} shrinkage, "
                    f"{' or '.join(ways)}, or more rows than columns"
                )
        return [n if isinstance(n, Normal) else None for n in normals], log_prior

    def _way_out(self) -> str:
        return FAR

    def _log_joint(self, X: Any) -> Floats:
        return self._scores(self._border(X, reset=False))

    def _scores(self, X: Array) -> Floats:
        normals, log_prior = self._densities()
        out = np.full((len(X), len(normals)), -np.inf)
        with one_thread(X.size * X.shape[1] * len(normals)):
            for y, normal in enumerate(normals):
                if normal is not None:
                    out[:, y] = log_prior[y] + normal.log_density(X)
        return out

    def _log_parts(self, X: Any) -> tuple[Floats, Floats] | None:
        if self.covariance not in ("diag", "spherical"):
            return None
        return self._densities()[1], self._given_others(self._border(X, reset=False))

    def _log_without(self, X: Any) -> Floats:
        X = self._border(X, reset=False)
        return np.asarray(self._scores(X)[:, None] - self._given_others(X))

    def _given_others(self, X: Array) -> Floats:
        """ln p(x_j | y, the other columns), shape (n, d, K)."""
        out = np.full((*X.shape, len(self.classes_)), -np.inf)
        for y, normal in enumerate(self._densities()[0]):
            if normal is not None:
                out[:, :, y] = normal.log_given_others(X)
        return out

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Floats, Array]:
        """n rows (X, y) drawn from P(y) P(x|y).

        >>> X, y = GaussianBayes("spherical").fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]).sample(3, random_state=0)
        >>> X.shape, y.shape
        ((3, 1), (3,))
        """
        self._check_fitted()
        random = check_random_state(random_state)
        normals, _ = self._densities()
        codes = random.choice(len(normals), size=n, p=self.class_prior_)
        X = np.empty((n, self.n_features_in_))
        for y, normal in enumerate(normals):
            if normal is not None:
                X[codes == y] = normal.sample(int((codes == y).sum()), random)
        return X, self.classes_[codes]


def normal_of(mean: Floats, sigma: Floats, doubt: float = 0.0) -> Normal | str:
    """The normal density of a covariance, known but for a share of its variances, or the reason why there is none."""
    variance = np.diag(sigma)
    if not (variance > 0).all():
        return f"column {int(np.argmin(variance))} does not vary"
    scale = np.sqrt(variance)
    try:
        factor: Floats = np.linalg.cholesky(sigma / scale / scale[:, None]).astype(np.float64)
    except np.linalg.LinAlgError:
        return "its columns are linearly dependent, or it has too few rows"
    least = np.diag(factor).min() ** 2 if len(mean) > 1 else 1.0
    if least < 8 * len(mean) * np.finfo(float).eps:
        return "its columns are linearly dependent to the last digit"
    if least < len(mean) * doubt / SHARP:
        return "its columns are linearly dependent to the last digit that stays known after forgetting; fit it again"
    return Normal(mean, scale, factor)
