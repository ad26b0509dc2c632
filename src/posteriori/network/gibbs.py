"""Gibbs sampling: a random walk in the sub-space that agrees with the evidence.

Symbols: x the state of all nodes, B a block of nodes drawn together, e the findings. One step redraws a block,

    x_B ~ P(x_B | x_rest, e) ∝ Π_{f touching B} θ_f,

one sweep all blocks; each step depends only on the last, and the walk converges to P(x | e). The estimate of P(x_v | e) is
the mean of P(x_v | x_rest, e) over the kept sweeps, which varies less than the mean of the states. Tables that are nearly
0/1 make it slow: every tenth sweep a leap to a case of `proposal` is tried, by the rule of Metropolis, which leaves
P(x | e) as it is. What the leaps are worth also tells how much of P(x | e) no chain may have seen. The pure walk does
without both: it draws a node after the other, and counts the states it was in.

Zeros in the tables could trap the walk: blocks are made as large as it takes (`ergodic_blocks`). Where they would be too
large, nodes are drawn alone and leaps are tried more often: they reach every possible state by themselves. The pure walk is
refused there (NotErgodic). A state s_B is safe when Π_{v∈B} θ_v(s_v | pa(v)) λ_v(s_v) > 0 whatever the parents outside B
are. If every block has a safe state, and the blocks can be ordered with parents before children, the chain that draws one
block at a time reaches every possible state from every other: from x, set the blocks to their safe states, children first.
When B is set, the tables inside B are positive because s_B is safe, those of its children because they are already safe:
no step leaves the support, and each can be taken back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .. import kernels
from ..arrays import Bools, Codes, Floats, Ints
from ..budget import refuse_over
from ..errors import BadValue, ImpossibleEvidence, NotErgodic
from ..statistics.counts import starts_of
from .elimination import evidence_terms
from .numbers import Likelihoods, Numbers, fixed_states, scaled, vectors_of
from .sampling import (
    RandomState,
    Sampled,
    at_least,
    batch_error,
    effective,
    half_width,
    proposal,
    seeds,
    unseen,
    unseen_share,
    weighted_sample,
)

BATCHES = 50
LEAP, ALONE = 10, 2  # sweeps between leaps; where nodes are drawn alone, and leaps alone can cross
MOST_WORK = 1 << 17  # groups × arrows looked at for blocks: about a second
TRIALS = 1024  # cases drawn to find a possible one, where no block is safe
Support = tuple[tuple[int, ...], Bools]  # nodes without a hard finding, and the cells that are possible


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
    keep: bool = False,
    pure: bool = False,
) -> Sampled:
    """Marginals given the evidence from `chains` walks of `draws` kept sweeps each, with error, ESS and R̂.

    The mean of P(x_v | x_rest, e) over the sweeps (Rao-Blackwell), with leaps; `pure`: the share of sweeps in each state,
    without. `keep`: the states after each kept sweep too, (chains, sweeps, nodes).

    >>> rain = Numbers.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> answer = gibbs(rain, {1: [0, 1]}, random_state=0)
    >>> bool(abs(answer.marginals[0][1] - 0.63636) < answer.error[0][1] + 1e-9)
    True
    """
    draws, burn_in = at_least("draws", draws, BATCHES), at_least("burn_in", burn_in, 0)
    thin, chains = at_least("thin", thin, 1), at_least("chains", chains, 1)
    for name, told in (("keep", keep), ("pure", pure)):
        if not isinstance(told, bool | np.bool_):
            raise BadValue(f"{name} is True or False. Got {told!r} instead.")
    vectors = scaled(vectors_of(likelihoods))
    if any(not x.any() for x in vectors.values()):
        raise ImpossibleEvidence(
            "a finding excludes every state of its node", [v for v, x in vectors.items() if not x.any()]
        )
    fixed = fixed_states(model, vectors)
    leap = 0 if pure else LEAP
    try:
        blocks = ergodic_blocks(model, vectors)
        states = np.tile(_safe_state(blocks, fixed), (chains, 1))
    except NotErgodic:
        cases, log_weight = weighted_sample(model, vectors, TRIALS, random_state, n_jobs)
        possible = np.flatnonzero(log_weight > -np.inf)
        if pure or not len(possible):
            raise
        blocks, leap, states = lone_blocks(model, vectors), ALONE, np.resize(cases[possible], (chains, len(model)))
    soft = [v for v in vectors if fixed[v] < 0]
    tables = [*model.tables, *(vectors[v] for v in soft)]
    choice, place = _start(model, blocks, states, soft, tables)
    length = draws // BATCHES
    if keep:
        refuse_over(
            None, 4.0 * chains * length * BATCHES * len(model), "the states after every sweep", "keep fewer draws"
        )
    work = chains * (burn_in + draws * thin) * len(model) * 10
    leaps = proposal(model, vectors)
    scopes = [*((*ps, v) for v, ps in enumerate(model.parents)), *((v,) for v in soft)]
    means, fresh, kept = kernels.gibbs_chains(
        model.sizes,
        fixed.tolist(),
        list(zip(scopes, tables, strict=True)),
        (leaps.nodes, leaps.log_bound),
        _steps(model, blocks, scopes),
        choice,
        place,
        seeds(random_state, chains),
        (burn_in, thin, BATCHES, length, leap),
        kernels.n_threads(n_jobs, work),
        keep,
    )
    tried = chains * (length * BATCHES * thin // leap) if leap else 0
    found = _summary(model, blocks, vectors, means, (float(fresh.sum()), tried), choice, length * BATCHES)
    return replace(found, chain=kept) if keep else found


def _steps(
    model: Numbers, blocks: list[Block], scopes: list[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], list[int], Ints, Codes]]:
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
        steps.append((tuple(block.nodes), factors, offsets, block.states))
    return steps


def _safe_state(blocks: list[Block], fixed: Codes) -> Codes:
    """All blocks in their safe states, which is possible."""
    state = fixed.copy()
    for block in blocks:
        state[list(block.nodes)] = block.states[block.safe]
    return state


def _start(
    model: Numbers, blocks: list[Block], states: Codes, soft: list[int], tables: list[Floats]
) -> tuple[Ints, Ints]:
    """The joint state of every block (chains, blocks) and the cell of every factor in these states (chains, nodes)."""
    place = np.tile(starts_of(len(t) for t in tables)[:-1], (len(states), 1))
    for v in range(len(model)):
        step = 1
        for u in reversed((*model.parents[v], v)):
            place[:, v] += step * states[:, u]
            step *= model.sizes[u]
    place[:, len(model) :] += states[:, soft]
    choice = [(b.states == states[:, None, list(b.nodes)]).all(axis=2).argmax(axis=1) for b in blocks]
    return np.array(choice, np.int64).reshape(len(blocks), len(states)).T.copy(), place


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
    degrees = means.shape[0] * means.shape[1] - 1
    error = np.maximum(half_width(mean, standard_error, degrees, free), unseen(ess.min(), free))
    if leaps[1]:
        error = np.maximum(error, unseen_share(leaps[0], free, leaps[1]))
    ends = starts_of(model.sizes).tolist()
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


@dataclass(frozen=True)
class Block:
    """Nodes drawn together, the joint states they can be in (a row each), and which of the rows is safe."""

    nodes: tuple[int, ...]
    states: Codes
    safe: int


def ergodic_blocks(model: Numbers, vectors: Mapping[int, Floats], max_states: int = 4096) -> list[Block]:
    """The smallest blocks found that make Gibbs sampling ergodic, each of at most `max_states` possible joint states.

    An exclusive or that is observed ties its two coins together:

    >>> coins = Numbers.of([2, 2, 2], [(), (), (0, 1)], [[1, 1], [1, 1], [1, 0, 0, 1, 0, 1, 1, 0]])
    >>> [b.states.tolist() for b in ergodic_blocks(coins, {2: np.array([0.0, 1.0])})]
    [[[0, 1], [1, 0]]]
    """
    supports = _supports(model, vectors)
    label = np.arange(len(model))
    known: dict[tuple[int, ...], Block | None] = {}
    spent, edges = 0, sum(map(len, model.parents))
    while True:
        label = _condensed(label, supports)
        groups = _groups(label)
        for group in groups:
            if group not in known:
                known[group] = _block(group, supports, model, max_states)
        lost = [group for group in groups if known[group] is None]
        if not lost:
            break
        spent += len(lost) * edges
        if spent > MOST_WORK:
            raise NotErgodic(
                f"zeros in the tables tie {len(lost)} groups of nodes to others, {model.called(lost[0])} first: blocks to "
                f"draw them in would take too long to find. Ask exactly or by likelihood weighting"
            )
        label = _joined(label, lost, supports, model, max_states)
    return [block for group in groups if (block := known[group]) is not None and block.nodes]


def lone_blocks(model: Numbers, vectors: Mapping[int, Floats]) -> list[Block]:
    """Each node that is not known by itself, with the states that it can have: none is safe, leaps must reach the rest."""
    found = []
    for v, (scope, cells) in enumerate(_supports(model, vectors)):
        if v in scope:
            others = tuple(a for a, u in enumerate(scope) if u != v)
            states = np.flatnonzero(cells.any(axis=others)).astype(np.int32)
            found.append(Block((v,), states[:, None], -1))
    return found


def _supports(model: Numbers, vectors: Mapping[int, Floats]) -> list[Support]:
    supports = [_support(model, v, vectors) for v in range(len(model))]
    _shrink(supports, model)
    return supports


def _groups(label: Ints) -> list[tuple[int, ...]]:
    order = np.argsort(label, kind="stable")
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return [tuple(part.tolist()) for part in np.split(order, cuts)]


def _support(model: Numbers, v: int, vectors: Mapping[int, Floats]) -> Support:
    found = {u: vectors[u] for u in (*model.parents[v], v) if u in vectors}
    scope, table, _ = evidence_terms(model, [v], found)[0]
    cells = table.reshape([model.sizes[u] for u in scope]) > 0
    return (scope, cells & (vectors[v] > 0)) if v in scope and v in vectors else (scope, cells)


def _shrink(supports: list[Support], model: Numbers) -> None:
    """Find the states that no possible configuration has; parents in such states then forbid nothing."""
    domain = [np.ones(s, bool) for s in model.sizes]
    along = [[[-1 if a == axis else 1 for a in range(len(s))] for axis in range(len(s))] for s, _ in supports]
    changed = True
    while changed:
        changed = False
        for (scope, cells), shapes in zip(supports, along):
            inside = cells
            for u, shape in zip(scope, shapes):
                if not domain[u].all():
                    inside = inside & domain[u].reshape(shape)
            for axis, u in enumerate(scope):
                seen = inside.any(axis=tuple(a for a in range(len(scope)) if a != axis))
                if (domain[u] & ~seen).any():
                    domain[u] &= seen
                    changed = True
    for v, ((scope, cells), shapes) in enumerate(zip(supports, along)):
        for u, shape in zip(scope, shapes):
            alive = domain[u].reshape(shape)
            cells = cells & alive if u == v else cells | ~alive
        supports[v] = scope, cells


def _condensed(label: Ints, supports: list[Support]) -> Ints:
    """Blocks that lie on a cycle of blocks become one."""
    edges = [(label[p], label[v]) for v, (scope, _) in enumerate(supports) for p in scope if p != v]
    if not edges:
        return label
    tail, head = np.array(edges).T
    graph = coo_array((np.ones(len(tail)), (tail, head)), shape=(len(label), len(label))).tocsr()
    _, component = connected_components(graph, directed=True, connection="strong")
    return np.asarray(component[label], dtype=np.int64)


def _block(group: Sequence[int], supports: list[Support], model: Numbers, max_states: int) -> Block | None:
    """The possible joint states of the nodes, grown a node at a time, and a safe one; None where no state is safe."""
    nodes: list[int] = []
    states, safe = np.zeros((1, 0), np.int32), np.ones(1, bool)
    waiting = [(v, *supports[v]) for v in group]
    for u in [v for v in group if v in supports[v][0]] or [-1]:
        if u >= 0:
            nodes.append(u)
            states = np.column_stack(
                [
                    np.repeat(states, model.sizes[u], axis=0),
                    np.tile(np.arange(model.sizes[u], dtype=np.int32), len(states)),
                ]
            )
            safe = np.repeat(safe, model.sizes[u])
        ready = [w for w in waiting if not (set(w[1]) & set(group)) - set(nodes)]
        waiting = [w for w in waiting if w not in ready] if ready else waiting
        for _, scope, cells in ready:
            outer = tuple(a for a, p in enumerate(scope) if p not in nodes)
            at = tuple(states[:, nodes.index(p)] for p in scope if p in nodes)
            possible = np.broadcast_to(np.asarray(cells.any(axis=outer))[at], len(states))
            safe = (safe & np.asarray(cells.all(axis=outer))[at])[possible]
            states = states[possible]
        if not len(states):
            raise ImpossibleEvidence(
                f"the evidence leaves no possible state of nodes {model.called(group)}: it has probability zero"
            )
        if len(states) > max_states:
            raise NotErgodic(
                f"zeros in the tables tie nodes {model.called(group)} together: Gibbs sampling would have to draw more "
                f"than {max_states} joint states at once to reach every possible state. Ask exactly or by "
                f"likelihood weighting"
            )
    return Block(tuple(nodes), np.ascontiguousarray(states), int(safe.argmax())) if safe.any() else None


def _joined(label: Ints, lost: list[tuple[int, ...]], supports: list[Support], model: Numbers, max_states: int) -> Ints:
    """The partition with lost groups joined to the parent's block that makes them safe with the fewest states.

    Small joins go first, and a block takes part in one join only: what it brings may spare others theirs. Where no single
    parent makes any group safe, the first group is joined to the blocks of all its parents.
    """
    options = []
    for group in lost:
        mine = int(label[group[0]])
        for b in _above(label, group, supports):
            joined = _condensed(np.where(label == b, mine, label), supports)
            members = tuple(np.flatnonzero(joined == joined[group[0]]).tolist())
            with contextlib.suppress(NotErgodic):  # too large: no option
                block = _block(members, supports, model, max_states)
                if block is not None:
                    options.append((len(block.states), b, mine))
    taken: set[int] = set()
    for _, b, mine in sorted(options):
        if not taken & {b, mine}:
            taken |= {b, mine}
            label = np.where(label == b, mine, label)
    if not taken:
        label = np.where(np.isin(label, _above(label, lost[0], supports)), label[lost[0][0]], label)
    return label


def _above(label: Ints, group: tuple[int, ...], supports: list[Support]) -> list[int]:
    """The blocks of the group's parents."""
    return sorted({int(label[p]) for v in group for p in supports[v][0]} - {int(label[group[0]])})
