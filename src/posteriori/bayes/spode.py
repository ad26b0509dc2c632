"""SPODE: every attribute depends on the class and on one super-parent, the same for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import StatisticsError, did_you_mean, listed
from ..kernels.parents import leave_one_out, padded
from ..smoothing import log_prior, log_share, log_theta
from ..statistics import Counts
from ..statistics.coded import CodedTable
from ..statistics.joint import Joint, collect_pairs
from ..statistics.statistics import Statistics
from ..structure.information import conditional_information
from ..structure.structures import Structure
from ..structure.structures import spode as single_parent
from .families import Families
from .semi import SemiNaive, place_of
from .superparents import Cells, blocks, conditional_table, set_own, symmetric_counts, totals_of
from .tan import pair_table

if TYPE_CHECKING:
    import pandas as pd

CRITERIA = ("log_loss", "rmse", "error")


class SPODE(SemiNaive):
    """Super-parent one-dependence estimator: P(y|x) ∝ P(y) P(x_r|y) Π_{i≠r} P(x_i|y,x_r).

    All θ are (N + λ)/(M + Sλ). Missing cells, the super-parent too, are summed out. A super-parent that was chosen stays
    through `partial_fit` and `forget`; models with different ones do not add.

    Parameters
    ----------
    super_parent : str or int, optional
        The attribute r; chosen by `folds` and `criterion` where it is not told.
    folds : int, optional
        Choose by cross-validation with so many folds; by default exact leave-one-out, which takes the row's own counts
        away (min(weight, 1) of them; a row of weight w counts w times) and holds values and cuts fixed.
    criterion : "log_loss", "rmse" or "error"
        What the choice makes small.
    random_state : int or RandomState, optional
        For the folds.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`.

    >>> X = {"a": ["p", "p", "q", "q"] * 4, "b": ["u", "v", "u", "v"] * 4, "noise": ["m"] * 8 + ["n"] * 8}
    >>> model = SPODE().fit(X, [0, 1, 1, 0] * 4)
    >>> model.super_parent_
    'a'
    """

    def __init__(
        self,
        super_parent: Any = None,
        folds: int | None = None,
        criterion: str = "log_loss",
        random_state: Any = None,
        smoothing: float = 1.0,
        prior: Any = "smoothed",
        kinds: Any = None,
        cuts: Any = "mdl",
        bins: int = 10,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.super_parent = super_parent
        self.folds = folds
        self.criterion = criterion
        self.random_state = random_state
        self.smoothing = smoothing
        self.prior = prior
        self.kinds = kinds
        self.cuts = cuts
        self.bins = bins
        self.class_weight = class_weight
        self.max_memory = max_memory
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.criterion not in CRITERIA:
            hint = did_you_mean(self.criterion, CRITERIA)
            raise ValueError(f"criterion must be one of {listed(CRITERIA)}{hint} Got {self.criterion!r} instead.")
        if self.folds is not None and self.folds < 2:
            raise ValueError(f"folds must be at least 2, or None for leave-one-out. Got {self.folds!r} instead.")

    def _joints(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> tuple[Joint, ...]:
        pairs = collect_pairs(table, y, base.n_classes, weights, self.n_jobs, self.max_memory)
        if self._fresh:
            self._choose(table, base, pairs, y, weights)
        return (pairs,)

    def _choose(self, table: CodedTable, base: Statistics, pairs: Joint, y: Array, weights: Floats | None) -> None:
        """Set `super_parent_` and the scores of all candidates."""
        names = base.schema.names
        self._sums: Floats | None = None
        if self.super_parent is not None:
            self.super_parent_ = names[place_of(self.super_parent, names, "super_parent")]
            return
        full = np.flatnonzero(table.sizes)  # a column without values is no super-parent
        if not len(full):
            self.super_parent_ = names[0]
            return
        sums = np.zeros((len(names), 3))
        if self.folds is None:
            sums = self._judged(table, base, pairs.counts, y, weights, left_out=True)
        else:
            order = check_random_state(self.random_state).permutation(table.n)
            for rows in np.array_split(order, min(self.folds, table.n)):
                part, w = table.take(rows), None if weights is None else weights[rows]
                held = collect_pairs(part, y[rows], base.n_classes, w, self.n_jobs, self.max_memory)
                cells = Counts(*_cells_of(part, y[rows], base, w))
                rest = _without(base, cells, np.bincount(y[rows], w, minlength=base.n_classes))
                sums += self._judged(part, rest, pairs.counts - held.counts, y[rows], w, left_out=False)
        self._sums = sums / (len(y) if weights is None else weights.sum())
        self._sums[np.asarray(table.sizes) == 0] = np.nan
        best = np.argmin(np.round(self._sums[full, CRITERIA.index(self.criterion)], 12))
        self.super_parent_ = names[int(full[best])]

    def _judged(
        self, table: CodedTable, base: Statistics, pairs: Counts, y: Array, weights: Floats | None, left_out: bool
    ) -> Floats:
        """Sums of the losses of all candidates over these rows, each left out of the counts or not in them."""
        sizes, K, lam = table.sizes, base.n_classes, float(self.smoothing)
        V, P = sum(sizes), padded(K)
        refuse_over(self.max_memory, 2 * V * V * P * 8, f"leave-one-out of {len(sizes)} super-parents, {K} classes")
        theta = conditional_table(pairs, sizes, lam)
        set_own(theta, np.exp(_alone(base.cells, lam)))
        prior, prior_own = leave_out_prior(base.rows, self.prior, lam, y, weights, left_out)
        totals = None
        if not left_out:
            own = theta
        elif weights is None or weights.min() >= 1:
            own = conditional_table(pairs, sizes, lam, gone=1.0)
            less = Counts(np.maximum(base.cells.table - 1.0, 0.0), base.cells.offsets)
            set_own(own, np.exp(_alone(base.cells, lam, less.table)))
        else:
            own, totals = _raw_tables(pairs, base.cells, sizes, lam)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return leave_one_out(
            table.cells(), first, y.astype(np.int32), theta, own, totals, prior, prior_own, weights, self.n_jobs
        )

    @property
    def scores_(self) -> pd.DataFrame:
        """Log loss, root mean squared error of P(true class) and error rate of each candidate, best first."""
        import pandas as pd

        self._check_fitted()
        if self._sums is None:
            raise AttributeError(
                "scores_ is there only where the super-parent was chosen: not told, and from columns with values"
            )
        frame = pd.DataFrame(
            self._sums, columns=list(CRITERIA), index=pd.Index(self.schema_.names, name="super_parent")
        )
        frame["rmse"] = np.sqrt(frame["rmse"])
        frame = frame[frame["error"].notna()]
        return frame.sort_values(self.criterion, kind="stable")

    def __add__(self, other: Self) -> Self:
        if type(other) is not SPODE:
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        if self.super_parent_ != other.super_parent_:
            raise StatisticsError(
                f"models with different super-parents do not add: {self.super_parent_!r} and {other.super_parent_!r}; "
                "fit both with the same super_parent="
            )
        return super().__add__(other)

    @property
    def structure_(self) -> Structure:
        """The super-parent as the parent of all others with values; without values of its own it is nobody's parent."""
        sizes, r = self.statistics_.sizes, self.schema_.index(self.super_parent_)
        parents = single_parent(len(sizes), r).parents
        return Structure(tuple(ps if sizes[r] * sizes[i] else () for i, ps in enumerate(parents)))

    def _edges(self) -> list[tuple[int, int]]:
        return list(self.structure_.edges)

    def _edge_weights(self) -> list[float] | None:
        information = conditional_information(self.statistics_.joints[0].counts, self.statistics_.sizes)
        return [float(information[p, i]) for p, i in self._edges()]

    @property
    def families_(self) -> Families:
        """The tables under the parameters of now."""
        return self._made("families", self._make_families)

    def _make_families(self) -> Families:
        statistics, structure = self.statistics_, self.structure_
        levels = []
        for j, parents in enumerate(structure.parents):
            alone = log_theta(statistics.base.cells.scope(j), self.smoothing)
            pair = [log_theta(pair_table(statistics, p, j), self.smoothing) for p in parents]
            levels.append((alone, *pair))
        start = log_prior(statistics.rows, self.prior, self.smoothing)
        return Families(structure, statistics.sizes, start, tuple(levels), self.max_memory)

    def _score(self, table: CodedTable) -> Floats:
        return self.families_.log_joint(table, self.n_jobs)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.families_.draw(n, rng)


def leave_out_prior(
    rows: Array, prior: Any, smoothing: float, y: Array, weights: Floats | None, left_out: bool
) -> tuple[Floats, Floats]:
    """P(y) up to a factor that all classes share: of classes that are not the row's, and of its own without the row."""
    told = np.exp(log_prior(rows, prior, smoothing))
    if not isinstance(prior, str) or prior == "uniform":
        return told, told[y]
    mass = rows + (smoothing if prior == "smoothed" else 0.0)
    gone = np.zeros(len(y)) if not left_out else np.minimum(1.0 if weights is None else weights, 1.0)
    return mass.astype(np.float64), np.maximum(mass[y] - gone, 0.0)


def _alone(cells: Counts, smoothing: float, less: Floats | None = None) -> Floats:
    """ln θ(xi|y) of every cell; with `less` counts above the line and one row less below it."""
    parts = []
    for s in range(len(cells.offsets) - 1):
        part = slice(cells.offsets[s], cells.offsets[s + 1])
        if less is None:
            parts.append(log_theta(cells.scope(s), smoothing))
            continue
        below = np.maximum(cells.scope(s).sum(axis=0) - 1.0, 0.0) + int(cells.sizes[s]) * smoothing
        parts.append(log_share(less[part] + smoothing, below, cells.sizes[s]))
    return np.concatenate(parts)


def _raw_tables(pairs: Counts, cells: Counts, sizes: tuple[int, ...], smoothing: float) -> tuple[Floats, Floats]:
    """(N + λ, M + Sλ) of every cell of a super-parent against every cell and column; its own factor on the diagonal."""
    where, K = Cells(sizes), pairs.n_classes
    own = np.ones((len(where), len(where), padded(K)))
    totals = np.ones((len(where), len(sizes), padded(K)))
    for rows in blocks(where, K):
        counts = symmetric_counts(pairs, where, rows)
        own[rows, :, :K] = counts + smoothing
        totals[rows, :, :K] = totals_of(counts, where) + (where.sizes * smoothing)[:, None]
    set_own(own, cells.table + smoothing)
    mine = cells.totals() + (where.sizes * smoothing)[:, None]
    totals[np.arange(len(where)), where.column, :K] = mine[where.column]
    return own, totals


def _cells_of(table: CodedTable, y: Array, base: Statistics, weights: Floats | None) -> tuple[Array, Array]:
    """N[xj, y] of some rows, in the schema of `base`."""
    from ..kernels.naive import count_cells

    sizes = np.asarray(table.sizes, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes + 1)]).astype(np.int64)
    counted = count_cells(table.codes, y, offsets, base.n_classes, weights)
    return np.delete(counted, offsets[1:] - 1, axis=0), base.cells.offsets


def _without(base: Statistics, cells: Counts, rows: Array) -> Statistics:
    """The statistics without some rows, in the same schema."""
    from dataclasses import replace

    return replace(base, cells=base.cells - cells, rows=base.rows - rows)
