"""The classic figure of a kd-tree in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import MissingExtra, ModelError

if TYPE_CHECKING:
    from ..neighbors.kdtree import KDTree


def draw_tree(tree: KDTree, ax: Any, query: ArrayLike | None, k: int) -> Any:
    """Points, cuts (each as long as its cell) and, where a query is given, its k neighbours and the ball they span."""
    if tree.shape[1] != 2:
        raise ModelError(f"plot() draws trees of 2 dimensions, this one has {tree.shape[1]}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("plot() needs matplotlib: pip install 'posteriori[plot]'") from None
    ax = ax if ax is not None else plt.figure(figsize=(5, 5)).subplots()
    nodes, points = tree.nodes, tree.data
    margin = 0.05 * np.maximum(nodes[0].hi - nodes[0].lo, 1e-12)
    cells = [(0, nodes[0].lo - margin, nodes[0].hi + margin, 0)]
    while cells:
        at, lo, hi, depth = cells.pop()
        node = nodes[at]
        if node.is_leaf:
            continue
        low, high = lo.copy(), hi.copy()
        low[node.dim] = high[node.dim] = node.value
        ax.plot([low[0], high[0]], [low[1], high[1]], color=f"C{node.dim}", lw=max(0.5, 2.5 - 0.4 * depth), zorder=1)
        left_hi, right_lo = hi.copy(), lo.copy()
        left_hi[node.dim] = right_lo[node.dim] = node.value
        cells += [(node.left, lo, left_hi, depth + 1), (node.right, right_lo, hi, depth + 1)]
    ax.plot(points[:, 0], points[:, 1], "o", color="0.2", ms=3, zorder=2)
    if query is not None:
        q = np.asarray(query, dtype=float).reshape(1, 2)
        distance, index = tree.query(q, k)
        ax.plot(points[index[0], 0], points[index[0], 1], "o", mfc="none", mec="red", ms=9, zorder=3)
        ax.plot(q[0, 0], q[0, 1], "x", color="red", ms=8, zorder=3)
        if tree.metric == "euclidean":
            ax.add_patch(plt.Circle(tuple(q[0]), float(distance[0, -1]), fill=False, color="red", ls=":", zorder=3))
    ax.set_aspect("equal")
    return ax
