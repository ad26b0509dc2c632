"""BayesNet: the object. Exact answers against enumeration and published figures; input in every form; errors that help."""

from __future__ import annotations

import itertools
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import (
    BadValue,
    FormatError,
    ImpossibleEvidence,
    InvalidNetwork,
    MemoryBudgetError,
    MissingExtra,
    TableError,
    UnknownColumn,
    UnknownValue,
)
from posteriori.network.elimination import case_posteriors
from posteriori.network.findings import read_cases

ASIA = po.networks.asia()
EITHER = {("yes", "yes"): [1, 0], ("yes", "no"): [1, 0], ("no", "yes"): [1, 0], ("no", "no"): [0, 1]}


@st.composite
def networks(draw: st.DrawFn, most: int = 6) -> po.BayesNet:
    """Random networks with some zeros and ones in their tables."""
    n = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    nodes = [f"n{i}" for i in range(n)]
    edges = [e for e in itertools.combinations(nodes, 2) if draw(st.booleans())]
    sizes = {v: draw(st.integers(1, 3)) for v in nodes}
    tables = {}
    for v in nodes:
        shape = [sizes[p] for p, c in edges if c == v]
        table = rng.dirichlet(np.full(sizes[v], 0.5), shape)
        if draw(st.booleans()):
            table = np.eye(sizes[v])[table.argmax(axis=-1)]
        tables[v] = table
    return po.BayesNet(edges, tables, states={v: [f"{v}{s}" for s in range(sizes[v])] for v in nodes})


def joint(net: po.BayesNet) -> pd.DataFrame:
    """P of every configuration, by multiplying the tables."""
    rows = []
    for states in itertools.product(*(net.states(v) for v in net.nodes)):
        x = dict(zip(net.nodes, states, strict=True))
        p = 1.0
        for v in net.nodes:
            cpt = net.cpt(v)
            key = tuple(x[u] for u in net.parents(v))
            row = cpt.loc[key if len(key) > 1 else key[0]] if key else cpt.iloc[0]
            p *= float(row[x[v]])
        rows.append({**x, "p": p})
    return pd.DataFrame(rows)


@st.composite
def questions(draw: st.DrawFn) -> tuple[po.BayesNet, dict[str, object], pd.Series]:
    """A network, evidence of every kind, and the weight of every configuration under it."""
    net = draw(networks())
    table = joint(net)
    weight = table["p"]
    evidence: dict[str, object] = {}
    for v in net.nodes:
        states = net.states(v)
        kind = draw(st.sampled_from(["nothing", "nothing", "hard", "not", "soft"]))
        if kind == "hard":
            evidence[v] = draw(st.sampled_from(states))
            likelihood = {s: float(s == evidence[v]) for s in states}
        elif kind == "not":
            out = draw(st.sampled_from(states))
            evidence[v] = draw(st.sampled_from([po.Not(out), {"not": out}]))
            likelihood = {s: float(s != out) for s in states}
        elif kind == "soft":
            likelihood = {s: draw(st.sampled_from([0.0, 0.3, 1.0, 7.0])) for s in states}
            evidence[v] = likelihood
        else:
            continue
        weight = weight * table[v].map(likelihood)
    return net, evidence, table.assign(w=weight)


@given(questions())
def test_exact_answers_are_enumeration(question: tuple[po.BayesNet, dict[str, object], pd.DataFrame]) -> None:
    net, evidence, table = question
    total = table["w"].sum()
    assert net.probability(evidence) == pytest.approx(total, rel=1e-12, abs=1e-300)
    if total == 0:
        for ask in (lambda: net.marginals(evidence), lambda: net.query(net.nodes[0], evidence)):
            with pytest.raises(ImpossibleEvidence) as caught:
                ask()
            core = {n: evidence[n] for n in caught.value.findings}
            assert net.probability(core) == 0
            assert all(net.probability({k: v for k, v in core.items() if k != n}) > 0 for n in core)
        return
    for v, found in net.marginals(evidence).items():
        want = table.groupby(v)["w"].sum() / total
        assert found == pytest.approx({s: want[s] for s in net.states(v)}, abs=1e-12)
    pair = net.query(net.nodes[:2], evidence)
    want = table.groupby(list(net.nodes[:2]))["w"].sum() / total
    for key in itertools.product(*(net.states(v) for v in net.nodes[:2])):
        assert pair[key] == pytest.approx(want[key], abs=1e-12)
    best = net.most_probable(evidence)
    chosen = table[np.logical_and.reduce([table[v] == s for v, s in best.items()])]["w"].item()
    assert chosen == pytest.approx(table["w"].max(), rel=1e-9)


