"""Rows under super-parents: products over all attributes for every super-parent at once, without underflow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, Floats
from ..errors import BadValue
from . import n_threads, native

__all__ = ["leave_one_out", "padded", "pair_tables", "sum_of_products"]


def padded(n_classes: int) -> int:
    """How many classes a table of the kernels below has room for: 2, or a multiple of 4."""
    return 2 if n_classes <= 2 else -(-n_classes // 4) * 4


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
    theta = np.zeros((len(keys), int(sum(sizes)), padded(counts.shape[1])))
    threads = n_threads(n_jobs, theta.size)
    native().pair_tables(
        scopes.reshape(-1, 3), offsets, cells, counts, list(sizes), keys.tolist(), smoothing, theta, threads
    )
    return theta


def _block(theta: Floats) -> int:
    """How many factors may be multiplied before the product can leave the normal numbers."""
    least = float(theta.min(initial=1.0, where=theta > 0))
    return max(1, int(900 / max(-np.log2(least), 1e-3)))
