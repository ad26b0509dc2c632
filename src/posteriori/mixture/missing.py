"""Rows with missing cells under normal components, by exact conditional expectation.

Symbols: o the cells that a row has, m those it lacks; rows that lack the same cells form a pattern and share

    B = Σ_mo Σ_oo⁻¹      C = Σ_mm − B Σ_om

for each component. A row's density is that of its own cells, N(z_o; μ_o, Σ_oo); what it lacks is expected at
ẑ_m = μ_m + B (z_o − μ_o), and its square at ẑ_m ẑ_mᵀ + C (Ghahramani and Jordan, 1994).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import BadValue
from .normals import Normals, Sums

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Pattern:
    """Rows that lack the same cells: which rows, the columns they have and lack, their cells in the model's units."""

    rows: Ints
    has: Ints
    lacks: Ints
    cells: Floats


def patterns(X: Array, unit: Floats) -> tuple[Ints, list[Pattern]]:
    """(the complete rows, the patterns of the others)."""
    gone = np.isnan(X)
    broken = np.flatnonzero(gone.any(axis=1))
    whole = np.flatnonzero(~gone.any(axis=1))
    if not len(broken):
        return whole, []
    keys, back = np.unique(np.packbits(gone[broken], axis=1), axis=0, return_inverse=True)
    order = np.argsort(back.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(back.ravel(), minlength=len(keys)))
    found = []
    for part in np.split(broken[order], ends[:-1]):
        lacks = gone[part[0]]
        has = np.flatnonzero(~lacks)
        found.append(Pattern(part, has, np.flatnonzero(lacks), X[np.ix_(part, has)].astype(np.float64) * unit[has]))
    return whole, found


def refuse_empty_columns(X: Array) -> None:
    """A column without a single cell has no mean."""
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise BadValue(f"column {int(np.argmax(empty))} has no cell at all: leave it out")


def pattern_log_joint(theta: Normals, pattern: Pattern, unit: Floats) -> Floats:
    """log π_k + log N(x_o; μ_o, Σ_oo) of the pattern's rows."""
    return _joint(theta, pattern, unit)[0]


def _joint(theta: Normals, pattern: Pattern, unit: Floats) -> tuple[Floats, Floats, Floats]:
    """(log joint (n, K), gaps z_o − μ_o (K, n, o), L⁻¹ of Σ_oo = L Lᵀ)."""
    has = pattern.has
    gap = pattern.cells[None] - theta.means[:, None, has]
    root = np.linalg.inv(np.linalg.cholesky(theta.covariances[:, has[:, None], has]))
    y = gap @ root.transpose(0, 2, 1)
    log_root = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + np.log(unit[has]).sum()
    const = theta.log_weights + log_root - len(has) * LOG_2PI / 2
    return (const[:, None] - 0.5 * np.einsum("kno,kno->kn", y, y)).T, gap, root


def pattern_sums(
    theta: Normals, pattern: Pattern, weights: Floats | None, unit: Floats, pivots: Floats, shares: Floats | None
) -> Sums:
    """The sums of the pattern's rows; `shares` are P(k | x) where they are known."""
    joint, gap, root = _joint(theta, pattern, unit)
    has, lacks = pattern.has, pattern.lacks
    w = np.ones(len(joint)) if weights is None else weights[pattern.rows]
    total = 0.0
    if shares is None:
        top = joint.max(axis=1)
        r = np.exp(joint - top[:, None])
        mass = r.sum(axis=1)
        total = float(w @ (top + np.log(mass)))
        r = r / mass[:, None]
    else:
        r = shares[pattern.rows]
    r = (r * w[:, None]).T
    sigma = theta.covariances
    cross = sigma[:, lacks[:, None], has]
    B = cross @ root.transpose(0, 2, 1) @ root
    whole = np.empty((len(r), gap.shape[1], theta.means.shape[1]))
    away = (theta.means - pivots)[:, None, :]
    whole[:, :, has] = gap + away[:, :, has]
    whole[:, :, lacks] = gap @ B.transpose(0, 2, 1) + away[:, :, lacks]
    n = r.sum(axis=1)
    second = (whole * r[:, :, None]).transpose(0, 2, 1) @ whole
    spread = sigma[:, lacks[:, None], lacks] - B @ cross.transpose(0, 2, 1)
    second[:, lacks[:, None], lacks] += n[:, None, None] * spread
    return Sums(total, n, np.einsum("kn,knd->kd", r, whole), second, pivots)


def filled(X: Array) -> Array:
    """X with the mean of its column in each missing cell: for a start alone."""
    gone = np.isnan(X)
    return np.where(gone, np.nanmean(X, axis=0), X) if gone.any() else X
