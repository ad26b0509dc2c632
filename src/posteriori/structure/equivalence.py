"""Which arrows the data could ever tell: the equivalence class of a DAG as a partially directed graph.

Two DAGs hold the same independences exactly when they have the same adjacent pairs and the same V-structures (parents that
are not adjacent). An arrow is compelled when it points the same way in every DAG of the class.
"""

from __future__ import annotations

from collections.abc import Sequence


def compelled(parents: Sequence[Sequence[int]], order: Sequence[int]) -> list[set[int]]:
    """For each node, the parents whose arrow is compelled; the other arrows can be turned round.

    Chickering's labelling: children in topological order, each judged by the latest of its parents.

    >>> compelled([[], [], [0, 1], [2]], [0, 1, 2, 3])
    [set(), set(), {0, 1}, {2}]
    >>> compelled([[], [0], [1]], [0, 1, 2])
    [set(), set(), set()]
    """
    place = {x: i for i, x in enumerate(order)}
    families = [set(p) for p in parents]
    fixed: list[set[int]] = [set() for _ in parents]
    for y in order:
        if not parents[y]:
            continue
        x = max(parents[y], key=place.__getitem__)
        earlier = fixed[x]
        if earlier <= families[y] and families[y] - {x} <= families[x]:
            fixed[y] = set(earlier)  # w → x compelled and w → y: w may not come after y; the rest can be turned
        else:  # turning an arrow into y would make a V-structure, or undo one
            fixed[y] = set(families[y])
    return fixed


def immoralities(parents: Sequence[Sequence[int]]) -> set[tuple[int, int, int]]:
    """The V-structures (a, child, b), a < b, whose parents a and b are not adjacent.

    >>> immoralities([[], [], [0, 1]])
    {(0, 2, 1)}
    """
    families = [set(p) for p in parents]
    return {
        (a, child, b)
        for child, family in enumerate(parents)
        for a in family
        for b in family
        if a < b and a not in families[b] and b not in families[a]
    }


def equivalent(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> bool:
    """Same adjacent pairs and same V-structures.

    >>> equivalent([[], [0]], [[1], []])
    True
    """

    def skeleton(parents: Sequence[Sequence[int]]) -> set[frozenset[int]]:
        return {frozenset((p, c)) for c, family in enumerate(parents) for p in family}

    return skeleton(first) == skeleton(second) and immoralities(first) == immoralities(second)
