"""Rounds of boosting: five models, each of the rows of four folds, and what each says of the fifth.

Symbols: F_y a row's score, P(y|x) ∝ e^{F_y}; a round adds a tree to every F.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..decision.folds import stratified
from ..kernels.trees import Boosting, Codes, Trees, boost, boosted_posterior
from .pool import in_blocks, shares_in_place

FOLDS = 5
DEPTH, DEEPER, FROM = 4, 6, 3000  # questions of a row; more of them from so many rows
LEAST = 6  # columns that are drawn for a node, where half of them are fewer


@dataclass(frozen=True, eq=False)
class Rounds:
    """The trees of five models, fold after fold, what each starts from, and what the trees have gained.

    `losses` are those of rows out of fold after 0, 10, 20, … rounds, `gains` of the questions of each column.
    """

    trees: Trees
    start: Array
    n_classes: int
    gains: Floats
    losses: Floats

    @property
    def n_rounds(self) -> int:
        """Trees of each model."""
        return len(self.trees) // len(self.start)

    def posterior(self, codes: Codes, n_jobs: int | None = None) -> Floats:
        """The mean of the models' P(y|x)."""
        if self.n_classes == 1:
            return np.ones((codes.n, 1))
        return boosted_posterior(self.trees, self.start, self.n_classes, codes, n_jobs)


def grow_rounds(
    codes: Codes,
    y: Array,
    K: int,
    weights: Floats | None,
    random: np.random.Generator,
    *,
    how: Boosting | None = None,
    max_memory: float | None = None,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> tuple[Rounds, Floats]:
    """(The rounds, P(y|x) of each row by the model that has not seen it); `depth` and `tried` of 0 follow the table.

    Weights are relative: they are scaled to a mean of one.

    >>> codes = Codes(np.array([[0, 0, 1, 1] * 10], np.uint8), (2,), (True,))
    >>> rounds, out = grow_rounds(codes, np.array([0, 0, 1, 1] * 10), 2, None, np.random.default_rng(0))
    >>> out.shape, bool((out[:2, 0] > 0.9).all()), rounds.posterior(codes)[:, 1].round().tolist()[:4]
    ((40, 2), True, [0.0, 0.0, 1.0, 1.0])
    """
    n, d = codes.n, len(codes.sizes)
    how = how or Boosting(depth=0)
    how = replace(
        how, depth=how.depth or (DEPTH if n < FROM else DEEPER), tried=how.tried or max(-(-d // 2), min(d, LEAST))
    )
    if K == 1:
        none = np.zeros(0, dtype=np.int32)
        starts = np.zeros(1, dtype=np.int64)
        empty = Trees(starts, starts, none, none, none, np.zeros((0, 1), np.float32), np.zeros(0, np.uint64))
        return Rounds(empty, np.zeros((FOLDS, 1), np.float32), 1, np.zeros(d), np.zeros(1)), np.ones((n, 1))
    _refuse_large(codes, K, how, max_memory)
    if weights is not None:
        weights = weights / weights.max()
        weights = np.ascontiguousarray(weights * (n / weights.sum()))
    fold = stratified(y, FOLDS, random).astype(np.uint8)
    seeds = random.integers(0, 1 << 63, FOLDS, dtype=np.uint64)
    trees, gain, start, losses, F = boost(codes, y, K, weights, fold, seeds, how, n_jobs, tell)
    asks = trees.column >= 0
    gains = np.bincount(trees.column[asks], gain[asks], minlength=d).astype(np.float64)
    out = np.empty((n, K))

    def some(rows: slice) -> None:
        out[rows] = softmax(F[rows])

    in_blocks(some, n, K, n_jobs)
    return Rounds(trees, start, K, gains, losses), out


def softmax(F: Array) -> Floats:
    """P(y) ∝ e^{F_y}; of one column the log-odds of the second class.

    >>> softmax(np.array([[0.0]])).tolist()
    [[0.5, 0.5]]
    """
    F = F.astype(np.float64)
    if F.shape[1] == 1:
        F = np.concatenate([np.zeros_like(F), F], axis=1)
    return shares_in_place(F)


def _refuse_large(codes: Codes, K: int, how: Boosting, max_memory: float | None) -> None:
    n, V = codes.n, 1 if K == 2 else K
    nodes = min(2.0 ** min(how.depth + 1, 60), 2.0 * n / how.least + 1)
    trees = FOLDS * how.rounds * nodes * (20 + 4 * V)
    rows = codes.cells.nbytes + n * (FOLDS * 16.0 + 4 * FOLDS * V + 2 * (8 * V + 32) + 4 * V + 40 * K)
    cell = max(16.0 * V, 64.0 * (V // 8 + 1))
    kept = min(2.0**26, cell * sum(codes.sizes) * (min(how.depth, 16) + 2))  # sums of all columns of a few nodes
    sums = FOLDS * (kept + 16.0 * V * min(n, max(codes.sizes)))
    refuse_over(
        max_memory, 1.5 * trees + rows + sums, f"boosting {n:,} rows of {K:,} classes", "give fewer, or max_rounds"
    )
