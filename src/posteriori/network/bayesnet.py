"""BayesNet: a network one can read, draw, ask, sample and learn from counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from posteriori.network.asking import Asked
from posteriori.network.fitting import family_tables, learned_states
from posteriori.structure.dag import Dag


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
