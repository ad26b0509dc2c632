"""Numeric columns without a shape: kernels around the values that training had, or bins.

Both read the histogram N[v, y] of the column. `kernel`: p(x|y) = [Σ_v N[v, y] φ((x − v)/h_y)/h_y + ν p₀(x)]/(n_y + ν), the
width h_y by Silverman's rule from the same σ² as a Gaussian's, ν rows from the normal p₀ of the column over all classes:
far from every value all classes agree, so that no value that is new to a class rules it out by thousands of nats.
`binned`: the column is cut and the bins are counted like categories.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...statistics import Moments
from ...statistics.cuts import find_cuts
from ...statistics.histogram import Histogram
from ...table.encode import numbers
from ...table.frame import Frame
from ...table.schema import Schema
from .base import Seen, mutual_information
from .gaussian import ROWS, Gaussian, refuse_infinite, usual_spread

CHUNK = 1 << 22  # numbers held at once while kernels are summed


class KernelDensity:
    """A Gaussian kernel around each value, as wide as Silverman's rule says for the class."""

    def __init__(self, where: int, name: str, histogram: Histogram, floor: float) -> None:
        self.where, self.name = [where], name
        self.centres = histogram.centres
        weights = histogram.table.astype(np.float64)
        n = weights.sum(axis=0)
        weights[:, n == 0] = weights.sum(axis=1)[:, None]  # a class with no cell: the column over all classes
        total = weights.sum(axis=0)
        self.weights = weights / np.where(total > 0, total, 1.0)
        squares = (self.weights**2).sum(axis=0)
        self.n = 1 / np.where(squares > 0, squares, 1.0)  # effective number of values: free of the scale of the weights
        moments = self._moments(weights)
        self.normal = Gaussian([where], [name], moments, floor, 0.0)
        pooled = moments.pooled()
        self.base = float(pooled.mean[0, 0]), float(max(pooled.variance()[0, 0], usual_spread(moments, floor)[0][0]))
        self.share = ROWS / (total + ROWS)  # of the base in each class
        self.width = np.array([self._silverman(c) for c in range(weights.shape[1])])

    def _moments(self, weights: Floats) -> Moments:
        """n, mean and M2 of the histogram."""
        n = weights.sum(axis=0)
        mean = self.weights.T @ self.centres if len(self.centres) else np.zeros(len(n))
        gap = self.centres[:, None] - mean
        return Moments(n[:, None], mean[:, None], (weights * gap * gap).sum(axis=0)[:, None])

    def _silverman(self, c: int) -> float:
        """h = 0.9 min(σ, IQR/1.34) n^(−1/5), n = 1/Σp², the distance of the quarters with ν rows of σ²."""
        if not len(self.centres):
            return 1.0
        p, n = self.weights[:, c], float(self.n[c])
        variance = float(self.normal.variance[c, 0])
        edges = np.cumsum(p)
        low, high = (float(self.centres[min(int(np.searchsorted(edges, q)), len(p) - 1)]) for q in (0.25, 0.75))
        middle = ((high - low) / 1.34) ** 2
        spread = min(variance, (n * middle + ROWS * variance) / (n + ROWS))
        return float(max(0.9 * np.sqrt(spread) * n**-0.2, 1e-150))

    def _log_density(self, x: Floats) -> Floats:
        """ln p(x|y), shape (len(x), K); far from every value the nearest kernel alone counts."""
        if not len(self.centres):
            return np.zeros((len(x), len(self.width)))
        out = np.empty((len(x), len(self.width)))
        step = max(1, CHUNK // max(len(self.centres), 1))
        for c, h in enumerate(self.width):
            live = self.weights[:, c] > 0
            centres, log_w = self.centres[live], np.log(self.weights[live, c])
            for i in range(0, len(x), step):
                z = (x[i : i + step, None] - centres) / h
                terms = log_w - 0.5 * z * z
                top = terms.max(axis=1)
                out[i : i + step, c] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
            out[:, c] -= np.log(h * np.sqrt(2 * np.pi))
        mean, variance = self.base
        base = -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
        both: Floats = np.logaddexp(out + np.log1p(-self.share), base[:, None] + np.log(self.share))
        return both

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, 0]
        seen, back = np.unique(np.where(np.isnan(x), 0.0, x), return_inverse=True)
        found = self._log_density(seen)[back]
        return np.where(np.isnan(x)[:, None], 0.0, found)[:, None, :]

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        x = numbers(frame, self.where)
        refuse_infinite(x, [self.name])
        seen.missing += int(np.isnan(x).sum())
        return start + self.parts(frame)[:, 0]

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        out = np.full(len(y), np.nan)
        for c in np.unique(y) if len(self.centres) else ():
            rows = y == c
            centres = rng.choice(self.centres, rows.sum(), p=self.weights[:, c] / self.weights[:, c].sum())
            near = rng.normal(centres, self.width[c])
            far = rng.normal(self.base[0], np.sqrt(self.base[1]), len(near))
            out[rows] = np.where(rng.random(len(near)) < self.share[c], far, near)
        return [out]

    def tables(self, schema: Schema) -> dict[str, Any]:
        mean = self.weights.T @ self.centres if len(self.centres) else np.zeros(len(self.width))
        return {self.name: {"mean": mean, "width": self.width}}

    def information(self, prior: Floats) -> Floats:
        if not len(self.centres):
            return np.zeros(1)
        some = self.centres[np.linspace(0, len(self.centres) - 1, min(len(self.centres), 300)).astype(int)]
        grid = np.unique(some[:, None] + (self.width[:, None] * np.linspace(-4, 4, 9)).ravel())
        return np.array([mutual_information(np.exp(self._log_density(grid)) * np.gradient(grid)[:, None] * prior)])


