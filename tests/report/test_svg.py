"""A graph as a picture: parents above children, boxes apart, edges from border to border, any name survives as text."""

from __future__ import annotations

import itertools
import math

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.report.layered import GAP_X, layered, spread
from posteriori.report.svg import (
    BOX,
    EDGE,
    FONT,
    LINE,
    MARGIN,
    _clipped,
    _headed,
    _legend,
    draw_edge,
    draw_graph,
    text_width,
)

from .drawn import Seen

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[float]]:
    n = draw(st.integers(1, 9))
    edges = [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())]
    return n, edges, draw(st.lists(st.floats(10, 120), min_size=n, max_size=n))


@given(graphs())
def test_parents_above_children_and_no_overlap(graph: tuple[int, list[tuple[int, int]], list[float]]) -> None:
    n, edges, widths = graph
    layout = layered(n, edges, widths, [20.0] * n)
    assert all(layout.centres[a][1] < layout.centres[b][1] for a, b in edges)
    for i, j in itertools.combinations(range(n), 2):
        (x0, y0), (x1, y1) = layout.centres[i], layout.centres[j]
        assert y0 != y1 or abs(x0 - x1) >= (widths[i] + widths[j]) / 2 + GAP_X - 1e-6
    for i, (x, y) in enumerate(layout.centres):
        assert x - widths[i] / 2 >= -1e-6
        assert x + widths[i] / 2 <= layout.width + 1e-6
        assert 10 <= y <= layout.height - 10
    for (a, b), route in zip(edges, layout.routes, strict=True):
        assert (route[0], route[-1]) == (layout.centres[a], layout.centres[b])


@given(graphs(), st.data())
def test_no_edge_crosses_a_box(graph: tuple[int, list[tuple[int, int]], list[float]], data: st.DataObject) -> None:
    """Along the curves as they are drawn: no point lies inside a box, but for the ends on the borders of their own."""
    n, edges, widths = graph
    heights = data.draw(st.lists(st.floats(20, 90), min_size=n, max_size=n))
    layout = layered(n, edges, widths, heights)
    for (a, b), route in zip(edges, layout.routes, strict=True):
        points = _clipped(route, (widths[a], heights[a]), (widths[b], heights[b]))
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            middle = (y0 + y1) / 2
            for s in range(21):
                t = s / 20
                c = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
                x = (c[0] + c[1]) * x0 + (c[2] + c[3]) * x1
                y = c[0] * y0 + (c[1] + c[2]) * middle + c[3] * y1
                for (u, v), w, h in zip(layout.centres, widths, heights, strict=True):
                    assert abs(x - u) >= w / 2 - 1e-6 or abs(y - v) >= h / 2 - 1e-6


def test_nodes_without_edges_stand_in_a_block() -> None:
    layout = layered(42, [(0, 1)], [60.0] * 42, [20.0] * 42)
    rows: dict[float, int] = {}
    for _, y in layout.centres[2:]:
        assert y > layout.centres[1][1]
        rows[y] = rows.get(y, 0) + 1
    assert len(rows) > 3
    assert layout.width < 600
    assert layered(30, [], [60.0] * 30, [20.0] * 30).height > 40


def test_bars_are_as_long_as_they_are_likely() -> None:
    text = draw_graph(["a"], [], labels={"a": "a\nyes 25.0%\nno 75.0%"}, bars={"a": [None, 0.25, 0.75]})
    bars = [float(r.attrib["width"]) for r in ElementTree.fromstring(text).iter(f"{SVG}rect") if "class" in r.attrib]
    assert bars[1] == pytest.approx(3 * bars[0], abs=0.2)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=6))
def test_spread_is_least_squares(wanted: list[float]) -> None:
    at = spread(wanted, [10.0] * len(wanted))
    assert all(b - a >= 10 + GAP_X - 1e-6 for a, b in itertools.pairwise(at))
    # a block of touching boxes stands at the mean of what its members want
    assert sum(at) == pytest.approx(sum(wanted), abs=1e-6)


def test_cycles_and_self_loops_are_drawn() -> None:
    layout = layered(3, [(0, 1), (1, 2), (2, 0), (1, 1)], [20.0] * 3, [20.0] * 3)
    assert len(layout.routes) == 4
    assert layered(0, [], [], []).centres == ()


