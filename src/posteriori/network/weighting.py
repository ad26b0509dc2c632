"""Drawing cases forward, and weighted cases, drawn with the evidence in mind.

Symbols: x a case, q what it is drawn from, w = P(x, e) / q(x) its weight. With nothing known, nodes are drawn parents first
from θ_v(· | x_pa(v)), and no weight is needed; with findings, from what `proposal` makes of them, or forward too. Then

    P(x_v = k | e) ≈ Σ_i w_i [x_v^i = k] / Σ_i w_i        P(e) ≈ mean w

`proposal`: variable elimination would give q(x) = P(x | e), and every weight would be P(e). Where a table of it would be
too large, the terms that meet at a node are split into mini-buckets: of one the node is summed out, of the others its
maximum is taken, so that what is passed on is never too small. The last node left is drawn first, each by the terms that
met at it; the product of what was passed on bounds P(e) and every weight: W ≥ w(x). Where forward sampling has the lower
bound, it is taken instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import kernels
from ..arrays import Codes, Floats
from ..errors import ImpossibleEvidence, MemoryBudgetError, Unreliable
from ..kernels import network as kernel
from ..structure.separation import closure
from .elimination import Term, combine, elimination_order, evidence_terms
from .numbers import Likelihoods, Numbers, fixed_states, hard_states, log_scale, scaled, vectors_of
from .sampling import RandomState, Sampled, at_least, half_width, seeds, unseen


def forward_sample(model: Numbers, n: int, random_state: RandomState = None, n_jobs: int | None = None) -> Codes:
    """n independent cases of P(x), codes (n, d).

    >>> coin = Numbers.of([2], [()], [[0.25, 0.75]])
    >>> float(forward_sample(coin, 10_000, random_state=0).mean().round(2))
    0.75
    """
    return _draw(model, {}, n, random_state, n_jobs)[0]


def weighted_sample(
    model: Numbers,
    likelihoods: Likelihoods,
    n: int,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[Codes, Floats]:
    """n cases drawn with the findings held, and the log weight of each (−inf where a case contradicts them)."""
    vectors = vectors_of(likelihoods)
    x, log_weight, _ = _draw(model, scaled(vectors), n, random_state, n_jobs)
    return x, log_weight + log_scale(vectors)


def likelihood_weighting(
    model: Numbers,
    likelihoods: Likelihoods,
    *,
    draws: int = 20_000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Sampled:
    """Marginals given the evidence from weighted cases, with error and effective sample size.

    The error is Wilson's of SE = √(Σ w²([x=k] − p)²) / Σ w (`half_width`), and never less than what may lie where nothing
    was drawn; the ESS is (Σ w)² / Σ w². Refused when no case met the evidence, which is impossible or too rare for so many
    draws, and when cases that were not drawn could outweigh those that were (`Unreliable`).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> answer = likelihood_weighting(rain, {1: [0, 1]}, random_state=0)
    >>> bool(abs(answer.marginals[0][1] - 0.63636) < answer.error[0][1])
    True
    """
    draws = at_least("draws", draws, 2)
    vectors = vectors_of(likelihoods)
    x, log_weight, log_bound = _draw(model, scaled(vectors), draws, random_state, n_jobs)
    top = float(log_weight.max())
    if top == -np.inf:
        raise ImpossibleEvidence(
            f"none of {draws} cases met the findings on nodes {model.called(vectors)}: the evidence is impossible, or "
            f"too rare to be met by chance; ask exactly, or with more draws",
            vectors,
        )
    w = np.exp(log_weight - top)
    w_sum = float(w.sum())
    ess = w_sum**2 / float((w**2).sum())
    hard = hard_states(vectors)
    free = sum(s - 1 for v, s in enumerate(model.sizes) if v not in hard)
    hidden = unseen_share(w_sum * math.exp(top - log_bound), free, draws)
    marginals, error = [], []
    for v, size in enumerate(model.sizes):
        p = np.bincount(x[:, v], w, size) / w_sum
        # Σ w²([x=k] − p)² = (1 − 2p) Σ_{x=k} w² + p² Σ w²
        squares = np.bincount(x[:, v], w**2, size) * (1 - 2 * p) + p**2 * float((w**2).sum())
        width = half_width(p, np.sqrt(np.maximum(squares, 0.0)) / w_sum, ess, free)
        marginals.append(p)
        error.append(np.zeros(size) if v in hard else np.minimum(np.maximum(width, hidden), 1.0))
    log_probability = top + float(np.log(w_sum / draws)) + log_scale(vectors)
    log_error = float(w.std(ddof=1) / np.sqrt(draws) / (w_sum / draws))
    return Sampled(
        marginals,
        error,
        [np.full(s, ess) for s in model.sizes],
        draws,
        log_probability=log_probability,
        log_error=log_error,
    )


def _draw(
    model: Numbers, vectors: Mapping[int, Floats], n: int, random_state: RandomState, n_jobs: int | None
) -> tuple[Codes, Floats, float]:
    """Cases, their log weights, and the log of the largest weight that a case can have."""
    n = at_least("n", n, 0)
    made = proposal(model, vectors)
    fixed = fixed_states(model, vectors)
    if made.log_bound == -math.inf:
        return np.tile(fixed, (n, 1)), np.full(n, -np.inf), -math.inf
    stream = seeds(random_state, -(-n // kernel.CHUNK))
    threads = kernels.n_threads(n_jobs, n * len(model) * 20)
    x, log_weight = kernel.draw_cases(
        model.sizes, fixed, made.nodes, made.counted, made.terms if vectors else [], stream, n, threads
    )
    return x, log_weight, made.log_bound


MOST_CELLS = 1 << 18  # of a mini-bucket
ALL_CELLS = 1 << 22  # of all of them
LARGEST = 1 << 32  # cells of a plan beyond which no order is looked for
LEAST_LOG = -690.0  # of a cell that is not zero: raised to this, a bound stays a bound
MOST_UNSEEN = 0.5  # of the posterior; more makes an answer worthless
MOST_DRAWS = 1e10  # that are worth naming


@dataclass(frozen=True, eq=False)
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
    """The terms in as few tables as go: the largest first, each in the first where it fits."""
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
        each = max(fresh, 1e-300) / draws
        enough = unseen(1.0, estimates) / (0.1 * each)  # draws that leave a tenth
        way = f", or with {enough:.1g} draws or more" if enough < MOST_DRAWS else ": no number of draws would do"
        raise Unreliable(
            f"the largest weight that a case can have is {1 / each:.3g} times the mean of {draws} draws: "
            f"what was not drawn could turn the answer over; ask exactly{way}"
        )
    return share
