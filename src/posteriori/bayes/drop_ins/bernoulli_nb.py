"""Bernoulli naive Bayes, a drop-in for scikit-learn's."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_array

from ...arrays import Array, Floats
from ...errors import BadValue
from ...estimator import AT_LEAST_0, parameters
from ...kernels.naive import NOT_FINITE, column_sums, count_cells, count_sparse, log_joint_cells, posterior_cells
from ...smoothing.theta import log_smoothed
from ...statistics.counts import Counts
from ..learning import PendingRows
from .drop_in import LinearNB, LinearSum, dense_count, refuse_numbers


@parameters
class BernoulliNB(LinearNB):
    """log P(y, x) = log P(y) + Σ_j log[θ_yj x_j + (1 − θ_yj)(1 − x_j)], θ_yj = (N_yj + α) / (N_y + 2α).

    As scikit-learn's, with `forget`, `a + b` and exact −inf algebra at α = 0. Sparse rows cost only their non-zeros.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        λ, the pseudo-count of either value.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    binarize : float or None, default=0.0
        A cell is 1 above it, else 0; None says that X holds 0 and 1 already.
    fit_prior : bool, default=True
        P(y) is the share of the class; if False, uniform.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) as given.

    >>> model = BernoulliNB().fit([[1, 0], [0, 1]], ["a", "b"])
    >>> model.predict([[1, 0]]).tolist(), model.predict_proba([[1, 0]]).round(2).tolist()
    (['a'], [[0.8, 0.2]])
    """

    _: KW_ONLY
    binarize: Annotated[float | None, None, AT_LEAST_0] = 0.0

    @property
    def feature_log_prob_(self) -> Floats:
        """log θ_yj = log P(x_j = 1 | y), shape (n_classes, n_features)."""
        return self._log_theta(1)[0].T

    def _log_theta(self, x: int, less: Floats | None = None) -> tuple[Floats, bool]:
        """(log P(x_j = x | y) as a table (d, K), but for what is `less`, and whether all are finite)."""
        counts, rows = self.statistics_.table, self.statistics_.rows.astype(np.float64)
        alpha = np.reshape(np.asarray(self._smoothing(), dtype=np.float64), (-1, 1))
        if len(alpha) > 1:  # every feature has a whole of its own
            counts = Counts(counts.table, np.arange(len(alpha) + 1))
        return log_smoothed(counts, rows + 2 * alpha, alpha, by_class=None if x else rows, less=less)

    def _border(self, X: Any, reset: bool) -> Any:
        rows = super()._border(X, reset)
        if not isinstance(rows, np.ndarray) and not rows.has_canonical_format:
            rows = rows.copy() if rows is X else rows  # a cell that is stored twice is their sum: one bit, not two
            rows.sum_duplicates()
        return rows

    def _bits(self, X: Array) -> Array | None:
        """Dense rows as codes 0 and 1, or None where binarize=None left other numbers."""
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            check_array(X, estimator=self, input_name="X")
        if self.binarize is not None:
            return (self.binarize < X).view(np.uint8)
        ones = X == 1
        return ones.view(np.uint8) if ((X == 0) | ones).all() else None

    def _count(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Floats:
        if not isinstance(X, np.ndarray):
            table, seen = count_sparse(
                X.indptr, X.indices, X.data, X.shape[1], codes, n_classes, weights, self.binarize
            )
            self._check_seen(X, seen)
            self._check_shares(table, codes, n_classes, weights)
            return table
        bits = self._bits(X)
        if bits is None:
            table = dense_count(X, codes, n_classes, weights)
            self._check_shares(table, codes, n_classes, weights)
            return table
        cells = count_cells(bits, codes, 2 * np.arange(X.shape[1] + 1), n_classes, weights)
        return cells[1::2].astype(np.float64)

    def _is_sure(self, X: Array, pending: PendingRows) -> bool:
        return self.binarize is not None and super()._is_sure(X, pending)

    def _check_shares(self, table: Floats, codes: Array, n_classes: int, weights: Floats | None) -> None:
        if self.binarize is None:
            rows = np.bincount(codes, weights, minlength=n_classes)
            if (table < 0).any() or (table > rows * (1 + 1e-9)).any():
                raise BadValue("binarize=None needs cells between 0 and 1; give a threshold or binarize X first")

    def _prepare(self) -> LinearSum:
        """The sparse form Σ_j log(1−θ_yj) + Σ_{x_j=1} log θ_yj/(1−θ_yj)."""
        self._check_learned()
        zero, others = self._log_theta(0)
        odds, some = self._log_theta(1, less=zero)
        hits = always = None
        if not (some and others):
            one = self._log_theta(1)[0]
            never, sure = np.isneginf(one), np.isneginf(zero)
            hits, always = never.astype(np.float64) - sure, sure.sum(axis=0) * 1.0
            one, zero = np.where(never, 0.0, one), np.where(sure, 0.0, zero)
            odds = one - zero
        total, low = column_sums(zero)
        prior = self.class_log_prior_
        start = prior + total
        seen = np.isfinite(prior)  # a class without rows has prior −inf
        low[seen] += prior[seen] - (start[seen] - total[seen])
        return LinearSum.of(odds, start, low, hits, always)

    def _cells(self) -> tuple[Floats, Array, Floats]:
        """The dense form: log P(x_j | y) as two cells of each column, where they begin, and log P(y)."""
        cells = np.empty((2 * self.n_features_in_, len(self.classes_)))
        cells[::2], cells[1::2] = self._log_theta(0)[0], self._log_theta(1)[0]
        return cells, 2 * np.arange(self.n_features_in_ + 1), self.class_log_prior_

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        self._log_joint(X)  # its checks
        X = self._border(X, reset=False)
        x = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)[:, :, None]
        x = (x > self.binarize).astype(np.float64) if self.binarize is not None else x
        with np.errstate(invalid="ignore"):
            one, zero = (np.where(p > 0, p * self._log_theta(v)[0], 0.0) for p, v in ((x, 1), (1 - x, 0)))
        return self.class_log_prior_, one + zero

    def _score(self, X: Any, wanted: bool) -> tuple[Floats, int]:
        X = self._border(X, reset=False)
        linear = self._ready()  # parameters are checked
        bits = self._bits(X) if isinstance(X, np.ndarray) else None
        if bits is None:
            return self._answer(X, linear, self.binarize, wanted)
        cells = self._made("cells", self._cells)
        return posterior_cells(bits, *cells) if wanted else (log_joint_cells(bits, *cells), -1)

    def _check_seen(self, X: Any, seen: int) -> None:
        if seen & NOT_FINITE:
            refuse_numbers(self, X)
