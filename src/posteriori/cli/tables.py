"""Files as a command reads them: kinds and why, what is left out and why, dates as columns, a target cut into bins."""

from __future__ import annotations

import itertools
import pathlib
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from ..errors import BadParameter, BadValue, UnknownColumn, counted, did_you_mean, listed
from ..table.batches import batches
from ..table.cells import in_bins
from ..table.dates import PARTS, date_part, no_dates
from ..table.frame import Table
from ..table.read import read
from ..table.schema import KINDS, MEASURED, Column, Schema
from .guard import plain, say
from .render import line, pairs

if TYPE_CHECKING:
    from .main import Explain, Forget, Learn, Predict

MOST_SHOWN = 30  # columns that a summary lists


@dataclass(frozen=True)
class Source:
    """A table read for a command: the rows, and sentences about what was done to them."""

    name: str
    table: Table
    notes: tuple[str, ...]


def told_kinds(options: list[str] | None) -> dict[str, str]:
    """`--kind age=numeric` as a dict.

    >>> told_kinds(["age=numeric"])
    {'age': 'numeric'}
    """
    kinds = {}
    for option in options or []:
        name, equals, kind = option.rpartition("=")
        if not equals or not name:
            raise BadParameter(f"--kind is written column=kind, as in --kind age=numeric. Got {option!r} instead.")
        if kind not in KINDS:
            raise BadParameter(f"--kind {option}: a kind is one of {listed(KINDS)}{did_you_mean(kind, KINDS) or '.'}")
        kinds[name] = kind
    return kinds


def open_table(
    path: str, target: str, kinds: dict[str, str], bins: int | None = None, sql: str | None = None, **options: Any
) -> Source:
    """Read a file (or stdin, "-") for training: classes in the target, ids left out, dates as columns."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        told = {**kinds, target: "numeric"} if bins else kinds
        table = read(stdin_or(path), target, told, sql, **options)
    said = [str(w.message) for w in heard if issubclass(w.category, UserWarning)]
    refuse_infinite(table, path)
    if not len(table):
        raise BadValue(f"{path} has no rows" + (f" with a {target!r}" if said else ""))
    if not len(table.schema):
        raise UnknownColumn(f"{path} has no column besides the target {target!r}: there is nothing to learn from")
    table, cut = _classes(table, target, bins)
    refuse_words(table, path, kinds)
    table, gone = _without_ids(table, kinds)
    table, dull = _without_dull(table, kinds)
    table, dates = _with_dates(table, kinds)
    notes = [*table.notes, *cut, *(s for s in said if "looks like an id" not in s), *gone, *dull, *dates]
    notes += [*_mixed(table, kinds), *alike(table.schema, target), *_copies(table)]
    return Source(path, table, tuple(notes))


def open_source(path: str, kinds: dict[str, str], sql: str | None = None, **options: Any) -> Source:
    """Read a file for a model of all its columns: ids, texts and columns that say nothing are left out."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        table = read(stdin_or(path), None, kinds, sql, **options)
    if not len(table):
        raise BadValue(f"{path} has no rows")
    said = [str(w.message) for w in heard if issubclass(w.category, UserWarning) and "an id" not in str(w.message)]
    refuse_words(table, path, kinds)
    refuse_infinite(table, path)
    table, gone = _without_ids(table, kinds)
    table, dull = _without_dull(table, kinds)
    texts = [c.name for c in table.schema.columns if c.kind == "text"]
    table = without(table, texts) if texts else table
    words = [f"{name}: left out, a text has no states" for name in texts]
    return Source(path, table, (*table.notes, *said, *gone, *dull, *words, *alike(table.schema)))


def open_head(file: Any, target: str, kinds: dict[str, str], missing: list[str] | None) -> Source:
    """What the first rows of a file say of its columns; of its classes they say only what they are made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read(file, target, kinds, missing=missing or None)
    refuse_infinite(table, file.name)
    if table.task == "regression":
        _classes(table, target, None)
    refuse_words(table, file.name, kinds)
    table, gone = _without_ids(table, kinds)
    table, dates = _with_dates(table, kinds)
    return Source(file.name, table, (*table.notes, *gone, *dates))


def open_rows(options: Explain | Forget | Learn | Predict, schema: Schema, target: str | None = None) -> Any:
    """The rows of the data that a command was given, batch by batch, as a model's schema has them."""
    note = None if getattr(options, "quiet", False) else say
    return batches(stdin_or(options.data), schema, target, options.encoding, options.sql, note)


