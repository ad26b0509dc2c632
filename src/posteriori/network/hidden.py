"""Tables from rows with missing cells and hidden nodes, by EM.

Symbols: N[π, x] the counts of the families that a row states whole, which never change; E[π, x] what the other rows are
expected to have counted; θ tables, λ smoothing.

    E   E = Σ_rows P(π, x | what the row states, θ), by the junction tree; equal rows once
    M   θ = (N + E + λ) / (N[π] + E[π] + rλ)
    ℓ   Σ_rows ln P(what the row states | θ) + λ Σ ln θ

With nothing missing E is nothing, and θ is counting.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import xlogy

from .. import kernels
from ..arrays import Array, Codes, Floats, is_whole
from ..em import Ascent, ascend
from ..errors import BadParameter, InvalidNetwork, ModelError, TableError, UnknownColumn, listed
from ..statistics.collect import collect_codes
from ..statistics.counts import starts_of
from ..statistics.cuts import CodedTable
from ..statistics.joint import count_joint
from ..structure.dag import Dag
from ..structure.rules import Watch
from .junction import JunctionTree
from .learn import Smoothing, families, read_codes
from .numbers import Numbers
from .sampling import RandomState, seeds
from .tables import States, refuse_table

MOST = 1 << 20  # states of a hidden node
BLOCK = 1 << 28  # bytes of trees between two looks at the clock
RESTARTS = 10  # starts where a node is hidden: its states have no names, and a climb may take two of them for one


class Incomplete:
    """Rows in codes of the states, −1 where a cell is missing; what is known for good, and what has to be expected."""

    def __init__(self, dag: Dag, states: States, cases: Codes, weights: Floats | None, n_jobs: int | None) -> None:
        self.dag, self.states, self.n_jobs = dag, states, n_jobs
        self.sizes = tuple(len(states[n]) for n in dag.nodes)
        self.families = families(dag)
        whole = (cases >= 0).all(axis=1)
        self.fixed = self._counts(cases, weights)
        self.complete = self._counts(cases[whole], None if weights is None else weights[whole])
        some = np.ones(len(cases)) if weights is None else weights
        self.cases, back = np.unique(cases[~whole], axis=0, return_inverse=True)
        self.weights = np.bincount(back.ravel(), some[~whole], minlength=len(self.cases)).astype(np.float64)
        self.offsets = starts_of(len(n) * n.shape[-1] for n in self.fixed)

    def _counts(self, cases: Codes, weights: Floats | None) -> list[Array]:
        """N of every family in the rows that have it whole, [configuration, x]."""
        columns = [np.where(c < 0, size, c).astype(np.uint32) for c, size in zip(cases.T, self.sizes)]
        table = CodedTable(columns, self.sizes, n_missing=int((cases < 0).sum()))
        no_class = np.zeros(len(cases), np.uint8)
        joint = count_joint(table, self.families, no_class, 1, weights, self.n_jobs)
        return [joint.table(v, self.sizes).reshape(-1, size) for v, size in enumerate(self.sizes)]

    def theta(self, counts: Sequence[Array], how: Smoothing) -> list[Floats]:
        """The tables of these counts."""
        return [how.theta(n) for n in counts]

    def numbers(self, tables: Sequence[Floats]) -> Numbers:
        """The network of these tables."""
        return Numbers(self.sizes, self.dag.numbered_parents, tuple(t.ravel() for t in tables), self.dag.nodes)


def climb(
    rows: Incomplete,
    how: Smoothing,
    starts: Sequence[list[Floats]],
    tol: float,
    max_iter: int,
    progress: Callable[[int, float], Any] | None,
    max_memory: float | None,
    watch: Watch | None = None,
) -> Ascent[list[Floats]]:
    """The tables that EM ends at; where the time of `watch` is over it ends as by Ctrl-C."""
    tree = JunctionTree(rows.numbers(starts[0]), max_memory)
    threads = kernels.n_threads(rows.n_jobs, max(2, len(rows.cases)) * 200_000)
    block = max(16, min(2048, int(BLOCK / tree.bytes)))  # cases

    def expect(tables: list[Floats]) -> tuple[list[Floats], float]:
        tree.refill(rows.numbers(tables))
        found, value = np.zeros(int(rows.offsets[-1])), 0.0
        for begin in range(0, len(rows.cases), block):
            if watch is not None and watch.over():
                raise KeyboardInterrupt
            some = slice(begin, begin + block)
            more, log_p = tree.expected(rows.cases[some], rows.weights[some], rows.offsets, threads)
            found += more
            value += float(rows.weights[some] @ log_p)
        parts = np.split(found, rows.offsets[1:-1])
        counts = [n + e.reshape(n.shape) for n, e in zip(rows.fixed, parts)]
        for n, theta in zip(rows.complete, tables):
            value += float(xlogy(n + how.pseudo_count(n.size), theta).sum())
        return counts, value

    return ascend(starts, expect, lambda counts: rows.theta(counts, how), tol=tol, max_iter=max_iter, progress=progress)


def read_incomplete(
    dag: Dag,
    data: Any,
    hidden: Mapping[str, Any],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any,
    n_jobs: int | None,
) -> tuple[States, Codes, Floats | None]:
    """The states of every node (of a hidden one those told, or as many as told), those rows that count, the weights."""
    unseen = hidden_states(dag, hidden)
    seen = [n for n in dag.nodes if n not in unseen]
    try:
        coded, schema, weights = read_codes(dag, data, seen, closed, sample_weight, n_jobs)
    except UnknownColumn as error:
        raise UnknownColumn(f"{error}; a node without a column is hidden: hidden={{name: number of states}}") from None
    _, found = collect_codes(coded, schema, np.zeros(len(coded.column(0)), np.uint8), weights, n_jobs)
    values = {c.name: c.values for c in found.schema.columns}
    states = {n: unseen[n] if n in unseen else tuple(closed.get(n, values[n])) for n in dag.nodes}
    empty = [n for n, s in states.items() if not s]
    if empty:
        raise TableError(f"every cell of {listed(empty)} is missing; pass its states")
    for node in dag.nodes:
        refuse_table(node, dag.parents(node), states)
    cases = np.full((len(coded.column(0)), len(dag.nodes)), -1, np.int32)
    for k, node in enumerate(seen):
        place = {s: i for i, s in enumerate(states[node])}
        codes = np.array([place.get(v, -1) for v in coded.values[k]] + [-1], np.int32)
        cases[:, dag.index[node]] = codes[coded.column(k)]
    if weights is None:
        return states, cases, None
    counts = weights > 0  # a row that counts for nothing may be impossible
    return states, cases[counts], weights[counts]


def hidden_states(dag: Dag, hidden: Any) -> dict[str, tuple[Hashable, ...]]:
    """{node: its states}, from {node: number of states, or a list of them}."""
    if not isinstance(hidden, Mapping):
        raise BadParameter(f"hidden is a mapping from node to its number of states. Got {hidden!r} instead.")
    found: dict[str, tuple[Hashable, ...]] = {}
    for node, told in hidden.items():
        if node not in dag.index:
            raise InvalidNetwork(f"the hidden node {node!r} is not in the structure. nodes: {listed(dag.nodes)}")
        if is_whole(told, 1, MOST):
            found[node] = tuple(str(k) for k in range(int(told)))
        elif isinstance(told, Sequence) and not isinstance(told, str) and told:
            found[node] = tuple(told)
        else:
            raise BadParameter(
                f"the states of {node!r} are a number from 1 to {MOST:,}, or a list. Got {told!r} instead."
            )
    return found


def first_tables(
    rows: Incomplete, hidden: Mapping[str, Any], restarts: int | None, random_state: RandomState
) -> list[list[Floats]]:
    """Where the climbs begin: at what whole families counted, and at mixtures of it with chance.

    Every cell is above zero: what begins at zero stays there. A family with a hidden node was never counted; half of each
    of its rows is chance, half how often the node's states came at all.
    """
    n = started(restarts, hidden)
    counted = rows.theta(rows.fixed, Smoothing(1.0))
    if n == 1 and not hidden:
        return [counted]
    rng = np.random.default_rng(int(seeds(random_state, 1)[0]))
    unseen = {rows.dag.index[node] for node in hidden}
    starts = [] if hidden else [counted]
    while len(starts) < n:
        start = []
        for family, table in zip(rows.families, counted):
            chance = rng.dirichlet(np.ones(table.shape[1]), len(table))
            start.append((table + chance) / 2 if unseen & set(family) or not hidden else table)
        starts.append(start)
    return starts


def started(restarts: int | None, hidden: Mapping[str, Any]) -> int:
    """How many starts."""
    if restarts is not None and not is_whole(restarts, 1):
        raise BadParameter(f"restarts is a whole number from 1 up, or None. Got {restarts!r} instead.")
    return int(restarts) if restarts is not None else RESTARTS if hidden else 1


def given_tables(rows: Incomplete, start: Any) -> list[Floats]:
    """The tables of a network to begin with, which has the same structure and states."""
    dag, states = rows.dag, rows.states
    if not (hasattr(start, "cpt") and set(start.nodes) == set(dag.nodes)):
        raise BadParameter(f"start is a network of the same nodes, or None. Got {start!r} instead.")
    tables = []
    for node in dag.nodes:
        if start.parents(node) != dag.parents(node) or start.states(node) != states[node]:
            raise ModelError(f"the network to begin with has other parents or states of {node!r}")
        tables.append(start.cpt(node).to_numpy())
    return tables
