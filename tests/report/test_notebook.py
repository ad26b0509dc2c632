"""What a notebook shows: numbers in tables and bars that say what the model says."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.leaderboard.board import Leaderboard, Row, cell
from posteriori.report import notebook
from posteriori.report.graphs import network_drawing, tree
from posteriori.report.notebook import MOST_DRAWN, board_html, frame_html, network_html, schema_html, tree_html
from posteriori.report.scene import svg

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


@pytest.mark.parametrize(("cells", "y"), [("uv", [1, 1]), ("uu", [0, 1]), ("uvuvu", [0, 0, 1, 1, 2])])
def test_a_face_without_a_nomogram_ends_with_its_table(cells, y):
    """Of one class, of one value, and of values that are as likely in the commonest two."""
    assert po.NaiveBayes(kinds="categorical").fit({"a": list(cells)}, y)._repr_html_().endswith("</table></div>")


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


def test_a_face_shows_as_many_questions_as_fit(model, monkeypatch):
    assert model.depth_ > 4
    assert "The first 4 questions:" in tree_html(model)
    assert f"{model.n_leaves_} leaves, {model.depth_} questions at most, 150 rows, 3 classes" in tree_html(model)
    monkeypatch.setattr(notebook, "MOST_TREE_NODES", 3)
    assert "The first 1 questions:" in tree_html(model)
    assert svg(tree(model, 1)) in tree_html(model)
    monkeypatch.setattr(notebook, "MOST_TREE_NODES", 5)
    assert "The first 2 questions:" in tree_html(model)
    stump = po.BayesTree(max_depth=1).fit([[0], [1]] * 9, [0, 1] * 9)
    assert "The first" not in tree_html(stump)


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    return po.BayesTree().fit(pd.DataFrame(X[:, ::-1], columns=list("abcd")), np.array(["x", "y", "z"])[y])
