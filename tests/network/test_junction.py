"""The exact engines agree with each other, with enumeration and with published values; one tree for all questions."""

from __future__ import annotations

import multiprocessing
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadValue, ImpossibleEvidence, MemoryBudgetError
from posteriori.network.elimination import eliminate
from posteriori.network.junction import Engine, JunctionTree, Marginals
from posteriori.network.numbers import Numbers, one_hot

from .making import ASIA, asia, enumerated, findings, forward, onto, random_network, seeds

NODE = {name: v for v, name in enumerate(ASIA)}
yes = one_hot(2, 0)
close = {"rtol": 1e-12, "atol": 1e-14}


@pytest.mark.parametrize(("found", "p"), [((), 0.055), (("xray",), 0.48871), (("xray", "asia"), 0.37149)])
def test_asia_has_its_published_values(found, p):
    evidence = {NODE[f]: yes for f in found}
    tree = JunctionTree(asia())
    tree.set_evidence(evidence)
    assert tree.marginals()[NODE["lung"]][0] == pytest.approx(p, abs=5e-6)
    assert eliminate(asia(), [NODE["lung"]], evidence)[0][0] == pytest.approx(p, abs=5e-6)


@given(seed=seeds, n=st.integers(1, 8), zeros=st.sampled_from([0.0, 0.4]), share=st.sampled_from([0.0, 0.3, 0.8]))
def test_engines_agree_with_enumeration(seed, n, zeros, share):
    rng = np.random.default_rng(seed)
    model = random_network(rng, n, zeros=zeros)
    tree = JunctionTree(model)
    for _ in range(3):  # the second and third evidence are incremental changes of the first
        evidence = findings(model, rng, share)
        table = enumerated(model, evidence)
        tree.set_evidence(evidence)
        for v, marginal in enumerate(tree.marginals()):
            np.testing.assert_allclose(marginal, onto(table, [v]), **close)
        assert tree.log_probability() == pytest.approx(np.log(table.sum()), rel=1e-12, abs=1e-12)
        nodes = [int(v) for v in rng.permutation(n)[: rng.integers(1, 4)]]
        joint, log_evidence = eliminate(model, nodes, evidence)
        np.testing.assert_allclose(joint, onto(table, nodes), **close)
        np.testing.assert_allclose(tree.joint(nodes), onto(table, nodes), **close)
        assert log_evidence == pytest.approx(np.log(table.sum()), rel=1e-12, abs=1e-12)
        states, log_value = tree.most_probable()
        assert table[tuple(states)] == pytest.approx(table.max(), rel=1e-12)
        assert log_value == pytest.approx(np.log(table.max()), rel=1e-12, abs=1e-12)


@given(seed=seeds, zeros=st.sampled_from([0.0, 0.3]))
def test_incremental_change_is_full_propagation(seed, zeros):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 40, zeros=zeros, near=8)
    tree = JunctionTree(model)
    evidence = findings(model, rng, 0.2)
    for _ in range(6):
        other = findings(model, rng, 0.2)
        for v in rng.permutation(len(model))[:2]:  # retract, add or change one or two findings
            evidence = {u: x for u, x in evidence.items() if u != v} | ({v: other[v]} if v in other else {})
        fresh = JunctionTree(model)
        tree.set_evidence(evidence)
        fresh.set_evidence(evidence)
        try:
            expected = fresh.marginals()
        except ImpossibleEvidence:
            with pytest.raises(ImpossibleEvidence):
                tree.marginals()
            continue
        for ours, theirs in zip(tree.marginals(), expected):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-14)
        assert tree.log_probability() == pytest.approx(fresh.log_probability(), rel=1e-12, abs=1e-12)


