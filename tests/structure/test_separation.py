"""Separation and equivalence by definition: trails, paths and members enumerated in every small graph that is drawn."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.structure import separation as sep
from posteriori.structure.separation import compelled, equivalent, immoralities, reversed_rows, topological


@st.composite
def dags(draw, most=5):
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(n)))
    return [[order[a] for a in range(i) if draw(st.booleans())] for i in range(n)], order


def shuffled(drawn):
    """Parents of every node, where the drawn rows are in the order of the permutation."""
    rows, order = drawn
    parents = [[] for _ in order]
    for i, row in enumerate(rows):
        parents[order[i]] = row
    return parents


def trails(parents, a, b):
    """Every simple path between two nodes, as nodes."""
    n = len(parents)
    joined = {(u, v) for v in range(n) for u in parents[v]} | {(v, u) for v in range(n) for u in parents[v]}
    for k in range(n - 1):
        for middle in itertools.permutations([v for v in range(n) if v not in (a, b)], k):
            path = (a, *middle, b)
            if all(step in joined for step in itertools.pairwise(path)):
                yield path


def is_open(parents, path, known):
    below = {v: sep.closure(sep.reversed_rows(parents), [v]) for v in range(len(parents))}
    for u, v, w in zip(path, path[1:], path[2:]):
        if u in parents[v] and w in parents[v]:
            if not below[v] & known:
                return False
        elif v in known:
            return False
    return not known & {path[0], path[-1]}


@given(dags(), st.data())
def test_an_active_trail_is_a_shortest_open_one(drawn, data):
    parents = shuffled(drawn)
    n = len(parents)
    a, b = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    known = data.draw(st.sets(st.integers(0, n - 1)))
    found = sep.active_trail(parents, sep.reversed_rows(parents), [a], [b], known)
    if a == b:
        assert found == ([a] if a not in known else None)
        return
    lengths = [len(p) for p in trails(parents, a, b) if is_open(parents, p, known)]
    assert (found is None) == (not lengths)
    if found is not None:  # it may turn back below a V-structure, to a descendant that is known
        assert (found[0], found[-1]) == (a, b)
        assert len(found) >= min(lengths)
        assert len(set(found)) < len(found) or len(found) == min(lengths) or is_open(parents, tuple(found), known)


@given(dags(7))
def test_orders_and_closures(drawn):
    parents = shuffled(drawn)
    n = len(parents)
    children = sep.reversed_rows(parents)
    assert all((c in children[p]) == (p in parents[c]) for p in range(n) for c in range(n))
    order = sep.topological(parents, children)
    assert sorted(order) == list(range(n))
    assert all(order.index(p) < order.index(c) for c in range(n) for p in parents[c])
    for v in range(n):
        above = {v}
        while any(p not in above for u in above for p in parents[u]):
            above |= {p for u in above for p in parents[u]}
        assert sep.closure(parents, [v]) == above


def test_what_lies_on_a_cycle_or_below_it_has_no_place():
    parents = [[], [0, 3], [1], [2], [3], [0]]
    assert sep.topological(parents, sep.reversed_rows(parents)) == [0, 5]


@st.composite
def graphs(draw, most=6):
    n = draw(st.integers(2, most))
    edges = [(i, j) for i in range(n) for j in range(i) if draw(st.booleans())]
    return [[j for j in range(n) if (i, j) in edges or (j, i) in edges] for i in range(n)]


def connected(neighbors, a, b, without):
    found, todo = set(a) - without, list(set(a) - without)
    while todo:
        for v in neighbors[todo.pop()]:
            if v not in found and v not in without:
                found.add(v)
                todo.append(v)
    return bool(found & b)


@given(graphs(), st.data())
def test_separators_are_minimal(neighbors, data):
    n = len(neighbors)
    a = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=2))
    b = data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=2))
    found = sep.minimal_separator(neighbors, a, b)
    touching = bool(a & b) or any(v in b for u in a for v in neighbors[u])
    assert (found is None) == touching
    if found is not None:
        assert not found & (a | b)
        assert not connected(neighbors, a, b, found)
        assert all(connected(neighbors, a, b, found - {v}) for v in found)
    blocked = data.draw(st.sets(st.integers(0, n - 1)))
    reached = sep.reach(neighbors, a, blocked)
    assert not reached & blocked
    assert all((v in reached) == connected(neighbors, a, {v}, blocked) for v in range(n))


@given(dags())
def test_a_moral_graph_marries_parents(drawn):
    parents = shuffled(drawn)
    n = len(parents)
    joined = {frozenset((c, p)) for c in range(n) for p in parents[c]}
    joined |= {frozenset(pair) for c in range(n) for pair in itertools.combinations(parents[c], 2)}
    found = sep.moral(parents)
    assert {frozenset((i, j)) for i in range(n) for j in found[i]} == joined
    assert all(i not in found[i] for i in range(n))
    assert sep.moral(parents, []) == [set()] * n


def test_trails_by_the_three_patterns():
    chain, fork, collider = [[], [0], [1]], [[1], [], [1]], [[], [0, 2], []]
    for parents, known, opens in ((chain, set(), True), (chain, {1}, False), (fork, set(), True), (fork, {1}, False),
                                  (collider, set(), False), (collider, {1}, True)):  # fmt: skip
        found = sep.active_trail(parents, sep.reversed_rows(parents), [0], [2], known)
        assert found == ([0, 1, 2] if opens else None)
    below = [[], [0, 2], [], [1]]
    assert sep.active_trail(below, sep.reversed_rows(below), [0], [2], {3}) == [0, 1, 2]
    with pytest.raises(IndexError):
        sep.closure([[]], [3])


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


@given(dags().map(shuffled))
def test_an_arrow_is_compelled_where_all_members_agree(parents):
    assert immoralities(parents) == v_structures(parents)
    same = list(members(parents))
    found = compelled(parents, topological(parents, reversed_rows(parents)))
    for child, row in enumerate(parents):
        assert found[child] == {p for p in row if all(p in m[child] for m in same)}
    assert all(equivalent(parents, m) for m in same)


@given(dags().map(shuffled), dags().map(shuffled))
def test_equivalent_is_same_skeleton_and_same_v_structures(a, b):
    skeletons = [{frozenset((p, c)) for c, row in enumerate(g) for p in row} for g in (a, b)]
    wanted = skeletons[0] == skeletons[1] and v_structures(a) == v_structures(b)
    assert equivalent(a, b) == wanted
    if a and a[0]:  # one arrow less is never the same
        assert not equivalent(a, [a[0][1:], *a[1:]])
