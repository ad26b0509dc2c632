"""Dag: a directed acyclic graph by names, and what its arrows say of dependence. It knows no table and no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from numbers import Integral
from typing import Any

from ..errors import InvalidNetwork, did_you_mean, listed
from . import separation
from .graph import (
    PartialDag,
    Pattern,
    Trail,
    Triangulation,
    UndirectedGraph,
    find,
    find_all,
    networkx,
    refuse_halves,
)

Names = str | Iterable[str]


@dataclass(frozen=True, eq=False)
class Dag:
    """Nodes and arrows (parent, child); the parents of a node keep the order of its arrows.

    >>> g = Dag(["rain", "sprinkler", "wet"], [("rain", "wet"), ("sprinkler", "wet")])
    >>> g.parents("wet"), g.d_separated("rain", "sprinkler"), g.d_separated("rain", "sprinkler", "wet")
    (('rain', 'sprinkler'), True, False)
    >>> Dag("ab", [("a", "b"), ("b", "a")])
    Traceback (most recent call last):
    posteriori.errors.InvalidNetwork: the arrows form a cycle: a → b → a
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...] = ()
    _index: dict[str, int] = field(init=False, repr=False)
    _parents: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    _children: tuple[tuple[int, ...], ...] = field(init=False, repr=False)
    _order: tuple[int, ...] = field(init=False, repr=False)

    def __init__(self, nodes: Iterable[str], edges: Iterable[tuple[str, str]] = ()) -> None:
        names, arrows = _arrows(nodes, edges)
        index = _numbered(names)
        parents: list[list[int]] = [[] for _ in names]
        children: list[list[int]] = [[] for _ in names]
        seen: set[tuple[str, str]] = set()
        for arrow in arrows:
            a, b = (_end(index, arrow, x) for x in arrow)
            if arrow in seen:
                raise InvalidNetwork(f"the arrow {arrow[0]} → {arrow[1]} is given twice")
            seen.add(arrow)
            parents[b].append(a)
            children[a].append(b)
        put = object.__setattr__
        put(self, "nodes", names)
        put(self, "edges", arrows)
        put(self, "_index", index)
        put(self, "_parents", tuple(map(tuple, parents)))
        put(self, "_children", tuple(map(tuple, children)))
        put(self, "_order", _ordered(names, parents, children))

    @classmethod
    def from_parents(cls, parents: Mapping[str, Iterable[str]]) -> Dag:
        """From the parents of every node: `{"wet": ["rain", "sprinkler"], "rain": [], "sprinkler": []}`."""
        families = parents.values() if isinstance(parents, Mapping) else [None]
        if any(isinstance(family, str) or not isinstance(family, Iterable) for family in families):
            raise InvalidNetwork(f"expected a mapping from each node to the list of its parents, got {parents!r:.200}")
        return cls(parents, [(p, child) for child, family in parents.items() for p in family])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dag):
            return NotImplemented
        return set(self.nodes) == set(other.nodes) and set(self.edges) == set(other.edges)

    def __hash__(self) -> int:
        return hash((frozenset(self.nodes), frozenset(self.edges)))

    @property
    def index(self) -> dict[str, int]:
        """The place of every node in `nodes`."""
        return self._index

    @property
    def numbered_parents(self) -> tuple[tuple[int, ...], ...]:
        """The parents of every node as places in `nodes`."""
        return self._parents

    # Kinship

    def parents(self, node: str) -> tuple[str, ...]:
        """The nodes with an arrow into this one, in the order of the arrows."""
        return self._named(self._parents[find(self._index, node)])

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes this one has an arrow into."""
        return self._named(self._children[find(self._index, node)])

    def topological_order(self) -> tuple[str, ...]:
        """Every node after its parents."""
        return self._named(self._order)

    def ancestors(self, nodes: Names) -> tuple[str, ...]:
        """All from which arrows lead to these nodes, themselves left out, in the order of `nodes`."""
        seeds = find_all(self._index, nodes)
        return self._named(sorted(separation.closure(self._parents, seeds) - set(seeds)))

    def descendants(self, nodes: Names) -> tuple[str, ...]:
        """All to which arrows lead from these nodes, themselves left out, in the order of `nodes`."""
        seeds = find_all(self._index, nodes)
        return self._named(sorted(separation.closure(self._children, seeds) - set(seeds)))

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Parents, children and the children's other parents: given these, the node is independent of all the rest.

        >>> Dag("abcd", [("a", "c"), ("b", "c"), ("c", "d")]).markov_blanket("a")
        ('b', 'c')
        """
        x = find(self._index, node)
        blanket = set(self._parents[x]) | set(self._children[x])
        blanket.update(p for child in self._children[x] for p in self._parents[child])
        return self._named(sorted(blanket - {x}))

    def ancestral_graph(self, nodes: Names) -> Dag:
        """These nodes, their ancestors and the arrows among them: all that matters for a question about the nodes."""
        keep = separation.closure(self._parents, find_all(self._index, nodes))
        return Dag(
            self._named(sorted(keep)),
            [(a, b) for a, b in self.edges if self._index[a] in keep and self._index[b] in keep],
        )

    # The three patterns

    def pattern(self, a: str, middle: str, c: str) -> Pattern | None:
        """The pattern of a, middle, c: "common parent", "V-structure" or "chain"; None where an edge is missing.

        >>> Dag("abc", [("a", "b"), ("c", "b")]).pattern("a", "b", "c").kind
        'V-structure'
        """
        x, m, y = (find(self._index, n) for n in (a, middle, c))
        into = [m in self._children[x], m in self._children[y]]
        out = [x in self._children[m], y in self._children[m]]
        if x == y or not all(i or o for i, o in zip(into, out)):
            return None
        kind = "V-structure" if all(into) else "common parent" if all(out) else "chain"
        return Pattern(kind, a, middle, c, y in self._children[x] or x in self._children[y])

    def patterns(self, kind: str | None = None) -> Iterator[Pattern]:
        """Every pattern of three nodes, or those of one kind; see `Pattern` for what each says.

        >>> [p.middle for p in Dag("abc", [("a", "b"), ("c", "b")]).patterns("V-structure")]
        ['b']
        """
        kinds = ("common parent", "V-structure", "chain")
        if kind is not None and kind not in kinds:
            near = did_you_mean(kind, kinds)
            raise InvalidNetwork(f"no pattern {kind!r}{near or '.'} patterns: {listed(kinds)}")
        for middle, name in enumerate(self.nodes):
            around = [*self._parents[middle], *self._children[middle]]
            for x, y in combinations(around, 2):
                found = self.pattern(self.nodes[x], name, self.nodes[y])
                if found is not None and kind in (None, found.kind):
                    yield found

    # Separation

    def d_separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Whether the arrows alone make a independent of b once `given` is known.

        >>> chain = Dag("abc", [("a", "b"), ("b", "c")])
        >>> chain.d_separated("a", "c"), chain.d_separated("a", "c", "b")
        (False, True)
        """
        return self._open_trail(a, b, given) is None

    def connecting_path(self, a: Names, b: Names, given: Names = ()) -> Trail | None:
        """A shortest trail along which a and b depend on each other given `given`; None where they are separated.

        >>> print(Dag("abc", [("a", "c"), ("b", "c")]).connecting_path("a", "b", "c"))
        a → c ← b
        """
        trail = self._open_trail(a, b, given)
        if trail is None:
            return None
        forward = tuple(next_ in self._children[node] for node, next_ in pairwise(trail))
        return Trail(self._named(trail), forward)

    def _open_trail(self, a: Names, b: Names, given: Names) -> list[int] | None:
        sources, targets, known = (find_all(self._index, names) for names in (a, b, given))
        return separation.active_trail(self._parents, self._children, sources, targets, set(known))

    def minimal_separator(self, a: Names, b: Names) -> tuple[str, ...] | None:
        """Nodes that d-separate a from b, none of which can be left out; None where no set does (an edge joins them).

        >>> Dag("abcd", [("a", "b"), ("b", "c"), ("a", "d")]).minimal_separator("a", "c")
        ('b',)
        """
        left, right = set(find_all(self._index, a)), set(find_all(self._index, b))
        neighbors = [list(n) for n in separation.moral(self._parents, separation.closure(self._parents, left | right))]
        found = separation.minimal_separator(neighbors, left, right)
        return None if found is None else self._named(sorted(found))

    # Other graphs of the same dependences

    def moral_graph(self) -> UndirectedGraph:
        """Parents of a common child married, arrows dropped (道德图).

        >>> Dag("abc", [("a", "c"), ("b", "c")]).moral_graph().edges
        (('a', 'b'), ('a', 'c'), ('b', 'c'))
        """
        return UndirectedGraph(self.nodes, self._pairs(separation.moral(self._parents)))

    def equivalence_class(self) -> PartialDag:
        """The class of DAGs with the same independences (CPDAG): which arrows are compelled, which could be turned.

        >>> Dag("abc", [("a", "b"), ("b", "c")]).equivalence_class().undirected
        (('a', 'b'), ('b', 'c'))
        """
        fixed = separation.compelled(self._parents, self._order)
        keep = [self._index[a] in fixed[self._index[b]] for a, b in self.edges]
        return PartialDag(
            self.nodes,
            tuple(e for e, k in zip(self.edges, keep) if k),
            tuple(e for e, k in zip(self.edges, keep) if not k),
        )

    def equivalent_to(self, other: Dag) -> bool:
        """Whether both graphs hold exactly the same independences.

        >>> Dag("ab", [("a", "b")]).equivalent_to(Dag("ab", [("b", "a")]))
        True
        """
        if not isinstance(other, Dag):
            raise InvalidNetwork(f"expected a Dag to compare with, got {type(other).__name__}")
        if set(self.nodes) != set(other.nodes):
            return False
        moved = [[self._index[p] for p in other.parents(n)] for n in self.nodes]
        return separation.equivalent(self._parents, moved)

    def triangulation(self, sizes: Mapping[str, int] | None = None) -> Triangulation:
        """The moral graph made chordal by an elimination order chosen for few fill-ins and small cliques.

        `sizes`, the number of states of each node, lets the order weigh cliques by their tables.
        """
        from .graph import elimination_order

        states = None if sizes is None else [_size(sizes, n) for n in self.nodes]
        neighbors = separation.moral(self._parents)
        order, cliques = elimination_order([sorted(n) for n in neighbors], states)
        chordal: list[set[int]] = [set() for _ in self.nodes]
        for clique in cliques:
            for x in clique:
                chordal[x].update(clique)
        fill = self._pairs([full - plain - {x} for x, (full, plain) in enumerate(zip(chordal, neighbors))])
        return Triangulation(self._named(order), fill, tuple(self._named(sorted(c)) for c in cliques))

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph` with the same nodes and arrows."""
        graph = networkx().DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph

    def _named(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.nodes[i] for i in numbers)

    def _pairs(self, neighbors: list[set[int]]) -> tuple[tuple[str, str], ...]:
        return tuple((self.nodes[x], self.nodes[y]) for x, row in enumerate(neighbors) for y in sorted(row) if x < y)


