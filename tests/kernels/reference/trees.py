"""Trees, boosted trees and kDB members as their definitions say: every split of every column is tried, node by node; counts
of members are read bit by bit, every cell of every table by its own ladder.

Symbols: g, h derivatives [row, value], G and H their sums, λ `ridge`, v a node's value. Of members: x value, y class, u
values of the parents; p_{−1} = 1/V, p_l = (n_l + c_l p_{l−1})/(N_l + c_l), c = ¼ 2^rung.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from posteriori.arrays import Array, Floats, Ints

Node = dict[str, Any]  # counts or value and, where it is split, column, left and seen (codes), gain, below (two nodes)


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
        sides = node["goes"], ~node.pop("goes")
        node["below"] = [
            grow_tree(cells[:, at], named, y[at], K, w[at], criterion, max_depth - 1, least) for at in sides
        ]
    return node


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


def boosted_gain(g: Floats, h: Floats, goes: Array, ridge: float = 1.0) -> float:
    """Σ_v G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ), of the rows that go left and of the others.

    >>> g, h = np.array([[-0.5], [0.5]]), np.full((2, 1), 0.25)
    >>> boosted_gain(g, h, np.array([True, False]))
    0.4
    """

    def worth(at: Array) -> float:
        return float((g[at].sum(axis=0) ** 2 / (h[at].sum(axis=0) + ridge)).sum())

    return worth(goes) + worth(~goes) - worth(np.ones(len(g), dtype=bool))


def leaf_value(g: Floats, h: Floats, above: Floats, ridge: float = 1.0) -> Floats:
    """v = (−G + λ v_parent)/(H + λ)."""
    found: Floats = (ridge * above - g.sum(axis=0)) / (h.sum(axis=0) + ridge)
    return found


def grow_boosted(
    cells: Array,
    named: tuple[bool, ...],
    g: Floats,
    h: Floats,
    depth: int,
    least: int = 3,
    ridge: float = 1.0,
    above: Floats | None = None,
) -> Node:
    """The tree of the rows of codes cells[column, row], as nested dicts; of equal splits the first that is tried."""
    node: Node = {"value": leaf_value(g, h, np.zeros(g.shape[1]) if above is None else above, ridge)}
    best = 1e-9
    for j, x in enumerate(cells) if depth > 0 else ():
        for left, charge in _boosted_splits(x, g, h, named[j], ridge):
            goes = np.isin(x, left)
            if min(goes.sum(), (~goes).sum()) < least:
                continue
            gain = boosted_gain(g, h, goes, ridge) - charge
            if gain > best + 1e-9:
                best = gain
                node.update(column=j, left=left, goes=goes, gain=gain)
    if "goes" in node:
        sides = node["goes"], ~node.pop("goes")
        node["below"] = [
            grow_boosted(cells[:, at], named, g[at], h[at], depth - 1, least, ridge, node["value"]) for at in sides
        ]
    return node


def _boosted_splits(x: Array, g: Floats, h: Floats, named: bool, ridge: float) -> Iterator[tuple[Array, float]]:
    """(The codes that go left, what is charged) of every split: ordered codes, or named ones by G/(H + 1) of the value."""
    values, charge = np.unique(x), 0.0
    if not named:
        for i in range(1, len(values)):
            yield np.arange((values[i - 1].astype(int) + values[i] - 1) // 2 + 1), charge
        return
    if len(values) > 2:
        order = [g[x == v, 0].sum() / (h[x == v, 0].sum() + 1.0) for v in values]
        values = values[np.lexsort((values, order))]
        charge = (len(values) - 2) * float((g[:, 0] ** 2).sum() / (h[:, 0].sum() + 2 * ridge))
    for i in range(1, len(values)):
        yield values[:i], charge


def bits_of(cells: Array) -> Iterator[int]:
    """The bits of bytes, the lowest first."""
    return iter(np.unpackbits(cells, bitorder="little").tolist())


def write_cells(table: Array) -> list[int]:
    """The cells of a table that are not zero, in their order, in bits: gaps and counts less one, by Rice's code.

    >>> write_cells(np.array([0, 0, 3, 1]))
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0]
    """
    at = np.flatnonzero(table)
    gaps, counts = np.diff(at, prepend=-1) - 1, table.ravel()[at] - 1
    wide, high = (_parameter(numbers.tolist()) for numbers in (gaps, counts))
    out = [*_bits(wide, 4), *_bits(high, 4)]
    for gap, count in zip(gaps.tolist(), counts.tolist()):
        out += [1] * (gap >> wide) + [0, *_bits(gap, wide)] + [1] * (count >> high) + [0, *_bits(count, high)]
    return out


def _bits(number: int, many: int) -> list[int]:
    return [number >> i & 1 for i in range(many)]


def _parameter(numbers: Sequence[int]) -> int:
    """The k of the fewest bits; of equals the first."""
    return int(np.argmin([sum((v >> k) + k + 1 for v in numbers) for k in range(16)]))


def read_cells(bits: Iterator[int], shape: tuple[int, ...], whole: int) -> Ints:
    """The counterpart of `write_cells`: a table of counts that sum to `whole`.

    >>> read_cells(iter(write_cells(np.array([0, 0, 3, 200]))), (2, 2), 203).tolist()
    [[0, 0], [3, 200]]
    """
    wide, high = _number(bits, 4), _number(bits, 4)
    table, place = np.zeros(int(np.prod(shape)), dtype=np.int64), 0
    while whole:
        place += _rice(bits, wide)
        count = _rice(bits, high) + 1
        table[place] = count
        place, whole = place + 1, whole - count
    return table.reshape(shape)


def _number(bits: Iterator[int], many: int) -> int:
    return sum(next(bits) << i for i in range(many))


def _rice(bits: Iterator[int], k: int) -> int:
    ones = 0
    while next(bits):
        ones += 1
    return ones << k | _number(bits, k)


def member_tables(codes: list[int], held: tuple[Any, ...], whole: int) -> tuple[list[Array], list[list[list[Floats]]]]:
    """(values by code of each member, its tables of θ[parent, parent, x, y] by column and rung)."""
    sizes, cuts, parents, cells, cut_ends, cell_ends, prior = held
    K, values, tables = prior.shape[1], list[Array](), list[list[list[Floats]]]()
    for m, ((a, b), (first, last)) in enumerate(zip(pairwise(cut_ends), pairwise(cell_ends))):
        begins, bits = iter(cuts[a:b].tolist()), bits_of(cells[first:last])
        own, ladders = list[Ints](), list[list[Floats]]()
        for j, V in enumerate(sizes[m].tolist()):
            value = np.arange(codes[j])
            if codes[j] > V:
                value = np.searchsorted([next(begins) for _ in range(V - 1)], value, side="right")
            own.append(value)
            above = [int(sizes[m, p - 1]) for p in parents[m, j].tolist() if p > 0]
            c = [0.25 * 2.0 ** _number(bits, 4) for _ in range(len(above) + 1)]
            n = read_cells(bits, (*above, V, K), whole).astype(np.float64)
            theta, ladder = np.full((V, K), 1.0 / V), list[Floats]()
            for length in range(len(above) + 1):
                seen = n.sum(axis=tuple(range(length, len(above))))
                base = theta if length == 0 else theta[..., None, :, :]
                theta = (seen + c[length] * base) / (seen.sum(axis=-2, keepdims=True) + c[length])
                ladder.append(theta)
            ladders.append(ladder)
        values.append(np.concatenate(own))
        tables.append(ladders)
    return values, tables
