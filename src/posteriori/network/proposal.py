"""Cases drawn with the evidence in mind, and the largest weight that one can have: mini-buckets.

Symbols: e the findings, q(x) what cases are drawn from, w(x) = P(x, e) / q(x) the weight of a case, W ≥ w(x) for every x.

Variable elimination would give q(x) = P(x | e), and every weight would be P(e). Where a table of it would be too large, the
terms that meet at a node are split into mini-buckets: of one the node is summed out, of the others its maximum is taken, so
that what is passed on is never too small. The last node left is drawn first, each by the terms that met at it; the product
of what was passed on bounds P(e) and every weight. Where forward sampling has the lower bound, it is taken instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..errors import MemoryBudgetError, Unreliable
from ..structure.separation import closure
from .elimination import Term, combine, elimination_order, evidence_terms
from .numbers import Numbers, hard_states
from .sampling import unseen

MOST_CELLS = 1 << 18  # of a mini-bucket
ALL_CELLS = 1 << 22  # of all of them
LARGEST = 1 << 32  # cells of a plan beyond which no order is looked for
LEAST_LOG = -690.0  # of a cell that is not zero: raised to this, a bound stays a bound
MOST_UNSEEN = 0.5  # of the posterior; more makes an answer worthless


@dataclass(frozen=True)
class Proposal:
    """Nodes in the order they are drawn, each with its terms; the first `counted` make q, the others are barren."""

    nodes: list[tuple[int, list[tuple[tuple[int, ...], Floats]]]]
    counted: int
    log_bound: float
    terms: list[tuple[tuple[int, ...], Floats]]


def proposal(model: Numbers, vectors: Mapping[int, Floats]) -> Proposal:
    """What to draw cases from, given likelihood vectors whose largest cell is 1; a bound of −inf says P(e) = 0.

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> round(math.exp(proposal(rain, {1: np.array([0.0, 1.0])}).log_bound), 4)  # a tree: every weight is P(e)
    0.22
    """
    needed = closure(model.parents, vectors)
    terms = evidence_terms(model, sorted(needed), vectors)
    best = _mini_buckets(model, terms, min(MOST_CELLS, ALL_CELLS // len(model)))
    forward = _forward(model, vectors, needed)
    nodes, log_bound = forward if forward[1] < best[1] else best
    barren = [(v, [Term((*model.parents[v], v), model.tables[v])]) for v in model.order if v not in needed]
    drawn = [(v, [(t.scope, t.table) for t in found]) for v, found in [*nodes, *barren]]
    return Proposal(drawn, len(nodes), log_bound, [(t.scope, t.table) for t in terms])


def _mini_buckets(model: Numbers, terms: list[Term], most_cells: int) -> tuple[list[tuple[int, list[Term]]], float]:
    try:
        order = elimination_order(model, [t.scope for t in terms], set(), 8.0 * LARGEST)
    except MemoryBudgetError:  # no order is good: any will do
        held = {v for t in terms for v in t.scope}
        order = [v for v in reversed(model.order) if v in held]
    turn = {v: i for i, v in enumerate(order)}
    buckets: list[list[Term]] = [[] for _ in range(len(order) + 1)]

    def put(term: Term) -> None:
        buckets[min((turn[u] for u in term.scope), default=-1)].append(term)

    for term in terms:
        put(term)
    log_bound = 0.0
    for i, v in enumerate(order):
        for k, (scope, part) in enumerate(_split(model, buckets[i], most_cells)):
            term, size = combine(model, part, sorted(scope - {v}), maximise=k > 0)
            log_bound += size
            put(_as_numbers(term))
    with np.errstate(divide="ignore"):
        log_bound += sum(float(np.log(t.table[0])) for t in buckets[-1])
    return [(v, buckets[turn[v]]) for v in reversed(order)], log_bound


def _split(model: Numbers, terms: list[Term], most_cells: int) -> list[tuple[set[int], list[Term]]]:
    """The terms in as few tables as go: the largest first, each where it adds least."""
    parts: list[tuple[set[int], list[Term]]] = []
    for term in sorted(terms, key=lambda t: -len(t.table)):
        for scope, part in parts:
            if math.prod(model.sizes[u] for u in scope.union(term.scope)) <= most_cells:
                scope.update(term.scope)
                part.append(term)
                break
        else:
            parts.append((set(term.scope), [term]))
    return parts


def _as_numbers(term: Term) -> Term:
    if not term.in_logs:
        return term
    return Term(term.scope, np.where(term.table > -np.inf, np.exp(np.maximum(term.table, LEAST_LOG)), 0.0))


def _forward(
    model: Numbers, vectors: Mapping[int, Floats], needed: set[int]
) -> tuple[list[tuple[int, list[Term]]], float]:
    """Parents first, each from its own table, tilted by a soft finding; W = Π of the likeliest each finding can be."""
    hard = hard_states(vectors)
    nodes: list[tuple[int, list[Term]]] = []
    log_bound = 0.0
    for v in model.order:
        if v not in needed:
            continue
        if v in vectors:
            top = float((model.tables[v].reshape(-1, model.sizes[v]) @ vectors[v]).max())
            log_bound += math.log(top) if top > 0 else -math.inf
        if v not in hard:
            own = Term((*model.parents[v], v), model.tables[v])
            nodes.append((v, [own, Term((v,), vectors[v])] if v in vectors else [own]))
    return nodes, log_bound


def unseen_share(fresh: float, estimates: int, draws: int) -> float:
    """How much of P(x | e) may lie where nothing was drawn, with 99% confidence; refused where that is most of it.

    `fresh` is Σ w/W over the draws: what a set of cases has of P(x | e) it has at least P(e)/W times of q, so so many
    independent draws of P(x | e) would have missed it as easily.
    """
    share = unseen(fresh, estimates)
    if share > MOST_UNSEEN:
        raise Unreliable(
            f"the largest weight that a case can have is {draws / max(fresh, 1e-300):.3g} times the mean of {draws} draws: "
            f"what was not drawn could turn the answer over; ask exactly, or with {draws * share / 0.1:.1g} draws or more"
        )
    return share
