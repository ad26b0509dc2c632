"""Counts of several columns together: N[x_a, x_b, …, y] for chosen sets of columns, with `+` and `-` by value.

Symbols: a scope is a list of columns counted together; its table is [x_a, x_b, …, y], the last column of the scope fastest
among values, the class fastest of all.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import StatisticsError
from ..kernels import naive as kernels
from ..kernels.pairs import count_pairs, pair_offsets
from ..table.schema import Schema
from .coded import CodedTable, Cuts, check_same_cuts
from .counts import Counts
from .statistics import Statistics


@dataclass(frozen=True, eq=False)
class Joint:
    """N[x_scope, y] of many scopes; `scopes[s]` are the columns of scope s, −1 after the last."""

    scopes: NDArray[np.int32]
    counts: Counts

    def table(self, s: int, sizes: Any) -> Array:
        """N of one scope, an axis for each of its columns and one for the class."""
        dims = [int(sizes[j]) for j in self.scopes[s] if j >= 0]
        return self.counts.scope(s).reshape(*dims, self.counts.n_classes)

    def __add__(self, other: Joint) -> Joint:
        self._check(other)
        return Joint(self.scopes, self.counts + other.counts)

    def __sub__(self, other: Joint) -> Joint:
        self._check(other)
        return Joint(self.scopes, self.counts - other.counts)

    def scaled(self, factor: float) -> Joint:
        """Every count times `factor`."""
        return Joint(self.scopes, self.counts.scaled(factor))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joint) and np.array_equal(self.scopes, other.scopes) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def _check(self, other: Joint) -> None:
        if not np.array_equal(self.scopes, other.scopes):
            raise StatisticsError("counts of other families of columns cannot be added: the models differ in structure")

    def moved(self, old: Schema, new: Schema) -> Joint:
        """The same counts in another schema, matched by value; what it does not have is dropped."""
        if old is new or (old.columns == new.columns and old.classes == new.classes):
            return self
        classes = _places(old.classes, new.classes)
        columns = [_places(a.values, b.values) for a, b in zip(old.columns, new.columns)]
        before, after = ([len(c.values) for c in s.columns] for s in (old, new))
        sizes = [int(np.prod([after[j] for j in scope if j >= 0])) for scope in self.scopes]
        out = Counts.zero(sizes, len(new.classes))
        table = np.zeros(out.table.shape, dtype=self.counts.table.dtype)
        for s, scope in enumerate(self.scopes):
            scope = scope[scope >= 0]
            axes = [columns[j] for j in scope] + [classes]
            part = table[out.offsets[s] : out.offsets[s + 1]].reshape(*(after[j] for j in scope), len(new.classes))
            part[np.ix_(*(to for _, to in axes))] = self.table(s, before)[np.ix_(*(at for at, _ in axes))]
        return Joint(self.scopes, Counts(table, out.offsets))


def _places(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Array, Array]:
    """(places in old, places in new) of the values that both have."""
    where = {v: k for k, v in enumerate(new)}
    both = [(i, where[v]) for i, v in enumerate(old) if v in where]
    at, to = ([p[k] for p in both] for k in (0, 1))
    return np.array(at, dtype=np.intp), np.array(to, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """N[y], N[xj, y] and joint counts, in one schema and with one set of cuts: what a semi-naive model stores."""

    base: Statistics
    joints: tuple[Joint, ...]
    cuts: Cuts

    @property
    def schema(self) -> Schema:
        """Columns, values (bins where a column is cut) and classes."""
        return self.base.schema

    @property
    def rows(self) -> Array:
        """N[y]."""
        return self.base.rows

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """S_j."""
        return tuple(len(c.values) for c in self.schema.columns)

    def __add__(self, other: JointStatistics) -> JointStatistics:
        check_same_cuts(self.cuts, other.cuts, self.schema.names)
        base = self.base + other.base
        a, b = self._moved(base.schema), other._moved(base.schema)
        return JointStatistics(base, tuple(x + y for x, y in zip(a, b)), self.cuts)

    def __sub__(self, other: JointStatistics) -> JointStatistics:
        check_same_cuts(self.cuts, other.cuts, self.schema.names)
        base = self.base - other.base
        left = [x - y for x, y in zip(self.joints, other._moved(self.schema))]
        return JointStatistics(base, tuple(x.moved(self.schema, base.schema) for x in left), self.cuts)

    def scaled(self, factor: float) -> JointStatistics:
        """Every row counts `factor` times."""
        return replace(self, base=self.base.scaled(factor), joints=tuple(j.scaled(factor) for j in self.joints))

    def _moved(self, schema: Schema) -> list[Joint]:
        return [j.moved(self.schema, schema) for j in self.joints]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointStatistics) or self.base != other.base or self.joints != other.joints:
            return False
        try:
            check_same_cuts(self.cuts, other.cuts, self.schema.names)
        except StatisticsError:
            return False
        return True

    __hash__ = None  # type: ignore[assignment]


def collect_pairs(
    table: CodedTable, y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None, max_memory: float | None
) -> Joint:
    """N[xi, xj, y] of all pairs i < j."""
    counts = count_pairs(table.codes, table.sizes, y, n_classes, weights, n_jobs=n_jobs, max_memory=max_memory)
    scopes = np.stack(np.triu_indices(len(table.sizes), k=1), axis=1).astype(np.int32)
    return Joint(scopes, Counts(counts, pair_offsets(table.sizes)))


def collect_triples(
    table: CodedTable, y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None, max_memory: float | None
) -> Joint:
    """N[xi, xj, xk, y] of all triples i < j < k: the pairs of the columns after i, with (xi, y) as the class."""
    sizes, d = table.sizes, len(table.sizes)
    cells = sum(int(pair_offsets(sizes[i + 1 :])[-1]) * sizes[i] for i in range(d))
    refuse_over(max_memory, cells * n_classes * 8, f"triple counts of {d} columns, {n_classes} classes")
    scopes, tables = [np.empty((0, 3), np.int32)], [np.zeros((0, n_classes), np.int64 if weights is None else float)]
    lengths = [np.empty(0, np.int64)]
    for i in range(d - 2):
        rest = sizes[i + 1 :]
        x = table.column(i).astype(np.uint32)
        seen = x < sizes[i]
        both = (x * np.uint32(n_classes) + y)[seen]
        columns = [table.column(j)[seen] for j in range(i + 1, d)]
        w = None if weights is None else weights[seen]
        counted = count_pairs(columns, rest, both, sizes[i] * n_classes, w, n_jobs=n_jobs, max_memory=np.inf)
        offsets = pair_offsets(rest)
        for a, b in itertools.pairwise(offsets):  # [xj, xk, xi, y] → [xi, xj, xk, y]
            part = counted[a:b].reshape(b - a, sizes[i], n_classes).transpose(1, 0, 2)
            tables.append(part.reshape(-1, n_classes))
        pairs = np.stack(np.triu_indices(d - i - 1, k=1), axis=1) + i + 1
        scopes.append(np.concatenate([np.full((len(pairs), 1), i), pairs], axis=1).astype(np.int32))
        lengths.append(np.diff(offsets) * sizes[i])
    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return Joint(np.concatenate(scopes), Counts(np.concatenate(tables), ends))


def family_codes(table: CodedTable, family: tuple[int, ...], extra: int = 0) -> Array:
    """One code for the values of several columns, the last fastest; `extra` more values a column (1: missing is one)."""
    codes = table.column(family[0])
    if len(family) == 1:
        return codes
    size = int(np.prod([table.sizes[j] + extra for j in family]))
    codes = codes.astype(np.uint16 if size < 1 << 16 else np.uint32)
    for j in family[1:]:
        codes = codes * codes.dtype.type(table.sizes[j] + extra) + table.column(j)
    return codes


def collect_families(
    table: CodedTable,
    families: list[tuple[int, ...]],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    n_jobs: int | None,
    max_memory: float | None,
) -> Joint:
    """N[x_family, y] of each family (parents first, the child last); rows with a missing cell are left out of it."""
    if not families:
        kind = np.int64 if weights is None else np.float64
        return Joint(np.empty((0, 1), np.int32), Counts(np.zeros((0, n_classes), kind), np.zeros(1, np.int64)))
    sizes = [int(np.prod([table.sizes[j] + 1 for j in f])) for f in families]
    refuse_over(max_memory, sum(sizes) * n_classes * 8, f"counts of {len(families)} families, {n_classes} classes")
    if max(sizes) >= 1 << 32:
        raise StatisticsError("a family of columns has more than 2^32 values; give fewer parents or bins")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns = [family_codes(table, f, extra=1) for f in families]
    counted = kernels.count_cells(columns, y, offsets, n_classes, weights, n_jobs=n_jobs)
    tables = []
    for s, family in enumerate(families):
        part = counted[offsets[s] : offsets[s + 1]].reshape(*(table.sizes[j] + 1 for j in family), n_classes)
        known = part[tuple(slice(0, table.sizes[j]) for j in family)]
        tables.append(known.reshape(-1, n_classes))
    scopes = np.full((len(families), max((len(f) for f in families), default=1)), -1, np.int32)
    for s, family in enumerate(families):
        scopes[s, : len(family)] = family
    ends = np.concatenate([[0], np.cumsum([len(t) for t in tables])]).astype(np.int64)
    return Joint(scopes, Counts(np.concatenate(tables), ends))
