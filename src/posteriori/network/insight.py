"""What a network can say about its own evidence: which question to ask next, what the answer hangs on, what conflicts.

Symbols: T the target, X another node, e the evidence, F one finding of it. Information is in nats.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from .junction import JunctionTree, Marginals
from .numbers import hard_states, one_hot


@dataclass(frozen=True)
class Bar:
    """One bar of a tornado: P(target state | e, X = x) over the states x of a node, least and greatest, and where."""

    node: int
    low: float
    high: float
    low_state: int
    high_state: int


def information(tree: JunctionTree, target: int) -> Floats:
    """I(X; T | e) = Σ_t P(t|e) Σ_x P(x|t,e) log P(x|t,e)/P(x|e) for every node X; 0 for observed ones and T itself.

    The node with the most is the question to ask next. One propagation a state of T.

    >>> from posteriori.network.numbers import Numbers
    >>> copy = Numbers.of([2, 2, 2], [(), (0,), ()], [[1, 1], [1, 0, 0, 1], [1, 1]])
    >>> information(JunctionTree(copy), 0).round(4).tolist()
    [0.0, 0.6931, 0.0]
    """
    prior, given = _by_target(tree, target)
    gained = np.zeros(len(tree.model))
    observed = hard_states(tree.evidence)
    for v in range(len(tree.model)):
        if v != target and v not in observed:
            gained[v] = sum(p * _divergence(table[v], prior[v]) for p, table in given)
    return np.maximum(gained, 0.0)


def tornado(tree: JunctionTree, target: int, state: int) -> list[Bar]:
    """How far P(T = state | e) could be moved by each node: the widest bar first.

    For a node without a finding its states are added to the evidence, P(t|x,e) = P(x|t,e) P(t|e) / P(x|e); for a finding
    F its states replace it, P(t | e∖F, x). States that the rest of the evidence excludes are left out.

    >>> from posteriori.network.numbers import Numbers
    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> [(b.node, round(b.low, 4), round(b.high, 4)) for b in tornado(JunctionTree(rain), 0, 1)]
    [(1, 0.0769, 0.6364)]
    """
    prior, given = _by_target(tree, target)
    chosen = [(p, table) for (p, table), t in zip(given, _possible_states(prior[target])) if t == state]
    evidence = tree.evidence
    bars = []
    for v in range(len(tree.model)):
        if v == target:
            continue
        if v in evidence:
            values = _replaced(tree, v, target, state)
        else:
            p, table = chosen[0] if chosen else (0.0, prior)
            values = {x: min(float(p * table[v][x] / prior[v][x]), 1.0) for x in _possible_states(prior[v])}
        low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
        bars.append(Bar(v, values[low], values[high], low, high))
    return sorted(bars, key=lambda bar: (bar.low - bar.high, bar.node))


def bar_table(bars: Sequence[Bar], states: Mapping[str, tuple[Hashable, ...]]) -> Any:
    """Bars by name, as a pandas table."""
    import pandas as pd

    names = list(states)
    rows = [
        (names[b.node], b.low, b.high, states[names[b.node]][b.low_state], states[names[b.node]][b.high_state])
        for b in bars
    ]
    return pd.DataFrame(rows, columns=["node", "low", "high", "low_state", "high_state"])


def conflict(tree: JunctionTree) -> float:
    """conf(e) = log Π_F P(F) / P(e) (Jensen): positive when the findings fit each other worse than by chance.

    >>> from posteriori.network.numbers import Numbers
    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> tree = JunctionTree(rain)
    >>> tree.set_evidence({0: [0, 1], 1: [1, 0]})
    >>> conflict(tree) > 0
    True
    """
    evidence, log_joint = tree.evidence, tree.log_probability()
    if log_joint == -np.inf:
        tree.marginals()  # raises, naming the findings that contradict
    with tree.asked({}):
        alone = [float(vector @ p) for p, vector in ((tree.marginals()[v], x) for v, x in evidence.items())]
    return float(np.log(alone).sum() - log_joint)


def arc_strength(tree: JunctionTree) -> dict[tuple[int, int], float]:
    """I(X; V | other parents of V, e) for every arc X → V: what the arc still tells, given the evidence.

    >>> from posteriori.network.numbers import Numbers
    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> round(arc_strength(JunctionTree(rain))[0, 1], 4)
    0.1447
    """
    strength: dict[tuple[int, int], float] = {}
    sizes = tree.model.sizes
    for v, parents in enumerate(tree.model.parents):
        if not parents:
            continue
        family = tree.joint((*parents, v))
        for axis, p in enumerate(parents):
            # axes: parents before p, p, parents after p, v
            before = int(np.prod([sizes[u] for u in parents[:axis]]))
            table = family.reshape(before, sizes[p], -1, sizes[v])
            without_p, without_v = table.sum(axis=1, keepdims=True), table.sum(axis=3, keepdims=True)
            neither = without_p.sum(axis=3, keepdims=True)
            at = table > 0
            ratio = (table * neither)[at] / (without_p * without_v)[at]
            strength[p, v] = max(float(np.sum(table[at] * np.log(ratio))), 0.0)
    return strength


def _by_target(tree: JunctionTree, target: int) -> tuple[Marginals, list[tuple[float, Marginals]]]:
    """The marginals given e, and for each possible state t of the target (P(t|e), the marginals given t and e)."""
    prior, evidence = tree.marginals(), tree.evidence
    given = []
    for t in _possible_states(prior[target]):
        with tree.asked({**evidence, target: one_hot(len(prior[target]), t)}):
            given.append((float(prior[target][t]), tree.marginals()))
    return prior, given


def _possible_states(p: Floats) -> Sequence[int]:
    states: list[int] = np.flatnonzero(p > 0).tolist()
    return states


def _replaced(tree: JunctionTree, finding: int, target: int, state: int) -> dict[int, float]:
    """P(T = state | e without the finding, finding's node = x) for every possible x."""
    rest = {v: x for v, x in tree.evidence.items() if v != finding}
    size = tree.model.sizes[finding]
    values = {}
    with tree.asked(rest):
        open_states = _possible_states(tree.marginals()[finding])
    for x in open_states:
        with tree.asked({**rest, finding: one_hot(size, x)}):
            values[x] = float(tree.marginals()[target][state])
    return values


def _divergence(p: Floats, q: Floats) -> float:
    """KL(p ‖ q) where q > 0 wherever p is."""
    at = p > 0
    return float(np.sum(p[at] * np.log(p[at] / q[at])))
