"""Delimited text, piece by piece: what its first lines say, blocks of whole lines, the cells of a block and their lines.

A `Dialect` is sniffed from the head. A file, a packed file and a pipe come in the same `blocks`; `parse` makes columns of
a block, of the types that are asked for, and names what is wrong by its line.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import pathlib
import re
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..arrays import Ints
from ..errors import FormatError, UnknownColumn, listed
from .source import count, opened

HEAD, BLOCK, LONGEST = 1 << 20, 16 << 20, 16 << 20  # bytes: of the head, of a block, and of a line with what it quotes
WIDE = 64  # columns from which the engine's sniffer costs more than a look at the head
MARKS = ",;|\t"  # between cells
DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)  # what is said of a .gz that is not whole
# every cell decides a column's type; yes/no stay the words they are, dates are recognised later, alike for every format
SNIFFED = "nullstr='', comment='', sample_size=-1, auto_type_candidates=['BIGINT', 'DOUBLE', 'VARCHAR']"
WHOLE, NUMBER, WORD = pa.int64(), pa.float64(), pa.string()
GAPS: dict[str, Any] = {"null_values": [""], "strings_can_be_null": True}  # an empty cell is missing, and no other
# bytes whose cells are a guess at all others, and guesses a block before its words are looked at
SOME, TRIES = 1 << 16, 3
BEYOND = 2.0**63  # whole numbers from here on are no `WHOLE`, but floats
NO_NUMBER = r"^[ \t]*(\+|0[0-9bB])"  # how a cell begins that Arrow takes for a number: as it stands it is a word
AFTER_ZERO = np.isin(np.arange(256), list(b"0123456789bB"))
NO_HEADER = (
    "no header: the first line holds numbers, so columns are named x0, x1, …; put a line of names above it, or, if "
    "it has the names, make words of those that are numbers (in Python header=True takes it as it is)"
)


@dataclass(frozen=True)
class Dialect:
    """How the cells of a text are parted: the mark between them, the quote around them, the lines before the first row."""

    source: str  # what to call the text
    names: tuple[str, ...]
    mark: str = ","
    quote: str = '"'  # none where quotation marks are letters like others
    skip: int = 1
    escape: str = ""
    newline: bytes = b"\n"
    notes: tuple[str, ...] = ()
    sql: str = ""  # the same as options of DuckDB's `read_csv`


@dataclass(frozen=True)
class Block:
    """Whole lines of a text, the number of the first, and how many they are."""

    line: int
    text: bytes
    lines: int


def mark_of(line: str) -> str:
    """What stands between the cells of a line: the mark that it has most of."""
    return max(MARKS, key=line.count)


def is_cell(word: str, decimal: str) -> bool:
    """Whether a word of the first line is a cell and no name: a number, or the sign for a missing one."""
    try:
        float(word.replace(decimal, "."))
    except ValueError:
        return word.strip() == "?"
    return True


# -- the head -----------------------------------------------------------------------------------------------------------


def head_of(file: pathlib.Path) -> bytes:
    """The first lines of a file, unpacked."""
    with opened(file, None) as stream:
        piece = _read(stream, str(file), HEAD)
    return piece[: line_end(piece, b'"')] or piece if len(piece) == HEAD else piece


def sniff(head: bytes, name: str, decimal: str, header: Any, file: pathlib.Path | None = None) -> Dialect:
    """What the first lines of a text say; its `file`, where it is one, is looked through for the line that is wrong.

    >>> sniff(b"size;kind\\n1,5;a\\n", "t.csv", ".", None).names
    ('size', 'kind')
    """
    import duckdb

    newline = b"\r" if b"\n" not in head and b"\r" in head else b"\n"
    text = head.decode("utf-8-sig", errors="replace")
    if (dialect := _plain(text, name, decimal, header)) is not None:
        return dialect
    told = "" if header is None else f", header={'true' if header is True else 'false'}"
    with tempfile.TemporaryDirectory() as room, duckdb.connect(":memory:") as engine:
        copy = pathlib.Path(room, "head.csv")
        copy.write_bytes(head)
        try:
            found = engine.execute(
                "SELECT Delimiter, Quote, Escape, SkipRows, HasHeader, len(Columns), Columns[1].name FROM "
                f"sniff_csv('{quoted(str(copy))}', {SNIFFED}, decimal_separator='{decimal}'{told})"
            ).fetchone()
        except duckdb.Error as error:
            if not isinstance(header, Sequence):
                with _text(file, text) as lines:
                    refuse_uneven(lines, name)
            raise FormatError(f"{name} cannot be read as a CSV file") from error
        assert found is not None
        mark, quote, escape, skip, has_header, width, first = found
        quote = "" if quote == "(empty)" else quote
        if not quote and b'"' in head:
            with _text(file, text) as lines:
                _refuse_open_quote(lines, name, mark)
    skipped, line = _first_lines(text, int(skip), mark, quote)
    for at, before in enumerate(skipped, start=1):
        if len(before) > 1:  # no title, but a row of another length than those that the engine took for the table
            raise FormatError(f"{name}, line {skip + 1}: {len(line)} cells where line {at} has {len(before)}")
    if width == 1:
        with _text(file, text) as lines:
            _refuse_ragged(lines, name, first)
    notes = [f"{skip} lines before the table are left out"] if skip else []
    if header is None and has_header and any(is_cell(cell, decimal) for cell in line):
        has_header = False
    if header is None and not has_header:
        notes.append(NO_HEADER)
    if isinstance(header, Sequence):
        names = list(header)
        if len(names) != width:
            raise FormatError(f"{name} has {width} columns, but header has {len(names)} names")
        has_header = False
    elif has_header:
        names = [cell or f"x{j}" for j, cell in enumerate(line or [first])]
    else:
        names = [f"x{j}" for j in range(width)]
    repeated = sorted(n for n, times in Counter(names).items() if times > 1)
    if repeated:
        raise UnknownColumn(f"{name}: duplicate columns: {listed(repeated)}; every column needs its own name")
    sql = f"delim='{quoted(mark)}', header={str(has_header).lower()}, skip={skip}"
    sql += f", quote='{quoted(quote)}'" if quote else ""
    if not has_header and len({n.lower() for n in names}) == len(names):
        sql += f", names=[{', '.join(repr_sql(n) for n in names)}]"
    skip += _header_lines(text, skip, mark, quote) if has_header else 0
    quote = quote or ('"' if b'"' not in head else "")
    return Dialect(name, tuple(names), mark, quote, skip, "\\" if escape == "\\" else "", newline, tuple(notes), sql)


def _text(file: pathlib.Path | None, head: str) -> Any:
    """A file, or what is known of a stream, line by line."""
    return io.StringIO(head, newline="") if file is None else opened(file)


def _plain(text: str, name: str, decimal: str, header: Any) -> Dialect | None:
    """The dialect of many columns whose head leaves no doubt: names, no quotes, as many marks in every line."""
    first = text.partition("\n")[0].rstrip("\r")
    mark = mark_of(first)
    names = first.split(mark)
    if len(names) <= WIDE or header not in (None, True) or '"' in text or "'" in text:
        return None
    if len(set(map(str.lower, names))) < len(names) or any(is_cell(n, decimal) or not n for n in names):
        return None
    lines = [line for line in text.splitlines() if line]
    if len(lines) < 2 or any(line.count(mark) != len(names) - 1 for line in lines):
        return None
    sql = f"delim='{quoted(mark)}', header=true, skip=0"
    return Dialect(name, tuple(names), mark, sql=sql)


def _header_lines(text: str, skip: int, mark: str, quote: str) -> int:
    """How many lines the first row after `skip` lines takes: one, unless a cell of it is broken."""
    lines = io.StringIO(text, newline="")
    for _ in range(skip):
        lines.readline()
    rows = csv.reader(lines, delimiter=mark, **_quoting(quote))
    next(rows, None)
    return rows.line_num


def _quoting(quote: str) -> dict[str, Any]:
    return {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}


def _first_lines(text: str, skip: int, mark: str, quote: str) -> tuple[list[list[str]], list[str]]:
    """(the cells of the lines before the table, those of its first line)."""
    lines, how = io.StringIO(text, newline=""), _quoting(quote)
    skipped = [next(csv.reader([lines.readline()], delimiter=mark, **how), []) for _ in range(skip)]
    return skipped, next(csv.reader(lines, delimiter=mark, **how), [])


def quoted(text: str) -> str:
    """Text as it stands within SQL's quotation marks."""
    return text.replace("'", "''")


