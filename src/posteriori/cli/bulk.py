"""Naive Bayes from a file of any size: the head of the file says what the columns are, then blocks are counted and merged.

A block is a piece of text that ends with a line, or a batch of rows of a Parquet file; threads parse and count blocks of
their own, and the counts are added in the order of the file, so that neither threads nor the size of a block changes the
model.
"""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import re
import tempfile
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..bayes.naive import NaiveBayes
from ..errors import BadValue, FormatError
from ..kernels import n_threads
from ..table.at_hand import opened
from ..table.dates import PARTS, YEAR_FIRST, date_part
from ..table.files import csv_source
from ..table.read import left_out
from ..table.schema import MEASURED, Column, Schema
from .guard import interrupt
from .pipe import LONGEST, line_end
from .stream import as_labels, as_values, batches, own_type
from .tables import Source, alike, open_head

LARGE = 64 << 20  # bytes of text from which it pays
DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)  # what is said of a .gz that is not whole
HEAD, BLOCK = 8 << 20, 16 << 20


@dataclass(frozen=True)
class Plan:
    """How the cells of a file are read: its names in order, the mark between cells, the schema and the labels' values."""

    name: str
    names: list[str]
    mark: str
    quote: str | bool
    skip: int  # lines before the first row
    schema: Schema
    target: str
    classes: tuple[Any, ...]
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
    with batches(path, schema, target, quiet=True) as rows:
        for batch in rows:
            yield batch.raw.nbytes, partial(_fit, schema, batch.columns, batch.labels, len(batch.gone))


def _of_text(path: str, plan: Plan) -> Iterator[tuple[int, Callable[[], Part]]]:
    for first, block in _blocks(path, plan):
        yield len(block), partial(_counted, plan, first, block)


def _fit(schema: Schema, columns: Any, labels: Any, gone: int) -> Part:
    """The model of a block by itself: its columns have the values that its rows have."""
    bare = replace(schema, columns=tuple(replace(c, values=()) for c in schema.columns))
    return NaiveBayes(kinds=bare, n_jobs=1).fit(columns, own_type(labels)) if len(labels) else None, gone


def _plan(path: str, source: Source, target: str, words: Collection[str] = ()) -> Plan:
    import duckdb

    head, table = _head(path), source.table
    with tempfile.TemporaryDirectory() as room, duckdb.connect(":memory:") as engine:
        file = pathlib.Path(room, f"head{_form(path)}")
        file.write_bytes(head.getvalue())
        read, names, _ = csv_source(
            engine, file, str(file).replace("'", "''"), path, table.schema.reading.decimal, None
        )
    has = re.search(r"delim='((?:[^']|'')*)', header=(true|false), skip=(\d+)(?:, quote='((?:[^']|'')*)')?", read)
    assert has is not None
    mark, header, skip, quote = has[1].replace("''", "'"), has[2] == "true", int(has[3]), has[4]
    dates = frozenset(str(n) for n in table.X.columns if table.X[n].dtype.kind == "M")
    columns = tuple(_open(c, c.name in words) for c in table.schema.columns)
    schema = Schema(columns, target=target, reading=table.schema.reading)
    known = tuple(np.unique(table.y).tolist()) if table.y.dtype != object else tuple(sorted(set(map(str, table.y))))
    quoted: str | bool = quote.replace("''", "'") if quote else b'"' not in head.getvalue() and '"'
    return Plan(path, names, mark, quoted, skip + header, schema, target, known, dates)


def _open(column: Column, words: bool) -> Column:
    """A column of which only the head is known: its kind stays, its values are those that the rows will have."""
    kind = "categorical" if column.kind == "binary" else column.kind
    return Column(column.name, kind, () if words else column.values, frozenset())


def _blocks(path: str, plan: Plan) -> Iterator[tuple[int, bytes]]:
    """(line of the file, text) of pieces that end with a line; a line inside quotation marks does not end."""
    mark = plan.quote.encode() if isinstance(plan.quote, str) else b""
    with opened(pathlib.Path(path), None) as file:
        for _ in range(plan.skip):
            file.readline()
        line, rest = plan.skip + 1, b""
        while piece := _read(file, path):
            piece = rest + piece
            if end := line_end(piece, mark):
                yield line, piece[:end]
                line += piece.count(b"\n", 0, end)
            rest = piece[end:]
            if len(rest) > LONGEST:
                raise _open_quote(plan, line, rest, mark)
        if mark and rest.count(mark) % 2:
            raise _open_quote(plan, line, rest, mark)
        if rest.strip():
            yield line, rest


def _read(file: Any, path: str) -> bytes:
    try:
        piece: bytes = file.read(BLOCK)
        return piece
    except DAMAGED as error:
        raise FormatError(f"{path} is no complete gzip file, though it ends in .gz") from error


def _open_quote(plan: Plan, line: int, rest: bytes, mark: bytes) -> FormatError:
    """What is wrong with text, from a line on, in which no line ends outside quotation marks."""
    first = rest.partition(b"\n")[0]
    at = first.rfind(mark) if mark else -1
    cell = repr(first[max(at, 0) :][:60].decode(errors="replace"))
    what = f"the quote that begins {cell} never ends" if at >= 0 else f"{cell} is longer than {LONGEST >> 20} MB"
    return FormatError(f"{plan.name}, line {line}: {what}")


