"""Sampled answers, decisions and insight by name: against enumeration, exact answers and stated errors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadValue, ImpossibleEvidence, LossError, NotErgodic, UnknownColumn, UnknownValue

ASIA = po.networks.asia()


def joint(net: po.BayesNet) -> pd.DataFrame:
    return net.query(list(net.nodes)).to_frame()


def information(table: pd.DataFrame, a: str, b: str, given: list[str]) -> float:
    """I(a; b | given) of a table of probabilities, by its definition."""
    total = 0.0
    for _, part in table.groupby(given) if given else [((), table)]:
        p = part["p"].sum()
        for (_, _), cell in part.groupby([a, b]):
            q = cell["p"].sum()
            pa = part.loc[part[a] == cell[a].iloc[0], "p"].sum()
            pb = part.loc[part[b] == cell[b].iloc[0], "p"].sum()
            total += q * math.log(q * p / (pa * pb)) if q > 0 else 0.0
    return total


@st.composite
def small(draw: st.DrawFn) -> po.BayesNet:
    nodes = list("abcd")[: draw(st.integers(2, 4))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = [e for e in itertools.combinations(nodes, 2) if draw(st.booleans())]
    tables = {v: rng.dirichlet(np.ones(2), [2] * sum(c == v for _, c in edges)) for v in nodes}
    return po.BayesNet(edges, tables)


@settings(max_examples=15)
@given(small())
def test_insight_is_its_definition(net: po.BayesNet) -> None:
    table = joint(net)
    target, last = net.nodes[0], net.nodes[-1]
    worth = net.value_of_information(target)
    assert set(worth) == set(net.nodes) - {target}
    assert list(worth.values()) == sorted(worth.values(), reverse=True)
    assert worth[last] == pytest.approx(information(table, target, last, []), abs=1e-12)
    for (a, b), strength in net.arc_strength().items():
        others = [p for p in net.parents(b) if p != a]
        assert strength == pytest.approx(information(table, a, b, others), abs=1e-12)
    bars = net.tornado(target, "1").set_index("node")
    by_state = {s: net.marginals({last: s})[target]["1"] for s in net.states(last)}
    assert (bars.loc[last, "low"], bars.loc[last, "high"]) == pytest.approx(
        (min(by_state.values()), max(by_state.values())), abs=1e-12
    )
    assert by_state[bars.loc[last, "high_state"]] == max(by_state.values())
    evidence = {target: "0", last: "1"}
    alone = net.probability({target: "0"}) * net.probability({last: "1"})
    assert net.conflict(evidence) == pytest.approx(math.log(alone / net.probability(evidence)), abs=1e-10)


@settings(max_examples=15)
@given(small(), st.integers(0, 2**32))
def test_bayes_risk_is_the_sum_over_cases(net: po.BayesNet, seed: int) -> None:
    target, *rest = net.nodes
    loss = np.random.default_rng(seed).uniform(0, 5, (2, 2))
    table = joint(net)
    want = 0.0
    for _, case in table.groupby(rest):
        p = case.groupby(target)["p"].sum().reindex(net.states(target)).to_numpy()
        want += (loss @ p).min()
    assert net.bayes_risk(target, loss) == pytest.approx(want, abs=1e-12)
    named = po.Loss(loss[::-1, ::-1], classes=["1", "0"])
    assert net.bayes_risk(target, named) == pytest.approx(want, abs=1e-12)
    assert net.bayes_risk(target) <= net.bayes_risk(target, observed=[]) + 1e-12
    found, error = net.sampled_bayes_risk(target, loss, draws=2000, random_state=seed)
    assert abs(found - want) <= 6 * error + 1e-9


def test_no_classifier_beats_the_bayes_risk() -> None:
    cases = ASIA.sample(20_000, random_state=3)
    wrong = float(np.mean(ASIA.predict(cases, "dysp") != cases["dysp"].to_numpy()))
    risk = ASIA.bayes_risk("dysp")
    assert wrong == pytest.approx(risk, abs=4 * math.sqrt(risk / 20_000))
    with pytest.raises(LossError):
        ASIA.bayes_risk("dysp", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    with pytest.raises(UnknownColumn, match="did you mean 'dysp'"):
        ASIA.bayes_risk("dyps")


def test_observed_nodes_are_no_questions() -> None:
    worth = ASIA.value_of_information("lung", {"xray": "yes", "smoke": "no"})
    assert set(worth) == set(ASIA.nodes) - {"lung", "xray", "smoke"}
    bars = ASIA.tornado("lung", evidence={"xray": "yes"})
    assert set(bars["node"]) == set(ASIA.nodes) - {"lung"}
    with pytest.raises(UnknownValue, match="'lung' has no state 'maybe'"):
        ASIA.tornado("lung", "maybe")


def test_insight_on_impossible_evidence() -> None:
    evidence = {"lung": "yes", "either": "no", "smoke": "no"}
    for ask in (
        lambda: ASIA.value_of_information("asia", evidence),
        lambda: ASIA.tornado("asia", evidence=evidence),
        lambda: ASIA.conflict(evidence),
        lambda: ASIA.arc_strength(evidence),
        lambda: ASIA.most_probable(evidence),
        lambda: ASIA.most_probable(evidence, nodes="smoke"),
        lambda: ASIA.sample(5, evidence),
        lambda: ASIA.gibbs(evidence, random_state=0),
    ):
        with pytest.raises(ImpossibleEvidence, match="lung='yes' and either='no' contradict") as caught:
            ask()
        assert set(caught.value.findings) == {"lung", "either"}
    with pytest.raises(ImpossibleEvidence, match="none of 20000 cases met"):
        ASIA.likelihood_weighting(evidence, random_state=0)


def test_map_of_a_subset_is_not_the_explanation() -> None:
    evidence = {"xray": "yes"}
    table = ASIA.query(["lung", "bronc"], evidence).to_frame()
    best = table.loc[table["p"].idxmax(), ["lung", "bronc"]].to_dict()
    assert ASIA.most_probable(evidence, nodes=["lung", "bronc"]) == best
    assert ASIA.most_probable(evidence)["lung"] != ASIA.most_probable(evidence, nodes="lung")["lung"]


# Sampling


@pytest.mark.parametrize("evidence", [{}, {"xray": "yes"}, {"dysp": {"yes": 0.3, "no": 0.9}, "tub": po.Not("no")}])
def test_samples_follow_the_posterior(evidence: dict[str, object]) -> None:
    n = 20_000
    cases = ASIA.sample(n, evidence, random_state=5)
    assert cases.equals(ASIA.sample(n, evidence, random_state=5))
    for node, want in ASIA.marginals(evidence).items():
        p = want["yes"]
        assert float((cases[node] == "yes").mean()) == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / n) + 1e-12)
    assert list(cases["lung"].cat.categories) == ["yes", "no"]
    assert ASIA.sample(0, evidence).shape == (0, 8)


@pytest.mark.parametrize("evidence", [{}, {"xray": "yes"}, {"dysp": "yes", "asia": "yes"}])
def test_gibbs_lies_within_its_stated_error(evidence: dict[str, object]) -> None:
    exact = ASIA.marginals(evidence)
    inside = 0
    for seed in range(20):
        found = ASIA.gibbs(evidence, draws=2000, random_state=seed)
        inside += all(
            abs(found.marginals[n][s] - p) <= found.error[n][s] + 1e-12
            for n, row in exact.items()
            for s, p in row.items()
        )
    assert inside >= 19


def test_estimates_are_told_by_name() -> None:
    found = ASIA.gibbs({"xray": "yes"}, random_state=1)
    assert found.draws == 20_000
    assert found.marginals["xray"] == {"yes": 1.0, "no": 0.0}
    assert found.worst_error == max(e for row in found.error.values() for e in row.values()) < 0.2
    assert 0.9 < found.worst_r_hat < 1.2
    assert sorted(n for block in found.blocks for n in block) == sorted(set(ASIA.nodes) - {"xray"})
    frame = found.to_frame()
    assert list(frame.columns) == ["node", "state", "p", "error", "ess", "r_hat"]
    assert len(frame) == 16
    assert "<table" in found._repr_html_()
    weighted = ASIA.likelihood_weighting({"xray": "yes"}, random_state=1)
    assert weighted.log_probability == pytest.approx(ASIA.log_probability({"xray": "yes"}), abs=0.1)
    assert "r_hat" not in weighted.to_frame()
    assert weighted.worst_r_hat == 1.0
    with pytest.raises(BadValue, match="draws"):
        ASIA.gibbs(draws=0)


def test_the_pure_walk_refuses_what_would_trap_it() -> None:
    n = 14  # fourteen coins whose parity is known: every state differs from every other in two places or more
    nodes = [f"c{i}" for i in range(n)]
    tables: dict[str, object] = {v: [0.5, 0.5] for v in nodes}
    tables["odd"] = np.eye(2)[np.indices([2] * n).sum(axis=0) % 2]
    parity = po.BayesNet([(v, "odd") for v in nodes], tables)
    with pytest.raises(NotErgodic, match="'c0'"):
        parity.gibbs({"odd": "1"}, pure=True)
    assert parity.marginals({"odd": "1", "c0": "1"})["c1"]["0"] == pytest.approx(0.5)
