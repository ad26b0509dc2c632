"""Drawing cases forward, and likelihood weighting.

Symbols: x a case, w its weight. Nodes are drawn parents first from θ_v(· | x_pa(v)); a node with a hard finding is held
there and the case is worth θ_v(e_v | x_pa(v)) instead; a soft finding tilts the draw to θ·λ, worth Σ θ·λ. Then

    P(x_v = k | e) ≈ Σ_i w_i [x_v^i = k] / Σ_i w_i        P(e) ≈ mean w
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .. import kernels
from ..arrays import Codes, Floats
from ..errors import BadValue, ImpossibleEvidence
from ..kernels import network as kernel
from .numbers import Likelihoods, Numbers, hard_states, log_scale, scaled, vectors_of
from .sampling import RandomState, Sampled, half_width, seeds, unseen


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
    x, log_weight = _draw(model, scaled(vectors), n, random_state, n_jobs)
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

    The error is t·√(Σ w²([x=k] − p)²) / Σ w, the ESS (Σ w)² / Σ w². Refused when no case met the evidence: it is
    impossible, or too rare for so many draws.

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> answer = likelihood_weighting(rain, {1: [0, 1]}, random_state=0)
    >>> bool(abs(answer.marginals[0][1] - 0.63636) < answer.error[0][1])
    True
    """
    if draws < 2:
        raise BadValue(f"draws={draws}: expected at least 2")
    vectors = vectors_of(likelihoods)
    x, log_weight = _draw(model, scaled(vectors), draws, random_state, n_jobs)
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
    marginals, error = [], []
    for v, size in enumerate(model.sizes):
        p = np.bincount(x[:, v], w, size) / w_sum
        # Σ w²([x=k] − p)² = (1 − 2p) Σ_{x=k} w² + p² Σ w²
        squares = np.bincount(x[:, v], w**2, size) * (1 - 2 * p) + p**2 * float((w**2).sum())
        width = half_width(np.sqrt(np.maximum(squares, 0.0)) / w_sum, ess, free)
        marginals.append(p)
        error.append(np.zeros(size) if v in hard else np.minimum(np.maximum(width, unseen(ess, free)), 1.0))
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
) -> tuple[Codes, Floats]:
    if n < 0:
        raise BadValue(f"{n} cases asked for: expected at least 0")
    fixed, soft = np.full(len(model), -1, np.int32), np.full(len(model), -1, np.int64)
    values: list[Floats] = [np.empty(0)]
    for v, state in hard_states(vectors).items():
        fixed[v] = state
    for v, likelihood in vectors.items():
        soft[v] = sum(map(len, values))
        values.append(likelihood)
    return kernel.draw_forward(
        model.order,
        model.sizes,
        model.parents,
        model.tables,
        (fixed, soft, np.concatenate(values)),
        seeds(random_state, -(-n // kernel.FORWARD_CHUNK)),
        n,
        kernels.n_threads(n_jobs, n * len(model) * 20),
    )
