"""The classic networks have the numbers of their publications."""

from __future__ import annotations

import pytest

from posteriori import networks

PRIOR = {
    "asia": {"asia": 0.01, "tub": 0.0104, "smoke": 0.5, "lung": 0.055, "bronc": 0.45, "either": 0.064828,
             "xray": 0.11029004, "dysp": 0.4359706},
    "cancer": {"Pollution": 0.9, "Smoker": 0.3, "Cancer": 0.01163, "Xray": 0.208141, "Dyspnoea": 0.3040705},
    "earthquake": {"Burglary": 0.01, "Earthquake": 0.02, "Alarm": 0.0161142, "JohnCalls": 0.06369707,
                   "MaryCalls": 0.021118798},
    "burglary": {"Burglary": 0.001, "Earthquake": 0.002, "Alarm": 0.002516442, "JohnCalls": 0.0521389757,
                 "MaryCalls": 0.01173634498},
    "monty_hall": {"prize": 1 / 3, "chosen": 1 / 3, "opened": 1 / 3},
    "sprinkler": {"cloudy": 0.5, "sprinkler": 0.3, "rain": 0.5, "wet": 0.6471},
}  # fmt: skip


@pytest.mark.parametrize("name", PRIOR)
def test_probabilities_of_the_first_states(name):
    net = getattr(networks, name)()
    assert net.name == name
    found = net.marginals()
    assert {node: found[node][net.states(node)[0]] for node in net.nodes} == pytest.approx(PRIOR[name], abs=1e-9)


def test_figures_of_the_textbooks():
    both = networks.burglary().marginals({"JohnCalls": "True", "MaryCalls": "True"})
    assert both["Burglary"]["True"] == pytest.approx(0.28417, abs=5e-6)
    hall = networks.monty_hall()
    for chosen, opened in (("1", "2"), ("1", "3"), ("3", "1")):
        found = hall.marginals({"chosen": chosen, "opened": opened})["prize"]
        assert sorted(found.values()) == pytest.approx([0, 1 / 3, 2 / 3])
        assert found[chosen] == pytest.approx(1 / 3)
    assert hall.bayes_risk("prize", observed=["chosen", "opened"]) == pytest.approx(1 / 3)
    assert hall.bayes_risk("prize", observed=["prize"]) == 0
    assert hall.sampled_bayes_risk("prize", observed=["prize"], draws=100, random_state=0)[0] == 0


def test_every_cell_by_its_findings():
    """Cells that the marginals do not fix: P(child | one configuration of its parents)."""
    asia = networks.asia()
    for (lung, bronc), p in {("yes", "yes"): 0.9, ("yes", "no"): 0.7, ("no", "yes"): 0.8, ("no", "no"): 0.1}.items():
        assert asia.marginals({"either": lung, "bronc": bronc})["dysp"]["yes"] == pytest.approx(p)
    cancer = networks.cancer()
    for (air, smoker), p in {
        ("low", "True"): 0.03,
        ("low", "False"): 0.001,
        ("high", "True"): 0.05,
        ("high", "False"): 0.02,
    }.items():
        assert cancer.marginals({"Pollution": air, "Smoker": smoker})["Cancer"]["True"] == pytest.approx(p)
    quake = networks.earthquake()
    for (b, e), p in {
        ("True", "True"): 0.95,
        ("True", "False"): 0.94,
        ("False", "True"): 0.29,
        ("False", "False"): 0.001,
    }.items():
        assert quake.marginals({"Burglary": b, "Earthquake": e})["Alarm"]["True"] == pytest.approx(p)
    grass = networks.sprinkler()
    for (s, r), p in {("yes", "yes"): 0.99, ("yes", "no"): 0.9, ("no", "yes"): 0.9, ("no", "no"): 0.0}.items():
        assert grass.marginals({"sprinkler": s, "rain": r})["wet"]["yes"] == pytest.approx(p)
    for net, parent, child, by_state in (
        (asia, "either", "xray", {"yes": 0.98, "no": 0.05}), (cancer, "Cancer", "Xray", {"True": 0.9, "False": 0.2}),
        (cancer, "Cancer", "Dyspnoea", {"True": 0.65, "False": 0.3}),
        (quake, "Alarm", "JohnCalls", {"True": 0.9, "False": 0.05}),
        (quake, "Alarm", "MaryCalls", {"True": 0.7, "False": 0.01}), (grass, "cloudy", "rain", {"yes": 0.8, "no": 0.2}),
        (grass, "cloudy", "sprinkler", {"yes": 0.1, "no": 0.5}), (asia, "smoke", "bronc", {"yes": 0.6, "no": 0.3}),
        (asia, "smoke", "lung", {"yes": 0.1, "no": 0.01}), (asia, "asia", "tub", {"yes": 0.05, "no": 0.01}),
    ):  # fmt: skip
        for state, p in by_state.items():
            assert net.marginals({parent: state})[child][net.states(child)[0]] == pytest.approx(p), child
