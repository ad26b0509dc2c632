"""What networks in a file must hold: arrows between nodes, tables of all configurations, counts of every family."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import posteriori as po
from posteriori.em import Ascent
from posteriori.network.learn import Smoothing
from posteriori.statistics.comoments import FamilyMoments
from posteriori.statistics.joint import Joint
from posteriori.table.schema import Column

from .refusals import judged, remade

RNG = np.random.default_rng(0)
N = 60
A = RNG.choice(["u", "v"], N)
B = np.where(RNG.random(N) < 0.8, A, "w")
X1 = RNG.normal(size=N) + (A == "u")
X2 = X1 + RNG.normal(size=N)
DATA = {"a": A.tolist(), "b": B.tolist(), "c": RNG.choice([True, False], N).tolist()}
MIXED = {"a": A.tolist(), "b": B.tolist(), "x": X1, "z": X2}
ARROWS = [("a", "b"), ("a", "x"), ("x", "z")]
TOLD = po.Dag("bcxzk", [*(("k", n) for n in "bcxz"), ("b", "c"), ("b", "z"), ("x", "z")])
MADE = {
    "told": lambda: po.BayesNet([("a", "b")], {"a": [0.25, 0.75], "b": [[0.5, 0.5], [0.125, 0.875]]}),
    "net": lambda: po.BayesNet.fit([("a", "b"), ("a", "c"), ("b", "c")], DATA),
    "em": lambda: po.BayesNet.fit_em([("a", "b")], {"a": [None, *A[1:]], "b": B.tolist()}),
    "hybrid": lambda: po.HybridNet.fit(ARROWS, MIXED),
    "hybrid told": lambda: po.HybridNet(ARROWS[1:], {"a": [0.5, 0.5]}, {"x": ([0, 9], [], 1), "z": (0, 1, 1)}),
    "codes": lambda: po.BayesNetClassifier("tan").fit({"b": DATA["b"], "c": DATA["c"], "x": X1}, A),
    "numbers": lambda: po.BayesNetClassifier(TOLD, continuous="gaussian").fit(
        {"b": DATA["b"], "c": DATA["c"], "x": X1, "z": X2}, A
    ),
}

MADE["number free"] = lambda: po.BayesNetClassifier(po.Dag("bxk", [("k", "b")]), continuous="gaussian").fit(
    {"b": DATA["b"], "x": X1}, A
)


@cache
def fitted(name):
    return MADE[name]()


def answers(model):
    if isinstance(model, po.BayesNetClassifier):
        rows = {"b": DATA["b"], "c": DATA["c"], "x": X1, "z": X2}
        return model.predict_proba({n: rows[n] for n in model.feature_names_in_})
    found = model.marginals()
    return np.concatenate([np.array([*map(float, found[n].values())]) for n in found])


def told(**change):
    """The statistics of a network with other parts."""

    def changed(model):
        found = model.statistics_ if isinstance(model, po.BayesNetClassifier) else model._statistics
        made = replace(found, **{n: v(getattr(found, n)) if callable(v) else v for n, v in change.items()})
        return {"statistics_" if isinstance(model, po.BayesNetClassifier) else "statistics": made}

    return changed


def schema(**change):
    return told(schema=lambda held: replace(held, **change))


def columns(of):
    """The statistics of a network with what a function makes of the columns of its schema."""
    return told(schema=lambda held: replace(held, columns=of(held.columns)))


def fewer(joints):
    """Joint counts without the last scope."""
    joint, n = joints[0], len(joints[0].full) - 1
    keep = slice(0, int(joint.counts.offsets[n]))
    counts = replace(joint.counts, table=joint.counts.table[keep], offsets=joint.counts.offsets[: n + 1])
    return (Joint(joint.scopes[:n], joint.full[:n], counts), *joints[1:])


def without_family(joints):
    held = joints[1]
    return joints[0], FamilyMoments(held.scopes[:-1], held.tables[:-1])


def line(at, of):
    """The line of "z" with another part."""

    def changed(net):
        held = net._gaussians.regressions["z"]
        parts = [held.alpha, held.beta, held.variance]
        parts[at] = of(parts[at])
        own = net._gaussians.regressions["x"]
        return {"lines": {"x": (own.alpha, own.beta, own.variance), "z": tuple(parts)}}

    return changed


def tables(of):
    return lambda net: {"tables": of(np.concatenate([t.ravel() for t in net._tables.values()]))}


def parents(of):
    return lambda model: {"_parents": of(model._parents)}


@pytest.mark.parametrize("name", MADE)
def test_the_same_answers_to_the_last_bit(name):
    model = fitted(name)
    made = remade(model)
    assert np.array_equal(answers(made), answers(model))
    if not isinstance(model, po.BayesNetClassifier):
        assert (made.dag, list(made._states.items())) == (model.dag, list(model._states.items()))
        assert made._how == model._how
        assert (made._statistics is None) == (model._statistics is None)
    if name in ("net", "hybrid"):
        assert np.array_equal(answers(made + made), answers(model + model))
    if name == "em":
        assert (made._ascent.trace, made._ascent.at) == (model._ascent.trace, model._ascent.at)
        assert all(map(np.array_equal, map(np.ravel, made._ascent.parameters), made._tables.values()))


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([[0, 2], [1, 2]], None),
        ([], None),
        ([[0, 3]], "an arrow must have two ends that are nodes"),
        ([[2**62, 0]], "an arrow must have two ends that are nodes"),
        ([[0, 1], [1, 0]], "cycle"),
        ([[0, 0]], "cycle"),
    ],
)
def test_arrows_lead_from_node_to_node(edges, said):
    held = po.Dag("abc", [("a", "c")])
    made = judged(held, {"edges": np.array(edges, dtype=np.int64).reshape(len(edges), -1 if edges else 2)}, said)
    assert said is not None or made.edges == tuple((held.nodes[a], held.nodes[b]) for a, b in edges)


@pytest.mark.parametrize("edges", [[], [("a", "c")], [("a", "c"), ("b", "c")], [("c", "b"), ("b", "a"), ("c", "a")]])
def test_a_graph_comes_back(edges):
    assert remade(po.Dag("abc", edges)) == po.Dag("abc", edges)


FAMILY = "there must be counts of every family"
NODES = "every node has states, or a line"
LINE = "a line must have α, β and σ² of every configuration"
UV = ("u", "v")
ROWS = [
    ("told", {"states": {"a": UV}}, "every node must have states"),
    ("told", {"states": {"a": UV, "b": UV, "c": UV}}, "every node must have states"),
    ("told", {"states": {"b": UV, "a": UV}}, None),
    ("told", {"states": {"a": UV, "b": ()}}, "every node must have different states"),
    ("told", {"states": {"a": UV, "b": ("u", "u")}}, "every node must have different states"),
    ("told", {"states": {"a": UV, "b": ("u", None)}}, "every node must have different states"),
    ("told", {"states": {"a": UV, "b": ("u", "v", "w")}}, "the tables must have 8 numbers; got 6"),
    ("told", {"states": {"a": ("u", "v", "w"), "b": UV}}, "the tables must have 9 numbers; got 6"),
    ("told", tables(lambda t: t[:-1]), "the tables must have 6 numbers; got 5"),
    ("told", tables(lambda t: np.append(t, 1.0)), "the tables must have 6 numbers; got 7"),
    ("told", tables(lambda t: t * 1.5), "sum"),
    ("told", {"how": Smoothing(2.0)}, None),
    ("net", {"statistics": None}, None),
    ("net", {"ascent": Ascent(None, (-1.0,), True)}, None),
    ("net", columns(lambda c: c[::-1]), "there must be counts of every node"),
    ("net", columns(lambda c: c[:2]), "there must be counts of every node"),
    ("net", schema(classes=("one",)), "a network has no classes"),
    ("net", schema(classes=()), "a network has no classes"),
    ("net", columns(lambda c: (replace(c[0], values=("u", "w")), *c[1:])), "there must be counts of every state"),
    ("net", columns(lambda c: (replace(c[0], values=("u", "v", "w")), *c[1:])), "there must be counts of every state"),
    ("net", columns(lambda c: (replace(c[0], values=("v", "u")), *c[1:])), None),
    ("net", told(joints=()), "there must be joint counts"),
    ("net", told(joints=lambda held: held * 2), "there must be joint counts"),
    ("net", told(joints=lambda held: (FamilyMoments((), ()),)), "there must be joint counts"),
    ("net", told(joints=fewer), FAMILY),
    ("hybrid", {"states": {"a": UV}}, NODES),
    ("hybrid", {"states": {"a": UV, "b": UV, "x": UV}}, NODES),
    ("hybrid", {"states": {"a": UV, "b": UV, "n": UV}}, NODES),
    ("hybrid", {"dag": po.Dag("abxz", [("a", "x"), ("x", "b"), ("x", "z")])}, "has parents with states"),
    ("hybrid", line(0, lambda p: np.zeros(2)), LINE),
    ("hybrid", line(0, lambda p: np.zeros(())), LINE),
    ("hybrid", line(1, lambda p: np.zeros((1, 2))), LINE),
    ("hybrid", line(1, lambda p: np.zeros(1)), LINE),
    ("hybrid", line(2, lambda p: np.ones(2)), LINE),
    ("hybrid", line(2, lambda p: p * 0), "its variances above 0"),
    ("hybrid", line(2, lambda p: p * 2), None),
    ("hybrid", {"statistics": None}, None),
    ("hybrid", told(joints=lambda held: held[:1]), "there must be joint counts"),
    ("hybrid", told(joints=lambda held: (*held, held[1])), "there must be joint counts"),
    ("hybrid", told(joints=lambda held: held[::-1]), "there must be joint counts"),
    ("hybrid", told(joints=lambda held: (held[0], held[0])), "moments of every family of numbers"),
    ("hybrid", told(joints=without_family), "moments of every family of numbers"),
    ("hybrid", told(joints=fewer), FAMILY),
    ("hybrid", columns(lambda c: (*c[:2], c[3], c[2])), "moments of every family of numbers"),
    ("hybrid", columns(lambda c: (c[1], c[0], *c[2:])), "there must be counts of every node"),
    ("net", told(roles=("cells", "cells", "moments")), "counts of other nodes"),
    (
        "net",
        told(
            roles=("cells", "cells", "cells", "moments"),
            schema=lambda held: replace(held, columns=(*held.columns, Column("d", "numeric"))),
        ),
        "counts of other nodes",
    ),
    ("codes", parents(lambda p: ((4,), *p[1:])), "a parent must be a column or the class"),
    ("codes", parents(lambda p: ((2**31 + 1,), *p[1:])), "a parent must be a column or the class"),
    ("codes", parents(lambda p: ((3, 3), *p[1:])), "a parent is one once"),
    ("codes", parents(lambda p: ((0,), *p[1:])), "go round in a circle"),
    ("codes", parents(lambda p: (*p[:-1], (0,))), "go round in a circle"),
    ("codes", parents(lambda p: ((3,), (3,), (3,), ())), FAMILY),
    ("codes", {"_class_node": "b"}, "the class must not be called as a column is"),
    ("codes", {"_class_node": "d"}, None),
    ("codes", told(joints=()), "moments of the families of numbers"),
    ("codes", told(joints=lambda held: held * 2), "moments of the families of numbers"),
    ("codes", told(joints=lambda held: (*held, held[0], held[0])), "moments of the families of numbers"),
    ("codes", told(cuts=()), "there must be cuts of all columns"),
    ("codes", told(joints=lambda held: (FamilyMoments((), ()),)), "there must be joint counts"),
    ("codes", told(joints=fewer), FAMILY),
    ("numbers", told(joints=lambda held: held[:1]), "all columns must be counted by values"),
    ("numbers", told(joints=lambda held: (held[1], held[1])), "there must be joint counts"),
    ("numbers", told(joints=without_family), "moments of every family of numbers"),
    ("numbers", told(joints=fewer), FAMILY),
    ("numbers", told(roles=("cells", "cells", "moments", "numbers")), "numbers that are not cut have moments"),
    ("numbers", told(cuts=(None, None, np.zeros(1), np.zeros(1))), "numbers that are not cut have moments"),
    ("numbers", told(cuts=(None,) * 4), "numbers that are not cut have moments"),
    ("numbers", parents(lambda p: ((4,), (4,), (4,), (4,), ())), "moments of every family of numbers"),
    ("numbers", parents(lambda p: ((4, 2), *p[1:])), "a number above a value"),
    ("number free", parents(lambda p: (*p[:-1], (1,))), "a number above a value"),
    ("numbers", parents(lambda p: ((4,), (4,), *p[2:])), FAMILY),
]


@pytest.mark.parametrize(("name", "change", "said"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)])
def test_what_is_refused_and_what_is_not(name, change, said):
    made = judged(fitted(name), change, said)
    assert said is not None or np.isfinite(answers(made)).all()


def test_a_line_of_a_file_does_not_stand_for_many():
    """A number for 2³⁰ configurations is a small file, and would be a large network."""
    many = [f"n{i}" for i in range(30)]
    net = po.HybridNet([("n0", "x")], {n: [0.5, 0.5] for n in many}, {"x": ([0, 1], [], 1)})
    whole = po.Dag([*many, "x"], [(n, "x") for n in many])
    one = {"x": (np.zeros(1), np.zeros((1, 0)), np.ones(1))}
    judged(net, {"dag": whole, "lines": one}, LINE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"smoothing": 0.0}, None),
        ({"smoothing": -1.0}, "smoothing is a number from 0"),
        ({"ess": 1.0}, None),
        ({"ess": 1.0, "backoff": 1.0}, "give one of them"),
    ],
)
def test_smoothing_is_what_the_constructor_allows(change, said):
    judged(Smoothing(), change, said)
