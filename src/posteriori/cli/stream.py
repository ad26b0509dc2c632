"""Rows of a file, batch by batch, as a model that is trained already wants them: memory does not grow with the file.

Cells of a text file come as words; the model's schema says what they mean: a number where the column's kind, or all values
it knows, are numbers; else the word itself. Cells with a type of their own (Parquet, JSON lines, databases) become words
where the model knows words.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import BadValue, FormatError, ModelError, UnknownColumn, did_you_mean, listed
from ..table.arff import from_arff
from ..table.at_hand import at_hand
from ..table.dates import WRITTEN, YEAR_FIRST, as_dates, as_names, days
from ..table.encode import as_floats, as_written
from ..table.files import csv_source, from_database, query
from ..table.schema import MEASURED, Column, Reading, Schema
from .guard import say
from .pipe import Pipe, is_pipe
from .tables import in_bins

BATCH = 50_000  # rows; a batch is held whole, as words, numbers and posteriors


@dataclass(frozen=True)
class Batch:
    """Some rows: the columns of the model, the target's labels if they were asked for, and all words as they came."""

    rows: Any  # where they stand in the file's table, from 1
    columns: dict[str, Any]
    labels: Any
    raw: Any  # an Arrow batch
    gone: Any = ()  # where rows without a label stood, which are left out

    def __len__(self) -> int:
        return int(self.raw.num_rows)


@contextlib.contextmanager
def batches(
    path: str,
    schema: Schema,
    target: str | None = None,
    encoding: str | None = None,
    quiet: bool = False,
    sql: str | None = None,
) -> Iterator[Iterator[Batch]]:
    """Batches of a file for a schema, read as the schema's own file was; with a `target` its labels too.

    What a query gives, ARFF and databases are read whole, as training reads them.
    """
    import duckdb

    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(duckdb.connect(":memory:"))
        source: Any = sys.stdin.buffer if path == "-" else path
        if is_pipe(source) and os.name != "nt":
            stream = source if path == "-" else stack.enter_context(open(path, "rb"))
            source = Pipe(stream, str(getattr(stream, "name", path)))
            room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            asked = encoding is None and sql is None
            if asked and (found := source.tables(engine, room, schema.reading, partial(_has_all, schema, target))):
                yield _batches(found[1], found[0], schema, target, source.name)
                return
        file, name, form, notes = stack.enter_context(at_hand(source, encoding, None))
        for note in notes if not quiet else ():
            say(f"{name}: {note}")
        if sql is not None or form not in ("csv", "parquet", "json"):
            whole = _whole(file, name, form, sql, schema.reading)
            _refuse_missing(schema, whole.column_names, target, name)
            yield _batches(whole.to_batches(BATCH), whole.column_names, schema, target, name)
            return
        quoted = "".join(f"[{c}]" if c in "*?[" else c for c in str(file)).replace("'", "''")
        try:
            if form == "csv":
                read, names, _ = csv_source(
                    engine, file, quoted, name, schema.reading.decimal, schema.reading.header, words=True
                )
            else:
                read, names = f"read_{form}('{quoted}')", []
            relation = engine.cursor().sql(f"FROM {read}")
            names = names or list(relation.columns)
            _refuse_missing(schema, names, target, name)
            reader = relation.to_arrow_reader(BATCH)
        except duckdb.Error as error:
            raise FormatError(f"{name} cannot be read: {str(error).splitlines()[0]}") from error
        yield _batches(reader, names, schema, target, name)


def _whole(file: Any, name: str, form: str, sql: str | None, reading: Reading) -> Any:
    """All rows of a file that is not streamed, or those of a query, as an Arrow table."""
    import pyarrow as pa

    if form == "arff":
        found = from_arff(file, name, sql)[0]
    elif form in ("duckdb", "sqlite", "database"):
        found = from_database(file, name, form, sql)[0]
    else:
        found = query(file, name, form, sql, reading.decimal, reading.header)[0]
    return pa.Table.from_pandas(found, preserve_index=False)


def _batches(reader: Any, names: list[str], schema: Schema, target: str | None, name: str) -> Iterator[Batch]:
    import pyarrow as pa

    place, first = {n: j for j, n in enumerate(names)}, 1
    try:
        for found in reader:
            if not found.num_rows:
                continue
            raw, labels = pa.RecordBatch.from_arrays([as_written(c) for c in found.columns], names=names), None
            rows = np.arange(first, first + found.num_rows)
            gone = rows[:0]
            if target is not None:
                labels = as_labels(raw.column(place[target]), target, schema, rows, name)
                kept = np.array([v is not None for v in labels.tolist()])
                raw, labels, rows, gone = raw.filter(pa.array(kept)), labels[kept], rows[kept], rows[~kept]
            columns = {c.name: _of_column(c, raw, place, schema.reading, rows, name) for c in schema.columns}
            yield Batch(rows, columns, labels, raw, gone)
            first += found.num_rows
    except OSError as error:  # what the engine says in the middle of a stream comes as Arrow's error
        raise FormatError(f"{name} cannot be read: {_first_sentences(error)}") from error


