"""The network as a value: B = ⟨G, Θ⟩, a Dag and a table for each node, checked once, never changed; and its files."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..errors import BadValue, FormatError, PosterioriError, UnknownColumn, listed
from ..structure.dag import Dag, Names
from ..structure.graph import UndirectedGraph, find
from . import formats
from .formats.text import Description
from .numbers import Numbers
from .says import code_of
from .tables import as_states, checked_tables, configuration_index, flat_table, graph_of, node_states


class Net:
    """What a network is, apart from what can be asked of it."""

    def __init__(
        self,
        edges: Dag | Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
        name: str = "unknown",
    ) -> None:
        self._dag = graph_of(edges, tables)
        self._name = name
        given = as_states(states)
        self._states = {n: node_states(n, given.pop(n, None), tables[n], self._dag) for n in self._dag.nodes}
        if given:
            raise UnknownColumn(f"states are given for {listed(given)}, which is no node. nodes: {listed(self.nodes)}")
        flat = {n: flat_table(n, tables[n], self._dag.parents(n), self._states) for n in self._dag.nodes}
        self._tables = checked_tables(flat, self._dag, self._states)

    # What it is made of

    @property
    def name(self) -> str:
        """The name in the file it came from."""
        return self._name

    @property
    def dag(self) -> Dag:
        """G, the graph alone."""
        return self._dag

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self._dag.nodes

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The arrows (parent, child)."""
        return self._dag.edges

    def parents(self, node: str) -> tuple[str, ...]:
        """π_i, in the order of the axes of the node's table."""
        return self._dag.parents(node)

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes that depend directly on this one."""
        return self._dag.children(node)

    def states(self, node: str) -> tuple[Hashable, ...]:
        """The values a node can take."""
        find(self._index, node)
        return self._states[node]

    def cpt(self, node: str) -> Any:
        """θ_i = P(x_i | π_i) as a labelled pandas table: one row a configuration of the parents, one column a state.

        >>> import posteriori as po
        >>> po.networks.asia().cpt("lung")  # doctest: +NORMALIZE_WHITESPACE
        lung    yes    no
        smoke
        yes    0.10  0.90
        no     0.01  0.99
        """
        import pandas as pd

        states, index = self.states(node), configuration_index(self.parents(node), self._states)
        columns = pd.Index(states, name=node, dtype=object, tupleize_cols=False)
        return pd.DataFrame(self._tables[node].reshape(-1, len(states)).copy(), index=index, columns=columns)

    @property
    def n_parameters(self) -> int:
        """|B|, the free parameters: Σ_i (r_i − 1) q_i with r_i states and q_i configurations of the parents.

        >>> import posteriori as po
        >>> po.networks.asia().n_parameters
        18
        """
        return sum(len(t) - len(t) // len(self._states[n]) for n, t in self._tables.items())

    @cached_property
    def _index(self) -> dict[str, int]:
        return {n: i for i, n in enumerate(self.nodes)}

    @cached_property
    def _model(self) -> Numbers:
        """The numbers alone, every row divided by its sum."""
        sizes = [len(states) for states in self._states.values()]
        return Numbers.of(sizes, self._dag.numbered_parents, list(self._tables.values()), self.nodes)

    def __eq__(self, other: object) -> bool:
        """Same nodes in the same order, same parents in the same order, same states, every digit the same."""
        if not isinstance(other, Net):
            return NotImplemented
        return (
            self._states == other._states
            and list(self._states) == list(other._states)
            and all(self.parents(n) == other.parents(n) for n in self.nodes)
            and all(np.array_equal(self._tables[n], other._tables[n]) for n in self.nodes)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, frozenset(self.edges)))

    def __getstate__(self) -> dict[str, Any]:
        kept = "_dag", "_name", "_states", "_tables", "_statistics", "_how", "_ascent"  # the rest can be computed again
        return {k: v for k, v in self.__dict__.items() if k in kept}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}: {len(self.nodes)} nodes, {len(self.edges)} edges)"

    def do(self, interventions: Mapping[str, Any]) -> Self:
        """The network in which some nodes were set from outside: P(x | do(node = state)).

        The arrows into each such node are cut, since its causes no longer decide, and its table is what was done: a state,
        or {state: probability} where chance decides (as in a trial). What can be asked of a network can be asked of this
        one. `do` is a claim about the world: it is right where the arrows are causes and no common cause was left out.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> seen, done = net.marginals({"bronc": "yes"}), net.do({"bronc": "yes"}).marginals()
        >>> round(seen["smoke"]["yes"], 3), round(done["smoke"]["yes"], 3)  # found, it tells of its cause; made, not
        (0.667, 0.5)
        """
        if not isinstance(interventions, Mapping):
            raise BadValue(f"do takes a mapping from node to state, got {type(interventions).__name__}")
        tables: dict[str, Any] = {n: t.reshape(-1, len(self._states[n])) for n, t in self._tables.items()}
        for node, what in interventions.items():
            states = self.states(node)
            told = what if isinstance(what, Mapping) else {what: 1.0}
            tables[node] = {states[code_of(s, states, node)]: p for s, p in told.items()}
        edges = [(a, b) for a, b in self.edges if b not in interventions]
        return type(self)(Dag(self.nodes, edges), tables, self._states, self._name)

    # The graph's answers

    def d_separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Whether a and b are independent given `given`, whatever the tables; see `Dag.connecting_path` for why not.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.d_separated("asia", "smoke"), net.d_separated("asia", "smoke", given=["dysp"])
        (True, False)
        """
        return self._dag.d_separated(a, b, given)

    def moral_graph(self) -> UndirectedGraph:
        """Parents married, arrows dropped."""
        return self._dag.moral_graph()

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """What makes a node independent of all the rest: parents, children, the children's other parents."""
        return self._dag.markov_blanket(node)

    # Files

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a file; the suffix (.bif, .xmlbif or .xml, .net, .uai, each also with .gz) tells the format."""
        return cls._from_description(formats.read(path), str(path))

    @classmethod
    def _from_description(cls, found: Description, source: str) -> Self:
        tables = {n: found.tables[n].reshape(-1, len(states)) for n, states in found.states.items()}
        edges = [(p, child) for child in found.states for p in found.parents[child]]
        try:
            return cls(edges, tables, found.states, found.name)
        except PosterioriError as error:
            raise FormatError(f"{source}: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """To a file; the suffix tells the format. Every digit is kept; states become text; UAI keeps no names."""
        formats.write(self._description(), path)

    def _description(self) -> Description:
        states = {n: tuple(map(str, s)) for n, s in self._states.items()}
        for node, texts in states.items():
            if len(set(texts)) < len(texts):
                raise FormatError(
                    f"the states of {node!r} are not told apart by their text: {listed(self._states[node])}"
                )
        return Description(self._name, states, {n: self.parents(n) for n in self.nodes}, dict(self._tables))

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph` whose nodes carry `states` and `cpt`."""
        graph = self._dag.to_networkx()
        for node in self.nodes:
            graph.nodes[node].update(states=self._states[node], cpt=self.cpt(node))
        return graph
