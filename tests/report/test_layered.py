"""Layers: arrows go down where there is no cycle, routes run from centre to centre and do not turn, boxes stay apart."""

from __future__ import annotations

import itertools
import random

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


def test_boxes_are_as_near_to_what_they_want_as_order_and_room_allow():
    """By trying every way to part them into blocks that touch: the least sum of squares."""
    rng = random.Random(0)
    for n in (1, 2, 3, 4, 5) * 6:
        wanted, widths = [rng.uniform(-90, 90) for _ in range(n)], [rng.uniform(5, 60) for _ in range(n)]
        offsets = list(
            itertools.accumulate(((a + b) / 2 + drawing.GAP_X for a, b in itertools.pairwise(widths)), initial=0.0)
        )
        best = None
        for cut in itertools.product([False, True], repeat=n - 1):
            ends = [0, *(i + 1 for i, c in enumerate(cut) if c), n]
            at = []
            for a, b in itertools.pairwise(ends):
                mean = sum(wanted[i] - offsets[i] for i in range(a, b)) / (b - a)
                at += [mean + offsets[i] for i in range(a, b)]
            apart = all(at[i + 1] - at[i] >= offsets[i + 1] - offsets[i] - 1e-9 for i in range(n - 1))
            off = sum((x - w) ** 2 for x, w in zip(at, wanted))
            if apart and (best is None or off < best[0] - 1e-9):
                best = off, at
        assert drawing.spread(wanted, widths) == pytest.approx(best[1])


def test_a_row_without_neighbours_stands_about_the_middle():
    none = [[], [], [], []]
    x = drawing._abscissas([[2, 0, 1], [3]], none, none, [10.0, 20.0, 30.0, 50.0])
    assert x == [-48 + 30 + 18 + 5, -48 + 30 + 18 + 10 + 18 + 10, -48 + 15, 0.0]


def test_a_child_stands_in_the_middle_of_its_parents_and_a_parent_of_its_children():
    edges = [(0, 2), (1, 2), (3, 4), (3, 5)]
    found = layered(6, edges, [40.0, 80.0, 30.0, 30.0, 60.0, 20.0], [20.0] * 6)
    x = [x for x, _ in found.centres]
    assert x[2] == pytest.approx((x[0] + x[1]) / 2)
    assert x[3] == pytest.approx((x[4] + x[5]) / 2)


def test_layers_are_as_tall_as_their_tallest_and_long_edges_pass_them_upright():
    widths, heights = [40.0, 50.0, 60.0, 30.0], [20.0, 30.0, 10.0, 44.0]
    found = layered(4, [(0, 1), (1, 2), (0, 2), (2, 0), (3, 1)], widths, heights)
    gap = drawing.GAP_Y
    bands = [(0.0, 44.0), (44 + gap, 74 + gap), (74 + 2 * gap, 84 + 2 * gap)]
    layer = [0, 1, 2, 0]
    assert [y for _, y in found.centres] == [sum(bands[k]) / 2 for k in layer]
    assert found.height == bands[-1][1]
    down = [22.0, bands[0][1], *bands[1], bands[2][0], sum(bands[2]) / 2]
    assert [y for _, y in found.routes[2]] == down
    assert [y for _, y in found.routes[3]] == down[::-1]
    for route in found.routes:
        xs = [x for x, _ in route]
        assert xs[0::2] == xs[1::2]  # into and out of every layer straight
        assert all(0 <= x <= found.width for x in xs)
    bend, back = found.routes[2][2][0], found.routes[3][2][0]
    middle = found.centres[1][0]
    assert abs(bend - back) >= drawing.BEND_WIDTH + drawing.GAP_X - 1e-9
    assert min(abs(bend - middle), abs(back - middle)) >= (50 + drawing.BEND_WIDTH) / 2 + drawing.GAP_X - 1e-9
    lefts = [x - w / 2 for (x, _), w in zip(found.centres, widths)] + [v - drawing.BEND_WIDTH / 2 for v in (bend, back)]
    rights = [x + w / 2 for (x, _), w in zip(found.centres, widths)] + [
        v + drawing.BEND_WIDTH / 2 for v in (bend, back)
    ]
    assert min(lefts) == pytest.approx(0.0)
    assert max(rights) == pytest.approx(found.width)


