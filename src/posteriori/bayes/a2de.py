"""A2DE: the average of all two-dependence estimators, every pair of attributes being the super-parents in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..kernels.pairs import pair_offsets
from ..kernels.parents import padded, sum_of_products
from ..smoothing import share
from ..smoothing import theta as of_theta
from ..statistics.coded import CodedTable
from ..statistics.joint import Joint, collect_pairs, collect_triples
from ..statistics.statistics import Statistics
from ..structure.information import conditional_information
from .aode import AODE, ROWS
from .families import draw_from
from .superparents import Cells


class A2DE(AODE):
    """Averaged two-dependence estimators: P(y,x) = mean over i<j of P(y,x_i,x_j) Π_k P(x_k|y,x_i,x_j), N(x_i,x_j) ≥ m.

    P(y,x_i,x_j) = (N(y,x_i,x_j) + λ)/(N_ij + K·S_i·S_jλ). AODE answers for a row where no pair is frequent enough. Tables
    grow with the third power of the columns: the memory is estimated first, and refused over `max_memory`.

    Parameters
    ----------
    min_frequency : float, default 30
        m: how often the values of a pair must have occurred together.
    smoothing, prior, kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`.

    >>> X = {"a": [0, 0, 1, 1] * 4, "b": [0, 1, 0, 1] * 4, "c": [0, 0, 0, 1] * 4}
    >>> model = A2DE(min_frequency=1, kinds="categorical").fit(X, [0, 1, 1, 0] * 4)
    >>> model.predict({"a": [0, 1], "b": [0, 0], "c": [0, 0]}).tolist()
    [0, 1]
    """

    def __init__(
        self,
        min_frequency: float = 30,
        smoothing: float = 1.0,
        prior: Any = "smoothed",
        kinds: Any = None,
        cuts: Any = "mdl",
        bins: int = 10,
        class_weight: Any = None,
        max_memory: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            min_frequency=min_frequency,
            smoothing=smoothing,
            prior=prior,
            kinds=kinds,
            cuts=cuts,
            bins=bins,
            class_weight=class_weight,
            max_memory=max_memory,
            n_jobs=n_jobs,
        )

    def _joints(self, table: CodedTable, base: Statistics, y: Array, weights: Floats | None) -> tuple[Joint, ...]:
        pairs = collect_pairs(table, y, base.n_classes, weights, self.n_jobs, self.max_memory)
        return pairs, collect_triples(table, y, base.n_classes, weights, self.n_jobs, self.max_memory)

    @property
    def _pair_table(self) -> tuple[Floats, Array]:
        """(θ[ab, c, y] with P(y, a, b) where c is a, whether the pair ab is frequent enough)."""
        return self._made("pairs", self._make_pair_table)

    def _make_pair_table(self) -> tuple[Floats, Array]:
        statistics, lam = self.statistics_, float(self.smoothing)
        sizes, K, cells = statistics.sizes, len(statistics.rows), Cells(statistics.sizes)
        pairs = statistics.joints[0].counts
        needed = len(pairs.table) * len(cells) * padded(K) * 8
        refuse_over(self.max_memory, needed, f"tables of {len(pairs.offsets) - 1} pairs of super-parents, {K} classes")
        theta = np.ones((len(pairs.table), len(cells), padded(K)))
        places = {tuple(scope): s for s, scope in enumerate(statistics.joints[1].scopes.tolist())}
        for p, (i, j) in enumerate(statistics.joints[0].scopes.tolist()):
            if sizes[i] * sizes[j] == 0:  # a column without values is nobody's parent
                continue
            part = theta[pairs.offsets[p] : pairs.offsets[p + 1]].reshape(sizes[i], sizes[j], len(cells), -1)
            counts = statistics.joints[0].table(p, sizes)
            for k in (k for k in range(len(sizes)) if k not in (i, j)):
                order = np.argsort([i, j, k])
                scope = tuple(sorted((i, j, k)))
                triple = statistics.joints[1].table(places[scope], sizes)
                n = triple.transpose(*np.argsort(order), 3)  # [xi, xj, xk, y]
                part[:, :, cells.first[k] : cells.first[k + 1], :K] = of_theta(n, lam)
            joint = share(counts + lam, counts.sum() + K * sizes[i] * sizes[j] * lam)
            for u in range(sizes[i]):  # the factor of the pair itself stands where c is x_i
                part[u, :, cells.first[i] + u, :K] = joint[u]
        return theta, pairs.table.sum(axis=1) >= self.min_frequency

    def _score(self, table: CodedTable) -> Floats:
        if len(table.sizes) < 2:
            return super()._score(table)
        theta, frequent = self._pair_table
        if not len(theta):  # no two columns have values
            return super()._score(table)
        first, second = np.triu_indices(len(table.sizes), k=1)
        sizes = np.asarray(table.sizes)
        base = pair_offsets(table.sizes)[:-1]
        out = np.empty((table.n, len(self.classes_)))
        step = max(256, ROWS // len(first))
        for begin in range(0, table.n, step):
            part = slice(begin, min(table.n, begin + step))
            cells = table.cells(part)
            codes = cells - Cells(table.sizes).first[:-1]
            rows = base + codes[:, first] * sizes[second] + codes[:, second]
            known = (cells[:, first] >= 0) & (cells[:, second] >= 0)
            rows = np.where(known, rows, 0)
            parents = np.where(known & frequent[rows], rows, -1).astype(np.int32)
            out[part] = sum_of_products(parents, cells, theta, len(self.classes_), self.n_jobs)
            met = (parents >= 0).sum(axis=1)
            out[part] -= np.log(np.maximum(met, 1))[:, None]
            alone = begin + np.flatnonzero(met == 0)
            if len(alone):
                out[alone] = super()._score(table.take(alone))
        return out

    def _edge_weights(self) -> list[float] | None:
        information = conditional_information(self.statistics_.joints[0].counts, self.statistics_.sizes)
        return [float(information[i, j]) for i, j in self._edges()]

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """A pair's values and a class by P(y, x_i, x_j), then the other attributes given all three."""
        if len(self.schema_) < 2 or not self._pair_table[1].any():
            return super()._draw(n, rng)
        theta, frequent = self._pair_table
        statistics, K = self.statistics_, len(self.classes_)
        where, sizes = Cells(statistics.sizes), statistics.sizes
        scopes, offsets = statistics.joints[0].scopes, statistics.joints[0].counts.offsets
        owner = np.repeat(np.arange(len(scopes)), np.diff(offsets))
        i, j = scopes[owner].T
        u, v = np.divmod(np.arange(len(owner)) - offsets[owner], np.asarray(sizes)[j])
        own = np.where(frequent[:, None], theta[np.arange(len(owner)), where.first[i] + u, :K], 0.0)
        ab, y = np.divmod(rng.choice(own.size, n, p=(own / own.sum()).ravel()), K)
        codes = np.zeros((n, len(sizes)), dtype=np.int64)
        for k in range(len(sizes)):
            part = theta[ab, where.first[k] : where.first[k + 1]][np.arange(n), :, y]
            drawn = draw_from(part, rng)
            codes[:, k] = np.where(i[ab] == k, u[ab], np.where(j[ab] == k, v[ab], drawn))
        return codes, y
