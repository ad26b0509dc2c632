"""The k nearest rows vote: P(y|x) is their share of each class, ŷ the mean of their targets.

Symbols: k neighbours, k_c of them in class c, K classes, λ smoothing; y targets (n, outputs), w weights of the neighbours.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..arrays import Array, Floats, Ints
from ..budget import refuse_answer
from ..errors import BadValue, listed
from ..estimator import Explains, learning, parameters
from ..smoothing.theta import Smoothing, share
from ..table.frame import Frame, ScoresTables, count_rows, labelled
from ..table.labels import encode_labels, read_targets
from ..table.schema import Schema
from .base import Neighbors
from .loo import error_curve, squared_curve
from .metrics import Mixed, Space, gower_without
from .search import Told
from .weights import summable

WIDE = 1000  # columns


@parameters
class KNeighborsClassifier(Explains, ScoresTables, ClassifierMixin, Neighbors):  # type: ignore[misc]
    """P(y=c|x) = (k_c + λ)/(k + Kλ): the class that most of the k nearest rows have.

    Majority vote is the least empirical risk under zero-one loss; other losses through `decide` and `RiskClassifier`. A row
    with a sample weight of w counts as w rows.

    Parameters
    ----------
    n_neighbors : int or "auto"
        k; "auto" takes the k of least leave-one-out error, from one search (`loo_curve_` has the error of every k).
    weights : "uniform", "distance", a kernel ("triangular", "epanechnikov", "biweight", "tricube", "cosine", "gaussian") or
        a function of the distances. A kernel's bandwidth is the distance of the (k+1)-th neighbour.
    algorithm : "auto", "kd_tree" or "brute" ("ball_tree" is taken for "kd_tree")
        They differ in time only.
    leaf_size : int or "auto"
    p : exponent of "minkowski"
    metric : an L_p metric, "seuclidean", "mahalanobis", "nan_euclidean" (missing cells), "gower" or "vdm" (mixed columns),
        "precomputed", any metric of scikit-learn's, or a function of two rows.
    metric_params : dict
        `w` weighs the columns of an L_p metric; `V`, `VI` are those of "seuclidean" and "mahalanobis".
    kinds : for "gower" and "vdm", the kinds of the columns as `NaiveBayes` takes them
    n_jobs : threads, None for all cores

    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [9]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]), model.predict_proba([[1.1]]).round(2)
    (array(['a'], dtype='<U1'), array([[0.67, 0.33]]))
    """

    _: KW_ONLY
    smoothing: Smoothing = 0.0
    classes_: Array = field(init=False)
    _codes: Ints = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it. New classes are welcome.

        The metric (its variances, ranges or P(y|x_j)) is learned from the first rows. "auto" chooses k anew.
        """
        return self._learn(X, y, classes, sample_weight, first=not hasattr(self, "_store"))

    @learning
    def _learn(self, X: Any, y: Any, declared: Any, sample_weight: Any, first: bool) -> Self:
        X, y = labelled(X, y)
        table = self._open(X, first)
        found, codes = encode_labels(y)
        _check_alike(table, codes)
        self._weight = self._weigh(sample_weight, len(codes), first)
        known = found[:0] if first else self.classes_
        self.classes_ = united_classes(known, found, declared)
        mine = np.searchsorted(self.classes_, found)[codes]
        theirs = mine[:0] if first else np.searchsorted(self.classes_, known)[self._codes]
        self._codes = np.concatenate([theirs, mine]).astype(np.int64)
        self._keep_rows(table, found[codes], first)
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return error_curve(distance, index, self._codes, len(self.classes_), self.weights, self._weight, most)

    @property
    def schema_(self) -> Schema:
        """The columns of a mixed table ("gower", "vdm") and the classes, with the values that the rows have."""
        space = vars(self).get("_space")
        if not isinstance(space, Mixed):
            raise AttributeError("only 'gower' and 'vdm' know the values of columns")
        return Schema(space.columns, tuple(self.classes_.tolist()))

    def _log_without(self, X: Any) -> Floats | None:
        """ln P(y|x₋ⱼ) of every column of one row, under Gower: the distances to all rows less what the column adds."""
        if not isinstance(self._space, Mixed) or self._space.metric != "gower":
            return None
        k, rows, _ = self._ask(X)
        distances = gower_without(rows[0], self._store.rows, self._space.widths)[self._space.order]
        index, w = self._voting(k, distances, None, Told().query)
        counted = votes(index, w, self._codes, len(self.classes_)) + self.smoothing
        with np.errstate(divide="ignore"):
            return np.log(share(counted, counted.sum(axis=1, keepdims=True), len(self.classes_)))[None]

    @property
    def _stored(self) -> bool:
        """Whether an answer costs a long visit of the rows."""
        return self.n_features_in_ > WIDE

    def _spans(self) -> Any:
        return self._space.spans() if isinstance(self._space, Mixed) else [None] * self.n_features_in_

    def _own_rows(self) -> Any:
        as_they_came = isinstance(self._space, Space) and self._space.map is None
        return self._store.rows if as_they_came else None

    def predict_proba(self, X: Any) -> Floats:
        """P(y=c|x) = (k_c + λ)/(k + Kλ), k_c and k weighted where the neighbours are.

        X=None asks for the training rows; a row is then no neighbour of itself. So in `predict` and `score`.
        """
        check_is_fitted(self)
        K = len(self.classes_)
        refuse_answer(len(self._codes) if X is None else count_rows(X), K)
        index, w = self._weighted(X)
        counted = votes(index, w, self._codes, K) + self.smoothing
        return share(counted, counted.sum(axis=1, keepdims=True), K)

    def predict(self, X: Any) -> Array:
        """The class of the most votes; the first of equals."""
        posterior = self.predict_proba(X)
        answer: Array = self.classes_[posterior.argmax(axis=1)]
        return answer

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(y|x); −inf for a class that no neighbour has, unless λ > 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def votes(index: Array, weights: Floats | None, codes: Array, K: int) -> Floats:
    """k_c = Σ_r w_r [y_r = c], shape (m, K).

    >>> votes(np.array([[0, 1, 2]]), None, np.array([0, 1, 1]), 2)
    array([[1., 2.]])
    """
    m = len(index)
    cell = codes[index].astype(np.int64) + K * np.arange(m)[:, None]
    counted = np.bincount(cell.ravel(), None if weights is None else weights.ravel(), minlength=m * K)
    return counted.reshape(m, K).astype(np.float64)


