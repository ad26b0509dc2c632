"""From a file to a table with a schema: CSV, Parquet and JSON lines through DuckDB, ARFF by a reader of its own.

Every format ends in the same frame: numbers, words, dates as `datetime64`; what was decided on the way is in the notes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BadParameter, UnknownColumn, did_you_mean, listed
from .databases import DATABASES, from_database
from .dates import WRITTEN, as_dates, date_columns, plain_dates
from .encode import FEW
from .files import FORMATS, at_hand, from_arff, query
from .frame import Frame, Table, open_frame
from .kinds import Kinds, infer_frame
from .schema import Column, Schema, in_order, is_missing

MISSING = ("?", "NA", "N/A", "n/a", "na", "null", "NULL", "None", "none", "NaN", "nan", "#N/A", "-", "--", ".", "")
# what stands for a missing cell where all else is a number; the last is a cell of blanks
SIGNS = ("+", "-", ".", "i", "I")  # with which a number may begin
MANY_CLASSES, OFTEN = 20, 10  # whole numbers with more values than this, each seen less often, are a quantity


def read(
    path: Any,
    target: str | None = None,
    kinds: Kinds = None,
    sql: str | None = None,
    encoding: str = "utf-8",
    *,
    missing: str | Sequence[str] | None = None,
    decimal: str = ".",
    header: bool | Sequence[str] | None = None,
    format: str | None = None,
) -> Table:
    """Read a file (CSV, Parquet, JSON lines, ARFF, `.gz` too; a database), look at every cell once, decide the schema.

    Parameters
    ----------
    path : a path, or an open file (text or binary)
    target : str, optional
        The column to be predicted; rows without it are left out, with a warning. Whole numbers and words are classes;
        a quantity (`table.task` says "regression") is for the regressors. Its kind in `kinds`, "categorical" or "numeric",
        settles doubt.
    kinds : str or dict, optional
        Kinds that are told and not inferred.
    sql : str, optional
        A query over the file, named `this`: `read("big.parquet", sql="SELECT * FROM this WHERE year = 2026")`; of a
        database (`.duckdb`, `.sqlite`, `.db`) over its own tables; where there is but one it may be left out.
    encoding : str
        Of a text file; any that Python knows.
    missing : str or list of str, optional
        Words that stand for a missing cell, in every column. An empty cell is always one. Unless told, "?", "NA", "N/A",
        "null", "-" and the like are, in columns where every other cell is a number.
    decimal : "." or ","
        The decimal mark of a CSV file.
    header : bool or list of str, optional
        Whether the first line of a CSV file has the names, or the names; unless told, it has where it looks like it.
    format : "csv", "parquet", "json", "arff", "duckdb" or "sqlite", optional
        Unless told, the ending says.

    >>> import io
    >>> read(io.StringIO("size,kind\\n1.5,a\\n?,b\\n2.5,a\\n"), target="kind")
    Table of 3 rows, classes 'a', 'b'
      size: 1 cell '?' read as missing
      size: numeric (2 different numbers)
    """
    _check_options(sql, encoding, missing, decimal, header, format)
    with at_hand(path, encoding, format) as (file, name, form):
        if form == "arff":
            frame, values, notes = from_arff(file, name, sql)
        elif form in DATABASES.values():
            (frame, notes), values = from_database(file, name, form, sql), {}
        else:
            frame, notes = query(file, name, form, sql, decimal, header)
            values = {}
    words = MISSING if missing is None else (missing,) if isinstance(missing, str) else tuple(missing)
    frame, opened, more = _understood(frame, words, missing is not None, decimal)
    return _with_target(frame, opened, target, kinds, values, (*notes, *more), name)


def _check_options(sql: Any, encoding: Any, missing: Any, decimal: Any, header: Any, format: Any) -> None:
    words = [missing] if isinstance(missing, str) else missing
    if words is not None and not (isinstance(words, Sequence) and all(isinstance(w, str) for w in words)):
        raise BadParameter(f"missing must be a word or a list of words. Got {missing!r} instead.")
    if decimal not in (".", ","):
        raise BadParameter(f"decimal must be '.' or ','. Got {decimal!r} instead.")
    names = None if header is None or isinstance(header, bool) else header
    if names is not None and not (
        isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(n, str) for n in names)
    ):
        raise BadParameter(f"header must be True, False or a list of names. Got {header!r} instead.")
    if format is not None and (not isinstance(format, str) or format not in set(FORMATS.values())):
        known = sorted(set(FORMATS.values()))
        raise BadParameter(
            f"format must be one of {listed(known)}{did_you_mean(format, known) or '.'} Got {format!r} instead."
        )
    if sql is not None and not (isinstance(sql, str) and sql.strip()):
        raise BadParameter(f"sql must be a query, as text. Got {sql!r} instead.")
    try:
        "".encode(encoding)
    except (TypeError, LookupError):
        raise BadParameter(
            f"encoding must be one that Python knows ('utf-8', 'latin-1', 'gbk', …). Got {encoding!r} instead."
        ) from None


def _understood(frame: Any, words: tuple[str, ...], told: bool, decimal: str) -> tuple[Any, Frame, list[str]]:
    """(the frame, the same opened, notes): words that stand for missing cells, and dates, alike whatever the format."""
    import pandas as pd

    notes: list[str] = []
    changed: dict[int, Any] = {}
    opened = open_frame(frame)
    for j, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes)):
        if dtype.kind in "biuf":
            continue
        if dtype.kind == "M":
            changed[j] = plain_dates(frame.iloc[:, j])
        elif (dtype.kind == "O" or pd.api.types.is_string_dtype(dtype)) and _looks_odd(
            opened.column(j), words, decimal
        ):
            cells = frame.iloc[:, j]
            mended, said = _looked_at(cells, words, told, decimal)
            notes += [f"{name}: {note}" for note in said]
            if mended is not cells:
                changed[j] = mended
    if not changed:
        return frame, opened, notes
    made = pd.DataFrame({j: changed.get(j, cells) for j, (_, cells) in enumerate(frame.items())})
    made.columns = frame.columns
    return made, open_frame(made), notes


def _looks_odd(cells: Any, words: tuple[str, ...], decimal: str) -> bool:
    """Whether a column of words may be something else: numbers with a word for missing ones, or dates.

    The distinct words decide, so that a column of few of them costs little however long it is.
    """
    if isinstance(cells, np.ndarray):
        distinct = {v for v in cells.tolist() if not is_missing(v)}
    else:
        distinct = set((cells if len(cells) <= FEW else cells.unique()).to_pylist()) - {None}
    if not distinct or not all(isinstance(v, str) for v in distinct):
        return False
    plain = set(map(str.strip, distinct))
    if decimal == "," or not plain.isdisjoint(words):
        return True
    one = next(iter(plain))  # all are dates, or numbers with commas, or none of it matters
    number = one[:1].isdigit() or one[:1] in SIGNS
    return re.fullmatch(WRITTEN, one) is not None or (number and any("," in v for v in plain))


def _looked_at(cells: Any, words: tuple[str, ...], told: bool, decimal: str) -> tuple[Any, list[str]]:
    """The same for a column whose words may be numbers, dates or signs for missing cells."""
    plain = cells.str.strip()
    sign = plain.isin(words)
    rest = plain[~sign & cells.notna()]
    found = sorted(set(plain[sign]))
    count = int(sign.sum())
    said = [f"{count} cell{'s' * (count > 1)} {listed(found)} read as missing"] if count else []
    if len(rest) and (count or decimal == ",") and (made := _as_numbers(rest, decimal)) is not None:
        return made.reindex(cells.index), said
    if len(rest) and (dates := as_dates(rest)) is not None:
        return dates.reindex(cells.index), said
    if len(rest) and decimal == "." and rest.str.contains(",").any() and _as_numbers(rest, ",") is not None:
        said_of = f"column {cells.name!r} holds words like {rest.iloc[0]!r}"
        warnings.warn(f"{said_of}: decimal=',' reads them as numbers", stacklevel=5)
    return (cells.where(~sign), said) if told and count else (cells, [])


def _as_numbers(words: Any, decimal: str) -> Any:
    """Words as floats, or None where one is no number, or where leading zeros say that they are names."""
    if words.str.match(r"[+-]?0\d").any():
        return None
    shape = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?"
    plain = words.str.replace(decimal, ".", regex=False)
    return plain.astype(float) if plain.str.fullmatch(shape, case=False).all() else None


def _with_target(
    frame: Any,
    opened: Frame,
    target: str | None,
    kinds: Kinds,
    values: dict[str, Any],
    notes: tuple[str, ...],
    name: str,
) -> Table:
    names = list(frame.columns)
    if target is None:
        return Table(frame, None, _declared(infer_frame(opened, date_columns(frame), None, kinds), values), notes)
    if target not in names:
        hint = did_you_mean(target, names) or "."
        raise UnknownColumn(f"no column {target!r} in {name}{hint} Columns: {listed(names)}{_said(notes)}")
    told = kinds.get(target) if isinstance(kinds, dict) else None
    kinds = {k: v for k, v in kinds.items() if k != target} if isinstance(kinds, dict) else kinds
    gone = frame[target].isna().to_numpy()
    if gone.any():
        row = int(gone.argmax())
        warnings.warn(
            f"{name}: {int(gone.sum())} rows have no {target!r} (first: row {row}) and are left out", stacklevel=3
        )
        frame, opened = frame[~gone].reset_index(drop=True), opened.take_rows(~gone)
    opened = opened.take_columns([j for j, other in enumerate(names) if other != target])
    X, y = frame.drop(columns=[target]), _plain_labels(frame[target])
    note = _quantity(y, told)
    if note:
        made = infer_frame(opened, date_columns(X), None, kinds)
        y, task = y.astype(np.float64), "regression"
        notes = (*notes, f"{target}: {note}, for a regressor")
    else:
        made, task = infer_frame(opened, date_columns(X), y, kinds), "classification"
        classes = values.get(target)
        if classes is not None:
            made = Schema(made.columns, in_order(classes), frozenset(classes), notes=made.notes)
    made = _declared(made, values)
    return Table(X, y, Schema(made.columns, made.classes, made.declared_classes, target, made.notes), notes, task)


def _said(notes: tuple[str, ...]) -> str:
    return "".join(f" ({note})" for note in notes if note.startswith("no header"))


def _plain_labels(cells: Any) -> Any:
    """Labels as NumPy has them: whole numbers that a missing cell had made floats are whole again."""
    y = cells.to_numpy()
    if y.dtype == object and len(y) and all(isinstance(v, bool) for v in y):
        return y.astype(bool)
    whole = y.dtype.kind == "f" and np.isfinite(y).all() and (np.abs(y) < 2**53).all() and (y == np.floor(y)).all()
    return y.astype(np.int64) if whole else y


def _quantity(y: Any, told: str | None) -> str:
    """Why a target is a quantity and no class, or nothing."""
    if y.dtype.kind not in "iuf" or told in ("categorical", "binary"):
        return ""
    if told is not None:
        return f"{told} (told)"
    values = np.unique(y)
    if y.dtype.kind == "f":
        return f"continuous ({len(values)} different numbers)"
    many = len(values) > MANY_CLASSES and len(y) < OFTEN * len(values)
    return f"continuous (whole numbers, {len(values)} different in {len(y)} rows)" if many else ""


def _declared(schema: Schema, values: dict[str, Any]) -> Schema:
    """The schema with the values that the file itself declares, whether or not a row has them."""
    if not values:
        return schema
    columns = tuple(
        Column(c.name, c.kind, in_order(values[c.name]), frozenset(values[c.name]))
        if c.name in values and c.kind == "categorical"
        else c
        for c in schema.columns
    )
    return Schema(columns, schema.classes, schema.declared_classes, schema.target, schema.notes)
