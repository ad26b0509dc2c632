"""Structures of classifiers: for every attribute its parents among the others; the class is the parent of all.

Symbols: d attributes; w[i, j] the weight between attributes i and j, symmetric; I(X;Y), I(Xi;Xj|Y) informations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..fields import Place
from .separation import reversed_rows, topological

DIGITS = 12  # weights that agree to so many decimals are equal


@dataclass(frozen=True, slots=True)
class Structure:
    """`parents[i]` are the attributes that attribute i depends on besides the class.

    >>> Structure(((), (0,), (1,))).edges
    ((0, 1), (1, 2))
    """

    parents: tuple[tuple[Place, ...], ...]

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """(parent, child), children in order."""
        return tuple((p, i) for i, ps in enumerate(self.parents) for p in ps)

    @property
    def families(self) -> list[tuple[int, ...]]:
        """The parents of each attribute, then the attribute."""
        return [(*ps, i) for i, ps in enumerate(self.parents)]

    @property
    def order(self) -> tuple[int, ...]:
        """The attributes, parents before children."""
        found = topological(self.parents, reversed_rows(self.parents))
        if len(found) < len(self.parents):
            raise ModelError("the parents go round in a circle: no attribute can be first")
        return tuple(found)


def naive(d: int) -> Structure:
    """No parents.

    >>> naive(2).parents
    ((), ())
    """
    return Structure(((),) * d)


def spode(d: int, r: int) -> Structure:
    """Attribute r is the single parent of all others.

    >>> spode(3, 1).parents
    ((1,), (), (1,))
    """
    return Structure(tuple(() if i == r else (r,) for i in range(d)))


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


def by_information(information: NDArray[Any]) -> list[int]:
    """The attributes by falling I(X;Y), rounded to 12 decimals; of equals the lower first.

    >>> by_information(np.array([0.1, 0.3, 0.1]))
    [1, 0, 2]
    """
    order: list[int] = np.argsort(-np.round(np.asarray(information, dtype=float), DIGITS), kind="stable").tolist()
    return order


def kdb(information: NDArray[Any], conditional: NDArray[Any], k: int) -> Structure:
    """Each attribute depends on the k attributes before it of greatest I(Xi;Xj|Y), the strongest parent first; −∞ bars one.

    >>> kdb(np.array([0.1, 0.3, 0.2]), np.array([[0, 0.1, 0.4], [0.1, 0, 0.2], [0.4, 0.2, 0]]), 1).parents
    ((2,), (), (1,))
    """
    order = by_information(information)
    strength = np.round(np.asarray(conditional, dtype=float), DIGITS)
    parents: list[tuple[int, ...]] = [()] * len(order)
    for place, i in enumerate(order):
        free = [j for j in order[:place] if strength[i, j] > -np.inf]
        before = sorted(free, key=lambda j: (-strength[i, j], j))
        parents[i] = tuple(before[:k])
    return Structure(tuple(parents))
