"""Variable elimination: one question, answered on the part of the network that it needs.

Symbols: Q the targets, e the findings. P(Q, e) = Σ_{others} Π_v θ_v Π λ; the sum over v moves in to the factors with v.
A node without findings or targets below it is barren: its table sums to one and is left out. Hard findings cut their axes
out of the factors; what then hangs on no target is a number, its share of P(e).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Floats
from ..errors import BadValue, ImpossibleEvidence, MemoryBudgetError
from ..kernels import network as kernel
from .evidence import checked, impossible, scaled
from .evidence import log_scale as taken_away
from .model import Discrete

Factor = tuple[tuple[int, ...], Floats]  # its nodes, and the flat table over them


def relevant(model: Discrete, nodes: Sequence[int]) -> list[int]:
    """The nodes and their ancestors, ascending: all that is not barren for them.

    >>> relevant(Discrete.of([2, 2, 2], [(), (0,), (0,)], [[1, 1], [1, 1] * 2, [1, 1] * 2]), [1])
    [0, 1]
    """
    found: set[int] = set()
    stack = list(nodes)
    while stack:
        v = stack.pop()
        if v not in found:
            found.add(v)
            stack.extend(model.parents[v])
    return sorted(found)


def evidence_factors(model: Discrete, nodes: Sequence[int], vectors: Mapping[int, Floats]) -> list[Factor]:
    """The tables of the nodes and their soft findings; axes with a hard finding are cut out."""
    state = {v: int(x.argmax()) for v, x in vectors.items() if np.count_nonzero(x) == 1}
    factors: list[Factor] = []
    for v in nodes:
        scope = (*model.parents[v], v)
        table = model.tables[v]
        for axis in range(len(scope) - 1, -1, -1):
            u = scope[axis]
            if u in state:
                inner = math.prod(model.sizes[w] for w in scope[axis + 1 :] if w not in state)
                table = table.reshape(-1, model.sizes[u], inner)[:, state[u]].ravel()
        factors.append((tuple(u for u in scope if u not in state), table))
        if v in state:
            factors.append(((), vectors[v][state[v] : state[v] + 1]))
        elif v in vectors:
            factors.append(((v,), vectors[v]))
    return factors


def eliminate(
    model: Discrete,
    targets: Sequence[int],
    likelihoods: Mapping[int, Floats],
    max_memory: int = 2 << 30,
) -> tuple[Floats, float]:
    """P(x_targets | e), flat, the axes in the order of `targets`, and log P(e).

    >>> rain = Discrete.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> table, log_evidence = eliminate(rain, [0], {1: np.array([0.0, 1.0])})
    >>> table.round(4).tolist(), round(math.exp(log_evidence), 4)
    ([0.3636, 0.6364], 0.22)
    """
    vectors = checked(model, likelihoods)
    found = _eliminated(model, targets, vectors, max_memory)
    if found is None:
        raise _refusal(model, vectors, max_memory)
    return found


def _eliminated(
    model: Discrete, targets: Sequence[int], vectors: Mapping[int, Floats], max_memory: int
) -> tuple[Floats, float] | None:
    """What `eliminate` returns; None where P(e) = 0."""
    taken, vectors = taken_away(vectors), scaled(vectors)
    _within(model, targets, max_memory)  # with the observed targets, whose axes come back; before any work
    hard = {v for v, x in vectors.items() if np.count_nonzero(x) == 1}
    factors = evidence_factors(model, relevant(model, [*targets, *vectors]), vectors)
    free = [t for t in targets if t not in hard]
    factors, log_scale = sum_out(model, factors, free, max_memory)
    table, size = combine(model, factors, free, False)
    total = float(table.sum())
    if not (total > 0 and log_scale > -math.inf):
        return None
    log_p = log_scale + size + math.log(total) + taken
    table /= total
    for axis, t in enumerate(targets):  # a target with a hard finding gets its axis back
        if t in hard:
            inner = math.prod(model.sizes[u] for u in targets[axis + 1 :] if u not in hard)
            wide = np.zeros((table.size // inner, model.sizes[t], inner))
            wide[:, int(vectors[t].argmax())] = table.reshape(-1, inner)
            table = wide.ravel()
            hard.discard(t)
    return table, log_p


def log_evidence(model: Discrete, likelihoods: Mapping[int, Floats], max_memory: int = 2 << 30) -> float:
    """log P(e), −inf for impossible evidence; which findings conflict is not looked for."""
    return _log_evidence(model, checked(model, likelihoods), max_memory)


def _log_evidence(model: Discrete, vectors: Mapping[int, Floats], max_memory: int) -> float:
    found = _eliminated(model, [], vectors, max_memory)
    return -math.inf if found is None else found[1]


def _refusal(model: Discrete, vectors: Mapping[int, Floats], max_memory: int) -> ImpossibleEvidence:
    def possible(rest: Mapping[int, Floats]) -> bool:
        try:
            return _log_evidence(model, rest, max_memory) > -math.inf
        except MemoryBudgetError:  # too wide to tell without these findings: they stay in the set
            return True

    return impossible(vectors, possible)


def map_states(
    model: Discrete, nodes: Sequence[int], likelihoods: Mapping[int, Floats], max_memory: int = 2 << 30
) -> tuple[list[int], float]:
    """argmax over x_nodes of P(x_nodes, e), the other nodes summed out, and the log of that maximum.

    >>> rain = Discrete.of([2, 2], [(), (0,)], [[0.8, 0.2], [[0.9, 0.1], [0.3, 0.7]]])
    >>> map_states(rain, [0], {1: np.array([0.0, 1.0])})[0]
    [1]
    """
    if len(set(nodes)) < len(nodes):
        raise BadValue(f"a node is asked for twice: {model.called(nodes)}")
    found = checked(model, likelihoods)
    vectors = scaled(found)
    state = {v: int(x.argmax()) for v, x in vectors.items() if np.count_nonzero(x) == 1}
    free = [v for v in nodes if v not in state]
    factors = evidence_factors(model, relevant(model, [*nodes, *vectors]), vectors)
    factors, log_value = sum_out(model, factors, free, max_memory)
    undone: list[tuple[int, list[Factor]]] = []
    for v in free:
        touching = [f for f in factors if v in f[0]]
        rest = sorted({u for scope, _ in touching for u in scope} - {v})
        _within(model, [v, *rest], max_memory)
        table, size = combine(model, touching, rest, True)
        top = float(table.max())
        if not top > 0:
            break
        factors = [f for f in factors if v not in f[0]] + [(tuple(rest), table / top)]
        log_value += size + math.log(top)
        undone.append((v, touching))
    constants = [float(table[0]) for scope, table in factors if not scope]  # many: their product would underflow
    if len(undone) < len(free) or min(constants, default=1.0) <= 0 or log_value == -math.inf:
        raise _refusal(model, vectors, max_memory)
    for v, touching in reversed(undone):  # the neighbours of v that were eliminated after it have their states now
        fixed = [_at(model, f, state) for f in touching]
        state[v] = int(combine(model, fixed, [v], True)[0].argmax())
    return [state[v] for v in nodes], log_value + sum(map(math.log, constants)) + taken_away(found)


def _at(model: Discrete, factor: Factor, state: Mapping[int, int]) -> Factor:
    """The factor with the nodes that have a state held at it."""
    scope, table = factor
    index = tuple(state.get(u, slice(None)) for u in scope)
    return tuple(u for u in scope if u not in state), table.reshape([model.sizes[u] for u in scope])[index].ravel()


def sum_out(
    model: Discrete, factors: list[Factor], keep: Sequence[int], max_memory: int, maximise: bool = False
) -> tuple[list[Factor], float]:
    """Eliminate every node of the factors but those to keep; the factors left, and the log of what was scaled away."""
    held = sorted({v for scope, _ in factors for v in scope})
    place = {v: i for i, v in enumerate(held)}
    near: list[set[int]] = [set() for _ in held]
    for scope, _ in [*factors, (tuple(k for k in keep if k in place), np.empty(0))]:
        axes = [place[v] for v in scope]
        for i in axes:
            near[i].update(axes)
    for i, neighbours in enumerate(near):
        neighbours.discard(i)
    order = [held[i] for i in kernel.elimination_order([sorted(x) for x in near], [model.sizes[v] for v in held])[0]]
    log_scale = 0.0
    for v in order:
        if v in keep:
            continue
        touching = [f for f in factors if v in f[0]]
        factors = [f for f in factors if v not in f[0]]
        rest = sorted({u for s, _ in touching for u in s} - {v})
        _within(model, [v, *rest], max_memory)
        table, size = combine(model, touching, rest, maximise)
        top = float(table.max())
        if top <= 0:
            return [((), np.zeros(1))], -math.inf
        factors.append((tuple(rest), table / top))
        log_scale += size + math.log(top)
    return factors, log_scale


def combine(model: Discrete, factors: Sequence[Factor], keep: Sequence[int], maximise: bool) -> tuple[Floats, float]:
    """Σ (or max) of the product of the factors onto the nodes to keep, in their order, and the log of its scale."""
    others = sorted({v for scope, _ in factors for v in scope} - set(keep))
    axis = {v: i for i, v in enumerate([*keep, *others])}
    return kernel.combine_factors(
        [model.sizes[v] for v in axis],
        [[axis[v] for v in scope] for scope, _ in factors],
        [table for _, table in factors],
        [True] * len(keep) + [False] * len(others),
        maximise,
    )


def _within(model: Discrete, nodes: Sequence[int], max_memory: int) -> None:
    size = 8.0 * math.prod(float(model.sizes[v]) for v in nodes)
    if size > max_memory:
        raise MemoryBudgetError(
            f"a factor over nodes {model.called(nodes)} needs {size:.4g} bytes, over max_memory={max_memory}; ask by "
            f"sampling instead (likelihood weighting or Gibbs), or raise max_memory"
        )
