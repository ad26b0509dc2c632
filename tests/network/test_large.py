"""Networks that are large: planned first, refused with figures, answered where evidence makes them small."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

import posteriori as po
from posteriori.errors import BadParameter, BadValue, InvalidNetwork, MemoryBudgetError, PosterioriError
from posteriori.network.elimination import case_posteriors, eliminate, posterior, requisite
from posteriori.network.junction import JunctionTree
from posteriori.network.numbers import Numbers, hard_states

from .making import enumerated, findings, onto, random_network, seeds


def grown(parents: list[tuple[int, ...]], seed: int = 0) -> po.BayesNet:
    """A network of two states a node over a graph that is given by its parents."""
    rng = np.random.default_rng(seed)
    tables = {f"x{v}": rng.dirichlet(np.ones(2), [2] * len(ps)) for v, ps in enumerate(parents)}
    return po.BayesNet([(f"x{p}", f"x{v}") for v, ps in enumerate(parents) for p in ps], tables)


def dense(n: int, k: int) -> po.BayesNet:
    rng = np.random.default_rng(1)
    return grown([tuple(rng.permutation(v)[:k].tolist()) for v in range(n)])


def test_a_dense_network_is_refused_with_figures_and_answered_with_evidence():
    net = dense(400, 6)
    for ask in (
        lambda: net.marginals(),
        lambda: net.most_probable(),
        lambda: net.query("x399"),
        lambda: net.tornado("x3"),
    ):
        with pytest.raises(MemoryBudgetError, match=r"TiB.*more evidence"):
            ask()
    cases = net.sample(6, random_state=0)
    row = cases.iloc[0].to_dict()
    known = {f"x{v}": row[f"x{v}"] for v in range(360)}
    found = net.marginals(known)
    assert found["x3"] == {"0": float(row["x3"] == "0"), "1": float(row["x3"] == "1")}
    assert net.query("x399", known)["1"] == pytest.approx(found["x399"]["1"], abs=1e-12)
    assert net.most_probable(known)["x3"] == row["x3"]
    assert set(net.sample(3, known, random_state=0)["x3"]) == {row["x3"]}
    p = net.predict_proba(cases, "x5")
    for i in range(2):
        rest = {n: s for n, s in cases.iloc[i].to_dict().items() if n != "x5"}
        assert net.query("x5", rest).values == pytest.approx(p[i], abs=1e-12)
    risk, error = net.sampled_bayes_risk("x5", draws=50, random_state=0)
    assert 0 <= risk <= 0.5
    assert error > 0


@settings(max_examples=40)
@given(seed=seeds)
def test_what_is_cut_out_changes_no_answer(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 7, max_parents=3, zeros=0.1)
    evidence = findings(model, rng, 0.5)
    held = JunctionTree(model, held=hard_states(evidence))
    held.set_evidence(evidence)
    table = enumerated(model, evidence)
    assert held.log_probability() == pytest.approx(np.log(table.sum()), rel=1e-10, abs=1e-10)
    for v, marginal in enumerate(held.marginals()):
        np.testing.assert_allclose(marginal, onto(table, [v]), rtol=1e-10, atol=1e-13)
    states, _ = held.most_probable()
    assert table[tuple(states)] == pytest.approx(table.max(), rel=1e-9)
    assert table[tuple(held.sample(20, random_state=0).T)].min() > 0


@settings(max_examples=60)
@given(seed=seeds)
def test_requisite_tables_are_enough(seed):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 8, max_parents=2)
    evidence = findings(model, rng, 0.5)
    target = int(rng.integers(8))
    table = onto(enumerated(model, evidence), [target])
    needed, seen = requisite(model, [target], evidence)
    small = Numbers(
        model.sizes,
        tuple(ps if v in needed else () for v, ps in enumerate(model.parents)),
        tuple(t if v in needed else np.ones(s) / s for v, (t, s) in enumerate(zip(model.tables, model.sizes))),
    )
    np.testing.assert_allclose(eliminate(small, [target], {v: evidence[v] for v in seen})[0], table, atol=1e-12)
    np.testing.assert_allclose(posterior(model, [target], evidence), table, atol=1e-12)
    case = np.full((1, 8), -1, np.int32)
    hard = hard_states(evidence)
    for v, state in hard.items():
        case[0, v] = state
    told = {v: evidence[v] for v in hard}
    np.testing.assert_allclose(
        case_posteriors(model, case, target)[0], onto(enumerated(model, told), [target]), atol=1e-12
    )


@pytest.mark.parametrize("shape", ["chain", "star", "tree"])
def test_trees_of_many_nodes(shape):
    n = 20_000
    rng = np.random.default_rng(0)
    above = {"chain": lambda v: v - 1, "star": lambda v: 0, "tree": lambda v: int(rng.integers(v))}[shape]
    net = grown([(), *((above(v),) for v in range(1, n))])
    found = net.marginals({f"x{n - 1}": "1"})
    assert found["x0"]["1"] == pytest.approx(net.query("x0", {f"x{n - 1}": "1"})["1"], abs=1e-12)
    best = net.most_probable({"x3": "0"})
    assert best == net.most_probable({"x3": "0"}, nodes=list(net.nodes))
    assert len(net.sample(3, random_state=0).columns) == n


def test_a_grid_is_refused_before_it_is_computed():
    side = 40
    parents = [tuple(([v - 1] if v % side else []) + ([v - side] if v >= side else [])) for v in range(side * side)]
    net = grown(parents)
    for ask in (net.marginals, lambda: net.query("x1599")):
        with pytest.raises(MemoryBudgetError, match="budget of"):
            ask()
    assert net.query("x41")["0"] > 0


def test_a_mapping_of_too_many_parents_is_a_named_error():
    nodes = [f"p{i}" for i in range(50)]
    tables = {**{v: {"0": 0.5, "1": 0.5} for v in nodes}, "child": {("0",) * 50: {"a": 0.5, "b": 0.5}}}
    with pytest.raises(MemoryBudgetError, match=r"'child'.*fewer parents"):
        po.BayesNet([(v, "child") for v in nodes], tables)


def test_fit_takes_arrows_and_numbers_of_numpy():
    rows = {"a": [0, 0, 1], "b": ["u", "v", "v"]}
    plain = po.BayesNet.fit(po.Dag("ab", [("a", "b")]), rows, smoothing=0.5)
    for smoothing in (np.float32(0.5), np.float64(0.5)):
        assert po.BayesNet.fit([("a", "b")], rows, smoothing=smoothing) == plain
    assert po.BayesNet.from_counts([("a", "b")], {"a": [2, 1], "b": [[1, 1], [0, 1]]}).nodes == ("a", "b")
    state = np.random.RandomState(3)
    assert len(plain.sample(np.int64(5), random_state=state)) == 5
    assert plain.gibbs(None, random_state=np.random.RandomState(1)).draws == 20_000
    assert plain.marginals(None) == plain.marginals({}) == plain.marginals()
    assert plain.most_probable(None) == plain.most_probable()


RUBBISH = ["x", -3, 2.5, float("nan"), True, [1], {}, object()]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=map(repr, range(len(RUBBISH))))
def test_rubbish_is_a_named_error(rubbish):
    net = po.networks.asia()
    dag, rows = po.Dag("ab", [("a", "b")]), {"a": [0, 1], "b": [1, 0]}
    asks = [
        lambda: net.sample(rubbish),
        lambda: net.likelihood_weighting(draws=rubbish),
        *(lambda k=k: net.gibbs(**{k: rubbish}) for k in ("draws", "burn_in", "thin", "chains")),
        lambda: net.sample(5, random_state=rubbish),
        lambda: net.sampled_bayes_risk("lung", draws=rubbish),
        lambda: po.BayesNet.fit(rubbish, rows),
        lambda: po.BayesNet.fit(dag, rows, sample_weight=rubbish),
        lambda: po.BayesNet.fit(dag, rows, states=rubbish),
        lambda: po.BayesNet(rubbish, {"a": [1.0]}),
        lambda: po.BayesNet([], rubbish),
        lambda: po.BayesNet([], {"a": rubbish}),
        lambda: net.marginals({"xray": rubbish}),
        lambda: net.query(rubbish),
        lambda: net.bayes_risk(rubbish),
    ]
    named = 0
    for ask in asks:
        try:
            ask()
        except PosterioriError:
            named += 1
    assert (
        named >= len(asks) - 8
    )  # some rubbish is legal somewhere: −3 is no count, but [] has no arrows and 2.5 is a state
    for value in (rubbish,) if rubbish not in (2.5, True, -3) else ():
        with pytest.raises((BadParameter, BadValue, InvalidNetwork)):
            po.BayesNet.fit(dag, rows, smoothing=value)
        with pytest.raises((BadParameter, BadValue)):
            net.marginals(max_memory=value)
        with pytest.raises((BadParameter, BadValue)):
            net.predict_proba({"xray": ["yes"]}, "lung", n_jobs=value)


def test_a_default_row_may_come_first():
    text = (
        "network n { } variable a { type discrete [ 2 ] { y, n }; } variable b { type discrete [ 2 ] { y, n }; } "
        "probability ( a ) { table 0.5, 0.5; } probability ( b | a ) { default 0.1, 0.9; (y) 0.7, 0.3; }"
    )
    from posteriori.network import formats

    assert formats.parse(text.encode(), "x.bif").tables["b"].tolist() == [0.7, 0.3, 0.1, 0.9]


@pytest.mark.parametrize("n", [2, 6, 8, 9, 10, 11, 14, 18, 20])
def test_the_cells_of_a_lattice_are_near_the_least_known(n):
    """A moral lattice, diagonal by diagonal: a table stands between what has gone and the rest, as wide as a diagonal."""
    from posteriori import kernels

    near: list[set[int]] = [set() for _ in range(n * n)]
    for i, j in itertools.product(range(n), range(n)):
        above = [n * i + j - n] * (i > 0) + [n * i + j - 1] * (j > 0)
        for a, b in itertools.combinations([*above, n * i + j], 2):
            near[a].add(b)
            near[b].add(a)
    order, _, cells, largest = kernels.elimination_order([sorted(x) for x in near], [2] * n**2)
    assert sorted(order) == list(range(n * n))
    assert len(largest) <= n + 3
    least = 0.0
    for v in sorted(range(n * n), key=lambda v: (v // n + v % n, v)):
        least += 2.0 ** (len(near[v]) + 1)
        for a in near[v]:
            near[a] |= near[v] - {a}
            near[a].discard(v)
    assert cells <= 2 * least


def test_the_best_of_several_triangulations_is_kept():
    """On random graphs with unequal sizes the cliques are never larger than by either greedy rule alone."""
    from posteriori import kernels

    from ..kernels.reference import network as reference

    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 30
        near: list[set[int]] = [set() for _ in range(n)]
        for a, b in itertools.combinations(range(n), 2):
            if rng.random() < 0.25:
                near[a].add(b)
                near[b].add(a)
        sizes = rng.integers(2, 7, n).tolist()
        _, _, cells, _ = kernels.elimination_order([sorted(x) for x in near], sizes)
        order, _ = reference.elimination_order([sorted(x) for x in near], sizes)
        total = 0.0
        graph = [set(x) for x in near]
        for v in order:
            total += float(np.prod([float(sizes[u]) for u in (v, *graph[v])]))
            for a in graph[v]:
                graph[a] |= graph[v] - {a}
                graph[a].discard(v)
        assert cells <= total * (1 + 1e-4)  # the kernel's logarithms have twenty binary digits
