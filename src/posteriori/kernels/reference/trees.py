"""Trees of counts as their definition says: every split of every column is tried, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...arrays import Array, Floats

__all__ = ["grow_tree", "path_posterior", "split_gain"]

Node = dict[str, Any]  # counts and, where it is split, column, left (codes), seen (codes), below (two nodes)


def split_gain(left: Floats, right: Floats, criterion: str) -> float:
    """What parting the classes so gains, of all rows: nats of information, that over the split's own, or Gini's purity.

    >>> round(split_gain(np.array([2.0, 0.0]), np.array([0.0, 2.0]), "entropy") / 4, 4)
    0.6931
    """

    def ent(n: Floats) -> float:
        n = n[n > 0]
        return float(n.sum() * np.log(n.sum()) - (n * np.log(n)).sum())

    def gini(n: Floats) -> float:
        return float(n.sum() - (n**2).sum() / n.sum())

    if criterion == "gini":
        return gini(left + right) - gini(left) - gini(right)
    gain = ent(left + right) - ent(left) - ent(right)
    n = left.sum() + right.sum()
    return gain if criterion == "entropy" else n * max(gain, 0.0) / ent(np.array([left.sum(), right.sum()]))


def grow_tree(
    cells: Array,
    named: tuple[bool, ...],
    y: Array,
    K: int,
    weights: Floats | None = None,
    criterion: str = "entropy",
    max_depth: int = 1 << 30,
    least: float = 0.0,
) -> Node:
    """The tree of the rows of codes cells[column, row], as nested dicts; of equal splits the first that is tried."""
    w = np.ones(cells.shape[1]) if weights is None else weights
    counts = np.bincount(y, w, minlength=K).astype(np.float64)
    node: Node = {"counts": counts}
    if max_depth == 0 or np.count_nonzero(counts) < 2:
        return node
    best = -1.0
    for j, x in enumerate(cells):
        for left in _splits(x, y, w, counts, named[j]):
            goes = np.isin(x, left)
            one, two = (np.bincount(y[side], w[side], minlength=K).astype(np.float64) for side in (goes, ~goes))
            if min(one.sum(), two.sum()) < least:
                continue
            gain = split_gain(one, two, criterion)
            if gain > best + 1e-12 * counts.sum():
                best = max(gain, 0.0)
                node.update(column=j, left=left, seen=np.unique(x), goes=goes)
    if "goes" in node:
        how = named, K, criterion, max_depth - 1, least
        node["below"] = [_below(cells, y, w, side, *how) for side in (node["goes"], ~node.pop("goes"))]
    return node


def _below(
    cells: Array, y: Array, w: Floats, side: Array, named: Any, K: int, criterion: str, depth: int, least: float
) -> Node:
    return grow_tree(cells[:, side], named, y[side], K, w[side], criterion, depth, least)


def _splits(x: Array, y: Array, w: Floats, counts: Floats, named: bool) -> Iterator[Array]:
    """The codes that go left, of every split: ordered codes from below; named ones in all ways if these are few.

    Else by the share of each class in turn, where values that have none of it stay together; of two classes one is the
    other from below.
    """
    values, there = np.unique(x), np.flatnonzero(counts > 0)
    m, k = len(values), len(there)
    if not named:
        for i in range(1, m):
            yield np.arange(values[i - 1] + 1 + (values[i] - values[i - 1] - 1) // 2)
    elif k > 2 and 2 ** (m - 1) - 1 <= (m - 1) * k:
        for i in range(1, 2 ** (m - 1)):
            yield values[[(i ^ (i >> 1)) >> v & 1 == 1 for v in range(m)]]
    else:
        for c in there[1:] if k == 2 else there:
            shares = np.array([w[(x == v) & (y == c)].sum() / w[x == v].sum() for v in values])
            order = values[np.lexsort((values, -shares))]
            for i in range(1, min(m, int(np.count_nonzero(shares)) + 1)):
                yield order[:i]


def path_posterior(
    node: Node, row: Array, named: tuple[bool, ...], sizes: tuple[int, ...], c: float, between: float = 1.0
) -> Floats:
    """p_l = (n_l + c_l p_{l−1})/(N_l + c_l) from the root to where the row ends, p_{−1} = 1/K.

    c_l is c at the root and at a leaf, c times `between` at nodes between them.
    """
    p, own = np.full(len(node["counts"]), 1.0 / len(node["counts"])), c
    while True:
        whole = node["counts"].sum() + own
        p = (node["counts"] + own * p) / whole if whole > 0 else p
        if "below" not in node:
            return p
        code = int(row[node["column"]])
        known = code < sizes[node["column"]] and (not named[node["column"]] or code in node["seen"])
        if not known:
            return p
        node = node["below"][0 if code in node["left"] else 1]
        own = c * between if "below" in node else c
