"""The maximum-weight spanning tree, and the forest that is left when weak edges are dropped.

Symbols: w[i, j] weight between attributes i and j, symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .parents import Structure

__all__ = ["DIGITS", "spanning_edges", "tree"]

DIGITS = 12  # weights that agree to so many decimals are equal


def spanning_edges(weight: NDArray[Any], least: float = 0.0) -> list[tuple[int, int]]:
    """The edges (i < j) of a maximum-weight spanning forest, heaviest first.

    Kruskal: edges by falling weight, rounded to 12 decimals; of equals the one with the lower i first, then the lower j. An
    edge lighter than `least`, or of weight −∞, is left out.

    >>> spanning_edges(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]))
    [(0, 1), (1, 2)]
    """
    d = len(weight)
    first, second = np.triu_indices(d, k=1)
    w = np.round(np.asarray(weight, dtype=np.float64)[first, second], DIGITS)
    order = np.argsort(-w, kind="stable")  # triu_indices already is in the order of (i, j)
    tree_of = list(range(d))

    def top(i: int) -> int:
        while tree_of[i] != i:
            tree_of[i] = tree_of[tree_of[i]]
            i = tree_of[i]
        return i

    found: list[tuple[int, int]] = []
    for i, j, weight_ij in zip(first[order].tolist(), second[order].tolist(), w[order].tolist()):
        if len(found) == d - 1 or weight_ij < least or weight_ij == -np.inf:
            break
        a, b = top(i), top(j)
        if a != b:
            tree_of[a] = b
            found.append((i, j))
    return found


def tree(weight: NDArray[Any], roots: list[int], least: float = 0.0) -> Structure:
    """Edges directed away from a root: of each tree of the forest the attribute that `roots` names first.

    >>> tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]]), roots=[2, 1, 0]).parents
    ((1,), (2,), ())
    """
    d = len(weight)
    near: list[list[int]] = [[] for _ in range(d)]
    for i, j in spanning_edges(weight, least):
        near[i].append(j)
        near[j].append(i)
    parents: list[tuple[int, ...]] = [()] * d
    seen: set[int] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        reached = [root]
        while reached:
            i = reached.pop()
            for j in sorted(near[i]):
                if j not in seen:
                    seen.add(j)
                    parents[j] = (i,)
                    reached.append(j)
    return Structure(tuple(parents))
