"""The native kernels of naive Bayes. `reference.naive` specifies each; symbols as there.

A thread is worth about 100 µs of work, so small calls run on one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Array, Floats
from ..budget import refuse_over
from ..errors import BadValue
from . import n_threads, native

Columns = Sequence[Array] | Array  # 1-D arrays of codes, or a matrix (n, d) of codes

NUMBERS = frozenset(np.dtype(t) for t in ("f8", "f4", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"))
NAN, INF = 1, 2  # what a kernel saw among the numbers it read


def _columns(columns: Columns) -> tuple[Any, int, int]:
    """(what the kernel takes, n, d)."""
    if isinstance(columns, np.ndarray):
        return columns, columns.shape[0], columns.shape[1]
    columns = columns if type(columns) is list else list(columns)
    return columns, len(columns[0]) if columns else 0, len(columns)


def count_cells(
    columns: Columns,
    y: Array,
    offsets: Array,
    n_classes: int,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Array:
    """N[offsets[j] + code, y] = Σ w of the rows with that code in column j and that class; int64 without weights.

    Weights (n, K) are shares: a row counts w[r, y] in every class y, and its own class is not asked.
    """
    columns, n, d = _columns(columns)
    threads = n_threads(n_jobs, n * d)
    if weights is not None and weights.ndim == 2:
        table = np.zeros((int(offsets[-1]), n_classes))
        native().share_cells(columns, offsets, weights, table, n_threads(n_jobs, n * d * (1 + n_classes // 2)))
        return table
    if weights is None:
        counts = np.zeros((int(offsets[-1]), n_classes), dtype=np.int64)
        native().count_cells(columns, y, offsets, counts, threads)
        return counts
    table = np.zeros((int(offsets[-1]), n_classes))
    native().add_cells(columns, y, offsets, weights, table, threads)
    return table


def count_families(
    columns: Columns, sizes: Sequence[int], families: Sequence[Sequence[int]], n_jobs: int | None = None
) -> list[Array]:
    """N[x_family] of each family of columns, flat, its last column fastest; `sizes` are the values of the columns."""
    columns, n, _ = _columns(columns)
    starts = _ends([math.prod(sizes[j] for j in family) for family in families])
    ends = _ends([len(family) for family in families])
    items = np.fromiter((j for family in families for j in family), np.int32, int(ends[-1]))
    table = np.zeros(int(starts[-1]), dtype=np.int64)
    threads = n_threads(n_jobs, n * len(items))
    native().count_families(columns, _ends(sizes), ends, items, starts, table, threads)
    return [table[a:b] for a, b in itertools.pairwise(starts.tolist())]


def _ends(lengths: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)


def class_rows(y: Array, n_classes: int, weights: Floats | None = None) -> Array:
    """N[y]: Σ w of the rows of each class; int64 without weights. Weights (n, K) are shares."""
    if weights is not None and weights.ndim == 2:
        found: Array = np.add.reduce(weights, axis=0)
        return found
    if weights is not None or len(y) < 1 << 14:
        return np.bincount(y, weights, minlength=n_classes)
    one = np.broadcast_to(np.uint8(0), len(y))  # the classes as a column of one class: bincount copies codes to 64 bits
    return count_cells([y], one, np.array([0, n_classes]), 1)[:, 0]


def log_joint_cells(
    columns: Columns, log_theta: Floats, offsets: Array, start: Floats, n_jobs: int | None = None
) -> Floats:
    """out[r, y] = start[y] + Σ_j log_theta[offsets[j] + code_jr, y]; start is log P(y), or a matrix (n, K) to add to."""
    columns, n, d = _columns(columns)
    out = np.empty((n, log_theta.shape[1]))
    native().score_cells(columns, log_theta, offsets, start, out, False, n_threads(n_jobs, n * d))
    return out


def posterior_cells(
    columns: Columns, log_theta: Floats, offsets: Array, start: Floats, n_jobs: int | None = None
) -> tuple[Floats, int]:
    """(P(y|x), first row that no class allows or −1) of log_joint_cells, in one pass."""
    columns, n, d = _columns(columns)
    out = np.empty((n, log_theta.shape[1]))
    threads = 1 if n < 1000 else n_threads(n_jobs, n * d)
    return out, native().score_cells(columns, log_theta, offsets, start, out, True, threads)


def normalise(log_joint: Floats, n_jobs: int | None = None, out: Floats | None = None) -> tuple[Floats, Floats]:
    """(posterior, log evidence) of each row; a row of −inf alone has posterior 0 and evidence −inf.

    The posterior is written to `out`, which may be log_joint itself.
    """
    posterior, evidence = np.empty(log_joint.shape) if out is None else out, np.empty(len(log_joint))
    native().normalise(log_joint, posterior, evidence, n_threads(n_jobs, 4 * log_joint.size))
    return posterior, evidence


def posterior(log_joint: Floats, n_jobs: int | None = None) -> tuple[Floats, int]:
    """(P(y|x), first row that no class allows or −1); log_joint is overwritten."""
    row = native().normalise(log_joint, log_joint, None, n_threads(n_jobs, 4 * log_joint.size))
    return log_joint, row


def share_out(
    log_joint: Floats, known: Array, weights: Floats | None = None, hard: bool = False, n_jobs: int | None = None
) -> tuple[Floats, float]:
    """(w·P(y|x), Σ w ln P(x)), log_joint overwritten: rows of class known[r] ≥ 0 give w to it and count w ln P(y, x).

    `hard`: a hidden row gives w to its most probable class, the first of equals, and counts w max_y ln P(y, x).
    """
    total: float = native().share_out(log_joint, known, weights, hard, n_threads(n_jobs, 4 * log_joint.size))
    return log_joint, total


def readable(X: Array) -> Array:
    """What the kernels read as it is, in any order of memory: float32, float64, integers, booleans as bytes."""
    if X.dtype == bool:
        return X.view(np.uint8)
    return X if X.dtype in NUMBERS else X.astype(np.float64)


def class_moments(
    X: Array, y: Array, n_classes: int, weights: Floats | None = None, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(n, mean, M2, low, high), each (K, d): Σw, Σwx/Σw, Σw(x−mean)², least and greatest x of weight; NaN is missing."""
    n, mean, m2, low, high, seen = class_moments_seen(X, y, n_classes, weights, n_jobs)
    if seen & INF:
        raise BadValue("Input X contains infinity: a mean and a variance need finite numbers")
    if not (np.isfinite(mean).all() and np.isfinite(m2).all()):
        raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")
    return n, mean, m2, low, high


