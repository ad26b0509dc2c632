"""The hard margin: whether there is one, and an interior-point method: few, costly steps where pairs need millions.

    min ½βᵀKβ − pᵀβ     subject to  y_i β_i ≥ 0,  Σβ = 0

With α = yβ and its multipliers z > 0, a step solves Kβ − p + b − yz = 0, Σβ = 0, α z = μ by Newton's method, μ going to 0
(Mehrotra 1992). A step costs the factor of one matrix, however narrow the margin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Array, Floats
from ..errors import ModelError, NotSeparable

if TYPE_CHECKING:
    from .smo import Problem

TINY_MARGIN = 1e-5  # of the spread of the data: a hard margin below this is none that double precision can tell
NO_KERNEL = 1e-9  # βᵀKβ below minus this share of (Σ|β|)²·max K is no rounding error
STEPS = 60
NEAR = 0.995  # of the way to the nearest bound
CLOSED = 1e-10  # complementarity, in units of f, at which the point is as good as double precision makes it
SMALL = 1500  # up to here threads cost a factor more than they bring


def interior(K: Floats, p: Floats, y: Floats) -> Floats | None:
    """β near the optimum, y β ≥ 0 and Σβ = 0 to rounding; None where the steps lead nowhere."""
    with threadpool_limits(1 if len(p) <= SMALL else None, "blas"):
        beta, z = _steps(K, p, y)
    alpha = y * beta
    alpha[alpha < z * 1e-6 * float(alpha.max(initial=0.0))] = 0.0  # on its bound
    beta = y * alpha
    lacks = float(beta.sum())
    at = int((alpha * (y * lacks > 0)).argmax())  # what Σβ lacks is taken from the largest on that side
    beta[at] -= lacks
    return beta if np.isfinite(beta).all() and y[at] * beta[at] >= 0 else None


def _steps(K: Floats, p: Floats, y: Floats) -> tuple[Floats, Floats]:
    """β and z where the steps ended."""
    n = len(p)
    beta = y / max(float(K.diagonal().mean()), np.finfo(float).tiny)
    z, b = np.ones(n), 0.0
    for _ in range(STEPS):
        alpha = y * beta
        mu = float(alpha @ z) / n
        dual, primal = K @ beta - p + b - y * z, float(beta.sum())
        if max(mu / max(1.0, float(alpha.mean())), float(np.abs(dual).max())) < CLOSED:
            break
        try:
            factor = cho_factor(K + np.diag(z / alpha), lower=True, check_finite=False)
        except LinAlgError:  # K is no kernel, or its digits are used up
            break
        ones = cho_solve(factor, np.ones(n), check_finite=False)

        def towards(product: Floats) -> tuple[Floats, float, Floats]:
            """The step to α z = product."""
            rest = cho_solve(factor, -dual + y * (product / alpha - z), check_finite=False)  # noqa: B023
            more = (float(rest.sum()) + primal) / float(ones.sum())  # noqa: B023
            move = rest - more * ones  # noqa: B023
            return move, more, (product - z * y * move) / alpha - z  # noqa: B023

        move, _, dz = towards(np.zeros(n))
        far = min(_room(alpha, y * move), _room(z, dz))
        aim = mu * (float((alpha + far * y * move) @ (z + far * dz)) / (mu * n)) ** 3
        move, more, dz = towards(aim - y * move * dz)
        far = NEAR * min(_room(alpha, y * move), _room(z, dz))
        if not np.isfinite(move).all() or far < 1e-8:
            break
        beta, b, z = beta + far * move, b + far * more, z + far * dz
    return beta, z


def _room(value: Floats, step: Floats) -> float:
    """The longest step ≤ 1/NEAR that keeps value + step·t ≥ 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(step < 0, -value / step, np.inf).min(initial=1.0 / NEAR))


def by_interior(left: Problem, K: Array) -> None:
    """The hard margin by an interior point, where that is nearer to the optimum."""
    y = np.where(left.high > 0, 1.0, -1.0)
    with np.errstate(all="ignore"):  # where there is no margin it goes to infinity, and is not taken
        beta = interior(np.ascontiguousarray(K, dtype=np.float64), left.p, y)
        v = left.p - K @ beta if beta is not None else left.v
    if beta is not None and np.isfinite(v).all():
        there = replace(left, beta=beta, v=v)
        if there.gap() < left.gap():
            left.beta[:], left.v[:] = beta, v


def width(problem: Problem) -> float:
    """No hard margin is wider than this, in units of the data's spread; negative where K shows that it is no kernel.

    Scaled to Σα = 2, α names a point in each hull, and ‖w‖ is their distance: no margin is wider than 2‖w‖/Σα.
    """
    total, spread = float(np.abs(problem.beta).sum()), problem.gram.spread()
    energy = float(problem.beta @ (problem.p - problem.v))
    if total == 0 or spread == 0:
        return np.inf
    if not energy >= -NO_KERNEL * (total * spread) ** 2:
        return -1.0
    return 2 * float(np.sqrt(max(0.0, energy))) / total / spread


def refuse_inseparable(problem: Problem) -> None:
    """A hard margin has no solution where the hulls of the classes meet: α then grows without end."""
    if not problem.hard:
        return
    margin, spread = width(problem), problem.gram.spread()
    if margin < 0:
        raise ModelError(
            "C=inf asks for a hard margin, which only a positive semi-definite kernel has; this one is not: "
            "give a finite C, or another kernel"
        )
    if margin < TINY_MARGIN and problem.gram.definite:
        raise ModelError(
            f"C=inf asks for a hard margin; distinct rows under this kernel have one, but narrower than {margin:.3g} of "
            "their spread, too narrow for double precision: give a finite C, or a larger gamma (a smaller sigma)"
        )
    if margin < TINY_MARGIN:
        raise NotSeparable(
            f"C=inf asks for a hard margin, but no margin is wider than {margin * spread:.3g} "
            f"(the data spread over {spread:.3g}); give a finite C for a soft margin, or another kernel"
        )
