"""k by exact leave-one-out: one search for the neighbours of every training row, then every k at once.

Symbols: n rows, M the largest k, D and I distances and rows of the neighbours (n, M + 1), the row itself left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from .weights import needs_next, repeated_weights, vote_weights


def largest_k(n: int) -> int:
    """The largest k that is tried: 2√n + 10, as many neighbours as there are and as fit into memory.

    >>> largest_k(100), largest_k(5)
    (30, 4)
    """
    return max(1, min(n - 1, int(2 * np.sqrt(n)) + 10, 50_000_000 // max(n, 1)))


def totals(D: Floats, I: Array, target: Floats, weights: Any, sample_weight: Floats | None, M: int) -> Iterator[Floats]:
    """Σ_{r ≤ k} w_r target[I_r] for k = 1 … M, each (n, columns of target); the last column of target is all ones.

    Weights that do not change with k are added up; a kernel's bandwidth and a function's weights do change, and so does the
    share of a row that is repeated.
    """
    if sample_weight is not None:
        for k in range(1, M + 1):
            yield np.einsum("nk,nkc->nc", repeated_weights(D, sample_weight[I], weights, k), target[I])
        return
    if weights in (None, "uniform", "distance"):
        w = vote_weights(D[:, :M], weights)
        run = np.zeros((len(D), target.shape[1]))
        for k in range(M):
            run = run + (1.0 if w is None else w[:, k : k + 1]) * target[I[:, k]]
            yield run
        return
    for k in range(1, M + 1):
        h = D[:, k : k + 1] if needs_next(weights) and D.shape[1] > k else None
        w = vote_weights(D[:, :k], weights, h)
        yield np.einsum("nk,nkc->nc", np.ones((len(D), k)) if w is None else w, target[I[:, :k]])


def error_curve(
    D: Floats, I: Array, codes: Array, K: int, weights: Any, sample_weight: Floats | None, M: int
) -> Floats:
    """The share of training rows that k = 1 … M neighbours, the row itself not among them, put into a wrong class."""
    share = np.ones(len(D)) if sample_weight is None else sample_weight
    hot = np.hstack([np.eye(K)[codes], np.ones((len(D), 1))])
    return np.array(
        [
            np.average(run[:, :K].argmax(axis=1) != codes, weights=share)
            for run in totals(D, I, hot, weights, sample_weight, M)
        ]
    )


def squared_curve(D: Floats, I: Array, y: Floats, weights: Any, sample_weight: Floats | None, M: int) -> Floats:
    """The mean squared error of the mean of k = 1 … M neighbours, the row itself not among them; y is (n, outputs)."""
    share = np.ones(len(D)) if sample_weight is None else sample_weight
    full = np.hstack([y, np.ones((len(D), 1))])
    level = np.average(y, axis=0, weights=share)
    curve = []
    for run in totals(D, I, full, weights, sample_weight, M):
        weight = run[:, -1:]
        mean = np.where(weight > 0, run[:, :-1] / np.where(weight > 0, weight, 1.0), level)
        curve.append(np.average(((mean - y) ** 2).sum(axis=1), weights=share))
    return np.array(curve)
