"""The drop-ins whose scores are linear in x: Bernoulli, multinomial and complement naive Bayes (Rennie et al., 2003).

Symbols: N_yj how much of feature j went with class y, `table[j, y]` of a `Counts` with one scope;
score[r, y] = start[y] + Σ_j x_rj · w[j, y]. Where w is −inf, x·w is −inf for x > 0 and nothing for x = 0; so the finite
weights are summed, and the infinite ones counted: `hits` holds 1 for each, and a class that is hit is impossible.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_array

from ..arrays import Array, Floats
from ..blas import one_thread
from ..errors import BadValue
from ..estimator import AT_LEAST_0, parameters
from ..fields import need
from ..kernels import (
    NOT_FINITE,
    column_sums,
    count_cells,
    count_sparse,
    log_joint_cells,
    posterior,
    posterior_cells,
    refuse_large,
    score_sparse,
)
from ..smoothing.theta import log_smoothed
from ..statistics.counts import Counts
from .drop_ins import (
    DiscreteNB,
    dense_count,
    refuse_numbers,
)
from .pending import PendingMatrix


@dataclass(frozen=True, eq=False)
class LinearSum:
    """Weights (d, K), their start (K,) and its lost digits; where some are infinite, `hits` of them beside, to (d, 2K)."""

    table: Floats
    start: Floats
    low: Floats
    n_classes: int

    @classmethod
    def of(
        cls,
        weights: Floats,
        start: Floats,
        low: Floats | None = None,
        hits: Array | None = None,
        always: Floats | None = None,
    ) -> LinearSum:
        """Weights that are finite where there are no hits. `always` counts hits where x = 0."""
        k = len(start)
        low = np.zeros(k) if low is None else low
        if hits is None:
            return cls(np.ascontiguousarray(weights), np.ascontiguousarray(start), low, k)
        always = np.zeros(k) if always is None else always
        weights = np.where(np.isfinite(weights), weights, 0.0)
        return cls(np.hstack([weights, hits]), np.concatenate([start, always]), np.append(low, np.zeros(k)), k)

    @property
    def infinite(self) -> bool:
        """Whether rows may be hit."""
        return len(self.start) > self.n_classes

    def score(self, X: Any, above: float | None = None, wanted: bool = False) -> tuple[Floats, int, int]:
        """(scores, or the posterior if wanted, first impossible row or −1, what was seen among stored cells)."""
        if isinstance(X, np.ndarray):
            if X.size < 9216:  # BLAS takes one thread for so little by itself
                out = X @ self.table
            else:
                with one_thread(X.size * len(self.start)):
                    out = X @ self.table
            out += self.start
            out += self.low
            return *(posterior(out) if wanted else (out, -1)), 0
        return score_sparse(X.indptr, X.indices, X.data, self.table, self.start, self.low, above, wanted)


class LinearNB(DiscreteNB):
    """A model whose scores are linear in x, and how it answers."""

    feature_log_prob_: Any

    def _check_table(self, table: Any, rows: Floats) -> int:
        need(isinstance(table, Counts) and len(table.sizes) == 1, "there must be counts of one scope")
        return len(table.table)

    def _check_learned(self) -> None:
        """α and the prior are looked at; logarithms of whole tables are for who predicts, not for every batch."""
        self._cached("sound", self._check_sound)

    def _check_sound(self) -> bool:
        self._check_alpha()
        return bool(len(self.class_log_prior_))

    def _log_joint(self, X: Any) -> Floats:
        return self._score(X, False)[0]

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        return self._score(X, True)

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        self._log_joint(X)  # its checks
        X = self._border(X, reset=False)
        x = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)[:, :, None]
        with np.errstate(invalid="ignore"):
            parts = np.where(x > 0, x * self.feature_log_prob_.T, 0.0)
        return self._ready().start[: len(self.classes_)], parts

    def _score(self, X: Any, wanted: bool) -> tuple[Floats, int]:
        """(log joint, or the posterior if wanted, first row that no class allows or −1)."""
        X = self._border(X, reset=False)
        if isinstance(X, np.ndarray) and not (np.isfinite(X).all() and X.min() >= 0):
            self._check_cells(X)
        return self._answer(X, self._ready(), None, wanted)

    def _answer(self, X: Any, linear: LinearSum, above: float | None, wanted: bool) -> tuple[Floats, int]:
        scores, row, seen = linear.score(X, above, wanted and not linear.infinite)
        self._check_seen(X, seen)
        if linear.infinite:
            k = linear.n_classes
            scores = self._hit(np.ascontiguousarray(scores[:, :k]), scores[:, k:])
            return posterior(scores) if wanted else (scores, -1)
        return scores, row

    def _hit(self, scores: Floats, hits: Floats) -> Floats:
        """A class that is hit is impossible."""
        scores[hits > 0] = -np.inf
        return scores


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

    def _check_table(self, table: Any, rows: Floats) -> int:
        columns = super()._check_table(table, rows)
        need((table.table <= rows * (1 + 1e-9)).all(), "the statistic must be of the rows of every class")
        return columns

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
        refuse_large(2 * X.shape[1], n_classes, 3)
        cells = count_cells(bits, codes, 2 * np.arange(X.shape[1] + 1), n_classes, weights)
        return cells[1::2].astype(np.float64)

    def _is_sure(self, X: Array, pending: PendingMatrix) -> bool:
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
        cells = self._cached("cells", self._cells)
        return posterior_cells(bits, *cells) if wanted else (log_joint_cells(bits, *cells), -1)

    def _check_seen(self, X: Any, seen: int) -> None:
        if seen & NOT_FINITE:
            refuse_numbers(self, X)


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