def test_published_figures_of_asia() -> None:
    assert ASIA.marginals()["lung"]["yes"] == pytest.approx(0.055, abs=1e-12)
    assert ASIA.marginals({"xray": "yes"})["lung"]["yes"] == pytest.approx(0.48871, abs=5e-6)
    assert ASIA.marginals({"xray": "yes", "asia": "yes"})["lung"]["yes"] == pytest.approx(0.37149, abs=5e-6)
    for evidence in ({}, {"xray": "yes"}, {"xray": "yes", "asia": "yes"}):
        assert ASIA.query("lung", evidence)["yes"] == pytest.approx(ASIA.marginals(evidence)["lung"]["yes"], abs=1e-14)


def test_classic_networks() -> None:
    assert po.networks.cancer().marginals()["Cancer"]["True"] == pytest.approx(0.01163, abs=1e-8)
    calls = po.networks.earthquake().marginals({"JohnCalls": "True", "MaryCalls": "True"})
    assert calls["Burglary"]["True"] == pytest.approx(0.55652, abs=5e-6)
    wet = po.networks.sprinkler().marginals({"wet": "yes"})
    assert wet["sprinkler"]["yes"] == pytest.approx(0.4298, abs=5e-5)
    assert wet["rain"]["yes"] == pytest.approx(0.7079, abs=5e-5)


# Construction


def test_tables_in_every_form_are_one_network() -> None:
    nested = {"yes": {"yes": [1, 0], "no": {"yes": 1, "no": 0}}, "no": {"yes": [1, 0], "no": [0, 1]}}
    frame = ASIA.cpt("either")
    turned = frame.reorder_levels(["tub", "lung"]).sort_index()[["no", "yes"]]
    flat = np.array([[1, 0], [1, 0], [1, 0], [0, 1]])
    for either in (nested, EITHER, frame, turned, flat, flat.reshape(2, 2, 2), flat.tolist()):
        tables = {n: ASIA.cpt(n) for n in ASIA.nodes} | {"either": either}
        assert po.BayesNet(ASIA.edges, tables, states={n: ("yes", "no") for n in ASIA.nodes}) == ASIA
    tables = {n: ASIA.cpt(n) for n in ASIA.nodes} | {"either": nested, "smoke": pd.Series({"yes": 0.5, "no": 0.5})}
    assert po.BayesNet(ASIA.dag, tables, states={"either": ("yes", "no")}) == ASIA


def test_states_of_bare_numbers() -> None:
    net = po.BayesNet([("a", "b")], {"a": [0.5, 0.5], "b": [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]})
    assert net.states("b") == ("0", "1", "2")
    assert net.marginals({"a": 1})["b"]["2"] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {**EITHER, ("yes", "no"): [0.9, 0.2]},
            r"the row of 'either' for lung=yes, tub=no sums to 1\.1, not 1",
        ),
        ({**EITHER, ("yes", "no"): [1.5, -0.5]}, r"lung=yes, tub=no holds what is no probability"),
        ({**EITHER, ("yes", "no"): [float("nan"), 1]}, r"lung=yes, tub=no holds what is no probability"),
        ({**EITHER, ("yes", "no"): {"yes": float("nan")}}, r"lung=yes, tub=no holds what is no probability"),
        ({k: v for k, v in EITHER.items() if k != ("no", "yes")}, r"no row for lung=no, tub=yes"),
        ({**EITHER, ("yes", "no"): [0.9, 0.05, 0.05]}, r"a row of 'either' needs 2 numbers, found 3"),
        ({**EITHER, ("yes", "no", "no"): [1, 0]}, r"too many"),
        ([[1, 0], [1, 0], [1, 0]], r"needs the shape \(2, 2, 2\) \(lung × tub × either\), found \(3, 2\)"),
        (pd.DataFrame([[1, 0]], columns=["yes", "no"]), r"needs 4 rows, found 1"),
        ("table", r"is no array of numbers"),
        ({"yes": 1}, r"needs a mapping over the states of 'tub'"),
    ],
)
def test_a_wrong_table_is_told(table: object, message: str) -> None:
    tables = {n: ASIA.cpt(n) for n in ASIA.nodes} | {"either": table}
    with pytest.raises(InvalidNetwork, match=message):
        po.BayesNet(ASIA.edges, tables, states={"either": ("yes", "no")})


