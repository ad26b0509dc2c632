"""Faces of models and values: what a notebook shows, the drawing of a network, a kd-tree in the plane, a margin."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..errors import MissingExtra, ModelError
from ..network.says import unknown
from .svg import Drawing, draw_graph

if TYPE_CHECKING:
    from ..bayes.naive import NaiveBayes
    from ..margin.svm import SVC
    from ..neighbors.kdtree import KDTree

MOST_DRAWN = 150  # nodes; a larger network's notebook face is a sentence, its drawing is plot()
MOST_STATES_DRAWN = 6
NOTEBOOK = (
    ".posteriori-nomogram svg{max-width:100%;height:auto}"
    ".posteriori-nomogram text{fill:currentColor;font:11.5px sans-serif}"
    ".posteriori-nomogram path{fill:none;stroke:currentColor}.posteriori-nomogram .grid{opacity:.12}"
    ".posteriori-nomogram .accent{stroke:#4878a8;stroke-width:2}.posteriori-nomogram circle{fill:none;stroke:currentColor}"
)


def frame_html(value: Any) -> str:
    """A value that has a frame, as its table, for a notebook."""
    return str(value.to_frame().to_html(index=False))


def schema_html(schema: Any) -> str:
    """The schema as a table, for a notebook."""
    rows = "".join(
        f"<tr><td>{html.escape(c.name)}</td><td>{c.kind}</td>"
        f"<td>{html.escape(', '.join(map(str, c.values[:8])))}{'…' if len(c.values) > 8 else ''}</td></tr>"
        for c in schema.columns
    )
    return f"<table><tr><th>column</th><th>kind</th><th>values</th></tr>{rows}</table>"


def naive_html(model: NaiveBayes) -> str:
    """The prior and the ten most telling columns, for a notebook."""
    frame = model.summary().head(10)
    top = float(frame["information"].max()) or 1.0
    rows = "".join(
        f"<tr><td>{html.escape(str(r['column']))}</td><td>{r['kind']} {r.get('density', '')}</td>"
        f"<td>{r['values'] or ''}</td>"
        f'<td><div style="background:#4878a8;height:.7em;width:{120 * r["information"] / top:.0f}px" '
        f'title="{r["information"]:.4f} nats"></div></td><td style="text-align:right">{r["information"]:.3f}</td></tr>'
        for r in frame.to_dict("records")
    )
    prior = ", ".join(
        f"P({html.escape(str(c))}) = {p:.3f}"
        for c, p in zip(model.schema_.classes[:12], np.exp(model.factored_.log_prior))
    )
    n = float(np.asarray(model.class_count_).sum())
    return (
        f"<div><b>{type(model).__name__}</b>: {n:g} rows, {len(model.schema_)} columns, "
        f"{len(model.schema_.classes)} classes<br>{prior}<table><tr><th>column</th><th>kind</th><th>values</th>"
        f'<th colspan="2">I(X;Y), nats</th></tr>{rows}</table>{_nomogram(model)}</div>'
    )


def _nomogram(model: NaiveBayes) -> str:
    """The nomogram of the report, to be opened: the two commonest classes, the most telling columns."""
    from ..explain.whatif import what_if
    from .nomogram import nomogram_svg, scales

    count = np.asarray(model.class_count_, dtype=float)
    table = what_if(model, most=12, with_rows=True) if len(count) >= 2 and len(model.schema_) <= MOST_DRAWN else None
    if table is None or not table.attributes:
        return ""
    against, target = (1, 0) if len(count) > 2 else (0, 1)
    order = np.argsort(-count, kind="stable") if len(count) > 2 else np.arange(2)
    found = scales(table, int(order[target]), int(order[against]))
    if not found.axes:
        return ""
    told = html.escape(f"nomogram: {found.target} against {found.against}")
    return (
        f"<details><summary>{told}</summary><div class='posteriori-nomogram'><style>{NOTEBOOK}</style>"
        f"{nomogram_svg(found, wide=True)}</div></details>"
    )


def network_drawing(net: Any, evidence: Mapping[str, Any] | None = None) -> Drawing:
    """The graph; with evidence every node shows its probabilities as bars, and what is known a strong border."""
    if evidence is None:
        return Drawing(draw_graph(net.nodes, net.edges))
    labels, bars = {}, {}
    for node, found in net.marginals(evidence).items():
        likely = sorted(found.items(), key=lambda item: -item[1])[:MOST_STATES_DRAWN]
        shown = {state: p for state, p in found.items() if (state, p) in likely}
        lines = [f"{state} {p:.1%}" for state, p in shown.items()]
        labels[node] = "\n".join([node, *lines] + ["…"] * (len(found) > len(shown)))
        bars[node] = [None, *shown.values()]
    known = [n for n, finding in evidence.items() if not unknown(finding)]
    return Drawing(draw_graph(net.nodes, net.edges, labels=labels, emphasis=known, bars=bars))


def network_html(net: Any) -> str:
    """A sentence about the network and, unless it is large, its drawing; nothing is loaded from anywhere."""
    summary = (
        f"{html.escape(net.name)}: {len(net.nodes)} nodes, {len(net.edges)} edges, {net.n_parameters:,} parameters"
    )
    drawing = str(network_drawing(net)) if len(net.nodes) <= MOST_DRAWN else ""
    return f"<div><p><b>{type(net).__name__}</b> {summary}</p>{drawing}</div>"


def draw_tree(tree: KDTree, ax: Any, query: ArrayLike | None, k: int) -> Any:
    """Points, cuts (each as long as its cell) and, where a query is given, its k neighbours and the ball they span."""
    if tree.shape[1] != 2:
        raise ModelError(f"plot() draws trees of 2 dimensions, this one has {tree.shape[1]}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("plot() needs matplotlib: pip install 'posteriori[plot]'") from None
    ax = ax if ax is not None else plt.figure(figsize=(5, 5)).subplots()
    nodes, points = tree.nodes, tree.data
    margin = 0.05 * np.maximum(nodes[0].hi - nodes[0].lo, 1e-12)
    cells = [(0, nodes[0].lo - margin, nodes[0].hi + margin, 0)]
    while cells:
        at, lo, hi, depth = cells.pop()
        node = nodes[at]
        if node.is_leaf:
            continue
        low, high = lo.copy(), hi.copy()
        low[node.dim] = high[node.dim] = node.value
        ax.plot([low[0], high[0]], [low[1], high[1]], color=f"C{node.dim}", lw=max(0.5, 2.5 - 0.4 * depth), zorder=1)
        left_hi, right_lo = hi.copy(), lo.copy()
        left_hi[node.dim] = right_lo[node.dim] = node.value
        cells += [(node.left, lo, left_hi, depth + 1), (node.right, right_lo, hi, depth + 1)]
    ax.plot(points[:, 0], points[:, 1], "o", color="0.2", ms=3, zorder=2)
    if query is not None:
        q = np.asarray(query, dtype=float).reshape(1, 2)
        distance, index = tree.query(q, k)
        ax.plot(points[index[0], 0], points[index[0], 1], "o", mfc="none", mec="red", ms=9, zorder=3)
        ax.plot(q[0, 0], q[0, 1], "x", color="red", ms=8, zorder=3)
        if tree.metric == "euclidean":
            ax.add_patch(plt.Circle(tuple(q[0]), float(distance[0, -1]), fill=False, color="red", ls=":", zorder=3))
    ax.set_aspect("equal")
    return ax


def plot_margin(machine: SVC, X: Any, y: Any, ax: Any = None) -> Any:
    """Draw f = 0 (solid), f = ±1 (dashed), the rows by class and rings around the support vectors; returns the axes."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as cause:
        raise MissingExtra("plot_margin draws with matplotlib: pip install 'posteriori[plot]'") from cause
    check_is_fitted(machine)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if machine.n_features_in_ != 2 or X.ndim != 2 or X.shape[1] != 2 or len(machine.classes_) != 2:
        n_classes, d = len(machine.classes_), machine.n_features_in_
        raise ModelError(
            f"plot_margin draws two classes in two columns; this machine has {n_classes} classes in {d} columns"
        )
    ax = plt.subplots()[1] if ax is None else ax
    for value, marker in zip(machine.classes_, "ox"):
        ax.scatter(*X[y == value].T, marker=marker, label=str(value), zorder=2)
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.15 * np.where(high > low, high - low, 1.0)
    grid = [np.linspace(a, b, 200) for a, b in zip(low - room, high + room)]
    points = np.stack(np.meshgrid(*grid), axis=-1)
    f = machine.decision_function(points.reshape(-1, 2)).reshape(points.shape[:2])
    levels = [(level, style) for level, style in ((-1.0, "--"), (0.0, "-"), (1.0, "--")) if f.min() < level < f.max()]
    if levels:
        ax.contour(*grid, f, levels=[v for v, _ in levels], linestyles=[s for _, s in levels], colors="black", zorder=1)
    vectors = np.asarray(machine.support_vectors_)
    ax.scatter(*vectors.T, s=120, facecolors="none", edgecolors="black", label="support vectors", zorder=3)
    ax.set(xlabel="x1", ylabel="x2", title=f"margin {1 / machine.w_norm_[0]:.3g} either side")
    ax.legend()
    return ax
