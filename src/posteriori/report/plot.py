"""`po.plot`: figures of models and posteriors on matplotlib axes: on `ax`, or on a figure of their own."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..decision.calibrate import reliability as measured
from ..decision.decide import risk_coverage as curve_of
from ..errors import ModelError
from ..explain.whatif import cut, what_if
from ..structure.graph import UndirectedGraph
from ..table.labels import match_labels
from .graphs import dependence, graph, tree
from .nomogram import nomogram as nomogram_of
from .nomogram import scales
from .scene import ACCENT, GRID, SOFT, on_axes, pyplot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..forest.tree import BayesTree
    from ..margin.svm import SVC
    from ..neighbors.kdtree import KDTree

__all__ = ["nomogram", "posterior", "reliability", "risk_coverage", "structure"]


def __dir__() -> list[str]:
    """What a notebook offers: the figures."""
    return __all__


def _axes(ax: Any, wide: float, tall: float) -> Any:
    """The axes to draw on."""
    if ax is not None:
        return ax
    return pyplot().figure(figsize=(wide, tall), layout="constrained").subplots()


def reliability(
    posterior: Any,
    y: Any,
    target: Any = None,
    *,
    bins: int = 10,
    classes: Any = None,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """What the posterior said against what came, a disc for each bin, as large as its share of the rows."""
    found = measured(posterior, y, target, bins=bins, classes=classes, sample_weight=sample_weight)
    ax = _axes(ax, 4.2, 4.2)
    ax.plot([0, 1], [0, 1], ":", color=SOFT, lw=1)
    ax.plot(found.said, found.came, color=ACCENT, lw=1.5)
    ax.scatter(found.said, found.came, s=12 + 400 * found.share, color=ACCENT, zorder=3)
    said = "confidence" if target is None else f"P({cut(target, 24)})"
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"{said}, as said", ylabel="share that came true", aspect="equal")
    ax.set_title(f"calibration error {found.error:.3f}", fontsize="medium")
    return _plain(ax)


def risk_coverage(posterior: Any, loss: Any = None, y: Any = None, *, classes: Any = None, ax: Any = None) -> Any:
    """The mean loss of the rows decided, the surest first; with `y` what it really was, dashed what was expected."""
    ax = _axes(ax, 4.6, 3.6)
    expected = curve_of(posterior, loss, classes=classes)
    if y is not None:
        real = curve_of(posterior, loss, y, classes=classes)
        ax.plot(real.coverage, real.risk, color=ACCENT, lw=1.6, label="real")
    ax.plot(expected.coverage, expected.risk, "--", color=SOFT if y is not None else ACCENT, lw=1.2, label="expected")
    ax.set(xlim=(0, 1), xlabel="share of rows decided", ylabel="mean loss")
    if y is not None:
        ax.legend(frameon=False)
    return _plain(ax)


def posterior(model: Any, row: Any, *, most: int = 12, ax: Any = None) -> Any:
    """P(y|x) of one row as bars, the most probable on top."""
    p = np.asarray(model.predict_proba(row), dtype=np.float64)
    if p.ndim != 2 or len(p) != 1:
        raise ModelError(f"posterior draws one row. Got {len(p)} instead.")
    order = np.argsort(-p[0], kind="stable")[:most][::-1]
    ax = _axes(ax, 4.6, 0.7 + 0.34 * len(order))
    colours = [ACCENT if c == p[0].argmax() else SOFT for c in order]
    ax.barh([_text(model.classes_[c]) for c in order], p[0][order], color=colours, height=0.6)
    for i, c in enumerate(order):
        ax.text(p[0][c] + 0.01, i, f"{p[0][c]:.1%}", va="center", fontsize="small")
    ax.set(xlim=(0, 1.12), xlabel="P(y|x)")
    return _plain(ax)


def structure(model: Any, *, ax: Any = None) -> Any:
    """Who depends on whom: the graph of a semi-naive model or a network; of naive Bayes, a star."""
    if hasattr(model, "_edge_weights"):
        return plot_dependence(model, ax)
    net = getattr(model, "net_", getattr(model, "network_", model))
    if hasattr(net, "nodes") and hasattr(net, "edges"):
        edges = [(str(a), str(b)) for a, b in net.edges]
        lines = edges if isinstance(net, UndirectedGraph) else getattr(net, "undirected", ())
        return on_axes(_graph([str(n) for n in net.nodes], edges, lines), ax)
    if hasattr(model, "schema_"):
        names = list(model.schema_.names)
        target = model.schema_.target or "class"
        while target in names:
            target += "_"
        return on_axes(_graph([target, *names], [(target, name) for name in names]), ax)
    raise ModelError(f"{type(model).__name__} has no structure to draw")


def _graph(nodes: list[str], edges: list[tuple[str, str]], lines: Container[tuple[str, str]] = ()) -> Element:
    arrows = [edge for edge in edges if edge not in lines]
    return graph(nodes, edges, labels={n: cut(n, 20) for n in nodes}, directed=arrows)


def plot_dependence(model: Any, ax: Any = None) -> Any:
    """The dependence graph of a semi-naive model."""
    model._check_fitted()
    return on_axes(dependence(model), ax)


def plot_tree(model: BayesTree, ax: Any = None, max_depth: int = 4) -> Any:
    """A tree of counts."""
    return on_axes(tree(model, max_depth), ax)


def nomogram(model: Any, target: Any = None, against: Any = None, *, most: int = 16, ax: Any = None) -> Any:
    """Points for every value of a naive Bayes model, their sum, and the probability that it means.

    By default the last class against the first, as in a table of two; see `report/nomogram.py` for the formula.
    """
    table = what_if(model, with_rows=True)
    if table is None or not table.additive:
        raise ModelError(
            f"a nomogram adds up what attributes say, which {type(model).__name__} does not: take NaiveBayes"
        )
    known = np.asarray(model.classes_)
    if len(known) < 2:
        raise ModelError("a model of one class has nothing to weigh it against")
    t = len(known) - 1 if target is None else int(match_labels([target], known, "target")[0])
    a = (
        next(c for c in range(len(known)) if c != t)
        if against is None
        else int(match_labels([against], known, "against")[0])
    )
    if a == t:
        raise ModelError(f"a nomogram weighs two classes; both are {known[t]!r}")
    found = scales(table, t, a, most)
    if not found.axes:
        raise ModelError("no attribute says anything of these classes: there is nothing to draw")
    return on_axes(nomogram_of(found, wide=True), ax)


def _text(said: Any, most: int = 30) -> str:
    """Text that matplotlib takes as it is: a dollar begins no formula."""
    return cut(said, most).replace("$", r"\$")


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID, lw=0.6)
    ax.set_axisbelow(True)
    return ax


def plot_kdtree(tree: KDTree, ax: Any, query: ArrayLike | None, k: int) -> Any:
    """Points, cuts (each as long as its cell) and, where a query is given, its k neighbours and the ball they span."""
    if tree.shape[1] != 2:
        raise ModelError(f"plot() draws trees of 2 dimensions, this one has {tree.shape[1]}")
    plt = pyplot()
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
    plt = pyplot()
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
