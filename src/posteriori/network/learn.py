"""Θ from data: families are counted by `statistics` (there is no class: all rows are of one) and smoothed by `smoothing`.

Symbols: N[π, x] rows with the parents in configuration π and the node in state x; λ smoothing; r states of the node.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import BadParameter, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..smoothing.theta import theta
from ..statistics.cuts import CodedTable
from ..statistics.joint import count_joint
from ..structure.dag import Dag
from ..table.weights import check_weights
from .says import coded, columns, declared, read_cases
from .tables import flat_table, infer_states, refuse_table

States = dict[str, tuple[Hashable, ...]]


def _learned_states(dag: Dag, data: Any, given: Mapping[str, Sequence[Hashable]]) -> States:
    """The states of every node: those given, else the values its column has."""
    nodes = set(dag.nodes)
    found = declared(data)
    seen = set()
    for name, cells in columns(data):
        seen.add(name)
        if name in nodes and name not in given and name not in found:
            found[name] = coded(name, cells)[0]
    missing = [n for n in dag.nodes if n not in seen]
    if missing:
        raise UnknownColumn(
            f"no column for {listed(missing)}{did_you_mean(missing[0], seen) or '.'} columns: {listed(seen)}"
        )
    strange = [n for n in given if n not in nodes]
    if strange:
        raise UnknownColumn(f"states are given for {listed(strange)}, which is no node. nodes: {listed(dag.nodes)}")
    states = {n: tuple(given[n]) if n in given else found[n] for n in dag.nodes}
    empty = [n for n, s in states.items() if not s]
    if empty:
        raise TableError(f"every cell of {listed(empty)} is missing; pass its states")
    return states


def fitted(
    dag: Dag, data: Any, smoothing: float, given: Mapping[str, Sequence[Hashable]], sample_weight: Any
) -> tuple[dict[str, Floats], States]:
    """θ[π, x] = (N[π, x] + λ) / (N[π] + rλ) for every node, and its states; uniform where nothing was counted and λ = 0.

    A row counts for the families in which it has no missing cell.
    """
    states = _learned_states(dag, data, given)
    smoothing = _checked(smoothing)
    for node in dag.nodes:
        refuse_table(node, dag.parents(node), states)
    codes = read_cases({name: cells for name, cells in columns(data) if name in states}, dag.index, states)
    weights = None if sample_weight is None else check_weights(sample_weight, len(codes))
    sizes = tuple(len(states[n]) for n in dag.nodes)
    cells = [np.where(c < 0, size, c).astype(np.uint32) for c, size in zip(codes.T, sizes)]
    table = CodedTable(cells, sizes, n_missing=int((codes < 0).sum()))
    families = [(*parents, v) for v, parents in enumerate(dag.numbered_parents)]
    no_class = np.zeros(len(codes), np.uint8)
    counts = count_joint(table, families, no_class, 1, weights, None)
    found = (counts.table(v, sizes).reshape(-1, size) for v, size in enumerate(sizes))
    tables = {n: theta(table, smoothing, axis=-1) for n, table in zip(dag.nodes, found)}
    return tables, states


def _counted_states(dag: Dag, counts: Mapping[str, Any], given: Mapping[str, Sequence[Hashable]]) -> States:
    """The states of every node: those given, else those that its counts name ("0", "1", … for bare numbers)."""
    nodes = set(dag.nodes)
    for what, named in (("counts", counts), ("states", given)):
        strange = [n for n in named if n not in nodes]
        if strange:
            raise InvalidNetwork(f"{what} are given for {listed(strange)}, no node. nodes: {listed(dag.nodes)}")
    missing = [n for n in dag.nodes if n not in counts]
    if missing:
        raise InvalidNetwork(f"no counts for {listed(missing)}: every node needs N[parents…, node]")
    return {n: tuple(given[n]) if n in given else infer_states(n, counts[n], len(dag.parents(n))) for n in dag.nodes}


def counted(
    dag: Dag, counts: Mapping[str, Any], smoothing: float, given: Mapping[str, Sequence[Hashable]]
) -> tuple[dict[str, Floats], States]:
    """θ[π, x] = (N[π, x] + λ) / (N[π] + rλ) for every node, and its states, from counts already made."""
    states = _counted_states(dag, counts, given)
    smoothing = _checked(smoothing)
    tables = {}
    for node in dag.nodes:
        cells = flat_table(node, counts[node], dag.parents(node), states)
        if not (np.isfinite(cells).all() and (cells >= 0).all()):
            raise InvalidNetwork(f"the counts of {node!r} are finite numbers from 0 up")
        tables[node] = theta(cells.reshape(-1, len(states[node])), smoothing, axis=-1)
    return tables, states


def _checked(smoothing: Any) -> float:
    if not isinstance(smoothing, Real) or isinstance(smoothing, bool) or not 0 <= float(smoothing) < math.inf:
        raise BadParameter(f"smoothing is a number from 0 up. Got {smoothing!r} instead.")
    return float(smoothing)
