"""Gibbs sampling: a random walk in the sub-space that agrees with the evidence.

Symbols: x the state of all nodes, B a block of nodes drawn together, e the findings. One step redraws a block,

    x_B ~ P(x_B | x_rest, e) ∝ Π_{f touching B} θ_f,

one sweep all blocks; each step depends only on the last, and the walk converges to P(x | e). The estimate of P(x_v | e) is
the mean of P(x_v | x_rest, e) over the kept sweeps, which varies less than the mean of the states. Zeros in the tables
could trap the walk: blocks are made as large as it takes (`ergodic_blocks`), or the question is refused with NotErgodic.
Tables that are nearly 0/1 make it slow: every tenth sweep a leap to a case of `proposal` is tried, by the rule of
Metropolis, which leaves P(x | e) as it is. What the leaps are worth also tells how much of P(x | e) no chain may have seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from .. import kernels
from ..arrays import Codes, Floats, Ints
from ..errors import ImpossibleEvidence
from ..kernels import network as kernel
from .blocks import Block, ergodic_blocks
from .numbers import Likelihoods, Numbers, fixed_states, scaled, vectors_of
from .sampling import RandomState, Sampled, at_least, batch_error, effective, half_width, seeds, unseen
from .weighting import proposal, unseen_share

BATCHES = 50
LEAP = 10  # sweeps between leaps
FIRST_LEAPS = 200  # of each chain, before its burn-in


def gibbs(
    model: Numbers,
    likelihoods: Likelihoods,
    *,
    draws: int = 5_000,
    burn_in: int = 1_000,
    thin: int = 1,
    chains: int = 4,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Sampled:
    """Marginals given the evidence from `chains` walks of `draws` kept sweeps each, with error, ESS and R̂.

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> answer = gibbs(rain, {1: [0, 1]}, random_state=0)
    >>> bool(abs(answer.marginals[0][1] - 0.63636) < answer.error[0][1] + 1e-9)
    True
    """
    draws, burn_in = at_least("draws", draws, BATCHES), at_least("burn_in", burn_in, 0)
    thin, chains = at_least("thin", thin, 1), at_least("chains", chains, 1)
    vectors = scaled(vectors_of(likelihoods))
    if any(not x.any() for x in vectors.values()):
        raise ImpossibleEvidence(
            "a finding excludes every state of its node", [v for v, x in vectors.items() if not x.any()]
        )
    blocks = ergodic_blocks(model, vectors)
    fixed = fixed_states(model, vectors)
    soft = [v for v in vectors if fixed[v] < 0]
    tables = [*model.tables, *(vectors[v] for v in soft)]
    choice, place = _safe_start(model, blocks, fixed, soft, tables)
    choice, place = np.tile(choice, (chains, 1)), np.tile(place, (chains, 1))
    length = draws // BATCHES
    work = chains * (burn_in + draws * thin) * len(model) * 10
    leaps = proposal(model, vectors)
    scopes = [*((*ps, v) for v, ps in enumerate(model.parents)), *((v,) for v in soft)]
    means, fresh = kernel.gibbs_chains(
        model.sizes,
        fixed,
        list(zip(scopes, tables, strict=True)),
        (leaps.nodes, leaps.log_bound),
        _steps(model, blocks, scopes),
        choice,
        place,
        seeds(random_state, chains),
        (burn_in, thin, BATCHES, length, LEAP),
        kernels.n_threads(n_jobs, work),
    )
    tried = chains * ((burn_in + length * BATCHES * thin) // LEAP + (FIRST_LEAPS if burn_in else 0))
    return _summary(model, blocks, vectors, means, (float(fresh.sum()), tried), choice, length * BATCHES)


def _steps(model: Numbers, blocks: list[Block], scopes: list[tuple[int, ...]]) -> list[kernel.GibbsStep]:
    """For each block the factors it touches, and how its joint states move their places in the tables."""
    stride: list[dict[int, int]] = []
    touching: list[list[int]] = [[] for _ in range(len(model))]
    for f, scope in enumerate(scopes):
        step, mine = 1, {}
        for u in reversed(scope):
            mine[u] = step
            step *= model.sizes[u]
            touching[u].append(f)
        stride.append(mine)
    steps = []
    for block in blocks:
        factors = sorted({f for v in block.nodes for f in touching[v]})
        columns = np.array([[stride[f].get(v, 0) for f in factors] for v in block.nodes], np.int64)
        offsets = block.states.astype(np.int64) @ columns
        steps.append((np.array(block.nodes, np.int32), np.array(factors, np.int32), offsets, block.states))
    return steps


def _safe_start(
    model: Numbers, blocks: list[Block], fixed: Codes, soft: list[int], tables: list[Floats]
) -> tuple[Ints, Ints]:
    """The safe state of every block, which is possible, and the cell of every factor in that state."""
    state = fixed.astype(np.int64)
    for block in blocks:
        state[list(block.nodes)] = block.states[block.safe]
    place = kernel.starts(len(t) for t in tables)[:-1]
    for v in range(len(model)):
        step = 1
        for u in reversed((*model.parents[v], v)):
            place[v] += step * state[u]
            step *= model.sizes[u]
    place[len(model) :] += state[soft]
    return np.array([block.safe for block in blocks], np.int64), place


def _summary(
    model: Numbers,
    blocks: list[Block],
    vectors: Mapping[int, Floats],
    means: Floats,
    leaps: tuple[float, int],
    choice: Ints,
    draws: int,
) -> Sampled:
    mean, standard_error, r_hat = batch_error(means)
    total = draws * len(means)
    free = sum(model.sizes[v] - 1 for block in blocks for v in block.nodes)
    ess = effective(mean, standard_error, total)
    error = np.maximum(half_width(standard_error, means.shape[0] * means.shape[1] - 1, free), unseen(ess.min(), free))
    error = np.maximum(error, unseen_share(leaps[0], free, leaps[1]))
    ends = kernel.starts(model.sizes).tolist()
    for v, x in vectors.items():
        if np.count_nonzero(x) == 1:  # known, not sampled
            at = slice(ends[v], ends[v + 1])
            mean[at], error[at], ess[at], r_hat[at] = x > 0, 0.0, total, 1.0
    states = np.zeros((len(means), len(model)), np.int32)
    for v, x in vectors.items():
        states[:, v] = int(x.argmax())
    for b, block in enumerate(blocks):
        states[:, list(block.nodes)] = block.states[choice[:, b]]
    parts = [[values[a:b] for a, b in pairwise(ends)] for values in (mean, np.minimum(error, 1.0), ess, r_hat)]
    for p in parts[0]:
        p /= p.sum()
    return Sampled(parts[0], parts[1], parts[2], total, parts[3], tuple(block.nodes for block in blocks), states)