def test_a_wrong_network_is_told() -> None:
    with pytest.raises(InvalidNetwork, match="cycle: a → b → a"):
        po.BayesNet([("a", "b"), ("b", "a")], {"a": [[1], [1]], "b": [[1], [1]]})
    with pytest.raises(InvalidNetwork, match="unknown node 'bb'; did you mean 'b'"):
        po.BayesNet([("a", "bb")], {"a": [1.0], "b": [1.0]})
    with pytest.raises(InvalidNetwork, match="no table for 'b'"):
        po.BayesNet(po.Dag("ab"), {"a": [1.0]})
    with pytest.raises(UnknownValue, match="'a' has no state 'nn'; did you mean 'n'"):
        po.BayesNet([], {"a": {"y": 0.5, "nn": 0.5}}, states={"a": ["y", "n"]})
    with pytest.raises(UnknownColumn, match="states are given for 'c'"):
        po.BayesNet([], {"a": [1.0]}, states={"c": ["y"]})
    with pytest.raises(InvalidNetwork, match="lists a state twice"):
        po.BayesNet([], {"a": [0.5, 0.5]}, states={"a": ["y", "y"]})
    with pytest.raises(InvalidNetwork, match="at least one node"):
        po.BayesNet([], {})


def test_immutable() -> None:
    table = np.array([0.5, 0.5])
    net = po.BayesNet([], {"a": table})
    table[0] = 9
    cpt = net.cpt("a")
    cpt.iloc[0, 0] = 9
    assert net.cpt("a").to_numpy().tolist() == [[0.5, 0.5]]
    with pytest.raises(AttributeError):
        net.nodes = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        net.query("a").values[0] = 9


def test_pickle_and_threads() -> None:
    again = pickle.loads(pickle.dumps(ASIA))
    assert again == ASIA
    want = {x: ASIA.marginals({"xray": x})["lung"]["yes"] for x in ("yes", "no")}
    done: list[bool] = []

    def ask(x: str) -> None:
        for _ in range(50):
            done.append(abs(again.marginals({"xray": x})["lung"]["yes"] - want[x]) < 1e-14)

    team = [threading.Thread(target=ask, args=(x,)) for x in ("yes", "no", "yes", "no")]
    for t in team:
        t.start()
    for t in team:
        t.join()
    assert done == [True] * 200


# Counting


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dict"])
def test_fit_counts_families(library: str) -> None:
    cells = {"a": ["x", "x", "y", None, "y"], "b": [1, 2, 2, 1, None], "id": [9, 8, 7, 6, 5]}
    data = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}[library](cells)
    net = po.BayesNet.fit(po.Dag("ab", [("a", "b")]), data, smoothing=0)
    assert net.states("a") == ("x", "y")
    assert [int(s) for s in net.states("b")] == [1, 2]
    assert net.cpt("a").to_numpy().tolist() == [[0.5, 0.5]]
    assert net.cpt("b").to_numpy().tolist() == [[0.5, 0.5], [0.0, 1.0]]
    smooth = po.BayesNet.fit(po.Dag("ab", [("a", "b")]), data, smoothing=1)
    assert smooth.cpt("b").to_numpy() == pytest.approx(np.array([[2 / 4, 2 / 4], [1 / 3, 2 / 3]]))


def test_fit_recovers_a_network_and_keeps_its_states() -> None:
    data = ASIA.sample(40_000, random_state=1)
    net = po.BayesNet.fit(ASIA.dag, data, smoothing=0.5)
    assert [net.states(n) for n in net.nodes] == [ASIA.states(n) for n in ASIA.nodes]
    assert net.marginals()["dysp"]["yes"] == pytest.approx(ASIA.marginals()["dysp"]["yes"], abs=0.02)
    twice = po.BayesNet.fit(ASIA.dag, data[:100], sample_weight=np.full(100, 2.0))
    assert twice == po.BayesNet.fit(ASIA.dag, pd.concat([data[:100]] * 2))


