"""What a network counted: one value with `+` and `-`, of rows or already made, from which its tables can be made again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..arrays import Array
from ..errors import BadValue, InvalidNetwork, StatisticsError, UnknownColumn, listed
from ..statistics.counts import Counts
from ..statistics.joint import Joint
from ..statistics.statistics import Statistics
from ..structure.dag import Dag, Names
from ..structure.graph import UndirectedGraph, find_all
from ..table.schema import Column, Schema, in_order
from .learn import ALL, Smoothing, families, of_counts, states_of
from .tables import States, flat_table, infer_states


class Counted:
    """A network that keeps what it counted, so that it learns more rows, forgets some, and merges; each gives a new one."""

    _states: States  # of the nodes that have some
    _statistics: Statistics | None = None
    _how: Smoothing = Smoothing()

    @property
    @abstractmethod
    def dag(self) -> Dag:
        """The structure."""

    @abstractmethod
    def _count(self, data: Any, sample_weight: Any, n_jobs: int | None) -> Statistics:
        """What these rows count; a node whose states were declared takes no others."""

    @abstractmethod
    def _remade(self, counts: Statistics, states: States, how: Smoothing) -> Self:
        """The network of the same structure from other counts."""

    # The graph's answers

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.dag.nodes

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """The arrows (parent, child)."""
        return self.dag.edges

    def parents(self, node: str) -> tuple[str, ...]:
        """π_i, in the order of the axes of the node's table."""
        return self.dag.parents(node)

    def children(self, node: str) -> tuple[str, ...]:
        """The nodes that depend directly on this one."""
        return self.dag.children(node)

    def d_separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Whether a and b are independent given `given`, whatever the tables; see `Dag.connecting_path` for why not.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.d_separated("asia", "smoke"), net.d_separated("asia", "smoke", given=["dysp"])
        (True, False)
        """
        return self.dag.d_separated(a, b, given)

    def moral_graph(self) -> UndirectedGraph:
        """Parents married, arrows dropped."""
        return self.dag.moral_graph()

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """What makes a node independent of all the rest: parents, children, the children's other parents."""
        return self.dag.markov_blanket(node)

    def _cut(self, interventions: Mapping[str, Any]) -> Dag:
        """The structure without the arrows into nodes that were set from outside."""
        if not isinstance(interventions, Mapping):
            raise BadValue(f"do takes a mapping from node to state, got {type(interventions).__name__}")
        find_all(self.dag.index, list(interventions))
        return Dag(self.nodes, [(a, b) for a, b in self.edges if b not in interventions])

    # What was counted

    @property
    def statistics(self) -> Statistics | None:
        """The counts that the tables were made from, one value with `+` and `-`; None where there are none."""
        return self._statistics

    def _counted(self) -> Statistics:
        if self._statistics is None:
            raise StatisticsError("this network was not counted from rows: `fit` and `from_counts` keep their counts")
        return self._statistics

    def smoothed(self, smoothing: float = 1.0, *, ess: float | None = None, backoff: float | None = None) -> Self:
        """The network of the same counts under another smoothing; no row is needed.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]})
        >>> net.cpt("a").to_numpy().tolist(), net.smoothed(0.5).cpt("a").to_numpy().tolist()
        ([[0.6, 0.4]], [[0.625, 0.375]])
        """
        return self._remade(self._counted(), self._states, Smoothing(smoothing, ess, backoff))

    def partial_fit(self, data: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Self:
        """The network that has learned these rows too; this one stays as it is.

        States that were declared (given, or the categories of a column) stay as they are; a node whose states were found
        in its column takes new ones.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]}).partial_fit({"a": [1, 2]})
        >>> net.states("a"), net == po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1, 1, 2]})
        ((0, 1, 2), True)
        """
        mine, found = self._counted(), self._count(data, sample_weight, n_jobs)
        return self._becoming(mine + found)

    def forget(self, data: Any, sample_weight: Any = None, n_jobs: int | None = None) -> Self:
        """The network that never saw these rows, exactly; refused where they were not learned.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(po.Dag("a"), {"a": [0, 0, 1]})
        >>> net.partial_fit({"a": [1, 2]}).forget({"a": [2, 1]}) == net
        True
        """
        left = self._counted() - self._count(data, sample_weight, n_jobs)
        if not (left.rows > 0).any():
            raise StatisticsError("the last row cannot be forgotten: a network of no rows has no tables")
        return self._becoming(left)

    def __add__(self, other: Self) -> Self:
        """The network of both tables, as if it had learned them together, smoothed as the left one."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = ({n: net.dag.parents(n) for n in net.dag.nodes} for net in (self, other))
        if mine != theirs:
            raise StatisticsError("networks of other structures do not add: their families were not counted alike")
        return self._becoming(self._counted() + other._counted(), other._closed())

    def __radd__(self, other: Any) -> Self:
        """0 + net: what `sum(networks)` begins with."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _closed(self) -> dict[str, Sequence[Hashable]]:
        """The states of the nodes that take no others."""
        return {n: s for n, s in self._states.items() if self._counted().schema[n].declared}

    def _becoming(self, counts: Statistics, others: Mapping[str, Sequence[Hashable]] | None = None) -> Self:
        """The network of other counts; declared states keep their order, new ones come after them."""
        closed = {}
        for column in counts.schema.columns:
            if column.declared:
                known = [*self._states[column.name], *(others or {}).get(column.name, ()), *column.values]
                closed[column.name] = tuple(s for s in dict.fromkeys(known) if s in column.place)
        return self._remade(counts, states_of(counts, closed), self._how)


def statistics_of(
    dag: Dag, counts: Mapping[str, Any] | Statistics, given: Mapping[str, Sequence[Hashable]]
) -> tuple[Statistics, States]:
    """Counts already made, {node: N[parents…, node]} or the statistics of a model, as a network keeps them."""
    if isinstance(counts, Statistics):
        counts = {node: _family(counts, [*dag.parents(node), node], dag) for node in dag.nodes}
        given = {**{n: states for n, (_, states) in counts.items()}, **given}
        counts = {n: table for n, (table, _) in counts.items()}
    states = _counted_states(dag, counts, given)
    columns, parts, cells = [], [], []
    for node, family in zip(dag.nodes, families(dag), strict=True):
        names = [*dag.parents(node), node]
        flat = flat_table(node, counts[node], names[:-1], states)
        if not (np.isfinite(flat).all() and (flat >= 0).all()):
            raise InvalidNetwork(f"the counts of {node!r} are finite numbers from 0 up")
        table = flat.reshape([len(states[n]) for n in names])
        table = np.rint(table).astype(np.int64) if (table == np.rint(table)).all() and table.sum() < 2**62 else table
        for axis, name in enumerate(names):
            place = {s: i for i, s in enumerate(states[name])}
            table = np.take(table, [place[s] for s in in_order(states[name])], axis=axis)
        parts.append(table.reshape(-1, 1))
        cells.append(table.sum(axis=tuple(range(len(family) - 1))).reshape(-1, 1))
        columns.append(Column(node, "categorical", in_order(states[node]), frozenset(states[node])))
    kind = np.result_type(*parts)
    sizes = tuple(len(c.values) for c in columns)
    some = [(np.flatnonzero(part[:, 0]), part[part[:, 0] != 0].astype(kind)) for part in parts]
    joint = Joint.of(families(dag), some, sizes, np.zeros((0, 1), kind))
    schema = Schema(tuple(columns), (ALL,), frozenset((ALL,)))
    rows = np.array([max(c.sum() for c in cells)], dtype=kind)
    own = Counts(np.concatenate(cells).astype(kind), Counts.zero(sizes, 1).offsets)
    return of_counts(schema, rows, own, joint), states


def _family(found: Statistics, names: Sequence[str], dag: Dag) -> tuple[Array, tuple[Hashable, ...]]:
    """N over the columns named, and the values of the last; the one node that is no column is the class."""
    schema = found.schema
    others = [n for n in dag.nodes if n not in schema.names]
    if len(others) > 1 or (others and not schema.classes):
        raise UnknownColumn(f"the statistics have no column for {listed(others)}; columns: {listed(schema.names)}")
    columns = [schema.index(n) for n in names if n not in others]
    if any(found.roles[j] != "cells" for j in columns):
        raise StatisticsError("a network counts values: of numbers and text the statistics have none")
    table = together(found, columns)
    if table is None:
        raise StatisticsError(f"the statistics have no counts of {listed(names)} together")
    here = [n for n in names if n not in others]
    if others and others[0] in names:
        table = np.moveaxis(table, -1, list(names).index(others[0]))
        return table, schema.classes if names[-1] in others else schema[names[-1]].values
    return table.sum(axis=-1), schema[here[-1]].values


def together(found: Statistics, columns: Sequence[int]) -> Array | None:
    """N[columns…, y]; None where they were not counted together."""
    if not columns:
        return found.rows
    if len(columns) == 1:
        return found.cells.scope(found.where("cells").index(columns[0]))
    for joint in found.joints:
        for s in range(len(joint.scopes)) if isinstance(joint, Joint) else ():
            mine = joint.columns(s)
            if set(mine) == set(columns):
                table: Array = joint.table(s, found.sizes)
                return table.transpose(*(mine.index(j) for j in columns), len(columns))
    return None


def _counted_states(dag: Dag, counts: Mapping[str, Any], given: Mapping[str, Sequence[Hashable]]) -> States:
    """The states of every node: those given, else those that its counts name ("0", "1", … for bare numbers)."""
    if not isinstance(counts, Mapping):
        raise InvalidNetwork(f"counts is a mapping from node to counts, got {type(counts).__name__}")
    for what, named in (("counts", counts), ("states", given)):
        strange = [n for n in named if n not in dag.index]
        if strange:
            raise InvalidNetwork(f"{what} are given for {listed(strange)}, no node. nodes: {listed(dag.nodes)}")
    missing = [n for n in dag.nodes if n not in counts]
    if missing:
        raise InvalidNetwork(f"no counts for {listed(missing)}: every node needs N[parents…, node]")
    return {n: tuple(given[n]) if n in given else infer_states(n, counts[n], len(dag.parents(n))) for n in dag.nodes}
