"""AODE: the average of all one-dependence estimators, every attribute being the super-parent in turn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import StatisticsError, did_you_mean, listed
from ..kernels.parents import padded, sum_of_products
from ..smoothing import log_prior, log_theta, share
from ..statistics.coded import CodedTable
from ..statistics.joint import JointStatistics, collect_pairs
from ..statistics.statistics import Statistics
from ..structure.information import class_information, conditional_information
from ..structure.structures import naive
from .families import Families, draw_from
from .lazy import RowStore, always, collect_rows, draw_lazily, lazy_log_joint
from .semi import SemiNaive
from .superparents import Cells, conditional_table, set_own, symmetric_counts

ROWS = 1 << 15  # rows scored at a time
IMPLIED = 1 << 24  # pairs of values looked at together for subsumption
WEIGHTS = ("uniform", "information")


class AODE(SemiNaive):
    """Averaged one-dependence estimators: P(y,x) = mean over i of P(y,x_i) Π_{j≠i} P(x_j|y,x_i), N(x_i) ≥ m.

    P(y,x_i) = (N(y,x_i) + λ)/(N_i + K·S_iλ) and P(x_j|y,x_i) = (N(y,x_i,x_j) + λ)/(N_j(y,x_i) + S_jλ), N_i being the rows
    in which x_i is known and N_j(y,x_i) those in which x_j is. Naive Bayes answers for a row where no x_i is frequent
    enough. A missing cell takes no part, neither as super-parent nor as child. λ = 1 and min_frequency = 1 are what Weka
    does by default.

    Parameters
    ----------
    min_frequency : float, default 30
        m: how often the value of a super-parent must have occurred.
    lazy : bool, default False
        Keep the coded rows and count at prediction, for a row's own values only: slower, but memory does not grow with
        the number of values. The rows of the training table are then stored in the model.
    weights : "uniform" or "information"
        Every super-parent alike, or weighted by I(Xi;Y) (WAODE).
    subsumption : int, optional
        Drop x_j from a row where x_i implies it: all rows with x_i have x_j, and there are at least so many of them. Of two
        values that imply each other the later column is dropped. Off by default.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`; `prior` is used where naive Bayes answers.

    >>> X, y = {"a": [0, 0, 1, 1] * 4, "b": [0, 1, 0, 1] * 4}, [0, 1, 1, 0] * 4
    >>> model = AODE(min_frequency=1, kinds="categorical").fit(X, y)
    >>> model.predict({"a": [0, 1], "b": [0, 0]}).tolist()
    [0, 1]
    """

    def __init__(
        self,
        min_frequency: float = 30,
        lazy: bool = False,
        weights: str = "uniform",
        subsumption: int | None = None,
        smoothing: float = 1.0,
        prior: Any = "smoothed",
        kinds: Any = None,
        cuts: Any = "mdl",
        bins: int = 10,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.min_frequency = min_frequency
        self.lazy = lazy
        self.weights = weights
        self.subsumption = subsumption
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
        if self.weights not in WEIGHTS:
            hint = did_you_mean(self.weights, WEIGHTS)
            raise ValueError(f"weights must be one of {listed(WEIGHTS)}{hint} Got {self.weights!r} instead.")
        if not self.min_frequency >= 0:
            raise ValueError(f"min_frequency must be a number of at least 0. Got {self.min_frequency!r} instead.")

    def _joints(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> tuple[Any, ...]:
        if self.lazy if self._fresh else self._stored:
            return (collect_rows(table, y, weights),)
        return (collect_pairs(table, y, base.n_classes, weights, self.n_jobs, self.max_memory),)

    @property
    def _stored(self) -> bool:
        """Whether the model holds rows and not pair counts: `lazy` may have been set anew since it learned."""
        return isinstance(self.statistics_.joints[0], RowStore)

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        if self._stored != other._stored:
            raise StatisticsError("a lazy model and one with counted pairs do not add")
        return super().__add__(other)

    def _weights_of(self, statistics: JointStatistics) -> Floats:
        """The weight of each super-parent."""
        if self.weights == "uniform":
            return np.ones(len(statistics.sizes))
        told = class_information(statistics.base.cells)
        return told if told.sum() > 0 else np.ones(len(told))

    @property
    def naive_(self) -> Families:
        """The naive Bayes that answers where no super-parent is frequent enough."""
        return self._made("naive", lambda: naive_families(self.statistics_, self.smoothing, self.prior))

    @property
    def _table(self) -> tuple[Floats, Array, Floats]:
        """(θ[a, b, y] with w·P(y, a) on the diagonal, whether cell a is frequent enough, weight of each cell's column)."""
        return self._made("parents", self._make_table)

    def _make_table(self) -> tuple[Floats, Array, Floats]:
        statistics, lam = self.statistics_, float(self.smoothing)
        sizes, K = statistics.sizes, len(statistics.rows)
        refuse_over(
            self.max_memory, sum(sizes) ** 2 * padded(K) * 8, f"tables of {len(sizes)} super-parents, {K} classes"
        )
        theta = conditional_table(statistics.joints[0].counts, sizes, lam)
        weight = self._weights_of(statistics)[Cells(sizes).column]
        set_own(theta, weight[:, None] * joint_of_cells(statistics, lam))
        frequent = statistics.base.cells.table.sum(axis=1) >= self.min_frequency
        return theta, frequent & (weight > 0), weight

    def _score(self, table: CodedTable) -> Floats:
        if self._stored:
            return lazy_log_joint(self, table)
        theta, frequent, weight = self._table
        if not len(theta):  # no column has values
            return self.naive_.log_joint(table)
        out = np.empty((table.n, len(self.classes_)))
        step = ROWS if self.subsumption is None else min(ROWS, max(1, IMPLIED // len(table.sizes) ** 2))
        for begin in range(0, table.n, step):
            part = slice(begin, min(table.n, begin + step))
            cells = table.cells(part)
            if self.subsumption is not None:
                cells = np.where(self._implied(cells), np.int32(-1), cells)
            common = table.whole and self.subsumption is None and bool(frequent.all())  # every cell takes part
            parents = cells if common else np.where(frequent[cells] & (cells >= 0), cells, np.int32(-1))
            out[part] = sum_of_products(parents, cells, theta, len(self.classes_), self.n_jobs)
            mass = weight[parents].sum(axis=1) if common else np.where(parents >= 0, weight[parents], 0.0).sum(axis=1)
            alone = np.flatnonzero(mass == 0)
            with np.errstate(divide="ignore"):
                out[part] -= np.log(np.where(mass > 0, mass, 1.0))[:, None]
            if len(alone):
                out[begin + alone] = self.naive_.log_joint(table.take(begin + alone))
        return out

    def _implied(self, cells: Array) -> Array:
        """Whether x_j follows from another value of the row."""
        implies = self._made("implies", self._make_implies)
        found = implies[cells[:, :, None], cells[:, None, :]]
        found &= (cells >= 0)[:, :, None] & (cells >= 0)[:, None, :]
        back = found.transpose(0, 2, 1)
        later = np.tri(cells.shape[1], k=-1, dtype=bool).T  # i before j
        dropped: Array = (found & (~back | later)).any(axis=1)
        return dropped

    def _make_implies(self) -> Array:
        """[a, b]: every row with a has b, and they are at least `subsumption`."""
        statistics = self.statistics_
        where = Cells(statistics.sizes)
        both = symmetric_counts(statistics.joints[0].counts, where, slice(None)).sum(axis=2)
        one = statistics.base.cells.table.sum(axis=1)
        implied: Array = always(both, one) & (one >= max(1, self.subsumption or 0))[:, None]
        others: Array = implied & (where.column[:, None] != where.column[None])
        return others

    def _edges(self) -> list[tuple[int, int]]:
        d = len(self.schema_)
        return [(i, j) for i in range(d) for j in range(i + 1, d)]

    def _edge_weights(self) -> list[float] | None:
        if self._stored:
            return None
        information = conditional_information(self.statistics_.joints[0].counts, self.statistics_.sizes)
        return [float(information[i, j]) for i, j in self._edges()]

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """A super-parent's value and a class by P(y, x_i), then the other attributes given both."""
        if self._stored:
            return draw_lazily(self, n, rng)
        if not self._table[1].any():
            return self.naive_.draw(n, rng)
        theta, frequent, _ = self._table
        K, where = len(self.classes_), Cells(self.statistics_.sizes)
        at = np.arange(len(where))
        own = np.where(frequent[:, None], theta[at, at, :K], 0.0)
        a, y = np.divmod(rng.choice(own.size, n, p=(own / own.sum()).ravel()), K)
        codes = np.zeros((n, len(where.sizes)), dtype=np.int64)
        for j in range(len(where.sizes)):
            part = theta[a, where.first[j] : where.first[j + 1]][np.arange(n), :, y]
            codes[:, j] = np.where(where.column[a] == j, where.value[a], draw_from(part, rng))
        return codes, y


def joint_of_cells(statistics: JointStatistics, smoothing: float) -> Floats:
    """P(y, x_i) = (N(y, x_i) + λ)/(N_i + K·S_iλ) of every cell, shape (V, K)."""
    cells, K = statistics.base.cells, len(statistics.rows)
    below = cells.totals().sum(axis=1) + K * cells.sizes * smoothing
    return share(cells.table + smoothing, np.repeat(below, cells.sizes)[:, None])


def naive_families(statistics: JointStatistics, smoothing: float, prior: Any) -> Families:
    """Naive Bayes from the same counts."""
    sizes = statistics.sizes
    levels = tuple((log_theta(statistics.base.cells.scope(j), smoothing),) for j in range(len(sizes)))
    return Families(naive(len(sizes)), sizes, log_prior(statistics.rows, prior, smoothing), levels)
