"""Naive Bayes from a file of any size: the head of the file says what the columns are, then blocks are counted and merged.

A block is a piece of text that ends with a line, or a batch of rows of a Parquet file; threads parse and count blocks of
their own, and the counts are added in the order of the file, so that neither threads nor the size of a block changes the
model.
"""

from __future__ import annotations

import io
import os
import pathlib
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ..bayes.naive import NaiveBayes
from ..errors import BadValue, FormatError
from ..kernels import n_threads
from ..table.batches import Batch, batch_of, batches
from ..table.cells import as_values, own_type
from ..table.dates import YEAR_FIRST
from ..table.read import left_out
from ..table.schema import MEASURED, Column, Schema
from ..table.source import opened
from ..table.text import (
    DAMAGED,
    WORD,
    Block,
    CellError,
    Dialect,
    file_blocks,
    head_of,
    line_end,
    parse,
    row_lines,
    sniff,
)
from .guard import interrupt
from .tables import Source, alike, open_head

LARGE = 64 << 20  # bytes of text from which it pays
HEAD = 8 << 20  # bytes that say what the columns are
CODED = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Plan:
    """How the cells of a text are read: how they are parted, the schema with its target, the columns of dates."""

    dialect: Dialect
    schema: Schema
    dates: frozenset[str]


def is_bulk(path: str) -> bool:
    """Whether a file is Parquet or plain text in UTF-8, packed or not, and so large that it is better never held whole."""
    file = pathlib.Path(path)
    try:
        if not file.is_file() or _form(path) not in (".csv", ".tsv", ".parquet") or _size(path) < LARGE:
            return False
        if _form(path) != ".parquet":
            _head(path).getvalue().decode()
    except (OSError, ValueError, *DAMAGED):  # whoever reads it whole says what it is
        return False
    return True


def _form(path: str) -> str:
    """The ending of a file, without that of what is packed text."""
    file = pathlib.Path(path.lower())
    return pathlib.Path(file.stem).suffix.replace(".parquet", "") if file.suffix == ".gz" else file.suffix


def _size(path: str) -> int:
    """The bytes of a file, unpacked."""
    size = os.path.getsize(path)
    if _form(path) == ".parquet":
        import pyarrow.parquet as pq

        about = pq.read_metadata(path)
        return sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if path.lower().endswith(".gz"):
        with open(path, "rb") as file:
            file.seek(-min(4, size), os.SEEK_END)
            return max(size, int.from_bytes(file.read(4), "little"))  # modulo 4 GB
    return size


def fit_bulk(
    path: str, target: str, kinds: dict[str, str], missing: list[str] | None, told: Callable[[int, int], Any]
) -> tuple[NaiveBayes, Source]:
    """(the model, what its head said): `told` hears the bytes that are counted, and all there are."""
    source = open_head(_head(path), target, kinds, missing)
    if _form(path) == ".parquet":
        return _fitted(path, source, target, _of_parquet(path, source, target), told)
    words: set[str] = set()
    while True:
        try:
            return _fitted(path, source, target, _of_text(path, _plan(path, source, target, words)), told)
        except _Words as found:  # all cells are words then, as if the file had been looked at whole
            words.add(found.column)


