"""HybridNet: discrete and continuous nodes in one network; the continuous ones conditional Gaussians.

    P(x) = Π_discrete θ[π, x] · Π_continuous N(x; α_d + β_d·c, σ²_d)

What was seen of the continuous nodes is a likelihood of the discrete ones: those that hang together through continuous
nodes not seen are integrated out in closed form, once for each configuration of their discrete parents (the scope), and
the rest is a question to a `BayesNet`. Exact; its price grows with the largest scope.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..arrays import Array, Codes, Floats
from ..errors import BadValue, ImpossibleEvidence, InvalidNetwork, TableError, UnknownColumn, did_you_mean, listed
from ..structure.dag import Dag
from ..structure.graph import find, find_all
from .bayesnet import BayesNet
from .engine import Evidence
from .gaussian import Gaussians, Local, along, united
from .numbers import hard_states
from .regression import Regression, as_regression, discrete_part, fitted, numbers_of, place_of, split
from .sampling import RandomState, seeds
from .says import Factor, columns, findings, read_cases, unknown
from .tables import as_dag, as_states


class HybridNet:
    """A conditional-Gaussian network: discrete nodes with tables, continuous ones linear in their continuous parents.

    Parameters
    ----------
    edges : Dag, or pairs (parent, child); a discrete node has discrete parents only
    tables : {discrete node: table}, as `BayesNet` takes them
    regressions : {continuous node: (α, β, σ²)}
        One entry (of β: one row, a column for each continuous parent) for each configuration of the discrete parents, the
        first parent slowest; a single number stands for all.
    states : {discrete node: states}, optional

    >>> net = HybridNet([("sick", "heat")], {"sick": {"no": 0.9, "yes": 0.1}}, {"heat": ([36.8, 38.5], [], [0.1, 0.5])})
    >>> round(net.query("sick", {"heat": 38.0})["yes"], 4)
    0.9811
    """

    def __init__(
        self,
        edges: Dag | Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        regressions: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
    ) -> None:
        if not isinstance(regressions, Mapping) or not isinstance(tables, Mapping):
            raise InvalidNetwork("tables and regressions are mappings from node to numbers")
        self.dag = edges if isinstance(edges, Dag) else Dag(dict.fromkeys([*tables, *regressions]), edges)
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
    ) -> HybridNet:
        """Count the discrete families, regress the continuous ones on their co-moments in every configuration.

        Parameters
        ----------
        dag : the structure, or its arrows
        data : pandas, polars, Arrow or a dict of columns, with a column for each node
        smoothing : λ, added to every count; for a regression, rows with the pooled spread
        continuous : the continuous nodes; unless told, the columns of floats
        states, sample_weight : as in `BayesNet.fit`

        A row with missing cells counts for the families that it has whole.

        >>> data = {"a": ["u", "u", "v", "v"], "x": [0.0, 1.0, 4.0, 7.0]}
        >>> HybridNet.fit([("a", "x")], data, smoothing=0).regression("x")["α"].tolist()
        [0.5, 5.5]
        """
        graph = as_dag(dag)
        return cls(graph, *fitted(graph, data, smoothing, continuous, as_states(states), sample_weight))

    # What it is

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes, discrete and continuous."""
        return self.dag.nodes

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
        index: Any = pd.RangeIndex(1)
        if len(above) == 1:
            index = pd.Index(self.discrete.states(above[0]), name=above[0], dtype=object)
        elif above:
            index = pd.MultiIndex.from_product([self.discrete.states(p) for p in above], names=above)
        return pd.DataFrame(table, index=index)

    def __repr__(self) -> str:
        found = len(self._gaussians.nodes)
        return (
            f"HybridNet({len(self.nodes) - found} discrete and {found} continuous nodes, {len(self.dag.edges)} edges)"
        )

    # Exact answers

    def query(self, nodes: str | Sequence[str], evidence: Evidence | None = None) -> Factor:
        """P(nodes | e), jointly, of discrete nodes; numbers are evidence on continuous ones.

        >>> net = HybridNet([("a", "x"), ("x", "y")], {"a": [0.5, 0.5]}, {"x": ([0, 1], [], 1), "y": (0, 1, 1)})
        >>> round(net.query("a", {"y": 1.0})["1"], 4)
        0.5622
        """
        asked = tuple(self.nodes[v] for v in find_all(self.dag.index, nodes))
        for node in asked:
            if node in self._gaussians.regressions:
                raise BadValue(f"{node!r} is continuous: `marginals` gives its mean and spread, `sample` its draws")
        said, seen = self._split_evidence(evidence)
        return self._posterior(asked, said, self._groups(said, seen))[0]

    def marginals(self, evidence: Evidence | None = None) -> dict[str, dict[Any, float]]:
        """Of every node given the evidence: {state: p} of a discrete one, {"mean": …, "sd": …} of a continuous one."""
        said, seen = self._split_evidence(evidence)
        parts = self._groups(said, seen)
        found: dict[str, dict[Any, float]] = {}
        for node in self.discrete.nodes:
            table = self._posterior((node,), said, parts)[0]
            found[node] = dict(zip(self.discrete.states(node), table.values.tolist(), strict=True))
        for node in self._gaussians.nodes:
            if node in seen:
                found[node] = {"mean": seen[node], "sd": 0.0}
                continue
            near = self._gaussians.around(node, self._known(said), seen)
            at = near.hidden.index(node)
            weight = self._posterior(near.scope, said, parts)[0].values.ravel() if near.scope else np.ones(1)
            mean = float(weight @ near.mean[:, at])
            spread = float(weight @ (near.covariance[:, at, at] + (near.mean[:, at] - mean) ** 2))
            found[node] = {"mean": mean, "sd": math.sqrt(max(spread, 0.0))}
        return {n: found[n] for n in self.nodes}

    def log_density(self, evidence: Evidence) -> float:
        """ln P(e): the density of the numbers times the probability of the states; −inf where it is impossible."""
        said, seen = self._split_evidence(evidence)
        try:
            return self._posterior((), said, self._groups(said, seen))[1]
        except ImpossibleEvidence:
            return -math.inf

    # Rows of a table

    def predict_proba(self, cases: Any, target: str) -> Floats:
        """P(target | case) for each row, one column a state; missing cells and missing columns are unknown."""
        states = self.discrete.states(target)
        codes, numbers = self._read(cases, skip=target)
        at = self.discrete.dag.index[target]
        blanket = self.dag.markov_blanket(target)
        whole = np.ones(len(codes), dtype=bool)
        for node in blanket:
            whole &= np.isfinite(numbers[node]) if node in numbers else codes[:, self.discrete.dag.index[node]] >= 0
        out = np.empty((len(codes), len(states)))
        families = (target, *self.dag.children(target))
        for s in range(len(states)):  # all that matters is seen: P(target = s, blanket)
            told = codes[whole].copy()
            told[:, at] = s
            rows = {n: x[whole] for n, x in numbers.items()}
            out[whole, s] = sum(self._log_family(n, told, rows) for n in families)
        possible = np.isfinite(out[whole]).any(axis=1)
        if not possible.all():
            row = int(np.flatnonzero(whole)[np.argmin(possible)])
            raise ImpossibleEvidence(f"row {row} of the cases has probability zero", (), row)
        out[whole] = np.exp(out[whole] - logsumexp(out[whole], axis=1, keepdims=True))
        for r in np.flatnonzero(~whole).tolist():
            known = {n: self.discrete.states(n)[c] for n, c in zip(self.discrete.nodes, codes[r]) if c >= 0}
            known |= {n: float(x[r]) for n, x in numbers.items() if np.isfinite(x[r])}
            out[r] = self.query(target, known).values
        return out

    def predict(self, cases: Any, target: str) -> Array:
        """The most probable state of the target for each row."""
        labels = np.empty(len(self.discrete.states(target)), dtype=object)
        labels[:] = self.discrete.states(target)
        found: Array = labels[self.predict_proba(cases, target).argmax(axis=1)]
        return found

    def log_likelihood(self, cases: Any) -> float:
        """Σ ln P(row) over rows without missing cells."""
        codes, numbers = self._read(cases)
        if (codes < 0).any() or any(not np.isfinite(x).all() for x in numbers.values()):
            raise TableError("the likelihood of a table needs every cell: a row has a missing one")
        return float(sum(self._log_family(n, codes, numbers).sum() for n in self.nodes))

    def bic(self, cases: Any) -> float:
        """ln P(rows) − ½ ln m · |B|, more is better; |B| sums q(r − 1) of discrete nodes, q(k + 2) of continuous ones."""
        m = len(self._read(cases)[0])
        free = sum(t.size - t.size // len(self.discrete.states(n)) for n, t in self.discrete._tables.items())
        free += sum(f.beta.size + 2 * len(f.alpha) for f in self._gaussians.regressions.values())
        return self.log_likelihood(cases) - 0.5 * math.log(m) * free

    def sample(self, n: int, evidence: Evidence | None = None, random_state: RandomState = None) -> Any:
        """n independent cases of P(x | e) as a pandas table.

        >>> net = HybridNet([("a", "x")], {"a": [0.5, 0.5]}, {"x": ([0, 9], [], 1)})
        >>> set(net.sample(100, {"x": 8.0}, random_state=0)["a"])
        {'1'}
        """
        import pandas as pd

        said, seen = self._split_evidence(evidence)
        parts = self._groups(said, seen)
        random = np.random.default_rng(seeds(random_state, 1))
        net, told = self._with(parts, said)
        states = net.sample(n, told, random)
        drawn: dict[str, Floats] = {v: np.full(n, x) for v, x in seen.items()}
        for part in parts:
            if part.hidden:
                d = (
                    place_of(np.stack([states[s].cat.codes for s in part.scope], 1), part.log_density.shape)
                    if part.scope
                    else 0
                )
                root = np.linalg.cholesky(part.covariance)
                noise = random.standard_normal((n, len(part.hidden)))
                X = part.mean[d] + np.einsum("rij,rj->ri", root[d], noise)
                drawn |= {v: X[:, i] for i, v in enumerate(part.hidden)}
        for node in self._gaussians.nodes:  # after its parents
            if node not in drawn:
                above, beside = self._gaussians.given[node]
                c = np.stack([drawn[p] for p in beside], axis=1) if beside else np.zeros((n, 0))
                sizes = [len(self.discrete.states(p)) for p in above]
                d = (
                    place_of(np.stack([states[p].cat.codes for p in above], 1), sizes)
                    if above
                    else np.zeros(n, np.int64)
                )
                drawn[node] = self._gaussians.regressions[node].draw(c, d, random)
        return pd.DataFrame({v: drawn[v] if v in drawn else states[v] for v in self.nodes})

    # Between names and numbers

    def _fit_of(self, node: str) -> Regression:
        find(self.dag.index, node)
        if node not in self._gaussians.regressions:
            raise BadValue(f"{node!r} is discrete: `cpt` gives its table")
        return self._gaussians.regressions[node]

    def _split_evidence(self, evidence: Evidence | None) -> tuple[dict[str, Any], dict[str, float]]:
        """Findings on discrete nodes; numbers on continuous ones."""
        if evidence is not None and not isinstance(evidence, Mapping):
            raise BadValue(f"evidence is a mapping from node to finding, got {type(evidence).__name__}")
        said, seen = {}, {}
        for node, finding in (evidence or {}).items():
            find(self.dag.index, node)
            if unknown(finding):
                continue
            if node not in self._gaussians.regressions:
                said[node] = finding
                continue
            try:
                seen[node] = float(finding)
            except (TypeError, ValueError):
                raise BadValue(f"{node!r} is continuous: its finding is a number, got {finding!r}") from None
            if not math.isfinite(seen[node]):
                raise BadValue(f"{node!r} is continuous: its finding is a finite number, got {finding!r}")
        return said, seen

    def _known(self, said: Mapping[str, Any]) -> dict[str, int]:
        """The discrete nodes whose state is known."""
        found = hard_states(findings(said, self.discrete.dag.index, self.discrete._states))
        return {self.discrete.nodes[v]: code for v, code in found.items()}

    def _groups(self, said: Mapping[str, Any], seen: Mapping[str, float]) -> list[Local]:
        return self._gaussians.groups(self._known(said), seen)

    def _with(self, parts: Sequence[Local], said: Mapping[str, Any]) -> tuple[BayesNet, dict[str, Any]]:
        """The discrete network with a child "seen" of each scope, and the evidence that they were seen."""
        net = self.discrete
        tables: dict[str, Any] = {n: net._tables[n].reshape(-1, len(net.states(n))) for n in net.nodes}
        states: dict[str, Any] = dict(net._states)
        edges, told = list(net.edges), dict(said)
        for scope, log in united(parts):
            if scope:
                node = f"seen {len(told)} {' '.join(net.nodes)}"  # no node is named so
                like = np.exp(log - log.max()).ravel()
                tables[node], states[node] = np.stack([like, 1 - like], axis=1), ("seen", "not")
                edges += [(p, node) for p in scope]
                told[node] = "seen"
        return BayesNet(Dag([*tables], edges), tables, states), told

    def _posterior(self, asked: Sequence[str], said: Mapping[str, Any], parts: Sequence[Local]) -> tuple[Factor, float]:
        """P(asked | e) and ln P(e). Where a likelihood underflows beside another's zero, scopes are enumerated in logs."""
        likelihoods = united(parts)
        scale = sum(float(log.max()) for _, log in likelihoods)
        net, told = self._with(parts, said)
        probability = net.log_probability(told)
        if probability > -math.inf:
            table = net.query(list(asked), told) if asked else Factor((), {}, np.ones(()))
            return table, probability + scale
        if not likelihoods or self.discrete.log_probability(said) == -math.inf:
            self.discrete.query(self.discrete.nodes[0], said)  # which names the findings that contradict each other
            raise ImpossibleEvidence("the evidence has probability zero", ())
        every = tuple(dict.fromkeys(chain(asked, *(scope for scope, _ in likelihoods))))
        joint = self.discrete.query(list(every), said)
        with np.errstate(divide="ignore"):
            logs = np.log(joint.values)
        for scope, log in likelihoods:
            logs = logs + along(log, scope, every)
        total = float(logsumexp(logs))
        values = np.exp(logs - total).sum(axis=tuple(range(len(asked), len(every))))
        states = {n: self.discrete.states(n) for n in asked}
        return Factor(tuple(asked), states, values), total + self.discrete.log_probability(said)

    def _read(self, cases: Any, skip: str = "") -> tuple[Codes, dict[str, Floats]]:
        """Codes of the discrete nodes, −1 where unknown, and numbers of the continuous ones, NaN where unknown."""
        named = dict(columns(cases))
        strange = [n for n in named if n not in self.dag.index]
        if strange:
            near = did_you_mean(strange[0], self.nodes) or "."
            raise UnknownColumn(f"column {strange[0]!r} is no node{near} nodes: {listed(self.nodes)}")
        numbers = numbers_of(cases, {n for n in self._gaussians.nodes if n in named})
        rows = len(next(iter(named.values()))) if named else 0
        numbers = {n: numbers.get(n, np.full(rows, np.nan)) for n in self._gaussians.nodes}
        codes = np.full((rows, len(self.discrete.nodes)), -1, dtype=np.int32)
        told = {n: cells for n, cells in named.items() if n not in self._gaussians.regressions}
        if told:
            codes = read_cases(told, self.discrete.dag.index, self.discrete._states, frozenset([skip]))
        return codes, numbers

    def _log_family(self, node: str, codes: Codes, numbers: Mapping[str, Floats]) -> Floats:
        """ln P(node | parents) of each row."""
        index = self.discrete.dag.index
        if node in self._gaussians.regressions:
            above, beside = self._gaussians.given[node]
            d = place_of(codes[:, [index[p] for p in above]], [len(self.discrete.states(p)) for p in above])
            c = np.stack([numbers[p] for p in beside], axis=1) if beside else np.zeros((len(codes), 0))
            return self._gaussians.regressions[node].log_density(numbers[node], c, d)
        family = (*self.discrete.parents(node), node)
        table = self.discrete._tables[node].reshape(-1, len(self.discrete.states(node)))
        with np.errstate(divide="ignore"):
            logs = np.log(table) - np.log(table.sum(axis=1, keepdims=True))
        place = place_of(codes[:, [index[p] for p in family]], [len(self.discrete.states(p)) for p in family])
        return np.asarray(logs.ravel()[place])
