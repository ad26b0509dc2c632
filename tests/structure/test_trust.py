"""Structures judged: beside the true one, shares of samples, the averaged network, held-out rows by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import BadParameter, InvalidNetwork, UnknownColumn
from posteriori.structure import trust
from posteriori.structure.search import learn_structure
from posteriori.structure.trust import ArcConfidence, _columns, _held_out, compare_structures


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


def test_the_first_sample_has_no_more_time_than_there_is(monkeypatch):
    """An exact search of 22 columns went on for a minute after a limit of a second."""
    limits = []

    def told(*data, **options):
        limits.append(options["time_limit"])
        return learn_structure(*data, **options)

    monkeypatch.setattr(trust, "learn_structure", told)
    assert po.arc_confidence(table(), n=3, time_limit=60, random_state=0).n == 3
    assert 0 < limits[2] <= limits[1] <= limits[0] <= 60


def test_time_and_ctrl_c():
    with pytest.warns(UserWarning, match="time_limit=0 ended the search in the first sample"):
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


def test_arrows_are_averaged_by_strength_then_by_place():
    shares = {("c", "b"): 0.3, ("b", "c"): 0.3, ("b", "a"): 0.4, ("a", "b"): 0.2, ("d", "a"): 0.5, ("a", "c"): 0.1}
    found = ArcConfidence(tuple("abcd"), shares, 10)
    assert found.strength("a", "b") == found.strength("b", "a") == pytest.approx(0.6)
    assert found.strength("b", "d") == 0.0
    assert found.direction("b", "a") == pytest.approx(2 / 3)
    assert found.direction("b", "d") == 0.5
    assert found.averaged(0.5).edges == (("b", "a"), ("b", "c"))  # of ½ the first by place; 0.5 is not more than 0.5
    assert found.averaged(0.49).edges == (("b", "a"), ("b", "c"), ("d", "a"))
    assert found.averaged(0).edges == (("b", "a"), ("b", "c"), ("d", "a"), ("a", "c"))
    assert found.averaged(1).edges == ()
    for bad in (-0.1, 1.1, True, "x"):
        with pytest.raises(BadParameter, match="threshold is a share from 0 to 1"):
            found.averaged(bad)
    frame = found.table()
    assert frame[["parent", "child"]].to_numpy().tolist() == [["b", "c"], ["b", "a"], ["d", "a"], ["a", "c"]] or (
        frame[["parent", "child"]].to_numpy().tolist() == [["b", "a"], ["b", "c"], ["d", "a"], ["a", "c"]]
    )
    assert sorted(frame["strength"]) == pytest.approx([0.1, 0.5, 0.6, 0.6])
    assert sorted(frame["direction"]) == pytest.approx([0.5, 2 / 3, 1.0, 1.0])


def test_an_arrow_is_turned_where_it_would_close_a_cycle_and_some_sample_has_it_so():
    ring = {("a", "b"): 0.9, ("b", "c"): 0.8, ("c", "a"): 0.6}
    assert ArcConfidence(tuple("abc"), ring, 10).averaged().edges == (("a", "b"), ("b", "c"))
    assert ArcConfidence(tuple("abc"), ring | {("a", "c"): 0.05}, 10).averaged().edges[2:] == (("a", "c"),)


def test_shares_are_those_of_the_structures_of_the_samples(monkeypatch):
    """Each sample weighs the rows by how often they were drawn, in proportion to their own weights."""
    drawn = []
    told = iter([[("a", "b")], [("b", "a"), ("a", "c")], [("a", "b")], []])

    class Found:
        finished = True

        def __init__(self, edges):
            self.edges = edges

    def learn(columns, sample_weight, **options):
        assert options == {"score": "aic", "time_limit": None}
        drawn.append(sample_weight)
        return Found(next(told))

    monkeypatch.setattr("posteriori.structure.trust.learn_structure", learn)
    data, said = {"a": [0, 1, 0], "b": [0, 1, 1], "c": [1, 1, 0]}, []
    found = po.arc_confidence(data, n=4, random_state=0, score="aic", sample_weight=[2, 0, 5], progress=said.append)
    assert found.arrows == {("a", "b"): 0.5, ("a", "c"): 0.25, ("b", "a"): 0.25}
    assert list(found.arrows) == sorted(found.arrows)
    assert found.nodes == ("a", "b", "c")
    assert said == [f"sample {k} of 4" for k in (1, 2, 3, 4)]
    assert all((w.sum(), w[1]) == (7, 0) for w in drawn)


@pytest.mark.parametrize("parents", [[], [1], [2, 1], [1, 2]])
@pytest.mark.parametrize("smoothing", [0.5, 2.0])
def test_held_out_rows_are_judged_by_the_others(parents, smoothing):
    rng = np.random.default_rng(0)
    sizes = (3, 2, 4)
    codes = np.array([rng.integers(0, s + 1, 40) for s in sizes], np.uint8)  # the last code is missing
    train = rng.random(40) < 0.6
    total = 0.0
    for r in np.flatnonzero(~train & (codes[0] < 3)):
        same = train & (codes[0] < 3)
        for p in parents:  # a missing parent is one more value of it
            same &= codes[p] == codes[p, r]
        total += math.log((np.sum(same & (codes[0] == codes[0, r])) + smoothing) / (same.sum() + 3 * smoothing))
    assert _held_out(codes, sizes, 0, parents, train, smoothing) == pytest.approx(total)


def test_codes_become_columns_again():
    found = _columns(["a", "b"], np.array([[0, 1, 2], [0, 1, 1]], np.uint8), (2, 2))
    assert found["a"].tolist() == [0, 1, None]
    assert found["b"].tolist() == [0, 1, 1]
    assert found["b"].dtype == np.uint8


@pytest.mark.parametrize("rows", [10, 11])
def test_every_row_is_held_out_once_and_folds_are_even(rows):
    rng = np.random.default_rng(1)
    data = {"a": rng.integers(0, 2, rows), "b": rng.integers(0, 2, rows)}
    found = po.cross_validate(data, po.Dag(["a", "b"]), folds=3, smoothing=1.0, random_state=4)
    fold = np.random.default_rng(4).permutation(np.arange(rows) % 3)
    for k, mean in enumerate(found.folds):
        total = 0.0
        for column in data.values():
            counts = np.bincount(column[fold != k], minlength=2)
            total += np.log((counts[column[fold == k]] + 1) / (counts.sum() + 2)).sum()
        assert mean == pytest.approx(total / (fold == k).sum())


NAMES = "abcd"


@st.composite
def dags(draw):
    order = draw(st.permutations(NAMES))
    return po.Dag(NAMES, [pair for pair in itertools.combinations(order, 2) if draw(st.booleans())])


@given(dags(), dags())
def test_every_arrow_is_right_turned_extra_or_missing(found, true):
    beside = compare_structures(found, true)
    ours, theirs = set(found.edges), set(true.edges)
    assert set(beside.right) == ours & theirs
    assert set(beside.turned) == {e for e in ours if e[::-1] in theirs}
    assert set(beside.extra) == ours - theirs - {e[::-1] for e in theirs}
    assert set(beside.missing) == theirs - ours - {e[::-1] for e in ours}
    assert beside.nodes == found.nodes
    kinds = []
    for graph in (found.equivalence_class(), true.equivalence_class()):
        kinds.append(
            {**{frozenset(e): e for e in graph.directed}, **{frozenset(e): "either" for e in graph.undirected}}
        )
    pairs = map(frozenset, itertools.combinations(NAMES, 2))
    assert beside.distance == sum(kinds[0].get(p) != kinds[1].get(p) for p in pairs)
    assert compare_structures(true, found).distance == beside.distance
    assert compare_structures(found, found).distance == 0


def test_what_cannot_be_compared():
    with pytest.raises(InvalidNetwork, match=r"different nodes: 'b', 'c'|different nodes: b, c"):
        compare_structures(po.Dag("ab"), po.Dag("ac"))
    for pair in ((po.Dag("a"), "a"), ("a", po.Dag("a"))):
        with pytest.raises(InvalidNetwork, match="Got str instead"):
            compare_structures(*pair)
    drawn = compare_structures(po.Dag("ab", [("a", "b")]), po.Dag("ab", [("b", "a")]))
    assert "1 turned" in drawn._repr_html_()
    assert "right" not in drawn._repr_html_()
