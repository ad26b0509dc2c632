"""A tree as a picture: every node that is shown says what led there, and a node says whether more is below it."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import posteriori as po
from posteriori.report import trees
from posteriori.report.layered import GAP_X
from posteriori.report.trees import MOST_CLASSES, _pieces, tree_drawing, tree_html


@pytest.fixture(scope="module")
def model():
    X, y = load_iris(return_X_y=True)
    return po.BayesTree().fit(pd.DataFrame(X[:, ::-1], columns=list("abcd")), np.array(["x", "y", "z"])[y])


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_nodes_are_those_down_to_a_depth_and_say_what_they_have(model, depth):
    nodes, edges, labels, bars = _pieces(model, depth)
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
        assert f"{model.statistics_.table[i].sum():g} rows" in lines
        likely = sorted(model.node_posteriors_[i], reverse=True)[:MOST_CLASSES]
        assert [line.split()[1] for line in lines[:MOST_CLASSES]] == [f"{p:.1%}" for p in likely]
        assert bars[name] == [None, *likely, None]
        if i > 0:
            assert re.search(r"^[abcd] ", why)


def test_a_face_shows_as_many_questions_as_fit(model, monkeypatch):
    assert model.depth_ > 4
    assert "The first 4 questions:" in tree_html(model)
    assert f"{model.n_leaves_} leaves, {model.depth_} questions at most, 150 rows, 3 classes" in tree_html(model)
    monkeypatch.setattr(trees, "MOST_DRAWN", 3)
    assert "The first 1 questions:" in tree_html(model)
    assert str(tree_drawing(model, 1)) in tree_html(model)
    monkeypatch.setattr(trees, "MOST_DRAWN", 5)
    assert "The first 2 questions:" in tree_html(model)
    stump = po.BayesTree(max_depth=1).fit([[0], [1]] * 9, [0, 1] * 9)
    assert "The first" not in tree_html(stump)


def test_axes_have_a_text_for_each_node_and_a_line_for_each_edge(model):
    pytest.importorskip("matplotlib")
    nodes, edges, labels, _ = _pieces(model, 2)
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
