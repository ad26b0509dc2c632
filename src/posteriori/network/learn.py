"""Θ from data: count every family, smooth, divide.

Symbols: N[π, x] rows with the parents in configuration π and the node in state x; λ smoothing; r states of the node.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import (
    InvalidNetwork,
    MemoryBudgetError,
    ModelError,
    TableError,
    UnknownColumn,
    did_you_mean,
    listed,
)
from ..structure.dag import Dag
from .says import coded, columns, declared, read_cases
from .tables import flat_table, infer_states

States = dict[str, tuple[Hashable, ...]]
MOST_CELLS = 1 << 27  # of one family: 1 GiB


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
    _check_smoothing(smoothing)
    wanted = {name: cells for name, cells in columns(data) if name in states}
    index = {n: i for i, n in enumerate(dag.nodes)}
    codes = read_cases(wanted, index, dict(states))
    weights = _weights(sample_weight, len(codes))
    tables = {}
    for node in dag.nodes:
        family = [*dag.parents(node), node]
        sizes = [len(states[n]) for n in family]
        if math.prod(sizes) > MOST_CELLS:
            raise MemoryBudgetError(
                f"the table of {node!r} given {listed(dag.parents(node))} would hold {math.prod(sizes):,} numbers; "
                f"at most {MOST_CELLS:,} are held. Give it fewer parents"
            )
        part = codes[:, [index[n] for n in family]]
        whole = (part >= 0).all(axis=1)
        place = np.zeros(int(whole.sum()), dtype=np.int64)
        for size, column in zip(sizes, part[whole].T, strict=True):
            place = place * size + column
        counts = np.bincount(place, None if weights is None else weights[whole], minlength=math.prod(sizes))
        tables[node] = smoothed(counts.reshape(-1, sizes[-1]), smoothing)
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
    _check_smoothing(smoothing)
    tables = {}
    for node in dag.nodes:
        cells = flat_table(node, counts[node], dag.parents(node), states)
        if not (np.isfinite(cells).all() and (cells >= 0).all()):
            raise InvalidNetwork(f"the counts of {node!r} are finite numbers from 0 up")
        tables[node] = smoothed(cells.reshape(-1, len(states[node])), smoothing)
    return tables, states


def _check_smoothing(smoothing: float) -> None:
    if not (isinstance(smoothing, int | float) and 0 <= smoothing < math.inf):
        raise ModelError(f"smoothing is a number from 0 up. Got {smoothing!r} instead.")


def smoothed(counts: Any, smoothing: float) -> Floats:
    """(N[π, x] + λ) / (N[π] + rλ).

    >>> smoothed(np.array([[3, 1], [0, 0]]), 0).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    >>> smoothed(np.array([[2, 0]]), 1).tolist()
    [[0.75, 0.25]]
    """
    mass = counts + float(smoothing)
    totals = mass.sum(axis=1, keepdims=True)
    blank = totals == 0
    theta: Floats = np.where(blank, 1.0, mass) / np.where(blank, counts.shape[1], totals)
    return theta


def _weights(sample_weight: Any, n: int) -> Floats | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ModelError(f"sample_weight holds one finite number from 0 up for each of the {n} rows")
    return weights
