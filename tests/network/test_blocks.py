"""Blocks of a Gibbs walk by brute force: one block at a time reaches every possible state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import ImpossibleEvidence, NotErgodic
from posteriori.network.blocks import _above, _block, _condensed, _groups, _joined, _shrink, _support, ergodic_blocks
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


@given(st.integers(0, 3000))
def test_supports_and_the_states_that_nothing_reaches(seed):
    """Cells that are possible, hard axes cut; then states that no possible cell has go, until none goes any more."""
    model, sizes, parents, tables = random_model(seed, zeros=0.6)
    rng = np.random.default_rng(seed)
    vectors = {1: (rng.random(sizes[1]) < 0.6) * 1.0, 3: 0.3 * np.eye(sizes[3])[0]}
    vectors[1][-1] = 0.5
    hard = {v: int(x.argmax()) for v, x in vectors.items() if np.count_nonzero(x) == 1}
    supports = [_support(model, v, vectors) for v in range(4)]
    for v, (scope, cells) in enumerate(supports):
        whole = (*parents[v], v)
        assert scope == tuple(u for u in whole if u not in hard)
        want = tables[v] > 0
        if v in vectors and v not in hard:
            want = want & (vectors[v] > 0)
        assert cells.tolist() == want[tuple(hard.get(u, slice(None)) for u in whole)].tolist()
    alive = [set(range(s)) for s in sizes]
    before = None
    while before != alive:
        before = [set(a) for a in alive]
        for scope, cells in supports:
            there = [x for x in np.argwhere(cells).tolist() if all(s in alive[u] for u, s in zip(scope, x))]
            for axis, u in enumerate(scope):
                alive[u] &= {x[axis] for x in there}
    shrunk = list(supports)
    _shrink(shrunk, model)
    for v, ((scope, cells), (_, old)) in enumerate(zip(shrunk, supports)):
        for x in itertools.product(*(range(sizes[u]) for u in scope)):
            free = any(s not in alive[u] for u, s in zip(scope, x) if u != v)  # parents that never come forbid nothing
            mine = v not in scope or x[scope.index(v)] in alive[v]
            assert cells[x] == ((old[x] or free) and mine)


@given(st.integers(0, 3000), st.sets(st.integers(0, 3), min_size=1))
def test_the_joint_states_of_a_block_by_enumeration(seed, group):
    """Possible where each of its tables is for some state of what is outside, safe where it is for every one."""
    model, sizes, _, _ = random_model(seed)
    group = tuple(sorted(group))
    supports = [_support(model, v, {2: np.eye(sizes[2])[0]}) for v in range(4)]
    nodes = tuple(v for v in group if v != 2)
    states, safe = [], []
    for x in itertools.product(*(range(sizes[v]) for v in nodes)):
        inside = dict(zip(nodes, x))
        parts = [
            cells[tuple(inside.get(u, slice(None)) for u in scope)] for scope, cells in (supports[v] for v in group)
        ]
        if all(np.any(part) for part in parts):
            states.append(list(x))
            safe.append(all(np.all(part) for part in parts))
    if not states:
        with pytest.raises(ImpossibleEvidence, match="no possible state of nodes"):
            _block(group, supports, model, 4096)
        return
    found = _block(group, supports, model, 4096)
    assert (found is None) == (not any(safe))
    if found is not None:
        assert found.nodes == nodes
        assert found.states.tolist() == states
        assert found.safe == safe.index(True)


def test_groups_and_cycles_of_blocks():
    assert _groups(np.array([2, 0, 2, 5, 0])) == [(1, 4), (0, 2), (3,)]
    chain = [((0,), np.ones(2, bool)), ((0, 1), np.ones((2, 2), bool)), ((1, 2), np.ones((2, 2), bool))]
    assert _groups(_condensed(np.array([0, 1, 2]), chain)) in ([(0,), (1,), (2,)], [(2,), (1,), (0,)])
    assert len(_groups(_condensed(np.array([0, 1, 0]), chain))) == 1  # 0 → 1 → 2, and 0 with 2: a cycle
    alone = np.array([3, 1, 2])
    assert _condensed(alone, [((v,), np.ones(2, bool)) for v in range(3)]) is alone
    assert _above(np.array([4, 1, 7]), (2,), chain) == [1]
    assert _above(np.array([4, 7, 7]), (1, 2), chain) == [4]


def test_a_lost_node_joins_the_parent_that_costs_least():
    """x is 0 where a or b is: with either of them it has a safe state; b has fewer."""
    always = np.zeros((3, 2, 2), bool)
    always[0, :, 0] = always[:, 0, 0] = True
    always[1:, 1, 1] = True
    tables = [np.full(3, 1 / 3), [0.5, 0.5], always]
    model = Numbers.of([3, 2, 2], [(), (), (0, 1)], tables)
    supports = [_support(model, v, {}) for v in range(3)]
    label = np.arange(3)
    assert _block((2,), supports, model, 99) is None
    joined = _joined(label, [(2,)], supports, model, 99)
    assert joined[1] == joined[2] != joined[0]
    assert sorted(b.nodes for b in ergodic_blocks(model, {})) == [(0,), (1, 2)]
    exclusive = Numbers.of([2, 2, 2], [(), (), (0, 1)], [[1, 1], [1, 1], [1, 0, 0, 1, 0, 1, 1, 0]])
    coins = [_support(exclusive, v, {2: np.array([0.0, 1.0])}) for v in range(3)]
    assert len(set(_joined(np.arange(3), [(2,)], coins, exclusive, 99).tolist())) == 1  # none alone helps: both


def test_a_bound_of_states_is_kept_to():
    copies = Numbers.of([3, 3], [(), (0,)], [np.ones(3), np.eye(3)])
    assert [len(b.states) for b in ergodic_blocks(copies, {}, max_states=9)] == [3]
    with pytest.raises(NotErgodic, match="more than 2 joint states"):
        ergodic_blocks(copies, {}, max_states=2)
    assert [b.states.tolist() for b in ergodic_blocks(copies, {}, max_states=3)] == [[[0, 0], [1, 1], [2, 2]]]


def test_what_never_comes_ties_nothing():
    """c copies b where a is 1, which it never is."""
    rows = [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1]]
    model = Numbers.of([2, 2, 2], [(), (), (0, 1)], [[1.0, 0.0], [0.5, 0.5], rows])
    assert sorted(b.nodes for b in ergodic_blocks(model, {})) == [(0,), (1,), (2,)]
    tied = Numbers.of([2, 2, 2], [(), (), (0, 1)], [[0.9, 0.1], [0.5, 0.5], rows])
    assert sorted(len(b.nodes) for b in ergodic_blocks(tied, {})) == [1, 2]
