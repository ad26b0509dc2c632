"""Any table, seen as columns: NumPy, SciPy sparse, pandas, polars, Arrow, a dict of columns. Knows no model.

A `Frame` copies nothing: it holds the caller's matrix, sparse matrix or Arrow columns, with names where there are any. Only
dates are turned, into days since 1970, so that they are the same numbers wherever they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Ints
from ..errors import BadType, BadValue, TableError, UnknownColumn, counted, did_you_mean, listed, shortened
from .dates import days, holds_dates, without_dates
from .schema import Schema, refuse_repeated

SHORT = 1000  # rows


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of n rows: one of a dense matrix, a CSR matrix, or a list of columns (NumPy or Arrow arrays)."""

    n: int
    names: tuple[str, ...] | None
    matrix: Array | None = None
    sparse: Any = None
    columns: tuple[Any, ...] = ()
    memo: dict[Any, Any] | None = None  # what was made of it, where the same rows are to be read again and again

    def once(self, key: Any, make: Callable[[Frame], Any]) -> Any:
        """What `make` gives of this frame, kept in its memory."""
        assert self.memo is not None
        if key not in self.memo:
            self.memo[key] = make(replace(self, memo=None))
        return self.memo[key]

    @property
    def d(self) -> int:
        """The number of columns."""
        if self.matrix is not None:
            return int(self.matrix.shape[1])
        return int(self.sparse.shape[1]) if self.sparse is not None else len(self.columns)

    def column(self, j: int) -> Any:
        """Column j as a NumPy or an Arrow array."""
        if self.matrix is not None:
            return self.matrix[:, j]
        return self.sparse[:, [j]].toarray()[:, 0] if self.sparse is not None else self.columns[j]

    def name(self, j: int) -> str:
        """What to call column j in a message."""
        return self.names[j] if self.names else f"x{j}"

    def take_columns(self, order: list[int]) -> Frame:
        """The columns in another order."""
        if order == list(range(self.d)):
            return self
        names = tuple(self.names[j] for j in order) if self.names else None
        if self.matrix is not None:
            return Frame(self.n, names, matrix=self.matrix[:, order])
        if self.sparse is not None:
            return Frame(self.n, names, sparse=self.sparse[:, order])
        return Frame(self.n, names, columns=tuple(self.columns[j] for j in order))

    def take_rows(self, rows: Array) -> Frame:
        """The rows of a mask or a list of indices."""
        if self.matrix is not None:
            part = self.matrix[rows]
            return Frame(len(part), self.names, matrix=part)
        if self.sparse is not None:
            part = self.sparse[rows]
            return Frame(part.shape[0], self.names, sparse=part)
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Frame(len(index), self.names, columns=tuple(_taken(c, index) for c in self.columns))

    def matched(self, names: tuple[str, ...]) -> Frame:
        """The columns in the order of `names`, matched by name; what is missing or extra is named."""
        if self.names is None or self.names == names:
            return self
        place = {name: j for j, name in enumerate(self.names)}
        missing = [name for name in names if name not in place]
        wanted = set(names)
        extra = [name for name in self.names if name not in wanted]
        if missing:
            hint = did_you_mean(missing[0], extra) or "."
            raise UnknownColumn(f"missing columns: {listed(missing)}{hint} The table has: {listed(self.names)}")
        if extra:
            hint = did_you_mean(extra[0], names) or "."
            raise UnknownColumn(f"columns not known from training: {listed(extra)}{hint} Expected: {listed(names)}")
        return self.take_columns([place[name] for name in names])


@dataclass(frozen=True, eq=False)
class Lines:
    """Where the rows of a table stand in its file of text, and the first infinite cell of a column as it stands there."""

    begin: Ints
    infinite: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Table:
    """What `read` gives, and every `fit` and `predict` takes: the columns `X`, the target `y` (or None), the `schema`.

    `task` is what the target calls for, "classification" or "regression"; `notes` say what was decided in reading.
    """

    X: Any
    y: Any
    schema: Schema
    notes: tuple[str, ...] = ()
    task: str | None = None
    lines: Lines | None = None  # of a file of text

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        decided = "".join(f"\n  {note}" for note in (*self.notes, *self.schema.notes))
        classes = f", classes {listed(self.schema.classes)}" if self.schema.classes else ""
        return f"Table of {counted(len(self), 'row')}{classes}{decided}"


def labelled(X: Any, y: Any) -> tuple[Any, Any]:
    """(X, y): the labels that were given, else those that the table brings."""
    return (X, X.y) if y is None and isinstance(X, Table) else (X, y)


class ScoresTables:
    """Beside scikit-learn's mixins: `score(table)` compares with the labels that the table brings."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How good `predict` is on rows whose answers are known: accuracy of classes, R² of quantities."""
        X, y = labelled(X, y)
        found: float = super().score(X, y, sample_weight)  # type: ignore[misc]
        return found


def columns_of(X: Any) -> Any:
    """What others can read: the columns of a `Table`, all else as it is."""
    return X.X if isinstance(X, Table) else X


