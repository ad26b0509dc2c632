"""Interventions: arrows into what is done are cut, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import posteriori as po
from posteriori.errors import BadValue, InvalidNetwork, UnknownColumn, UnknownValue

from .making import enumerated, random_network, seeds

ASIA = po.networks.asia()


def named(model) -> po.BayesNet:
    nodes = [f"n{v}" for v in range(len(model))]
    edges = [(nodes[p], nodes[v]) for v, ps in enumerate(model.parents) for p in ps]
    tables = {nodes[v]: t.reshape(-1, model.sizes[v]) for v, t in enumerate(model.tables)}
    return po.BayesNet(po.Dag(nodes, edges), tables)


@given(seed=seeds)
def test_the_truncated_product(seed):
    """P(x | do(v = k)) = Π_{u ≠ v} θ_u where x_v = k, by enumeration."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5)
    v = int(rng.integers(5))
    k = int(rng.integers(model.sizes[v]))
    rows = np.zeros((len(model.tables[v]) // model.sizes[v], model.sizes[v]))
    rows[:, k] = 1.0
    tables = [*model.tables[:v], rows.ravel(), *model.tables[v + 1 :]]
    table = enumerated(type(model)(model.sizes, model.parents, tuple(tables)), {})
    done = named(model).do({f"n{v}": str(k)})
    for u in range(5):
        truth = table.sum(axis=tuple(a for a in range(5) if a != u))
        np.testing.assert_allclose(list(done.marginals()[f"n{u}"].values()), truth, atol=1e-12)


@given(seed=seeds)
def test_several_done_by_chance_then_some_seen(seed):
    """P(x | do(…), e) ∝ Π_{u not done} θ_u · Π_{v done} p_v(x_v) of the cells that agree with e, by enumeration."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5)
    done, given, tables = {}, {}, list(model.tables)
    for v in rng.permutation(5)[: int(rng.integers(0, 6))].tolist():
        size = model.sizes[v]
        chance = rng.dirichlet(np.ones(size)) if rng.random() < 0.5 else np.eye(size)[int(rng.integers(size))]
        done[f"n{v}"] = {str(k): p for k, p in enumerate(chance)} if chance.max() < 1 else str(int(chance.argmax()))
        tables[v] = np.tile(chance, len(model.tables[v]) // size)
    table = enumerated(type(model)(model.sizes, model.parents, tuple(tables)), {})
    for v in range(5):
        if rng.random() < 0.3:
            k = int(np.indices(table.shape)[v].ravel()[rng.choice(table.size, p=table.ravel() / table.sum())])
            given[f"n{v}"] = str(k)
            table = table * (np.indices(table.shape)[v] == k)
    net = named(model).do(done)
    assert all(net.parents(v) == () for v in done)
    if table.sum() <= 0:
        return
    found = net.marginals(given)
    for u in range(5):
        truth = table.sum(axis=tuple(a for a in range(5) if a != u)) / table.sum()
        np.testing.assert_allclose(list(found[f"n{u}"].values()), truth, atol=1e-9)
    assert net.log_probability(given) == pytest.approx(np.log(table.sum()), abs=1e-9)


def test_seeing_is_not_doing():
    assert ASIA.do({"smoke": "no"}).marginals()["lung"] == pytest.approx(ASIA.marginals({"smoke": "no"})["lung"])
    done = ASIA.do({"lung": "yes"})
    assert done.marginals()["smoke"] == pytest.approx(ASIA.marginals()["smoke"])
    assert done.parents("lung") == ()
    assert done.parents("either") == ASIA.parents("either")
    assert done.nodes == ASIA.nodes
    assert done.marginals({"smoke": "yes"})["xray"] == pytest.approx(
        ASIA.marginals({"smoke": "yes", "lung": "yes"})["xray"]
    )


def test_chance_may_decide():
    trial = ASIA.do({"smoke": {"yes": 0.25, "no": 0.75}, "asia": "no"})
    assert trial.marginals()["smoke"]["yes"] == pytest.approx(0.25)
    expected = 0.25 * ASIA.do({"smoke": "yes"}).marginals()["lung"]["yes"]
    expected += 0.75 * ASIA.do({"smoke": "no"}).marginals()["lung"]["yes"]
    assert trial.marginals()["lung"]["yes"] == pytest.approx(expected)
    assert ASIA.do({}) == ASIA


def test_what_cannot_be_done_is_named():
    with pytest.raises(UnknownColumn, match="smoke"):
        ASIA.do({"smok": "yes"})
    with pytest.raises(UnknownValue, match="no state 'maybe'"):
        ASIA.do({"smoke": "maybe"})
    with pytest.raises(InvalidNetwork, match="sums to"):
        ASIA.do({"smoke": {"yes": 0.4, "no": 0.4}})
    with pytest.raises(BadValue, match="mapping"):
        ASIA.do("smoke")
