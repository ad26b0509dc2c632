"""Trees of counts: grown from coded rows, many at a time, and asked about others.

Codes are a matrix [column, row] of bytes or 16-bit numbers: 0 … size − 1 of a column that is ordered, or of one whose
values have names (`named`). A code that is not below its column's size is a value that training did not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, Floats, Ints
from . import n_threads, native

__all__ = ["CRITERIA", "Codes", "Trees", "draw_bags", "grow_trees"]

CRITERIA = ("entropy", "ratio", "gini")
MOST_VALUES = 65_535  # of a column


@dataclass(frozen=True, eq=False)
class Codes:
    """Coded rows: the matrix [column, row], the size of each column, and whether its values are names."""

    cells: Array
    sizes: tuple[int, ...]
    named: tuple[bool, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.cells.shape[1])

    def without(self, j: int) -> Codes:
        """The same rows, nothing being known of column j."""
        cells = self.cells.copy()
        cells[j] = self.sizes[j]
        return Codes(cells, self.sizes, self.named)

    @cached_property
    def told(self) -> tuple[Array, list[int], list[int]]:
        """As kernels take them."""
        return self.cells, list(self.sizes), [int(x) for x in self.named]


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees laid end to end, parents before their children.

    Tree t has the nodes starts[t] … starts[t + 1] − 1; a node of it asks `column` (−1: it is a leaf) and sends a row to
    `child` or the node after, places within the tree: an ordered code goes left if it is at most `cut`; for named values
    `cut` is the place, in the tree's own `bits`, of the set that goes left, then of the set that was seen. A value that was
    not seen goes nowhere. `counts` has the weight of every node by class.
    """

    starts: Ints
    bit_starts: Ints
    column: Array
    cut: Array
    child: Array
    counts: Floats
    bits: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def held(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.starts, self.bit_starts, self.column, self.cut, self.child, self.counts, self.bits

    def leaves(self, codes: Codes, n_jobs: int | None = None) -> Array:
        """The node where every row ends, [tree, row]."""
        out = np.empty((len(self), codes.n), dtype=np.int32)
        native().tree_leaves(*codes.told, self.held, out, n_threads(n_jobs, out.size * 10))
        return out

    def path_counts(self, codes: Codes, y: Array, weights: Floats | None = None) -> Floats:
        """The weight of rows that pass each node of a tree, by class."""
        out = np.zeros(self.counts.shape)
        native().path_counts(*codes.told, self.held, np.ascontiguousarray(y, dtype=np.uint32), weights, out)
        return out

    def sums(
        self, codes: Codes, c: float, bags: Array | None = None, n_jobs: int | None = None, between: float = 1.0
    ) -> tuple[Floats, Array]:
        """(Σ over trees of the posterior where a row ends, how many trees answered); none that has the row in its bag.

        From the root down p_l = (n_l + c_l p_{l−1})/(N_l + c_l), p_{−1} = 1/K: c_l is c at the root and at a leaf, c times
        `between` at nodes between them.
        """
        out, used = np.zeros((codes.n, self.counts.shape[1])), np.zeros(codes.n, dtype=np.uint32)
        threads = n_threads(n_jobs, codes.n * len(self) * 10)
        native().forest_sums(*codes.told, self.held, float(c), between, bags, out, used, threads)
        return out, used

    def truth(
        self,
        codes: Codes,
        y: Array,
        cs: Sequence[float],
        bags: Array | None = None,
        n_jobs: int | None = None,
        between: float = 1.0,
    ) -> tuple[Floats, Array]:
        """`sums` of each row's own class alone, [row, c]."""
        out, used = np.zeros((codes.n, len(cs))), np.zeros(codes.n, dtype=np.uint32)
        y = np.ascontiguousarray(y, dtype=np.uint32)
        threads = n_threads(n_jobs, codes.n * len(self) * 10)
        native().forest_truth(*codes.told, self.held, y, list(cs), between, bags, out, used, threads)
        return out, used


def grow_trees(
    codes: Codes,
    y: Array,
    K: int,
    weights: Floats | None = None,
    *,
    criterion: str = "entropy",
    tried: int = 0,
    drawn: bool = False,
    max_depth: int | None = None,
    least: float = 0.0,
    seeds: Array | None = None,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> Trees:
    """A tree of all rows, or with `seeds` one for each of them, of n rows drawn in proportion to the weights.

    A node that is not of one class is split where that gains most, even nothing, of the columns in their order or of
    `tried` that are drawn (more, until one has two values). `drawn`: an ordered cut lies anywhere between the codes that it
    parts, and named values are ordered by the share of one class drawn, instead of each in turn. `least` is the weight that
    either side must have. `tell` hears now and then how many trees are done.

    >>> codes = Codes(np.array([[0, 1, 2, 3]], np.uint8), (4,), (False,))
    >>> tree = grow_trees(codes, np.array([0, 0, 1, 1]), 2)
    >>> tree.column.tolist(), int(tree.cut[0]), tree.counts.tolist()
    ([0, -1, -1], 1, [[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    """
    bagged = seeds is not None
    threads = n_threads(n_jobs, codes.cells.size * (len(seeds) if seeds is not None else 0))
    found = native().grow_trees(
        *codes.told,
        np.ascontiguousarray(y, dtype=np.uint32),
        K,
        weights,
        CRITERIA.index(criterion),
        tried,
        drawn,
        1 << 30 if max_depth is None else min(max_depth, 1 << 30),
        least,
        np.zeros(1, dtype=np.uint64) if seeds is None else seeds,
        bagged,
        threads,
        tell,
    )
    return Trees(*found)


def draw_bags(n: int, weights: Floats | None, seeds: Array, n_jobs: int | None = None) -> Array:
    """The rows that each seed's bag has, a bit each: [seed, word of 64 rows]."""
    out = np.empty((len(seeds), -(-n // 64)), dtype=np.uint64)
    native().draw_bags(weights, seeds, n, out, n_threads(n_jobs, n * len(seeds) * 2))
    return out
