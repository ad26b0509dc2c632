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
        assert right - left >= file.text_width(name)
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
    own, gap = file.text_width("name") + 16, file.GAP_X / 2
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
    assert exact.size[0] == file.text_width(long) + 16
    fits = file.Picture("class")
    file._block(fits, ["name"] + [long], own + gap + file.text_width(long) + 16, 100.0)
    assert len({at[1] for at, _ in fits.boxes.values()}) == 1


def test_a_spine_runs_down_beside_its_stack() -> None:
    names = ["p", *(f"leaf{i}" for i in range(4))]
    drawn = picture(Told(names, [("p", n) for n in names[1:]], [1.0, 2.0, 3.0, 4.0]))
    lefts = {drawn.boxes[n][0][0] - drawn.boxes[n][1] / 2 for n in names[1:]}
    (left,) = lefts
    for points, _, (p, n) in drawn.lines:
        if p == "p":
            y, first = drawn.boxes[n][0][1], min(drawn.boxes[n][0][1] for n in names[1:])
            spine = left - file.INDENT + file.INDENT / 4
            foot = drawn.boxes["p"][0][0], drawn.boxes["p"][0][1] + HIGH / 2
            way = foot, (spine, first - HIGH / 2), (spine, y), (left, y)
            assert points == [pytest.approx(v) for v in way]
    assert {n: w for n, (_, w) in drawn.boxes.items()} == {n: file.text_width(n) + 16 for n in ("class", *names)}
    wide = file.text_width("leaf0") + 16 + file.INDENT
    tall = 2 * (HIGH + file.GAP_Y) + HIGH + 3 * STEP
    assert drawn.size == pytest.approx((max(wide, file.text_width("class") + 16), tall))


def test_on_axes_lines_are_as_thick_as_in_the_picture_and_all_is_to_scale() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgba
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

    model = Told(["a", "b", "c", "d", "e"], [("a", "b"), ("b", "c"), ("b", "d"), ("b", "e")], [1.0, 2.0, 3.0, 4.0])
    drawn = picture(model)
    wide, tall = (v + 2 * file.MARGIN for v in drawn.size)
    for inches in ((5.0, 4.0), (2.0, 9.0), (9.0, 1.5)):
        ax = plt.figure(figsize=inches).add_axes((0, 0, 1, 1))
        plot_dependence(model, ax)
        scale = 72 * min(inches[0] / wide, inches[1] / tall)
        paths = [p for p in ax.patches if isinstance(p, PathPatch)]
        heads = [p for p in ax.patches if isinstance(p, Polygon)]
        for patch, head, (points, weight, (p, _)) in zip(paths, heads, drawn.lines, strict=True):
            (x, y), flat = points[-1], abs(points[-1][1] - points[-2][1]) < 1
            stroke = 1.0 if p == "class" else 0.8 + 3.2 * weight / 4
            assert patch.get_linewidth() == pytest.approx(stroke * scale)
            assert patch.get_edgecolor() == head.get_facecolor() == to_rgba(file.PALE if p == "class" else file.EDGE)
            ends = [*points[:-1], (x - 4, y) if flat else (x, y - 4)]
            curve = [ends[0]]
            for (x0, y0), (x1, y1) in itertools.pairwise(ends):
                curve += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
            assert patch.get_path().vertices == pytest.approx(np.array(curve))
            size = 5 + stroke
            side = [(x - size, y - size / 2), (x - size, y + size / 2)]
            corners = side if flat else [(x - size / 2, y - size), (x + size / 2, y - size)]
            assert head.get_xy()[:3] == pytest.approx(np.array([(x, y), *corners]))
        boxes = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
        for patch, name in zip(boxes, drawn.boxes, strict=True):
            assert patch.get_facecolor() == to_rgba(file.CLASS if name == "class" else file.PAPER)
            assert patch.get_linewidth() == pytest.approx(scale)
            assert patch.get_bbox().height == HIGH - 8
        assert [t.get_fontsize() for t in ax.texts] == pytest.approx([11 * scale] * 6)
        assert [t.get_position() for t in ax.texts] == [at for at, _ in drawn.boxes.values()]
        assert ax.get_xlim() == pytest.approx((-file.MARGIN, wide - file.MARGIN))
        assert ax.get_ylim() == pytest.approx((tall - file.MARGIN, -file.MARGIN))
        assert not ax.axison
    own = plot_dependence(model).figure
    assert own.get_size_inches() == pytest.approx([max(wide, 200) / 90, max(tall, 120) / 90])
    plt.close("all")


def test_pairs_without_arrows_are_drawn_to_their_ends() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import PathPatch

    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 200)
    X = {"a": a, "b": np.where(rng.random(200) < 0.1, 1 - a, a), "c": np.where(rng.random(200) < 0.2, 1 - a, a)}
    model = po.AODE(kinds="categorical", min_frequency=1).fit(X, rng.integers(0, 2, 200))
    drawn, ax = picture(model), plot_dependence(model)
    paths = [p for p in ax.patches if isinstance(p, PathPatch)]
    assert [tuple(p.get_path().vertices[-1]) for p in paths] == [
        pytest.approx(points[-1]) for points, *_ in drawn.lines
    ]
    assert len(ax.patches) == len(paths) + len(drawn.boxes)
    told = dependence_html(model)
    assert "every attribute is a parent of the others in turn, drawn are the 3 pairs that say most" in told
    tips = [g.find(f"{SVG}title").text for g in ElementTree.fromstring(dependence_svg(model)).iter(f"{SVG}g")]
    assert tips[:3] == [f"{p} – {i}: {w:.4g}" for (p, i), w in strongest_pairs(model).items()]
    plt.close("all")


def test_the_picture_is_as_large_as_what_it_shows() -> None:
    model = Told(["a", "b", "c"], [("a", "b")], target="t")
    drawn, root = picture(model), ElementTree.fromstring(dependence_svg(model))
    wide, tall = (v + 2 * file.MARGIN for v in drawn.size)
    assert root.get("viewBox") == f"{-file.MARGIN} {-file.MARGIN} {wide:.1f} {tall:.1f}"
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
    assert set(picture(model).boxes) == {"a", "c"}


def test_as_many_edges_as_are_drawn_are_not_called_the_strongest() -> None:
    names = [f"c{i}" for i in range(MOST + 1)]
    assert "strongest" not in dependence_html(Told(names, itertools.pairwise(names)))
