"""Learning, once for every model: `fit` is `partial_fit` from zero, forgetting is a subtraction, merging is a sum.

All that a model keeps of its rows is `statistics_`: a value with `+`, `-`, `scaled`, the rows N_y of each class and a
`schema` that names the classes. A model says how rows become such a value (`_read`); the rest is here. Classes that were
declared stay; classes that were found vanish with their last row. A call that fails changes nothing.

Rows that come one by one wait to be counted together: see `pending`.

Some of what rows decide is no count: where numbers are cut, who depends on whom. Rows that come later, or go, leave it as
it is. So `forget` gives what `fit` on the rows that stay would give, or is refused and says what would stay; `keep=` lets
it stay.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterable
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import BadParameter, StatisticsError, TableError, UnknownColumn, did_you_mean, listed
from ..estimator import learning
from ..fields import DERIVED, need
from ..statistics.counts import class_rows, lightest
from ..statistics.statistics import ByClass
from ..table.frame import labelled
from ..table.labels import as_classes, encode_labels, recoded
from ..table.schema import Schema, in_order
from ..table.weights import check_weights
from .classifier import BayesClassifier, PosteriorClassifier
from .pending import PendingRows

KEEP = {"cuts", "histograms", "questions", "sample", "structure"}  # what rows decide beside counts


class Learner(PosteriorClassifier):
    """A classifier whose whole knowledge is one mergeable value."""

    class_weight: Any = None
    _pending: Annotated[PendingRows | None, DERIVED] = None

    @property
    def _fresh(self) -> bool:
        """Whether nothing has been learned yet."""
        return "statistics_" not in self.__dict__

    @property
    def statistics_(self) -> Any:
        """What was learned: one value with `+` and `-`."""
        pending = self._pending
        if pending is not None:
            return pending.total(self)
        if self._fresh:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'statistics_': it has not been fitted"
            )
        return self.__dict__["statistics_"]

    @statistics_.setter
    def statistics_(self, value: Any) -> None:
        self.__dict__["statistics_"] = value
        self._pending = None

    def _unlearn(self) -> None:
        super()._unlearn()
        self._pending = None

    def _count_pending(self) -> None:
        """Let no row wait any more: those who learn begin with it."""
        if self._pending is not None:
            self.statistics_ = self.statistics_

    def _as_of(self, statistics: Any, parameters: Iterable[tuple[str, Any]]) -> Self:
        """This model when it knew these statistics and had these parameters."""
        then = object.__new__(type(self))
        then.__dict__.update(self.__dict__, statistics_=statistics, _pending=None, **dict(parameters))
        return then

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        """(statistics of these rows alone, their distinct labels); X, y and the weights are checked here."""

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows alone."""
        self._unlearn()
        self._become(*self._first(X, y, sample_weight))
        return self

    def _first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        """`_read` of the rows that `fit` is given."""
        return self._read(X, y, sample_weight, ())

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows too; new classes are welcome. `classes` declares classes that may come later."""
        self._refuse_inferred("partial_fit")
        if classes is None and sample_weight is None and self._buffer(X, y):
            return self
        return self._learn_too(X, y, sample_weight, classes)

    @learning
    def _learn_too(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        self._count_pending()
        self._refuse_balanced("give partial_fit a dict of weights instead")
        known = None if self._fresh else self.statistics_
        found, labels = self._read(X, y, sample_weight, self._declared(classes))
        self._refuse_new(found.schema.classes)
        self._become(found if known is None else known + found, labels)
        return self

    def _buffer(self, X: Any, y: Any) -> bool:
        """Whether X is one row that may wait to be counted, and does so from now on."""
        kept, state = self._kept, self.__dict__
        if kept is None or "statistics_" not in state or not kept.holds(state):
            return False  # parameters are to be checked first
        pending = state.get("_pending") or self._new_pending(kept.values)
        if pending is None or (label := pending.label_of(y)) is None:
            return False
        row = pending.bufferable_row(self, X, label)
        if row is None:
            return False
        pending.rows.append((row, label))
        state["_pending"] = pending
        if label not in pending.classes:
            pending.classes.add(label)
            classes = self.classes_
            self.classes_ = class_array(in_order({*classes.tolist(), label}), classes.dtype, np.asarray(y).dtype)
        if len(pending.rows) >= pending.most:
            self._count_pending()
        kept.things = {}  # last, and a new one: what a reader makes meanwhile of the rows before is not kept
        return True

    def _new_pending(self, parameters: list[tuple[str, Any]]) -> PendingRows | None:
        """Where rows may wait, or None where every row is to be counted at once."""
        return None

    def _refuse_new(self, classes: tuple[Any, ...]) -> None:
        """New classes are welcome."""

    @learning
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None, keep: str | Collection[str] = ()) -> Self:
        """Take rows out again: what is left is what `fit` on the other rows gives; refused where they were not learned.

        Values and classes that no remaining row has vanish with them, unless they were declared. What rows decided that is
        no count ("cuts", "histograms", "questions", "sample", "structure") would stay: then it is named and nothing is
        changed, unless `keep` names it too.
        """
        kept = list(keep) if isinstance(keep, Collection) and not isinstance(keep, str | bytes) else [keep]
        for name in (name for name in kept if not isinstance(name, str) or name not in KEEP):
            raise BadParameter(
                f"keep is of {listed(sorted(KEEP))}{did_you_mean(name, KEEP) or '.'} Got {name!r} instead."
            )
        self._check_fitted()
        self._count_pending()
        self._refuse_inferred("forget")
        self._refuse_balanced("such rows cannot be forgotten alone")
        found, labels = self._read(X, y, sample_weight, ())
        left = self.statistics_ - found
        if not (left.rows > 0).any():
            raise StatisticsError("the last row cannot be forgotten: a model of no rows has no posterior")
        stays = {name: what for name, what in self._stays(left).items() if name not in kept}
        if stays:
            raise StatisticsError(
                f"rows that are to go may have had a say in {' and in '.join(stays.values())}, which cannot be taken "
                f"back: fit again without them, or let it stay by keep={list(stays) if len(stays) > 1 else repr(*stays)}; "
                "nothing was changed"
            )
        self._become(left, labels)
        return self

    def _stays(self, left: Any) -> dict[str, str]:
        """What rows decided that is no count, beside the statistics that are left: what it is called → what it is."""
        found: dict[str, str] = getattr(left, "stale", {})
        return found

    @learning
    def decay(self, factor: float) -> Self:
        """Let the past fade: every row learned so far counts `factor` times from now on."""
        self._check_fitted()
        self._count_pending()
        self._refuse_inferred("decay")
        if not isinstance(factor, Real) or not 0 < factor <= 1:
            raise BadParameter(f"a decay factor lies in (0, 1]. Got {factor!r} instead.")
        faded = self.statistics_.scaled(factor)
        if not faded.rows.sum() > 0:
            raise StatisticsError(f"a decay of {factor} leaves nothing: the counts underflow to zero")
        self._become(faded, self.classes_)
        return self

    def __add__(self, other: Self) -> Self:
        """The model of both tables, as if one had learned them together; its parameters are those of the left one."""
        if type(self) is not type(other):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        self._refuse_inferred("+")
        other._refuse_inferred("+")
        self._check_alike(other)
        both = copy.copy(self)
        both._become(self.statistics_ + other.statistics_, np.concatenate([self.classes_[:0], other.classes_[:0]]))
        return both

    def __radd__(self, other: Any) -> Self:
        """0 + model: what `sum(models)` begins with."""
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if state.pop("_pending", None) is not None:
            state["statistics_"] = self.statistics_  # a copy of the model shares no rows that wait
        return state

    def _become(self, statistics: Any, labels: Array) -> None:
        """Know this, and nothing else."""
        dtypes = labels.dtype if self._fresh else self.classes_.dtype, labels.dtype
        self.classes_ = class_array(statistics.schema.classes, *dtypes)
        self.statistics_ = statistics
        if self._kept is not None:
            self._kept.things = {}

    def _declared(self, classes: Any) -> tuple[Any, ...]:
        """The classes that a call of partial_fit declares."""
        return () if classes is None else as_classes(classes)

    def _check_alike(self, other: Self) -> None:
        """Refuse to add models of other columns; schemas do so themselves."""

    def _refuse_inferred(self, what: str) -> None:
        """Refuse to add to counts, or to take from them, which hang on all rows together."""

    def _refuse_balanced(self, way_out: str) -> None:
        if isinstance(self.class_weight, str):
            raise ValueError(f"class_weight='balanced' needs all rows at once: {way_out}")

    @property
    def class_count_(self) -> Array:
        """N_y, rows (or weight) of each class."""
        found: Array = self.statistics_.rows
        return found


class MatrixLearner(Learner, BayesClassifier):
    """A learner from matrices of numbers, which scikit-learn's own checks let in; ready to predict when it has learned."""

    statistics_: ByClass

    def _check_state(self) -> None:
        super()._check_state()
        found = self.statistics_
        need(len(found.schema.classes) > 0, "a fitted model must have a class")
        need(self.classes_.tolist() == list(found.schema.classes), "classes_ must be the classes of the schema")
        d = self._check_table(found.table, found.rows.astype(np.float64))
        need(d == self.n_features_in_ > 0, "n_features_in_ must be the number of columns")
        need((self._least() is None) == (found.least is None), "least sizes are of categories alone")

    @abstractmethod
    def _check_table(self, table: Any, rows: Floats) -> int:
        """How many columns a statistic has; refused where it is none of this model's, or not of these rows a class."""

    @abstractmethod
    def _border(self, X: Any, reset: bool) -> Any:
        """X in the form that `_collect` and prediction read."""

    @abstractmethod
    def _collect(self, X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Any:
        """Counts, moments or co-moments of these rows."""

    @abstractmethod
    def _prepare(self) -> Any:
        """What prediction needs, made from the statistics and the parameters."""

    def _ready(self) -> Any:
        return self._cached("ready", self._prepare)

    def _least(self) -> Ints | None:
        """As many categories of each column as stay without rows; None where there are no categories."""
        return None

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        X, y = labelled(X, y)
        X = self._border(X, self._fresh)
        labels, codes = encode_labels(y)
        if len(codes) != X.shape[0]:
            raise TableError(f"X has {X.shape[0]} rows but y has {len(codes)} labels: inconsistent numbers of samples")
        weights = None if sample_weight is None else check_weights(sample_weight, len(codes))
        classes, codes = recoded(labels, codes, declared, declared)
        table = self._collect(X, codes, len(classes), weights)
        rows = self._rows(table, codes, len(classes), weights)
        schema = Schema((), classes, frozenset(declared))
        return ByClass(schema, rows, table, self._least(), lightest=lightest(weights)), labels

    def _rows(self, table: Any, codes: Array, n_classes: int, weights: Floats | None) -> Array:
        """N_y: rows of each class, or their weight."""
        return class_rows(codes, n_classes, weights)

    def _become(self, statistics: Any, labels: Array) -> None:
        super()._become(statistics, labels)
        self._check_learned()

    def _check_learned(self) -> None:
        """Refuse parameters that do not fit what was learned."""
        self._ready()

    def _check_alike(self, other: Self) -> None:
        if self.n_features_in_ != other.n_features_in_:
            raise StatisticsError(
                f"models of {self.n_features_in_} and {other.n_features_in_} features cannot be added"
            )
        mine, theirs = (list(getattr(m, "feature_names_in_", [])) for m in (self, other))
        if mine and theirs and mine != theirs:
            odd = [n for n in theirs if n not in mine] or theirs
            raise UnknownColumn(f"models of other columns cannot be added: {listed(odd)} against {listed(mine)}")


def class_array(classes: tuple[Any, ...], *dtypes: np.dtype[Any]) -> Array:
    """The classes in the dtype that the labels came in, where it holds them all; objects where their types differ."""
    for dtype in dtypes:
        if dtype.kind in "iufb":
            try:
                made = np.array(classes, dtype=dtype)
            except (ValueError, TypeError, OverflowError):
                continue
            if made.tolist() == list(classes):
                return made
    if len({type(c) for c in classes}) == 1 and not any(dtype.kind == "O" for dtype in dtypes):
        return np.array(classes)
    made = np.empty(len(classes), dtype=object)
    made[:] = classes
    return made
