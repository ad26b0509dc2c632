"""The explicit first pass: look at every cell once, decide the kind of every column, and say what was decided.

Rules, in order: told is told · strings and categories are categorical, but long free text is text · booleans and columns
with the two values 0 and 1 are binary · whole numbers with few values (at most `FEW`, each seen `OFTEN` times on average)
are categorical · other numbers are numeric · a column of strings or whole numbers with a value for nearly every row is
warned about: an id tells nothing of the next row.
"""

from __future__ import annotations

import html
import warnings
from typing import Any

import numpy as np

from .encode import factorize
from .frame import Frame, open_frame
from .kinds import Kinds, _place, kind_of, resolve_kinds
from .labels import encode_labels
from .schema import VALUED, Column, Schema

FEW, OFTEN = 10, 10
WORDY = 4.0  # words a cell from which strings with many values are text


def infer(X: Any, y: Any = None, kinds: Kinds = None) -> Schema:
    """A schema with the values of every column, and `notes` that say what was decided and why.

    >>> s = infer({"smokes": ["no", "yes"] * 30, "rooms": [1, 2, 3] * 20, "rent": [411.5, 730.2, 951.0] * 20})
    >>> s.kinds
    ('categorical', 'categorical', 'numeric')
    >>> s.notes[1]
    'rooms: categorical (whole numbers, 3 values)'
    """
    frame = open_frame(X)
    if frame.sparse is not None:
        frame = Frame(frame.n, frame.names, sparse=frame.sparse.tocsc())
    told = _told(frame, kinds)
    columns, notes = [], []
    for j in range(frame.d):
        column, note = _decide(frame.column(j), frame.name(j), told.get(j))
        columns.append(column)
        notes.append(note)
    classes = () if y is None else tuple(encode_labels(y)[0].tolist())
    return Schema(tuple(columns), classes, frozenset(classes), notes=tuple(notes))


def _told(frame: Frame, kinds: Kinds) -> dict[int, str]:
    if isinstance(kinds, dict):
        resolve_kinds(frame.take_rows(np.arange(min(frame.n, 1))), kinds)
        return {_place(frame, name): kind for name, kind in kinds.items()}
    return {} if kinds is None else dict(enumerate(resolve_kinds(frame, kinds)))


def _decide(cells: Any, name: str, told: str | None) -> tuple[Column, str]:
    by_dtype = told or kind_of(cells, name)
    if by_dtype in ("numeric", "count") and told:
        return Column(name, told), f"{name}: {told} (told)"
    if by_dtype == "numeric":
        return _decide_numbers(cells, name)
    values, codes = factorize(cells, name)
    rows = int(np.count_nonzero(codes != len(values)))
    if told:
        kind, why = told, "told"
    elif by_dtype == "binary":
        kind, why = "binary", "booleans"
    elif _is_text(values, rows):
        kind, why = "text", f"free text, {len(values)} different cells"
    else:
        kind, why = "categorical", f"strings, {len(values)} values"
        _warn_id(name, len(values), rows)
    if by_dtype == "binary" and set(values) <= {False, True}:
        values = (False, True)
    if kind == "categorical" and values and all(isinstance(v, str) and v.isdigit() for v in values):
        why += ", all digits: leading zeros keep them words"
    declared = frozenset(values) if kind in VALUED and kind != "text" else frozenset()
    return Column(name, kind, tuple(values) if declared else (), declared), f"{name}: {kind} ({why})"


def _decide_numbers(cells: Any, name: str) -> tuple[Column, str]:
    values, codes = factorize(cells, name)
    rows = int(np.count_nonzero(codes != len(values)))
    whole = all(float(v).is_integer() for v in values)  # type: ignore[arg-type]
    if whole and set(values) == {0, 1}:
        return Column(name, "binary", tuple(values), frozenset(values)), f"{name}: binary (0 and 1)"
    if whole and len(values) <= FEW and rows >= OFTEN * len(values):
        note = f"{name}: categorical (whole numbers, {len(values)} values)"
        return Column(name, "categorical", tuple(values), frozenset(values)), note
    if whole:
        _warn_id(name, len(values), rows)
    return Column(name, "numeric"), f"{name}: numeric ({len(values)} different numbers)"


def _is_text(values: Any, rows: int) -> bool:
    words = [v.count(" ") + 1 for v in values if isinstance(v, str)]
    return bool(words) and len(values) > 0.5 * rows and float(np.mean(words)) >= WORDY


def _warn_id(name: str, values: int, rows: int) -> None:
    if rows >= 20 and values >= 0.95 * rows:
        warnings.warn(
            f"column {name!r} has {values} different values in {rows} rows and looks like an id: leave it out, "
            "it tells nothing of the next row",
            UserWarning,
            stacklevel=2,
        )


def schema_html(schema: Schema) -> str:
    """The schema as a table, for a notebook."""
    rows = "".join(
        f"<tr><td>{html.escape(c.name)}</td><td>{c.kind}</td>"
        f"<td>{html.escape(', '.join(map(str, c.values[:8])))}{'…' if len(c.values) > 8 else ''}</td></tr>"
        for c in schema.columns
    )
    return f"<table><tr><th>column</th><th>kind</th><th>values</th></tr>{rows}</table>"