def class_moments_seen(
    X: Array, y: Array, n_classes: int, weights: Floats | None = None, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats, int]:
    """class_moments as they come out, and whether NaN (bit 1) or inf (bit 2) was among the cells.

    Weights (n, K) are shares; of these there is no range, since nobody forgets a part of a row.
    """
    X = readable(X)
    refuse_large(X.shape[1], n_classes, 10)
    n, mean, m2, low, high = np.zeros((5, n_classes, X.shape[1]))
    low += np.inf
    high -= np.inf
    if weights is not None and weights.ndim == 2:
        threads = n_threads(n_jobs, X.size * n_classes)
        seen = native().share_moments(X, weights, n, mean, m2, threads)
        return n, mean, m2, low, high, seen
    seen = native().class_moments(X, y, weights, n, mean, m2, low, high, n_threads(n_jobs, X.size))
    return n, mean, m2, low, high, seen


def score_gaussian(
    X: Array, mean: Floats, variance: Floats, start: Floats, posterior: bool, n_jobs: int | None = None
) -> tuple[Floats, int, int]:
    """(log joint or posterior, first impossible row or −1, whether NaN (bit 1) or inf (bit 2) was among the cells).

    ln P[r, y] = start + Σ_j −½[ln 2πσ²_yj + (x_j − μ_yj)²/σ²_yj] over the observed cells; mean, variance are (K, d).
    """
    X = readable(X)
    n, k = len(X), len(mean)
    out = np.empty((n, k))
    threads = 1 if n < 1000 else n_threads(n_jobs, n * mean.size)
    row, seen = native().score_gaussian(X, mean, variance, start, out, posterior, threads)
    return out, row, seen


