"""Multinomial and complement naive Bayes (Rennie et al., 2003), drop-ins for scikit-learn's."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from ...arrays import Floats
from ...errors import BadValue
from ...estimator import parameters
from ...kernels.naive import column_sums
from ...smoothing.theta import log_smoothed
from .drop_in import LinearNB, LinearSum


@parameters
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @property
    def feature_log_prob_(self) -> Floats:
        """log θ_yj, shape (n_classes, n_features)."""
        return self._log_theta()[0].T

    def _log_theta(self) -> tuple[Floats, bool]:
        """(log θ as a table (d, K), whether all are finite)."""
        counts, alpha = self.statistics_.table, self._smoothing()
        whole = column_sums(counts.table)[0] + self._whole_smoothing()
        return log_smoothed(counts, whole[None, :], alpha)

    def _prepare(self) -> LinearSum:
        self._check_learned()
        table, finite = self._log_theta()
        return LinearSum.of(table, self.class_log_prior_, hits=None if finite else np.isneginf(table))


@parameters
class ComplementNB(LinearNB):
    """score[y, x] = −Σ_j x_j log θ̄_yj, θ̄ from the rows that are *not* of class y.

    As scikit-learn's, with `forget` and `a + b`. The score is a heuristic, not log P(y, x). At α = 0 a feature that never
    occurs outside a class weighs infinitely for it: the answer is the limit α → 0.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        λ, the pseudo-count of each feature.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    fit_prior : bool, default=True
        Used only where there is one class.
    class_prior : array-like of shape (n_classes,), default=None
        Used only where there is one class.
    norm : bool, default=False
        Whether the weights of a class are divided by their sum.

    >>> model = ComplementNB().fit([[2, 0], [0, 2]], ["a", "b"])
    >>> model.predict([[1, 0]]).tolist()
    ['a']
    """

    _: KW_ONLY
    norm: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @property
    def feature_all_(self) -> Floats:
        """N_j, the count of each feature in all classes."""
        total: Floats = self.statistics_.table.table.sum(axis=1)
        return total

    @property
    def feature_log_prob_(self) -> Floats:
        """The weights −log θ̄_yj, shape (n_classes, n_features)."""
        return self._weights()[0].T

    def _weights(self) -> tuple[Floats, bool]:
        """(−log θ̄ as a table (d, K), or its shares, and whether all are finite).

        With one class and α = 0 nothing lies outside.
        """
        counts, alpha = self.statistics_.table, self._smoothing()
        own = column_sums(counts.table)[0]
        total = own.sum() - own + self._whole_smoothing()
        weights, finite = log_smoothed(counts, total[None, :], alpha, others=True)
        if not self.norm:
            return weights, finite
        if not finite:
            j, y = (int(i) for i in np.argwhere(~np.isfinite(weights))[0])
            raise BadValue(
                f"with norm=True the weights of class {self.classes_.tolist()[y]!r} cannot be normalised: feature {j} "
                "never occurs outside it and alpha is 0; give a positive alpha"
            )
        return weights / column_sums(weights)[0], finite

    def _prepare(self) -> LinearSum:
        super()._check_learned()
        prior = self.class_log_prior_  # checked, but used only where there is nothing to choose
        weights, finite = self._weights()
        start = prior if len(prior) == 1 else np.zeros(len(prior))
        return LinearSum.of(weights, start, hits=None if finite else np.isposinf(weights))

    def _check_learned(self) -> None:
        """Shares of weights there may be none of."""
        super()._check_learned()
        if self.norm:
            self._ready()

    def _hit(self, scores: Floats, hits: Floats) -> Floats:
        """Infinitely good: the classes hit most win, whatever the finite parts say."""
        scores[hits < hits.max(axis=1, keepdims=True)] = -np.inf
        return scores
