"""Drawing cases forward, and weighted cases.

Symbols: x a case, q what it is drawn from, w = P(x, e) / q(x) its weight. With nothing known, nodes are drawn parents first
from θ_v(· | x_pa(v)), and no weight is needed; with findings, from what `proposal` makes of them, or forward too. Then

    P(x_v = k | e) ≈ Σ_i w_i [x_v^i = k] / Σ_i w_i        P(e) ≈ mean w
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from .. import kernels
from ..arrays import Codes, Floats
from ..errors import ImpossibleEvidence
from ..kernels import network as kernel
from .numbers import Likelihoods, Numbers, fixed_states, hard_states, log_scale, scaled, vectors_of
from .proposal import proposal, unseen_share
from .sampling import RandomState, Sampled, at_least, half_width, seeds


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

    The error is t·√(Σ w²([x=k] − p)²) / Σ w, and never less than what may lie where nothing was drawn; the ESS is
    (Σ w)² / Σ w². Refused when no case met the evidence, which is impossible or too rare for so many draws, and when cases
    that were not drawn could outweigh those that were (`Unreliable`).

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
    hidden = unseen_share(w_sum * math.exp(min(top - log_bound, 0.0)), free, draws)
    marginals, error = [], []
    for v, size in enumerate(model.sizes):
        p = np.bincount(x[:, v], w, size) / w_sum
        # Σ w²([x=k] − p)² = (1 − 2p) Σ_{x=k} w² + p² Σ w²
        squares = np.bincount(x[:, v], w**2, size) * (1 - 2 * p) + p**2 * float((w**2).sum())
        width = half_width(np.sqrt(np.maximum(squares, 0.0)) / w_sum, ess, free)
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
