"""Classification by the k nearest rows: P(y|x) is the neighbours' vote.

Symbols: k neighbours, k_c of them in class c, K classes, λ smoothing; w weights of the neighbours.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..arrays import Array, Floats
from ..errors import BadValue, ModelError, listed
from ..table.labels import encode_labels
from .base import Neighbors
from .loo import error_curve


def votes(index: Array, weights: Floats | None, codes: Array, K: int) -> Floats:
    """k_c = Σ_r w_r [y_r = c], shape (m, K).

    >>> votes(np.array([[0, 1, 2]]), None, np.array([0, 1, 1]), 2)
    array([[1., 2.]])
    """
    m = len(index)
    cell = codes[index].astype(np.int64) + K * np.arange(m)[:, None]
    counted = np.bincount(cell.ravel(), None if weights is None else weights.ravel(), minlength=m * K)
    return counted.reshape(m, K).astype(np.float64)


class KNeighborsClassifier(ClassifierMixin, Neighbors):  # type: ignore[misc]
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
    smoothing : λ ≥ 0
    kinds : for "gower" and "vdm", the kinds of the columns as `NaiveBayes` takes them
    n_jobs : threads, None for all cores

    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [9]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]), model.predict_proba([[1.1]]).round(2)
    (array(['a'], dtype='<U1'), array([[0.67, 0.33]]))
    """

    classes_: Array
    _codes: NDArray[np.int64]

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
        smoothing: float = 0.0,
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
        self.smoothing = smoothing
        self.kinds = kinds
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        with self._all_or_nothing():
            self._forget_fit()
            return self._learn(X, y, None, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it. New classes are welcome.

        The metric (its variances, ranges or P(y|x_j)) is learned from the first rows. "auto" chooses k anew.
        """
        return self._learn(X, y, classes, sample_weight)

    def _learn(self, X: Any, y: Any, declared: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if not self.smoothing >= 0:
            raise ModelError(f"smoothing must be at least 0. Got {self.smoothing!r} instead.")
        first = not hasattr(self, "_store")
        table = self._open(X, True) if first else X
        found, codes = encode_labels(y)
        check_consistent_length(X, codes)
        weight = self._sample_weight(sample_weight, len(codes))
        if first:
            self._begin(table, found[codes])
            n_old, old, known = 0, None, found[:0]
        else:
            n_old, old, known = len(self._store), self._weight, self.classes_
        classes = united_classes(known, found, declared)
        mine = np.searchsorted(classes, found)[codes]
        theirs = np.searchsorted(classes, known)[self._codes] if n_old else mine[:0]
        weights = self._join_weights(old, n_old, weight, len(codes))
        if not first:
            self._add(X)  # last of all that can fail: a store does not shrink again
        self.classes_, self._weight = classes, weights
        self._codes = np.concatenate([theirs, mine]).astype(np.int64)
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return error_curve(distance, index, self._codes, len(self.classes_), self.weights, self._weight, most)

    def predict_proba(self, X: Any) -> Floats:
        """P(y=c|x) = (k_c + λ)/(k + Kλ), k_c and k weighted where the neighbours are."""
        check_is_fitted(self)
        table = self._open(X, False)
        index, w = self._weighted(table, self._k())
        K = len(self.classes_)
        counted = votes(index, w, self._codes, K) + self.smoothing
        total = counted.sum(axis=1, keepdims=True)
        shared: Floats = np.where(total > 0, counted / np.where(total > 0, total, 1.0), 1 / K)
        return shared

    def predict(self, X: Any) -> Array:
        """The class of the most votes; the first of equals."""
        posterior = self.predict_proba(X)
        answer: Array = self.classes_[posterior.argmax(axis=1)]
        return answer

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(y|x); −inf for a class that no neighbour has, unless λ > 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def united_classes(known: Array, found: Array, declared: Any) -> Array:
    """The classes known so far, in these labels and declared, in order; numbers and words do not mix."""
    parts = [part for part in (known, found, None if declared is None else np.asarray(declared)) if part is not None]
    if any(part.ndim != 1 for part in parts):
        raise BadValue(f"classes must be a list of labels. Got {declared!r} instead.")
    parts = [part for part in parts if len(part)]
    if len({part.dtype.kind in "iufb" for part in parts}) > 1:
        raise BadValue(f"numbers and words do not mix as labels: {listed(known.tolist())} and {listed(found.tolist())}")
    return found if len(parts) == 1 else np.unique(np.concatenate(parts))
