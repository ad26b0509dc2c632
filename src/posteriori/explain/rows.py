"""One row, and copies of it with other cells, in the form that its model takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import BadValue
from ..table.frame import Frame
from ..table.rows import open_rows
from ..table.schema import Schema

MEASURED = ("numeric", "count")


class Case:
    """A row of a model's table: its cells by place, and `copies` of it for the model to judge."""

    def __init__(self, model: Any, row: Any) -> None:
        names = getattr(model, "feature_names_in_", None)
        self.schema: Schema | None = getattr(model, "schema_", None)
        self.named = names is not None
        frame = _opened(model, row, self.schema, names)
        if frame.n != 1:
            raise BadValue(f"explain takes one row. Got {frame.n} instead.")
        self.names = self.schema.names if self.schema else tuple(frame.name(j) for j in range(frame.d))
        self.row, self.sparse = row, frame.sparse is not None
        self.cells = [] if self.sparse else [_cell(frame.column(j)) for j in range(frame.d)]

    def measured(self, j: int) -> bool:
        """Whether column j holds numbers that are more or less, not names."""
        if self.schema is not None:
            return self.schema.columns[j].kind in MEASURED
        return isinstance(self.cells[j], int | float) and not isinstance(self.cells[j], bool)

    def missing(self, j: int) -> bool:
        """Whether the cell is empty."""
        value = self.cells[j]
        return value is None or (isinstance(value, float) and math.isnan(value))

    def copies(self, changes: Sequence[dict[int, Any]]) -> Any:
        """A table with a row for each change: place → the cell it has there instead; None is a missing one."""
        columns: list[Array] = []
        for j, cell in enumerate(self.cells):
            cells = [change.get(j, cell) for change in changes]
            if self.measured(j):
                columns.append(np.array([np.nan if v is None else v for v in cells], dtype=np.float64))
            else:
                column = np.empty(len(cells), dtype=object)
                column[:] = cells
                columns.append(column)
        if self.named:
            import pandas as pd

            return pd.DataFrame(dict(zip(self.names, columns)))
        numbers = all(c.dtype.kind == "f" for c in columns)
        return np.stack(columns, axis=1) if numbers else np.stack([c.astype(object) for c in columns], axis=1)


def _opened(model: Any, row: Any, schema: Schema | None, names: Any) -> Frame:
    if schema is None and names is not None and _has_names(row):
        frame = open_rows(row, None, type(model).__name__)
        return frame.matched(tuple(str(n) for n in names)) if frame.names else frame
    return open_rows(row, schema, type(model).__name__, names is not None)


def _has_names(row: Any) -> bool:
    return isinstance(row, dict) or hasattr(row, "columns") or hasattr(row, "to_dict")


def _cell(column: Any) -> Any:
    value = column[0]
    return value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