def united_classes(known: Array, found: Array, declared: Any) -> Array:
    """The classes known so far, in these labels and declared, in order; numbers and words do not mix."""
    parts = [part for part in (known, found, None if declared is None else np.asarray(declared)) if part is not None]
    if any(part.ndim != 1 for part in parts):
        raise BadValue(f"classes must be a list of labels. Got {declared!r} instead.")
    parts = [part for part in parts if len(part)]
    if len({part.dtype.kind in "iufb" for part in parts}) > 1:
        raise BadValue(f"numbers and words do not mix as labels: {' and '.join(listed(p.tolist()) for p in parts)}")
    return found if len(parts) == 1 else np.unique(np.concatenate(parts))


class KNeighborsRegressor(ScoresTables, RegressorMixin, Neighbors):  # type: ignore[misc]
    """ŷ = Σ_r w_r y_r / Σ_r w_r over the k nearest rows; parameters as those of `KNeighborsClassifier`.

    `n_neighbors="auto"` takes the k of least leave-one-out squared error.

    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [5]], [0.0, 1.0, 5.0]).predict([[0.4]])
    array([0.5])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it."""
        return self._learn(X, y, sample_weight, first=not hasattr(self, "_store"))

    @learning
    def _learn(self, X: Any, y: Any, sample_weight: Any, first: bool) -> Self:
        X, y = labelled(X, y)
        table = self._open(X, first)
        target = read_targets(y)
        _check_alike(table, target)
        self._weight = self._weigh(sample_weight, len(target), first)
        columns = target.reshape(len(target), -1)
        if first:
            self._flat, self._targets = target.ndim == 1, columns
        elif columns.shape[1] != self._targets.shape[1]:
            raise BadValue(f"y has {columns.shape[1]} outputs, the model was fitted on {self._targets.shape[1]}")
        else:
            self._targets = np.concatenate([self._targets, columns])
        self._keep_rows(table, None, first)
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return squared_curve(distance, index, self._targets, self.weights, self._weight, most)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbours' targets; X=None asks for the training rows, none its own neighbour."""
        index, w = self._weighted(X)
        near = self._targets[index]
        if w is None:
            mean = near.mean(axis=1)
        else:
            w = summable(np.where(w.sum(axis=1, keepdims=True) > 0, w, 1.0), 0)
            mean = np.einsum("mk,mko->mo", w, near) / w.sum(axis=1, keepdims=True)
        answer: Floats = mean[:, 0] if self._flat else mean
        return answer


def _check_alike(table: Any, y: Array) -> None:
    """As many rows as answers; a dict of columns has the length of its columns, not of its keys."""
    check_consistent_length(range(table.n) if isinstance(table, Frame) else table, y)
