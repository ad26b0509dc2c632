"""What a notebook shows and what is drawn: numbers in tables, marks, bars, arrows and lines that say what the model
says.
"""

from __future__ import annotations

import re
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.errors import ModelError, counted
from posteriori.leaderboard.board import Leaderboard, Row, cell
from posteriori.report import faces
from posteriori.report.faces import (
    MOST_CLASSES,
    MOST_DRAWN,
    STYLES,
    _tree_pieces,
    board_html,
    comparison_drawing,
    draw_tree,
    frame_html,
    network_drawing,
    network_html,
    plot_margin,
    schema_html,
    tree_drawing,
    tree_html,
)
from posteriori.report.layered import GAP_X

mpl.use("Agg")


def test_a_schema_as_a_table():
    many = po.Schema.declare({"a<": [f"v{i}" for i in range(9)], "b": ["x", "y"], "n": "numeric"})
    text = schema_html(many)
    assert "<td>a&lt;</td><td>categorical</td>" in text
    assert "v7…</td>" in text
    assert "v8" not in text
    assert "<td>x, y</td>" in text
    assert text.count("<tr>") == 4


def test_naive_bayes_tells_its_prior_and_its_columns():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    X = {"best": np.where(rng.random(90) < 0.9, y, 1 - y).astype(str), "noise": rng.choice(["u", "v"], 90)}
    model = po.NaiveBayes().fit(X, y)
    text = model._repr_html_()
    assert "90 rows, 2 columns, 2 classes" in text
    prior = np.exp(model.factored_.log_prior)
    assert f"P(0) = {prior[0]:.3f}, P(1) = {prior[1]:.3f}" in text
    widths = [int(w) for w in re.findall(r"width:(\d+)px", text)]
    told = [float(v) for v in re.findall(r'title="([\d.]+) nats"', text)]
    information = model.summary()["information"]
    assert told == pytest.approx(information.tolist(), abs=1e-4)
    assert widths[0] == 120
    assert widths[1] == pytest.approx(120 * information[1] / information[0], abs=1)
    assert text.index("best") < text.index("noise")
    assert "nomogram: 1 against 0" in text
    three = po.NaiveBayes().fit(X, np.where(np.arange(90) % 9 == 0, 2, y))
    count = np.asarray(three.class_count_)
    a, b = np.argsort(-count, kind="stable")[:2]
    assert f"nomogram: {a} against {b}" in three._repr_html_()
    assert "nomogram" not in po.NaiveBayes().fit({"a": ["u", "v"]}, [1, 1])._repr_html_()


def test_a_network_shows_its_states_where_something_is_known():
    net = po.networks.asia()
    plain = str(network_drawing(net))
    assert "bar" not in plain
    text = str(network_drawing(net, {"smoke": "yes", "xray": None}))
    assert text.count('class="bar"') == 16
    assert "yes 10.0%" in text
    assert text.count('stroke-width="2.6"') == 1
    many = po.BayesNet([], {"a": np.arange(1, 9) / 36}, states={"a": [f"s{i}" for i in range(8)]})
    told = str(network_drawing(many, {}))
    assert told.count('class="bar"') == 6
    assert "s7 " in told
    assert "s1 " not in told
    assert "…" in told
    html = network_html(net)
    assert "asia: 8 nodes, 8 edges, 18 parameters" in html
    assert "<svg" in html
    large = po.BayesNet([], {f"n{i}": [0.5, 0.5] for i in range(MOST_DRAWN + 1)})
    assert "<svg" not in network_html(large)
    assert frame_html(net.query(["lung"])).count("<tr") == 3


def test_a_tree_in_the_plane():
    X = np.random.default_rng(0).normal(size=(60, 2))
    tree = po.KDTree(X, leaf_size=5)
    ax = draw_tree(tree, None, [0.1, 0.2], 3)
    inner = [n for n in tree.nodes if not n.is_leaf]
    lines = [line.get_xydata() for line in ax.lines if line.get_marker() in ("None", None, "")]
    assert len(lines) == len(inner)
    lo, hi = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * (hi - lo)
    for line in lines:
        assert (line >= lo - margin - 1e-9).all()
        assert (line <= hi + margin + 1e-9).all()
        assert (np.ptp(line, axis=0) == 0).any()  # upright or level
    values = sorted(float(line[0, 0]) if line[0, 0] == line[1, 0] else float(line[0, 1]) for line in lines)
    assert values == pytest.approx(sorted(float(n.value) for n in inner))
    distance, index = tree.query([[0.1, 0.2]], 3)
    rings = [line.get_xydata() for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert rings[0] == pytest.approx(X[index[0]])
    (ball,) = ax.patches
    assert ball.radius == pytest.approx(distance[0, -1])
    assert tuple(ball.center) == (0.1, 0.2)
    own = plt.figure().subplots()
    assert draw_tree(tree, own, None, 1) is own
    assert not own.patches
    with pytest.raises(ModelError, match="this one has 3"):
        draw_tree(po.KDTree(np.zeros((4, 3))), None, None, 1)
    plt.close("all")


def test_a_margin_in_the_plane():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]])
    y = np.array([0, 0, 1, 1])
    machine = po.SVC(kernel="linear", C=1e6).fit(X, y)
    ax = plot_margin(machine, X, y)
    drawn_rows = [c for c in ax.collections if len(c.get_offsets()) and c.get_label()[0] != "_"]
    assert [c.get_label() for c in drawn_rows] == [*map(str, machine.classes_), "support vectors"]
    for c, wanted in zip(drawn_rows, (*(X[np.asarray(y) == v] for v in machine.classes_), machine.support_vectors_)):
        assert np.asarray(c.get_offsets()).tolist() == np.asarray(wanted).tolist()
    assert ax.get_title() == f"margin {1 / machine.w_norm_[0]:.3g} either side"
    low, high = ax.get_xlim()
    assert low <= -0.5
    assert high >= 4.5
    own = plt.figure().subplots()
    assert plot_margin(machine, X, y, own) is own
    three = po.SVC().fit(np.vstack([X, [[9.0, 9.0]]]), [0, 0, 1, 1, 2])
    with pytest.raises(ModelError, match="3 classes in 2 columns"):
        plot_margin(three, X, y)
    with pytest.raises(ModelError, match="2 classes in 1 columns"):
        plot_margin(po.SVC().fit(X[:, :1], y), X, y)
    plt.close("all")


