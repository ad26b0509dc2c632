"""Values that questions to a Dag return (graphs, a trail, a pattern), and how to triangulate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import kernels, views
from ..errors import InvalidNetwork, MemoryBudgetError, MissingExtra, UnknownColumn, did_you_mean, listed
from . import separation


def refuse_halves(names: Iterable[object], whose: str) -> None:
    """Refuse half a character (a lone surrogate), which no file, page or terminal can hold."""
    for name in names:
        if isinstance(name, str) and not name.isascii() and any("\ud800" <= c <= "\udfff" for c in name):
            raise InvalidNetwork(f"{whose} {name!r} holds half a character (a lone surrogate): rename it")


def find(index: dict[str, int], name: str) -> int:
    """The number of a node; an unknown name is an error that names the nearest."""
    try:
        return index[name]
    except (KeyError, TypeError):
        near = did_you_mean(name, index)
        raise UnknownColumn(f"no node {name!r}{near or '.'} nodes: {listed(index)}") from None


def find_all(index: dict[str, int], names: str | Iterable[str]) -> list[int]:
    """The numbers of one name or of several."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        names = [names]
    return [find(index, n) for n in names]


def networkx() -> Any:
    """The module, or the sentence that says how to get it."""
    try:
        import networkx
    except ImportError:
        raise MissingExtra("to_networkx needs networkx: pip install 'posteriori[graph]'") from None
    return networkx


@dataclass(frozen=True)
class UndirectedGraph:
    """Nodes and undirected edges, by name.

    >>> g = UndirectedGraph(("a", "b", "c"), (("a", "b"), ("b", "c")))
    >>> g.neighbors("b"), g.separated("a", "c", "b")
    (('a', 'c'), True)
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False)
    _neighbors: list[list[int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {n: i for i, n in enumerate(self.nodes)}
        if len(index) < len(self.nodes):
            raise InvalidNetwork("a node is listed twice")
        neighbors: list[list[int]] = [[] for _ in self.nodes]
        for a, b in self.edges:
            neighbors[find(index, a)].append(find(index, b))
            neighbors[find(index, b)].append(find(index, a))
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_neighbors", neighbors)

    def neighbors(self, node: str) -> tuple[str, ...]:
        """The nodes that share an edge with this one."""
        return tuple(self.nodes[i] for i in self._neighbors[find(self._index, node)])

    def separated(self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
        """Whether every path from a to b goes through `given`."""
        known = set(find_all(self._index, given))
        return not separation.reach(self._neighbors, find_all(self._index, a), known) & set(find_all(self._index, b))

    def to_networkx(self) -> Any:
        """A `networkx.Graph` with the same nodes and edges."""
        graph = networkx().Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def plot(self) -> Any:
        """A layered drawing as SVG, lines without arrow heads."""
        return views.drawing("a graph", self)

    def _repr_html_(self) -> str:
        return str(self.plot()._repr_html_())


@dataclass(frozen=True)
class PartialDag:
    """An equivalence class: `directed` edges point the same way in every DAG of it, `undirected` ones do not.

    >>> str(PartialDag(("a", "b", "c"), (("a", "b"),), (("b", "c"),)).plot()).count("<polygon")  # arrow heads
    1
    """

    nodes: tuple[str, ...]
    directed: tuple[tuple[str, str], ...]
    undirected: tuple[tuple[str, str], ...]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """All of them."""
        return (*self.directed, *self.undirected)

    def plot(self) -> Any:
        """A layered drawing as SVG; undirected edges have no arrow head."""
        return views.drawing("a graph", self)

    def _repr_html_(self) -> str:
        return str(self.plot()._repr_html_())


@dataclass(frozen=True)
class Triangulation:
    """An elimination order, the edges it fills in, the cliques it leaves and their largest size less one."""

    order: tuple[str, ...]
    fill: tuple[tuple[str, str], ...]
    cliques: tuple[tuple[str, ...], ...]

    @property
    def treewidth(self) -> int:
        """Size of the largest clique less one: an upper bound of the treewidth, exact on a chordal graph."""
        return max((len(c) for c in self.cliques), default=1) - 1


@dataclass(frozen=True)
class Trail:
    """A path of edges, taken in either direction; printed with its arrows.

    >>> print(Trail(("asia", "tub", "either", "lung"), (True, True, False)))
    asia → tub → either ← lung
    """

    nodes: tuple[str, ...]
    forward: tuple[bool, ...]

    def __str__(self) -> str:
        arrows = [" → " if f else " ← " for f in self.forward]
        return "".join(n + a for n, a in zip(self.nodes, [*arrows, ""], strict=True))


@dataclass(frozen=True)
class Pattern:
    """Three nodes a, middle, c joined by two edges.

    kind | edges | when the middle is known
    -----|-------|-------------------------
    "common parent" 同父 | a ← middle → c | a and c become independent
    "V-structure" V型 | a → middle ← c | a and c become dependent (they are not while it is unknown)
    "chain" 顺序 | a → middle → c, or back | a and c become independent

    `shielded` says that a and c are also joined by an edge, and then depend on each other whatever is known.
    """

    kind: str
    a: str
    middle: str
    c: str
    shielded: bool = False


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
    order, cliques, _, _ = kernels.elimination_order(near, [2] * n if sizes is None else sizes)
    if len(order) < n:
        raise MemoryBudgetError(f"no order of these {n} nodes leaves cliques that could be held")
    return order, cliques
