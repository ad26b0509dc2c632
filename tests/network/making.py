"""Networks, findings and enumeration for the tests of this room."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from posteriori.network.numbers import Numbers, one_hot

ASIA = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")


def asia() -> Numbers:
    """Lauritzen and Spiegelhalter (1988); state 0 is yes."""
    return Numbers.of(
        [2] * 8,
        [(), (0,), (), (2,), (2,), (3, 1), (5,), (4, 5)],
        [
            [0.01, 0.99],
            [[0.05, 0.95], [0.01, 0.99]],
            [0.5, 0.5],
            [[0.1, 0.9], [0.01, 0.99]],
            [[0.6, 0.4], [0.3, 0.7]],
            [[[1, 0], [1, 0]], [[1, 0], [0, 1]]],
            [[0.98, 0.02], [0.05, 0.95]],
            [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]],
        ],
    )


def random_network(
    rng: np.random.Generator, n: int, max_parents: int = 3, max_states: int = 3, zeros: float = 0.0, near: int = 0
) -> Numbers:
    """A random network; `zeros` is the share of cells set to zero, `near` > 0 takes parents among the last nodes only."""
    sizes = rng.integers(1 if zeros else 2, max_states + 1, n)
    parents, tables = [], []
    for v in range(n):
        pool = np.arange(max(0, v - near) if near else 0, v)
        chosen = rng.permutation(pool)[: rng.integers(0, max_parents + 1)]
        rows = rng.dirichlet(np.ones(sizes[v]), int(np.prod(sizes[chosen])))
        dead = rng.random(rows.shape) < zeros
        dead[np.arange(len(rows)), rng.integers(0, sizes[v], len(rows))] = False
        rows[dead] = 0
        parents.append(tuple(int(p) for p in chosen))
        tables.append(rows)
    return Numbers.of([int(s) for s in sizes], parents, tables)


def forward(model: Numbers, rng: np.random.Generator) -> list[int]:
    """One sample of a network whose parents have smaller indices."""
    x: list[int] = []
    for v in range(len(model)):
        row = 0
        for p in model.parents[v]:
            row = row * model.sizes[p] + x[p]
        theta = model.tables[v].reshape(-1, model.sizes[v])[row]
        x.append(int(rng.choice(model.sizes[v], p=theta)))
    return x


def findings(model: Numbers, rng: np.random.Generator, share: float, soft: bool = True) -> dict[int, np.ndarray]:
    """Possible findings: the states of one sample as hard ones, some weakened to "not that" or to any likelihood."""
    x = forward(model, rng)
    found = {}
    for v in range(len(model)):
        if rng.random() < share:
            kind = rng.integers(0, 4) if soft else 0
            hard = one_hot(model.sizes[v], x[v])
            if kind <= 1:
                found[v] = hard
            elif kind == 2:  # not one of the other states
                found[v] = np.maximum(hard, rng.random(model.sizes[v]) < 0.5)
            else:
                found[v] = rng.random(model.sizes[v]) + 0.01
    return found


def enumerated(model: Numbers, likelihoods: dict[int, np.ndarray]) -> np.ndarray:
    """P(x, e) for every x, an array with one axis a node."""
    table = np.zeros(model.sizes)
    for x in product(*map(range, model.sizes)):
        p = 1.0
        for v, theta in enumerate(model.tables):
            row = 0
            for u in model.parents[v]:
                row = row * model.sizes[u] + x[u]
            p *= theta[row * model.sizes[v] + x[v]]
            if v in likelihoods:
                p *= likelihoods[v][x[v]]
        table[x] = p
    return table


def onto(table: np.ndarray, nodes: list[int]) -> np.ndarray:
    """The marginal over the nodes, in their order, normalised and flat."""
    rest = tuple(v for v in range(table.ndim) if v not in nodes)
    small = table.sum(axis=rest).transpose(np.argsort(np.argsort(nodes)))
    return (small / small.sum()).ravel()


seeds = st.integers(0, 2**32 - 1)
