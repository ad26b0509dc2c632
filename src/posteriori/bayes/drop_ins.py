"""Naive Bayes with the face of scikit-learn's: its parameters, its fitted attributes, its contract for `partial_fit`.

All classes are told by the first call. Here is what the drop-ins share, and those of numbers and of categories.

Symbols: μ_yj and σ²_yj mean and variance of attribute j in class y; ε = var_smoothing · max_j Var(x_j);
N_yja rows of class y with x_j = a; S_j categories of column j, the codes 0 .. S_j − 1.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, field
from numbers import Real
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from ..arrays import Array, Floats, Ints
from ..blas import one_thread
from ..budget import memory_budget
from ..errors import BadParameter, BadValue, SingularCovariance, UnknownValue
from ..estimator import AT_LEAST_0, AT_LEAST_1, parameters
from ..fields import Of, need
from ..kernels import (
    NEGATIVE,
    NOT_FINITE,
    class_moments,
    count_cells,
    count_sparse,
    log_joint_cells,
    narrow,
    posterior,
    posterior_cells,
    refuse_large,
    score_gaussian,
)
from ..smoothing.theta import MOST_SMOOTHING, SMOOTHING, Smoothing, log_smoothed
from ..statistics.counts import Counts, starts_of
from ..statistics.moments import Moments
from ..table.frame import columns_of
from ..table.points import checked_matrix, expects
from .classifier import FAR
from .learning import MatrixLearner
from .pending import HIGH, LARGE, PendingMatrix, PendingRows, has_plain_classes


class DropIn(MatrixLearner):
    """A learner whose `partial_fit` is told all classes that may ever come by its first call (`classes`), or by `fit`."""

    def _refuse_new(self, classes: tuple[Any, ...]) -> None:
        new = [] if self._fresh else [c for c in classes if c not in self.classes_.tolist()]
        if new:
            raise UnknownValue(f"The target label(s) {new} in y do not exist in the initial classes {self.classes_}")

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        base = self.statistics_
        if not has_plain_classes(base):
            return None
        cells = len(base.table.table) if isinstance(base.table, Counts) else 0
        return PendingMatrix(base, cells, parameters)

    def _is_sure(self, X: Array, pending: PendingMatrix) -> bool:
        """Whether no later check could refuse this row."""
        return False

    def _declared(self, classes: Any) -> tuple[Any, ...]:
        if self._fresh:
            if classes is None:
                raise BadValue("classes must be passed on the first call to partial_fit.")
            return tuple(unique_labels(classes).tolist())
        known = self.classes_
        if classes is not None and not np.array_equal(known, unique_labels(classes)):
            raise BadValue(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return ()


def array_of(name: str, value: Any) -> Floats:
    """A parameter that is numbers, as an array of them, all finite."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.array([])
    if not found.size or not np.isfinite(found).all():
        raise BadParameter(f"{name} must be finite numbers. Got {value!r} instead.")
    return found


def told_priors(priors: Any, classes: Array) -> Floats:
    """P(y) as it was told: a share for each class."""
    found = array_of("priors", priors)
    if found.shape != classes.shape or (found < 0).any() or not np.isclose(found.sum(), 1.0):
        raise BadValue(f"priors must be {len(classes)} numbers that are not negative and sum to 1; got {found}")
    return found


def plain(model: Any, X: Any, dtypes: Iterable[Any], reset: bool) -> bool:
    """Whether X is an array that the kernels read as it is, with the columns that were learned.

    The way round scikit-learn's checks, which cost more than a prediction; what is not plain goes through them.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in dtypes or not X.size or not X.flags.aligned:
        return False
    return _learned(model, X) if reset else expects(model, X)


def plain_rows(model: Any, X: Any, reset: bool) -> bool:
    """Whether X is a CSR matrix of SciPy's own that the kernels read as it is; they look at every index and number."""
    if type(X) not in CSR or X.data.dtype not in FLOATS or 0 in X.shape or X.indices.dtype != X.indptr.dtype:
        return False
    return _learned(model, X) if reset else expects(model, X)


