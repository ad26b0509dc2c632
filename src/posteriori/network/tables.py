"""Conditional probability tables: as users give them (mappings, pandas tables, arrays), or counted from data.

A flat table runs through the parents' states, the first parent slowest, and through the node's own states fastest.
From data, families are counted by `statistics` (there is no class: all rows are of one) and smoothed by `smoothing`.
Symbols: N[π, x] rows with the parents in configuration π and the node in state x; λ smoothing; r states of the node.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..arrays import Floats
from ..budget import memory_budget, refuse_over
from ..errors import BadParameter, BadValue, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..smoothing.theta import theta
from ..statistics.cuts import CodedTable
from ..statistics.joint import count_joint
from ..structure.dag import Dag
from ..table.weights import check_weights
from .numbers import row_sums
from .says import code_of, coded, columns, declared, read_cases

ROW_TOLERANCE = (
    1e-3  # how far the digits of a row may be from one: three thirds typed as 0.333 pass, a typing error not
)

States = dict[str, tuple[Hashable, ...]]


def infer_states(node: str, table: Any, depth: int) -> tuple[Hashable, ...]:
    """The states that a table names (`depth` parents above them), or "0", "1", … for bare numbers.

    >>> infer_states("wet", {"rain": {"no": 0.1, "yes": 0.9}}, 1)
    ('no', 'yes')
    """
    while isinstance(table, Mapping) and depth > 0:
        if not table:
            raise InvalidNetwork(f"the table of {node!r} is empty")
        key, table = next(iter(table.items()))
        depth -= len(key) if isinstance(key, tuple) else 1
    if isinstance(table, Mapping):
        return tuple(table)
    labels = getattr(table, "columns", None)
    if labels is None and not callable(getattr(table, "index", None)):
        labels = getattr(table, "index", None)
    if labels is not None:
        return tuple(labels)
    try:
        shape = np.shape(table)
    except ValueError:
        raise InvalidNetwork(f"the table of {node!r} is no array of numbers: its rows differ in length") from None
    return tuple(str(i) for i in range(shape[-1] if shape else 0))


def flat_table(node: str, table: Any, parents: Sequence[str], states: States) -> Floats:
    """The numbers of a table in flat order, not yet checked to be probabilities."""
    refuse_table(node, parents, states)
    if isinstance(table, Mapping):
        return _from_mapping(node, table, parents, states)
    if hasattr(table, "columns") or hasattr(table, "to_frame"):
        return _from_frame(node, table, parents, states)
    return _from_array(node, table, parents, states)


def refuse_table(node: str, parents: Sequence[str], states: States) -> None:
    """Refuse a table of too many cells before it is held: as given, as a copy and as rows being summed."""
    cells = math.prod(len(states[n]) for n in (*parents, node))
    if 24.0 * cells > memory_budget():
        what = f"the table of {node!r} given {listed(parents)}, which holds {cells:,} numbers,"
        refuse_over(None, 24.0 * cells, what, "give it fewer parents")


def _from_array(node: str, table: Any, parents: Sequence[str], states: States) -> Floats:
    shape = tuple(len(states[n]) for n in (*parents, node))
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidNetwork(f"the table of {node!r} is no array of numbers of shape {shape}") from None
    if values.shape not in (shape, (math.prod(shape[:-1]), shape[-1])):
        axes = " × ".join([*parents, node])
        raise InvalidNetwork(f"the table of {node!r} needs the shape {shape} ({axes}), found {values.shape}")
    return values.ravel()


def _from_mapping(node: str, table: Mapping[Any, Any], parents: Sequence[str], states: States) -> Floats:
    """{parent state: {other parent's state: {state: p}}}; a tuple of states stands for several levels."""
    size = len(states[node])
    rows = np.full((math.prod(len(states[p]) for p in parents), size), np.nan)
    todo: list[tuple[int, int, Any]] = [(0, 0, table)]  # parents already chosen, the row so far, what is left
    while todo:
        depth, row, part = todo.pop()
        if depth == len(parents):
            rows[row] = _row(node, part, states)
            continue
        if not isinstance(part, Mapping):
            raise InvalidNetwork(f"the table of {node!r} needs a mapping over the states of {parents[depth]!r}")
        for key, inner in part.items():
            chosen = key if isinstance(key, tuple) and key not in states[parents[depth]] else (key,)
            if len(chosen) > len(parents) - depth:
                raise InvalidNetwork(f"the table of {node!r} names {len(chosen)} parent states at {key!r}: too many")
            at = row
            for parent, state in zip(parents[depth:], chosen, strict=False):
                at = at * len(states[parent]) + code_of(state, states[parent], parent)
            todo.append((depth + len(chosen), at, inner))
    gaps = np.flatnonzero(np.isnan(rows[:, 0]))
    if len(gaps):
        raise InvalidNetwork(f"the table of {node!r} has no row for {configuration(int(gaps[0]), parents, states)}")
    return rows.ravel()


def _row(node: str, part: Any, states: States) -> Floats:
    if isinstance(part, Mapping):
        row = np.zeros(len(states[node]))
        for state, p in part.items():
            row[code_of(state, states[node], node)] = _number(node, p)
        return row
    try:
        row = np.asarray(part, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidNetwork(f"a row of {node!r} needs {len(states[node])} numbers, found {part!r}") from None
    if row.shape != (len(states[node]),):
        raise InvalidNetwork(f"a row of {node!r} needs {len(states[node])} numbers, found {np.size(part)}")
    return np.where(np.isnan(row), np.inf, row)  # NaN marks a row not given: what was given as NaN stays wrong


def _number(node: str, p: Any) -> float:
    try:
        value = float(p)
    except (TypeError, ValueError):
        raise BadValue(f"expected a probability in the table of {node!r}, found {p!r}") from None
    return math.inf if math.isnan(value) else value


def _from_frame(node: str, frame: Any, parents: Sequence[str], states: States) -> Floats:
    """A pandas table as `cpt` gives it: columns are the node's states, the index the parents' states."""
    if not hasattr(frame, "columns"):
        frame = frame.to_frame().T
    columns = [code_of(c, states[node], node) for c in frame.columns]
    if sorted(columns) != list(range(len(states[node]))):
        raise InvalidNetwork(f"the table of {node!r} needs one column for each of its {len(states[node])} states")
    sizes = [len(states[p]) for p in parents]
    if len(frame) != math.prod(sizes):
        raise InvalidNetwork(f"the table of {node!r} needs {math.prod(sizes)} rows, found {len(frame)}")
    values = np.empty((len(frame), len(columns)))
    try:
        values[:, columns] = frame.to_numpy(dtype=np.float64, na_value=np.inf)
    except (TypeError, ValueError):
        raise InvalidNetwork(f"the table of {node!r} holds what is no number") from None
    if not parents:
        return values.ravel()
    names = list(frame.index.names)
    if len(names) != len(parents):
        raise InvalidNetwork(f"the table of {node!r} needs one index level for each parent ({', '.join(parents)})")
    levels = [names.index(p) for p in parents] if set(names) == set(parents) else list(range(len(parents)))
    place = np.zeros(len(frame), dtype=np.int64)
    for parent, level in zip(parents, levels, strict=True):
        codes = [code_of(k, states[parent], parent) for k in frame.index.get_level_values(level)]
        place = place * len(states[parent]) + np.array(codes, dtype=np.int64)
    if len(set(place.tolist())) < len(place):
        raise InvalidNetwork(f"the table of {node!r} gives a row twice")
    rows = np.empty_like(values)
    rows[place] = values
    return rows.ravel()


def configuration(row: int, parents: Sequence[str], states: States) -> str:
    """The parents' states of a row, for a message.

    >>> configuration(2, ["a", "b"], {"a": ("x", "y"), "b": ("u", "v")})
    'a=y, b=u'
    """
    parts = []
    for parent in reversed(parents):
        row, code = divmod(row, len(states[parent]))
        parts.append(f"{parent}={states[parent][code]}")
    return ", ".join(reversed(parts))


def checked_tables(tables: Mapping[str, Floats], dag: Dag, states: States) -> dict[str, Floats]:
    """The flat tables end to end, read-only: every row non-negative, finite, and one as far as its digits go."""
    flat = np.concatenate(list(tables.values()))
    with np.errstate(invalid="ignore"):
        sums = row_sums(flat, [len(states[n]) for n in tables], [len(t) for t in tables.values()])
        good = (flat.min(initial=0) >= 0) & (np.abs(sums - 1) <= ROW_TOLERANCE * (1 + 1e-9)).all()
    if not good:
        for node, table in tables.items():
            _check_rows(node, table, dag.parents(node), states)
    flat.flags.writeable = False
    ends = np.cumsum([len(t) for t in tables.values()]).tolist()
    return {n: flat[a:b] for n, a, b in zip(tables, [0, *ends], ends)}


def _check_rows(node: str, table: Floats, parents: Sequence[str], states: States) -> None:
    """An error that names the first row that is none."""
    rows = table.reshape(-1, len(states[node]))
    with np.errstate(invalid="ignore"):
        sums = rows.sum(axis=1)
        bad = ~((np.abs(sums - 1) <= ROW_TOLERANCE * (1 + 1e-9)) & (rows >= 0).all(axis=1))
    if not bad.any():
        return
    first = int(np.flatnonzero(bad)[0])
    where = f" for {configuration(first, parents, states)}" if parents else ""
    cells = ", ".join(f"{s}: {p:g}" for s, p in zip(states[node][:8], rows[first], strict=False))
    if not np.isfinite(rows[first]).all() or (rows[first] < 0).any():
        raise InvalidNetwork(f"the row of {node!r}{where} holds what is no probability ({cells})")
    raise InvalidNetwork(f"the row of {node!r}{where} sums to {sums[first]:.12g}, not 1 ({cells})")


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
    if not isinstance(counts, Mapping):
        raise InvalidNetwork(f"counts is a mapping from node to counts, got {type(counts).__name__}")
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