def repr_sql(text: str) -> str:
    """Text as SQL writes it."""
    return f"'{quoted(text)}'"


# -- what is wrong with it ----------------------------------------------------------------------------------------------


def _refuse_open_quote(lines: Any, name: str, mark: str) -> None:
    """The engine takes a file in which one quote never closes for one without quotes: say where it opens instead."""
    for at, line in enumerate(lines, start=1):
        for cell in line.rstrip("\r\n").split(mark) if '"' in line else ():
            if cell.startswith('"') and not (len(cell) > 1 and cell.endswith('"')):
                raise FormatError(f"{name}, line {at}: the quote that begins {cell!r:.60} never ends")


def _refuse_ragged(lines: Any, name: str, only: str) -> None:
    """Rows of different lengths make the engine see one column: say which row it is instead."""
    first = lines.readline().lstrip("\ufeff").rstrip("\r\n")
    for mark in MARKS:
        header = next(csv.reader([first], delimiter=mark), [])
        if len(header) > 1 and only in (first, "column0"):
            for line, row in enumerate(csv.reader(lines, delimiter=mark), start=2):
                if row and len(row) != len(header):
                    raise FormatError(f"{name}, line {line}: {len(row)} cells where the header has {len(header)}")


def refuse_uneven(lines: Any, name: str, dialect: Dialect | None = None) -> None:
    """The first line that is shorter or longer than the header is named, with its cell."""
    how: dict[str, Any] = {} if dialect is None else _quoting(dialect.quote)
    first = next(iter(lines), "")
    mark = mark_of(first) if dialect is None else dialect.mark
    rows = csv.reader(itertools.chain([first], lines), delimiter=mark, **how)
    try:
        header = next(rows, []) if dialect is None else list(dialect.names)
        for _ in range(0 if dialect is None else dialect.skip):
            next(rows, None)
        for row in rows:
            if row and len(row) != len(header) > 1:
                what = f"after {header[-1]!r} comes {row[len(header)]!r:.60}" if len(row) > len(header) else ""
                what = what or f"there is none for {header[len(row)]!r}; the last is {row[-1]!r:.60}"
                raise FormatError(
                    f"{name}, line {rows.line_num}: {len(row)} cells where the header has {len(header)}: {what}"
                )
    except csv.Error as error:
        raise FormatError(f"{name}, line {rows.line_num}: {error}") from None


