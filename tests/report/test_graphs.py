"""A graph as a picture: parents above children, boxes apart, edges from border to border, any name survives as text."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.errors import counted
from posteriori.report import graphs as file
from posteriori.report.graphs import (
    HIGH,
    MOST,
    MOST_CLASSES,
    MOST_PAIRS,
    STACK,
    STEP,
    STYLES,
    _clipped,
    _headed,
    _legend,
    _tree_pieces,
    comparison_drawing,
    dependence,
    draw_edge,
    placed,
    strongest_pairs,
)
from posteriori.report.layered import GAP_X, layered, spread
from posteriori.report.notebook import dependence_html
from posteriori.report.scene import BOX, EDGE, FONT, LINE, MARGIN, svg, text_width
from posteriori.table.schema import Column, Schema

from .drawn import Seen

SVG = "{http://www.w3.org/2000/svg}"


def draw_graph(*told, **more) -> str:
    return svg(file.graph(*told, **more))


@st.composite
def graphs_of(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[float]]:
    n = draw(st.integers(1, 9))
    edges = [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())]
    return n, edges, draw(st.lists(st.floats(10, 120), min_size=n, max_size=n))


@given(graphs_of())
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


@given(graphs_of(), st.data())
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


@given(graphs_of(), st.booleans(), st.booleans())
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
    (drawn,) = head
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
    drawn = draw_edge([(10.0, 20.0), (40.0, 50.0), (40.0, 90.0)], 1.5, "a < b", directed=False)
    assert [e.text for e in drawn if e.tag == "title"] == ["a < b"]
    assert drawn[1].get("d") == "M10.0,20.0 C10.0,35.0 40.0,35.0 40.0,50.0 C40.0,70.0 40.0,70.0 40.0,90.0"
    assert drawn[1].get("stroke") == EDGE
    assert drawn[1].get("stroke-width") == "1.50"
    assert drawn[1].get("stroke-dasharray") is None
    assert len(drawn) == 2


def test_the_legend_stands_below_the_graph_one_beside_the_other() -> None:
    assert _legend((), 77.0) == ([], 77.0)
    (drawn,), below = _legend([("a < b", "#111111", True), ("c", "#222222", False)], 77.0)
    assert below == 77 + 2 * LINE + LINE / 2
    line, told, other, also = drawn
    assert (line.get("d"), other.get("d")) == ("M0.0,109.0 h24", "M120.0,109.0 h24")
    assert [(e.text, float(e.get("x")), float(e.get("y"))) for e in (told, also)] == [
        ("a < b", 30, 109),
        ("c", 150, 109),
    ]
    assert [e.get("stroke") for e in (line, other)] == ["#111111", "#222222"]
    wide = Seen(draw_graph(["a"], [], legend=[("x", "#000", False)] * 3))
    assert wide.wide == 3 * 120 + 2 * MARGIN
    assert wide.tall == LINE + 8 + 2 * LINE + LINE / 2 + 2 * MARGIN


def dependence_text(*told) -> str:
    return svg(dependence(*told))


def nodes(drawing: str) -> dict[str, dict[str, str]]:
    found = {}
    for group in ElementTree.fromstring(drawing).iter(f"{SVG}g"):
        if group.get("class") == "node":
            found[group.find(f"{SVG}title").text] = group.find(f"{SVG}rect").attrib
    return found


@pytest.mark.parametrize("model", [po.TAN(), po.SPODE(), po.KDB(k=2)], ids=["TAN", "SPODE", "KDB"])
def test_only_the_class_has_a_strong_border(model) -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "abcd"}
    drawing = dependence_text(model.set_params(kinds="categorical").fit(X, rng.integers(0, 2, 90)))
    width = {name: float(box["stroke-width"]) for name, box in nodes(drawing).items()}
    assert set(width) == {"class", *"abcd"}
    assert all(width["class"] > width[name] for name in "abcd")


class Told:
    """A model as far as its picture asks: columns, edges, weights."""

    def __init__(self, names, edges, weights=None, target=None):
        self.schema_ = Schema(tuple(Column(n, "categorical") for n in names), (0, 1), frozenset(), target)
        self.edges_, self._weights = list(edges), weights
        self.class_count_ = np.array([3.0, 4.0])

    def _edge_weights(self):
        return self._weights


@st.composite
def forests(draw):
    n = draw(st.integers(1, 22))
    names = [f"c{i}" for i in range(n)]
    many = draw(st.booleans())
    edges = []
    for i in range(1, n):
        if draw(st.integers(0, 3)) > 0:
            edges.append((names[0 if many else draw(st.integers(0, i - 1))], names[i]))
    return names, edges


def on_border(point, box, side):
    (x, y), width = box
    if side == "foot":
        return point == pytest.approx((x, y + HIGH / 2), abs=0.1)
    return point == pytest.approx((x, y - HIGH / 2), abs=0.1) or point == pytest.approx((x - width / 2, y), abs=0.1)


@given(forests())
def test_edges_run_from_the_foot_of_a_box_to_the_head_or_the_side_of_another(forest):
    names, edges = forest
    weights = [float(i + 1) for i in range(len(edges))]
    drawn = placed(Told(names, edges, weights))
    assert set(drawn.boxes) == {"class", *names}
    told = {whose: (points, weight) for points, weight, whose in drawn.lines}
    below = {i for _, i in edges}
    roots = {p for p, _ in edges if p not in below}
    assert set(told) == set(edges) | {("class", r) for r in roots}
    for (p, i), (points, weight) in told.items():
        assert on_border(points[0], drawn.boxes[p], "foot"), (p, i)
        assert on_border(points[-1], drawn.boxes[i], "head"), (p, i)
        assert weight == (weights[edges.index((p, i))] if p != "class" else 0.0)
        assert drawn.boxes[p][0][1] < drawn.boxes[i][0][1]
    for a, b in itertools.combinations(drawn.boxes, 2):
        (x0, y0), w0 = drawn.boxes[a]
        (x1, y1), w1 = drawn.boxes[b]
        assert abs(y0 - y1) >= HIGH or abs(x0 - x1) >= (w0 + w1) / 2 - 0.1, (a, b)
    wide, tall = drawn.size
    for (x, y), w in drawn.boxes.values():
        assert x - w / 2 >= -0.1
        assert x + w / 2 <= wide + 0.1
        assert HIGH / 2 - 0.1 <= y <= tall - HIGH / 2 + 0.1
    assert drawn.boxes["class"][0][1] == min(y for (_, y), _ in drawn.boxes.values())
    lonely = [n for n in names if n not in below and n not in roots]
    if lonely and edges:
        foot = max(y for n, ((_, y), _) in drawn.boxes.items() if n not in lonely)
        assert all(drawn.boxes[n][0][1] > foot for n in lonely)
    text = dependence_text(Told(names, edges, weights))
    assert text.count('class="edge"') == len(drawn.lines)
    assert text.count("<polygon") == len(drawn.lines)


def test_leaves_of_one_parent_stand_in_stacks():
    names = ["p", *(f"leaf{i:02d}" for i in range(30))]
    drawn = placed(Told(names, [("p", n) for n in names[1:]]))
    columns = {}
    for n in names[1:]:
        (x, _), w = drawn.boxes[n]
        columns.setdefault(round(x - w / 2, 3), []).append(n)
    assert sorted(map(len, columns.values())) == [6, STACK, STACK]
    for mine in columns.values():
        ys = [drawn.boxes[n][0][1] for n in mine]
        assert np.diff(ys) == pytest.approx(np.full(len(ys) - 1, STEP))
        spines = {points[-2][0] for points, _, (_, n) in drawn.lines if n in mine}
        assert len(spines) == 1
        assert spines.pop() < min(drawn.boxes[n][0][0] - drawn.boxes[n][1] / 2 for n in mine)
    two = placed(Told(["p", "q", "r"], [("p", "q"), ("p", "r")]))
    assert two.boxes["q"][0][1] == two.boxes["r"][0][1]  # two are side by side


def test_the_strongest_edges_are_drawn_as_thick_as_they_are():
    names = [f"c{i}" for i in range(MOST + 6)]
    edges = list(itertools.pairwise(names))
    weights = [float(i) for i in range(len(edges))]
    model = Told(names, edges, weights, target="c3")
    drawn = placed(model)
    assert drawn.target == "c3_"
    shown = {whose: weight for _, weight, whose in drawn.lines if whose[0] != "c3_"}
    assert set(shown) == set(edges[-MOST:])
    text = dependence_text(model)
    strokes = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        if group.get("class") == "edge":
            title = group.find(f"{SVG}title").text
            strokes[title] = float(group.find(f"{SVG}path").get("stroke-width"))
    top = max(weights)
    for (p, i), weight in shown.items():
        assert strokes[f"{p} → {i}: {weight:.4g}"] == pytest.approx(0.8 + 3.2 * weight / top, abs=0.01)
    assert {v for k, v in strokes.items() if k.startswith("c3_")} == {0.8}
    html = dependence_html(model)
    assert f"7 rows, {len(names)} columns, 2 classes, {len(edges)} edges between attributes" in html
    assert f"the {MOST} strongest of {len(edges)} edges are drawn" in html
    plain = dependence_html(Told("ab", [("a", "b")]))
    assert "strongest" not in plain
    assert 'stroke-width="1.20"' in plain


@pytest.mark.parametrize("model", [po.AODE(min_frequency=1), po.A2DE(min_frequency=1)], ids=["AODE", "A2DE"])
def test_an_average_over_parents_shows_its_strongest_pairs_and_no_arrows(model) -> None:
    """Every attribute is a parent in turn: no direction, no class above, and no more than a reader can follow."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = {f"x{j:02d}": rng.integers(0, 2, 400) for j in range(12)}
    X["twin"] = np.where(rng.random(400) < 0.05, 1 - X["x03"], X["x03"])
    model.set_params(kinds="categorical").fit(X, y)
    pairs = strongest_pairs(model)
    assert len(pairs) == MOST_PAIRS
    assert set(next(iter(pairs))) == {"x03", "twin"}
    weights = dict(zip(map(frozenset, model.edges_), model._edge_weights()))
    assert list(pairs.values()) == sorted(weights.values(), reverse=True)[:MOST_PAIRS]
    assert all(weights[frozenset(pair)] == w for pair, w in pairs.items())
    drawing = dependence_text(model, "sick")
    assert set(nodes(drawing)) == {n for pair in pairs for n in pair}
    assert "polygon" not in drawing
    assert "→" not in drawing


