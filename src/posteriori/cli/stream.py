"""Rows of a file, batch by batch, as a model that is trained already wants them: memory does not grow with the file.

Cells of a text file come as words; the model's schema says what they mean: a number where the column's kind, or all values
it knows, are numbers; else the word itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadValue, FormatError, UnknownColumn, did_you_mean, listed
from ..table.dates import WRITTEN
from ..table.files import at_hand, csv_source
from ..table.read import MISSING
from ..table.schema import Column, Schema

BATCH = 50_000  # rows; a batch is held whole, as words, numbers and posteriors


@dataclass(frozen=True)
class Batch:
    """Some rows: the columns of the model, the target's labels if they were asked for, and all words as they came."""

    first: int  # row of the file's table, from 0
    columns: dict[str, Any]
    labels: Any
    raw: Any  # an Arrow batch

    def __len__(self) -> int:
        return int(self.raw.num_rows)


@contextlib.contextmanager
def batches(
    path: str, schema: Schema, target: str | None = None, classes: Sequence[Any] = (), size: int = BATCH
) -> Iterator[Iterator[Batch]]:
    """Batches of a file for a schema; with a `target` its labels too, rows without one being refused by name."""
    import duckdb

    source: Any = sys.stdin.buffer if path == "-" else path
    with at_hand(source, "utf-8", None) as (file, name, form), duckdb.connect(":memory:") as engine:
        if form not in ("csv", "parquet", "json"):
            raise FormatError(f"{name}: rows of such a file are not streamed; save them as CSV or Parquet")
        quoted = "".join(f"[{c}]" if c in "*?[" else c for c in str(file)).replace("'", "''")
        try:
            if form == "csv":
                read, names, _ = csv_source(engine, file, quoted, name, ".", True, words=True)
            else:
                read, names = f"read_{form}('{quoted}')", []
            relation = engine.cursor().sql(f"FROM {read}")
            names = names or list(relation.columns)
            _refuse_missing(schema, names, target, name)
            reader = relation.to_arrow_reader(size)
        except duckdb.Error as error:
            raise FormatError(f"{name} cannot be read: {str(error).splitlines()[0]}") from error
        yield _batches(reader, names, schema, target, classes, name)


def _batches(
    reader: Any, names: list[str], schema: Schema, target: str | None, classes: Sequence[Any], name: str
) -> Iterator[Batch]:
    import pyarrow as pa

    place, first = {n: j for j, n in enumerate(names)}, 0
    try:
        for found in reader:
            if not found.num_rows:
                continue
            raw = pa.RecordBatch.from_arrays(found.columns, names=names)
            columns = {c.name: _of_column(c, raw, place, first, name) for c in schema.columns}
            labels = None
            if target is not None:
                labels = as_values(raw.column(place[target]), classes)
                gone = [i for i, v in enumerate(labels.tolist()) if v is None]
                if gone:
                    raise BadValue(f"{name}, row {first + gone[0] + 1}: no {target!r}; leave the row out")
            yield Batch(first, columns, labels, raw)
            first += found.num_rows
    except OSError as error:  # what the engine says in the middle of a stream comes as Arrow's error
        raise FormatError(f"{name} cannot be read: {_first_sentences(error)}") from error


def _first_sentences(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(lines[:3])


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


def _of_column(column: Column, raw: Any, place: dict[str, int], first: int, name: str) -> Any:
    source = source_of(column.name, list(place))
    cells = raw.column(place[source])
    if source != column.name:
        from ..table.dates import date_part

        return date_part(_dates(cells), column.name.rpartition(".")[2])
    if column.kind in ("numeric", "count"):
        return _numbers(cells, column.name, first, name)
    return as_values(cells, column.values) if column.kind != "text" else cells


def _dates(cells: Any) -> Any:
    import pandas as pd

    return pd.to_datetime(pd.Series(cells.to_pandas()), format="ISO8601", utc=True, errors="coerce").dt.tz_localize(
        None
    )


def _numbers(cells: Any, column: str, first: int, name: str) -> Any:
    """Words as numbers: the words that stand for a missing cell are missing, dates are days, anything else is named."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    from ..table.dates import without_dates

    if t.is_temporal(cells.type):
        return without_dates(cells)
    if not (t.is_string(cells.type) or t.is_large_string(cells.type) or t.is_string_view(cells.type)):
        return cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    words = pc.utf8_trim_whitespace(cells.cast(pa.large_string()))
    words = pc.if_else(pc.is_in(words, pa.array(MISSING, pa.large_string())), None, words)
    try:
        return words.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        pass
    if pc.all(pc.match_substring_regex(words, f"^(?:{WRITTEN})$"), skip_nulls=True).as_py():
        return without_dates(pa.array(_dates(words)))
    found = np.full(len(words), np.nan)
    for i, word in enumerate(words.to_pylist()):
        if word is not None:
            try:
                found[i] = float(word)
            except ValueError:
                raise BadValue(
                    f"{name}, row {first + i + 1}, column {column!r}: {word!r:.60} is no number, as the model has there"
                ) from None
    return found


def as_values(cells: Any, values: Sequence[Any]) -> Any:
    """Words as the values of a column: numbers where all the values that are known are numbers, booleans likewise.

    >>> import pyarrow as pa
    >>> as_values(pa.array(["1", "2", "x", None]), (1, 2)).tolist()
    [1, 2, 'x', None]
    """
    import pyarrow.types as t

    if t.is_dictionary(cells.type):
        coded = cells
    elif t.is_string(cells.type) or t.is_large_string(cells.type) or t.is_string_view(cells.type):
        coded = cells.cast("large_string").dictionary_encode()
    else:
        return cells if not t.is_temporal(cells.type) else cells.cast("string")
    words = coded.dictionary.to_pylist()
    meant = np.empty(len(words) + 1, dtype=object)
    meant[:-1] = [_meant(word, values) for word in words]
    meant[-1] = None
    codes = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    return meant[codes]


def _meant(word: str, values: Sequence[Any]) -> Any:
    if word in values or not values or any(isinstance(v, str) for v in values):
        return word
    if all(isinstance(v, bool | np.bool_) for v in values) and word.lower() in ("true", "false"):
        return word.lower() == "true"
    try:
        number = float(word)
    except ValueError:
        return word if word.strip() not in MISSING else None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
