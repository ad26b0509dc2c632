"""The network as a value: B = ⟨G, Θ⟩, a Dag and a table for each node, checked once, never changed; and its files."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..errors import FormatError, InvalidNetwork, PosterioriError, UnknownColumn, did_you_mean, listed
from ..structure.dag import Dag, Names
from ..structure.graph import UndirectedGraph, find
from . import formats
from .formats.text import Description
from .numbers import Numbers
from .tables import checked_tables, counted, fitted, flat_table, infer_states


class Net:
    """What a network is, apart from what can be asked of it."""

    def __init__(
        self,
        edges: Dag | Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
        name: str = "unknown",
    ) -> None:
        self._dag = _dag(edges, tables)
        self._name = name
        given = as_states(states)
        self._states = {n: _states(n, given.pop(n, None), tables[n], self._dag) for n in self._dag.nodes}
        if given:
            raise UnknownColumn(f"states are given for {listed(given)}, which is no node. nodes: {listed(self.nodes)}")
        flat = {n: flat_table(n, tables[n], self._dag.parents(n), self._states) for n in self._dag.nodes}
        self._tables = checked_tables(flat, self._dag, self._states)

    # From data

    @classmethod
    def fit(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        smoothing: float = 1.0,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        name: str = "unknown",
    ) -> Self:
        """Count every family in a table and smooth: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        data : pandas, polars, Arrow or a dict of columns, with a column for each node
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)
        states : the states of some nodes; else a column's categories or its sorted values
        sample_weight : a weight for each row

        A row with missing cells counts for the families that it has whole.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(Dag("ab", [("a", "b")]), {"a": [0, 0, 1], "b": ["u", "v", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        graph = as_dag(dag)
        return cls(graph, *fitted(graph, data, smoothing, as_states(states), sample_weight), name)

    @classmethod
    def from_counts(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        counts: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
        smoothing: float = 1.0,
        name: str = "unknown",
    ) -> Self:
        """A network from counts alone, without their rows: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        counts : {node: N[parents…, node]}, in any form that a table has: an array, a pandas table or a mapping
        states : the states of some nodes; else those that the counts name, or "0", "1", …
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)

        >>> import posteriori as po
        >>> counts = {"a": [2, 1], "b": [[1, 1], [0, 1]]}
        >>> net = po.BayesNet.from_counts(Dag("ab", [("a", "b")]), counts, {"b": ["u", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist(), net.states("b")
        ([[0.5, 0.5], [0.0, 1.0]], ('u', 'v'))
        """
        graph = as_dag(dag)
        return cls(graph, *counted(graph, counts, smoothing, as_states(states)), name)

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

        parents, states = self.parents(node), self.states(node)
        index: Any = pd.RangeIndex(1)
        if len(parents) == 1:
            index = pd.Index(self._states[parents[0]], name=parents[0], dtype=object)
        elif parents:
            index = pd.MultiIndex.from_product([self._states[p] for p in parents], names=parents)
        columns = pd.Index(states, name=node, dtype=object)
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
        kept = ("_dag", "_name", "_states", "_tables")  # what can be computed again is not carried along
        return {k: v for k, v in self.__dict__.items() if k in kept}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}: {len(self.nodes)} nodes, {len(self.edges)} edges)"

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


def as_dag(graph: Any) -> Dag:
    """A graph, or the arrows of one, whose ends are its nodes."""
    if isinstance(graph, Dag):
        return graph
    try:
        arrows = [(a, b) for a, b in graph]
    except (TypeError, ValueError):
        raise InvalidNetwork(f"expected a Dag or arrows (parent, child), got {graph!r:.200}") from None
    return Dag(dict.fromkeys(n for arrow in arrows for n in arrow), arrows)


def as_states(states: Any) -> dict[str, Sequence[Hashable]]:
    """{node: states} as users give it, or nothing."""
    if states is not None and not isinstance(states, Mapping):
        raise InvalidNetwork(f"states is a mapping from node to states, got {type(states).__name__}")
    for node, values in (states or {}).items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidNetwork(f"the states of {node!r} are a list, got {values!r}")
    return dict(states or {})


def _dag(edges: Dag | Iterable[tuple[str, str]], tables: Mapping[str, Any]) -> Dag:
    if not isinstance(tables, Mapping):
        raise InvalidNetwork(f"tables is a mapping from node to table, got {type(tables).__name__}")
    dag = edges if isinstance(edges, Dag) else Dag(tables, edges)
    missing = [n for n in dag.nodes if n not in tables]
    nodes = set(dag.nodes)
    extra = [n for n in tables if n not in nodes]
    if missing or extra:
        near = did_you_mean(missing[0], extra) if missing else did_you_mean(extra[0], dag.nodes)
        raise InvalidNetwork(
            f"no table for {listed(missing)}{near}"
            if missing
            else f"a table for {listed(extra)}, which is no node{near}"
        )
    if not dag.nodes:
        raise InvalidNetwork("a network has at least one node")
    return dag


def _states(node: str, given: Sequence[Hashable] | None, table: Any, dag: Dag) -> tuple[Hashable, ...]:
    found = tuple(given) if given is not None else infer_states(node, table, len(dag.parents(node)))
    if not found:
        raise InvalidNetwork(f"node {node!r} has no states")
    if len(set(found)) < len(found):
        raise InvalidNetwork(f"node {node!r} lists a state twice: {listed(found)}")
    return found