def test_fit_errors() -> None:
    dag = po.Dag("ab", [("a", "b")])
    with pytest.raises(UnknownColumn, match="no column for 'b'"):
        po.BayesNet.fit(dag, {"a": [1]})
    with pytest.raises(UnknownValue, match="column 'a', row 1: 'a' has no state 3"):
        po.BayesNet.fit(dag, {"a": [1, 3], "b": [1, 1]}, states={"a": [1, 2]})
    with pytest.raises(ValueError, match="smoothing is a number from 0 to"):
        po.BayesNet.fit(dag, {"a": [1], "b": [1]}, smoothing=-1)
    with pytest.raises(TableError, match="every cell of 'a' is missing"):
        po.BayesNet.fit(dag, {"a": [None], "b": [1]})
    with pytest.raises(ValueError, match="sample weight"):
        po.BayesNet.fit(dag, {"a": [1], "b": [1]}, sample_weight=[-1])
    many = po.Dag([f"x{i}" for i in range(50)], [(f"x{i}", "x0") for i in range(1, 50)])
    with pytest.raises(MemoryBudgetError, match="holds 1,125,899,906,842,624 numbers"):
        po.BayesNet.fit(many, {n: [0, 1] for n in many.nodes})


# Evidence


def test_evidence_errors_help() -> None:
    with pytest.raises(UnknownValue, match="'xray' has no state 'yess'; did you mean 'yes'\\? states: 'yes', 'no'"):
        ASIA.marginals({"xray": "yess"})
    with pytest.raises(UnknownColumn, match="no node 'xry'; did you mean 'xray'"):
        ASIA.query("lung", {"xry": "yes"})
    with pytest.raises(BadValue, match="names every state once; missing or doubled: 'no'"):
        ASIA.marginals({"xray": {"yes": 0.3}})
    with pytest.raises(BadValue, match="finite number from 0 up, got nan"):
        ASIA.marginals({"xray": {"yes": 0.3, "no": float("nan")}})
    with pytest.raises(BadValue, match="finite number from 0 up, got -1"):
        ASIA.marginals({"xray": {"yes": 0.3, "no": -1}})
    with pytest.raises(BadValue, match="a mapping from node to finding, got list"):
        ASIA.marginals(["xray"])  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="asked for twice"):
        ASIA.query(["lung", "lung"])
    with pytest.raises(BadValue, match="at least one state"):
        po.Not()


def test_unknown_cells_are_no_evidence() -> None:
    nothing = ASIA.marginals()
    for empty in (None, float("nan"), pd.NA, np.nan):
        assert ASIA.marginals({"xray": empty}) == nothing


def test_impossible_rows_get_the_prior_where_that_is_wanted_and_are_counted() -> None:
    net = po.networks.asia()
    cases = {"lung": ["yes", "yes", None], "either": ["yes", "no", "no"], "smoke": [None, None, "no"]}
    prior, told = [*net.marginals()["bronc"].values()], "1 row of 3 \\(row 1\\)"
    with pytest.warns(UserWarning, match=told):
        found = net.predict_proba(cases, "bronc", impossible="prior")
    assert found[1] == pytest.approx(prior)
    codes = read_cases(cases, net.dag.index, net._states)
    with pytest.warns(UserWarning, match=told):  # row by row, of a network too large for a tree
        alone = case_posteriors(net._model, codes, net.nodes.index("tub"), impossible="prior")
    assert alone[1] == pytest.approx([*net.marginals()["tub"].values()])
    assert found[2] == pytest.approx([*net.marginals({"lung": None, "either": "no", "smoke": "no"})["bronc"].values()])
    hybrid = po.HybridNet([("a", "x")], {"a": [0.3, 0.7]}, {"x": ([0, 1], [], 1)})
    with pytest.warns(UserWarning, match=told):
        found = hybrid.predict_proba({"x": [0.5, 1e200, None]}, "a", impossible="prior")
    assert found.tolist() == pytest.approx(np.array([[0.3, 0.7]] * 3))
    with pytest.raises(ImpossibleEvidence, match="row 1"):
        hybrid.predict_proba({"x": [0.5, 1e200, None]}, "a")
    rows = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}
    model = po.BayesNetClassifier("tan", smoothing=0, kinds="categorical").fit(rows, ["x", "x", "x", "y"])
    with pytest.warns(UserWarning, match="1 row of 2"):
        assert model.predict_proba({"a": [0, 0], "b": [1, 0]}, impossible="prior").tolist() == [[0.75, 0.25], [1, 0]]


