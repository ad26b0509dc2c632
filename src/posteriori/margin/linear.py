"""Linear margins for many rows: liblinear's objective, its intercept regularised with the rest.

    min ½‖w̃‖² + Σ C_i loss(1 − y_i w̃ᵀx̃_i)      w̃ = (w, b/s), x̃ = (x, s), s = intercept_scaling

loss(m) is max(0, m) ("hinge") or max(0, m)² ("squared_hinge").

Two ways to the same minimum. *Dual coordinate descent* visits one row at a time and keeps w = Σ α_i y_i x_i; it suits any
table. *Newton* works on the squared hinge itself, which is piecewise quadratic: with A the rows inside the margin,

    g = w̃ − 2 Σ_A C_i y_i (1 − y_i w̃ᵀx̃_i) x̃_i,      H = 1 + 2 Σ_A C_i x̃_i x̃_iᵀ

and a few steps H⁻¹g end it. With few columns H is a matrix, to which rows that enter A are added and from which those that
leave are taken; with many, conjugate gradients need only its products.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..arrays import Bools, Floats
from ..kernels.margin import Descent, Epoch, descend, row_dots, row_sums

FEW_COLUMNS = 1000  # up to here a Hessian is worth its memory and its factor
FEW_SPARSE = 50  # the same for sparse rows, whose products are cheap
SLICE = 8192  # rows whose products are summed at once


@dataclass(frozen=True, slots=True)
class Plane:
    """w̃, and how it was come by."""

    w: Floats
    rounds: int
    converged: bool


def objective(X: Any, y: Floats, C: Floats, w: Floats, bias: float, loss: str) -> float:
    """½‖w̃‖² + Σ C_i loss(1 − y_i w̃ᵀx̃_i)."""
    slack = np.maximum(0.0, 1.0 - y * (X @ w[:-1] + bias * w[-1]))
    return float(0.5 * w @ w + C @ (slack if loss == "hinge" else slack**2))


def by_descent(
    X: Any,
    y: Floats,
    C: Floats,
    bias: float,
    loss: str,
    tol: float,
    rounds: int,
    seed: int,
    interrupted: Event | None = None,
) -> Plane:
    """Dual coordinate descent, until the projected gradients of a pass over all rows lie within `tol` of each other."""
    n, d = X.shape
    squares = (
        np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else np.asarray(X.multiply(X).sum(axis=1)).ravel()
    )
    ridge = np.zeros(n) if loss == "hinge" else 0.5 / C
    upper = C if loss == "hinge" else np.full(n, np.inf)
    state = Descent(y, upper, ridge, squares + bias**2 + ridge, bias, np.zeros(n), np.zeros(d + 1), np.arange(n))
    state.curvature[state.curvature == 0] = 1.0  # a row of zeros under the hinge: its α goes to the bound at once
    last = Epoch(n)
    for k in range(rounds):
        if interrupted is not None and interrupted.is_set():
            return Plane(state.w, k, False)
        last = descend(X, state, last, seed + k)
        if last.top - last.bottom <= tol:
            if last.active == n:
                return Plane(state.w, k + 1, True)
            last = Epoch(n)  # all rows once more, before it may end
    return Plane(state.w, rounds, False)


def by_newton(X: Any, y: Floats, C: Floats, bias: float, tol: float, rounds: int, n_jobs: int | None = None) -> Plane:
    """Newton's method on the squared hinge with a step that always descends.

    It ends with the step whose decrement, what it promises to gain, is at most tol/10 of the objective: a rule that the
    units of the columns do not change. The step itself leaves far less.
    """
    n, d = X.shape
    w, margin = np.zeros(d + 1), np.zeros(n)
    few = d <= (FEW_COLUMNS if isinstance(X, np.ndarray) else FEW_SPARSE)
    curvature = Hessian(X, C, bias) if few else Products(X, C, bias, n_jobs)
    for k in range(rounds):
        slack = np.maximum(0.0, 1.0 - margin)
        g = w - 2.0 * row_sums(X, C * y * slack, bias, None, n_jobs)
        move = curvature.direction(g, slack > 0.0)
        start = float(g @ move)
        done = -0.5 * start <= 0.1 * tol * float(0.5 * w @ w + C @ slack**2)
        slope = y * row_dots(X, move, bias, n_jobs)
        step = _step(margin, slope, C, w, move, start)
        w, margin = w + step * move, margin + step * slope
        if done:
            return Plane(w, k + 1, True)
    return Plane(w, rounds, False)


class Hessian:
    """H as a matrix: rows that enter or leave the margin are added or taken."""

    def __init__(self, X: Any, C: Floats, bias: float):
        self.X, self.C, self.bias = X, C, bias
        self.inside = np.zeros(X.shape[0], bool)
        self.H = np.eye(X.shape[1] + 1)

    def direction(self, g: Floats, inside: Bools) -> Floats:
        """−H⁻¹g."""
        self.H += self._squares(inside & ~self.inside) - self._squares(self.inside & ~inside)
        self.inside = inside
        try:
            factor = cho_factor(self.H)
        except LinAlgError:  # what was added and taken has left its rounding errors: once more, from the rows
            self.H = np.eye(len(g)) + self._squares(inside)
            factor = cho_factor(self.H + np.diag(1e-13 * self.H.diagonal()))
        return -np.asarray(cho_solve(factor, g))

    def _squares(self, rows: Bools) -> Floats:
        """2 Σ C_i x̃_i x̃_iᵀ over the rows."""
        d = self.X.shape[1]
        total, at = np.zeros((d + 1, d + 1)), np.flatnonzero(rows)
        for part in range(0, len(at), SLICE):
            here = at[part : part + SLICE]
            scaled = np.empty((len(here), d + 1))
            scaled[:, :d] = self.X[here].toarray() if sparse.issparse(self.X) else self.X[here]
            scaled[:, d] = self.bias
            scaled *= np.sqrt(2.0 * self.C[here])[:, None]
            total += scaled.T @ scaled
        return total


class Products:
    """H known by its products alone: conjugate gradients, scaled by H's diagonal, give H⁻¹g as well as is needed."""

    def __init__(self, X: Any, C: Floats, bias: float, n_jobs: int | None = None):
        self.X, self.C, self.bias, self.n_jobs = X, C, bias, n_jobs
        self.squares: Any = copy(X)
        if sparse.issparse(X):
            self.squares.data = X.data**2
        else:
            self.squares *= X

    def direction(self, g: Floats, inside: Bools) -> Floats:
        """−H⁻¹g to a tenth of g, both in units of H's diagonal."""
        weight = np.where(inside, 2.0 * self.C, 0.0)
        scale = 1.0 / (1.0 + row_sums(self.squares, weight, self.bias**2, None, self.n_jobs))
        out, rest = np.zeros_like(g), -g
        along = scale * rest
        square = float(rest @ along)
        enough = 0.01 * square
        for _ in range(len(g)):
            if square <= enough:
                break
            product = along + row_sums(self.X, weight, self.bias, along, self.n_jobs)
            step = square / float(along @ product)
            out, rest = out + step * along, rest - step * product
            square, before = float(rest @ (scale * rest)), square
            along = scale * rest + (square / before) * along
        return out


def _step(margin: Floats, slope: Floats, C: Floats, w: Floats, move: Floats, start: float) -> float:
    """t > 0 where the derivative of the objective along w + t·move has shrunk to a third of `start`, its value at 0.

    The derivative is increasing and piecewise linear in t, so Newton's method on it, kept between its bounds, ends.
    """
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(30):
        slack = np.maximum(0.0, 1.0 - margin - t * slope)
        value = float((w + t * move) @ move - 2.0 * (C * slack) @ slope)
        if abs(value) <= 0.3 * abs(start):
            break
        bend = float(move @ move + 2.0 * (C * (slack > 0) * slope) @ slope)
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / bend
        t = guess if low < guess < high else (low + high) / 2
    return t
