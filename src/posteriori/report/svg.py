"""A graph as one inline SVG: boxes for nodes, curves for edges, thicker where an edge weighs more."""

from __future__ import annotations

import html
import itertools
import math
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence

from ..explain.whatif import plain
from .layered import layered

FONT, LINE, MARGIN = 12, 16, 6
BOX, EDGE, INK, PAPER, BAR = "#5b7083", "#5b7083", "#1c2733", "#eef3f8", "#b9d3ec"

Point = tuple[float, float]


def draw_graph(
    nodes: Sequence[str],
    edges: Iterable[tuple[str, str]],
    edge_weights: Mapping[tuple[str, str], float] | None = None,
    labels: Mapping[str, str] | None = None,
    directed: bool | Container[tuple[str, str]] = True,
    emphasis: Iterable[str] = (),
    bars: Mapping[str, Sequence[float | None]] | None = None,
    styles: Mapping[tuple[str, str], tuple[str, bool]] | None = None,
    legend: Sequence[tuple[str, str, bool]] = (),
) -> str:
    """The SVG text of a graph, laid out in layers.

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

    >>> draw_graph(["a", "b"], [("a", "b")])[:4]
    '<svg'
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
    body.append(explained)
    label = f"graph of {len(nodes)} nodes and {len(pairs)} edges"
    return framed(body, label, max(layout.width, 120.0 * len(legend)), below)


def framed(body: Iterable[str], label: str, width: float, height: float) -> str:
    """Pieces of a drawing as one SVG, with a margin around so many pixels."""
    wide, tall = width + 2 * MARGIN, height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'width="{wide:.0f}" height="{tall:.0f}" viewBox="{-MARGIN} {-MARGIN} {wide:.1f} {tall:.1f}" '
        f'style="max-width:100%;height:auto" font-family="system-ui,sans-serif" font-size="{FONT}">'
        f"{''.join(body)}</svg>"
    )


def text_width(line: str) -> float:
    """Pixels, by the character: full-width letters (中文) take twice the room."""
    return sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.7 if c.isupper() else 0.6 for c in line) * FONT


def draw_node(
    name: str,
    lines: Sequence[str],
    centre: Point,
    width: float,
    height: float,
    strong: bool,
    shares: Sequence[float | None] = (),
) -> str:
    x, y = centre
    left, first = x - width / 2, y - LINE * (len(lines) - 1) / 2
    parts = []
    for i, line in enumerate(lines):
        at = first + LINE * i
        share = shares[i] if i < len(shares) else None
        if share is not None:
            parts.append(
                f'<rect class="bar" x="{left + 4:.1f}" y="{at - LINE / 2 + 1:.1f}" width="{(width - 8) * share:.1f}" '
                f'height="{LINE - 2}" rx="2" fill="{BAR}"/>'
            )
        place = f'x="{x:.1f}" text-anchor="middle"' if share is None else f'x="{left + 8:.1f}"'
        weight = ' font-weight="600"' if shares and i == 0 else ""
        parts.append(
            f'<text {place} y="{at:.1f}" dominant-baseline="central" fill="{INK}"{weight}>{_said(line)}</text>'
        )
    return (
        f'<g class="node"><title>{_said(name)}</title><rect x="{left:.1f}" y="{y - height / 2:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="6" fill="{PAPER}" stroke="{BOX}" '
        f'stroke-width="{2.6 if strong else 1}"/>{"".join(parts)}</g>'
    )


def _said(text: str) -> str:
    return html.escape(plain(text))


def _legend(lines: Sequence[tuple[str, str, bool]], top: float) -> tuple[str, float]:
    """A short line and its meaning, side by side, and where they end."""
    if not lines:
        return "", top
    y = top + 2 * LINE
    parts = []
    for i, (text, colour, dashed) in enumerate(lines):
        x = 120.0 * i
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        parts.append(
            f'<path d="M{x:.1f},{y:.1f} h24" stroke="{colour}" stroke-width="2.4"{dash}/>'
            f'<text x="{x + 30:.1f}" y="{y:.1f}" dominant-baseline="central" fill="{INK}">{_said(text)}</text>'
        )
    return f'<g class="legend">{"".join(parts)}</g>', y + LINE / 2


def draw_edge(
    route: Sequence[Point], stroke: float, tip: str, directed: bool, colour: str = EDGE, dashed: bool = False
) -> str:
    head = ""
    if directed:
        route, head = _headed(route, stroke, colour)
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    path = f"M{route[0][0]:.1f},{route[0][1]:.1f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(route):
        middle = (y0 + y1) / 2  # leave and arrive upright
        path += f" C{x0:.1f},{middle:.1f} {x1:.1f},{middle:.1f} {x1:.1f},{y1:.1f}"
    return (
        f'<g class="edge"><title>{_said(tip)}</title>'
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{stroke:.2f}"{dash}/>{head}</g>'
    )


def _headed(route: Sequence[Point], stroke: float, colour: str) -> tuple[list[Point], str]:
    """The route, shortened by the arrow head at its end, and the head."""
    (x0, y0), (x, y) = route[-2], route[-1]
    # the curve arrives upright unless both ends lie in one layer
    dx, dy = (0.0, math.copysign(1.0, y - y0)) if abs(y - y0) > 1 else (math.copysign(1.0, x - x0), 0.0)
    size = 5 + stroke
    back_x, back_y = x - dx * size, y - dy * size
    side_x, side_y = -dy * size * 0.5, dx * size * 0.5
    corners = f"{x:.1f},{y:.1f} {back_x + side_x:.1f},{back_y + side_y:.1f} {back_x - side_x:.1f},{back_y - side_y:.1f}"
    return [*route[:-1], (back_x, back_y)], f'<polygon points="{corners}" fill="{colour}"/>'


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
