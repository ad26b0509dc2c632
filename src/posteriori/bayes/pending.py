"""Single rows that wait to be counted together, so that learning one takes a time that does not depend on what is known.

Any chunks of rows give the same model, so rows that come one by one wait until somebody asks for the statistics or they are
many. Only a row that cannot fail later may wait: every cell is of the type that its column has, every number finite and
moderate, nothing weighed. All others are learned, or refused, at once.

One thread may learn while others predict: who reads the statistics writes nothing that learning reads, so no row is lost.
A prediction that meets a step of learning midway may be of before or after it; `copy.copy(model)`, which shares the counts,
stays at one of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array
from ..table.encode import Seen
from ..table.frame import Frame

if TYPE_CHECKING:
    from .learning import Learner

FEWEST, MOST = 1024, 65_536  # rows that may wait, by the size of what they are added to
LARGE = 1e100  # numbers whose squares, and the sums of them, stay finite
HIGH = 2.0**32  # counts that stay exact in a sum over the rows that wait
ROOM = 1 << 62  # a count below it has room for them
NUMBERS, PLAIN = frozenset({float, int, bool}), frozenset({str, int, float, bool})  # types of cells that may wait
WHOLE = Seen()  # of a row without a gap


class PendingRows(ABC):
    """Single rows, buffered until they are counted, and the parameters under which they came."""

    def __init__(self, base: Any, cells: int, parameters: list[tuple[str, Any]]) -> None:
        self.base, self.parameters = base, parameters
        self.classes = set(base.schema.classes)
        self.label = type(base.schema.classes[0])
        self.rows: list[tuple[Any, Any]] = []
        self.counted = (0, base)  # how many of the rows, and the statistics with them
        self.most = min(max(FEWEST, cells // 8), MOST)

    @abstractmethod
    def bufferable_row(self, model: Any, X: Any, label: Any) -> Any:
        """The row of X as it may wait, or None where the model has to learn, or refuse, it at once."""

    @abstractmethod
    def table_of(self, rows: list[Any]) -> Any:
        """Rows that wait, as a table."""

    def label_of(self, y: Any) -> Any:
        """The one label of y if it is of the type that the classes have, else None."""
        y = y.tolist() if hasattr(y, "tolist") else y
        if type(y) not in (list, tuple) or len(y) != 1:
            return None
        label = y[0].item() if isinstance(y[0], np.generic) else y[0]
        if type(label) is not self.label:
            return None
        return label if self.label is not int or -ROOM < label < ROOM else None

    def total(self, model: Learner) -> Any:
        """The statistics with all rows that came so far; any thread may ask."""
        n, known = self.counted
        new = self.rows[n:]
        if new:
            then = model._as_of(known, self.parameters)  # as it was when the rows came
            rows, labels = zip(*new)
            known = known + then._read(self.table_of(list(rows)), np.array(labels), None, ())[0]
            self.counted = n + len(new), known
        return known


def has_plain_classes(base: Any) -> bool:
    """Whether the classes are all text, all whole numbers or all booleans, and none has so many rows that sums overflow."""
    types = {type(c) for c in base.schema.classes}
    return len(types) == 1 and types <= {str, int, bool} and bool(base.rows.max() < ROOM)


class PendingCells(PendingRows):
    """Rows of a table of any kind of columns; `kinds` says what a cell of each may be, or a dict that it is a key of."""

    kinds: list[Any]

    @classmethod
    def of(cls, base: Any, parameters: list[tuple[str, Any]]) -> Self | None:
        """Where rows may wait, or None where some column could refuse a row later."""
        if not has_plain_classes(base) or base.words.table.max(initial=0) >= ROOM:
            return None
        pending = cls(base, len(base.cells.table), parameters)
        pending.kinds = []
        cuts = base.cuts or (None,) * len(base.roles)
        for column, role, cut in zip(base.schema.columns, base.roles, cuts):
            kind: Any = role if role == "words" else column.kind
            if base.joints and cut is None:  # a new value, which makes tables of several columns larger, may be refused
                kind = column.place
            elif role == "cells" and cut is None:
                kind = type(column.values[0]) if column.values else None
                if kind not in PLAIN:
                    return None
                kind = column.place if column.kind == "binary" else kind
            pending.kinds.append(kind)
        wide = len(pending.kinds) * (len(base.rows) + 1)
        # their own counts stay small, whatever values they bring
        pending.most = max(1, min(pending.most, (1 << 22) // wide))
        return pending

    def bufferable_row(self, model: Any, X: Any, label: Any) -> list[Any] | None:
        found = self.cells_of(X)
        if found is None:
            return None
        row, missing = found
        model._seen = Seen(missing) if missing else WHOLE
        return row

    def cells_of(self, X: Any) -> tuple[list[Any], int] | None:
        """(the cells of the one row of X, how many are missing), or None where some later check could refuse it."""
        names = self.base.schema.names
        if type(X) is dict:
            if len(X) != len(names):
                return None
            try:
                row = [X[name] for name in names]
            except KeyError:
                return None
        elif type(X) is np.ndarray and X.shape == (1, len(names)) and X.dtype.kind in "biufOU":
            row = X[0].tolist()
        elif hasattr(X, "iloc") and X.shape == (1, len(names)) and tuple(X.columns) == names:
            row = X.iloc[0].tolist()
        else:
            return None
        missing = 0
        for j, (cell, kind) in enumerate(zip(row, self.kinds)):
            found = type(cell)
            if found not in PLAIN and isinstance(cell, np.generic):
                cell = row[j] = cell.item()
                found = type(cell)
            if cell is None or (found is float and cell != cell):
                row[j] = None
                missing += kind != "words"
            elif found is kind:
                continue
            elif kind == "numeric" or kind == "count":
                least = 0 if kind == "count" else -LARGE
                if found not in NUMBERS or not least <= cell < (HIGH if kind == "count" else LARGE):
                    return None
            elif kind == "words":
                if found is not str:
                    return None
            elif type(kind) is not dict or found not in PLAIN or cell not in kind:
                return None
        return row, missing

    def table_of(self, rows: list[list[Any]]) -> Frame:
        columns = []
        for cells, kind in zip(zip(*rows), self.kinds):
            column = np.empty(len(cells), dtype=np.float64 if kind == "numeric" or kind == "count" else object)
            column[:] = cells
            columns.append(column)
        return Frame(len(rows), self.base.schema.names, columns=tuple(columns))


class PendingMatrix(PendingRows):
    """Rows of a matrix of numbers under classes that were all told, if the model is sure (`_is_sure`) of their one row."""

    def bufferable_row(self, model: Any, X: Any, label: Any) -> Array | None:
        if label not in self.classes or type(X) is not np.ndarray or len(X) != 1:
            return None
        return X.copy() if model._is_sure(X, self) else None

    def table_of(self, rows: list[Array]) -> Array:
        return np.concatenate(rows)