def _open_quote(dialect: Dialect, line: int, rest: bytes, mark: bytes) -> FormatError:
    """What is wrong with text, from a line on, in which no line ends outside quotation marks."""
    first = rest.partition(b"\n")[0]
    at = first.rfind(mark) if mark else -1
    cell = repr(first[max(at, 0) :][:60].decode(errors="replace"))
    what = f"the quote that begins {cell} never ends" if at >= 0 else f"{cell} is longer than {LONGEST >> 20} MB"
    return FormatError(f"{dialect.source}, line {line}: {what}")


# -- blocks -------------------------------------------------------------------------------------------------------------


def blocks(stream: Any, dialect: Dialect) -> Iterator[Block]:
    """Pieces of an open text that end with a line; a line inside quotation marks does not end."""
    mark = dialect.quote.encode()
    line, rest, skip = 1, b"", dialect.skip
    while piece := _read(stream, dialect.source):
        piece = rest + piece if rest else piece.removeprefix(codecs.BOM_UTF8) if line == 1 else piece
        while skip and (end := piece.find(dialect.newline) + 1):
            piece, line, skip = piece[end:], line + 1, skip - 1
        if skip:
            rest = piece
            continue
        if end := line_end(piece, mark, dialect.newline):
            lines = count(piece[:end], dialect.newline)
            yield Block(line, piece[:end], lines)
            line += lines
        rest = piece[end:]
        if len(rest) > LONGEST:
            raise _open_quote(dialect, line, rest, mark)
    if mark and rest.count(mark) % 2:
        raise _open_quote(dialect, line, rest, mark)
    if rest.strip() and not skip:
        yield Block(line, rest, count(rest, dialect.newline) + 1)


