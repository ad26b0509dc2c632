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
from ..kernels.mixture import broken_log_joint, broken_sums
from .normals import Normals, Sums


@dataclass(frozen=True, eq=False)
class Broken:
    """Rows that lack cells, pattern after pattern: which rows, where each pattern begins, their cells in units."""

    rows: Ints
    starts: Ints
    cells: Floats
    log_unit: Floats

    @classmethod
    def of(cls, X: Array, unit: Floats) -> tuple[Ints, Broken]:
        """(the complete rows, the others)."""
        gone = np.isnan(X)
        lacks = gone.any(axis=1)
        broken = np.flatnonzero(lacks)
        keys, back = np.unique(np.packbits(gone[broken], axis=1), axis=0, return_inverse=True)
        rows = broken[np.argsort(back.ravel(), kind="stable")]
        starts = np.concatenate([[0], np.cumsum(np.bincount(back.ravel(), minlength=len(keys)))]).astype(np.int64)
        cells = np.ascontiguousarray(X[rows].astype(np.float64) * unit)
        return np.flatnonzero(~lacks), cls(rows, starts, cells, np.log(unit))

    def log_joint(self, theta: Normals, n_jobs: int | None) -> Floats:
        """log π_k + log N(x_o; μ_o, Σ_oo) of these rows."""
        return broken_log_joint(
            self.cells, self.starts, theta.means, theta.covariances, theta.log_weights, self.log_unit, n_jobs
        )

    def sums(
        self, theta: Normals, weights: Floats | None, pivots: Floats, shares: Floats | None, n_jobs: int | None
    ) -> Sums:
        """The sums of these rows; `weights` and `shares` are those of all rows."""
        w = None if weights is None else weights[self.rows]
        r = None if shares is None else np.ascontiguousarray(shares[self.rows])
        ask = (self.cells, self.starts, w, theta.means, theta.covariances, theta.log_weights, self.log_unit, pivots, r)
        return Sums(*broken_sums(*ask, n_jobs), pivots)


def has_gaps(X: Array) -> bool:
    """Whether a cell is missing; the sum tells at once where none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum())) and bool(np.isnan(X).any())


def refuse_empty_columns(X: Array) -> None:
    """A column without a single cell has no mean."""
    empty = np.isnan(X).all(axis=0)
    if empty.any():
        raise BadValue(f"column {int(np.argmax(empty))} has no cell at all: leave it out")


def filled(X: Array) -> Array:
    """X with the mean of its column in each missing cell: for a start alone."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)
