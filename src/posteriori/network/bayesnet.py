"""BayesNet: a network one can read, draw, ask, sample and learn from counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Floats
from ..decision.loss import as_loss
from ..errors import ImpossibleEvidence
from ..structure.dag import Dag
from ..structure.graph import find, find_all
from .asking import NOTHING, Asked, Evidence
from .bayes_risk import exact_risk, sampled_risk
from .draws import RandomState
from .estimate import Estimate, named
from .factor import code_of
from .fitting import counted_states, counted_tables, family_tables, learned_states
from .gibbs import gibbs
from .insight import arc_strength, conflict, information, tornado
from .junction import MAX_MEMORY
from .weighting import forward_sample, likelihood_weighting


class BayesNet(Asked):
    """A Bayesian network: P(x) = Π_i P(x_i | π_i), a DAG of variables and a table for each.

    Parameters
    ----------
    edges : Dag, or pairs (parent, child)
    tables : {node: table}, P(node | parents)
        A mapping {parent's state: {…: {state: p}}} (a tuple of states stands for several parents), a pandas table as `cpt`
        gives it, or an array with one axis a parent, in the order of the edges, and the node's own axis last. Rows sum to
        one within 1e-3, as far as rounded digits go; digits are kept as given, and divided by their sum when asked.
    states : {node: states}, optional
        Where a table does not name them: else "0", "1", …
    name : str

    Evidence is a mapping from node to finding: a state, `po.Not(state, …)`, or a likelihood {state: number} of every state.

    >>> net = BayesNet(
    ...     [("rain", "wet")],
    ...     {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.3, "yes": 0.7}}},
    ... )
    >>> round(net.marginals({"wet": "yes"})["rain"]["yes"], 4)
    0.6364
    """

    @classmethod
    def fit(
        cls,
        dag: Dag,
        data: Any,
        smoothing: float = 1.0,
        states: Mapping[str, Sequence[Hashable]] | None = None,
        sample_weight: Any = None,
        name: str = "unknown",
    ) -> BayesNet:
        """Count every family in a table and smooth: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure; `data` (pandas, polars, Arrow or a dict of columns) needs a column for each node
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)
        states : the states of some nodes; else a column's categories or its sorted values
        sample_weight : a weight for each row

        A row with missing cells counts for the families that it has whole.

        >>> net = BayesNet.fit(Dag("ab", [("a", "b")]), {"a": [0, 0, 1], "b": ["u", "v", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        known = learned_states(dag, data, states or {})
        return cls(dag, family_tables(dag, data, known, smoothing, sample_weight), known, name)

    @classmethod
    def from_counts(
        cls,
        dag: Dag,
        counts: Mapping[str, Any],
        states: Mapping[str, Sequence[Hashable]] | None = None,
        smoothing: float = 1.0,
        name: str = "unknown",
    ) -> BayesNet:
        """A network from counts alone, without their rows: θ[π, x] = (N[π, x] + λ) / (N[π] + rλ).

        Parameters
        ----------
        dag : the structure
        counts : {node: N[parents…, node]}, in any form that a table has: an array, a pandas table or a mapping
        states : the states of some nodes; else those that the counts name, or "0", "1", …
        smoothing : λ, added to every cell; 0 is maximum likelihood (uniform where a configuration never came)

        >>> counts = {"a": [2, 1], "b": [[1, 1], [0, 1]]}
        >>> net = BayesNet.from_counts(Dag("ab", [("a", "b")]), counts, {"b": ["u", "v"]}, smoothing=0)
        >>> net.cpt("b").to_numpy().tolist(), net.states("b")
        ([[0.5, 0.5], [0.0, 1.0]], ('u', 'v'))
        """
        known = counted_states(dag, counts, states or {})
        return cls(dag, counted_tables(dag, counts, known, smoothing), known, name)

    # Sampled answers

    def sample(
        self,
        n: int,
        evidence: Evidence = NOTHING,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        max_memory: int = MAX_MEMORY,
    ) -> Any:
        """n independent cases of P(x | e) as a pandas table of categories: drawn forward, or from the junction tree.

        >>> import posteriori as po
        >>> cases = po.networks.asia().sample(1000, {"xray": "yes"}, random_state=0)
        >>> cases.shape, set(cases["xray"])
        ((1000, 8), {'yes'})
        """
        import pandas as pd

        if evidence:
            with self._named(evidence), self._tree(evidence, max_memory) as tree:
                codes = tree.sample(n, random_state, n_jobs)
        else:
            codes = forward_sample(self._model, n, random_state, n_jobs)
        kinds = [pd.CategoricalDtype(list(self._states[v])) for v in self.nodes]
        columns = [pd.Categorical.from_codes(codes[:, i], dtype=kind) for i, kind in enumerate(kinds)]
        return pd.DataFrame(dict(zip(self.nodes, columns, strict=True)))

    def gibbs(
        self,
        evidence: Evidence = NOTHING,
        draws: int = 5_000,
        burn_in: int = 1_000,
        thin: int = 1,
        chains: int = 4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> Estimate:
        """P(x_i | e) of every node by Gibbs sampling, with its stated error, effective sample size and R̂.

        A random walk in the states that agree with the evidence; each step redraws a node (or a block, where zeros in the
        tables would trap it) from its distribution given all the others, and depends only on the last step.

        Parameters
        ----------
        draws, burn_in, thin : sweeps kept by each chain, left out at its start, and gone over for each one kept
        chains : independent walks, the streams of `random_state`

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> found, exact = net.gibbs({"xray": "yes"}, random_state=0), net.marginals({"xray": "yes"})
        >>> abs(found.marginals["lung"]["yes"] - exact["lung"]["yes"]) <= found.error["lung"]["yes"]
        True
        """
        with self._named(evidence):
            found = gibbs(
                self._model,
                self._findings(evidence),
                draws=draws,
                burn_in=burn_in,
                thin=thin,
                chains=chains,
                random_state=random_state,
                n_jobs=n_jobs,
            )
        p, error, ess, r_hat = (
            named(self.nodes, self._states, values) for values in (found.marginals, found.error, found.ess, found.r_hat)
        )
        blocks = tuple(tuple(self.nodes[v] for v in block) for block in found.blocks)
        return Estimate(p, error, ess, found.draws, r_hat, blocks)

    def likelihood_weighting(
        self,
        evidence: Evidence = NOTHING,
        draws: int = 20_000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> Estimate:
        """P(x_i | e) of every node from cases drawn forward with the evidence held, each weighted by how likely it is.

        >>> import posteriori as po
        >>> found = po.networks.asia().likelihood_weighting({"xray": "yes"}, random_state=0)
        >>> abs(found.marginals["lung"]["yes"] - 0.48871) <= found.error["lung"]["yes"]
        True
        """
        try:
            found = likelihood_weighting(
                self._model, self._findings(evidence), draws=draws, random_state=random_state, n_jobs=n_jobs
            )
        except ImpossibleEvidence as error:  # or only too rare: the message says so
            raise ImpossibleEvidence(str(error), [self.nodes[v] for v in error.findings]) from None
        parts = (found.marginals, found.error, found.ess)
        p, width, ess = (named(self.nodes, self._states, values) for values in parts)
        return Estimate(p, width, ess, found.draws, log_probability=found.log_probability)

    # Decisions

    def bayes_risk(
        self, target: str, loss: Any = None, observed: Sequence[str] | None = None, max_memory: int = MAX_MEMORY
    ) -> float:
        """R* = Σ_x min_a Σ_y λ[a, y] P(x, y): the least risk any classifier of the target can have, exactly.

        Parameters
        ----------
        target : the node to be told
        loss : λ, as `po.decide` takes it (actions in rows, truth in columns); None is zero-one, and R* an error rate
        observed : the nodes a classifier sees; all but the target unless told

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> round(net.bayes_risk("lung"), 5), round(net.bayes_risk("lung", observed=["smoke", "xray"]), 5)
        (0.00057, 0.03285)
        """
        node, matrix, seen = self._decision(target, loss, observed)
        return exact_risk(self._model, node, matrix, seen, max_memory)

    def sampled_bayes_risk(
        self,
        target: str,
        loss: Any = None,
        observed: Sequence[str] | None = None,
        draws: int = 10_000,
        random_state: RandomState = None,
        max_memory: int = MAX_MEMORY,
    ) -> tuple[float, float]:
        """R* from sampled cases, where there are too many to sum over, and its standard error."""
        node, matrix, seen = self._decision(target, loss, observed)
        return sampled_risk(self._model, node, matrix, seen, draws, random_state, max_memory)

    def _decision(self, target: str, loss: Any, observed: Sequence[str] | None) -> tuple[int, Floats, list[int] | None]:
        states = self.states(target)
        matrix = as_loss(loss, states).over(states).matrix
        return find(self._index, target), matrix, None if observed is None else find_all(self._index, observed)

    # What the evidence is worth

    def value_of_information(
        self, target: str, evidence: Evidence = NOTHING, max_memory: int = MAX_MEMORY
    ) -> dict[str, float]:
        """I(X; target | e) in nats of every node not observed, the most first: which question to ask next.

        >>> import posteriori as po
        >>> list(po.networks.asia().value_of_information("lung", {"dysp": "yes"}))[:2]
        ['either', 'xray']
        """
        node = find(self._index, target)
        with self._named(evidence), self._tree(evidence, max_memory) as tree:
            gained = information(tree, node)
            observed = {v for v, x in tree.evidence.items() if np.count_nonzero(x) == 1}
        open_ = [v for v in range(len(self.nodes)) if v != node and v not in observed]
        return {self.nodes[v]: float(gained[v]) for v in sorted(open_, key=lambda v: -gained[v])}

    def tornado(
        self, target: str, state: Hashable = None, evidence: Evidence = NOTHING, max_memory: int = MAX_MEMORY
    ) -> Any:
        """How far each node alone could move P(target = state | e): a pandas table, the widest bar first.

        A node that is not observed is added to the evidence in each of its states; a finding is replaced by each.
        `state` is the most probable one unless told.

        >>> import posteriori as po
        >>> bars = po.networks.asia().tornado("lung", "yes", {"xray": "yes"})
        >>> bars.loc[0, ["node", "low_state", "high_state"]].tolist()
        ['either', 'no', 'yes']
        """
        import pandas as pd

        node = find(self._index, target)
        with self._named(evidence), self._tree(evidence, max_memory) as tree:
            likely = int(tree.marginals()[node].argmax())
            code = likely if state is None else code_of(state, self._states[target], target)
            bars = tornado(tree, node, code)
        rows = [
            {
                "node": self.nodes[bar.node],
                "low": bar.low,
                "high": bar.high,
                "low_state": self._states[self.nodes[bar.node]][bar.low_state],
                "high_state": self._states[self.nodes[bar.node]][bar.high_state],
            }
            for bar in bars
        ]
        return pd.DataFrame(rows, columns=["node", "low", "high", "low_state", "high_state"])

    def conflict(self, evidence: Evidence, max_memory: int = MAX_MEMORY) -> float:
        """ln Π P(finding) / P(e): above 0 where the findings fit each other worse than if they were unrelated.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.conflict({"lung": "yes", "xray": "no"}) > 0 > net.conflict({"lung": "yes", "xray": "yes"})
        True
        """
        with self._named(evidence), self._tree(evidence, max_memory) as tree:
            return conflict(tree)

    def arc_strength(self, evidence: Evidence = NOTHING, max_memory: int = MAX_MEMORY) -> dict[tuple[str, str], float]:
        """I(parent; child | the child's other parents, e) in nats of every arrow: what it still tells.

        >>> import posteriori as po
        >>> strength = po.networks.asia().arc_strength()
        >>> max(strength, key=strength.get)
        ('bronc', 'dysp')
        """
        with self._named(evidence), self._tree(evidence, max_memory) as tree:
            found = arc_strength(tree)
        return {(a, b): found[self._index[a], self._index[b]] for a, b in self.edges}