@pytest.mark.parametrize(("cells", "y"), [("uv", [1, 1]), ("uu", [0, 1]), ("uvuvu", [0, 0, 1, 1, 2])])
def test_a_face_without_a_nomogram_ends_with_its_table(cells, y):
    """Of one class, of one value, and of values that are as likely in the commonest two."""
    assert po.NaiveBayes(kinds="categorical").fit({"a": list(cells)}, y)._repr_html_().endswith("</table></div>")


def drawn(monkeypatch, draw):
    said = []
    monkeypatch.setattr(faces, "draw_graph", lambda *told, **more: (said.append((told, more)), "")[1])
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


DONE = Row("<best>", 'says "so"', None, folds={"log_loss": (0.1, 0.3), "error": (0.0, 0.5)}, notes=("slow & sure",))
REST = (Row("bad", "third", None, "failed", "it <broke>"), Row("late", "fourth", None, "skipped", "no time"))


def lines(board):
    return re.findall(r"<tr>(.*?)</tr>", board_html(board))


def test_every_model_has_a_line():
    board = Leaderboard((DONE, *REST), "log_loss", 2, 1234, (0, 1), ("a note",))
    head, best, bad, late = lines(board)
    assert re.findall(r"<th>(.*?)</th>", head) == ["model", "log loss", "error"]
    cells = re.findall(r'<td style="text-align:right">(.*?)</td>', best)
    assert cells == [cell(DONE, "log_loss"), cell(DONE, "error")]
    assert '<td title="says &#34;so&#34;">&lt;best&gt;</td>' in best
    assert '<td colspan="2">failed: it &lt;broke&gt;</td>' in bad
    assert '<td colspan="2">skipped: no time</td>' in late
    text = board_html(board)
    assert "1,234 rows, 2 folds, by log loss; mean ± sd over the folds" in text
    assert re.findall(r"<p>(.*?)</p>", text) == ["&lt;best&gt;: slow &amp; sure", "a note"]


@pytest.mark.parametrize("row", REST, ids=lambda r: r.name)
def test_where_nobody_finished_a_reason_still_has_its_cell(row):
    (_, line) = lines(Leaderboard((row,), "log_loss", 2, 10))
    assert 'colspan="1"' in line


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    return po.BayesTree().fit(pd.DataFrame(X[:, ::-1], columns=list("abcd")), np.array(["x", "y", "z"])[y])


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_nodes_are_those_down_to_a_depth_and_say_what_they_have(model, depth):
    nodes, edges, labels, bars = _tree_pieces(model, depth)
    tree, found = model.statistics_.tree, {"0": 0}
    for above, below in edges:  # parents first
        found[below] = found[above] + 1
    assert set(found) == set(nodes) == set(labels) == set(bars)
    assert max(found.values()) == min(depth, model.depth_)
    assert len(edges) == len(nodes) - 1
    for name in nodes:
        why, *lines = labels[name].split("\n")
        i, asks = int(name), tree.column[int(name)] >= 0
        assert (why == "all rows") == (i == 0)
        assert (lines[-1] == "…") == (asks and found[name] == depth)
        assert (name in {above for above, _ in edges}) == (asks and found[name] < depth)
        assert counted(model.statistics_.table[i].sum(), "row") in lines
        likely = sorted(model.node_posteriors_[i], reverse=True)[:MOST_CLASSES]
        assert [line.split()[1] for line in lines[:MOST_CLASSES]] == [f"{p:.1%}" for p in likely]
        assert bars[name] == [None, *likely, None]
        if i > 0:
            assert re.search(r"^[abcd] ", why)


