"""Values that questions to a graph return, and triangulations that are ones."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import InvalidNetwork, UnknownColumn
from posteriori.structure.graph import Trail, Triangulation, UndirectedGraph, elimination_order, find, find_all


@given(st.integers(1, 7), st.data())
def test_eliminating_leaves_the_cliques(n, data):
    edges = [pair for pair in itertools.combinations(range(n), 2) if data.draw(st.booleans())]
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    near = [{b if a == v else a for a, b in edges if v in (a, b)} for v in range(n)]
    order, cliques = elimination_order([sorted(s) for s in near], sizes)
    assert sorted(order) == list(range(n))
    left, made = [set(s) for s in near], []
    for v in order:
        made.append({v, *left[v]})
        for u in left[v]:
            left[u] |= left[v] - {u}
            left[u].discard(v)
    maximal = {frozenset(c) for c in made if not any(c < d for d in made)}
    assert {frozenset(c) for c in cliques} == maximal
    assert elimination_order([sorted(s) for s in near]) is not None


@pytest.mark.parametrize("bad", [[[1], []], [[0]], [[5], [0]], [[-1], [0]]])
def test_a_lopsided_adjacency_is_refused(bad):
    with pytest.raises(InvalidNetwork, match="adjacency of 0 holds"):
        elimination_order(bad)


def test_undirected_graphs():
    g = UndirectedGraph(("a", "b", "c", "d"), (("a", "b"), ("b", "c")))
    assert g.neighbors("a") == ("b",)
    assert g.neighbors("d") == ()
    assert not g.separated("a", "c")
    assert g.separated("a", "c", ["b"])
    assert g.separated(["a"], ["d"])
    graph = g.to_networkx()
    assert sorted(graph.nodes) == ["a", "b", "c", "d"]
    assert graph.number_of_edges() == 2
    with pytest.raises(InvalidNetwork, match="twice"):
        UndirectedGraph(("a", "a"), ())
    with pytest.raises(UnknownColumn, match="no node 'e'"):
        g.neighbors("e")
    assert g == UndirectedGraph(("a", "b", "c", "d"), (("a", "b"), ("b", "c")))
    assert "_index" not in repr(g)


def test_names_are_found_with_the_nearest():
    index = {"smoke": 0, "lung": 1}
    assert find_all(index, "lung") == [1]
    assert find_all(index, ["lung", "smoke"]) == [1, 0]
    for wrong in ("smok", ["x"], 3):
        with pytest.raises(UnknownColumn):
            find(index, wrong)
    with pytest.raises(UnknownColumn, match="did you mean 'smoke'"):
        find_all(index, "smok")
    with pytest.raises(UnknownColumn, match="no node 3"):
        find_all(index, 3)


def test_widths_and_trails():
    assert Triangulation(("a",), (), (("a", "b", "c"), ("c", "d"))).treewidth == 2
    assert Triangulation((), (), ()).treewidth == 0
    assert str(Trail(("a",), ())) == "a"
    assert str(Trail(("a", "b", "c"), (False, True))) == "a ← b → c"
