"""Equivalence classes by enumeration: all graphs of the same skeleton and the same V-structures."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from posteriori.structure.equivalence import compelled, equivalent, immoralities
from posteriori.structure.separation import reversed_rows, topological


@st.composite
def dags(draw):
    n = draw(st.integers(1, 5))
    order = draw(st.permutations(range(n)))
    parents = [[] for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        if draw(st.booleans()):
            parents[order[j]].append(order[i])
    return parents


def members(parents):
    """Every acyclic orientation of the skeleton with the same V-structures."""
    edges = [(p, c) for c, row in enumerate(parents) for p in row]
    for turned in itertools.product([False, True], repeat=len(edges)):
        rows = [[] for _ in parents]
        for (p, c), turn in zip(edges, turned):
            rows[p if turn else c].append(c if turn else p)
        if len(topological(rows, reversed_rows(rows))) == len(rows) and v_structures(rows) == v_structures(parents):
            yield rows


def v_structures(parents):
    touching = {frozenset((p, c)) for c, row in enumerate(parents) for p in row}
    return {
        (min(a, b), c, max(a, b))
        for c, row in enumerate(parents)
        for a, b in itertools.combinations(row, 2)
        if frozenset((a, b)) not in touching
    }


@given(dags())
def test_an_arrow_is_compelled_where_all_members_agree(parents):
    assert immoralities(parents) == v_structures(parents)
    same = list(members(parents))
    found = compelled(parents, topological(parents, reversed_rows(parents)))
    for child, row in enumerate(parents):
        assert found[child] == {p for p in row if all(p in m[child] for m in same)}
    assert all(equivalent(parents, m) for m in same)


@given(dags(), dags())
def test_equivalent_is_same_skeleton_and_same_v_structures(a, b):
    skeletons = [{frozenset((p, c)) for c, row in enumerate(g) for p in row} for g in (a, b)]
    wanted = skeletons[0] == skeletons[1] and v_structures(a) == v_structures(b)
    assert equivalent(a, b) == wanted
    if a and a[0]:  # one arrow less is never the same
        assert not equivalent(a, [a[0][1:], *a[1:]])
