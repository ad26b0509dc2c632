"""What a tree knows: its questions, which stay, and the rows that came to each node by class, which add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..errors import NotLearned, StatisticsError
from ..kernels.trees import Codes, Trees
from ..statistics.counts import subtract
from ..statistics.cuts import Cuts
from ..statistics.statistics import classes_in, classes_left, refuse_unlearned
from ..table.schema import Schema
from .coding import Coding


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """N[node, y] of one tree, with `+`, `-` and a scale; questions and coding are those of the rows it was grown on.

    Classes are united by name; those that no row has any more vanish with `-`, unless they were declared.
    """

    coding: Coding
    schema: Schema
    tree: Trees  # its counts are `table`
    decayed: bool = False

    @property
    def cuts(self) -> Cuts:
        """Where numbers are cut."""
        return self.coding.cuts

    @property
    def table(self) -> Floats:
        """N[node, y]."""
        return self.tree.counts

    @property
    def rows(self) -> Array:
        """N_y."""
        found: Array = self.table[0]
        return found

    @cached_property
    def left(self) -> tuple[Array, ...]:
        """Of each node with a question the codes that go left, for named values the codes that were seen, else nothing."""
        tree, found = self.tree, []
        for i, j in enumerate(tree.column.tolist()):
            if j < 0:
                found.append(np.zeros(0, dtype=np.intp))
            elif not self.coding.named[j]:
                found.append(np.arange(int(tree.cut[i]) + 1))
            else:
                found.append(self._set(i, 0))
        return tuple(found)

    def asked(self, i: int) -> Array:
        """The codes that node i knows of, those that go right among them."""
        j = int(self.tree.column[i])
        return self._set(i, 1) if self.coding.named[j] else np.arange(self.coding.sizes[j])

    def _set(self, i: int, which: int) -> Array:
        size = self.coding.sizes[int(self.tree.column[i])]
        words, at = -(-size // 64), int(self.tree.cut[i])
        bits = self.tree.bits[at + which * words : at + (which + 1) * words]
        return np.flatnonzero(np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little")[:size])

    def counted(self, codes: Codes, schema: Schema, y: Array, weights: Floats | None) -> TreeCounts:
        """The counts of other rows in the same tree, by the classes of `schema`."""
        empty = replace(self.tree, counts=np.zeros((len(self.table), len(schema.classes))))
        return TreeCounts(
            self.coding,
            replace(self.schema, classes=schema.classes, declared_classes=schema.declared_classes),
            replace(self.tree, counts=empty.path_counts(codes, y, weights)),
        )

    def __add__(self, other: TreeCounts) -> TreeCounts:
        if not same_questions(self, other):
            raise StatisticsError(
                "trees that were grown on different rows ask different questions, so their counts do not add: learn the "
                "second table with partial_fit of the first"
            )
        schema = self.schema + replace(other.schema, columns=self.schema.columns)
        table = self._among(schema) + other._among(schema)
        return replace(
            self, schema=schema, tree=replace(self.tree, counts=table), decayed=self.decayed or other.decayed
        )

    def __sub__(self, other: TreeCounts) -> TreeCounts:
        refuse_unlearned(self, other)
        table = subtract(self.table, other._among(self.schema))
        if table is None:
            raise NotLearned("more rows at a node of the tree than were learned; nothing was changed")
        keep, classes = classes_left(self.schema, table[0])
        schema = replace(self.schema, classes=classes)
        return replace(self, schema=schema, tree=replace(self.tree, counts=np.ascontiguousarray(table[:, keep])))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeCounts):
            return NotImplemented
        alike = self.schema == other.schema and self.decayed == other.decayed
        return alike and same_questions(self, other) and np.array_equal(self.table, other.table)

    __hash__ = None  # type: ignore[assignment]

    def scaled(self, factor: float) -> TreeCounts:
        """Every row counts `factor` times (decay)."""
        return replace(self, tree=replace(self.tree, counts=self.table * float(factor)), decayed=True)

    def _among(self, schema: Schema) -> Floats:
        """The counts by the classes of a larger schema."""
        if schema.classes == self.schema.classes:
            return self.table
        out = np.zeros((len(self.table), len(schema.classes)))
        out[:, classes_in(self.schema, schema)] = self.table
        return out


def same_questions(a: TreeCounts, b: TreeCounts) -> bool:
    """Whether two trees ask the same of every row."""
    if a.tree.column is b.tree.column and a.coding is b.coding:
        return True
    mine, theirs = (_parts(x) for x in (a, b))
    same_values = a.coding.schema.columns == b.coding.schema.columns and a.coding.blank == b.coding.blank
    return same_values and len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def _parts(x: TreeCounts) -> list[Any]:
    cuts = [np.zeros(0) if cut is None else cut for cut in x.coding.cuts]
    return [x.tree.column, x.tree.cut, x.tree.child, x.tree.bits, *cuts]
