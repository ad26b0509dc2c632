"""What a hybrid network is and how it is learned: tables of its discrete nodes, lines of its continuous ones.

It is given, read from a file, or learned from data: by counting rows, or by EM where values are missing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ..arrays import Floats
from ..em import Ascent, ascend
from ..errors import BadValue, FormatError, InvalidNetwork, PosterioriError, TableError, listed
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from ..structure.graph import find
from ..table.weights import check_weights
from . import formats
from .bayesnet import BayesNet
from .counted import Counted
from .gaussian import Gaussians
from .hidden import started
from .learn import Smoothing, listed_states, rows_of, states_of, tables_of
from .mixed_hidden import Expected, IncompleteMixed, read_states
from .regression import (
    Regression,
    as_regression,
    continuous_nodes,
    count_mixed,
    discrete_part,
    numbers_at,
    regressions_of,
    split,
)
from .sampling import seeds
from .tables import States, as_dag, as_states, configuration_index


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
