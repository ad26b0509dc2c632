"""Files as they lie about: any encoding, packed or open, with or without a header; each ends in one pandas frame."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import pathlib
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import BadParameter, FormatError, UnknownColumn, did_you_mean, listed
from .arff import read_arff
from .databases import DATABASES, refuse_no_rows
from .encodings import guessed
from .plain import MARKS, is_cell, mark_of, plain_frame

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arff": "arff",
    **DATABASES,
}
# every cell decides a column's type; yes/no stay the words they are, dates are recognised below, alike for every format
CSV_OPTIONS = "nullstr='', comment='', sample_size=-1, auto_type_candidates=['BIGINT', 'DOUBLE', 'VARCHAR']"
SAMPLE = 1 << 22  # bytes by which an encoding is guessed
BEYOND = 2.0**63  # whole numbers from here on are no BIGINT: the engine makes them floats
AS_WORDS = "nullstr='', comment='', all_varchar=true"


@contextlib.contextmanager
def at_hand(
    source: Any, encoding: str | None, format: str | None
) -> Iterator[tuple[pathlib.Path, str, str, tuple[str, ...]]]:
    """(file, what to call it, its format, notes): on the disk and, if text, in UTF-8; an encoding not told is guessed."""
    notes: tuple[str, ...] = ()
    with tempfile.TemporaryDirectory() as room:
        if hasattr(source, "read"):
            name = str(getattr(source, "name", "the open file"))
            file, encoding = _spooled(source, pathlib.Path(room), name, encoding)
        elif isinstance(source, str | os.PathLike):
            file = pathlib.Path(source)
            name = str(file)
            _check_file(file)
        else:
            raise BadParameter(f"path must be a path or an open file. Got {type(source).__name__} instead.")
        if file.stat().st_size == 0:
            raise FormatError(f"{name} is empty")
        form = format or _format(file, name)
        if form != "parquet" and form not in DATABASES.values():
            file, notes = _as_utf8(file, name, encoding, pathlib.Path(room))
        yield file, name, form, notes


def _check_file(file: pathlib.Path) -> None:
    if file.is_dir():
        raise FormatError(f"{file} is a folder: give one of its files")
    if not file.exists():
        near = did_you_mean(file.name, (p.name for p in file.parent.glob("*")) if file.parent.is_dir() else ())
        raise FileNotFoundError(f"no file {file}{near}")


def _spooled(source: Any, room: pathlib.Path, name: str, encoding: str | None) -> tuple[pathlib.Path, str | None]:
    """What an open file holds, on the disk under its own ending; text comes as UTF-8."""
    head = source.read(1 << 16)
    text = isinstance(head, str)
    endings = [s for s in pathlib.Path(name).suffixes if s.lower() in (*FORMATS, ".gz", ".zst")]
    if text and endings[-1:] in ([".gz"], [".zst"]):
        endings.pop()
    file = room / ("open" + ("".join(endings) or _looks_like(head)))
    with open(file, "w", encoding="utf-8", newline="") if text else open(file, "wb") as out:
        out.write(head)
        shutil.copyfileobj(source, out)
    return file, "utf-8" if text else encoding


def _looks_like(head: str | bytes) -> str:
    """The ending of a file without a name, by its first bytes."""
    start = head[:4096] if isinstance(head, bytes) else head[:4096].encode()
    if start.startswith(b"PAR1"):
        return ".parquet"
    if start.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    if re.search(rb"^\s*@relation", start, re.I | re.M):
        return ".arff"
    return ".json" if start.lstrip()[:1] in (b"{", b"[") and b'"' in start else ".csv"


def _format(file: pathlib.Path, name: str) -> str:
    endings = [s.lower() for s in file.suffixes if s.lower() not in (".gz", ".zst")]
    if not endings or endings[-1] not in FORMATS:
        raise FormatError(
            f"{name}: cannot tell its format; known endings: {listed(FORMATS)}, each also with .gz; "
            "give it one of them, or in Python format='csv'"
        )
    return FORMATS[endings[-1]]


def _opened(file: pathlib.Path, encoding: str = "utf-8") -> Any:
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    return opener(file, "rt", encoding=encoding, newline="")


def _as_utf8(
    file: pathlib.Path, name: str, encoding: str | None, room: pathlib.Path
) -> tuple[pathlib.Path, tuple[str, ...]]:
    """(the file if it is UTF-8, else a copy that is; notes); bytes that are not in the encoding are named by their line."""
    plain = encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")
    if file.suffix.lower() == ".zst":
        if not plain:
            raise FormatError(f"{name}: an encoding of a .zst file cannot be changed; unpack it first")
        return file, ()
    copy = room / ("utf8" + "".join(s for s in file.suffixes if s.lower() != ".gz"))
    try:
        if plain and (line := _decoded(file, "utf-8", None)) is None:
            return file, ()
        if plain and encoding is None and (found := _guess(file)) is not None and _decoded(file, found, copy) is None:
            return copy, (f"no UTF-8 text: read as {found}; encoding (--encoding) tells it, if that is wrong",)
        if not plain and (line := _decoded(file, str(encoding), copy)) is None:
            return copy, ()
    except (gzip.BadGzipFile, EOFError):
        raise FormatError(f"{name} is no complete gzip file, though it ends in .gz") from None
    with open(file, "rb") as raw:
        if b"\0" in raw.read(1 << 16):
            raise FormatError(f"{name} is no text: it has bytes of zero in it")
    way = "'cp1252' is that of western Europe, 'cp1251' of Cyrillic, 'gb18030' of China, 'shift_jis' of Japan"
    raise FormatError(f"{name} is not {encoding or 'utf-8'} text (line {line}): tell its encoding (--encoding); {way}")


def _decoded(file: pathlib.Path, encoding: str, copy: pathlib.Path | None) -> int | None:
    """None where a whole file is text in an encoding, with a copy in UTF-8 if asked for; else the line of the fault."""
    if encoding == "utf-8" and copy is None and _is_ascii(file):
        return None
    line = 1
    try:
        with _opened(file, encoding) as text, contextlib.ExitStack() as stack:
            out = None if copy is None else stack.enter_context(open(copy, "w", encoding="utf-8", newline=""))
            while piece := text.read(1 << 20):
                if out is not None:
                    out.write(piece)
                line += piece.count("\n")
    except UnicodeError:
        return line if encoding.startswith("utf-16") else _fault(file, encoding, line)
    return None


def _is_ascii(file: pathlib.Path) -> bool:
    """Whether a file has nothing to decode: told several times faster than decoding it."""
    if file.suffix.lower() == ".gz":
        return False
    with open(file, "rb") as raw:
        return all(piece.isascii() for piece in iter(lambda: raw.read(1 << 20), b""))


def _fault(file: pathlib.Path, encoding: str, line: int) -> int:
    """The first line that is not in an encoding; it is not before `line`."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as raw:
        for at, text in enumerate(raw, start=1):
            if at >= line:
                try:
                    text.decode(encoding)
                except UnicodeError:
                    return at
    return line