def test_svg_is_well_formed_and_escapes_names() -> None:
    nodes = ["<a>", 'b"&', "类别"]
    text = draw_graph(nodes, [("<a>", 'b"&'), ("<a>", "类别")], {("<a>", 'b"&'): 0.25}, {"类别": "类别\nP = 0.5"})
    root = ElementTree.fromstring(text)
    titles = [t.text for t in root.iter(f"{SVG}title")]
    assert titles == ['<a> → b"&: 0.25', "<a> → 类别", *nodes]
    assert [t.text for t in root.iter(f"{SVG}text")] == ["<a>", 'b"&', "类别", "P = 0.5"]
    assert len(list(root.iter(f"{SVG}polygon"))) == 2
    plain = draw_graph(nodes, [("<a>", "类别")], directed=False, emphasis=["<a>"])
    assert "polygon" not in plain
    assert 'stroke-width="2.6"' in plain


def test_lines_without_a_direction_have_no_arrow_head() -> None:
    moral = po.networks.asia().moral_graph().plot()
    assert "polygon" not in str(moral)
    assert "asia – tub" in str(moral)
    pattern = po.networks.asia().dag.equivalence_class()
    titles = [t.text for t in ElementTree.fromstring(str(pattern.plot())).iter(f"{SVG}title")]
    assert {f"{a} → {b}" for a, b in pattern.directed} | {f"{a} – {b}" for a, b in pattern.undirected} < set(titles)
    assert str(pattern.plot()).count("<polygon") == len(pattern.directed)
    assert pattern._repr_html_() == pattern.plot()._repr_html_()


def test_heavier_edges_are_thicker() -> None:
    root = ElementTree.fromstring(draw_graph("abc", [("a", "b"), ("a", "c")], {("a", "b"): 1.0, ("a", "c"): 3.0}))
    light, heavy = (float(p.attrib["stroke-width"]) for p in root.iter(f"{SVG}path"))
    assert light < heavy


def test_a_large_graph_is_laid_out() -> None:
    n = 600
    edges = [(i, j) for i in range(n) for j in (i + 1, i + 37, i + 101) if j < n]
    assert layered(n, edges, [30.0] * n, [20.0] * n).width > 0


@pytest.mark.parametrize("turn", [1, -1])
def test_a_level_edge_runs_from_side_to_side_and_a_steep_one_from_edge_to_edge(turn: int) -> None:
    boxes = (40.0, 20.0), (60.0, 30.0)
    assert _clipped([(0.0, 0.0), (200.0 * turn, 0.0)], *boxes) == [(20.0 * turn, 0.0), (170.0 * turn, 0.0)]
    assert _clipped([(0.0, 0.0), (5.0, 90.0 * turn)], *boxes) == [(0.0, 10.0 * turn), (5.0, 75.0 * turn)]


@given(graphs(), st.booleans(), st.booleans())
def test_edges_end_on_borders_and_texts_lie_in_their_boxes(
    graph: tuple[int, list[tuple[int, int]], list[float]], directed: bool, told: bool
) -> None:
    n, pairs, _ = graph
    nodes = [f"node {i}" for i in range(n)]
    edges = [(nodes[a], nodes[b]) for a, b in pairs]
    labels = {nodes[0]: "AB\n中文 25%\nlast"} if told else {}
    legend = [("some", "#000", True), ("more", "#111", False)] if told else []
    styles = {edge: ("#abcdef", True) for edge in edges[:1]}
    bars = {nodes[0]: [None, 0.25, 0.75]} if told else None
    seen = Seen(draw_graph(nodes, edges, labels=labels, directed=directed, styles=styles, legend=legend, bars=bars))
    seen.everything_is_inside()
    assert (seen.x0, seen.y0) == (-MARGIN, -MARGIN)
    boxes = {}
    for g in seen.all("g", "node"):
        name, box = g[0].text, g[1]
        x, y, width, height = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        boxes[name] = x, y, width, height
        lines = [e for e in g if e.tag.endswith("text")]
        assert height == pytest.approx(LINE * len(lines) + 8)
        assert width >= max(0.6 * FONT * len(line.text) for line in lines) + 15.9
        ys = [float(line.get("y")) for line in lines]
        assert sum(ys) / len(ys) == pytest.approx(y + height / 2, abs=0.1)
        assert all(b - a == pytest.approx(LINE, abs=0.11) for a, b in itertools.pairwise(ys))
        shares = [e for e in g if "bar" in (e.get("class") or "")]
        for bar, line, share in zip(shares, lines[1:], (0.25, 0.75)):
            assert float(bar.get("width")) == pytest.approx((width - 8) * share, abs=0.11)
            assert float(bar.get("x")) == pytest.approx(x + 4, abs=0.11)
            middle = float(bar.get("y")) + float(bar.get("height")) / 2
            assert middle == pytest.approx(float(line.get("y")), abs=0.11)
            assert float(line.get("x")) == pytest.approx(x + 8, abs=0.11)
        for line in lines if not shares else lines[:1]:
            assert float(line.get("x")) == pytest.approx(x + width / 2, abs=0.11)
            assert line.get("text-anchor") == "middle"
    for i, (edge, g) in enumerate(zip(edges, seen.all("g", "edge"), strict=True)):
        path = Seen.paths(seen)[i]
        assert g[1].get("stroke") == ("#abcdef" if i == 0 else "#5b7083")
        assert (g[1].get("stroke-dasharray") is not None) == (i == 0)
        x, y, width, height = boxes[edge[0]]
        assert path[0] == pytest.approx((x + width / 2, y + height), abs=0.11)
        x, y, width, height = boxes[edge[1]]
        tip = path[-1]
        if directed:
            points = [tuple(map(float, p.split(","))) for p in g[2].get("points").split()]
            tip, base = points[0], [(points[1][k] + points[2][k]) / 2 for k in (0, 1)]
            assert path[-1] == pytest.approx(base, abs=0.11)  # the line ends where the head begins
            assert math.dist(points[1], points[2]) == pytest.approx(6.2, abs=0.2)
            assert math.dist(tip, base) == pytest.approx(6.2, abs=0.2)
            assert base[1] < tip[1]
        assert tip == pytest.approx((x + width / 2, y), abs=0.11)
        assert g[0].text == f"{edge[0]} {'→' if directed else '–'} {edge[1]}"
    for g in seen.all("g", "legend")[0] if told else []:
        if g.tag.endswith("text"):
            assert float(g.get("y")) > max(y + height for _, y, _, height in boxes.values())
    if told:
        lines = [e for e in seen.all("g", "legend")[0] if e.tag.endswith("path")]
        assert [e.get("stroke-dasharray") is not None for e in lines] == [True, False]
        assert [t.said for t in seen.texts()][-2:] == ["some", "more"]


