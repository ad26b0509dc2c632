"""A posterior for models that have only margins: a sigmoid of the margins, fitted on rows that they did not learn.

Symbols: K classes, s(x) the K margins of a row, P(y|x) ∝ exp(a_y · s(x) + b_y), Platt's sigmoid where K = 2.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods

from ..arrays import Array, Floats
from ..estimator import RANDOM_STATE, Estimator, Explains, learning
from .folds import Stratified

LARGEST = 1e150  # of margins, and of what they are multiplied by: their products are numbers


class Calibrated(Explains, ClassifierMixin, MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """A classifier with a `decision_function`, its margins on three inner folds turned into a posterior.

    A class that an inner fold lacks has the least margin there, so that no class is too small.

    >>> from sklearn.linear_model import Perceptron
    >>> X, y = [[-2.0], [-1.0], [-1.5], [1.0], [2.0], [1.5]], ["a", "a", "a", "b", "b", "b"]
    >>> Calibrated(Perceptron()).fit(X, y).predict([[-1.0], [3.0]]).tolist()
    ['a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "decision_function"])],
        "seed": RANDOM_STATE,
    }

    def __init__(self, estimator: Any, seed: int = 0) -> None:
        self.estimator = estimator
        self.seed = seed

    @learning
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """The classifier on all rows, the sigmoid on its margins for rows of inner folds."""
        X, y = _points(X), np.asarray(y)
        self.classes_ = np.unique(y)
        margins = np.full((len(y), len(self.classes_)), np.nan)
        for train, test in Stratified(3, self.seed).split(X, y):
            if len(np.unique(y[train])) > 1:
                fitted = clone(self.estimator).fit(X[train], y[train], **_weighed(sample_weight, train))
                margins[test] = self._margins(fitted, X[test])
        self.estimator_ = clone(self.estimator).fit(X, y, **_weighed(sample_weight, slice(None)))
        known = np.flatnonzero(np.isfinite(margins).all(axis=1))
        if len(np.unique(y[known])) < 2:  # a class of one row beside another: its own margins must do
            margins, known = self._margins(self.estimator_, X), np.arange(len(y))
        self.slopes_, self.intercepts_ = self._sigmoid(margins[known], y[known], _weighed(sample_weight, known))
        self.n_features_in_ = int(X.shape[1])
        return self

    def _sigmoid(self, margins: Floats, y: Array, weighed: dict[str, Any]) -> tuple[Floats, Floats]:
        """(a, b): a row for every class; one that no inner fold could test is impossible."""
        from sklearn.linear_model import LogisticRegression

        fitted = LogisticRegression(max_iter=1000).fit(margins, y, **weighed)
        slopes, intercepts = np.zeros((len(self.classes_),) * 2), np.full(len(self.classes_), -np.inf)
        own = np.searchsorted(self.classes_, fitted.classes_)
        intercepts[own] = 0.0
        own = own[1:] if len(own) == 2 else own  # of two the first has the log-odds 0
        slopes[own], intercepts[own] = fitted.coef_, fitted.intercept_
        return slopes, intercepts

    def predict_proba(self, X: Any) -> Floats:
        """P(y|x) of the margins; a class that no inner fold could test has none."""
        margins = np.clip(self._margins(self.estimator_, _points(X)), -LARGEST, LARGEST)
        scores = margins @ self.slopes_.T + self.intercepts_
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any) -> Array:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _margins(self, fitted: Any, X: Any) -> Floats:
        """A margin for every class; two classes have one, with both signs."""
        found = np.asarray(fitted.decision_function(X), dtype=np.float64)
        found = np.column_stack([-found, found]) if found.ndim == 1 else found
        whole = np.repeat(found.min(axis=1, keepdims=True) - 1.0, len(self.classes_), axis=1)
        whole[:, np.searchsorted(self.classes_, fitted.classes_)] = found
        return whole


def _points(X: Any) -> Any:
    return X if hasattr(X, "shape") else np.asarray(X)


def _weighed(weights: Any, rows: Any) -> dict[str, Any]:
    return {} if weights is None else {"sample_weight": np.asarray(weights)[rows]}
