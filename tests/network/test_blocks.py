"""Blocks of a Gibbs walk by brute force: one block at a time reaches every possible state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import ImpossibleEvidence, NotErgodic
from posteriori.network.blocks import ergodic_blocks
from posteriori.network.numbers import Numbers


def random_model(seed, n=4, zeros=0.4):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n).tolist()
    parents, tables = [], []
    for v in range(n):
        above = tuple(sorted(rng.choice(v, rng.integers(0, min(v, 2) + 1), replace=False).tolist())) if v else ()
        shape = [*(sizes[p] for p in above), sizes[v]]
        table = rng.random(shape) * (rng.random(shape) >= zeros)
        table[..., 0] += (table.sum(axis=-1) == 0) * 1.0
        parents.append(above)
        tables.append(table / table.sum(axis=-1, keepdims=True))
    return Numbers.of(sizes, parents, tables), sizes, parents, tables


def weight(tables, parents, vectors, state):
    p = 1.0
    for v, table in enumerate(tables):
        p *= table[tuple(state[u] for u in parents[v]) + (state[v],)] * vectors.get(v, np.ones(9))[state[v]]
    return p


@given(st.integers(0, 2000), st.booleans(), st.booleans())
def test_a_walk_by_blocks_reaches_everything(seed, hard, soft):
    model, sizes, parents, tables = random_model(seed)
    rng = np.random.default_rng(seed + 1)
    vectors = {}
    if hard:
        vectors[3] = np.eye(sizes[3])[rng.integers(sizes[3])]
    if soft:
        vectors[2] = (rng.random(sizes[2]) < 0.7) * 1.0
        vectors[2][0] = 1.0
    possible = [s for s in itertools.product(*map(range, sizes)) if weight(tables, parents, vectors, s) > 0]
    try:
        blocks = ergodic_blocks(model, vectors)
    except ImpossibleEvidence:
        assert not possible
        return
    free = [v for v in range(4) if v not in vectors or np.count_nonzero(vectors[v]) > 1]
    drawn = [v for b in blocks for v in b.nodes]
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(free)
    for b in blocks:
        seen = {tuple(s[v] for v in b.nodes) for s in possible}
        assert seen <= set(map(tuple, b.states.tolist()))
        assert 0 <= b.safe < len(b.states)
    if not possible:
        return
    todo, met = [possible[0]], {possible[0]}
    lookup = set(possible)
    while todo:
        at = todo.pop()
        for b in blocks:
            for row in b.states.tolist():
                there = list(at)
                for v, s in zip(b.nodes, row):
                    there[v] = s
                if tuple(there) in lookup and tuple(there) not in met:
                    met.add(tuple(there))
                    todo.append(tuple(there))
    assert met == lookup


def test_free_nodes_are_drawn_alone():
    model, *_ = random_model(1, zeros=0.0)
    assert sorted(b.nodes for b in ergodic_blocks(model, {})) == [(0,), (1,), (2,), (3,)]


def test_ties_beyond_the_bound_are_refused():
    n = 5
    copies = [np.array([0.5, 0.5]), *[np.eye(2)] * (n - 1)]
    model = Numbers.of([2] * n, [(), *((i,) for i in range(n - 1))], copies)
    assert [b.nodes for b in ergodic_blocks(model, {})] == [tuple(range(n))]
    assert [b.states.tolist() for b in ergodic_blocks(model, {}, max_states=2)] == [[[0] * n, [1] * n]]
    free = Numbers.of([2, 2, 2], [(), (), (0, 1)], [[0.5, 0.5], [0.5, 0.5], [1, 0, 0, 1, 0, 1, 1, 0]])
    with pytest.raises(NotErgodic, match="more than 3 joint states"):
        ergodic_blocks(free, {}, max_states=3)
    with pytest.raises(ImpossibleEvidence):
        ergodic_blocks(model, {0: np.array([1.0, 0.0]), n - 1: np.array([0.0, 1.0])})
