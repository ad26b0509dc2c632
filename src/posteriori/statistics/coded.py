"""A table as codes throughout: categories as they are, numbers by the bin they fall into.

Symbols: column j has S_j values; its codes are 0 … S_j − 1, and S_j for a missing cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..errors import BadValue, StatisticsError
from ..kernels import naive as kernels
from ..table.encode import Coded, code_columns, numbers
from ..table.frame import Frame
from ..table.labels import narrowest
from ..table.schema import Column, Schema
from .collect import in_schema
from .counts import Counts
from .cuts import bin_codes, find_cuts
from .histogram import Histogram
from .moments import Moments
from .statistics import Statistics

Cuts = tuple[Floats | None, ...]  # of each column; None where it is no number

MEASURED = frozenset({"numeric", "count"})  # kinds that are cut into bins


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Codes in the order of a schema's values: a matrix (n, d), or a list of columns."""

    codes: Any
    sizes: tuple[int, ...]
    n_missing: int = 0
    n_unseen: int = 0

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.codes) if isinstance(self.codes, np.ndarray) else len(self.codes[0])

    @property
    def whole(self) -> bool:
        """Whether every cell has a value that is known."""
        return self.n_missing + self.n_unseen == 0

    def column(self, j: int) -> Array:
        """The codes of one column."""
        found: Array = self.codes[:, j] if isinstance(self.codes, np.ndarray) else self.codes[j]
        return found

    def columns(self) -> list[Array]:
        """All columns."""
        return [self.column(j) for j in range(len(self.sizes))]

    def cells(self, rows: slice | Array = slice(None)) -> NDArray[np.int32]:
        """[r, j] = the cell of x_j among all values of all columns; −1 where missing."""
        first = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int32)
        if isinstance(self.codes, np.ndarray):
            out = np.ascontiguousarray(self.codes[rows], dtype=np.int32)
            out = out + first if out.base is None and self.whole else np.array(out) + first
        else:
            out = np.empty((len(self.codes[0][rows]), len(self.sizes)), dtype=np.int32)
            for j, column in enumerate(self.codes):
                np.add(column[rows], first[j], out=out[:, j], casting="unsafe")
        if not self.whole:
            for j, size in enumerate(self.sizes):
                out[self.column(j)[rows] >= size, j] = -1
        return out

    def take(self, rows: Array) -> CodedTable:
        """Some rows."""
        codes = self.codes[rows] if isinstance(self.codes, np.ndarray) else [c[rows] for c in self.codes]
        return replace(self, codes=codes)


def learn_cuts(frame: Frame, schema: Schema, y: Array, weights: Floats | None, method: str, bins: int) -> Cuts:
    """The cuts of every measured column, from its histogram by class."""
    found: list[Floats | None] = []
    for j, column in enumerate(schema.columns):
        if column.kind not in MEASURED:
            found.append(None)
            continue
        x = _numbers(frame, j)
        found.append(find_cuts(Histogram.of(x, y, len(schema.classes), weights), method, bins))
    return tuple(found)


def with_bins(schema: Schema, cuts: Cuts) -> Schema:
    """The schema whose measured columns have their bins as declared values."""
    columns = []
    for column, cut in zip(schema.columns, cuts):
        if cut is None:
            columns.append(column)
            continue
        bins = tuple(range(len(cut) + 1))
        columns.append(Column(column.name, column.kind, bins, frozenset(bins)))
    return replace(schema, columns=tuple(columns))


def code_training(
    frame: Frame, schema: Schema, cuts: Cuts, y: Array, weights: Floats | None, n_jobs: int | None
) -> tuple[CodedTable, Statistics]:
    """The rows coded by the values they have, and N[y], N[xj, y] of them."""
    n_classes, d = len(schema.classes), len(schema)
    coded = _code(frame, cuts, n_jobs)
    table = kernels.count_cells(coded.codes, y, coded.offsets, n_classes, weights, n_jobs=n_jobs)
    columns = list(schema.columns)
    counts = in_schema(coded, table, list(range(d)), columns)
    schema = replace(schema, columns=tuple(columns))
    rows = np.bincount(y, weights, minlength=n_classes)
    nothing = Moments(*(np.zeros((n_classes, 0)) for _ in range(3)))
    statistics = Statistics(
        schema,
        ("cells",) * d,
        rows.astype(np.int64) if weights is None else rows,
        counts,
        Counts.zero([], n_classes),
        nothing,
        (),
    )
    return _translated(coded, schema), statistics


