"""The picture of a dependence graph: only the class stands out, edges weigh what they say, ends lie on the boxes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.report import dependence as file
from posteriori.report.dependence import (
    HIGH,
    MOST,
    MOST_PAIRS,
    STACK,
    STEP,
    dependence_html,
    dependence_svg,
    picture,
    plot_dependence,
    strongest_pairs,
)
from posteriori.table.schema import Column, Schema

SVG = "{http://www.w3.org/2000/svg}"


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
    drawing = dependence_svg(model.set_params(kinds="categorical").fit(X, rng.integers(0, 2, 90)))
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
    drawn = picture(Told(names, edges, weights))
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
    text = dependence_svg(Told(names, edges, weights))
    assert text.count('class="edge"') == len(drawn.lines)
    assert text.count("<polygon") == len(drawn.lines)


def test_leaves_of_one_parent_stand_in_stacks():
    names = ["p", *(f"leaf{i:02d}" for i in range(30))]
    drawn = picture(Told(names, [("p", n) for n in names[1:]]))
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
    two = picture(Told(["p", "q", "r"], [("p", "q"), ("p", "r")]))
    assert two.boxes["q"][0][1] == two.boxes["r"][0][1]  # two are side by side


def test_the_strongest_edges_are_drawn_as_thick_as_they_are():
    names = [f"c{i}" for i in range(MOST + 6)]
    edges = list(itertools.pairwise(names))
    weights = [float(i) for i in range(len(edges))]
    model = Told(names, edges, weights, target="c3")
    drawn = picture(model)
    assert drawn.target == "c3_"
    shown = {whose: weight for _, weight, whose in drawn.lines if whose[0] != "c3_"}
    assert set(shown) == set(edges[-MOST:])
    text = dependence_svg(model)
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


def test_the_same_on_axes():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch, Polygon

    model = Told(["a", "b", "c", "d", "e"], [("a", "b"), ("b", "c"), ("b", "d"), ("b", "e")], [1.0, 2.0, 3.0, 4.0])
    drawn, ax = picture(model), plot_dependence(model)
    boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len(boxes) == len(drawn.boxes) == 6
    for patch, ((x, y), width) in zip(boxes, drawn.boxes.values()):
        box = patch.get_bbox()
        assert (box.x0 + box.x1) / 2 == pytest.approx(x)
        assert (box.y0 + box.y1) / 2 == pytest.approx(y)
        assert box.width == pytest.approx(width - 8)
    heads = [p for p in ax.patches if isinstance(p, Polygon)]
    tips = [tuple(h.get_xy()[0]) for h in heads]
    assert tips == [pytest.approx(points[-1]) for points, _, _ in drawn.lines]
    for head, (points, _, _) in zip(heads, drawn.lines):
        corners = head.get_xy()[1:3]
        flat = abs(points[-1][1] - points[-2][1]) < 1
        middle = corners.mean(axis=0)
        assert (middle[0] < points[-1][0]) if flat else (middle[1] < points[-1][1])
        assert middle[1 if flat else 0] == pytest.approx(points[-1][1 if flat else 0])
    assert [t.get_text() for t in ax.texts] == list(drawn.boxes)
    low, high = ax.get_ylim()
    assert low > high  # down is down
    own = plt.figure().subplots()
    assert plot_dependence(model, own) is own
    plt.close("all")


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
    drawing = dependence_svg(model, "sick")
    assert set(nodes(drawing)) == {n for pair in pairs for n in pair}
    assert "polygon" not in drawing
    assert "→" not in drawing


def test_the_class_is_called_what_it_is() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "ab"}
    model = po.TAN(kinds="categorical").fit(X, rng.integers(0, 2, 90))
    assert set(nodes(dependence_svg(model, "sick"))) == {"sick", *"ab"}
    assert set(nodes(dependence_svg(model, "a"))) == {"a_", *"ab"}


def test_pairs_that_are_not_kept_are_not_drawn() -> None:
    rng = np.random.default_rng(0)
    X = {name: rng.integers(0, 3, 90) for name in "abc"}
    model = po.AODE(kinds="categorical", lazy=True).fit(X, rng.integers(0, 2, 90))
    assert strongest_pairs(model) == {}
    assert set(nodes(dependence_svg(model))) == set("abc")


@pytest.mark.parametrize("width", [0.0, 900.0])
def test_attributes_without_edges_stand_in_lines_under_the_picture(width):
    """Each as wide as its name, none on another, none wider than the picture."""
    names = ["a", "a name that is long", *(f"attribute {i}" for i in range(30))]
    drawn = file.Picture("class")
    file._block(drawn, names, width, 100.0)
    boxes = [(x - w / 2, x + w / 2, y) for (x, y), w in drawn.boxes.values()]
    for name, (left, right, y) in zip(names, boxes, strict=True):
        assert right - left >= file._text_width(name)
        assert left >= 0
        assert right <= max(width, 600.0)
        assert y > 100.0
    for (_, right, y), (left, _, below) in itertools.pairwise(boxes):
        assert (below == y and left > right) or (below > y and left == 0)
    assert drawn.size[0] >= max(right for _, right, _ in boxes)
    assert drawn.size[1] > max(y for *_, y in boxes)
