"""What attributes tell of the class, and of each other when the class is known; in nats, from counts, unsmoothed.

Symbols: N counts, n their sum; 0 ln 0 = 0. A row with a missing cell takes no part in the tables of that column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..statistics import Counts

__all__ = ["barred", "class_information", "conditional_information"]

CELLS = 1 << 22  # cells looked at a time


def class_information(counts: Counts) -> Floats:
    """I(Xj;Y) = Σ P(xj,y) ln[P(xj,y)/(P(xj)P(y))] of each scope.

    >>> class_information(Counts(np.array([[2, 0], [0, 2]]), np.array([0, 2]))).round(4).tolist()
    [0.6931]
    """
    table = counts.table.astype(np.float64)
    by_class = counts.totals().astype(np.float64)
    n = by_class.sum(axis=1)
    inner = _sums(_xlogx(table).sum(axis=1), counts.offsets)
    values = _sums(_xlogx(table.sum(axis=1)), counts.offsets)
    out = inner + _xlogx(n) - values - _xlogx(by_class).sum(axis=1)
    information: Floats = np.maximum(out / np.where(n > 0, n, 1.0), 0.0)
    return information


def conditional_information(pairs: Counts, sizes: Sequence[int]) -> Floats:
    """I(Xi;Xj|Y) = Σ P(xi,xj,y) ln[P(xi,xj|y)/(P(xi|y)P(xj|y))], a symmetric matrix; `pairs` as the pair kernel counts.

    >>> always_equal = Counts(np.array([[2], [0], [0], [2]]), np.array([0, 4]))
    >>> conditional_information(always_equal, [2, 2]).round(4).tolist()
    [[0.0, 0.6931], [0.6931, 0.0]]
    """
    d = len(sizes)
    first, second = np.triu_indices(d, k=1)
    s = np.asarray(sizes, dtype=np.int64)
    out = np.zeros((d, d))
    begin = 0
    while begin < len(first):
        end = int(np.searchsorted(pairs.offsets, pairs.offsets[begin] + CELLS, side="right")) - 1
        end = min(max(end, begin + 1), len(first))
        block = slice(begin, end)
        part = pairs.table[pairs.offsets[begin] : pairs.offsets[end]].astype(np.float64)
        found = _block(part, pairs.offsets[begin : end + 1] - pairs.offsets[begin], s[first[block]], s[second[block]])
        out[first[block], second[block]] = found
        begin = end
    both: Floats = out + out.T
    return both


def barred(weight: Floats, sizes: Sequence[int]) -> Floats:
    """The weights with −∞, which no structure takes as an edge, at columns without values: such a parent says nothing.

    >>> barred(np.zeros((2, 2)), [2, 0]).tolist()
    [[0.0, -inf], [-inf, -inf]]
    """
    empty = np.asarray(sizes) == 0
    out: Floats = np.where(empty[:, None] | empty, -np.inf, weight)
    return out


def _block(table: Floats, offsets: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    """(1/n)[Σ N ln N + Σ_y N_y ln N_y − Σ N_iy ln N_iy − Σ N_jy ln N_jy] of consecutive tables [xi, xj, y]."""
    if (rows == rows[0]).all() and (columns == columns[0]).all():  # tables of one shape need no look-up
        n = table.reshape(len(rows), int(rows[0]), int(columns[0]), table.shape[1])
        by_class = n.sum(axis=(1, 2))
        whole = _xlogx(n).sum(axis=(1, 2, 3)) + _xlogx(by_class).sum(axis=1)
        whole -= _xlogx(n.sum(axis=2)).sum(axis=(1, 2)) + _xlogx(n.sum(axis=1)).sum(axis=(1, 2))
        weight = by_class.sum(axis=1)
        out: Floats = np.maximum(whole / np.where(weight > 0, weight, 1.0), 0.0)
        return out
    cells = np.arange(len(table))
    pair = np.repeat(np.arange(len(rows)), rows * columns)
    inside = cells - offsets[pair]
    u, v = np.divmod(inside, columns[pair])
    by_i = np.concatenate([[0], np.cumsum(rows)])
    by_j = np.concatenate([[0], np.cumsum(columns)])
    total = np.zeros(len(rows))
    weight = np.zeros(len(rows))
    for c in range(table.shape[1]):
        n = table[:, c]
        n_i = _binned(by_i[pair] + u, n, int(by_i[-1]))
        n_j = _binned(by_j[pair] + v, n, int(by_j[-1]))
        n_c = _binned(pair, n, len(rows))
        total += _binned(pair, _xlogx(n), len(rows)) + _xlogx(n_c)
        total -= _sums(_xlogx(n_i), by_i) + _sums(_xlogx(n_j), by_j)
        weight += n_c
    return np.maximum(total / np.where(weight > 0, weight, 1.0), 0.0)


def _binned(place: NDArray[Any], x: Floats, n: int) -> Floats:
    """Σ x by place; floats whatever the length."""
    return np.bincount(place, x, minlength=n).astype(np.float64, copy=False)


def _sums(x: Floats, offsets: NDArray[Any]) -> Floats:
    """Sums of consecutive segments, empty ones too."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return _binned(owner, x, len(offsets) - 1)


def _xlogx(x: Floats) -> Floats:
    out: Floats = x * np.log(np.where(x > 0, x, 1.0))
    return out
