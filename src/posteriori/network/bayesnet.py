"""BayesNet: a network one can ask, sample and learn from counts. Names here; the numbers and the engines are below."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

from .. import views
from ..arrays import Array, Floats
from ..decision.loss import as_loss
from ..errors import BadValue, ImpossibleEvidence
from ..structure.graph import find, find_all
from .elimination import log_evidence, map_states, posterior
from .findings import Factor, case_table, code_of, labelled, read_cases
from .gibbs import gibbs
from .insight import arc_strength, bar_table, conflict, exact_risk, information, sampled_risk, tornado
from .junction import Engine, Evidence
from .net import Net
from .numbers import hard_states
from .sampling import ByState, Estimate, RandomState, forward_sample, likelihood_weighting


class BayesNet(Net):
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

    Exact answers take time by the largest table that the best elimination order makes, exponential in the treewidth: exact
    inference is NP-hard (Cooper, 1990). What would not fit into memory is refused before; `gibbs` and
    `likelihood_weighting` then answer with an error bar.

    Evidence is a mapping from node to finding: a state, `po.Not(state, …)`, or a likelihood {state: number} of every state.

    >>> net = BayesNet(
    ...     [("rain", "wet")],
    ...     {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.3, "yes": 0.7}}},
    ... )
    >>> round(net.marginals({"wet": "yes"})["rain"]["yes"], 4)
    0.6364
    """

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self._model, self._states)

    # Exact answers

    def marginals(self, evidence: Evidence | None = None, max_memory: float | None = None) -> ByState:
        """P(x_i | e) of every node, by the junction tree: {node: {state: p}}.

        The tree is compiled at the first question and kept; one over `max_memory` bytes is refused.

        >>> import posteriori as po
        >>> round(po.networks.asia().marginals({"xray": "yes"})["lung"]["yes"], 5)
        0.48871
        """
        with self._engine.named(evidence), self._engine.tree(evidence, max_memory, held=True) as tree:
            found = iter(tree.flat_marginals().tolist())
        return {n: dict(zip(states, found, strict=False)) for n, states in self._states.items()}  # each takes its share

    def query(
        self, nodes: str | Sequence[str], evidence: Evidence | None = None, max_memory: float | None = None
    ) -> Factor:
        """P(nodes | e), jointly, by variable elimination on the part of the network that matters.

        >>> import posteriori as po
        >>> round(po.networks.asia().query(["tub", "lung"], {"xray": "yes"})["no", "yes"], 4)
        0.4836
        """
        targets = find_all(self._index, nodes)
        if len(set(targets)) < len(targets):
            raise BadValue(f"a node is asked for twice: {nodes!r}")
        with self._engine.named(evidence):
            table = posterior(self._model, targets, self._engine.findings(evidence), max_memory)
        names = tuple(self.nodes[t] for t in targets)
        return Factor(names, {n: self._states[n] for n in names}, table)

    def log_probability(self, evidence: Evidence, max_memory: float | None = None) -> float:
        """ln P(e), −inf where the evidence is impossible."""
        return log_evidence(self._model, self._engine.findings(evidence), max_memory)

    def probability(self, evidence: Evidence, max_memory: float | None = None) -> float:
        """P(e); 0 where the evidence is impossible.

        >>> import posteriori as po
        >>> round(po.networks.asia().probability({"xray": "yes"}), 5)
        0.11029
        """
        try:
            return math.exp(self.log_probability(evidence, max_memory))
        except OverflowError:  # likelihoods are of any size; the logarithm says how large
            return math.inf

    def most_probable(
        self,
        evidence: Evidence | None = None,
        nodes: str | Sequence[str] | None = None,
        max_memory: float | None = None,
    ) -> dict[str, Hashable]:
        """The most probable explanation, argmax_x P(x, e), a state for every node; or, of some nodes, their MAP.

        MAP of a subset, argmax P(x_nodes, e), sums the other nodes out first: it need not agree with the explanation.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.most_probable({"xray": "yes"})["lung"], net.most_probable({"xray": "yes"}, nodes="lung")
        ('yes', {'lung': 'no'})
        """
        asked = list(range(len(self.nodes))) if nodes is None else find_all(self._index, nodes)
        with self._engine.named(evidence):
            if len(asked) == len(set(asked)) == len(self.nodes):
                with self._engine.tree(evidence, max_memory, held=True) as tree:
                    every = tree.most_probable()[0]
                codes = every[asked].tolist()
            else:
                codes, _ = map_states(self._model, asked, self._engine.findings(evidence), max_memory)
        return {self.nodes[v]: self._states[self.nodes[v]][c] for v, c in zip(asked, codes, strict=True)}

    # Rows of a table

    def case_marginals(
        self,
        cases: Any,
        nodes: str | Sequence[str] | None = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        impossible: str = "raise",
    ) -> dict[str, Floats]:
        """P(x_i | case) for each row and each of the nodes (all unless told): {node: array of shape (rows, states)}.

        Missing cells and missing columns are unknown; a node that a row states has that state with probability 1. A row of
        probability zero is refused, with what contradicts what; impossible="prior" gives such rows P(x_i) and counts them.

        >>> import posteriori as po
        >>> po.networks.asia().case_marginals({"xray": ["yes", None]}, ["lung"])["lung"].round(4).tolist()
        [[0.4887, 0.5113], [0.055, 0.945]]
        """
        asked = list(range(len(self.nodes))) if nodes is None else find_all(self._index, nodes)
        found = self._engine.batch(read_cases(cases, self._index, self._states), asked, n_jobs, max_memory, impossible)
        return {self.nodes[v]: p for v, p in zip(asked, found, strict=True)}

    def predict_proba(
        self,
        cases: Any,
        target: str,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        impossible: str = "raise",
    ) -> Floats:
        """P(target | case) for each row, one column a state of the target, in the order of `states(target)`.

        Missing cells and missing columns are unknown; a column of the target itself is not looked at.
        `impossible` as in `case_marginals`.

        >>> import posteriori as po
        >>> po.networks.asia().predict_proba({"xray": ["yes", None]}, "lung").round(4).tolist()
        [[0.4887, 0.5113], [0.055, 0.945]]
        """
        node = find(self._index, target)
        codes = read_cases(cases, self._index, self._states, frozenset([target]))
        return self._engine.batch(codes, [node], n_jobs, max_memory, impossible)[0]

    def log_likelihood(self, cases: Any, n_jobs: int | None = None, max_memory: float | None = None) -> float:
        """LL(B|D) = Σ_rows ln P(what the row states), in nats: at most 0, larger is better, −∞ where a row is impossible.

        Missing cells and missing columns are summed out.

        >>> net = BayesNet([("rain", "wet")], {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]})
        >>> rows = {"rain": ["0", "1", "0"], "wet": ["0", "1", None]}
        >>> round(net.log_likelihood(rows), 4), round(math.log(0.8 * 0.9) + math.log(0.2 * 0.8) + math.log(0.8), 4)
        (-2.3842, -2.3842)
        """
        codes = read_cases(cases, self._index, self._states)
        return float(self._engine.log_probabilities(codes, n_jobs, max_memory).sum())

    def bic(self, cases: Any, n_jobs: int | None = None, max_memory: float | None = None) -> float:
        """LL(B|D) − ½ ln m · |B|, in nats: larger is better. Textbooks' s(B|D), to be small, is minus this.

        |B| is `n_parameters`; `po.score_structure` says the same of a structure, whose tables are then counted.
        """
        codes = read_cases(cases, self._index, self._states)
        fit = float(self._engine.log_probabilities(codes, n_jobs, max_memory).sum())
        return fit - 0.5 * math.log(len(codes)) * self.n_parameters

    def predict(
        self,
        cases: Any,
        target: str,
        n_jobs: int | None = None,
        max_memory: float | None = None,
        impossible: str = "raise",
    ) -> Array:
        """The most probable state of the target for each row.

        >>> import posteriori as po
        >>> po.networks.asia().predict({"xray": ["yes", "no"], "dysp": [None, "yes"]}, "bronc").tolist()
        ['yes', 'yes']
        """
        found = self.predict_proba(cases, target, n_jobs, max_memory, impossible)
        return labelled(self.states(target), found.argmax(axis=1))

    # Sampled answers

    def sample(
        self,
        n: int,
        evidence: Evidence | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        max_memory: float | None = None,
    ) -> Any:
        """n independent cases of P(x | e) as a pandas table of categories: drawn forward, or from the junction tree.

        >>> import posteriori as po
        >>> cases = po.networks.asia().sample(1000, {"xray": "yes"}, random_state=0)
        >>> cases.shape, set(cases["xray"])
        ((1000, 8), {'yes'})
        """
        if self._engine.findings(evidence):
            with self._engine.named(evidence), self._engine.tree(evidence, max_memory, held=True) as tree:
                codes = tree.sample(n, random_state, n_jobs)
        else:
            codes = forward_sample(self._model, n, random_state, n_jobs)
        return case_table(codes, self._states)

    def gibbs(
        self,
        evidence: Evidence | None = None,
        draws: int = 5_000,
        burn_in: int = 1_000,
        thin: int = 1,
        chains: int = 4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        keep: bool = False,
        pure: bool = False,
    ) -> Estimate:
        """P(x_i | e) of every node by Gibbs sampling, with its stated error, effective sample size and R̂.

        A random walk in the states that agree with the evidence; each step redraws a node (or a block, where zeros in the
        tables would trap it) from its distribution given all the others, and depends only on the last step. That is the
        pure walk, whose answer is the share of sweeps in each state, n_k/T. Unless `pure` is told, two things are added
        that change no answer and shorten its error: Rao-Blackwell, the mean of P(x_i | all others) in the place of the
        state drawn from it, and leaps, whole cases proposed every tenth sweep and taken by the rule of Metropolis, which
        cross between likely places that are far apart (and say how much no chain may have seen: the pure walk cannot).

        Parameters
        ----------
        draws, burn_in, thin : sweeps kept by each chain, left out at its start, and gone over for each one kept
        chains : independent walks, the streams of `random_state`
        keep : whether `chain` of the answer has the walk itself, the states after each kept sweep
        pure : without Rao-Blackwell and leaps

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> found, exact = net.gibbs({"xray": "yes"}, random_state=0), net.marginals({"xray": "yes"})
        >>> abs(found.marginals["lung"]["yes"] - exact["lung"]["yes"]) <= found.error["lung"]["yes"]
        True
        >>> walk = net.gibbs({"xray": "yes"}, draws=500, chains=1, random_state=0, keep=True, pure=True)
        >>> bool(walk.marginals["lung"]["yes"] == (walk.chain["lung"] == "yes").mean())
        True
        """
        with self._engine.named(evidence):
            found = gibbs(
                self._model,
                self._engine.findings(evidence),
                draws=draws,
                burn_in=burn_in,
                thin=thin,
                chains=chains,
                random_state=random_state,
                n_jobs=n_jobs,
                keep=keep,
                pure=pure,
            )
        return found.named(self._states)

    def likelihood_weighting(
        self,
        evidence: Evidence | None = None,
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
                self._model, self._engine.findings(evidence), draws=draws, random_state=random_state, n_jobs=n_jobs
            )
        except ImpossibleEvidence as error:  # or only too rare: the message says so
            raise ImpossibleEvidence(str(error), [self.nodes[v] for v in error.findings]) from None
        return found.named(self._states)

    # Decisions

    def bayes_risk(
        self, target: str, loss: Any = None, observed: Sequence[str] | None = None, max_memory: float | None = None
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
        max_memory: float | None = None,
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
        self, target: str, evidence: Evidence | None = None, max_memory: float | None = None
    ) -> dict[str, float]:
        """I(X; target | e) in nats of every node not observed, the most first: which question to ask next.

        >>> import posteriori as po
        >>> list(po.networks.asia().value_of_information("lung", {"dysp": "yes"}))[:2]
        ['either', 'xray']
        """
        node = find(self._index, target)
        with self._engine.named(evidence), self._engine.tree(evidence, max_memory) as tree:
            gained = information(tree, node)
            observed = hard_states(tree.evidence)
        open_ = [v for v in range(len(self.nodes)) if v != node and v not in observed]
        return {self.nodes[v]: float(gained[v]) for v in sorted(open_, key=lambda v: -gained[v])}

    def tornado(
        self, target: str, state: Hashable = None, evidence: Evidence | None = None, max_memory: float | None = None
    ) -> Any:
        """How far each node alone could move P(target = state | e): a pandas table, the widest bar first.

        A node that is not observed is added to the evidence in each of its states; a finding is replaced by each.
        `state` is the most probable one unless told.

        >>> import posteriori as po
        >>> bars = po.networks.asia().tornado("lung", "yes", {"xray": "yes"})
        >>> bars.loc[0, ["node", "low_state", "high_state"]].tolist()
        ['either', 'no', 'yes']
        """
        node = find(self._index, target)
        with self._engine.named(evidence), self._engine.tree(evidence, max_memory) as tree:
            likely = int(tree.marginals()[node].argmax())
            code = likely if state is None else code_of(state, self._states[target], target)
            bars = tornado(tree, node, code)
        return bar_table(bars, self._states)

    def conflict(self, evidence: Evidence, max_memory: float | None = None) -> float:
        """ln Π P(finding) / P(e): above 0 where the findings fit each other worse than if they were unrelated.

        >>> import posteriori as po
        >>> net = po.networks.asia()
        >>> net.conflict({"lung": "yes", "xray": "no"}) > 0 > net.conflict({"lung": "yes", "xray": "yes"})
        True
        """
        with self._engine.named(evidence), self._engine.tree(evidence, max_memory) as tree:
            return conflict(tree)

    def arc_strength(
        self, evidence: Evidence | None = None, max_memory: float | None = None
    ) -> dict[tuple[str, str], float]:
        """I(parent; child | the child's other parents, e) in nats of every arrow: what it still tells.

        >>> import posteriori as po
        >>> strength = po.networks.asia().arc_strength()
        >>> max(strength, key=strength.get)
        ('bronc', 'dysp')
        """
        with self._engine.named(evidence), self._engine.tree(evidence, max_memory) as tree:
            found = arc_strength(tree)
        return {(a, b): found[self._index[a], self._index[b]] for a, b in self.edges}

    # Faces

    def plot(self, evidence: Evidence | None = None) -> Any:
        """A layered drawing as SVG, shown by notebooks; `str(…)` is its text and `.save(path)` writes it.

        With evidence (an empty mapping will do) every node shows its probabilities, and what is known a strong border.

        >>> import posteriori as po
        >>> "yes 48.9%" in str(po.networks.asia().plot({"xray": "yes"}))
        True
        """
        return views.drawing("a network", self, evidence)

    def _repr_html_(self) -> str:
        return views.html("a network", self)
