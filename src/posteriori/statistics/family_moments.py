"""Numbers in families: co-moments of some numeric columns together, in every configuration of some columns with values.

Symbols: a scope is (a, c): the columns a with values, and the numeric columns c, the child last. Its co-moments
are those of c in each configuration of (x_a, y), the last column of a fastest among values, the class fastest of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array, Floats, Ints
from ..budget import refuse_over
from ..errors import BadValue, StatisticsError, listed
from ..kernels import naive as kernels
from ..table.encode import Coded
from ..table.schema import Schema
from .collect import collect_codes
from .cuts import CodedTable
from .joint import Scope, configurations, places_in
from .moments import FAR, CoMoments, Moments, comoments
from .statistics import Statistics

MixedScope = tuple[Scope, Scope]


@dataclass(frozen=True, eq=False)
class FamilyMoments:
    """Co-moments of many scopes, with `+`, `-` and a scale, matched by value like every joint."""

    scopes: tuple[MixedScope, ...]
    tables: tuple[CoMoments, ...]

    def __add__(self, other: FamilyMoments) -> FamilyMoments:
        return self._each(other, lambda a, b: a + b)

    def __sub__(self, other: FamilyMoments) -> FamilyMoments:
        return self._each(other, lambda a, b: a - b)

    def _each(self, other: FamilyMoments, what: Callable[[CoMoments, CoMoments], CoMoments]) -> FamilyMoments:
        if self.scopes != other.scopes:
            raise StatisticsError("moments of other families cannot be added: the models differ in structure")
        return FamilyMoments(self.scopes, tuple(map(what, self.tables, other.tables)))

    def scaled(self, factor: float) -> FamilyMoments:
        """Every row counts `factor` times (decay)."""
        return FamilyMoments(self.scopes, tuple(t.scaled(factor) for t in self.tables))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FamilyMoments) and (self.scopes, self.tables) == (other.scopes, other.tables)

    __hash__ = None  # type: ignore[assignment]

    def moved(self, old: Schema, new: Schema) -> FamilyMoments:
        """The same co-moments in another schema, matched by value; what it does not have is dropped."""
        if old.columns == new.columns and old.classes == new.classes:
            return self
        tables = []
        for (above, _), table in zip(self.scopes, self.tables):
            pairs = [(old.columns[j].values, new.columns[j].values) for j in above]
            to = _moves([*pairs, (old.classes, new.classes)])
            cells = math.prod(len(after) for _, after in pairs) * len(new.classes)
            tables.append(table.taken(np.flatnonzero(to >= 0)).among(to[to >= 0], cells))
        return replace(self, tables=tuple(tables))

    def turned(self, order: Sequence[int], sizes: Sequence[int]) -> FamilyMoments:
        """The same co-moments with the columns in another order: column `order[k]` becomes column k; by their child."""
        place = {j: k for k, j in enumerate(order)}
        named = [tuple(tuple(place[j] for j in part) for part in scope) for scope in self.scopes]
        by = sorted(range(len(named)), key=lambda s: named[s][1][-1])
        return FamilyMoments(tuple((named[s][0], named[s][1]) for s in by), tuple(self.tables[s] for s in by))


def _moves(pairs: Sequence[tuple[tuple[object, ...], tuple[object, ...]]]) -> Ints:
    """Of every configuration of the old values its place among those of the new ones, −1 where it has none."""
    to, stays = np.zeros(1, np.int64), np.ones(1, bool)
    for old, new in pairs:
        where = places_in(old, new)
        to = (to[:, None] * len(new) + where).ravel()
        stays = (stays[:, None] & (where >= 0)).ravel()
    return np.where(stays, to, -1)


def collect_mixed(
    coded: Coded, x: Floats, where: Sequence[int], schema: Schema, y: Array, weights: Floats | None, n_jobs: int | None
) -> tuple[CodedTable, Statistics]:
    """Rows whose columns `where` are the numbers `x` and the others codes: N[y], N[xj, y], and moments of the numbers.

    The coded table has all columns; one of numbers has no values in it.
    """
    others, n_classes = [j for j in range(len(schema)) if j not in set(where)], len(schema.classes)
    some = replace(schema, columns=tuple(schema.columns[j] for j in others))
    table, found = collect_codes(coded, some, y, weights, n_jobs)
    n, mean, m2, low, high, _ = kernels.class_moments_seen(x, y, n_classes, weights, n_jobs)
    moments = Moments.of(n, mean, m2, low, high, weights is not None)
    for k in moments.too_wide():  # looked for here, before a search meets it
        raise BadValue(f"column {schema.names[where[k]]!r}: {FAR}")
    columns, roles = list(schema.columns), ["moments"] * len(schema)
    codes: list[Array] = [np.zeros(len(y), np.uint8)] * len(schema)
    for k, j in enumerate(others):
        columns[j], roles[j], codes[j] = found.schema.columns[k], "cells", table.column(k)
    whole = replace(schema, columns=tuple(columns))
    sizes = tuple(len(c.values) for c in columns)
    return CodedTable(codes, sizes, table.n_missing, table.n_unseen), replace(
        found, schema=whole, roles=tuple(roles), moments=moments
    )


def collect_family_moments(
    table: CodedTable,
    x: Floats,
    where: Sequence[int],
    scopes: Sequence[MixedScope],
    y: Array,
    n_classes: int,
    weights: Floats | None,
    names: Sequence[str],
    max_memory: float | None = None,
) -> FamilyMoments:
    """The co-moments of each scope; a row with a missing cell is left out of it. `x` are the columns `where`."""
    place, tables = {j: k for k, j in enumerate(where)}, []
    for above, numbers in scopes:
        cells = math.prod(table.sizes[j] for j in above) * n_classes
        what = f"{cells:,} co-moments of {listed([names[j] for j in numbers])}"
        refuse_over(max_memory, 24.0 * cells * len(numbers) ** 2, what, "give it fewer parents")
        d, part = configurations(table, above), x[:, [place[j] for j in numbers]]
        rows = np.flatnonzero((d >= 0) & ~np.isnan(part).any(axis=1))
        w = None if weights is None else weights[rows]
        tables.append(comoments(part[rows], d[rows] * n_classes + y[rows], cells, w))
    return FamilyMoments(tuple(scopes), tuple(tables))
