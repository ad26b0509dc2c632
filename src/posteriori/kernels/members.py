"""kDB members of a forest: grown from coded rows (`trees.Codes`), many at a time, and asked about others.

What is kept is what a member has counted (`MemberCounts`), some seven bits for a cell that rows have. The tables of ln θ
that an answer is read from (`Members`) have a number for every cell, of which there are far more where columns are many and
rows few: they are made when they are first asked, and are no part of a copy or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from ..budget import human, memory_budget
from ..errors import MemoryBudgetError
from . import n_threads, native
from .trees import Codes

__all__ = ["MemberCounts", "Members", "grow_members"]


@dataclass(frozen=True, eq=False)
class Members:
    """kDB members: `values[m, cell]` a column's code as the member has it, `parents[m, j]` up to two, `tables` of ln θ.

    Member m's tables of column j begin at starts[m, j]: ln θ[x, y], then [parent, x, y], then [parent, parent, x, y].
    """

    values: Array
    sizes: Array
    parents: Array
    starts: Ints
    tables: Array
    prior: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def held(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.values, self.sizes, self.parents, self.starts, self.tables, self.prior

    def sums(self, codes: Codes, bags: Array | None = None, n_jobs: int | None = None) -> tuple[Floats, Array]:
        """(Σ over members of P(y|x), how many answered); none that has the row in its bag."""
        out, used = np.zeros((codes.n, self.prior.shape[1])), np.zeros(codes.n, dtype=np.uint32)
        threads = n_threads(n_jobs, codes.cells.size * len(self) * 3)
        native().member_sums(*codes.told, self.held, bags, out, used, threads)
        return out, used


@dataclass(frozen=True, eq=False)
class MemberCounts:
    """What kDB members have counted in `drawn` rows each, of columns of so many `codes`.

    `sizes[m, j]` is how many values member m has of column j, `cuts` the codes with which they begin, but for the first,
    where not every code is a value; `parents[m, j]` up to two columns, counted from one. `cells` has the concentrations and
    the counts n[parent, parent, x, y] that are not zero, in bits: see `native/trees/members.hpp`, or `reference.members`.
    Those of member m end at `cut_ends[m + 1]` and `cell_ends[m + 1]`. `prior[m]` is ln P(y).
    """

    codes: Ints
    sizes: Array
    cuts: Array
    parents: Array
    cells: Array
    cut_ends: Ints
    cell_ends: Ints
    prior: Array
    drawn: int

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
    def held(self) -> tuple[Any, ...]:
        """As kernels take them."""
        ends = self.cut_ends, self.cell_ends
        return self.codes.tolist(), (self.sizes, self.cuts, self.parents, self.cells, *ends, self.prior), self.drawn

    @property
    def room(self) -> int:
        """How many numbers the tables have; refuses counts that are none."""
        return int(native().member_room(*self.held))

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
            values, starts, tables = native().open_members(*self.held, n_threads(n_jobs, 10 * room))
            kept["_opened"] = Members(values, self.sizes, self.parents - 1, starts, tables, self.prior)
        found: Members = kept["_opened"]
        return found

    def sums(self, codes: Codes, bags: Array | None = None, n_jobs: int | None = None) -> tuple[Floats, Array]:
        """(Σ over members of P(y|x), how many answered); none that has the row in its bag."""
        return self.opened(n_jobs).sums(codes, bags, n_jobs)


def grow_members(
    codes: Codes,
    blank: Sequence[bool],
    y: Array,
    K: int,
    weights: Floats | None,
    seeds: Array,
    most: int,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> MemberCounts:
    """A member for each seed, of n rows drawn in proportion to the weights; the tables of a column have `most` numbers.

    `blank` says of which columns code 0 is a missing cell; `tell` hears now and then how many members are done.

    >>> codes = Codes(np.array([[0, 0, 1, 1] * 5], np.uint8), (2,), (True,))
    >>> one = grow_members(codes, [False], codes.cells[0] == 1, 2, None, np.zeros(1, np.uint64), 1000)
    >>> one.cells.size, one.opened().tables.size
    (4, 4)
    """
    threads = n_threads(n_jobs, codes.cells.size * len(seeds) * 20)
    y = np.ascontiguousarray(y, dtype=np.uint32)
    made = native().grow_members(*codes.told, [int(b) for b in blank], y, K, weights, most, seeds, threads, tell)
    sizes, cuts, parents, cells, cut_ends, cell_ends, prior = made
    own = np.array(codes.sizes, dtype=np.int64)
    return MemberCounts(own, sizes, cuts, parents, cells, cut_ends, cell_ends, prior, codes.n)
