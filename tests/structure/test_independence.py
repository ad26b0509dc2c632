"""Structures by tests: an oracle gives the true class, degrees of freedom by hand, contradictions have names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import posteriori as po
from posteriori.errors import BadParameter
from posteriori.structure.independence import (
    Arrowheads,
    Independence,
    _follow,
    _max_min,
    _subsets,
    extended,
    neighbours,
    oriented,
    pc,
    skeleton,
)
from posteriori.structure.rules import Rules, Watch
from posteriori.structure.scores import Scored


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
    graph = oriented(skeleton(judge, rules, QUIET), rules, QUIET)
    assert len(graph.conflicts) == 1
    assert "was asked for, but" in graph.conflicts[0]
    dag = po.Dag(names, [(names[u], names[v]) for u, v in extended(graph, QUIET)])
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


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_information_does_not_depend_on_the_unit_of_weights(size):
    rng = np.random.default_rng(0)
    codes, w = rng.integers(0, 2, (3, 60)).astype(np.uint8), rng.random(60)
    one, other = (Independence(Scored(codes, (2, 2, 2), weights=w * s), "mi", 0.01) for s in (1.0, size))
    np.testing.assert_allclose(other(0, (2,), [1]), one(0, (2,), [1]), rtol=1e-6)


def test_no_freedom_is_no_evidence_and_what_is_too_small_for_a_number_is_told_by_g():
    codes = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], np.uint8)
    assert Independence(Scored(codes, (2, 2, 2)), alpha=0.2)(0, (), [1, 2]).tolist() == [0.8, 0.8]
    many = np.tile(np.array([[0, 1], [0, 1]], np.uint8), (1, 2000))
    found = Independence(Scored(many, (2, 2)), alpha=0.2)(0, (), [1])
    assert found.tolist() == pytest.approx([-2 * 4000 * np.log(2) - 1.0])


def pattern(lines: str, arrows: str, names: str = "abcd") -> Arrowheads:
    into = np.zeros((len(names),) * 2, bool)
    for u, v in (*lines.split(), *(e[::-1] for e in lines.split()), *arrows.split()):
        into[names.index(u), names.index(v)] = True
    return Arrowheads(into, tuple(names))


@pytest.mark.parametrize(
    ("lines", "arrows", "follows"),
    [
        ("bc", "ab", "ab bc"),  # or a → b ← c were new
        ("bc", "ab ac", "ab ac"),  # a and c are joined
        ("ac", "ab bc", "ab ac bc"),  # or a cycle
        ("ab ad ac", "bc dc", "ac bc dc"),  # c → a would close a cycle, or join b and d in a V-structure
        ("ab ad ac bd", "bc dc", "bc dc"),  # b and d are joined
        ("ab ac ad", "db bc", "ac bc db"),  # the same along d → b → c, d and c apart
        ("ab bc cd", "", ""),
    ],
)
def test_what_follows_from_arrows(lines, arrows, follows):
    """Meek's four rules: no new V-structure and no cycle."""
    graph = pattern(lines, arrows)
    _follow(graph, QUIET)
    assert sorted("abcd"[u] + "abcd"[v] for u, v in graph.arrows()) == sorted(follows.split())
    left = {frozenset(e) for e in lines.split()} - {frozenset(e) for e in follows.split()}
    assert {frozenset("abcd"[v] for v in e) for e in graph.lines()} == left
    assert all(u < v for u, v in graph.lines())


def test_a_pattern_without_a_dag_is_named_by_the_node_that_ends_it():
    square = pattern("ab bc cd ad", "")  # no chord: some V-structure has to be
    arrows = extended(square, QUIET)
    assert square.conflicts == ["no DAG has these arrows and V-structures only: a was made a sink"]
    assert arrows == [(1, 0), (3, 0), (2, 1), (2, 3)] or len(arrows) == 4
    ring = pattern("", "ab bc ca", "abc")
    assert {frozenset(e) for e in extended(ring, QUIET)} == {frozenset(e) for e in ((0, 1), (1, 2), (0, 2))}
    assert len(ring.conflicts) == 1
    chain = pattern("ab bc", "", "abc")
    assert extended(chain, QUIET) == [(1, 0), (2, 1)]
    assert chain.conflicts == []


