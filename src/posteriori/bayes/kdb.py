"""kDB: attributes in the order of what they tell of the class, each depending on up to k attributes before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arrays import Array, Floats
from ..errors import StatisticsError, did_you_mean, listed
from ..smoothing import log_backoff, log_prior, log_theta
from ..statistics import Counts
from ..statistics.coded import CodedTable
from ..statistics.joint import Joint, collect_families, collect_pairs
from ..statistics.statistics import Statistics
from ..structure.information import barred, class_information, conditional_information
from ..structure.structures import Structure, by_information, kdb
from .families import Families
from .selective import prefix_losses
from .semi import SemiNaive
from .spode import CRITERIA, leave_out_prior

if TYPE_CHECKING:
    import pandas as pd

MOST = 3  # parents that k="auto" tries


class KDB(SemiNaive):
    """k-dependence Bayes: P(y|x) ∝ P(y) Π_i P(x_i | y, up to k parents).

    Attributes stand in the order of I(X;Y); the parents of each are the k before it of greatest I(Xi;Xj|Y).
    P(x_i|y,p_1…p_l) = (N + m·P(x_i|y,p_1…p_{l−1}))/(N_p + m) backs off parent by parent, down to (N + λ)/(N_y + S_iλ). A
    missing attribute takes no part; a missing parent ends the ladder of its child: the parents before it are used. Order
    and parents are learned by `fit` or the first `partial_fit` and stay; models that differ in them do not add.

    Parameters
    ----------
    k : int or "auto", default 2
        How many parents; "auto" chooses up to 3 by leave-one-out.
    select : bool, default False
        Choose how many of the first attributes to use, and how many parents up to k, by exact leave-one-out over all
        of them at once (selective kDB; with k=0 selective naive Bayes). A row is taken away with min(weight, 1) and
        counts with its weight; order, parents, values and cuts are held fixed.
    criterion : "log_loss", "rmse" or "error"
        What the choice makes small; of equals the fewest parents, then the fewest attributes.
    backoff : float, default 5.0
        m, the rows that a back-off counts for.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`.

    >>> X = {"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "noise": [0, 1, 1, 0, 1, 0, 0, 1] * 4}
    >>> model = KDB(k=1, kinds="categorical").fit(X, [0, 1, 1, 0] * 8)
    >>> model.predict({"a": [0, 1], "b": [0, 0], "noise": [0, 0]}).tolist()
    [0, 1]
    """

    def __init__(
        self,
        k: Any = 2,
        select: bool = False,
        criterion: str = "log_loss",
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
        self.k = k
        self.select = select
        self.criterion = criterion
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
        whole = isinstance(self.k, int | np.integer) and not isinstance(self.k, bool) and self.k >= 0
        if not (whole or (isinstance(self.k, str) and self.k == "auto")):
            raise ValueError(f"k must be a whole number of at least 0, or 'auto'. Got {self.k!r} instead.")
        if self.criterion not in CRITERIA:
            hint = did_you_mean(self.criterion, CRITERIA)
            raise ValueError(f"criterion must be one of {listed(CRITERIA)}{hint} Got {self.criterion!r} instead.")
        if not 0 <= self.backoff < np.inf:
            raise ValueError(f"backoff must be a number of at least 0. Got {self.backoff!r} instead.")

    def _joints(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> tuple[Joint, ...]:
        if self._fresh:
            return (self._chosen(table, base, y, weights),)
        return (self._levels(table, self.structure_, y, base.n_classes, weights),)

    def _levels(
        self, table: CodedTable, structure: Structure, y: Array, n_classes: int, weights: Floats | None
    ) -> Joint:
        """Counts of each attribute with its first parent, its first two, …"""
        families = [(*ps[:n], i) for i, ps in enumerate(structure.parents) for n in range(1, len(ps) + 1)]
        return collect_families(table, families, y, n_classes, weights, self.n_jobs, self.max_memory)

    def _chosen(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> Joint:
        """Learn order and parents, choose among them where that is asked; the counts that the choice needs."""
        K, most = base.n_classes, MOST if isinstance(self.k, str) else int(self.k)
        self.class_information_ = class_information(base.cells)
        self._order = by_information(self.class_information_)
        d = len(self._order)
        self.information_ = np.zeros((d, d))
        if most:
            pairs = collect_pairs(table, y, K, weights, self.n_jobs, self.max_memory)
            self.information_ = conditional_information(pairs.counts, table.sizes)
        structure = kdb(self.class_information_, barred(self.information_, table.sizes), most)
        levels = self._levels(table, structure, y, K, weights)
        self._losses: Floats | None = None
        used = d
        if self.select or isinstance(self.k, str):
            prior = leave_out_prior(base.rows, self.prior, float(self.smoothing), y, weights, left_out=True)
            self._losses = prefix_losses(
                table,
                y,
                weights,
                base.cells,
                levels,
                structure,
                self._order,
                *prior,
                float(self.smoothing),
                float(self.backoff),
            )
            loss = np.round(self._losses[:, :, CRITERIA.index(self.criterion)], 12)
            loss = loss if self.select else loss[:, -1:]
            most, at = (int(v) for v in np.unravel_index(np.argmin(loss), loss.shape))
            used = at if self.select else d
        self.k_ = most
        self._used = frozenset(self._order[:used])
        kept = tuple(ps[:most] if i in self._used else () for i, ps in enumerate(structure.parents))
        self.structure_ = Structure(kept)
        if self.structure_ == structure:
            return levels
        return _taken(levels, self.structure_)

    @property
    def selected_(self) -> list[str]:
        """The attributes that are used, in the order of what they tell of the class."""
        return [self.schema_.names[j] for j in self._order if j in self._used]

    @property
    def losses_(self) -> pd.DataFrame:
        """Leave-one-out losses by number of parents and number of attributes, where a choice was made."""
        import pandas as pd

        self._check_fitted()
        if self._losses is None:
            raise AttributeError("losses_ is there only where leave-one-out chose: select=True or k='auto'")
        k, t, _ = self._losses.shape
        index = pd.MultiIndex.from_product([range(k), range(t)], names=["parents", "attributes"])
        frame = pd.DataFrame(self._losses.reshape(k * t, 3), index=index, columns=list(CRITERIA))
        frame["rmse"] = np.sqrt(frame["rmse"])
        return frame

    def __add__(self, other: Self) -> Self:
        if type(other) is not KDB:
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        if (self.structure_, self._used) != (other.structure_, other._used):
            raise StatisticsError(
                "models with different parents or attributes do not add: learn the second with partial_fit of the first"
            )
        return super().__add__(other)

    def _edges(self) -> list[tuple[int, int]]:
        return list(self.structure_.edges)

    def _edge_weights(self) -> list[float] | None:
        return [float(self.information_[p, i]) for p, i in self._edges()]

    @property
    def families_(self) -> Families:
        """The tables under the parameters of now."""
        return self._made("families", self._make_families)

    def _make_families(self) -> Families:
        statistics, joint = self.statistics_, self.statistics_.joints[0]
        places = {tuple(s[s >= 0].tolist()): at for at, s in enumerate(joint.scopes)}
        ladders = []
        for j, parents in enumerate(self.structure_.parents):
            steps = [log_theta(statistics.base.cells.scope(j), self.smoothing)]
            for n in range(1, len(parents) + 1):
                counts = joint.table(places[(*parents[:n], j)], statistics.sizes)
                steps.append(log_backoff(counts, steps[-1][..., None, :, :], self.backoff))
            ladders.append(tuple(steps))
        start = log_prior(statistics.rows, self.prior, self.smoothing)
        return Families(
            self.structure_, statistics.sizes, start, tuple(ladders), self.max_memory, self._used, exact=False
        )

    def _score(self, table: CodedTable) -> Floats:
        return self.families_.log_joint(table, self.n_jobs)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.families_.draw(n, rng)


def _taken(levels: Joint, structure: Structure) -> Joint:
    """The counts of the levels that a structure has."""
    wanted = {(*ps[:n], i) for i, ps in enumerate(structure.parents) for n in range(1, len(ps) + 1)}
    keep = [s for s, scope in enumerate(levels.scopes) if tuple(scope[scope >= 0].tolist()) in wanted]
    width = max((int((levels.scopes[s] >= 0).sum()) for s in keep), default=1)
    sizes = levels.counts.sizes[keep]
    empty = np.zeros((0, levels.counts.n_classes), dtype=levels.counts.table.dtype)
    table = np.concatenate([empty, *(levels.counts.scope(s) for s in keep)])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Joint(levels.scopes[keep][:, :width], Counts(table, offsets))
