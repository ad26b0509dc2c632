"""Ridge multinomial logistic regression over coded columns: the conditional likelihood climbed by counting.

Symbols: z_r the features of row r (a one for its value of every column, then numbers), w_r its weight, Σw = 1; B[f, y] and
b[y] what is sought; T a table, or none; τ = ⟨B, T⟩/⟨T, T⟩, the multiple of T that is nearest to B.

    η_r = b + Bᵀz_r,   p_r = softmax(η_r),   L = −Σ_r w_r ln p_r[y_r] + ½λ‖B − τT‖² + κ(τ − 1)²
    ∂L/∂B[f, y] = Σ_r z_rf w_r p_r[y] − Σ_r z_rf w_r [y_r = y] + λ(B − τT)[f, y] + …

The gradient is the counts that the model expects less those there are: a *pass* is one scoring of the rows (`scores`) and
one counting by shares (`sums`), the two kernels of naive Bayes and of EM. The first step is free: the best temperature of
the start, for which its scores are enough. Then L-BFGS walks in the metric that rows in doubt make, H₀ = (S_y + λ)⁻¹ with
S_y = Σ_r w_r p_r[y](1 − p_r[y]) (z_r − m_y)(z_r − m_y)ᵀ, made anew after 1, 2, 4, … steps, so that columns which repeat
each other cost no steps; S_y is counted too, by pairs of values. Along a direction the scores of all rows are linear: the
search for the length of a step looks at no column.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats
from ..blas import one_thread
from ..kernels.naive import normalise
from .design import FEW, ByColumn, ByValue

MEMORY = 15  # steps that L-BFGS remembers
ANEW = frozenset({0, *(2**i for i in range(60))})  # steps before which the metric is made
TRIES = 30  # lengths of one step
ENOUGH, STEEP = 1e-4, 0.9  # Wolfe's conditions


@dataclass(frozen=True, eq=False)
class Fitted:
    """B and b, with L after every pass."""

    B: Floats
    b: Floats
    trace: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, eq=False)
class Point:
    """Where the walk is: B and b, the scores of all rows, L and its gradient."""

    B: Floats
    b: Floats
    eta: Floats
    loss: float
    G: Floats  # w (p − [y])


def fit_ridge(
    design: ByValue | ByColumn,
    y: Array,
    w: Floats,
    ridge: float,
    start: tuple[Floats, Floats],
    towards: Floats | None,
    hold: float,
    tol: float,
    max_iter: int,
    anew: frozenset[int] = ANEW,
    few: int = FEW,
) -> Fitted:
    """Walk from `start` = (B, b) until a step promises less than `tol` nats a row, or for `max_iter` passes.

    Weights sum to one. The ridge pulls `towards` the multiples of a table T, and these to T
    itself by `hold` (κ); or to zero. The metric is made before the steps `anew`, of matrices if no more than
    `few` features vary.
    """
    with one_thread(0):  # the rows are shared out by kernels of our own; products of matrices here are small
        return _walk(design, y, w, ridge, start, towards, hold, tol, max_iter, anew, few)


def _walk(
    design: ByValue | ByColumn,
    y: Array,
    w: Floats,
    ridge: float,
    start: tuple[Floats, Floats],
    towards: Floats | None,
    hold: float,
    tol: float,
    max_iter: int,
    anew: frozenset[int] = ANEW,
    few: int = FEW,
) -> Fitted:
    every = np.arange(design.n)
    whole = 0.0 if towards is None else _dot(towards, towards)

    def ridged(B: Floats) -> tuple[float, Floats]:
        """What the ridge charges, and its gradient."""
        if towards is None or whole == 0.0:
            return 0.5 * ridge * _dot(B, B), ridge * B
        tau = _dot(B, towards) / whole
        rest = B - tau * towards
        charge = 0.5 * ridge * _dot(rest, rest) + hold * (tau - 1.0) * (
            tau - 1.0
        )  # which may be inf: a power would raise
        return charge, ridge * rest + (2.0 * hold * (tau - 1.0) / whole) * towards

    def at(B: Floats, b: Floats, eta: Floats) -> Point:
        p, evidence = normalise(eta, design.n_jobs)
        loss = float(w @ (evidence - eta[every, y])) + ridged(B)[0]
        p[every, y] -= 1.0
        p *= w[:, None]
        return Point(B, b, eta, loss, p)

    def search(here: Point, step: tuple[Floats, Floats], along: Floats) -> Point | None:
        slope = _dot(here.G, along) + _dot(ridged(here.B)[1], step[0])
        return _search(here, step, along, slope, at, lambda q: _dot(ridged(q.B)[1], step[0]))

    def gradient(point: Point) -> tuple[Floats, Floats]:
        return design.sums(point.G) + ridged(point.B)[1], point.G.sum(axis=0)

    here = at(*start, design.scores(*start))
    trace, converged, memory = [here.loss], False, _Memory()
    for k in range(max_iter):
        if k == 0:
            cooler = search(here, (-here.B, -here.b), -here.eta)
            here = here if cooler is None else cooler
            g = gradient(here)
        if k in anew:
            memory.first = design.metric(w, normalise(here.eta, design.n_jobs)[0], ridge, few).newton
        step = memory.direction(*g)
        converged = not -0.5 * (_dot(g[0], step[0]) + _dot(g[1], step[1])) > tol
        there = None if converged else search(here, step, design.scores(*step))
        if there is None:  # or rounding: no step is downhill any more
            return Fitted(here.B, here.b, tuple(trace), True)
        new = gradient(there)
        memory.add((there.B - here.B, there.b - here.b), (new[0] - g[0], new[1] - g[1]))
        here, g = there, new
        trace.append(here.loss)
    return Fitted(here.B, here.b, tuple(trace), max_iter == 0)


def _search(
    here: Point,
    step: tuple[Floats, Floats],
    along: Floats,
    slope: float,
    at: Callable[[Floats, Floats, Floats], Point],
    ridge_slope: Callable[[Point], float],
) -> Point | None:
    """A point on the line where L has fallen and its slope is less steep; L is convex, so a bracket closes in on one.

    Where the slope is uphill the line is walked the other way.
    """
    way = -1.0 if slope > 0 else 1.0
    t, low, high, slope = 1.0, 0.0, np.inf, -abs(slope)
    there = here
    for _ in range(TRIES if slope < 0 else 0):
        u = way * t
        there = at(here.B + u * step[0], here.b + u * step[1], here.eta + u * along)
        now = way * (_dot(there.G, along) + ridge_slope(there))
        if not there.loss <= here.loss + ENOUGH * t * slope or now > -STEEP * slope:
            high = t
        elif now < STEEP * slope:
            low = t
        else:
            return there
        foot = t * slope / (slope - now) if now > slope else np.inf  # of the parabola with these slopes
        open_ended = not np.isfinite(high)
        middle = 4 * t if open_ended else (low + high) / 2
        t = foot if low + 0.05 * (middle - low) < foot < (8 * t if open_ended else high) else middle
    return there if there.loss < here.loss else None


class _Memory:
    """L-BFGS: what the last steps told of the curvature, beside H₀."""

    first: Callable[[Floats, Floats], tuple[Floats, Floats]]

    def __init__(self) -> None:
        self.steps: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
        self.scale = 1.0

    def add(self, s: tuple[Floats, Floats], q: tuple[Floats, Floats]) -> None:
        """A step s along which the gradient has changed by q."""
        flat_s, flat_q = _flat(*s), _flat(*q)
        both, own = _dot(flat_s, flat_q), _dot(flat_q, _flat(*self.first(*q)))
        if both > 1e-14 * np.sqrt(_dot(flat_s, flat_s) * _dot(flat_q, flat_q)) and own > 0:
            self.steps.append((flat_s, flat_q, 1.0 / both))
            self.scale = both / own

    def direction(self, g: Floats, c: Floats) -> tuple[Floats, Floats]:
        """−H g."""
        r, kept = -_flat(g, c), []
        for s, q, rho in reversed(self.steps):
            a = rho * _dot(s, r)
            kept.append(a)
            r = r - a * q
        r = self.scale * _flat(*self.first(r[: g.size].reshape(g.shape), r[g.size :]))
        for (s, q, rho), a in zip(self.steps, reversed(kept)):
            r = r + (a - rho * _dot(q, r)) * s
        return r[: g.size].reshape(g.shape), r[g.size :]


def _flat(a: Floats, b: Floats) -> Floats:
    return np.concatenate([a.ravel(), b.ravel()])


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
