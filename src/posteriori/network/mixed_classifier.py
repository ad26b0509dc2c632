"""The families of a network classifier: values counted, numbers normal given their parents, linear in such as are numbers.

Symbols: y the class, x the attributes; π_v the parents of a column by number, the class (the node after the columns) among
them or not.

    log P(y, x) = ln θ[π_y, y] + Σ_values ln θ[π_v, x_v] + Σ_numbers ln N(x_v; α_d + β_d·c, σ²_d)

What is kept are counts of every family of values with the class, and of numbers the co-moments of every family, in each
configuration of its parents with values and each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, Floats
from ..bayes.numeric import Gaussian
from ..bayes.semi import SemiNaive
from ..errors import StatisticsError, UnknownColumn, listed
from ..smoothing.theta import family_theta
from ..statistics.comoments import CoMoments, FamilyMoments, MixedScope, collect_family_moments, collect_mixed
from ..statistics.cuts import column_numbers, translated
from ..statistics.joint import Scope, collect_families
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.information import class_information
from ..table.encode import Coded, Seen, code_columns, dense
from ..table.frame import Frame
from ..table.schema import MEASURED, Schema
from .counted import together
from .hybrid import HybridNet
from .mixed_search import MixedTable, Parents
from .regression import FLOOR, discrete_part, learned


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
    columns = [p for p in mine if p < d] + ([v] if v < d else [])
    counts = together(found, columns)  # [columns…, y]
    if counts is None:
        raise StatisticsError(f"no counts of columns {listed(columns)} together")
    if v == d:
        return counts
    return np.moveaxis(counts, -1, list(mine).index(d)) if d in mine else np.asarray(counts.sum(axis=-1))


@dataclass(frozen=True, eq=False)
class MixedRows:
    """Rows of a table, its values in local codes, its numbers (the columns `where`) as they are."""

    coded: Coded
    x: Floats
    where: list[int]
    others: list[int]

    @classmethod
    def read(cls, frame: Frame, schema: Schema, n_jobs: int | None) -> MixedRows:
        """The columns of a frame, by their kinds."""
        frame = dense(frame) if frame.sparse is not None else frame
        where = [j for j, kind in enumerate(schema.kinds) if kind in MEASURED]
        others = [j for j, kind in enumerate(schema.kinds) if kind not in MEASURED]
        coded = code_columns(frame, others, n_jobs) if others else Coded((), np.zeros((frame.n, 0), np.uint8), 0)
        x = np.empty((frame.n, len(where)))
        for k, j in enumerate(where):
            x[:, k] = column_numbers(frame, j)
        return cls(coded, x, where, others)

    @property
    def n_missing(self) -> int:
        """Missing cells."""
        return self.coded.n_missing + int(np.isnan(self.x).sum())


class GaussianNumbers(SemiNaive):
    """What `BayesNetClassifier` does with numbers that are not cut."""

    structure: Any
    criterion: str
    k: int
    max_parents: int | None
    search: Any
    _class_node: str
    _parents: Annotated[Parents, "d+1"]

    @property
    def dag_(self) -> Dag:
        """Who depends on whom; the class is the node `class_node_`."""
        names = [*self.schema_.names, self.class_node_]
        return Dag(names, [(names[p], names[v]) for v, ps in enumerate(self._parents) for p in ps])

    @property
    def class_node_(self) -> str:
        """What the class is called in the network."""
        self._check_fitted()
        return self._class_node

    def _collect_mixed(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Statistics, Seen]:
        """(statistics whose joints are N of the families of values and co-moments of those of numbers; cells missing)."""
        rows, fresh = MixedRows.read(frame, schema, self.n_jobs), self._fresh
        table, found = collect_mixed(rows.coded, rows.x, rows.where, schema, y, weights, self.n_jobs)
        if fresh:
            self._parents = self._chosen_mixed(
                MixedTable(table, rows.x, rows.where, y, found.n_classes, weights, self.max_memory), schema.names
            )
        numbers, how = set(rows.where), (y, found.n_classes, weights)
        joint = collect_families(table, scopes(self._parents, numbers), *how, self.n_jobs, self.max_memory)
        families = mixed_scopes(self._parents, numbers)
        moments = collect_family_moments(table, rows.x, rows.where, families, *how, schema.names, self.max_memory)
        return replace(found, joints=(joint, moments)), Seen(rows.n_missing)

    def _chosen_mixed(self, table: MixedTable, names: Sequence[str]) -> Parents:
        if isinstance(self.structure, Dag):
            discrete_part(self.structure, [names[j] for j in table.where])  # refuses a number above a value
            return told_parents(self.structure, names)
        if self.structure == "hill-climb":
            return table.climbed(
                self.criterion, self.max_parents, [*names, self._class_node], **dict(self.search or {})
            )
        return table.under_class(None if self.structure == "tan" else int(self.k))

    @property
    def _hybrid(self) -> HybridNet:
        """The network under the parameters of now; a column without any value has no place in it."""
        return self._cached("hybrid", self._make_hybrid)

    def _make_hybrid(self) -> HybridNet:
        found, d = self.statistics_, len(self._parents) - 1
        names, sizes = (*found.schema.names, self._class_node), (*found.sizes, found.n_classes)
        numbers = {v: k for k, v in enumerate(found.where("moments"))}
        there = [v for v in range(d + 1) if sizes[v] or v in numbers]
        parents = {v: [p for p in self._parents[v] if p in there] for v in there}
        tables, lines = {}, {}
        for v in there:
            known = len(parents[v]) == len(self._parents[v])  # else no row has all of the family
            if v in numbers:
                line = learned(self._moments(v, known), self.smoothing, found.moments.select_columns([numbers[v]]))
                lines[names[v]] = (line.alpha, line.beta, line.variance)
            else:
                shape = [sizes[p] for p in (*parents[v], v)]
                counts = family_counts(found, v, self._parents) if known else np.zeros(shape)
                tables[names[v]] = family_theta(counts, self.smoothing).reshape(-1, sizes[v])
        states = {c.name: c.values for c in found.schema.columns if c.name in tables}
        states[self._class_node] = tuple(self.classes_.tolist())
        edges = [(names[p], names[v]) for v in there for p in parents[v]]
        return HybridNet(Dag([names[v] for v in there], edges), tables, lines, states)

    def _moments(self, v: int, known: bool) -> CoMoments:
        """The co-moments of a number's family in every configuration of its parents with values, in their order."""
        found, d = self.statistics_, len(self._parents) - 1
        families: FamilyMoments = found.joints[1]
        s = next(i for i, (_, numeric) in enumerate(families.scopes) if numeric[-1] == v)
        (above, numeric), moments = families.scopes[s], families.tables[s]
        sizes, K = (*found.sizes, found.n_classes), found.n_classes
        valued = [p for p in self._parents[v] if p in above or p == d]
        if not known:
            return CoMoments.zero(int(np.prod([sizes[p] or 1 for p in valued])), len(numeric))
        cells = np.arange(len(moments.n)).reshape(*(sizes[j] for j in above), K)
        if d in valued:
            return moments.select_classes(np.moveaxis(cells, -1, valued.index(d)).ravel())
        total = moments.select_classes(cells[..., 0].ravel())
        for y in range(1, K):
            total = total + moments.select_classes(cells[..., y].ravel())
        return total

    def _log_joint_mixed(self, X: Any) -> Floats:
        rows, net = MixedRows.read(self._open(X), self.schema_, self.n_jobs), self._hybrid
        some = replace(self.schema_, columns=tuple(self.schema_.columns[j] for j in rows.others))
        table = translated(rows.coded, some)
        codes = np.full((len(rows.x), len(net.discrete.nodes)), -1, np.int32)
        for k, column in enumerate(some.columns):
            if column.values:
                cells = table.column(k).astype(np.int32)
                codes[:, net.discrete.nodes.index(column.name)] = np.where(cells < len(column.values), cells, -1)
        place = {self.schema_.names[j]: k for k, j in enumerate(rows.where)}
        self._seen = Seen(rows.n_missing, table.n_unseen)
        return net._rows.log_joint(
            codes, rows.x[:, [place[n] for n in net.continuous]], self._class_node, self.max_memory
        )

    def _sample_mixed(self, n: int, random_state: Any) -> tuple[Any, Array]:
        drawn = self._hybrid.sample(n, random_state=check_random_state(random_state).randint(2**31))
        columns: dict[int, Array] = {}
        for j, name in enumerate(self.schema_.names):
            cells = drawn[name].to_numpy() if name in drawn else np.full(n, None, dtype=object)
            columns[j] = cells if cells.dtype.kind == "f" else cells.astype(object)
        return self._as_came(columns), self.classes_[drawn[self._class_node].cat.codes.to_numpy()]

    def _information_mixed(self) -> Floats:
        """I(X;Y) of each column in nats; of a number, as if it were normal in every class."""
        found, out = self.statistics_, np.zeros(len(self.schema_))
        out[found.where("cells")] = class_information(found.cells)
        where = found.where("moments")
        normal = Gaussian(where, [self.schema_.names[j] for j in where], found.moments, FLOOR, 0.0)
        out[where] = normal.information(found.rows / found.rows.sum())
        return out


def mixed_scopes(parents: Parents, numbers: set[int]) -> list[MixedScope]:
    """(parents with values, numeric parents and the number) of every number; the class is counted with all of them."""
    d = len(parents) - 1
    return [
        (tuple(p for p in parents[v] if p < d and p not in numbers), (*(p for p in parents[v] if p in numbers), v))
        for v in sorted(numbers)
    ]
