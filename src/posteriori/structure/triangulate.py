"""Triangulating an undirected graph: in which order to eliminate its nodes, and the cliques this makes."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidNetwork, MemoryBudgetError
from ..kernels import network as kernel


def elimination_order(
    adjacency: Sequence[Sequence[int]], sizes: Sequence[int] | None = None
) -> tuple[list[int], list[list[int]]]:
    """A greedy elimination order and the maximal cliques of its triangulation.

    Eliminating v joins its neighbours to each other. Nodes that need no new edge go first; then, in several runs of which
    the one with the fewest cells Σ_C Π_{v∈C} r_v wins, the node that adds the fewest edges or the one whose clique has the
    fewest cells; where that leaves large tables, also by the weight of the edges, with ties settled by chance.
    `adjacency[v]` lists the neighbours of v, `sizes[v]` its states (2 where not given).

    >>> square = [[1, 3], [0, 2], [1, 3], [2, 0]]
    >>> order, cliques = elimination_order(square)
    >>> order, sorted(sorted(c) for c in cliques)
    ([0, 1, 2, 3], [[0, 1, 3], [1, 2, 3]])
    """
    n = len(adjacency)
    near = [sorted(set(map(int, neighbours))) for neighbours in adjacency]
    for v, neighbours in enumerate(near):
        for u in neighbours:
            if not 0 <= u < n or u == v or v not in near[u]:
                raise InvalidNetwork(f"adjacency of {v} holds {u}: expected another node below {n} that lists {v} too")
    order, cliques, _, _ = kernel.elimination_order(near, [2] * n if sizes is None else sizes)
    if len(order) < n:
        raise MemoryBudgetError(f"no order of these {n} nodes leaves cliques that could be held")
    return order, cliques
