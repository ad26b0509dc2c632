"""The dependence graph of a classifier: the class above, attributes below, edges as thick as they are strong.

The class is a parent of all: only its edges to attributes without another parent are drawn. Attributes that hang from one
parent and have no children stand under each other in a stack; those without any edge in a block at the foot. Edges move
sideways only between rows, where no box is.

A model that averages over parents has no such graph: every pair of attributes is in it. Drawn are the pairs that say most
of each other within a class, I(X_i;X_j|Y), as lines without an arrow, and no class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from ..bayes.aode import AveragedParents
from ..errors import MissingExtra
from ..explain.whatif import cut
from .charts import picture as chart
from .charts import text
from .faces import sizes
from .layered import GAP_X, GAP_Y, layered
from .markup import render
from .svg import BOX, EDGE, INK, MARGIN, PAPER, draw_edge, draw_node, framed, text_width

MOST = 60  # edges between attributes that are drawn; the strongest
MOST_PAIRS = 15  # of a model that averages over parents
STACK = 12  # boxes of a stack
HIGH, STEP, INDENT = 24.0, 30.0, 16.0  # of a box, from box to box of a stack, and from its spine to the boxes
CLASS, PALE = "#fff3d6", "#a9b8c6"

Point = tuple[float, float]


@dataclass
class Picture:
    """Boxes (name, centre, width) and lines (points, weight, whose edge), in pixels from the top left corner."""

    target: str | None  # None where no class is drawn, and lines have no arrows
    boxes: dict[str, tuple[Point, float]] = field(default_factory=dict)
    lines: list[tuple[list[Point], float, tuple[str, str]]] = field(default_factory=list)
    size: Point = (0.0, 0.0)


def _graph(model: Any, told: str | None) -> tuple[str, list[str], list[tuple[str, str]], dict[tuple[str, str], float]]:
    """(name of the class, attributes, edges between attributes, strongest first and cut, their weights)."""
    names = list(model.schema_.names)
    target = told or model.schema_.target or "class"
    while target in names:
        target += "_"
    edges, weights = model.edges_, model._edge_weights()
    strength = dict(zip(edges, weights)) if weights is not None else {}
    edges = sorted(edges, key=lambda e: -strength.get(e, 0.0))[:MOST]
    return target, names, edges, {e: strength[e] for e in edges if e in strength}


def averaged(model: Any) -> bool:
    """Whether a model averages over parents: its edges are pairs, one as good as the other way round."""
    return isinstance(model, AveragedParents)


def strongest_pairs(model: Any) -> dict[tuple[str, str], float]:
    """I(X_i;X_j|Y) of the pairs that say most of each other, the one first that says more in all; {} where none is kept."""
    weights = model._edge_weights()
    found = [(w, pair) for w, pair in zip(weights or (), model.edges_) if w > 0]
    found = sorted(found, key=lambda f: -f[0])[:MOST_PAIRS]
    of: dict[str, float] = {}
    for w, pair in found:
        for n in pair:
            of[n] = of.get(n, 0.0) + w
    return {(a, b) if of[a] >= of[b] else (b, a): w for w, (a, b) in found}


def picture(model: Any, target: str | None = None) -> Picture:
    """Where everything stands; `target` is what the class is called."""
    if averaged(model):
        weights = strongest_pairs(model)
        names = [n for n in model.schema_.names if not weights or any(n in pair for pair in weights)]
        return _placed(None, names, list(weights), weights)
    return _placed(*_graph(model, target))


def _placed(
    target: str | None, names: list[str], edges: list[tuple[str, str]], weights: dict[tuple[str, str], float]
) -> Picture:
    drawn = Picture(target)
    parents: dict[str, list[str]] = {n: [] for n in names}
    children: dict[str, list[str]] = {n: [] for n in names}
    for p, i in edges:
        parents[i].append(p)
        children[p].append(i)
    stacks: list[list[str]] = []
    for p in names:
        leaves = [i for i in children[p] if parents[i] == [p] and not children[i]]
        if len(leaves) > 2:
            stacks += [leaves[k : k + STACK] for k in range(0, len(leaves), STACK)]
    stacked = {n for stack in stacks for n in stack}
    nodes: list[list[str]] = [
        *([target] for _ in range(target is not None)),  # type: ignore[list-item]
        *([n] for n in names if (parents[n] or children[n]) and n not in stacked),
        *stacks,
    ]
    place = {n: k for k, node in enumerate(nodes) for n in node}
    wide = [max(text_width(n) + 16 for n in node) + (INDENT if len(node) > 1 else 0) for node in nodes]
    high = [HIGH + STEP * (len(node) - 1) for node in nodes]
    links = [(0, place[n]) for n in names if target is not None and children[n] and not parents[n]]
    links += [(place[p], place[i]) for p, i in edges if i not in stacked]
    links += [(place[parents[stack[0]][0]], place[stack[0]]) for stack in stacks]
    layout = layered(len(nodes), links, wide, high)
    rows = sorted({y for _, y in layout.centres})
    tall = {y: max(h for h, (_, at) in zip(high, layout.centres) if at == y) for y in rows}
    top = {y: y - tall[y] / 2 for y in rows}
    for node, (x, y), w in zip(nodes, layout.centres, wide):
        left = x - w / 2 + (INDENT if len(node) > 1 else 0)
        for k, n in enumerate(node):
            own = w if len(node) == 1 else text_width(n) + 16
            drawn.boxes[n] = (left + own / 2, top[y] + HIGH / 2 + STEP * k), own
    for (a, b), route in zip(links, layout.routes):
        first, last = nodes[a], nodes[b]
        start, (x, y) = route[0], route[-1]
        turns = (
            list(route[1:-1]) if tall[start[1]] > HIGH else list(route[2:-1])
        )  # a box as tall as its layer ends there
        points: list[Point] = [(start[0], top[start[1]] + HIGH), *turns]
        if len(last) == 1:
            drawn.lines.append((points, weights.get((first[0], last[0]), 0.0), (first[0], last[0])))
            continue
        spine = x - wide[b] / 2 + INDENT / 4  # down beside the stack, and across to every box
        for n in last:
            (centre, middle), own = drawn.boxes[n]
            line = [*points[:-1], (spine, top[y]), (spine, middle), (centre - own / 2, middle)]
            drawn.lines.append((line, weights.get((first[0], n), 0.0), (first[0], n)))
    _block(drawn, [n for n in names if n not in drawn.boxes], layout.width, layout.height)
    return drawn


def _block(drawn: Picture, names: list[str], width: float, height: float) -> None:
    """Attributes without edges, in lines as wide as the picture, under it."""
    x, y, right = 0.0, height + GAP_Y / 2, max(width, 600.0 if names else 0.0)
    for n in names:
        own = text_width(n) + 16
        if x > 0 and x + own > right:
            x, y = 0.0, y + STEP
        drawn.boxes[n] = (x + own / 2, y + HIGH / 2), own
        x += own + GAP_X / 2
    ends = [(p[0] + w / 2, p[1] + HIGH / 2) for p, w in drawn.boxes.values()]
    drawn.size = max(width, *(x for x, _ in ends)), max(height, *(y for _, y in ends))


def _stroke(weight: float, heaviest: float) -> float:
    return 0.8 + 3.2 * weight / heaviest if heaviest else 1.2


def dependence_svg(model: Any, target: str | None = None) -> str:
    """The graph as inline SVG text."""
    drawn = picture(model, target)
    heaviest = max((w for _, w, _ in drawn.lines), default=0.0)
    body = []
    for points, weight, (p, i) in drawn.lines:
        arrow = drawn.target is not None
        tip = f"{p} {'→' if arrow else '–'} {i}" + (f": {weight:.4g}" if weight else "")
        body.append(draw_edge(points, 0.8 if p == drawn.target else _stroke(weight, heaviest), tip, directed=arrow))
    for name, (centre, width) in drawn.boxes.items():
        body.append(draw_node(name, [name], centre, width, HIGH, name == drawn.target))
    return framed(body, f"{len(drawn.boxes)} columns and their dependence", *drawn.size)


def dependence_html(model: Any) -> str:
    """The graph and a line about the model, for a notebook."""
    n, edges = len(model.edges_), "; every attribute is a parent of the others in turn"
    if not averaged(model):
        some = "" if n <= MOST else f"; the {MOST} strongest of {n} edges are drawn"
        edges = f", {n} edges between attributes{some}; the class is a parent of all"
    elif pairs := len(strongest_pairs(model)):
        edges += f", drawn are the {pairs} pairs that say most of each other within a class"
    return render("notebook", "dependence", type(model).__name__, sizes(model) + edges, Markup(dependence_svg(model)))


def plot_dependence(model: Any, ax: Any = None) -> Any:
    """The graph on matplotlib axes; a figure of its own is as large as the graph needs."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
        from matplotlib.path import Path
    except ImportError as error:
        raise MissingExtra("plot needs matplotlib: pip install 'posteriori[plot]'") from error

    drawn = picture(model)
    wide, tall = (v + 2 * MARGIN for v in drawn.size)
    if ax is None:
        figure = plt.figure(figsize=(max(wide, 200) / 90, max(tall, 120) / 90))
        ax = figure.add_axes((0, 0, 1, 1))
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    scale = 72 * min(inches.width / wide, inches.height / tall)  # points a pixel of ours
    heaviest = max((w for _, w, _ in drawn.lines), default=0.0)
    for points, weight, (p, _) in drawn.lines:
        vertices, codes = [points[0]], [Path.MOVETO]
        (_, above), (x, y) = points[-2], points[-1]
        flat, arrow = abs(y - above) < 1, drawn.target is not None
        ends = [*points[:-1], (x - 4, y) if flat else (x, y - 4)] if arrow else points  # the head covers the rest
        for (x0, y0), (x1, y1) in itertools.pairwise(ends):
            middle = (y0 + y1) / 2
            vertices += [(x0, middle), (x1, middle), (x1, y1)]
            codes += [Path.CURVE4] * 3
        of_class = p == drawn.target
        width = (1.0 if of_class else _stroke(weight, heaviest)) * scale
        look = {"fc": "none", "ec": PALE if of_class else EDGE, "lw": width, "zorder": 1}
        ax.add_patch(PathPatch(Path(vertices, codes), **look))
        if not arrow:
            continue
        size = 5 + width / scale
        side = [(x - size, y - size / 2), (x - size, y + size / 2)] if flat else []
        corners = [(x, y), *(side or [(x - size / 2, y - size), (x + size / 2, y - size)])]
        ax.add_patch(Polygon(corners, closed=True, lw=0, fc=look["ec"], zorder=1))
    for name, ((x, y), width) in drawn.boxes.items():
        paint = {"fc": CLASS if name == drawn.target else PAPER, "ec": BOX, "lw": scale, "zorder": 2}
        corner = (x - width / 2 + 4, y - HIGH / 2 + 4)
        ax.add_patch(FancyBboxPatch(corner, width - 8, HIGH - 8, boxstyle="round,pad=4", **paint))
        ax.text(x, y, name, ha="center", va="center", fontsize=11 * scale, color=INK, zorder=3)
    ax.set(xlim=(-MARGIN, wide - MARGIN), ylim=(tall - MARGIN, -MARGIN), aspect="equal")
    ax.axis("off")
    return ax


