"""A network as users give it: its graph, its states, and its tables as mappings, pandas tables or arrays.

A flat table runs through the parents' states, the first parent slowest, and through the node's own states fastest.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from ..budget import memory_budget, refuse_over
from ..errors import BadValue, InvalidNetwork, did_you_mean, listed
from ..structure.dag import Dag
from ..structure.graph import refuse_halves
from .findings import code_of
from .numbers import row_sums

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
    except (TypeError, ValueError, OverflowError):
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
    except (TypeError, ValueError, OverflowError):
        raise InvalidNetwork(f"a row of {node!r} needs {len(states[node])} numbers, found {part!r}") from None
    if row.shape != (len(states[node]),):
        raise InvalidNetwork(f"a row of {node!r} needs {len(states[node])} numbers, found {np.size(part)}")
    return np.where(np.isnan(row), np.inf, row)  # NaN marks a row not given: what was given as NaN stays wrong


def _number(node: str, p: Any) -> float:
    try:
        value = float(p)
    except (TypeError, ValueError, OverflowError):
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
    except (TypeError, ValueError, OverflowError):
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


def configuration_index(parents: Sequence[str], states: States) -> Any:
    """The configurations of the parents as the index of a pandas table, the first parent slowest."""
    import pandas as pd

    if len(parents) > 1:
        return pd.MultiIndex.from_product([states[p] for p in parents], names=list(parents))
    if not parents:
        return pd.RangeIndex(1)
    return pd.Index(states[parents[0]], name=parents[0], dtype=object, tupleize_cols=False)


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


def as_dag(graph: Any) -> Dag:
    """A graph, or the arrows of one, whose ends are its nodes."""
    if isinstance(graph, Dag):
        return graph
    try:
        arrows = [(a, b) for a, b in graph]
    except (TypeError, ValueError, OverflowError):
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


def graph_of(edges: Dag | Iterable[tuple[str, str]], tables: Mapping[str, Any]) -> Dag:
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


def node_states(node: str, given: Sequence[Hashable] | None, table: Any, dag: Dag) -> tuple[Hashable, ...]:
    found = tuple(given) if given is not None else infer_states(node, table, len(dag.parents(node)))
    if not found:
        raise InvalidNetwork(f"node {node!r} has no states")
    if len(set(found)) < len(found):
        raise InvalidNetwork(f"node {node!r} lists a state twice: {listed(found)}")
    refuse_halves(found, f"a state of {node!r},")
    return found
