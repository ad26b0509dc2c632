"""Discrete and continuous nodes learned together: families counted, regressions from co-moments, in one value.

The statistics of a hybrid network have a column for each node, the discrete ones first: N of every discrete family is their
first joint, the co-moments of every continuous one in each configuration of its discrete parents the second.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import BadValue, TableError, UnknownColumn, did_you_mean, listed
from ..statistics.family_moments import FamilyMoments, MixedScope, collect_family_moments, collect_mixed
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find_all
from ..table.encode import numbers
from ..table.frame import Frame, Table
from ..table.schema import MEASURED, Column
from .learn import Smoothing, read_codes, rows_of, with_families
from .regression import Regression, discrete_part, learned, split
from .tables import States


def continuous_nodes(dag: Dag, data: Any, told: Iterable[str] | None) -> tuple[str, ...]:
    """The nodes told; else those that are columns of floats, or that the schema of a read table calls numbers."""
    if told is not None:
        return tuple(dict.fromkeys(dag.nodes[v] for v in find_all(dag.index, told)))
    frame = rows_of(data)
    kinds = {c.name: c.kind for c in data.schema.columns} if isinstance(data, Table) else {}
    return tuple(
        name
        for j, name in enumerate(frame.names or ())
        if name in dag.index and (kinds[name] in MEASURED if name in kinds else _floats(frame.column(j)))
    )


def _floats(cells: Any) -> bool:
    if isinstance(cells, np.ndarray):
        return bool(cells.dtype.kind == "f")
    import pyarrow.types as types

    return bool(types.is_floating(cells.type) or types.is_decimal(cells.type))


def numbers_at(frame: Frame, nodes: Sequence[str]) -> Floats:
    """The columns of these nodes as numbers, NaN where a cell is missing."""
    place = {name: j for j, name in enumerate(frame.names or ())}
    lacking = [n for n in nodes if n not in place]
    if lacking:
        raise UnknownColumn(
            f"no column for {listed(lacking)}{did_you_mean(lacking[0], place) or '.'} columns: {listed(place)}"
        )
    x = np.asarray(numbers(frame, [place[n] for n in nodes]), dtype=np.float64)
    if np.isinf(x).any():
        row, k = np.argwhere(np.isinf(x))[0].tolist()
        raise BadValue(f"column {nodes[k]!r}, row {row}: infinity is no number here")
    return x


def count_mixed(
    dag: Dag,
    data: Any,
    continuous: Sequence[str],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any = None,
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Statistics:
    """What these rows count; a row with missing cells counts for the families that it has whole."""
    part = discrete_part(dag, continuous)
    coded, schema, weights = read_codes(part, data, part.nodes, closed, sample_weight, n_jobs)
    x, first = numbers_at(rows_of(data), continuous), len(part.nodes)
    where, no_class = range(first, first + len(continuous)), np.zeros(len(x), np.uint8)
    columns = (*schema.columns, *(Column(n, "numeric") for n in continuous))
    table, found = collect_mixed(coded, x, where, replace(schema, columns=columns), no_class, weights, n_jobs)
    found = with_families(part, table, found, weights, n_jobs, max_memory)
    how = no_class, 1, weights, found.schema.names, max_memory
    families = collect_family_moments(table, x, where, scopes(dag, found), *how)
    return replace(found, joints=(*found.joints, families))


def scopes(dag: Dag, statistics: Statistics) -> list[MixedScope]:
    """(discrete parents, continuous parents and the node) of every continuous node, as columns of the statistics."""
    schema, nodes = statistics.schema, [statistics.schema.names[j] for j in statistics.where("moments")]
    found = []
    for node in nodes:
        above, beside = split(dag.parents(node), nodes)
        found.append((tuple(map(schema.index, above)), tuple(map(schema.index, (*beside, node)))))
    return found


def regressions_of(statistics: Statistics, states: States, how: Smoothing) -> dict[str, Regression]:
    """The regression of every continuous node, its configurations in the order of the states."""
    found: dict[str, Regression] = {}
    families: FamilyMoments = statistics.joints[1]
    place = {j: k for k, j in enumerate(statistics.where("moments"))}
    for (above, numeric), moments in zip(families.scopes, families.tables):
        node = statistics.schema.names[numeric[-1]]
        if not moments.n.sum() > 0:
            raise TableError(f"no row has {node!r} and all of its parents")
        at = np.zeros(1, np.int64)
        for column in (statistics.schema.columns[j] for j in above):
            at = (at[:, None] * len(column.values) + np.array([column.place[s] for s in states[column.name]])).ravel()
        found[node] = learned(moments.taken(at), how.smoothing, statistics.moments.columns([place[numeric[-1]]]))
    return found
