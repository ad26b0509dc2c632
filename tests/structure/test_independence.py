"""Structures by tests: an oracle gives the true class, degrees of freedom by hand, contradictions have names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.structure.independence import Independence, extended, neighbours, oriented, pc, skeleton
from posteriori.structure.rules import Rules
from posteriori.structure.scores import Scored
from posteriori.structure.watching import Watch


def random_dag(seed: int, d: int = 7) -> po.Dag:
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in rng.permutation(d)]
    edges = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if rng.random() < 0.35]
    return po.Dag(sorted(names), edges)


def oracle(dag: po.Dag):
    def judge(x, given, candidates):
        nodes = dag.nodes
        return np.array(
            [1.0 if dag.d_separated(nodes[x], nodes[z], [nodes[s] for s in given]) else -1.0 for z in candidates]
        )

    return judge


def same_class(a, b) -> bool:
    def lines(some):
        return {frozenset(e) for e in some}

    return set(a.directed) == set(b.directed) and lines(a.undirected) == lines(b.undirected)


QUIET = Watch(lambda _: None, None)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000))
def test_an_oracle_gives_the_true_class(seed):
    dag = random_dag(seed)
    arrows, graph = pc(oracle(dag), Rules.of(dag.nodes), QUIET)
    assert graph.conflicts == []
    assert same_class(graph.named(), dag.equivalence_class())
    found = po.Dag(dag.nodes, [(dag.nodes[u], dag.nodes[v]) for u, v in arrows])
    assert found.equivalent_to(dag)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000))
def test_what_is_known_of_directions_is_used(seed):
    dag = random_dag(seed)
    told = dag.edges[: len(dag.edges) // 2]
    rules = Rules.of(dag.nodes, required=told)
    arrows, graph = pc(oracle(dag), rules, QUIET)
    assert graph.conflicts == []
    assert set(told) <= set(graph.named().directed)
    assert set(graph.named().directed) <= set(dag.edges)  # nothing is directed that could be otherwise
    assert set(told) <= {(dag.nodes[u], dag.nodes[v]) for u, v in arrows}


@settings(max_examples=30)
@given(seed=st.integers(0, 100_000))
def test_max_min_neighbours_hold_the_true_ones(seed):
    dag = random_dag(seed, d=6)
    near = neighbours(oracle(dag), Rules.of(dag.nodes), QUIET)
    for u, v in dag.edges:
        assert near[dag.index[u], dag.index[v]]
    assert (near == near.T).all()


def test_g2_is_the_likelihood_ratio_and_empty_values_take_no_freedom():
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, 3, 200), rng.integers(0, 2, 200), rng.integers(0, 2, 200)], np.uint8)
    judge = Independence(Scored(codes, (4, 2, 2)))  # value 3 of the first never occurs
    table = np.zeros((3, 2))
    np.add.at(table, (codes[0], codes[1]), 1)
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert expected.dof == 2
    assert judge(0, (), [1])[0] + 0.05 == pytest.approx(expected.pvalue, rel=1e-9)
    information = Independence(Scored(codes, (4, 2, 2)), "mi", 0.01)
    assert information(0, (), [1])[0] == pytest.approx(0.01 - expected.statistic / 400)


def test_conflicts_have_names():
    """Separations that no graph has: a ⊥ c without b, b ⊥ d without c, in a chain of lines a – b – c – d."""
    names = tuple("abcd")
    told = {frozenset("ac"): (), frozenset("bd"): (), frozenset("ad"): ()}

    def judge(x, given, candidates):
        return np.array(
            [1.0 if told.get(frozenset((names[x], names[z]))) == tuple(given) else -1.0 for z in candidates]
        )

    rules = Rules.of(names)
    graph = oriented(skeleton(judge, rules, QUIET), rules)
    assert len(graph.conflicts) == 1
    assert "was asked for, but" in graph.conflicts[0]
    dag = po.Dag(names, [(names[u], names[v]) for u, v in extended(graph)])
    assert {frozenset(e) for e in dag.edges} == {frozenset("ab"), frozenset("bc"), frozenset("cd")}


@pytest.mark.parametrize("test", ["g2", "mi"])
def test_on_rows_of_asia(test):
    net = po.networks.asia()
    rows = net.sample(20_000, random_state=0)
    found = po.learn_structure(rows, method="pc", test=test, alpha=0.01 if test == "g2" else 0.002)
    true = {frozenset(e) for e in net.edges}
    assert len({frozenset(e) for e in found.edges} ^ true) <= 3
    assert found.finished
    if not found.conflicts:
        assert same_class(found.cpdag, found.dag.equivalence_class())
    mixed = po.learn_structure(rows, method="mmhc", alpha=0.01)
    assert len({frozenset(e) for e in mixed.edges} ^ true) <= 3
    assert mixed.score <= po.learn_structure(rows, method="exact").score + 1e-6
    order = list(reversed(rows.columns))
    moved = po.learn_structure(rows[order], method="pc", test=test, alpha=0.01 if test == "g2" else 0.002)
    assert {frozenset(e) for e in moved.edges} == {frozenset(e) for e in found.edges}


def test_rules_and_missing_cells():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 500)
    b = np.where(rng.random(500) < 0.9, a, 1 - a)
    data = {"a": np.where(rng.random(500) < 0.1, None, a.astype(object)), "b": b, "c": rng.integers(0, 2, 500)}
    for method in ("pc", "mmhc"):
        assert {frozenset(e) for e in po.learn_structure(data, method=method, alpha=0.001).edges} == {frozenset("ab")}
        assert po.learn_structure(data, method=method, tiers=["b", "a"], alpha=0.001).edges == (("b", "a"),)
        free = po.learn_structure(data, method=method, forbidden=[("a", "b"), ("b", "a")], alpha=0.001)
        assert free.edges == ()
        assert ("c", "a") in po.learn_structure(data, method=method, required=[("c", "a")], alpha=0.001).edges
    for test, alpha in (("chi", 0.05), (None, 0.05), ("g2", 0), ("g2", 1.5), ("mi", "lots")):
        with pytest.raises(BadParameter, match="Got"):
            po.learn_structure(data, method="pc", test=test, alpha=alpha)


@pytest.mark.parametrize("alpha", [0, 1, 0.0, 1.0, -1e-9, 1.1, True, "x", None, float("nan")])
def test_alpha_lies_between_0_and_1_and_is_neither(alpha):
    codes = np.array([[0, 0], [1, 1]], dtype=np.uint8)
    with pytest.raises(BadParameter, match="alpha is a number between 0 and 1"):
        Independence(Scored(codes, (2, 2)), alpha=alpha)
