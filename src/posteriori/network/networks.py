"""Classic small networks, typed in from their publications: asia, burglary, cancer, earthquake, monty_hall, sprinkler."""

from __future__ import annotations

from typing import Any

from .bayesnet import BayesNet

__all__ = ["asia", "burglary", "cancer", "earthquake", "monty_hall", "sprinkler"]

YES_NO = ("yes", "no")
TRUE_FALSE = ("True", "False")


def asia() -> BayesNet:
    """A chest clinic: a visit to Asia, smoking, three diseases, an X-ray and shortness of breath.

    Lauritzen and Spiegelhalter (1988), "Local computations with probabilities on graphical structures".

    >>> round(asia().marginals()["lung"]["yes"], 3)
    0.055
    """
    tables = {
        "asia": [0.01, 0.99],
        "tub": [[0.05, 0.95], [0.01, 0.99]],
        "smoke": [0.5, 0.5],
        "lung": [[0.1, 0.9], [0.01, 0.99]],
        "bronc": [[0.6, 0.4], [0.3, 0.7]],
        "either": [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]],
        "xray": [[0.98, 0.02], [0.05, 0.95]],
        "dysp": [[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]],
    }
    edges = [
        ("asia", "tub"),
        ("smoke", "lung"),
        ("smoke", "bronc"),
        ("lung", "either"),
        ("tub", "either"),
        ("either", "xray"),
        ("bronc", "dysp"),
        ("either", "dysp"),
    ]
    return BayesNet(edges, tables, states=dict.fromkeys(tables, YES_NO), name="asia")


def burglary() -> BayesNet:
    """A burglar alarm, as `earthquake` with rarer causes: P(burglary | both neighbours call) = .284.

    Russell and Norvig (2010), "Artificial Intelligence: A Modern Approach", section 14.2.

    >>> round(burglary().marginals({"JohnCalls": "True", "MaryCalls": "True"})["Burglary"]["True"], 5)
    0.28417
    """
    net = earthquake()
    tables: dict[str, Any] = {n: net.cpt(n).to_numpy() for n in net.nodes}
    return BayesNet(
        net.edges,
        tables | {"Burglary": [0.001, 0.999], "Earthquake": [0.002, 0.998]},
        states=dict.fromkeys(tables, TRUE_FALSE),
        name="burglary",
    )


def cancer() -> BayesNet:
    """Lung cancer, its causes and two signs of it.

    Korb and Nicholson (2010), "Bayesian Artificial Intelligence", section 2.2.

    >>> cancer().parents("Cancer")
    ('Pollution', 'Smoker')
    """
    tables = {
        "Pollution": [0.9, 0.1],
        "Smoker": [0.3, 0.7],
        "Cancer": [[[0.03, 0.97], [0.001, 0.999]], [[0.05, 0.95], [0.02, 0.98]]],
        "Xray": [[0.9, 0.1], [0.2, 0.8]],
        "Dyspnoea": [[0.65, 0.35], [0.3, 0.7]],
    }
    edges = [("Pollution", "Cancer"), ("Smoker", "Cancer"), ("Cancer", "Xray"), ("Cancer", "Dyspnoea")]
    states = {**dict.fromkeys(tables, TRUE_FALSE), "Pollution": ("low", "high"), "Xray": ("positive", "negative")}
    return BayesNet(edges, tables, states=states, name="cancer")


def earthquake() -> BayesNet:
    """A burglar alarm that an earthquake can set off, and two neighbours who may call.

    Korb and Nicholson (2010), "Bayesian Artificial Intelligence", section 2.5, after Pearl.

    >>> earthquake().d_separated("Burglary", "Earthquake", given="JohnCalls")
    False
    """
    tables = {
        "Burglary": [0.01, 0.99],
        "Earthquake": [0.02, 0.98],
        "Alarm": [[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]],
        "JohnCalls": [[0.9, 0.1], [0.05, 0.95]],
        "MaryCalls": [[0.7, 0.3], [0.01, 0.99]],
    }
    edges = [("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "JohnCalls"), ("Alarm", "MaryCalls")]
    return BayesNet(edges, tables, states=dict.fromkeys(tables, TRUE_FALSE), name="earthquake")


def monty_hall() -> BayesNet:
    """Three doors, a prize behind one; the host opens a door not chosen that hides none. Who changes wins by 2/3.

    Selvin (1975), "A problem in probability", The American Statistician 29.

    >>> {door: round(p, 4) for door, p in monty_hall().marginals({"chosen": "1", "opened": "3"})["prize"].items()}
    {'1': 0.3333, '2': 0.6667, '3': 0.0}
    """
    doors, third = ("1", "2", "3"), [1 / 3] * 3
    opened = [[[float(d not in (p, c)) / (1 + (p == c)) for d in doors] for c in doors] for p in doors]
    tables = {"prize": third, "chosen": third, "opened": opened}
    edges = [("prize", "opened"), ("chosen", "opened")]
    return BayesNet(edges, tables, states=dict.fromkeys(tables, doors), name="monty_hall")


def sprinkler() -> BayesNet:
    """Clouds, a sprinkler, rain and wet grass.

    Russell and Norvig (1995), "Artificial Intelligence: A Modern Approach".

    >>> round(sprinkler().probability({"wet": "yes"}), 4)
    0.6471
    """
    tables = {
        "cloudy": [0.5, 0.5],
        "sprinkler": [[0.1, 0.9], [0.5, 0.5]],
        "rain": [[0.8, 0.2], [0.2, 0.8]],
        "wet": [[[0.99, 0.01], [0.9, 0.1]], [[0.9, 0.1], [0.0, 1.0]]],
    }
    edges = [("cloudy", "sprinkler"), ("cloudy", "rain"), ("sprinkler", "wet"), ("rain", "wet")]
    return BayesNet(edges, tables, states=dict.fromkeys(tables, YES_NO), name="sprinkler")
