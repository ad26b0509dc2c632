"""Boosted trees of counts: grown round by round in folds, and asked about other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from . import n_threads, native
from .trees import Codes, Trees

__all__ = ["Boosting", "boost", "boost_tree", "boosted_posterior"]


@dataclass(frozen=True)
class Boosting:
    """How rounds go: the loss (−ln p_y, or `exponential`: e^{f̄ − f_y}), the trees, and when they end.

    A tree asks up to `depth` questions of a row; a node looks at `tried` columns that are drawn, more until one splits (0:
    all, in order) and leaves `least` rows on either side. Every round draws a `share` of the rows. After so many rounds
    (`every`) the loss out of fold is looked at; the rounds end when it has not fallen by `better` for `patience` looks.
    """

    exponential: bool = False
    depth: int = 4
    tried: int = 0
    least: int = 3
    rate: float = 0.1
    ridge: float = 1.0
    share: float = 0.7
    rounds: int = 300
    every: int = 10
    patience: int = 3
    better: float = 1e-4


def boost(
    codes: Codes,
    y: Array,
    K: int,
    weights: Floats | None,
    fold: Array,
    seeds: Array,
    how: Boosting,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> tuple[Trees, Floats, Array, Floats, Array]:
    """(trees, gain of each node's split, start [fold, value], losses out of fold, F [row, value] out of fold).

    A model for each seed, of the rows of other folds; all have as many trees, those of fold f together, fold after fold.
    Two classes have one value, the log-odds of the second, more classes one each. `counts` of these trees are what a row
    that ends in a node is given. `tell` hears now and then how many rounds are done.
    """
    work = codes.cells.size * (1 if K == 2 else K) * len(seeds) * min(how.every, how.rounds)
    trees, gains, start, losses, out = native().boost(
        *codes.told,
        np.ascontiguousarray(y, dtype=np.uint32),
        K,
        weights,
        fold,
        seeds.tolist(),
        astuple(how),
        n_threads(n_jobs, work),
        tell,
    )
    return Trees(*trees), gains, start, losses, out


def boost_tree(
    codes: Codes, g: Floats, h: Floats, how: Boosting, seed: int = 0, words: bool = False
) -> tuple[Trees, Floats]:
    """(The tree of derivatives g and h [row, value], what each node's split gains).

    In `words`, as of many rows of several classes, g and h have some steps up to their greatest and are rounded by chance.

    >>> codes = Codes(np.array([[0, 1, 2, 3]], np.uint8), (4,), (False,))
    >>> g, h = np.array([[-0.5], [-0.5], [0.5], [0.5]]), np.full((4, 1), 0.25)
    >>> tree, gains = boost_tree(codes, g, h, Boosting(depth=1, least=1, rate=1.0))
    >>> int(tree.cut[0]), tree.counts[:, 0].round(3), round(float(gains[0]), 3)
    (1, array([ 0.   ,  0.667, -0.667], dtype=float32), 1.333)
    """
    trees, gains = native().boost_tree(*codes.told, g, h, seed, astuple(how), words, 1)
    return Trees(*trees), gains


def boosted_posterior(trees: Trees, start: Array, K: int, codes: Codes, n_jobs: int | None = None) -> Floats:
    """The mean over folds of softmax(start + Σ of what the fold's trees give the row)."""
    out = np.zeros((codes.n, K))
    threads = n_threads(n_jobs, codes.n * max(len(trees), 1) * 10)
    native().boosted_posterior(*codes.told, trees.held, start, K, out, threads)
    return out
