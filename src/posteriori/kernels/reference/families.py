"""Scores of families, in NumPy.

Symbols: N[π, x] rows with the parents in configuration π and the child at x, r values of the child, q configurations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, xlogy

from ...arrays import Array, Floats


def family_counts(
    codes: Array, sizes: Sequence[int], child: int, parents: Sequence[int], weights: Floats | None = None
) -> Floats:
    """N[π, x] of the rows in which no cell of the family is missing."""
    family = [*parents, child]
    known = np.all([codes[j] < sizes[j] for j in family], axis=0)
    shape = [sizes[j] for j in family]
    cells = np.ravel_multi_index([codes[j][known].astype(np.int64) for j in family], shape)
    counts = np.bincount(cells, None if weights is None else weights[known], minlength=int(np.prod(shape)))
    found: Floats = counts.reshape(-1, sizes[child]).astype(np.float64)
    return found


def family_score(counts: Floats, kind: str, number: float) -> float:
    """The score of one family from its counts."""
    q, r = counts.shape
    whole = counts.sum(axis=1)
    if kind == "penalised":
        likelihood = xlogy(counts, counts).sum() - xlogy(whole, whole).sum()
        return float(likelihood - number * q * (r - 1))
    a = number / (q * r) if kind == "bdeu" else 1.0
    return float((gammaln(a + counts) - gammaln(a)).sum() + (gammaln(a * r) - gammaln(a * r + whole)).sum())


def toggle_scores(
    codes: Array,
    sizes: Sequence[int],
    child: int,
    parents: Sequence[int],
    candidates: Sequence[int],
    kind: str,
    number: float,
    weights: Floats | None = None,
) -> Floats:
    """The score with `parents`, then with each candidate added to them or taken away."""
    toggled = [[p for p in parents if p != c] if c in parents else [*parents, c] for c in candidates]
    return np.array(
        [
            family_score(family_counts(codes, sizes, child, some, weights), kind, number)
            for some in [list(parents), *toggled]
        ]
    )
