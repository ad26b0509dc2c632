"""Folds: every row is tested once, every class is spread over the folds as evenly as its rows allow.

Symbols: n rows, k folds, y class codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array, Ints
from ..table.labels import encode_labels


def stratified(y: Array, k: int, seed: int | np.random.Generator) -> Ints:
    """The fold of each row: each class's rows, shuffled, are dealt to the folds one after another, as cards are.

    The deal goes on where the class before ended, so that folds differ by at most one row, and each class by at most one in
    each. A class of fewer rows than folds is tested in as many folds as it has rows; a class of one row is tested by models
    that never saw it.

    >>> fold = stratified(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    dealt = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[dealt] = np.arange(len(y)) % k
    return fold


class Stratified:
    """`stratified` as a splitter of scikit-learn's, for calibration inside a fold: no class is too small for it."""

    def __init__(self, k: int, seed: int) -> None:
        self.k = k
        self.seed = seed

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of rows to learn from and rows to test."""
        codes = encode_labels(y)[1]
        fold = stratified(codes, self.get_n_splits(X, y), self.seed)
        for f in range(int(fold.max()) + 1):
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """k, or the rows where there are fewer."""
        return self.k if y is None else min(self.k, len(y))
