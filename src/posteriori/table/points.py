"""Rows that are points, for rooms that measure distances and margins: every cell a number, or one-hot corners.

What a room allows is in its `Border`; the rest holds for all: columns are matched by name where there are names, a sparse
table stays sparse (CSR), and a cell that is no number is named by row and column, with the way out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..arrays import Array, Floats
from ..errors import BadType, BadValue, TableError
from .encode import factorize, numbers
from .frame import Frame, Table, columns_of, open_frame
from .kinds import kind_of
from .labels import number
from .schema import Column, Schema

WORDS = "NaiveBayes takes words as they are"


@dataclass(frozen=True)
class Border:
    """What a room takes for a point, and what it says of a cell that is none."""

    needs: str  # "a margin needs every coordinate"
    missing: str = ""  # the way out of a missing cell
    words: str = ""  # the way out of a column of words
    floats: tuple[type, ...] = (np.float64,)  # types kept as they are; all else becomes the first
    allow_missing: bool = False
    one_hot: bool = False  # whether categories become corners, kept as `columns_`


def read_points(model: Any, X: Any, border: Border, *, reset: bool) -> Any:
    """X as rows of floats, C-contiguous or CSR; with `reset` the model learns its columns, else X must have them.

    Sets `n_features_in_` and `feature_names_in_`, and `columns_` where categories became corners.
    """
    if _plain(X, border) and (reset or expects(model, X)):
        if reset:
            _forget_columns(model)
            model.n_features_in_ = X.shape[1]
        return _finite(model, X, border)
    named = _is_named(X)
    if reset:
        _forget_columns(model)
        frame = open_frame(X) if named else None
        if frame is not None and border.one_hot and not all(_is_number(frame, j) for j in range(frame.d)):
            model.columns_ = Columns.of(frame)
    if "columns_" in model.__dict__:
        return _corners(model, X, border)
    if named:
        return _finite(model, _named_points(model, X, border, reset), border)
    options: dict[str, Any] = {"accept_sparse": "csr", "ensure_all_finite": False}
    points = checked_matrix(model, X, border, reset=reset, dtype=list(border.floats), order="C", **options)
    return _finite(model, points, border)


def checked_matrix(model: Any, X: Any, border: Border | None = None, **options: Any) -> Any:
    """X as scikit-learn's `validate_data` lets it in; what `read` gives goes in as its columns."""
    try:
        return validate_data(model, columns_of(X), **options)
    except TypeError as error:
        raise BadType(f"X must be a table of numbers: {error}") from None
    except OverflowError:
        most = "any float" if options.get("dtype") != "int" else "2⁶³"
        raise BadValue(f"X must be a table of numbers; a whole number in it is larger than {most}") from None
    except ValueError as error:
        if not str(error).startswith(("could not convert", "invalid literal")):
            raise
        plain = Border(f"{type(model).__name__} needs every cell", words=WORDS)
        raise _word(open_frame(X), border or plain) from None


def _plain(X: Any, border: Border) -> bool:
    """Whether X is an array to be used as it is: scikit-learn's checks cost more than the answer to a row."""
    if type(X) is not np.ndarray or X.dtype not in border.floats or X.ndim != 2 or not X.size:
        return False
    return bool(X.flags.c_contiguous and X.flags.aligned)


def expects(model: Any, X: Any) -> bool:
    """Whether a fitted model expects rows without names, as long as these."""
    known = model.__dict__
    return "feature_names_in_" not in known and X.shape[1] == known["n_features_in_"]


def _forget_columns(model: Any) -> None:
    for name in ("columns_", "feature_names_in_"):
        model.__dict__.pop(name, None)


def _is_named(X: Any) -> bool:
    return isinstance(X, Frame | Table | Mapping) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def _is_number(frame: Frame, j: int) -> bool:
    return kind_of(frame.column(j), frame.name(j)) == "numeric"


def _named_points(model: Any, X: Any, border: Border, reset: bool) -> Array:
    """A table with names, all of whose columns are numbers."""
    frame = open_frame(X)
    if hasattr(X, "iloc") and not any(isinstance(name, str) for name in X.columns):
        frame = replace(frame, names=None)  # numbered columns have no names, as scikit-learn sees it
    frame = _matched(model, frame, reset)
    if not all(kind_of(frame.column(j), frame.name(j)) in ("numeric", "binary") for j in range(frame.d)):
        raise _word(frame, border)
    found = numbers(frame, range(frame.d))
    return np.ascontiguousarray(found, dtype=None if found.dtype in border.floats else border.floats[0])


