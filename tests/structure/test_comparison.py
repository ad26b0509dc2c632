"""A structure beside the true one: every arrow is of one kind, the distance counts pairs of the classes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import InvalidNetwork
from posteriori.structure.comparison import compare_structures

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
