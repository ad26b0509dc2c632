"""Drawings of mixtures: ellipses over points in the colours of their responsibilities, the likelihood turn by turn; the
classes of a latent class model side by side, bars for probabilities, a point and its spread for numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Floats
from ..errors import BadParameter, ModelError, counted
from ..mixture.gaussian import read_cells
from ..views import Drawing
from .graphs import written
from .markup import render
from .scene import BAR, BOX, DASHES, INK, LINE, PAPER, Look, Plane, Point, alone, element, svg, text_width

if TYPE_CHECKING:
    from ..mixture.gaussian import GaussianMixture
    from ..mixture.kmeans import KMeans

# told apart by those who see no red and green too (Okabe and Ito, 2008)
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#882255")
WIDE, HIGH, EDGE = 380.0, 300.0, 34.0
LEFT = 54.0  # of an axis: a number of three digits with its sign and power
MOST = 2000  # points drawn, evenly picked
BARS, GAP = 90.0, 14.0  # of a class's bars, and between classes
MOST_VALUES = 12  # values of a column that are drawn, the likeliest


def box(
    x: Floats, y: Floats, left: float = 0.0, wide: float = WIDE, high: float = HIGH, across: Point | None = None
) -> Plane:
    """A frame around some data, or from end to end `across`."""
    return Plane(across or _range(x), _range(y), left + LEFT, left + wide - 8, 22.0, high - EDGE)


def axes(p: Plane, title: str, xlabel: str, ylabel: str) -> list[Element]:
    """The frame, its title, and the axes with their names and ends."""
    (left, right), (top, foot), middle = (p.left, p.right), (p.top, p.bottom), (p.left + p.right) / 2
    texts = [
        (left, foot + 14, "start", f"{p.x[0]:.3g}"),
        (right, foot + 14, "end", f"{p.x[1]:.3g}"),
        (middle, foot + 26, "middle", xlabel),
        (left - 4, foot, "end", f"{p.y[0]:.3g}"),
        (left - 4, top + 8, "end", f"{p.y[1]:.3g}"),
        (middle, top - 8, "middle", title),
    ]
    frame = element("rect", **_inside(p), fill=PAPER, stroke=BOX)
    told = [element("text", says=said, x=x, y=y, text_anchor=anchor, fill=INK) for x, y, anchor, said in texts]
    turned = f"translate({left - 22:.1f},{(top + foot) / 2:.1f}) rotate(-90)"
    return [frame, *told, element("text", says=ylabel, transform=turned, text_anchor="middle", fill=INK)]


def _inside(p: Plane) -> Look:
    return {"x": p.left, "y": p.top, "width": p.right - p.left, "height": p.bottom - p.top}


def clipped(p: Plane, body: Sequence[Element]) -> Element:
    """What of a drawing lies inside the axes."""
    inside = _inside(p)
    return element("svg", *body, **inside, viewBox=" ".join(f"{v:.1f}" for v in inside.values()))


def line(p: Plane, x: Any, y: Any, colour: str, width: float = 1.6, dashed: bool = False) -> Element:
    """A curve through data."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in p.points(x, y))
    look: Look = {"stroke": colour, "stroke_width": width, "stroke_dasharray": DASHES if dashed else ""}
    return element("polyline", points=points, fill="none", **look)


def dots(p: Plane, x: Any, y: Any, colours: Sequence[str]) -> list[Element]:
    """Rows in their colours."""
    look: Look = {"r": 2.2, "fill_opacity": "0.75"}
    return [element("circle", cx=a, cy=b, fill=c, **look) for (a, b), c in zip(p.points(x, y), colours)]


def disc(at: Point, tip: str, class_: str, r: int, colour: str, **look: Any) -> Element:
    """A centre, or a turn of note."""
    return element("g", element("circle", cx=at[0], cy=at[1], r=r, fill=colour, **look), tip=tip, class_=class_)


def _range(v: Floats) -> tuple[float, float]:
    known = np.asarray(v, dtype=float)
    known = known[np.isfinite(known)]
    lo, hi = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = 0.06 * (hi - lo) or max(abs(lo), 1.0) * 0.05
    return lo - room, hi + room


