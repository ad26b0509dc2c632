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

from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from ..arrays import Floats
from ..kernels.margin import Descent, Epoch, descend

FEW_COLUMNS = 1000  # up to here a Hessian is worth its memory and its factor
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


def by_newton(X: Any, y: Floats, C: Floats, bias: float, tol: float, rounds: int) -> Plane:
    """Newton's method on the squared hinge with a step that always descends.

    It ends when ‖g‖ ≤ tol · (share of the rarer class) · ‖g at w = 0‖, and takes one more step on the last quadratic piece.
    """
    n, d = X.shape
    w, margin = np.zeros(d + 1), np.zeros(n)
    curvature = Hessian(X, C, bias) if d <= FEW_COLUMNS else Products(X, C, bias)
    goal, done = np.inf, False
    for k in range(rounds):
        pull = np.where(margin < 1.0, C * (y - y * margin), 0.0)
        g = w - 2.0 * np.append(X.T @ pull, bias * pull.sum())
        size = float(np.linalg.norm(g))
        if k == 0:
            goal = tol * float(min(np.mean(y > 0), np.mean(y < 0))) * size
        if done or size == 0.0:
            return Plane(w, k, True)
        done = size <= goal
        move = curvature.direction(g, margin < 1.0, size)
        slope = y * (X @ move[:-1] + bias * move[-1])
        step = _step(margin, slope, C, w, move, float(g @ move))
        w, margin = w + step * move, margin + step * slope
    return Plane(w, rounds, done)


class Hessian:
    """H as a matrix: rows that enter or leave the margin are added or taken."""

    def __init__(self, X: Any, C: Floats, bias: float):
        self.X, self.C, self.bias = X, C, bias
        self.inside = np.zeros(X.shape[0], bool)
        self.H = np.eye(X.shape[1] + 1)

    def direction(self, g: Floats, inside: NDArray[np.bool_], size: float) -> Floats:
        """−H⁻¹g."""
        self.H += self._squares(inside & ~self.inside) - self._squares(self.inside & ~inside)
        self.inside = inside
        return -np.asarray(cho_solve(cho_factor(self.H), g))

    def _squares(self, rows: NDArray[np.bool_]) -> Floats:
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
    """H known by its products alone: conjugate gradients give H⁻¹g as well as is needed."""

    def __init__(self, X: Any, C: Floats, bias: float):
        self.X, self.C, self.bias = X, C, bias

    def direction(self, g: Floats, inside: NDArray[np.bool_], size: float) -> Floats:
        """−H⁻¹g to a tenth of ‖g‖."""
        X, weight = self.X[inside], 2.0 * self.C[inside]
        across = X.T.tocsr() if sparse.issparse(X) else X.T
        out, rest = np.zeros_like(g), -g
        along, square = rest.copy(), float(rest @ rest)
        for _ in range(len(g)):
            if np.sqrt(square) <= 0.1 * size:
                break
            inner = weight * (X @ along[:-1] + self.bias * along[-1])
            product = along + np.append(across @ inner, self.bias * inner.sum())
            step = square / float(along @ product)
            out, rest = out + step * along, rest - step * product
            square, before = float(rest @ rest), square
            along = rest + (square / before) * along
        return out


def _step(margin: Floats, slope: Floats, C: Floats, w: Floats, move: Floats, start: float) -> float:
    """t > 0 where the derivative of the objective along w + t·move has shrunk to a tenth of `start`, its value at 0.

    The derivative is increasing and piecewise linear in t, so Newton's method on it, kept between its bounds, ends.
    """
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(30):
        slack = np.maximum(0.0, 1.0 - margin - t * slope)
        value = float((w + t * move) @ move - 2.0 * (C * slack) @ slope)
        if abs(value) <= 0.1 * abs(start):
            break
        bend = float(move @ move + 2.0 * (C * (slack > 0) * slope) @ slope)
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / bend
        t = guess if low < guess < high else (low + high) / 2
    return t
