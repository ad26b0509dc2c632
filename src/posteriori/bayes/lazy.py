"""Lazy AODE: the coded rows are kept, and a row's own pairs are counted when it is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..errors import NotLearned
from ..smoothing import log_share
from ..statistics.counts import subtract
from ..statistics.cuts import CodedTable
from ..table.labels import narrowest
from ..table.schema import Schema
from .families import draw_from
from .superparents import Places, reaches

if TYPE_CHECKING:
    from .aode import AODE


@dataclass(frozen=True, eq=False)
class RowStore:
    """Distinct rows, sorted, and how often each was learned: the counts of all columns together.

    The last column of `rows` is the class; S_j stands for a missing cell.
    """

    rows: NDArray[np.uint32]
    weight: Array

    @classmethod
    def of(cls, rows: Array, weight: Array) -> RowStore:
        """Equal rows put together, rows without weight left out."""
        distinct, back = np.unique(rows, axis=0, return_inverse=True)
        total = np.bincount(back.ravel(), weight, minlength=len(distinct))
        total = total.astype(np.int64) if weight.dtype.kind == "i" else total
        return cls(distinct[total != 0], total[total != 0])

    def __add__(self, other: RowStore) -> RowStore:
        return RowStore.of(np.concatenate([self.rows, other.rows]), np.concatenate([self.weight, other.weight]))

    def __sub__(self, other: RowStore) -> RowStore:
        both, back = np.unique(np.concatenate([self.rows, other.rows]), axis=0, return_inverse=True)
        mine, theirs = np.split(back.ravel(), [len(self.rows)])
        a, b = (np.zeros(len(both), dtype=np.result_type(self.weight, other.weight)) for _ in range(2))
        a[mine], b[theirs] = self.weight, other.weight
        left = subtract(a, b)
        if left is None:
            raise NotLearned("these rows were not all learned: nothing was changed")
        return RowStore(both[left != 0], left[left != 0])

    def scaled(self, factor: float) -> RowStore:
        """Every row counts `factor` times."""
        return RowStore(self.rows, self.weight * float(factor))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RowStore)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.weight, other.weight)
        )

    __hash__ = None  # type: ignore[assignment]

    def moved(self, old: Schema, new: Schema) -> RowStore:
        """The same rows in the codes of another schema."""
        if old is new or (old.columns == new.columns and old.classes == new.classes):
            return self
        lists = [(a.values, b.values) for a, b in zip(old.columns, new.columns)] + [(old.classes, new.classes)]
        rows = self.rows.copy()
        for j, (before, after) in enumerate(lists):
            place = {v: k for k, v in enumerate(after)}
            look_up = np.array([place.get(v, len(after)) for v in before] + [len(after)], dtype=np.uint32)
            rows[:, j] = look_up[rows[:, j]]
        return RowStore.of(rows, self.weight)

    def turned(self, order: Sequence[int], sizes: Sequence[int]) -> RowStore:
        """The same rows with the columns in another order."""
        return RowStore.of(self.rows[:, [*order, len(order)]], self.weight)


def collect_rows(table: CodedTable, y: Array, weights: Floats | None) -> RowStore:
    """The rows themselves."""
    rows = np.stack([*(c.astype(np.uint32) for c in table.columns()), y.astype(np.uint32)], axis=1)
    return RowStore.of(rows, np.ones(len(y), dtype=np.int64) if weights is None else weights)


def lazy_log_joint(model: AODE, table: CodedTable) -> Floats:
    """log P(y, x) of each row by counting its own pairs: the same sum as with all pairs counted beforehand."""
    statistics, lam = model.statistics_, float(model.smoothing)
    store: Any = statistics.joints[0]
    sizes, K = np.asarray(statistics.sizes), len(statistics.rows)
    codes = np.stack([c.astype(narrowest(int(sizes.max(initial=0)) + 1)) for c in table.columns()], axis=1)
    weight = model._weights_of(statistics)
    by_class = [np.flatnonzero(store.rows[:, -1] == c) for c in range(K)]
    rows = store.rows[:, :-1]
    known = (rows < sizes).astype(np.float64)
    own = statistics.cells
    below = own.totals().sum(axis=1) + K * sizes * lam
    out = np.empty((len(codes), K))
    for r, x in enumerate(codes):
        seen = np.flatnonzero(x < sizes)
        hits = (rows[:, seen] == x[seen]).astype(np.float64)
        pairs, totals = np.zeros((K, len(seen), len(seen))), np.zeros((K, len(seen), len(seen)))
        for c, at in enumerate(by_class):
            left = (hits[at] * store.weight[at, None]).T
            pairs[c], totals[c] = left @ hits[at], left @ known[at][:, seen]
        single = own.table[own.offsets[:-1][seen] + x[seen]]
        out[r] = _average(model, pairs, totals, single, seen, sizes, lam, below[seen], weight[seen])
        if np.isnan(out[r, 0]):
            out[r] = model.naive_.log_joint(table.take(np.array([r])))[0]
    return out


def draw_lazily(model: AODE, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """(codes, class codes): x_i and y by w_i·P(y, x_i), the others counted from the rows that have both."""
    from .aode import joint_of_cells

    statistics, lam = model.statistics_, float(model.smoothing)
    store: Any = statistics.joints[0]
    where, K = Places(statistics.sizes), len(statistics.rows)
    weight = model._weights_of(statistics)[where.column]
    frequent = reaches(statistics.cells.table.sum(axis=1), model.min_frequency)
    own = np.where((frequent & (weight > 0))[:, None], weight[:, None] * joint_of_cells(statistics, lam), 0.0)
    if not own.sum() > 0:
        return model.naive_.draw(n, rng)
    drawn = rng.choice(own.size, n, p=(own / own.sum()).ravel())
    codes = np.zeros((n, len(where.sizes)), dtype=np.int64)
    for both in np.unique(drawn):  # all rows drawn for one x_i and y together
        a, c = divmod(int(both), K)
        rows, i = np.flatnonzero(drawn == both), int(where.column[a])
        met = (store.rows[:, i] == where.value[a]) & (store.rows[:, -1] == c)
        for j, size in enumerate(where.sizes.tolist()):
            counts = np.bincount(store.rows[met, j], store.weight[met], minlength=size + 1)[:size] + lam
            p = counts if counts.sum() > 0 else np.ones(size)
            codes[rows, j] = where.value[a] if j == i else draw_from(np.tile(p, (len(rows), 1)), rng)
    return codes, drawn % K


def always(both: Floats, one: Array) -> Array:
    """[a, b]: whether all rows with a have b; sums of weights that are no whole numbers differ in the last digits."""
    found: Array = both >= one[:, None] * (1 - 1e-9)
    return found


def _average(
    model: AODE,
    pairs: Floats,
    totals: Floats,
    single: Array,
    seen: Array,
    sizes: Array,
    lam: float,
    below: Floats,
    weight: Floats,
) -> Floats:
    """ln of the weighted mean of P(y,x_i) Π_j P(x_j|y,x_i); NaN where no value is frequent enough."""
    frequency = single.sum(axis=1)
    use = np.ones(len(seen), dtype=bool)
    if model.subsumption is not None:
        both = pairs.sum(axis=0)
        implies = always(both, frequency) & reaches(frequency, max(1, model.subsumption))[:, None]
        np.fill_diagonal(implies, False)
        later = np.tri(len(seen), k=-1, dtype=bool).T
        use = ~(implies & (~implies.T | later)).any(axis=0)
    parents = np.flatnonzero(use & reaches(frequency, model.min_frequency) & (weight > 0))
    if not len(parents):
        return np.full(pairs.shape[0], np.nan)
    log_theta = log_share(pairs + lam, totals + sizes[seen] * lam, sizes[seen])
    with np.errstate(divide="ignore"):
        start = log_share(single.T + lam, below) + np.log(weight)
    index = np.arange(len(seen))
    log_theta[:, index, index] = 0.0
    terms = start[:, parents] + log_theta[:, parents][:, :, use].sum(axis=2)
    mean: Floats = np.logaddexp.reduce(terms, axis=1) - np.log(weight[parents].sum())
    return mean