def test_batch_is_a_loop_and_threads_change_nothing():
    rng = np.random.default_rng(5)
    model = random_network(rng, 30, near=6)
    cases = np.array([forward(model, rng) for _ in range(70)], np.int32)
    cases[rng.random(cases.shape) < 0.7] = -1
    targets = [3, 17, 29]
    tree = JunctionTree(model)
    one, two = tree.batch(cases, targets, n_jobs=1), tree.batch(cases, targets, n_jobs=2)
    for a, b in zip(one, two):
        assert np.array_equal(a, b)
    for row, case in enumerate(cases):
        tree.set_evidence({v: one_hot(model.sizes[v], code) for v, code in enumerate(case) if code >= 0})
        expected = tree.marginals()
        for t, answer in zip(targets, one):
            np.testing.assert_allclose(answer[row], expected[t], rtol=1e-10, atol=1e-14)


def test_a_thousand_nodes_with_much_evidence_do_not_underflow():
    rng = np.random.default_rng(0)
    model = random_network(rng, 1000, max_parents=2, near=4)
    tree = JunctionTree(model)
    evidence = findings(model, rng, 0.9, soft=False)
    tree.set_evidence(evidence)
    marginals = tree.marginals()
    assert np.isfinite(tree.log_probability())
    assert tree.log_probability() < -300
    np.testing.assert_allclose([m.sum() for m in marginals], 1.0, rtol=1e-12)
    assert eliminate(model, [], evidence)[1] == pytest.approx(tree.log_probability(), rel=1e-12)


