"""From a file to a table with a schema: CSV, Parquet and JSON lines through DuckDB, ARFF by a reader of its own.

Every format ends in the same frame: numbers, words, dates as `datetime64`; what was decided on the way is in the notes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Ints
from ..errors import BadParameter, BadType, BadValue, UnknownColumn, counted, did_you_mean, listed
from .arff import from_arff
from .dates import MAYBE, OPEN, YEAR_FIRST, as_dates, as_names, date_columns, date_form, plain_dates
from .encode import FEW, as_written
from .files import from_database, query, read_text
from .frame import Frame, Lines, Table, open_frame
from .kinds import Kinds, infer_frame
from .schema import NUMBER, OR_INFINITE, Column, Reading, Schema, in_order, is_missing
from .source import DATABASES, FORMATS, local_file
from .text import Dialect, read_words

THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+"
EXACT = 2.0**53  # from here on a float may stand for several whole numbers
SIGNS = ("+", "-", ".", "i", "I")  # with which a number may begin
MANY_CLASSES, OFTEN = 20, 10  # whole numbers with more values than this, each seen less often, are a quantity


def read(
    path: Any,
    target: str | None = None,
    kinds: Kinds = None,
    sql: str | None = None,
    encoding: str | None = None,
    *,
    missing: str | Sequence[str] | None = None,
    decimal: str | None = None,
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
    encoding : str, optional
        Of a text file; any that Python knows. Unless told it is UTF-8, or what its bytes leave no doubt about: UTF-16 with
        its mark, western European (cp1252), Chinese (gb18030); a note says so.
    missing : str or list of str, optional
        Words that stand for a missing cell, in every column. An empty cell is always one; "?", "NA", "N/A", "null", "-" and
        the like are, in columns where every other cell is a number, unless the list is empty.
    decimal : "." or ",", optional
        The decimal mark of a CSV file. Unless told, a column of "1,5" and the like is one of numbers, and a note says so;
        one of "1,234" alone may mean thousands, and stays words, with a warning.
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
    values: dict[str, Any] = {}
    lines = dialect = None
    told = None if missing is None else (missing,) if isinstance(missing, str) else tuple(missing)
    with local_file(path, encoding, format) as (file, name, form, said):
        if form == "arff":
            frame, values, notes = from_arff(file, name, sql)
        elif form in DATABASES.values():
            frame, notes = from_database(file, name, form, sql)
        elif form == "csv" and sql is None:
            frame, lines, dialect = read_text(file, name, decimal or ".", header)
            notes = dialect.notes
        else:
            frame, notes = query(file, name, form, sql, decimal or ".", header)
        frame = _with_digits(frame)
        frame, opened, reading, more = _understood(frame, Reading(told), decimal, form == "csv")
        table = _with_target(frame, opened, target, kinds, values, (*said, *notes, *more), name)
        if lines is not None and dialect is not None:
            table = replace(table, lines=_lines_of(table, frame, target, lines, file, dialect))
    bare = header is False or any(note.startswith("no header") for note in notes)
    return replace(table, schema=replace(table.schema, reading=replace(reading, header=not bare)))


def _lines_of(table: Table, frame: Any, target: str | None, lines: Ints, file: Any, dialect: Dialect) -> Lines:
    """The lines of the rows that have a label; infinite cells as the file has them."""
    kept = lines if target is None else lines[frame[target].notna().to_numpy()]
    numbers = {n: table.X[n].to_numpy() for n in table.X if table.X[n].dtype.kind == "f"}
    if target is not None and table.task == "regression":
        numbers[target] = table.y
    wrong = {n: np.isinf(cells.astype(float)) for n, cells in numbers.items()}
    wrong = {n: cells for n, cells in wrong.items() if cells.any()}
    words = read_words(file, dialect, list(wrong))
    at = {n: int(np.searchsorted(lines, kept[int(cells.argmax())])) for n, cells in wrong.items()}
    return Lines(kept, {n: words.column(n)[row].as_py() for n, row in at.items()})


def _with_digits(frame: Any) -> Any:
    """The frame, its numbers of single precision as a file of text has them."""
    import pyarrow as pa

    short = [j for j, dtype in enumerate(frame.dtypes) if dtype == np.float32]
    frame = frame.copy(deep=False) if short else frame
    for j in short:
        cells = pa.array(frame.iloc[:, j].to_numpy(), from_pandas=True)
        frame.isetitem(j, as_written(cells).to_numpy(zero_copy_only=False))
    return frame


def _check_options(sql: Any, encoding: Any, missing: Any, decimal: Any, header: Any, format: Any) -> None:
    words = [missing] if isinstance(missing, str) else missing
    if words is not None and not (isinstance(words, Sequence) and all(isinstance(w, str) for w in words)):
        raise BadParameter(f"missing must be a word or a list of words. Got {missing!r} instead.")
    if decimal is not None and decimal not in (".", ","):
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
        "".encode("utf-8" if encoding is None else encoding)
    except (TypeError, LookupError):
        raise BadParameter(
            f"encoding must be one that Python knows ('utf-8', 'latin-1', 'gbk', …). Got {encoding!r} instead."
        ) from None


def _understood(
    frame: Any, reading: Reading, decimal: str | None, untyped: bool
) -> tuple[Any, Frame, Reading, list[str]]:
    """(the frame, the same opened, how, notes): words for missing cells, and dates, alike whatever the format.

    Of an `untyped` file, one of text alone, words that are numbers but for a plus or blanks are numbers too.
    """
    import pandas as pd

    notes: list[str] = []
    changed: dict[int, Any] = {}
    dates: dict[str, str] = {}
    marks = {decimal or "."}
    opened = open_frame(frame)
    for j, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes)):
        if dtype.kind == "M":
            changed[j], dates[str(name)] = plain_dates(frame.iloc[:, j]), YEAR_FIRST
        elif dtype.kind == "O" and isinstance(next(iter(frame.iloc[:, j].dropna()), None), bytes | bytearray):
            one = f'"{name}"'
            way_out = (
                f"cast it to text, for instance by sql: SELECT * REPLACE (CAST({one} AS VARCHAR) AS {one}) FROM this"
            )
            raise BadType(f"column {name!r}: argument must be a string or a number, not bytes; {way_out}")
        elif (dtype.kind == "O" or pd.api.types.is_string_dtype(dtype)) and _looks_odd(
            opened.column(j), reading.gaps, decimal, untyped
        ):
            cells = frame.iloc[:, j]
            mended, how, said = _looked_at(cells, reading, decimal, untyped)
            notes += [f"{name}: {note}" for note in said]
            if mended is not cells:
                changed[j] = mended
            if how == ",":
                marks.add(how)
            elif how is not None:
                dates[str(name)] = how
        cells = changed.get(j, frame.iloc[:, j])
        if cells.dtype.kind in "iuf" and (found := _without_told(cells, reading)) is not None:
            changed[j], said_of = found
            notes.append(f"{name}: {said_of}")
    reading = replace(reading, decimal="," if "," in marks else ".", dates=tuple(dates.items()))
    if not changed:
        return frame, opened, reading, notes
    made = pd.DataFrame({j: changed.get(j, cells) for j, (_, cells) in enumerate(frame.items())})
    made.columns = frame.columns
    return made, open_frame(made), reading, notes


def _without_told(cells: Any, reading: Reading) -> tuple[Any, str] | None:
    """(a column of numbers without those that were told to be missing, a note), or None where there are none."""
    held = getattr(cells.dtype, "numpy_dtype", cells.dtype)
    found = {word: cells.isin(np.array([number], held)) for word, number in reading.told_as(held).items()}
    gone = sum(found.values(), np.zeros(len(cells), dtype=bool)) > 0
    count = int(np.sum(gone))
    if not count:
        return None
    mended = cells.astype("UInt64" if held == np.uint64 else "Int64") if held.kind in "iu" else cells
    mended = mended.mask(gone)
    words = listed([word for word, at in found.items() if at.any()])
    return mended, f"{counted(count, 'cell')} {words} read as missing"


def _looks_odd(cells: Any, gaps: tuple[str, ...], decimal: str | None, untyped: bool = False) -> bool:
    """Whether a column of words may be something else: numbers with a word for missing ones, or with signs, or dates.

    The distinct words decide, so that a column of few of them costs little however long it is.
    """
    if isinstance(cells, np.ndarray):
        try:
            distinct = {v for v in cells.tolist() if not is_missing(v)}
        except TypeError:  # lists or records, which no kind of column takes
            return False
    else:
        distinct = set((cells if len(cells) <= FEW else cells.unique()).to_pylist()) - {None}
    if not distinct or not all(isinstance(v, str) for v in distinct):
        return False
    plain = set(map(str.strip, distinct))
    if decimal == "," or not plain.isdisjoint(gaps):
        return True
    one = next(iter(plain))  # all are dates, or numbers with commas, or none of it matters
    number = one[:1].isdigit() or one[:1] in SIGNS
    if MAYBE.fullmatch(one) is not None or (number and any("," in v for v in plain)):
        return True
    return number and untyped and _is_signed(distinct) and all(map(NUMBER.fullmatch, plain))


def _is_signed(words: Iterable[str]) -> bool:
    """Whether a plus before some of these words, or blanks around them, keeps the engine from reading numbers."""
    return any(word[:1] == "+" or word != word.strip() for word in words)


def _looked_at(
    cells: Any, reading: Reading, decimal: str | None, untyped: bool = False
) -> tuple[Any, str | None, list[str]]:
    """(the column, how it was read, notes): words may be numbers (how: a comma), dates (their form) or missing cells."""
    plain = cells.str.strip()
    sign = plain.isin(reading.gaps)
    rest = plain[~sign & cells.notna()]
    found = sorted(set(plain[sign]))
    count = int(sign.sum())
    said = [f"{counted(count, 'cell')} {listed(found)} read as missing"] if count else []
    marked = count > 0 or decimal == "," or (untyped and _is_signed(cells[rest.index].unique()))
    if len(rest) and marked and (made := _as_numbers(rest, decimal or ".")) is not None:
        return made.reindex(cells.index), None, said
    form = date_form(rest) if len(rest) else None
    if form is not None and form != OPEN:
        said += [f"dates, written as {rest.iloc[0]!r}"] * (form != YEAR_FIRST)
        return as_dates(rest, form).reindex(cells.index), form, said
    if form == OPEN:
        warnings.warn(
            f"column {cells.name!r} holds words like {rest.iloc[0]!r}: dates, but no cell tells whether the day or the "
            "month comes first; written as 2020-12-31 they are read as dates",
            stacklevel=5,
        )
    commas = rest[rest.str.contains(",")] if len(rest) and decimal is None else rest[:0]
    if len(commas) and (made := _as_numbers(rest, ",")) is not None:
        if not commas.str.fullmatch(THOUSANDS).all():
            return made.reindex(cells.index), ",", [*said, f"numbers with a decimal comma, as {rest.iloc[0]!r}"]
        one = commas.iloc[0]
        warnings.warn(
            f"column {cells.name!r} holds words like {one!r}: written as {one.replace(',', '')} or as "
            f"{one.replace(',', '.')} they are numbers; in Python decimal=',' reads the comma as a decimal mark",
            stacklevel=5,
        )
    return (cells.where(~sign), None, said) if reading.told and count else (cells, None, [])


def _as_numbers(words: Any, decimal: str) -> Any:
    """Words as numbers, whole ones if all are; None where one is no number, or where they are names.

    Names are those with leading zeros, and whole numbers so long that floats would make equal what differs.
    """
    if words.str.match(r"[+-]?0\d").any():
        return None
    plain = words.str.replace(decimal, ".", regex=False)
    if not plain.str.fullmatch(OR_INFINITE.pattern, case=False).all():
        return None
    made, whole = plain.astype(float), plain.str.fullmatch(r"[+-]?\d+")
    if (made.abs() < EXACT).all():
        return made.astype("Int64") if whole.all() else made
    different = set(plain[whole].str.removeprefix("+"))
    return made if len(set(map(float, different))) == len(different) else None


def left_out(n: int, target: str, first: int | None = None) -> str:
    """What is said of rows without a label.

    >>> left_out(1, "class", 8), left_out(2, "class")
    ("1 row has no 'class' (first: row 8) and is left out", "2 rows have no 'class' and are left out")
    """
    has, are = ("has", "is") if n == 1 else ("have", "are")
    where = "" if first is None else f" (first: row {first})"
    return f"{counted(n, 'row')} {has} no {target!r}{where} and {are} left out"


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
        warnings.warn(f"{name}: {left_out(int(gone.sum()), target, row + 1)}", stacklevel=3)
        frame, opened = frame[~gone].reset_index(drop=True), opened.take_rows(~gone)
    opened = opened.take_columns([j for j, other in enumerate(names) if other != target])
    cells = frame[target]
    if cells.dtype.kind == "M":
        if told not in ("categorical", "binary"):
            raise BadValue(
                f"the target {target!r} of {name} holds dates, neither classes nor numbers: "
                f"kinds={{{target!r}: 'categorical'}} (--kind {target}=categorical) takes each as a class"
            )
        cells = type(cells)(as_names(cells), dtype=object)
    X, y = frame.drop(columns=[target]), _plain_labels(cells)
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
