"""A2DE: the average of all two-dependence estimators, every pair of attributes being the super-parents in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Floats, Ints
from ..budget import refuse_over
from ..estimator import parameters
from ..kernels.pairs import padded, pair_tables, sum_of_products
from ..smoothing.theta import share
from ..statistics.cuts import CodedTable
from ..statistics.joint import collect_triples, refuse_triples
from ..statistics.statistics import Statistics
from ..table.encode import Seen
from ..table.frame import Frame
from ..table.schema import Schema
from .aode import ROWS, AveragedParents
from .families import draw_from
from .spode import Places, reaches

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

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, seen: Seen) -> Statistics:
        refuse_triples([1] * frame.d, frame.n, len(schema.classes), self.max_memory)  # the least; before any work
        return super()._collect(frame, schema, y, weights, seen)

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
        return self._made("pairs", self._make_pairs)

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
        counts = triples.scopes, triples.counts.offsets, triples.cells, triples.counts.table
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