def test_the_best_of_the_sets_that_separate_is_kept():
    """Of one size the surest, of equals the first; a smaller one before all; the surest V-structure is believed first."""
    worth = {(0, 1): {(2,): 0.25, (3,): 0.5, (4,): 0.5}}

    def judge(x, given, candidates):
        return np.array([worth.get((min(x, z), max(x, z)), {}).get(tuple(given), -1.0) for z in candidates])

    rules = Rules.of("abcde")
    found = skeleton(judge, rules, QUIET)
    assert found.by == {(0, 1): (0.5, (3,))}
    assert np.argwhere(~found.joined).tolist() == sorted([[0, 1], [1, 0], *([v, v] for v in range(5))])
    graph = oriented(found, rules, QUIET)
    assert graph.conflicts == []
    assert {(0, 2), (1, 2), (0, 4), (1, 4)} <= set(graph.arrows())  # 3 separates, 2 and 4 do not
    assert (0, 3) not in graph.arrows()
    worth[0, 1][()] = 0.1
    assert skeleton(judge, rules, QUIET).by == {(0, 1): (0.1, ())}


def test_a_required_pair_is_never_parted_and_each_size_is_told():
    said, asked = [], []

    def judge(x, given, candidates):
        asked.append((x, tuple(given), tuple(candidates)))
        return np.ones(len(candidates))

    rules = Rules.of("abc", required=[("a", "b")], forbidden=[("b", "c"), ("c", "b")])
    found = skeleton(judge, rules, Watch(said.append, None))
    assert np.argwhere(found.joined).tolist() == [[0, 1], [1, 0]]
    assert asked == [(0, (), (2,))]  # a and b are required, b and c barred
    assert said == ["0 nodes given: 1 pairs joined"]
    assert oriented(found, rules, QUIET).arrows() == [(0, 1)]
    skeleton(judge, Rules.of("ab", forbidden=[("a", "b"), ("b", "a")]), Watch(said.append, None))
    assert len(said) == 1  # nothing was joined, nothing is told
    late = Watch(None, 0.0)
    whole = skeleton(judge, Rules.of("abc"), late)
    assert whole.by == {}
    assert not late.finished


def test_parents_and_children_are_those_that_nothing_explains():
    """t – a, t – b; c leans on t through a alone; d is strongest at first but explained by a and b together."""
    told = {"a": {}, "b": {("a",): 0.0}, "c": {("a",): 0.5}, "d": {("a", "b"): 0.5}}  # 0 is not independent yet
    first = {"a": -3.0, "b": -2.0, "c": -1.0, "d": -4.0}

    def judge(t, given, candidates):
        names = ["tabcd"[v] for v in candidates]
        known = tuple(sorted("tabcd"[v] for v in given))
        return np.array([told[n].get(known, -1.0 if known else first[n]) for n in names])

    assert _max_min(judge, 0, [1, 2, 3, 4], QUIET) == [1, 2]
    assert _max_min(judge, 0, [], QUIET) == []
    assert [*_subsets([1, 2, 3], 2)] == [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3)]
    assert [*_subsets([1], 3)] == [(), (1,)]


