"""A sample of the rows that merges: which rows are in it depends on the rows alone, never on their order or parts.

Symbols: x a row of d cells, 64 bits each (a number as its float64, any other value as a hash of it); h(x) its hash;
N[x, y] rows (or weight) of class y that are x.

h(x) = mix(Σ_j mix(cell_j ⊕ salt_j)), the salt made from the column's name: the same in every process, in any order of the
columns. At level ℓ the sample holds the distinct rows with h(x) < 2^(64−ℓ), a share 2^−ℓ of them that has nothing to do
with what they say. The level of a set of rows is the least with at most `most_kept(d)` rows in the sample, so `+` is
associative and commutative; a level once coarse stays so. What is looked at is the `view`: the `most_rows(d)` rows of least
hash. It is that of the rows that stay (`sure`) as long as so many are left: half of all rows may go.
"""

from __future__ import annotations

import contextlib
import hashlib
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..errors import NotLearned, StatisticsError
from ..fields import Counted, Within, need, rises
from .counts import ClassStatistic, reindexed, subtract

LIMIT = 2_000  # distinct rows that are looked at
RESERVE = 4  # times as many are kept, of which at least half are there where rows were left out
CELLS = 1 << 20  # rows × columns, where there are so many columns that memory counts
Cells = NDArray[np.uint64]

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MISSING = np.array([np.nan]).view(np.uint64)[0]


