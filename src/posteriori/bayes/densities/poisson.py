"""Count columns that do not compete: P(x|y) = r^x e^(−r)/x!, r the mean of the class.

Smoothing adds λ rows with the column's mean over all classes: r = (Σx + λ·x̄)/(n + λ), so that no rate is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from ...statistics import Moments
from ...statistics.collect import refuse_bad_counts
from ...table.encode import numbers
from ...table.schema import Schema
from ...table.sources import Frame
from .base import Floats, Seen, mutual_information

Array = NDArray[Any]


class Poisson:
    """The rate r of each class and column."""

    def __init__(self, where: list[int], names: list[str], moments: Moments, smoothing: float) -> None:
        self.where, self.names = where, names
        middle = moments.pooled().mean
        weight = moments.n + smoothing
        total = moments.n * moments.mean + smoothing * middle
        self.rate = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), middle)

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)
        refuse_bad_counts(x, self.names)
        seen.missing += int(np.isnan(x).sum())
        gone = np.isnan(x)
        x = np.where(gone, 0.0, x)
        out = np.array(np.broadcast_to(start, (len(x), len(self.rate))))
        for c, rate in enumerate(self.rate):
            out[:, c] += np.where(gone, 0.0, xlogy(x, rate) - rate - gammaln(x + 1)).sum(axis=1)
        return out

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, :, None]
        rate = self.rate.T
        return np.where(np.isnan(x), 0.0, xlogy(np.nan_to_num(x), rate) - rate - gammaln(np.nan_to_num(x) + 1))

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return list(rng.poisson(self.rate[y]).T)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {name: {"rate": self.rate[:, k]} for k, name in enumerate(self.names)}

    def information(self, prior: Floats) -> Floats:
        found = []
        for rate in self.rate.T:
            top = int(rate.max() + 12 * np.sqrt(rate.max() + 1)) + 2
            x = np.arange(top)[:, None]
            found.append(mutual_information(np.exp(xlogy(x, rate) - rate - gammaln(x + 1)) * prior))
        return np.array(found)