def test_the_class_is_called_what_it_is() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "ab"}
    model = po.TAN(kinds="categorical").fit(X, rng.integers(0, 2, 90))
    assert set(nodes(dependence_text(model, "sick"))) == {"sick", *"ab"}
    assert set(nodes(dependence_text(model, "a"))) == {"a_", *"ab"}


def test_pairs_that_are_not_kept_are_not_drawn() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "abc"}
    model = po.AODE(kinds="categorical", lazy=True).fit(X, rng.integers(0, 2, 90))
    assert strongest_pairs(model) == {}
    assert set(nodes(dependence_text(model))) == set("abc")


@pytest.mark.parametrize("width", [0.0, 900.0])
def test_attributes_without_edges_stand_in_lines_under_the_picture(width):
    """Each as wide as its name, none on another, none wider than the picture."""
    names = ["a", "a name that is long", *(f"attribute {i}" for i in range(30))]
    drawn = file.Picture("class")
    file._block(drawn, names, width, 100.0)
    boxes = [(x - w / 2, x + w / 2, y) for (x, y), w in drawn.boxes.values()]
    for name, (left, right, y) in zip(names, boxes, strict=True):
        assert right - left >= text_width(name)
        assert left >= 0
        assert right <= max(width, 600.0)
        assert y > 100.0
    for (_, right, y), (left, _, below) in itertools.pairwise(boxes):
        assert (below == y and left > right) or (below > y and left == 0)
    assert drawn.size[0] >= max(right for _, right, _ in boxes)
    assert drawn.size[1] > max(y for *_, y in boxes)


