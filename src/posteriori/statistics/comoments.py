"""Co-moments: several numeric columns together, of each class; and those of families, in every configuration of values.

Symbols: n = Σw, mean = Σwx/n, C = Σw(x − mean)(x − mean)ᵀ. A scope of a family is (a, c): the columns a with values, and
the numeric columns c, the child last. Its co-moments are those of c in each configuration of (x_a, y), the last column of a
fastest among values, the class fastest of all. Forgetting is refused as that of moments is, and where it would leave a
matrix that is no covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .. import kernels
from ..arrays import Array, Bools, Floats, Ints
from ..budget import refuse_over
from ..errors import BadValue, StatisticsError, listed
from ..fields import NOT_NEGATIVE, need
from ..table.encode import Coded
from ..table.labels import narrowest
from ..table.schema import Schema
from .collect import collect_codes
from .counts import ClassStatistic, JointStatistic, places_in, reindexed
from .cuts import CodedTable
from .joint import Scope
from .moments import (
    ENOUGH,
    FAR,
    SURE,
    Moments,
    Pick,
    Span,
    both,
    is_lost,
    known_error,
    left_in,
    mean_error,
    refuse_impossible,
    refuse_infinite,
    refuse_lost,
    refuse_other_shape,
    take_away,
    weight_error,
)
from .statistics import Statistics

MixedScope = tuple[Scope, Scope]


@dataclass(frozen=True, eq=False)
class CoMoments(ClassStatistic):
    """n (K,), mean (K, d), C = Σw(x − mean)(x − mean)ᵀ (K, d, d) and span of each class, with `+`, `-`, a zero and a scale.

    `-` knows its error as that of `Moments` does: by the largest diagonal that was ever in (`peak`).
    """

    n: Annotated[Floats, "K", NOT_NEGATIVE]
    mean: Annotated[Floats, "K d"]
    c: Annotated[Floats, "K d d"]
    span: Annotated[Span | None, "K d"] = None
    peak: Annotated[Floats | None, "K d"] = None

    @classmethod
    def zero(cls, n_classes: int, d: int) -> CoMoments:
        """No rows at all."""
        return cls(np.zeros(n_classes), np.zeros((n_classes, d)), np.zeros((n_classes, d, d)), Span.zero(n_classes, d))

    @property
    def largest(self) -> Floats:
        """The largest Σw(x_j − mean_j)² that was ever in, (K, d)."""
        return np.diagonal(self.c, axis1=1, axis2=2) if self.peak is None else self.peak

    def __add__(self, other: CoMoments) -> CoMoments:
        refuse_other_shape(self.mean, other.mean)
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        gap = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            c = self.c + other.c + gap[:, :, None] * gap[:, None, :] * (self.n * share)[:, None, None]
        peak = np.maximum(np.maximum(self.largest, other.largest), np.diagonal(c, axis1=1, axis2=2))
        mean = self.mean + gap * share[:, None]
        refuse_infinite(mean, c)
        return CoMoments(n, mean, c, both(self.span, other.span), peak)

    def less(self, other: CoMoments, lightest: float = np.inf) -> CoMoments:
        """Without the rows of `other`; refused where they cannot have been learned, or where too little stays to tell."""
        refuse_other_shape(self.mean, other.mean)
        n = take_away(self.n, other.n)
        live = n[:, None] > 0
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
        mean = np.where(live, self.mean + (self.mean - other.mean) * share, 0.0)
        gap = other.mean - mean
        weight = np.divide(n * other.n, self.n, out=np.zeros_like(n), where=self.n > 0)
        c = self.c - other.c - gap[:, :, None] * gap[:, None, :] * weight[:, None, None]
        peak = np.where(live, np.maximum(self.largest, other.largest), 0.0)
        error = known_error(self, other, self.n[:, None], peak) + weight_error(self, other, self.n[:, None], gap)
        forgot, left = live & (other.n[:, None] > 0), np.diagonal(c, axis1=1, axis2=2)
        rows, gone = (np.broadcast_to(v[:, None], left.shape) for v in (n, other.n))
        span, alone, strange = left_in(self.span, other.span, rows, mean, left, gone, error)
        refuse_impossible(forgot & (strange | (left < -SURE * error)))
        kept = np.where(live & ~alone & (left > error), left, 0.0)
        column = kept.sum(axis=0)  # within the classes: what lies between them stands in for no variance here
        off = mean_error(self, other, rows, gap)
        refuse_lost(forgot & is_lost(rows, kept, column, np.where(alone, 0.0, error), off))
        known = np.where(forgot, kept > 0, live)
        c = np.where(known[:, :, None] & known[:, None, :], c, 0.0)
        refuse_impossible(forgot.any(axis=1) & ~is_covariance(c, kept, ENOUGH))
        return CoMoments(n, mean, c, span, peak)

    @property
    def doubt(self) -> Floats:
        """How far each class's C may be off since rows were forgotten, as a share of its diagonal; 0 if none were."""
        left = np.diagonal(self.c, axis1=1, axis2=2)
        error = np.where(self.largest > left, known_error(self, self, self.n[:, None], self.largest), 0.0)
        share: Floats = np.divide(error, left, out=np.zeros_like(left), where=left > 0).max(axis=1, initial=0.0)
        return share

    def scaled(self, factor: float) -> CoMoments:
        return CoMoments(self.n * factor, self.mean, self.c * factor, self.span, self.largest * factor)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.n, self.mean, self.c

    def _pick(self, pick: Pick) -> CoMoments:
        """Some of the classes."""
        n, mean, c, peak = (pick(part, 0.0) for part in (self.n, self.mean, self.c, self.largest))
        return CoMoments(n, mean, c, self.span and self.span.pick(pick), peak)

    def select_classes(self, classes: Array) -> CoMoments:
        return self._pick(lambda part, _: part[classes])

    def reindex_classes(self, places: Array, n_classes: int) -> CoMoments:
        return self._pick(lambda part, blank: reindexed(part, places, n_classes, blank=blank))


