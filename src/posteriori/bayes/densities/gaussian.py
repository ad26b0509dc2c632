"""Numeric columns: p(x_j|y) = exp(−(x_j − μ)²/2σ²)/√(2πσ²), μ and σ² by maximum likelihood.

Smoothing lets no class be narrower than λ rows of the spread s² of the column within its classes would leave it among n
equal ones: σ² = max(M2/n, λ s²/(n + λ)). So a class with few values borrows its width from the others, and many rows may be
as narrow as they are; λ = 0 is maximum likelihood. A class of one value has no spread of its own (M2/n is 0, but for
rounding): it is no narrower than the share `floor` of the column's variance over all rows; with 0 it may be a point. That
happens here, when predicting; what is stored are n, mean and M2, so that nothing depends on how rows came in.

Where EM infers the classes (`inferred`), σ² = (M2 + ν s²)/(n + ν) instead, ν one row, s² the column's variance over all
rows/K^(2/d), as wide as K classes are that share the room of d columns (Fraley and Raftery, 2007): the best one under a
prior that is worth ν rows, so that every turn climbs, and no class shrinks around a value that some rows share.

Count columns that do not compete: P(x|y) = r^x e^(−r)/x!, r the mean of the class. Smoothing adds λ rows with the column's
mean over all classes: r = (Σx + λ·x̄)/(n + λ), so that no rate is zero; where all counts were zero, x̄ is ½/(n + 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from ...arrays import Array, Bools, Floats
from ...errors import BadValue
from ...kernels import naive as kernels
from ...kernels.densities import normal_information
from ...smoothing.theta import share
from ...statistics.collect import refuse_bad_counts
from ...statistics.moments import Moments
from ...table.encode import Seen, numbers
from ...table.frame import Frame
from ...table.schema import Schema
from .base import drawn_counts, mutual_information

ROWS = 1.0  # ν, how many rows of the usual spread an inferred class has at least
ROUNDING = 1e-14  # a spread below this share of the mean is the rounding of one value
LEAST = 1e-290  # a variance below this one has lost digits, and its share `floor` is none
TINY = float(np.finfo(float).tiny)


class Gaussian:
    """μ and σ² of each class and column; where a class has no cell of a column, the column's own over all classes."""

    def __init__(
        self,
        where: list[int],
        names: list[str],
        moments: Moments,
        floor: float,
        ddof: float,
        smoothing: float = ROWS,
        inferred: bool = False,
    ) -> None:
        self.where, self.names, self.whole = where, names, None
        pooled = moments.pooled()
        self.mean = np.ascontiguousarray(np.where(moments.n > 0, moments.mean, pooled.mean))
        if inferred:
            spread, _, constant = usual_spread(moments, floor)
            part = len(moments.n) ** (-2.0 / max(len(where), 1))
            self.whole = np.maximum(np.where(constant, spread, pooled.variance() * part), TINY)
            room = np.maximum(moments.n + ROWS - ddof, ROWS)
            variance = np.where(constant, spread, (moments.m2 + ROWS * self.whole) / room)
            self.variance = np.ascontiguousarray(np.maximum(variance, TINY))
            return
        variance = np.where(moments.n > 0, moments.variance(ddof), pooled.variance(ddof))
        alike = variance <= np.maximum((ROUNDING * self.mean) ** 2, LEAST)
        spread, least, constant = usual_spread(moments, floor)
        variance = np.where(alike | constant, least, variance)
        self.variance = np.ascontiguousarray(no_narrower(variance, moments.n, smoothing, spread))

    @property
    def log_prior(self) -> float:
        """−½ν Σ(ln σ² + s²/σ²) where classes are inferred: the log density of the variances, but a constant."""
        if self.whole is None:
            return 0.0
        return float(-0.5 * ROWS * (np.log(self.variance) + self.whole / self.variance).sum())

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
        odd = ~(np.isfinite(self.mean) & np.isfinite(self.variance) & (self.variance > 0)).all(axis=0)
        if odd.any():
            raise BadValue(
                f"column {self.names[int(odd.argmax())]!r} has no normal density: its spread is beyond all floats"
            )
        return normal_information(self.mean, self.variance, prior)


def no_narrower(variance: Floats, n: Floats, smoothing: float, spread: Floats) -> Floats:
    """max(σ², λ s²/(n + λ))."""
    return np.maximum(variance, np.maximum(spread * share(smoothing, n + smoothing), TINY))


def usual_spread(moments: Moments, floor: float) -> tuple[Floats, Floats, Bools]:
    """(s², the width of a class of one value, whether the column is constant but for rounding), of each column.

    A constant column tells nothing, and gets a width of its own size; one that spans less than 1e-145 counts as constant.
    """
    pooled, (within, whole) = moments.pooled(), spreads(moments)
    constant = whole <= np.maximum((ROUNDING * pooled.mean[0]) ** 2, LEAST)
    size = (floor or 1.0) * np.maximum(pooled.mean[0] ** 2, 1.0)
    return np.where(constant, size, within), np.where(constant, size, floor * whole), constant


def spreads(moments: Moments) -> tuple[Floats, Floats]:
    """The variance of each column within the classes, and over all rows."""
    pooled = moments.pooled()
    whole = pooled.variance()[0]
    return np.minimum(moments.m2.sum(axis=0) / np.maximum(pooled.n[0], TINY), whole), whole


def refuse_infinite(x: Array, names: list[str]) -> None:
    """The first infinite cell, named."""
    bad = np.argwhere(np.isinf(x))
    if len(bad):
        i, k = (int(v) for v in bad[0])
        raise BadValue(
            f"row {i}, column {names[k]!r}: Input contains infinity ({x[i, k]}); numbers must be finite or missing"
        )


LARGE = 10_000  # rates from which a Poisson is summed as a normal


class Poisson:
    """The rate r of each class and column."""

    def __init__(self, where: list[int], names: list[str], moments: Moments, smoothing: float) -> None:
        self.where, self.names = where, names
        pooled = moments.pooled()
        self.middle = middle = (
            np.where(pooled.mean > 0, pooled.mean, 0.5 / (pooled.n + 1)) if smoothing > 0 else pooled.mean
        )
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
        return list(drawn_counts(self.rate[y], rng).T)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {name: {"rate": self.rate[:, k]} for k, name in enumerate(self.names)}

    def information(self, prior: Floats) -> Floats:
        found = []
        for rate in self.rate.T:
            if rate.max() > LARGE:
                found.append(float(normal_information(rate[:, None], np.maximum(rate, 1e-9)[:, None], prior)[0]))
                continue
            top = int(rate.max() + 12 * np.sqrt(rate.max() + 1)) + 2
            x = np.arange(top)[:, None]
            found.append(mutual_information(np.exp(xlogy(x, rate) - rate - gammaln(x + 1)) * prior))
        return np.array(found)
