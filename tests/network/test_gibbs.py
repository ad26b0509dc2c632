"""Gibbs walks: never trapped by zeros (their blocks by brute force), as long as they were asked to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori.errors import BadValue, ImpossibleEvidence, NotErgodic
from posteriori.network import gibbs as of_gibbs
from posteriori.network.gibbs import (
    _above,
    _block,
    _condensed,
    _groups,
    _joined,
    _safe_state,
    _shrink,
    _start,
    _steps,
    _summary,
    _support,
    ergodic_blocks,
    gibbs,
)
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, fixed_states, one_hot
from posteriori.network.sampling import half_width, likelihood_weighting

from .making import ASIA, asia, enumerated, findings, random_network, seeds

NODE = {name: v for v, name in enumerate(ASIA)}
yes, no = one_hot(2, 0), one_hot(2, 1)


def exact(model: Numbers, evidence: dict[int, np.ndarray]) -> list[np.ndarray]:
    tree = JunctionTree(model)
    tree.set_evidence(evidence)
    return tree.marginals()


def holds(answer, truth) -> bool:
    return all((abs(m - p) <= e + 1e-12).all() for m, e, p in zip(answer.marginals, answer.error, truth))


def test_the_deterministic_or_of_asia_is_drawn_with_a_parent():
    blocks = [b.nodes for b in ergodic_blocks(asia(), {})]
    assert (NODE["tub"], NODE["either"]) in blocks
    answer = gibbs(asia(), {}, random_state=0)
    assert answer.worst_r_hat < 1.1
    assert answer.marginals[NODE["either"]][0] == pytest.approx(0.064828, abs=0.01)


@settings(max_examples=30)
@given(seed=seeds, n=st.integers(2, 6))
def test_blocks_reach_every_possible_state(seed, n):
    """Breadth first over all states: moves that redraw one block connect the whole support."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, n, max_parents=2, zeros=0.5)
    evidence = findings(model, rng, 0.3)
    support = {tuple(x) for x in np.argwhere(enumerated(model, evidence) > 0).tolist()}
    blocks = ergodic_blocks(model, evidence)
    hard = {v for v, x in evidence.items() if np.count_nonzero(x) == 1}
    assert sorted(v for b in blocks for v in b.nodes) == [v for v in range(n) if v not in hard]
    start = next(iter(support))
    reached, stack = {start}, [start]
    while stack:
        x = stack.pop()
        for block in blocks:
            for row in block.states.tolist():
                y = list(x)
                for v, k in zip(block.nodes, row):
                    y[v] = k
                if tuple(y) in support and tuple(y) not in reached:
                    reached.add(tuple(y))
                    stack.append(tuple(y))
    assert reached == support


def test_a_walk_that_zeros_would_trap_leaps_and_the_pure_one_is_refused():
    n = 14  # parity of 14 coins, observed: no smaller move than two coins, and all are tied
    parity = np.array([[1.0, 0.0] if bin(i).count("1") % 2 else [0.0, 1.0] for i in range(2**n)])
    model = Numbers.of([2] * (n + 1), [*[()] * n, tuple(range(n))], [*[[1, 1]] * n, parity])
    with pytest.raises(NotErgodic, match=r"0, 1.*4096 joint states.*likelihood weighting"):
        gibbs(model, {n: yes}, pure=True)
    answer = gibbs(model, {n: yes}, random_state=0)
    assert holds(answer, exact(model, {n: yes}))
    assert answer.blocks == tuple((v,) for v in range(n))
    assert holds(likelihood_weighting(model, {n: yes}, random_state=0), exact(model, {n: yes}))


