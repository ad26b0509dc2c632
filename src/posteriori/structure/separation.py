"""What the arrows of a graph of integers say: who can reach whom when some nodes are known, and which arrows data can tell.

Symbols: a DAG is `parents` and `children`, one sequence of node numbers a node; an undirected graph is `neighbors`.

Two DAGs are equivalent, they hold the same separations, exactly when they have the same adjacent pairs and the same
V-structures (parents that are not adjacent). An arrow is compelled when it points the same way in every DAG of the class.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

Rows = Sequence[Sequence[int]]

# How a trail enters a node: from one of its children (against the arrow) or from one of its parents (along it).
FROM_CHILD, FROM_PARENT = 0, 1


def reversed_rows(rows: Rows) -> list[list[int]]:
    """Who lists whom: of the parents of every node its children.

    >>> reversed_rows([[], [0], [0, 1]])
    [[1, 2], [2], []]
    """
    found: list[list[int]] = [[] for _ in rows]
    for node, row in enumerate(rows):
        for other in row:
            found[other].append(node)
    return found


def topological(parents: Rows, children: Rows) -> list[int]:
    """Every node after its parents (Kahn); nodes on a cycle, and all below one, are missing.

    >>> topological([[1], []], [[], [0]])
    [1, 0]
    """
    waiting = [len(row) for row in parents]
    order = [node for node, n in enumerate(waiting) if n == 0]
    for node in order:  # which grows
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    return order


def closure(rows: Rows, seeds: Iterable[int]) -> set[int]:
    """The seeds and all that `rows` reaches from them: with `parents`, the ancestral set.

    >>> sorted(closure([[], [0], [1], []], [2]))
    [0, 1, 2]
    """
    found = set(seeds)
    todo = list(found)
    while todo:
        for next_ in rows[todo.pop()]:
            if next_ not in found:
                found.add(next_)
                todo.append(next_)
    return found


def active_trail(
    parents: Rows, children: Rows, sources: Iterable[int], targets: Iterable[int], given: set[int]
) -> list[int] | None:
    """A shortest trail from a source to a target that `given` leaves open, or None where it blocks them all.

    Breadth-first search over (node, how it was entered), the Bayes ball: O(nodes + edges). A common parent or a chain is
    open while its middle is unknown; a V-structure is open once its middle or a descendant of it is known.
    """
    wanted = set(targets)
    informed = closure(parents, given)  # nodes that are known or have a known descendant
    start = [(s, FROM_CHILD) for s in sources if s not in given]
    before: dict[tuple[int, int], tuple[int, int] | None] = dict.fromkeys(start)
    todo = deque(start)
    while todo:
        state = todo.popleft()
        node, entered = state
        if node in wanted and node not in given:
            return _walk_back(before, state)
        upward = node not in given if entered == FROM_CHILD else node in informed
        downward = node not in given
        for open_, rows, enters in ((upward, parents, FROM_CHILD), (downward, children, FROM_PARENT)):
            for next_ in rows[node] if open_ else ():
                if (next_, enters) not in before:
                    before[next_, enters] = state
                    todo.append((next_, enters))
    return None


def _walk_back(before: dict[tuple[int, int], tuple[int, int] | None], state: tuple[int, int]) -> list[int]:
    trail = []
    at: tuple[int, int] | None = state
    while at is not None:
        trail.append(at[0])
        at = before[at]
    return trail[::-1]


def reach(neighbors: Rows, sources: Iterable[int], blocked: set[int]) -> set[int]:
    """The nodes that paths from the sources reach without entering `blocked`.

    >>> sorted(reach([[1], [0, 2], [1]], [0], {2}))
    [0, 1]
    """
    found = {s for s in sources if s not in blocked}
    todo = list(found)
    while todo:
        for next_ in neighbors[todo.pop()]:
            if next_ not in found and next_ not in blocked:
                found.add(next_)
                todo.append(next_)
    return found


def minimal_separator(neighbors: Rows, a: set[int], b: set[int]) -> set[int] | None:
    """A set that separates a from b and from which nothing can be left out; None where a touches b.

    The neighbours of a separate; of those, the ones that the far side touches are all needed, each joining a to b.

    >>> minimal_separator([[1, 2], [0, 3], [0], [1]], {0}, {3})
    {1}
    """
    near = {n for x in a for n in neighbors[x]} - a
    if near & b or a & b:
        return None
    far_side = reach(neighbors, b, near | a)
    return {n for x in far_side for n in neighbors[x]} & near


def moral(parents: Rows, keep: Iterable[int] | None = None) -> list[set[int]]:
    """Neighbours in the moral graph of the nodes `keep` (all of them unless told): arrows dropped, parents married.

    >>> moral([[], [], [0, 1]])
    [{1, 2}, {0, 2}, {0, 1}]
    """
    neighbors: list[set[int]] = [set() for _ in parents]
    for child in range(len(parents)) if keep is None else keep:
        family = [child, *parents[child]]
        for i, x in enumerate(family):
            neighbors[x].update(family[:i])
            neighbors[x].update(family[i + 1 :])
    return neighbors


def compelled(parents: Rows, order: Sequence[int]) -> list[set[int]]:
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


def immoralities(parents: Rows) -> set[tuple[int, int, int]]:
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


def equivalent(first: Rows, second: Rows) -> bool:
    """Same adjacent pairs and same V-structures.

    >>> equivalent([[], [0]], [[1], []])
    True
    """

    def skeleton(parents: Rows) -> set[frozenset[int]]:
        return {frozenset((p, c)) for c, family in enumerate(parents) for p in family}

    return skeleton(first) == skeleton(second) and immoralities(first) == immoralities(second)
