"""Faces of a network: the drawing, with probabilities where something is asked, and the line that notebooks show."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from ..network.says import unknown
from .svg import Drawing, draw_graph

MOST_DRAWN = 150  # nodes; a larger network's notebook face is a sentence, its drawing is plot()
MOST_STATES_DRAWN = 6


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