def stdin_or(path: str) -> Any:
    """What to read: a path, or stdin where it is `-`."""
    return sys.stdin.buffer if path == "-" else pathlib.Path(path)


def _classes(table: Table, target: str, bins: int | None) -> tuple[Table, list[str]]:
    """The table with a target of classes; a quantity is cut into bins of equal share, if it is told so."""
    if table.task != "regression":
        if len(table.schema.classes) < 2:
            raise BadValue(
                f"the target {target!r} has one class only, {table.schema.classes[0]!r}: there is nothing to tell apart"
            )
        return table, []
    values = len(np.unique(table.y))
    if bins is None:
        raise BadValue(
            f"the target {target!r} is a number with {values} different values, not a class: --bins 4 cuts it into four "
            f"classes of equal share, --kind {target}=categorical takes each number as a class; po.KNeighborsRegressor and "
            "po.SVR foretell the number itself"
        )
    y, labels, edges = binned(table.y, bins)
    if len(labels) < 2:
        raise BadValue(f"the target {target!r} cannot be cut into {bins} bins: nearly all rows have one value")
    reading = replace(table.schema.reading, edges=tuple(edges))
    schema = replace(table.schema, classes=tuple(labels), declared_classes=frozenset(labels), reading=reading)
    fewer = f" ({bins} asked: equal numbers stay together)" if len(labels) < bins else ""
    said = f"{target}: cut into {len(labels)} classes of nearly equal share{fewer}: {', '.join(labels)}"
    return replace(table, y=y, schema=schema, task="classification"), [said]


