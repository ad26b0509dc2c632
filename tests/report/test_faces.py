"""Faces of models and values: what they tell is what the model says, drawings lie where the numbers are."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pytest

import posteriori as po
from posteriori.errors import ModelError
from posteriori.report.faces import (
    MOST_DRAWN,
    draw_tree,
    frame_html,
    network_drawing,
    network_html,
    plot_margin,
    schema_html,
)

mpl.use("Agg")
import matplotlib.pyplot as plt


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
    assert [len(c.get_offsets()) for c in ax.collections if len(c.get_offsets())][:2] == [2, 2]
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