def as_labels(cells: Any, target: str, schema: Schema, rows: Any = None, name: str = "") -> Any:
    """The labels of some rows, None where there is none; a target that is a number is cut as the schema's was."""
    edges = schema.reading.edges
    if target in dict(schema.reading.dates):
        words = cells.dictionary_decode() if hasattr(cells, "dictionary_decode") else cells
        return as_names(_dates(words, target, schema.reading, rows, name))
    if not edges:
        labels = as_values(cells, schema.classes, schema.reading)
        return labels if isinstance(labels, np.ndarray) else np.array(labels.to_pylist(), dtype=object)
    if len(schema.classes) != len(edges) + 1:
        raise ModelError(f"the model has {len(schema.classes)} classes, and its target is cut into {len(edges) + 1}")
    return in_bins(_numbers(cells, target, schema.reading, rows, name), edges, schema.classes)


def own_type(labels: Any) -> Any:
    """Labels in their own type, where it is one.

    >>> own_type(np.array(["no", "yes"], dtype=object)).dtype.kind, own_type(np.array([1, "x"], dtype=object)).dtype.kind
    ('U', 'O')
    """
    cells = labels.tolist()
    return np.array(cells) if len({type(c) for c in cells}) == 1 else labels


def _first_sentences(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3])


def _has_all(schema: Schema, target: str | None, names: list[str]) -> bool:
    with contextlib.suppress(UnknownColumn):
        _refuse_missing(schema, names, target, "")
        return True
    return False


def _refuse_missing(schema: Schema, names: list[str], target: str | None, name: str) -> None:
    wanted = [n for n in schema.names if source_of(n, names) not in names]
    wanted += [target] if target is not None and target not in names else []
    if wanted:
        hint = did_you_mean(wanted[0], names) or "."
        raise UnknownColumn(f"{name} lacks columns that the model has: {listed(wanted)}{hint} It has: {listed(names)}")


def source_of(name: str, names: Sequence[str]) -> str:
    """The column of the file that a column of the model comes from: `when` for `when.weekday`."""
    from ..table.dates import PARTS

    stem, dot, part = name.rpartition(".")
    return stem if dot and part in PARTS and name not in names and stem in names else name


def _of_column(column: Column, raw: Any, place: dict[str, int], reading: Reading, rows: Any, name: str) -> Any:
    source = source_of(column.name, list(place))
    cells = raw.column(place[source])
    if source != column.name:
        from ..table.dates import date_part

        return date_part(_dates(cells, source, reading, rows, name), column.name.rpartition(".")[2])
    if column.kind in MEASURED:
        return _numbers(cells, column.name, reading, rows, name)
    if column.name in dict(reading.dates) and not any(isinstance(v, str) for v in column.values):
        return days(_dates(cells, column.name, reading, rows, name).to_numpy())  # told to be categories: of days
    return as_values(cells, column.values, reading) if column.kind != "text" else cells


def _is_text(cells: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_string(cells.type) or t.is_large_string(cells.type) or t.is_string_view(cells.type))


def _words(cells: Any, gaps: Sequence[str]) -> Any:
    """A column of words without blanks around them; those that stand for a missing cell are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    return pc.if_else(pc.is_in(words, pa.array(gaps, pa.large_string())), None, words)


def _dates(cells: Any, column: str, reading: Reading, rows: Any, name: str) -> Any:
    """A column of dates as pandas has them; a word that is none is named."""
    import pyarrow as pa
    import pyarrow.types as t

    if not _is_text(cells):
        if not (t.is_date(cells.type) or t.is_timestamp(cells.type) or t.is_null(cells.type)):
            raise BadValue(
                f"{name}, column {column!r}: expected dates, as the model has there. Got {cells.type} instead."
            )
        return cells.cast(pa.timestamp("us"), safe=False).to_pandas()  # of UTC, as training has them
    form = dict(reading.dates).get(column, YEAR_FIRST)
    words = _words(cells, reading.gaps).to_pandas().astype("str")
    found = words.dropna()
    made = as_dates(found, form)
    if made is None:
        at = next(i for i in found.index if as_dates(words.loc[[i]], form) is None)
        row = "" if rows is None else f", row {rows[at]}"
        raise BadValue(
            f"{name}{row}, column {column!r}: {words[at]!r:.60} is no date as the model's are written, "
            + ("2020-12-31" if form == YEAR_FIRST else form)
        )
    return made.reindex(words.index)


def _numbers(cells: Any, column: str, reading: Reading, rows: Any, name: str) -> Any:
    """Words as numbers: the words that stand for a missing cell are missing, dates are days, anything else is named."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    from ..table.dates import without_dates

    if t.is_temporal(cells.type):
        return without_dates(cells)
    if not _is_text(cells):
        return _finite(as_floats(_without_told(cells, reading), column), column, rows, name)
    words = _words(cells, reading.gaps)
    if column in dict(reading.dates) or (
        pc.any(pc.is_valid(words)).as_py()
        and pc.all(pc.match_substring_regex(words, f"^(?:{WRITTEN})$"), skip_nulls=True).as_py()
    ):
        return days(_dates(cells, column, reading, rows, name).to_numpy())
    if reading.decimal == ",":
        words = pc.replace_substring(words, ",", ".")
    try:
        found = reading.without_told(words.cast(pa.float64()).to_numpy(zero_copy_only=False))
        return _finite(found, column, rows, name)
    except pa.ArrowInvalid:
        pass
    found = np.full(len(words), np.nan)
    for i, word in enumerate(words.to_pylist()):
        if word is not None:
            try:
                found[i] = float(word)
            except ValueError:
                where, word = f"{name}, row {rows[i]}, column {column!r}", cells[i].as_py()
                raise BadValue(f"{where}: {word!r:.60} is no number, as the model has there") from None
    return _finite(reading.without_told(found), column, rows, name)


