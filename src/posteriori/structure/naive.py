"""No attribute depends on another."""

from __future__ import annotations

from .parents import Structure


def naive(d: int) -> Structure:
    """No parents.

    >>> naive(2).parents
    ((), ())
    """
    return Structure(((),) * d)