def test_of_a_pair_the_one_comes_first_that_says_more_in_all() -> None:
    edges = [("a", "b"), ("c", "b"), ("a", "c"), ("d", "e"), ("g", "f")]
    model = Told("abcdefg", edges, [1.0, 3.0, 0.5, 0.0, 2.0])
    pairs = strongest_pairs(model)  # in all: a 1.5, b 4, c 3.5; d and e say nothing of each other
    assert list(pairs.items()) == [(("b", "c"), 3.0), (("g", "f"), 2.0), (("b", "a"), 1.0), (("c", "a"), 0.5)]


def test_a_line_of_lonely_attributes_is_filled_to_the_last_pixel() -> None:
    own, gap = text_width("name") + 16, file.GAP_X / 2
    most = int((600 + gap) // (own + gap))
    drawn = file.Picture("class")
    names = [f"n{i:03d}" for i in range(2 * most + 1)]
    file._block(drawn, names, 0.0, 100.0)
    top = 100 + file.GAP_Y / 2 + HIGH / 2
    wanted = [((i % most) * (own + gap) + own / 2, top + STEP * (i // most)) for i in range(len(names))]
    assert [at for at, _ in drawn.boxes.values()] == [pytest.approx(at) for at in wanted]
    assert drawn.size == pytest.approx((most * own + (most - 1) * gap, top + 2 * STEP + HIGH / 2))
    exact = file.Picture("class")
    long = "m" * 90  # wider than a line: alone on its own, and the first still on the first
    file._block(exact, [long, "b"], 0.0, 100.0)
    assert [at[1] for at, _ in exact.boxes.values()] == [top, top + STEP]
    assert exact.size[0] == text_width(long) + 16
    fits = file.Picture("class")
    file._block(fits, ["name"] + [long], own + gap + text_width(long) + 16, 100.0)
    assert len({at[1] for at, _ in fits.boxes.values()}) == 1


def test_a_spine_runs_down_beside_its_stack() -> None:
    names = ["p", *(f"leaf{i}" for i in range(4))]
    drawn = placed(Told(names, [("p", n) for n in names[1:]], [1.0, 2.0, 3.0, 4.0]))
    lefts = {drawn.boxes[n][0][0] - drawn.boxes[n][1] / 2 for n in names[1:]}
    (left,) = lefts
    for points, _, (p, n) in drawn.lines:
        if p == "p":
            y, first = drawn.boxes[n][0][1], min(drawn.boxes[n][0][1] for n in names[1:])
            spine = left - file.INDENT + file.INDENT / 4
            foot = drawn.boxes["p"][0][0], drawn.boxes["p"][0][1] + HIGH / 2
            way = foot, (spine, first - HIGH / 2), (spine, y), (left, y)
            assert points == [pytest.approx(v) for v in way]
    assert {n: w for n, (_, w) in drawn.boxes.items()} == {n: text_width(n) + 16 for n in ("class", *names)}
    wide = text_width("leaf0") + 16 + file.INDENT
    tall = 2 * (HIGH + file.GAP_Y) + HIGH + 3 * STEP
    assert drawn.size == pytest.approx((max(wide, text_width("class") + 16), tall))


def test_pairs_without_arrows_are_drawn_to_their_ends() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    X = {"a": a, "b": np.where(rng.random(200) < 0.1, 1 - a, a), "c": np.where(rng.random(200) < 0.2, 1 - a, a)}
    model = po.AODE(kinds="categorical", min_frequency=1).fit(X, rng.integers(0, 2, 200))
    ends = [path[-1] for path in Seen(dependence(model)).paths()]
    assert ends == [pytest.approx(points[-1], abs=0.06) for points, *_ in placed(model).lines]
    told = dependence_html(model)
    assert "every attribute is a parent of the others in turn, drawn are the 3 pairs that say most" in told
    tips = [g.find(f"{SVG}title").text for g in ElementTree.fromstring(dependence_text(model)).iter(f"{SVG}g")]
    assert tips[:3] == [f"{p} – {i}: {w:.4g}" for (p, i), w in strongest_pairs(model).items()]


def test_the_picture_is_as_large_as_what_it_shows() -> None:
    model = Told(["a", "b", "c"], [("a", "b")], target="t")
    drawn, root = placed(model), ElementTree.fromstring(dependence_text(model))
    wide, tall = (v + 2 * MARGIN for v in drawn.size)
    assert root.get("viewBox") == f"{-MARGIN} {-MARGIN} {wide:.1f} {tall:.1f}"
    assert (root.get("width"), root.get("height")) == (f"{wide:.0f}", f"{tall:.0f}")
    assert root.get("aria-label") == "4 columns and their dependence"
    tips = [g.find(f"{SVG}title").text for g in root.iter(f"{SVG}g") if g.get("class") == "edge"]
    assert tips == ["t → a", "a → b"]
    assert "2 classes, 1 edges between attributes; the class is a parent of all" in dependence_html(model)
    assert dependence_html(model).startswith("<div><b>Told</b>: 7 rows, 3 columns, ")


def test_of_many_pairs_only_what_is_in_the_strongest_is_drawn(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    X = {"a": a, "b": rng.integers(0, 2, 200), "c": np.where(rng.random(200) < 0.1, 1 - a, a)}
    model = po.AODE(kinds="categorical", min_frequency=1).fit(X, rng.integers(0, 2, 200))
    monkeypatch.setattr(file, "MOST_PAIRS", 1)
    assert set(placed(model).boxes) == {"a", "c"}


def test_as_many_edges_as_are_drawn_are_not_called_the_strongest() -> None:
    names = [f"c{i}" for i in range(MOST + 1)]
    assert "strongest" not in dependence_html(Told(names, itertools.pairwise(names)))


def drawn(monkeypatch, draw):
    said, graph = [], file.graph
    monkeypatch.setattr(file, "graph", lambda *told, **more: (said.append((told, more)), graph(*told, **more))[1])
    draw()
    return said[0]


@pytest.mark.parametrize(
    ("true", "found", "kinds"),
    [
        ([("a", "b"), ("b", "c")], [("a", "b"), ("c", "b"), ("c", "d")], {"right": 1, "turned": 1, "extra": 1}),
        ([("a", "b"), ("b", "c")], [("a", "b")], {"right": 1, "missing": 1}),
        ([("a", "b")], [("a", "b")], {"right": 1}),
    ],
)
def test_every_arrow_has_the_colour_of_its_kind(monkeypatch, true, found, kinds):
    comparison = po.compare_structures(po.Dag("abcd", found), po.Dag("abcd", true))
    (nodes, edges), more = drawn(monkeypatch, lambda: comparison_drawing(comparison))
    assert list(nodes) == list("abcd")
    assert len(edges) == len({frozenset(e) for e in edges}) == sum(kinds.values())
    colours = [more["styles"][edge] for edge in edges]
    assert {kind: colours.count(STYLES[kind]) for kind in kinds} == kinds
    assert more["legend"] == [(f"{n} {kind}", *STYLES[kind]) for kind, n in kinds.items()]


@pytest.fixture(scope="module")
def grown():
    X, y = load_iris(return_X_y=True)
    return po.BayesTree().fit(pd.DataFrame(X[:, ::-1], columns=list("abcd")), np.array(["x", "y", "z"])[y])


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_nodes_are_those_down_to_a_depth_and_say_what_they_have(grown, depth):
    nodes, edges, labels, bars = _tree_pieces(grown, depth)
    tree, found = grown.statistics_.tree, {"0": 0}
    for above, below in edges:  # parents first
        found[below] = found[above] + 1
    assert set(found) == set(nodes) == set(labels) == set(bars)
    assert max(found.values()) == min(depth, grown.depth_)
    assert len(edges) == len(nodes) - 1
    for name in nodes:
        why, *lines = labels[name].split("\n")
        i, asks = int(name), tree.column[int(name)] >= 0
        assert (why == "all rows") == (i == 0)
        assert (lines[-1] == "…") == (asks and found[name] == depth)
        assert (name in {above for above, _ in edges}) == (asks and found[name] < depth)
        assert counted(grown.statistics_.table[i].sum(), "row") in lines
        likely = sorted(grown.node_posteriors_[i], reverse=True)[:MOST_CLASSES]
        assert [line.split()[1] for line in lines[:MOST_CLASSES]] == [f"{p:.1%}" for p in likely]
        assert bars[name] == [None, *likely, None]
        if i > 0:
            assert re.search(r"^[abcd] ", why)
