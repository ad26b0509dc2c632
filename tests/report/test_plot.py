"""Figures: what is drawn is what was measured, on the caller's axes or on new ones; no matplotlib is one clear sentence."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import MissingExtra, ModelError, UnknownValue
from posteriori.explain.whatif import what_if
from posteriori.report import plot
from posteriori.report.graphs import dependence, graph, star
from posteriori.report.nomogram import nomogram, scales
from posteriori.report.scene import on_axes

from .drawn import Seen
from .test_graphs import Told

X = {
    "sky": ["blue", "grey", "grey", "blue", "$x$", "grey"] * 12,
    "wind": np.arange(72.0) % 7,
    "hill": np.concatenate([np.random.default_rng(0).normal(0, 1, 36), np.random.default_rng(1).normal(0, 4, 36)]),
}
Y = ["in", "out", "out", "in", "in", "out"] * 6 + ["out"] * 36


@pytest.fixture(autouse=True)
def closed():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_a_nomogram_names_values_and_leads_to_the_probability():
    model = po.NaiveBayes(density="gaussian").fit(X, Y)
    ax = po.plot.nomogram(model, "in", "out")
    ax.figure.canvas.draw()
    told = texts(ax)
    assert {"Points", "Total points", "P(in)", "sky", "blue", "grey", "$x$"} <= set(told)
    assert po.plot.nomogram(model, ax=ax) is ax


def test_a_nomogram_of_what_does_not_add_up_is_refused():
    with pytest.raises(ModelError, match="take NaiveBayes"):
        po.plot.nomogram(po.TAN().fit({k: X[k] for k in ("sky", "wind")}, Y))
    model = po.NaiveBayes().fit(X, Y)
    with pytest.raises(UnknownValue, match="holds 'inn'"):
        po.plot.nomogram(model, "inn")
    with pytest.raises(ModelError, match="two classes"):
        po.plot.nomogram(model, "in", "in")
    with pytest.raises(ModelError, match="one class"):
        po.plot.nomogram(po.NaiveBayes().fit({"a": ["u", "v"]}, [1, 1]))


def test_reliability_draws_its_bins():
    posterior, y = [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.45, 0.55]], [0, 0, 1, 0]
    ax = po.plot.reliability(posterior, y, bins=4)
    found = po.reliability(posterior, y, bins=4)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.column_stack([found.said, found.came]))
    assert "P(1)" in po.plot.reliability(posterior, y, 1).get_xlabel()


def test_risk_and_coverage_as_measured():
    posterior, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1]
    ax = po.plot.risk_coverage(posterior, y=y)
    curve = po.risk_coverage(posterior, y=y)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack([curve.coverage, curve.risk]))
    assert len(po.plot.risk_coverage(posterior).lines) == 1


def test_the_posterior_of_a_row():
    model = po.NaiveBayes().fit(X, Y)
    row = {"sky": ["blue"], "wind": [3.0], "hill": [0.1]}
    ax = po.plot.posterior(model, row)
    widths = sorted(bar.get_width() for bar in ax.patches)
    np.testing.assert_allclose(widths, sorted(model.predict_proba(row)[0]))
    with pytest.raises(ModelError, match="one row"):
        po.plot.posterior(model, X)


@pytest.mark.parametrize("model", [po.NaiveBayes(), po.TAN(), po.BayesNetClassifier()], ids=lambda m: type(m).__name__)
def test_structures(model):
    some = {k: X[k] for k in ("sky", "wind")}
    told = texts(po.plot.structure(model.fit(some, Y)))
    assert {"sky", "wind"} <= set(told)


def test_networks_have_a_structure_and_neighbours_have_none():
    assert "lung" in texts(po.plot.structure(po.networks.asia()))
    with pytest.raises(ModelError, match="no structure"):
        po.plot.structure(po.KNeighborsClassifier().fit(np.eye(6), [0, 1] * 3))


def test_without_matplotlib_there_is_one_clear_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"posteriori\[plot\]"):
        po.plot.posterior(po.NaiveBayes().fit(X, Y), {"sky": ["blue"], "wind": [3.0], "hill": [0.1]})


def test_of_three_classes_the_nomogram_says_that_it_weighs_two():
    assert "P(c | c or a)" in texts(po.plot.nomogram(po.NaiveBayes().fit(X, np.resize(list("abc"), len(Y))), "c", "a"))
    assert "P(y)" in texts(po.plot.nomogram(po.NaiveBayes().fit(X, np.resize(["x", "y"], len(Y)))))


@pytest.mark.parametrize("model", [po.AODE(), po.A2DE()], ids=lambda m: type(m).__name__)
def test_an_average_over_parents_is_drawn_as_pairs_without_arrows(model):
    from matplotlib.patches import Polygon

    ax = po.plot.structure(model.fit({k: X[k] for k in ("sky", "wind")}, Y))
    assert not [p for p in ax.patches if isinstance(p, Polygon)]
    assert "class" not in texts(ax)


def test_a_notebook_shows_the_nomogram_of_naive_bayes():
    shown = po.NaiveBayes(density="gaussian").fit(X, [f"<b>{c}</b>" for c in Y])._repr_html_()
    assert shown.count("<svg") == 1
    assert "&lt;b&gt;out&lt;/b&gt; against" in shown
    assert "<b>out" not in shown
    assert "<svg" not in po.NaiveBayes().fit({"a": ["u", "v"]}, ["only", "only"])._repr_html_()


def test_no_name_of_a_crowded_line_lies_on_another():
    rng = np.random.default_rng(4)
    many = np.array([f"value {i}" for i in range(30)])
    table = {f"x{most}": many[rng.integers(0, most, 900)] for most in (30, 26, 29, 22)}
    ax = po.plot.nomogram(po.NaiveBayes().fit(table, rng.integers(0, 2, 900)))
    ax.figure.canvas.draw()
    boxes = [t.get_window_extent().shrunk(0.9, 0.9) for t in ax.texts]
    assert len(boxes) > 60
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def fresh():
    import matplotlib.pyplot as plt

    return plt.figure().subplots()


def colour(thing):
    from matplotlib.colors import to_hex

    return to_hex(thing)


def plain(ax):
    """Two spines, a grid below what is drawn."""
    assert [ax.spines[side].get_visible() for side in ("left", "bottom", "top", "right")] == [True, True, False, False]
    lines = [*ax.get_xgridlines(), *ax.get_ygridlines()]
    assert all(line.get_visible() for line in lines)
    assert {colour(line.get_color()) for line in lines} == {plot.GRID}
    assert ax.get_axisbelow() is True


def test_reliability_as_a_reader_sees_it():
    posterior, y = [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.45, 0.55], [0.48, 0.52]], [0, 0, 1, 0, 1]
    found = po.reliability(posterior, y, bins=4)
    ax = po.plot.reliability(posterior, y, bins=4)
    aside, line = ax.lines
    assert aside.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert line.get_xydata() == pytest.approx(np.column_stack([found.said, found.came]))
    assert ax.collections[0].get_sizes() == pytest.approx(12 + 400 * np.asarray(found.share))
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_aspect()) == ((0, 1), (0, 1), 1)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("confidence, as said", "share that came true")
    assert ax.get_title() == f"calibration error {found.error:.3f}"
    plain(ax)
    assert po.plot.reliability(posterior, y, 1).get_xlabel() == "P(1), as said"
    assert ax.figure.get_size_inches() == pytest.approx([4.2, 4.2])


def test_risk_is_drawn_as_it_was_and_dashed_as_it_was_expected():
    posterior, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1]
    ax = po.plot.risk_coverage(posterior, y=y)
    real, expected = ax.lines
    for line, curve in ((real, po.risk_coverage(posterior, y=y)), (expected, po.risk_coverage(posterior))):
        assert line.get_xydata() == pytest.approx(np.column_stack([curve.coverage, curve.risk]))
    assert (real.get_linestyle(), expected.get_linestyle()) == ("-", "--")
    assert [colour(line.get_color()) for line in ax.lines] == [plot.ACCENT, plot.SOFT]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["real", "expected"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim()) == ("share of rows decided", "mean loss", (0, 1))
    plain(ax)
    alone = po.plot.risk_coverage(posterior)
    assert alone.get_legend() is None
    assert colour(alone.lines[0].get_color()) == plot.ACCENT


def test_bars_of_a_posterior_are_named_and_told_the_most_probable_on_top():
    class Sure:
        classes_ = np.array(["a", "b$", "c"])

        def predict_proba(self, row):
            return np.array([[0.3, 0.6, 0.1]])

    ax = po.plot.posterior(Sure(), [[0]])
    assert [bar.get_width() for bar in ax.patches] == [0.1, 0.3, 0.6]
    assert [colour(bar.get_facecolor()) for bar in ax.patches] == [plot.SOFT, plot.SOFT, plot.ACCENT]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["c", "a", r"b\$"]
    assert texts(ax) == ["10.0%", "30.0%", "60.0%"]
    assert [t.get_position() for t in ax.texts] == [pytest.approx((p + 0.01, i)) for i, p in enumerate((0.1, 0.3, 0.6))]
    assert (ax.get_xlim(), ax.get_xlabel()) == ((0, 1.12), "P(y|x)")
    assert ax.figure.get_size_inches() == pytest.approx([4.6, 0.7 + 0.34 * 3])
    plain(ax)
    assert [bar.get_width() for bar in po.plot.posterior(Sure(), [[0]], most=2).patches] == [0.3, 0.6]
    own = fresh()
    assert po.plot.posterior(Sure(), [[0]], ax=own) is own
    assert len(own.patches) == 3


def test_naive_bayes_is_a_star_below_its_class():
    some = {"sky": X["sky"], "class": X["wind"], "class_": X["hill"]}
    ax = po.plot.structure(po.NaiveBayes().fit(some, Y))
    assert texts(ax) == ["class__", "sky", "class", "class_"]
    own = fresh()
    assert po.plot.structure(po.NaiveBayes().fit(some, Y), ax=own) is own


SHAPES = ("path", "polygon", "circle", "rect")


def drawings():
    model = po.NaiveBayes(density="gaussian").fit(X, Y)
    told = Told(["a", "b", "c", "d", "e"], [("a", "b"), ("b", "c"), ("b", "d"), ("b", "e")], [1.0, 2.0, 3.0, 4.0])
    yield nomogram(scales(what_if(model, with_rows=True), 1, 0), wide=True)
    yield dependence(told)
    yield graph(["a", "b$", "c"], [("a", "b$"), ("c", "b$")], directed=[("a", "b$")], bars={"a": [None, 0.5]})
    yield star("the class", [("one", 0.5), ("two", 0.2)])


@pytest.mark.parametrize("drawn", list(drawings()), ids=["nomogram", "dependence", "graph", "star"])
def test_axes_show_what_the_svg_shows(drawn):
    """Every text, line, box and head where it is there; a figure as large as the drawing, or the caller's axes."""
    ax, seen = on_axes(drawn), Seen(drawn)
    assert [(t.get_text(), *t.get_position()) for t in ax.texts] == [
        (e.text, float(e.get("x")), float(e.get("y"))) for e in seen.all("text")
    ]
    patches = {kind: [p for p in ax.patches if type(p).__name__ == kind] for kind in
               ("PathPatch", "Polygon", "Circle", "FancyBboxPatch")}  # fmt: skip
    assert [p.get_path().vertices.tolist() for p in patches["PathPatch"]] == [
        [pytest.approx(v) for v in path] for path in seen.paths()
    ]
    assert [(*p.center, p.radius) for p in patches["Circle"]] == seen.numbers("circle", keys="cx cy r")
    assert [(p.get_x(), p.get_y(), p.get_width()) for p in patches["FancyBboxPatch"]] == [
        pytest.approx((float(e.get("x")) + r, float(e.get("y")) + r, float(e.get("width")) - 2 * r))
        for e in seen.all("rect") for r in [float(e.get("rx", 0))]
    ]  # fmt: skip
    heads = [[tuple(map(float, c.split(","))) for c in e.get("points").split()] for e in seen.all("polygon")]
    assert [[tuple(v) for v in p.get_xy()[:3]] for p in patches["Polygon"]] == heads
    assert len(ax.patches) == sum(map(len, patches.values()))
    assert (ax.get_xlim(), ax.get_ylim()) == ((seen.x0, seen.x0 + seen.wide), (seen.y0 + seen.tall, seen.y0))
    assert not ax.axison
    assert ax.figure.get_size_inches() == pytest.approx([max(seen.wide, 200) / 90, max(seen.tall, 120) / 90])
    for inches in ((5.0, 4.0), (2.0, 9.0)):
        own = plt.figure(figsize=inches).add_axes((0, 0, 1, 1))
        assert on_axes(drawn, own) is own
        points = 72 * min(inches[0] / seen.wide, inches[1] / seen.tall)
        for e, patch in zip((e for e in drawn.iter() if e.tag in SHAPES), own.patches, strict=True):
            if "stroke" in e.attrib:
                assert patch.get_linewidth() == pytest.approx(float(e.get("stroke-width")) * points)
                assert colour(patch.get_edgecolor()) == e.get("stroke")
            if e.get("fill", "none") != "none":
                assert colour(patch.get_facecolor()) == e.get("fill")
    scaled = [t.get_fontsize() / s.get_fontsize() for t, s in zip(own.texts, ax.texts)]
    assert scaled == pytest.approx([scaled[0]] * len(scaled))  # letters shrink with the axes


