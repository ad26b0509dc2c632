"""Scores that are linear in x, with the infinite weights of an unsmoothed model kept apart.

Symbols: score[r, y] = start[y] + Σ_j x_rj · w[j, y]. Where w is −inf, x·w is −inf for x > 0 and nothing for x = 0; so the
finite weights are summed, and the infinite ones counted: `hits` holds 1 for each, and a class that is hit is impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kernels.naive import log_joint_sparse


@dataclass(frozen=True)
class Linear:
    """Finite weights (d, K), their start (K,) and its lost digits, the infinite weights and how many hit every row."""

    table: Floats
    start: Floats
    low: Floats
    hits: Floats | None
    always: Floats

    @classmethod
    def of(cls, weights: Floats, start: Floats, low: Floats | None = None, always: Floats | None = None) -> Linear:
        """Split weights (d, K) into what is finite and what is not; `always` counts hits where x = 0."""
        finite = np.isfinite(weights)
        hits = None if finite.all() else (~finite).astype(np.float64)
        zero = np.zeros(weights.shape[1])
        return cls(
            np.ascontiguousarray(weights if hits is None else np.where(finite, weights, 0.0)),
            np.ascontiguousarray(start),
            zero if low is None else low,
            hits,
            zero if always is None else always,
        )

    def score(self, X: Any, above: float | None = None) -> tuple[Floats, Floats | None, int]:
        """(finite scores, number of infinite ones or None, what was seen among stored cells) of dense or CSR rows."""
        table, start = self.table, self.start
        if self.hits is not None:
            table, start = np.hstack([table, self.hits]), np.concatenate([start, self.always])
        if isinstance(X, np.ndarray):
            out = X @ table
            out += start
            seen = 0
        else:
            out, seen = log_joint_sparse(X.indptr, X.indices, X.data, table, start, above)
        k = len(self.start)
        scores = out if self.hits is None else np.ascontiguousarray(out[:, :k])
        if self.low.any():
            scores += self.low
        return scores, None if self.hits is None else out[:, k:], seen


def exact_sum(rows: Floats) -> tuple[Floats, Floats]:
    """Σ over the first axis in the widest float there is: (sum, what rounding it to float64 lost)."""
    total = np.ascontiguousarray(rows.T, dtype=np.longdouble).sum(axis=1)  # along the last axis NumPy sums by halves
    high = total.astype(np.float64)
    return high, (total - high).astype(np.float64)