def test_large_networks_full_of_zeros_are_answered_soon():
    """A pedigree of 300: genotypes of parents and children tie all of it together, more than blocks can hold."""
    rng = np.random.default_rng(0)
    child = np.zeros((3, 3, 3))
    for a, b, x, y in np.ndindex(3, 3, 2, 2):
        child[a, b, x + y] += (a / 2 if x else 1 - a / 2) * (b / 2 if y else 1 - b / 2)
    parents = [() if i < 40 else tuple(map(int, rng.choice(range(i - 40, i), 2, replace=False))) for i in range(300)]
    tables = [child if ps else [0.49, 0.42, 0.09] for ps in parents]
    model = Numbers.of([3] * 300, parents, tables)
    with pytest.raises(NotErgodic, match=r"too long|at once"):
        ergodic_blocks(model, {})
    answer = gibbs(model, {}, draws=1000, random_state=0)
    for v in range(300):  # by the founders alone every genotype is as frequent as theirs
        if not parents[v]:
            assert (abs(answer.marginals[v] - [0.49, 0.42, 0.09]) <= answer.error[v]).all()
    assert answer.worst_error < 0.1
    with pytest.raises(NotErgodic):
        gibbs(model, {}, draws=100, pure=True)


@pytest.mark.parametrize("pure", [False, True])
def test_the_walk_itself_is_kept(pure):
    evidence = {NODE["xray"]: yes}
    how = {"draws": 400, "chains": 3, "random_state": 0, "pure": pure}
    answer, kept = gibbs(asia(), evidence, **how), gibbs(asia(), evidence, **how, keep=True)
    assert answer.chain is None
    assert kept.chain.shape == (3, 400, 8)
    assert (kept.chain[..., NODE["xray"]] == 0).all()
    assert kept.chain[:, -1].tolist() == kept.states.tolist()
    for v, (same, mine) in enumerate(zip(answer.marginals, kept.marginals, strict=True)):
        assert (same == mine).all()
        share = np.bincount(kept.chain[..., v].ravel(), minlength=2) / 1200
        assert np.allclose(share, mine, atol=1e-12 if pure else 0.15)
    assert holds(kept, exact(asia(), evidence))


def test_thinning_and_burn_in_keep_what_was_asked():
    answer = gibbs(asia(), {}, draws=500, thin=3, chains=2, burn_in=10, random_state=0)
    assert answer.draws == 1000
    assert answer.states.shape == (2, 8)
    for bad in ({"draws": 10}, {"thin": 0}, {"chains": 0}, {"burn_in": -1}):
        with pytest.raises(BadValue):
            gibbs(asia(), {}, **bad)


def place(model: Numbers, scope: tuple[int, ...], x) -> int:
    at = 0
    for u in scope:
        at = at * model.sizes[u] + int(x[u])
    return at


@given(seeds)
def test_a_step_moves_the_places_of_the_factors_it_touches(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5, max_parents=2, max_states=4, zeros=0.4)
    evidence = findings(model, rng, 0.4)
    blocks, fixed = ergodic_blocks(model, evidence), fixed_states(model, evidence)
    soft = [v for v in evidence if fixed[v] < 0]
    scopes = [*((*ps, v) for v, ps in enumerate(model.parents)), *((v,) for v in soft)]
    x = np.where(fixed < 0, 0, fixed)
    for block, (nodes, factors, offsets, states) in zip(blocks, _steps(model, blocks, scopes), strict=True):
        assert nodes == tuple(block.nodes)
        assert factors == [f for f, scope in enumerate(scopes) if set(scope) & set(block.nodes)]
        for row, moved in zip(states, offsets, strict=True):
            y = x.copy()
            y[list(block.nodes)] = row
            assert moved.tolist() == [place(model, scopes[f], y) - place(model, scopes[f], x) for f in factors]
    tables = [*model.tables, *(evidence[v] for v in soft)]
    (choice,), (cells,) = _start(model, blocks, _safe_state(blocks, fixed)[None], soft, tables)
    for block, chosen in zip(blocks, choice, strict=True):
        x[list(block.nodes)] = block.states[chosen]
    start = np.cumsum([0, *map(len, tables)])[:-1]
    assert cells.tolist() == [s + place(model, scope, x) for s, scope in zip(start, scopes, strict=True)]
    assert enumerated(model, evidence)[tuple(x)] > 0


