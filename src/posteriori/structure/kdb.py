"""k-dependence Bayes: attributes in the order of what they tell of the class, each with up to k parents before it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .parents import Structure
from .tree import DIGITS

__all__ = ["by_information", "kdb"]


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