def _size(sizes: Any, node: str) -> int:
    size = sizes.get(node) if isinstance(sizes, Mapping) else None
    if not isinstance(size, Integral) or not 1 <= int(size) < 2**31:
        raise InvalidNetwork(f"sizes is a mapping from each node to its number of states, got {sizes!r:.200}")
    return int(size)


def _arrows(nodes: Any, edges: Any) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    try:
        return tuple(nodes), tuple((a, b) for a, b in edges)
    except (TypeError, ValueError, OverflowError):
        raise InvalidNetwork(f"a graph is a list of nodes and of arrows (parent, child), got {edges!r:.200}") from None


def _numbered(names: tuple[str, ...]) -> dict[str, int]:
    index: dict[str, int] = {}
    for name in names:
        if not isinstance(name, str):
            raise InvalidNetwork(f"a node's name is a string, got {name!r} ({type(name).__name__})")
        if name in index:
            raise InvalidNetwork(f"node {name!r} is listed twice")
        index[name] = len(index)
    refuse_halves(names, "the node")
    return index


def _end(index: dict[str, int], arrow: tuple[str, str], name: str) -> int:
    if name not in index:
        near = did_you_mean(name, index)
        raise InvalidNetwork(f"the arrow {arrow[0]} → {arrow[1]} names an unknown node {name!r}{near}")
    return index[name]


def _ordered(names: tuple[str, ...], parents: list[list[int]], children: list[list[int]]) -> tuple[int, ...]:
    """Every node after its parents; a cycle is an error that spells it out."""
    order = separation.topological(parents, children)
    if len(order) < len(names):
        cycle = [names[i] for i in _cycle(parents, set(order))]
        shown = cycle if len(cycle) <= 24 else [*cycle[:20], f"… ({len(cycle) - 1} nodes in all)", *cycle[-2:]]
        raise InvalidNetwork(f"the arrows form a cycle: {' → '.join(shown)}")
    return tuple(order)


def _cycle(parents: list[list[int]], placed: set[int]) -> list[int]:
    """Walk from parent to parent among the nodes that have no place in an order until one comes again."""
    node = next(i for i in range(len(parents)) if i not in placed)
    place: dict[int, int] = {}
    walk: list[int] = []
    while node not in place:
        place[node] = len(walk)
        walk.append(node)
        node = next(p for p in parents[node] if p not in placed)
    loop = walk[place[node] :][::-1]
    first = loop.index(min(loop))  # the same cycle is always told from the same node
    return [*loop[first:], *loop[: first + 1]]
