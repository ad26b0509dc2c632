"""The families of a network with a class: parents by number, the class the node after the columns, counted with each."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from ..arrays import Array
from ..errors import StatisticsError, UnknownColumn, listed
from ..statistics.joint import Joint, Scope
from ..statistics.statistics import Statistics
from ..structure.dag import Dag

Parents = tuple[tuple[int, ...], ...]  # of every column, and last of the class


def told_parents(dag: Dag, names: Sequence[str]) -> Parents:
    """The parents of every column in a graph, and last those of the class: its one node that is no column."""
    others = [n for n in dag.nodes if n not in names]
    if len(others) != 1:
        raise UnknownColumn(
            f"the one node of a structure that is no column is the class; {listed(others) or 'none'} is no column. "
            f"Columns: {listed(names)}"
        )
    place = {name: j for j, name in enumerate([*names, others[0]])}
    return tuple(tuple(place[p] for p in dag.parents(n)) if n in dag.index else () for n in place)


def scopes(parents: Parents, numbers: AbstractSet[int] = frozenset()) -> list[Scope]:
    """The sets of columns with values that are counted together with the class."""
    d = len(parents) - 1
    found = [(*(p for p in ps if p < d), *((v,) if v < d else ())) for v, ps in enumerate(parents) if v not in numbers]
    return list(dict.fromkeys(s for s in found if len(s) > 1))


def family_counts(found: Statistics, v: int, parents: Parents) -> Array:
    """N[π_v…, x_v] of a column, or of the class, the class as an axis where it is one of them."""
    d, mine = len(parents) - 1, parents[v]
    counts = _counts(found, [p for p in mine if p < d] + ([v] if v < d else []))  # [columns…, y]
    if v == d:
        return counts
    return np.moveaxis(counts, -1, list(mine).index(d)) if d in mine else np.asarray(counts.sum(axis=-1))


def _counts(found: Statistics, columns: Sequence[int]) -> Array:
    """N[columns…, y]."""
    if not columns:
        return found.rows
    if len(columns) == 1:
        return found.cells.scope(found.where("cells").index(columns[0]))
    joint: Joint = found.joints[0]
    for s in range(len(joint.scopes)):
        if set(joint.columns(s)) == set(columns):
            table: Array = joint.table(s, found.sizes)
            return table.transpose(*(joint.columns(s).index(j) for j in columns), len(columns))
    raise StatisticsError(f"no counts of columns {listed(columns)} together")
