"""Learning, once for every model: `fit` is `partial_fit` from zero, forgetting is a subtraction, merging is a sum.

All that a model keeps of its rows is `statistics_`: a value with `+`, `-`, `scaled`, the rows N_y of each class and a
`schema` that names the classes. A model says how rows become such a value (`_read`); the rest is here. Classes that were
declared stay; classes that were found vanish with their last row. A call that fails changes nothing. Rows that come one at
a time wait to be counted together, when the statistics are next asked for.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import BadParameter, StatisticsError, TableError, UnknownColumn, listed
from ..estimator import learning
from ..kernels.naive import class_rows
from ..statistics.by_class import ByClass
from ..table.encode import Seen
from ..table.frame import Frame, labelled
from ..table.labels import as_classes, encode_labels, recoded
from ..table.rows import open_rows, read_rows
from ..table.schema import Schema, in_order
from ..table.weights import check_weights
from .classifier import BayesClassifier
from .waiting import Room, row_of, table_of, table_room


class Learner(BayesClassifier):
    """A Bayes classifier whose whole knowledge is one mergeable value."""

    n_features_in_: int

    @property
    def statistics_(self) -> Any:
        """What was learned: one value with `+` and `-`."""
        state = self.__dict__
        room: Room | None = state.get("_waiting")
        if room is not None:
            then = object.__new__(type(self))  # the model as it was when the rows came
            then.__dict__.update(state, statistics_=room.base, **dict(room.parameters))
            then.__dict__.pop("_waiting")
            found, _ = then._read(self._rows_of(room), room.labels, None, ())
            self.statistics_ = room.base + found
        if "statistics_" not in state:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute 'statistics_': it has not been fitted"
            )
        return state["statistics_"]

    @statistics_.setter
    def statistics_(self, value: Any) -> None:
        self.__dict__["statistics_"] = value
        self.__dict__.pop("_waiting", None)

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        """(statistics of these rows alone, their distinct labels); X, y and the weights are checked here."""

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows alone."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            del self.__dict__[name]
        self.__dict__.pop("_waiting", None)
        self._become(*self._read(X, y, sample_weight, ()))
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows too; new classes are welcome. `classes` declares classes that may come later."""
        if classes is None and sample_weight is None and self._wait(X, y):
            return self
        return self._learn_too(X, y, sample_weight, classes)

    @learning
    def _learn_too(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        self._refuse_balanced("give partial_fit a dict of weights instead")
        known = self.statistics_ if "statistics_" in vars(self) else None
        found, labels = self._read(X, y, sample_weight, self._declared(classes))
        self._refuse_new(found.schema.classes)
        self._become(found if known is None else known + found, labels)
        return self

    def _wait(self, X: Any, y: Any) -> bool:
        """Whether X is one row that may wait to be counted, and does so from now on."""
        state = self.__dict__
        kept = state.get("_kept")
        if kept is None or "statistics_" not in state or not kept.holds(state):
            return False  # parameters are to be checked first
        room: Room | None = state.get("_waiting") or self._room(kept.values)
        if room is None:
            return False
        label = room.label_of(y)
        row = None if label is None else self._admit(room, X, label)
        if row is None:
            return False
        classes = self.classes_
        if label not in room.classes:
            classes = class_array(in_order({*classes.tolist(), label}), classes.dtype, np.asarray(y).dtype)
        kept.things.clear()
        state.update(_waiting=room, classes_=classes)
        room.classes.add(label)
        room.rows.append((row, label))
        return len(room.rows) < room.most or self.statistics_ is not None

    def _room(self, parameters: list[tuple[str, Any]]) -> Room | None:
        """Where rows may wait, or None where every row is to be counted at once."""
        return None

    def _admit(self, room: Room, X: Any, label: Any) -> Any:
        """The row of X as it may wait, or None where it has to be learned, or refused, at once."""

    def _rows_of(self, room: Room) -> Any:
        """The rows that wait, as a table."""

    def _refuse_new(self, classes: tuple[Any, ...]) -> None:
        """New classes are welcome."""

    @learning
    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out again, exactly; refused whole where they were not learned.

        Values and classes that no remaining row has vanish with them, unless they were declared.
        """
        self._check_fitted()
        self._refuse_balanced("such rows cannot be forgotten alone")
        found, labels = self._read(X, y, sample_weight, ())
        left = self.statistics_ - found
        if not (left.rows > 0).any():
            raise StatisticsError("the last row cannot be forgotten: a model of no rows has no posterior")
        self._become(left, labels)
        return self

    @learning
    def decay(self, factor: float) -> Self:
        """Let the past fade: every row learned so far counts `factor` times from now on."""
        self._check_fitted()
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
        self._check_alike(other)
        both = copy.copy(self)
        both._become(self.statistics_ + other.statistics_, np.concatenate([self.classes_[:0], other.classes_[:0]]))
        return both

    def __radd__(self, other: Any) -> Self:
        """0 + model: what `sum(models)` begins with."""
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __getstate__(self) -> dict[str, Any]:
        if "_waiting" in vars(self):
            self.statistics_  # noqa: B018 a copy of the model shares no rows that wait
        return super().__getstate__()

    def _become(self, statistics: Any, labels: Array) -> None:
        """Know this, and nothing else."""
        known = vars(self).get("classes_", labels)
        self.classes_ = class_array(statistics.schema.classes, known.dtype, labels.dtype)
        self.statistics_ = statistics
        if "_kept" in vars(self):
            self._kept.things.clear()

    def _declared(self, classes: Any) -> tuple[Any, ...]:
        """The classes that a call of partial_fit declares."""
        return () if classes is None else as_classes(classes)

    def _check_alike(self, other: Self) -> None:
        """Refuse to add models of other columns; schemas do so themselves."""

    def _refuse_balanced(self, way_out: str) -> None:
        if isinstance(vars(self).get("class_weight"), str):
            raise ValueError(f"class_weight='balanced' needs all rows at once: {way_out}")

    @property
    def class_count_(self) -> Array:
        """N_y, rows (or weight) of each class."""
        found: Array = self.statistics_.rows
        return found


class TableLearner(Learner):
    """A learner from tables of any kind of columns, matched by name and value."""

    kinds: Any
    class_weight: Any
    n_jobs: int | None

    @abstractmethod
    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, seen: Seen) -> Any:
        """Statistics of these rows alone; `seen` is told of missing cells."""

    def _open(self, X: Any) -> Frame:
        """The border of prediction: rows with as many columns as training had, in training's order."""
        frame = open_rows(X, self.schema_, type(self).__name__, "feature_names_in_" in vars(self))
        if frame.n == 0:
            raise TableError(f"Found array with 0 sample(s) (shape=(0, {frame.d})) while a minimum of 1 is required.")
        return frame

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        known, seen = vars(self).get("statistics_"), Seen()
        rows = read_rows(
            X,
            y,
            sample_weight,
            who=type(self).__name__,
            kinds=self.kinds,
            class_weight=self.class_weight,
            known=known and known.schema,
            named=known is None or "feature_names_in_" in vars(self),
            declared=declared,
        )
        found = self._collect(rows.frame, rows.schema, rows.codes, rows.weights, seen)
        if known is None:
            self.n_features_in_ = len(rows.schema.columns)
            if rows.frame.names is not None:
                self.feature_names_in_ = np.array(rows.frame.names, dtype=object)
        self._seen = seen
        return found, rows.labels

    def _room(self, parameters: list[tuple[str, Any]]) -> Room | None:
        return None if self.class_weight is not None else table_room(vars(self)["statistics_"], parameters)

    def _admit(self, room: Room, X: Any, label: Any) -> Any:
        found = row_of(room, X)
        if found is None:
            return None
        self._seen = Seen(found[1])
        return found[0]

    def _rows_of(self, room: Room) -> Frame:
        return table_of(room)

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.statistics_.schema
        return found

    @property
    def n_missing_(self) -> int:
        """Missing cells in the rows that were last looked at, in training or prediction."""
        return int(self._seen.missing)

    @property
    def n_unseen_(self) -> int:
        """Cells of the rows last predicted whose value training did not have."""
        return int(self._seen.unseen)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class MatrixLearner(Learner):
    """A learner from matrices of numbers, which scikit-learn's own checks let in; ready to predict when it has learned."""

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
        return self._made("ready", self._prepare)

    def _least(self) -> Ints | None:
        """As many categories of each column as stay without rows; None where there are no categories."""
        return None

    def _read(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> tuple[Any, Array]:
        X, y = labelled(X, y)
        X = self._border(X, "statistics_" not in vars(self))
        labels, codes = encode_labels(y)
        if len(codes) != X.shape[0]:
            raise TableError(f"X has {X.shape[0]} rows but y has {len(codes)} labels: inconsistent numbers of samples")
        weights = None if sample_weight is None else check_weights(sample_weight, len(codes))
        classes, codes = recoded(labels, codes, declared, declared)
        rows = class_rows(codes, len(classes), weights)
        table = self._collect(X, codes, len(classes), weights)
        return ByClass(Schema((), classes, frozenset(declared)), rows, table, self._least()), labels

    def _become(self, statistics: Any, labels: Array) -> None:
        super()._become(statistics, labels)
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
