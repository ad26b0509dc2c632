"""What the kernels of trees of counts, boosted trees and kDB members take and give.

Codes are a matrix [column, row] of bytes or 16-bit numbers: 0 … size − 1 of a column that is ordered, or of one whose
values have names (`named`). A code that is not below its column's size is a value that training did not have.

Of a member is kept what it has counted (`MemberCounts`), some seven bits for a cell that rows have. The tables of ln θ that
an answer is read from (`Members`) have a number for every cell, of which there are far more where columns are many and rows
few: they are made when they are first asked, and are no part of a copy or a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..budget import human, memory_budget
from ..errors import MemoryBudgetError
from ..fields import NOT_NEGATIVE, SUMMABLE, Natural, Of, Within, need, rises

MOST_VALUES = 65_535  # of a column


@dataclass(frozen=True, eq=False)
class Codes:
    """Coded rows: the matrix [column, row], the size of each column, and whether its values are names."""

    cells: Array
    sizes: tuple[int, ...]
    named: tuple[bool, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.cells.shape[1])

    def without(self, j: int) -> Codes:
        """The same rows, nothing being known of column j."""
        cells = self.cells.copy()
        cells[j] = self.sizes[j]
        return Codes(cells, self.sizes, self.named)


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees laid end to end, parents before their children.

    Tree t has the nodes starts[t] … starts[t + 1] − 1; a node of it asks `column` (−1: it is a leaf) and sends a row to
    `child` or the node after, places within the tree: an ordered code goes left if it is at most `cut`; for named values
    `cut` is the place, in the tree's own `bits`, of the set that goes left, then of the set that was seen. A value that was
    not seen goes nowhere. `counts` has the weight of every node by class.
    """

    starts: Annotated[Ints, "trees+1", NOT_NEGATIVE]
    bit_starts: Annotated[Ints, "trees+1", NOT_NEGATIVE]
    column: Annotated[NDArray[np.int32], "nodes", Within(-1)]
    cut: Annotated[NDArray[np.int32], "nodes", NOT_NEGATIVE]
    child: Annotated[NDArray[np.int32], "nodes", NOT_NEGATIVE]
    counts: Annotated[Floats, "nodes K", Of(np.float32, np.float64)]
    bits: Annotated[NDArray[np.uint64], "words"]

    def check(self) -> None:
        """Refuse trees that are none: kernels follow them down without looking."""
        need(self.starts[0] == 0 and self.starts[-1] == len(self.column) and rises(self.starts), "trees of no node")
        ends = self.bit_starts
        lie = ends[0] == 0 and ends[-1] == len(self.bits) and (ends[1:] >= ends[:-1]).all()
        need(lie and self.counts.shape[1] > 0, "the values of trees must lie end to end")
        size = np.diff(self.starts)
        first = np.repeat(self.starts[:-1], size)
        at, asks = np.arange(len(self.column)) - first, self.column >= 0
        down = (self.child > at) & (self.child < np.repeat(size, size) - 1)  # child + 1 may not fit into its type
        need(down[asks].all(), "a node's children must come after it")
        born = np.bincount((self.child + first)[asks], minlength=len(self.column))
        need(born.max(initial=0) <= 1, "a node must have one parent")

    def check_of(self, sizes: Sequence[int], named: Sequence[bool]) -> None:
        """Refuse questions of other columns or values than these."""
        asks = self.column >= 0
        need((self.column < len(sizes)).all(), "a question must be of a column")
        column = np.where(asks, self.column, 0)
        room = np.repeat(np.diff(self.bit_starts), np.diff(self.starts))
        ends = self.cut.astype(np.int64) + 2 * -(-np.array(sizes)[column] // 64)
        inside = np.where(np.array(named)[column], ends <= room, self.cut < np.array(sizes)[column])
        need(inside[asks].all(), "a question must be of values of its column")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sums(
        self, codes: Codes, c: float, bags: Array | None = None, n_jobs: int | None = None, between: float = 1.0
    ) -> tuple[Floats, Array]:
        """(Σ over trees of the posterior where a row ends, how many answered); as `kernels.forest_sums` says."""
        return kernels.forest_sums(self, codes, c, bags, n_jobs, between)


@dataclass(frozen=True)
class Boosting:
    """How rounds go: the loss (−ln p_y, or `exponential`: e^{f̄ − f_y}), the trees, and when they end.

    A tree asks up to `depth` questions of a row; a node looks at `tried` columns that are drawn, more until one splits (0:
    all, in order) and leaves `least` rows on either side. Every round draws a `share` of the rows. After so many rounds
    (`every`) the loss out of fold is looked at; the rounds end when it has not fallen by `better` for `patience` looks.
    """

    exponential: bool = False
    depth: int = 4
    tried: int = 0
    least: int = 3
    rate: float = 0.1
    ridge: float = 1.0
    share: float = 0.7
    rounds: int = 300
    every: int = 10
    patience: int = 3
    better: float = 1e-4


@dataclass(frozen=True, eq=False)
class Members:
    """kDB members: `values[m, cell]` a column's code as the member has it, `parents[m, j]` up to two, `tables` of ln θ.

    Member m's tables of column j begin at starts[m, j]: ln θ[x, y], then [parent, x, y], then [parent, parent, x, y].
    """

    values: Annotated[NDArray[np.uint16], "members cells"]
    sizes: Annotated[NDArray[np.int32], "members d", Within(1, MOST_VALUES + 1)]
    parents: Annotated[NDArray[np.int32], "members d 2", Within(-1)]
    starts: Annotated[Ints, "members d+1", NOT_NEGATIVE]
    tables: Annotated[NDArray[np.float32], "numbers", SUMMABLE]
    prior: Annotated[NDArray[np.float32], "members K", SUMMABLE]

    def check(self) -> None:
        """Refuse tables that are not those of the parents: kernels look them up without looking where."""
        need(self.sizes.size and self.prior.size, "there must be members of some columns and classes")
        need((self.parents < self.sizes.shape[1]).all(), "a parent must be a column")
        one, two = (self.parents[..., k] for k in (0, 1))
        need(not ((two >= 0) & (one < 0)).any(), "the first parent must come first")
        sizes = self.sizes.astype(np.float64)
        wide = [np.where(p >= 0, np.take_along_axis(sizes, np.maximum(p, 0), axis=1), 0) for p in (one, two)]
        room = sizes * self.prior.shape[1] * (1 + wide[0] * (1 + wide[1]))
        need(np.array_equal(np.diff(self.starts, axis=1), room), "a column must have the tables of its parents")
        ends = np.concatenate([[0], self.starts[:, -1]])
        lie = np.array_equal(self.starts[:, 0], ends[:-1]) and ends[-1] == len(self.tables)
        need(lie, "tables must lie end to end")

    def check_of(self, sizes: Sequence[int], n_classes: int) -> None:
        """Refuse members of other columns, values or classes."""
        cells = np.cumsum([0, *sizes])
        need(self.prior.shape[1] == n_classes, "members of other classes")
        need(
            self.sizes.shape[1] == len(sizes) and self.values.shape[1] == cells[-1],
            "members of other columns or values",
        )
        most = np.repeat(self.sizes, np.diff(cells), axis=1)
        need((self.values < most).all(), "a member has no such value")

    def __len__(self) -> int:
        return len(self.values)

    def sums(self, codes: Codes, bags: Array | None = None, n_jobs: int | None = None) -> tuple[Floats, Array]:
        """(Σ over members of P(y|x), how many answered); none that has the row in its bag."""
        return kernels.member_sums(self, codes, bags, n_jobs)


@dataclass(frozen=True, eq=False)
class MemberCounts:
    """What kDB members have counted in `drawn` rows each, of columns of so many `codes`.

    `sizes[m, j]` is how many values member m has of column j, `cuts` the codes with which they begin, but for the first,
    where not every code is a value; `parents[m, j]` up to two columns, counted from one. `cells` has the concentrations and
    the counts n[parent, parent, x, y] that are not zero, in bits: see `native/trees/members.hpp`, or the twin.
    Those of member m end at `cut_ends[m + 1]` and `cell_ends[m + 1]`. `prior[m]` is ln P(y).
    """

    codes: Annotated[Ints, "d", Within(1, MOST_VALUES)]
    sizes: Annotated[NDArray[np.int32], "members d", Within(1)]
    cuts: Annotated[NDArray[np.uint16], "cuts"]
    parents: Annotated[NDArray[np.int32], "members d 2", NOT_NEGATIVE]
    cells: Annotated[NDArray[np.uint8], "bytes"]
    cut_ends: Annotated[Ints, "members+1", NOT_NEGATIVE]
    cell_ends: Annotated[Ints, "members+1", NOT_NEGATIVE]
    prior: Annotated[NDArray[np.float32], "members K", SUMMABLE]
    drawn: Natural

    def check(self) -> None:
        """Refuse counts that are none; the kernel reads all of them, and says what does not fit."""
        need(self.sizes.size and self.prior.size, "there must be members of some columns and classes")
        _ = self.room

    def check_of(self, sizes: Sequence[int], n_classes: int) -> None:
        """Refuse members of other columns, values or classes."""
        need(self.prior.shape[1] == n_classes, "members of other classes")
        need(self.codes.tolist() == list(sizes), "members of other columns or values")

    def __len__(self) -> int:
        return len(self.sizes)

    def __add__(self, other: MemberCounts) -> MemberCounts:
        names = "sizes", "cuts", "parents", "cells", "prior"
        joined = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        cut_ends = np.concatenate([self.cut_ends, other.cut_ends[1:] + len(self.cuts)])
        cell_ends = np.concatenate([self.cell_ends, other.cell_ends[1:] + len(self.cells)])
        return MemberCounts(self.codes, **joined, cut_ends=cut_ends, cell_ends=cell_ends, drawn=self.drawn)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def room(self) -> int:
        """How many numbers the tables have; refuses counts that are none."""
        return kernels.member_room(self)

    def opened(self, n_jobs: int | None = None) -> Members:
        """The members with their tables; made once."""
        kept = vars(self)
        if "_opened" not in kept:
            room = self.room
            peak = 12.0 * room  # floats, and doubles while they are made
            if peak > memory_budget():
                raise MemoryBudgetError(
                    f"the tables of {len(self):,} members would take {human(peak)}, over half of the memory there is"
                )
            values, starts, tables = kernels.open_members(self, n_jobs)
            kept["_opened"] = Members(values, self.sizes, self.parents - 1, starts, tables, self.prior)
        found: Members = kept["_opened"]
        return found

    def sums(self, codes: Codes, bags: Array | None = None, n_jobs: int | None = None) -> tuple[Floats, Array]:
        """(Σ over members of P(y|x), how many answered); none that has the row in its bag."""
        return self.opened(n_jobs).sums(codes, bags, n_jobs)
