"""Rows of any source, batch by batch, as a model that is trained already wants them: memory does not grow with the source.

`batches` opens a file, a pipe or a database and gives `Batch` after `Batch`: columns by the model's schema, the row of the
source that each row is, the labels if they are asked for. `batch_of` is that step alone, for whoever parses by himself.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import FormatError, PosterioriError, UnknownColumn, did_you_mean, listed
from .arff import from_arff
from .cells import as_labels, column_cells, source_of
from .encode import as_written
from .files import from_database, path_in_sql, query
from .schema import Reading, Schema
from .source import local_file, looks_like
from .text import BLOCK, GAPS, WORD, Block, Dialect, blocks, file_blocks, head_of, line_end, parse, sniff

BATCH = 50_000  # rows; a batch is held whole, as words, numbers and posteriors
ENOUGH, MOST = (
    1 << 16,
    4 << 20,
)  # bytes of a pipe by which it is clear whether it is a table, and that are read together
PATIENCE = 0.05  # seconds without a byte until what is there is read


@dataclass(frozen=True)
class Batch:
    """Some rows: the columns of the model, the target's labels if they were asked for, and all cells as they came."""

    rows: Any  # where they stand in the source, from 1
    columns: dict[str, Any]
    labels: Any
    raw: Any  # an Arrow batch
    gone: Any = ()  # where rows without a label stood, which are left out

    def __len__(self) -> int:
        return int(self.raw.num_rows)


@contextlib.contextmanager
def batches(
    source: Any,
    schema: Schema,
    target: str | None = None,
    encoding: str | None = None,
    sql: str | None = None,
    note: Callable[[str], None] | None = None,
) -> Iterator[Iterator[Batch]]:
    """Batches of a source for a schema, read as the schema's own file was; with a `target` its labels too.

    What a query gives, ARFF and databases are read whole, as training reads them. `note` hears what was guessed.
    """
    import duckdb

    reading = schema.reading
    with contextlib.ExitStack() as stack:
        if is_pipe(source) and os.name != "nt":
            stream = source if hasattr(source, "read") else stack.enter_context(open(source, "rb"))
            source = Pipe(stream, str(getattr(stream, "name", source)))
            dialect = source.dialect(reading, schema, target) if encoding is None and sql is None else None
            if dialect is not None:
                words = _words(blocks(source, dialect), dialect)
                yield _batches(words, dialect.names, schema, target, source.name)
                return
        file, name, form, notes = stack.enter_context(local_file(source, encoding, None))
        if note is not None:
            for said in notes:
                note(f"{name}: {said}")
        if sql is None and form == "csv":
            dialect = sniff(head_of(file), name, reading.decimal, reading.header, file)
            refuse_missing(schema, dialect.names, target, name)
            yield _batches(_words(file_blocks(file, dialect), dialect), dialect.names, schema, target, name)
        elif sql is None and form in ("parquet", "json"):
            engine = stack.enter_context(duckdb.connect(":memory:"))
            try:
                relation = engine.sql(f"FROM read_{form}('{path_in_sql(file)}')")
                refuse_missing(schema, relation.columns, target, name)
                reader = relation.to_arrow_reader(BATCH)
            except duckdb.Error as error:
                raise FormatError(f"{name} cannot be read: {str(error).splitlines()[0]}") from error
            yield _batches(reader, relation.columns, schema, target, name)
        else:
            whole = pa.Table.from_pandas(_whole(file, name, form, sql, reading), preserve_index=False)
            refuse_missing(schema, whole.column_names, target, name)
            yield _batches(whole.to_batches(BATCH), whole.column_names, schema, target, name)


def _whole(file: Any, name: str, form: str, sql: str | None, reading: Reading) -> Any:
    """The frame of a file that is not streamed, or of a query."""
    if form == "arff":
        return from_arff(file, name, sql)[0]
    if form in ("duckdb", "sqlite", "database"):
        return from_database(file, name, form, sql)[0]
    return query(file, name, form, sql, reading.decimal, reading.header)[0]


