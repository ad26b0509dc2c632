"""Tables of cases, of any library, as codes: one column a node, −1 where a cell is missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from ..arrays import Codes
from ..errors import TableError, UnknownColumn, UnknownValue, did_you_mean, listed
from ..table.encode import factorize
from ..table.frame import open_frame
from .factor import code_of


def columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Name and cells of each column of a pandas, polars or Arrow table or of a dict of columns."""
    frame = open_frame(table)
    if frame.names is None:
        raise TableError(
            "a table of cases needs column names: give a pandas, polars or Arrow table or a dict of columns"
        )
    for j, name in enumerate(frame.names):
        yield name, frame.column(j)


def declared(table: Any) -> dict[str, tuple[Hashable, ...]]:
    """The categories that a pandas categorical or a polars Enum lists, in their order.

    >>> import pandas as pd
    >>> declared(pd.DataFrame({"a": pd.Categorical(["lo"], categories=["lo", "hi"]), "b": [1]}))
    {'a': ('lo', 'hi')}
    """
    kinds: Any = getattr(table, "schema", None) if hasattr(table, "lazy") else getattr(table, "dtypes", None)
    if not hasattr(kinds, "items"):
        return {}
    listing = [(name, kind) for name, kind in kinds.items() if type(kind).__name__ in ("CategoricalDtype", "Enum")]
    return {str(name): tuple(kind.categories.to_list()) for name, kind in listing if kind.categories is not None}


def coded(name: str, cells: Any) -> tuple[tuple[Hashable, ...], Codes]:
    """The sorted values of a column and its codes, −1 for a missing cell.

    >>> coded("x", np.array(["b", None, "a"], dtype=object))
    (('a', 'b'), array([ 1, -1,  0], dtype=int32))
    """
    values, codes = factorize(cells, name)
    found = codes.astype(np.int32)
    found[found == len(values)] = -1
    return tuple(values), found


def read_cases(
    table: Any, index: dict[str, int], states: Mapping[str, tuple[Hashable, ...]], skip: frozenset[str] = frozenset()
) -> Codes:
    """Codes of shape (cases, nodes): −1 in missing cells and in the columns that the table lacks or `skip` names.

    >>> read_cases({"b": ["no", None]}, {"a": 0, "b": 1}, {"a": ("x",), "b": ("yes", "no")}).tolist()
    [[-1, 1], [-1, -1]]
    """
    found: Codes | None = None
    for name, cells in columns(table):
        if name not in index:
            raise UnknownColumn(f"column {name!r} is no node{did_you_mean(name, index) or '.'} nodes: {listed(index)}")
        if found is None:
            found = np.full((len(cells), len(index)), -1, dtype=np.int32)
        if name not in skip:
            found[:, index[name]] = _in_states(name, cells, states[name])
    if found is None:
        raise TableError("a table of cases needs at least one column")
    return found


def _in_states(name: str, cells: Any, states: tuple[Hashable, ...]) -> Codes:
    values, codes = coded(name, cells)
    place = np.full(len(values) + 1, -1, dtype=np.int32)  # the last one is for missing cells, coded −1
    for i, value in enumerate(values):
        try:
            place[i] = code_of(value, states, name)
        except UnknownValue as error:
            raise UnknownValue(f"column {name!r}, row {int(np.argmax(codes == i))}: {error}") from None
    return place[codes]