def test_what_is_narrower_stands_in_the_middle():
    found = layered(3, [(0, 1)], [40.0, 600.0, 30.0], [20.0, 30.0, 10.0])
    below = 20 + drawing.GAP_Y + 30
    assert found.centres == ((300.0, 10.0), (300.0, below - 15.0), (300.0, below + drawing.GAP_Y + 5))
    assert (found.width, found.height) == (600.0, below + drawing.GAP_Y + 10)
    found = layered(4, [(0, 1)], [40.0, 60.0, 200.0, 100.0], [20.0, 30.0, 10.0, 14.0])
    wide = 300 + drawing.GAP_X
    assert found.centres == (
        (wide / 2, 10.0),
        (wide / 2, below - 15.0),
        (100.0, below + drawing.GAP_Y + 7),
        (wide - 50, below + drawing.GAP_Y + 7),
    )
    assert found.routes == (((wide / 2, 10.0), (wide / 2, 20.0), (wide / 2, below - 30.0), (wide / 2, below - 15.0)),)
    assert layered(1, [], [40.0], [20.0]).height == 20.0


@pytest.mark.parametrize(
    ("n", "edges", "layers"),
    [
        (3, [(0, 1), (1, 2), (2, 0)], [0, 1, 2]),
        (4, [(0, 1), (1, 0), (2, 3), (3, 2)], [0, 1, 0, 1]),
        (3, [(1, 1), (1, 2), (0, 2)], [0, 0, 1]),
        (4, [(0, 1), (1, 2), (2, 1), (2, 3)], [0, 1, 2, 3]),
        (5, [(3, 0), (0, 1), (1, 2), (2, 0), (2, 4)], [1, 2, 3, 0, 4]),
        (4, [(2, 1), (0, 1), (1, 3), (2, 3)], [0, 1, 0, 2]),
        (4, [(3, 2), (2, 1), (1, 0), (3, 0)], [3, 2, 1, 0]),
    ],
)
def test_where_only_cycles_are_left_the_first_of_one_goes_ahead(n, edges, layers):
    assert drawing._layers(n, edges) == layers


def test_crossings_that_can_be_undone_are():
    found = layered(8, [(0, 5), (1, 4), (2, 7), (3, 6)], [30.0] * 8, [20.0] * 8)
    up, down = ([found.centres[i][0] for i in order] for order in ((0, 1, 2, 3), (5, 4, 7, 6)))
    assert sorted(range(4), key=up.__getitem__) == sorted(range(4), key=down.__getitem__)
    twice = [(0, 3), (0, 4), (1, 2), (1, 4)]  # 4 hangs from both: the middle
    found = layered(5, twice, [30.0] * 5, [20.0] * 5)
    x = [x for x, _ in found.centres]
    assert (x[0] - x[1]) * (x[3] - x[4]) > 0
    assert (x[0] - x[1]) * (x[4] - x[2]) > 0


def test_a_chain_above_one_of_two_children_hangs_straight_too():
    long = 3 * drawing.MOST_SWEEPS
    edges = [(2, 0), (3, 0), (4, 1), *((i + 1, i) for i in range(4, long))]
    found = layered(long + 1, edges, [40.0] * (long + 1), [20.0] * (long + 1))
    chain = [found.centres[i][0] for i in (1, *range(4, long + 1))]
    assert max(chain) - min(chain) < 1.0


def test_boxes_that_just_fit_stand_in_one_row():
    half = (480.0 - drawing.GAP_X) / 2
    for less, rows in ((0.0, 1), (0.5, 2)):
        found = drawing._block([half, half], [20.0, 20.0], 480.0 - less)
        assert len({y for _, y in found.centres}) == rows