def _learned(model: Any, X: Any) -> bool:
    model.n_features_in_ = X.shape[1]
    return True


def refuse_numbers(model: Any, X: Any) -> None:
    """Raise scikit-learn's error for NaN and infinity, with its advice."""
    validate_data(model, X, reset=False, accept_sparse="csr")
    raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")


NUMBERS = frozenset(np.dtype(t) for t in ("f8", "f4", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"))
FLOATS = (np.dtype(np.float64),)
CSR = (sparse.csr_matrix, sparse.csr_array)
INDICATOR = 1 << 22  # numbers of a class's indicator that are there at once
SMALLEST = 1e-10  # the α that force_alpha=False falls back to


@parameters
class DiscreteNB(DropIn):
    """The parameters and fitted attributes that scikit-learn's discrete naive Bayes models have in common."""

    _: KW_ONLY
    alpha: Annotated[Any, SMOOTHING, "array-like"] = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Annotated[Any, "array-like", None] = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    @property
    def class_count_(self) -> Floats:
        """N_y, the weight of each class."""
        rows: Array = self.statistics_.rows
        return rows.astype(np.float64)

    @property
    def feature_count_(self) -> Floats:
        """N_yj, shape (n_classes, n_features)."""
        counts: Floats = self.statistics_.table.table
        return counts.T

    @property
    def class_log_prior_(self) -> Floats:
        """log P(y); −inf for a class that has no rows."""
        if self.class_prior is not None:
            prior = array_of("class_prior", self.class_prior)
            if prior.shape != self.classes_.shape:
                raise BadValue(f"Number of priors must match number of classes. Got class_prior={self.class_prior!r}.")
            if (prior < 0).any():
                raise BadValue(f"class_prior must not be negative. Got {self.class_prior!r} instead.")
        elif self.fit_prior:
            prior = self.class_count_ / self.class_count_.sum()
        else:
            prior = np.full(len(self.classes_), 1.0 / len(self.classes_))
        with np.errstate(divide="ignore"):
            return np.log(prior)

    def _check_alpha(self) -> Any:
        """α as `_smoothing` gives it, with a word where it is raised."""
        alpha = self._smoothing()
        if not self.force_alpha and np.min(array_of("alpha", self.alpha)) < SMALLEST:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {SMALLEST:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
        return alpha

    def _whole_smoothing(self) -> float:
        """Σ_j α_j."""
        alpha = self._smoothing()
        return float(np.sum(alpha)) if np.ndim(alpha) else float(alpha) * self.n_features_in_

    def _smoothing(self) -> Any:
        """α as a number or an array over the features; raised to 1e-10 where `force_alpha` is False."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else array_of("alpha", self.alpha)
        if not isinstance(alpha, Real):
            alpha = alpha if alpha.ndim else float(alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise BadValue(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if np.min(alpha) < 0:
                raise BadValue("All values in alpha must be greater than 0.")
            if np.max(alpha) > MOST_SMOOTHING:
                raise BadValue(f"alpha must be at most {MOST_SMOOTHING:g}. Got {np.max(alpha):g} instead.")
        return alpha if self.force_alpha else np.maximum(alpha, SMALLEST)

    def _border(self, X: Any, reset: bool) -> Any:
        if plain(self, X, FLOATS, reset) or plain_rows(self, X, reset):
            return X
        return checked_matrix(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)

    def _collect(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Counts:
        return Counts(self._count(X, codes, n_classes, weights), np.array([0, X.shape[1]]))

    def _count(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Floats:
        """N_yj as a table (d, K)."""
        if not isinstance(X, np.ndarray):
            table, seen = count_sparse(X.indptr, X.indices, X.data, X.shape[1], codes, n_classes, weights)
            self._check_seen(X, seen)
            return table
        self._check_cells(X)
        return dense_count(X, codes, n_classes, weights)

    def _is_sure(self, X: Array, pending: PendingMatrix) -> bool:
        return plain(self, X, FLOATS, False) and bool(X.min() >= 0 and X.max() < HIGH)

    def _check_seen(self, X: Any, seen: int) -> None:
        if seen & NOT_FINITE:
            refuse_numbers(self, X)
        if seen & NEGATIVE:
            self._check_cells(X)

    def _check_cells(self, X: Any) -> None:
        """Cells are finite, and not negative."""
        check_array(X, accept_sparse="csr", estimator=self, input_name="X")
        check_non_negative(X, f"{type(self).__name__} (input X)")


def dense_count(X: Array, codes: Array, n_classes: int, weights: Floats | None) -> Floats:
    """Σ_r w_r x_rj by class, shape (d, K): the product with the indicator of the class, a block of rows at a time."""
    table = np.zeros((X.shape[1], n_classes))
    with one_thread(X.size * n_classes):
        step = min(1 << 15, max(INDICATOR // n_classes, 1))
        for begin in range(0, len(X), step):
            rows = slice(begin, begin + step)
            indicator = np.zeros((len(codes[rows]), n_classes))
            indicator[np.arange(len(indicator)), codes[rows]] = 1.0 if weights is None else weights[rows]
            table += X[rows].T.astype(np.float64, copy=False) @ indicator
    return table


EITHER_FLOAT = (np.dtype(np.float64), np.dtype(np.float32))


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
    _dtype: Annotated[np.dtype[Any], Of(np.float64, np.float32)] = field(init=False)

    def _check_table(self, table: Any, rows: Floats) -> int:
        need(isinstance(table, Moments), "there must be moments")
        whole = np.allclose(table.n, rows[:, None], rtol=1e-6, atol=1e-9 * rows.sum())
        need(whole, "the statistic must be of the rows of every class")
        return int(table.mean.shape[1])

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
            X = checked_matrix(self, X, reset=reset, dtype=EITHER_FLOAT, ensure_all_finite=False)
        if reset:
            self._dtype = X.dtype if X.dtype.kind == "f" else EITHER_FLOAT[0]
        checked: Array = X
        return checked

    def _collect(self, X: Array, codes: Array, n_classes: int, weights: Floats | None) -> Moments:
        n, mean, m2, low, high, seen = class_moments(X, codes, n_classes, weights)
        if seen or not np.isfinite(m2).all():
            refuse_numbers(self, X)
        return Moments.of(n, mean, m2, low, high, weights is not None)

    def _is_sure(self, X: Array, pending: PendingMatrix) -> bool:
        return plain(self, X, NUMBERS, False) and bool(X.min() > -LARGE and X.max() < LARGE)

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


CODES = tuple(np.dtype(t) for t in ("uint8", "uint16", "uint32", "int32", "int64"))
NARROWED = frozenset(np.dtype(t) for t in ("f8", "f4", "i8", "i4"))  # that `narrow` reads
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

    def _check_table(self, table: Any, rows: Floats) -> int:
        need(isinstance(table, Counts), "there must be counts")
        whole = np.allclose(table.totals(), rows, rtol=1e-6, atol=1e-9 * rows.sum())
        need(whole, "the statistic must be of the rows of every class")
        return len(table.sizes)

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
            refuse_large(int(offsets[-1]), n_classes, 3, "categories")
            return Counts(count_cells(X, codes, offsets, n_classes, weights), offsets)
        except ValueError:
            if X.dtype.kind == "i":
                check_non_negative(X, "CategoricalNB (input X)")
            offsets = self._offsets(X)
            refuse_large(int(offsets[-1]), n_classes, 3, "categories")
            return Counts(count_cells(X, codes, offsets, n_classes, weights), offsets)

    def _rows(self, table: Counts, codes: Array, n_classes: int, weights: Floats | None) -> Array:
        """N_y: every row has a code in the first column; sums of weights would differ in their last digits."""
        if weights is not None:
            return super()._rows(table, codes, n_classes, weights)
        rows: Array = table.scope(0).sum(axis=0)
        return rows

    def _is_sure(self, X: Array, pending: PendingMatrix) -> bool:
        sizes = pending.base.table.sizes
        return plain(self, X, CODES, False) and bool(X.min() >= 0 and (X[0] < 2 * sizes + SAMPLE).all())

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