def _guess(file: pathlib.Path) -> str | None:
    """The encoding of a file that is no UTF-8, by its first bytes and those around the first that is no ASCII."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as raw:
        head = piece = raw.read(SAMPLE)
        while piece and piece.isascii():
            piece = raw.read(SAMPLE)
        return guessed(head[:4], piece + raw.read(SAMPLE))


def query(
    file: pathlib.Path, name: str, form: str, sql: str | None, decimal: str, header: Any
) -> tuple[Any, tuple[str, ...]]:
    """(the frame, notes) by DuckDB: the whole file, or what a query says of it."""
    import duckdb

    if sql is None and (plain := plain_frame(file, form, decimal, header)) is not None:
        return plain, ()
    quoted = "".join(f"[{c}]" if c in "*?[" else c for c in str(file)).replace("'", "''")  # a path, not a pattern
    with duckdb.connect(":memory:") as engine:
        try:
            if form == "csv":
                source, names, notes = csv_source(engine, file, quoted, name, decimal, header)
            else:
                source, names, notes = f"read_{form}('{quoted}')", [], ()
            engine.execute(f"CREATE VIEW this AS FROM {source}")
            found: Any = engine.execute("FROM this").df() if sql is None else None
            if form == "csv" and (long := _too_long(engine, source, found)):
                engine.execute(f"CREATE OR REPLACE VIEW this AS FROM {_with_words(source, long)}")
                found = engine.execute("FROM this").df() if sql is None else None
        except duckdb.Error as error:
            what = {
                "parquet": "a complete Parquet file",
                "json": "JSON with an object for each row",
                "csv": "a CSV file",
            }
            if form == "csv" and not isinstance(header, Sequence):
                _refuse_uneven(file, name)
            raise FormatError(f"{name} cannot be read as {what[form]}") from error
        if sql is not None:
            known = [row[0] for row in engine.execute("DESCRIBE this").fetchall()]
            try:
                refuse_no_rows(sql)
                found = engine.sql(sql).df()
            except duckdb.Error as error:
                said = str(error).splitlines()[0].split(": ", 1)[-1]
                raise FormatError(
                    f"the query cannot be run on {name}: {said} The file is named this; its columns: {listed(known)}"
                ) from error
            return found, notes
    names = names or _true_names(file, form, list(found.columns))
    if len(names) == found.shape[1]:
        found.columns = names
    return found, notes


def csv_source(
    engine: Any, file: pathlib.Path, quoted: str, name: str, decimal: str, header: Any, words: bool = False
) -> tuple[str, list[str], tuple[str, ...]]:
    """(what DuckDB reads, the names as the file has them, notes); the engine knows no two names that differ by case.

    With `words` every cell is one, and the file is not looked through for the types of its columns.
    """
    options = f"{AS_WORDS if words else CSV_OPTIONS}, decimal_separator='{decimal}'"
    told = "" if header is None else f", header={'true' if header is True else 'false'}"
    sniffed = engine.execute(
        "SELECT Delimiter, Quote, Escape, SkipRows, HasHeader, len(Columns), Columns[1].name "
        f"FROM sniff_csv('{quoted}', {options}{told})"
    ).fetchone()
    mark, quote, _, skip, has_header, width, first = sniffed
    if file.suffix.lower() == ".zst":
        return f"read_csv('{quoted}', {options}{told})", [], ()
    if quote == "(empty)":
        _refuse_open_quote(file, name, mark)
    skipped, line = _first_lines(file, int(skip), mark, quote)
    for at, before in enumerate(skipped, start=1):
        if len(before) > 1:  # no title, but a row of another length than those that the engine took for the table
            raise FormatError(f"{name}, line {skip + 1}: {len(line)} cells where line {at} has {len(before)}")
    notes = [f"{skip} lines before the table are left out"] if skip else []
    if header is None and has_header and any(is_cell(cell, decimal) for cell in line):
        has_header = False
    _refuse_ragged(file, name, [first] if width == 1 else [""] * width)
    if header is None and not has_header:
        notes.append(
            "no header: the first line holds numbers, so columns are named x0, x1, …; put a line of names above it, or, if "
            "it has the names, make words of those that are numbers (in Python header=True takes it as it is)"
        )
    if isinstance(header, Sequence):
        names = list(header)
        if len(names) != width:
            raise FormatError(f"{name} has {width} columns, but header has {len(names)} names")
    elif has_header:
        names = [cell or f"x{j}" for j, cell in enumerate(line)]
    else:
        names = [f"x{j}" for j in range(width)]
    repeated = sorted(n for n, times in Counter(names).items() if times > 1)
    if repeated:
        raise UnknownColumn(f"{name}: duplicate columns: {listed(repeated)}; every column needs its own name")
    has = bool(has_header) and not isinstance(header, Sequence)
    options += f", delim='{_sql(mark)}', header={str(has).lower()}, skip={skip}"
    options += f", quote='{_sql(quote)}'" if quote != "(empty)" else ""
    if not has and len({n.lower() for n in names}) == len(names):
        options += f", names=[{', '.join(repr_sql(n) for n in names)}]"
    return f"read_csv('{quoted}', {options})", names, tuple(notes)


def _too_long(engine: Any, source: str, found: Any) -> list[str]:
    """The columns whose cells are whole numbers in digits, so long that as floats different ones would be equal.

    The frame `found`, if there is one, saves a pass over the file: only what is beyond 64 bits is looked at as words.
    """
    if found is not None:
        large = [n for n in found.columns if found[n].dtype.kind == "f" and found[n].abs().max() >= BEYOND]
    else:
        kinds = engine.execute("DESCRIBE this").fetchall()
        floats = [row[0] for row in kinds if row[1] == "DOUBLE"]
        most = ", ".join(f"max(abs({_column(n)}))" for n in floats)
        tops = engine.execute(f"SELECT {most} FROM this").fetchone() if floats else ()
        large = [n for n, top in zip(floats, tops) if top is not None and top >= BEYOND]
    if not large:
        return []
    told = ", ".join(
        f"bool_and(regexp_full_match({c}, '\\s*-?\\d+\\s*')) "
        f"AND count(DISTINCT trim({c})) > count(DISTINCT TRY_CAST({c} AS DOUBLE))"
        for c in map(_column, large)
    )
    merged = engine.execute(f"SELECT {told} FROM {_with_words(source, large)}").fetchone()
    return [n for n, is_so in zip(large, merged) if is_so]


def _with_words(source: str, names: list[str]) -> str:
    """A source of DuckDB that reads some columns as words."""
    types = ", ".join(f"{repr_sql(n)}: 'VARCHAR'" for n in names)
    return f"{source[:-1]}, types={{{types}}})"


def _column(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql(text: str) -> str:
    return text.replace("'", "''")


def repr_sql(text: str) -> str:
    """Text as SQL writes it."""
    return f"'{_sql(text)}'"


def _first_lines(file: pathlib.Path, skip: int, mark: str, quote: str) -> tuple[list[list[str]], list[str]]:
    """(the cells of the lines before the table, those of its first line)."""
    how: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if quote == "(empty)" else {"quotechar": quote}
    with _opened(file) as text:
        skipped = [next(csv.reader([text.readline()], delimiter=mark, **how), []) for _ in range(skip)]
        line = next(csv.reader(text, delimiter=mark, **how), [])
    if line:
        line[0] = line[0].lstrip("\ufeff")
    return skipped, line


def _refuse_open_quote(file: pathlib.Path, name: str, mark: str) -> None:
    """The engine takes a file in which one quote never closes for one without quotes: say where it opens instead."""
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    with opener(file, "rb") as raw:
        if not any(b'"' in piece for piece in iter(lambda: raw.read(1 << 20), b"")):
            return
    with _opened(file) as text:
        for at, line in enumerate(text, start=1):
            for cell in line.rstrip("\r\n").split(mark) if '"' in line else ():
                if cell.startswith('"') and not (len(cell) > 1 and cell.endswith('"')):
                    raise FormatError(f"{name}, line {at}: the quote that begins {cell!r:.60} never ends")


def _refuse_ragged(file: pathlib.Path, name: str, names: list[str]) -> None:
    """Rows of different lengths make the engine see one column: say which row it is instead."""
    with _opened(file) as text:
        first = text.readline().lstrip("\ufeff").rstrip("\r\n")
        for mark in MARKS:
            header = next(csv.reader([first], delimiter=mark), [])
            if len(names) == 1 and len(header) > 1 and names[0] in (first, "column0"):
                for line, row in enumerate(csv.reader(text, delimiter=mark), start=2):
                    if row and len(row) != len(header):
                        raise FormatError(f"{name}, line {line}: {len(row)} cells where the header has {len(header)}")


def _refuse_uneven(file: pathlib.Path, name: str) -> None:
    """What the engine cannot read: the first line that is shorter or longer than the header is named, with its cell."""
    if file.suffix.lower() == ".zst":
        return
    with _opened(file) as text:
        first = text.readline()
        mark = mark_of(first)
        text.seek(0)
        rows = csv.reader(text, delimiter=mark)
        try:
            header = next(rows, [])
            for row in rows:
                if row and len(row) != len(header) > 1:
                    what = f"after {header[-1]!r} comes {row[len(header)]!r:.60}" if len(row) > len(header) else ""
                    what = what or f"there is none for {header[len(row)]!r}; the last is {row[-1]!r:.60}"
                    raise FormatError(
                        f"{name}, line {rows.line_num}: {len(row)} cells where the header has {len(header)}: {what}"
                    )
        except csv.Error as error:
            raise FormatError(f"{name}, line {rows.line_num}: {error}") from None


def _true_names(file: pathlib.Path, form: str, names: list[str]) -> list[str]:
    """The names as the file has them: the engine renames those that differ by case only."""
    stems = {n.rpartition("_")[0].lower() for n in names if re.search(r"_\d+$", n)}
    if not stems & {n.lower() for n in names}:
        return names
    if form == "parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(file).names)
    import json

    with _opened(file) as text:
        start = text.read(1)
        text.seek(0)
        rows = json.load(text) if start == "[" else map(json.loads, filter(str.strip, text))
        keys = dict.fromkeys(key for row in rows for key in row)
    return list(keys) if len(keys) == len(names) else names


def from_arff(file: pathlib.Path, name: str, sql: str | None) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    import pandas as pd

    if sql is not None:
        raise BadParameter("sql (--sql) asks DuckDB, which reads no ARFF: leave it out, and choose rows of the table")
    with _opened(file) as text:
        columns, values = read_arff(text, name)
    return pd.DataFrame(columns), values, ()
