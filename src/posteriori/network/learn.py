"""From rows to tables: every family of a known structure is counted, counts are kept, and θ is made from them.

Symbols: N[π, x] rows with the parents of a node in configuration π and the node in state x; r states of the node, q
configurations of its parents. There is no class: all rows are of one. What is kept is `Statistics`, N[x_v] of every node
and one joint of the families (parents…, v), by value: rows add and subtract whatever order the states have.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, Floats, is_number
from ..errors import (
    BadParameter,
    TableError,
    UnknownColumn,
    UnknownValue,
    did_you_mean,
    listed,
)
from ..kernels.naive import count_families
from ..smoothing.theta import MOST_SMOOTHING, family_theta
from ..statistics.collect import collect_codes, in_schema
from ..statistics.counts import Counts
from ..statistics.cuts import CodedTable
from ..statistics.joint import WIDE, Joint, cells_of, collect_families, refuse_families
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..table.encode import Coded, code_columns, seen_columns
from ..table.frame import Frame, Table, open_frame
from ..table.labels import narrowest
from ..table.rows import open_rows
from ..table.schema import Column, Schema, in_order
from ..table.weights import check_weights
from .says import code_of, declared
from .tables import States, refuse_table

ALL = None  # the one class of rows that have none


@dataclass(frozen=True)
class Smoothing:
    """How counts become θ: λ in every cell; an equivalent sample size, λ = ess/(q r); or a back-off of `backoff` rows."""

    smoothing: float = 1.0
    ess: float | None = None
    backoff: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is None and name != "smoothing":
                continue
            if not is_number(value, 0) or value > MOST_SMOOTHING:
                raise BadParameter(f"{name} is a number from 0 to {MOST_SMOOTHING:g}. Got {value!r} instead.")
            object.__setattr__(self, name, float(value))
        if self.ess is not None and self.backoff is not None:
            raise BadParameter("ess and backoff are two ways to smooth: give one of them")

    def theta(self, counts: Array) -> Floats:
        """θ[π…, x] from N[π…, x]."""
        return family_theta(counts, self.smoothing, self.ess, self.backoff)

    def pseudo_count(self, cells: int) -> float:
        """λ of each of the cells of a table."""
        return self.smoothing if self.ess is None else self.ess / cells


def families(dag: Dag) -> list[tuple[int, ...]]:
    """(parents…, v) of every node v."""
    return [(*parents, v) for v, parents in enumerate(dag.numbered_parents)]


def rows_of(data: Any) -> Frame:
    """The columns of a table, the target of a `Table` among them; one row may come as a dict of cells."""
    if not isinstance(data, Table) or data.y is None:
        return open_rows(data, None, "BayesNet")
    frame = open_frame(data.X)
    names = frame.names or tuple(frame.name(j) for j in range(frame.d))
    target = data.schema.target or "class"
    return Frame(frame.n, (*names, target), columns=(*(frame.column(j) for j in range(frame.d)), np.asarray(data.y)))


def listed_states(data: Any) -> dict[str, tuple[Hashable, ...]]:
    """The states that the types of the columns list."""
    return declared(data.X if isinstance(data, Table) else data)


def count_rows(
    dag: Dag,
    data: Any,
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Statistics:
    """N of every family in these rows; a row with missing cells counts for the families that it has whole.

    A node in `closed` has these states and no others; the states of the others are the values their columns have.
    """
    coded, schema, weights = read_codes(dag, data, dag.nodes, closed, sample_weight, n_jobs)
    if weights is None and not coded.n_missing and _narrow(dag, coded):
        return _count_whole(dag, coded, schema, n_jobs, max_memory)
    no_class = np.zeros(len(coded.column(0)), np.uint8)
    table, found = collect_codes(coded, schema, no_class, weights, n_jobs)
    return with_families(dag, table, found, weights, n_jobs, max_memory)


def _narrow(dag: Dag, coded: Coded) -> bool:
    sizes = [len(values) for values in coded.values]
    return min(sizes) > 0 and max(cells_of(families(dag), sizes)) <= WIDE


def _count_whole(dag: Dag, coded: Coded, schema: Schema, n_jobs: int | None, max_memory: float | None) -> Statistics:
    """Rows without a missing cell, counted in the codes they came in: the tables are put in order, not the rows.

    N[x_v] is the sum of the family of v over its parents.
    """
    sizes, scopes = [len(values) for values in coded.values], families(dag)
    states = {node: tuple(values) for node, values in zip(dag.nodes, coded.values)}
    for node in dag.nodes:
        refuse_table(node, dag.parents(node), states)
    refuse_families(scopes, sizes, len(coded.column(0)), 1, max_memory)
    counted = count_families(coded.columns, sizes, scopes, n_jobs)
    tables = [n.reshape([sizes[j] for j in family]) for family, n in zip(scopes, counted)]
    own = [table.sum(axis=tuple(range(table.ndim - 1))) for table in tables]
    missing = np.zeros(1, np.int64)
    flat = np.concatenate([part for n in own for part in (n, missing)])[:, None]
    columns, at = seen_columns(coded, flat[:, 0] != 0, schema.columns)
    cells = in_schema(flat, at, columns)
    places = [np.array([c.place.get(v, -1) for v in values]) for c, values in zip(columns, coded.values)]
    after = [len(c.values) for c in columns]
    moved = [len(p) != n or (np.diff(p) != 1).any() for p, n in zip(places, after)]
    parts = []
    for family, table in zip(scopes, tables):
        if any(moved[j] for j in family):
            there = np.zeros([after[j] for j in family], np.int64)
            there[np.ix_(*(places[j][places[j] >= 0] for j in family))] = table[
                np.ix_(*(places[j] >= 0 for j in family))
            ]
            table = there
        parts.append((None, table.reshape(-1, 1)))
    joint = Joint.of(scopes, parts, after, np.zeros((0, 1), np.int64))
    return of_counts(replace(schema, columns=tuple(columns)), own[0].sum().reshape(1), cells, joint)


def of_counts(schema: Schema, rows: Array, cells: Counts, joint: Joint) -> Statistics:
    """Counts of columns with values alone, as statistics."""
    nothing = Moments.zero(1, 0)
    roles = ("cells",) * len(schema)
    return Statistics(schema, roles, rows, cells, Counts.zero([], 1), nothing, (), joints=(joint,))


def read_codes(
    dag: Dag,
    data: Any,
    nodes: Sequence[str],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any,
    n_jobs: int | None,
) -> tuple[Coded, Schema, Floats | None]:
    """The columns of some nodes in codes, what is declared of them, and the weights of the rows."""
    ready, holed = _categories(data, nodes)
    others = [n for n in nodes if n not in ready]
    frame = rows_of(data if not ready else data[[c for c in data.columns if c not in ready]]) if others else None
    if frame is not None and frame.names is None:
        raise TableError(
            "a table of cases needs column names: give a pandas, polars or Arrow table or a dict of columns"
        )
    names = (*ready, *(frame.names or () if frame is not None else ()))
    missing = [n for n in others if n not in names]
    if missing:
        near = did_you_mean(missing[0], names) or "."
        raise UnknownColumn(f"no column for {listed(missing)}{near} columns: {listed(names)}")
    strange = [n for n in closed if n not in dag.index]
    if strange:
        raise UnknownColumn(f"states are given for {listed(strange)}, which is no node. nodes: {listed(dag.nodes)}")
    n = frame.n if frame is not None else len(data)
    if n == 0 or not nodes:
        raise TableError(f"a network is learned from rows and nodes; got {n} rows and {len(nodes)} nodes")
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    if frame is not None:
        place = {name: j for j, name in enumerate(frame.names or ())}
        found = code_columns(frame, [place[name] for name in others], n_jobs)
        ready |= {name: (found.values[k], found.column(k)) for k, name in enumerate(others)}
    n_missing = found.n_missing if others else 0
    n_missing += sum(int(np.count_nonzero(ready[name][1] == len(ready[name][0]))) for name in holed)
    coded = Coded(tuple(ready[name][0] for name in nodes), [ready[name][1] for name in nodes], n_missing)
    coded = _in_states(coded, nodes, closed)
    columns = [Column(n, "categorical", in_order(set(closed.get(n, ()))), frozenset(closed.get(n, ()))) for n in nodes]
    return coded, Schema(tuple(columns), (ALL,), frozenset((ALL,))), weights


def _categories(data: Any, nodes: Sequence[str]) -> tuple[dict[str, tuple[Sequence[Any], Array]], list[str]]:
    """Values and codes of the columns of a pandas table that have categories of words or whole numbers, as they stand.

    And which of them have missing cells; only those are copied.
    """
    found: dict[str, tuple[Sequence[Any], Array]] = {}
    holed: list[str] = []
    if not hasattr(data, "iloc") or getattr(data, "ndim", 0) != 2 or not data.columns.is_unique:
        return found, holed
    kinds, listings = data.dtypes.to_dict(), dict[int, tuple[str, list[Any]]]()  # columns share their categories
    for node in nodes:
        kind = kinds.get(node)
        if type(kind).__name__ != "CategoricalDtype":
            continue
        if id(kind.categories) not in listings:
            listings[id(kind.categories)] = kind.categories.inferred_type, kind.categories.tolist()
        type_of, values = listings[id(kind.categories)]
        if type_of not in ("string", "integer"):
            continue
        codes = data[node].array.codes
        if len(codes) and int(codes.min()) < 0:
            codes = np.where(codes < 0, len(values), codes).astype(narrowest(len(values) + 1))
            holed.append(node)
        found[node] = values, codes.view(f"u{codes.dtype.itemsize}")
    return found, holed


def _in_states(coded: Coded, nodes: Sequence[str], closed: Mapping[str, Sequence[Hashable]]) -> Coded:
    """The same codes with the values of closed nodes written as their states, by value or else by text."""
    values, codes = list(coded.values), [coded.column(k) for k in range(len(nodes))]
    for k, node in enumerate(nodes):
        states = tuple(closed.get(node, ()))
        if node not in closed or all(v in states for v in values[k]):
            continue
        place = np.zeros(len(values[k]) + 1, dtype=narrowest(len(states) + 1))
        for i, value in enumerate(values[k]):
            try:
                place[i] = code_of(value, states, node)
            except UnknownValue as error:
                met = np.flatnonzero(codes[k] == i)
                if len(met):  # a range of values may have gaps
                    raise UnknownValue(f"column {node!r}, row {int(met[0])}: {error}") from None
        place[-1] = len(states)
        values[k], codes[k] = states, place[codes[k]]
    return Coded(tuple(values), codes, coded.n_missing)


def with_families(
    dag: Dag,
    table: CodedTable,
    found: Statistics,
    weights: Floats | None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Statistics:
    """The statistics of rows, and the counts of every family in them."""
    states = {n: found.schema[n].values for n in dag.nodes}
    for node in dag.nodes:
        refuse_table(node, dag.parents(node), states)
    no_class = np.zeros(table.n, np.uint8)
    joint = collect_families(table, families(dag), no_class, 1, weights, n_jobs, max_memory)
    return replace(found, joints=(joint,))


def states_of(statistics: Statistics, closed: Mapping[str, Sequence[Hashable]]) -> States:
    """The states of every node that has some: of a closed one those told, in their order, else its values in order."""
    schema = statistics.schema
    empty = [schema.names[j] for j in statistics.where("cells") if not schema.columns[j].values]
    if empty:
        raise TableError(f"every cell of {listed(empty)} is missing; pass its states")
    return {c.name: tuple(closed.get(c.name, c.values)) for c in schema.columns}


def tables_of(dag: Dag, statistics: Statistics, states: States, how: Smoothing) -> dict[str, Floats]:
    """θ of every node, its axes in the order of the states."""
    tables = {}
    for node, family in zip(dag.nodes, families(dag), strict=True):
        counts = statistics.joints[0].table(family[-1], statistics.sizes)[..., 0]
        for axis, name in enumerate([*dag.parents(node), node]):
            place = statistics.schema[name].place
            if tuple(place) != states[name]:
                counts = np.take(counts, [place[s] for s in states[name]], axis=axis)
        tables[node] = how.theta(counts).reshape(-1, len(states[node]))
    return tables
