"""How wide columns are over all classes: what a class of few rows leans on.

Symbols: d columns that are not constant, n rows of a class, s² the variance of a column over all rows. Every variance of
the class is widened by 0.3 (d + 2)/(n + d + 2) s²: as if there were some rows more, as wide as all (Fraley and Raftery,
2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Bools, Floats
from ..bayes.densities.gaussian import ROUNDING
from .normals import units

PRIOR = 0.3  # of the d + 2 rows as wide as a column is over all rows, which a class is widened by
FAINT = 1e-6  # what a row weighs that stands for a column of which a class has no cell


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and variance of every column over all rows, whatever their class; a constant column has a width of its size."""

    mean: Floats
    variance: Floats
    constant: Bools

    @classmethod
    def of(cls, X: Array, weights: Floats | None) -> Spread:
        """Each column in its own unit, so that squares neither overflow nor vanish."""
        w = np.ones(len(X)) if weights is None else weights / weights.max()
        scale = units(X, 0.0, "diag", True)
        mean, variance = np.empty((2, X.shape[1]))
        for j, s in enumerate(scale):
            x = X[:, j].astype(np.float64) / s
            some = ~np.isnan(x)
            mean[j] = np.average(x[some], weights=w[some]) if w[some].any() else x[some].mean()
            variance[j] = np.average((x[some] - mean[j]) ** 2, weights=w[some]) if w[some].any() else 0.0
        constant = variance <= (ROUNDING * mean) ** 2
        with np.errstate(over="ignore", under="ignore"):
            size = np.maximum((mean * scale) ** 2, 1.0)
            return cls(mean * scale, np.where(constant, size, variance * scale**2), constant)

    def floors(self, n: float, prior: float = PRIOR) -> Floats:
        """What is added to the variances of a class of n rows."""
        rows = np.count_nonzero(~self.constant) + 2
        return np.where(self.constant, 1.0, prior * rows / (n + rows)) * self.variance

    def completed(self, rows: Array, weights: Floats | None) -> tuple[Array, Floats | None]:
        """The rows of a class; where it has no cell of a column, two faint rows say how that column is in all classes."""
        lacking = np.flatnonzero(np.isnan(rows).all(axis=0))
        if not len(lacking):
            return rows, weights
        own = np.ones(len(rows)) if weights is None else weights
        more = np.full((2 * len(lacking), rows.shape[1]), np.nan, dtype=rows.dtype)
        for k, j in enumerate(lacking):
            width = 0.0 if self.constant[j] else np.sqrt(self.variance[j])
            more[2 * k : 2 * k + 2, j] = self.mean[j] - width, self.mean[j] + width
        return np.vstack([rows, more]), np.append(own, np.full(len(more), FAINT * own.mean()))