def _read(stream: Any, name: str, size: int | None = None) -> bytes:
    try:
        piece: bytes = stream.read(size or BLOCK)
        return piece
    except DAMAGED as error:
        raise FormatError(f"{name} is no complete gzip file, though it ends in .gz") from error


def line_end(piece: bytes, quote: bytes, newline: bytes = b"\n") -> int:
    """Behind the last line of a piece that ends outside quotation marks: every byte is looked at once, from the end."""
    inside, end = bool(quote) and piece.count(quote) % 2 == 1, len(piece)
    while end >= 0:
        begin = piece.rfind(quote, 0, end) if quote else -1
        if not inside and (found := piece.rfind(newline, begin + 1, end)) >= 0:
            return found + 1
        inside, end = not inside, begin
    return 0


def row_lines(block: Block, rows: int, dialect: Dialect) -> Ints | None:
    r"""The line on which each row of a block begins; None where that is not clear.

    >>> row_lines(Block(7, b'1,"a\nb"\n\n2,c\n', 4), 2, Dialect("t.csv", ("x", "y"))).tolist()
    [7, 10]
    """
    text, newline = block.text, dialect.newline
    if block.lines == rows:
        return np.arange(block.line, block.line + rows)
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == newline[0])
    within = np.cumsum(letters == ord(dialect.quote))[ends] % 2 if dialect.quote else np.zeros(len(ends))
    lines = np.arange(len(ends)) + block.line + 1
    begins = np.concatenate([[0], ends[within == 0] + 1])
    found = np.concatenate([[block.line], lines[within == 0]])
    there = begins < len(text)
    begins, found = begins[there], found[there]
    if len(dialect.names) > 1:
        blank = (letters[begins] == newline[0]) | (
            (letters[begins] == ord("\r")) & (letters[np.minimum(begins + 1, len(text) - 1)] == newline[0])
        )
        found = found[~blank]
    return found if len(found) == rows else None


# -- cells --------------------------------------------------------------------------------------------------------------


class CellError(FormatError):
    """A cell that is not of the type that its column is read as."""

    def __init__(self, line: str, column: str, value: str) -> None:
        super().__init__(f"{line}, column {column!r}: {value!r:.60}")
        self.line, self.column, self.value = line, column, value


def parse(block: Block, dialect: Dialect, types: Mapping[str, Any], threads: bool = False, **options: Any) -> Any:
    """The columns of a block that have a type, as an Arrow table; `options` are those of Arrow's `ConvertOptions`."""
    text = _unspaced(block.text, dialect)
    try:
        return pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(dialect.names), use_threads=threads, block_size=1 << 20 if threads else len(text)
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=dialect.mark,
                quote_char=dialect.quote or False,
                escape_char=dialect.escape or False,
                newlines_in_values=bool(dialect.quote),
                ignore_empty_lines=len(dialect.names) > 1,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, include_columns=[n for n in dialect.names if n in types], **options
            ),
        )
    except pa.ArrowInvalid as error:
        raise _named(block, dialect, str(error)) from None