class Binned:
    """Bins by the MDL principle (Fayyad and Irani), each with (N + λ)/(N_y + Sλ); no cut found is one bin."""

    def __init__(self, where: int, name: str, histogram: Histogram, smoothing: float) -> None:
        self.where, self.name = [where], name
        self.cuts = find_cuts(histogram, "mdl")
        bins = np.searchsorted(self.cuts, histogram.values, side="right")
        self.table = np.zeros((len(self.cuts) + 1, histogram.table.shape[1]))
        np.add.at(self.table, bins, histogram.table)
        total = self.table.sum(axis=0) + len(self.table) * smoothing
        with np.errstate(divide="ignore"):
            theta = np.where(total > 0, (self.table + smoothing) / np.where(total > 0, total, 1.0), 1 / len(self.table))
            self.log_theta = np.log(theta)
        values = histogram.values if len(histogram.values) else np.zeros(1)
        self.edges = np.concatenate([values[:1], self.cuts, values[-1:]])

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, 0]
        found = self.log_theta[np.searchsorted(self.cuts, x, side="right").clip(0, len(self.cuts))]
        return np.where(np.isnan(x)[:, None], 0.0, found)[:, None, :]

    add_to = KernelDensity.add_to

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        edges = np.cumsum(np.exp(self.log_theta), axis=0)
        bins = np.minimum((rng.random(len(y)) * edges[-1, y] > edges[:, y]).sum(axis=0), len(self.table) - 1)
        return [rng.uniform(self.edges[bins], np.maximum(self.edges[bins + 1], self.edges[bins]))]

    def tables(self, schema: Schema) -> dict[str, Any]:
        ends = [-np.inf, *self.cuts.tolist(), np.inf]
        labels = [f"[{a:g}, {b:g})" for a, b in itertools.pairwise(ends)]
        return {self.name: dict(zip(labels, np.exp(self.log_theta)))}

    def information(self, prior: Floats) -> Floats:
        return np.array([mutual_information(self.table)])