def _finite(found: Any, column: str, rows: Any, name: str) -> Any:
    if np.isinf(found).any():
        at = int(np.isinf(found).argmax())
        raise BadValue(f"{name}, row {rows[at]}, column {column!r}: {found[at]} is no finite number")
    return found


def as_values(cells: Any, values: Sequence[Any], reading: Reading = Reading()) -> Any:  # noqa: B008 (a value)
    """Cells as the values of a column: numbers where all the values that are known are numbers, booleans likewise.

    Where all of them are words, numbers and booleans are the words that mean them.

    >>> import pyarrow as pa
    >>> as_values(pa.array(["1", "2", "x", None]), (1, 2)).tolist()
    [1, 2, 'x', None]
    >>> as_values(pa.array([True, False, None]), ("FALSE", "TRUE")).tolist()
    ['TRUE', 'FALSE', None]
    """
    import pyarrow.types as t

    if t.is_dictionary(cells.type) and not _is_text(cells.dictionary):
        cells = cells.dictionary_decode()
    if t.is_dictionary(cells.type):
        coded = cells
    elif _is_text(cells):
        coded = cells.cast("large_string").dictionary_encode()
    elif t.is_temporal(cells.type):
        return cells.cast("string")
    elif (t.is_boolean(cells.type) or t.is_integer(cells.type) or t.is_floating(cells.type)) and _all_words(values):
        coded = cells.dictionary_encode()
    else:
        return _without_told(cells, reading)
    words = [_as_word(cell) for cell in coded.dictionary.to_pylist()]
    meant = np.empty(len(words) + 1, dtype=object)
    meant[:-1] = [
        None if word is None or word.strip() in reading.told else _meant(word, values, reading) for word in words
    ]
    meant[-1] = None
    codes = coded.indices.fill_null(len(words)).to_numpy()
    return meant[codes]


def _without_told(cells: Any, reading: Reading) -> Any:
    """A column, its numbers that were told to be missing being so; booleans and all else stay."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    plain = pa.array(as_floats(cells, "")) if t.is_decimal(cells.type) else cells
    if not (t.is_integer(plain.type) or t.is_floating(plain.type)):
        return cells
    held = np.dtype(plain.type.to_pandas_dtype())
    told = np.array(list(reading.told_as(held).values()), held)
    told = np.concatenate([told, -told[told == 0]])  # Arrow tells −0 from 0
    return pc.if_else(pc.is_in(plain, pa.array(told)), None, cells) if len(told) else cells


def _all_words(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(v, str) for v in values)


def _as_word(cell: Any) -> str | None:
    """A cell as a text file has it: 1 for 1.0; None where it is missing."""
    if cell is None or cell != cell:
        return None
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _meant(word: str, values: Sequence[Any], reading: Reading) -> Any:
    if not values or any(isinstance(v, str) for v in values):
        return _truth(word, values)
    if all(isinstance(v, bool | np.bool_) for v in values) and word.lower() in ("true", "false"):
        return word.lower() == "true"
    plain = word.strip().replace(reading.decimal, ".")
    for number in (int, float):  # a whole number first: no float holds all of them
        try:
            made = number(plain)
        except ValueError:
            continue
        whole = int(made) if isinstance(made, float) and made.is_integer() else made
        return whole if whole not in reading.told_numbers.values() else None
    return word if plain not in reading.gaps else None


def _truth(word: str, values: Sequence[Any]) -> str:
    """True and false as the column writes them; any other word, and those that it writes in two ways, as they are."""
    if word.strip().lower() not in ("true", "false"):
        return word
    same = [v for v in values if isinstance(v, str) and v.strip().lower() == word.strip().lower()]
    return same[0] if len(same) == 1 else word
