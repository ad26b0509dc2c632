"""A boosted tree as its definition says: every split of every column is tried, node by node, in floats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...arrays import Array, Floats

__all__ = ["grow_boosted", "leaf_value", "split_gain"]

Node = dict[str, Any]  # value and, where it is split, column, left (codes), gain, below (two nodes)


def split_gain(g: Floats, h: Floats, goes: Array, ridge: float = 1.0) -> float:
    """Σ_v G_L²/(H_L + λ) + G_R²/(H_R + λ) − G²/(H + λ), of the rows that go left and of the others.

    >>> g, h = np.array([[-0.5], [0.5]]), np.full((2, 1), 0.25)
    >>> split_gain(g, h, np.array([True, False]))
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
        for left, charge in _splits(x, g, h, named[j], ridge):
            goes = np.isin(x, left)
            if min(goes.sum(), (~goes).sum()) < least:
                continue
            gain = split_gain(g, h, goes, ridge) - charge
            if gain > best + 1e-9:
                best = gain
                node.update(column=j, left=left, goes=goes, gain=gain)
    if "goes" in node:
        sides = node["goes"], ~node.pop("goes")
        node["below"] = [
            grow_boosted(cells[:, at], named, g[at], h[at], depth - 1, least, ridge, node["value"]) for at in sides
        ]
    return node


def _splits(x: Array, g: Floats, h: Floats, named: bool, ridge: float) -> Iterator[tuple[Array, float]]:
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