def test_a_star_of_two_thousand_contradicting_findings_is_exact():
    # 1,000 leaves favour state 0 tenfold and the next 1,000 state 1: either product alone is 10^−1000
    n = 2000
    rows = [0.9, 0.1, 0.09, 0.91], [0.09, 0.91, 0.9, 0.1]
    model = Numbers.of([2] * (n + 1), [(), *[(0,)] * n], [[0.3, 0.7], *[rows[i >= n // 2] for i in range(n)]])
    evidence = {v: yes for v in range(1, n + 1)}
    tree = JunctionTree(model)
    tree.set_evidence(evidence)
    np.testing.assert_allclose(tree.marginals()[0], [0.3, 0.7], rtol=1e-9)
    np.testing.assert_allclose(eliminate(model, [0], evidence)[0], [0.3, 0.7], rtol=1e-9)
    assert tree.log_probability() == pytest.approx(n / 2 * np.log(0.9 * 0.09), rel=1e-12)
    np.testing.assert_allclose(tree.batch(np.array([[-1] + [0] * n], np.int32), [0])[0][0], [0.3, 0.7], rtol=1e-9)


def test_a_scope_of_more_than_64_axes_is_no_limit():
    n = 70  # 69 parents, all but three with a single state
    sizes = [1] * (n - 4) + [2, 3, 2, 2]
    rows = np.random.default_rng(0).dirichlet(np.ones(2), 12)
    model = Numbers.of(sizes, [()] * (n - 1) + [tuple(range(n - 1))], [np.ones(s) / s for s in sizes[:-1]] + [rows])
    tree = JunctionTree(model)
    np.testing.assert_allclose(tree.marginals()[-1], rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(eliminate(model, [n - 1], {})[0], rows.mean(axis=0), rtol=1e-12)


def test_a_clique_over_the_budget_is_refused_with_its_size():
    n = 40
    grid = Numbers(
        (4,) * n,
        ((),) * 20 + tuple(((i, i + 1) if i < 19 else (0, 19)) for i in range(20)),
        tuple(np.ones(4) for _ in range(n)),
    )
    dense = Numbers(grid.sizes, tuple(tuple(range(max(0, v - 12), v)) for v in range(n)), grid.tables)
    with pytest.raises(MemoryBudgetError, match=r"cells over nodes.*GiB.*Gibbs"):
        JunctionTree(dense, max_memory=1 << 20)
    with pytest.raises(MemoryBudgetError, match="sampling"):
        eliminate(random_network(np.random.default_rng(1), 20), [0, 3, 5, 7], {}, max_memory=64)


def test_impossible_evidence_lists_a_minimal_conflict():
    tree = JunctionTree(asia())
    found = {NODE["either"]: one_hot(2, 1), NODE["lung"]: yes, NODE["smoke"]: yes, NODE["dysp"]: yes}
    tree.set_evidence(found)
    for ask in (tree.marginals, tree.most_probable, lambda: eliminate(asia(), [0], found)):
        with pytest.raises(ImpossibleEvidence) as caught:
            ask()
        assert set(caught.value.findings) == {NODE["either"], NODE["lung"]}
    assert tree.log_probability() == -np.inf
    tree.set_evidence({NODE["xray"]: yes})
    assert tree.marginals()[NODE["lung"]][0] == pytest.approx(0.48871, abs=5e-6)
    case = np.full((1, 8), -1, np.int32)
    case[0, [NODE["either"], NODE["lung"]]] = 1, 0
    with pytest.raises(ImpossibleEvidence):
        tree.batch(case, [0])
    assert tree.marginals()[NODE["lung"]][0] == pytest.approx(0.48871, abs=5e-6)


def test_bad_cases_are_named():
    tree = JunctionTree(asia())
    with pytest.raises(BadValue, match="code 2 for node 3"):
        tree.batch(np.array([[0, 0, 0, 2, 0, 0, 0, 0]]), [0])
    with pytest.raises(BadValue, match="shape"):
        tree.batch(np.zeros((2, 3)), [0])


def test_a_pickled_tree_keeps_its_evidence():
    tree = JunctionTree(asia())
    tree.set_evidence({NODE["xray"]: yes})
    again = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(again.marginals()[NODE["lung"]], tree.marginals()[NODE["lung"]])


def _in_child(tree, queue):
    queue.put([m.tolist() for m in tree.batch(np.full((40, 8), -1, np.int32), [3], n_jobs=2)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking a process that has threads is what is tested
def test_a_forked_child_answers():
    tree = JunctionTree(asia())
    here = [m.tolist() for m in tree.batch(np.full((40, 8), -1, np.int32), [3], n_jobs=2)]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(tree, queue))
    child.start()
    assert queue.get(timeout=60) == here
    child.join()


def uneven() -> Numbers:
    """Three, two and four states; node 2 hangs on the others, node 3 on none."""
    rng = np.random.default_rng(2)
    tables = [rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(4), 6), [0.25, 0.75]]
    return Numbers.of([3, 2, 4, 2], [(), (), (1, 0), ()], tables, ["a", "b", "c", "d"])


def test_marginals_are_a_sequence():
    flat = np.arange(6.0)
    some = Marginals(flat, [0, 2, 3, 6])
    assert len(some) == 3
    assert [m.tolist() for m in some] == [some[i].tolist() for i in range(3)] == [[0, 1], [2], [3, 4, 5]]
    assert [m.tolist() for m in some[1:]] == [[2], [3, 4, 5]]
    assert [m.tolist() for m in some[::-2]] == [[3, 4, 5], [0, 1]]
    assert some[-1].tolist() == [3, 4, 5]
    assert some.flat is flat
    with pytest.raises(IndexError):
        some[3]


def test_one_finding_is_changed_and_the_others_stay():
    model, soft = uneven(), np.array([0.2, 0.9, 0.0, 0.4])
    tree = JunctionTree(model)
    tree.set_evidence({0: [0, 1, 0]})
    before = tree.evidence
    tree.change(2, soft)
    assert list(before) == [0]
    assert {v: x.tolist() for v, x in tree.evidence.items()} == {0: [0, 1, 0], 2: soft.tolist()}
    for v, m in enumerate(tree.marginals()):
        assert m == pytest.approx(onto(enumerated(model, {0: np.eye(3)[1], 2: soft}), [v]))
    tree.change(0, None)
    tree.change(3, None)
    assert list(tree.evidence) == [2]
    assert tree.log_probability() == pytest.approx(np.log(enumerated(model, {2: soft}).sum()))
    tree.evidence.clear()
    assert list(tree.evidence) == [2]
    tree.reset()
    assert tree.log_probability() == pytest.approx(np.log(enumerated(model, {2: soft}).sum()))


def test_other_evidence_for_the_length_of_a_block():
    model, tree = uneven(), JunctionTree(uneven())
    tree.set_evidence({0: [0, 0, 1]})
    with tree.asked({1: [1, 0]}):
        assert tree.marginals()[0] == pytest.approx(onto(enumerated(model, {}), [0]))
    assert list(tree.evidence) == [0]
    with pytest.raises(KeyError, match="meanwhile"), tree.asked({1: [1, 0]}):
        raise KeyError("meanwhile")
    assert list(tree.evidence) == [0]
    assert tree.marginals()[0].tolist() == [0, 0, 1]


@pytest.mark.parametrize("held", [{}, {1: 1}, {0: 2, 3: 0}])
def test_joints_and_bests_of_a_tree_that_may_be_held(held):
    model = uneven()
    evidence = {v: 3.0 * one_hot(model.sizes[v], k) for v, k in held.items()} | {2: np.array([0.1, 0.0, 0.7, 0.3])}
    tree = JunctionTree(model, held=held)
    tree.set_evidence(evidence)
    table = enumerated(model, evidence)
    for nodes in ([], [2], [2, 0], [0, 3], [3, 2, 1, 0]):
        assert tree.joint(nodes) == pytest.approx(onto(table, nodes) if nodes else [1.0])
    assert tree.log_probability() == pytest.approx(np.log(table.sum()))
    states, value = tree.most_probable()
    assert (tuple(states), value) == (np.unravel_index(table.argmax(), table.shape), pytest.approx(np.log(table.max())))
    small = table.sum(axis=(1, 3))
    best, value = tree.most_probable_of([2, 0])
    assert (best[1], best[0]) == np.unravel_index(small.argmax(), small.shape)
    assert value == pytest.approx(np.log(small.max()))
    again = pickle.loads(pickle.dumps(tree))
    assert again.joint([2, 0]) == pytest.approx(onto(table, [2, 0]))
    drawn = tree.sample(4000, random_state=0)
    assert table[tuple(drawn.T)].min() > 0
    assert np.abs(np.bincount(drawn[:, 2], minlength=4) / 4000 - onto(table, [2])).max() < 0.04
    assert tree.sample(0).shape == (0, 4)
    with pytest.raises(BadValue, match="name a node twice"):
        tree.joint([2, 2])
    with pytest.raises(BadValue, match="n=-1"):
        tree.sample(-1)


def test_other_tables_in_the_same_tree():
    model, tree = uneven(), JunctionTree(uneven())
    assert tree.marginals()[3].tolist() == [0.25, 0.75]
    other = Numbers.of(model.sizes, model.parents, [*model.tables[:3], [0.5, 0.5]])
    tree.refill(other)
    assert tree.marginals()[3].tolist() == [0.5, 0.5]
    assert tree.model is other
    assert tree.joint([0, 3]) == pytest.approx(np.outer(model.tables[0], [0.5, 0.5]).ravel())


def test_cases_at_the_border_of_their_codes():
    tree = JunctionTree(uneven())
    fine = np.array([[2, 1, -1, -1], [-1, -1, 3, 1]])
    found = tree.batch(fine, [2, 0])
    assert [m.shape for m in found] == [(2, 4), (2, 3)]
    assert found[0][1].tolist() == [0, 0, 0, 1]
    assert found[1][1] == pytest.approx(onto(enumerated(uneven(), {2: np.eye(4)[3]}), [0]))
    for row, column, code, most in ((1, 0, 3, 2), (0, 3, -2, 1), (1, 2, 4, 3)):
        bad = fine.copy()
        bad[row, column] = code
        with pytest.raises(
            BadValue, match=f"case {row} has code {code} for node {column}, which has states 0 … {most}"
        ):
            tree.batch(bad, [0])
    with pytest.raises(BadValue, match=r"shape \(4,\); expected \(n, 4\)"):
        tree.batch(np.zeros(4), [0])
    never = Numbers.of([2, 2], [(), (0,)], [[0.5, 0.5], [[1, 0], [0.5, 0.5]]])
    with pytest.raises(ImpossibleEvidence) as told:
        JunctionTree(never).batch(np.array([[0, 0], [1, 1], [0, 1], [0, 1]]), [0])
    assert (told.value.row, set(told.value.findings)) == (2, {0, 1})


def test_a_refusal_names_the_largest_clique():
    model = uneven()
    with pytest.raises(
        MemoryBudgetError, match=r"largest clique has 24 cells over nodes .*a.*b.*c.* budget of 100 bytes"
    ):
        JunctionTree(model, max_memory=100)
    tree = JunctionTree(model)
    assert sorted(map(sorted, tree.cliques)) == [[0, 1, 2], [3]]
    with pytest.raises(MemoryBudgetError):
        tree.refuse_over(100)


def made():
    net = po.networks.asia()
    return Engine(net._model, net._states), net


def test_the_tree_is_compiled_once_and_holds_the_evidence():
    engine, net = made()
    with engine.tree({"smoke": "yes"}, None) as first:
        assert first.marginals()[net.nodes.index("lung")][0] == pytest.approx(0.1)
    with engine.tree(None, None) as second:
        assert second is first
        assert second.marginals()[net.nodes.index("lung")][0] == pytest.approx(0.055)
    with engine.tree(None, 10**9) as third:
        assert third is first
        assert third.max_memory == 10**9
    with pytest.raises(MemoryBudgetError), engine.tree(None, 1.0):
        pass
    assert engine.findings({"smoke": None}) == {}
    assert engine.findings(None) == {}


def test_where_the_whole_is_too_large_what_is_known_may_be_held():
    engine, net = made()
    known = {n: net.states(n)[0] for n in net.nodes if n not in ("lung", "bronc")}
    exact = net.marginals(known)["lung"]["yes"]
    with engine.tree(known, 300.0, held=True) as tree:
        assert tree.marginals()[net.nodes.index("lung")][0] == pytest.approx(exact)
    with pytest.raises(MemoryBudgetError), engine.tree(known, 300.0):
        pass
    with pytest.raises(MemoryBudgetError), engine.tree({}, 300.0, held=True):
        pass


def test_cases_by_the_tree_or_one_by_one():
    engine, net = made()
    codes = np.full((3, 8), -1, dtype=np.int32)
    codes[1, net.nodes.index("smoke")] = 0
    codes[2, net.nodes.index("xray")] = 0
    lung = net.nodes.index("lung")
    wanted = [net.marginals(e)["lung"]["yes"] for e in ({}, {"smoke": "yes"}, {"xray": "yes"})]
    assert engine.batch(codes, [lung], None, None)[0][:, 0] == pytest.approx(wanted)
    small, _ = made()
    assert small.batch(codes, [lung], None, 300.0)[0][:, 0] == pytest.approx(wanted)
    codes[1, net.nodes.index("either")] = 1
    codes[1, net.nodes.index("tub")] = 0
    with pytest.raises(ImpossibleEvidence, match=r"row 1 of the cases has probability zero: .*tub='yes'") as told:
        engine.batch(codes, [lung], None, None)
    assert told.value.row == 1
    assert set(told.value.findings) == {"tub", "either"}


def test_conflicts_are_told_by_name():
    engine, _ = made()
    evidence = {"tub": "yes", "either": "no", "smoke": "yes", "xray": None}
    with pytest.raises(ImpossibleEvidence, match="contradict each other; take one out") as told, engine.named(evidence):
        raise ImpossibleEvidence("nobody knows which", {})
    assert set(told.value.findings) == {"tub", "either"}
    said = "the evidence has probability zero: tub='yes' contradicts the tables"
    with pytest.raises(ImpossibleEvidence, match=said), engine.named({"tub": "yes"}):
        raise ImpossibleEvidence("by number", {1: None})
    said = "smoke='yes' contradicts"
    with pytest.raises(ImpossibleEvidence, match=said), engine.named({"smoke": "yes", "xray": None}):
        raise ImpossibleEvidence("possible after all", {})
