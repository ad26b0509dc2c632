"""Gibbs walks: never trapped by zeros, as long as they were asked to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori.errors import BadValue, NotErgodic
from posteriori.network.blocks import ergodic_blocks
from posteriori.network.gibbs import gibbs
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, one_hot
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
