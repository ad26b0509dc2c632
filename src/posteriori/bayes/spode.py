"""SPODE: every attribute depends on the class and on one super-parent, the same for all; and the tables of many of them.

Symbols: V = ΣS_j places, a place being a value of a column; a is the place of the super-parent, b of another attribute.
N[a, b, y] counts, M[a, j, y] = Σ of N over the values of column j: the rows with a in which j is not missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Bools, Floats, Ints
from ..budget import refuse_over
from ..errors import ModelError, StatisticsError
from ..estimator import RandomState, parameters
from ..kernels.pairs import leave_one_out, padded, parent_table
from ..smoothing.theta import Prior, log_theta, share
from ..statistics.cuts import CodedTable
from ..statistics.joint import Joint, collect_pairs
from ..statistics.statistics import Statistics
from ..structure.information import conditional_information
from ..structure.structures import Structure, naive
from ..structure.structures import spode as single_parent
from ..table.rows import Rows
from .choice import CRITERIA, held_out, leave_out_prior, naive_losses
from .families import Families
from .hidden import Unlabelled
from .semi import OneStructure, place_of

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 1 << 20  # numbers of a block of table rows


class Places:
    """Where every value of every column stands among all of them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.column = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.value = np.arange(int(self.first[-1])) - self.first[:-1][self.column]

    def __len__(self) -> int:
        return int(self.first[-1])


def reaches(counts: Array, least: float) -> Array:
    """Whether so many rows were counted; sums of weights that are no whole numbers differ in the last digits."""
    found: Array = counts >= least * (1 - 1e-9)
    return found


def symmetric_counts(pairs: Joint, places: Places, rows: Ints) -> Floats:
    """N[a, b, y] of some places a against all b; zero where a and b are of one column."""
    sizes, K = places.sizes, pairs.counts.n_classes
    if pairs.cells is not None:
        return _of_wide(pairs, places, rows)
    offset = np.zeros((len(sizes), len(sizes)), dtype=np.int64)
    offset[np.triu_indices(len(sizes), k=1)] = pairs.counts.offsets[:-1]
    i, j = places.column[rows][:, None], places.column[None]
    u, v = places.value[rows][:, None], places.value[None]
    at = np.where(i < j, offset[i, j] + u * sizes[j] + v, offset[j, i] + v * sizes[i] + u)
    own = i == j
    at[own] = 0
    table = pairs.counts.table
    out = table[at].astype(np.float64) if len(table) else np.zeros((*at.shape, K))
    out[own] = 0.0
    return out


def _of_wide(pairs: Joint, places: Places, rows: Ints) -> Floats:
    """The same, pair by pair, where pairs keep only the cells that some row has."""
    out = np.zeros((len(rows), len(places), pairs.counts.n_classes))
    row_of = np.full(len(places), -1)
    row_of[rows] = np.arange(len(rows))
    for s, (i, j) in enumerate(pairs.scopes.tolist()):
        cells, table = pairs.part(s)
        u, v = np.divmod(cells, max(int(places.sizes[j]), 1))
        a, b = places.first[i] + u, places.first[j] + v
        for one, other in ((a, b), (b, a)):
            wanted = np.flatnonzero(row_of[one] >= 0)
            out[row_of[one[wanted]], other[wanted]] = table[wanted]
    return out


