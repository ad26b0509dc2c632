"""BayesNetClassifier: a learned network as a classifier of one of its nodes.

Symbols: y the class, x the attributes, π_v the parents of a node, the class among them or not.

    log P(y, x) = ln θ[π_y, y] + Σ_v ln θ[π_v, x_v]

P(y|x) hangs on the Markov blanket of the class alone: a factor without y is the same for every class. What is counted is
N[x_family, y] of every family, with the class as an axis of each, so that rows add and subtract as in `KDB`.

The families of a network classifier: values counted, numbers normal given their parents, linear in such as are numbers.

Symbols: y the class, x the attributes; π_v the parents of a column by number, the class (the node after the columns) among
them or not.

    log P(y, x) = ln θ[π_y, y] + Σ_values ln θ[π_v, x_v] + Σ_numbers ln N(x_v; α_d + β_d·c, σ²_d)

What is kept are counts of every family of values with the class, and of numbers the co-moments of every family, in each
configuration of its parents with values and each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..bayes.numeric import Gaussian
from ..bayes.semi import SemiNaive
from ..bayes.tables import TableLearner
from ..errors import BadParameter, ModelError, StatisticsError, UnknownColumn, did_you_mean, listed
from ..estimator import parameters
from ..fields import need
from ..kernels import log_joint_cells
from ..smoothing.theta import family_theta
from ..statistics.comoments import CoMoments, FamilyMoments, MixedScope, collect_family_moments, collect_mixed
from ..statistics.counts import starts_of
from ..statistics.cuts import CodedTable, column_numbers, translated
from ..statistics.joint import Scope, collect_families
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.information import barred, class_information, conditional_information, learn_tree
from ..structure.scores import SCORES
from ..structure.search import learn_structure
from ..structure.structures import Structure, kdb
from ..table.encode import Coded, Seen, code_columns, dense
from ..table.frame import Frame
from ..table.schema import MEASURED, Schema
from .bayesnet import BayesNet
from .hybrid import HybridNet
from .junction import JunctionTree
from .learn import together
from .mixed_search import PENALISED, MixedTable, Parents
from .normals import FLOOR, discrete_part, learned
from .numbers import Numbers
from .sampling import forward_sample


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


SEARCH = ("tabu", "restarts", "random_state", "time_limit", "progress")


@parameters
class BayesNetClassifier(GaussianNumbers):
    """Classify by a Bayesian network over the attributes and the class, its structure learned or told.

    Parameters
    ----------
    structure : "hill-climb", "tan", "kdb" or a `Dag`
        Found by greedy search over all arrows, the class a node like any other, from no arrow and from naive Bayes (which
        sees two columns that tell the class only together); Chow and Liu's tree, or up to k parents, under the class; or
        told: the one node of the `Dag` that is no column is the class, and columns that are no node are not used. Chosen
        by `fit` or the first `partial_fit`; then it stays, and only counts change.
    criterion : "bic", "mdl", "aic", "loglik", "bdeu", "k2" or "fnml"
        The score that the search makes great. (`score` is a method of every classifier.)
    k : int, default 2
        Parents besides the class of an attribute in "kdb".
    max_parents : int, optional
        Most parents of a node in the search.
    search : dict, optional
        How "hill-climb" searches: `tabu`, `restarts`, `random_state`, `time_limit` and `progress` as in `learn_structure`.
        At the time limit, or on Ctrl-C, the best structure so far is taken.
    continuous : "cuts" or "gaussian"
        What numbers are: cut into bins, or normal given their parents, linear in those that are numbers too. A number is
        then never the parent of a value or the class, and `net_` is a `HybridNet`. Chosen and kept with the structure.
    smoothing : float, default 1.0
        λ of θ = (N + λ)/(N_π + rλ); slopes of numbers borrow λ rows.
    kinds, cuts, bins, class_weight, max_memory, n_jobs :
        As in `TAN`, where numbers are cut.

    Missing cells, and values that training did not have, are summed out exactly.

    >>> X = {"a": [0, 0, 1, 1] * 20, "b": [0, 1, 0, 1] * 20, "noise": [0, 1, 1, 0, 1, 0, 0, 1] * 10}
    >>> model = BayesNetClassifier("kdb", kinds="categorical").fit(X, [0, 1, 1, 0] * 20)
    >>> model.predict({"a": [0, 1], "b": [0, 0], "noise": [None, 0]}).tolist()
    [0, 1]
    """

    structure: Annotated[Any, StrOptions({"hill-climb", "tan", "kdb"}), Dag] = "hill-climb"
    _: KW_ONLY
    criterion: Annotated[str, StrOptions(set(SCORES))] = "bic"
    k: Annotated[int, Interval(Integral, 0, None, closed="left")] = 2
    max_parents: Annotated[int | None, Interval(Integral, 0, None, closed="left"), None] = None
    search: Annotated[dict[str, Any] | None, dict, None] = None
    continuous: Annotated[str, StrOptions({"cuts", "gaussian"})] = "cuts"

    def _check_state(self) -> None:
        TableLearner._check_state(self)
        found, parents = self.statistics_, self._parents
        d, joints, numbers = len(found.schema), found.joints, set(found.where("moments"))
        need(all(0 <= p <= d for ps in parents for p in ps), "a parent must be a column or the class")
        need(all(len(set(ps)) == len(ps) for ps in parents), "a parent is one once")
        _ = Structure(parents).order  # refuses a circle
        need(self._class_node not in found.schema.names, "the class must not be called as a column is")
        if len(joints) == 1:
            found.check_coded()
        else:
            mixed = len(joints) == 2 and isinstance(joints[1], FamilyMoments)
            need(mixed, "moments of the families of numbers")
            plain = set(found.roles) <= {"cells", "moments"} and not found.cuts
            need(plain, "numbers that are not cut have moments")
            need(list(joints[1].scopes) == mixed_scopes(parents, numbers), "moments of every family of numbers")
            above = any(set(parents[v]) & numbers for v in range(d + 1) if v not in numbers)
            need(not above, "a number above a value")
        found.check_joint(0, scopes(parents, numbers))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for option in self.search or ():
            if option not in SEARCH:
                hint = did_you_mean(option, SEARCH) or "."
                raise BadParameter(f"the options of search are {listed(SEARCH)}{hint} Got {option!r} instead.")
        if self.continuous == "gaussian" and self.structure == "hill-climb" and self.criterion not in PENALISED:
            raise BadParameter(
                f"numbers that are not cut are scored by one of {listed(PENALISED)}. Got {self.criterion!r} instead."
            )

    @property
    def _gaussian(self) -> bool:
        """Whether numbers are normal; then co-moments are kept beside counts."""
        return bool(self.continuous == "gaussian" if self._fresh else len(self.statistics_.joints) > 1)

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Statistics, Seen]:
        self._refuse_text(schema)
        if self._fresh:
            self._class_node = _class_node(self.structure, schema, getattr(self.kinds, "target", None))
        how = self._collect_mixed if self._gaussian else super()._collect
        return how(frame, schema, y, weights)

    def _log_joint(self, X: Any) -> Floats:
        return self._log_joint_mixed(X) if self._gaussian else super()._log_joint(X)

    def _information(self) -> Floats:
        return self._information_mixed() if self._gaussian else super()._information()

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """(rows, classes) drawn from the model; a number that was cut is drawn uniformly from its bin."""
        self._check_fitted()
        return self._sample_mixed(n, random_state) if self._gaussian else super().sample(n, random_state)

    @property
    def _pairs_counted(self) -> bool:
        return self._fresh and isinstance(self.structure, str) and self.structure != "hill-climb"

    @property
    def _structure_stays(self) -> bool:
        told = self.structure
        return not isinstance(told, Dag) or told_parents(told, self.schema_.names) != self._parents

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        if self._fresh:
            self._parents = self._chosen(table, found, y, weights)
        how = found.n_classes, weights, self.n_jobs, self.max_memory
        return replace(found, joints=(collect_families(table, scopes(self._parents), y, *how),))

    def _chosen(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Parents:
        """The parents of every column, and last those of the class, which is the node after the columns."""
        names, d, sizes = found.schema.names, len(found.schema.columns), found.sizes
        if isinstance(self.structure, Dag):
            return told_parents(self.structure, names)
        if self.structure == "hill-climb":
            return self._climbed(table, found.schema, y, weights)
        if self.structure == "tan":
            parents = learn_tree(found.cells, found.joints[0], found.schema)[1].parents
        else:
            conditional = barred(conditional_information(found.joints[0], sizes), sizes)
            parents = kdb(class_information(found.cells), conditional, int(self.k)).parents
        return (*((*ps, d) for ps in parents), ())

    def _climbed(self, table: CodedTable, schema: Schema, y: Array, weights: Floats | None) -> Parents:
        """What greedy search finds, from no arrow or naive Bayes; a column of one value tells nothing and stays alone."""
        names, columns = [*schema.names, self._class_node], dict[str, Any]()
        for j, size in enumerate(table.sizes):
            codes = np.asarray(table.column(j))
            if size > 1:
                columns[names[j]] = np.ma.masked_array(codes, codes >= size)
        columns[self._class_node] = y
        how: dict[str, Any] = {"max_parents": self.max_parents, "sample_weight": weights, "max_memory": self.max_memory}
        naive = Dag(columns, [(self._class_node, name) for name in columns if name != self._class_node])
        how |= {"start": [None, naive][: 1 if self.max_parents == 0 else 2], "n_jobs": self.n_jobs}
        dag = learn_structure(columns, self.criterion, **how, **(self.search or {})).dag
        place = {name: j for j, name in enumerate(names)}
        return tuple(tuple(sorted(place[p] for p in dag.parents(n))) if n in columns else () for n in names)

    @property
    def blanket_(self) -> list[str]:
        """The attributes that P(y|x) hangs on where all are known."""
        return list(self.dag_.markov_blanket(self.class_node_))

    def _class_shares(self) -> Floats:
        return self.net_.query(self.class_node_).values

    @property
    def net_(self) -> BayesNet | HybridNet:
        """The network, to ask and to draw from; the states of a number that was cut are its bins."""
        self._check_fitted()
        if self._gaussian:
            return self._hybrid
        names = [*self.schema_.names, self.class_node_]
        states = {c.name: c.values for c in self.schema_.columns} | {names[-1]: tuple(self.classes_.tolist())}
        empty = [n for n, s in states.items() if not s]
        if empty:
            raise ModelError(f"{listed(empty)} has no value left, and so no place in a network")
        tables = {n: t.reshape(-1, t.shape[-1]) for n, t in zip(names, self._tables)}
        return BayesNet(self.dag_, tables, states)

    @property
    def _tables(self) -> list[Floats]:
        """θ[π…, x] of every column, and last of the class."""
        return self._cached("tables", self._make_tables)

    def _make_tables(self) -> list[Floats]:
        counts = (family_counts(self.statistics_, v, self._parents) for v in range(len(self._parents)))
        return [family_theta(n, self.smoothing) for n in counts]

    @property
    def _packed(self) -> tuple[list[Scope], Floats, Ints, Floats]:
        """(scopes, ln θ of all families under each other, where each begins, what every row has)."""
        return self._cached("packed", self._make_packed)

    def _make_packed(self) -> tuple[list[Scope], Floats, Ints, Floats]:
        d, K, sizes = len(self._parents) - 1, len(self.classes_), self.statistics_.sizes
        start, scopes, parts = np.zeros(K), list[Scope](), [np.zeros((0, K))]
        for v, (parents, theta) in enumerate(zip(self._parents, self._tables)):
            scope = (*(p for p in parents if p < d), *((v,) if v < d else ()))
            with np.errstate(divide="ignore"):
                log_theta = np.log(theta) if v == d else np.log(theta)[..., None]
            if d in parents:
                log_theta = np.moveaxis(log_theta[..., 0], list(parents).index(d), -1)
            if not scope:
                start = start + log_theta
            elif v == d or sizes[v]:
                even = -np.log(K if v == d else sizes[v])  # under a parent without values
                wide = np.full((*(sizes[j] + 1 for j in scope), K), even)  # one more value: such rows are scored apart
                wide[tuple(slice(0, sizes[j]) for j in scope)] = log_theta
                parts.append(wide.reshape(-1, K))
                scopes.append(scope)
        return scopes, np.concatenate(parts), np.cumsum([0, *map(len, parts[1:])], dtype=np.int64), start

    def _score(self, table: CodedTable) -> Floats:
        scopes, packed, offsets, start = self._packed
        out = np.repeat(start[None], table.n, axis=0)
        if scopes:
            columns = [table.family_codes(scope, extra=1) for scope in scopes]
            out = log_joint_cells(columns, packed, offsets, start, n_jobs=self.n_jobs)
        broken = np.zeros(table.n, dtype=bool)
        for j, size in enumerate(table.sizes) if not table.whole else ():
            broken |= (table.column(j) >= size) & (size > 0)
        if broken.any():
            out[broken] = self._summed_out(table.take(np.flatnonzero(broken)))
        return out

    def _summed_out(self, table: CodedTable) -> Floats:
        """log P(y, what is known of x): the probability of a case for each class it may be of."""
        d, K = len(self._parents) - 1, len(self.classes_)
        cases = np.full((table.n, d + 1), -1, np.int32)
        for j, size in enumerate(table.sizes):
            codes = table.column(j).astype(np.int64)
            cases[:, j] = np.where(codes < size, codes, -1)
        distinct, back = np.unique(cases, axis=0, return_inverse=True)
        asked = np.repeat(distinct, K, axis=0)
        asked[:, d] = np.tile(np.arange(K), len(distinct))
        tree = self._cached("tree", lambda: JunctionTree(self._numbers(), self.max_memory))
        threads = kernels.n_threads(self.n_jobs, max(2, len(asked)) * 200_000)
        offsets = starts_of(len(t) for t in tree.model.tables)
        _, log_p = tree.expected(asked, np.zeros(len(asked)), offsets, threads)
        return log_p.reshape(-1, K)[back.ravel()]

    def _numbers(self) -> Numbers:
        """The network as numbers; a column without values is a node of one state that nobody has, its children even."""
        sizes = (*(max(s, 1) for s in self.statistics_.sizes), len(self.classes_))
        even = ([sizes[p] for p in (*parents, v)] for v, parents in enumerate(self._parents))
        tables = (t if t.size else np.full(shape, 1 / shape[-1]) for t, shape in zip(self._tables, even))
        return Numbers(sizes, self._parents, tuple(np.ascontiguousarray(t).ravel() for t in tables))

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        codes = forward_sample(self._numbers(), n, rng).astype(np.int64)
        return codes[:, :-1], codes[:, -1]

    def _edges(self) -> list[tuple[int, int]]:
        d = len(self._parents) - 1
        return [(p, v) for v, ps in enumerate(self._parents[:-1]) for p in ps if p < d]

    def _check_alike(self, other: Self) -> None:
        if self.dag_ != other.dag_:
            raise StatisticsError("models of other structures do not add: give both the same `structure`")


def _class_node(structure: Any, schema: Schema, target: str | None) -> str:
    """What to call the class: as the structure does, else as the table does, and like no column."""
    if isinstance(structure, Dag):
        return next((n for n in structure.nodes if n not in schema.names), "class")
    name = schema.target or target or "class"
    while name in schema.names:
        name += "_"
    return name