def most_rows(d: int) -> int:
    """How many distinct rows of d columns are looked at."""
    return min(LIMIT, max(CELLS // max(d, 1), LIMIT // 20))


def most_kept(d: int) -> int:
    """How many distinct rows of d columns a sample may have."""
    return max(min(RESERVE * LIMIT, RESERVE * CELLS // max(d, 1)), most_rows(d))


@dataclass(frozen=True, slots=True, eq=False)
class Sample(ClassStatistic):
    """The rows of least hash, each with N[y]; `hashes` rise.

    >>> a = Sample.of(number_cells(np.array([[1.0], [2.0], [1.0]])), ["x"], np.array([0, 1, 1]), 2)
    >>> a.table.sum(axis=0).tolist(), len(a.hashes), a + Sample.zero(1, 2) == a, len((a - a).hashes)
    ([1, 2], 2, True, 0)
    """

    hashes: Annotated[Cells, "rows"]
    cells: Annotated[Cells, "rows d"]
    table: Annotated[Counted, "rows K"]
    level: Annotated[int, Within(0, 64)] = 0

    def check(self) -> None:
        """Refuse rows out of order, or there twice."""
        need(rises(self.hashes), "the hashes of a sample must rise")

    @classmethod
    def zero(cls, d: int, n_classes: int) -> Sample:
        """The sample of no rows."""
        return cls(np.zeros(0, np.uint64), np.zeros((0, d), np.uint64), np.zeros((0, n_classes), np.int64))

    @classmethod
    def of(cls, cells: Cells, names: Sequence[str], y: Array, n_classes: int, weights: Floats | None = None) -> Sample:
        """The sample of rows whose cells, columns `names`, are given; `y` are class codes."""
        return cls.of_hashes(row_hashes(cells, names), cells.__getitem__, cells.shape[1], y, n_classes, weights)

    @classmethod
    def of_hashes(
        cls, hashes: Cells, cells: Callable[[Array], Cells], d: int, y: Array, n_classes: int, weights: Floats | None
    ) -> Sample:
        """The sample of rows by their hashes; `cells` gives the cells of those that are in it."""
        shared = weights is not None and weights.ndim == 2
        whole = weights.sum(axis=1) if weights is not None and shared else weights
        there = None if whole is None or whole.all() else np.flatnonzero(whole > 0)
        some, level = _least(hashes if there is None else hashes[there], d)
        rows = some if there is None else there[some]
        weights = None if weights is None else weights[rows]
        return cls._counted(hashes[rows], cells(rows), y[rows], n_classes, weights, level)

    @classmethod
    def _counted(
        cls, hashes: Cells, cells: Cells, y: Array, n_classes: int, weights: Floats | None, level: int
    ) -> Sample:
        found, first, back = np.unique(hashes, return_index=True, return_inverse=True)
        if weights is not None and weights.ndim == 2:
            shared = np.zeros((len(found), n_classes))
            np.add.at(shared, back, weights)
            return cls(found, cells[first], shared, level)
        flat = back.astype(np.int64) * n_classes + y
        table = np.bincount(flat, weights, minlength=len(found) * n_classes).reshape(len(found), n_classes)
        return cls(found, cells[first], table.astype(np.int64) if weights is None else table, level)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.table.shape[1])

    def __add__(self, other: Sample) -> Sample:
        """The sample of both, at the level that their union needs."""
        hashes, cells, a, b = self._beside(other)
        some, level = _least(hashes, cells.shape[1], max(self.level, other.level))
        return Sample(hashes[some], cells[some], (a + b)[some], level)

    def less(self, other: Sample, lightest: float = np.inf) -> Sample:
        """Without the rows of `other`; a level once coarse stays so."""
        if other.level > self.level:
            raise NotLearned("cannot subtract a sample that is coarser than the one it should be part of")
        hashes, cells, a, b = self._beside(other)
        some = _within(hashes, self.level)
        return Sample(hashes[some], cells[some], a[some], self.level)._with(subtract(a[some], b[some], lightest))

    def _beside(self, other: Sample) -> tuple[Cells, Cells, Array, Array]:
        """(the hashes of all rows, their cells, my counts of them, those of the other)."""
        if self.cells.shape[1] != other.cells.shape[1] or self.n_classes != other.n_classes:
            raise StatisticsError("samples of other columns or classes do not add")
        hashes, first = np.unique(np.concatenate([self.hashes, other.hashes]), return_index=True)
        a, b = (np.zeros((len(hashes), self.n_classes), dtype=one.table.dtype) for one in (self, other))
        a[np.searchsorted(hashes, self.hashes)] = self.table
        b[np.searchsorted(hashes, other.hashes)] = other.table
        return hashes, np.concatenate([self.cells, other.cells])[first], a, b

    @property
    def view(self) -> Sample:
        """The rows that a choice looks at."""
        most = most_rows(self.cells.shape[1])
        return Sample(self.hashes[:most], self.cells[:most], self.table[:most], self.level)

    @property
    def sure(self) -> bool:
        """Whether the view is what these rows alone would give; else rows that were due have been left out before."""
        return self.level == 0 or len(self.hashes) >= most_rows(self.cells.shape[1])

    def scaled(self, factor: float) -> Sample:
        return self._with(self.table * float(factor))

    def select_classes(self, classes: Any) -> Sample:
        """Some of the classes; a row that only others had goes with them."""
        return self._with(self.table[:, classes])

    def reindex_classes(self, places: Any, n_classes: int) -> Sample:
        places = np.asarray(places)
        table = reindexed(self.table, places, n_classes, axis=1)
        return replace(self, table=table) if (places >= 0).all() else self._with(table)

    def select_columns(self, columns: Sequence[int]) -> Sample:
        """The same rows with these of their columns, in this order."""
        return Sample(self.hashes, self.cells[:, columns], self.table, self.level)

    def _with(self, table: Array) -> Sample:
        """These counts of the rows, of which those that nobody has are left out."""
        some = table.any(axis=1)
        return Sample(self.hashes[some], self.cells[some], table[some], self.level)

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.level, self.hashes, self.cells, self.table


def number_cells(x: Array) -> Cells:
    """Numbers as 64 bits: −0 counts as 0, and every NaN is the same."""
    bits: Cells = (np.ascontiguousarray(x, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(np.isnan(x), _MISSING, bits) if np.asarray(x).dtype.kind == "f" else bits


def value_cells(values: Iterable[Any]) -> Cells:
    """Any values as 64 bits, equal ones alike, and one more for a missing cell."""
    return np.array([*map(_value_hash, values), _MISSING], dtype=np.uint64)


def _value_hash(value: Any) -> int:
    """A number or truth, and a word that is written like it, are one value: files of text tell no types."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if isinstance(value, str) and value[:1] in "-0123456789":
        with contextlib.suppress(ValueError):
            number = float(value)
            value = number if value == (str(int(number)) if number.is_integer() else repr(number)) else value
    if isinstance(value, numbers.Number | Decimal):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            value = float(value) if value == float(value) else value  # type: ignore[arg-type]
    said = value if isinstance(value, str) else f"{type(value).__name__} {value!r}"
    return int.from_bytes(hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def row_hashes(cells: Cells, names: Sequence[str]) -> Cells:
    """h(x) of each row."""
    total = np.zeros(len(cells), np.uint64)
    for j, salt in enumerate(salts(names)):
        total += mix(cells[:, j] ^ salt)
    return mix(total)


def salts(names: Sequence[str]) -> Cells:
    """The salt of each column."""
    return np.array([_value_hash(name) for name in names], dtype=np.uint64)


def mix(bits: Cells) -> Cells:
    """Sixty-four bits of which each depends on all (Steele, Lea and Flood's SplitMix)."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def _within(hashes: Cells, level: int) -> NDArray[np.intp]:
    """Which rows the sample of a level holds."""
    return np.flatnonzero(hashes >> np.uint64(64 - level) == 0) if level else np.arange(len(hashes))


def _least(hashes: Cells, d: int, level: int = 0) -> tuple[NDArray[np.intp], int]:
    """(the rows in the sample, the least level not below `level` with few enough distinct ones)."""
    most = most_kept(d)
    for part in (8 * most, len(hashes) + 1):  # a part tells most of the level
        some = _within(hashes, level)
        found = np.unique(hashes[some][:: max(1, len(some) // part)])
        while level < 63 and len(found) > most:
            level += 1
            found = found[_within(found, level)]
    return _within(hashes, level), level
