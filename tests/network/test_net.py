"""The network as a value: equal to the last digit, pickled without what can be computed again, set from outside."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import BadValue, FormatError, UnknownColumn, UnknownValue


def net(p=0.25, states=("no", "yes"), name="n"):
    tables = {"a": [1 - p, p], "b": [[0.9, 0.1], [0.3, 0.7]], "c": [[0.5, 0.5], [0.2, 0.8]]}
    return po.BayesNet([("a", "b"), ("a", "c")], tables, states=dict.fromkeys("abc", states), name=name)


def test_what_it_is_made_of():
    n = net()
    assert (n.name, n.nodes, n.edges) == ("n", ("a", "b", "c"), (("a", "b"), ("a", "c")))
    assert (n.parents("b"), n.children("a"), n.states("c")) == (("a",), ("b", "c"), ("no", "yes"))
    assert n.n_parameters == 1 + 2 + 2
    table = n.cpt("b")
    assert table.loc["yes", "no"] == 0.3
    assert (table.index.name, table.columns.name) == ("a", "b")
    table.loc["yes", "no"] = 9.0
    assert n.cpt("b").loc["yes", "no"] == 0.3  # a copy
    assert repr(n) == "BayesNet('n': 3 nodes, 2 edges)"
    assert n.dag == po.Dag("abc", [("a", "b"), ("a", "c")])
    assert sorted(n.markov_blanket("b")) == ["a"]
    assert n.d_separated("b", "c", "a")
    assert not n.d_separated("b", "c")
    assert set(n.moral_graph().edges) == {("a", "b"), ("a", "c")}
    graph = n.to_networkx()
    assert graph.nodes["b"]["states"] == ("no", "yes")
    assert graph.nodes["b"]["cpt"].loc["no", "yes"] == 0.1
    with pytest.raises(UnknownColumn, match="no node 'd'"):
        n.states("d")
    with pytest.raises(UnknownColumn, match="states are given for"):
        po.BayesNet([], {"a": [1.0]}, states={"a": ["x"], "z": ["y"]})


def test_equal_is_equal_to_the_last_digit():
    assert net() == net()
    assert hash(net()) == hash(net())
    assert net() == net(name="another")
    assert net() != net(np.nextafter(0.25, 1))
    assert net() != net(states=("yes", "no"))
    assert net() != "n"
    fewer = po.BayesNet([], {"a": [0.75, 0.25]}, states={"a": ("no", "yes")})
    assert net() != fewer
    turned = {"a": [[0.5, 0.5], [0.5, 0.5]], "b": [0.5, 0.5]}
    one = po.BayesNet([("b", "a")], turned, states=dict.fromkeys("ab", ("s", "t")))
    two = po.BayesNet([("a", "b")], {"b": turned["a"], "a": turned["b"]}, states=dict.fromkeys("ab", ("s", "t")))
    assert one != two
    back = pickle.loads(pickle.dumps(net()))
    assert back == net()
    asked = net()
    asked.marginals()
    assert len(pickle.dumps(asked)) < len(pickle.dumps(net())) + 200  # what can be computed again is left


def test_what_is_done_cuts_the_arrows_into_it():
    n = net()
    done = n.do({"b": "yes"})
    assert done.edges == (("a", "c"),)
    assert done.marginals()["b"]["yes"] == 1.0
    assert done.marginals()["a"]["yes"] == pytest.approx(0.25)
    drawn = n.do({"b": {"yes": 0.4, "no": 0.6}})
    assert drawn.marginals()["b"]["yes"] == pytest.approx(0.4)
    assert n.do({}) == n
    assert n.edges == (("a", "b"), ("a", "c"))
    both = n.do({"a": "no", "c": "yes"})
    assert both.edges == (("a", "b"),)
    assert both.marginals()["b"]["yes"] == pytest.approx(0.1)
    with pytest.raises(BadValue, match="do takes a mapping"):
        n.do(["b"])
    with pytest.raises(UnknownColumn):
        n.do({"z": "yes"})
    with pytest.raises(UnknownValue):
        n.do({"b": "maybe"})


def test_files_keep_every_digit(tmp_path):
    n = net(1 / 3)
    n.write(tmp_path / "n.bif")
    assert po.BayesNet.read(tmp_path / "n.bif") == n
    twins = po.BayesNet([], {"a": [0.5, 0.5]}, states={"a": (1, "1")})
    with pytest.raises(FormatError, match="the states of 'a' are not told apart by their text"):
        twins.write(tmp_path / "t.bif")
    text = (tmp_path / "n.bif").read_text().replace("0.9", "0.8")
    (tmp_path / "bad.bif").write_text(text)
    with pytest.raises(FormatError, match=r"bad\.bif"):
        po.BayesNet.read(tmp_path / "bad.bif")


def test_states_that_are_tuples_have_their_tables():
    pairs = np.empty(3, dtype=object)
    pairs[:] = [(0, 1), (1, 0), (0, 1)]
    net = po.BayesNet.fit(po.Dag(["a", "b"], [("a", "b")]), {"a": pairs, "b": ["x", "y", "x"]})
    assert net.cpt("a").shape == (1, 2)
    assert net.cpt("b").index.tolist() == [(0, 1), (1, 0)]
    assert net.to_networkx().nodes["b"]["cpt"].shape == (2, 2)