def count_rows(X: Any) -> int:
    """How many rows a table has, where that is known without reading it; else 0.

    >>> [count_rows(X) for X in ({"a": [1, 2, 3]}, [[1.0], [2.0]], np.zeros((5, 2)), {"a": "red"}, None)]
    [3, 2, 5, 0, 0]
    """
    X = columns_of(X)
    if isinstance(X, Mapping):
        X = next(iter(X.values()), ())
    if isinstance(X, Frame):
        return X.n
    shape = getattr(X, "shape", None)
    if shape is None:
        return len(X) if isinstance(X, list | tuple) else 0
    return int(shape[0]) if shape else 0


def open_frame(X: Any) -> Frame:
    """See a table as a `Frame`.

    >>> open_frame({"a": [1, 2], "b": ["x", None]}).names
    ('a', 'b')
    """
    if isinstance(X, Frame):
        return X
    if isinstance(X, Table):
        return open_frame(X.X)
    if isinstance(X, np.ma.MaskedArray):
        return _open_matrix(_unmasked(X))
    if isinstance(X, np.ndarray):
        return _open_matrix(X)
    if hasattr(X, "tocsr") and hasattr(X, "nnz"):
        return _open_sparse(X)
    if isinstance(X, Mapping):
        return _open_mapping(X)
    if isinstance(X, list | tuple):
        return _open_matrix(_from_lists(X))
    if getattr(X, "ndim", 2) == 1 and hasattr(X, "index"):
        raise TableError("a Series is no table: give series.to_frame() for a column, frame.iloc[[i]] for a row")
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "collect") or hasattr(X, "columns"):
        return _open_table(X)
    if hasattr(X, "__array__"):
        return _open_matrix(np.asarray(X))
    raise BadType(
        f"a table must be a NumPy array, a SciPy sparse matrix, a pandas, polars or Arrow table or a dict of columns. "
        f"Got {type(X).__name__} instead."
    )


def _from_lists(X: Any) -> Array:
    if X and isinstance(X[0], Mapping):
        raise TableError("a list of dicts is no table: give a dict of columns, or pandas.DataFrame(rows)")
    if X and all(np.ndim(cell) == 0 for cell in X):
        row = shortened(repr(list(X)), 60)
        raise TableError(
            f"Expected 2D array, got a 1D array instead (shape ({len(X)},)): a row needs brackets of its own, [{row}]. "
            "Reshape your data by [[cell] for cell in X] if it is one column."
        )
    try:
        flat = np.asarray(X)
    except ValueError as error:
        raise TableError("the rows differ in length; every row needs a cell for each column") from error
    if flat.dtype.kind in "US" and not all(isinstance(cell, str) for row in X for cell in row):
        flat = np.array(X, dtype=object)  # ["a", 1] must not become ["a", "1"]
    return flat


def _open_matrix(X: Array) -> Frame:
    if X.ndim != 2:
        shape = "a scalar array" if X.ndim == 0 else f"a {X.ndim}D array"
        raise TableError(
            f"Expected 2D array, got {shape} instead (shape {X.shape}). Reshape your data either using "
            "array.reshape(-1, 1) if it has one column or array.reshape(1, -1) if it is one row."
        )
    if X.dtype.kind == "c":
        raise TableError("Complex data not supported: take its real part, or its modulus and angle, as columns")
    if X.dtype.kind in "mM":
        X = days(X)
    if X.dtype.kind not in "biufOUS":
        raise TableError(f"a matrix of dtype {X.dtype} cannot be used; give numbers, strings or objects")
    if X.dtype == np.float16 or (X.dtype.itemsize > 8 and X.dtype.kind == "f"):
        X = X.astype(np.float64)
    return Frame(len(X), None, matrix=np.asarray(X))


def _unmasked(X: Any) -> Array:
    """A masked array as a plain one: masked cells are NaN among floats, None among all else (which may not be rounded)."""
    mask = np.ma.getmaskarray(X)
    if not mask.any():
        return np.asarray(X.data)
    blank: Array = X.data.astype(np.float64 if X.dtype.kind == "f" else object)
    blank[mask] = None if blank.dtype == object else np.nan
    return blank


def _open_sparse(X: Any) -> Frame:
    if X.ndim != 2:
        raise TableError(f"Expected 2D array, got a {X.ndim}D sparse array instead (shape {X.shape})")
    if X.dtype.kind == "c":
        raise TableError("Complex data not supported: take its real part, or its modulus and angle, as columns")
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    return Frame(rows.shape[0], None, sparse=rows)


def _open_mapping(X: Mapping[Any, Any]) -> Frame:
    names = tuple(str(name) for name in X)
    columns = []
    for name, cells in X.items():
        if isinstance(cells, str) or not hasattr(cells, "__len__"):
            raise TableError(f"column {name!r} must be a list or an array of cells. Got {cells!r} instead.")
        columns.append(_cells(cells, str(name)))
        if getattr(columns[-1], "ndim", 1) != 1:
            raise TableError(
                f"column {name!r} must be a list of cells. Got an array of shape {columns[-1].shape} instead."
            )
    lengths = {name: len(c) for name, c in zip(names, columns)}
    if len(set(lengths.values())) > 1:
        raise TableError(f"columns differ in length: {lengths}")
    return Frame(len(columns[0]) if columns else 0, names, columns=tuple(columns))


