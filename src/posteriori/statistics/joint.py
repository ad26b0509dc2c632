"""Counts of several columns together: N[x_a, x_b, …, y] for chosen sets of columns, with `+` and `-` by value.

Symbols: a scope is a list of columns counted together; its table is [x_a, x_b, …, y], the last column of the scope fastest
among values, the class fastest of all. A *cell* is one combination of values. A scope of more than `WIDE` cells keeps only
those that some row has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from .. import kernels
from ..arrays import Array, Codes, Floats, Ints
from ..budget import refuse_over
from ..errors import StatisticsError
from ..fields import NOT_NEGATIVE, Place, need, rises
from ..kernels import count_pairs
from ..table.schema import Schema
from .counts import Counts, JointStatistic, pair_offsets, places_in, starts_of
from .cuts import CodedTable

WIDE = 1 << 16  # cells of a scope beyond which the empty ones are left out
BATCH = 1 << 22  # cells of narrow scopes that are counted at a time

Scope = tuple[Place, ...]
Part = tuple[Any, Any]  # (cells that some row has, or None for all, N[cell, y])


@dataclass(frozen=True, eq=False)
class Joint(JointStatistic):
    """N[x_scope, y] of many scopes; `scopes[s]` are the columns of scope s, −1 after the last, `full[s]` its cells.

    `cells` names the cell of every row of the counts where some scope is wide; None where every cell has its row.
    """

    scopes: Annotated[Codes, "scopes columns"]
    full: Annotated[Ints, "scopes", NOT_NEGATIVE]
    counts: Counts
    cells: Annotated[Ints | None, "rows"] = None

    def __post_init__(self) -> None:
        if not len(self.scopes):  # the pairs of one column, or families of none: no scopes are no scopes
            object.__setattr__(self, "scopes", np.zeros((0, 2), dtype=np.int32))

    def check(self) -> None:
        """Refuse scopes that are none, and cells that are not in their scope, in order."""
        need(len(self.full) == len(self.counts.offsets) - 1, "joint counts must have the columns of every scope")
        need(self.scopes.shape[1] >= 1, "a scope must have a column")
        after = self.scopes[:, 1:] >= 0
        need(not (after & (self.scopes[:, :-1] < 0)).any(), "the columns of a scope must stand before its end")
        if self.cells is None:
            need(np.array_equal(self.counts.sizes, self.full), "joint counts must have a row for every cell")
            return
        need(len(self.cells) == len(self.counts.table), "joint counts must name the cell of every row")
        for (a, b), full in zip(pairwise(self.counts.offsets.tolist()), self.full.tolist()):
            mine = self.cells[a:b]
            inside = b == a or (mine[0] >= 0 and mine[-1] < full and rises(mine))
            need(inside, "the cells of a scope must rise")

    def check_of(self, sizes: Sequence[int], n_classes: int, numeric: set[int]) -> None:
        """Refuse counts that are not of columns of these sizes."""
        need(self.counts.n_classes == n_classes, "joint counts must be of the classes of the schema")
        inside = not self.scopes.size or (self.scopes.min() >= -1 and self.scopes.max() < len(sizes))
        need(inside, "a scope has no such column")
        scopes = self.every_scope
        need(all(len(set(scope)) == len(scope) > 0 for scope in scopes), "a scope must have every column once")
        need(cells_of(scopes, sizes) == self.full.tolist(), "joint counts must have the cells of their columns")

    @property
    def every_scope(self) -> list[Scope]:
        """The columns of all scopes."""
        return [self.columns(s) for s in range(len(self.full))]

    @classmethod
    def of(
        cls, scopes: Sequence[Scope], parts: Sequence[Part], sizes: Sequence[int], like: Array, wide: int | None = None
    ) -> Joint:
        """The counts of all scopes from their parts; `like` says how many classes there are and what a count is."""
        wide = WIDE if wide is None else wide
        full = cells_of(scopes, sizes)
        lengths = [n if n <= wide else len(cells) for n, (cells, _) in zip(full, parts)]
        offsets = starts_of(lengths)
        table = np.zeros((int(offsets[-1]), like.shape[1]), dtype=like.dtype)
        named = np.zeros(len(table), dtype=np.int64) if max(full, default=0) > wide else None
        for s, (cells, found) in enumerate(parts):
            at = slice(offsets[s], offsets[s + 1])
            table[at][... if cells is None or full[s] > wide else cells] = found
            if named is not None:
                named[at] = cells if full[s] > wide else np.arange(full[s])
        width = max(map(len, scopes), default=1)
        rows = np.array([(*s, *(-1,) * (width - len(s))) for s in scopes], dtype=np.int32).reshape(-1, width)
        return cls(rows, np.array(full, dtype=np.int64), Counts(table, offsets), named)

    def columns(self, s: int) -> Scope:
        """The columns of one scope."""
        return tuple(j for j in self.scopes[s].tolist() if j >= 0)

    def part(self, s: int) -> tuple[Ints, Array]:
        """(cells, N[cell, y]) of one scope: all of them, or of a wide one those that some row has, in order."""
        at = slice(self.counts.offsets[s], self.counts.offsets[s + 1])
        return (np.arange(self.full[s]) if self.cells is None else self.cells[at]), self.counts.table[at]

    def table(self, s: int, sizes: Sequence[int]) -> Array:
        """N of one scope in full, an axis for each of its columns and one for the class."""
        found = self.counts.scope(s)
        if len(found) < self.full[s]:
            found = np.zeros((int(self.full[s]), self.counts.n_classes), dtype=found.dtype)
            cells, some = self.part(s)
            found[cells] = some
        return found.reshape(*(int(sizes[j]) for j in self.columns(s)), self.counts.n_classes)

    @cached_property
    def _place(self) -> dict[Scope, int] | None:
        """Where a scope stands; None for all pairs, whose place is known."""
        d = int(self.scopes.max(initial=-1)) + 1
        if self.scopes.shape[1] == 2 and len(self.scopes) == d * (d - 1) // 2 and (np.diff(self.scopes) > 0).all():
            return None
        return {self.columns(s): s for s in range(len(self.scopes))}

    def find(self, columns: Scope) -> int:
        """The scope of these columns; of pairs in either order."""
        if self._place is not None:
            return self._place[columns]
        (i, j), d = sorted(columns), int(self.scopes.max()) + 1
        return i * d - i * (i + 1) // 2 + j - i - 1

    def part_of(self, columns: Scope, sizes: Sequence[int]) -> tuple[Ints, Array]:
        """(cells, N[cell, y]) of the scope of these columns, the last fastest."""
        s = self.find(columns)
        cells, table = self.part(s)
        if columns == self.columns(s):
            return cells, table
        if len(table) == self.full[s]:
            turned = table.reshape(sizes[columns[1]], sizes[columns[0]], -1).transpose(1, 0, 2)
            return cells, turned.reshape(len(cells), -1)
        return _sorted(_values(cells, [sizes[columns[1]], sizes[columns[0]]])[::-1], [sizes[j] for j in columns], table)

    def take(self, scopes: Sequence[Scope], sizes: Sequence[int]) -> Joint:
        """The counts of some scopes only."""
        return Joint.of(scopes, [self.part(self.find(scope)) for scope in scopes], sizes, self.counts.table)

    def __add__(self, other: Joint) -> Joint:
        return self._each(other, lambda a, b: a + b)

    def less(self, other: Joint, lightest: float = np.inf) -> Joint:
        return self._each(other, lambda a, b: a.less(b, lightest))

    def _each(self, other: Joint, what: Callable[[Counts, Counts], Counts]) -> Joint:
        """The sum or difference; of wide scopes over the cells that either has."""
        if not np.array_equal(self.scopes, other.scopes):
            raise StatisticsError("counts of other families of columns cannot be added: the models differ in structure")
        if self.cells is None:
            return Joint(self.scopes, self.full, what(self.counts, other.counts))
        tables, named = [], []
        for s in range(len(self.full)):
            (mine, a), (theirs, b) = self.part(s), other.part(s)
            if len(a) == len(b) == self.full[s]:
                both, found = mine, what(_alone(a), _alone(b)).table
            else:
                both = np.union1d(mine, theirs)
                found = what(_spread(both, mine, a), _spread(both, theirs, b)).table
                keep = found.any(axis=1)
                both, found = both[keep], found[keep]
            tables.append(found)
            named.append(both)
        offsets = starts_of([len(c) for c in named])
        return Joint(self.scopes, self.full, Counts(np.concatenate(tables), offsets), np.concatenate(named))

    def scaled(self, factor: float) -> Joint:
        return Joint(self.scopes, self.full, self.counts.scaled(factor), self.cells)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.scopes, self.full, self.counts, np.array([]) if self.cells is None else self.cells

    def reindex(self, old: Schema, new: Schema) -> Joint:
        if old.columns == new.columns and old.classes == new.classes:
            return self
        classes = places_in(old.classes, new.classes)
        places = [places_in(a.values, b.values) for a, b in zip(old.columns, new.columns)]
        before, after = ([len(c.values) for c in s.columns] for s in (old, new))
        like = np.zeros((0, len(new.classes)), dtype=self.counts.table.dtype)
        scopes, parts = [self.columns(s) for s in range(len(self.scopes))], []
        for s, scope in enumerate(scopes):
            cells, found = self.part(s)
            to = [places[j][v] for j, v in zip(scope, _values(cells, [before[j] for j in scope]))]
            stays = np.flatnonzero(np.logical_and.reduce([t >= 0 for t in to]))
            table = np.zeros((len(stays), len(new.classes)), dtype=like.dtype)
            table[:, classes[classes >= 0]] = found[stays][:, classes >= 0]
            parts.append(_sorted([t[stays] for t in to], [after[j] for j in scope], table))
        return Joint.of(scopes, parts, after, like)

    def reorder_columns(self, order: Sequence[int], sizes: Sequence[int]) -> Joint:
        """The same counts with the columns in another order: column `order[k]` becomes column k.

        Where the scopes are all pairs or all triples of columns, they are so afterwards, in their usual order; families
        stand by their child.
        """
        place, after = {j: k for k, j in enumerate(order)}, [sizes[j] for j in order]
        usual = [*itertools.combinations(range(len(sizes)), self.scopes.shape[1])]
        mine = [self.columns(s) for s in range(len(self.scopes))]
        found: dict[Scope, Part] = {}
        for s, scope in enumerate(mine):
            cells, table = self.part(s)
            by = sorted(range(len(scope)), key=lambda k: place[scope[k]]) if mine == usual else range(len(scope))
            values, new = _values(cells, [sizes[j] for j in scope]), tuple(place[scope[k]] for k in by)
            found[new] = _sorted([values[k] for k in by], [after[j] for j in new], table)
        scopes = usual if mine == usual else sorted(found, key=lambda scope: (scope[-1], len(scope)))
        return Joint.of(scopes, [found[scope] for scope in scopes], after, self.counts.table)


def _alone(table: Array) -> Counts:
    return Counts(table, np.array([0, len(table)], dtype=np.int64))


def _spread(cells: Ints, some: Ints, table: Array) -> Counts:
    """The counts of some cells among more."""
    out = np.zeros((len(cells), table.shape[1]), dtype=table.dtype)
    out[np.searchsorted(cells, some)] = table
    return _alone(out)


def _values(cells: Ints, dims: Sequence[int]) -> list[Ints]:
    """The value of each column in each cell."""
    out: list[Ints] = []
    for size in reversed(dims):
        cells, value = np.divmod(cells, max(size, 1))
        out.insert(0, value)
    return out


def _sorted(values: Sequence[Ints], dims: Sequence[int], table: Array) -> Part:
    """The cells of these values, in order, with their counts."""
    cells = np.zeros(len(table), dtype=np.int64)
    for size, value in zip(dims, values):
        cells = cells * size + value
    order = np.argsort(cells, kind="stable")
    return cells[order], table[order]


def cells_of(scopes: Sequence[Scope], sizes: Sequence[int]) -> list[int]:
    """How many cells each scope has."""
    return [math.prod(int(sizes[j]) for j in scope) for scope in scopes]


def refuse_joint(full: Any, n: int, n_classes: int, what: str, way_out: str, max_memory: float | None) -> None:
    """Refuse counts whose peak is over the budget: all cells of narrow scopes, one a row at most of wide ones."""
    full = np.asarray(full, dtype=np.float64)
    wide = full > WIDE
    peak = (
        n_classes * full[~wide].sum() + 2 * (n_classes + 2) * np.minimum(full[wide], n).sum()
    )  # their parts, then all
    refuse_over(max_memory, 8 * peak, f"{what}, {n_classes} classes", way_out)
    if full.sum() >= 2.0**62:
        raise StatisticsError(f"{what} have more than 2^62 combinations of values; {way_out}")


def count_joint(
    table: CodedTable,
    scopes: Sequence[Scope],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    n_jobs: int | None,
    wide: int | None = None,
) -> Joint:
    """N[x_scope, y] of each scope; rows with a missing cell are left out of it."""
    wide = WIDE if wide is None else wide
    like = np.zeros((0, n_classes), dtype=np.int64 if weights is None else np.float64)
    full = cells_of(scopes, table.sizes)
    parts: list[Part] = [(None, like)] * len(scopes)
    batch: list[int] = []
    for s in range(len(scopes)):
        if full[s] > wide:
            parts[s] = _count_wide(table, scopes[s], y, n_classes, weights)
        else:
            batch.append(s)
        if batch and (s == len(scopes) - 1 or sum(full[b] for b in batch) * n_classes > BATCH):
            counted = _count_narrow(table, [scopes[b] for b in batch], y, n_classes, weights, n_jobs)
            for b, found in zip(batch, counted):
                parts[b] = None, found
            batch = []
    return Joint.of(scopes, parts, table.sizes, like, wide)


def _count_narrow(
    table: CodedTable, scopes: list[Scope], y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None
) -> list[Array]:
    """The tables of some scopes in one pass, with one more value a column for missing where cells are missing."""
    extra = 0 if table.whole else 1
    sizes = [math.prod(table.sizes[j] + extra for j in scope) for scope in scopes]
    offsets = starts_of(sizes)
    if weights is None:
        some = {j: k for k, j in enumerate(dict.fromkeys(itertools.chain.from_iterable(scopes)))}
        own = [table.sizes[j] + extra for j in some]
        families = [(*(some[j] for j in scope), len(own)) for scope in scopes]
        counted = kernels.count_families([*map(table.column, some), y], [*own, n_classes], families, n_jobs)
        parts = [part.reshape(-1, n_classes) for part in counted]
    else:
        codes = [table.family_codes(scope, extra) for scope in scopes]
        summed = kernels.count_cells(codes, y, offsets, n_classes, weights, n_jobs=n_jobs)
        parts = [summed[a:b] for a, b in itertools.pairwise(offsets.tolist())]
    out = []
    for scope, part in zip(scopes, parts):
        if extra:
            part = part.reshape(*(table.sizes[j] + 1 for j in scope), n_classes)
            part = part[tuple(slice(0, table.sizes[j]) for j in scope)].reshape(-1, n_classes)
        out.append(part)
    return out


def _count_wide(table: CodedTable, scope: Scope, y: Array, n_classes: int, weights: Floats | None) -> Part:
    """The cells that some row has, in order, and their counts."""
    codes = table.configurations(scope)
    known = codes >= 0
    cells, back = np.unique(codes[known], return_inverse=True)
    if weights is not None and weights.ndim == 2:
        shares = np.ascontiguousarray(weights[known].T)
        return cells, np.stack([np.bincount(back, own, minlength=len(cells)) for own in shares], axis=1)
    flat = back * n_classes + y[known]
    found = np.bincount(flat, None if weights is None else weights[known], minlength=len(cells) * n_classes)
    return cells, found.reshape(len(cells), n_classes).astype(np.int64 if weights is None else np.float64, copy=False)


def refuse_families(
    families: Sequence[Scope], sizes: Sequence[int], n: int, n_classes: int, max_memory: float | None
) -> None:
    """Refuse the counts of families before anything is counted."""
    what, way_out = f"counts of {len(families)} families", "give fewer parents (k), values or bins"
    refuse_joint(cells_of(families, sizes), n, n_classes, what, way_out, max_memory)


def collect_families(
    table: CodedTable,
    families: Sequence[Scope],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    n_jobs: int | None,
    max_memory: float | None,
) -> Joint:
    """N[x_family, y] of each family: parents first, the child last."""
    refuse_families(families, table.sizes, table.n, n_classes, max_memory)
    return count_joint(table, families, y, n_classes, weights, n_jobs)


def collect_pairs(
    table: CodedTable, y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None, max_memory: float | None
) -> Joint:
    """N[xi, xj, y] of all pairs i < j; those that may be wide are counted one by one."""
    sizes, d = table.sizes, len(table.sizes)
    first, second = np.triu_indices(d, k=1)
    each = np.asarray(sizes, dtype=np.int64)
    full = each[first] * each[second]
    what, way_out = (
        f"pair counts of {d} columns",
        "give fewer columns or values, or count at prediction: AODE(lazy=True)",
    )
    refuse_joint(full, len(y), n_classes, what, way_out, max_memory)
    few = [j for j, size in enumerate(sizes) if size * size <= WIDE]
    pairs = np.stack(np.triu_indices(len(few), k=1), axis=1).astype(np.int32)
    columns = table.codes if len(few) == d else [table.column(j) for j in few]
    counts = count_pairs(columns, [sizes[j] for j in few], y, n_classes, weights, n_jobs=n_jobs, max_memory=np.inf)
    if len(few) == d:
        return Joint(pairs, full, Counts(counts, starts_of(full)))
    narrow = Counts(counts, pair_offsets([sizes[j] for j in few]))
    found: dict[Scope, Part] = {(few[i], few[j]): (None, narrow.scope(s)) for s, (i, j) in enumerate(pairs.tolist())}
    scopes = list(itertools.combinations(range(d), 2))
    others = count_joint(table, [s for s in scopes if s not in found], y, n_classes, weights, n_jobs)
    found |= {others.columns(s): others.part(s) for s in range(len(others.scopes))}
    return Joint.of(scopes, [found[s] for s in scopes], sizes, counts)


def refuse_triples(sizes: Sequence[int], n: int, n_classes: int, max_memory: float | None) -> None:
    """Refuse the counts of all triples before anything is counted."""
    d, s = len(sizes), np.asarray(sizes, dtype=np.float64)
    what, way_out = f"triple counts of {d} columns", "give fewer columns or values, or use AODE"
    most = np.sort(s)[-3:].prod()
    if most <= WIDE or d > 400:
        after = np.cumsum(s[::-1])[::-1] - s
        pairs = np.cumsum((s * after)[::-1])[::-1] - s * after  # Σ over j < k after i of S_j·S_k
        full = (s * pairs).sum() + (s * pairs).max(initial=0)  # all, and those of one column as the kernel leaves them
        refuse_over(max_memory, 8 * n_classes * full, f"{what}, {n_classes} classes", way_out)
        return
    first, second, third = np.array([*itertools.combinations(range(d), 3)], dtype=np.intp).reshape(-1, 3).T
    refuse_joint(s[first] * s[second] * s[third], n, n_classes, what, way_out, max_memory)


def collect_triples(
    table: CodedTable, y: Array, n_classes: int, weights: Floats | None, n_jobs: int | None, max_memory: float | None
) -> Joint:
    """N[xi, xj, xk, y] of all triples i < j < k: the pairs of the columns after i, with (xi, y) as the class."""
    sizes, d = table.sizes, len(table.sizes)
    refuse_triples(sizes, table.n, n_classes, max_memory)
    scopes = list(itertools.combinations(range(d), 3))
    shared = weights is not None and weights.ndim == 2
    if shared or max(cells_of(scopes, sizes), default=0) > WIDE:
        return count_joint(table, scopes, y, n_classes, weights, n_jobs)
    like = np.zeros((0, n_classes), np.int64 if weights is None else float)
    out = Joint.of(scopes, [(None, 0)] * len(scopes), sizes, like)
    at = 0
    for i in (i for i in range(d - 2) if sizes[i]):  # a column without values has no cells
        rest = sizes[i + 1 :]
        x = table.column(i).astype(np.uint32)
        seen = x < sizes[i]
        both = (x * np.uint32(n_classes) + y)[seen]
        columns = [table.column(j)[seen] for j in range(i + 1, d)]
        w = None if weights is None else weights[seen]
        counted = count_pairs(columns, rest, both, sizes[i] * n_classes, w, n_jobs=n_jobs, max_memory=np.inf)
        offsets, to = pair_offsets(rest), out.counts.table[at : at + len(counted) * sizes[i]]
        if len(set(rest)) == 1:  # [xj, xk, xi, y] → [xi, xj, xk, y], of all pairs at once
            parts = counted.reshape(len(offsets) - 1, rest[0] ** 2, sizes[i], n_classes)
            to[...] = parts.transpose(0, 2, 1, 3).reshape(to.shape)
        else:
            for a, b in itertools.pairwise(offsets):
                part = counted[a:b].reshape(b - a, sizes[i], n_classes).transpose(1, 0, 2)
                to[a * sizes[i] : b * sizes[i]] = part.reshape(-1, n_classes)
        at += len(to)
    return out
