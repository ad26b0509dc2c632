"""Networks in a file: a graph by number, states, all tables under each other; what they were counted from, if they were."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, TypeVar

import numpy as np

from ..arrays import Array, Floats, Ints
from ..em import Ascent
from ..fields import NOT_NEGATIVE, need
from ..network.bayesnet import BayesNet
from ..network.hybrid import HybridNet
from ..network.learn import Smoothing, families
from ..network.normals import discrete_part, line_scopes, split
from ..statistics.comoments import FamilyMoments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from .forms import twin
from .schemas import is_distinct

Net = TypeVar("Net", BayesNet, HybridNet)
States = dict[str, tuple[Any, ...]]
NonNegative = Annotated[Floats, "cells", NOT_NEGATIVE]


@dataclass(frozen=True, eq=False)
class StoredDag:
    """A graph by its nodes and the numbers of both ends of every arrow."""

    nodes: tuple[str, ...]
    edges: Annotated[Ints, "arrows 2", NOT_NEGATIVE]

    @classmethod
    def of(cls, dag: Dag) -> StoredDag:
        """The parts of a graph."""
        place = dag.index
        edges = np.array([(place[a], place[b]) for a, b in dag.edges], dtype=np.int64).reshape(-1, 2)
        return cls(dag.nodes, edges)

    def made(self) -> Dag:
        """The graph of these parts."""
        inside = self.edges.max(initial=-1) < len(self.nodes)
        need(inside, "an arrow must have two ends that are nodes")
        return Dag(self.nodes, [(self.nodes[a], self.nodes[b]) for a, b in self.edges.tolist()])


@dataclass(frozen=True, eq=False)
class StoredNet:
    """A network by its graph, states and tables."""

    dag: Dag
    name: str
    states: States
    tables: NonNegative
    statistics: Statistics | None
    how: Smoothing
    ascent: Ascent[Any] | None

    @classmethod
    def of(cls, net: BayesNet) -> StoredNet:
        """The parts of a network."""
        ascent = net._ascent and replace(net._ascent, parameters=None)  # they are the tables
        flat = _flat(net._tables.values())
        return cls(net.dag, net.name, dict(net._states), flat, net._statistics, net._how, ascent)

    def made(self) -> BayesNet:
        """The network of these parts."""
        dag = self.dag
        need(set(self.states) == set(dag.nodes), "every node must have states")
        states = {n: self.states[n] for n in dag.nodes}
        tables = _tables(dag, states, self.tables)
        net = BayesNet(dag, tables, states, self.name)
        if self.ascent is not None:
            net._ascent = replace(self.ascent, parameters=[tables[n] for n in dag.nodes])
        return _counted(net, self.statistics, self.how)


@dataclass(frozen=True, eq=False)
class StoredHybridNet:
    """A network with numbers by its graph, states, tables and, of every number, α, β and σ² in all configurations."""

    dag: Dag
    states: States
    tables: NonNegative
    lines: dict[str, tuple[Floats, Floats, Floats]]
    statistics: Statistics | None
    how: Smoothing

    @classmethod
    def of(cls, net: HybridNet) -> StoredHybridNet:
        """The parts of a network."""
        found = net._gaussians.regressions
        lines = {n: (found[n].alpha, found[n].beta, found[n].variance) for n in net._gaussians.nodes}
        flat = _flat(net.discrete._tables.values())
        return cls(net.dag, dict(net._states), flat, lines, net._statistics, net._how)

    def made(self) -> HybridNet:
        """The network of these parts."""
        dag, states, lines = self.dag, self.states, self.lines
        of_all = {*states, *lines} == set(dag.nodes) and not set(states) & set(lines)
        need(of_all, "every node has states, or a line")
        for name, (alpha, beta, variance) in lines.items():  # a number could stand for more configurations than fit
            above, beside = split(dag.parents(name), lines)
            q = math.prod(len(states[p]) for p in above)
            whole = alpha.shape == variance.shape == (q,) and beta.shape == (q, len(beside))
            need(whole, "a line must have α, β and σ² of every configuration")
        net = HybridNet(dag, _tables(dag, states, self.tables), lines, states)
        return _counted(net, self.statistics, self.how)


def _flat(tables: Iterable[Array]) -> Floats:
    return np.concatenate([np.zeros(0), *(np.asarray(t, dtype=np.float64).ravel() for t in tables)])


def _tables(dag: Dag, states: States, flat: Floats) -> dict[str, Any]:
    """The table of every node with states, a row a configuration of its parents."""
    distinct = all(states.values()) and all(map(is_distinct, states.values()))
    need(distinct, "every node must have different states")
    sizes = {n: len(s) for n, s in states.items()}
    mine = [n for n in dag.nodes if n in sizes]
    need(all(p in sizes for n in mine for p in dag.parents(n)), "a node with states has parents with states")
    cells = [math.prod(sizes[m] for m in (*dag.parents(n), n)) for n in mine]
    need(sum(cells) == len(flat), f"the tables must have {sum(cells)} numbers; got {len(flat)}")
    ends = np.cumsum([0, *cells]).tolist()
    return {n: flat[a:b].reshape(-1, sizes[n]) for n, (a, b) in zip(mine, pairwise(ends))}


def _counted(net: Net, statistics: Statistics | None, how: Smoothing) -> Net:
    """The network with what it was counted from."""
    if statistics is None:
        return net
    schema, joints = statistics.schema, statistics.joints
    numbers: list[str] = [schema.names[j] for j in statistics.where("moments")]
    graph: Dag = discrete_part(net.dag, numbers) if numbers else net.dag
    need(schema.names == (*graph.nodes, *numbers), "there must be counts of every node")
    need(set(net.dag.nodes) == set(schema.names) and set(net._states) == set(graph.nodes), "counts of other nodes")
    need(schema.classes == (None,), "a network has no classes")
    for name, states in net._states.items():
        values = schema[name].values
        need(len(values) == len(states) and set(values) == set(states), "there must be counts of every state")
    need(len(joints) == 1 + isinstance(net, HybridNet), "there must be joint counts")
    statistics.check_joint(0, families(graph))
    if isinstance(net, HybridNet):
        fits = isinstance(joints[1], FamilyMoments) and list(joints[1].scopes) == line_scopes(net.dag, statistics)
        need(fits, "moments of every family of numbers")
    net._statistics, net._how = statistics, how
    return net


FORMS = {
    "Dag": partial(twin, StoredDag),
    "BayesNet": partial(twin, StoredNet),
    "HybridNet": partial(twin, StoredHybridNet),
}
