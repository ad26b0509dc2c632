"""Rows that wait to be counted: `partial_fit` of one row takes a time that does not depend on what is known already.

Any chunks of rows give the same model, so rows that come one by one may as well be counted together: they wait until
somebody asks for the statistics, or until they are many. Only a row that cannot fail later may wait: every cell is of the
type that its column has, every number finite and moderate, nothing weighed. All others are learned, or refused, at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..table.frame import Frame

FEWEST, MOST = 1024, 65_536  # rows that may wait, by the size of what they are added to
LARGE = 1e100  # numbers whose squares, and the sums of them, stay finite
HIGH = 2.0**32  # counts that stay exact in a sum over the rows that wait
ROOM = 1 << 62  # a count below it has room for them
NUMBERS, PLAIN = frozenset({float, int, bool}), frozenset({str, int, float, bool})


class Room:
    """The rows that wait for one value of the statistics, with the parameters under which they came."""

    __slots__ = ("base", "classes", "kinds", "label", "most", "parameters", "rows")

    def __init__(self, base: Any, cells: int, parameters: list[tuple[str, Any]]) -> None:
        self.base, self.parameters = base, parameters
        self.classes = set(base.schema.classes)
        self.label = type(base.schema.classes[0])
        self.rows: list[tuple[Any, Any]] = []
        self.most = min(max(FEWEST, cells // 8), MOST)
        self.kinds: list[Any] = []

    def label_of(self, y: Any) -> Any:
        """The one label of y if it is of the type that the classes have, else None."""
        y = y.tolist() if hasattr(y, "tolist") else y
        if type(y) not in (list, tuple) or len(y) != 1 or type(y[0]) is not self.label:
            return None
        return y[0] if self.label is not int or -ROOM < y[0] < ROOM else None

    @property
    def labels(self) -> Array:
        """The labels of the rows."""
        return np.array([label for _, label in self.rows])


def has_plain_classes(base: Any) -> bool:
    """Whether the classes are all text, all whole numbers or all booleans, and none has so many rows that sums overflow."""
    types = {type(c) for c in base.schema.classes}
    return len(types) == 1 and types <= {str, int, bool} and bool(base.rows.max() < ROOM)


def table_room(base: Any, parameters: list[tuple[str, Any]]) -> Room | None:
    """A room for rows of a table, or None where some column could refuse a row later."""
    if not has_plain_classes(base) or base.words.table.max(initial=0) >= ROOM:
        return None
    room = Room(base, len(base.cells.table), parameters)
    cuts = base.cuts or (None,) * len(base.roles)
    for column, role, cut in zip(base.schema.columns, base.roles, cuts):
        kind: Any = role if role == "words" else column.kind
        if base.joints and cut is None:  # a new value, which makes tables of several columns larger, may be refused
            kind = column.place
        elif role == "cells" and cut is None:
            kind = type(column.values[0]) if column.values else None
            if kind not in (str, int, float, bool):
                return None
            kind = column.place if column.kind == "binary" else kind
        room.kinds.append(kind)
    wide = len(room.kinds) * (len(base.rows) + 1)
    room.most = max(1, min(room.most, (1 << 22) // wide))  # their own counts stay small, whatever values they bring
    return room


def row_of(room: Room, X: Any) -> tuple[list[Any], int] | None:
    """(the cells of the one row of X, how many are missing), or None where the row has to be learned at once."""
    names = room.base.schema.names
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
    for j, (cell, kind) in enumerate(zip(row, room.kinds)):
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


def table_of(room: Room) -> Frame:
    """The rows that wait, as columns."""
    columns = []
    for cells, kind in zip(zip(*(row for row, _ in room.rows)), room.kinds):
        column = np.empty(len(cells), dtype=np.float64 if kind == "numeric" or kind == "count" else object)
        column[:] = cells
        columns.append(column)
    return Frame(len(room.rows), room.base.schema.names, columns=tuple(columns))
