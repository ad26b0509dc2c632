"""Value of information, tornado, conflict, arc strength and the least risk, against their definitions by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori.errors import BadValue, ImpossibleEvidence, LossError, MemoryBudgetError
from posteriori.network.elimination import map_states, requisite
from posteriori.network.insight import (
    Bar,
    _part,
    arc_strength,
    bar_table,
    conflict,
    exact_risk,
    information,
    sampled_risk,
    tornado,
)
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, one_hot
from posteriori.network.sampling import forward_sample

from .making import asia, enumerated, findings, onto, random_network, seeds


def mutual_information(joint: np.ndarray) -> float:
    a, b = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    at = joint > 0
    return float((joint[at] * np.log(joint[at] / (a * b)[at])).sum())


@settings(max_examples=25)
@given(seed=seeds)
def test_insight_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 6, max_parents=2, zeros=0.15)
    evidence = findings(model, rng, 0.35)
    table = enumerated(model, evidence)
    tree = JunctionTree(model)
    tree.set_evidence(evidence)
    target = int(rng.integers(6))
    gained = information(tree, target)
    for v in range(6):
        if v != target:
            joint = onto(table, [v, target]).reshape(model.sizes[v], -1)
            assert gained[v] == pytest.approx(mutual_information(joint), abs=1e-10)
    state = int(rng.integers(model.sizes[target]))
    bars = {bar.node: bar for bar in tornado(tree, target, state)}
    assert sorted(bars) == [v for v in range(6) if v != target]
    for v, bar in bars.items():
        rest = {u: x for u, x in evidence.items() if u != v}
        values = {}
        for k in range(model.sizes[v]):
            told = enumerated(model, rest | {v: one_hot(model.sizes[v], k)})
            if told.sum() > 0:
                values[k] = onto(told, [target])[state]
        assert bar.low == pytest.approx(min(values.values()), abs=1e-10)
        assert bar.high == pytest.approx(max(values.values()), abs=1e-10)
        assert values[bar.low_state] == pytest.approx(bar.low, abs=1e-10)
        assert values[bar.high_state] == pytest.approx(bar.high, abs=1e-10)
        assert 0 <= bar.low <= bar.high <= 1
    plain = enumerated(model, {})
    alone = sum(np.log(onto(plain, [v]) @ x) for v, x in evidence.items())
    assert conflict(tree) == pytest.approx(alone - np.log(table.sum()), abs=1e-9)
    for (p, v), strength in arc_strength(tree).items():
        others = [u for u in model.parents[v] if u != p]
        family = onto(table, [*others, p, v]).reshape(-1, model.sizes[p], model.sizes[v])
        expected = sum(part.sum() * mutual_information(part / part.sum()) for part in family if part.sum() > 0)
        assert strength == pytest.approx(expected, abs=1e-10)
    assert tree.evidence.keys() == evidence.keys()  # the questions put the evidence back


def test_conflict_of_impossible_evidence_is_an_error():
    tree = JunctionTree(asia())
    tree.set_evidence({5: one_hot(2, 1), 3: one_hot(2, 0)})
    with pytest.raises(ImpossibleEvidence):
        conflict(tree)


@settings(max_examples=25)
@given(seed=seeds)
def test_the_least_risk_is_the_sum_over_all_cases(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 6, max_parents=2, zeros=0.2)
    target = int(rng.integers(6))
    loss = rng.random((3, model.sizes[target]))
    joint = np.moveaxis(enumerated(model, {}), target, -1).reshape(-1, model.sizes[target])
    assert exact_risk(model, target, loss) == pytest.approx((joint @ loss.T).min(axis=1).sum(), rel=1e-10)
    observed = [int(v) for v in rng.permutation(6)[:3] if v != target]
    joint = onto(enumerated(model, {}), [*observed, target]).reshape(-1, model.sizes[target])
    least = (joint @ loss.T).min(axis=1).sum()
    assert exact_risk(model, target, loss, observed) == pytest.approx(least, rel=1e-10)
    estimate, error = sampled_risk(model, target, loss, observed, draws=4000, random_state=0)
    assert abs(estimate - least) < 5 * error + 1e-9


@given(seed=seeds, others=st.booleans())
def test_what_is_seen_is_not_lost(seed, others):
    """With the target observed: Σ_y P(y) min_a λ[a, y], which is 0 where every state has an action that costs nothing."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5, max_parents=2, zeros=0.2)
    target = int(rng.integers(5))
    observed = list(range(5)) if others else [target]
    loss = rng.random((3, model.sizes[target]))
    least = float(onto(enumerated(model, {}), [target]) @ loss.min(axis=0))
    assert exact_risk(model, target, loss, observed) == pytest.approx(least)
    estimate, error = sampled_risk(model, target, loss, observed, draws=500, random_state=seed)
    assert abs(estimate - least) <= 6 * error + 1e-9
    wrong = 1 - np.eye(model.sizes[target])
    assert exact_risk(model, target, wrong, observed) == 0.0
    assert sampled_risk(model, target, wrong, observed, draws=50, random_state=seed) == (0.0, 0.0)


