"""Tables with categories as points: a number is one coordinate, a category one coordinate for each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import BadValue
from ..table.encode import factorize, numbers
from ..table.frame import Frame, open_frame
from ..table.kinds import kind_of
from ..table.schema import Column, Schema, in_order


@dataclass(frozen=True, slots=True)
class Columns:
    """The schema by which a table becomes points."""

    schema: Schema

    @property
    def coordinates(self) -> tuple[str, ...]:
        """A name for every coordinate: the column, or column=value.

        >>> Columns.of({"age": [31.0, 25.5], "smokes": ["no", "yes"]}).coordinates
        ('age', 'smokes=no', 'smokes=yes')
        """
        return tuple(
            name
            for c in self.schema.columns
            for name in ([c.name] if c.kind == "numeric" else [f"{c.name}={v}" for v in c.values])
        )

    @classmethod
    def of(cls, X: Any) -> Columns:
        """The schema of a training table: columns of numbers are numbers, all others categories."""
        frame = open_frame(X)
        return cls(Schema(tuple(_column(frame, j) for j in range(frame.d))))

    def points(self, X: Any) -> Floats:
        """Rows as points; a value that training did not have is at none of its column's corners.

        >>> Columns.of({"age": [31.0, 25.5], "smokes": ["no", "yes"]}).points({"age": [40.0], "smokes": ["yes"]}).tolist()
        [[40.0, 0.0, 1.0]]
        """
        frame = open_frame(X).matched(self.schema.names)
        return np.column_stack([self._block(frame, j) for j in range(frame.d)])

    def _block(self, frame: Frame, j: int) -> Floats:
        column = self.schema.columns[j]
        if column.kind == "numeric":
            return np.asarray(numbers(frame, [j]), dtype=np.float64)
        values, codes = factorize(frame.column(j), column.name)
        if (codes == len(values)).any():
            row = int(np.argmax(codes == len(values)))
            raise BadValue(
                f"a missing cell in row {row}, column {column.name!r}: a margin needs every coordinate. "
                "Impute first, in a pipeline: make_pipeline(SimpleImputer(strategy='most_frequent'), ...)"
            )
        place = {value: k for k, value in enumerate(column.values)}
        corner = np.array([place.get(value, len(place)) for value in values], dtype=np.int64)
        return np.eye(len(place) + 1)[corner[codes]][:, :-1]


def _column(frame: Frame, j: int) -> Column:
    name = frame.name(j)
    if kind_of(frame.column(j), name) == "numeric":
        return Column(name, "numeric")
    return Column(name, "categorical", in_order(factorize(frame.column(j), name)[0]))


def is_mixed(X: Any) -> bool:
    """Whether a table is one of named columns that are not all numbers as NumPy knows them."""
    if isinstance(X, Mapping) or (hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc")):
        return True
    if not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return False
    return any(getattr(t, "kind", "O") not in "iuf" for t in X.dtypes)
