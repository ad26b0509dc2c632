"""Tables for rows under every super-parent, from pair counts.

Symbols: V = ΣS_j cells, a cell being a value of a column; a is the cell of the super-parent, b of another attribute.
N[a, b, y] counts, M[a, j, y] = Σ of N over the values of column j: the rows with a in which j is not missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import Floats
from ..kernels.pairs import pair_offsets
from ..kernels.parents import padded
from ..smoothing import share
from ..statistics import Counts

BLOCK = 1 << 22  # numbers of a block of table rows


class Cells:
    """Where every value of every column stands among all of them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = np.asarray(sizes, dtype=np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.column = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.value = np.arange(int(self.first[-1])) - self.first[:-1][self.column]

    def __len__(self) -> int:
        return int(self.first[-1])


def symmetric_counts(pairs: Counts, cells: Cells, rows: slice) -> Floats:
    """N[a, b, y] for a block of cells a against all b; zero where a and b are of one column."""
    d = len(cells.sizes)
    offset = np.zeros((d, d), dtype=np.int64)
    offset[np.triu_indices(d, k=1)] = pair_offsets(cells.sizes.tolist())[:-1]
    i, j = cells.column[rows][:, None], cells.column[None]
    u, v = cells.value[rows][:, None], cells.value[None]
    at = np.where(i < j, offset[i, j] + u * cells.sizes[j] + v, offset[j, i] + v * cells.sizes[i] + u)
    own = i == j
    at[own] = 0
    out = pairs.table[at].astype(np.float64) if len(pairs.table) else np.zeros((*at.shape, pairs.n_classes))
    out[own] = 0.0
    return out


def blocks(cells: Cells, n_classes: int) -> Iterator[slice]:
    """Blocks of table rows that fit into memory beside the table."""
    step = max(1, BLOCK // max(1, len(cells) * n_classes))
    for begin in range(0, len(cells), step):
        yield slice(begin, min(len(cells), begin + step))


def totals_of(counts: Floats, cells: Cells) -> Floats:
    """M[a, j, y]: sums over the values of each column."""
    ends = np.zeros((counts.shape[0], len(cells.sizes), counts.shape[2]))
    full = np.flatnonzero(cells.sizes)
    if len(full):
        ends[:, full] = np.add.reduceat(counts, cells.first[:-1][full], axis=1)
    return ends


def conditional_table(pairs: Counts, sizes: Sequence[int], smoothing: float, gone: float = 0.0) -> Floats:
    """θ[a, b, y] = P(b | y, a) = (N − gone + λ)/(M − gone + S_bλ), classes padded with ones; one where a, b share a column.

    With gone = 1 it is what is left when one row that has a, b and y is taken away.
    """
    cells, K = Cells(sizes), pairs.n_classes
    theta = np.ones((len(cells), len(cells), padded(K)))
    for rows in blocks(cells, K):
        counts = symmetric_counts(pairs, cells, rows)
        above = np.maximum(counts - gone, 0.0) + smoothing
        below = np.maximum(totals_of(counts, cells) - gone, 0.0) + (cells.sizes * smoothing)[:, None]
        theta[rows, :, :K] = share(above, below[:, cells.column], cells.sizes[cells.column, None])
        own = cells.column[rows][:, None] == cells.column[None]
        theta[rows, :, :K][own] = 1.0
    return theta


def set_own(theta: Floats, values: Floats) -> None:
    """Put the factor of the super-parent itself, [V, K], on the diagonal."""
    at = np.arange(len(theta))
    theta[at, at, : values.shape[1]] = values
