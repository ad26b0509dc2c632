"""From a file to a table with a schema: CSV, Parquet, JSON lines, through DuckDB."""

from __future__ import annotations

import csv
import gzip
import pathlib
import warnings
from typing import Any

from ..errors import FormatError, UnknownColumn, did_you_mean, listed
from .frame import Table
from .kinds import Kinds, infer
from .schema import Schema

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
}
# every cell decides a column's type; yes/no and dates stay the words they are
CSV_OPTIONS = ", nullstr='', sample_size=-1, auto_type_candidates=['BIGINT', 'DOUBLE', 'VARCHAR']"


def read(
    path: Any, target: str | None = None, kinds: Kinds = None, sql: str | None = None, encoding: str = "utf-8"
) -> Table:
    """Read a file (CSV, Parquet, JSON lines; `.gz` too), look at every cell once and decide the schema.

    Parameters
    ----------
    path : a path
        The file. An empty cell is missing.
    target : str, optional
        The column that holds the class; rows without a class are left out, with a warning.
    kinds : str or dict, optional
        Kinds that are told and not inferred.
    sql : str, optional
        A query over the file, named `this`: `read("big.parquet", sql="SELECT * FROM this WHERE year = 2026")`.
    encoding : str
        Of a CSV file: "utf-8", "latin-1" or "utf-16".
    """
    frame = _query(pathlib.Path(path), sql, encoding)
    names = list(frame.columns)
    if target is None:
        return Table(frame, None, infer(frame, None, kinds))
    if target not in names:
        raise UnknownColumn(f"no column {target!r} in {path}{did_you_mean(target, names)} Columns: {listed(names)}")
    gone = frame[target].isna()
    if gone.any():
        row = int(gone.to_numpy().argmax())
        warnings.warn(
            f"{path}: {int(gone.sum())} rows have no {target!r} (first: row {row}) and are left out", stacklevel=2
        )
        frame = frame[~gone.to_numpy()].reset_index(drop=True)
    X, y = frame.drop(columns=[target]), frame[target].to_numpy()
    schema = infer(X, y, kinds)
    return Table(X, y, Schema(schema.columns, schema.classes, schema.declared_classes, target, schema.notes))


def _query(path: pathlib.Path, sql: str | None, encoding: str) -> Any:
    import duckdb

    if not path.exists():
        near = did_you_mean(path.name, (p.name for p in path.parent.glob("*")) if path.parent.is_dir() else ())
        raise FileNotFoundError(f"no file {path}{near}")
    if path.stat().st_size == 0:
        raise FormatError(f"{path} is empty")
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in (".gz", ".zst")]
    if not suffixes or suffixes[-1] not in READERS:
        raise FormatError(f"{path}: cannot tell its format; known endings: {listed(READERS)}, each also with .gz")
    reader = READERS[suffixes[-1]]
    name = "".join(f"[{c}]" if c in "*?[" else c for c in str(path)).replace("'", "''")  # a path, not a pattern
    options = f"{CSV_OPTIONS}, encoding='{encoding}'" if reader == "read_csv" else ""
    try:
        with duckdb.connect(":memory:") as engine:
            names = [row[0] for row in engine.execute(f"DESCRIBE FROM {reader}('{name}'{options})").fetchall()]
            if reader == "read_csv":
                _refuse_ragged(path, names, encoding)
            engine.execute(f"CREATE VIEW this AS FROM {reader}('{name}'{options})")
            found = engine.execute(sql or "FROM this").df()
    except duckdb.Error as error:
        raise FormatError(f"{path}: {error}") from error
    return found


def _refuse_ragged(path: pathlib.Path, names: list[str], encoding: str) -> None:
    """Rows of different lengths make the engine see one column, a repeated name makes it invent one: say so instead."""
    if path.suffix.lower() == ".zst":
        return
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding=encoding, errors="replace", newline="") as file:
        first = file.readline().lstrip("\ufeff").rstrip("\r\n")
        for mark in ",;|\t":
            header = next(csv.reader([first], delimiter=mark), [])
            if len(names) == 1 and len(header) > 1 and names[0] == first:
                for line, row in enumerate(csv.reader(file, delimiter=mark), start=2):
                    if row and len(row) != len(header):
                        raise FormatError(f"{path}, line {line}: {len(row)} cells where the header has {len(header)}")
            repeated = sorted({h for h in header if header.count(h) > 1})
            if len(header) == len(names) > 1 and repeated and set(names) & set(header):
                raise UnknownColumn(f"{path}: duplicate columns: {listed(repeated)}; every column needs its own name")
