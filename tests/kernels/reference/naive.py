"""Counting and scoring for naive Bayes, in NumPy.

Symbols: n rows, d columns, K classes; y class codes (n,); w weights (n,) or None; S_j values of column j.
Columns are 1-D arrays of unsigned codes (any stride); column j owns the rows offsets[j] .. offsets[j+1] of a table of
shape (cells, K), the class being the fastest axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.arrays import Array, Floats


def _columns(columns: Sequence[Array] | Array) -> Sequence[Array]:
    """The columns of a matrix (n, d), or the sequence itself."""
    return list(columns.T) if isinstance(columns, np.ndarray) else columns


def count_cells(
    columns: Sequence[Array] | Array, y: Array, offsets: Array, n_classes: int, weights: Floats | None = None
) -> Array:
    """N[offsets[j] + code, y] = Σ w of the rows with that code in column j and that class; int64 without weights.

    Weights (n, K) are shares: a row counts w[r, y] in every class y.
    """
    table = np.zeros((int(offsets[-1]), n_classes), dtype=np.int64 if weights is None else np.float64)
    for j, codes in enumerate(_columns(columns)):
        if weights is not None and weights.ndim == 2:
            np.add.at(table, int(offsets[j]) + codes.astype(np.int64), weights)
            continue
        size = int(offsets[j + 1] - offsets[j])
        flat = codes.astype(np.int64) * n_classes + y
        counted = np.bincount(flat, weights, minlength=size * n_classes)
        table[offsets[j] : offsets[j + 1]] = counted.reshape(size, n_classes)
    return table


def count_families(
    columns: Sequence[Array] | Array, sizes: Sequence[int], families: Sequence[Sequence[int]]
) -> list[Array]:
    """N[x_family] of each family of columns, flat, its last column fastest; `sizes` are the values of the columns."""
    found, columns = [], _columns(columns)
    for family in families:
        shape = [sizes[j] for j in family]
        codes = np.ravel_multi_index([columns[j].astype(np.int64) for j in family], shape)
        found.append(np.bincount(codes, minlength=int(np.prod(shape))))
    return found


def log_joint_cells(columns: Sequence[Array] | Array, log_theta: Floats, offsets: Array, start: Floats) -> Floats:
    """out[r, y] = start[y] + Σ_j log_theta[offsets[j] + code_jr, y]; start is log P(y), or a matrix (n, K) to add to."""
    columns = _columns(columns)
    n = len(columns[0])
    out = np.array(np.broadcast_to(start, (n, log_theta.shape[1])), dtype=np.float64)
    for j, codes in enumerate(columns):
        out += log_theta[int(offsets[j]) + codes.astype(np.int64)]
    return out


def normalise(log_joint: Floats) -> tuple[Floats, Floats]:
    """(posterior, log evidence) of each row; a row of −inf alone has posterior 0 and evidence −inf."""
    top = log_joint.max(axis=1, initial=-np.inf)
    safe = np.maximum(top, -np.finfo(np.float64).max)
    scaled = np.exp(log_joint - safe[:, None])
    total = scaled.sum(axis=1)
    with np.errstate(divide="ignore"):
        evidence = safe + np.log(total)
    return scaled / np.maximum(total, 1.0)[:, None], evidence  # that of the likeliest is 1, unless all are 0


def share_out(
    log_joint: Floats, known: Array, weights: Floats | None = None, hard: bool = False
) -> tuple[Floats, float]:
    """(w·P(y|x), Σ w ln P(x)): rows of class known[r] ≥ 0 give w to it and count w ln P(y, x); `hard`, to the likeliest."""
    shares, value = normalise(log_joint)
    own = np.where(known < 0, log_joint.argmax(axis=1), known) if hard else known
    sure = own >= 0
    shares[sure] = np.eye(log_joint.shape[1])[own[sure]]
    value[sure] = log_joint[sure, own[sure]]
    w = np.ones(len(value)) if weights is None else weights
    return shares * w[:, None], float((w[w > 0] * value[w > 0]).sum())


def posterior(log_joint: Floats) -> tuple[Floats, int]:
    """(P(y|x), first row that no class allows or −1)."""
    answer, evidence = normalise(log_joint)
    return answer, int(np.argmax(evidence == -np.inf)) if (evidence == -np.inf).any() else -1


def posterior_cells(
    columns: Sequence[Array] | Array, log_theta: Floats, offsets: Array, start: Floats
) -> tuple[Floats, int]:
    """The posterior of log_joint_cells."""
    return posterior(log_joint_cells(columns, log_theta, offsets, start))


def class_moments(
    X: Array, y: Array, n_classes: int, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(n, mean, M2, low, high), each (K, d): Σw, Σwx/Σw, Σw(x−mean)², least and greatest x of weight; NaN is missing."""
    d = X.shape[1]
    n, mean, m2, low, high = np.zeros((5, n_classes, d))
    w = np.ones(len(y)) if weights is None else weights
    for c in range(n_classes):
        rows = np.asarray(X[y == c], dtype=np.float64)
        seen = ~np.isnan(rows)
        share = np.where(seen, w[y == c][:, None], 0.0)
        n[c] = share.sum(axis=0)
        safe = np.where(n[c] > 0, n[c], 1.0)
        shift = np.where(seen, rows, 0.0)[0] if len(rows) else np.zeros(d)
        mean[c] = np.where(n[c] > 0, shift + (share * np.where(seen, rows - shift, 0.0)).sum(axis=0) / safe, 0.0)
        m2[c] = (share * np.where(seen, rows - mean[c], 0.0) ** 2).sum(axis=0)
        low[c] = np.where(share > 0, rows, np.inf).min(axis=0, initial=np.inf)
        high[c] = np.where(share > 0, rows, -np.inf).max(axis=0, initial=-np.inf)
    return n, mean, m2, low, high