def blocks(rows: Ints, numbers: int) -> list[Ints]:
    """The rows of a table, each of so many numbers, in parts that take little memory beside it."""
    return np.array_split(rows, max(1, -(-len(rows) * numbers // BLOCK))) if len(rows) else []


def totals_of(counts: Floats, places: Places) -> Floats:
    """M[a, j, y]: sums over the values of each column."""
    ends = np.zeros((counts.shape[0], len(places.sizes), counts.shape[2]))
    full = np.flatnonzero(places.sizes)
    if len(full):
        ends[:, full] = np.add.reduceat(counts, places.first[:-1][full], axis=1)
    return ends


def conditional_table(pairs: Joint, places: Places, rows: Ints, smoothing: float, gone: float = 0.0) -> Floats:
    """θ[a, b, y] = P(b | y, a) = (N − gone + λ)/(M − gone + S_bλ) of some places a, classes padded with ones.

    It is one where a and b share a column. With gone = 1 it is what is left when one row that has a, b and y is taken away.
    """
    K = pairs.counts.n_classes
    theta = parent_table(np.ones, len(rows), len(places), K)
    begin = 0
    for some in blocks(rows, len(places) * K):
        counts = symmetric_counts(pairs, places, some)
        above = np.maximum(counts - gone, 0.0) + smoothing
        below = np.maximum(totals_of(counts, places) - gone, 0.0) + (places.sizes * smoothing)[:, None]
        part = theta[begin : begin + len(some), :, :K]
        part[...] = share(above, below[:, places.column], places.sizes[places.column, None])
        part[places.column[some][:, None] == places.column[None]] = 1.0
        begin += len(some)
    return theta


def raw_tables(pairs: Joint, places: Places, smoothing: float) -> tuple[Floats, Floats]:
    """(N + λ, M + Sλ) of every place of a super-parent against every place and column."""
    K = pairs.counts.n_classes
    own = parent_table(np.ones, len(places), len(places), K)
    totals = parent_table(np.ones, len(places), len(places.sizes), K)
    for rows in blocks(np.arange(len(places)), len(places) * K):
        counts = symmetric_counts(pairs, places, rows)
        own[rows, :, :K] = counts + smoothing
        totals[rows, :, :K] = totals_of(counts, places) + (places.sizes * smoothing)[:, None]
    return own, totals


def set_own(theta: Floats, rows: Array, values: Floats) -> None:
    """Put the factor of the super-parent itself, [row, K], where b is the super-parent's own value."""
    theta[np.arange(len(rows)), rows, : values.shape[1]] = values


@parameters
class SPODE(OneStructure, Unlabelled):
    """Super-parent one-dependence estimator: P(y|x) ∝ P(y) P(x_r|y) Π_{i≠r} P(x_i|y,x_r).

    All θ are (N + λ)/(M + Sλ). Missing cells, the super-parent too, are summed out. A super-parent that was chosen stays
    through `partial_fit` and `forget`; models with different ones do not add. None may be chosen: then this is naive Bayes,
    and `super_parent_` is None.

    Parameters
    ----------
    super_parent : str or int, optional
        The attribute r; chosen by `folds` and `criterion` where it is not told.
    folds : int, optional
        Choose by cross-validation with so many folds; by default exact leave-one-out, which takes the row's own counts
        away (min(weight, 1) of them; a row of weight w counts w times) and holds values and cuts fixed.
    criterion : "log_loss", "rmse" or "error"
        What the choice makes small; of equals no super-parent, then the first column.
    random_state : int or RandomState, optional
        For the folds.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs, unlabelled, unlabelled_weight :
        As in `TAN`.

    >>> X = {"a": ["p", "p", "q", "q"] * 4, "b": ["u", "v", "u", "v"] * 4, "noise": ["m"] * 8 + ["n"] * 8}
    >>> model = SPODE().fit(X, [0, 1, 1, 0] * 4)
    >>> model.super_parent_
    'a'
    """

    super_parent: Annotated[Any, str, Integral, None] = None
    _: KW_ONLY
    folds: Annotated[int | None, Interval(Integral, 2, None, closed="left"), None] = None
    criterion: Annotated[str, StrOptions(set(CRITERIA))] = "log_loss"
    random_state: RandomState = None
    prior: Prior = "smoothed"

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        if self._fresh:
            self._choose(table, found, found.joints[0], y, weights)
        return found

    @property
    def _structure_stays(self) -> bool:
        names, told = self.schema_.names, self.super_parent
        return told is None or names[place_of(told, names, "super_parent")] != self.super_parent_

    def _settled(self, rows: Rows, known: Ints) -> Any:
        if self.super_parent is None and not len(known):
            raise ModelError(
                "a super-parent is chosen by rows with labels: tell super_parent where every class is hidden"
            )
        return super()._settled(rows, known)

    def _choose(self, table: CodedTable, base: Statistics, pairs: Joint, y: Array, weights: Floats | None) -> None:
        """Set `super_parent_` and the scores of all candidates: the columns, then none."""
        names = base.schema.names
        self.super_parent_: str | None = None
        self._sums: Floats | None = None
        if self.super_parent is not None:
            self.super_parent_ = names[place_of(self.super_parent, names, "super_parent")]
            return
        if not _seen(base).any():
            return
        if self.folds is None:
            sums = self._judged(table, base, pairs, y, weights, left_out=True)
        else:
            sums = np.zeros((len(names) + 1, 3))
            order = check_random_state(self.random_state).permutation(table.n)
            for rows in np.array_split(order, min(self.folds, table.n)):
                fold = rows, None if weights is None else weights[rows]
                part, rest, own, w = held_out(table, base, y, fold)
                held = collect_pairs(part, own, base.n_classes, w, self.n_jobs, self.max_memory)
                sums += self._judged(part, rest, pairs - held, own, w, left_out=False)
        self._sums = sums / (len(y) if weights is None else weights.sum())
        self._sums[:-1][~_seen(base)] = np.nan  # a column without values is no super-parent
        score = np.round(self._sums[:, CRITERIA.index(self.criterion)], 12)
        best = int(np.nanargmin(score[:-1]))
        self.super_parent_ = names[best] if score[best] < score[-1] else None

    def _judged(
        self, table: CodedTable, base: Statistics, pairs: Joint, y: Array, weights: Floats | None, left_out: bool
    ) -> Floats:
        """Sums of the losses of all candidates over these rows, each left out of the counts or not in them."""
        sizes, K, lam, places = table.sizes, base.n_classes, float(self.smoothing), Places(table.sizes)
        every = np.arange(len(places))
        refuse_over(
            self.max_memory,
            (2 if left_out else 1) * len(places) ** 2 * padded(K) * 8,
            f"leave-one-out of {len(sizes)} super-parents, {K} classes",
            "tell the super_parent, or give fewer columns or values",
        )
        theta = conditional_table(pairs, places, every, lam)
        set_own(theta, every, np.exp(log_theta(base.cells, lam)))
        prior, prior_own = leave_out_prior(base, self.prior, lam, y, weights, left_out)
        own, totals = theta, None
        if left_out and (weights is None or weights.min() >= 1):
            own = conditional_table(pairs, places, every, lam, gone=1.0)
            below = np.maximum(base.cells.totals() - 1.0, 0.0) + (places.sizes * lam)[:, None]
            above = np.maximum(base.cells.table - 1.0, 0.0) + lam
            set_own(own, every, share(above, below[places.column], places.sizes[places.column, None]))
        elif left_out:
            own, totals = raw_tables(pairs, places, lam)
            set_own(own, every, base.cells.table + lam)
            mine = base.cells.totals() + (places.sizes * lam)[:, None]
            totals[every, places.column, :K] = mine[places.column]
        codes, first = table.cells(), places.first.astype(np.int32)
        found = leave_one_out(
            codes, first, y.astype(np.int32), theta, own, totals, prior, prior_own, weights, self.n_jobs
        )
        none = naive_losses(table, base, y, weights, self.prior, lam, left_out, self.n_jobs)
        return np.vstack([found, none])

    @property
    def scores_(self) -> pd.DataFrame:
        """Log loss, root mean squared error of P(true class) and error rate of each candidate, best first; None is none."""
        import pandas as pd

        self._check_fitted()
        if self._sums is None:
            raise AttributeError(
                "scores_ is there only where the super-parent was chosen: not told, and from columns with values"
            )
        index = pd.Index([*self.schema_.names, None], name="super_parent", dtype=object)
        frame = pd.DataFrame(self._sums, columns=list(CRITERIA), index=index)
        frame["rmse"] = np.sqrt(frame["rmse"])
        frame = frame[frame["error"].notna()].iloc[::-1]  # of equals none first, as it is chosen
        return frame.sort_values(self.criterion, kind="stable")

    def _check_alike(self, other: Self) -> None:
        if self.super_parent_ != other.super_parent_:
            raise StatisticsError(
                f"models with different super-parents do not add: {self.super_parent_!r} and {other.super_parent_!r}; "
                "fit both with the same super_parent="
            )

    @property
    def structure_(self) -> Structure:
        """The super-parent as the parent of all others with values; without values of its own it is nobody's parent."""
        sizes = self.statistics_.sizes
        if self.super_parent_ is None:
            return naive(len(sizes))
        r = self.schema_.index(self.super_parent_)
        parents = single_parent(len(sizes), r).parents
        seen = _seen(self.statistics_)
        return Structure(tuple(ps if seen[r] and sizes[i] else () for i, ps in enumerate(parents)))

    def _edge_weights(self) -> list[float] | None:
        information = conditional_information(self.statistics_.joints[0], self.statistics_.sizes)
        return [float(information[p, i]) for p, i in self._edges()]

    def _make_families(self) -> Families:
        return Families.of(self.statistics_, self.structure_, self.smoothing, self.prior, max_memory=self.max_memory)


def _seen(statistics: Statistics) -> Bools:
    """Whether any row has a value of each column; a column of numbers without one has a bin all the same."""
    return np.asarray(statistics.cells.totals().any(axis=1))
