"""Classes united by their name, never by their code; and one statistic of a matrix with the classes it was counted by."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Ints
from ..errors import NotLearned, listed
from ..table.schema import Schema, Value
from .counts import Counts, subtract


@dataclass(frozen=True, eq=False)
class ByClass:
    """N_y and a `Counts`, `Moments` or `CoMoments` whose classes are `schema.classes`, with `+`, `-` and a scale.

    `-` drops classes that no row has any more, unless they were declared; with `least` given, also the last categories of
    every scope that no row has, down to so many.
    """

    schema: Schema  # classes alone, no columns
    rows: Array
    table: Any
    least: Ints | None = None
    decayed: bool = False

    def __add__(self, other: ByClass) -> ByClass:
        schema = self.schema + other.schema
        a, b = self._among(schema), other._among(schema)
        mine, theirs = same_sizes(a.table, b.table)
        least = self.least if other.least is None or self.least is None else np.maximum(self.least, other.least)
        return ByClass(schema, a.rows + b.rows, mine + theirs, least, self.decayed or other.decayed)

    def __sub__(self, other: ByClass) -> ByClass:
        refuse_unlearned(self, other)
        less = other._among(self.schema)
        rows = subtract(self.rows, less.rows)
        if rows is None:
            raise NotLearned("more rows of a class than were learned; nothing was changed")
        mine, theirs = same_sizes(self.table, less.table)
        left, (keep, classes) = mine - theirs, classes_left(self.schema, rows)
        if not keep.all():
            schema = replace(self.schema, classes=classes)
            return ByClass(schema, rows[keep], left.taken(np.flatnonzero(keep)), self.least)._trimmed()
        return ByClass(self.schema, rows, left, self.least)._trimmed()

    def scaled(self, factor: float) -> ByClass:
        """Every row counts `factor` times (decay)."""
        return ByClass(self.schema, self.rows * float(factor), self.table.scaled(factor), self.least, True)

    def _among(self, schema: Schema) -> ByClass:
        """The same statistic among the classes of a larger schema."""
        if schema.classes == self.schema.classes:
            return self
        to = classes_in(self.schema, schema)
        rows = np.zeros(len(schema.classes), dtype=self.rows.dtype)
        rows[to] = self.rows
        return replace(self, schema=schema, rows=rows, table=self.table.among(to, len(rows)))

    def _trimmed(self) -> ByClass:
        if self.least is None:
            return self
        counts = self.table
        seen = [np.flatnonzero(counts.scope(j).any(axis=1)).max(initial=-1) + 1 for j in range(len(counts.sizes))]
        return replace(self, table=resized(counts, np.maximum(np.array(seen), self.least)))


def classes_in(schema: Schema, larger: Schema) -> Array:
    """The place of each class among those of a larger schema."""
    place = {c: k for k, c in enumerate(larger.classes)}
    return np.array([place[c] for c in schema.classes], dtype=np.intp)


def classes_left(schema: Schema, rows: Array) -> tuple[Array, tuple[Value, ...]]:
    """(whether each class stays, those that do): the ones that some row has, and the declared ones."""
    keep = np.array([c in schema.declared_classes for c in schema.classes], dtype=bool) | (rows > 0)
    return keep, tuple(c for c, k in zip(schema.classes, keep) if k)


def refuse_unlearned(whole: Any, part: Any, but: Collection[Value] = ()) -> None:
    """Refuse to take away what was scaled since, or rows of classes that were never there, `but` some."""
    if whole.decayed or part.decayed:
        raise NotLearned("rows cannot be forgotten exactly after decay: their counts have been scaled")
    unknown = [c for c in part.schema.classes if c not in whole.schema.classes and c not in but]
    if unknown:
        raise NotLearned(f"rows of class {listed(unknown)} were never learned; nothing was changed")


def same_sizes(a: Any, b: Any) -> tuple[Any, Any]:
    """Both counts with as many categories as either has; other statistics as they are."""
    if not isinstance(a, Counts) or len(a.sizes) != len(b.sizes):
        return a, b
    sizes = np.maximum(a.sizes, b.sizes)
    return resized(a, sizes), resized(b, sizes)


def resized(counts: Counts, sizes: Array) -> Counts:
    """The same counts with other numbers of categories; those that go have no rows."""
    if np.array_equal(sizes, counts.sizes):
        return counts
    out = Counts.zero(sizes.tolist(), counts.n_classes)
    table = out.table.astype(counts.table.dtype)
    for j in range(len(sizes)):
        kept = counts.scope(j)[: sizes[j]]
        table[out.offsets[j] : out.offsets[j] + len(kept)] = kept
    return Counts(table, out.offsets)
