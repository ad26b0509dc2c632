"""What a network can say about its own evidence: which question to ask next, what the answer hangs on, what conflicts.

Symbols: T the target with states y, X another node, e the evidence, F one finding of it. Information is in nats.

And how well any classifier of T can do: with x the states of the observed nodes O, a an action and λ[a, y] the loss,

    R* = Σ_x min_a Σ_y λ[a, y] P(x, y)

Only observed nodes that T is not separated from by the others matter: with all nodes observed, its Markov blanket.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from ..budget import refuse_over
from ..errors import BadValue, LossError, MemoryBudgetError, listed
from .elimination import case_posteriors, eliminate, requisite
from .junction import JunctionTree, Marginals
from .numbers import Numbers, hard_states, one_hot
from .sampling import RandomState, at_least, forward_sample


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


def exact_risk(
    model: Numbers, target: int, loss: ArrayLike, observed: Sequence[int] | None = None, max_memory: float | None = None
) -> float:
    """Σ_x min_a Σ_y λ[a, y] P(x, y) by enumerating the observed nodes that matter (all but the target where not given).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> round(exact_risk(rain, 0, 1 - np.eye(2)), 4)  # rain is the likelier only with state 1: 0.06 + 0.08
    0.14
    """
    matrix = _checked(model, target, loss)
    _, seen = _requisite(model, target, observed)
    if observed is not None and target in observed:  # it is seen: what is lost is what the right action costs
        return float(eliminate(model, [target], {}, max_memory)[0] @ matrix.min(axis=0))
    refuse_over(
        max_memory,
        16.0 * model.sizes[target] * math.prod(float(model.sizes[v]) for v in seen),
        f"exact risk by enumerating {len(seen)} nodes ({model.called(seen)})",
        "estimate it from sampled cases (sampled_bayes_risk), observe fewer nodes",
    )
    joint, _ = eliminate(model, [*seen, target], {}, max_memory)
    return float((joint.reshape(-1, model.sizes[target]) @ matrix.T).min(axis=1).sum())


def sampled_risk(
    model: Numbers,
    target: int,
    loss: ArrayLike,
    observed: Sequence[int] | None = None,
    draws: int = 10_000,
    random_state: RandomState = None,
    max_memory: float | None = None,
) -> tuple[float, float]:
    """(mean of min_a Σ_y λ[a, y] P(y | x) over sampled cases x, its standard error).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> risk, error = sampled_risk(rain, 0, 1 - np.eye(2), random_state=0)
    >>> bool(abs(risk - 0.14) < 4 * error)
    True
    """
    matrix = _checked(model, target, loss)
    draws = at_least("draws", draws, 2)
    needed, seen = _requisite(model, target, observed)
    shown = observed is not None and target in observed
    drawn = forward_sample(model, draws, random_state)[:, [target] if shown else seen]
    cases, times = np.unique(drawn, axis=0, return_counts=True)
    if shown:
        return _mean_and_error(matrix.min(axis=0)[cases[:, 0]], times)
    part, place = _part(model, needed, seen)
    known = np.full((len(cases), len(part)), -1, np.int32)
    known[:, [place[v] for v in seen]] = cases
    try:
        posterior = JunctionTree(part, max_memory).batch(known, [place[target]])[0]
    except MemoryBudgetError:
        posterior = case_posteriors(part, known, place[target], max_memory)
    return _mean_and_error((posterior @ matrix.T).min(axis=1), times)


def _mean_and_error(values: Floats, times: Ints) -> tuple[float, float]:
    """The mean of values that came so many times, and its standard error."""
    n = int(times.sum())
    mean = float(values @ times / n)
    return mean, math.sqrt(float((values - mean) ** 2 @ times) / (n - 1) / n)


def _part(model: Numbers, needed: Sequence[int], seen: Sequence[int]) -> tuple[Numbers, dict[int, int]]:
    """The network of some tables alone, and where its nodes stand; what is seen but has no table here is a root."""
    nodes = sorted({*needed, *seen})
    place, kept = {v: i for i, v in enumerate(nodes)}, set(needed)
    parents = [tuple(place[p] for p in model.parents[v]) if v in kept else () for v in nodes]
    tables = [model.tables[v] if v in kept else np.full(model.sizes[v], 1 / model.sizes[v]) for v in nodes]
    names = tuple(model.names[v] for v in nodes) if model.names else ()
    return Numbers(tuple(model.sizes[v] for v in nodes), tuple(parents), tuple(tables), names), place


def _requisite(model: Numbers, target: int, observed: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The nodes whose tables P(T | O) needs, and the observed ones (all but the target where not given) it depends on."""
    known = set(range(len(model))) - {target} if observed is None else set(observed) - {target}
    wrong = [v for v in known if not 0 <= v < len(model)]
    if wrong:
        raise BadValue(f"no nodes {listed(wrong)}: the network has nodes 0 … {len(model) - 1}")
    return requisite(model, [target], {v: np.empty(0) for v in known})


def _checked(model: Numbers, target: int, loss: ArrayLike) -> Floats:
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != model.sizes[target]:
        raise LossError(
            f"the loss has shape {matrix.shape}; expected (actions, {model.sizes[target]}), a column a state"
        )
    if not np.isfinite(matrix).all():
        raise LossError("the loss holds a value that is not finite")
    return matrix
