"""One attribute is the parent of all others, or each in turn."""

from __future__ import annotations

from .parents import Structure


def spode(d: int, r: int) -> Structure:
    """Attribute r is the single parent of all others.

    >>> spode(3, 1).parents
    ((1,), (), (1,))
    """
    return Structure(tuple(() if i == r else (r,) for i in range(d)))


def aode(d: int) -> tuple[Structure, ...]:
    """Every attribute is the super-parent in turn.

    >>> len(aode(3))
    3
    """
    return tuple(spode(d, r) for r in range(d))
