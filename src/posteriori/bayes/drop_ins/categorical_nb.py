"""Categorical naive Bayes, a drop-in for scikit-learn's.

Symbols: N_yja rows of class y with x_j = a; S_j categories of column j, the codes 0 .. S_j − 1.
"""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_array, check_non_negative

from ...arrays import Array, Floats, Ints
from ...budget import memory_budget
from ...errors import BadValue, UnknownValue
from ...estimator import AT_LEAST_1, parameters
from ...kernels.naive import NARROWED, count_cells, log_joint_cells, narrow, posterior_cells
from ...smoothing.theta import Smoothing, log_smoothed
from ...statistics.counts import Counts, starts_of
from ...table.frame import columns_of
from ...table.points import checked_matrix
from ..learning import PendingRows
from .drop_in import DiscreteNB, plain

CODES = tuple(np.dtype(t) for t in ("uint8", "uint16", "uint32", "int32", "int64"))
MANY = 1 << 16  # cells from which it pays to read them once more, as bytes
CODED = "categories are coded 0, 1, 2, …, and a table of so many does not fit into memory"
SAMPLE = 4096  # rows from which the number of categories is guessed; the kernel finds out if more come


@parameters
class CategoricalNB(DiscreteNB):
    """log P(y, x) = log P(y) + Σ_j log θ_yj(x_j), θ_yj(a) = (N_yja + α) / (N_y + S_j α).

    As scikit-learn's, with `forget`, `a + b` and exact −inf algebra at α = 0.

    Parameters
    ----------
    alpha : float, default=1.0
        λ, the pseudo-count of each category.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to it, with a warning.
    fit_prior : bool, default=True
        P(y) is the share of the class; if False, uniform.
    class_prior : array-like of shape (n_classes,), default=None
        P(y) as given.
    min_categories : int or array-like of shape (n_features,), default=None
        At least so many categories a column, whether or not they are seen.

    >>> model = CategoricalNB().fit([[0, 1], [1, 0], [1, 1]], ["a", "b", "b"])
    >>> model.predict([[1, 0]]).tolist(), model.n_categories_.tolist()
    (['b'], [2, 2])
    """

    _: KW_ONLY
    alpha: Smoothing = 1.0
    min_categories: Annotated[Any, None, "array-like", AT_LEAST_1] = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags

    @property
    def category_count_(self) -> list[Floats]:
        """N_yja, an array (n_classes, S_j) for each column."""
        counts: Counts = self.statistics_.table
        return [counts.scope(j).T.astype(np.float64) for j in range(len(counts.sizes))]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """log θ_yj(a), an array (n_classes, S_j) for each column."""
        table, offsets = self._log_theta(), self.statistics_.table.offsets
        return [table[a:b].T for a, b in itertools.pairwise(offsets)]

    @property
    def n_categories_(self) -> Ints:
        """S_j of each column."""
        sizes: Ints = self.statistics_.table.sizes
        return sizes

    @property
    def feature_count_(self) -> Floats:
        """Not an attribute of this model: see `category_count_`."""
        raise AttributeError("CategoricalNB has category_count_, not feature_count_")

    def _border(self, X: Any, reset: bool) -> Array:
        if type(X) is np.ndarray and X.size >= MANY and X.flags.forc and plain(self, X, NARROWED, reset):
            small = narrow(X)  # also floats, which the checks below would copy twice
            if small is not None:
                return small
        if plain(self, X, CODES, reset):
            codes: Array = X
            return codes
        with np.errstate(invalid="ignore"):
            found = checked_matrix(self, X, dtype="int", accept_sparse=False, ensure_all_finite=True, reset=reset)
        if (found < 0).any():
            self._refuse_wrapped(X, found)
            check_non_negative(found, "CategoricalNB (input X)")
        return np.asarray(found)

    def _refuse_wrapped(self, X: Any, codes: Array) -> None:
        """A number beyond 2⁶³ has become a negative one."""
        told = np.asarray(columns_of(X), dtype=np.float64)
        for row, j in np.argwhere((codes < 0) & (told > 0))[:1].tolist():
            raise BadValue(f"row {row} has category {told[row, j]:.6g} in column {self._name(j)!r}; {CODED}")

    def _name(self, j: int) -> Any:
        return getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()[j]

    def _collect(self, X: Array, codes: Array, n_classes: int, weights: Floats | None) -> Counts:
        try:
            offsets = self._offsets(X[:SAMPLE])
            return Counts(count_cells(X, codes, offsets, n_classes, weights), offsets)
        except ValueError:
            if X.dtype.kind == "i":
                check_non_negative(X, "CategoricalNB (input X)")
            offsets = self._offsets(X)
            return Counts(count_cells(X, codes, offsets, n_classes, weights), offsets)

    def _rows(self, table: Counts, codes: Array, n_classes: int, weights: Floats | None) -> Array:
        """N_y: every row has a code in the first column; sums of weights would differ in their last digits."""
        if weights is not None:
            return super()._rows(table, codes, n_classes, weights)
        rows: Array = table.scope(0).sum(axis=0)
        return rows

    def _is_sure(self, X: Array, pending: PendingRows) -> bool:
        sizes = pending.base.table.sizes
        return X.dtype in CODES and bool(X.min() >= 0 and (X[0] < 2 * sizes + SAMPLE).all())

    def _offsets(self, X: Array) -> Ints:
        """Where the cells of each column begin, with as many categories as these rows and `min_categories` show."""
        sizes = np.maximum(X.max(axis=0).astype(np.float64) + 1, self._least())
        if 16 * sizes.sum() > memory_budget():
            j = int(np.argmax(sizes))
            row = int(np.argmax(X[:, j]))
            raise BadValue(f"row {row} has category {X[row, j]} in column {self._name(j)!r}; {CODED}")
        return starts_of(sizes)

    def _least(self) -> Ints:
        d = self.n_features_in_
        if self.min_categories is None:
            return np.zeros(d, dtype=np.int64)
        try:
            least = np.asarray(self.min_categories)
        except ValueError:
            raise BadValue("'min_categories' should be numbers. Got lists of different lengths instead.") from None
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise BadValue(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), (d,)):
            raise BadValue(
                f"'min_categories' should have shape ({d},) when an array-like is provided. Got {least.shape} instead."
            )
        return np.broadcast_to(least, (d,)).astype(np.int64)

    def _log_theta(self) -> Floats:
        """log θ as a table (cells, K)."""
        counts = self.statistics_.table
        alpha = float(self._smoothing())
        return log_smoothed(counts, counts.totals() + alpha * counts.sizes[:, None], alpha)[0]

    def _prepare(self) -> tuple[Floats, Array, Floats]:
        self._check_alpha()
        return self._log_theta(), self.statistics_.table.offsets, self.class_log_prior_

    def _log_joint(self, X: Any) -> Floats:
        X = self._border(X, reset=False)
        try:
            return log_joint_cells(X, *self._ready())
        except ValueError:
            self._refuse_unknown(X)
            raise

    def _log_parts(self, X: Any) -> tuple[Floats, Floats]:
        X = self._border(X, reset=False)
        self._refuse_unknown(X)
        log_theta, offsets, log_prior = self._ready()
        parts: Floats = log_theta[X + offsets[:-1]]
        return log_prior, parts

    def _posterior(self, X: Any) -> tuple[Floats, int]:
        X = self._border(X, reset=False)
        try:
            return posterior_cells(X, *self._ready())
        except ValueError:
            self._refuse_unknown(X)
            raise

    def _refuse_unknown(self, X: Array) -> None:
        check_array(X, estimator=self, input_name="X")
        check_non_negative(X, "CategoricalNB (input X)")
        unknown = self.n_categories_ <= X
        if unknown.any():
            row, j = (int(i) for i in np.argwhere(unknown)[0])
            raise UnknownValue(
                f"row {row} has category {X[row, j]} in column {self._name(j)!r}, but the model knows 0 to "
                f"{self.n_categories_[j] - 1}; train with it, or allow for it with min_categories"
            )
