"""`po.plot`: figures of models and posteriors on matplotlib axes: on `ax`, or on a figure of their own."""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

import numpy as np

from ..decision.calibrate import reliability as measured
from ..decision.curve import risk_coverage as curve_of
from ..errors import MissingExtra, ModelError
from ..explain.whatif import cut, what_if
from ..structure.graph import UndirectedGraph
from ..table.labels import match_labels
from .charts import tick_text, ticks
from .layered import layered
from .nomogram import SHARES, Axis, Scales, levels, monotone, probability_of, scales, useful

__all__ = ["nomogram", "posterior", "reliability", "risk_coverage", "structure"]


def __dir__() -> list[str]:
    """What a notebook offers: the figures."""
    return __all__


ACCENT, AGAINST, SOFT, GRID = "#0f5f9e", "#c05a00", "#56606b", "#e3e0d9"
PIXELS = 6.5  # of a point of the nomogram, when labels are kept from each other


def _axes(ax: Any, wide: float, tall: float) -> Any:
    """The axes to draw on."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("po.plot draws with matplotlib: pip install 'posteriori[plot]'") from error
    return plt.figure(figsize=(wide, tall), layout="constrained").subplots()


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
    from .dependence import plot_dependence

    if hasattr(model, "_edge_weights"):
        model._check_fitted()
        return plot_dependence(model, ax)
    net = getattr(model, "net_", getattr(model, "network_", model))
    if hasattr(net, "nodes") and hasattr(net, "edges"):
        edges = [(str(a), str(b)) for a, b in net.edges]
        lines = edges if isinstance(net, UndirectedGraph) else getattr(net, "undirected", ())
        return _graph([str(n) for n in net.nodes], edges, ax, set(lines))
    if hasattr(model, "schema_"):
        names = list(model.schema_.names)
        target = model.schema_.target or "class"
        while target in names:
            target += "_"
        return _graph([target, *names], [(target, name) for name in names], ax)
    raise ModelError(f"{type(model).__name__} has no structure to draw")


def _graph(nodes: list[str], edges: list[tuple[str, str]], ax: Any, lines: Container[tuple[str, str]] = ()) -> Any:
    place = {n: i for i, n in enumerate(nodes)}
    shown = [cut(n, 20) for n in nodes]
    widths = [7.5 * len(n) + 16 for n in shown]
    found = layered(len(nodes), [(place[a], place[b]) for a, b in edges], widths, [24.0] * len(nodes))
    ax = _axes(ax, max(found.width / 90, 3), max(found.height / 90, 1.5))
    for a, b in edges:
        (x0, y0), (x1, y1) = found.centres[place[a]], found.centres[place[b]]
        style = "-" if (a, b) in lines else "-|>"
        ax.annotate("", (x1, y1 - 12), (x0, y0 + 12), arrowprops={"arrowstyle": style, "color": SOFT, "lw": 1})
    for n, (x, y) in zip(shown, found.centres):
        ax.text(x, y, _text(n), ha="center", va="center", bbox={"boxstyle": "round", "fc": "white", "ec": SOFT})
    ax.set(xlim=(-10, found.width + 10), ylim=(found.height + 14, -14))
    ax.axis("off")
    return ax


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
    tall = [_height(axis, found) for axis in found.axes]
    ax = _axes(ax, 9.5, 0.36 * (sum(tall) + 6 + (found.among > 2)))
    y = 0.0
    _scale(ax, y, "Points", [(p, f"{p}") for p in range(0, 101, 10)])
    for axis, height in zip(found.axes, tall):
        y -= height
        (_draw_line if axis.numbers is None or monotone(axis.odds) else _draw_curve)(ax, axis, found, y)
    _foot(ax, found, y - 2.0)
    ax.set(xlim=(-34, 104), ylim=(y - 4.6 - 0.8 * (found.among > 2), 1.2))
    ax.axis("off")
    return ax


def _height(axis: Axis, found: Scales) -> float:
    if axis.numbers is not None and not monotone(axis.odds):
        return 2.9
    used = {level for _, _, level in levels(axis, found, lambda p: p * PIXELS)}
    return 1.25 + 0.6 * (2 in used) + 0.6 * bool(used & {1, 3})


def _scale(ax: Any, y: float, title: str, marks: list[tuple[float, str]]) -> None:
    ax.text(-33, y, _text(title), va="center", fontweight="bold")
    ax.plot([0, 100], [y, y], color="black", lw=1)
    for x, told in marks:
        ax.plot([x, x], [y, y + 0.22], color="black", lw=0.8)
        ax.text(x, y + 0.3, told, ha="center", va="bottom", fontsize="x-small", color=SOFT)


def _draw_line(ax: Any, axis: Axis, found: Scales, y: float) -> None:
    placed = levels(axis, found, lambda p: p * PIXELS)
    zero, first, last = found.stretch(axis)
    ax.text(-33, y, _text(axis.name, 24), va="center")
    ax.plot([first, last], [y, y], color="black", lw=1)
    ax.plot([zero], [y], "o", mfc="white", mec=SOFT, ms=4, zorder=3)
    for x, label, level in placed:
        up = level in (0, 2)
        ax.plot([x / PIXELS] * 2, [y, y + (0.18 if up else -0.18)], color="black", lw=0.8)
        if label is not None and level >= 0:
            step = 0.24 + 0.6 * (level >= 2)
            side = {"va": "bottom"} if up else {"va": "top"}
            ax.text(x / PIXELS, y + (step if up else -step), _text(label, 18), ha="center", fontsize="x-small", **side)


def _draw_curve(ax: Any, axis: Axis, found: Scales, y: float) -> None:
    """The value upright, its points across."""
    assert axis.numbers is not None
    grid, points = axis.numbers, (axis.odds - axis.low) / found.unit
    low, high = float(grid[0]), float(grid[-1])
    up = y - 0.2 + 2.0 * (grid - low) / ((high - low) or 1.0)
    ax.text(-33, y + 0.8, _text(axis.name, 24), va="center")
    zero = -axis.low / found.unit
    ax.plot([zero, zero], [y - 0.2, y + 1.8], "--", color=SOFT, lw=0.8)
    ax.plot(points, up, color=ACCENT, lw=1.5)
    for i in (0, len(grid) // 2, len(grid) - 1):
        ax.plot([0, 100], [up[i], up[i]], color=GRID, lw=0.6, zorder=0)
        ax.text(-1, up[i], axis.labels[i], ha="right", va="center", fontsize="x-small", color=SOFT)


def _foot(ax: Any, found: Scales, y: float) -> None:
    low, high = useful(found, sum(axis.range for axis in found.axes) / found.unit)
    marks = ticks(low, high, 10)

    def at(points: float) -> float:
        return 100 * (points - low) / ((high - low) or 1.0)

    _scale(ax, y, "Total points", [(at(v), tick_text(v, marks)) for v in marks])
    shares, end = [], -math.inf
    for p in SHARES:
        x = at(found.points(math.log(p / (1 - p))))
        if -0.5 <= x <= 100.5 and x - end > 4.5:
            shares.append((x, f"{p:.3g}"))
            end = x
    told = probability_of(found, 192.0 if found.among == 2 else 100 * PIXELS)
    if found.among > 2:  # P(t) is another thing where a third class may be: above its scale there is room to say so
        _scale(ax, y - 2.6, "", shares)
        ax.text(0, y - 1.65, _text(f"P({told[0]} | {told[0]} or {told[1]})", 80), va="center", fontweight="bold")
    else:
        _scale(ax, y - 1.8, f"P({told[0]})", shares)


def _text(said: Any, most: int = 30) -> str:
    """Text that matplotlib takes as it is: a dollar begins no formula."""
    return cut(said, most).replace("$", r"\$")


def _plain(ax: Any) -> Any:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID, lw=0.6)
    ax.set_axisbelow(True)
    return ax