def code_known(frame: Frame, schema: Schema, cuts: Cuts, n_jobs: int | None) -> CodedTable:
    """Rows coded by the values of a schema; a value that it does not have is treated as missing, and counted."""
    return _translated(_code(frame, cuts, n_jobs), schema)


def _code(frame: Frame, cuts: Cuts, n_jobs: int | None) -> Coded:
    """Local codes of every column."""
    measured = [j for j, cut in enumerate(cuts) if cut is not None]
    if not measured:
        return code_columns(frame, range(frame.d), n_jobs)
    others = [j for j, cut in enumerate(cuts) if cut is None]
    named = code_columns(frame, others, n_jobs) if others else Coded((), [], 0)
    values: list[Sequence[Any]] = [()] * frame.d
    codes: list[Array] = [np.empty(0)] * frame.d
    for k, j in enumerate(others):
        values[j], codes[j] = named.values[k], named.column(k)
    missing = named.n_missing
    for j in measured:
        cut = cuts[j]
        assert cut is not None
        values[j], codes[j] = range(len(cut) + 1), bin_codes(_numbers(frame, j), cut)
        missing += int(np.count_nonzero(codes[j] == len(cut) + 1))
    return Coded(tuple(values), codes, missing)


def _numbers(frame: Frame, j: int) -> Floats:
    x = np.asarray(numbers(frame, [j])[:, 0], dtype=np.float64)
    if np.isinf(x).any():
        row = int(np.flatnonzero(np.isinf(x))[0])
        raise BadValue(
            f"row {row}, column {frame.name(j)!r}: Input contains infinity ({x[row]}); numbers must be finite or missing"
        )
    return x


def _translated(coded: Coded, schema: Schema) -> CodedTable:
    """Local codes → codes of the schema; the codes themselves where the two agree."""
    sizes = tuple(len(c.values) for c in schema.columns)
    tables = [_look_up(values, c.values, coded.n_missing) for values, c in zip(coded.values, schema.columns)]
    if all(t is None for t in tables):
        return CodedTable(coded.codes, sizes, coded.n_missing)
    codes, unseen = [], 0
    for k, table in enumerate(tables):
        column = coded.column(k)
        if table is not None:
            strange = np.flatnonzero(table[:-1] == sizes[k])
            if len(strange):
                met = np.bincount(column, minlength=len(table))
                unseen += int(met[strange].sum())
            column = table[column]
        codes.append(column)
    return CodedTable(codes, sizes, coded.n_missing, unseen)


def _look_up(local: Sequence[Any], known: tuple[Any, ...], n_missing: int) -> Array | None:
    """The schema's code of each local code, or None where they are the same for every cell that can occur."""
    same = min(len(local), len(known))
    if tuple(local[:same]) == known[:same] and (
        len(local) == len(known) or (len(local) < len(known) and not n_missing)
    ):
        return None
    place = {v: i for i, v in enumerate(known)}
    return np.array([place.get(v, len(known)) for v in local] + [len(known)], dtype=narrowest(len(known) + 1))


def check_same_cuts(a: Cuts, b: Cuts, names: Sequence[str]) -> None:
    """Counts of bins add only where the bins are the same."""
    for name, mine, theirs in zip(names, a, b):
        if mine is None and theirs is None:
            continue
        if mine is None or theirs is None or not np.array_equal(mine, theirs):
            raise StatisticsError(
                f"column {name!r} was cut in different places, so its counts do not add: {_shown(mine)} and "
                f"{_shown(theirs)}; fit both models with cuts=first.cuts_"
            )


def _shown(cut: Floats | None) -> str:
    return "no cuts" if cut is None else f"{len(cut)} cuts {np.round(cut[:3], 4).tolist()}"
