"""From rows to tables: every family of a known structure is counted, counts are kept, and θ is made from them.

Symbols: N[π, x] rows with the parents of a node in configuration π and the node in state x; r states of the node, q
configurations of its parents. There is no class: all rows are of one. What is kept is `Statistics`, N[x_v] of every node
and one joint of the families (parents…, v), by value: rows add and subtract whatever order the states have.

What a network counted: one value with `+` and `-`, of rows or already made, from which its tables can be made again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..arrays import Array, Floats, is_number
from ..errors import (
    BadParameter,
    BadValue,
    InvalidNetwork,
    StatisticsError,
    TableError,
    UnknownColumn,
    UnknownValue,
    did_you_mean,
    listed,
)
from ..kernels import count_families
from ..smoothing.theta import MOST_SMOOTHING, family_theta
from ..statistics.collect import collect_codes, in_schema
from ..statistics.counts import Counts
from ..statistics.cuts import CodedTable
from ..statistics.joint import WIDE, Joint, cells_of, collect_families, refuse_families
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag, Names
from ..structure.graph import UndirectedGraph, find_all
from ..table.encode import Coded, code_columns, seen_columns
from ..table.frame import Frame, Table, open_frame
from ..table.labels import narrowest
from ..table.rows import open_rows
from ..table.schema import Column, Schema, in_order
from ..table.weights import check_weights
from .findings import code_of, declared
from .tables import States, flat_table, infer_states, refuse_table

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
