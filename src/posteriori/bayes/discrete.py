"""What the discrete drop-ins share: counts, the smoothing parameter α, the class prior.

Symbols: N_yj how much of feature j went with class y; the statistic is a `Counts` of two scopes, the features (d values)
and the class itself (one value), so that N_yj is `table[j, y]` and N_y is `table[d, y]`.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from ..arrays import Array, Floats
from ..errors import BadValue
from ..kernels.naive import NEGATIVE, NOT_FINITE, count_sparse
from ..statistics import Counts
from .learner import Learner, plain, refuse_numbers

FLOATS = (np.dtype(np.float64),)
SMALLEST = 1e-10  # the α that force_alpha=False falls back to


class Discrete(Learner):
    """The parameters and fitted attributes that scikit-learn's discrete naive Bayes models have in common."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }
    _statistics: Counts
    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    @property
    def class_count_(self) -> Floats:
        """N_y, the weight of each class."""
        return self._class_counts(self._statistics).astype(np.float64)

    @property
    def feature_count_(self) -> Floats:
        """N_yj, shape (n_classes, n_features)."""
        return self._features()[:-1].T

    @property
    def class_log_prior_(self) -> Floats:
        """log P(y); −inf for a class that has no rows."""
        if self.class_prior is not None:
            if len(self.class_prior) != len(self.classes_):
                raise BadValue("Number of priors must match number of classes.")
            prior = np.asarray(self.class_prior, dtype=np.float64)
        elif self.fit_prior:
            prior = self.class_count_ / max(self.class_count_.sum(), np.finfo(float).tiny)
        else:
            prior = np.full(len(self.classes_), 1.0 / len(self.classes_))
        with np.errstate(divide="ignore"):
            return np.log(prior)

    def _features(self) -> Array:
        return self._statistics.table

    def _check_alpha(self) -> Any:
        """α as a number or an array over the features; raised to 1e-10 where `force_alpha` is False."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        least = np.min(alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape[0] != self.n_features_in_:
                raise BadValue(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if least < 0:
                raise BadValue("All values in alpha must be greater than 0.")
        if least < SMALLEST and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {SMALLEST:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
        return self._smoothing()

    def _smoothing(self) -> Any:
        """α as `_check_alpha` gives it, without a word."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        return alpha if self.force_alpha else np.maximum(alpha, SMALLEST)

    def _knobs(self) -> tuple[Any, ...]:
        return self.alpha, self.force_alpha, self.fit_prior, self.class_prior

    def _border(self, X: Any, reset: bool) -> Any:
        if plain(self, X, FLOATS, reset):
            return X
        return validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)

    def _collect(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Counts:
        table = np.empty((X.shape[1] + 1, n_classes))
        table[-1] = np.bincount(codes, weights, minlength=n_classes)
        table[:-1] = self._count(X, codes, n_classes, weights)
        return Counts(table, np.array([0, X.shape[1], X.shape[1] + 1]))

    def _count(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Floats:
        """N_yj as a table (d, K)."""
        if not isinstance(X, np.ndarray):
            table, seen = count_sparse(X.indptr, X.indices, X.data, X.shape[1], codes, n_classes, weights)
            self._check_seen(X, seen)
            return table
        self._check_cells(X)
        return dense_count(X, codes, n_classes, weights)

    def _check_seen(self, X: Any, seen: int) -> None:
        if seen & NOT_FINITE:
            refuse_numbers(self, X)
        if seen & NEGATIVE:
            self._check_cells(X)

    def _check_cells(self, X: Any) -> None:
        """Cells are finite, and not negative."""
        check_array(X, accept_sparse="csr", estimator=self, input_name="X")
        check_non_negative(X, f"{type(self).__name__} (input X)")

    def _class_counts(self, statistics: Counts) -> Array:
        rows: Array = statistics.table[-1]
        return rows

    def _spread(self, statistics: Counts, classes: Array, n_classes: int) -> Counts:
        cells = np.arange(len(statistics.table))
        return statistics.spread(statistics.offsets, cells, classes, n_classes)

    def _keep(self, statistics: Counts, classes: Array) -> Counts:
        return Counts(np.ascontiguousarray(statistics.table[:, classes]), statistics.offsets)


def dense_count(X: Array, codes: Array, n_classes: int, weights: Floats | None) -> Floats:
    """Σ_r w_r x_rj by class, shape (d, K): the product with the indicator of the class, a block of rows at a time."""
    table = np.zeros((X.shape[1], n_classes))
    for begin in range(0, len(X), 1 << 15):
        rows = slice(begin, begin + (1 << 15))
        indicator = np.zeros((len(codes[rows]), n_classes))
        indicator[np.arange(len(indicator)), codes[rows]] = 1.0 if weights is None else weights[rows]
        table += X[rows].T.astype(np.float64, copy=False) @ indicator
    return table


def log_share(part: Floats, whole: Floats) -> Floats:
    """log(part/whole), −inf where part is 0 or there is no whole."""
    with np.errstate(divide="ignore"):
        return np.where(whole > 0, np.log(part) - np.log(np.where(whole > 0, whole, 1.0)), -np.inf)
