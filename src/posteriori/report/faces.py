"""Faces of models and values: what a notebook shows, and drawings of networks, structures, trees of counts, kd-trees
and margins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..errors import MissingExtra, ModelError, counted
from ..explain.whatif import cut
from ..explanation import WAYS, brief, shown
from ..forest.counts import question
from ..leaderboard.board import HEADS, HOW, cell
from ..network.says import unknown
from ..views import Drawing
from .layered import layered
from .markup import render
from .svg import EDGE, draw_graph

if TYPE_CHECKING:
    from ..bayes.naive import NaiveBayes
    from ..explanation import Explanation
    from ..forest.tree import BayesTree
    from ..margin.svm import SVC
    from ..neighbors.kdtree import KDTree
    from ..structure.graph import PartialDag, UndirectedGraph
    from ..structure.trust import ArcConfidence, Comparison

MOST_DRAWN = 150  # nodes of a network; a larger network's notebook face is a sentence, its drawing is plot()
MOST_STATES_DRAWN = 6
NOTEBOOK = (
    ".posteriori-nomogram svg{max-width:100%;height:auto}"
    ".posteriori-nomogram text{fill:currentColor;font:11.5px sans-serif}"
    ".posteriori-nomogram path{fill:none;stroke:currentColor}.posteriori-nomogram .grid{opacity:.12}"
    ".posteriori-nomogram .accent{stroke:#4878a8;stroke-width:2}.posteriori-nomogram circle{fill:none;stroke:currentColor}"
)
# colour and whether dashed; told apart by those who see no red and green too
STYLES = {
    "right": (EDGE, False),
    "turned": ("#e08214", False),
    "extra": ("#2166ac", False),
    "missing": ("#b2182b", True),
}
HALF = 110  # pixels of the longest bar
MOST_TOLD = 20  # attributes; the others in one line
FOR, AGAINST = "#4878a8", "#c8553d"
MOST_CLASSES = 3  # of a tree's node
MOST_TREE_NODES = 63  # of a notebook's face
WIDEST = 34  # letters of what led to a node


def frame_html(value: Any) -> str:
    """A value that has a frame, as its table, for a notebook."""
    return str(value.to_frame().to_html(index=False))


def schema_html(schema: Any) -> str:
    """The schema as a table, for a notebook."""
    return render("notebook", "schema", schema.columns)


def naive_html(model: NaiveBayes) -> str:
    """The prior and the ten most telling columns, for a notebook."""
    frame = model.summary().head(10)
    top = float(frame["information"].max()) or 1.0
    rows = [
        (
            r["column"],
            f"{r['kind']} {r.get('density', '')}",
            r["values"] or "",
            r["information"],
            120 * r["information"] / top,
        )
        for r in frame.to_dict("records")
    ]
    shown = zip(model.schema_.classes[:12], np.exp(model.factored_.log_prior))
    prior = ", ".join(f"P({c}) = {p:.3f}" for c, p in shown)
    return render("notebook", "naive", type(model).__name__, sizes(model), prior, rows, _nomogram(model))


def sizes(model: Any) -> str:
    """How many rows, columns and classes a model has seen."""
    n = float(np.asarray(model.class_count_).sum())
    schema = model.schema_
    return f"{counted(n, 'row')}, {counted(len(schema), 'column')}, {counted(len(schema.classes), 'class')}"


def _nomogram(model: NaiveBayes) -> dict[str, Any] | None:
    """The nomogram of the report, to be opened: the two commonest classes, the most telling columns."""
    from ..explain.whatif import what_if
    from .nomogram import nomogram_svg, scales

    count = np.asarray(model.class_count_, dtype=float)
    table = what_if(model, most=12, with_rows=True) if len(count) >= 2 and len(model.schema_) <= MOST_DRAWN else None
    if table is None or not table.attributes:
        return None
    against, target = (1, 0) if len(count) > 2 else (0, 1)
    order = np.argsort(-count, kind="stable") if len(count) > 2 else np.arange(2)
    found = scales(table, int(order[target]), int(order[against]))
    if not found.axes:
        return None
    svg = nomogram_svg(found, wide=True)
    return {"target": found.target, "against": found.against, "style": Markup(NOTEBOOK), "svg": svg}


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


def graph_drawing(graph: UndirectedGraph | PartialDag) -> Drawing:
    """A graph whose lines have no direction, or some of them: those are drawn without arrow heads."""
    arrows: tuple[tuple[str, str], ...] = getattr(graph, "directed", ())
    return Drawing(draw_graph(graph.nodes, graph.edges, directed=set(arrows)))


def network_html(net: Any) -> str:
    """A sentence about the network and, unless it is large, its drawing."""
    parts = (len(net.nodes), "node"), (len(net.edges), "edge"), (net.n_parameters, "parameter")
    size = ", ".join(counted(*part) for part in parts)
    drawing = Markup(network_drawing(net)) if len(net.nodes) <= MOST_DRAWN else ""
    return render("notebook", "network", type(net).__name__, net.name, size, drawing)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("plot() needs matplotlib: pip install 'posteriori[plot]'") from None
    return plt


def draw_tree(tree: KDTree, ax: Any, query: ArrayLike | None, k: int) -> Any:
    """Points, cuts (each as long as its cell) and, where a query is given, its k neighbours and the ball they span."""
    if tree.shape[1] != 2:
        raise ModelError(f"plot() draws trees of 2 dimensions, this one has {tree.shape[1]}")
    plt = _pyplot()
    ax = ax if ax is not None else plt.figure(figsize=(5, 5)).subplots()
    nodes, points = tree.nodes, tree.data
    margin = 0.05 * np.maximum(nodes[0].hi - nodes[0].lo, 1e-12)
    depth = [0] * len(nodes)
    for at, node in enumerate(nodes):
        if node.is_leaf:
            continue
        depth[node.left] = depth[node.right] = depth[at] + 1
        low, high = (np.clip(end, nodes[0].lo - margin, nodes[0].hi + margin) for end in node.region)
        low[node.dim] = high[node.dim] = node.value
        width = max(0.5, 2.5 - 0.4 * depth[at])
        ax.plot([low[0], high[0]], [low[1], high[1]], color=f"C{node.dim}", lw=width, zorder=1)
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


def comparison_drawing(comparison: Comparison) -> Drawing:
    """All arrows of both structures, each in the colour of its kind, and what the colours mean."""
    kinds = {kind: getattr(comparison, kind) for kind in STYLES}
    styles = {arrow: STYLES[kind] for kind, arrows in kinds.items() for arrow in arrows}
    legend = [(f"{len(arrows)} {kind}", *STYLES[kind]) for kind, arrows in kinds.items() if arrows]
    return Drawing(draw_graph(comparison.nodes, list(styles), styles=styles, legend=legend))


def confidence_drawing(confidence: ArcConfidence, threshold: float) -> Drawing:
    """The averaged network; an arrow is as wide as the share of samples that join its ends."""
    dag = confidence.averaged(threshold)
    weights = {arrow: confidence.strength(*arrow) for arrow in dag.edges}
    return Drawing(draw_graph(dag.nodes, dag.edges, edge_weights=weights))


def board_html(board: Any) -> str:
    """The leaderboard as a table: the best first, what failed or was skipped below with its reason."""
    heads = ("model", *(HEADS[s] for s in board.scores))
    rows = [(row, [cell(row, s) for s in board.scores] if row.status == "finished" else []) for row in board.rows]
    notes = [f"{row.name}: {note}" for row in board.finished for note in row.notes] + list(board.notes)
    caption = f"{board.n_rows:,} rows, {board.n_folds} folds, by {HEADS[board.by]}; {HOW}"
    return render("notebook", "board", caption, heads, rows, notes)


def explanation_html(why: Explanation) -> str:
    """A sentence, a table with bars, and what would have to be different."""
    told, rest = why.strongest(MOST_TOLD)
    rows = [("(prior)", "", why.prior)]
    for p in told:
        rows.append((brief(p.column), brief(p.value, 80), p.log_odds))
        rows += [("", f"· {brief(word)}", odds) for word, odds in p.strongest()]
    rows += [(f"({counted(len(rest), 'other')})", "", sum(p.log_odds for p in rest))] if rest else []
    rows += [("(together)", "", why.together)] if why.way != "sum" else []
    top = max([abs(v) for *_, v in rows if math.isfinite(v)], default=0.0) or 1.0
    bars = [(*row, *_bar(row[-1], top)) for row in rows]
    said = shown(why.decision), shown(why.target), shown(why.against), WAYS[why.way]
    return render("notebook", "explanation", why, *said, bars, HALF)


def _bar(odds: float, top: float) -> tuple[str, float, str]:
    """(from where, how long, of what colour) the bar of some log-odds is."""
    width = HALF * (min(abs(odds) / top, 1.0) if math.isfinite(odds) else 1.0)
    return ("left", width, FOR) if odds >= 0 else ("right", width, AGAINST)


def tree_drawing(model: BayesTree, max_depth: int = 4) -> Drawing:
    """The tree down to a depth, as SVG."""
    nodes, edges, labels, bars = _tree_pieces(model, max_depth)
    return Drawing(draw_graph(nodes, edges, labels=labels, bars=bars))


def tree_html(model: BayesTree) -> str:
    """A sentence about the tree and its first questions, for a notebook."""
    depth = 1
    while depth < 4 and len(_nodes_shown(model, depth + 1)) <= MOST_TREE_NODES:
        depth += 1
    said = (
        f"{model.n_leaves_} leaves, {model.depth_} questions at most, "
        f"{counted(float(np.asarray(model.class_count_).sum()), 'row')}, {counted(len(model.classes_), 'class')}"
    )
    first = 0 if depth >= model.depth_ else depth
    return render("notebook", "tree", type(model).__name__, said, first, Markup(tree_drawing(model, depth)))


def plot_tree(model: BayesTree, ax: Any = None, max_depth: int = 4) -> Any:
    """The tree on matplotlib axes."""
    plt = _pyplot()
    nodes, edges, labels, _ = _tree_pieces(model, max_depth)
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


def _nodes_shown(model: BayesTree, max_depth: int) -> list[tuple[int, int | None, str]]:
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


def _tree_pieces(model: BayesTree, max_depth: int) -> tuple[list[str], list[tuple[str, str]], Any, Any]:
    """(nodes, edges, labels, bars) as `draw_graph` takes them."""
    counts, posterior = model.statistics_, model.node_posteriors_
    shown = _nodes_shown(model, max_depth)
    drawn = {i for i, _, _ in shown}
    labels, bars = {}, {}
    for i, _, why in shown:
        likely = np.argsort(-posterior[i], kind="stable")[:MOST_CLASSES]
        lines = [f"{cut(counts.schema.classes[k], 20)} {posterior[i, k]:.1%}" for k in likely]
        asks = counts.tree.column[i] >= 0
        rest = ["…"] if asks and int(counts.tree.child[i]) not in drawn else []
        labels[str(i)] = "\n".join([cut(why, WIDEST), *lines, counted(counts.table[i].sum(), "row"), *rest])
        bars[str(i)] = [None, *(float(p) for p in posterior[i, likely]), None]
    edges = [(str(above), str(i)) for i, above, _ in shown if above is not None]
    return [str(i) for i, _, _ in shown], edges, labels, bars
