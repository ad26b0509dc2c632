"""A structure beside the true one: which arrows are right, turned, missing or extra, and the distance of their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InvalidNetwork, listed
from .dag import Dag

Arrows = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Comparison:
    """Arrows of the found structure that are right, turned or extra, and arrows of the true one that are missing.

    `distance` is the structural Hamming distance of the equivalence classes: pairs of nodes whose edge differs, be it
    missing, extra, or of another direction (which no data could tell within a class, and which does not count there).
    """

    nodes: tuple[str, ...]
    right: Arrows
    turned: Arrows
    extra: Arrows
    missing: Arrows
    distance: int

    def plot(self) -> Any:
        """A drawing: right arrows grey, turned ones orange, extra ones blue, missing ones red and dashed."""
        from ..report.faces import comparison_drawing

        return comparison_drawing(self)

    def _repr_html_(self) -> str:
        return str(self.plot())


def compare_structures(found: Dag, true: Dag) -> Comparison:
    """What a found structure has of the true one, on the same nodes.

    >>> true = Dag("abc", [("a", "b"), ("b", "c")])
    >>> beside = compare_structures(Dag("abc", [("b", "a"), ("a", "c")]), true)
    >>> beside.turned, beside.extra, beside.missing, beside.distance
    ((('b', 'a'),), (('a', 'c'),), (('b', 'c'),), 2)
    """
    for graph in (found, true):
        if not isinstance(graph, Dag):
            raise InvalidNetwork(f"expected two Dags to compare. Got {type(graph).__name__} instead.")
    if set(found.nodes) != set(true.nodes):
        differ = sorted(set(found.nodes) ^ set(true.nodes))
        raise InvalidNetwork(f"the structures have different nodes: {listed(differ)}")
    ours, theirs = set(found.edges), set(true.edges)
    return Comparison(
        found.nodes,
        tuple(e for e in found.edges if e in theirs),
        tuple(e for e in found.edges if e[::-1] in theirs),
        tuple(e for e in found.edges if e not in theirs and e[::-1] not in theirs),
        tuple(e for e in true.edges if e not in ours and e[::-1] not in ours),
        _distance(found, true),
    )


def _distance(found: Dag, true: Dag) -> int:
    kinds: list[dict[frozenset[str], tuple[str, str] | None]] = []
    for graph in (found.equivalence_class(), true.equivalence_class()):
        kinds.append(
            {frozenset(e): e for e in graph.directed} | dict.fromkeys((frozenset(e) for e in graph.undirected), None)
        )
    ours, theirs = kinds
    return sum(p not in ours or p not in theirs or ours[p] != theirs[p] for p in ours.keys() | theirs.keys())