def test_edges_of_one_layer_have_level_heads() -> None:
    seen = Seen(draw_graph(["a", "b"], [("a", "b"), ("b", "a")], {("a", "b"): 0.0, ("b", "a"): 0.0}))
    assert len(seen.all("polygon")) == 2
    assert {p.get("stroke-width") for p in seen.all("path")} == {"1.20"}  # no weight at all: as if there were none


def test_the_first_of_lines_with_bars_is_bold() -> None:
    def bold(**how) -> list[bool]:
        root = ElementTree.fromstring(draw_graph(["a"], [], labels={"a": "a\nyes\nno"}, **how))
        return ["font-weight" in text.attrib for text in root.iter(f"{SVG}text")]

    assert bold() == [False] * 3
    assert bold(bars={"a": [None, 0.25, 0.75]}) == [True, False, False]


def test_an_edge_is_as_thick_as_its_share_of_the_heaviest_and_tells_its_weight() -> None:
    edges = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "d")]
    seen = Seen(draw_graph("abcd", edges, {("a", "b"): 1.0, ("a", "c"): -4.0, ("b", "d"): 2.0}))
    widths = [float(p.get("stroke-width")) for p in seen.all("path")]
    assert widths == [0.6 + 3.4 / 4, 4.0, 1.2, 0.6 + 3.4 / 2]
    told = [g[0].text for g in seen.all("g", "edge")]
    assert told == ["a → b: 1", "a → c: -4", "a → d", "b → d: 2"]
    assert seen.root.get("aria-label") == "graph of 4 nodes and 4 edges"


def test_nodes_with_emphasis_have_a_strong_border_and_those_with_bars_more_room() -> None:
    labels = {"b": "three\nlines\nhere"}
    seen = Seen(draw_graph(["aa", "b", "cc"], [], labels=labels, emphasis=["b"], bars={"b": [None, 0.5]}))
    boxes = [g[1] for g in seen.all("g", "node")]
    assert [float(box.get("stroke-width")) for box in boxes] == [1.0, 2.6, 1.0]
    assert [box.get("stroke") for box in boxes] == [BOX] * 3
    assert [float(box.get("width")) for box in boxes] == pytest.approx(
        [text_width("aa") + 16, 1.15 * text_width("three") + 16, text_width("cc") + 16], abs=0.06
    )
    assert len(seen.all("rect", "bar")) == 1  # a line beyond the shares has none


def test_a_text_is_as_wide_as_its_letters() -> None:
    assert text_width("") == 0
    assert text_width("a-1") == pytest.approx(3 * 0.6 * FONT)
    assert text_width("aB中！") == pytest.approx((0.6 + 0.7 + 1 + 1) * FONT)  # wide (W) and full-width (F)