def test_risk_says_what_it_cannot_do():
    with pytest.raises(MemoryBudgetError, match="sampled_bayes_risk"):
        exact_risk(asia(), 3, 1 - np.eye(2), max_memory=10)
    for loss in (np.eye(3), [1, 2], [[np.nan, 0]]):
        with pytest.raises(LossError):
            exact_risk(asia(), 3, loss)
    with pytest.raises(BadValue):
        exact_risk(asia(), 3, 1 - np.eye(2), [99])
    others = {v: np.empty(0) for v in range(8) if v != 3}
    assert requisite(asia(), [3], others) == ([3, 5], [1, 2, 5])  # the Markov blanket of lung


@settings(max_examples=40)
@given(seed=seeds)
def test_the_most_probable_of_a_subset(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 6, zeros=0.2)
    evidence = findings(model, rng, 0.4)
    nodes = [int(v) for v in rng.permutation(6)[:3]]
    table = enumerated(model, evidence)
    joint = onto(table, nodes).reshape([model.sizes[v] for v in nodes]) * table.sum()
    states, log_value = map_states(model, nodes, evidence)
    assert joint[tuple(states)] == pytest.approx(joint.max(), rel=1e-10)
    assert log_value == pytest.approx(np.log(joint.max()), abs=1e-10)
    tree = JunctionTree(model)
    tree.set_evidence(evidence)
    assert tree.most_probable_of(nodes)[0] == states


def test_an_impossible_subset_is_named():
    with pytest.raises(ImpossibleEvidence) as caught:
        map_states(asia(), [2], {5: one_hot(2, 1), 3: one_hot(2, 0)})
    assert set(caught.value.findings) == {3, 5}


def test_the_widest_bar_comes_first_and_of_equals_the_lower_node():
    """b copies a by half, c and d are alike, e tells nothing."""
    rows = [[0.5, 0.5], [0.1, 0.9]]
    model = Numbers.of([2] * 5, [(), (0,), (0,), (0,), ()], [[0.5, 0.5], [[1, 0], [0, 1]], rows, rows, [0.3, 0.7]])
    bars = tornado(JunctionTree(model), 0, 1)
    assert [b.node for b in bars] == [1, 2, 3, 4]
    assert (bars[0].low, bars[0].high, bars[0].low_state, bars[0].high_state) == (0, 1, 0, 1)
    assert (bars[1].low, bars[1].high) == (pytest.approx(1 / 6), pytest.approx(9 / 14))
    table = bar_table([Bar(1, 0.1, 0.4, 2, 0)], {"a": ("x",), "b": ("u", "v", "w")})
    assert table.to_dict("list") == {
        "node": ["b"],
        "low": [0.1],
        "high": [0.4],
        "low_state": ["w"],
        "high_state": ["u"],
    }


def test_a_state_that_is_excluded_is_reached_by_no_node():
    model = Numbers.of([2, 2], [(), (0,)], [[1.0, 0.0], [[0.5, 0.5], [0.2, 0.8]]])
    (bar,) = tornado(JunctionTree(model), 0, 1)
    assert (bar.low, bar.high) == (0.0, 0.0)
    assert information(JunctionTree(model), 0).tolist() == [0.0, 0.0]


