"""What every statistic can do, and the simplest one: counts, how often each value went with each class.

Symbols: K classes; a *scope* is what is counted together (one column, a pair, a vocabulary); a scope with S values owns S
consecutive rows of `table`, whose columns are the classes. N[x, y] is `table[offsets[s] + x, y]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats, Ints
from ..errors import CountOverflow, NotLearned, StatisticsError
from ..fields import Counted, need
from ..kernels import count_cells
from ..table.schema import Schema

LARGEST = np.iinfo(np.int64).max
ROUNDING = 1e-9  # weighted counts that differ by less than this share of the larger one are the same
NOISE = 1e-4  # the same where no row is as light


class Mergeable(Protocol):
    """What rows leave behind: parts add up to the whole in any order, and what was learned can be taken away.

        a + b = b + a      (a + b) + c = a + (b + c)      a + zero = a      (a + b) − b = a

    The zero, that of no rows, is the class method `zero`, or the statistic of an empty table.
    """

    def __add__(self, other: Self, /) -> Self: ...

    def less(self, other: Self, lightest: float = np.inf) -> Self:
        """Without the rows of `other`, none of which weighs less than `lightest`; refused where they were not learned."""
        ...

    def __sub__(self, other: Self, /) -> Self:
        return self.less(other)

    def scaled(self, factor: float) -> Self:
        """Every row counts `factor` times (decay); the result is float64."""
        ...

    @property
    def _compared(self) -> tuple[Any, ...]:
        """What two equal ones have alike."""
        ...

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(_same, self._compared, other._compared))


class ClassStatistic(Mergeable, Protocol):
    """A statistic kept apart for each class: it knows classes by their codes only."""

    def select_classes(self, classes: Array) -> Self:
        """That of some of the classes, in this order."""
        ...

    def reindex_classes(self, places: Array, n_classes: int) -> Self:
        """The same among other classes: class c becomes `places[c]` of `n_classes`; −1 leaves it out."""
        ...


@runtime_checkable
class JointStatistic(Mergeable, Protocol):
    """A statistic of several columns together, by the codes of a schema."""

    def check_of(self, sizes: Sequence[int], n_classes: int, numeric: set[int]) -> None:
        """Refuse what is not of columns of these sizes; `numeric` are those of numbers."""
        ...

    def reindex(self, old: Schema, new: Schema) -> Self:
        """The same in the codes of another schema, matched by value; what that does not have is left out."""
        ...

    def reorder_columns(self, order: Sequence[int], sizes: Sequence[int]) -> Self:
        """The same with the columns, of so many values, in another order: column `order[k]` becomes column k."""
        ...


@dataclass(frozen=True, eq=False)
class Counts(ClassStatistic):
    """N[x_scope, y] for several scopes, with `+`, `-`, a zero and a scale.

    >>> a = Counts.zero([2], 2) + Counts(np.array([[3, 0], [1, 2]]), np.array([0, 2]))
    >>> a.totals().tolist()
    [[4, 2]]
    >>> (a - a) == Counts.zero([2], 2)
    True
    """

    table: Annotated[Counted, "cells K"]
    offsets: Annotated[Ints, "scopes+1"]

    def check(self) -> None:
        """Refuse scopes that do not lie end to end."""
        at = self.offsets
        need(at[0] == 0 and (at[1:] >= at[:-1]).all(), "the scopes of counts must begin one after another, at 0")
        need(at[-1] == len(self.table), f"counts have {len(self.table)} rows, their scopes {at[-1]}")

    @classmethod
    def zero(cls, sizes: Sequence[int], n_classes: int) -> Counts:
        """No rows at all: scopes of the given numbers of values."""
        offsets = starts_of(sizes)
        return cls(np.zeros((int(offsets[-1]), n_classes), dtype=np.int64), offsets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """S, the number of values of each scope."""
        return np.diff(self.offsets)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.table.shape[1])

    def scope(self, s: int) -> Array:
        """N[x, y] of one scope."""
        return self.table[self.offsets[s] : self.offsets[s + 1]]

    def totals(self) -> Array:
        """N[y] of each scope, shape (scopes, K): the sum over its values."""
        out = np.zeros((len(self.offsets) - 1, self.n_classes), dtype=self.table.dtype)
        full = np.flatnonzero(self.sizes)  # reduceat knows no empty segment
        if len(full):
            out[full] = np.add.reduceat(self.table, self.offsets[:-1][full], axis=0)
        return out

    def __add__(self, other: Counts) -> Counts:
        self._check(other)
        return Counts(_sum(self.table, other.table), self.offsets)

    def add_at(self, cells: NDArray[np.int64], classes: Array, table: Array) -> Counts:
        """These counts and those of some cells and classes: `table[r, c]` is added to the cell `cells[r]`, `classes[c]`."""
        out = self.table.astype(np.result_type(self.table, table))
        if table.size:
            at = np.ix_(cells, classes)
            out[at] = _sum(out[at], table)
        return Counts(out, self.offsets)

    def less(self, other: Counts, lightest: float = np.inf) -> Counts:
        self._check(other)
        return Counts(subtract(self.table, other.table, lightest), self.offsets)

    def scaled(self, factor: float) -> Counts:
        return Counts(self.table * float(factor), self.offsets)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.offsets, self.table

    def select_classes(self, classes: Array) -> Counts:
        return Counts(np.ascontiguousarray(self.table[:, classes]), self.offsets)

    def reindex_classes(self, places: Array, n_classes: int) -> Counts:
        return Counts(reindexed(self.table, places, n_classes, axis=1), self.offsets)

    def reindex(self, offsets: Ints, cells: Ints, classes: Array, n_classes: int) -> Counts:
        """The same counts in another schema: row r becomes `cells[r]`, class c `classes[c]`; −1 leaves one out."""
        by_class = reindexed(self.table, classes, n_classes, axis=1)
        return Counts(reindexed(by_class, cells, int(offsets[-1])), offsets)

    def _check(self, other: Counts) -> None:
        if self.table.shape != other.table.shape or not np.array_equal(self.offsets, other.offsets):
            raise StatisticsError(
                f"counts over other values or classes cannot be added: {self.table.shape} and {other.table.shape}; "
                "unite their schemas first"
            )


def class_rows(y: Array, n_classes: int, weights: Floats | None = None) -> Array:
    """N[y]: Σ w of the rows of each class; int64 without weights. Weights (n, K) are shares."""
    if weights is not None and weights.ndim == 2:
        shares: Array = np.add.reduce(weights, axis=0)
        return shares
    if weights is not None or len(y) < 1 << 14:
        return np.bincount(y, weights, minlength=n_classes)
    one = np.broadcast_to(np.uint8(0), len(y))  # the classes as a column of one class: bincount copies codes to 64 bits
    return count_cells([y], one, np.array([0, n_classes]), 1)[:, 0]


def starts_of(lengths: Iterable[int]) -> Ints:
    """Where parts of these lengths begin in one table, and in the end where the last of them ends.

    >>> starts_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.cumsum(np.fromiter(chain([0], lengths), np.int64))