def _drawing(body: Sequence[Element], label: str, wide: float = WIDE, high: float = HIGH) -> Drawing:
    return Drawing(svg(alone(body, label, wide, high, margin=0, font=11)))


def blended(shares: Floats) -> list[str]:
    """The colour of each row: those of the components, mixed by its responsibilities.

    >>> blended(np.array([[1.0, 0.0], [0.5, 0.5]]))
    ['#0072b2', '#738859']
    """
    table = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in COLOURS], dtype=float)
    mixed = shares @ table[np.arange(shares.shape[1]) % len(COLOURS)]
    return ["#" + "".join(f"{min(255, round(v)):02x}" for v in row) for row in mixed]


def ellipse(mean: Floats, covariance: Floats, deviations: float) -> tuple[Floats, Floats]:
    """The points (x, y) at so many standard deviations from the mean."""
    value, vector = np.linalg.eigh(covariance)
    turn = np.linspace(0, 2 * np.pi, 73)
    points = (
        mean + deviations * (np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(np.maximum(value, 0))) @ vector.T
    )
    return points[:, 0], points[:, 1]


def _pair(model: Any, columns: Sequence[int]) -> list[int]:
    d = model.n_features_in_
    try:
        found = [int(c) for c in columns]
    except (TypeError, ValueError):
        found = []
    if len(found) != 2 or not all(-d <= c < d for c in found):
        raise BadParameter(f"columns are two of the {d} columns, by number. Got {columns!r} instead.")
    return found


def _names(model: Any, columns: list[int]) -> list[str]:
    names = model.__dict__.get("feature_names_in_")
    return [f"x{c}" if names is None else str(names[c]) for c in columns]


def _picked(X: Any) -> Array:
    X = np.asarray(X, dtype=float)
    return np.asarray(X[np.linspace(0, len(X) - 1, MOST).astype(int)] if len(X) > MOST else X)


def _matrices(model: GaussianMixture) -> Floats:
    """Σ of every component, (K, d, d)."""
    theta = model._theta(np.ones(model.means_.shape[1]))
    if theta.covariances.ndim == 3:
        return theta.covariances
    return np.array([np.diag(v) for v in theta.covariances])


def _components(model: GaussianMixture, X: Array, at: list[int], p: Plane) -> list[Element]:
    """Points in the colours of their responsibilities, ellipses at one and two standard deviations."""
    whole = np.isfinite(X[:, at]).all(axis=1)
    X = X[whole]
    body = dots(p, X[:, at[0]], X[:, at[1]], blended(model.predict_proba(X)))
    for k, (mean, sigma) in enumerate(zip(np.asarray(model.means_, dtype=float), _matrices(model))):
        colour = COLOURS[k % len(COLOURS)]
        for deviations, width in ((1, 2.0), (2, 1.0)):
            ring = ellipse(mean[at], sigma[np.ix_(at, at)], deviations)
            body.append(line(p, *ring, colour, width, deviations == 2))
        tip = f"component {k}: weight {model.weights_[k]:.3g}"
        body.append(disc(p.points(*mean[at][:, None])[0], tip, "component", 4, colour, stroke=INK))
    return body


def mixture_drawing(model: GaussianMixture, X: Any, columns: Sequence[int] = (0, 1)) -> Drawing:
    """Two columns of the rows and the components over them; of one column, the density and its parts."""
    check_is_fitted(model, "converged_")
    X = _picked(read_cells(model, X, reset=False))
    if model.n_features_in_ == 1:
        return _curves(model, X)
    at = _pair(model, columns)
    rings = [ellipse(m[at], s[np.ix_(at, at)], 2) for m, s in zip(model.means_.astype(float), _matrices(model))]
    x, y = (np.concatenate([X[:, c], *(ring[i] for ring in rings)]) for i, c in enumerate(at))
    p = box(x, y)
    body = axes(p, f"{len(model.means_)} components", *_names(model, at)) + _components(model, X, at, p)
    return _drawing(body, f"mixture of {len(model.means_)} components over {len(X)} points")


