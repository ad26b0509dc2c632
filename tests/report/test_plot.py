"""Figures: what is drawn is what was measured, on the caller's axes or on new ones; no matplotlib is one clear sentence."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import posteriori as po
from posteriori.errors import MissingExtra, ModelError, UnknownValue

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
