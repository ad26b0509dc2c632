"""Who depends on whom: for every attribute its parents among the others; the class is the parent of all."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ModelError

__all__ = ["Structure"]


@dataclass(frozen=True, slots=True)
class Structure:
    """`parents[i]` are the attributes that attribute i depends on besides the class.

    >>> Structure(((), (0,), (1,))).edges
    ((0, 1), (1, 2))
    """

    parents: tuple[tuple[int, ...], ...]

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
        """The attributes, parents before children, the lowest first of those that are free."""
        placed: list[int] = []
        done: set[int] = set()
        waiting = list(range(len(self.parents)))
        while waiting:
            free = [i for i in waiting if all(p in done for p in self.parents[i])]
            if not free:
                raise ModelError("the parents go round in a circle: no attribute can be first")
            placed += free
            done.update(free)
            waiting = [i for i in waiting if i not in done]
        return tuple(placed)
