"""From a file to a table with a schema: CSV, Parquet, JSON lines, through DuckDB."""

from __future__ import annotations

import pathlib
import warnings
from dataclasses import dataclass
from typing import Any

from ..errors import FormatError, MissingExtra, TableError, UnknownColumn, did_you_mean, listed
from .infer import infer
from .kinds import Kinds
from .schema import Schema
from .sources import open_frame

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


@dataclass(frozen=True, eq=False)
class Table:
    """The columns `X`, the labels `y` (or None) and the `schema` that the first pass decided."""

    X: Any
    y: Any
    schema: Schema

    def __len__(self) -> int:
        return len(self.X)

    def __repr__(self) -> str:
        decided = "\n  ".join(self.schema.notes)
        classes = f", classes {listed(self.schema.classes)}" if self.y is not None else ""
        return f"Table of {len(self)} rows{classes}\n  {decided}"


def read(path: Any, target: str | None = None, kinds: Kinds = None, sql: str | None = None) -> Table:
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
    """
    frame = _query(pathlib.Path(path), sql)
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


def _query(path: pathlib.Path, sql: str | None) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("reading files needs duckdb: pip install duckdb") from error
    if not path.exists():
        near = did_you_mean(path.name, (p.name for p in path.parent.glob("*")) if path.parent.is_dir() else ())
        raise FileNotFoundError(f"no file {path}{near}")
    suffixes = [s for s in path.suffixes if s not in (".gz", ".zst")]
    if not suffixes or suffixes[-1].lower() not in READERS:
        raise FormatError(f"{path}: cannot tell its format; known endings: {listed(READERS)}, each also with .gz")
    reader = READERS[suffixes[-1].lower()]
    options = CSV_OPTIONS if reader == "read_csv" else ""
    quoted = str(path).replace("'", "''")
    query = f"SELECT * FROM {reader}('{quoted}'{options})"
    try:
        with duckdb.connect(":memory:") as engine:
            engine.execute(f"CREATE VIEW this AS {query}")
            found = engine.execute(sql or "SELECT * FROM this").df()
    except duckdb.Error as error:
        raise FormatError(f"{path}: {error}") from error
    if not len(found.columns):
        raise TableError(f"{path} has no columns")
    open_frame(found)  # duplicate names are named here
    return found