def _unspaced(text: bytes, dialect: Dialect) -> bytes:
    """A text without the blanks between a mark and a quote that opens."""
    quote, mark = dialect.quote.encode(), re.escape(dialect.mark.encode())
    blanks = re.compile(rb"(?:^|(?<=[%b\n])) +(?=%b)" % (mark, re.escape(quote))) if quote else None
    if blanks is None or quote not in text or b" " + quote not in text or blanks.search(text) is None:
        return text
    parts, at, inside = [], 0, False
    for found in blanks.finditer(text):
        parts.append(text[at : found.start()])
        inside ^= parts[-1].count(quote) % 2 == 1
        at = found.start() if inside else found.end()
    return b"".join([*parts, text[at:]])


def _named(block: Block, dialect: Dialect, said: str) -> FormatError:
    """Arrow's error with the line of the text, the column and the cell."""
    row = re.search(r"Row #(\d+)", said)
    column = re.search(r"In CSV column #(\d+)", said)
    value = re.search(r"invalid value '(.*)'", said, re.S)
    cells = re.search(r"Expected (\d+) columns, got (\d+)", said)
    line = f"{dialect.source}, after line {block.line}"
    if row is not None:
        line = f"{dialect.source}, line {_line_of(block, dialect, int(row[1]) - 1)}"
    if cells:
        return FormatError(f"{line}: {cells[2]} cells where the header has {cells[1]}")
    if column and value:
        return CellError(line, dialect.names[int(column[1])], value[1])
    if "invalid UTF8" in said:
        return FormatError(f"{dialect.source} is not utf-8 text: tell its encoding (--encoding)")
    return FormatError(f"{line}: {said.splitlines()[0][:200]}")


def _line_of(block: Block, dialect: Dialect, row: int) -> int:
    """The line on which a row of a block begins, as far as what is wrong with it lets tell."""
    rows = csv.reader(
        io.StringIO(block.text.decode(errors="replace"), newline=""), delimiter=dialect.mark, **_quoting(dialect.quote)
    )
    before = at = 0
    with contextlib.suppress(csv.Error):
        for cells in rows:
            if at == row and (cells or len(dialect.names) == 1):
                return block.line + before
            at, before = at + bool(cells or len(dialect.names) == 1), rows.line_num
    return block.line + row


# -- the whole of a file ------------------------------------------------------------------------------------------------


def file_blocks(file: pathlib.Path, dialect: Dialect) -> Iterator[Block]:
    """The blocks of a file, packed or not."""
    with opened(file, None) as stream:
        yield from blocks(stream, dialect)


def read_whole(file: pathlib.Path, dialect: Dialect) -> tuple[Any, Ints | None]:
    """(all cells of a file as an Arrow table, the line of each row): the blocks, one after the other.

    A column is of whole numbers, of numbers, or of words, as all of its cells say. Leading zeros, and whole numbers so long
    that floats would make equal what differs, are words.
    """
    try:
        types, parts, lines = _guessed(dialect, head_of(file)), [], []
        for block in file_blocks(file, dialect):
            part, types = _typed(block, dialect, types)
            parts.append(part)
            lines.append(row_lines(block, part.num_rows, dialect))
    except FormatError:
        with opened(file) as text:
            refuse_uneven(text, dialect.source, dialect)
        raise
    if not parts:
        return pa.table({n: pa.array([], pa.string()) for n in dialect.names}), np.zeros(0, np.int64)
    late = [n for n, kind in types.items() if kind == WORD and any(p.schema.field(n).type != WORD for p in parts)]
    kept = pa.schema({n: kind for n, kind in types.items() if n not in late})
    whole = pa.concat_tables(part.select(kept.names).cast(kept, safe=False) for part in parts)
    long = _too_long(file, dialect, whole)
    words = read_words(file, dialect, [*late, *long])
    found = {n: words.column(n) if n in late or n in long else whole.column(n) for n in dialect.names}
    clear = [at for at in lines if at is not None]
    return pa.table(found), np.concatenate(clear) if len(clear) == len(lines) else None