def test_impossible_evidence_names_a_minimal_set() -> None:
    evidence = {"smoke": "yes", "either": "no", "asia": "yes", "lung": "yes", "xray": "yes"}
    with pytest.raises(ImpossibleEvidence, match=r"either='no' and lung='yes' contradict each other") as caught:
        ASIA.marginals(evidence)
    assert set(caught.value.findings) == {"either", "lung"}
    assert set(pickle.loads(pickle.dumps(caught.value)).findings) == {"either", "lung"}
    assert ASIA.probability(evidence) == 0.0
    with pytest.raises(ImpossibleEvidence, match="xray=Not\\('yes', 'no'\\) contradicts the tables"):
        ASIA.marginals({"xray": po.Not("yes", "no")})
    with pytest.raises(ImpossibleEvidence, match="row 1 of the cases has probability zero: lung='yes' and either='no'"):
        ASIA.predict({"either": ["yes", "no"], "lung": ["yes", "yes"]}, "smoke")


# Cases


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "dict", "categorical"])
def test_predict_is_one_query_a_row(library: str) -> None:
    cells = {"xray": ["yes", None, "no", "yes"], "dysp": ["no", "yes", None, "yes"], "lung": [None, "yes", "no", "no"]}
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table, "dict": dict}
    make["categorical"] = lambda c: pd.DataFrame(c).astype("category")
    got = ASIA.predict_proba(make[library](cells), "lung")
    rows = [{k: v[i] for k, v in cells.items() if k != "lung"} for i in range(4)]
    want = [list(ASIA.marginals(r)["lung"].values()) for r in rows]
    assert got == pytest.approx(np.array(want), abs=1e-12)
    labels = ASIA.predict(make[library](cells), "lung")
    assert labels.tolist() == [("yes", "no")[int(np.argmax(w))] for w in want]


def test_cases_errors_help() -> None:
    with pytest.raises(UnknownColumn, match="column 'xry' is no node; did you mean 'xray'"):
        ASIA.predict({"xry": ["yes"]}, "lung")
    with pytest.raises(UnknownValue, match="column 'xray', row 2: 'xray' has no state 'maybe'"):
        ASIA.predict({"xray": ["yes", None, "maybe"]}, "lung")
    with pytest.raises(UnknownColumn, match="no node 'lun'; did you mean 'lung'"):
        ASIA.predict({"xray": ["yes"]}, "lun")
    with pytest.raises(TableError, match="columns differ in length"):
        ASIA.predict({"xray": ["yes"], "dysp": []}, "lung")
    with pytest.raises(TypeError, match="Got int instead"):
        ASIA.predict(3, "lung")
    with pytest.raises(TableError, match="at least one column"):
        ASIA.predict({}, "lung")


def test_no_cases() -> None:
    assert ASIA.predict_proba({"xray": []}, "lung").shape == (0, 2)


# The budget


def test_a_network_over_the_budget_is_refused_by_name() -> None:
    n = 12
    grid = [f"g{i}_{j}" for i in range(n) for j in range(n)]
    edges = [(f"g{i}_{j}", f"g{i}_{j + 1}") for i in range(n) for j in range(n - 1)]
    edges += [(f"g{i}_{j}", f"g{i + 1}_{j}") for i in range(n - 1) for j in range(n)]
    tables = {v: np.full([4] * (1 + sum(c == v for _, c in edges)), 0.25) for v in grid}
    net = po.BayesNet(edges, tables)
    with pytest.raises(MemoryBudgetError, match=r"GiB|TiB") as caught:
        net.marginals(max_memory=2 << 30)
    message = str(caught.value)
    assert "'g" in message
    assert "sampl" in message
    assert "over the budget of 2.0 GiB" in message
    assert net.query("g0_0")["0"] == pytest.approx(0.25)
    with pytest.raises(MemoryBudgetError):
        ASIA.marginals(max_memory=10)


def test_no_limit_of_dimensions() -> None:
    n = 80
    nodes = [f"x{i}" for i in range(n)]
    net = po.BayesNet(
        [(p, "x0") for p in nodes[1:70]],
        {v: [1.0] if v != "x0" else np.array([[0.25, 0.75]]) for v in nodes},
        states={v: ["only"] if v != "x0" else ["a", "b"] for v in nodes},
    )
    assert net.marginals()["x0"]["a"] == 0.25
    everything = net.query(nodes)
    assert everything.values.tolist() == [0.25, 0.75]
    assert len(everything.to_frame()) == 2


# Faces


