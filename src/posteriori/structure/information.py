"""What attributes tell of the class, and of each other when the class is known; in nats, from counts, unsmoothed.

Symbols: N counts, n their sum; 0 ln 0 = 0. A row with a missing cell takes no part in the tables of that column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Floats, Ints
from ..statistics.counts import Counts
from ..statistics.joint import Joint
from ..table.schema import Schema
from .structures import Structure, by_information, tree

NUMBERS = 1 << 18  # counts looked at a time
ROUNDING = 1e-13  # what a sum of n ln n leaves of rounding, as a share of it: no information


def class_information(counts: Counts) -> Floats:
    """I(Xj;Y) = Σ P(xj,y) ln[P(xj,y)/(P(xj)P(y))] of each scope.

    >>> class_information(Counts(np.array([[2, 0], [0, 2]]), np.array([0, 2]))).round(4).tolist()
    [0.6931]
    """
    table = _floats(counts.table)
    by_class = np.stack([_sums(n, counts.offsets) for n in table.T], axis=1)
    n = by_class.sum(axis=1)
    inner = _sums(_xlogx(table).sum(axis=1), counts.offsets)
    values = _sums(_xlogx(table.sum(axis=1)), counts.offsets)
    out = inner + _xlogx(n) - values - _xlogx(by_class).sum(axis=1)
    return _clean(out, n)


def conditional_information(pairs: Joint, sizes: Sequence[int]) -> Floats:
    """I(Xi;Xj|Y) = Σ P(xi,xj,y) ln[P(xi,xj|y)/(P(xi|y)P(xj|y))], a symmetric matrix, from the counts of all pairs.

    >>> always_equal = Counts(np.array([[2], [0], [0], [2]]), np.array([0, 4]))
    >>> pairs = Joint(np.array([[0, 1]], dtype=np.int32), np.array([4]), always_equal)
    >>> conditional_information(pairs, [2, 2]).round(4).tolist()
    [[0.0, 0.6931], [0.6931, 0.0]]
    """
    first, second = pairs.scopes[:, 0], pairs.scopes[:, -1]
    s, offsets, counts = np.asarray(sizes, dtype=np.int64), pairs.counts.offsets, pairs.counts
    out = np.zeros((len(s), len(s)))
    begin = 0
    while begin < len(first):
        end = int(np.searchsorted(offsets, offsets[begin] + NUMBERS // counts.table.shape[1], side="right")) - 1
        end = min(max(end, begin + 1), len(first))
        rows = slice(offsets[begin], offsets[end])
        part, shape = _floats(counts.table[rows]), (s[first[begin:end]], s[second[begin:end]])
        if all((v == v[0]).all() for v in shape) and len(part) == int((shape[0] * shape[1]).sum()):
            found = _alike(part, len(shape[0]), int(shape[0][0]), int(shape[1][0]))
        else:
            pair = np.repeat(np.arange(end - begin), np.diff(offsets[begin : end + 1]))
            cells = np.arange(len(part)) - (offsets[begin:end] - offsets[begin])[pair]
            found = _block(part, cells if pairs.cells is None else pairs.cells[rows], pair, *shape)
        out[first[begin:end], second[begin:end]] = found
        begin = end
    both: Floats = out + out.T
    return both


def learn_tree(
    cells: Counts, pairs: Joint, schema: Schema, root: int | None = None, least: float = 0.0
) -> tuple[Floats, Structure]:
    """(I(Xi;Xj|Y), the tree of greatest weight); it hangs from the attribute that tells most of the class, or is told."""
    sizes = [len(c.values) for c in schema.columns]
    roots = by_information(class_information(cells))
    weight = conditional_information(pairs, sizes)
    return weight, tree(barred(weight, sizes), roots if root is None else [root, *roots], least)


def barred(weight: Floats, sizes: Sequence[int]) -> Floats:
    """The weights with −∞, which no structure takes as an edge, at columns without values: such a parent says nothing.

    >>> barred(np.zeros((2, 2)), [2, 0]).tolist()
    [[0.0, -inf], [-inf, -inf]]
    """
    empty = np.asarray(sizes) == 0
    out: Floats = np.where(empty[:, None] | empty, -np.inf, weight)
    return out


def _alike(table: Floats, n_pairs: int, rows: int, columns: int) -> Floats:
    """`_block` for tables of one shape, which need no look-up."""
    n = table.reshape(n_pairs, rows, columns, table.shape[1])
    by_class = n.sum(axis=(1, 2))
    whole = _xlogx(n).sum(axis=(1, 2, 3)) + _xlogx(by_class).sum(axis=1)
    whole -= _xlogx(n.sum(axis=2)).sum(axis=(1, 2)) + _xlogx(n.sum(axis=1)).sum(axis=(1, 2))
    return _clean(whole, by_class.sum(axis=1))


def _block(table: Floats, cells: Ints, pair: Ints, rows: Ints, columns: Ints) -> Floats:
    """(1/n)[Σ N ln N + Σ_y N_y ln N_y − Σ N_iy ln N_iy − Σ N_jy ln N_jy] of tables [xi, xj, y], by the cells they have."""
    u, v = np.divmod(cells, columns[pair])
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
    return _clean(total, weight)


def _clean(total: Floats, n: Floats) -> Floats:
    """total/n; nothing where rounding alone can have made it."""
    out: Floats = np.divide(total, n, out=np.zeros_like(n), where=total > ROUNDING * (n + np.abs(_xlogx(n))))
    return out


def _binned(place: NDArray[Any], x: Floats, n: int) -> Floats:
    """Σ x by place; floats whatever the length."""
    return np.bincount(place, x, minlength=n).astype(np.float64, copy=False)


def _sums(x: Floats, offsets: NDArray[Any]) -> Floats:
    """Sums of consecutive segments, empty ones too."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return _binned(owner, x, len(offsets) - 1)


def _floats(table: Array) -> Floats:
    """Counts as floats; of so many that Σ N ln N is no float, as many less: only their shares tell."""
    found: Floats = table.astype(np.float64)
    return found * 1e-100 if found.max(initial=0.0) > 1e290 else found


def _xlogx(x: Floats) -> Floats:
    out: Floats = x * np.log(x, out=np.zeros_like(x), where=x > 0)
    return out
