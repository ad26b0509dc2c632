"""Selective kDB: exact leave-one-out of every prefix of the attributes and every number of parents, in one pass.

Symbols: attributes in order j_1, j_2, …; k' parents at most; w = min(weight, 1) of a row is taken from its own class.
θ_0 = (N − w + λ)/(M − w + Sλ), θ_l = (N_l − w + m·θ_{l−1})/(M_l − w + m) with the first l parents; a missing parent ends
the ladder, a missing attribute takes no part.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Floats
from ..smoothing import backoff, share
from ..statistics import Counts
from ..statistics.coded import CodedTable
from ..statistics.joint import Joint
from ..structure.structures import Structure

ROWS = 1 << 14


def prefix_losses(
    table: CodedTable,
    y: Array,
    weights: Floats | None,
    cells: Counts,
    levels: Joint,
    structure: Structure,
    order: list[int],
    prior: Floats,
    prior_own: Floats,
    smoothing: float,
    weight: float,
) -> Floats:
    """Mean log loss, squared error of P(true) and 0-1 loss, shape (k + 1, d + 1, 3): k' parents, the first t attributes."""
    most = max((len(p) for p in structure.parents), default=0)
    sums = np.zeros((most + 1, len(order) + 1, 3))
    places = {tuple(s[s >= 0].tolist()): at for at, s in enumerate(levels.scopes)}
    for begin in range(0, table.n, ROWS):
        rows = np.arange(begin, min(table.n, begin + ROWS))
        part = _Part(table.take(rows), y[rows], None if weights is None else weights[rows])
        with np.errstate(divide="ignore"):
            start = np.repeat(np.log(prior)[None], len(rows), axis=0)
            start[part.index, part.y] = np.log(prior_own[rows])
        joint = [start.copy() for _ in range(most + 1)]
        for k in range(most + 1):
            sums[k, 0] += part.losses(joint[k])
        for t, j in enumerate(order, start=1):
            ladder = part.ladder(j, structure.parents[j], cells, levels, places, smoothing, weight)
            for k in range(most + 1):
                joint[k] += ladder[min(k, len(ladder) - 1)]
                sums[k, t] += part.losses(joint[k])
    total: Floats = sums / (len(y) if weights is None else weights.sum())
    return total


class _Part:
    """A block of rows, each left out of the counts of its own class."""

    def __init__(self, table: CodedTable, y: Array, weights: Floats | None) -> None:
        self.table, self.y, self.index = table, y.astype(np.intp), np.arange(len(y))
        self.weights = np.ones(len(y)) if weights is None else weights
        self.gone = np.minimum(self.weights, 1.0)

    def _without(self, counts: Array) -> Floats:
        out = counts.astype(np.float64)
        out[self.index, self.y] = np.maximum(out[self.index, self.y] - self.gone, 0.0)
        return out

    def ladder(
        self,
        j: int,
        parents: tuple[int, ...],
        cells: Counts,
        levels: Joint,
        places: dict[tuple[int, ...], int],
        smoothing: float,
        weight: float,
    ) -> list[Floats]:
        """ln θ_0, ln θ_1, … of attribute j in every row; zero where j is missing."""
        sizes, table = self.table.sizes, self.table
        x = table.column(j)
        if sizes[j] == 0:  # missing in every row
            return [np.zeros((len(x), cells.n_classes))]
        seen = x < sizes[j]
        at = np.where(seen, x, 0).astype(np.intp)
        single = cells.scope(j)
        below = self._without(np.repeat(single.sum(axis=0)[None], len(x), axis=0)) + sizes[j] * smoothing
        theta = share(self._without(single[at]) + smoothing, below, sizes[j])
        steps, climbing = [theta], seen
        given: list[Array] = []
        for level, p in enumerate(parents, start=1):
            code = table.column(p)
            climbing = climbing & (code < sizes[p])
            given.append(np.where(code < sizes[p], code, 0).astype(np.intp))
            counts = levels.table(places[(*parents[:level], j)], sizes)
            above = self._without(counts[(*given, at)])
            below = self._without(counts.sum(axis=-2)[tuple(given)])
            theta = np.where(climbing[:, None], backoff(above, below, theta, weight), theta)
            steps.append(theta)
        with np.errstate(divide="ignore"):
            return [np.where(seen[:, None], np.log(s), 0.0) for s in steps]

    def losses(self, joint: Floats) -> Floats:
        """Σ of log loss, squared error and 0-1 loss of the rows."""
        top = joint.max(axis=1)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = safe + np.log(np.exp(joint - safe[:, None]).sum(axis=1))
            log_own = joint[self.index, self.y] - total
        log_own = np.where(np.isnan(log_own), -np.inf, log_own)
        wrong = (joint.argmax(axis=1) != self.y) | ~np.isfinite(top)
        terms = [-log_own, (1 - np.exp(log_own)) ** 2, wrong]
        return np.array([float(self.weights @ term) for term in terms])
