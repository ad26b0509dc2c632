"""Several columns together: pairs counted in one pass, rows under super-parents, ladders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import BadValue
from . import n_threads, native

LINE = 64  # bytes of a cache line
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
    out of the tables of j. `way` forces bitmaps or increments; left alone, each pair is counted the faster way. Weights
    (n, K) are shares: a row counts w[r, y] in every class y, and its own class is not asked.

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
        elif weights.ndim == 2:
            native().share_pairs(columns, sizes, weights, table, threads)
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


def padded(n_classes: int) -> int:
    """How many classes a table of the kernels below has room for: 2, or a multiple of 4."""
    return 2 if n_classes <= 2 else -(-n_classes // 4) * 4


def parent_table(made: Callable[[int], Floats], rows: int, cells: int, n_classes: int) -> Floats:
    """A table [row, cell, class] of the kernels below, as `made` (np.ones, np.zeros) fills it.

    It begins where a cache line does, so that no four classes lie across two lines: where they did, by the luck of the
    process, the kernels took a sixth to a quarter longer.

    >>> table = parent_table(np.ones, 2, 5, 3)
    >>> table.shape, table.__array_interface__["data"][0] % LINE
    ((2, 5, 4), 0)
    """
    shape = rows, cells, padded(n_classes)
    raw = made(math.prod(shape) + LINE // 8)
    first = -raw.__array_interface__["data"][0] % LINE // 8
    return raw[first : first + math.prod(shape)].reshape(shape)


def sum_of_products(rows: Array, cells: Array, theta: Floats, n_classes: int, n_jobs: int | None = None) -> Floats:
    """out[r, y] = ln Σ_s Π_j theta[rows[r, s], cells[r, j], y]; −inf where no super-parent takes part.

    Rows and cells are int32 and negative where they take no part; the classes of theta are padded with ones.

    >>> theta = np.full((1, 2, 2), 0.5)
    >>> np.exp(sum_of_products(np.zeros((1, 1), np.int32), np.array([[0, 1]], np.int32), theta, 2)).tolist()
    [[0.25, 0.25]]
    """
    out = np.empty((len(rows), n_classes))
    threads = n_threads(n_jobs, rows.size * cells.shape[1] * n_classes // 8)
    try:
        rows, cells = np.ascontiguousarray(rows), np.ascontiguousarray(cells)
        native().sum_of_products(rows, cells, theta, _block(theta), out, threads)
    except IndexError as out_of_range:
        raise BadValue(str(out_of_range)) from None
    return out


def leave_one_out(
    codes: Array,
    first: Array,
    y: Array,
    theta: Floats,
    own: Floats,
    totals: Floats | None,
    prior: Floats,
    prior_own: Floats,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Sums [d, 3] of log loss, squared error and 0-1 loss with each attribute as the super-parent: see `reference`."""
    d = codes.shape[1]
    sums = np.zeros((d, 3))
    threads = n_threads(n_jobs, codes.size * d * len(prior) // 4)
    block = _block(theta) if totals is not None else min(_block(theta), _block(own))
    try:
        native().leave_one_out(codes, first, y, theta, own, totals, prior, prior_own, weights, block, sums, threads)
    except IndexError as out_of_range:
        raise BadValue(str(out_of_range)) from None
    return sums


def pair_tables(
    scopes: Array,
    offsets: Array,
    cells: Array | None,
    counts: Array,
    sizes: Sequence[int],
    keys: Array,
    smoothing: float,
    n_jobs: int | None = None,
) -> Floats:
    """θ[ab, c, y] of pairs of values ab as super-parents, from counts of all triples of columns: see `reference`."""
    theta = parent_table(np.zeros, len(keys), int(sum(sizes)), counts.shape[1])
    threads = n_threads(n_jobs, theta.size)
    native().pair_tables(
        scopes.reshape(-1, 3), offsets, cells, counts, list(sizes), keys.tolist(), smoothing, theta, threads
    )
    return theta


def _block(theta: Floats) -> int:
    """How many factors may be multiplied before the product can leave the normal numbers."""
    least = float(theta.min(initial=1.0, where=theta > 0))
    return max(1, int(900 / max(-np.log2(least), 1e-3)))


def ladder_losses(
    columns: Sequence[Array],
    sizes: Sequence[int],
    ladders: Sequence[tuple[Sequence[int], Sequence[int]]],
    log_theta: Floats,
    start: Floats,
    y: Array,
    most: int,
    every: bool,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Sums [k, t, 3] of log loss, squared error of P(y|x) and 0-1 loss with up to k parents and the first t ladders.

    A ladder is (family, begins): its child and the child's parents, and where the tables of its rungs begin in
    log_theta [cell, y]; rung l is [x_p1, …, x_pl, x_child] of ln θ. A code that is not below its column's size is missing:
    a missing child adds nothing, a missing parent ends the climb. All t are judged where `every` is asked, else the last.

    >>> x, y = np.array([0, 1], np.uint8), np.array([0, 1], np.uint8)
    >>> theta = np.log(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> found = ladder_losses([x], [2], [((0,), (0,))], theta, np.log([0.5, 0.5]), y, 0, True)
    >>> np.exp(-found[0, :, 0] / 2).round(4).tolist()
    [0.5, 0.75]
    """
    sums = np.zeros((most + 1, len(ladders) + 1, 3))
    work = len(y) * (most + 1) * len(ladders) * len(start) * (4 if every else 1)
    ends = np.cumsum([0, *(len(family) for family, _ in ladders)])
    native().ladder_losses(
        list(columns),
        list(sizes),
        ends,
        np.array([j for family, _ in ladders for j in family], dtype=np.int32),
        np.array([cell for _, begins in ladders for cell in begins], dtype=np.int64),
        log_theta,
        start,
        y,
        weights,
        every,
        sums,
        n_threads(n_jobs, work),
    )
    return sums
