"""Between names and numbers: one tree for all questions, compiled once; impossible evidence told by name."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ImpossibleEvidence, MemoryBudgetError
from posteriori.network.engine import Engine


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