@pytest.mark.parametrize(
    ("before", "way"), [((7.0, 3.0), (0, 1)), ((7.0, 97.0), (0, -1)), ((3.0, 51.0), (1, 0)), ((90.0, 49.0), (-1, 0))]
)
def test_a_head_points_as_its_edge_arrives(before: tuple[float, float], way: tuple[int, int]) -> None:
    """Upright, but where both ends are level, to a pixel."""
    end, (dx, dy), size = (31.0, 50.0), way, 5 + 2.0
    route, head = _headed([(1.0, 2.0), before, end], 2.0, "#123456")
    base = end[0] - dx * size, end[1] - dy * size
    assert route == [(1.0, 2.0), before, base]
    drawn = ElementTree.fromstring(head)
    assert drawn.get("fill") == "#123456"
    tip, *corners = (tuple(map(float, p.split(","))) for p in drawn.get("points").split())
    assert tip == end
    half = size / 2
    assert sorted(corners) == sorted(
        [(base[0] - dy * half, base[1] - dx * half), (base[0] + dy * half, base[1] + dx * half)]
    )


@pytest.mark.parametrize("down", [1, -1])
def test_a_route_ends_on_the_borders_of_its_boxes_wherever_they_are(down: int) -> None:
    first, last = (40.0, 20.0), (60.0, 30.0)
    route = [(300.0, 500.0), (300.0, 500 + 10.0 * down), (90.0, 500 + 60.0 * down), (90.0, 500 + 75.0 * down)]
    ends = [(300.0, 500 + 10.0 * down), (90.0, 500 + 60.0 * down)]
    assert _clipped(route, first, last) == ends  # a border where the route turns is one point, not two
    route[1], route[2] = (300.0, 500 + 14.0 * down), (90.0, 500 + 55.0 * down)
    assert _clipped(route, first, last) == [ends[0], route[1], route[2], ends[1]]
    level = [(300.0, 500.0), (300.0 + 200 * down, 500.0 + down)]  # a pixel is level
    assert _clipped(level, first, last) == [(300.0 + 20 * down, 500.0), (300.0 + 170 * down, 500.0 + down)]
    bent = [(300.0, 500.0), (300.0, 500 + 20.0 * down), (400.0, 500 + 70.0 * down), (500.0, 500 + 71.0 * down)]
    assert _clipped(bent, first, last) == [(300.0, 500 + 10.0 * down), *bent[1:3], (470.0, 500 + 71.0 * down)]
    bent = [(300.0, 500.0), (400.0, 500.0 + down), (500.0, 500 + 70.0 * down)]
    assert _clipped(bent, first, last) == [(320.0, 500.0), bent[1], (500.0, 500 + 55.0 * down)]


def test_an_edge_leaves_and_arrives_upright() -> None:
    drawn = ElementTree.fromstring(draw_edge([(10.0, 20.0), (40.0, 50.0), (40.0, 90.0)], 1.5, "a < b", directed=False))
    assert [e.text for e in drawn if e.tag == "title"] == ["a < b"]
    assert drawn[1].get("d") == "M10.0,20.0 C10.0,35.0 40.0,35.0 40.0,50.0 C40.0,70.0 40.0,70.0 40.0,90.0"
    assert drawn[1].get("stroke") == EDGE
    assert drawn[1].get("stroke-width") == "1.50"
    assert drawn[1].get("stroke-dasharray") is None
    assert len(drawn) == 2


def test_the_legend_stands_below_the_graph_one_beside_the_other() -> None:
    assert _legend((), 77.0) == ("", 77.0)
    text, below = _legend([("a < b", "#111111", True), ("c", "#222222", False)], 77.0)
    assert below == 77 + 2 * LINE + LINE / 2
    line, told, other, also = ElementTree.fromstring(text)
    assert (line.get("d"), other.get("d")) == ("M0.0,109.0 h24", "M120.0,109.0 h24")
    assert [(e.text, float(e.get("x")), float(e.get("y"))) for e in (told, also)] == [
        ("a < b", 30, 109),
        ("c", 150, 109),
    ]
    assert [e.get("stroke") for e in (line, other)] == ["#111111", "#222222"]
    wide = Seen(draw_graph(["a"], [], legend=[("x", "#000", False)] * 3))
    assert wide.wide == 3 * 120 + 2 * MARGIN
    assert wide.tall == LINE + 8 + 2 * LINE + LINE / 2 + 2 * MARGIN