def binned(y: Any, bins: int) -> tuple[Any, list[str], list[float]]:
    """(labels, classes in order, where they meet) of numbers cut at their quantiles; equal numbers are never parted.

    >>> binned(np.array([1.0, 2.0, 3.0, 4.0]), 2)[1]
    ['1: up to 2', '2: above 2']
    """
    inner = np.quantile(y, np.arange(1, bins) / bins, method="inverted_cdf")
    edges = [float(e) for e in np.unique(inner) if e < y.max()]
    digits = len(str(len(edges) + 1))
    said = [f"{e:.6g}" for e in edges]
    names = (
        [f"up to {said[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(said)), f"above {said[-1]}"]
        if edges
        else ["all"]
    )
    labels = [f"{i:0{digits}d}: {name}" for i, name in enumerate(names, start=1)]
    return in_bins(y, edges, labels), labels, edges


def _without_ids(table: Table, told: dict[str, str]) -> tuple[Table, list[str]]:
    """The table without columns that number or name the rows, unless their kind is told."""
    gone, said = [], []
    for column in table.schema.columns:
        cells = table.X[column.name]
        if column.name in told or column.kind not in ("categorical", "numeric") or len(table) < 20:
            continue
        values = int(cells.nunique())
        if values < 0.95 * len(table):
            continue
        if column.kind == "categorical":
            gone.append(column.name)
            said.append(
                f"{column.name}: left out, {values} different values in {len(table)} rows name the rows (an id)"
            )
        elif _whole(cells) and float(cells.max() - cells.min()) < 1.1 * len(table):
            gone.append(column.name)
            said.append(f"{column.name}: left out, it numbers the rows (an id)")
    said = [f"{note}; --kind {name}=… keeps it" for note, name in zip(said, gone)]
    return (without(table, gone), said) if gone else (table, [])


def _without_dull(table: Table, told: dict[str, str]) -> tuple[Table, list[str]]:
    """The table without columns that are empty, or have one value in every row, unless their kind is told."""
    gone, said = [], []
    for name in (c.name for c in table.schema.columns if c.name not in told):
        cells = table.X[name]
        if cells.isna().all():
            gone.append(name)
            said.append(f"{name}: left out, every cell is missing")
        elif len(table) > 1 and cells.notna().all() and (cells == cells.iloc[0]).all():
            gone.append(name)
            said.append(f"{name}: left out, every cell is {plain(str(cells.iloc[0]))[:40]!r}")
    return (without(table, gone), said) if gone else (table, [])


COPIES = 0.01  # share of the rows from which it is said
MIXED = 20  # different numbers in a column of words, and half of its cells: it is said


def _mixed(table: Table, told: dict[str, str]) -> list[str]:
    """Columns of words, most of which are numbers."""
    import pandas as pd

    said = []
    for column in table.schema.columns:
        cells = table.X[column.name]
        if column.kind != "categorical" or column.name in told:
            continue
        numbers = pd.to_numeric(cells.dropna(), errors="coerce")
        odd = numbers[numbers.isna()]
        if len(odd) and numbers.nunique() > MIXED and len(odd) < 0.5 * len(numbers):
            word = str(cells[odd.index[0]])
            said.append(
                f"{column.name}: {len(odd)} of {len(numbers)} cells are no numbers, {word!r:.40} the first, so all are "
                f"words; --missing {word!r:.40} reads it as missing"
            )
    return said


def alike(schema: Schema, target: str | None = None) -> list[str]:
    """What is perhaps one value and is counted as two: a line for the target and each column where blanks or case differ.

    >>> alike(Schema.declare({"color": ["red", "Red", "red ", "blue"]}))
    ["color: 'Red' and 'red' differ only in case, and 1 more so; write them alike if they mean the same"]
    """
    said = []
    for name, values in ((target, schema.classes), *((c.name, c.values) for c in schema.columns)):
        groups: dict[str, list[str]] = {}
        for value in values:
            if isinstance(value, str):
                groups.setdefault(value.strip().casefold(), []).append(value)
        same = [group for group in groups.values() if len(group) > 1]
        if same:
            one, other = same[0][:2]
            blanks, case = one.casefold() != other.casefold(), one.strip() != other.strip()
            how = " and ".join(["blanks"] * blanks + ["case"] * case)
            more = sum(len(group) - 1 for group in same) - 1
            said.append(
                f"{name or 'the target'}: {one!r:.40} and {other!r:.40} differ only in {how}"
                f"{f', and {more:,} more so' if more else ''}; "
                f"{'write them alike' if case else 'strip them'} if they mean the same"
            )
    return said


def _copies(table: Table) -> list[str]:
    """Rows that are copies of others, where measurements make that no chance."""
    fine = [c.name for c in table.schema.columns if c.kind == "numeric" and table.X[c.name].nunique() > MIXED]
    if not fine:
        return []
    copies = int(table.X.duplicated().sum())
    if copies < COPIES * len(table):
        return []
    are = "is a copy of another" if copies == 1 else "are copies of others"
    return [f"{copies:,} of {len(table):,} rows {are}: they may stand on both sides of a fold"]


def _with_dates(table: Table, told: dict[str, str]) -> tuple[Table, list[str]]:
    """The table with year, month, weekday and hour of its dates as columns, those that differ at all; and what it says."""
    X, columns, notes, said = table.X, list(table.schema.columns), list(table.schema.notes), []
    for name in [c.name for c in columns if X[c.name].dtype.kind == "M" and c.name not in told]:
        made = []
        for part in PARTS:
            cells = date_part(X[name], part)
            values = {v for v in cells if v is not None}
            if len(values) < 2 or f"{name}.{part}" in X.columns:
                continue
            few = () if part == "year" else tuple(sorted(values))
            X = X.assign(**{f"{name}.{part}": cells if few else cells.astype(float)})
            columns.append(Column(f"{name}.{part}", "categorical" if few else "numeric", few, frozenset(few)))
            notes.append(f"{name}.{part}: {columns[-1].kind} (of the date {name})")
            made.append(part)
        first = X[name].min()
        said.append(f"{name}: dates from {first:%Y-%m-%d} on, as days" + (f", and {', '.join(made)}" if made else ""))
    schema = replace(table.schema, columns=tuple(columns), notes=tuple(notes))
    return (replace(table, X=X, schema=schema), said) if said else (table, [])


ODD = 0.01  # words among numbers or dates: so few of them are mistakes, and more are values


def refuse_words(table: Table, path: str, told: dict[str, str]) -> None:
    """A column of numbers or dates but for a few words is a mistake in the file: line, column and first word are named."""
    import pandas as pd

    for column in table.schema.columns:
        cells = table.X[column.name]
        wanted = told.get(column.name) in MEASURED
        if not (wanted or (column.kind == "categorical" and column.name not in told)):
            continue
        values = pd.Series(cells.dropna().unique())
        what, odd = _odd_words(values, () if wanted else table.schema.reading.gaps)
        at = cells.isin(odd).to_numpy()
        if at.any() and (wanted or (len(values) > 20 and at.sum() <= max(1.0, ODD * len(cells)))):
            row = int(at.argmax())
            word = str(cells.iloc[row])
            raise BadValue(
                f"{path}, {_line(table, row)}, column {column.name!r}: {word!r:.60} is no {what}, and "
                f"{int((~at).sum()):,} other cells are; mend it, --missing {word!r} reads it as missing, "
                f"--kind {column.name}=categorical takes all as words"
            )


def _odd_words(values: Any, gaps: Sequence[str]) -> tuple[str, set[Any]]:
    """("number" or "date", the distinct cells that are none); a word for a missing cell is no odd one."""
    import pandas as pd

    if len(values) and all(isinstance(v, str) for v in values):
        values = values[~values.str.strip().isin(gaps)]
        odd = no_dates(values) if len(values) else None
        if odd is not None:
            return "date", set(values[odd])
    return "number", set(values[pd.to_numeric(values, errors="coerce").isna()])


def refuse_infinite(table: Table, path: str) -> None:
    """A cell that is no finite number, as 1e400, is a mistake in the file: its line, column and word are named."""
    columns = {name: table.X[name].to_numpy() for name in table.X if table.X[name].dtype.kind == "f"}
    if table.task == "regression" and table.schema.target is not None:
        columns[table.schema.target] = table.y
    for name, cells in columns.items():
        infinite = np.isinf(cells.astype(float))
        if infinite.any():
            row = int(infinite.argmax())
            word = str(cells[row]) if table.lines is None else table.lines.infinite[name]
            raise BadValue(
                f"{path}, {_line(table, row)}, column {name!r}: {word!r:.60} is no finite number; "
                f"mend it, or leave the cell empty (--missing {word!r:.60} reads it so)"
            )


def _line(table: Table, row: int) -> str:
    """The line of a file of text on which a row begins, or the row where there are no lines."""
    return f"row {row + 1}" if table.lines is None else f"line {table.lines.begin[row]}"


def without(table: Table, names: list[str]) -> Table:
    """The table without some of its columns."""
    kept = [j for j, c in enumerate(table.schema.columns) if c.name not in names]
    if not kept:
        raise UnknownColumn(f"no column is left to learn from: {listed(names)} {'are' if names[1:] else 'is'} left out")
    columns, notes = table.schema.columns, table.schema.notes
    schema = replace(table.schema, columns=tuple(columns[j] for j in kept), notes=tuple(notes[j] for j in kept))
    return replace(table, X=table.X.drop(columns=names), schema=schema)


def _whole(cells: Any) -> bool:
    x = cells.dropna().to_numpy()
    return bool(x.dtype.kind in "iuf" and (x == np.floor(x)).all())


def say_table(out: Console, source: Source, streamed: int | None = None) -> None:
    """The summary: target and classes, every column's kind and why, what was left out."""
    table, schema = source.table, source.table.schema
    labels, counts = np.unique(np.asarray(table.y, dtype=str), return_counts=True)
    shares = ", ".join(f"{plain(c)} {n:,} ({n / len(table):.0%})" for c, n in list(zip(labels, counts))[:8])
    more = f", … ({len(labels)} in all)" if len(labels) > 8 else ""
    said = (
        counted(len(table), "row")
        if streamed is None
        else f"{counted(streamed, 'row')}, kinds by the first {len(table):,}"
    )
    line(out, f"{source.name}: {said}, {counted(len(schema), 'column')}", "bold")
    line(out, f"target {schema.target}: {shares}{more}")
    line(out)
    rows = [_row_of(c, note) for c, note in zip(schema.columns, schema.notes)]
    pairs(out, rows[:MOST_SHOWN], ("column", "kind", "why"))
    if len(rows) > MOST_SHOWN:
        kinds = [c.kind for c in schema.columns[MOST_SHOWN:]]
        told = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in KINDS if kind in kinds)
        line(out, f"… and {len(kinds):,} more: {told}", "dim")
    for note in source.notes:
        line(out, note, "yellow")
    line(out)


def _row_of(column: Any, note: str) -> tuple[str, str, str]:
    why = note.removeprefix(f"{column.name}: {column.kind} ").removeprefix("(").removesuffix(")")
    return column.name, column.kind, why
