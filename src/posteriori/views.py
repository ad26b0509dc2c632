"""What models and results show: a room names its view here and knows no more; the function is imported when it is called.

Drawings, pages and explanations are made in rooms above (`report/`, `explain/`), which import the rooms that are shown.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

VIEWS: dict[str, str] = {
    "explain": "explain.why:explain",
    # HTML for a notebook
    "html of a board": "report.faces:board_html",
    "html of a dependence graph": "report.dependence:dependence_html",
    "html of an explanation": "report.faces:explanation_html",
    "html of a frame": "report.faces:frame_html",
    "html of a mixture": "report.mixtures:mixture_html",
    "html of naive Bayes": "report.faces:naive_html",
    "html of a network": "report.faces:network_html",
    "html of a schema": "report.faces:schema_html",
    "html of a tree": "report.faces:tree_html",
    # a `Drawing`
    "drawing of arc confidence": "report.faces:confidence_drawing",
    "drawing of a comparison": "report.faces:comparison_drawing",
    "drawing of EM's steps": "report.mixtures:steps_drawing",
    "drawing of a graph": "report.faces:graph_drawing",
    "drawing of k-means": "report.mixtures:kmeans_drawing",
    "drawing of a mixture": "report.mixtures:mixture_drawing",
    "drawing of a network": "report.faces:network_drawing",
    "drawing of a profile": "report.mixtures:profile_drawing",
    # matplotlib axes
    "axes of a dependence graph": "report.dependence:plot_dependence",
    "axes of a kd-tree": "report.faces:draw_tree",
    "axes of a margin": "report.faces:plot_margin",
    "axes of a tree": "report.faces:plot_tree",
}


@dataclass(frozen=True)
class Drawing:
    """An SVG text that notebooks show.

    >>> str(Drawing("<svg/>"))
    '<svg/>'
    """

    svg: str

    def __str__(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")


def view(name: str) -> Callable[..., Any]:
    """The function that shows a value so.

    >>> view("html of a schema").__name__
    'schema_html'
    """
    module, _, function = VIEWS[name].partition(":")
    shows: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return shows


def html(of: str, value: Any) -> str:
    """What a notebook shows of a value."""
    return str(view(f"html of {of}")(value))


def drawing(of: str, *values: Any) -> Drawing:
    """A value as SVG."""
    shown: Drawing = view(f"drawing of {of}")(*values)
    return shown


def axes(of: str, *values: Any) -> Any:
    """A value on matplotlib axes, which are returned."""
    return view(f"axes of {of}")(*values)
