"""Where scikit-learn's contract asks for something else than the other models do: all classes at the first batch; and what
the discrete drop-ins share: counts, the smoothing parameter α, the class prior, scores that are linear in x.

Symbols: N_yj how much of feature j went with class y, `table[j, y]` of a `Counts` with one scope;
score[r, y] = start[y] + Σ_j x_rj · w[j, y]. Where w is −inf, x·w is −inf for x > 0 and nothing for x = 0; so the finite
weights are summed, and the infinite ones counted: `hits` holds 1 for each, and a class that is hit is impossible.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_array, check_non_negative, validate_data

from ...arrays import Array, Floats
from ...blas import one_thread
from ...errors import BadParameter, BadValue, UnknownValue
from ...estimator import parameters
from ...kernels.naive import NEGATIVE, NOT_FINITE, NUMBERS, count_sparse, posterior, score_sparse
from ...smoothing.theta import MOST_SMOOTHING, SMOOTHING
from ...statistics.counts import Counts
from ...table.points import checked_matrix, expects
from ..learning import HIGH, MatrixLearner, PendingRows, has_plain_classes


class DropIn(MatrixLearner):
    """A learner whose `partial_fit` is told all classes that may ever come by its first call (`classes`), or by `fit`."""

    def _refuse_new(self, classes: tuple[Any, ...]) -> None:
        known = vars(self).get("classes_")
        new = [] if known is None else [c for c in classes if c not in known.tolist()]
        if new:
            raise UnknownValue(f"The target label(s) {new} in y do not exist in the initial classes {known}")

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        base = vars(self)["statistics_"]
        return PendingRows(base, len(getattr(base.table, "table", ())), parameters) if has_plain_classes(base) else None

    def _bufferable_row(self, pending: PendingRows, X: Any, label: Any) -> Any:
        if label not in pending.classes or type(X) is not np.ndarray or len(X) != 1:
            return None
        return X.copy() if plain(self, X, NUMBERS, False) and self._is_sure(X, pending) else None

    def _table_of(self, pending: PendingRows, rows: list[Array]) -> Array:
        return np.concatenate(rows)

    def _is_sure(self, X: Array, pending: PendingRows) -> bool:
        """Whether no later check could refuse this row."""
        return False

    def _declared(self, classes: Any) -> tuple[Any, ...]:
        known = vars(self).get("classes_")
        if known is None:
            if classes is None:
                raise BadValue("classes must be passed on the first call to partial_fit.")
            return tuple(unique_labels(classes).tolist())
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

    def _is_sure(self, X: Array, pending: PendingRows) -> bool:
        return bool(X.dtype == np.float64 and X.min() >= 0 and X.max() < HIGH)

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

    def _check_learned(self) -> None:
        """α and the prior are looked at; logarithms of whole tables are for who predicts, not for every batch."""
        self._made("sound", self._check_sound)

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
