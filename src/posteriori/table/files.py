"""Rows of files, by the engine of their format: text by blocks, JSON and Parquet by DuckDB, a database by its own.

Each ends in one pandas frame, or is refused with the line or column that is at fault; databases are opened to read only.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Ints
from ..errors import BadParameter, FormatError, listed
from .source import opened
from .text import BEYOND, SNIFFED, WIDE, Dialect, head_of, quoted, read_whole, refuse_uneven, repr_sql, sniff

MOST = 1 << 28  # bytes of a Parquet file that Arrow may read whole
TABLES = {
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1",
}


def read_text(file: pathlib.Path, name: str, decimal: str, header: Any) -> tuple[Any, Ints | None, Dialect]:
    """(the frame, the line of each row, the dialect) of a file of delimited text."""
    dialect = sniff(head_of(file), name, decimal, header, file)
    table, lines = read_whole(file, dialect)
    return as_frame(table), lines, dialect


def query(
    file: pathlib.Path, name: str, form: str, sql: str | None, decimal: str, header: Any
) -> tuple[Any, tuple[str, ...]]:
    """(the frame, notes) by DuckDB: Parquet and JSON, or what a query says of a file, text too."""
    import duckdb

    if form == "parquet" and sql is None and (wide := _wide_frame(file)) is not None:
        return wide, ()
    notes: tuple[str, ...] = ()
    source = f"read_{form}('{path_in_sql(file)}')"
    if form == "csv":
        dialect = sniff(head_of(file), name, decimal, header, file)
        source, notes = _csv_in_sql(file, dialect, decimal), dialect.notes
    with duckdb.connect(":memory:") as engine:
        try:
            engine.execute(f"CREATE VIEW this AS FROM {source}")
            found: Any = _frame(engine.sql("FROM this")) if sql is None else None
            if form == "csv" and (long := _too_long(engine, source)):
                engine.execute(f"CREATE OR REPLACE VIEW this AS FROM {_with_words(source, long)}")
        except duckdb.Error as error:
            what = {
                "parquet": "a complete Parquet file",
                "json": "JSON with an object for each row",
                "csv": "a CSV file",
            }
            if form == "csv" and not isinstance(header, Sequence):
                with opened(file) as lines:
                    refuse_uneven(lines, name)
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
    names = _true_names(file, form, list(found.columns))
    if len(names) == found.shape[1]:
        found.columns = names
    return found, notes


def path_in_sql(file: pathlib.Path) -> str:
    """A path as DuckDB takes it for one, and for no pattern."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(file)))


def _csv_in_sql(file: pathlib.Path, dialect: Dialect, decimal: str) -> str:
    return f"read_csv('{path_in_sql(file)}', {SNIFFED}, decimal_separator='{decimal}', {dialect.sql})"


def _wide_frame(file: pathlib.Path) -> Any:
    """A Parquet file of many plain columns, which the engine needs long for; None where it is none."""
    import pyarrow.parquet as pq
    import pyarrow.types as t

    with contextlib.suppress(OSError, ValueError):
        schema = pq.read_schema(file)
        plain = (t.is_string(x) or t.is_large_string(x) or t.is_integer(x) or t.is_floating(x) for x in schema.types)
        if len(schema.names) > WIDE and file.stat().st_size <= MOST and all(plain):
            return as_frame(pq.read_table(file))
    return None


def as_frame(table: Any) -> Any:
    """An Arrow table as pandas has it, but whole numbers stay whole beside a missing cell."""
    import pandas as pd
    import pyarrow.types as t

    found = table.to_pandas(ignore_metadata=True, split_blocks=table.num_columns <= WIDE)
    for j, column in enumerate(table.columns):
        if column.null_count == len(column) and (t.is_string(column.type) or len(column)):
            found.isetitem(j, np.full(len(column), None, object))
        elif column.null_count and t.is_integer(column.type):
            kind = pd.api.types.pandas_dtype(str(column.type).replace("u", "U").replace("int", "Int"))
            found.isetitem(j, column.to_pandas(types_mapper=lambda _, kind=kind: kind))
    return found


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


def _too_long(engine: Any, source: str) -> list[str]:
    """The columns whose cells are whole numbers in digits, so long that as floats different ones would be equal."""
    floats = [row[0] for row in engine.execute("DESCRIBE this").fetchall() if row[1] == "DOUBLE"]
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
