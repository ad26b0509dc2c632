"""Tables of cases, of any library, as codes: one column a node, −1 where a cell is missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posteriori.errors import TableError, UnknownColumn, UnknownValue, did_you_mean, listed
from posteriori.network.factor import code_of
from posteriori.network.findings import unknown

Codes = NDArray[np.int32]


def columns(table: Any) -> Iterator[tuple[str, Any]]:
    """Name and pandas series of each column of a pandas, polars or Arrow table or of a dict of columns."""
    import pandas as pd

    if isinstance(table, Mapping):
        lengths = {name: len(cells) for name, cells in table.items()}
        if len(set(lengths.values())) > 1:
            raise TableError(f"columns differ in length: {lengths}")
        for name, cells in table.items():
            plain = isinstance(cells, list | tuple)  # [1, None] must not become [1.0, nan]
            yield str(name), pd.Series(cells, dtype=object if plain else None)
        return
    import narwhals as nw

    if not hasattr(table, "__arrow_c_stream__") and hasattr(table, "collect"):
        table = table.collect()
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a table of cases must be a pandas, polars or Arrow table or a dict of columns. "
            f"Got {type(table).__name__} instead."
        ) from None
    for name in frame.columns:
        yield str(name), frame[name].to_pandas()


def coded(series: Any) -> tuple[tuple[Hashable, ...], Codes]:
    """The values of a column (categories in their order, else sorted) and its codes, −1 for a missing cell.

    >>> import pandas as pd
    >>> coded(pd.Series(["b", None, "a"]))
    (('a', 'b'), array([ 1, -1,  0], dtype=int32))
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return tuple(series.cat.categories.tolist()), np.array(series.cat.codes, dtype=np.int32)
    codes, values = pd.factorize(series, use_na_sentinel=True)
    found = values.tolist()
    try:
        order = sorted(range(len(found)), key=found.__getitem__)
    except TypeError:  # values of several types
        order = sorted(range(len(found)), key=lambda i: (str(type(found[i])), str(found[i])))
    place = np.empty(len(found) + 1, dtype=np.int32)
    place[order] = np.arange(len(found))
    place[-1] = -1
    return tuple(found[i] for i in order), place[codes]


def read_cases(
    table: Any, index: dict[str, int], states: Mapping[str, tuple[Hashable, ...]], skip: frozenset[str] = frozenset()
) -> Codes:
    """Codes of shape (cases, nodes): −1 in missing cells and in the columns that the table lacks or `skip` names.

    >>> read_cases({"b": ["no", None]}, {"a": 0, "b": 1}, {"a": ("x",), "b": ("yes", "no")}).tolist()
    [[-1, 1], [-1, -1]]
    """
    found: Codes | None = None
    for name, series in columns(table):
        if name not in index:
            raise UnknownColumn(f"column {name!r} is no node{did_you_mean(name, index) or '.'} nodes: {listed(index)}")
        if found is None:
            found = np.full((len(series), len(index)), -1, dtype=np.int32)
        if name not in skip:
            found[:, index[name]] = _in_states(name, series, states[name])
    if found is None:
        raise TableError("a table of cases needs at least one column")
    return found


def _in_states(name: str, series: Any, states: tuple[Hashable, ...]) -> Codes:
    values, codes = coded(series)
    place = np.full(len(values) + 1, -1, dtype=np.int32)  # the last one is for missing cells, coded −1
    for i, value in enumerate(values):
        used = codes == i
        if not used.any() or unknown(value):
            continue
        try:
            place[i] = code_of(value, states, name)
        except UnknownValue as error:
            raise UnknownValue(f"column {name!r}, row {int(np.argmax(used))}: {error}") from None
    return place[codes]