def test_a_face_shows_as_many_questions_as_fit(model, monkeypatch):
    assert model.depth_ > 4
    assert "The first 4 questions:" in tree_html(model)
    assert f"{model.n_leaves_} leaves, {model.depth_} questions at most, 150 rows, 3 classes" in tree_html(model)
    monkeypatch.setattr(faces, "MOST_TREE_NODES", 3)
    assert "The first 1 questions:" in tree_html(model)
    assert str(tree_drawing(model, 1)) in tree_html(model)
    monkeypatch.setattr(faces, "MOST_TREE_NODES", 5)
    assert "The first 2 questions:" in tree_html(model)
    stump = po.BayesTree(max_depth=1).fit([[0], [1]] * 9, [0, 1] * 9)
    assert "The first" not in tree_html(stump)


def test_axes_have_a_text_for_each_node_and_a_line_for_each_edge(model):
    pytest.importorskip("matplotlib")
    nodes, edges, labels, _ = _tree_pieces(model, 2)
    ax = model.plot(max_depth=2)
    assert sorted(t.get_text() for t in ax.texts) == sorted(labels[name].replace("$", r"\$") for name in nodes)
    assert len(ax.lines) == len(edges)
    at = {t.get_text(): t.get_position() for t in ax.texts}
    for line, (above, below) in zip(ax.lines, edges):
        (x0, x1), (y0, y1) = line.get_data()
        assert (x0, x1) == (at[labels[above]][0], at[labels[below]][0])
        assert at[labels[above]][1] < y0 < y1 < at[labels[below]][1]


def test_texts_on_axes_have_room_beside_each_other(model):
    pytest.importorskip("matplotlib")
    ax = model.plot(max_depth=3)
    wide = {t: 7.0 * max(map(len, t.get_text().split("\n"))) for t in ax.texts}
    rows: dict[float, list] = {}
    for t in sorted(ax.texts, key=lambda t: t.get_position()[0]):
        rows.setdefault(t.get_position()[1], []).append(t)
    gaps = [
        b.get_position()[0] - a.get_position()[0] - (wide[a] + wide[b]) / 2
        for row in rows.values()
        for a, b in pairwise(row)
    ]
    assert min(gaps) >= 18 + GAP_X - 1e-6


def test_a_drawing_of_a_tree_grows_with_the_tree(model):
    """In inches as in the units of its places, so that boxes of text do not meet; a small one is still to be seen."""
    sizes = []
    for depth in (0, 1, 4):
        ax = faces.plot_tree(model, max_depth=depth)
        (left, right), (low, top) = ax.get_xlim(), ax.get_ylim()
        width, height = right + left, low + top
        assert (left, top) == (-10, -14)
        assert ax.figure.get_size_inches() == pytest.approx([max(width / 95, 3), max(height / 95, 1.5)])
        sizes.append(ax.figure.get_size_inches())
        _, edges, labels, _ = _tree_pieces(model, depth)
        assert sorted(t.get_text() for t in ax.texts) == sorted(labels.values())
        assert len(ax.lines) == len(edges)
        for line in ax.lines:  # from a box down to a box
            (_, y0), (_, y1) = line.get_xydata()
            assert y1 > y0
        for text in ax.texts:
            x, y = text.get_position()
            assert 0 <= x <= width
            assert 0 <= y <= height
    assert sizes[0] == pytest.approx([3, 1.5])
    assert (sizes[2] > sizes[1]).all()
    plt.close("all")


@given(st.integers(0, 300), st.integers(1, 30), st.integers(1, 6))
@settings(max_examples=12)
def test_cuts_of_a_tree_in_the_plane_divide_the_cells(seed, n, leaf_size):
    """Every cut is as long as its cell, which the cuts above have made; the ball is empty within."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    tree = po.KDTree(X, leaf_size=leaf_size)
    ax = draw_tree(tree, plt.figure().subplots(), [[0.1, 0.2]], 1)
    margin = 0.05 * np.maximum(np.ptp(X, axis=0), 1e-12)
    wanted = []

    def divide(at, lo, hi):
        node = tree.nodes[at]
        if not node.is_leaf:
            d = node.dim
            ends = np.array([lo, hi])
            ends[:, d] = node.value
            wanted.append((f"C{d}", *ends.ravel()))
            divide(node.left, lo, [node.value if j == d else hi[j] for j in (0, 1)])
            divide(node.right, [node.value if j == d else lo[j] for j in (0, 1)], hi)

    divide(0, list(X.min(axis=0) - margin), list(X.max(axis=0) + margin))
    cuts = [line for line in ax.lines if line.get_marker() in ("None", None, "")]
    assert sorted((c.get_color(), *c.get_xydata().ravel()) for c in cuts) == sorted(wanted)
    (ball,) = ax.patches
    assert not ball.get_fill()
    assert ax.get_aspect() == 1.0
    assert not draw_tree(po.KDTree(X, "manhattan"), plt.figure().subplots(), [[0.1, 0.2]], 1).patches  # no ball
    plt.close("all")
