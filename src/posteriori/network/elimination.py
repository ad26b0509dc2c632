"""Variable elimination: one question, answered on the part of the network that it needs.

Symbols: Q the targets, e the findings. P(Q, e) = Σ_{others} Π_v θ_v Π λ; the sum over v moves in to the terms with v.
A node without findings or targets below it is barren: its table sums to one and is left out. Hard findings cut their axes
out of the terms; what then hangs on no target is a number, its share of P(e). Which table each step makes is planned
first, on the scopes alone, so that too much memory is refused before any work.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .. import kernels
from ..arrays import Codes, Floats
from ..budget import memory_budget, refuse_over
from ..errors import BadValue, ImpossibleEvidence, MemoryBudgetError, answered
from ..structure.separation import closure
from .numbers import Likelihoods, Numbers, hard_states, impossible, log_scale, one_hot, scaled, vectors_of


class Term(NamedTuple):
    """One factor of the product: its nodes, and the flat table over them, or its logarithms."""

    scope: tuple[int, ...]
    table: Floats
    in_logs: bool = False


def relevant(model: Numbers, nodes: Iterable[int]) -> list[int]:
    """The nodes and their ancestors, ascending: all that is not barren for them.

    >>> relevant(Numbers.of([2, 2, 2], [(), (0,), (0,)], [[1, 1], [1, 1] * 2, [1, 1] * 2]), [1])
    [0, 1]
    """
    return sorted(closure(model.parents, nodes))


def evidence_terms(model: Numbers, nodes: Iterable[int], vectors: Mapping[int, Floats]) -> list[Term]:
    """The tables of the nodes and their soft findings; axes with a hard finding are cut out."""
    state = hard_states(vectors)
    terms = []
    for v in nodes:
        scope = (*model.parents[v], v)
        terms.append(at(model, Term(scope, model.tables[v]), {u: state[u] for u in scope if u in state}))
        if v in state:
            terms.append(Term((), vectors[v][state[v] : state[v] + 1]))
        elif v in vectors:
            terms.append(Term((v,), vectors[v]))
    return terms


def at(model: Numbers, term: Term, state: Mapping[int, int]) -> Term:
    """The term with the nodes that have a state held at it."""
    scope, table, in_logs = term
    for axis in range(len(scope) - 1, -1, -1):
        u = scope[axis]
        if u in state:
            inner = math.prod(model.sizes[w] for w in scope[axis + 1 :])
            table = table.reshape(-1, model.sizes[u], inner)[:, state[u]].ravel()
            scope = scope[:axis] + scope[axis + 1 :]
    return Term(scope, table, in_logs)


def eliminate(
    model: Numbers, targets: Sequence[int], likelihoods: Likelihoods, max_memory: float | None = None
) -> tuple[Floats, float]:
    """P(x_targets | e), flat, the axes in the order of `targets`, and log P(e).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> table, log_evidence = eliminate(rain, [0], {1: np.array([0.0, 1.0])})
    >>> table.round(4).tolist(), round(math.exp(log_evidence), 4)
    ([0.3636, 0.6364], 0.22)
    """
    vectors = vectors_of(likelihoods)
    found = _eliminated(model, targets, vectors, max_memory)
    if found is None:
        raise _refusal(model, vectors, max_memory)
    return found


def posterior(
    model: Numbers, targets: Sequence[int], likelihoods: Likelihoods, max_memory: float | None = None
) -> Floats:
    """P(x_targets | e), flat: where the whole evidence would need too much memory, from the part that the targets need.

    Whether findings in the other parts contradict each other is then not known.
    """
    try:
        return eliminate(model, targets, likelihoods, max_memory)[0]
    except MemoryBudgetError:
        vectors = vectors_of(likelihoods)
        needed, seen = requisite(model, targets, vectors)
        found = _eliminated(model, targets, {v: vectors[v] for v in seen}, max_memory, needed)
        if found is None:
            raise ImpossibleEvidence(
                f"the evidence has probability zero: findings on {model.called(seen)}", seen
            ) from None
        return found[0]


def case_posteriors(
    model: Numbers, cases: Codes, target: int, max_memory: float | None = None, impossible: str = "raise"
) -> Floats:
    """P(x_target | case) for each row of codes, −1 where missing: row by row, from the part of the network that it needs.

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> case_posteriors(rain, np.array([[-1, 1], [0, 1]], np.int32), 0).round(4).tolist()
    [[0.3636, 0.6364], [1.0, 0.0]]
    """
    out, never = np.zeros((len(cases), model.sizes[target])), np.zeros(len(cases), bool)
    known = cases >= 0
    patterns, which = np.unique(known, axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == i)
        if pattern[target]:
            out[rows, cases[rows, target]] = 1.0
            continue
        observed = {int(v): np.empty(0) for v in np.flatnonzero(pattern)}
        needed, seen = requisite(model, [target], observed)
        distinct, place = np.unique(cases[rows][:, seen], axis=0, return_inverse=True)
        tables = np.empty((len(distinct), model.sizes[target]))
        for j, codes in enumerate(distinct):
            vectors = {v: one_hot(model.sizes[v], code) for v, code in zip(seen, codes, strict=True)}
            found = _eliminated(model, [target], vectors, max_memory, needed)
            if found is None and impossible == "raise":
                row = int(rows[np.flatnonzero(place.ravel() == j)[0]])
                raise ImpossibleEvidence(f"case {row} has probability zero", seen, row)
            never[rows[place.ravel() == j]] = found is None
            tables[j] = eliminate(model, [target], {}, max_memory)[0] if found is None else found[0]
        out[rows] = tables[place.ravel()]
    answered(never, impossible)
    return out


def requisite(model: Numbers, targets: Sequence[int], vectors: Mapping[int, Floats]) -> tuple[list[int], list[int]]:
    """The nodes whose tables, and those whose findings, P(targets | e) depends on: where a ball from them comes (Shachter).

    An observed node sends the ball back to its other parents; a node with a soft finding passes it on all ways. A vector of
    no length stands for a state that is known, whichever it is.

    >>> chain = Numbers.of([2] * 4, [(), (0,), (1,), (2,)], [[1, 1], *[[1, 1] * 2] * 3])
    >>> requisite(chain, [1], {0: np.empty(0), 2: np.empty(0), 3: np.empty(0)})
    ([1, 2], [0, 2])
    """
    hard = {v for v, x in vectors.items() if np.count_nonzero(x) <= 1}
    stack = [(t, False) for t in targets]
    seen, needed, found = set(stack), set[int](), set[int]()
    while stack:
        v, from_parent = stack.pop()
        if v in vectors:
            found.add(v)
        steps = [] if v in hard else [(c, True) for c in model.children[v]]
        if (v in vectors) if from_parent else (v not in hard or v in targets):
            needed.add(v)
            steps += [(p, False) for p in model.parents[v]]
        for step in steps:
            if step not in seen:
                seen.add(step)
                stack.append(step)
    return sorted(needed), sorted(found)


def _eliminated(
    model: Numbers,
    targets: Sequence[int],
    vectors: Mapping[int, Floats],
    max_memory: float | None,
    needed: Sequence[int] | None = None,
) -> tuple[Floats, float] | None:
    """What `eliminate` returns, from the tables of some nodes where `needed` names them; None where P(e) = 0."""
    taken, vectors = log_scale(vectors), scaled(vectors)
    _refuse(model, targets, 16.0 * math.prod(float(model.sizes[t]) for t in targets), max_memory)
    hard = hard_states(vectors)
    nodes = relevant(model, [*targets, *vectors]) if needed is None else needed
    terms = evidence_terms(model, nodes, vectors)
    free = [t for t in targets if t not in hard]
    order = elimination_order(model, [t.scope for t in terms], set(free), max_memory, married=free)
    left, log_p, _ = _sum_out(model, terms, order, max_memory)
    (_, table, in_logs), size = combine(model, left, free, False)
    if log_p + size == -math.inf:
        return None
    if in_logs:
        np.exp(table, out=table)  # what is lost now is below the smallest number
    total = float(table.sum())
    table /= total
    for axis, t in enumerate(targets):  # a target with a hard finding gets its axis back
        if t in hard:
            inner = math.prod(model.sizes[u] for u in targets[axis + 1 :] if u not in hard)
            wide = np.zeros((table.size // inner, model.sizes[t], inner))
            wide[:, hard.pop(t)] = table.reshape(-1, inner)
            table = wide.ravel()
    return table, log_p + size + math.log(total) + taken


def log_evidence(model: Numbers, likelihoods: Likelihoods, max_memory: float | None = None) -> float:
    """log P(e), −inf for impossible evidence; which findings conflict is not looked for."""
    found = _eliminated(model, [], vectors_of(likelihoods), max_memory)
    return -math.inf if found is None else found[1]


def _refusal(model: Numbers, vectors: Mapping[int, Floats], max_memory: float | None) -> ImpossibleEvidence:
    def possible(rest: Mapping[int, Floats]) -> bool:
        try:
            return log_evidence(model, rest, max_memory) > -math.inf
        except MemoryBudgetError:  # too wide to tell without these findings: they stay in the set
            return True

    return impossible(vectors, possible)


def map_states(
    model: Numbers, nodes: Sequence[int], likelihoods: Likelihoods, max_memory: float | None = None
) -> tuple[list[int], float]:
    """argmax over x_nodes of P(x_nodes, e), the other nodes summed out, and the log of that maximum.

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> map_states(rain, [0], {1: np.array([0.0, 1.0])})[0]
    [1]
    """
    if len(set(nodes)) < len(nodes):
        raise BadValue(f"a node is asked for twice: {model.called(nodes)}")
    found = vectors_of(likelihoods)
    vectors = scaled(found)
    state = hard_states(vectors)
    free = [v for v in nodes if v not in state]
    terms = evidence_terms(model, relevant(model, [*nodes, *vectors]), vectors)
    order = elimination_order(model, [t.scope for t in terms], set(free), max_memory)
    left, log_value, _ = _sum_out(model, terms, order, max_memory)
    best = elimination_order(model, [t.scope for t in left], set(), max_memory)
    left, log_top, states = _sum_out(model, left, best, max_memory, maximise=True)
    constants = [float(t.table[0]) for t in left if not t.in_logs]  # many: their product would underflow
    if min(constants, default=1.0) <= 0 or log_value + log_top == -math.inf:
        raise _refusal(model, vectors, max_memory)
    state |= zip(best, states, strict=True)
    return [state[v] for v in nodes], log_value + log_top + sum(map(math.log, constants)) + log_scale(found)


def elimination_order(
    model: Numbers,
    scopes: Sequence[tuple[int, ...]],
    keep: set[int],
    max_memory: float | None,
    married: Sequence[int] = (),
) -> list[int]:
    """A good order to eliminate the nodes of the scopes in, those to keep left out; `married` nodes end in one table."""
    held = sorted({v for scope in scopes for v in scope})
    place = {v: i for i, v in enumerate(held)}
    near: list[set[int]] = [set() for _ in held]
    for scope in [*scopes, [m for m in married if m in place]]:
        axes = [place[v] for v in scope]
        for i in axes:
            near[i].update(axes)
    adjacency = [sorted(neighbours - {i}) for i, neighbours in enumerate(near)]
    budget = memory_budget(max_memory) / 8
    order, _, cells, largest = kernels.elimination_order(adjacency, [model.sizes[v] for v in held], budget)
    if len(order) < len(held):
        _refuse(model, [held[i] for i in largest], 8.0 * max(cells, 1.001 * budget), max_memory)
    return [held[i] for i in order if held[i] not in keep]


def _refuse(model: Numbers, nodes: Iterable[int], peak: float, max_memory: float | None) -> None:
    if peak > memory_budget(max_memory):
        what = f"a factor over nodes {model.called(nodes)}"
        refuse_over(
            max_memory, peak, what, "ask by sampling instead (likelihood weighting or Gibbs), give more evidence"
        )


def _sum_out(
    model: Numbers, terms: Sequence[Term], order: Sequence[int], max_memory: float | None, maximise: bool = False
) -> tuple[list[Term], float, list[int]]:
    """Sum (or maximise) the nodes of the order out of the product of the terms.

    The terms left, the log of what was scaled away (−inf: all is zero), and of a maximum the best states of the nodes. An
    order whose tables would not fit, at the step where most of them are alive, is refused before any is made.
    """
    scopes, tables, logs = zip(*terms, strict=True) if terms else ((), (), ())
    budget = memory_budget(max_memory) / 8
    scale, left, states, peak, widest = kernels.sum_out(model.sizes, scopes, tables, logs, order, budget, maximise)
    _refuse(model, widest, 8.0 * peak, max_memory)
    found = [Term(*term) for term in left] if scale > -math.inf else [Term((), np.zeros(1))]
    return found, scale, states


def combine(model: Numbers, terms: Sequence[Term], keep: Sequence[int], maximise: bool) -> tuple[Term, float]:
    """Σ (or max) of the product of the terms onto the nodes to keep, in their order, and the log of its scale."""
    others = sorted({v for t in terms for v in t.scope} - set(keep))
    axis = {v: i for i, v in enumerate([*keep, *others])}
    table, size, in_logs = kernels.combine_factors(
        [model.sizes[v] for v in axis],
        [[axis[v] for v in t.scope] for t in terms],
        [t.table for t in terms],
        [t.in_logs for t in terms],
        [True] * len(keep) + [False] * len(others),
        maximise,
    )
    return Term(tuple(keep), table, in_logs), size
