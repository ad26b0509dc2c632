"""Rows of a file at hand, by the engine of its format: text, JSON and Parquet by DuckDB, a database by its own.

Each ends in one pandas frame, or is refused with the line or column that is at fault; databases are opened to read only.
"""

from __future__ import annotations

import contextlib
import csv
import pathlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..errors import BadParameter, FormatError, UnknownColumn, listed
from .at_hand import opened
from .plain import MARKS, is_cell, mark_of, plain_frame

# every cell decides a column's type; yes/no stay the words they are, dates are recognised below, alike for every format
CSV_OPTIONS = "nullstr='', comment='', sample_size=-1, auto_type_candidates=['BIGINT', 'DOUBLE', 'VARCHAR']"
BEYOND = 2.0**63  # whole numbers from here on are no BIGINT: the engine makes them floats
AS_WORDS = "nullstr='', comment='', all_varchar=true"
TABLES = {
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1",
}


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
            found: Any = _frame(engine.sql("FROM this")) if sql is None else None
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
                found = _frame(engine.sql(sql))
            except duckdb.Error as error:
                said = _first(error)
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


def _frame(found: Any) -> Any:
    """What DuckDB found, in pandas; decimals become the numbers that a file of text would have, by their digits."""
    changed = []
    for name, kind in zip(found.columns, found.types):
        if kind.id == "decimal":
            cells, (precision, scale) = _column(name), (size for _, size in kind.children)
            plain = "DOUBLE" if scale else "BIGINT"
            if not scale and precision > 18:  # not all fit into 64 bits: words, if different ones would be equal
                told = f"max(abs({cells})), count(DISTINCT {cells}), count(DISTINCT {cells}::VARCHAR::DOUBLE)"
                ((top, exact, rounded),) = found.aggregate(told).fetchall()
                plain = "BIGINT" if (top or 0) < BEYOND else "DOUBLE" if exact == rounded else "VARCHAR"
            changed.append(f"CAST({cells}::VARCHAR AS {plain}) AS {cells}")
    return (found.project(f"* REPLACE ({', '.join(changed)})") if changed else found).df()


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
    with opened(file) as text:
        skipped = [next(csv.reader([text.readline()], delimiter=mark, **how), []) for _ in range(skip)]
        line = next(csv.reader(text, delimiter=mark, **how), [])
    if line:
        line[0] = line[0].lstrip("\ufeff")
    return skipped, line


def _refuse_open_quote(file: pathlib.Path, name: str, mark: str) -> None:
    """The engine takes a file in which one quote never closes for one without quotes: say where it opens instead."""
    with opened(file, None) as raw:
        if not any(b'"' in piece for piece in iter(lambda: raw.read(1 << 20), b"")):
            return
    with opened(file) as text:
        for at, line in enumerate(text, start=1):
            for cell in line.rstrip("\r\n").split(mark) if '"' in line else ():
                if cell.startswith('"') and not (len(cell) > 1 and cell.endswith('"')):
                    raise FormatError(f"{name}, line {at}: the quote that begins {cell!r:.60} never ends")


def _refuse_ragged(file: pathlib.Path, name: str, names: list[str]) -> None:
    """Rows of different lengths make the engine see one column: say which row it is instead."""
    with opened(file) as text:
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
    with opened(file) as text:
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

    with opened(file) as text:
        start = text.read(1)
        text.seek(0)
        rows = json.load(text) if start == "[" else map(json.loads, filter(str.strip, text))
        keys = dict.fromkeys(key for row in rows for key in row)
    return list(keys) if len(keys) == len(names) else names


def from_database(file: pathlib.Path, name: str, form: str, sql: str | None) -> tuple[Any, tuple[str, ...]]:
    """(the frame, notes): what a query gives, or the one table that the file has."""
    if form == "database":
        with open(file, "rb") as stream:
            form = "sqlite" if stream.read(15) == b"SQLite format 3" else "duckdb"
    with contextlib.closing(_connected(file, name, form)) as engine:
        if sql is None:
            tables = [str(row[0]) for row in engine.execute(TABLES[form]).fetchall()]
            if len(tables) != 1:
                raise BadParameter(
                    f"{name} has {len(tables)} tables: give sql (--sql), a query over one of {listed(tables)}"
                )
            found = _rows_of(engine, f"SELECT * FROM {_column(tables[0])}", name, form)
            return found, (f"table {tables[0]} of {name}",)
        return _rows_of(engine, sql, name, form), ()


def _connected(file: pathlib.Path, name: str, form: str) -> Any:
    import sqlite3

    import duckdb

    try:
        if form == "duckdb":
            return duckdb.connect(str(file), read_only=True)
        found = sqlite3.connect(
            f"file:{file.resolve().as_posix().replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True
        )
        found.execute("SELECT 1 FROM sqlite_master").fetchall()
        return found
    except (duckdb.Error, sqlite3.Error) as error:
        what = "DuckDB" if form == "duckdb" else "SQLite"
        raise FormatError(f"{name} cannot be read as a database of {what}: {_first(error)}") from error


def _rows_of(engine: Any, sql: str, name: str, form: str) -> Any:
    import sqlite3

    import duckdb
    import pandas as pd

    try:
        if form == "duckdb":
            refuse_no_rows(sql)
            return _frame(engine.sql(sql))
        cursor = engine.execute(sql)
        if cursor.description is None:
            raise no_rows(sql)
        return pd.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])
    except (duckdb.Error, sqlite3.Error) as error:
        raise FormatError(f"the query cannot be run on {name}: {_first(error)}") from error


def refuse_no_rows(sql: str) -> None:
    """DuckDB answers `CREATE`, `COPY … TO` and the like with a table of its own, after it has done them."""
    import duckdb

    statements = duckdb.extract_statements(sql)
    if not statements or statements[-1].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):  # PIVOT
        raise no_rows(sql)


def no_rows(sql: str) -> FormatError:
    return FormatError(f"the query must give rows, as SELECT does. Got {sql!r} instead.")


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or ["no reason is given"])[0].split(": ", 1)[-1]
