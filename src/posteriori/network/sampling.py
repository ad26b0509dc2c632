"""Drawing cases forward, and weighted cases, drawn with the evidence in mind.

Symbols: x a case, q what it is drawn from, w = P(x, e) / q(x) its weight. With nothing known, nodes are drawn parents first
from θ_v(· | x_pa(v)), and no weight is needed; with findings, from what `proposal` makes of them, or forward too. Then

    P(x_v = k | e) ≈ Σ_i w_i [x_v^i = k] / Σ_i w_i        P(e) ≈ mean w

`proposal`: variable elimination would give q(x) = P(x | e), and every weight would be P(e). Where a table of it would be
too large, the terms that meet at a node are split into mini-buckets: of one the node is summed out, of the others its
maximum is taken, so that what is passed on is never too small. The last node left is drawn first, each by the terms that
met at it; the product of what was passed on bounds P(e) and every weight: W ≥ w(x). Where forward sampling has the lower
bound, it is taken instead.

Seeds do not depend on threads, and averages know their error.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from .. import kernels, views
from ..arrays import Codes, Floats, is_whole
from ..errors import BadValue, ImpossibleEvidence, MemoryBudgetError, Unreliable
from ..estimator import generator
from ..structure.separation import closure
from .elimination import Term, combine, elimination_order, evidence_terms
from .findings import case_table
from .numbers import Likelihoods, Numbers, fixed_states, hard_states, log_scale, scaled, vectors_of

RandomState = int | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None
CONFIDENCE = 0.99
ByState = dict[str, dict[Hashable, float]]


def seeds(random_state: RandomState, n: int) -> NDArray[np.uint64]:
    """n seeds for n streams; an int gives the same ones every time.

    >>> bool((seeds(7, 3) == seeds(7, 3)).all())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(0, 2**64, n, dtype=np.uint64)
    if isinstance(random_state, np.random.RandomState):
        return np.frombuffer(random_state.bytes(8 * n), np.uint64)
    sequence: Any = generator(random_state).bit_generator.seed_seq
    return np.asarray(sequence.generate_state(n, np.uint64), np.uint64)


@dataclass(frozen=True, eq=False)
class Sampled:
    """Marginals by sampling. `error` bounds |estimate − truth| of all of them at once with 99% confidence, as far as the
    sample can tell; `ess` is the number of independent draws that would know as much.

    Gibbs chains add R̂, the spread between chains against the spread inside them (1 when they agree), the blocks they drew
    and where they ended; weighted cases add an estimate of log P(e) and its standard error.
    """

    marginals: list[Floats]
    error: list[Floats]
    ess: list[Floats]
    draws: int
    r_hat: list[Floats] | None = None
    blocks: tuple[tuple[int, ...], ...] = ()
    states: Codes | None = None
    log_probability: float | None = None
    log_error: float | None = None
    chain: Codes | None = None

    @property
    def worst_error(self) -> float:
        """The largest stated error."""
        return max((float(e.max()) for e in self.error), default=0.0)

    @property
    def worst_r_hat(self) -> float:
        """The largest R̂; 1 where there are no chains."""
        return max((float(r.max()) for r in self.r_hat or ()), default=1.0)

    def named(self, states: Mapping[str, tuple[Hashable, ...]]) -> Estimate:
        """The same by node and state."""
        nodes = tuple(states)

        def told(values: list[Floats]) -> ByState:
            return {n: dict(zip(states[n], v.tolist(), strict=True)) for n, v in zip(nodes, values, strict=True)}

        return Estimate(
            told(self.marginals),
            told(self.error),
            told(self.ess),
            self.draws,
            None if self.r_hat is None else told(self.r_hat),
            tuple(tuple(nodes[v] for v in block) for block in self.blocks),
            self.log_probability,
            None if self.chain is None else self._table(states),
        )

    def _table(self, states: Mapping[str, tuple[Hashable, ...]]) -> Any:
        import pandas as pd

        assert self.chain is not None
        found = case_table(self.chain.reshape(-1, self.chain.shape[2]), states)
        chain, sweep = (range(k) for k in self.chain.shape[:2])
        return found.set_index(pd.MultiIndex.from_product([chain, sweep], names=["chain", "sweep"]))


