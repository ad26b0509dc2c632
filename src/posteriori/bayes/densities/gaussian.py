"""Numeric columns: p(x_j|y) = exp(−(x_j − μ)²/2σ²)/√(2πσ²), μ and σ² by maximum likelihood.

A class whose values are all alike has no width of its own: it takes a share (`floor`) of the column's variance over all
rows. That happens here, when predicting; what is stored are n, mean and M2, so that nothing depends on how rows came in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadValue
from ...kernels import naive as kernels
from ...statistics import Moments
from ...table.encode import numbers
from ...table.schema import Schema
from ...table.sources import Frame
from .base import Floats, Seen, mutual_information

Array = NDArray[Any]
ALIKE = 1e-9  # a class with less than this share of the column's variance has values that are all alike
TINY = float(np.finfo(float).tiny)


class Gaussian:
    """μ and σ² of each class and column; where a class has no cell of a column, the column's own over all classes."""

    def __init__(self, where: list[int], names: list[str], moments: Moments, floor: float, ddof: float) -> None:
        self.where, self.names = where, names
        pooled = moments.pooled()
        spread = pooled.variance()
        scale = np.where(spread > 0, spread, np.maximum(pooled.mean**2, 1.0))  # a constant column tells nothing
        self.mean = np.ascontiguousarray(np.where(moments.n > 0, moments.mean, pooled.mean))
        variance = np.where(moments.n > 0, moments.variance(ddof), pooled.variance(ddof))
        alike = variance <= ALIKE * scale
        self.variance = np.ascontiguousarray(np.where(alike, np.maximum(floor * scale, TINY), variance))

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        x = numbers(frame, self.where)
        out, _, met = kernels.score_gaussian(x, self.mean, self.variance, start, False, n_jobs)
        if met & kernels.INF:
            refuse_infinite(x, self.names)
        if met & kernels.NAN:
            seen.missing += int(np.isnan(x).sum())
        return out

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, :, None]
        mean, variance = self.mean.T, self.variance.T
        found = -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
        return np.where(np.isnan(x), 0.0, found)

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return list(rng.normal(self.mean[y], np.sqrt(self.variance[y])).T)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {
            name: {"mean": self.mean[:, k], "sd": np.sqrt(self.variance[:, k])} for k, name in enumerate(self.names)
        }

    def information(self, prior: Floats) -> Floats:
        """By a fine sum over the line where the densities live."""
        found = []
        for mean, variance in zip(self.mean.T, self.variance.T):
            sd = np.sqrt(variance)
            grid = np.unique(np.concatenate([m + s * np.linspace(-8, 8, 801) for m, s in zip(mean, sd)]))
            log_p = -0.5 * (np.log(2 * np.pi * variance) + (grid[:, None] - mean) ** 2 / variance)
            found.append(
                mutual_information(np.exp(log_p) * np.gradient(grid)[:, None] * prior if len(grid) > 1 else prior[None])
            )
        return np.array(found)


def refuse_infinite(x: Array, names: list[str]) -> None:
    """The first infinite cell, named."""
    bad = np.argwhere(np.isinf(x))
    if len(bad):
        i, k = (int(v) for v in bad[0])
        raise BadValue(
            f"row {i}, column {names[k]!r}: Input contains infinity ({x[i, k]}); numbers must be finite or missing"
        )
