"""Tables inside a database file: DuckDB's own by DuckDB, SQLite's by Python's sqlite3; opened to read only."""

from __future__ import annotations

import contextlib
import pathlib
from typing import Any

from ..errors import BadParameter, FormatError, listed

DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "database"}
TABLES = {
    "duckdb": "SELECT table_name FROM information_schema.tables ORDER BY 1",
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1",
}


def from_database(file: pathlib.Path, name: str, form: str, sql: str | None) -> tuple[Any, tuple[str, ...]]:
    """(the frame, notes): what a query gives, or the one table that the file has."""
    if form == "database":
        with open(file, "rb") as stream:
            form = "sqlite" if stream.read(15) == b"SQLite format 3" else "duckdb"
    with contextlib.closing(_opened(file, name, form)) as engine:
        if sql is None:
            tables = [str(row[0]) for row in engine.execute(TABLES[form]).fetchall()]
            if len(tables) != 1:
                raise BadParameter(
                    f"{name} has {len(tables)} tables: give sql (--sql), a query over one of {listed(tables)}"
                )
            quoted = tables[0].replace('"', '""')
            return _frame(engine, f'SELECT * FROM "{quoted}"', name, form), (f"table {tables[0]} of {name}",)
        return _frame(engine, sql, name, form), ()


def _opened(file: pathlib.Path, name: str, form: str) -> Any:
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


def _frame(engine: Any, sql: str, name: str, form: str) -> Any:
    import sqlite3

    import duckdb
    import pandas as pd

    try:
        if form == "duckdb":
            refuse_no_rows(sql)
            return engine.execute(sql).df()
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