def _curves(model: GaussianMixture, X: Array) -> Drawing:
    known = X[np.isfinite(X[:, 0])]
    x = np.linspace(*_range(known[:, 0]), 200)
    parts = np.exp(model._log_joint(x[:, None]))
    whole = parts.sum(axis=1)
    p = box(x, np.append(whole, 0.0))
    body = axes(p, f"{len(model.means_)} components", _names(model, [0])[0], "density")
    for point, colour in zip(known[:, 0], blended(model.predict_proba(known))):
        body.append(line(p, [point, point], [0, 0.03 * whole.max()], colour, 1))
    body += [line(p, x, part, COLOURS[k % len(COLOURS)], 1.2, True) for k, part in enumerate(parts.T)]
    return _drawing([*body, line(p, x, whole, INK)], f"density of a mixture of {len(model.means_)} components")


def trace_drawing(
    trace: Sequence[float], marks: Sequence[tuple[int, str]] = (), what: str = "mean log-likelihood"
) -> Drawing:
    """What was climbed, turn by turn; a mark where a turn fell or a component began anew."""
    if not len(trace):
        raise ModelError("there is no trace to draw: no turn was made")
    turns, told = np.arange(1.0, len(trace) + 1), counted(len(trace), "turn")
    p = box(turns, np.asarray(trace, dtype=float), high=200.0, across=(1.0, max(2.0, turns[-1])))
    body = [*axes(p, told, "turn", what), line(p, turns, trace, COLOURS[0])]
    for turn, why in marks:
        if 1 <= turn <= len(trace):
            at = p.at_x(turn), p.at_y(trace[turn - 1])
            body.append(disc(at, f"turn {turn}: {why}", "mark", 4, COLOURS[5]))
    return _drawing(body, f"{what} over {told}", high=200.0)


def steps_drawing(model: GaussianMixture, X: Any, turns: Sequence[int], columns: Sequence[int] = (0, 1)) -> Drawing:
    """EM's steps side by side: the mixture after so many turns from one start (give `random_state` or a told start)."""
    if not len(turns):
        raise BadParameter("turns has at least one number of turns to draw")
    rows = np.asarray(X, dtype=float)
    models = []
    for turn in turns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(clone(model).set_params(max_iter=turn, tol=0.0, warm_start=False).fit(rows))
    at = _pair(models[0], columns)
    shown = _picked(rows)
    wide, high = 240.0, 210.0
    body = []
    for i, (turn, one) in enumerate(zip(turns, models)):
        p = box(shown[:, at[0]], shown[:, at[1]], left=i * wide, wide=wide, high=high)
        body += axes(p, "start" if turn == 0 else f"after {counted(turn, 'turn')}", *_names(one, at))
        body.append(clipped(p, _components(one, shown, at, p)))
    return _drawing(body, f"a mixture after {', '.join(map(str, turns))} turns", wide * len(models), high)


def kmeans_drawing(model: KMeans, X: Any, columns: Sequence[int] = (0, 1)) -> Drawing:
    """Two columns of the rows in the colours of their centres."""
    check_is_fitted(model, "cluster_centers_")
    X = _picked(model._open(X, reset=False))
    at = _pair(model, columns if model.n_features_in_ > 1 else (0, 0))
    centres = np.asarray(model.cluster_centers_, dtype=float)[:, at]
    p = box(np.append(X[:, at[0]], centres[:, 0]), np.append(X[:, at[1]], centres[:, 1]))
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(centres))]
    body = axes(p, f"{len(centres)} centres", *_names(model, at))
    body += dots(p, X[:, at[0]], X[:, at[1]], [colours[k] for k in model.predict(X)])
    for k, place in enumerate(p.points(*centres.T)):
        body.append(disc(place, f"centre {k}", "component", 5, colours[k], stroke=INK, stroke_width=2))
    return _drawing(body, f"{len(centres)} centres over {len(X)} points")


