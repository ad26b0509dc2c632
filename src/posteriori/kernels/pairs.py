"""Counting all pairs of columns in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import BadValue
from . import n_threads, native

__all__ = ["count_pairs", "pair_offsets"]

_WAYS = {"auto": 0, "bitmaps": 1, "scalar": 2}


def count_pairs(
    columns: Sequence[Array] | Array,
    sizes: Sequence[int],
    y: Array,
    n_classes: int,
    weights: Floats | None = None,
    *,
    way: str = "auto",
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Array:
    """N[xi, xj, y] for all pairs i < j, stacked in one table of shape (Σ S_i·S_j, K).

    Columns are codes (uint8, 16 or 32, any stride) or the columns of one matrix; S_j stands for missing and leaves the row
    out of the tables of j. `way` forces bitmaps or increments; left alone, each pair is counted the faster way.

    >>> x = np.array([[0, 1], [1, 1], [0, 2]], dtype=np.uint8)  # 2 is missing
    >>> count_pairs(x, [2, 2], np.array([0, 1, 0], dtype=np.uint8), 2).tolist()
    [[0, 0], [1, 0], [0, 0], [0, 1]]
    """
    sizes = [int(s) for s in sizes]
    columns = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
    cells = int(pair_offsets(sizes)[-1])
    if max_memory != np.inf:  # else the caller has asked already
        refuse_over(max_memory, cells * n_classes * 8, f"pair counts of {len(sizes)} columns, {n_classes} classes")
    table = np.zeros((cells, n_classes), dtype=np.int64 if weights is None else np.float64)
    if cells == 0 or len(y) == 0:
        return table
    threads = n_threads(n_jobs, len(y) * len(sizes) * len(sizes) // 8)
    try:
        if weights is None:
            native().count_pairs(columns, sizes, y, table, _WAYS[way], threads)
        else:
            native().weigh_pairs(columns, sizes, y, np.asarray(weights, dtype=np.float64), table, threads)
    except IndexError as out_of_range:
        raise BadValue(str(out_of_range)) from None
    return table


def pair_offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where the table of each pair (0,1), (0,2), …, (1,2), … begins, in cells; the last entry is the number of cells.

    >>> pair_offsets([2, 3, 4]).tolist()
    [0, 6, 14, 26]
    """
    s = np.asarray(sizes, dtype=np.int64)
    i, j = np.triu_indices(len(s), k=1)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(s[i] * s[j])])
