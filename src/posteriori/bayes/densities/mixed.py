"""A numeric column of which several densities speak with equal voice, and one that is left out.

`mixed`: each density m says P_m(y|x_j) ∝ P_m(x_j|y) P(y), with P(y) = (N_y + 1)/(N + K). Their mean, divided by P(y), is
what the column adds: p(x_j|y) = p(x_j) · mean_m P_m(y|x_j)/P(y), p(x_j) that of the kernels. Where one density is sure of
what it has not seen, the others hold it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Floats
from ...smoothing import log_prior
from ...smoothing.theta import log_sum
from ...statistics.histogram import Histogram
from ...statistics.moments import Moments
from ...table.frame import Frame
from ...table.schema import Schema
from .base import gauss_points, mutual_information
from .gaussian import Gaussian
from .numeric import Binned, KernelDensity

TRIES, AT_ONCE = 50, 100_000  # when values are drawn


class Mixed:
    """Bins, kernels and a normal, a third each."""

    def __init__(
        self,
        where: int,
        name: str,
        histogram: Histogram,
        moments: Moments,
        rows: Array,
        smoothing: float,
        floor: float,
        ddof: int,
    ) -> None:
        self.where, self.name = [where], name
        self.binned = Binned(where, name, histogram, smoothing)
        self.kernel = KernelDensity(where, name, histogram, floor)
        self.normal = Gaussian([where], [name], moments, floor, ddof)
        self.log_share = log_prior(rows, "smoothed", 1.0)

    def parts(self, frame: Frame) -> Floats:
        kernel = self.kernel.parts(frame)
        return mixture(self._said(frame, kernel)) + log_sum(kernel + self.log_share)

    def _said(self, frame: Frame, kernel: Floats) -> list[Floats]:
        """ln P_m(y|x)/P(y) of the three."""
        return [odds(log_p, self.log_share) for log_p in (self.binned.parts(frame), kernel, self.normal.parts(frame))]

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        """x ~ p(x), kept with the probability mean_m P_m(y|x): what is kept has the density p(x|y)."""
        out = np.full(len(y), np.nan)
        share = np.exp(self.log_share)
        for c in () if self.kernel.empty else np.unique(y):
            wanted = np.flatnonzero(y == c)
            for _ in range(TRIES):
                tried = int(np.clip(2 * len(wanted) / share[c], 100, AT_ONCE))
                x = self.kernel.draw(rng.choice(len(share), tried, p=share / share.sum()), rng)[0]
                log_p = mixture(self._said(*self._alone(x)))[:, 0, c] + self.log_share[c]
                kept = x[np.log1p(-rng.random(tried)) < log_p][: len(wanted)]
                out[wanted[: len(kept)]] = kept
                wanted = wanted[len(kept) :]
                if not len(wanted):
                    break
            else:  # a class so rare that it is seldom kept: by weight among those tried last
                p = np.exp(log_p - log_p.max())
                out[wanted] = rng.choice(x, len(wanted), p=p / p.sum())
        return [out]

    def _alone(self, x: Floats) -> tuple[Frame, Floats]:
        """Values as a table that has this column alone where it stands, and what the kernels say of them."""
        names = tuple(f"{j}" for j in range(self.where[0] + 1))
        frame = Frame(len(x), names, columns=(x,) * len(names))
        return frame, self.kernel.parts(frame)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {self.name: {**self.normal.tables(schema)[self.name], "width": self.kernel.width}}

    def information(self, prior: Floats) -> Floats:
        """By a fine sum over the line where the kernels live, with the ends of the bins."""
        if self.kernel.empty:
            return np.zeros(1)
        x, weight = gauss_points(np.unique(np.concatenate([self.kernel.ends(), self.binned.cuts])))
        log_p = self.parts(self._alone(x)[0])[:, 0]
        return np.array([mutual_information(np.exp(log_p) * weight[:, None] * prior)])


class LeftOut:
    """A column that says nothing of the class: p(x_j|y) = p(x_j), a normal whose density is left out of every class."""

    def __init__(self, where: int, name: str, moments: Moments, floor: float, ddof: int) -> None:
        self.where, self.name = [where], name
        self.normal = Gaussian([where], [name], moments.pooled(), floor, ddof)
        self.n_classes = len(moments.n)

    def parts(self, frame: Frame, n_jobs: int | None = None) -> Floats:
        return np.zeros((frame.n, 1, self.n_classes))

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return self.normal.draw(np.zeros_like(y), rng)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {
            self.name: {row: np.repeat(v, self.n_classes) for row, v in self.normal.tables(schema)[self.name].items()}
        }

    def information(self, prior: Floats) -> Floats:
        return np.zeros(1)


def odds(log_p: Floats, log_share: Floats | float) -> Floats:
    """ln P(y|x)/P(y) of ln p(x|y), the classes along the last axis; 0 where no class allows x."""
    total = log_sum(log_p + log_share)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(total), 0.0, log_p - total)


def mixture(parts: list[Floats]) -> Floats:
    """ln of the mean of what the densities say, each ln P(y|x)/P(y)."""
    found: Floats = np.logaddexp.reduce(np.stack(parts), axis=0) - np.log(len(parts))
    return found