def _cells(cells: Any, name: str) -> Any:
    """One column of a dict: a list, an array, a masked array, a Series of any library."""
    import narwhals.dependencies as libraries

    if isinstance(cells, np.ma.MaskedArray):
        return _unmasked(cells)
    if libraries.is_pandas_series(cells):
        return _from_pandas(cells, name)
    if hasattr(cells, "__arrow_c_stream__"):
        import pyarrow as pa

        return without_dates(pa.chunked_array(cells).combine_chunks())
    if hasattr(cells, "__arrow_c_array__"):
        return without_dates(_arrow(cells, name))
    try:
        flat = np.asarray(cells)
    except ValueError:  # lists of different lengths as cells
        flat = np.zeros((0, 0))
    if flat.ndim > 1 and isinstance(
        cells, list | tuple
    ):  # a list in a cell is one cell, which is refused by name later
        flat = np.fromiter(cells, dtype=object, count=len(cells))
    if flat.dtype.kind in "mM":
        return days(flat)
    if flat.dtype.kind == "O" and flat.ndim == 1 and holds_dates(flat):
        return without_dates(_arrow(flat, name))
    if flat.dtype.kind in "US" and isinstance(cells, list | tuple) and not set(map(type, cells)) <= {str, np.str_}:
        flat = np.array(cells, dtype=object)
    return flat


def _open_table(X: Any) -> Frame:
    """pandas, polars (lazy too), Arrow tables and batches, anything with `__arrow_c_stream__`."""
    import narwhals.dependencies as libraries
    import pyarrow as pa

    if not hasattr(X, "__arrow_c_stream__") and hasattr(X, "collect"):
        X = X.collect()
    pandas = libraries.is_pandas_dataframe(X)
    if not pandas and not isinstance(X, pa.Table):
        X = pa.table(X)
    names = [str(c) for c in (X.columns if pandas else X.column_names)]
    refuse_repeated(names)
    if pandas:
        plain = len(names) and all(isinstance(dtype, np.dtype) for dtype in X.dtypes)
        types = set(X.dtypes) if plain else set()
        if plain and (all(t.kind == "f" for t in types) or (len(types) == 1 and next(iter(types)).kind in "biu")):
            return Frame(len(X), tuple(names), matrix=_open_matrix(X.to_numpy()).matrix)
        return Frame(len(X), tuple(names), columns=_columns_of(X, names))
    columns = tuple(without_dates(X.column(j).combine_chunks()) for j in range(X.num_columns))
    return Frame(X.num_rows, tuple(names), columns=columns)


def _columns_of(X: Any, names: list[str]) -> tuple[Any, ...]:
    """The columns of a pandas frame; of a short one numbers of a type together, for a Series costs more than its cells."""
    groups: dict[Any, list[int]] = {}
    for j, dtype in enumerate(X.dtypes if len(X) <= SHORT else ()):
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            groups.setdefault(dtype, []).append(j)
    found: dict[int, Any] = {}
    for where in groups.values():
        block = X.iloc[:, where].to_numpy()
        found |= {j: block[:, k] for k, j in enumerate(where)}
    rest = [j for j in range(len(names)) if j not in found]
    others = (X.iloc[:, rest] if found else X).items() if rest else ()
    found |= {j: _from_pandas(cells, names[j]) for j, (_, cells) in zip(rest, others)}
    return tuple(found[j] for j in range(len(names)))


def _from_pandas(series: Any, name: str) -> Any:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return series.sparse.to_dense().to_numpy()
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories, pd.IntervalIndex):
        return series.astype(object).to_numpy()
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return series.to_numpy()
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        cells = series.to_numpy()
        return without_dates(_arrow(cells, name)) if holds_dates(cells) else cells
    if isinstance(dtype, pd.CategoricalDtype):
        return without_dates(_categories(series.array, name))
    return without_dates(_arrow(series.array, name))


def _categories(cells: Any, name: str) -> Any:
    """What Arrow makes of a Categorical, in a tenth of its time: its codes need no check."""
    import pyarrow as pa

    codes = cells.codes
    missing = codes < 0 if codes.min(initial=0) < 0 else None
    words = _arrow(cells.categories, name)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), words, ordered=cells.ordered, safe=False)


def _taken(column: Any, index: Array) -> Any:
    """Some cells of a column; Arrow takes none of a view of strings, as polars has them."""
    if not isinstance(column, np.ndarray) and str(column.type) in ("string_view", "binary_view"):
        column = column.cast("large_string" if str(column.type) == "string_view" else "large_binary")
    return column.take(index)


def _arrow(cells: Any, name: str) -> Any:
    import pyarrow as pa

    try:
        found = pa.array(cells, from_pandas=True)
    except pa.ArrowException as error:
        raise BadValue(f"column {name!r} cannot be read: {error}") from error
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