class _Words(Exception):
    """A word in a column, the head of which has whole numbers alone."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


Part = tuple[
    NaiveBayes | None, int
]  # the model of a block, or None where none of its rows has a label; how many have none


def _fitted(
    path: str,
    source: Source,
    target: str,
    parts: Iterator[tuple[int, Callable[[], Part]]],
    told: Callable[[int, int], Any],
) -> tuple[NaiveBayes, Source]:
    """The sum of the parts: the bytes of each, and what counts it."""
    size, done, gone, merged = _size(path), 0, 0, None
    workers = n_threads(None, 1 << 30)
    waiting: deque[tuple[int, Future[Part]]] = deque()
    with ThreadPoolExecutor(workers) as team:
        try:
            for length, count in parts:
                waiting.append((length, team.submit(count)))
                del count
                while len(waiting) > workers:
                    merged, done, gone = _add(merged, waiting.popleft(), done, gone)
                    told(done, size)
            while waiting:
                merged, done, gone = _add(merged, waiting.popleft(), done, gone)
                told(done, size)
        except FormatError:
            for _, counted in waiting:  # what is wrong with an earlier block comes first
                counted.result()
            raise
        except BaseException:
            team.shutdown(wait=False, cancel_futures=True)
            raise
    if merged is None:
        raise BadValue(f"{path} has no rows with a {target!r}")
    if len(merged.classes_) < 2:
        raise BadValue(
            f"the target {target!r} has one class only, {merged.schema_.classes[0]!r}: there is nothing to tell apart"
        )
    merged.set_params(n_jobs=None)
    said = tuple(note for note in source.notes if f" no {target!r} " not in note)  # that was of the head alone
    said += (left_out(gone, target),) if gone else ()
    return merged, replace(source, notes=(*said, *alike(merged.schema_, target)))


def _add(
    merged: NaiveBayes | None, next_one: tuple[int, Future[Part]], done: int, gone: int
) -> tuple[NaiveBayes | None, int, int]:
    interrupt.check()
    size, found = next_one
    part, without = found.result()
    if part is not None:
        merged = part if merged is None else merged + part
    return merged, done + size, gone + without


def _head(path: str) -> io.BytesIO:
    """The first rows of a file under its own name."""
    if _form(path) == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        head = io.BytesIO()
        with pq.ParquetFile(path) as file:
            rows = max(1, file.metadata.num_rows * HEAD // max(_size(path), 1))
            some = next(file.iter_batches(rows), None)
            pq.write_table(file.schema_arrow.empty_table() if some is None else pa.Table.from_batches([some]), head)
        head.seek(0)
    else:
        with opened(pathlib.Path(path), None) as text:
            piece = text.read(HEAD)
        head = io.BytesIO(piece[: line_end(piece, b'"')] or piece)
    head.name = path
    return head


def _of_parquet(path: str, source: Source, target: str) -> Iterator[tuple[int, Callable[[], Part]]]:
    table = source.table
    schema = replace(table.schema, columns=tuple(_open(c, False) for c in table.schema.columns), classes=())
    with batches(path, schema, target) as rows:
        for batch in rows:
            yield batch.raw.nbytes, partial(_fit, schema, batch)


def _of_text(path: str, plan: Plan) -> Iterator[tuple[int, Callable[[], Part]]]:
    for block in file_blocks(pathlib.Path(path), plan.dialect):
        yield len(block.text), partial(_counted, plan, block)


def _fit(schema: Schema, batch: Batch) -> Part:
    """The model of a batch by itself: its columns have the values that its rows have."""
    bare = replace(schema, columns=tuple(replace(c, values=()) for c in schema.columns))
    model = NaiveBayes(kinds=bare, n_jobs=1)
    return model.fit(batch.columns, own_type(batch.labels)) if len(batch) else None, len(batch.gone)


def _plan(path: str, source: Source, target: str, words: Collection[str] = ()) -> Plan:
    file, table = pathlib.Path(path), source.table
    dialect = sniff(head_of(file), path, table.schema.reading.decimal, None, file)
    dates = frozenset(str(n) for n in table.X.columns if table.X[n].dtype.kind == "M")
    columns = tuple(_open(c, c.name in words) for c in table.schema.columns)
    known = () if table.y.dtype.kind not in "biuf" else tuple(np.unique(table.y).tolist())  # a word is itself
    return Plan(dialect, Schema(columns, known, target=target, reading=table.schema.reading), dates)


def _open(column: Column, words: bool) -> Column:
    """A column of which only the head is known: its kind stays, numbers stay numbers, its values are those of the rows."""
    kind = "categorical" if column.kind == "binary" else column.kind
    named = words or any(isinstance(v, str) for v in column.values)
    return Column(column.name, kind, () if named else column.values, frozenset())


def _counted(plan: Plan, block: Block) -> Part:
    raw, schema = _parsed(plan, block), plan.schema
    for column in schema.columns:
        if column.values and column.name in raw.schema.names:
            values = as_values(raw.column(column.name).dictionary, column.values, schema.reading)
            if any(isinstance(v, str) for v in values.tolist()):
                raise _Words(column.name)
    return _fit(schema, batch_of(raw, schema, schema.target, np.arange(raw.num_rows), plan.dialect.source))


def _parsed(plan: Plan, block: Block) -> Any:
    """The rows of a block as an Arrow batch, its cells of the types that the head has."""
    dialect, schema = plan.dialect, plan.schema
    reading, kinds = schema.reading, {c.name: c.kind for c in schema.columns}
    types = {n: pa.float64() if kinds.get(n) in MEASURED else CODED for n in dialect.names}
    types |= {n: WORD for n, kind in kinds.items() if kind == "text"} | {n: pa.timestamp("us") for n in plan.dates}
    wanted = {*kinds, *plan.dates, schema.target} & {*dialect.names}
    try:
        found = parse(
            block,
            dialect,
            {n: kind for n, kind in types.items() if n in wanted},
            null_values=list(reading.gaps),
            decimal_point=reading.decimal,
            timestamp_parsers=[csv.ISO8601, "%Y/%m/%d", *(form for _, form in reading.dates if form != YEAR_FIRST)],
        )
    except CellError as error:
        what = "date" if error.column in plan.dates else "number"
        raise FormatError(
            f"{error} is no {what}, as the first rows have there; mend it, "
            f"--missing {error.value!r:.60} reads it as missing, --kind {error.column}=categorical takes all as words"
        ) from None
    columns = [_without_empty(cells.combine_chunks()) for cells in found.columns]
    raw = pa.RecordBatch.from_arrays(columns, names=found.column_names)
    for name in (n for n in raw.schema.names if types[n] == pa.float64()):
        infinite = np.isinf(reading.without_told(raw.column(name).to_numpy(zero_copy_only=False)))
        if infinite.any():
            lines = row_lines(block, raw.num_rows, dialect)
            line = f"line {lines[infinite.argmax()]}" if lines is not None else f"after line {block.line}"
            raise FormatError(
                f"{dialect.source}, {line}, column {name!r}: no finite number; mend it, or leave the cell empty"
            )
    return raw


def _without_empty(cells: Any) -> Any:
    """Coded words, of which an empty one is missing; all else as it is."""
    if cells.type != CODED:
        return cells
    at = pc.index(cells.dictionary, "").as_py()
    indices = cells.indices if at < 0 else pc.if_else(pc.equal(cells.indices, at), None, cells.indices)
    return pa.DictionaryArray.from_arrays(indices, cells.dictionary)
