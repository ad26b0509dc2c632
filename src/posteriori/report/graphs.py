"""Drawings of graphs: networks, structures, trees of counts; and who depends on whom in a classifier.

In the dependence graph of a classifier the class is a parent of all: only its edges to attributes without another parent
are drawn. Attributes that hang from one parent and have no children stand under each other in a stack; those without any
edge in a block at the foot. Edges move sideways only between rows, where no box is. A model that averages over parents has
no such graph: drawn are the pairs that say most of each other within a class, I(X_i;X_j|Y), as lines without an arrow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from ..bayes.averaged import AveragedParents
from ..errors import counted
from ..explain.whatif import cut, plain
from ..forest.counts import question
from ..network.findings import unknown
from ..views import Drawing
from .layered import GAP_X, GAP_Y, layered
from .scene import (
    BAR,
    BOX,
    DASHES,
    EDGE,
    INK,
    LINE,
    PAPER,
    Look,
    Point,
    alone,
    chart,
    element,
    path,
    svg,
    text,
    text_width,
)

if TYPE_CHECKING:
    from ..forest.tree import BayesTree
    from ..structure.graph import PartialDag, UndirectedGraph
    from ..structure.trust import ArcConfidence, Comparison

# colour and whether dashed; told apart by those who see no red and green too
STYLES = {
    "right": (EDGE, False),
    "turned": ("#e08214", False),
    "extra": ("#2166ac", False),
    "missing": ("#b2182b", True),
}
MOST_STATES_DRAWN = 6
MOST_CLASSES = 3  # of a tree's node
WIDEST = 34  # letters of what led to a node
MOST = 60  # edges between attributes that are drawn; the strongest
MOST_PAIRS = 15  # of a model that averages over parents
STACK = 12  # boxes of a stack
HIGH, STEP, INDENT = 24.0, 30.0, 16.0  # of a box, from box to box of a stack, and from its spine to the boxes


def graph(
    nodes: Sequence[str],
    edges: Iterable[tuple[str, str]],
    edge_weights: Mapping[tuple[str, str], float] | None = None,
    labels: Mapping[str, str] | None = None,
    directed: bool | Container[tuple[str, str]] = True,
    emphasis: Iterable[str] = (),
    bars: Mapping[str, Sequence[float | None]] | None = None,
    styles: Mapping[tuple[str, str], tuple[str, bool]] | None = None,
    legend: Sequence[tuple[str, str, bool]] = (),
) -> Element:
    """A graph, laid out in layers.

    Parameters
    ----------
    nodes, edges : names, and pairs of names (from, to)
    edge_weights : the width of each edge grows with its weight, and its tooltip tells the weight
    labels : what to write into a node instead of its name; several lines with line breaks
    directed : arrow heads, or none; or those of the edges that have one
    emphasis : nodes drawn with a strong border (a class, a target, evidence)
    bars : for each line of a node's label a share from 0 to 1, drawn as a bar behind it, or None
    styles : the colour of an edge and whether it is dashed
    legend : (text, colour, dashed) of lines explained below the graph

    >>> graph(["a", "b"], [("a", "b")]).get("aria-label")
    'graph of 2 nodes and 1 edges'
    """
    texts = [(labels or {}).get(n, n).split("\n") for n in nodes]
    index = {n: i for i, n in enumerate(nodes)}
    pairs = list(edges)
    wider = [1.15 if n in (bars or {}) else 1.0 for n in nodes]  # a name above bars is bold
    widths = [max(text_width(line) for line in lines) * w + 16 for lines, w in zip(texts, wider, strict=True)]
    heights = [LINE * len(lines) + 8 for lines in texts]
    layout = layered(len(nodes), [(index[a], index[b]) for a, b in pairs], widths, heights)
    heaviest = max((abs(w) for w in (edge_weights or {}).values()), default=0.0)
    strong = set(emphasis)
    body = []
    for pair, route in zip(pairs, layout.routes, strict=True):
        weight = None if edge_weights is None else edge_weights.get(pair)
        stroke = 1.2 if weight is None or not heaviest else 0.6 + 3.4 * abs(weight) / heaviest
        a, b = index[pair[0]], index[pair[1]]
        clipped = _clipped(route, (widths[a], heights[a]), (widths[b], heights[b]))
        arrow = directed if isinstance(directed, bool) else pair in directed
        tip = f"{pair[0]} {'→' if arrow else '–'} {pair[1]}" + ("" if weight is None else f": {weight:.4g}")
        body.append(draw_edge(clipped, stroke, tip, arrow, *(styles or {}).get(pair, (EDGE, False))))
    for i, name in enumerate(nodes):
        shares = (bars or {}).get(name, ())
        body.append(draw_node(name, texts[i], layout.centres[i], widths[i], heights[i], name in strong, shares))
    explained, below = _legend(legend, layout.height)
    label = f"graph of {len(nodes)} nodes and {len(pairs)} edges"
    return alone(body + explained, label, max(layout.width, 120.0 * len(legend)), below)


def draw_node(
    name: str,
    lines: Sequence[str],
    centre: Point,
    width: float,
    height: float,
    strong: bool,
    shares: Sequence[float | None] = (),
) -> Element:
    """A box with its lines, and a bar behind those that have a share."""
    x, y = centre
    left, first = x - width / 2, y - LINE * (len(lines) - 1) / 2
    border: Look = {"fill": PAPER, "stroke": BOX, "stroke_width": 2.6 if strong else 1}
    parts = [element("rect", x=left, y=y - height / 2, width=float(width), height=float(height), rx=6, **border)]
    for i, line in enumerate(lines):
        at = first + LINE * i
        share = shares[i] if i < len(shares) else None
        if share is not None:
            size: Look = {"width": (width - 8) * share, "height": LINE - 2, "rx": 2}
            parts.append(element("rect", class_="bar", x=left + 4, y=at - LINE / 2 + 1, **size, fill=BAR))
        bold = 600 if shares and i == 0 else ""
        parts.append(written(x if share is None else left + 8, at, line, "middle" if share is None else "", bold))
    return element("g", *parts, tip=name, class_="node")


def written(x: float, y: float, said: str, anchor: str = "", weight: Any = "") -> Element:
    """Text at half its height."""
    look: Look = {"text_anchor": anchor, "dominant_baseline": "central", "fill": INK, "font_weight": weight}
    return element("text", says=plain(said), x=float(x), y=float(y), **look)


def _legend(lines: Sequence[tuple[str, str, bool]], top: float) -> tuple[list[Element], float]:
    """A short line and its meaning, side by side, and where they end."""
    if not lines:
        return [], top
    y = top + 2 * LINE
    parts = []
    for i, (said, colour, dashed) in enumerate(lines):
        x, dash = 120.0 * i, DASHES if dashed else ""
        look: Look = {"stroke": colour, "stroke_width": 2.4, "stroke_dasharray": dash}
        parts += [path(f"M{x:.1f},{y:.1f} h24", **look), written(x + 30, y, said)]
    return [element("g", *parts, class_="legend")], y + LINE / 2


def draw_edge(
    route: Sequence[Point], stroke: float, tip: str, directed: bool, colour: str = EDGE, dashed: bool = False
) -> Element:
    """A curve from point to point that leaves and arrives upright, with its head."""
    head: list[Element] = []
    if directed:
        route, head = _headed(route, stroke, colour)
    d = f"M{route[0][0]:.1f},{route[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(route):
        middle = (y0 + y1) / 2
        d += f" C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    look = {"stroke": colour, "stroke_width": f"{stroke:.2f}", "stroke_dasharray": DASHES if dashed else ""}
    return element("g", path(d, fill="none", **look), *head, tip=tip, class_="edge")


def _headed(route: Sequence[Point], stroke: float, colour: str) -> tuple[list[Point], list[Element]]:
    """The route, shortened by the arrow head at its end, and the head."""
    (x0, y0), (x, y) = route[-2], route[-1]
    # the curve arrives upright unless both ends lie in one layer
    dx, dy = (0.0, math.copysign(1.0, y - y0)) if abs(y - y0) > 1 else (math.copysign(1.0, x - x0), 0.0)
    size = 5 + stroke
    back_x, back_y = x - dx * size, y - dy * size
    side_x, side_y = -dy * size * 0.5, dx * size * 0.5
    corners = f"{x:.1f},{y:.1f} {back_x + side_x:.1f},{back_y + side_y:.1f} {back_x - side_x:.1f},{back_y - side_y:.1f}"
    return [*route[:-1], (back_x, back_y)], [element("polygon", points=corners, fill=colour)]


def _clipped(route: Sequence[Point], first: tuple[float, float], last: tuple[float, float]) -> list[Point]:
    """The route from border to border: an edge leaves the box below (or above) its centre and enters so."""
    points = list(route)
    (x0, y0), (x1, y1) = points[0], points[1]
    (u0, v0), (u1, v1) = points[-2], points[-1]
    if abs(y1 - y0) > 1:
        points[0] = (x0, y0 + math.copysign(first[1] / 2, y1 - y0))
    else:
        points[0] = (x0 + math.copysign(first[0] / 2, x1 - x0), y0)
    if abs(v1 - v0) > 1:
        points[-1] = (u1, v1 - math.copysign(last[1] / 2, v1 - v0))
    else:
        points[-1] = (u1 - math.copysign(last[0] / 2, u1 - u0), v1)
    return [p for i, p in enumerate(points) if i == 0 or math.dist(p, points[i - 1]) > 0.05]


def network_drawing(net: Any, evidence: Mapping[str, Any] | None = None) -> Drawing:
    """The graph; with evidence every node shows its probabilities as bars, and what is known a strong border."""
    if evidence is None:
        return drawing(graph(net.nodes, net.edges))
    labels, bars = {}, {}
    for node, found in net.marginals(evidence).items():
        likely = sorted(found.items(), key=lambda item: -item[1])[:MOST_STATES_DRAWN]
        shown = {state: p for state, p in found.items() if (state, p) in likely}
        lines = [f"{state} {p:.1%}" for state, p in shown.items()]
        labels[node] = "\n".join([node, *lines] + ["…"] * (len(found) > len(shown)))
        bars[node] = [None, *shown.values()]
    known = [n for n, finding in evidence.items() if not unknown(finding)]
    return drawing(graph(net.nodes, net.edges, labels=labels, emphasis=known, bars=bars))


def drawing(drawn: Element) -> Drawing:
    """A drawing as a value that notebooks show."""
    return Drawing(svg(drawn))


def graph_drawing(lines: UndirectedGraph | PartialDag) -> Drawing:
    """A graph whose lines have no direction, or some of them: those are drawn without arrow heads."""
    arrows: tuple[tuple[str, str], ...] = getattr(lines, "directed", ())
    return drawing(graph(lines.nodes, lines.edges, directed=set(arrows)))


def comparison_drawing(comparison: Comparison) -> Drawing:
    """All arrows of both structures, each in the colour of its kind, and what the colours mean."""
    kinds = {kind: getattr(comparison, kind) for kind in STYLES}
    styles = {arrow: STYLES[kind] for kind, arrows in kinds.items() for arrow in arrows}
    legend = [(f"{len(arrows)} {kind}", *STYLES[kind]) for kind, arrows in kinds.items() if arrows]
    return drawing(graph(comparison.nodes, list(styles), styles=styles, legend=legend))


def confidence_drawing(confidence: ArcConfidence, threshold: float) -> Drawing:
    """The averaged network; an arrow is as wide as the share of samples that join its ends."""
    dag = confidence.averaged(threshold)
    weights = {arrow: confidence.strength(*arrow) for arrow in dag.edges}
    return drawing(graph(dag.nodes, dag.edges, edge_weights=weights))


def tree(model: BayesTree, max_depth: int = 4) -> Element:
    """A tree of counts down to a depth: questions, and the posterior of every node as bars."""
    nodes, edges, labels, bars = _tree_pieces(model, max_depth)
    return graph(nodes, edges, labels=labels, bars=bars)


def nodes_shown(model: BayesTree, max_depth: int) -> list[tuple[int, int | None, str]]:
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
    """(nodes, edges, labels, bars) as `graph` takes them."""
    counts, posterior = model.statistics_, model.node_posteriors_
    shown = nodes_shown(model, max_depth)
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


def placed(model: Any, target: str | None = None) -> Picture:
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


def dependence(model: Any, target: str | None = None) -> Element:
    """Who depends on whom in a classifier; `target` is what the class is called."""
    drawn = placed(model, target)
    heaviest = max((w for _, w, _ in drawn.lines), default=0.0)
    body = []
    for points, weight, (p, i) in drawn.lines:
        arrow = drawn.target is not None
        tip = f"{p} {'→' if arrow else '–'} {i}" + (f": {weight:.4g}" if weight else "")
        body.append(draw_edge(points, 0.8 if p == drawn.target else _stroke(weight, heaviest), tip, directed=arrow))
    for name, (centre, width) in drawn.boxes.items():
        body.append(draw_node(name, [name], centre, width, HIGH, name == drawn.target))
    return alone(body, f"{len(drawn.boxes)} columns and their dependence", *drawn.size)


def star(target: str, columns: Sequence[tuple[str, float]]) -> Element:
    """The class above, columns in rows below, each hanging from it by a line as thick as what it tells."""
    wide, row, cell = 340.0, 44.0, 112.0
    each = int(wide // cell)
    top = max((v for _, v in columns), default=1.0) or 1.0
    body, boxes = [], []
    middle = wide / 2
    for i, (label, value) in enumerate(columns):
        line = i // each
        count = min(each, len(columns) - line * each)
        x = middle + (i % each - (count - 1) / 2) * cell
        y, bend = 84 + row * line, 42 + row * line
        d = f"M{middle:.1f},34C{middle:.1f},{bend:.1f} {x:.1f},{y - 50:.1f} {x:.1f},{y - 13:.1f}"
        tip = f"{cut(label)}: {value:.3f}"
        body.append(path(d, "tie", stroke_width=f"{0.8 + 4.2 * value / top:.2f}", tip=tip))
        box = element("rect", class_="box", x=x - 52, y=y - 13, width=104, height=26, rx=6)
        boxes.append(element("g", box, text(x, y + 4, cut(label, 15), "value"), tip=cut(label)))
    tall = 84 + row * math.ceil(len(columns) / each) - 18
    boxes.append(element("rect", class_="box target", x=middle - 60, y=8, width=120, height=28, rx=6))
    boxes.append(text(middle, 26, cut(target, 17), "name strong"))
    return chart(body + boxes, "structure", wide, tall)
