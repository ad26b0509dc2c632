"""One row, and copies of it with other cells, in the form that its model takes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadValue
from ..table.dates import date_columns, date_of, dates_in, part_of, weekday_text
from ..table.encode import numbers
from ..table.frame import Frame
from ..table.rows import open_rows
from ..table.schema import MEASURED, Schema


class Case:
    """A row of a model's table: its cells by place, and `copies` of it for the model to judge."""

    def __init__(self, model: Any, row: Any) -> None:
        names = getattr(model, "feature_names_in_", None)
        self.schema: Schema | None = getattr(model, "schema_", None)
        self.named = names is not None
        self.coded = hasattr(model, "n_categories_")  # numbers that are places in a list of categories
        frame = _opened(model, row, self.schema, names)
        if frame.n != 1:
            raise BadValue(f"explain takes one row. Got {frame.n} instead.")
        self.names = self.schema.names if self.schema else tuple(frame.name(j) for j in range(frame.d))
        self.row, self.sparse = row, frame.sparse is not None
        self.cells = [] if self.sparse else [_cell(frame.column(j)) for j in range(frame.d)]
        self._come_as_dates = _dates_of(row)
        for j, cell in enumerate(self.cells):
            if self.schema and self.measured(j) and type(cell) not in (int, float, type(None)):
                self.cells[j] = float(numbers(frame, [j])[0, 0])  # a date, a number as a text

    @cached_property
    def table(self) -> Any:
        """The row as a table that the model takes."""
        return self.row if self.sparse else self.copies([{}])

    def measured(self, j: int) -> bool:
        """Whether column j holds numbers that are more or less, not names."""
        if self.schema is not None:
            return self.schema.columns[j].kind in MEASURED
        return not self.coded and isinstance(self.cells[j], int | float) and not isinstance(self.cells[j], bool)

    def missing(self, j: int) -> bool:
        """Whether the cell is empty."""
        value = self.cells[j]
        return value is None or (isinstance(value, float) and math.isnan(value))

    @cached_property
    def dates(self) -> dict[int, dict[str, int]]:
        """The columns that are dates by place, each with the places of those that are its parts."""
        place = {n: j for j, n in enumerate(self.names)}
        found = dates_in(self.schema, self._come_as_dates)
        return {place[d]: {part: place[n] for part, n in parts.items()} for d, parts in found.items() if d in place}

    @cached_property
    def parts_of_dates(self) -> frozenset[int]:
        """The columns that are parts of dates."""
        return frozenset(k for parts in self.dates.values() for k in parts.values())

    @cached_property
    def _weekdays(self) -> frozenset[int]:
        return frozenset(parts["weekday"] for parts in self.dates.values() if "weekday" in parts)

    def told(self, j: int, value: Any) -> Any:
        """A cell of column j as people read it: days as a date, 0 as Monday where it is a weekday."""
        if j in self.dates and not isinstance(value, bool):
            return date_of(value)
        return weekday_text(value) if j in self._weekdays and isinstance(value, int | float) else value

    def linked(self, change: dict[int, Any]) -> dict[int, Any]:
        """A change, with the parts of every date that it moves: month and weekday never part from their day."""
        moved = {k: (v, part) for j, v in change.items() for part, k in self.dates.get(j, {}).items()}
        return change | {k: self._part(k, v, part) for k, (v, part) in moved.items()} if moved else change

    def _part(self, k: int, days: Any, part: str) -> Any:
        found = part_of(days, part)
        return float(found) if found is not None and self.measured(k) else found

    def copies(self, changes: Sequence[dict[int, Any]]) -> Any:
        """A table with a row for each change: place → the cell it has there instead; None is a missing one."""
        words = {j for change in changes for j, value in change.items() if isinstance(value, str)}
        numbers = [number and j not in words for j, number in enumerate(self._number)]  # an empty cell does not tell
        n, blank = len(changes), [np.nan if v is None and numbers[j] else v for j, v in enumerate(self.cells)]
        kept = np.empty((n, len(blank)), dtype=np.float64 if all(numbers) else object)
        kept[:] = np.array([*blank, None], dtype=object)[:-1]  # one cell may be a list
        for row, change in zip(kept, changes):
            for j, value in change.items():
                row[j] = np.nan if value is None and numbers[j] else value
        if not self.named:
            return kept
        floats = iter(kept[:, numbers].astype(np.float64).T)
        columns = tuple(next(floats) if number else kept[:, j] for j, number in enumerate(numbers))
        if self.schema is not None:
            return Frame(n, self.names, matrix=kept) if all(numbers) else Frame(n, self.names, columns=columns)
        import pandas as pd

        return pd.DataFrame(dict(zip(self.names, columns)))

    @cached_property
    def _number(self) -> list[bool]:
        """Of each column, whether its cells are floats to the model."""
        return [self.coded or self.measured(j) for j in range(len(self.cells))]


def _opened(model: Any, row: Any, schema: Schema | None, names: Any) -> Frame:
    if schema is None and names is not None and _has_names(row):
        frame = open_rows(row, None, type(model).__name__)
        return frame.matched(tuple(str(n) for n in names)) if frame.names else frame
    return open_rows(row, schema, type(model).__name__, names is not None)


def _has_names(row: Any) -> bool:
    return isinstance(row, dict) or hasattr(row, "columns") or hasattr(row, "to_dict")


def _dates_of(row: Any) -> set[str]:
    """The columns of a row, whatever it is, that are dates before a frame makes them days."""
    cells = row.to_dict() if hasattr(row, "to_dict") and not hasattr(row, "columns") else row
    if isinstance(cells, dict):
        one = {str(n): v[0] if isinstance(v, list | np.ndarray) and len(v) else v for n, v in cells.items()}
        return {n for n, v in one.items() if isinstance(v, datetime.date | np.datetime64) and v == v}  # NaT is missing
    return date_columns(row)


def _cell(column: Any) -> Any:
    value = column[0]
    value = value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
    return None if type(value).__name__ in ("NAType", "NaTType") else value
