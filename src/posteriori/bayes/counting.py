"""What every classifier that learns by counting shares: `fit` is `partial_fit` from zero, statistics are all it has.

A model says what to count (`_collect`) and how counts score a row (`_log_joint`); learning, merging, forgetting and fading
are the `+`, `-` and scale of its statistics.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadValue, StatisticsError, TableError, UnknownValue, did_you_mean, listed
from ..table.frame import Frame, open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import encode_labels
from ..table.schema import Column, Schema, in_order
from .base import BayesClassifier
from .densities import Seen

LEARNED = ("statistics_", "classes_", "feature_names_in_", "n_features_in_", "_cache")


class CountingClassifier(BayesClassifier):
    """A classifier whose only state is `statistics_`, a value with `+`, `-`, `scaled` and a `schema`."""

    statistics_: Any
    kinds: Any
    class_weight: Any
    n_jobs: int | None

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, seen: Seen) -> Any:
        """Statistics of these rows alone; `seen` is told of missing cells."""
        raise TypeError(f"{type(self).__name__} gives no _collect")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the rows of X with the classes y, from zero."""
        with self._all_or_nothing():
            for name in LEARNED:
                self.__dict__.pop(name, None)
            return self._learn(X, y, sample_weight, ())

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What cannot be learned or forgotten leaves the model as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count more rows; new values and new classes are welcome. `classes` declares classes that may come later."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give partial_fit a dict of weights instead"
            )
        declared = () if classes is None else tuple(np.asarray(classes).tolist())
        with self._all_or_nothing():
            return self._learn(X, y, sample_weight, declared)

    def _learn(self, X: Any, y: Any, sample_weight: Any, declared: tuple[Any, ...]) -> Self:
        frame, seen = self._open(X), Seen()
        found, labels = self._read(frame, y, sample_weight, declared, seen)
        whole = self.statistics_ + found if "statistics_" in self.__dict__ else found
        self._keep(whole, labels)
        self._cache["seen"] = seen
        if "n_features_in_" not in self.__dict__:
            self.n_features_in_ = frame.d
            if frame.names is not None:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows out again, exactly; refused whole where they were not learned.

        Values and classes that no remaining row has vanish with them, unless they were declared.
        """
        self._check_fitted()
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' weighs rows by the whole table: such rows cannot be forgotten alone"
            )
        found, labels = self._read(self._open(X), y, sample_weight, (), Seen())
        left = self.statistics_ - found
        if not len(left.rows) or not left.rows.sum() > 0:
            raise StatisticsError("the last row cannot be forgotten: a model of no rows has no posterior")
        with self._all_or_nothing():
            self._keep(left, labels)
        return self

    def decay(self, factor: float) -> Self:
        """Let the past fade: every row learned so far counts `factor` times from now on."""
        self._check_fitted()
        if not 0 < factor <= 1:
            raise ValueError(f"a decay factor lies in (0, 1]. Got {factor} instead.")
        faded = self.statistics_.scaled(factor)
        if not faded.rows.sum() > 0:
            raise StatisticsError(f"a decay of {factor} leaves nothing: the counts underflow to zero")
        self._keep(faded, self.classes_)
        return self

    def __add__(self, other: Self) -> Self:
        """The model of both tables, as if one had learned them together."""
        if type(self) is not type(other):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        both = copy.copy(self)
        both._keep(self.statistics_ + other.statistics_, np.concatenate([self.classes_, other.classes_]))
        return both

    def _keep(self, statistics: Any, labels: Array) -> None:
        known = self.__dict__.get("classes_", labels)
        self.classes_ = _as_array(statistics.schema.classes, known.dtype, labels.dtype)
        self.statistics_ = statistics
        self._cache: dict[str, Any] = {}

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if "_cache" in state:
            state["_cache"] = {}
        return state

    @property
    def schema_(self) -> Schema:
        """The columns and classes, with the values that training had."""
        found: Schema = self.statistics_.schema
        return found

    @property
    def class_count_(self) -> Array:
        """N_y, rows (or weight) of each class."""
        found: Array = self.statistics_.rows
        return found

    @property
    def n_missing_(self) -> int:
        """Missing cells in the rows that were last looked at, in training or prediction."""
        return int(self._cache.get("seen", Seen()).missing)

    @property
    def n_unseen_(self) -> int:
        """Cells of the rows last predicted whose value training did not have."""
        return int(self._cache.get("seen", Seen()).unseen)

    def _open(self, X: Any) -> Frame:
        """The border: a frame with as many columns as training had, in training's order."""
        if type(X) is dict and X and all(_is_cell(v) for v in X.values()):
            X = {name: [cell] for name, cell in X.items()}
        if getattr(X, "ndim", 2) == 1 and hasattr(X, "to_dict"):  # a row of a pandas frame
            X = {str(name): [cell] for name, cell in X.to_dict().items()}
        frame = open_frame(X)
        known = self.__dict__.get("statistics_")
        if known is not None:
            names = known.schema.names
            if frame.names is not None and ("feature_names_in_" in self.__dict__ or set(frame.names) == set(names)):
                return frame.matched(names)
            if frame.d != self.n_features_in_:
                wanted = f"{type(self).__name__} is expecting {self.n_features_in_} features as input."
                raise TableError(f"X has {frame.d} features, but {wanted}")
            return frame
        if frame.d == 0:
            raise TableError(f"Found array with 0 feature(s) (shape=({frame.n}, 0)) while a minimum of 1 is required.")
        if isinstance(self.kinds, Schema):
            if frame.names is None and frame.d != len(self.kinds):
                raise TableError(f"the schema has {len(self.kinds)} columns, but X has {frame.d}")
            return frame.matched(self.kinds.names)
        return frame

    def _read(
        self, frame: Frame, y: Any, sample_weight: Any, declared: tuple[Any, ...], seen: Seen
    ) -> tuple[Any, Array]:
        """(statistics of these rows, their labels): labels and weights are checked, rows without weight left out."""
        if frame.n == 0:
            raise TableError(f"Found array with 0 sample(s) (shape=(0, {frame.d})) while a minimum of 1 is required.")
        labels, codes = encode_labels(y)
        if len(codes) != frame.n:
            raise TableError(f"X has {frame.n} rows but y has {len(codes)} labels: inconsistent numbers of samples")
        weights = self._weights(sample_weight, labels, codes, declared)
        if weights is not None and not weights.all():
            rows = weights > 0
            frame, codes, weights = frame.take_rows(rows), codes[rows], weights[rows]
            used = np.unique(codes)
            labels, codes = labels[used], np.searchsorted(used, codes).astype(codes.dtype)
        return self._collect(frame, *self._classes(frame, labels, codes, declared), weights, seen), labels

    def _classes(self, frame: Frame, labels: Array, codes: Array, declared: tuple[Any, ...]) -> tuple[Schema, Array]:
        """The schema of these rows (without observed values) and the class codes in it."""
        known = self.__dict__.get("statistics_")
        told = self.kinds if isinstance(self.kinds, Schema) else None
        if known is not None:
            base: Schema = known.schema
            columns = tuple(c if len(c.values) == len(c.declared) else c.with_values(()) for c in base.columns)
            kept = base.declared_classes
        elif told is not None:
            columns, kept = told.columns, told.declared_classes
        else:
            kinds = resolve_kinds(frame, self.kinds)
            names = frame.names or tuple(f"x{j}" for j in range(frame.d))
            columns, kept = tuple(Column(n, k) for n, k in zip(names, kinds)), frozenset()
        kept = kept | frozenset(declared)
        mine = [c.item() if isinstance(c, np.generic) else c for c in labels.tolist()]
        if declared and not set(mine) <= set(declared):
            strange = next(c for c in mine if c not in declared)
            raise UnknownValue(
                f"y has the class {strange!r}, which is not among the declared classes"
                f"{did_you_mean(strange, declared)} Declared: {listed(declared)}"
            )
        classes = in_order({*mine, *kept})
        place = {c: k for k, c in enumerate(classes)}
        if classes != tuple(mine):
            codes = np.array([place[c] for c in mine], dtype=codes.dtype if len(classes) < 256 else np.uint32)[codes]
        return Schema(columns, classes, kept), codes

    def _weights(self, sample_weight: Any, labels: Array, codes: Array, declared: tuple[Any, ...]) -> Floats | None:
        """The weight of each row: its own times its class's, or None where all count one."""
        w = None if sample_weight is None else check_weights(sample_weight, len(codes))
        if self.class_weight is None:
            return w
        w = np.ones(len(codes)) if w is None else w
        if isinstance(self.class_weight, str):
            if self.class_weight != "balanced":
                raise ValueError(f"class_weight must be 'balanced', a dict or None. Got {self.class_weight!r} instead.")
            mass = np.bincount(codes, w, minlength=len(labels))
            by_class = w.sum() / (np.count_nonzero(mass) * np.where(mass > 0, mass, 1.0))
        else:
            known = {*labels.tolist(), *declared, *self.__dict__.get("classes_", np.zeros(0)).tolist()}
            unknown = [c for c in self.class_weight if c not in known]
            if unknown:
                hint = did_you_mean(unknown[0], labels.tolist())
                raise UnknownValue(
                    f"class_weight names no class of y: {listed(unknown)}{hint} Classes: {listed(labels.tolist())}"
                )
            by_class = np.array([float(self.class_weight.get(c, 1.0)) for c in labels.tolist()])
        return check_weights(w * by_class[codes], len(codes))


def _is_cell(v: Any) -> bool:
    return not hasattr(v, "__len__") or isinstance(v, str | bytes)


def _as_array(classes: tuple[Any, ...], *dtypes: np.dtype[Any]) -> Array:
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


def check_weights(sample_weight: Any, n: int) -> Floats:
    """Weights as floats, one a row: finite, not negative, not all zero."""
    w = np.asarray(sample_weight)
    if w.dtype.kind not in "biuf":
        raise BadValue(f"sample weights must be numbers. Got dtype {w.dtype} instead.")
    w = w.astype(np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.ndim != 1:
        raise BadValue(f"Sample weights must be 1D array or scalar. Got shape {w.shape} instead.")
    if len(w) != n:
        raise BadValue(f"sample_weight.shape == {w.shape}, expected {(n,)}!")
    bad = ~np.isfinite(w) | (w < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise BadValue(
            f"row {i}: a sample weight must be finite and not negative. Got {w[i]} instead (NaN, inf, negative)."
        )
    with np.errstate(over="ignore"):
        total = w.sum()
    if not np.isfinite(total):
        raise BadValue("the sample weights are so large that their sum overflows; rescale them")
    if not w.any():
        raise BadValue("all sample weights are zero: no row is left to learn from")
    return w
