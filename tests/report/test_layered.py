"""Layers: arrows go down where there is no cycle, routes run from centre to centre and do not turn, boxes stay apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.report import layered as drawing
from posteriori.report.layered import layered

graphs = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1]), unique=True),
        st.lists(st.floats(10, 90), min_size=n, max_size=n),
        st.lists(st.floats(10, 40), min_size=n, max_size=n),
    )
)


@given(graphs)
def test_routes_go_one_way_and_boxes_do_not_meet(graph):
    n, edges, widths, heights = graph
    found = layered(n, edges, widths, heights)
    assert len(found.centres) == n
    assert len(found.routes) == len(edges)
    for (a, b), route in zip(edges, found.routes):
        assert route[0] == found.centres[a]
        assert route[-1] == found.centres[b]
        ys = [y for _, y in route]
        assert ys == sorted(ys) or ys == sorted(ys, reverse=True)  # straight down or straight up, never back
    for (i, (x, y)), (j, (u, v)) in itertools.combinations(enumerate(found.centres), 2):
        apart = abs(x - u) >= (widths[i] + widths[j]) / 2 - 1e-6 or abs(y - v) >= (heights[i] + heights[j]) / 2 - 1e-6
        assert apart, (i, j)
    for (x, y), w, h in zip(found.centres, widths, heights):
        assert w / 2 - 1e-6 <= x <= found.width - w / 2 + 1e-6
        assert h / 2 - 1e-6 <= y <= found.height - h / 2 + 1e-6


@given(graphs)
def test_arrows_of_a_graph_without_cycles_go_down(graph):
    n, edges, widths, heights = graph
    edges = [(a, b) for a, b in edges if a < b]
    found = layered(n, edges, widths, heights)
    for a, b in edges:
        assert found.centres[a][1] < found.centres[b][1]


def test_a_long_arrow_passes_every_layer_between_and_back_again():
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 0)]
    found = layered(4, edges, [40.0] * 4, [20.0] * 4)
    assert [len(route) for route in found.routes] == [4, 4, 4, 8, 8]
    assert found.routes[4][1][1] > found.routes[4][-2][1]  # the way back begins below and ends above


@pytest.mark.parametrize(("most", "bends"), [(1, 0), (2, 2), (3, 2)])
def test_beyond_most_bends_a_long_edge_is_straight(monkeypatch, most, bends):
    monkeypatch.setattr(drawing, "MOST_BENDS", most)
    found = layered(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [40.0] * 4, [20.0] * 4)
    assert len(found.routes[3]) == 4 + 2 * bends


@given(graphs)
def test_a_node_lies_just_below_its_lowest_parent(graph):
    n, edges, _, _ = graph
    edges = [(a, b) for a, b in edges if a < b]
    layer = drawing._layers(n, edges)
    parents = [[a for a, b in edges if b == v] for v in range(n)]
    children = [[b for a, b in edges if a == v] for v in range(n)]
    depth = [0] * n
    for v in range(n):
        depth[v] = max((depth[p] + 1 for p in parents[v]), default=0)
    for v in range(n):
        if parents[v]:
            assert layer[v] == depth[v]
        elif children[v]:
            assert layer[v] == min(depth[c] for c in children[v]) - 1
        else:
            assert layer[v] == 0


@given(st.lists(st.integers(1, 4), min_size=2, max_size=3), st.data())
def test_crossings_are_pairs_that_cross_and_sorting_never_adds_any(sizes, data):
    rows, n = [], 0
    for size in sizes:
        rows.append(list(range(n, n + size)))
        n += size
    layer = [k for k, row in enumerate(rows) for _ in row]
    lines = [(a, b) for up, down in itertools.pairwise(rows) for a in up for b in down if data.draw(st.booleans())]
    below = [[b for a, b in lines if a == v] for v in range(n)]
    above = [[a for a, b in lines if b == v] for v in range(n)]

    def crossing(order):
        place = {v: i for row in order for i, v in enumerate(row)}
        pairs = itertools.combinations(lines, 2)
        return sum(
            layer[a] == layer[c] and (place[a] - place[c]) * (place[b] - place[d]) < 0 for (a, b), (c, d) in pairs
        )

    place = [0.0] * n
    for row in rows:
        for i, v in enumerate(row):
            place[v] = float(i)
    assert drawing._crossings(rows, below, place) == crossing(rows)
    found = drawing._ordered(layer, above, below)
    assert [sorted(row) for row in found] == rows
    assert crossing(found) <= crossing(rows)
    x = drawing._abscissas(found, above, below, [10.0] * n)
    for row in found:
        assert all(x[b] - x[a] >= 10 + drawing.GAP_X - 1e-6 for a, b in itertools.pairwise(row))


@given(st.lists(st.floats(5, 300), max_size=30))
def test_lonely_boxes_fill_their_rows(widths):
    found = drawing._block(widths, [20.0] * len(widths), 480.0)
    room = max(480.0, sum((w + drawing.GAP_X) * (20 + drawing.GAP_X) for w in widths) ** 0.5)
    rows = {}
    for i, (x, y) in enumerate(found.centres):
        rows.setdefault(y, []).append((x, i))
    assert [i for y in sorted(rows) for _, i in rows[y]] == list(range(len(widths)))
    for row in rows.values():
        at = 0.0
        for x, i in row:
            assert x == pytest.approx(at + widths[i] / 2)
            at += widths[i] + drawing.GAP_X
        assert at - drawing.GAP_X <= room + 1e-6 or len(row) == 1
    for up, down in itertools.pairwise([rows[y] for y in sorted(rows)]):  # the next would not have fitted
        assert sum(widths[i] + drawing.GAP_X for _, i in up) + widths[down[0][1]] > room
    ends = [max(x + widths[i] / 2 for x, i in row) for row in rows.values()]
    assert found.width == pytest.approx(max(ends, default=0.0))
    assert found.height == pytest.approx(len(rows) * 20 + max(len(rows) - 1, 0) * drawing.GAP_X)


def test_a_chain_below_one_of_two_parents_hangs_straight_down():
    """However many layers: a sweep moves them all, one after another."""
    long = 3 * drawing.MOST_SWEEPS
    edges = [(0, 2), (0, 3), (1, 4), *((i, i + 1) for i in range(4, long))]
    found = layered(long + 1, edges, [40.0] * (long + 1), [20.0] * (long + 1))
    chain = [found.centres[i][0] for i in (1, *range(4, long + 1))]
    assert max(chain) - min(chain) < 1.0
    assert found.centres[0][0] < chain[0]