@dataclass(frozen=True)
class Estimate:
    """P(x_i | e) of every node by sampling: {node: {state: …}}.

    `error` bounds |estimate − truth| of all of them at once with 99% confidence, as far as the sample can tell; `ess` is
    the number of independent draws that would know as much. Gibbs tells `r_hat`, the spread between chains against the
    spread inside them (1 when they agree), `blocks`, the nodes it drew together, and, where it was told to keep them, the
    states after each sweep (`chain`, a pandas table by chain and sweep); likelihood weighting tells `log_probability`, an
    estimate of ln P(e).
    """

    marginals: ByState
    error: ByState
    ess: ByState
    draws: int
    r_hat: ByState | None = None
    blocks: tuple[tuple[str, ...], ...] = ()
    log_probability: float | None = None
    chain: Any = None

    @property
    def worst_error(self) -> float:
        """The largest stated error."""
        return max(e for row in self.error.values() for e in row.values())

    @property
    def worst_r_hat(self) -> float:
        """The largest R̂; 1 where there are no chains."""
        return max((r for row in (self.r_hat or {}).values() for r in row.values()), default=1.0)

    def to_frame(self) -> Any:
        """A pandas table with a row for each node and state."""
        import pandas as pd

        parts = {"p": self.marginals, "error": self.error, "ess": self.ess}
        if self.r_hat is not None:
            parts["r_hat"] = self.r_hat
        rows = [(node, state) for node, row in self.marginals.items() for state in row]
        columns = {name: [table[node][state] for node, state in rows] for name, table in parts.items()}
        return pd.DataFrame({"node": [r[0] for r in rows], "state": [r[1] for r in rows], **columns})

    def _repr_html_(self) -> str:
        return views.html("a frame", self)


def at_least(name: str, value: Any, least: int) -> int:
    """A whole number that is not too small; anything else is refused by name.

    >>> at_least("draws", np.int64(7), 2)
    7
    """
    if not is_whole(value, least):
        raise BadValue(f"{name}={value!r}: expected a whole number of at least {least}")
    return int(value)


def half_width(mean: Floats, standard_error: Floats, degrees: float, estimates: int) -> Floats:
    """t·SE, and at least the longer arm of Wilson's interval, for `estimates` shares that hold together with 99%.

    Wilson holds a truth q where |p − q| ≤ t·√(q(1 − q)/n), n = p(1 − p)/SE² the draws that p is worth: no wider than t·SE
    where many draws showed the state, wider where few did, of which the SE knows too little. All hold: Bonferroni.

    >>> half_width(np.array([0.5, 1e-3]), np.array([0.005, 1e-3 / 3]), 1e6, 1).round(4).tolist()
    [0.0129, 0.0013]
    """
    t = -stdtrit(degrees, (1 - CONFIDENCE) / (2 * max(estimates, 1)))
    both = mean * (1 - mean)
    worth = t**2 * np.divide(standard_error**2, both, out=np.zeros_like(both), where=both > 0)  # t²/n
    arm = (worth * np.abs(0.5 - mean) + t * np.hypot(standard_error, worth / (2 * t))) / (1 + worth)
    width: Floats = np.maximum(arm, t * standard_error)
    return width


def effective(mean: Floats, standard_error: Floats, draws: int) -> Floats:
    """p(1−p)/SE²: how many independent draws would have this error; at most the draws there were.

    >>> effective(np.array([0.5, 1.0]), np.array([0.05, 0.0]), 1000).round().tolist()
    [100.0, 1000.0]
    """
    certain = standard_error < 1e-12
    return np.minimum(np.where(certain, draws, mean * (1 - mean) / np.where(certain, 1.0, standard_error) ** 2), draws)


def unseen(draws: float, estimates: int) -> float:
    """The least p that `draws` independent draws would have shown at least once: e^{−p·draws} = the error allowed.

    >>> round(unseen(1000, 1), 4)
    0.0046
    """
    return float(np.log(max(estimates, 1) / (1 - CONFIDENCE)) / max(draws, 1.0))


def batch_error(means: Floats) -> tuple[Floats, Floats, Floats]:
    """(mean, standard error, R̂) of an average from its batch means (chains, batches, k).

    The variance of the mean is (γ_0 + 2 Σ_t γ_t) / (chains·batches), γ_t the autocovariance of batch means around the mean
    of all chains, summed while γ_t + γ_{t+1} stays positive (Geyer). Chains that disagree make γ_t stay large.
    """
    chains, batches, k = means.shape
    mean = means.mean(axis=(0, 1))
    gap = means - mean
    gamma = np.stack([(gap[:, : batches - t] * gap[:, t:]).sum(axis=(0, 1)) for t in range(batches // 2)])
    gamma /= chains * batches
    pairs = gamma[1 : 1 + (len(gamma) - 1) // 2 * 2].reshape(-1, 2, k).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    variance = gamma[0] + 2 * np.where(positive, pairs, 0.0).sum(axis=0)
    variance *= chains * batches / (chains * batches - 1)
    within = means.var(axis=1, ddof=1).mean(axis=0)
    between = means.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else np.zeros(k)
    tiny = np.finfo(float).tiny
    r_hat = np.sqrt((batches - 1) / batches + between / np.maximum(within, tiny))
    r_hat = np.where(between + within < 1e-30, 1.0, r_hat)
    return mean, np.sqrt(variance / (chains * batches)), r_hat


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
    stream = seeds(random_state, -(-n // kernels.CHUNK))
    threads = kernels.n_threads(n_jobs, n * len(model) * 20)
    x, log_weight = kernels.draw_cases(
        model.sizes, fixed.tolist(), made.nodes, made.counted, made.terms if vectors else [], stream, n, threads
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
