"""Numeric columns without a shape: kernels around the values that training had, or bins.

Both read the histogram N[v, y] of the column. `kernel`: p(x|y) = [Σ_v N[v, y] φ((x − v)/h_y)/h_y + ν p₀(x)]/(n_y + ν), the
width h_y by Silverman's rule from the same σ² as a Gaussian's, ν rows from the normal p₀ of the column over all classes:
far from every value all classes agree, so that no value that is new to a class rules it out by thousands of nats.
`binned`: the column is cut and the bins are counted like categories.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...kernels.naive import kernel_tree, log_kernel_sums
from ...smoothing import share, theta
from ...statistics.cuts import bin_names, find_cuts
from ...statistics.histogram import Histogram
from ...statistics.moments import Moments
from ...table.encode import numbers
from ...table.frame import Frame
from ...table.schema import Schema
from .base import gauss_points, mutual_information
from .gaussian import ROWS, Gaussian, usual_spread

ROUNDING = 1e-9  # of a sum of shares: in which order rows came must not move a quarter by a whole value


def quantile(values: Floats, shares: Floats, q: float) -> float:
    """Where the shares of rising values reach q: a value, or the middle of two where the first of them reaches it just so.

    >>> quantile(np.array([0.0, 2.0, 9.0]), np.array([0.25, 0.25, 0.5]), 0.25)
    1.0
    """
    at = np.searchsorted(np.cumsum(shares), (q - ROUNDING, q + ROUNDING)).clip(max=len(values) - 1)
    return float((values[at] / 2).sum())


class KernelDensity:
    """A Gaussian kernel around each value, as wide as Silverman's rule says for the class."""

    def __init__(self, where: int, name: str, histogram: Histogram, floor: float) -> None:
        self.where, self.name = [where], name
        by_class = histogram.table.T.astype(np.float64, order="C")
        by_class[~by_class.any(axis=1)] = by_class.sum(axis=0)  # a class with no cell: the column over all classes
        total = by_class.sum(axis=1)
        shares = share(by_class, total[:, None])
        live = [np.flatnonzero(p) for p in shares]
        # the values that each class has, and the share of each among the rows of the class
        self.centres = [histogram.centres[v] for v in live]
        self.weights = [p[v] for p, v in zip(shares, live)]
        moments = self._moments(total)
        self.normal = Gaussian([where], [name], moments, floor, 0.0)
        pooled = moments.pooled()
        spread, constant = usual_spread(moments, floor)
        self.base = float(pooled.mean[0, 0]), float(max(pooled.variance()[0, 0], spread[0]))
        self.share = ROWS / (total + ROWS)  # of the base in each class
        self.width = np.array([self._silverman(c) for c in range(len(total))])
        if constant[0]:  # which tells nothing: every class is as wide
            self.width[:] = np.sqrt(self.base[1])

    @property
    def empty(self) -> bool:
        """Whether no row had a number here: then nothing is known."""
        return not len(self.centres[0])

    def _moments(self, n: Floats) -> Moments:
        """n, mean and M2 of the histogram."""
        mean = np.array([v @ p for v, p in zip(self.centres, self.weights)])
        spread = np.array([((v - m) ** 2) @ p for v, p, m in zip(self.centres, self.weights, mean)])
        return Moments(n[:, None], mean[:, None], (n * spread)[:, None])

    def _silverman(self, c: int) -> float:
        """h = 0.9 min(σ, IQR/1.34) n^(−1/5), n = 1/Σp², the distance of the quarters with ν rows of σ²."""
        if self.empty:
            return 1.0
        v, p = self.centres[c], self.weights[c]
        n = 1 / float(p @ p)  # effective number of values: free of the scale of the weights
        variance = float(self.normal.variance[c, 0])
        low, high = (quantile(v, p, q) for q in (0.25, 0.75))
        middle = ((high - low) / 1.34) ** 2
        spread = min(variance, (n * middle + ROWS * variance) / (n + ROWS))
        return float(max(0.9 * np.sqrt(spread) * n**-0.2, 1e-150))

    @cached_property
    def _trees(self) -> list[Floats]:
        """The moments of each class's kernels, in a tree."""
        return [kernel_tree(*kernels) for kernels in zip(self.centres, self.weights, self.width.tolist())]

    def _log_density(self, x: Floats) -> Floats:
        """ln p(x|y), shape (len(x), K), p to 1e-6 of itself; far from every value the nearest kernel alone counts."""
        if self.empty:
            return np.zeros((len(x), len(self.width)))
        out = np.empty((len(x), len(self.width)))
        for c, kernels in enumerate(zip(self.centres, self.weights, self.width.tolist(), self._trees)):
            out[:, c] = log_kernel_sums(x, *kernels)
        out -= np.log(self.width * np.sqrt(2 * np.pi))
        mean, variance = self.base
        base = -0.5 * (np.log(2 * np.pi * variance) + (x - mean) ** 2 / variance)
        both: Floats = np.logaddexp(out + np.log1p(-self.share), base[:, None] + np.log(self.share))
        return both

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, 0]
        seen, back = np.unique(np.where(np.isnan(x), 0.0, x), return_inverse=True)
        found = self._log_density(seen)[back]
        return np.where(np.isnan(x)[:, None], 0.0, found)[:, None, :]

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        out = np.full(len(y), np.nan)
        for c in () if self.empty else np.unique(y):
            rows = y == c
            centres = rng.choice(self.centres[c], rows.sum(), p=self.weights[c] / self.weights[c].sum())
            near = rng.normal(centres, self.width[c])
            far = rng.normal(self.base[0], np.sqrt(self.base[1]), len(near))
            out[rows] = np.where(rng.random(len(near)) < self.share[c], far, near)
        return [out]

    def tables(self, schema: Schema) -> dict[str, Any]:
        mean = np.array([v @ p for v, p in zip(self.centres, self.weights)])
        return {self.name: {"mean": mean, "width": self.width}}

    def information(self, prior: Floats) -> Floats:
        if self.empty:
            return np.zeros(1)
        x, weight = gauss_points(self.ends())
        return np.array([mutual_information(np.exp(self._log_density(x)) * weight[:, None] * prior)])

    def ends(self) -> Floats:
        """Rising ends of intervals over which the density is smooth: steps of the kernels, and of the normal of all."""
        values = np.unique(np.concatenate(self.centres))
        some = values[np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int)]
        steps = np.linspace(-4, 4, 9)
        near = some[:, None] + (self.width[:, None] * steps).ravel()
        return np.unique(
            np.concatenate([near.ravel(), self.base[0] + 2 * np.sqrt(self.base[1]) * np.linspace(-5, 5, 31)])
        )


