"""Counting all pairs of columns in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posteriori.errors import BadValue, MemoryBudgetError
from posteriori.kernels import n_threads, native

__all__ = ["count_pairs", "memory_budget", "pair_offsets", "refuse_over"]

Array = NDArray[Any]
Floats = NDArray[np.float64]
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


def memory_budget(max_memory: float | None) -> float:
    """The bytes that a call may take: what was told, else half of the memory of this machine (or container)."""
    if max_memory is not None:
        return float(max_memory)
    import os

    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 4.0 * 2**30
    try:
        with open("/sys/fs/cgroup/memory.max") as limit:
            total = min(total, float(limit.read()))
    except (OSError, ValueError):
        pass
    return total / 2


def refuse_over(max_memory: float | None, needed: float, what: str) -> None:
    """Refuse work that would take more bytes than allowed, with both figures, before it starts.

    >>> refuse_over(1e6, 5e6, "a table")
    Traceback (most recent call last):
    ...
    posteriori.errors.MemoryBudgetError: a table would take 5.0 MB, over the budget of 1.0 MB; raise max_memory (bytes) ...
    """
    budget = memory_budget(max_memory)
    if needed > budget:
        raise MemoryBudgetError(
            f"{what} would take {_size(needed)}, over the budget of {_size(budget)}; "
            "raise max_memory (bytes) or give fewer columns or values"
        )


def _size(n: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= scale:
            return f"{n / scale:.1f} {unit}"
    return f"{n:.0f} bytes"
