"""A tree of counts as a picture: what led to a node, its rows, and the posterior of its likeliest classes as bars."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtra
from ..forest.counts import question
from .layered import layered
from .markup import cut
from .svg import Drawing, draw_graph

if TYPE_CHECKING:
    from ..forest.tree import BayesTree

MOST_CLASSES = 3
MOST_DRAWN = 63  # nodes of a notebook's face
WIDEST = 34  # letters


def tree_drawing(model: BayesTree, max_depth: int = 4) -> Drawing:
    """The tree down to a depth, as SVG."""
    nodes, edges, labels, bars = _pieces(model, max_depth)
    return Drawing(draw_graph(nodes, edges, labels=labels, bars=bars))


def tree_html(model: BayesTree) -> str:
    """A sentence about the tree and its first questions, for a notebook."""
    depth = 1
    while depth < 4 and len(_shown(model, depth + 1)) <= MOST_DRAWN:
        depth += 1
    said = (
        f"{model.n_leaves_} leaves, {model.depth_} questions at most, "
        f"{float(np.asarray(model.class_count_).sum()):g} rows, {len(model.classes_)} classes"
    )
    whole = "" if depth >= model.depth_ else f" The first {depth} questions:"
    return f"<div><p><b>{type(model).__name__}</b>: {html.escape(said)}.{whole}</p>{tree_drawing(model, depth)}</div>"


def plot_tree(model: BayesTree, ax: Any = None, max_depth: int = 4) -> Any:
    """The tree on matplotlib axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("plot() needs matplotlib: pip install 'posteriori[plot]'") from None
    nodes, edges, labels, _ = _pieces(model, max_depth)
    place = {name: i for i, name in enumerate(nodes)}
    lines = [labels[name].split("\n") for name in nodes]
    widths = [7.0 * max(map(len, text)) + 18 for text in lines]
    heights = [14.0 * len(text) + 12 for text in lines]
    found = layered(len(nodes), [(place[a], place[b]) for a, b in edges], widths, heights)
    if ax is None:
        size = max(found.width / 95, 3), max(found.height / 95, 1.5)
        ax = plt.figure(figsize=size, layout="constrained").subplots()
    for a, b in edges:
        (x0, y0), (x1, y1) = found.centres[place[a]], found.centres[place[b]]
        ax.plot([x0, x1], [y0 + heights[place[a]] / 2, y1 - heights[place[b]] / 2], color="#5b7083", lw=1, zorder=1)
    for text, (x, y) in zip(lines, found.centres):
        told = "\n".join(text).replace("$", r"\$")
        box = {"boxstyle": "round", "fc": "#eef3f8", "ec": "#5b7083"}
        ax.text(x, y, told, ha="center", va="center", fontsize="small", bbox=box, zorder=2)
    ax.set(xlim=(-10, found.width + 10), ylim=(found.height + 14, -14))
    ax.axis("off")
    return ax


def _shown(model: BayesTree, max_depth: int) -> list[tuple[int, int | None, str]]:
    """(node, the node above, what led there) down to a depth, parents first."""
    counts, found = model.statistics_, list[tuple[int, int | None, str]]()
    todo: list[tuple[int, int | None, str, int]] = [(0, None, "all rows", 0)]
    while todo:
        i, above, why, depth = todo.pop(0)
        found.append((i, above, why))
        if counts.tree.column[i] >= 0 and depth < max_depth:
            left, right = question(counts, i)
            at = int(counts.tree.child[i])
            todo += [(at, i, left, depth + 1), (at + 1, i, right, depth + 1)]
    return found


def _pieces(model: BayesTree, max_depth: int) -> tuple[list[str], list[tuple[str, str]], Any, Any]:
    """(nodes, edges, labels, bars) as `draw_graph` takes them."""
    counts, posterior = model.statistics_, model.node_posteriors_
    shown = _shown(model, max_depth)
    drawn = {i for i, _, _ in shown}
    labels, bars = {}, {}
    for i, _, why in shown:
        likely = np.argsort(-posterior[i], kind="stable")[:MOST_CLASSES]
        lines = [f"{cut(counts.schema.classes[k], 20)} {posterior[i, k]:.1%}" for k in likely]
        asks = counts.tree.column[i] >= 0
        rest = ["…"] if asks and int(counts.tree.child[i]) not in drawn else []
        labels[str(i)] = "\n".join([cut(why, WIDEST), *lines, f"{counts.table[i].sum():g} rows", *rest])
        bars[str(i)] = [None, *(float(p) for p in posterior[i, likely]), None]
    edges = [(str(above), str(i)) for i, above, _ in shown if above is not None]
    return [str(i) for i, _, _ in shown], edges, labels, bars
