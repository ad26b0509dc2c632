"""Learning by statistics: fit is partial_fit from zero, forgetting is a subtraction, merging is a sum.

A model says how rows become a statistic (`_collect`) and what prediction needs of it (`_prepare`); the rest is here.
Classes given to `partial_fit` are declared and stay; classes found by `fit` are observed and vanish with their last row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, validate_data

from ..arrays import Array, Floats
from ..errors import BadValue, NotLearned, StatisticsError, UnknownColumn, UnknownValue, listed
from ..table.labels import encode_labels
from .base import BayesClassifier

Model = TypeVar("Model", bound="Learner")


class Learner(BayesClassifier):
    """A Bayes classifier whose whole knowledge is one mergeable statistic."""

    _statistics: Any
    _declared: bool
    _prepared: tuple[tuple[Any, ...], Any]

    # What a model gives.

    def _border(self, X: Any, reset: bool) -> Any:
        """X in the form that `_collect` and prediction read."""
        raise TypeError(f"{type(self).__name__} gives no _border")

    def _collect(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Any:
        """The statistic of these rows."""
        raise TypeError(f"{type(self).__name__} gives no _collect")

    def _class_counts(self, statistics: Any) -> Array:
        """N_y."""
        raise TypeError(f"{type(self).__name__} gives no _class_counts")

    def _spread(self, statistics: Any, classes: Array, n_classes: int) -> Any:
        """The statistic among n_classes classes: class c goes to classes[c]."""
        raise TypeError(f"{type(self).__name__} gives no _spread")

    def _keep(self, statistics: Any, classes: Array) -> Any:
        """The statistic of some of the classes."""
        raise TypeError(f"{type(self).__name__} gives no _keep")

    def _knobs(self) -> tuple[Any, ...]:
        """The parameters that `_prepare` reads; they may be changed after training."""
        raise TypeError(f"{type(self).__name__} gives no _knobs")

    def _prepare(self) -> Any:
        """What prediction needs, made from the statistic and the parameters."""
        raise TypeError(f"{type(self).__name__} gives no _prepare")

    def _align(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Both statistics over the same values."""
        return a, b

    # What follows.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from these rows alone."""
        self._validate_params()
        X, y, weights = self._check_rows(X, y, sample_weight, reset=True)
        classes, codes = encode_labels(y)
        statistics = self._collect(X, codes, len(classes), weights)
        self.classes_, self._declared = classes, False
        return self._become(statistics)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows too; `classes`, all that may ever come, are needed at the first call."""
        self._validate_params()
        first = "classes_" not in self.__dict__
        wanted = self._declare(classes, first)
        X, y, weights = self._check_rows(X, y, sample_weight, reset=first)
        _, codes = encode_labels(y, wanted)
        statistics = self._collect(X, codes, len(wanted), weights)
        if first:
            self.classes_, self._declared = wanted, True
        else:
            known, new = self._align(self._statistics, statistics)
            statistics = known + new
        return self._become(statistics)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows exactly, as if they had never come; refused whole if they were not all learned.

        A model that forgets its last row is as new.
        """
        self._check_fitted()
        X, y, weights = self._check_rows(X, y, sample_weight, reset=False)
        try:
            _, codes = encode_labels(y, self.classes_)
        except UnknownValue as error:
            raise NotLearned(f"these rows were never learned: {error}; nothing was changed") from None
        less = self._collect(X, codes, len(self.classes_), weights)
        known, less = self._align(self._statistics, less)
        left = self._trim(known - less)
        if not self._declared:
            here = np.flatnonzero(self._class_counts(left) > 0)
            if not len(here):
                for name in ("classes_", "_statistics", "_prepared", "_declared"):
                    delattr(self, name)
                return self
            if len(here) < len(self.classes_):
                left, self.classes_ = self._keep(left, here), self.classes_[here]
        return self._become(left)

    def __add__(self: Model, other: Model) -> Model:
        """The model of both training sets; classes are united by value, parameters are those of the left one."""
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        self._check_alike(other)
        classes = np.unique(np.concatenate([self.classes_, other.classes_]))
        parts = (m._spread(m._statistics, np.searchsorted(classes, m.classes_), len(classes)) for m in (self, other))
        a, b = self._align(*parts)
        result: Model = clone(self)
        for name in ("n_features_in_", "feature_names_in_", "_dtype"):
            if name in self.__dict__:
                setattr(result, name, getattr(self, name))
        result.classes_, result._declared = classes, self._declared or other._declared
        return result._become(a + b)

    def _trim(self, statistics: Any) -> Any:
        """The statistic without values that are no longer observed."""
        return statistics

    def _become(self, statistics: Any) -> Self:
        self._statistics = statistics
        self._prepared = (self._knobs(), self._prepare())
        return self

    def _ready(self) -> Any:
        """What prediction needs; made anew where a parameter was changed after training."""
        knobs, prepared = self._prepared
        return prepared if all(map(_same, knobs, self._knobs())) else self._prepare()

    def _declare(self, classes: Any, first: bool) -> Array:
        if first and classes is None:
            raise BadValue("classes must be passed on the first call to partial_fit.")
        if classes is None:
            return self.classes_
        wanted: Array = unique_labels(classes)
        if not first and not np.array_equal(self.classes_, wanted):
            raise BadValue(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        return wanted

    def _check_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Any, Any, Floats | None]:
        if y is None:
            raise BadValue(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._border(X, reset)
        check_consistent_length(X, y)
        if sample_weight is None:
            return X, y, None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return X, y, weights

    def _check_alike(self, other: Learner) -> None:
        if self.n_features_in_ != other.n_features_in_:
            raise StatisticsError(
                f"models of {self.n_features_in_} and {other.n_features_in_} features cannot be added"
            )
        mine, theirs = (list(getattr(m, "feature_names_in_", [])) for m in (self, other))
        if mine and theirs and mine != theirs:
            odd = [n for n in theirs if n not in mine] or theirs
            raise UnknownColumn(f"models of other columns cannot be added: {listed(odd)} against {listed(mine)}")


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and a == b)


def plain(model: Any, X: Any, dtypes: Iterable[Any], reset: bool) -> bool:
    """Whether X is an array that the kernels read as it is, with the columns that were learned.

    The way round scikit-learn's checks, which cost more than a prediction; what is not plain goes through them.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in dtypes or not X.size or not X.flags.aligned:
        return False
    known = model.__dict__
    if not reset:
        return "feature_names_in_" not in known and X.shape[1] == known["n_features_in_"]
    known.pop("feature_names_in_", None)
    model.n_features_in_ = X.shape[1]
    return True


def refuse_numbers(model: Any, X: Any) -> None:
    """Raise scikit-learn's error for NaN and infinity, with its advice."""
    validate_data(model, X, reset=False, accept_sparse="csr")
    raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")