def read_words(file: pathlib.Path, dialect: Dialect, names: Sequence[str]) -> Any:
    """Some columns of a file as the words that stand there."""
    types = dict.fromkeys(names, WORD)
    parts = [parse(block, dialect, types, True, **GAPS) for block in file_blocks(file, dialect)] if types else []
    return pa.concat_tables(parts) if parts else pa.table({n: pa.array([], pa.string()) for n in names})


def _guessed(dialect: Dialect, head: bytes) -> dict[str, Any]:
    """The types that the first rows have."""
    few = next(
        blocks(io.BytesIO(head[: line_end(head[:SOME], dialect.quote.encode(), dialect.newline)] or head), dialect),
        None,
    )
    types = dict.fromkeys(dialect.names, WHOLE)
    if few is None:
        return types
    part = parse(few, dialect, dict.fromkeys(dialect.names, WORD), **GAPS)
    return {n: _type_of(part.column(n), WHOLE) for n in dialect.names}


def _type_of(words: Any, least: Any) -> Any:
    """The first of whole numbers, numbers and words, from `least` on, that a column's cells are."""
    for kind in (WHOLE, NUMBER)[least == NUMBER :] if least != WORD else ():
        with contextlib.suppress(pa.ArrowInvalid):
            _cast(words, kind)
            return kind
    return WORD


def _cast(words: Any, kind: Any) -> Any:
    """Words as a type, without the blanks around them if they are to be numbers."""
    return words if kind == WORD else pc.utf8_trim(words, " \t").cast(kind)


def _typed(block: Block, dialect: Dialect, types: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """(the columns of a block, the types that they have): of those so far, or wider ones."""
    for _ in range(TRIES):
        try:
            part = parse(block, dialect, types, True, **GAPS)
            break
        except CellError as error:
            kind = NUMBER if types[error.column] == WHOLE and is_cell(error.value, ".") else WORD
            types = {**types, error.column: kind}
    else:
        words = parse(block, dialect, dict.fromkeys(types, WORD), True, **GAPS)
        types = {n: _type_of(words.column(n), kind) for n, kind in types.items()}
        part = pa.table({n: _cast(words.column(n), kind) for n, kind in types.items()})
    digits = [n for n, kind in types.items() if kind != WORD]
    if digits and _may_have_names(block.text, dialect):
        words = parse(block, dialect, dict.fromkeys(digits, WORD), True, **GAPS)
        names = [n for n in digits if pc.any(pc.match_substring_regex(words.column(n), NO_NUMBER)).as_py()]
        for name in names:
            part = part.set_column(part.column_names.index(name), name, words.column(name))
        types = types | dict.fromkeys(names, WORD)
    return part, types


def _may_have_names(text: bytes, dialect: Dialect) -> bool:
    """Whether a cell may begin as no number does: with a plus, or with a zero before another digit."""
    letters = np.frombuffer(b"\n" + text + b"\n", np.uint8)
    begins = letters[:-2] <= ord(",")  # blanks, quotes and ends of lines are below it
    if dialect.mark in ";|":
        begins |= letters[:-2] == ord(dialect.mark)
    if b"+" in text and (begins & (letters[1:-1] == ord("+"))).any():
        return True
    begins &= letters[1:-1] == ord("0")
    return bool(AFTER_ZERO[letters[2:][begins]].any())


def _too_long(file: pathlib.Path, dialect: Dialect, table: Any) -> list[str]:
    """The columns whose cells are whole numbers in digits, so long that as floats different ones would be equal."""
    floats = [f.name for f in table.schema if f.type == NUMBER]
    large = [n for n in floats if (pc.max(pc.abs(table.column(n))).as_py() or 0) >= BEYOND]
    words, found = read_words(file, dialect, large), []
    for name in large:
        cells = pc.utf8_trim_whitespace(words.column(name)).drop_null()
        if pc.all(pc.match_substring_regex(cells, r"^-?\d+$")).as_py():
            distinct = pc.unique(cells)
            if len(distinct) > len(pc.unique(distinct.cast(NUMBER))):
                found.append(name)
    return found