def mixture_html(model: GaussianMixture) -> str:
    """Weights and means of the components, and the trace, for a notebook."""
    names = _names(model, list(range(min(8, model.n_features_in_))))
    rows = [(w, mean[: len(names)]) for w, mean in zip(model.weights_[:20], model.means_)]
    ending = "converged" if model.converged_ else "did not converge"
    said = f"{len(model.means_)} components, {model.covariance_type}, {ending} in {model.n_iter_} turns"
    drawing = Markup(trace_drawing(model.lower_bounds_, model.marks_)) if model.lower_bounds_ else ""
    return render("notebook", "mixture", type(model).__name__, said, names, rows, drawing)


def profile_drawing(model: Any) -> Drawing:
    """A column of bars for each class; P(value|class) by their length, mean ± spread on the scale of the column."""
    tables = dict(model.tables_)
    key = next(iter(tables))
    prior = tables.pop(key)["P"]
    rows: list[tuple[str, str, list[tuple[float, float, str]]]] = [
        (key, "share", [(0.0, p, f"{p:.1%}") for p in prior]),
    ]
    for name, table in tables.items():
        rows += [(str(name), label, cells) for label, cells in _profile_rows(table)]
    return Drawing(svg(_profile(rows, [str(c) for c in prior.index])))


def _profile_rows(table: Any) -> list[tuple[str, list[tuple[float, float, str]]]]:
    """(label, for each class where a bar begins and ends and what it says)."""
    labels = list(table.index)
    if labels == ["mean", "sd"]:
        mean, sd = table.to_numpy()
        mean = np.where(np.abs(mean) < 1e-3 * sd, 0.0, mean)  # 3e-102 ± 0.05 says less than 0 ± 0.05
        low, high = float((mean - sd).min()), float((mean + sd).max())
        width = high - low if high > low else 1.0
        ends = zip((mean - sd - low) / width, (mean + sd - low) / width, mean, sd)
        return [("mean ± sd", [(float(a), float(b), f"{m:.3g} ± {s:.2g}") for a, b, m, s in ends])]
    if labels == ["rate"]:
        rate = table.to_numpy()[0]
        top = float(rate.max()) or 1.0
        return [("rate", [(0.0, float(r / top), f"{r:.3g}") for r in rate])]
    values = table.to_numpy()
    shown = np.sort(np.argsort(-values.max(axis=1), kind="stable")[:MOST_VALUES])
    found = [(str(labels[i]), [(0.0, float(p), f"{p:.1%}") for p in values[i]]) for i in shown]
    return found + ([(f"… {len(labels) - MOST_VALUES} more", [])] if len(labels) > MOST_VALUES else [])


def _profile(rows: list[tuple[str, str, list[tuple[float, float, str]]]], classes: list[str]) -> Element:
    left = max(text_width(said) for name, label, _ in rows for said in (name, "  " + label)) + GAP
    places = [left + k * (BARS + GAP) for k in range(len(classes))]
    body, y, last = [written(x, LINE / 2, name, weight=600) for x, name in zip(places, classes)], float(LINE), ""
    for name, label, cells in rows:
        if name != last:
            y += LINE * 0.4
            body.append(written(0, y + LINE / 2, name, weight=600))
            y, last = y + LINE, name
        body.append(written(GAP, y + LINE / 2, label))
        for x, of, (a, b, said) in zip(places, classes, cells):
            frame: Look = {"fill": "none", "stroke": BOX, "stroke_width": "0.4"}
            body.append(element("rect", x=x, y=y + 1, width=BARS, height=LINE - 2, **frame))
            size: Look = {"width": max(BARS * (b - a), 0.6), "height": LINE - 2}
            tip = f"{name} {label}, class {of}: {said}"
            body.append(element("rect", tip=tip, class_="bar", x=x + BARS * a, y=y + 1, **size, fill=BAR))
            body.append(written(x + 4, y + LINE / 2, said))
        y += LINE
    return alone(body, f"profile of {len(classes)} classes", left + len(classes) * (BARS + GAP), y)