def test_rounding_makes_no_chance_above_one():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = [[1.0, 0.0, 0.0], [0.0, *rng.dirichlet([1, 1])]]
        model = Numbers.of([2, 3], [(), (0,)], [rng.dirichlet([1, 1]), rows])
        for state in (0, 1):
            assert 1 - 1e-12 < tornado(JunctionTree(model), 0, state)[0].high <= 1


@pytest.mark.parametrize("draws", [2, 3, 10])
def test_the_standard_error_is_that_of_a_mean(draws):
    """s/√n with s² = Σ (x − x̄)²/(n − 1), of the risks of the very cases that are drawn."""
    model = Numbers.of([2, 3], [(), (0,)], [[0.6, 0.4], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]])
    joint = np.array([0.6, 0.4])[:, None] * np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    of_case = 1 - joint.max(axis=0) / joint.sum(axis=0)
    risks = of_case[forward_sample(model, draws, 5)[:, 1]]
    mean, error = sampled_risk(model, 0, 1 - np.eye(2), draws=draws, random_state=5)
    assert mean == pytest.approx(risks.mean())
    assert error == pytest.approx(risks.std(ddof=1) / np.sqrt(draws))


def fan() -> Numbers:
    """A target of three states with a cause, two signs and a sign of the first sign."""
    rng = np.random.default_rng(4)
    sizes, parents = [2, 3, 2, 4, 3], [(), (0,), (1,), (1,), (2,)]
    tables = [rng.dirichlet(np.ones(sizes[v]), int(np.prod([sizes[p] for p in ps]))) for v, ps in enumerate(parents)]
    return Numbers.of(sizes, parents, tables, list("abcde"))


def test_memory_decides_between_ways_and_not_between_answers():
    model, loss = fan(), np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.5, 1.0, 0.0], [0.7, 0.7, 0.7]])
    cells = 2 * 2 * 4 * 3  # a, c and d are seen, e tells nothing beside c
    with pytest.raises(MemoryBudgetError, match=r"enumerating 3 nodes \('a', 'c', 'd'\) would take"):
        exact_risk(model, 1, loss, max_memory=16.0 * cells - 1)
    exact = exact_risk(model, 1, loss)
    mean, error = sampled_risk(model, 1, loss, draws=3000, random_state=0)
    assert abs(mean - exact) < 5 * error
    tight = sampled_risk(model, 1, loss, draws=3000, random_state=0, max_memory=600)
    assert tight == pytest.approx((mean, error), rel=1e-9)
    few = sampled_risk(model, 1, loss, [2], draws=3000, random_state=0)
    assert few[0] == pytest.approx(exact_risk(model, 1, loss, [2]), abs=5 * few[1])


def test_a_part_of_a_network_has_roots_where_its_tables_end():
    part, place = _part(fan(), [1, 3], [0, 3])
    assert place == {0: 0, 1: 1, 3: 2}
    assert (part.sizes, part.parents, part.names) == ((2, 3, 4), ((), (0,), (1,)), ("a", "b", "d"))
    assert part.tables[0].tolist() == [0.5, 0.5]
    assert part.tables[2] is fan().tables[3] or part.tables[2].tolist() == fan().tables[3].tolist()
    assert _part(Numbers.of([2], [()], [[1, 1]]), [0], [])[0].names == ()


def test_what_is_no_question_of_risk():
    for observed in ([5], [-1], [0, 9]):
        with pytest.raises(BadValue, match=r"no nodes .*: the network has nodes 0 … 4"):
            exact_risk(fan(), 1, 1 - np.eye(3), observed)
    with pytest.raises(LossError, match=r"shape \(3, 2\); expected \(actions, 3\)"):
        exact_risk(fan(), 1, np.zeros((3, 2)))
    with pytest.raises(LossError, match="not finite"):
        sampled_risk(fan(), 1, np.full((3, 3), np.inf))
    with pytest.raises(BadValue, match="draws=1"):
        sampled_risk(fan(), 1, 1 - np.eye(3), draws=1)