def kernel_tree(centres: Floats, weights: Floats, width: float, n_jobs: int | None = None) -> Floats:
    """What `log_kernel_sums` needs of its centres (sorted, at least one) and their weights (positive)."""
    tree = np.empty(native().kernel_tree_shape(len(centres)))
    native().kernel_tree(centres, weights, width, tree, n_threads(n_jobs, 50 * len(centres)))
    return tree


def log_kernel_sums(
    x: Floats, centres: Floats, weights: Floats, width: float, tree: Floats, n_jobs: int | None = None
) -> Floats:
    """ln Σ_v w_v exp(−½((x − v)/h)²) of each x, to 1e-7 of the sum."""
    out = np.empty(len(x))
    native().kernel_sums(x, centres, weights, width, tree, out, n_threads(n_jobs, 1000 * len(x)))
    return out


NEGATIVE, NOT_FINITE = 1, 2  # what a kernel saw among the stored cells of a sparse matrix


def _stored(indptr: Array, indices: Array, data: Array | None) -> tuple[Array, Array, Array | None]:
    """Index arrays of one type, data of a type that the kernels read."""
    if indptr.dtype != indices.dtype or indptr.dtype not in (np.int32, np.int64):
        indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    if data is not None and data.dtype.char not in "dflqiB?":
        data = data.astype(np.float64)
    return indptr, indices, data


def refuse_large(columns: int, n_classes: int, tables: int, what: str = "columns") -> None:
    """Refuse counts of so many columns by class that do not fit."""
    if columns * n_classes > 1 << 20:
        counting = f"counting {columns} {what} for {n_classes} classes"
        refuse_over(None, 8.0 * columns * n_classes * tables, counting, f"give fewer {what} or classes")


def _room(rows: int, n_classes: int, zeros: bool = False) -> Floats:
    """An array (rows, K), on large pages where it is large; NumPy asks for them from 4 MB on."""
    size = rows * n_classes
    if size < 1 << 16:
        return (np.zeros if zeros else np.empty)((rows, n_classes))
    found: Floats = native().numbers(rows, n_classes, zeros, n_threads(None, size if zeros else 0))
    return found


def count_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    n_columns: int,
    y: Array,
    n_classes: int,
    weights: Floats | None = None,
    above: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, int]:
    """(N, seen): N[j, y] = Σ w·x over the stored cells of a CSR matrix, shape (d, K).

    Without data every stored cell is 1; with `above` a cell is 1 above it, else 0. `seen` says whether a negative (bit 1)
    or a non-finite (bit 2) number was among the data. Weights (n, K) are shares.
    """
    indptr, indices, data = _stored(indptr, indices, data)
    refuse_large(n_columns, n_classes, 3)  # the counts, and the logarithms that are made of them
    table = _room(n_columns, n_classes, zeros=True)
    if weights is not None and weights.ndim == 2:
        seen = 0
        for c, own in enumerate(np.ascontiguousarray(weights.T)):
            one, met = count_sparse(
                indptr, indices, data, n_columns, np.zeros(len(own), np.uint8), 1, own, above, n_jobs
            )
            table[:, c] = one[:, 0]
            seen |= met
        return table, seen
    threads = n_threads(n_jobs, 4 * len(indices))
    threshold = np.nan if above is None else above
    return table, native().count_sparse(indptr, indices, data, y, weights, table, threshold, threads)


