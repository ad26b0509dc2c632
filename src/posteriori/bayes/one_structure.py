"""The models of one structure: TAN, SPODE and kDB, by which other attributes an attribute depends on beside the class.

TAN: on one neighbour in a maximum-weight spanning tree. SPODE: on one super-parent, the same for all. kDB: on up to k of
those before it, in the order of what they tell of the class.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Bools, Floats
from ..budget import refuse_over
from ..errors import ModelError, StatisticsError
from ..estimator import AUTO, RandomState, parameters
from ..fields import UNBOUNDED, Natural, need
from ..kernels import leave_one_out, padded
from ..smoothing.theta import SMOOTHING, Prior, log_theta, share
from ..statistics.cuts import CodedTable
from ..statistics.joint import WIDE, Joint, Scope, collect_families, collect_pairs, count_joint
from ..statistics.statistics import Statistics
from ..structure.information import barred, class_information, conditional_information, learn_tree
from ..structure.structures import Structure, by_information, kdb, naive
from ..structure.structures import spode as single_parent
from .choice import CRITERIA, Fold, fewest, folds_of, held_out, leave_out_prior, naive_losses, prefix_losses
from .families import Families
from .hidden import Unlabelled
from .semi import OneStructure, place_of
from .super_parents import (
    Places,
    conditional_table,
    raw_tables,
    set_own,
)

if TYPE_CHECKING:
    import pandas as pd


@parameters
class TAN(OneStructure, Unlabelled):
    """Tree-augmented naive Bayes: P(y|x) ∝ P(y) Π_i P(x_i | y, x_parent(i)).

    The tree is the maximum-weight spanning tree of I(Xi;Xj|Y) = Σ P(xi,xj,y) ln[P(xi,xj|y)/(P(xi|y)P(xj|y))], unsmoothed,
    over the rows in which both are known; of equal edges the one between lower columns is taken. Statistics are pair
    counts, so any merge, forgetting or chunking gives the tree and the tables of one pass. Missing cells are summed out.

    Parameters
    ----------
    root : str or int, optional
        The attribute from which the edges point away; by default the one that tells most of the class.
    min_information : float, default 0.0
        Edges of less CMI are left out, so that a forest remains.
    backoff : float or None, default 5.0
        m of P(x_i|y,x_p) = (N + m·P(x_i|y))/(N_p + m): how many rows the back-off to P(x_i|y) counts for. None smooths
        by λ alone, as textbooks do: (N + λ)/(N_p + S_iλ).
    smoothing, prior, kinds, class_weight, n_jobs, unlabelled, unlabelled_weight :
        As in `NaiveBayes`.
    cuts : "mdl", "quantile", "width" or dict
        How numeric columns are cut, or the cuts themselves by column (another model's `cuts_`).
    bins : int, default 10
        Bins that "quantile" and "width" aim at.
    max_memory : float, optional
        Bytes that counts or tables may take; half of the machine's memory by default.

    Values that training did not have are treated as missing.

    >>> model = TAN().fit({"a": ["x", "x", "y", "y"] * 3, "b": ["u", "u", "v", "v"] * 3}, [0, 0, 1, 1] * 3)
    >>> model.edges_
    [('a', 'b')]
    """

    root: Annotated[Any, str, Integral, None] = None
    _: KW_ONLY
    min_information: Annotated[float, Interval(Real, None, None, closed="neither")] = 0.0
    backoff: Annotated[float | None, SMOOTHING, None] = 5.0
    prior: Prior = "smoothed"

    def _become(self, statistics: Statistics, labels: Array) -> None:
        super()._become(statistics, labels)
        self._cached("tree", self._learn_tree)  # the tree is part of learning, not of the first prediction

    def _learn_tree(self) -> tuple[Floats, Structure]:
        statistics, first = self.statistics_, None
        if self.root is not None:
            first = place_of(self.root, self.schema_.names, "root")
        return learn_tree(statistics.cells, statistics.joints[0], statistics.schema, first, self.min_information)

    @property
    def information_(self) -> Floats:
        """I(Xi;Xj|Y) in nats, a symmetric matrix in the order of the columns."""
        return self._cached("tree", self._learn_tree)[0]

    @property
    def structure_(self) -> Structure:
        """The tree (or forest), as the parents of each attribute."""
        return self._cached("tree", self._learn_tree)[1]

    def _edge_weights(self) -> list[float] | None:
        return [float(self.information_[p, i]) for p, i in self._edges()]

    def _make_families(self) -> Families:
        return Families.of(self.statistics_, self.structure_, self.smoothing, self.prior, self.backoff, self.max_memory)


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
    super_parent_: str | None = field(init=False)
    _sums: Annotated[Floats | None, "candidates 3", UNBOUNDED] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need(self.super_parent_ in (None, *self.schema_.names), "super_parent_ must be a column")
        fits = self._sums is None or len(self._sums) == len(self.schema_) + 1
        need(fits, "there must be three losses of every candidate")

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        if self._fresh:
            self._choose(table, found, found.joints[0], y, weights)
        return found

    @property
    def _structure_stays(self) -> bool:
        names, told = self.schema_.names, self.super_parent
        return told is None or names[place_of(told, names, "super_parent")] != self.super_parent_

    def _check_hidden(self, labels: bool) -> None:
        if self.super_parent is None and not labels:
            raise ModelError(
                "a super-parent is chosen by rows with labels: tell super_parent where every class is hidden"
            )

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


MOST_PARENTS = 3  # parents that k="auto" tries


@parameters
class KDB(OneStructure, Unlabelled):
    """k-dependence Bayes: P(y|x) ∝ P(y) Π_i P(x_i | y, up to k parents).

    Attributes stand in the order of I(X;Y); the parents of each are the k before it of greatest I(Xi;Xj|Y).
    P(x_i|y,p_1…p_l) = (N + m·P(x_i|y,p_1…p_{l−1}))/(N_p + m) backs off parent by parent, down to (N + λ)/(N_y + S_iλ). A
    missing attribute takes no part; a missing parent ends the ladder of its child: the parents before it are used. Order
    and parents are learned by `fit` or the first `partial_fit` and stay; models that differ in them do not add.

    Parameters
    ----------
    k : int or "auto", default 2
        How many parents; "auto" chooses up to 3.
    select : bool, default False
        Choose how many of the first attributes to use, and how many parents up to k (selective kDB; with k=0 selective
        naive Bayes). The choice is made by rows that took no part: the rows are dealt to `folds`, and for each fold order,
        parents and tables are learned from the others, by counts taken out of the whole; values and cuts are held fixed.
    criterion : "log_loss", "rmse" or "error"
        What the choice makes small; of equals the fewest parents, then the fewest attributes. More parents than the fewest
        are taken only where they are better by more than one standard error over the folds.
    folds : int, default 10
        How many folds; the rows are dealt by what they say, so neither their order nor chance plays a part.
    backoff : float or None, default 5.0
        m, the rows that a back-off counts for; None smooths every rung by λ alone, (N + λ)/(N_p + S_iλ).
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs, unlabelled, unlabelled_weight :
        As in `TAN`.

    >>> X = {"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "noise": [0, 1, 1, 0, 1, 0, 0, 1] * 4}
    >>> model = KDB(k=1, kinds="categorical").fit(X, [0, 1, 1, 0] * 8)
    >>> model.predict({"a": [0, 1], "b": [0, 0], "noise": [0, 0]}).tolist()
    [0, 1]
    """

    k: Annotated[Any, Interval(Integral, 0, None, closed="left"), AUTO] = 2
    _: KW_ONLY
    select: bool = False
    criterion: Annotated[str, StrOptions(set(CRITERIA))] = "log_loss"
    folds: Annotated[int, Interval(Integral, 2, None, closed="left")] = 10
    backoff: Annotated[float | None, SMOOTHING, None] = 5.0
    prior: Prior = "smoothed"
    structure_: Structure = field(init=False)
    k_: Natural = field(init=False)
    _order: Annotated[list[Natural], "d"] = field(init=False)
    _used: frozenset[Natural] = field(init=False)
    _losses: Annotated[Floats | None, "k columns 3", UNBOUNDED] = field(init=False)
    class_information_: Annotated[Floats, "d"] = field(init=False)
    information_: Annotated[Floats, "d d", UNBOUNDED] = field(init=False)

    def _check_joints(self, found: Statistics) -> None:
        every, parents = set(range(len(found.schema))), self.structure_.parents
        need(len(parents) == len(every), "every column must have its parents")
        need(every.issuperset(p for ps in parents for p in ps), "a parent must be a column")
        _ = self.structure_.order  # refuses a circle
        need(set(self._order) == every >= self._used, "the order must have every column once, and those that are used")
        need(len(found.joints) == 1 and isinstance(found.joints[0], Joint), "there must be joint counts")
        scopes = found.joints[0].every_scope
        rungs = {(*ps[:k], i) for i, ps in enumerate(parents) for k in range(1, len(ps) + 1)}
        need(set(scopes) == rungs and len(scopes) == len(rungs), "there must be counts of every family")

    @property
    def _pairs_counted(self) -> bool:
        return self._fresh and self.k != 0

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        K = found.n_classes
        if not self._fresh:
            return replace(found, joints=(self._levels(table, _rungs(self.structure_), y, K, weights),))
        most, base = MOST_PARENTS if isinstance(self.k, str) else int(self.k), replace(found, joints=())
        pairs = found.joints[0] if found.joints else None
        self._order, structure, self.class_information_, self.information_ = _learned_order(base, pairs, most)
        levels = self._levels(table, _rungs(structure), y, K, weights)
        self._losses: Floats | None = None
        used = len(self._order)
        if self.select or isinstance(self.k, str):
            by_fold = self._judged(table, base, pairs, levels, most, y, weights)
            self._losses = by_fold.sum(axis=0)
            judged = by_fold[:, :, :, CRITERIA.index(self.criterion)]
            most, at = fewest(judged if self.select else judged[:, :, -1:])
            used = at if self.select else used
        self.k_ = most
        self._used = frozenset(self._order[:used])
        kept = tuple(ps[:most] if i in self._used else () for i, ps in enumerate(structure.parents))
        self.structure_ = Structure(kept)
        kept_levels = levels if self.structure_ == structure else levels.take(_rungs(self.structure_), table.sizes)
        return replace(found, joints=(kept_levels,))

    @property
    def _structure_stays(self) -> bool:
        used = len(self._used) == len(self._order)  # told since, another k or select does not undo what was chosen
        return self.select or not used or (self.k, self.k_) != (0, 0)

    @property
    def _learns_every_turn(self) -> bool:
        """Order and parents are learned by all rows; a choice by folds is made by labels, and stays."""
        return not (self.select or isinstance(self.k, str))

    def _check_hidden(self, labels: bool) -> None:
        if not (labels or self._learns_every_turn):
            raise ModelError("select=True and k='auto' choose by rows with labels: tell k where every class is hidden")

    def _levels(self, table: CodedTable, rungs: list[Scope], y: Array, n_classes: int, weights: Floats | None) -> Joint:
        """Counts of each attribute with its first parent, its first two, …"""
        return collect_families(table, rungs, y, n_classes, weights, self.n_jobs, self.max_memory)

    def _judged(
        self,
        table: CodedTable,
        base: Statistics,
        pairs: Joint | None,
        levels: Joint,
        most: int,
        y: Array,
        weights: Floats | None,
    ) -> Floats:
        """What each fold adds to the mean losses by parents and attributes: all is learned anew without the fold."""
        found_losses, K = [], base.n_classes
        known = {levels.columns(s): levels.part(s) for s in range(len(levels.scopes))}  # what all rows were counted for
        few = max(1024, 2 * table.n)  # more cells than that are mostly empty: no table is made for one use
        for fold in folds_of(table, y, weights, self.folds):
            part, rest, own, w = held_out(table, base, y, fold)
            less = pairs and pairs - collect_pairs(part, own, K, w, self.n_jobs, self.max_memory)
            order, found, *_ = _learned_order(rest, less, most)
            if few < WIDE:
                counts = self._of_others(table, found, y, K, weights, fold, few)
            else:
                more = self._levels(table, [rung for rung in _rungs(found) if rung not in known], y, K, weights)
                known |= {more.columns(s): more.part(s) for s in range(len(more.scopes))}
                whole = Joint.of(_rungs(found), [known[r] for r in _rungs(found)], table.sizes, levels.counts.table)
                counts = whole - self._levels(part, _rungs(found), own, K, w)
            how = self.smoothing, self.prior, self.backoff, self.max_memory
            families = Families.of(replace(rest, joints=(counts,)), found, *how, exact=False, wide=min(few, WIDE))
            found_losses.append(prefix_losses(families, order, part, own, w, most, bool(self.select), self.n_jobs))
        return np.array(found_losses) / (len(y) if weights is None else weights.sum())

    def _of_others(
        self, table: CodedTable, found: Structure, y: Array, K: int, weights: Floats | None, fold: Fold, wide: int
    ) -> Joint:
        """The counts of the rows that are not in a fold, without tables that are mostly empty."""
        left = np.ones(table.n) if weights is None else weights.copy()
        left[fold[0]] -= 1.0 if fold[1] is None else fold[1]
        rows = np.flatnonzero(left > 1e-9 * (1.0 if weights is None else weights))
        w = None if weights is None else left[rows]
        return count_joint(table.take(rows), _rungs(found), y[rows], K, w, self.n_jobs, wide)

    @property
    def selected_(self) -> list[str]:
        """The attributes that are used, in the order of what they tell of the class."""
        return [self.schema_.names[j] for j in self._order if j in self._used]

    @property
    def losses_(self) -> pd.DataFrame:
        """Losses by number of parents and of attributes where a choice was made, of rows that took no part in learning.

        Without `select` only all attributes are judged.
        """
        import pandas as pd

        self._check_fitted()
        if self._losses is None:
            raise AttributeError("losses_ is there only where folds chose: select=True or k='auto'")
        k, t, _ = self._losses.shape
        index = pd.MultiIndex.from_product([range(k), range(t)], names=["parents", "attributes"])
        frame = pd.DataFrame(self._losses.reshape(k * t, 3), index=index, columns=list(CRITERIA))
        frame["rmse"] = np.sqrt(frame["rmse"])
        return frame if self.select else frame[index.get_level_values("attributes") == t - 1]

    def _check_alike(self, other: Self) -> None:
        if (set(self.edges_), set(self.selected_)) != (set(other.edges_), set(other.selected_)):
            raise StatisticsError(
                "models with different parents or attributes do not add: learn the second with partial_fit of the first"
            )

    def _edge_weights(self) -> list[float] | None:
        return [float(self.information_[p, i]) for p, i in self._edges()]

    def _make_families(self) -> Families:
        return Families.of(
            self.statistics_,
            self.structure_,
            self.smoothing,
            self.prior,
            self.backoff,
            self.max_memory,
            self._used,
            exact=False,
        )


def _rungs(structure: Structure) -> list[Scope]:
    """The families of every rung with parents."""
    return [(*ps[:n], i) for i, ps in enumerate(structure.parents) for n in range(1, len(ps) + 1)]


def _learned_order(base: Statistics, pairs: Joint | None, most: int) -> tuple[list[int], Structure, Floats, Floats]:
    """(order, structure, I(X;Y), I(Xi;Xj|Y))."""
    d, information = len(base.sizes), class_information(base.cells)
    conditional = np.zeros((d, d)) if pairs is None else conditional_information(pairs, base.sizes)
    return (
        by_information(information),
        kdb(information, barred(conditional, base.sizes), most),
        information,
        conditional,
    )