def test_batch_means_become_marginals_with_their_errors():
    """Hard findings are known; the error of the others is the widest of three; shares sum to one."""
    rng = np.random.default_rng(0)
    model = Numbers.of([2, 3, 2], [(), (0,), ()], [[0.5, 0.5], np.ones((2, 3)), [1, 1]])
    evidence = {2: one_hot(2, 1), 1: np.array([0.5, 1.0, 1.0])}
    blocks = sorted(ergodic_blocks(model, evidence), key=lambda b: b.nodes)
    assert [b.nodes for b in blocks] == [(0,), (1,)]
    p = np.clip(np.array([0.4, 0.6, 0.2, 0.3, 0.51, 0.5, 0.5]) + rng.normal(0, 0.05, (2, 50, 7)), 0, 1)
    mean, error, r_hat = of_gibbs.batch_error(p)
    found = _summary(model, blocks, evidence, p, (400.0, 900), np.array([[1, 2], [0, 1]]), 5000)
    assert found.draws == 10_000
    for v, at in ((0, slice(0, 2)), (1, slice(2, 5))):
        assert found.marginals[v] == pytest.approx(mean[at] / mean[at].sum())
        ess = np.minimum(mean * (1 - mean) / error**2, 10_000)
        width = half_width(mean[at], error[at], 99, 3)
        least = np.log(3 / 0.01) / min(400.0, ess.min())
        assert found.error[v] == pytest.approx(np.maximum(width, least))
        assert found.ess[v] == pytest.approx(ess[at])
        assert found.r_hat[v] == pytest.approx(r_hat[at])
    known = [part[2].tolist() for part in (found.marginals, found.error, found.ess, found.r_hat)]
    assert known == [[0, 1], [0, 0], [10_000, 10_000], [1, 1]]
    assert found.states.tolist() == [[1, 2, 1], [0, 1, 1]]
    assert found.blocks == ((0,), (1,))
    apart = np.stack([np.tile([1.0, 0, 1, 0, 0, 0, 1], (50, 1)), np.tile([0, 1.0, 0, 1, 0, 0, 1], (50, 1))])
    lost = _summary(model, blocks, evidence, apart, (400.0, 900), np.zeros((2, 2), int), 5000)
    assert lost.error[0].tolist() == [1.0, 1.0]  # chains that never meet tell nothing
    far = _summary(model, blocks, evidence, p, (12.0, 900), np.zeros((2, 2), int), 5000)
    assert far.error[0] == pytest.approx(np.log(300) / 12)


@pytest.mark.parametrize(("burn_in", "thin"), [(0, 1), (0, 3), (70, 1), (70, 2)])
def test_every_leap_of_the_kept_sweeps_is_counted(burn_in, thin, monkeypatch):
    """Where the proposal is P(x | e), every leap is worth one draw of it."""
    told = []
    monkeypatch.setattr(of_gibbs, "unseen_share", lambda *leaps: told.append(leaps) or 0.0)
    model = Numbers.of([2, 3], [(), (0,)], [[0.8, 0.2], [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]])
    found = gibbs(
        model, {1: np.array([0.2, 0.5, 1.0])}, draws=220, burn_in=burn_in, thin=thin, chains=3, random_state=0
    )
    assert found.draws == 3 * 200  # whole batches of fifty
    ((fresh, free, tried),) = told
    assert free == 3
    assert fresh == pytest.approx(tried)
    assert tried == 3 * (200 * thin // 10)  # those before have shown the kept sweeps nothing


def test_a_finding_that_leaves_nothing_is_named():
    with pytest.raises(ImpossibleEvidence, match="excludes every state") as told:
        gibbs(asia(), {3: np.zeros(2), 1: yes})
    assert told.value.findings == (3,)
    assert gibbs(asia(), {}, draws=200, burn_in=1, chains=1, random_state=0).draws == 200


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