def log_joint_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    table: Floats,
    start: Floats,
    above: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, int]:
    """(out, seen): out[r, y] = start[y] + Σ_j x_rj·table[j, y] over the stored cells; x and `seen` as in count_sparse."""
    out, _, seen = score_sparse(indptr, indices, data, table, start, None, above, False, n_jobs)
    return out, seen


def score_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    table: Floats,
    start: Floats,
    low: Floats | None,
    above: float | None,
    posterior: bool,
    n_jobs: int | None = None,
) -> tuple[Floats, int, int]:
    """(log joint or posterior, first impossible row or −1, seen) of log_joint_sparse in one pass.

    `low`, shape (K,), is what rounding took from `start`.
    """
    indptr, indices, data = _stored(indptr, indices, data)
    out = _room(len(indptr) - 1, table.shape[1])
    threads = n_threads(n_jobs, len(indices) * (2 + table.shape[1] // 2) + 4 * out.size)
    threshold = np.nan if above is None else above
    row, seen = native().score_sparse(indptr, indices, data, table, start, low, out, posterior, threshold, threads)
    return out, row, seen


def log_counts(
    counts: Array,
    offsets: Array,
    alpha: Array,
    below: Floats,
    others: bool = False,
    by_class: Floats | None = None,
    less: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, bool]:
    """(ln(N'[r, y] + α_r) − below[s, y] for the rows r of each scope s, whether all are finite).

    N' are the counts (rows, K), or by_class[y] − N, or what the other classes have, Σ_c N[r, c] − N[r, y], and then the
    negative is taken. `alpha` has one entry, or one a row; scope s owns the rows offsets[s] .. offsets[s+1]. `less`, shape
    (rows, K), is taken away in the end; whether its numbers are finite is not said.
    """
    counts = np.ascontiguousarray(counts, dtype=None if counts.dtype == np.int64 else np.float64)
    out = _room(*counts.shape)
    threads = n_threads(n_jobs, 4 * out.size)
    return out, native().log_counts(counts, offsets, others, by_class, alpha, below, less, out, threads)


def column_sums(table: Floats, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    """(Σ over the first axis, what rounding took from it)."""
    high, low = np.empty(table.shape[1]), np.empty(table.shape[1])
    native().column_sums(np.ascontiguousarray(table, dtype=np.float64), high, low, n_threads(n_jobs, 4 * table.size))
    return high, low


def narrow(X: Array, n_jobs: int | None = None) -> Array | None:
    """X as bytes in its own order of memory, floats cut to whole numbers; None if one is none of 0 .. 255.

    X is contiguous, by rows or by columns, and its dtype one of NARROWED.
    """
    codes = np.empty_like(X, dtype=np.uint8, subok=False)
    threads = n_threads(n_jobs, X.size // 2)
    return codes if native().narrow(X.ravel(order="K"), codes.ravel(order="K"), threads) else None


NARROWED = frozenset(np.dtype(t) for t in ("f8", "f4", "i8", "i4"))


def encode_integers(y: Array) -> tuple[Array, Array] | None:
    """(distinct values, codes) of integers that span less than 65536 and 256 + 16 n; else None.

    Some labels say where all lie: one read, and two where they were wrong.
    """
    threads, most = n_threads(None, 2 * len(y)), min(1 << 16, 256 + 16 * len(y))
    ends = native().label_range(y[:: 1 + len(y) // 1024], most, 1)
    try:
        return ends and _codes_between(y, ends, threads)
    except IndexError:
        ends = native().label_range(y, most, threads)
        return ends and _codes_between(y, ends, threads)


def _codes_between(y: Array, ends: tuple[int, int], threads: int) -> tuple[Array, Array]:
    span = ends[1] - ends[0] + 1
    codes = np.empty(len(y), np.uint8 if span <= 256 else np.uint16)
    found = native().label_codes(y, ends[0], span, codes, threads)
    return np.array(found, dtype=y.dtype), codes.astype(np.uint8) if len(found) <= 256 < span else codes
