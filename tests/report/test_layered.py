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