def _counted(plan: Plan, first: int, block: bytes) -> Part:
    import pyarrow as pa

    table = _parsed(plan, first, block)
    known = () if any(isinstance(c, str) for c in plan.classes) else plan.classes  # a word is itself, as read whole
    labels = as_labels(_words(table.column(plan.target)), plan.target, replace(plan.schema, classes=known))
    kept = np.array([v is not None for v in labels.tolist()])
    gone = int((~kept).sum())
    if not kept.any():
        return None, gone
    if not kept.all():
        table, labels = table.filter(pa.array(kept)), labels[kept]
    return _fit(plan.schema, pa.table({c.name: _column(plan, c, table) for c in plan.schema.columns}), labels, gone)


def _parsed(plan: Plan, first: int, block: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    words = pa.dictionary(pa.int32(), pa.string())
    kinds = {c.name: c.kind for c in plan.schema.columns}
    types = {n: words if kinds.get(n) not in MEASURED else pa.float64() for n in plan.names}
    types |= {n: pa.string() for n, kind in kinds.items() if kind == "text"} | {
        n: pa.timestamp("us") for n in plan.dates
    }
    reading = plan.schema.reading
    wanted = {*kinds, *plan.dates, plan.target} & set(plan.names)
    try:
        found = pc.read_csv(
            pa.BufferReader(block),
            read_options=pc.ReadOptions(column_names=plan.names, use_threads=False, block_size=len(block)),
            parse_options=pc.ParseOptions(
                delimiter=plan.mark, quote_char=plan.quote, newlines_in_values=bool(plan.quote)
            ),
            convert_options=pc.ConvertOptions(
                column_types=types,
                include_columns=[n for n in plan.names if n in wanted],
                null_values=list(reading.gaps),
                decimal_point=reading.decimal,
                timestamp_parsers=[pc.ISO8601, "%Y/%m/%d", *(form for _, form in reading.dates if form != YEAR_FIRST)],
            ),
        ).combine_chunks()
    except pa.ArrowInvalid as error:
        raise _named(plan, first, str(error)) from None
    for j, name in enumerate(found.column_names):
        if types[name] != pa.float64():
            continue
        numbers = reading.without_told(found.column(name).to_numpy())
        found = found.set_column(j, name, pa.array(numbers, from_pandas=True)) if reading.told_numbers else found
        infinite = np.isinf(numbers)
        if infinite.any():
            line = first + int(infinite.argmax())
            raise FormatError(
                f"{plan.name}, line {line}, column {name!r}: no finite number; mend it, or leave the cell empty"
            )
    return found


def _named(plan: Plan, first: int, said: str) -> FormatError:
    """Arrow's error with the line of the file, the column and the cell."""
    row = re.search(r"Row #(\d+)", said)
    column = re.search(r"In CSV column #(\d+)", said)
    value = re.search(r"invalid value '(.*)'", said, re.S)
    cells = re.search(r"Expected (\d+) columns, got (\d+)", said)
    line = f"line {first + int(row[1]) - 1}" if row else f"after line {first}"
    if cells:
        return FormatError(f"{plan.name}, {line}: {cells[2]} cells where the header has {cells[1]}")
    if column and value:
        name = plan.names[int(column[1])]
        what = "date" if name in plan.dates else "number"
        return FormatError(
            f"{plan.name}, {line}, column {name!r}: {value[1]!r:.60} is no {what}, as the first rows have there; mend it, "
            f"--missing {value[1]!r:.60} reads it as missing, --kind {name}=categorical takes all as words"
        )
    return FormatError(f"{plan.name}, {line}: {said.splitlines()[0][:200]}")


def _words(column: Any) -> Any:
    """A column of words, an empty one being missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = column.chunk(0) if column.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    at = pc.index(cells.dictionary, "").as_py()
    if at >= 0:
        indices = pc.if_else(pc.equal(cells.indices, at), None, cells.indices)
        cells = pa.DictionaryArray.from_arrays(indices, cells.dictionary)
    return cells


def _column(plan: Plan, column: Column, table: Any) -> Any:
    stem, _, part = column.name.rpartition(".")
    if column.name not in plan.names and part in PARTS and stem in plan.dates:
        found = date_part(table.column(stem).to_pandas(), part)
        return found if column.kind == "categorical" else found.astype(float)
    cells = table.column(column.name)
    if column.kind != "categorical":
        return cells
    if not (column.values and _numbers(column)) and not plan.schema.reading.told:
        return _words(cells)
    found = as_values(_words(cells), column.values if _numbers(column) else (), plan.schema.reading)
    if column.values and _numbers(column) and any(isinstance(v, str) for v in found.tolist()):
        raise _Words(column.name)
    return found


def _numbers(column: Column) -> bool:
    return not any(isinstance(v, str) for v in column.values)
