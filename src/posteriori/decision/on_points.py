"""Other classifiers among ours: `OnPoints`, of points, is asked about any table; `Calibrated`, of margins, has a posterior.

Symbols: K classes, s(x) the K margins of a row, P(y|x) ∝ exp(a_y · s(x) + b_y), Platt's sigmoid where K = 2, fitted on rows
that the margins did not learn.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Floats, Ints
from ..budget import refuse_answer
from ..estimator import Estimator, Explains, RandomState, learning, parameters
from ..fields import FRESH, MAYBE, UNBOUNDED, Natural, Within, need
from ..table.encode import Seen
from ..table.frame import Frame, ScoresTables, count_rows
from ..table.prepare import VIEWS, Prepare, prepare
from ..table.rows import open_rows, read_rows, some_rows
from ..table.schema import MEASURED, Schema
from .folds import Stratified

BLOCK = 1 << 21  # coordinates of points that are asked about at a time
LARGEST = 1e150  # of margins, and of what they are multiplied by: their products are numbers


def _check_inside(model: Any, answers: str) -> None:
    """Refuse a classifier that asks another one than a fitted one of ours, of the same classes."""
    inside = model.estimator_
    need(isinstance(inside, Estimator) and hasattr(inside, "classes_"), "estimator_ must be a fitted one of posteriori")
    need(np.array_equal(inside.classes_, model.classes_), "estimator_ must have the same classes")
    need(hasattr(inside, answers), f"estimator_ must have {answers}")


@parameters
class Calibrated(Explains, ClassifierMixin, MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """A classifier with a `decision_function`, its margins on three inner folds turned into a posterior.

    A class that an inner fold lacks has the least margin there, so that no class is too small.

    >>> from sklearn.linear_model import Perceptron
    >>> X, y = [[-2.0], [-1.0], [-1.5], [1.0], [2.0], [1.5]], ["a", "a", "a", "b", "b", "b"]
    >>> Calibrated(Perceptron()).fit(X, y).predict([[-1.0], [3.0]]).tolist()
    ['a', 'b']
    """

    estimator: Annotated[Any, HasMethods(["fit", "decision_function"])]
    _: KW_ONLY
    seed: RandomState = 0
    estimator_: Any = field(init=False)
    classes_: Annotated[Array, "K"] = field(init=False)
    n_features_in_: Annotated[Natural, "d"] = field(init=False)
    slopes_: Annotated[Floats, "K K", Within(-LARGEST, LARGEST)] = field(init=False)
    intercepts_: Annotated[Floats, "K", UNBOUNDED] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        _check_inside(self, "decision_function")
        possible = (self.intercepts_ < LARGEST).all() and np.isfinite(self.intercepts_).any()
        need(possible, "a class must be possible")
        need(self.estimator_.n_features_in_ == self.n_features_in_, "estimator_ must have the same columns")

    @learning
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """The classifier on all rows, the sigmoid on its margins for rows of inner folds."""
        X, y = _points(X), np.asarray(y)
        self.classes_ = np.unique(y)
        margins = np.full((len(y), len(self.classes_)), np.nan)
        for train, test in Stratified(3, self.seed).split(X, y):
            if len(np.unique(y[train])) > 1:
                fitted = clone(self.estimator).fit(X[train], y[train], **_weighed(sample_weight, train))
                margins[test] = self._margins(fitted, X[test])
        self.estimator_ = clone(self.estimator).fit(X, y, **_weighed(sample_weight, slice(None)))
        known = np.flatnonzero(np.isfinite(margins).all(axis=1))
        if len(np.unique(y[known])) < 2:  # a class of one row beside another: its own margins must do
            margins, known = self._margins(self.estimator_, X), np.arange(len(y))
        self.slopes_, self.intercepts_ = self._sigmoid(margins[known], y[known], _weighed(sample_weight, known))
        self.n_features_in_ = int(X.shape[1])
        return self

    def _sigmoid(self, margins: Floats, y: Array, weighed: dict[str, Any]) -> tuple[Floats, Floats]:
        """(a, b): a row for every class; one that no inner fold could test is impossible."""
        from sklearn.linear_model import LogisticRegression

        fitted = LogisticRegression(max_iter=1000).fit(margins, y, **weighed)
        slopes, intercepts = np.zeros((len(self.classes_),) * 2), np.full(len(self.classes_), -np.inf)
        own = np.searchsorted(self.classes_, fitted.classes_)
        intercepts[own] = 0.0
        own = own[1:] if len(own) == 2 else own  # of two the first has the log-odds 0
        slopes[own], intercepts[own] = fitted.coef_, fitted.intercept_
        return slopes, intercepts

    def predict_proba(self, X: Any) -> Floats:
        """P(y|x) of the margins; a class that no inner fold could test has none."""
        margins = np.clip(self._margins(self.estimator_, _points(X)), -LARGEST, LARGEST)
        scores = margins @ self.slopes_.T + self.intercepts_
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any) -> Array:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _margins(self, fitted: Any, X: Any) -> Floats:
        """A margin for every class; two classes have one, with both signs."""
        found = np.asarray(fitted.decision_function(X), dtype=np.float64)
        found = np.column_stack([-found, found]) if found.ndim == 1 else found
        whole = np.repeat(found.min(axis=1, keepdims=True) - 1.0, len(self.classes_), axis=1)
        whole[:, np.searchsorted(self.classes_, fitted.classes_)] = found
        return whole


def _points(X: Any) -> Any:
    return X if hasattr(X, "shape") else np.asarray(X)


def _weighed(weights: Any, rows: Any) -> dict[str, Any]:
    return {} if weights is None else {"sample_weight": np.asarray(weights)[rows]}


@parameters
class OnPoints(Explains, ScoresTables, ClassifierMixin, MetaEstimatorMixin, Estimator):  # type: ignore[misc]
    """Any table as points (see `table.prepare`), and a classifier of points on them: what is learned is learned in `fit`.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
    kinds : of the columns, as `NaiveBayes` takes them
    view : "one-hot", or "ordinal": numbers as they are, NaN where they are missing, and numbers for categories

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = {"age": [20.0, 40.0, None, 60.0], "smokes": ["no", "yes", "no", "yes"]}
    >>> OnPoints(LogisticRegression()).fit(X, [0, 1, 0, 1]).predict({"age": 50.0, "smokes": "pipe"})
    array([1])
    """

    estimator: Annotated[Any, HasMethods(["fit", "predict_proba"])]
    _: KW_ONLY
    kinds: Any = None
    view: Annotated[str, StrOptions(set(VIEWS))] = "one-hot"
    _seen: Annotated[Seen, FRESH] = field(init=False)
    estimator_: Any = field(init=False)
    classes_: Annotated[Array, "K"] = field(init=False)
    n_features_in_: Annotated[Natural, "d"] = field(init=False)
    prepare_: Prepare = field(init=False)
    feature_names_in_: Annotated[Array, "d", MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        _check_inside(self, "predict_proba")
        need(len(self.prepare_.schema) > 0, "n_features_in_ must be the number of columns")
        wide = self.estimator_.n_features_in_ == len(self.prepare_.owner)
        need(wide, "estimator_ must take the points that are made")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the points and then the classifier from these rows."""
        rows = read_rows(X, y, sample_weight, who=type(self).__name__, kinds=self.kinds)
        place = {c: i for i, c in enumerate(rows.labels.tolist())}
        labels = rows.labels[np.array([place.get(c, 0) for c in rows.schema.classes])[rows.codes]]
        weighted = {} if rows.weights is None else {"sample_weight": rows.weights}
        learned = prepare(rows.frame, rows.schema, self.view)
        self.estimator_ = clone(self.estimator).fit(learned(rows.frame), labels, **weighted)
        self.classes_ = np.asarray(self.estimator_.classes_)
        self.prepare_ = replace(learned, schema=replace(learned.schema, classes=tuple(self.classes_.tolist())))
        self._seen, self.n_features_in_ = Seen(), rows.frame.d
        self.__dict__.pop("feature_names_in_", None)
        if rows.frame.names is not None:
            self.feature_names_in_ = np.array(rows.frame.names, dtype=object)
        return self

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        return self.prepare_.schema

    @property
    def n_missing_(self) -> int:
        """Missing cells in the rows that were last predicted."""
        return self._seen.missing

    @property
    def n_unseen_(self) -> int:
        """Values in the rows last predicted that training did not have."""
        return self._seen.unseen

    def predict_proba(self, X: Any) -> Floats:
        """P(y|x) by the classifier of points."""
        points = self._points(X)
        refuse_answer(count_rows(points), len(self.classes_))
        return np.asarray(self.estimator_.predict_proba(points))

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(y|x), by the classifier's own logarithms where it has them."""
        return self._logs(self._points(X))

    def predict(self, X: Any) -> Array:
        """The most probable class."""
        posterior = self.predict_proba(X)
        return np.asarray(self.classes_[posterior.argmax(axis=1)])

    def _open(self, X: Any) -> Frame:
        check_is_fitted(self, "prepare_")
        self._cached("checked", lambda: None)
        return some_rows(open_rows(X, self.schema_, type(self).__name__, "feature_names_in_" in vars(self)))

    def _points(self, X: Any) -> Any:
        frame = self._open(X)
        points, self._seen = self.prepare_.with_seen(frame)
        return points

    def _logs(self, points: Any) -> Floats:
        if hasattr(self.estimator_, "predict_log_proba"):
            return np.asarray(self.estimator_.predict_log_proba(points), dtype=np.float64)
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.estimator_.predict_proba(points), dtype=np.float64))

    def _spans(self) -> list[tuple[float, float, None] | None]:
        """(least, greatest, nothing known of whether all are whole) of each column of numbers in training."""
        found: list[tuple[float, float, None] | None] = [None] * self.n_features_in_
        for j, low, high in zip(self.prepare_.of(MEASURED), *self.prepare_.numbers[3:].tolist()):
            found[j] = low, high, None
        return found

    def _log_without(self, X: Any) -> Floats:
        """ln P(y|x₋ⱼ) of every column, for one row: the row with the points that a missing cell has there."""
        blank = tuple(np.full(1, np.nan if kind in MEASURED else None) for kind in self.schema_.kinds)
        own, gone = (self.prepare_(f) for f in (self._open(X), Frame(1, self.schema_.names, columns=blank)))
        step, out = max(1, BLOCK // max(own.nnz if sparse.issparse(own) else own.shape[1], 1)), []
        for first in range(0, self.n_features_in_, step):
            columns = np.arange(first, min(first + step, self.n_features_in_))
            out.append(self._logs(_without(own, gone, self.prepare_.owner, columns)))
        return np.concatenate(out)[None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def called(model: Any) -> str:
    """The name of the classifier that a reader knows, inside what makes points and posteriors for it.

    >>> from posteriori import GaussianBayes
    >>> called(OnPoints(GaussianBayes()))
    'GaussianBayes'
    """
    while isinstance(model, OnPoints | Calibrated):
        model = model.estimator
    return type(model).__name__


def _without(own: Any, gone: Any, owner: Ints, columns: Ints) -> Any:
    """A point for each column: `own`, but with the coordinates of `gone` where the column owns them."""
    if not sparse.issparse(own):
        return np.where(owner == columns[:, None], gone, own)
    shape = (len(columns), own.shape[1])
    rows, kept = np.nonzero(owner[own.indices] != columns[:, None])
    stays = sparse.csr_matrix((own.data[kept], (rows, own.indices[kept])), shape=shape)
    at = owner[gone.indices] - columns[0]
    here = (at >= 0) & (at < len(columns))
    return stays + sparse.csr_matrix((gone.data[here], (at[here], gone.indices[here])), shape=shape)
