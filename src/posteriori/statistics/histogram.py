"""A histogram of one numeric column by class: order-free, mergeable, exact as long as distinct values are few.

Symbols: v distinct values in rising order, K classes, N[v, y] rows (or weight) of class y with that value.

Every float64 has a key: the unsigned integer that sorts as the float does. At level 0 a cell is one key, at level ℓ a cell
holds the 2^ℓ keys that agree but for their last ℓ bits. The level of a set of values is the least one with at most
`LIMIT` cells: it depends on the set alone, never on its order or its parts, so `+` is associative and commutative.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..errors import NotLearned, StatisticsError

__all__ = ["LIMIT", "Histogram"]

LIMIT = 65_536  # cells that a column may have
_SIGN = np.uint64(1 << 63)

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """N[v, y] of one column; `values[c]` is the least value of cell c, and its only one while `exact`.

    >>> h = Histogram.of([1.5, 2.0, 1.5, float("nan")], [0, 1, 1, 0], n_classes=2)
    >>> h.values.tolist(), h.table.tolist()
    ([1.5, 2.0], [[1, 1], [0, 1]])
    >>> h + Histogram.zero(2) == h, (h - h).values.size
    (True, 0)
    """

    values: Floats
    table: Array
    level: int = 0

    @classmethod
    def zero(cls, n_classes: int, weighted: bool = False) -> Histogram:
        """The histogram of no rows."""
        return cls(np.empty(0), np.zeros((0, n_classes), dtype=np.float64 if weighted else np.int64))

    @classmethod
    def of(cls, x: Any, y: Any, n_classes: int, weights: Any = None) -> Histogram:
        """The histogram of the cells of `x` that are not missing (NaN); `y` are class codes."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
        seen = ~np.isnan(x)
        w = None if weights is None else np.asarray(weights, dtype=np.float64)
        if not seen.all():
            x, y, w = x[seen], y[seen], None if w is None else w[seen]
        by_class = np.argsort(y, kind="stable")  # a radix sort on narrow codes
        bounds = np.searchsorted(y[by_class], np.arange(n_classes + 1))
        parts = []
        for a, b in itertools.pairwise(bounds):
            rows = by_class[a:b]
            parts.append(_counted(_keys(x[rows]), None if w is None else w[rows]))
        return cls._joined(parts, n_classes, 0, w is not None)

    @classmethod
    def _joined(cls, parts: list[tuple[Keys, Array]], n_classes: int, level: int, weighted: bool) -> Histogram:
        """One column of the table for each (keys, counts) of `parts`, at the level that their union needs."""
        level = _level(_distinct([k for k, _ in parts]), level)
        if level:
            parts = [_summed(_coarse(k, level), counts) for k, counts in parts]
        keys = _distinct([k for k, _ in parts])
        table = np.zeros((len(keys), n_classes), dtype=np.float64 if weighted else np.int64)
        for c, (k, counts) in enumerate(parts):
            table[np.searchsorted(keys, k), c] = counts
        return cls(_floats(keys), table, level)

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

    def __add__(self, other: Histogram) -> Histogram:
        """N of both together, at the level that their union needs."""
        return self._merged(other, 1)

    def __sub__(self, other: Histogram) -> Histogram:
        """N without the rows of `other`, which must have been learned; a level once coarse stays so."""
        if other.level > self.level:
            raise NotLearned("cannot subtract a histogram that is coarser than the one it should be part of")
        return self._merged(other, -1)

    def _merged(self, other: Histogram, sign: int) -> Histogram:
        if self.n_classes != other.n_classes:
            raise StatisticsError(
                f"histograms of {self.n_classes} and {other.n_classes} classes do not add; use take_classes first"
            )
        mine, theirs = _keys(self.values), _keys(other.values)
        level = _level(_distinct([mine, theirs]), max(self.level, other.level)) if sign > 0 else self.level
        keys = _distinct([_coarse(mine, level), _coarse(theirs, level)])
        table = np.zeros((len(keys), self.n_classes), dtype=np.result_type(self.table, other.table))
        for old, counts in ((mine, self.table), (theirs, sign * other.table)):
            cells, summed = _summed(_coarse(old, level), counts)
            table[np.searchsorted(keys, cells)] += summed
        if sign < 0:
            table = _forgotten(table)
        kept = table.any(axis=1)
        return Histogram(_floats(keys[kept]), table[kept], level if kept.any() else 0)

    def scaled(self, factor: float) -> Histogram:
        """N·factor: what decay leaves of the past."""
        if factor == 0:
            return Histogram.zero(self.n_classes, weighted=True)
        return Histogram(self.values, self.table * float(factor), self.level)

    def coarser(self, most: int) -> Histogram:
        """The same rows in at most so many cells."""
        if len(self.values) <= most:
            return self
        keys = _keys(self.values)
        level = _level(keys, self.level, most)
        cells, table = _summed(_coarse(keys, level), self.table)
        return Histogram(_floats(cells), table, level)

    def take_classes(self, codes: Any, n_classes: int) -> Histogram:
        """The same counts under other class codes: old class c becomes `codes[c]` of `n_classes`."""
        table = np.zeros((len(self.values), n_classes), dtype=self.table.dtype)
        for c, code in enumerate(codes):
            table[:, code] += self.table[:, c]
        return Histogram(self.values, table, self.level)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return (
            self.level == other.level
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.table, other.table)
        )

    __hash__ = None  # type: ignore[assignment]


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


def _level(keys: Keys, least: int, most: int | None = None) -> int:
    """The least level, not below `least`, at which sorted `keys` fall into at most LIMIT (or `most`) cells."""
    most = LIMIT if most is None else most
    if len(keys) <= most and least == 0:
        return 0
    differ = keys[1:] ^ keys[:-1]
    low, high = least, 63
    while low < high:
        middle = (low + high) // 2
        if 1 + np.count_nonzero(differ >> np.uint64(middle)) <= most:
            high = middle
        else:
            low = middle + 1
    return low


def _distinct(parts: list[Keys]) -> Keys:
    """The distinct keys of all parts, sorted (a sort is several times faster here than a hash table)."""
    keys = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


def _summed(keys: Keys, counts: Array) -> tuple[Keys, Array]:
    """Distinct keys of a sorted list, and the sum of their counts."""
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[first], np.add.reduceat(counts, first)


def _counted(keys: Keys, weights: Floats | None) -> tuple[Keys, Array]:
    """Distinct keys and how many rows, or how much weight, each has."""
    if weights is not None:
        order = np.argsort(keys, kind="stable")
        return _summed(keys[order], weights[order])
    keys = np.sort(keys)
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, np.int64)
    return keys[first], np.diff(first, append=len(keys)).astype(np.int64)


def _forgotten(table: Array) -> Array:
    """A difference of counts, checked: rounding is cleaned from weights, a true negative is an error."""
    slack = 0.0 if table.dtype.kind == "i" else 1e-9 * max(1.0, float(np.abs(table).max(initial=0.0)))
    if table.min(initial=0) < -slack:
        raise NotLearned("cannot forget values that were never learned: a count would fall below zero")
    return table if table.dtype.kind == "i" else np.where(np.abs(table) <= slack, 0.0, table)
