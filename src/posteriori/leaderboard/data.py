"""The table of a race, opened once, and its folds: what several models share is made once, from training rows alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from ..arrays import Array, Floats, Ints
from ..decision.on_points import OnPoints
from ..errors import BadValue, ModelError
from ..table.frame import open_frame
from ..table.kinds import resolve_kinds
from ..table.labels import encode_labels
from ..table.prepare import prepare
from ..table.schema import Column, Schema
from ..table.weights import check_weights


@dataclass(frozen=True, eq=False)
class Data:
    """The rows that weigh something: `where` are their places among all `of` rows that were given."""

    X: Any
    frame: Any
    labels: Array
    codes: Ints
    weights: Floats | None
    kinds: tuple[str, ...]
    names: tuple[Any, ...]
    where: Ints
    of: int

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes)

    def whole(self, values: Array, blank: float) -> Array:
        """A value for each of all rows, `blank` where a row weighs nothing."""
        found = np.full((self.of, *values.shape[1:]), blank, dtype=values.dtype)
        found[self.where] = values
        return found

    @classmethod
    def open(cls, X: Any, y: Any, kinds: Any, sample_weight: Any) -> Data:
        """Check and code a table; rows without weight are left out."""
        if isinstance(X, Mapping):
            X = pd.DataFrame(X)
        frame = open_frame(X)
        labels, narrow = encode_labels(y)
        codes, of = narrow.astype(np.int64), len(narrow)
        if of != frame.n:
            raise BadValue(f"X has {frame.n} rows but y has {of} labels")
        told = resolve_kinds(frame, kinds if not isinstance(kinds, tuple) else dict(zip(names_of(frame), kinds)))
        weights = None if sample_weight is None else check_weights(sample_weight, of)
        where = np.arange(of)
        if weights is not None and not (weights > 0).all():
            where = np.flatnonzero(weights > 0)
            X, frame, codes, weights = _safe_indexing(X, where), frame.take_rows(where), codes[where], weights[where]
            kept, codes = np.unique(codes, return_inverse=True)
            labels = labels[kept]
        if len(labels) < 2:
            only = f"one class only, {labels.tolist()[0]!r}" if len(labels) else "no rows"
            raise ModelError(f"y has {only}: there is nothing to tell apart")
        return cls(X, frame, labels, codes, weights, told, names_of(frame), where, of)


def names_of(frame: Any) -> tuple[Any, ...]:
    """The names of the columns, or their numbers."""
    return frame.names if frame.names is not None else tuple(range(frame.d))


class Fold:
    """One fold: its rows, and the points that several models share, with the seconds that making them took."""

    def __init__(self, data: Data, test: Array) -> None:
        self.data = data
        self.train, self.test = np.flatnonzero(~test), np.flatnonzero(test)
        self.y = data.labels[data.codes[self.train]]
        self.truth = data.codes[self.test]
        self.w = None if data.weights is None else data.weights[self.train]
        self.w_test = np.ones(len(self.test)) if data.weights is None else data.weights[self.test]
        self._frames: tuple[Any, Any] | None = None
        self._raw: tuple[Any, Any] | None = None
        self._points: dict[str, tuple[Any, float, Any, float]] = {}

    def frames(self) -> tuple[Any, Any]:
        """Rows as the library reads them."""
        if self._frames is None:
            self._frames = self.data.frame.take_rows(self.train), self.data.frame.take_rows(self.test)
        return self._frames

    def raw(self) -> tuple[Any, Any]:
        """Rows as the caller gave them."""
        if self._raw is None:
            self._raw = _safe_indexing(self.data.X, self.train), _safe_indexing(self.data.X, self.test)
        return self._raw

    def points(self, model: OnPoints) -> tuple[Any, float, Any, float]:
        """(training points, seconds, test points, seconds), made from training rows alone, once for all who need them."""
        key = repr((model.view, model.kinds))
        if key not in self._points:
            train, test = self.frames()
            start = time.perf_counter()
            columns = map(Column, map(str, names_of(train)), resolve_kinds(train, model.kinds))
            learned = prepare(train, Schema(tuple(columns)), model.view)
            known = learned(train)
            middle = time.perf_counter()
            new = learned(test)
            self._points[key] = known, middle - start, new, time.perf_counter() - middle
        return self._points[key]
