"""kDB: attributes in the order of what they tell of the class, each depending on up to k attributes before it."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, Floats, Ints
from ..errors import ModelError, StatisticsError
from ..estimator import AUTO, parameters
from ..smoothing.theta import SMOOTHING, Prior
from ..statistics.cuts import CodedTable
from ..statistics.joint import WIDE, Joint, Scope, collect_families, collect_pairs, count_joint
from ..statistics.statistics import Statistics
from ..structure.information import barred, class_information, conditional_information
from ..structure.structures import Structure, by_information, kdb
from ..table.rows import Rows
from .choice import CRITERIA, Fold, fewest, folds_of, held_out, prefix_losses
from .families import Families
from .hidden import Unlabelled
from .semi import OneStructure

if TYPE_CHECKING:
    import pandas as pd

MOST = 3  # parents that k="auto" tries


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

    @property
    def _pairs_counted(self) -> bool:
        return self._fresh and self.k != 0

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        K = found.n_classes
        if not self._fresh:
            return replace(found, joints=(self._levels(table, _rungs(self.structure_), y, K, weights),))
        most, base = MOST if isinstance(self.k, str) else int(self.k), replace(found, joints=())
        pairs = found.joints[0] if found.joints else None
        self._order, structure, self.class_information_, self.information_ = _learned(base, pairs, most)
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

    def _settled(self, rows: Rows, known: Ints) -> Any:
        """Order and parents are learned anew every turn, by all rows; a choice by folds is made by labels, and stays."""
        chosen = self.select or isinstance(self.k, str)
        if chosen and not len(known):
            raise ModelError("select=True and k='auto' choose by rows with labels: tell k where every class is hidden")
        model = super()._settled(rows, known)
        if chosen:
            return model
        fresh = copy.copy(self)
        fresh._cuts_kept = model._cuts_kept
        return fresh

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
            order, found, *_ = _learned(rest, less, most)
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


def _learned(base: Statistics, pairs: Joint | None, most: int) -> tuple[list[int], Structure, Floats, Floats]:
    """(order, structure, I(X;Y), I(Xi;Xj|Y))."""
    d, information = len(base.sizes), class_information(base.cells)
    conditional = np.zeros((d, d)) if pairs is None else conditional_information(pairs, base.sizes)
    return (
        by_information(information),
        kdb(information, barred(conditional, base.sizes), most),
        information,
        conditional,
    )