def _words(pieces: Iterable[Block], dialect: Dialect) -> Iterator[Any]:
    """The rows of a text, all cells as words."""
    types = dict.fromkeys(dialect.names, WORD)
    try:
        for block in pieces:
            yield from parse(block, dialect, types, **GAPS).to_batches(BATCH)
    except FormatError as error:
        said = str(error).removeprefix(f"{dialect.source}, ")
        raise FormatError(f"{dialect.source} cannot be read: {said}" if said != str(error) else said) from None


def _batches(reader: Any, names: Sequence[str], schema: Schema, target: str | None, name: str) -> Iterator[Batch]:
    first = 1
    try:
        for found in reader:
            if found.num_rows:
                raw = pa.RecordBatch.from_arrays(list(map(as_written, found.columns)), names=list(names))
                yield batch_of(raw, schema, target, np.arange(first, first + found.num_rows), name)
                first += found.num_rows
    except OSError as error:  # what the engine says in the middle of a stream comes as Arrow's error
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise FormatError(f"{name} cannot be read: {'; '.join(said[:3])}") from error


def batch_of(raw: Any, schema: Schema, target: str | None, rows: Any, name: str) -> Batch:
    """An Arrow batch as a schema wants it; with a `target`, rows without a label are left out."""
    labels, gone = None, rows[:0]
    if target is not None:
        labels = as_labels(raw.column(target), target, schema, rows, name)
        kept = np.array([v is not None for v in labels.tolist()], dtype=bool)
        if not kept.all():
            raw, labels, rows, gone = raw.filter(pa.array(kept)), labels[kept], rows[kept], rows[~kept]
    place = {n: j for j, n in enumerate(raw.schema.names)}
    columns = {c.name: column_cells(c, raw, place, schema.reading, rows, name) for c in schema.columns}
    return Batch(rows, columns, labels, raw, gone)


def refuse_missing(schema: Schema, names: Sequence[str], target: str | None, name: str) -> None:
    """Refuse a source without some of the columns of a schema, all of which are named."""
    wanted = [n for n in schema.names if source_of(n, names) not in names]
    wanted += [target] if target is not None and target not in names else []
    if wanted:
        hint = did_you_mean(wanted[0], names) or "."
        raise UnknownColumn(f"{name} lacks columns that the model has: {listed(wanted)}{hint} It has: {listed(names)}")


def is_pipe(source: Any) -> bool:
    """Whether a file, or the name of one, is there only once: a pipe, a terminal, a socket."""
    try:
        return not stat.S_ISREG(
            os.fstat(source.fileno()).st_mode if hasattr(source, "fileno") else os.stat(source).st_mode
        )
    except (OSError, ValueError, TypeError):  # not there, or no file of the system
        return False


class Pipe:
    """An open pipe, read as it comes; what was read of it in vain can be read again."""

    def __init__(self, stream: Any, name: str) -> None:
        self.stream, self.name, self.back = stream, name, b""

    def read(self, size: int = -1) -> bytes:
        """What comes together, at least a byte: the pipe is waited for as long as nothing is there; nothing at the end."""
        piece, self.back = self.back, b""
        if size < 0:
            return piece + bytes(self.stream.read())
        while not piece or (len(piece) < MOST and select.select([self.stream], [], [], PATIENCE)[0]):
            if not (more := os.read(self.stream.fileno(), BLOCK)):
                break
            piece += more
        return piece

    def dialect(self, reading: Reading, schema: Schema, target: str | None) -> Dialect | None:
        """That of a CSV with all columns of a schema, by its first lines; else None, and all can be read again."""
        text = b""
        while len(text) <= ENOUGH and (piece := self.read(MOST)):
            text += piece
            if looks_like(text) != ".csv":
                break
            with contextlib.suppress(PosterioriError):  # more lines may tell
                found = sniff(text[: line_end(text, b'"')], self.name, reading.decimal, reading.header)
                refuse_missing(schema, found.names, target, self.name)
                self.back = text
                return found
        self.back = text
        return None
