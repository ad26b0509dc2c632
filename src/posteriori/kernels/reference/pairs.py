"""Pair counts, in NumPy.

Symbols: n rows, d columns, K classes; column j has codes 0 … S_j − 1, and S_j for missing. Tables of the pairs i < j follow
each other in the order (0,1), (0,2), …, (1,2), …; the table of (i, j) is [xi, xj, y], the class fastest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Array, Floats


def count_pairs(
    columns: Sequence[Array], sizes: Sequence[int], y: Array, n_classes: int, weights: Floats | None = None
) -> Array:
    """N[xi, xj, y] of all pairs, stacked: shape (Σ_{i<j} S_i·S_j, K); int64 without weights."""
    tables = [np.zeros((0, n_classes), dtype=np.int64 if weights is None else np.float64)]
    for i in range(len(columns)):
        for j in range(i + 1, len(columns)):
            seen = (columns[i] < sizes[i]) & (columns[j] < sizes[j])
            a, b, c = (v[seen].astype(np.int64) for v in (columns[i], columns[j], y))
            cells = sizes[i] * sizes[j]
            flat = (a * sizes[j] + b) * n_classes + c
            counted = np.bincount(flat, None if weights is None else weights[seen], minlength=cells * n_classes)
            tables.append(counted.reshape(cells, n_classes))
    return np.concatenate(tables)
