"""A histogram of one numeric column by class: order-free, mergeable, exact as long as distinct values are few.

Symbols: v distinct values in rising order, K classes, N[v, y] rows (or weight) of class y with that value.

Every float64 has a key: the unsigned integer that sorts as the float does. At level 0 a cell is one key, at level ℓ a cell
holds the 2^ℓ keys that agree but for their last ℓ bits. The level of a set of values is the least one with at most
`most_cells(K, d)` cells, fewer where many columns and classes share the memory: it depends on the set alone, never on its
order or its parts, so `+` is associative and commutative.

What densities read is the `view`, which has fewer cells, by the same rule. So after rows are taken away, which leave the
level as it was, the view is still that of the rows that stay (`sure`), as long as these have more cells than it needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..arrays import Array, Bools, Floats
from ..errors import NotLearned, StatisticsError
from ..fields import Counted, Place, Within, need, rises
from .counts import ClassStatistic, reindexed, subtract

LIMIT = 65_536  # cells that a column by itself may have
SHARED, FEWEST = 16_384, 2_048  # and one among the columns of a table
NUMBERS = 1 << 21  # cells × classes × columns of a table, as long as no column has fewer cells than FEWEST
VIEW = 4_096  # cells that are read, or half of what there may be
_SIGN = np.uint64(1 << 63)

Keys = NDArray[np.uint64]


def most_cells(n_classes: int, columns: int = 0) -> int:
    """How many cells a column may have by itself, or in a table of so many numeric columns."""
    return min(LIMIT, SHARED, max(NUMBERS // (max(n_classes, 1) * columns), FEWEST)) if columns else LIMIT


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(ClassStatistic):
    """N[v, y] of one column; `values[c]` is the least value of cell c, and its only one while `exact`.

    >>> h = Histogram.of([1.5, 2.0, 1.5, float("nan")], [0, 1, 1, 0], n_classes=2)
    >>> h.values.tolist(), h.table.tolist()
    ([1.5, 2.0], [[1, 1], [0, 1]])
    >>> h + Histogram.zero(2) == h, (h - h).values.size
    (True, 0)
    """

    values: Annotated[Floats, "cells"]
    table: Annotated[Counted, "cells K"]
    level: Annotated[int, Within(0, 63)] = 0
    columns: Place = 0  # of the table that it is part of, which share the memory

    def check(self) -> None:
        """Refuse cells out of order, or that no row has: kernels read no further."""
        need(rises(self.values), "the values of a histogram must rise")
        need(self.table.any(axis=1).all(), "every value of a histogram must have been counted")

    def has_counted(self, x: Floats, table: Array) -> bool:
        """Whether every number is in a cell, as often in each class; NaN are in none."""
        there = ~np.isnan(x)
        x, table = x[there], table[there]
        if not len(self.values):
            return not len(x)
        at = np.searchsorted(self.values, x, side="right") - 1
        if (at < 0).any() or (self.exact and (self.values[at] != x).any()):
            return False
        if table.dtype.kind != "i" or self.table.dtype.kind != "i":
            return True  # sums of weights are rounded
        counted = np.zeros_like(self.table)
        np.add.at(counted, at, table)
        return bool((counted <= self.table).all())

    @classmethod
    def zero(cls, n_classes: int, weighted: bool = False) -> Histogram:
        """The histogram of no rows."""
        return cls(np.empty(0), np.zeros((0, n_classes), dtype=np.float64 if weighted else np.int64))

    @classmethod
    def of(cls, x: Any, y: Any, n_classes: int, weights: Any = None) -> Histogram:
        """The histogram of the cells of `x` that are not missing (NaN); `y` are class codes."""
        column = np.asarray(x, dtype=np.float64).reshape(-1, 1)
        weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        found = kernels.histograms(column, np.asarray(y), n_classes, most_cells(n_classes, 0), weights)
        return cls.of_found(found, weights is not None, 0)[0][0]

    @classmethod
    def of_found(
        cls, found: list[tuple[Array, Floats, int, int]], weighted: bool, d: int
    ) -> tuple[tuple[Histogram, ...], int]:
        """(the histograms of d columns as the kernel found them, whether NaN (bit 1) or inf (bit 2) was in them)."""
        values = _floats(np.concatenate([np.empty(0, np.uint64), *(keys for keys, *_ in found)]))
        seen, made, end = 0, [], 0
        for keys, table, level, met in found:
            begin, end, seen = end, end + len(keys), seen | met
            made.append(cls(values[begin:end], table if weighted else table.astype(np.int64), level, d))
        return tuple(made), seen

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.table.shape[1])

    @property
    def exact(self) -> bool:
        """Whether every cell holds one value only."""
        return self.level == 0

    @property
    def centres(self) -> Floats:
        """The middle of each cell: where a density puts the weight of the cell."""
        if self.exact or not len(self.values):
            return self.values
        top = _floats(_keys(self.values) | np.uint64((1 << self.level) - 1))
        middle: Floats = self.values / 2 + np.clip(top, -np.finfo(float).max, np.finfo(float).max) / 2
        return middle

    def moments(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """(n, mean, M2, low, high) of the column, each (K, 1), while `exact`.

        >>> [round(part.item(), 12) for part in Histogram.of([1.0, 2.0, 6.0], [0, 0, 0], n_classes=1).moments()]
        [3.0, 3.0, 14.0, 1.0, 6.0]
        """
        n, low, high = np.zeros((3, self.n_classes, 1))
        n[:, 0] = self.table.sum(axis=0)
        mean, m2 = np.zeros_like(n), np.zeros_like(n)
        low += np.inf
        high -= np.inf
        for c in np.flatnonzero(n[:, 0] > 0):
            here = self.table[:, c] > 0
            x, share = self.values[here], self.table[here, c] / n[c, 0]
            low[c], high[c] = x[0], x[-1]
            middle = x[len(x) // 2]
            middle = middle + np.sum(share * (x - middle))  # no dot product: its last digit depends on where x lies
            off = np.sum(share * (x - middle))
            mean[c], m2[c] = middle + off, n[c, 0] * (np.sum(share * (x - middle) ** 2) - off * off)
        return n, mean, np.maximum(m2, 0.0), low, high

    def __add__(self, other: Histogram) -> Histogram:
        """N of both together, at the level that their union needs."""
        keys, total, at, counts, level = self._beside(other)
        total[at] += counts
        columns = max(self.columns, other.columns)
        most = most_cells(self.n_classes, columns)
        if len(keys) > most:
            level = _level(keys, level, most)
            keys, total = _summed(_coarse(keys, level), total)
        return Histogram(_floats(keys), total, level, columns)

    def less(self, other: Histogram, lightest: float = np.inf) -> Histogram:
        """N without the rows of `other`; a level once coarse stays so."""
        if other.level > self.level:
            raise NotLearned("cannot subtract a histogram that is coarser than the one it should be part of")
        keys, total, at, counts, level = self._beside(other)
        total[at] = subtract(total[at], counts, lightest)
        kept = total.any(axis=1)
        return Histogram(_floats(keys[kept]), total[kept], level if kept.any() else 0, self.columns)

    def _beside(self, other: Histogram) -> tuple[Keys, Array, Array, Array, int]:
        """(keys of the cells of both, my counts of them, where those of the other are, its counts, the level)."""
        if self.n_classes != other.n_classes:
            raise StatisticsError(
                f"histograms of {self.n_classes} and {other.n_classes} classes do not add; use reindex_classes first"
            )
        level = max(self.level, other.level)
        (keys, table), (new, counts) = self._at(level), other._at(level)
        at = np.searchsorted(keys, new)
        strange = (keys[np.minimum(at, len(keys) - 1)] != new) if len(keys) else np.ones(len(new), dtype=bool)
        if strange.any():
            keys, table = np.insert(keys, at[strange], new[strange]), np.insert(table, at[strange], 0, axis=0)
            at = np.searchsorted(keys, new)
        return keys, table.astype(np.result_type(table, counts)), at, counts, level

    def _at(self, level: int) -> tuple[Keys, Array]:
        """Keys and counts in the cells of a level."""
        keys = _coarse(_keys(self.values), level)
        return (keys, self.table) if level == self.level else _summed(keys, self.table)

    def scaled(self, factor: float) -> Histogram:
        return self._counted(self.table * float(factor))

    def select_classes(self, classes: Any) -> Histogram:
        """Some of the classes; a value that only others had goes with them."""
        return self._counted(self.table[:, classes])

    def reindex_classes(self, places: Any, n_classes: int) -> Histogram:
        places = np.asarray(places)
        table = reindexed(self.table, places, n_classes, axis=1)
        return replace(self, table=table) if (places >= 0).all() else self._counted(table)

    def _counted(self, table: Array) -> Histogram:
        """These counts of the values, of which those that nobody has are left out."""
        some: Bools = (table != 0).any(axis=1)
        if some.any() and some.all():
            return replace(self, table=table)
        return Histogram(self.values[some], table[some], self.level if some.any() else 0, self.columns)

    def coarser(self, most: int) -> Histogram:
        """The same rows in at most so many cells."""
        if len(self.values) <= most:
            return self
        keys = _keys(self.values)
        level = _level(keys, self.level, most)
        cells, table = _summed(_coarse(keys, level), self.table)
        return replace(self, values=_floats(cells), table=table, level=level)

    @property
    def _read(self) -> int:
        return min(VIEW, most_cells(self.n_classes, self.columns) // 2)

    @property
    def view(self) -> Histogram:
        """The same rows in as few cells as densities read."""
        return self.coarser(self._read)

    @property
    def sure(self) -> bool:
        """Whether the view is what these rows alone would give; else rows that are gone have made it coarse."""
        return self.exact or len(self.values) > self._read

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.level, self.values, self.table


def _keys(x: Floats) -> Keys:
    """The unsigned integers that sort as the floats do; −0 counts as 0."""
    bits = (np.ascontiguousarray(x, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _floats(keys: Keys) -> Floats:
    """The floats of keys; what a coarse key rounds beyond the largest float is the largest float."""
    bits = np.where(keys & _SIGN, keys ^ _SIGN, ~keys)
    x: Floats = np.ascontiguousarray(bits).view(np.float64)
    limit = np.finfo(np.float64).max
    return np.where(np.isfinite(x), x, np.where(keys & _SIGN, limit, -limit))


def _coarse(keys: Keys, level: int) -> Keys:
    """The least key of each one's cell."""
    return keys if level == 0 else keys & ~np.uint64((1 << level) - 1)


def _level(keys: Keys, least: int, most: int) -> int:
    """The least level, not below `least`, at which sorted `keys` fall into at most `most` cells."""
    differ = keys[1:] ^ keys[:-1]
    low, high = least, 63
    while low < high:
        middle = (low + high) // 2
        if 1 + np.count_nonzero(differ >> np.uint64(middle)) <= most:
            high = middle
        else:
            low = middle + 1
    return low


def _summed(keys: Keys, counts: Array) -> tuple[Keys, Array]:
    """Distinct keys of a sorted list, and the sum of their counts."""
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[first], np.add.reduceat(counts, first)