def _matched(model: Any, frame: Frame, reset: bool) -> Frame:
    if frame.n == 0 or frame.d == 0:
        what = f"{frame.n} sample(s)" if frame.d else "0 feature(s)"
        raise TableError(f"Found array with {what} (shape=({frame.n}, {frame.d})) while a minimum of 1 is required.")
    if reset:
        model.n_features_in_ = frame.d
        if frame.names is not None:
            model.feature_names_in_ = np.array(frame.names, dtype=object)
        return frame
    names = model.__dict__.get("feature_names_in_")
    frame = frame.matched(tuple(names)) if names is not None else frame
    if frame.d != model.n_features_in_:
        wanted = f"{type(model).__name__} is expecting {model.n_features_in_} features as input."
        raise TableError(f"X has {frame.d} features, but {wanted}")
    return frame


def _word(frame: Frame, border: Border) -> TableError:
    """The error for the first cell that is no number."""
    for j in range(frame.d):
        try:
            cells = numbers(frame, [j])
        except (BadValue, TypeError):
            cells = None
        if cells is None:
            values = [v for v in factorize(frame.column(j), frame.name(j))[0] if number(v) is None]
            name = frame.name(j) if frame.names is None else repr(frame.name(j))
            return BadValue(f"column {name} holds {values[0]!r}: {border.needs} to be a number. {border.words}".strip())
    return BadValue(f"{border.needs} to be a number. {border.words}".strip())


def _finite(model: Any, X: Any, border: Border, names: Any = None) -> Any:
    """X, whose cells are finite, or missing where that is allowed; else the error with row and column."""
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # a sum that is finite had only finite terms
            return X
    wrong = np.isinf(values) if border.allow_missing else ~np.isfinite(values)
    if not wrong.any():
        return X
    rows, columns = np.indices(X.shape).reshape(2, -1) if isinstance(X, np.ndarray) else X.tocoo().coords
    at = int(np.flatnonzero(wrong)[0])
    row, column = int(rows[at]), int(columns[at])
    names = model.__dict__.get("feature_names_in_") if names is None else names
    place = f"row {row}, column {column if names is None else repr(str(names[column]))}"
    if np.isnan(values.ravel()[at]):
        raise BadValue(f"a missing cell (NaN) in {place}: {border.needs}. {border.missing}".strip())
    raise BadValue(f"an infinite cell (inf) in {place}: {border.needs} to be finite")


def _corners(model: Any, X: Any, border: Border) -> Floats:
    columns: Columns = model.columns_
    frame = open_frame(X).matched(columns.schema.names)
    model.n_features_in_ = len(columns.schema)
    model.feature_names_in_ = np.array(columns.schema.names, dtype=object)
    found: Floats = _finite(model, columns.points(frame, border), border, columns.coordinates)
    return found


@dataclass(frozen=True, slots=True)
class Columns:
    """The schema by which a table becomes points: a number is one coordinate, a category one for each of its values."""

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
        made = []
        for j in range(frame.d):
            name = frame.name(j)
            values = () if _is_number(frame, j) else tuple(factorize(frame.column(j), name)[0])
            made.append(Column(name, "categorical" if values else "numeric", values))
        return cls(Schema(tuple(made)))

    def points(self, X: Any, border: Border | None = None) -> Floats:
        """Rows as points; a value that training did not have is at none of its column's corners.

        >>> Columns.of({"age": [31.0, 25.5], "smokes": ["no", "yes"]}).points({"age": [40.0], "smokes": ["yes"]}).tolist()
        [[40.0, 0.0, 1.0]]
        """
        frame = open_frame(X).matched(self.schema.names)
        return np.ascontiguousarray(np.column_stack([self._block(frame, j, border) for j in range(frame.d)]))

    def _block(self, frame: Frame, j: int, border: Border | None) -> Floats:
        column = self.schema.columns[j]
        if column.kind == "numeric":
            return np.asarray(numbers(frame, [j]), dtype=np.float64)
        values, codes = factorize(frame.column(j), column.name)
        if (codes == len(values)).any():
            row = int(np.argmax(codes == len(values)))
            said = f": {border.needs}. {border.missing}" if border is not None else ""
            raise BadValue(f"a missing cell in row {row}, column {column.name!r}{said}")
        place = {value: k for k, value in enumerate(column.values)}
        corner = np.array([place.get(value, len(place)) for value in values], dtype=np.int64)
        return np.eye(len(place) + 1)[corner[codes]][:, :-1]
