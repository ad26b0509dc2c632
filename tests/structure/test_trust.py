"""Trust in arrows: shares of samples, the averaged network, held-out rows by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, UnknownColumn
from posteriori.structure.trust import ArcConfidence


def table(n: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.85, a, 1 - a)
    c = np.where(rng.random(n) < 0.6, b, rng.integers(0, 3, n))
    return {"a": a, "b": b, "c": c, "d": np.where(rng.random(n) < 0.1, None, rng.integers(0, 2, n).astype(object))}


def test_shares_of_samples():
    found = po.arc_confidence(table(), n=30, random_state=0, score="aic")
    assert found.n == 30
    assert found.strength("a", "b") == found.strength("b", "a") == 1.0
    assert found.direction("a", "b") + found.direction("b", "a") == pytest.approx(1.0)
    assert 0 <= found.strength("a", "d") < 0.5
    assert all(0 < share <= 1 for share in found.arrows.values())
    assert found == po.arc_confidence(table(), n=30, random_state=0, score="aic", n_jobs=1)
    assert found != po.arc_confidence(table(), n=30, random_state=1, score="aic")
    frame = found.table()
    assert frame["strength"].is_monotonic_decreasing
    assert frame["strength"].nunique() > 1
    assert frame.index.tolist() == list(range(len(frame)))
    assert (frame["direction"] >= 0.5).all()
    assert len(frame) == len({frozenset(arrow) for arrow in found.arrows})
    assert {frozenset(e) for e in found.averaged(0.9).edges} <= {frozenset(e) for e in found.averaged(0.1).edges}


def test_weights_are_copies_of_rows():
    """A sample by weights is a sample of copied rows: the same structure."""
    data = table()
    weights = np.random.default_rng(3).multinomial(300, np.full(300, 1 / 300))
    copied = {k: np.repeat(v, weights) for k, v in data.items()}
    by_weight, by_copy = po.learn_structure(data, sample_weight=weights), po.learn_structure(copied)
    assert by_weight.edges == by_copy.edges
    assert by_weight.score == pytest.approx(by_copy.score)


def test_the_averaged_network_has_no_cycle():
    ring = {("a", "b"): 0.9, ("b", "c"): 0.8, ("c", "a"): 0.7, ("a", "c"): 0.1}
    averaged = ArcConfidence(("a", "b", "c"), ring, 10).averaged()
    assert averaged.edges == (("a", "b"), ("b", "c"), ("a", "c")) or set(averaged.edges) == {
        ("a", "b"),
        ("b", "c"),
        ("a", "c"),
    }
    del ring["a", "c"]
    assert set(ArcConfidence(("a", "b", "c"), ring, 10).averaged().edges) == {("a", "b"), ("b", "c")}
    assert ArcConfidence(("a", "b", "c"), ring, 10).averaged(0.95).edges == ()


def test_time_and_ctrl_c():
    assert po.arc_confidence(table(), n=50, time_limit=0, random_state=0).n == 1

    def stop(line: str) -> None:
        if line.startswith("sample 3"):
            raise KeyboardInterrupt

    assert po.arc_confidence(table(), n=50, progress=stop, random_state=0).n == 3
    with pytest.raises(BadParameter, match="n is a number of samples"):
        po.arc_confidence(table(), n=0)
    with pytest.raises(BadParameter, match="threshold"):
        po.arc_confidence(table(), n=1, random_state=0).averaged(2)


def test_ctrl_c_within_a_search_ends_the_samples(monkeypatch):
    """A search that was interrupted is no sample, and no further one begins."""
    from dataclasses import replace

    searched, calls = po.learn_structure, []

    def interrupted_at_four(*args, **kwargs):
        calls.append(1)
        found = searched(*args, **kwargs)
        return replace(found, finished=False) if len(calls) == 4 else found

    monkeypatch.setattr("posteriori.structure.trust.learn_structure", interrupted_at_four)
    assert po.arc_confidence(table(), n=50, random_state=0).n == 3
    assert len(calls) == 4


def test_held_out_rows_by_hand():
    data = {"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "u"]}
    found = po.cross_validate(data, po.Dag(["a", "b"], [("a", "b")]), folds=4, smoothing=0.5)
    expected = []
    for i in range(4):
        rest = [(p, c) for k, (p, c) in enumerate(zip(data["a"], data["b"])) if k != i]
        p, c = data["a"][i], data["b"][i]
        theta = (sum(r[0] == p for r in rest) + 0.5) / 4
        both, above = sum(r == (p, c) for r in rest), sum(r[0] == p for r in rest)
        expected.append(math.log(theta) + math.log((both + 0.5) / (above + 1)))
    assert sorted(found.folds) == pytest.approx(sorted(expected))
    assert found.mean == pytest.approx(np.mean(expected))


def test_held_out_rows_tell_structures_apart():
    data = table()
    learned, empty = po.cross_validate(data), po.cross_validate(data, po.Dag(list("abcd")))
    full = po.cross_validate(data, po.Dag("abcd", [(u, v) for i, u in enumerate("abcd") for v in "abcd"[i + 1 :]]))
    assert learned.mean > empty.mean
    assert learned.mean > full.mean
    assert len(learned.dags) == len(learned.folds) == 5
    assert learned == po.cross_validate(data)
    for wrong in ({"folds": 1}, {"folds": 400}, {"smoothing": 0}, {"structure": "tree"}):
        with pytest.raises(BadParameter, match="Got"):
            po.cross_validate(data, **wrong)
    with pytest.raises(UnknownColumn, match="no node 'd'"):
        po.cross_validate(data, po.Dag("abc"))
    with pytest.raises(BadParameter, match="'k': options of a search, but the structure is given"):
        po.cross_validate(data, po.Dag("abcd"), k=2)
    assert po.cross_validate(data, po.Dag("abcd"), n_jobs=1) == empty


def test_beside_the_true_structure():
    net = po.networks.asia()
    same = po.compare_structures(net.dag, net.dag)
    assert same.distance == 0
    assert len(same.right) == 8
    turned = po.Dag(net.nodes, [*((a, b) for a, b in net.edges if (a, b) != ("smoke", "lung")), ("lung", "smoke")])
    assert po.compare_structures(turned, net.dag).turned == (("lung", "smoke"),)
    assert po.compare_structures(po.Dag(net.nodes), net.dag).distance == 8
    drawing = str(po.compare_structures(turned, net.dag).plot())
    assert "1 turned" in drawing
    assert "missing" not in drawing
    with pytest.raises(InvalidNetwork, match="different nodes: 'z'"):
        po.compare_structures(po.Dag("ab"), po.Dag("abz"))
    with pytest.raises(InvalidNetwork, match="two Dags"):
        po.compare_structures(po.Dag("ab"), "ab")
    strong = po.arc_confidence(table(), n=5, random_state=0)
    assert "stroke-width" in str(strong.plot())


@pytest.mark.parametrize(("folds", "runs"), [(1, False), (2, True), (8, True), (9, False), (True, False), (2.0, False)])
def test_folds_are_two_at_least_and_no_more_than_rows(folds, runs):
    table = pd.DataFrame({"a": list("xyxyxyxy"), "b": list("uuvvuuvv")})
    if runs:
        po.cross_validate(table, folds=folds)
    else:
        with pytest.raises(BadParameter, match="folds"):
            po.cross_validate(table, folds=folds)
