"""Drawings of mixtures: ellipses over points in the colours of their responsibilities, the likelihood turn by turn; the
classes of a latent class model side by side, bars for probabilities, a point and its spread for numbers.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Floats
from ..errors import BadParameter, ModelError, counted
from ..mixture.density import read_cells
from ..views import Drawing
from .markup import render
from .svg import BAR, BOX, INK, LINE, PAPER, framed, text_width

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


class Box:
    """A box with axes: data in, pixels out."""

    def __init__(
        self,
        x: Floats,
        y: Floats,
        left: float = 0.0,
        wide: float = WIDE,
        high: float = HIGH,
        across: tuple[float, float] | None = None,
    ) -> None:
        self.left, self.wide, self.high = left, wide, high
        self.x, self.y = across or _range(x), _range(y)

    def at(self, x: Any, y: Any) -> tuple[Any, Any]:
        across, up = (np.asarray(v, dtype=float) for v in (x, y))
        px = self.left + LEFT + (across - self.x[0]) / (self.x[1] - self.x[0]) * (self.wide - LEFT - 8)
        py = self.high - EDGE - (up - self.y[0]) / (self.y[1] - self.y[0]) * (self.high - EDGE - 22)
        return px, py

    def axes(self, title: str, xlabel: str, ylabel: str) -> str:
        (x0, y0), (x1, y1) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        told = [
            (x0, y0 + 14, "start", f"{self.x[0]:.3g}"),
            (x1, y0 + 14, "end", f"{self.x[1]:.3g}"),
            ((x0 + x1) / 2, y0 + 26, "middle", xlabel),
            (x0 - 4, y0, "end", f"{self.y[0]:.3g}"),
            (x0 - 4, y1 + 8, "end", f"{self.y[1]:.3g}"),
            ((x0 + x1) / 2, y1 - 8, "middle", title),
        ]
        texts = "".join(
            f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}" fill="{INK}">{html.escape(text)}</text>'
            for a, b, anchor, text in told
        )
        side = f'<text transform="translate({x0 - 22:.1f},{(y0 + y1) / 2:.1f}) rotate(-90)" text-anchor="middle" '
        return (
            f'<rect x="{x0:.1f}" y="{y1:.1f}" width="{x1 - x0:.1f}" height="{y0 - y1:.1f}" fill="{PAPER}" '
            f'stroke="{BOX}"/>{texts}{side}fill="{INK}">{html.escape(ylabel)}</text>'
        )

    def clipped(self, body: str) -> str:
        """What of a drawing lies inside the axes."""
        (x0, y0), (x1, y1) = self.at(self.x[0], self.y[0]), self.at(self.x[1], self.y[1])
        box = f"{x0:.1f} {y1:.1f} {x1 - x0:.1f} {y0 - y1:.1f}"
        x, y, wide, high = box.split()
        return f'<svg x="{x}" y="{y}" width="{wide}" height="{high}" viewBox="{box}">{body}</svg>'

    def line(self, x: Any, y: Any, colour: str, width: float = 1.6, dashed: bool = False) -> str:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self.at(x, y)))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>'


def _range(v: Floats) -> tuple[float, float]:
    known = np.asarray(v, dtype=float)
    known = known[np.isfinite(known)]
    lo, hi = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    room = 0.06 * (hi - lo) or max(abs(lo), 1.0) * 0.05
    return lo - room, hi + room


def _svg(body: str, label: str, wide: float = WIDE, high: float = HIGH) -> Drawing:
    return Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(label)}" width="{wide:.0f}" '
        f'height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" style="max-width:100%;height:auto" '
        f'font-family="system-ui,sans-serif" font-size="11">{body}</svg>'
    )


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


def _scene(model: GaussianMixture, X: Array, at: list[int], box: Box) -> str:
    """Points in the colours of their responsibilities, ellipses at one and two standard deviations."""
    body = []
    whole = np.isfinite(X[:, at]).all(axis=1)
    px, py = box.at(X[whole][:, at[0]], X[whole][:, at[1]])
    for x, y, colour in zip(px, py, blended(model.predict_proba(X[whole]))):
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}" fill-opacity="0.75"/>')
    for k, (mean, sigma) in enumerate(zip(np.asarray(model.means_, dtype=float), _matrices(model))):
        colour = COLOURS[k % len(COLOURS)]
        for deviations, width in ((1, 2.0), (2, 1.0)):
            body.append(box.line(*ellipse(mean[at], sigma[np.ix_(at, at)], deviations), colour, width, deviations == 2))
        x, y = box.at(*mean[at])
        body.append(
            f'<g class="component"><title>component {k}: weight {model.weights_[k]:.3g}</title>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" stroke="{INK}"/></g>'
        )
    return "".join(body)


def mixture_drawing(model: GaussianMixture, X: Any, columns: Sequence[int] = (0, 1)) -> Drawing:
    """Two columns of the rows and the components over them; of one column, the density and its parts."""
    check_is_fitted(model, "converged_")
    X = _picked(read_cells(model, X, reset=False))
    if model.n_features_in_ == 1:
        return _curves(model, X)
    at = _pair(model, columns)
    rings = [ellipse(m[at], s[np.ix_(at, at)], 2) for m, s in zip(model.means_.astype(float), _matrices(model))]
    box = Box(
        np.concatenate([X[:, at[0]], *(r[0] for r in rings)]), np.concatenate([X[:, at[1]], *(r[1] for r in rings)])
    )
    names = _names(model, at)
    body = box.axes(f"{len(model.means_)} components", *names) + _scene(model, X, at, box)
    return _svg(body, f"mixture of {len(model.means_)} components over {len(X)} points")


def _curves(model: GaussianMixture, X: Array) -> Drawing:
    known = X[np.isfinite(X[:, 0])]
    x = np.linspace(*_range(known[:, 0]), 200)
    parts = np.exp(model._log_joint(x[:, None]))
    box = Box(x, np.append(parts.sum(axis=1), 0.0))
    body = [box.axes(f"{len(model.means_)} components", _names(model, [0])[0], "density")]
    for point, colour in zip(known[:, 0], blended(model.predict_proba(known))):
        body.append(box.line([point, point], [0, 0.03 * parts.sum(axis=1).max()], colour, 1))
    body += [box.line(x, part, COLOURS[k % len(COLOURS)], 1.2, True) for k, part in enumerate(parts.T)]
    body.append(box.line(x, parts.sum(axis=1), INK))
    return _svg("".join(body), f"density of a mixture of {len(model.means_)} components")


def trace_drawing(
    trace: Sequence[float], marks: Sequence[tuple[int, str]] = (), what: str = "mean log-likelihood"
) -> Drawing:
    """What was climbed, turn by turn; a mark where a turn fell or a component began anew."""
    if not len(trace):
        raise ModelError("there is no trace to draw: no turn was made")
    turns, told = np.arange(1.0, len(trace) + 1), counted(len(trace), "turn")
    box = Box(turns, np.asarray(trace, dtype=float), high=200.0, across=(1.0, max(2.0, turns[-1])))
    body = [box.axes(told, "turn", what), box.line(turns, trace, COLOURS[0])]
    for turn, why in marks:
        if 1 <= turn <= len(trace):
            x, y = box.at(turn, trace[turn - 1])
            body.append(
                f'<g class="mark"><title>turn {turn}: {html.escape(why)}</title>'
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[5]}"/></g>'
            )
    return _svg("".join(body), f"{what} over {told}", high=200.0)


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
        box = Box(shown[:, at[0]], shown[:, at[1]], left=i * wide, wide=wide, high=high)
        names = _names(one, at)
        body.append(box.axes("start" if turn == 0 else f"after {counted(turn, 'turn')}", *names))
        body.append(box.clipped(_scene(one, shown, at, box)))
    return _svg("".join(body), f"a mixture after {', '.join(map(str, turns))} turns", wide * len(models), high)


def kmeans_drawing(model: KMeans, X: Any, columns: Sequence[int] = (0, 1)) -> Drawing:
    """Two columns of the rows in the colours of their centres."""
    check_is_fitted(model, "cluster_centers_")
    X = _picked(model._open(X, reset=False))
    at = _pair(model, columns if model.n_features_in_ > 1 else (0, 0))
    centres = np.asarray(model.cluster_centers_, dtype=float)[:, at]
    box = Box(np.append(X[:, at[0]], centres[:, 0]), np.append(X[:, at[1]], centres[:, 1]))
    body = [box.axes(f"{len(centres)} centres", *_names(model, at))]
    for x, y, k in zip(*box.at(X[:, at[0]], X[:, at[1]]), model.predict(X)):
        body.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{COLOURS[k % len(COLOURS)]}" fill-opacity="0.75"/>'
        )
    for k, (x, y) in enumerate(zip(*box.at(centres[:, 0], centres[:, 1]))):
        body.append(
            f'<g class="component"><title>centre {k}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="5" '
            f'fill="{COLOURS[k % len(COLOURS)]}" stroke="{INK}" stroke-width="2"/></g>'
        )
    return _svg("".join(body), f"{len(centres)} centres over {len(X)} points")


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
    return Drawing(_profile_svg(rows, [str(c) for c in prior.index]))


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


def _profile_svg(rows: list[tuple[str, str, list[tuple[float, float, str]]]], classes: list[str]) -> str:
    left = max(text_width(text) for name, label, _ in rows for text in (name, "  " + label)) + GAP
    body, y, last = [], float(LINE), ""
    for k, name in enumerate(classes):
        body.append(_text(left + k * (BARS + GAP), LINE / 2, name, strong=True))
    for name, label, cells in rows:
        if name != last:
            y += LINE * 0.4
            body.append(_text(0, y + LINE / 2, name, strong=True))
            y, last = y + LINE, name
        body.append(_text(GAP, y + LINE / 2, label))
        for k, (a, b, says) in enumerate(cells):
            x = left + k * (BARS + GAP)
            body.append(
                f'<rect x="{x:.1f}" y="{y + 1:.1f}" width="{BARS:.1f}" height="{LINE - 2}" fill="none" stroke="{BOX}" '
                f'stroke-width="0.4"/><rect class="bar" x="{x + BARS * a:.1f}" y="{y + 1:.1f}" '
                f'width="{max(BARS * (b - a), 0.6):.1f}" height="{LINE - 2}" fill="{BAR}">'
                f"<title>{html.escape(f'{name} {label}, class {classes[k]}: {says}')}</title></rect>"
            )
            body.append(_text(x + 4, y + LINE / 2, says))
        y += LINE
    return framed(body, f"profile of {len(classes)} classes", left + len(classes) * (BARS + GAP), y)


def _text(x: float, y: float, says: str, strong: bool = False) -> str:
    weight = ' font-weight="600"' if strong else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" dominant-baseline="central" fill="{INK}"{weight}>{html.escape(says)}</text>'
