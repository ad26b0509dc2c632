"""The dependence graph of a classifier: the class above, attributes below, edges as thick as they are strong."""

from __future__ import annotations

import html
from typing import Any

from ..errors import MissingExtra
from .svg import draw_graph

MOST = 60  # edges between attributes that are drawn; the strongest


def _graph(model: Any) -> tuple[str, list[str], list[tuple[str, str]], dict[tuple[str, str], float]]:
    """(name of the class, attributes, edges between attributes, strongest first and cut, their weights)."""
    names = list(model.schema_.names)
    target = model.schema_.target or "class"
    while target in names:
        target += "_"
    edges, weights = model.edges_, model._edge_weights()
    strength = dict(zip(edges, weights)) if weights is not None else {}
    edges = sorted(edges, key=lambda e: -strength.get(e, 0.0))[:MOST]
    return target, names, edges, {e: strength[e] for e in edges if e in strength}


def dependence_svg(model: Any) -> str:
    """The graph as inline SVG text."""
    target, names, edges, weights = _graph(model)
    drawn = sorted({n for e in edges for n in e}, key=names.index) or names[:MOST]
    return draw_graph([target, *drawn], [*((target, n) for n in drawn), *edges], weights or None, emphasis=[target])


def dependence_html(model: Any) -> str:
    """The graph and a line about the model, for a notebook; nothing is loaded from anywhere."""
    n = float(model.class_count_.sum())
    edges = model.edges_
    shown = "" if len(edges) <= MOST else f"; the {MOST} strongest of {len(edges)} edges are drawn"
    text = (
        f"{n:g} rows, {len(model.schema_)} columns, {len(model.schema_.classes)} classes, {len(edges)} edges between "
        f"attributes{shown}"
    )
    return f"<div><b>{type(model).__name__}</b>: {html.escape(text)}<br>{dependence_svg(model)}</div>"


def plot_dependence(model: Any, ax: Any = None) -> Any:
    """The graph on matplotlib axes: attributes on a circle, the class in the middle."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("plot needs matplotlib: pip install 'posteriori[plot]'") from error
    import numpy as np

    target, names, edges, weights = _graph(model)
    ax = plt.subplots(figsize=(6, 6))[1] if ax is None else ax
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(names)) / max(len(names), 1)
    at = {n: (float(np.cos(a)), float(np.sin(a))) for n, a in zip(names, angle)} | {target: (0.0, 0.0)}
    heaviest = max(weights.values(), default=0.0) or 1.0
    arrow = {"arrowstyle": "-|>", "shrinkA": 14, "shrinkB": 14}
    for n in names:
        ax.annotate("", at[n], at[target], arrowprops={**arrow, "color": "#c4ccd4", "lw": 0.8})
    for p, i in edges:
        width = 0.8 + 3.2 * weights.get((p, i), 0.0) / heaviest
        ax.annotate("", at[i], at[p], arrowprops={**arrow, "color": "#4878a8", "lw": width})
    for n, (x, y) in at.items():
        box = {"boxstyle": "round", "fc": "#fff3d6" if n == target else "#eef3f8", "ec": "#5b7083"}
        ax.text(x, y, n, ha="center", va="center", bbox=box)
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
    ax.axis("off")
    return ax
