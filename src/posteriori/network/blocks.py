"""Which nodes a Gibbs chain must draw together so that zeros in the tables cannot trap it.

Symbols: supp_v the cells of θ_v·λ_v that are positive, with the axes of the hard findings cut out; B a block of nodes.

A state s_B is safe when Π_{v∈B} θ_v(s_v | pa(v)) λ_v(s_v) > 0 whatever the parents outside B are. If every block has a safe
state, and the blocks can be ordered with parents before children, the chain that draws one block at a time reaches every
possible state from every other: from x, set the blocks to their safe states, children first. When B is set, the tables
inside B are positive because s_B is safe, and those of its children because they are already safe: no step leaves the
support, and each can be taken back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..arrays import Bools, Codes, Floats, Ints
from ..errors import ImpossibleEvidence, NotErgodic
from .elimination import evidence_terms
from .numbers import Numbers

Support = tuple[tuple[int, ...], Bools]  # nodes without a hard finding, and the cells that are possible


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
    supports = [_support(model, v, vectors) for v in range(len(model))]
    _shrink(supports, model)
    label = np.arange(len(model))
    known: dict[tuple[int, ...], Block | None] = {}
    while True:
        label = _condensed(label, supports)
        groups = _groups(label)
        for group in groups:
            if group not in known:
                known[group] = _block(group, supports, model, max_states)
        lost = [group for group in groups if known[group] is None]
        if not lost:
            break
        label = _joined(label, lost, supports, model, max_states)
    return [block for group in groups if (block := known[group]) is not None and block.nodes]


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
