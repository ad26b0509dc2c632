"""Regression by the k nearest rows: the mean of their targets, which has the least squared error among them.

Symbols: y targets (n, outputs), w weights of the neighbours.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from ..arrays import Array, Floats
from ..errors import BadValue
from .base import Neighbors
from .loo import squared_curve


class KNeighborsRegressor(RegressorMixin, Neighbors):  # type: ignore[misc]
    """ŷ = Σ_r w_r y_r / Σ_r w_r over the k nearest rows; parameters as those of `KNeighborsClassifier`.

    `n_neighbors="auto"` takes the k of least leave-one-out squared error.

    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [5]], [0.0, 1.0, 5.0]).predict([[0.4]])
    array([0.5])
    """

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int | str = "auto",
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        kinds: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.kinds = kinds
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        with self._all_or_nothing():
            self._forget_fit()
            return self._learn(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it."""
        return self._learn(X, y, sample_weight)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        first = not hasattr(self, "_store")
        table = self._open(X, True) if first else X
        if y is None:
            raise BadValue("this estimator requires y to be passed, but the target y is None")
        target = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if target.ndim > 2:
            raise BadValue(f"y must have one or two dimensions, got {target.ndim}")
        check_consistent_length(X, target)
        weight = self._sample_weight(sample_weight, len(target))
        columns = target.reshape(len(target), -1)
        if first:
            self._begin(table, None)
            self._flat = target.ndim == 1
            self._targets, self._weight = columns, weight
        else:
            if columns.shape[1] != self._targets.shape[1]:
                raise BadValue(f"y has {columns.shape[1]} outputs, the model was fitted on {self._targets.shape[1]}")
            weights = self._join_weights(self._weight, len(self._store), weight, len(target))
            self._add(X)  # last of all that can fail: a store does not shrink again
            self._weight = weights
            self._targets = np.concatenate([self._targets, columns])
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return squared_curve(distance, index, self._targets, self.weights, self._weight, most)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbours' targets."""
        check_is_fitted(self)
        index, w = self._weighted(self._open(X, False), self._k())
        near = self._targets[index]
        if w is None:
            mean = near.mean(axis=1)
        else:
            w = np.where(w.sum(axis=1, keepdims=True) > 0, w, 1.0)
            mean = np.einsum("mk,mko->mo", w, near) / w.sum(axis=1, keepdims=True)
        answer: Floats = mean[:, 0] if self._flat else mean
        return answer
