"""Figures: what is drawn is what was measured, on the caller's axes or on new ones; no matplotlib is one clear sentence."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import MissingExtra, ModelError, UnknownValue
from posteriori.explain.whatif import what_if
from posteriori.report import plot
from posteriori.report.layered import layered
from posteriori.report.nomogram import SHARES, Axis, Scales, levels, monotone, scales, useful

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
    assert {"Points", "Total points", "P(in)", "sky", "blue", "grey", r"\$x\$"} <= set(told)
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


def inside(ax, texts_of=None):
    (left, right), (low, high) = (sorted(ends) for ends in (ax.get_xlim(), ax.get_ylim()))
    for x, y in (t.get_position() for t in (ax.texts if texts_of is None else texts_of)):
        assert left <= x <= right
        assert low <= y <= high


@pytest.mark.parametrize("edges", [[("a", "b"), ("b", "c")], [("a", "c"), ("b", "c"), ("c", "d"), ("c", "e")], []])
def test_arrows_of_a_graph_go_down_from_name_to_name(edges):
    names = "abcde"
    ax = po.plot.structure(po.Dag(names, edges))
    ax.figure.canvas.draw()
    at = {t.get_text(): t.get_position() for t in ax.texts if t.get_text()}
    assert set(at) == set(names)
    inside(ax, [t for t in ax.texts if t.get_text()])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first layer stands on top
    arrows = [(t.xyann, t.xy) for t in ax.texts if not t.get_text()]
    for (a, b), (start, end) in zip(edges, arrows, strict=True):
        assert start[0] == at[a][0]
        assert end[0] == at[b][0]
        assert at[a][1] < start[1] < end[1] < at[b][1]


@pytest.mark.parametrize("classes", [2, 3])
def test_names_of_values_stand_at_their_own_line(classes):
    """Above or below it, and never as far as the next."""
    rng = np.random.default_rng(0)
    many = np.array([f"value {i}" for i in range(12)])
    table = {"one": many[rng.integers(0, 12, 400)], "two": many[rng.integers(0, 4, 400)], "off": rng.normal(size=400)}
    model = po.NaiveBayes(density="gaussian").fit(table, rng.integers(0, classes, 400))
    ax = po.plot.nomogram(model)
    inside(ax)
    lines = {t.get_text(): t.get_position()[1] for t in ax.texts if t.get_position()[0] == -33}
    assert list(lines.values()) == sorted(lines.values(), reverse=True)
    assert {"Points", "one", "two", "off", "Total points"} <= set(lines)
    levels = set()
    for t in (t for t in ax.texts if t.get_text().startswith("value")):
        y, up = t.get_position()[1], t.get_va() == "bottom"
        own = min((v for v in lines.values() if (v < y) == up), key=lambda v: abs(v - y))
        others = [v for v in lines.values() if v != own]
        levels.add(round(y - own, 2))
        assert all(abs(v - own) > abs(y - own) + 0.35 for v in others)
        assert (y > own) == up
    assert len(levels) > 2
    boldly = [t.get_position()[1] for t in ax.texts if t.get_fontweight() == "bold"]
    assert len(boldly) == 3 + (classes > 2)


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


def test_a_graph_is_laid_out_in_layers_and_drawn_whole():
    names, edges = (
        ["top", "left", "a very long name of a column"],
        [("top", "left"), ("top", "a very long name of a column")],
    )
    ax = po.plot.structure(po.Dag(names, edges))
    shown = ["top", "left", "a very long name of…"]
    found = layered(3, [(0, 1), (0, 2)], [7.5 * len(n) + 16 for n in shown], [24.0] * 3)
    told = [t for t in ax.texts if t.get_text()]
    assert [t.get_text() for t in told] == shown
    assert [t.get_position() for t in told] == [pytest.approx(at) for at in found.centres]
    arrows = [(t.xyann, t.xy) for t in ax.texts if not t.get_text()]
    (x0, y0), *below = found.centres
    assert arrows == [((x0, y0 + 12), (x, y - 12)) for x, y in below]
    assert (ax.get_xlim(), ax.get_ylim()) == ((-10, found.width + 10), (found.height + 14, -14))
    assert not ax.axison
    assert ax.figure.get_size_inches() == pytest.approx([max(found.width / 90, 3), max(found.height / 90, 1.5)])


def test_naive_bayes_is_a_star_below_its_class():
    some = {"sky": X["sky"], "class": X["wind"], "class_": X["hill"]}
    ax = po.plot.structure(po.NaiveBayes().fit(some, Y))
    assert [t for t in texts(ax) if t] == ["class__", "sky", "class", "class_"]
    assert sum(not t for t in texts(ax)) == 3
    own = fresh()
    assert po.plot.structure(po.NaiveBayes().fit(some, Y), ax=own) is own


def lines_at(ax, x=None, y=None):
    """The straight lines drawn from and to these numbers."""
    found = [tuple(map(tuple, np.round(line.get_xydata(), 6).tolist())) for line in ax.lines]
    return [
        f
        for f in found
        if (x is None or [p[0] for p in f] == pytest.approx(x)) and (y is None or [p[1] for p in f] == pytest.approx(y))
    ]


def test_a_scale_has_a_line_its_title_and_a_mark_for_each_number():
    ax = fresh()
    plot._scale(ax, -3.0, "a $ title", [(10.0, "ten"), (70.0, "seventy")])
    assert lines_at(ax) == [((0, -3), (100, -3)), ((10, -3), (10, -2.78)), ((70, -3), (70, -2.78))]
    assert [(t.get_text(), *t.get_position()) for t in ax.texts] == [
        (r"a \$ title", -33, -3.0),
        ("ten", 10.0, -2.7),
        ("seventy", 70.0, -2.7),
    ]


def test_a_line_has_its_values_where_their_points_are():
    axis = Axis("name", ("low", "mid", "high", None), None, np.array([-1.0, 0.5, 3.0, 2.0]))
    found = Scales("t", "a", (axis,), 0.0, 0.04)
    ax = fresh()
    plot._draw_line(ax, axis, found, 2.0)
    line, zero, *marks = lines_at(ax)
    assert line == ((0, 2), (100, 2))
    assert zero == ((25, 2),)
    assert [m[0][0] for m in marks] == pytest.approx([0.0, 37.5, 75.0, 100.0])
    assert {m[0][1] for m in marks} == {2.0}
    placed = levels(axis, found, lambda p: p * plot.PIXELS)
    assert [m[1][1] for m in marks] == pytest.approx([2.18 if level in (0, 2) else 1.82 for _, _, level in placed])
    assert texts(ax) == ["name", "low", "mid", "high"]
    assert ax.texts[0].get_position() == (-33, 2.0)
    assert [t.get_position() for t in ax.texts[1:]] == [pytest.approx((x, 2.24)) for x in (0.0, 37.5, 100.0)]


def test_crowded_values_stand_above_and_below_and_farther():
    axis = Axis("name", tuple(f"value {i}" for i in range(5)), None, np.array([0.0, 0.01, 0.02, 0.03, 3.0]))
    found = Scales("t", "a", (axis,), 0.0, 0.03)
    ax = fresh()
    plot._draw_line(ax, axis, found, 2.0)
    placed = levels(axis, found, lambda p: p * plot.PIXELS)
    assert [level for *_, level in placed] == [0, 1, 2, 3, 0]
    assert [t.get_position()[1] for t in ax.texts[1:]] == pytest.approx([2.24, 1.76, 2.84, 1.16, 2.24])
    assert [t.get_va() for t in ax.texts[1:]] == ["bottom", "top", "bottom", "top", "bottom"]
    assert plot._height(axis, found) == pytest.approx(1.25 + 0.6 + 0.6)
    for n, tall in ((1, 1.25), (2, 1.25 + 0.6), (3, 1.25 + 1.2)):
        some = Axis("name", axis.labels[:n], None, axis.odds[:n])
        assert plot._height(some, found) == pytest.approx(tall)
    six = Axis("name", tuple(f"value {i}" for i in range(6)), None, np.array([0.0, 0.01, 0.02, 0.03, 0.04, 3.0]))
    ax = fresh()
    plot._draw_line(ax, six, found, 2.0)
    assert "value 4" not in texts(ax)  # there is no room for a fifth


def test_a_number_that_bends_is_a_curve():
    grid = np.array([10.0, 11.0, 12.0, 13.0, 14.0, 18.0])
    axis = Axis("name", tuple(map(str, grid)), grid, np.array([-1.0, 0.5, 3.0, 2.0, 1.0, 0.0]))
    found = Scales("t", "a", (axis,), 0.0, 0.04)
    assert not monotone(axis.odds)
    assert plot._height(axis, found) == 2.9
    ax = fresh()
    plot._draw_curve(ax, axis, found, 5.0)
    zero, curve, *level = lines_at(ax)
    assert zero == ((25, 4.8), (25, 6.8))
    up = 4.8 + 2 * (grid - 10) / 8
    assert np.array(curve) == pytest.approx(np.column_stack([(axis.odds + 1) / 0.04, up]))
    assert level == [((0, pytest.approx(up[i])), (100, pytest.approx(up[i]))) for i in (0, 3, 5)]
    assert [(t.get_text(), *t.get_position()) for t in ax.texts] == [
        ("name", -33, 5.8),
        ("10.0", -1, pytest.approx(up[0])),
        ("13.0", -1, pytest.approx(up[3])),
        ("18.0", -1, pytest.approx(up[5])),
    ]


@pytest.mark.parametrize("among", [2, 3])
def test_below_the_sum_of_points_stands_what_it_means(among):
    axes = tuple(Axis(n, ("p", "q"), None, np.array([-w, w])) for n, w in (("a", 2.0), ("b", 3.0)))
    found = Scales("yes", "no", axes, -5.5, 0.06, among)
    ax = fresh()
    plot._foot(ax, found, -10.0)
    low, high = useful(found, (4 + 6) / 0.06)
    below = -12.6 if among == 3 else -11.8
    rulers = lines_at(ax, x=[0, 100])
    assert rulers == [((0, -10), (100, -10)), ((0, below), (100, below))]
    sums = [t for t in ax.texts if t.get_position()[1] == pytest.approx(-9.7)]
    for t in sums:
        assert t.get_position()[0] == pytest.approx(100 * (float(t.get_text()) - low) / (high - low))
    assert len(sums) > 4
    shares = [t for t in ax.texts if t.get_position()[1] == pytest.approx(below + 0.3)]
    wanted, end = [], -math.inf
    for p in SHARES:
        x = 100 * ((math.log(p / (1 - p)) + 5.5) / 0.06 - low) / (high - low)
        if -0.5 <= x <= 100.5 and x - end > 4.5:
            wanted.append((f"{p:.3g}", x))
            end = x
    assert [(t.get_text(), t.get_position()[0]) for t in shares] == [(t, pytest.approx(x)) for t, x in wanted]
    (title,) = [t for t in ax.texts if t.get_text().startswith("P(")]
    if among == 3:
        assert (title.get_text(), title.get_position()) == ("P(yes | yes or no)", (0, -11.65))
    else:
        assert (title.get_text(), title.get_position()) == ("P(yes)", (-33, -11.8))


@pytest.mark.parametrize("classes", [2, 3])
def test_lines_of_a_nomogram_stand_below_each_other(classes):
    y = np.resize(np.arange(classes), len(Y))
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    ax = po.plot.nomogram(model)
    found = scales(what_if(model, with_rows=True), classes - 1, 0)
    tall = [plot._height(axis, found) for axis in found.axes]
    ends = [-v for v in itertools.accumulate(tall)]
    names = {t.get_text(): t.get_position()[1] for t in ax.texts if t.get_position()[0] == -33}
    for axis, y_of in zip(found.axes, ends):
        bent = axis.numbers is not None and not monotone(axis.odds)
        assert names[axis.name] == pytest.approx(y_of + 0.8 if bent else y_of)
    assert names["Points"] == 0
    assert names["Total points"] == pytest.approx(ends[-1] - 2)
    assert [t for t in texts(ax) if t.isdigit()][:11] == [str(p) for p in range(0, 101, 10)]
    assert ax.get_xlim() == (-34, 104)
    assert ax.get_ylim() == pytest.approx((ends[-1] - 4.6 - 0.8 * (classes > 2), 1.2))
    assert not ax.axison
    assert ax.figure.get_size_inches() == pytest.approx([9.5, 0.36 * (sum(tall) + 6 + (classes > 2))])


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
