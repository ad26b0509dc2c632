"""What a hybrid network is and how it is learned: tables of its discrete nodes, lines of its continuous ones.

It is given, read from a file, or learned from data: by counting rows, or by EM where values are missing.

Tables and lines from rows with missing cells and hidden discrete nodes, by EM.

Symbols: u the discrete nodes that a row does not know, h its missing numbers; N the counts of the discrete families, M the
co-moments of the numeric ones.

    E   w = P(u | row, θ) for every configuration of u;  N += w;  M += w of the row with E[h | u, row] in its gaps,
        and w Cov[h | u, row] beside it
    M   θ = (N + λ)/(N[π] + rλ), lines as counted rows have them
    ℓ   Σ_rows ln p(what the row states | θ) + λ Σ ln θ

Lines are no narrower than their floor, so that a turn may fall: the best is kept.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import xlogy

from ..arrays import Codes, Floats
from ..budget import refuse_over
from ..em import Ascent, ascend
from ..errors import BadValue, FormatError, InvalidNetwork, PosterioriError, TableError, listed
from ..smoothing.theta import log_sum
from ..statistics.comoments import CoMoments, comoments
from ..statistics.moments import Moments
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find
from ..table.weights import check_weights
from . import formats
from .bayesnet import BayesNet
from .hidden import hidden_states, read_incomplete, started
from .learn import Counted, Smoothing, listed_states, rows_of, states_of, tables_of
from .normals import (
    BLOCK,
    Gaussians,
    HybridRows,
    Regression,
    alike,
    as_regression,
    configuration_of,
    continuous_nodes,
    count_mixed,
    discrete_part,
    learned,
    numbers_at,
    pooled,
    regressions_of,
    split,
)
from .sampling import seeds
from .tables import States, as_dag, as_states, configuration_index

Expected = tuple[dict[str, Floats], dict[str, CoMoments]]


def read_states(
    part: Dag,
    data: Any,
    hidden: Mapping[str, Any],
    closed: Mapping[str, Sequence[Hashable]],
    sample_weight: Any,
    n_jobs: int | None,
) -> tuple[States, Codes, Floats | None]:
    """The states of the discrete nodes, those rows that count, the weights; all of the nodes may be hidden."""
    states = hidden_states(part, hidden)
    if set(part.nodes) - set(states):
        return read_incomplete(part, data, hidden, closed, sample_weight, n_jobs)
    n = rows_of(data).n
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    weights = None if weights is None else weights[weights > 0]
    codes = np.full((n if weights is None else len(weights), len(part.nodes)), -1, np.int32)
    return states, codes, weights


class IncompleteMixed:
    """Rows as codes (−1) and numbers (NaN where missing), and what a model expects them to have been."""

    climbs = False

    def __init__(
        self,
        dag: Dag,
        part: Dag,
        states: States,
        codes: Codes,
        x: Floats,
        weights: Floats | None,
        max_memory: float | None,
    ) -> None:
        self.dag, self.part, self.states, self.codes, self.x = dag, part, states, codes, x
        self.weights, self.max_memory = np.ones(len(x)) if weights is None else weights, max_memory
        self.weighted = weights is not None
        self.numbers = tuple(n for n in dag.topological_order() if n not in states)
        self.given = {n: split(dag.parents(n), self.numbers) for n in self.numbers}
        self.sizes = {n: len(states[n]) for n in part.nodes}

    def counted(self, parts: list[tuple[Codes, Floats, Floats, Floats]]) -> Expected:
        """N and M of rows that are whole: (codes, numbers, weights, covariances of what was filled in)."""
        tables = {n: np.zeros(math.prod(self.sizes[p] for p in (*self.part.parents(n), n))) for n in self.part.nodes}
        lines: dict[str, CoMoments] = {}
        for codes, x, w, spread in parts:
            for n in self.part.nodes:
                tables[n] += np.bincount(self._place((*self.part.parents(n), n), codes), w, len(tables[n]))
            for n, (above, beside) in self.given.items():
                q, at = math.prod(self.sizes[p] for p in above), [self.numbers.index(m) for m in (*beside, n)]
                d = self._place(above, codes)
                found = comoments(x[:, at], d, q, w)
                np.add.at(found.c, d, w[:, None, None] * spread[:, at][:, :, at])
                lines[n] = found if n not in lines else lines[n] + found
        return {n: t.reshape(-1, self.sizes[n]) for n, t in tables.items()}, lines

    def _place(self, nodes: tuple[str, ...], codes: Codes) -> Codes:
        columns = codes[:, [self.part.index[n] for n in nodes]]
        return configuration_of(columns, [self.sizes[n] for n in nodes])

    def started(self, rng: np.random.Generator) -> Expected:
        """What the rows count where gaps are filled by chance: as often as the column has a value, as wide as it is."""
        codes, x = self.codes.copy(), self.x.copy()
        for v, node in enumerate(self.part.nodes):
            gaps = codes[:, v] < 0
            share = np.bincount(codes[~gaps, v], minlength=self.sizes[node]) + 1.0
            codes[gaps, v] = rng.choice(len(share), int(gaps.sum()), p=share / share.sum())
        for column in x.T:
            gaps = np.isnan(column)
            column[gaps] = rng.choice(column[~gaps], int(gaps.sum()))
        return self.counted([(codes, x, self.weights, np.zeros((len(x), x.shape[1], x.shape[1])))])

    def lines(self, moments: Mapping[str, CoMoments], how: Smoothing) -> dict[str, tuple[Floats, Floats, Floats]]:
        """The line of every number."""
        found = {}
        for node, mine in moments.items():
            mean, whole = pooled(mine)
            n, center, m2 = (np.array([[v]]) for v in (mine.n.sum(), mean[-1], whole[-1, -1]))
            column = Moments(n, center, m2)
            fit = learned(mine, how.smoothing, column)
            found[node] = fit.alpha, fit.beta, fit.variance
        return found

    def expect(self, net: Any, how: Smoothing) -> tuple[Expected, float]:
        """(N and M as the network expects them, ℓ)."""
        rows: HybridRows = net._rows
        holes = np.concatenate([self.codes < 0, np.isnan(self.x)], axis=1)
        parts, value = [], 0.0
        for some in alike(holes):
            hole = holes[some[0]]
            unknown = [v for v, node in enumerate(self.part.nodes) if hole[v]]
            shape = tuple(self.sizes[self.part.nodes[v]] for v in unknown)
            q, m = math.prod(shape), len(self.numbers)
            refuse_over(
                self.max_memory,
                8.0 * len(some) * q * (m * m + len(hole)),
                f"{len(some):,} rows, each in {q:,} configurations of {listed(self.part.nodes[v] for v in unknown)},",
                "leave out rows of which so much is missing",
            )
            step = max(1, int(BLOCK / (8 * q * (4 * m * m + 8 * m + len(hole)))))
            for begin in range(0, len(some), step):
                mine = some[begin : begin + step]
                codes = np.repeat(self.codes[mine], q, axis=0)
                codes[:, unknown] = np.tile(np.indices(shape).reshape(len(shape), q).T, (len(mine), 1))
                x = np.repeat(self.x[mine], q, axis=0)
                log = sum(
                    (rows.logs[n][self._place(rows.families[n], codes)] for n in self.part.nodes), np.zeros(len(codes))
                )
                spread = np.zeros((len(x), m, m))
                if m:
                    known = {n: codes[:, v].astype(np.int64) for v, n in enumerate(self.part.nodes)}
                    seen = {n: x[:, j] for j, n in enumerate(self.numbers) if not hole[len(self.sizes) + j]}
                    near = net._gaussians.local(list(self.numbers), known, seen)
                    log = log + near.log_density.reshape(-1)
                    mean, root = near.normal()
                    gaps = [self.numbers.index(n) for n in near.hidden]
                    x[:, gaps] = mean[:, 0]
                    spread[:, np.array(gaps, int)[:, None], gaps] = root[:, 0] @ np.swapaxes(root[:, 0], 1, 2)
                each = log.reshape(len(mine), q)
                total = log_sum(each)
                value += float(self.weights[mine] @ total[:, 0])
                with np.errstate(invalid="ignore"):
                    w = (np.exp(each - total) * self.weights[mine, None]).ravel()
                parts.append((codes, x, w, spread))
        for table in net.discrete._model.tables:
            value += float(xlogy(how.pseudo_count(table.size), table).sum())
        return self.counted(parts), value


class MixedNet(Counted):
    """Discrete and continuous nodes in one structure, apart from what can be asked of them."""

    _ascent: Ascent[Any] | None = None

    def __init__(
        self,
        edges: Dag | Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        regressions: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
    ) -> None:
        if not isinstance(regressions, Mapping) or not isinstance(tables, Mapping):
            raise InvalidNetwork("tables and regressions are mappings from node to numbers")
        self._dag = edges if isinstance(edges, Dag) else Dag(dict.fromkeys([*tables, *regressions]), edges)
        twice = [n for n in tables if n in regressions]
        lacking = [n for n in self.dag.nodes if n not in tables and n not in regressions]
        if twice or lacking:
            raise InvalidNetwork(f"{listed(twice or lacking)} needs a table or a regression, one of the two")
        self.discrete = BayesNet(discrete_part(self.dag, regressions), tables, states)
        sizes = {n: len(self.discrete.states(n)) for n in self.discrete.nodes}
        nodes = tuple(n for n in self.dag.topological_order() if n in regressions)
        given = {n: split(self.dag.parents(n), regressions) for n in nodes}
        fits = {
            n: as_regression(n, regressions[n], math.prod(sizes[p] for p in above), len(beside))
            for n, (above, beside) in given.items()
        }
        self._gaussians = Gaussians(nodes, given, fits, sizes)

    @classmethod
    def fit(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        smoothing: float = 1.0,
        continuous: Iterable[str] | None = None,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        *,
        ess: float | None = None,
        backoff: float | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Count the discrete families, regress the continuous ones on their co-moments; counts and moments are kept.

        Parameters
        ----------
        dag : the structure, or its arrows
        data : pandas, polars, Arrow, a dict of columns, or what `po.read` gives, with a column for each node
        smoothing : λ, added to every count; the slopes of a configuration borrow λ rows from all
        continuous : the continuous nodes; unless told, the columns of floats, or what a read table calls numbers
        states, sample_weight, ess, backoff : as in `BayesNet.fit`

        A row with missing cells counts for the families that it has whole.

        >>> data = {"a": ["u", "u", "v", "v"], "x": [0.0, 1.0, 4.0, 7.0]}
        >>> import posteriori as po
        >>> po.HybridNet.fit([("a", "x")], data, smoothing=0).regression("x")["α"].tolist()
        [0.5, 5.5]
        """
        graph, how = as_dag(dag), Smoothing(smoothing, ess, backoff)
        numeric = continuous_nodes(graph, data, continuous)
        told = {n: s for n, s in listed_states(data).items() if n in graph.index and n not in numeric}
        closed = {**told, **as_states(states)}
        found = count_mixed(graph, data, numeric, closed, sample_weight, n_jobs, max_memory)
        return cls._learned(graph, found, states_of(found, closed), how)

    @classmethod
    def fit_em(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        hidden: Mapping[str, Any] | None = None,
        smoothing: float = 1.0,
        continuous: Iterable[str] | None = None,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        *,
        ess: float | None = None,
        restarts: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        random_state: Any = None,
        progress: Any = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Tables and lines from rows with missing cells, and of discrete nodes that no row shows, as `BayesNet.fit_em`.

        A row is taken apart into the configurations of the states that it lacks, its missing numbers are expected in each.
        Lines have a least width, so that a turn may fall: the best is kept. Without smoothing there is hardly any: a line
        may shrink around few rows, and ℓ then has no bound. With nothing missing this is `fit`.

        >>> import posteriori as po
        >>> rows = {"x": [0.0, 0.2, 0.1, 5.0, 5.1, 5.3] * 9}
        >>> net = po.HybridNet.fit_em([("kind", "x")], rows, {"kind": 2}, smoothing=0, random_state=0)
        >>> sorted(net.regression("x")["α"].round(2)), net.ascent.converged
        ([0.1, 5.13], True)
        """
        graph, how, unseen = as_dag(dag), Smoothing(smoothing, ess), {} if hidden is None else hidden
        numeric = continuous_nodes(graph, data, continuous)
        part = discrete_part(graph, numeric)
        told = {n: s for n, s in listed_states(data).items() if n in part.index}
        closed = {**told, **as_states(states)}
        found, codes, weights = read_states(part, data, unseen, closed, sample_weight, n_jobs)
        order = [n for n in graph.topological_order() if n in numeric]
        x = numbers_at(rows_of(data), order)
        for node in (n for n, column in zip(order, x.T, strict=True) if np.isnan(column).all()):
            raise TableError(f"every cell of {node!r} is missing")
        if not (codes < 0).any() and not np.isnan(x).any():
            return cls.fit(graph, data, smoothing, continuous, states, sample_weight, ess=ess, n_jobs=n_jobs)
        if weights is not None:
            x = x[check_weights(sample_weight, len(x)) > 0]
        rows = IncompleteMixed(graph, part, found, codes, x, weights, max_memory)

        def made(expected: Expected) -> Any:
            tables, moments = expected
            return cls(graph, {n: how.theta(t) for n, t in tables.items()}, rows.lines(moments, how), found)

        n, rng = started(restarts, unseen), np.random.default_rng(int(seeds(random_state, 1)[0]))
        ascent: Ascent[Any] = ascend(
            [made(rows.started(rng)) for _ in range(n)],
            lambda net: rows.expect(net, how),
            made,
            tol=tol,
            max_iter=max_iter,
            progress=progress,
            climbs=False,
        )
        net: Self = ascent.parameters
        net._ascent = ascent
        return net

    @property
    def ascent(self) -> Ascent[Any] | None:
        """How `fit_em` went: ℓ after every turn, and whether it converged; None where there was nothing to expect."""
        return self._ascent

    @classmethod
    def _learned(cls, dag: Dag, counts: Statistics, states: States, how: Smoothing) -> Self:
        lines = regressions_of(counts, states, how)
        part = discrete_part(dag, lines)
        own = {n: states[n] for n in part.nodes}
        given = {n: (line.alpha, line.beta, line.variance) for n, line in lines.items()}
        net = cls(dag, tables_of(part, counts, own, how), given, own)
        net._statistics, net._how = counts, how
        return net

    def _count(self, data: Any, sample_weight: Any, n_jobs: int | None) -> Statistics:
        numeric = [self._counted().schema.names[j] for j in self._counted().where("moments")]
        return count_mixed(self.dag, data, numeric, self._closed(), sample_weight, n_jobs)

    def _remade(self, counts: Statistics, states: States, how: Smoothing) -> Self:
        return self._learned(self.dag, counts, states, how)

    # What it is

    @property
    def dag(self) -> Dag:
        """The graph alone."""
        return self._dag

    @property
    def _states(self) -> States:  # type: ignore[override]
        return self.discrete._states

    @property
    def continuous(self) -> tuple[str, ...]:
        """The continuous nodes, each after its parents."""
        return self._gaussians.nodes

    def cpt(self, node: str) -> Any:
        """P(node | parents) of a discrete node, a pandas table."""
        return self.discrete.cpt(node)

    def regression(self, node: str) -> Any:
        """α, β of each continuous parent and σ in every configuration of the discrete parents: a pandas table."""
        import pandas as pd

        fit = self._fit_of(node)
        above, beside = self._gaussians.given[node]
        table = {"α": fit.alpha, **{f"β {p}": fit.beta[:, j] for j, p in enumerate(beside)}, "σ": np.sqrt(fit.variance)}
        return pd.DataFrame(table, index=configuration_index(above, self._states))

    def do(self, interventions: Mapping[str, Any]) -> Self:
        """The network in which some nodes were set from outside, as `BayesNet.do`: P(x | do(node = state or number)).

        Chance decides by {state: probability}, or of a continuous node by {"mean": …, "sd": …}.

        >>> import posteriori as po
        >>> net = po.HybridNet([("a", "x"), ("x", "y")], {"a": [0.5, 0.5]}, {"x": ([0, 4], [], 1), "y": (0, 2, 1)})
        >>> made = net.do({"x": 3})
        >>> round(net.query("a", {"x": 3})["1"], 3), made.query("a")["1"], made.marginals()["y"]
        (0.982, 0.5, {'mean': 6.0, 'sd': 1.0})
        """
        left = self._cut(interventions)
        lines: dict[str, Any] = {n: self._line(n) for n in self.continuous}
        part = self.discrete.do({n: what for n, what in interventions.items() if n not in lines})
        for node in lines.keys() & interventions.keys():
            what = interventions[node]
            spread = isinstance(what, Mapping) and set(what) == {"mean", "sd"}
            mean, sd = (number_of(node, x) for x in ((what["mean"], what["sd"]) if spread else (what, 0.0)))
            lines[node] = mean, [], sd * sd
        return type(self)(left, part._given_tables(), lines, self._states)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a .net file (or .net.gz): a normal of each continuous node in each configuration of its discrete parents."""
        found = formats.read(path)
        nodes = [*found.states, *found.lines]
        dag = Dag(nodes, [(p, n) for n in nodes for p in found.parents[n]])
        tables = {n: found.tables[n].reshape(-1, len(states)) for n, states in found.states.items()}
        try:
            return cls(dag, tables, found.lines, found.states)
        except PosterioriError as error:
            raise FormatError(f"{path}: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """To a .net file; every digit is kept, states become text. Formats of discrete nodes alone are refused.

        >>> import pathlib, tempfile
        >>> import posteriori as po
        >>> net = po.HybridNet([("a", "x"), ("x", "y")], {"a": [0.5, 0.5]}, {"x": ([0, 4], [], 1), "y": (0, -2, 1)})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.write(pathlib.Path(folder, "small.net"))
        ...     po.HybridNet.read(pathlib.Path(folder, "small.net")) == net
        True
        """
        plain = self.discrete._description()
        parents = {n: self.dag.parents(n) for n in (*self.discrete.nodes, *self.continuous)}
        lines = {n: self._line(n) for n in self.continuous}
        formats.write(replace(plain, parents=parents, lines=lines), path)

    def __eq__(self, other: object) -> bool:
        """Same nodes and parents in the same order, same states, every digit the same."""
        if not isinstance(other, MixedNet):
            return NotImplemented
        mine, theirs = self._gaussians, other._gaussians
        return (
            self.discrete == other.discrete
            and self.nodes == other.nodes
            and mine.given == theirs.given
            and all(np.array_equal(a, b) for n in mine.nodes for a, b in zip(self._line(n), other._line(n)))
        )

    def __hash__(self) -> int:
        return hash((self.nodes, frozenset(self.dag.edges)))

    def _line(self, node: str) -> tuple[Floats, Floats, Floats]:
        fit = self._gaussians.regressions[node]
        return fit.alpha, fit.beta, fit.variance

    def __repr__(self) -> str:
        k = len(self._gaussians.nodes)
        return f"HybridNet({len(self.nodes) - k} discrete and {k} continuous nodes, {len(self.dag.edges)} edges)"

    @property
    def n_parameters(self) -> int:
        """|B|, the free parameters: q(r − 1) of a discrete node, q(k + 2) of a continuous one with k such parents."""
        return self.discrete.n_parameters + sum(
            f.beta.size + 2 * len(f.alpha) for f in self._gaussians.regressions.values()
        )

    def _fit_of(self, node: str) -> Regression:
        find(self.dag.index, node)
        if node not in self._gaussians.regressions:
            raise BadValue(f"{node!r} is discrete: `cpt` gives its table")
        return self._gaussians.regressions[node]


def number_of(node: str, finding: Any) -> float:
    """A finding on a continuous node."""
    try:
        x = float(finding)
    except (TypeError, ValueError, OverflowError):
        raise BadValue(f"{node!r} is continuous: its finding is a number, got {finding!r}") from None
    if not math.isfinite(x):
        raise BadValue(f"{node!r} is continuous: its finding is a finite number, got {finding!r}")
    return x
