"""Averages over super-parents: AODE, every attribute in turn; A2DE, every pair of attributes.

Pairs are counted beforehand; or, lazily, the coded rows are kept, and a row's own pairs are counted when it is predicted.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import combinations, pairwise
from numbers import Integral
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Bools, Codes, Floats, Ints
from ..blas import one_thread
from ..budget import refuse_over
from ..errors import ModelError, StatisticsError
from ..estimator import parameters
from ..fields import Counted, need
from ..kernels import padded, pair_tables, sum_of_products
from ..smoothing.theta import Prior, Smoothing, log_share, share
from ..statistics.counts import JointStatistic, subtract
from ..statistics.cuts import CodedTable
from ..statistics.joint import collect_triples, refuse_triples
from ..statistics.statistics import Statistics
from ..structure.information import class_information, conditional_information
from ..structure.structures import naive
from ..table.encode import Seen
from ..table.frame import Frame
from ..table.labels import narrowest
from ..table.schema import Schema
from .families import Families, draw_from
from .hidden import Unlabelled
from .semi import SemiNaive
from .super_parents import BLOCK, Places, blocks, conditional_table, joint_of_cells, reaches, set_own, symmetric_counts

ROWS = 1 << 15  # rows scored at a time
STORED = 1 << 12  # rows of a lazy model that are compared at a time
IMPLIED = 1 << 24  # pairs of values looked at together for subsumption


class Parents(NamedTuple):
    """What a row is scored with under many super-parents."""

    theta: Floats  # θ[a, b, y] of the places a that may be super-parents, with w·P(y, a) where b is a
    row: Codes  # of each place, its row in θ; −1 where it is too rare or weighs nothing
    weight: Floats  # w of each place
    places: Ints  # of each row of θ


@parameters
class AveragedParents(SemiNaive, Unlabelled):
    """What AODE and A2DE share: the mean over the frequent super-parents of a row; a simpler model where there is none."""

    min_frequency: Smoothing = 30
    _: KW_ONLY
    prior: Prior = "smoothed"
    lazy: bool = field(default=False, init=False)
    weights: str = field(default="uniform", init=False)
    subsumption: int | None = field(default=None, init=False)

    _parent_is, _else = "value", "naive Bayes"

    def _check_joints(self, found: Statistics) -> None:
        need(len(found.joints) == 1, "there must be joint counts, or rows, of all columns")
        if not self._stored:
            super()._check_joints(found)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from these rows alone; a warning says when no value is frequent enough to be a super-parent."""
        super().fit(X, y, sample_weight)
        if not self.super_parents_:
            warnings.warn(
                f"{type(self).__name__}: no {self._parent_is} occurs min_frequency={self.min_frequency:g} times, so "
                f"{self._else} answers for every row; give a smaller min_frequency, 1 for few rows",
                UserWarning,
                stacklevel=2,
            )
        return self

    @property
    def _pairs_counted(self) -> bool:
        return not (self.lazy if self._fresh else self._stored)

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        return found if self._pairs_counted else replace(found, joints=(collect_rows(table, y, weights),))

    def _check_hidden(self, labels: bool) -> None:
        if self.lazy:
            raise ModelError("lazy=True keeps rows with their classes, which are hidden: fit with lazy=False")

    @property
    def _stored(self) -> bool:
        """Whether the model holds rows and not pair counts: `lazy` may have been set anew since it learned."""
        return isinstance(self.statistics_.joints[0], RowStore)

    def _check_alike(self, other: Self) -> None:
        if self._stored != other._stored:
            raise StatisticsError("a lazy model and one with counted pairs do not add")

    def _weights_of(self, statistics: Statistics) -> Floats:
        """The weight of each super-parent."""
        if self.weights == "uniform":
            return np.ones(len(statistics.sizes))
        told = class_information(statistics.cells)
        return told if told.sum() > 0 else np.ones(len(told))

    @property
    def naive_(self) -> Families:
        """The naive Bayes that answers where no super-parent is frequent enough."""
        statistics = self.statistics_
        return self._cached(
            "naive", lambda: Families.of(statistics, naive(len(statistics.sizes)), self.smoothing, self.prior)
        )

    def _frequent(self, places: Places) -> tuple[Floats, Bools]:
        """(w of every value, whether it may be a super-parent: frequent enough, and of a column that weighs something)."""
        weight = self._weights_of(self.statistics_)[places.column]
        return weight, reaches(self.statistics_.cells.table.sum(axis=1), self.min_frequency) & (weight > 0)

    @property
    def super_parents_(self) -> list[Any]:
        """The columns with a value that is frequent enough; where there are none, naive Bayes answers for every row."""
        self._check_fitted()
        places = Places(self.statistics_.sizes)
        return [self.schema_.names[j] for j in np.unique(places.column[self._frequent(places)[1]])]

    @property
    def _parents(self) -> Parents:
        return self._cached("parents", self._make_parents)

    def _make_parents(self) -> Parents:
        """Rows of θ only for values that may be super-parents: no block that no row needs."""
        statistics, lam = self.statistics_, float(self.smoothing)
        places, K = Places(statistics.sizes), statistics.n_classes
        weight, frequent = self._frequent(places)
        used = np.flatnonzero(frequent)
        refuse_over(
            self.max_memory,
            (len(used) * len(places) * padded(K) + 8 * min(BLOCK, len(used) * len(places) * K)) * 8,
            f"tables of {len(used)} values as super-parents, {K} classes",
            "fit with lazy=True, a larger min_frequency, or fewer columns or values",
        )
        theta = conditional_table(statistics.joints[0], places, used, lam)
        set_own(theta, used, (weight[:, None] * joint_of_cells(statistics, lam))[used])
        row = np.full(len(places), -1, dtype=np.int32)
        row[used] = np.arange(len(used))
        return Parents(theta, row, weight, used)

    def _score(self, table: CodedTable) -> Floats:
        if self._stored:
            with one_thread(0):  # a row has many small products
                return lazy_log_joint(self, table)
        theta, row, weight, used = self._parents
        if not len(used):  # no value is frequent enough
            return self.naive_.log_joint(table)
        out = np.empty((table.n, len(self.classes_)))
        step = ROWS if self.subsumption is None else min(ROWS, max(1, IMPLIED // len(table.sizes) ** 2))
        for begin in range(0, table.n, step):
            part = slice(begin, min(table.n, begin + step))
            cells = table.cells(part)
            if self.subsumption is not None:
                cells = np.where(self._implied(cells), np.int32(-1), cells)
            common = table.whole and self.subsumption is None and len(used) == len(row)  # every cell takes part
            parents = cells if common else np.where(cells >= 0, row[cells], np.int32(-1))
            out[part] = sum_of_products(parents, cells, theta, len(self.classes_), self.n_jobs)
            own = weight[cells[:1]] if common else np.where(parents >= 0, weight[cells], 0.0)  # one row: a column's own
            mass = own.sum(axis=1)
            alone = np.flatnonzero(mass == 0)
            with np.errstate(divide="ignore"):
                out[part] -= np.log(np.where(mass > 0, mass, 1.0))[:, None]
            if len(alone):
                out[begin + alone] = self.naive_.log_joint(table.take(begin + alone))
        return out

    def _implied(self, cells: Array) -> Array:
        """Whether x_j follows from another value of the row."""
        implies = self._cached("implies", self._make_implies)
        found = implies[cells[:, :, None], cells[:, None, :]]
        found &= (cells >= 0)[:, :, None] & (cells >= 0)[:, None, :]
        back = found.transpose(0, 2, 1)
        later = np.tri(cells.shape[1], k=-1, dtype=bool).T  # i before j
        dropped: Array = (found & (~back | later)).any(axis=1)
        return dropped

    def _make_implies(self) -> Array:
        """[a, b]: every row with a has b, and they are at least `subsumption`."""
        statistics, places = self.statistics_, Places(self.statistics_.sizes)
        one = statistics.cells.table.sum(axis=1)
        implied = np.zeros((len(places), len(places)), dtype=bool)
        for rows in blocks(
            np.flatnonzero(reaches(one, max(1, self.subsumption or 0))), len(places) * statistics.n_classes
        ):
            implied[rows] = always(symmetric_counts(statistics.joints[0], places, rows).sum(axis=2), one[rows])
        implied &= places.column[:, None] != places.column[None]
        return implied

    def _edges(self) -> list[tuple[int, int]]:
        d = len(self.schema_)
        return [(i, j) for i in range(d) for j in range(i + 1, d)]

    def _edge_weights(self) -> list[float] | None:
        if self._stored:
            return None
        information = conditional_information(self.statistics_.joints[0], self.statistics_.sizes)
        return [float(information[i, j]) for i, j in self._edges()]

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """A super-parent's value and a class by P(y, x_i), then the other attributes given both."""
        if self._stored:
            return draw_lazily(self, n, rng)
        theta, _, _, used = self._parents
        if not len(used):
            return self.naive_.draw(n, rng)
        K, places = len(self.classes_), Places(self.statistics_.sizes)
        own = theta[np.arange(len(used)), used, :K]
        a, y = np.divmod(rng.choice(own.size, n, p=(own / own.sum()).ravel()), K)
        codes = np.zeros((n, len(places.sizes)), dtype=np.int64)
        for j in range(len(places.sizes)):
            part = theta[a, places.first[j] : places.first[j + 1]][np.arange(n), :, y]
            codes[:, j] = np.where(places.column[used[a]] == j, places.value[used[a]], draw_from(part, rng))
        return codes, y


@parameters
class AODE(AveragedParents):
    """Averaged one-dependence estimators: P(y,x) = mean over i of P(y,x_i) Π_{j≠i} P(x_j|y,x_i), N(x_i) ≥ m.

    P(y,x_i) = (N(y,x_i) + λ)/(N_i + K·S_iλ) and P(x_j|y,x_i) = (N(y,x_i,x_j) + λ)/(N_j(y,x_i) + S_jλ), N_i being the rows
    in which x_i is known and N_j(y,x_i) those in which x_j is. Naive Bayes answers for a row where no x_i is frequent
    enough. A missing cell takes no part, neither as super-parent nor as child. λ = 1 and min_frequency = 1 are what Weka
    does by default.

    Parameters
    ----------
    min_frequency : float, default 30
        m: how often the value of a super-parent must have occurred. With fewer rows than that naive Bayes is left.
    lazy : bool, default False
        Keep the coded rows and count at prediction, for a row's own values only: slower, but memory does not grow with
        the number of values. The rows of the training table are then stored in the model.
    weights : "uniform" or "information"
        Every super-parent alike, or weighted by I(Xi;Y) (WAODE).
    subsumption : int, optional
        Drop x_j from a row where x_i implies it: all rows with x_i have x_j, and there are at least so many of them. Of two
        values that imply each other the later column is dropped. Off by default.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs, unlabelled, unlabelled_weight :
        As in `TAN`; `prior` is used where naive Bayes answers.

    >>> X, y = {"a": [0, 0, 1, 1] * 4, "b": [0, 1, 0, 1] * 4}, [0, 1, 1, 0] * 4
    >>> model = AODE(min_frequency=1, kinds="categorical").fit(X, y)
    >>> model.predict({"a": [0, 1], "b": [0, 0]}).tolist()
    [0, 1]
    """

    _: KW_ONLY
    lazy: bool = False
    weights: Annotated[str, StrOptions({"uniform", "information"})] = "uniform"
    subsumption: Annotated[int | None, Interval(Integral, 0, None, closed="left"), None] = None


@dataclass(frozen=True, eq=False)
class RowStore(JointStatistic):
    """Distinct rows, sorted, and how often each was learned: the counts of all columns together.

    The last column of `rows` is the class; S_j stands for a missing cell.
    """

    rows: Annotated[NDArray[np.uint32], "rows columns"]
    weight: Annotated[Counted, "rows"]

    def check_of(self, sizes: Sequence[int], n_classes: int, numeric: set[int]) -> None:
        """Refuse rows that are not of columns of these sizes."""
        need(self.rows.shape[1] == len(sizes) + 1, "stored rows must have all columns and the class")
        most = np.array([*sizes, n_classes - 1])
        need(not len(self.rows) or (self.rows.max(axis=0) <= most).all(), "a stored row has a value that is none")
        need(n_classes or not len(self.rows), "stored rows without a class")

    @classmethod
    def of(cls, rows: Array, weight: Array) -> RowStore:
        """Equal rows put together, rows without weight left out."""
        order = np.arange(len(rows))
        for column in rows.T[::-1]:  # from the last on, each by its digits
            order = order[np.argsort(column.astype(narrowest(int(column.max(initial=0)) + 1))[order], kind="stable")]
        distinct = rows[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (distinct[1:] != distinct[:-1]).any(axis=1)
        distinct = distinct[new]
        total = np.bincount(np.cumsum(new) - 1, weight[order], minlength=len(distinct))
        total = total.astype(np.int64) if weight.dtype.kind == "i" else total
        return cls(distinct[total != 0], total[total != 0])

    def __add__(self, other: RowStore) -> RowStore:
        return RowStore.of(np.concatenate([self.rows, other.rows]), np.concatenate([self.weight, other.weight]))

    def less(self, other: RowStore, lightest: float = np.inf) -> RowStore:
        both, back = np.unique(np.concatenate([self.rows, other.rows]), axis=0, return_inverse=True)
        mine, theirs = np.split(back.ravel(), [len(self.rows)])
        a, b = (np.zeros(len(both), dtype=np.result_type(self.weight, other.weight)) for _ in range(2))
        a[mine], b[theirs] = self.weight, other.weight
        left = subtract(a, b, lightest)
        return RowStore(both[left != 0], left[left != 0])

    def scaled(self, factor: float) -> RowStore:
        return RowStore(self.rows, self.weight * float(factor))

    @property
    def _compared(self) -> tuple[Any, ...]:
        return self.rows, self.weight

    def reindex(self, old: Schema, new: Schema) -> RowStore:
        if old is new or (old.columns == new.columns and old.classes == new.classes):
            return self
        lists = [(a.values, b.values) for a, b in zip(old.columns, new.columns)] + [(old.classes, new.classes)]
        rows = self.rows.copy()
        for j, (before, after) in enumerate(lists):
            place = {v: k for k, v in enumerate(after)}
            look_up = np.array([place.get(v, len(after)) for v in before] + [len(after)], dtype=np.uint32)
            rows[:, j] = look_up[rows[:, j]]
        return RowStore.of(rows, self.weight)

    def reorder_columns(self, order: Sequence[int], sizes: Sequence[int]) -> RowStore:
        return RowStore.of(self.rows[:, [*order, len(order)]], self.weight)


def collect_rows(table: CodedTable, y: Array, weights: Floats | None) -> RowStore:
    """The rows themselves."""
    rows = np.stack([*(c.astype(np.uint32) for c in table.columns()), y.astype(np.uint32)], axis=1)
    return RowStore.of(rows, np.ones(len(y), dtype=np.int64) if weights is None else weights)


def lazy_log_joint(model: AveragedParents, table: CodedTable) -> Floats:
    """log P(y, x) of each row by counting its own pairs: the same sum as with all pairs counted beforehand."""
    statistics, lam = model.statistics_, float(model.smoothing)
    store: Any = statistics.joints[0]
    sizes, K = np.asarray(statistics.sizes), len(statistics.rows)
    codes = np.stack([c.astype(narrowest(int(sizes.max(initial=0)) + 1)) for c in table.columns()], axis=1)
    weight = model._weights_of(statistics)
    order = np.argsort(store.rows[:, -1], kind="stable")
    ends = [*np.searchsorted(store.rows[order, -1], range(K)).tolist(), len(order)]
    parts = []
    for c, (first, end) in enumerate(pairwise(ends)):
        for begin in range(first, end, STORED):
            some = order[begin : min(begin + STORED, end)]
            parts.append((c, store.rows[some, :-1], store.weight[some, None]))
    whole = bool((store.rows[:, :-1] < sizes).all())
    own = statistics.cells
    below = own.totals().sum(axis=1) + K * sizes * lam
    out = np.empty((len(codes), K))
    for r, x in enumerate(codes):
        seen = np.flatnonzero(x < sizes)
        pairs, totals = np.zeros((K, len(seen), len(seen))), np.zeros((K, len(seen), len(seen)))
        for c, rows, w in parts:
            there = rows[:, seen]
            hits = (there == x[seen]).astype(np.float64)
            left = (hits * w).T
            pairs[c] += left @ hits
            totals[c] += left.sum(axis=1)[:, None] if whole else left @ (there < sizes[seen]).astype(np.float64)
        single = own.table[own.offsets[:-1][seen] + x[seen]]
        out[r] = _average(model, pairs, totals, single, seen, sizes, lam, below[seen], weight[seen])
        if np.isnan(out[r, 0]):
            out[r] = model.naive_.log_joint(table.take(np.array([r])))[0]
    return out


def draw_lazily(model: AveragedParents, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """(codes, class codes): x_i and y by w_i·P(y, x_i), the others counted from the rows that have both."""
    statistics, lam = model.statistics_, float(model.smoothing)
    store: Any = statistics.joints[0]
    where, K = Places(statistics.sizes), len(statistics.rows)
    weight, frequent = model._frequent(where)
    own = np.where(frequent[:, None], weight[:, None] * joint_of_cells(statistics, lam), 0.0)
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
    model: AveragedParents,
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


LOOKED_UP = 1 << 24  # pairs of values up to which each has a place in a list


class Pairs(NamedTuple):
    """The pairs of values that are frequent enough to be super-parents, in the order of their keys."""

    theta: Floats  # θ[ab, c, y], with P(y, a, b) where c is a
    scope: Ints  # which pair of columns
    cell: Ints  # which of its cells
    keys: Ints  # the cell counted on through all pairs of columns
    row: Array | None  # of each key its row, −1 where it is none; None where there are too many keys


@parameters
class A2DE(AveragedParents):
    """Averaged two-dependence estimators: P(y,x) = mean over i<j of P(y,x_i,x_j) Π_k P(x_k|y,x_i,x_j), N(x_i,x_j) ≥ m.

    P(y,x_i,x_j) = (N(y,x_i,x_j) + λ)/(N_ij + K·S_i·S_jλ). AODE answers for a row where no pair is frequent enough. Tables
    grow with the third power of the columns: the memory is estimated first, and refused over `max_memory`.

    Parameters
    ----------
    min_frequency : float, default 30
        m: how often the values of a pair must have occurred together.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs, unlabelled, unlabelled_weight :
        As in `TAN`.

    >>> X = {"a": [0, 0, 1, 1] * 4, "b": [0, 1, 0, 1] * 4, "c": [0, 0, 0, 1] * 4}
    >>> model = A2DE(min_frequency=1, kinds="categorical").fit(X, [0, 1, 1, 0] * 4)
    >>> model.predict({"a": [0, 1], "b": [0, 0], "c": [0, 0]}).tolist()
    [0, 1]
    """

    _parent_is, _else = "pair of values", "AODE"

    def _check_joints(self, found: Statistics) -> None:
        every = range(len(found.schema))
        for at, n in enumerate((2, 3)):
            found.check_joint(at, list(combinations(every, n)))

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Statistics, Seen]:
        refuse_triples([1] * frame.d, frame.n, len(schema.classes), self.max_memory)  # the least; before any work
        return super()._collect(frame, schema, y, weights)

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        triples = collect_triples(table, y, found.n_classes, weights, self.n_jobs, self.max_memory)
        return replace(found, joints=(*found.joints, triples))

    @property
    def _frequent_pairs(self) -> tuple[Ints, Ints]:
        """(cells of the pair counts that may be super-parents, the pair of columns of each)."""
        pairs = self.statistics_.joints[0]
        used = np.flatnonzero(reaches(pairs.counts.table.sum(axis=1), self.min_frequency))
        return used, np.repeat(np.arange(len(pairs.full)), pairs.counts.sizes)[used]

    @property
    def super_parents_(self) -> list[Any]:
        """The pairs of columns with values that are frequent enough together; without any AODE answers for every row."""
        self._check_fitted()
        scopes, names = self.statistics_.joints[0].scopes, self.schema_.names
        return [(names[i], names[j]) for i, j in scopes[np.unique(self._frequent_pairs[1])]]

    @property
    def _pairs(self) -> Pairs:
        return self._cached("pairs", self._make_pairs)

    def _make_pairs(self) -> Pairs:
        statistics, lam = self.statistics_, float(self.smoothing)
        K, places = statistics.n_classes, Places(statistics.sizes)
        pairs, triples = statistics.joints
        used, scope = self._frequent_pairs
        cell = used - pairs.counts.offsets[scope] if pairs.cells is None else pairs.cells[used]
        refuse_over(
            self.max_memory,
            len(used) * len(places) * padded(K) * 8,
            f"tables of {len(used)} pairs of values as super-parents, {K} classes",
            "give a larger min_frequency, fewer columns or values, or use AODE",
        )
        keys, row = (np.cumsum(pairs.full) - pairs.full)[scope] + cell, None
        if pairs.full.sum() <= LOOKED_UP:
            row = np.full(int(pairs.full.sum()), -1, dtype=np.int32)
            row[keys] = np.arange(len(keys))
        counts = triples.scopes.reshape(-1, 3), triples.counts.offsets, triples.cells, triples.counts.table
        theta = pair_tables(*counts, places.sizes.tolist(), keys, lam, self.n_jobs)
        i, j = pairs.scopes[scope].T
        whole = pairs.counts.totals().sum(axis=1)[scope] + K * places.sizes[i] * places.sizes[j] * lam
        u = cell // np.maximum(places.sizes[j], 1)
        joint = share(pairs.counts.table[used] + lam, whole[:, None])
        theta[np.arange(len(used)), places.first[i] + u, :K] = joint  # the pair's own factor stands where c is x_i
        return Pairs(theta, scope, cell, keys, row)

    def _score(self, table: CodedTable) -> Floats:
        theta, _, _, keys, row = self._pairs
        if not len(keys):  # no two values are frequent enough together
            return super()._score(table)
        pairs = self.statistics_.joints[0]
        first, second = pairs.scopes.T
        sizes, base, places = np.asarray(table.sizes), np.cumsum(pairs.full) - pairs.full, Places(table.sizes)
        out = np.empty((table.n, len(self.classes_)))
        step = max(256, ROWS // len(first))
        for begin in range(0, table.n, step):
            part = slice(begin, min(table.n, begin + step))
            cells = table.cells(part)
            codes = cells - places.first[:-1]
            wanted = base + codes[:, first] * sizes[second] + codes[:, second]
            known = (cells[:, first] >= 0) & (cells[:, second] >= 0)
            if row is not None:
                parents = np.where(known, row[np.where(known, wanted, 0)], -1).astype(np.int32)
            else:
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                parents = np.where(known & (keys[at] == wanted), at, -1).astype(np.int32)
            out[part] = sum_of_products(parents, cells, theta, len(self.classes_), self.n_jobs)
            met = (parents >= 0).sum(axis=1)
            out[part] -= np.log(np.maximum(met, 1))[:, None]
            alone = begin + np.flatnonzero(met == 0)
            if len(alone):
                out[alone] = super()._score(table.take(alone))
        return out

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """A pair's values and a class by P(y, x_i, x_j), then the other attributes given all three."""
        theta, scope, cell, keys, _ = self._pairs
        if not len(keys):
            return super()._draw(n, rng)
        K, places, sizes = len(self.classes_), Places(self.statistics_.sizes), self.statistics_.sizes
        i, j = self.statistics_.joints[0].scopes[scope].T
        u, v = np.divmod(cell, np.asarray(sizes)[j])
        own = theta[np.arange(len(keys)), places.first[i] + u, :K]
        ab, y = np.divmod(rng.choice(own.size, n, p=(own / own.sum()).ravel()), K)
        codes = np.zeros((n, len(sizes)), dtype=np.int64)
        for k in range(len(sizes)):
            part = theta[ab, places.first[k] : places.first[k + 1]][np.arange(n), :, y]
            drawn = draw_from(part, rng)
            codes[:, k] = np.where(i[ab] == k, u[ab], np.where(j[ab] == k, v[ab], drawn))
        return codes, y
