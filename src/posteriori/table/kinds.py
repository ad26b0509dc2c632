"""The kind of each column: told, or read off its dtype. Nothing here looks at how many values there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import BadValue, TableError, UnknownColumn, did_you_mean, listed
from .encode import is_missing
from .frame import Frame
from .schema import Schema, check_kind

Kinds = str | Mapping[Any, str] | Schema | None


def resolve_kinds(frame: Frame, kinds: Kinds) -> tuple[str, ...]:
    """A kind for each column of the frame: what was told, else what the dtype says."""
    if isinstance(kinds, Schema):
        return kinds.kinds
    if isinstance(kinds, str):
        return (check_kind(kinds, "(all)"),) * frame.d
    if kinds is not None and not isinstance(kinds, Mapping):
        raise TableError(f"kinds must be a kind for all columns, a dict for some, or a Schema. Got {kinds!r} instead.")
    told = {_place(frame, key): check_kind(kind, str(key)) for key, kind in (kinds or {}).items()}
    if frame.matrix is not None and frame.matrix.dtype != object and not told:
        return (kind_of(frame.matrix[:0, 0] if frame.d else frame.matrix, "all columns"),) * frame.d
    if frame.sparse is not None:
        usual = {"b": "binary", "i": "count", "u": "count"}.get(frame.sparse.dtype.kind, "numeric")
        return tuple(told.get(j, usual) for j in range(frame.d))
    return tuple(told[j] if j in told else kind_of(frame.column(j), frame.name(j)) for j in range(frame.d))


def kind_of(column: Any, name: str) -> str:
    """What the dtype alone says: strings and categories are categorical, booleans binary, numbers numeric.

    >>> kind_of(np.array(["a", "b"]), "x"), kind_of(np.array([1, 2]), "x"), kind_of(np.array([True]), "x")
    ('categorical', 'numeric', 'binary')
    """
    if isinstance(column, np.ndarray) and column.dtype != object:
        if column.dtype.kind in "iuf":
            return "numeric"
        if column.dtype.kind in "bUS":
            return "binary" if column.dtype.kind == "b" else "categorical"
        raise _no_kind(name, str(column.dtype))
    return _arrow_kind(_arrow_type(column, name), name)


def _arrow_type(column: Any, name: str) -> Any:
    """The Arrow type of a column; of Python objects, the type they share, or None where they share none."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column.type
    try:
        return pa.infer_type([v for v in column if not is_missing(v)])
    except (pa.ArrowException, OverflowError):
        strange = next((v for v in column if not is_missing(v) and getattr(v, "__hash__", None) is None), None)
        if strange is not None:
            raise TypeError(f"column {name!r}: argument must be a string or a number, not {strange!r}") from None
        return None


def _arrow_kind(kind: Any, name: str) -> str:
    import pyarrow.types as t

    if kind is None or t.is_null(kind) or t.is_dictionary(kind):
        return "categorical"
    if t.is_boolean(kind):
        return "binary"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind):
        return "numeric"
    words = (t.is_string, t.is_large_string, t.is_string_view, t.is_binary, t.is_large_binary, t.is_binary_view)
    if any(is_one(kind) for is_one in words):
        return "categorical"
    raise _no_kind(name, str(kind))


def _no_kind(name: str, dtype: str) -> Exception:
    if dtype.startswith(("date", "time", "duration")):
        return BadValue(
            f"column {name!r} holds dates ({dtype}): derive numbers or categories from it (weekday, age, …)"
        )
    return TypeError(f"column {name!r}: argument must be a string or a number, not {dtype}")


def _place(frame: Frame, key: Any) -> int:
    if frame.names is not None and str(key) in frame.names:
        return frame.names.index(str(key))
    if frame.names is None and isinstance(key, int | np.integer) and not isinstance(key, bool):
        if not -frame.d <= key < frame.d:
            raise UnknownColumn(f"kinds names column {key}, but the table has {frame.d} columns")
        return int(key) % frame.d
    names = frame.names or tuple(f"x{j}" for j in range(frame.d))
    if key not in names:
        raise UnknownColumn(f"kinds names no column {key!r}{did_you_mean(key, names)} Columns: {listed(names)}")
    return names.index(key)
