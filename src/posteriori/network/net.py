"""The network as a value: B = ⟨G, Θ⟩, a Dag and a table for each node, checked once, never changed.

It is given, read from a file, or learned from data: by counting rows, from counts alone, or by EM where values are missing.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..em import Ascent
from ..errors import FormatError, PosterioriError, UnknownColumn, listed
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find, refuse_halves
from . import formats, learn
from .findings import code_of
from .formats.text import Description
from .hidden import Incomplete, climb, first_tables, given_tables, read_incomplete
from .learn import Counted, statistics_of
from .numbers import Numbers
from .tables import States, as_dag, as_states, checked_tables, configuration_index, flat_table, graph_of, node_states


class Net(Counted):
    """What a network is and how it is learned, apart from what can be asked of it."""

    _ascent: Ascent[Any] | None = None

    def __init__(
        self,
        edges: Dag | Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
        name: str = "unknown",
    ) -> None:
        self._dag = graph_of(edges, tables)
        self._name = name
        refuse_halves([name], "the network's name")
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
        left, tables = self._cut(interventions), self._given_tables()
        for node, what in interventions.items():
            states = self.states(node)
            told = what if isinstance(what, Mapping) else {what: 1.0}
            tables[node] = {states[code_of(s, states, node)]: p for s, p in told.items()}
        return type(self)(left, tables, self._states, self._name)

    def _given_tables(self) -> dict[str, Any]:
        """The tables as a constructor takes them."""
        return {n: t.reshape(-1, len(self._states[n])) for n, t in self._tables.items()}

    # Files

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a file; the suffix (.bif, .xmlbif or .xml, .net, .uai, each also with .gz) tells the format."""
        return cls._from_description(formats.read(path), str(path))

    @classmethod
    def _from_description(cls, found: Description, source: str) -> Self:
        if found.lines:
            raise FormatError(f"{source}: {listed(found.lines)} are continuous: `HybridNet.read` reads such networks")
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
        *,
        ess: float | None = None,
        backoff: float | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Count every family in a table and smooth: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ). The counts are kept.

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        data : pandas, polars, Arrow, a dict of columns, or what `po.read` gives, with a column for each node
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)
        states : the states of some nodes; else a column's categories or its sorted values
        sample_weight : a weight for each row
        ess : equivalent sample size (BDeu): λ = ess / (cells of the table) instead
        backoff : m: θ with all parents leans on θ with one less as if it were m rows, down to (N[x] + λ)/(N + rλ)

        A row with missing cells counts for the families that it has whole; `fit_em` makes use of the rest.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(Dag("ab", [("a", "b")]), {"a": [0, 0, 1], "b": ["u", "v", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        graph, how = as_dag(dag), learn.Smoothing(smoothing, ess, backoff)
        closed = {**{n: s for n, s in learn.listed_states(data).items() if n in graph.index}, **as_states(states)}
        found = learn.count_rows(graph, data, closed, sample_weight, n_jobs, max_memory)
        return cls._learned(graph, found, learn.states_of(found, closed), how, name)

    @classmethod
    def from_counts(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        counts: Mapping[str, Any] | Statistics,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        smoothing: float = 1.0,
        name: str = "unknown",
        *,
        ess: float | None = None,
        backoff: float | None = None,
    ) -> Self:
        """A network from counts alone, without their rows: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        counts : {node: N[parents…, node]}, in any form that a table has: an array, a pandas table or a mapping; or the
            `statistics_` of a model that counted these families, whose class is the node that is no column
        states : the states of some nodes; else those that the counts name, or "0", "1", …
        smoothing, ess, backoff : as in `fit`

        >>> import posteriori as po
        >>> counts = {"a": [2, 1], "b": [[1, 1], [0, 1]]}
        >>> net = po.BayesNet.from_counts(Dag("ab", [("a", "b")]), counts, {"b": ["u", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist(), net.states("b")
        ([[0.5, 0.5], [0.0, 1.0]], ('u', 'v'))
        """
        graph, how = as_dag(dag), learn.Smoothing(smoothing, ess, backoff)
        return cls._learned(graph, *statistics_of(graph, counts, as_states(states)), how, name)

    @classmethod
    def fit_em(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        hidden: Mapping[str, Any] | None = None,
        smoothing: float = 1.0,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        name: str = "unknown",
        *,
        ess: float | None = None,
        start: Net | None = None,
        restarts: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        random_state: Any = None,
        progress: Any = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Tables from rows with missing cells, and of nodes that no row shows, by EM; `ascent` says how it went.

        What is missing is expected by the tables so far, what is expected is counted, and so on: the likelihood of what the
        rows do say never falls. Cells must be missing for reasons that the other cells of the row know.

        Parameters
        ----------
        hidden : {node: number of its states, or a list of them}, nodes without a column
        smoothing, ess : as in `fit`; λ is then a prior, and it is likelihood × prior that never falls
        start : a network to begin with; else what the families seen whole counted, mixed with chance
        restarts : starts, each of which makes ten turns before the best goes on; 1, or 10 with a hidden node
        tol, max_iter : a turn that gains less than tol·|ℓ| is the last
        progress : called with the turn and ℓ; Ctrl-C keeps the best so far

        With nothing missing this is `fit`, to the last bit.

        >>> import posteriori as po
        >>> rows = {"a": [0, 0, 1, None], "b": [0, 0, 1, 1]}
        >>> net = po.BayesNet.fit_em(Dag("ab", [("a", "b")]), rows, smoothing=0)
        >>> net.cpt("a").to_numpy().round(3).tolist(), net.ascent.converged
        ([[0.5, 0.5]], True)
        """
        graph, how, unseen = as_dag(dag), learn.Smoothing(smoothing, ess), {} if hidden is None else hidden
        closed = {**{n: s for n, s in learn.listed_states(data).items() if n in graph.index}, **as_states(states)}
        found, cases, weights = read_incomplete(graph, data, unseen, closed, sample_weight, n_jobs)
        rows = Incomplete(graph, found, cases, weights, n_jobs)
        if not len(rows.cases) and not unseen:
            return cls.fit(graph, data, smoothing, states, sample_weight, name, ess=ess, n_jobs=n_jobs)
        starts = (
            [given_tables(rows, start)] if start is not None else first_tables(rows, unseen, restarts, random_state)
        )
        ascent = climb(rows, how, starts, tol, max_iter, progress, max_memory)
        net = cls(graph, dict(zip(graph.nodes, ascent.parameters, strict=True)), found, name)
        net._ascent = ascent
        return net

    @classmethod
    def _learned(cls, dag: Dag, counts: Statistics, states: States, how: learn.Smoothing, name: str) -> Self:
        net = cls(dag, learn.tables_of(dag, counts, states, how), states, name)
        net._statistics, net._how = counts, how
        return net

    @property
    def ascent(self) -> Ascent[Any] | None:
        """How `fit_em` went: ℓ after every turn, and whether it converged; None where there was nothing to expect."""
        return self._ascent

    def _count(self, data: Any, sample_weight: Any, n_jobs: int | None) -> Statistics:
        return learn.count_rows(self._dag, data, self._closed(), sample_weight, n_jobs)

    def _remade(self, counts: Statistics, states: States, how: learn.Smoothing) -> Self:
        return self._learned(self._dag, counts, states, how, self._name)
