"""A network from data: by counting rows, from counts alone, or by EM where values are missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

from ..em import Ascent
from ..statistics.statistics import Statistics
from ..structure.dag import Dag
from . import learn
from .counted import Counted
from .given_counts import statistics_of
from .hidden import Incomplete, climb, first_tables, given_tables, read_incomplete
from .net import Net
from .tables import States, as_dag, as_states


class LearnedNet(Net, Counted):
    """The ways to a network from data."""

    _ascent: Ascent[Any] | None = None

    @classmethod
    def fit(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        smoothing: float = 1.0,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        name: str = "unknown",
        *,
        ess: float | None = None,
        backoff: float | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Count every family in a table and smooth: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ). The counts are kept.

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        data : pandas, polars, Arrow, a dict of columns, or what `po.read` gives, with a column for each node
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)
        states : the states of some nodes; else a column's categories or its sorted values
        sample_weight : a weight for each row
        ess : equivalent sample size (BDeu): λ = ess / (cells of the table) instead
        backoff : m: θ with all parents leans on θ with one less as if it were m rows, down to (N[x] + λ)/(N + rλ)

        A row with missing cells counts for the families that it has whole; `fit_em` makes use of the rest.

        >>> import posteriori as po
        >>> net = po.BayesNet.fit(Dag("ab", [("a", "b")]), {"a": [0, 0, 1], "b": ["u", "v", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        graph, how = as_dag(dag), learn.Smoothing(smoothing, ess, backoff)
        closed = {**{n: s for n, s in learn.listed_states(data).items() if n in graph.index}, **as_states(states)}
        found = learn.count_rows(graph, data, closed, sample_weight, n_jobs, max_memory)
        return cls._learned(graph, found, learn.states_of(found, closed), how, name)

    @classmethod
    def from_counts(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        counts: Mapping[str, Any] | Statistics,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        smoothing: float = 1.0,
        name: str = "unknown",
        *,
        ess: float | None = None,
        backoff: float | None = None,
    ) -> Self:
        """A network from counts alone, without their rows: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure, or its arrows (parent, child), whose ends are then the nodes
        counts : {node: N[parents…, node]}, in any form that a table has: an array, a pandas table or a mapping; or the
            `statistics_` of a model that counted these families, whose class is the node that is no column
        states : the states of some nodes; else those that the counts name, or "0", "1", …
        smoothing, ess, backoff : as in `fit`

        >>> import posteriori as po
        >>> counts = {"a": [2, 1], "b": [[1, 1], [0, 1]]}
        >>> net = po.BayesNet.from_counts(Dag("ab", [("a", "b")]), counts, {"b": ["u", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist(), net.states("b")
        ([[0.5, 0.5], [0.0, 1.0]], ('u', 'v'))
        """
        graph, how = as_dag(dag), learn.Smoothing(smoothing, ess, backoff)
        return cls._learned(graph, *statistics_of(graph, counts, as_states(states)), how, name)

    @classmethod
    def fit_em(
        cls,
        dag: Dag | Iterable[tuple[str, str]],
        data: Any,
        hidden: Mapping[str, Any] | None = None,
        smoothing: float = 1.0,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        name: str = "unknown",
        *,
        ess: float | None = None,
        start: Net | None = None,
        restarts: int | None = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        random_state: Any = None,
        progress: Any = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Self:
        """Tables from rows with missing cells, and of nodes that no row shows, by EM; `ascent` says how it went.

        What is missing is expected by the tables so far, what is expected is counted, and so on: the likelihood of what the
        rows do say never falls. Cells must be missing for reasons that the other cells of the row know.

        Parameters
        ----------
        hidden : {node: number of its states, or a list of them}, nodes without a column
        smoothing, ess : as in `fit`; λ is then a prior, and it is likelihood × prior that never falls
        start : a network to begin with; else what the families seen whole counted, mixed with chance
        restarts : starts, each of which makes ten turns before the best goes on; 1, or 10 with a hidden node
        tol, max_iter : a turn that gains less than tol·|ℓ| is the last
        progress : called with the turn and ℓ; Ctrl-C keeps the best so far

        With nothing missing this is `fit`, to the last bit.

        >>> import posteriori as po
        >>> rows = {"a": [0, 0, 1, None], "b": [0, 0, 1, 1]}
        >>> net = po.BayesNet.fit_em(Dag("ab", [("a", "b")]), rows, smoothing=0)
        >>> net.cpt("a").to_numpy().round(3).tolist(), net.ascent.converged
        ([[0.5, 0.5]], True)
        """
        graph, how, unseen = as_dag(dag), learn.Smoothing(smoothing, ess), {} if hidden is None else hidden
        closed = {**{n: s for n, s in learn.listed_states(data).items() if n in graph.index}, **as_states(states)}
        found, cases, weights = read_incomplete(graph, data, unseen, closed, sample_weight, n_jobs)
        rows = Incomplete(graph, found, cases, weights, n_jobs)
        if not len(rows.cases) and not unseen:
            return cls.fit(graph, data, smoothing, states, sample_weight, name, ess=ess, n_jobs=n_jobs)
        starts = (
            [given_tables(rows, start)] if start is not None else first_tables(rows, unseen, restarts, random_state)
        )
        ascent = climb(rows, how, starts, tol, max_iter, progress, max_memory)
        net = cls(graph, dict(zip(graph.nodes, ascent.parameters, strict=True)), found, name)
        net._ascent = ascent
        return net

    @classmethod
    def _learned(cls, dag: Dag, counts: Statistics, states: States, how: learn.Smoothing, name: str) -> Self:
        net = cls(dag, learn.tables_of(dag, counts, states, how), states, name)
        net._statistics, net._how = counts, how
        return net

    @property
    def ascent(self) -> Ascent[Any] | None:
        """How `fit_em` went: ℓ after every turn, and whether it converged; None where there was nothing to expect."""
        return self._ascent

    def _count(self, data: Any, sample_weight: Any, n_jobs: int | None) -> Statistics:
        return learn.count_rows(self._dag, data, self._closed(), sample_weight, n_jobs)

    def _remade(self, counts: Statistics, states: States, how: learn.Smoothing) -> Self:
        return self._learned(self._dag, counts, states, how, self._name)