def star_svg(target: str, columns: Sequence[tuple[str, float]]) -> Markup:
    """The class above, columns in rows below, each hanging from it."""
    wide, row, cell = 340.0, 44.0, 112.0
    each = int(wide // cell)
    top = max((v for _, v in columns), default=1.0) or 1.0
    body, boxes = [], []
    middle = wide / 2
    for i, (label, value) in enumerate(columns):
        line = i // each
        count = min(each, len(columns) - line * each)
        x = middle + (i % each - (count - 1) / 2) * cell
        y = 84 + row * line
        width = 0.8 + 4.2 * value / top
        bend = 42 + row * line
        body.append(
            f'<path class="tie" stroke-width="{width:.2f}" d="M{middle:.1f},34C{middle:.1f},{bend:.1f} '
            f'{x:.1f},{y - 50:.1f} {x:.1f},{y - 13:.1f}"><title>{escape(cut(label))}: {value:.3f}</title></path>'
        )
        boxes.append(
            f'<g><title>{escape(cut(label))}</title><rect class="box" x="{x - 52:.1f}" y="{y - 13:.1f}" width="104" '
            f'height="26" rx="6"/>'
            f"{text(x, y + 4, cut(label, 15), style='value')}</g>"
        )
    tall = 84 + row * math.ceil(len(columns) / each) - 18
    boxes.append(
        f'<rect class="box target" x="{middle - 60:.1f}" y="8" width="120" height="28" rx="6"/>'
        f"{text(middle, 26, cut(target, 17), style='name strong')}"
    )
    return chart("".join(body + boxes), "structure", wide, tall)