def log_joint_gaussian(X: Array, mean: Floats, variance: Floats, start: Floats) -> Floats:
    """out[r, y] = start + Σ_j −½[ln 2πσ²_yj + (x_j − μ_yj)²/σ²_yj] over the observed cells; mean, variance are (K, d)."""
    X = np.asarray(X, dtype=np.float64)
    out = np.array(np.broadcast_to(start, (len(X), len(mean))), dtype=np.float64)
    seen = ~np.isnan(X)
    for c in range(len(mean)):
        term = -0.5 * (np.log(2 * np.pi * variance[c]) + (X - mean[c]) ** 2 / variance[c])
        out[:, c] += np.where(seen, term, 0.0).sum(axis=1)
    return out


def _values(indices: Array, data: Array | None, above: float | None) -> tuple[Floats, int]:
    """x of each stored cell, and whether a negative (bit 1) or a non-finite (bit 2) number was among the data."""
    if data is None:
        return np.ones(len(indices)), 0
    x = np.asarray(data, dtype=np.float64)
    seen = int((x < 0).any()) | 2 * int(not np.isfinite(x).all())
    return (x if above is None else (x > above).astype(np.float64)), seen


def count_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    n_columns: int,
    y: Array,
    n_classes: int,
    weights: Floats | None = None,
    above: float | None = None,
) -> tuple[Floats, int]:
    """(N, seen): N[j, y] = Σ w·x over the stored cells of a CSR matrix, shape (d, K).

    Without data every stored cell is 1; with `above` a cell is 1 above it, else 0. `seen` says whether a negative (bit 1)
    or a non-finite (bit 2) number was among the data.
    """
    x, seen = _values(indices, data, above)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    flat = indices.astype(np.int64) * n_classes + y[rows]
    total = np.bincount(flat, x if weights is None else x * weights[rows], minlength=n_columns * n_classes)
    return total.astype(np.float64).reshape(n_columns, n_classes), seen


def log_joint_sparse(
    indptr: Array, indices: Array, data: Array | None, table: Floats, start: Floats, above: float | None = None
) -> tuple[Floats, int]:
    """(out, seen): out[r, y] = start[y] + Σ_j x_rj·table[j, y] over the stored cells; x and `seen` as in count_sparse."""
    n = len(indptr) - 1
    x, seen = _values(indices, data, above)
    out = np.array(np.broadcast_to(start, (n, table.shape[1])), dtype=np.float64)
    np.add.at(out, np.repeat(np.arange(n), np.diff(indptr)), x[:, None] * table[indices])
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
) -> tuple[Floats, int, int]:
    """(log joint or posterior, first impossible row or −1, seen) of log_joint_sparse; `low` is added to every start."""
    out, seen = log_joint_sparse(indptr, indices, data, table, start, above)
    out = out if low is None else out + low
    answer, evidence = normalise(out)
    row = int(np.argmax(evidence == -np.inf)) if posterior and (evidence == -np.inf).any() else -1
    return (answer if posterior else out), row, seen


def log_counts(
    counts: Array,
    offsets: Array,
    alpha: Array,
    below: Floats,
    others: bool = False,
    by_class: Floats | None = None,
    less: Floats | None = None,
) -> tuple[Floats, bool]:
    """(ln(N'[r, y] + α_r) − below[s, y] for the rows r of each scope s, whether all are finite).

    N' are the counts (rows, K), or by_class[y] − N, or what the other classes have, Σ_c N[r, c] − N[r, y], and then the
    negative is taken. `less` (rows, K) is taken away in the end.
    """
    part = counts.sum(axis=1, keepdims=True) - counts if others else counts
    part = part if by_class is None else by_class - counts
    with np.errstate(divide="ignore"):
        out: Floats = np.log(part + alpha[:, None]) - np.repeat(below, np.diff(offsets), axis=0)
    finite = bool(np.isfinite(out).all())
    out = -out if others else out
    return out if less is None else out - less, finite


def column_sums(table: Floats) -> tuple[Floats, Floats]:
    """(Σ over the first axis, what rounding took from it)."""
    total = table.sum(axis=0, dtype=np.longdouble)
    high = total.astype(np.float64)
    with np.errstate(invalid="ignore"):
        low = np.where(np.isfinite(high), total - high, 0.0)
    return high, low.astype(np.float64)


def narrow(X: Array) -> Array | None:
    """X as bytes, floats cut to whole numbers; None if one is none of 0 .. 255."""
    return X.astype(np.uint8, order="K") if ((X > -1) & (X < 256)).all() else None


def encode_integers(y: Array) -> tuple[Array, Array] | None:
    """(distinct values, codes in uint8 or uint16) of integers that span less than 65536 and 256 + 16 n; else None."""
    if int(y.max()) - int(y.min()) >= min(1 << 16, 256 + 16 * len(y)):
        return None
    found, codes = np.unique(y, return_inverse=True)
    return found, codes.astype(np.uint8 if len(found) <= 256 else np.uint16)


def log_kernel_sums(x: Floats, centres: Floats, weights: Floats, width: float) -> Floats:
    """ln Σ_v w_v exp(−½((x − v)/h)²) of each x."""
    terms = np.log(weights) - 0.5 * ((x[:, None] - centres) / width) ** 2
    top = terms.max(axis=1)
    out: Floats = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return out