def test_a_nomogram_weighs_the_last_class_against_the_first_unless_told():
    y = np.resize(list("abc"), len(Y))
    model = po.NaiveBayes().fit(X, y)
    for told, said in (({}, "P(c | c or a)"), ({"target": "a"}, "P(a | a or b)"), ({"against": "b"}, "P(c | c or b)")):
        assert said in texts(po.plot.nomogram(model, **told))
    few = po.plot.nomogram(model, most=1)
    assert len({"sky", "wind", "hill"} & set(texts(few))) == 1
    with pytest.raises(ModelError, match="nothing to draw"):
        po.plot.nomogram(po.NaiveBayes(smoothing=1).fit({"a": ["u", "v"] * 4}, [0, 0, 1, 1] * 2))
    assert set(dir(po.plot)) == set(plot.__all__)


def test_a_tree_in_the_plane():
    X = np.random.default_rng(0).normal(size=(60, 2))
    tree = po.KDTree(X, leaf_size=5)
    ax = plot.plot_kdtree(tree, None, [0.1, 0.2], 3)
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
    assert plot.plot_kdtree(tree, own, None, 1) is own
    assert not own.patches
    with pytest.raises(ModelError, match="this one has 3"):
        plot.plot_kdtree(po.KDTree(np.zeros((4, 3))), None, None, 1)
    plt.close("all")


