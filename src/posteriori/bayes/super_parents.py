"""The tables that SPODE, AODE and A2DE share: P(b | y, a) of every value b, given a value a of the super-parent.

Symbols: V = ΣS_j places, a place being a value of a column; a is the place of the super-parent, b of another attribute.
N[a, b, y] counts, M[a, j, y] = Σ of N over the values of column j: the rows with a in which j is not missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, Floats, Ints
from ..kernels import parent_table
from ..smoothing.theta import share
from ..statistics.joint import Joint
from ..statistics.statistics import Statistics

if TYPE_CHECKING:
    pass

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
    theta = parent_table(len(rows), len(places), K)
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
    own = parent_table(len(places), len(places), K)
    totals = parent_table(len(places), len(places.sizes), K)
    for rows in blocks(np.arange(len(places)), len(places) * K):
        counts = symmetric_counts(pairs, places, rows)
        own[rows, :, :K] = counts + smoothing
        totals[rows, :, :K] = totals_of(counts, places) + (places.sizes * smoothing)[:, None]
    return own, totals


def set_own(theta: Floats, rows: Array, values: Floats) -> None:
    """Put the factor of the super-parent itself, [row, K], where b is the super-parent's own value."""
    theta[np.arange(len(rows)), rows, : values.shape[1]] = values


def joint_of_cells(statistics: Statistics, smoothing: float) -> Floats:
    """P(y, x_i) = (N(y, x_i) + λ)/(N_i + K·S_iλ) of every value of every column, shape (V, K)."""
    cells = statistics.cells
    below = cells.totals().sum(axis=1) + statistics.n_classes * cells.sizes * smoothing
    return share(cells.table + smoothing, np.repeat(below, cells.sizes)[:, None])
