"""Networks: a graph by number, states, and all tables under each other; what they were counted from, where they were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from ...network.bayesnet import BayesNet
from ...network.classifier import BayesNetClassifier
from ...network.hybrid import HybridNet
from ...network.learn import Smoothing, families
from ...network.mixed_classifier import mixed_scopes, scopes
from ...network.regression import discrete_part, line_scopes, split
from ...statistics.comoments import FamilyMoments
from ...statistics.joint import Joint
from ...statistics.statistics import Statistics
from ...structure.dag import Dag
from ...structure.structures import Structure
from .bayes import CODED, FRESH, coded, learned
from .form import (
    Fields,
    Form,
    anything,
    dict_of,
    estimator,
    finite,
    floats,
    ints,
    natural,
    need,
    needs,
    of,
    text,
    tuple_of,
    value,
)
from .form import nothing as none
from .tables import is_distinct

Net = TypeVar("Net", BayesNet, HybridNet)
STATES = dict_of(text, tuple_of(anything))


def _graph_of(dag: Dag) -> Fields:
    place = dag.index
    edges = np.array([(place[a], place[b]) for a, b in dag.edges], dtype=np.int64).reshape(-1, 2)
    return {"nodes": dag.nodes, "edges": edges}


def _graph(fields: Fields) -> Dag:
    nodes, edges = fields["nodes"], fields["edges"]
    need(
        edges.shape[1] == 2 and (not edges.size or edges.max() < len(nodes)),
        "an arrow must have two ends that are nodes",
    )
    return Dag(nodes, [(nodes[a], nodes[b]) for a, b in edges.tolist()])


def _flat(tables: Sequence[Any]) -> Any:
    return np.concatenate([np.zeros(0), *(np.asarray(t, dtype=np.float64).ravel() for t in tables)])


def _tables(dag: Dag, states: dict[str, tuple[Any, ...]], flat: Any) -> dict[str, Any]:
    """The table of every node with states, a row a configuration of its parents."""
    need(all(states.values()) and all(map(is_distinct, states.values())), "every node must have different states")
    sizes = {n: len(s) for n, s in states.items()}
    mine = [n for n in dag.nodes if n in sizes]
    need(all(p in sizes for n in mine for p in dag.parents(n)), "a node with states has parents with states")
    cells = [math.prod(sizes[m] for m in (*dag.parents(n), n)) for n in mine]
    need(sum(cells) == len(flat), f"the tables must have {sum(cells)} numbers; got {len(flat)}")
    ends = np.cumsum([0, *cells]).tolist()
    return {n: flat[a:b].reshape(-1, sizes[n]) for n, (a, b) in zip(mine, pairwise(ends))}


def _net_of(net: BayesNet) -> Fields:
    return {
        "dag": net.dag,
        "name": net.name,
        "states": dict(net._states),
        "tables": _flat(list(net._tables.values())),
        "statistics": net._statistics,
        "how": net._how,
        "ascent": net._ascent and replace(net._ascent, parameters=None),  # they are the tables
    }


def _net(fields: Fields) -> BayesNet:
    need(set(fields) == set(NET), f"a BayesNet must have the fields {list(NET)}")
    dag, states = fields["dag"], fields["states"]
    need(set(states) == set(dag.nodes), "every node must have states")
    states = {n: states[n] for n in dag.nodes}
    tables = _tables(dag, states, fields["tables"])
    net = BayesNet(dag, tables, states, fields["name"])
    if fields["ascent"] is not None:
        net._ascent = replace(fields["ascent"], parameters=[tables[n] for n in dag.nodes])
    return _counted(net, fields)


def _counted(net: Net, fields: Fields) -> Net:
    """The network with what it was counted from."""
    found: Statistics | None = fields["statistics"]
    if found is None:
        return net
    schema = found.schema
    numbers: list[str] = [schema.names[j] for j in found.where("moments")]
    graph: Dag = discrete_part(net.dag, numbers) if numbers else net.dag
    need(schema.names == (*graph.nodes, *numbers), "there must be counts of every node")
    need(set(net.dag.nodes) == set(schema.names) and set(net._states) == set(graph.nodes), "counts of other nodes")
    need(schema.classes == (None,), "a network has no classes")
    for name, states in net._states.items():
        values = schema[name].values
        need(len(values) == len(states) and set(values) == set(states), "there must be counts of every state")
    need(len(found.joints) == 1 + isinstance(net, HybridNet), "there must be joint counts")
    _need_scopes(found, families(graph))
    if isinstance(net, HybridNet):
        more = found.joints[1]
        fits = isinstance(more, FamilyMoments) and list(more.scopes) == line_scopes(net.dag, found)
        need(fits, "moments of every family of numbers")
    net._statistics, net._how = found, fields["how"]
    return net


def _hybrid_of(net: HybridNet) -> Fields:
    lines = net._gaussians.regressions
    return {
        "dag": net.dag,
        "states": dict(net._states),
        "tables": _flat(list(net.discrete._tables.values())),
        "lines": {n: (lines[n].alpha, lines[n].beta, lines[n].variance) for n in net._gaussians.nodes},
        "statistics": net._statistics,
        "how": net._how,
    }


def _hybrid(fields: Fields) -> HybridNet:
    need(set(fields) == set(HYBRID), f"a HybridNet must have the fields {list(HYBRID)}")
    dag, states, lines = fields["dag"], fields["states"], fields["lines"]
    need({*states, *lines} == set(dag.nodes) and not set(states) & set(lines), "every node has states, or a line")
    need(all(len(line) == 3 for line in lines.values()), "a line is α, β and σ²")
    for name, (
        alpha,
        beta,
        variance,
    ) in lines.items():  # one number could stand for more configurations than there is room
        above, beside = split(dag.parents(name), lines)
        q = math.prod(len(states[p]) for p in above)
        whole = alpha.shape == variance.shape == (q,) and beta.shape == (q, len(beside))
        need(whole, "a line must have α, β and σ² of every configuration")
    return _counted(HybridNet(dag, _tables(dag, states, fields["tables"]), lines, states), fields)


def _classifier(model: BayesNetClassifier) -> None:
    needs(model, "_class_node", "_parents")
    found = learned(model)
    d, parents, node = len(found.schema), model._parents, model._class_node
    need(len(parents) == d + 1, "every column, and the class, must have its parents")
    need(all(0 <= p <= d for ps in parents for p in ps), "a parent must be a column or the class")
    need(all(len(set(ps)) == len(ps) for ps in parents), "a parent is one once")
    _ = Structure(parents).order  # refuses a circle
    need(node not in found.schema.names, "the class must not be called as a column is")
    numbers = set(found.where("moments"))
    if len(found.joints) == 1:
        coded(model)
    else:
        need(
            len(found.joints) == 2 and isinstance(found.joints[1], FamilyMoments), "moments of the families of numbers"
        )
        need(set(found.roles) <= {"cells", "moments"} and not found.cuts, "numbers that are not cut have moments")
        need(list(found.joints[1].scopes) == mixed_scopes(parents, numbers), "moments of every family of numbers")
        need(not any(set(parents[v]) & numbers for v in range(d + 1) if v not in numbers), "a number above a value")
    _need_scopes(found, scopes(parents, numbers))


def _need_scopes(found: Statistics, wanted: Any) -> None:
    joint = found.joints[0]
    need(isinstance(joint, Joint), "there must be joint counts")
    need([joint.columns(s) for s in range(len(joint.full))] == wanted, "there must be counts of every family")


NET = {
    "dag": of("Dag"),
    "name": text,
    "states": STATES,
    "tables": floats(1, 0),
    "statistics": of("Statistics") | none,
    "how": of("Smoothing"),
    "ascent": of("Ascent") | none,
}
HYBRID = {
    "dag": of("Dag"),
    "states": STATES,
    "tables": floats(1, 0),
    "lines": dict_of(text, tuple_of(floats())),
    "statistics": of("Statistics") | none,
    "how": of("Smoothing"),
}
FORMS = {
    form.tag: form
    for form in (
        Form("Dag", Dag, {"nodes": tuple_of(text), "edges": ints(2, 0)}, _graph_of, _graph, lambda dag: None),
        value(Smoothing, smoothing=finite, ess=finite | none, backoff=finite | none),
        Form("BayesNet", BayesNet, NET, _net_of, _net, lambda net: None),
        Form("HybridNet", HybridNet, HYBRID, _hybrid_of, _hybrid, lambda net: None),
        estimator(
            BayesNetClassifier,
            _classifier,
            {**CODED, "_class_node": text, "_parents": tuple_of(tuple_of(natural(1 << 31)))},
            fresh=FRESH,
        ),
    )
}