@pytest.mark.parametrize("calls", range(6))
@pytest.mark.parametrize("by_clock", [False, True])
def test_ended_inside_the_first_level_nothing_untested_is_joined(calls, by_clock, monkeypatch):
    """a – b and c – d depend; the tests of the others are ended after so many calls, each of a row of pairs."""
    names, pairs, met = tuple("abcdef"), [{0, 1}, {2, 3}], set()
    watch = Watch(None, 1.0)

    def judge(x, given, candidates):
        if len(met) == calls:
            if not by_clock:
                raise KeyboardInterrupt
            monkeypatch.setattr(watch, "_end", 0.0)  # this call still counts
        met.add(x)
        return np.array([-1.0 if {x, z} in pairs else 0.5 for z in candidates])

    arrows, graph = pc(judge, Rules.of(names, required=[("f", "e")]), watch)
    assert {frozenset(e) for e in arrows} == {frozenset({5, 4}), *(frozenset(p) for p in pairs if min(p) in met)}
    assert (watch.finished, graph.conflicts) == (calls > 3, [])
    assert (5, 4) in arrows


def test_ended_early_pairs_parted_stay_parted_and_the_rules_alone_direct():
    """Of a chain a – b – c the second level parts a and c; then it ends, and no V-structure is made."""
    said = {frozenset("ad"): (), frozenset("bd"): (), frozenset("cd"): (), frozenset("ac"): ("b",)}

    def judge(x, given, candidates):
        if x == 1 and given:
            raise KeyboardInterrupt
        known = tuple("abcd"[g] for g in given)
        return np.array([0.5 if said.get(frozenset(("abcd"[x], "abcd"[z]))) == known else -1.0 for z in candidates])

    watch = Watch(None, None)
    arrows, graph = pc(judge, Rules.of("abcd", forbidden=[("b", "a")]), watch)
    assert (sorted(map(sorted, arrows)), watch.finished) == ([[0, 1], [1, 2]], False)
    assert (graph.arrows(), graph.lines()) == ([(0, 1)], [(1, 2)])
    found = po.learn_structure({k: [0, 1] * 40 for k in "abc"}, method="pc", time_limit=0)
    assert (found.edges, found.finished, np.isnan(found.score)) == ((), False, True)


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_ended_early_neighbours_are_what_one_of_two_has_said(calls):
    asked = []

    def judge(t, given, candidates):
        if len({*asked, t}) > calls:
            raise KeyboardInterrupt
        asked.append(t)
        return np.array([-1.0 if {t, x} in ({0, 1}, {1, 2}, {2, 3}) else 0.5 for x in candidates])

    watch = Watch(None, None)
    near = neighbours(judge, Rules.of("abcd"), watch)
    told = [(0, 1), (1, 2), (2, 3)][:calls]
    assert (np.argwhere(np.triu(near)).tolist(), watch.finished) == ([list(p) for p in told], False)


@pytest.mark.parametrize("method", ["pc", "mmhc"])
@pytest.mark.parametrize("holes", [False, True])
def test_columns_that_follow_from_others_are_named(method, holes):
    rng = np.random.default_rng(0)
    a, free = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    noisy = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), a)
    a = np.where(rng.random(300) < 0.1, None, a.astype(object)) if holes else a
    renamed = [None if v is None else "xyz"[v] for v in a]
    data = {"a": a, "b": renamed, "c": [v == 1 if v is not None else None for v in a], "noisy": noisy, "free": free}
    with pytest.warns(UserWarning, match=r"^'a', 'b' say the same; 'c' is a function of 'a', 'b': given") as met:
        po.learn_structure({**data, "one": [7] * 300}, method=method)
    assert len(met) == 1
    assert met[0].filename == __file__
    six = {f"c{j}": noisy for j in range(6)}
    with pytest.warns(UserWarning, match="^'c0', 'c1', 'c2', 'c3', 'c4', 'c5' say the same: "):
        po.learn_structure(six, method=method)
    with pytest.warns(UserWarning, match=r"(.* is a function of 'k'; ){10}…: "):
        po.learn_structure(
            {"k": np.arange(300), **{f"r{j}": rng.integers(0, 2, 300) for j in range(12)}}, method=method
        )
    po.learn_structure({"noisy": noisy, "free": free}, method=method)  # no warning
