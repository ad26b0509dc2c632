"""Gibbs walks: never trapped by zeros, as long as they were asked to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from posteriori.errors import BadValue, ImpossibleEvidence, NotErgodic
from posteriori.network import gibbs as of_gibbs
from posteriori.network.blocks import ergodic_blocks
from posteriori.network.gibbs import _safe_start, _steps, _summary, gibbs
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, fixed_states, one_hot
from posteriori.network.weighting import likelihood_weighting

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


def test_a_walk_that_zeros_would_trap_is_refused():
    n = 14  # parity of 14 coins, observed: no smaller move than two coins, and all are tied
    parity = np.array([[1.0, 0.0] if bin(i).count("1") % 2 else [0.0, 1.0] for i in range(2**n)])
    model = Numbers.of([2] * (n + 1), [*[()] * n, tuple(range(n))], [*[[1, 1]] * n, parity])
    with pytest.raises(NotErgodic, match=r"0, 1.*4096 joint states.*likelihood weighting"):
        gibbs(model, {n: yes})
    assert holds(likelihood_weighting(model, {n: yes}, random_state=0), exact(model, {n: yes}))


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
        assert nodes.tolist() == list(block.nodes)
        assert factors.tolist() == [f for f, scope in enumerate(scopes) if set(scope) & set(block.nodes)]
        for row, moved in zip(states, offsets, strict=True):
            y = x.copy()
            y[list(block.nodes)] = row
            assert moved.tolist() == [place(model, scopes[f], y) - place(model, scopes[f], x) for f in factors]
    tables = [*model.tables, *(evidence[v] for v in soft)]
    choice, cells = _safe_start(model, blocks, fixed, soft, tables)
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
        width = student.ppf(1 - 0.01 / (2 * 3), 99) * error[at]
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
def test_every_leap_is_counted(burn_in, thin, monkeypatch):
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
    assert tried == 3 * ((burn_in + 200 * thin) // 10 + (200 if burn_in else 0))


def test_a_finding_that_leaves_nothing_is_named():
    with pytest.raises(ImpossibleEvidence, match="excludes every state") as told:
        gibbs(asia(), {3: np.zeros(2), 1: yes})
    assert told.value.findings == (3,)
    assert gibbs(asia(), {}, draws=50, burn_in=1, chains=1, random_state=0).draws == 50