class Binned:
    """Bins by the MDL principle (Fayyad and Irani), each with (N + λ)/(N_y + Sλ); no cut found is one bin."""

    def __init__(self, where: int, name: str, histogram: Histogram, smoothing: float) -> None:
        self.where, self.name = [where], name
        self.cuts = find_cuts(histogram, "mdl")
        bins = np.searchsorted(self.cuts, histogram.values, side="right")
        self.table = np.zeros((len(self.cuts) + 1, histogram.table.shape[1]))
        np.add.at(self.table, bins, histogram.table)
        with np.errstate(divide="ignore"):
            self.log_theta = np.log(theta(self.table, smoothing, axis=0))
        values = histogram.values if len(histogram.values) else np.zeros(1)
        self.edges = np.concatenate([values[:1], self.cuts, values[-1:]])

    def parts(self, frame: Frame) -> Floats:
        x = np.asarray(numbers(frame, self.where), dtype=np.float64)[:, 0]
        found = self.log_theta[np.searchsorted(self.cuts, x, side="right").clip(0, len(self.cuts))]
        return np.where(np.isnan(x)[:, None], 0.0, found)[:, None, :]

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        edges = np.cumsum(np.exp(self.log_theta), axis=0)
        bins = np.minimum((rng.random(len(y)) * edges[-1, y] > edges[:, y]).sum(axis=0), len(self.table) - 1)
        return [rng.uniform(self.edges[bins], np.maximum(self.edges[bins + 1], self.edges[bins]))]

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {self.name: dict(zip(bin_names(self.cuts), np.exp(self.log_theta)))}

    def information(self, prior: Floats) -> Floats:
        return np.array([mutual_information(self.table)])
