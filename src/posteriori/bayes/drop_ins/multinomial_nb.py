"""Multinomial naive Bayes, a drop-in for scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Floats
from .discrete import Linear, LinearNB, log_share


class MultinomialNB(LinearNB):
    """log P(y, x) = log P(y) + Σ_j x_j log θ_yj, θ_yj = (N_yj + α_j) / (Σ_j N_yj + α_j).

    As scikit-learn's, with `forget`, `a + b` and exact −inf algebra at α = 0.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        λ, the pseudo-count of each feature.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    fit_prior : bool, default=True
        P(y) is the share of the class; if False, uniform.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) as given.

    >>> model = MultinomialNB().fit([[2, 0], [0, 2]], ["a", "b"])
    >>> model.predict([[1, 0]]).tolist(), model.predict_proba([[1, 0]]).round(2).tolist()
    (['a'], [[0.75, 0.25]])
    """

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @property
    def feature_log_prob_(self) -> Floats:
        """log θ_yj, shape (n_classes, n_features)."""
        return self._log_theta().T

    def _log_theta(self) -> Floats:
        smoothed = self.statistics_.table.table + np.reshape(self._smoothing(), (-1, 1))
        return log_share(smoothed, smoothed.sum(axis=0))

    def _prepare(self) -> Linear:
        self._check_alpha()
        return Linear.of(self._log_theta(), self.class_log_prior_)
