"""TAN: every attribute depends on the class and on one neighbour in a maximum-weight spanning tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..smoothing import log_backoff, log_prior, log_theta
from ..statistics.coded import CodedTable
from ..statistics.joint import Joint, JointStatistics, collect_pairs
from ..statistics.statistics import Statistics
from ..structure.information import barred, class_information, conditional_information
from ..structure.structures import Structure, by_information, tree
from .families import Families
from .semi import SemiNaive


class TAN(SemiNaive):
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
    backoff : float, default 5.0
        m of P(x_i|y,x_p) = (N + m·P(x_i|y))/(N_p + m): how many rows the back-off to P(x_i|y) counts for.
    smoothing, prior, kinds, class_weight, n_jobs :
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

    def __init__(
        self,
        root: Any = None,
        min_information: float = 0.0,
        backoff: float = 5.0,
        smoothing: float = 1.0,
        prior: Any = "smoothed",
        kinds: Any = None,
        cuts: Any = "mdl",
        bins: int = 10,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.root = root
        self.min_information = min_information
        self.backoff = backoff
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
        if not 0 <= self.backoff < np.inf:
            raise ValueError(f"backoff must be a number of at least 0. Got {self.backoff!r} instead.")

    def _joints(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> tuple[Joint, ...]:
        return (collect_pairs(table, y, base.n_classes, weights, self.n_jobs, self.max_memory),)

    def _become(self, statistics: JointStatistics, labels: Array) -> None:
        super()._become(statistics, labels)
        _ = self.structure_  # the tree is part of learning, not of the first prediction

    @property
    def information_(self) -> Floats:
        """I(Xi;Xj|Y) in nats, a symmetric matrix in the order of the columns."""
        counts, sizes = self.statistics_.joints[0].counts, self.statistics_.sizes
        return self._made("information", lambda: conditional_information(counts, sizes))

    @property
    def structure_(self) -> Structure:
        """The tree (or forest), as the parents of each attribute."""
        return self._made("tree", self._tree)

    def _tree(self) -> Structure:
        roots = by_information(class_information(self.statistics_.base.cells))
        if self.root is not None:
            roots = [self._column(self.root, "root"), *roots]
        return tree(barred(self.information_, self.statistics_.sizes), roots, self.min_information)

    def _edges(self) -> list[tuple[int, int]]:
        return list(self.structure_.edges)

    def _edge_weights(self) -> list[float] | None:
        return [float(self.information_[p, i]) for p, i in self._edges()]

    @property
    def families_(self) -> Families:
        """The tables under the parameters of now."""
        return self._made("families", self._make_families)

    def _make_families(self) -> Families:
        statistics, structure = self.statistics_, self.structure_
        levels: list[tuple[Floats, ...]] = []
        for j, parents in enumerate(structure.parents):
            alone = log_theta(statistics.base.cells.scope(j), self.smoothing)
            if not parents:
                levels.append((alone,))
                continue
            counts = pair_table(statistics, parents[0], j)
            levels.append((alone, log_backoff(counts, alone, self.backoff)))
        start = log_prior(statistics.rows, self.prior, self.smoothing)
        return Families(structure, statistics.sizes, start, tuple(levels), self.max_memory)

    def _score(self, table: CodedTable) -> Floats:
        return self.families_.log_joint(table, self.n_jobs)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.families_.draw(n, rng)


def pair_table(statistics: JointStatistics, parent: int, child: int) -> Array:
    """N[x_parent, x_child, y] from the pair counts."""
    d, (i, j) = len(statistics.sizes), sorted((parent, child))
    place = i * d - i * (i + 1) // 2 + j - i - 1
    table = statistics.joints[0].table(place, statistics.sizes)
    return table if parent < child else table.transpose(1, 0, 2)