def is_covariance(c: Floats, kept: Floats, off: float) -> Bools:
    """Whether each C could be Σ(x − mean)(x − mean)ᵀ of some rows: no direction has a negative variance."""
    scale = np.sqrt(np.where(kept > 0, kept, 1.0))
    flat = (kept[:, :, None] > 0) & (kept[:, None, :] > 0)
    r = np.where(flat, c / scale[:, :, None] / scale[:, None, :], 0.0)
    least: Bools = np.linalg.eigvalsh(r)[:, 0] >= -10 * off * r.shape[1]
    return least


def comoments(X: Array, codes: Array, n_classes: int, weights: Floats | None) -> CoMoments:
    """n, mean and Σw(x − mean)(x − mean)ᵀ of each class, in two passes over its rows.

    >>> comoments(np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([0, 0]), 1, None).c.tolist()
    [[[2.0, 4.0], [4.0, 8.0]]]
    """
    total, span = CoMoments.zero(n_classes, X.shape[1]), Span.zero(n_classes, X.shape[1])
    narrow = codes.astype(narrowest(n_classes), copy=False)
    order = np.argsort(narrow, kind="stable")  # of narrow codes: by their digits
    ends = np.cumsum(np.bincount(codes, minlength=n_classes))
    for y in np.unique(codes).tolist():
        mine = order[(ends[y - 1] if y else 0) : ends[y]]
        rows = np.asarray(X[mine], dtype=np.float64)
        w = np.ones(len(rows)) if weights is None else weights[mine]
        n = w.sum()
        if n > 0:
            mean = w @ rows / n
            mean = mean + w @ (rows - mean) / n  # the digits that a sum of large numbers lost
            gap = rows - mean
            with np.errstate(over="ignore", invalid="ignore"):  # the caller looks for it
                total.n[y], total.mean[y], total.c[y] = n, mean, (gap * w[:, None]).T @ gap
            some = rows if weights is None else rows[w > 0]
            span.low[y], span.high[y] = some.min(axis=0), some.max(axis=0)
    return replace(total, span=replace(span, weighted=weights is not None))


@dataclass(frozen=True, eq=False)
class FamilyMoments(JointStatistic):
    """Co-moments of many scopes."""

    scopes: Annotated[tuple[MixedScope, ...], "families"]
    tables: Annotated[tuple[CoMoments, ...], "families"]

    def check(self) -> None:
        """Refuse co-moments of other columns than their family has."""
        for (_, own), table in zip(self.scopes, self.tables):
            need(len(own) and len(own) == table.mean.shape[1], "the co-moments of a family must have its columns")

    def check_of(self, sizes: Sequence[int], n_classes: int, numeric: set[int]) -> None:
        """Refuse co-moments that are not of these columns."""
        for (above, own), table in zip(self.scopes, self.tables):
            every = (*above, *own)
            need(len(set(every)) == len(every) and max(every) < len(sizes), "a family must have every column once")
            need(set(own) <= numeric and not set(above) & numeric, "a family of numbers has numbers below values")
            wanted = math.prod(sizes[j] for j in above) * n_classes
            need(len(table.n) == wanted, "co-moments must be of all configurations")

    def __add__(self, other: FamilyMoments) -> FamilyMoments:
        return self._each(other, lambda a, b: a + b)

    def less(self, other: FamilyMoments, lightest: float = np.inf) -> FamilyMoments:
        """These co-moments without others, which know themselves how far they may be off."""
        return self._each(other, lambda a, b: a - b)

    def _each(self, other: FamilyMoments, what: Callable[[CoMoments, CoMoments], CoMoments]) -> FamilyMoments:
        if self.scopes != other.scopes:
            raise StatisticsError("moments of other families cannot be added: the models differ in structure")
        return FamilyMoments(self.scopes, tuple(map(what, self.tables, other.tables)))

    def scaled(self, factor: float) -> FamilyMoments:
        return FamilyMoments(self.scopes, tuple(t.scaled(factor) for t in self.tables))

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.scopes, self.tables

    def reindex(self, old: Schema, new: Schema) -> FamilyMoments:
        if old.columns == new.columns and old.classes == new.classes:
            return self
        tables = []
        for (above, _), table in zip(self.scopes, self.tables):
            pairs = [(old.columns[j].values, new.columns[j].values) for j in above]
            to = _moves([*pairs, (old.classes, new.classes)])
            cells = math.prod(len(after) for _, after in pairs) * len(new.classes)
            tables.append(table.reindex_classes(to, cells))
        return replace(self, tables=tuple(tables))

    def reorder_columns(self, order: Sequence[int], sizes: Sequence[int]) -> FamilyMoments:
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
    n, mean, m2, low, high, _ = kernels.class_moments(x, y, n_classes, weights, n_jobs)
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
        d, part = table.configurations(above), x[:, [place[j] for j in numbers]]
        rows = np.flatnonzero((d >= 0) & ~np.isnan(part).any(axis=1))
        w = None if weights is None else weights[rows]
        tables.append(comoments(part[rows], d[rows] * n_classes + y[rows], cells, w))
    return FamilyMoments(tuple(scopes), tuple(tables))
