"""Sampling: within its own stated error of the exact answer, never trapped by zeros, the same with any thread count."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.errors import ImpossibleEvidence
from posteriori.network.gibbs import gibbs
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, one_hot
from posteriori.network.sampling import forward_sample, likelihood_weighting, weighted_sample

from .making import ASIA, asia, enumerated, findings, onto, random_network

NODE = {name: v for v, name in enumerate(ASIA)}
yes, no = one_hot(2, 0), one_hot(2, 1)


def alarm_like(rng: np.random.Generator) -> Numbers:
    """37 nodes with up to four parents and tables as sharp as alarm's: most rows give one state 0.9 or more."""
    model = random_network(rng, 37, max_parents=4, max_states=4, near=10)
    tables = [t.reshape(-1, s) ** 3 + 1e-3 for t, s in zip(model.tables, model.sizes)]
    return Numbers.of(model.sizes, model.parents, tables)


def exact(model: Numbers, evidence: dict[int, np.ndarray]) -> list[np.ndarray]:
    tree = JunctionTree(model)
    tree.set_evidence(evidence)
    return tree.marginals()


def holds(answer, truth) -> bool:
    return all((abs(m - p) <= e + 1e-12).all() for m, e, p in zip(answer.marginals, answer.error, truth))


@pytest.mark.parametrize("sampler", [gibbs, likelihood_weighting])
@pytest.mark.parametrize("evidence", [{}, {NODE["xray"]: yes, NODE["asia"]: yes}, {NODE["either"]: yes}])
def test_asia_is_within_the_stated_error(sampler, evidence):
    truth = exact(asia(), evidence)
    held = [holds(sampler(asia(), evidence, random_state=seed), truth) for seed in range(60)]
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize("sampler", [gibbs, likelihood_weighting])
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_an_alarm_like_network_is_within_the_stated_error(sampler, share):
    rng = np.random.default_rng(3)
    model = alarm_like(rng)
    evidence = findings(model, rng, share)
    truth = exact(model, evidence)
    answers = [sampler(model, evidence, random_state=seed) for seed in range(40)]
    assert np.mean([holds(a, truth) for a in answers]) >= 0.95
    assert np.median([a.worst_error for a in answers]) < 0.25  # an error that says nothing would hold too


def uniform(states):
    return Numbers.of([states], [()], [np.ones(states)])


def coins(n, p):
    """Pairs of a coin and its copy, which is wrong once in a thousand times, so that no mean of conditionals knows more."""
    copy = [0.999, 0.001, 0.001, 0.999]
    parents = [() if v % 2 == 0 else (v - 1,) for v in range(n)]
    return Numbers.of([2] * n, parents, [[1 - p, p] if v % 2 == 0 else copy for v in range(n)])


@pytest.mark.parametrize(
    "model",
    [
        *(pytest.param(uniform(k), id=f"{k} states") for k in (5, 30, 100, 1000)),
        *(pytest.param(coins(60, p), id=f"coins of {p}") for p in (1e-6, 1e-4, 1e-3, 1e-2, 0.1)),
    ],
)
def test_all_bars_hold_at_once_where_shares_are_small(model):
    truth = exact(model, {})
    held = [holds(likelihood_weighting(model, {}, draws=2000, random_state=seed), truth) for seed in range(60)]
    assert np.mean(held) >= 0.975
    held = [holds(gibbs(model, {}, draws=500, burn_in=50, random_state=seed), truth) for seed in range(10)]
    assert all(held)


def test_bars_hold_where_few_leaps_cross_between_a_cause_and_none():
    """A walk that stays with the cause of 98 % sees nothing vary: what its leaps before it may have crossed is no proof."""
    hit = [0.99, 0.01, 0.1, 0.9]
    model = Numbers.of([2] * 9, [(), *[(0,)] * 8], [[1 - 1e-6, 1e-6], *[hit] * 8])
    evidence = {v: np.array([0.0, 1.0]) for v in range(1, 5)}
    truth = exact(model, evidence)
    held = [holds(gibbs(model, evidence, draws=500, burn_in=100, random_state=seed), truth) for seed in range(80)]
    assert np.mean(held) >= 0.975


def test_soft_and_negative_findings():
    model = random_network(np.random.default_rng(8), 6, zeros=0.2)
    for seed in range(8):
        evidence = findings(model, np.random.default_rng(seed), 0.5)
        table = enumerated(model, evidence)
        truth = [onto(table, [v]) for v in range(len(model))]
        assert holds(gibbs(model, evidence, random_state=seed), truth)
        assert holds(likelihood_weighting(model, evidence, random_state=seed), truth)


def test_a_node_with_many_children_does_not_underflow():
    n = 400
    model = Numbers.of([2] * (n + 1), [(), *[(0,)] * n], [[1, 1], *[[[0.9, 0.1], [0.1, 0.9]]] * n])
    evidence = {v: one_hot(2, v % 2) for v in range(1, n + 1)}
    answer = gibbs(model, evidence, random_state=0)
    np.testing.assert_allclose(answer.marginals[0], [0.5, 0.5], atol=answer.error[0][0])


def test_threads_and_seeds():
    model = alarm_like(np.random.default_rng(1))
    one, two = (gibbs(model, {}, random_state=5, n_jobs=j) for j in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one.marginals, two.marginals))
    assert np.array_equal(one.states, two.states)
    one, two = (forward_sample(model, 5000, random_state=5, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one, two)
    tree = JunctionTree(model)
    one, two = (tree.sample(5000, random_state=5, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, tree.sample(5000, random_state=6))
    again = gibbs(model, {}, random_state=np.random.default_rng(5), draws=50, burn_in=0)
    assert again.draws == 200


def test_draws_from_the_tree_follow_the_posterior():
    evidence = {NODE["xray"]: yes, NODE["smoke"]: np.array([0.2, 1.0])}
    tree = JunctionTree(asia())
    tree.set_evidence(evidence)
    x = tree.sample(200_000, random_state=1)
    table = enumerated(asia(), evidence)
    table /= table.sum()
    counts = np.zeros_like(table)
    np.add.at(counts, tuple(x.T), 1)
    assert not counts[table == 0].any()
    expected = table * len(x)
    at = expected > 20
    chi2 = float((((counts - expected) ** 2)[at] / expected[at]).sum())
    assert chi2 < at.sum() + 5 * np.sqrt(2 * at.sum())


def test_weights_of_cases_estimate_the_probability_of_the_evidence():
    evidence = {NODE["xray"]: yes, NODE["dysp"]: np.array([1.0, 0.3])}
    answer = likelihood_weighting(asia(), evidence, draws=50_000, random_state=0)
    tree = JunctionTree(asia())
    tree.set_evidence(evidence)
    assert answer.log_probability == pytest.approx(tree.log_probability(), abs=4 * answer.log_error + 1e-12)
    x, log_weight = weighted_sample(asia(), evidence, 1000, random_state=0)
    assert (x[:, NODE["xray"]] == 0).all()
    assert np.isfinite(log_weight).all()


def test_impossible_evidence_is_named():
    evidence = {NODE["either"]: no, NODE["lung"]: yes}
    with pytest.raises(ImpossibleEvidence):
        likelihood_weighting(asia(), evidence, random_state=0)
    with pytest.raises(ImpossibleEvidence):
        gibbs(asia(), evidence, random_state=0)
    tree = JunctionTree(asia())
    tree.set_evidence(evidence)
    with pytest.raises(ImpossibleEvidence):
        tree.sample(3)
