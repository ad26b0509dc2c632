"""Drawings of learned structures: beside the true one in colours, and by the strength of their arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .svg import EDGE, Drawing, draw_graph

if TYPE_CHECKING:
    from ..structure.trust import ArcConfidence, Comparison

# colour and whether dashed; told apart by those who see no red and green too
STYLES = {
    "right": (EDGE, False),
    "turned": ("#e08214", False),
    "extra": ("#2166ac", False),
    "missing": ("#b2182b", True),
}


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