def test_factor() -> None:
    both = ASIA.query(["tub", "lung"], {"xray": "yes"})
    frame = both.to_frame()
    assert list(frame.columns) == ["tub", "lung", "p"]
    assert both.values.shape == (2, 2)
    assert both[{"lung": "yes", "tub": "no"}] == both["no", "yes"] == both.values[1, 0] == frame["p"][2]
    assert both.values.sum() == pytest.approx(1)
    assert "<table" in both._repr_html_()
    with pytest.raises(UnknownValue, match="no state 'nope'"):
        both["no", "nope"]
    with pytest.raises(UnknownValue, match="one state for each"):
        both["no"]
    with pytest.raises(UnknownColumn, match="no variable 'lun'; did you mean 'lung'"):
        both[{"lun": "yes", "tub": "no"}]


def test_faces(tmp_path: object) -> None:
    assert "8 nodes, 8 edges, 18 parameters" in ASIA._repr_html_()
    assert "<svg" in ASIA._repr_html_()
    drawing = ASIA.plot()
    drawing.save(tmp_path / "asia.svg")  # type: ignore[operator]
    assert (tmp_path / "asia.svg").read_text(encoding="utf-8") == str(drawing)  # type: ignore[operator]
    assert drawing._repr_html_().count('class="node"') == 8
    shown = str(ASIA.plot({"xray": "yes", "dysp": None}))
    assert "yes 48.9%" in shown
    assert shown.count('stroke-width="2.6"') == 1
    assert repr(ASIA) == "BayesNet('asia': 8 nodes, 8 edges)"


def test_to_networkx() -> None:
    graph = ASIA.to_networkx()
    assert set(graph.edges) == set(ASIA.edges)
    assert graph.nodes["lung"]["states"] == ("yes", "no")


def test_missing_networkx_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtra, match=r"posteriori\[graph\]"):
        ASIA.to_networkx()


def test_graph_questions() -> None:
    assert ASIA.d_separated("asia", "smoke")
    assert not ASIA.d_separated("asia", "smoke", "dysp")
    assert ("tub", "lung") in ASIA.moral_graph().edges
    assert ASIA.markov_blanket("lung") == ("tub", "smoke", "either")
    assert ASIA.dag.triangulation().treewidth == 2
    assert ASIA.children("smoke") == ("lung", "bronc")


def test_files_of_a_network(tmp_path: object) -> None:
    with pytest.raises(FormatError, match="no network format ends in"):
        ASIA.write(tmp_path / "asia.txt")  # type: ignore[operator]


def test_what_is_excluded_is_a_set_of_states():
    assert po.Not("a", "b") == po.Not("b", "a")
    assert hash(po.Not("a", "b")) == hash(po.Not("b", "a"))
    assert po.Not("a") != po.Not("b")
    assert po.Not("a") != "a"


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_the_probability_of_likelihoods_is_their_mean_or_more_than_a_number(scale):
    """P(e) = Σ_a P(a) λ(a) for each of two nodes; beyond the largest number it is infinite, its logarithm is not."""
    net = po.BayesNet([], {"a": [0.25, 0.75], "b": [0.5, 0.5]})
    told = {n: {s: scale * (k + 1) for k, s in enumerate(net.states(n))} for n in "ab"}
    wanted = np.log(1.75) + np.log(1.5) + 2 * np.log(scale)
    assert net.log_probability(told) == pytest.approx(wanted)
    assert net.probability(told) == (np.inf if scale > 1 else pytest.approx(np.exp(wanted)))


def test_the_likelihood_of_a_table_is_that_of_its_rows():
    """By one question a row, missing cells and a missing column too; an impossible row is −∞."""
    net = po.networks.asia()
    rows = net.sample(60, random_state=0).drop(columns="xray").astype(object)
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.2, None)
    rows.loc[:1] = None
    said = [{n: v for n, v in row.items() if v is not None} for row in rows.to_dict("records")]
    want = sum(net.log_probability(row) for row in said)
    assert net.log_likelihood(rows) == pytest.approx(want, rel=1e-12)
    assert net.bic(rows) == pytest.approx(want - np.log(60) / 2 * 18, rel=1e-12)
    whole = net.sample(300, random_state=1)
    assert net.log_likelihood(whole, n_jobs=1) == net.log_likelihood(whole, n_jobs=2)
    never = {"tub": ["yes"], "either": ["no"]}
    assert net.log_likelihood(never) == net.log_likelihood(
        {**never, **{n: ["no"] for n in net.nodes if n not in never}}
    )
    assert net.log_likelihood(never) == -np.inf
    with pytest.raises(MemoryBudgetError):
        net.log_likelihood(never, max_memory=10)
