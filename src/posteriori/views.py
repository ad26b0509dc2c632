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
    "html of a board": "report.notebook:board_html",
    "html of a dependence graph": "report.notebook:dependence_html",
    "html of an explanation": "report.notebook:explanation_html",
    "html of a frame": "report.notebook:frame_html",
    "html of a mixture": "report.mixtures:mixture_html",
    "html of naive Bayes": "report.notebook:naive_html",
    "html of a network": "report.notebook:network_html",
    "html of a schema": "report.notebook:schema_html",
    "html of a tree": "report.notebook:tree_html",
    # a `Drawing`
    "drawing of arc confidence": "report.graphs:confidence_drawing",
    "drawing of a comparison": "report.graphs:comparison_drawing",
    "drawing of EM's steps": "report.mixtures:steps_drawing",
    "drawing of a graph": "report.graphs:graph_drawing",
    "drawing of k-means": "report.mixtures:kmeans_drawing",
    "drawing of a mixture": "report.mixtures:mixture_drawing",
    "drawing of a network": "report.graphs:network_drawing",
    "drawing of a profile": "report.mixtures:profile_drawing",
    # matplotlib axes
    "axes of a dependence graph": "report.plot:plot_dependence",
    "axes of a kd-tree": "report.plot:plot_kdtree",
    "axes of a margin": "report.plot:plot_margin",
    "axes of a tree": "report.plot:plot_tree",
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
