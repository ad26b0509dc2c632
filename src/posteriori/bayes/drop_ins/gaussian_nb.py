"""Gaussian naive Bayes, a drop-in for scikit-learn's.

Symbols: μ_yj and σ²_yj mean and variance of attribute j in class y; ε = var_smoothing · max_j Var(x_j).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...arrays import Array, Floats
from ...errors import BadValue, SingularCovariance
from ...estimator import AT_LEAST_0, parameters
from ...kernels.naive import NUMBERS, class_moments_seen, posterior, score_gaussian
from ...statistics.moments import Moments
from ...table.points import checked_matrix
from ..classifier import FAR
from ..learning import LARGE, PendingRows
from .drop_in import DropIn, array_of, plain, refuse_numbers

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@parameters
class GaussianNB(DropIn):
    """log P(y, x) = log P(y) + Σ_j log N(x_j; μ_yj, σ²_yj + ε).

    As scikit-learn's, with `forget`, `a + b`, and any batches in any order equal to `fit`: the raw moments are what is
    stored, and ε comes from the variance of all rows when predicting. Weights count as repeated rows, in ε too.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        P(y); None takes the shares of the classes.
    var_smoothing : float, default=1e-9
        Share of the largest variance of all columns that is added to each variance.

    >>> model = GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist(), model.theta_.ravel().tolist()
    ([0, 1], [-1.5, 1.5])
    """

    _: KW_ONLY
    priors: Annotated[Any, "array-like", None] = None
    var_smoothing: Annotated[float, AT_LEAST_0] = 1e-9

    @property
    def _moments(self) -> Moments:
        found: Moments = self.statistics_.table
        return found

    @property
    def class_count_(self) -> Array:
        """N_y, the weight of each class."""
        rows: Array = self.statistics_.rows
        return rows.astype(self._dtype)

    @property
    def theta_(self) -> Array:
        """μ, shape (n_classes, n_features)."""
        return self._moments.mean.astype(self._dtype)

    @property
    def epsilon_(self) -> float:
        """ε = var_smoothing · max_j Var(x_j), over all rows learned so far."""
        return float(self.var_smoothing * self._moments.pooled().variance().max())

    @property
    def var_(self) -> Array:
        """σ² + ε, shape (n_classes, n_features)."""
        return (self._moments.variance() + self.epsilon_).astype(self._dtype)

    @property
    def class_prior_(self) -> Array:
        """P(y)."""
        return self._prior().astype(self._dtype)

    def _prior(self) -> Floats:
        if self.priors is None:
            count = self.statistics_.rows
            shares: Floats = count / count.sum()
            return shares
        priors = array_of("priors", self.priors)
        if priors.shape != self.classes_.shape:
            raise BadValue("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise BadValue("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise BadValue("Priors must be non-negative.")
        return priors

    def _border(self, X: Any, reset: bool) -> Array:
        if not plain(self, X, NUMBERS, reset):
            X = checked_matrix(self, X, reset=reset, dtype=FLOATS, ensure_all_finite=False)
        if reset:
            self._dtype = X.dtype if X.dtype.kind == "f" else FLOATS[0]
        checked: Array = X
        return checked

    def _collect(self, X: Array, codes: Array, n_classes: int, weights: Floats | None) -> Moments:
        n, mean, m2, low, high, seen = class_moments_seen(X, codes, n_classes, weights)
        if seen or not np.isfinite(m2).all():
            refuse_numbers(self, X)
        return Moments.of(n, mean, m2, low, high, weights is not None)

    def _is_sure(self, X: Array, pending: PendingRows) -> bool:
        return bool(X.min() > -LARGE and X.max() < LARGE)

    def _prepare(self) -> tuple[Floats, Floats, Floats, bool]:
        """(μ, σ² + ε, log P(y), whether every variance is positive)."""
        variance = self._moments.variance() + self.epsilon_
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._prior())
        return self._moments.mean, variance, log_prior, bool((variance > 0).all())

    def _score(self, X: Any, wanted: bool) -> tuple[Floats, int]:
        X = self._border(X, reset=False)
        mean, variance, log_prior, sound = self._ready()
        if not sound:
            self._refuse_flat(variance)
        out, row, seen = score_gaussian(X, mean, variance, log_prior, wanted)
        if seen:
            validate_data(self, X, reset=False)
        return out, row

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        self._log_joint(X)  # its checks
        mean, variance, log_prior, _ = self._ready()
        gap = np.asarray(self._border(X, reset=False), dtype=np.float64)[:, None] - mean
        parts = -0.5 * (np.log(2 * np.pi * variance) + gap * gap / variance)
        return log_prior, np.swapaxes(parts, 1, 2)

    def _way_out(self) -> str:
        return FAR

    def _log_joint(self, X: Any) -> Floats:
        return self._score(X, False)[0]

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        out, row = self._score(X, True)
        # so far out that every class underflows: the differences are still there
        return (out, row) if row < 0 else posterior(self._log_joint(X))

    def _refuse_flat(self, variance: Floats) -> None:
        y, j = (int(i) for i in np.argwhere(variance <= 0)[0])
        column = getattr(self, "feature_names_in_", np.arange(variance.shape[1])).tolist()[j]
        raise SingularCovariance(
            f"class {self.classes_.tolist()[y]!r} has variance 0 in column {column!r}, and so has every column or "
            "var_smoothing is 0; give a positive var_smoothing or leave constant columns out"
        )
