"""HybridNet: discrete and continuous nodes in one network; the continuous ones conditional Gaussians.

    P(x) = Π_discrete θ[π, x] · Π_continuous N(x; α_d + β_d·c, σ²_d)

What was seen of the continuous nodes is a likelihood of the discrete ones: those that hang together through continuous
nodes not seen are integrated out in closed form, once for each configuration of their discrete parents (the scope), and
the rest is a question to a `BayesNet`. Exact; its price grows with the largest scope.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..arrays import Array, Codes, Floats
from ..errors import BadValue, ImpossibleEvidence, UnknownColumn, answered, check_policy, did_you_mean, listed
from ..structure.dag import Dag
from ..structure.graph import find, find_all
from .bayesnet import BayesNet
from .findings import Factor, findings, labelled, read_cases, unknown
from .junction import Evidence
from .learn import rows_of
from .mixed_net import MixedNet, number_of
from .normals import (
    HybridRows,
    Local,
    along,
    configuration_of,
    numbers_at,
    united,
)
from .numbers import hard_states
from .sampling import RandomState, seeds


class HybridNet(MixedNet):
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
            near = self._gaussians.around(node, self._known(said), _row(seen))
            at = near.hidden.index(node)
            weight = self._posterior(near.scope, said, parts)[0].values.ravel() if near.scope else np.ones(1)
            means, roots = (part[0, :, at] for part in near.normal())
            some = means[weight.argmax()]
            mean = some + weight @ (means - some)  # equal means lie 0 apart, and their mean is theirs
            apart = np.sqrt(weight)[:, None] * np.concatenate([roots, (means - mean)[:, None]], axis=1)
            unit = np.abs(apart).max() or 1.0  # squares of large numbers are none
            found[node] = {"mean": float(mean), "sd": float(unit * np.linalg.norm(apart / unit))}
        return {n: found[n] for n in self.nodes}

    def most_probable(
        self,
        evidence: Evidence | None = None,
        nodes: str | Sequence[str] | None = None,
        max_memory: float | None = None,
    ) -> dict[str, Any]:
        """argmax_x p(x, e), a state or a number for every node; or, of some discrete nodes, argmax P(x_nodes, e).

        p is a density where x has numbers: in each configuration of the states it is highest at their means, and the
        narrower they are there, the higher it is. Of some nodes the others are summed and integrated out.

        >>> net = HybridNet([("a", "x"), ("x", "y")], {"a": [0.5, 0.5]}, {"x": ([0, 4], [], 1), "y": (0, 2, 1)})
        >>> net.most_probable({"x": 3}), net.most_probable({"y": 3}, "a")
        ({'a': '1', 'x': 3.0, 'y': 6.0}, {'a': '0'})
        """
        asked = self.nodes if nodes is None else tuple(self.nodes[v] for v in find_all(self.dag.index, nodes))
        if set(asked) != set(self.nodes):
            table = self.query(asked, evidence)
            at = np.unravel_index(int(table.values.argmax()), table.values.shape)
            return {n: self._states[n][code] for n, code in zip(asked, at, strict=True)}
        said, seen = self._split_evidence(evidence)
        told, vectors = self._known(said), findings(said, self.discrete.dag.index, self._states)
        parts = self._gaussians.groups(told, _row(seen))
        soft = {self.discrete.nodes[v]: vector for v, vector in vectors.items()}
        found = self._rows.most_probable(told, soft, seen.keys(), parts, max_memory)
        if found is None:
            self._posterior((), said, parts)  # which says why
            raise ImpossibleEvidence("the evidence has probability zero", ())
        states = {n: self._states[n][code] for n, code in found.items()}
        numbers = self.marginals({**states, **seen})
        return {n: states[n] if n in states else numbers[n]["mean"] for n in asked}

    def log_density(self, evidence: Evidence) -> float:
        """ln P(e): the density of the numbers times the probability of the states; −inf where it is impossible."""
        said, seen = self._split_evidence(evidence)
        try:
            return self._posterior((), said, self._groups(said, seen))[1]
        except ImpossibleEvidence:
            return -math.inf

    # Rows of a table

    @cached_property
    def _rows(self) -> HybridRows:
        return HybridRows(self.discrete, self._gaussians)

    def predict_proba(
        self, cases: Any, target: str, max_memory: float | None = None, impossible: str = "raise"
    ) -> Floats:
        """P(target | case) for each row, one column a state; missing cells and missing columns are summed out.

        A row of probability zero is refused; impossible="prior" gives such rows P(target), and counts them.
        """
        check_policy(impossible)
        self.discrete.states(target)
        logs, _ = self._rows.beside_common(*self._read(cases, skip=target), target, max_memory)
        top = logs.max(axis=1, keepdims=True)
        if (never := ~np.isfinite(top[:, 0])).any():
            if not answered(never, impossible):
                row = int(never.argmax())
                raise ImpossibleEvidence(f"row {row} of the cases has probability zero", (), row)
            with np.errstate(divide="ignore"):
                logs[never], top[never] = np.log(self.query(target).values), 0.0
        shares = np.exp(logs - top)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, cases: Any, target: str, max_memory: float | None = None, impossible: str = "raise") -> Array:
        """The most probable state of the target for each row."""
        found = self.predict_proba(cases, target, max_memory, impossible)
        return labelled(self.discrete.states(target), found.argmax(axis=1))

    def log_likelihood(self, cases: Any) -> float:
        """Σ ln P(what the row says) over the rows, in nats: larger is better; missing cells are summed out."""
        return float(self._rows.log_joint(*self._read(cases), None).sum())

    def bic(self, cases: Any) -> float:
        """ln P(rows) − ½ ln m · |B|, in nats: larger is better."""
        codes, x = self._read(cases)
        return float(self._rows.log_joint(codes, x, None).sum()) - 0.5 * math.log(len(codes)) * self.n_parameters

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
                d = self._configuration(states, part.scope)
                noise = random.standard_normal((n, len(part.hidden)))
                mean, root = part.normal()
                X = mean[0, d] + np.einsum("rij,rj->ri", root[0, d], noise)
                drawn |= {v: X[:, i] for i, v in enumerate(part.hidden)}
        for node in self._gaussians.nodes:  # after its parents
            if node not in drawn:
                above, beside = self._gaussians.given[node]
                c = np.stack([drawn[p] for p in beside], axis=1) if beside else np.zeros((n, 0))
                drawn[node] = self._gaussians.regressions[node].draw(c, self._configuration(states, above), random)
        return pd.DataFrame({v: drawn[v] if v in drawn else states[v] for v in self.nodes})

    def _configuration(self, states: Any, nodes: Sequence[str]) -> Codes:
        """The configuration of some discrete nodes in each drawn row."""
        codes = np.stack([states[p].cat.codes for p in nodes], 1) if nodes else np.zeros((len(states), 0), np.int64)
        return configuration_of(codes, [len(self._states[p]) for p in nodes])

    # Between names and numbers

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
            seen[node] = number_of(node, finding)
        return said, seen

    def _known(self, said: Mapping[str, Any]) -> dict[str, Codes]:
        """The discrete nodes whose state is known."""
        found = hard_states(findings(said, self.discrete.dag.index, self._states))
        return {self.discrete.nodes[v]: np.array([code]) for v, code in found.items()}

    def _groups(self, said: Mapping[str, Any], seen: Mapping[str, float]) -> list[Local]:
        return self._gaussians.groups(self._known(said), _row(seen))

    def _with(self, parts: Sequence[Local], said: Mapping[str, Any]) -> tuple[BayesNet, dict[str, Any]]:
        """The discrete network with a child "seen" of each scope, and the evidence that they were seen."""
        net = self.discrete
        tables, states = net._given_tables(), dict[str, Any](net._states)
        edges, told = list(net.edges), dict(said)
        for scope, log in united(parts)[0]:
            if log.max() == -math.inf:
                raise ImpossibleEvidence(
                    "the numbers seen are so far from all that could be that their density is 0", ()
                )
            if scope:
                node = f"seen {len(told)} {' '.join(net.nodes)}"  # no node is named so
                like = np.exp(log - log.max()).ravel()
                tables[node], states[node] = np.stack([like, 1 - like], axis=1), ("seen", "not")
                edges += [(p, node) for p in scope]
                told[node] = "seen"
        return BayesNet(Dag([*tables], edges), tables, states), told

    def _posterior(self, asked: Sequence[str], said: Mapping[str, Any], parts: Sequence[Local]) -> tuple[Factor, float]:
        """P(asked | e) and ln P(e). Where a likelihood underflows beside another's zero, scopes are enumerated in logs."""
        likelihoods, common = united(parts)
        scale = float(common[0]) + sum(float(log.max()) for _, log in likelihoods)
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
            logs = logs + along(log, scope, every)[0]
        total = float(logsumexp(logs))
        values = np.exp(logs - total).sum(axis=tuple(range(len(asked), len(every))))
        states = {n: self.discrete.states(n) for n in asked}
        return Factor(tuple(asked), states, values), total + float(common[0]) + self.discrete.log_probability(said)

    def _read(self, cases: Any, skip: str = "") -> tuple[Codes, Floats]:
        """Codes of the discrete nodes, −1 where unknown, and numbers of the continuous ones, NaN where unknown."""
        frame = rows_of(cases)
        names = frame.names or ()
        strange = [n for n in names if n not in self.dag.index]
        if strange or not names:
            near = did_you_mean(strange[0], self.nodes) if strange else ""
            raise UnknownColumn(f"column {listed(strange[:1])} is no node{near or '.'} nodes: {listed(self.nodes)}")
        x = np.full((frame.n, len(self.continuous)), np.nan)
        there = [k for k, n in enumerate(self.continuous) if n in names]
        x[:, there] = numbers_at(frame, [self.continuous[k] for k in there])
        told = {n: frame.column(j) for j, n in enumerate(names) if n not in self._gaussians.regressions}
        if not told:
            return np.full((frame.n, len(self.discrete.nodes)), -1, dtype=np.int32), x
        return read_cases(told, self.discrete.dag.index, self._states, frozenset([skip])), x


def _row(seen: Mapping[str, float]) -> dict[str, Floats]:
    return {n: np.array([x]) for n, x in seen.items()}