def test_a_margin_in_the_plane():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]])
    y = np.array([0, 0, 1, 1])
    machine = po.SVC(kernel="linear", C=1e6).fit(X, y)
    ax = plot.plot_margin(machine, X, y)
    drawn_rows = [c for c in ax.collections if len(c.get_offsets()) and c.get_label()[0] != "_"]
    assert [c.get_label() for c in drawn_rows] == [*map(str, machine.classes_), "support vectors"]
    for c, wanted in zip(drawn_rows, (*(X[np.asarray(y) == v] for v in machine.classes_), machine.support_vectors_)):
        assert np.asarray(c.get_offsets()).tolist() == np.asarray(wanted).tolist()
    assert ax.get_title() == f"margin {1 / machine.w_norm_[0]:.3g} either side"
    low, high = ax.get_xlim()
    assert low <= -0.5
    assert high >= 4.5
    own = plt.figure().subplots()
    assert plot.plot_margin(machine, X, y, own) is own
    three = po.SVC().fit(np.vstack([X, [[9.0, 9.0]]]), [0, 0, 1, 1, 2])
    with pytest.raises(ModelError, match="3 classes in 2 columns"):
        plot.plot_margin(three, X, y)
    with pytest.raises(ModelError, match="2 classes in 1 columns"):
        plot.plot_margin(po.SVC().fit(X[:, :1], y), X, y)
    plt.close("all")


@given(st.integers(0, 300), st.integers(1, 30), st.integers(1, 6))
@settings(max_examples=12)
def test_cuts_of_a_tree_in_the_plane_divide_the_cells(seed, n, leaf_size):
    """Every cut is as long as its cell, which the cuts above have made; the ball is empty within."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    tree = po.KDTree(X, leaf_size=leaf_size)
    ax = plot.plot_kdtree(tree, plt.figure().subplots(), [[0.1, 0.2]], 1)
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
    assert not plot.plot_kdtree(po.KDTree(X, "manhattan"), plt.figure().subplots(), [[0.1, 0.2]], 1).patches  # no ball
    plt.close("all")
