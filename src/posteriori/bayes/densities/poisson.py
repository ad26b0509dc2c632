"""Count columns that do not compete: P(x|y) = r^x e^(−r)/x!, r the mean of the class.

Smoothing adds λ rows with the column's mean over all classes: r = (Σx + λ·x̄)/(n + λ), so that no rate is zero; where all
counts were zero, x̄ is ½/(n + 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from ...arrays import Array, Floats
from ...statistics import Moments
from ...statistics.collect import refuse_bad_counts
from ...table.encode import numbers
from ...table.frame import Frame
from ...table.schema import Schema
from .base import Seen, mutual_information
from .gaussian import normal_information

LARGE = 10_000  # rates from which a Poisson is summed as a normal


class Poisson:
    """The rate r of each class and column."""

    def __init__(self, where: list[int], names: list[str], moments: Moments, smoothing: float) -> None:
        self.where, self.names = where, names
        pooled = moments.pooled()
        middle = np.where(pooled.mean > 0, pooled.mean, 0.5 / (pooled.n + 1)) if smoothing > 0 else pooled.mean
        weight = moments.n + smoothing
        total = moments.n * moments.mean + smoothing * middle
        self.rate = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), middle)

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)
        refuse_bad_counts(x, self.names)
        seen.missing += int(np.isnan(x).sum())
        gone = np.isnan(x)
        x = np.where(gone, 0.0, x)
        out = np.array(np.broadcast_to(start, (len(x), len(self.rate))), order="C")
        factorial = gammaln(x + 1)
        for c, rate in enumerate(self.rate):
            out[:, c] += np.where(gone, 0.0, xlogy(x, rate) - rate - factorial).sum(axis=1)
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
            if rate.max() > LARGE:
                found.append(normal_information(rate, np.maximum(rate, 1e-9), prior))
                continue
            top = int(rate.max() + 12 * np.sqrt(rate.max() + 1)) + 2
            x = np.arange(top)[:, None]
            found.append(mutual_information(np.exp(xlogy(x, rate) - rate - gammaln(x + 1)) * prior))
        return np.array(found)
