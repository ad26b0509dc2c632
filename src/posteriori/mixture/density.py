"""What a fitted mixture answers, by its public attributes alone: densities, components, criteria, samples, pictures."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from .. import views
from ..arrays import Array, Floats, Ints
from ..errors import BadParameter, BadType, ImpossibleEvidence, ModelError, answered, check_policy
from ..estimator import Estimator
from ..kernels.naive import normalise
from ..table.points import Border, read_points
from .climb import log_joint
from .lloyd import stream
from .normals import Normals

if TYPE_CHECKING:
    from ..views import Drawing

BORDER = Border(
    "a mixture needs every cell it has",
    words="Encode words as numbers first",
    floats=(np.float64, np.float32),
    allow_missing=True,
)


def read_cells(model: Any, X: Any, reset: bool) -> Array:
    """X as rows of floats, NaN where a cell is missing."""
    if hasattr(X, "tocsr"):
        raise BadType(f"{type(model).__name__} takes no sparse table: give it X.toarray()")
    found: Array = read_points(model, X, BORDER, reset=reset)
    return found


class Density(DensityMixin, Estimator):  # type: ignore[misc]
    """P(x) = Σ_k π_k N(x; μ_k, Σ_k) of the attributes `weights_`, `means_`, `covariances_` and `precisions_cholesky_`."""

    covariance_type: str
    n_jobs: int | None
    random_state: Any
    weights_: Array
    means_: Array
    covariances_: Array
    precisions_cholesky_: Array
    _kind: str

    def _theta(self, scale: Floats) -> Normals:
        """θ by the fitted attributes, in units."""
        kind, (K, d) = self._covariances_like(), self.means_.shape
        roots = np.asarray(self.precisions_cholesky_, dtype=np.float64)
        covariances = np.asarray(self.covariances_, dtype=np.float64)
        if kind == "spherical":
            roots, covariances = (np.repeat(a[:, None], d, axis=1) for a in (roots, covariances))
        if kind == "tied":
            roots, covariances = (np.broadcast_to(a, (K, d, d)) for a in (roots, covariances))
        if roots.ndim == 3:
            roots, covariances = roots * scale[:, None], covariances / scale[:, None] / scale
        else:
            roots, covariances = roots * scale, covariances / scale / scale
        weights = np.ascontiguousarray(self.weights_, dtype=np.float64)
        means = np.ascontiguousarray(np.asarray(self.means_, dtype=np.float64) / scale)
        return Normals(weights, means, np.ascontiguousarray(covariances), np.ascontiguousarray(roots))

    def _covariances_like(self) -> str:
        self._made("checked", lambda: None)
        if self._kind != self.covariance_type:
            raise ModelError(
                f"covariance_type was {self._kind!r} in fit and is {self.covariance_type!r} now: fit again"
            )
        return self._kind

    def _log_joint(self, X: Any) -> Floats:
        """log π_k + log N(x; k) of each row."""
        check_is_fitted(self, "converged_")
        X = read_cells(self, X, reset=False)
        theta = self._theta(np.ones(X.shape[1]))
        return log_joint(theta, X, np.ones(X.shape[1]), self.n_jobs)

    def predict(self, X: Any) -> Ints:
        """The likeliest component of each row; the first of equals."""
        return np.asarray(self._log_joint(X).argmax(axis=1))

    def predict_proba(self, X: Any, impossible: str = "raise") -> Floats:
        """P(k | x) of each row and component; of rows too far from all of them π_k, counted, where impossible="prior"."""
        check_policy(impossible)
        shares, evidence = normalise(self._log_joint(X))
        if (never := evidence == -np.inf).any():
            if not answered(never, impossible):
                row = int(never.argmax())
                raise ImpossibleEvidence(f"row {row} is so far away that no component has a density there above zero")
            shares[never] = self.weights_
        return np.asarray(shares)

    def score_samples(self, X: Any) -> Array:
        """log P(x) of each row."""
        return np.asarray(normalise(self._log_joint(X))[1].astype(self.means_.dtype))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of ln P(x) over the rows, in nats: larger is better."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """−2 Σ ln P(x) + (free parameters) · ln n: smaller is better, as in scikit-learn."""
        evidence = normalise(self._log_joint(X))[1]
        return float(-2 * evidence.sum() + self._n_parameters() * np.log(len(evidence)))

    def aic(self, X: Any) -> float:
        """−2 Σ ln P(x) + 2 · (free parameters): smaller is better, as in scikit-learn."""
        return float(-2 * normalise(self._log_joint(X))[1].sum() + 2 * self._n_parameters())

    def _n_parameters(self) -> int:
        return n_parameters(self._covariances_like(), *self.means_.shape)

    def plot(self, X: Any, columns: tuple[int, int] = (0, 1)) -> Drawing:
        """Rows in the colours of their responsibilities under the components' ellipses; of one column, the density."""
        return views.drawing("a mixture", self, X, columns)

    def _repr_html_(self) -> str:
        return views.html("a mixture", self) if "marks_" in vars(self) else str(super()._repr_html_())

    def sample(self, n_samples: int = 1) -> tuple[Floats, Ints]:
        """n rows (X, k) drawn from the mixture, component after component."""
        check_is_fitted(self, "converged_")
        if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 1:
            raise BadParameter(
                f"Invalid value for 'n_samples': {n_samples!r}. The sampling requires at least one sample."
            )
        return self._drawn(int(n_samples), stream(self.random_state))

    def _drawn(self, n: int, random: np.random.RandomState) -> tuple[Floats, Ints]:
        theta = self._theta(np.ones(self.means_.shape[1]))
        shares = theta.weights / theta.weights.sum()
        counts = random.multinomial(n, shares)
        parts = []
        for mean, factor, count in zip(theta.means, theta.factors, counts):
            noise = random.standard_normal((count, len(mean)))
            parts.append(mean + (np.linalg.solve(factor.T, noise.T).T if factor.ndim == 2 else noise / factor))
        return np.vstack(parts), np.repeat(np.arange(len(counts)), counts)


def n_parameters(kind: str, K: int, d: int) -> int:
    """Free parameters: weights, means, covariances.

    >>> [n_parameters(kind, 2, 5) for kind in ("full", "tied", "diag", "spherical")]
    [41, 26, 21, 13]
    """
    covariances = {"full": K * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": K * d, "spherical": K}[kind]
    return covariances + K * d + K - 1