def pair_offsets(sizes: Sequence[int]) -> Ints:
    """Where the table of each pair (0,1), (0,2), …, (1,2), … begins, in cells; the last entry is the number of cells.

    >>> pair_offsets([2, 3, 4]).tolist()
    [0, 6, 14, 26]
    """
    s = np.asarray(sizes, dtype=np.int64)
    i, j = np.triu_indices(len(s), k=1)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(s[i] * s[j])])


def _same(a: Any, b: Any) -> bool:
    """Whether two values, arrays among them, are equal."""
    return np.array_equal(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else bool(a == b)


def places_in(old: Sequence[Any], new: Sequence[Any]) -> Ints:
    """For each of the old values (or classes) its place among the new ones, −1 where it has none.

    >>> places_in(("b", "c"), ("a", "b")).tolist()
    [1, -1]
    """
    if old == new:
        return np.arange(len(old))
    place = {v: k for k, v in enumerate(new)}
    return np.array([place.get(v, -1) for v in old], dtype=np.int64)


def reindexed(table: Array, places: Array, n: int, axis: int = 0, blank: float = 0) -> Array:
    """An axis of another order and length n: what stood at k stands at `places[k]` (−1: nowhere), the rest is `blank`.

    >>> reindexed(np.array([5, 6, 7]), np.array([2, -1, 0]), 4).tolist()
    [7, 0, 5, 0]
    """
    if n == table.shape[axis] and np.array_equal(places, np.arange(n)):
        return table
    shape = list(table.shape)
    shape[axis] = n
    out = np.full(shape, blank, dtype=table.dtype)
    kept = np.flatnonzero(places >= 0)
    if axis == 0:
        out[places[kept]] = table[kept]
    else:
        out[:, places[kept]] = table[:, kept]
    return out


def _sum(a: Array, b: Array) -> Array:
    """a + b, refused where an integer would overflow."""
    if a.dtype.kind == b.dtype.kind == "i" and a.size:
        high = int(a.max()) + int(b.max())  # Python's integers do not overflow
        if high > LARGEST:
            raise CountOverflow(f"a count would reach {high}, more than a 64-bit integer holds ({LARGEST})")
    return a + b


def subtract(a: Array, b: Array, lightest: float = np.inf) -> Array:
    """a − b, refused where an entry falls below zero.

    What is left of weights within `ROUNDING` of an entry is no row if the lightest row weighs more; else nobody can tell.
    """
    left = a - b
    if left.dtype.kind == "f":
        error = ROUNDING * np.maximum(np.abs(a), np.abs(b))
        none = NOISE * np.maximum(np.abs(a), np.abs(b))  # what calls before this one may have left of larger sums
        none[(none >= lightest / 2) | np.isinf(lightest)] = 0.0  # that might be a row
        lost = (np.abs(left) <= np.maximum(error, none)) & (left != 0)
        if (error[lost] > lightest / 2).any():
            raise StatisticsError(
                "what stays weighs too little beside what goes: its digits are lost in the sums; fit again"
            )
        left[lost] = 0.0
    if left.size and left.min() < 0:
        raise NotLearned("these rows were not all learned: a count would fall below zero; nothing was changed")
    return left


def lightest(weights: Array | None) -> float:
    """The least weight of a row that weighs something; 1 where rows are counted."""
    return 1.0 if weights is None else float(weights[weights > 0].min(initial=np.inf))
