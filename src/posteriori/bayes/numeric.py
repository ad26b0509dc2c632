"""Densities of numeric columns: a normal, kernels, bins, their mixture, or nothing.

Normal: p(x_j|y) = exp(−(x_j − μ)²/2σ²)/√(2πσ²), μ and σ² by maximum likelihood.

Smoothing lets no class be narrower than λ rows of the spread s² of the column within its classes would leave it among n
equal ones: σ² = max(M2/n, λ s²/(n + λ)). So a class with few values borrows its width from the others, and many rows may be
as narrow as they are; λ = 0 is maximum likelihood. A class of one value has no spread of its own (M2/n is 0, but for
rounding): it is no narrower than the share `floor` of the column's variance over all rows; with 0 it may be a point. That
happens here, when predicting; what is stored are n, mean and M2, so that nothing depends on how rows came in.

Where EM infers the classes (`inferred`), σ² = (M2 + ν s²)/(n + ν) instead, ν one row, s² the column's variance over all
rows/K^(2/d), as wide as K classes are that share the room of d columns (Fraley and Raftery, 2007): the best one under a
prior that is worth ν rows, so that every turn climbs, and no class shrinks around a value that some rows share.

The others read the histogram N[v, y] of the column.
`kernel`: p(x|y) = [Σ_v N[v, y] φ((x − v)/h_y)/h_y + ν p₀(x)]/(n_y + ν), the
width h_y by Silverman's rule from σ² = max(M2/n, ν s²/(n + ν)), s² the variance within the classes and the share `floor`
of what parts them, ν rows from the normal p₀ of the column over all classes: far from every value all classes agree, so
that no value that is new to a class rules it out by thousands of nats.
`binned`: the column is cut and the bins are counted like categories. `mixed`: each density m of these and the normal says
P_m(y|x_j) ∝ P_m(x_j|y) P(y), with P(y) = (N_y + 1)/(N + K); their mean, divided by P(y), is what the column adds:
p(x_j|y) = p(x_j) · mean_m P_m(y|x_j)/P(y), p(x_j) that of the kernels. Where one density is sure of what it has not seen,
the others hold it back.

`Curves` scores all such columns of a table together, to 1e-6: in pieces, on each of which ln p(x|y) is a polynomial
(`kernels/native/naive/curves.cpp`). One row and many take the same pieces, and so the same bits.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from ..arrays import Array, Bools, Floats, Ints
from ..budget import refuse_over
from ..errors import BadValue
from ..kernels import kernel_tree, log_kernel_sums, normal_information
from ..smoothing.theta import log_prior, log_sum, share, theta
from ..statistics.counts import starts_of
from ..statistics.cuts import bin_names, find_cuts
from ..statistics.histogram import Histogram
from ..statistics.moments import FAR, Moments
from ..statistics.statistics import Statistics
from ..table.encode import Seen, numbers
from ..table.frame import Frame
from ..table.schema import Schema

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

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        x = numbers(frame, self.where)
        out, _, met = kernels.score_gaussian(x, self.mean, self.variance, start, False, n_jobs)
        if met & kernels.INF:
            refuse_infinite(x, self.names)
        return out, Seen(int(np.isnan(x).sum()) if met & kernels.NAN else 0)

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


TIES = 1e-9  # of a sum of shares: in which order rows came must not move a quarter by a whole value
TRIES, AT_ONCE = 50, 100_000  # when values are drawn


def quantile(values: Floats, shares: Floats, q: float) -> float:
    """Where the shares of rising values reach q: a value, or the middle of two where the first of them reaches it just so.

    >>> quantile(np.array([0.0, 2.0, 9.0]), np.array([0.25, 0.25, 0.5]), 0.25)
    1.0
    """
    at = np.searchsorted(np.cumsum(shares), (q - TIES, q + TIES)).clip(max=len(values) - 1)
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
        pooled = moments.pooled()
        spread, least, constant = usual_spread(moments, floor)
        self.variance = no_narrower(moments.variance(), moments.n, ROWS, spread + least - floor * spread)[:, 0]
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
        variance = float(self.variance[c])
        low, high = (quantile(v, p, q) for q in (0.25, 0.75))
        middle = ((high - low) / 1.34) ** 2
        spread = min(variance, (n * middle + ROWS * variance) / (n + ROWS))
        return float(max(0.9 * np.sqrt(spread) * n**-0.2, 1e-150))

    @cached_property
    def _trees(self) -> list[Floats]:
        """The moments of each class's kernels, in a tree."""
        return [kernel_tree(*of_class) for of_class in zip(self.centres, self.weights, self.width.tolist())]

    def _log_density(self, x: Floats) -> Floats:
        """ln p(x|y), shape (len(x), K), p to 1e-6 of itself; far from every value the nearest kernel alone counts."""
        if self.empty:
            return np.zeros((len(x), len(self.width)))
        out = np.empty((len(x), len(self.width)))
        for c, own in enumerate(zip(self.centres, self.weights, self.width.tolist(), self._trees)):
            out[:, c] = log_kernel_sums(x, *own)
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
        self.normal = Gaussian([where], [name], moments, floor, ddof, smoothing)
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


class LeftOut:
    """A column that says nothing of the class: p(x_j|y) = p(x_j), a normal whose density is left out of every class."""

    def __init__(self, where: int, name: str, moments: Moments, smoothing: float, floor: float, ddof: int) -> None:
        self.where, self.name = [where], name
        self.normal = Gaussian([where], [name], moments.pooled(), floor, ddof, smoothing)
        self.n_classes = len(moments.n)

    def parts(self, frame: Frame, n_jobs: int | None = None) -> Floats:
        return np.zeros((frame.n, 1, self.n_classes))

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return self.normal.draw(np.zeros_like(y), rng)

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {
            self.name: {row: np.repeat(v, self.n_classes) for row, v in self.normal.tables(schema)[self.name].items()}
        }


def odds(log_p: Floats, log_share: Floats | float) -> Floats:
    """ln P(y|x)/P(y) of ln p(x|y), the classes along the last axis; 0 where no class allows x."""
    total = log_sum(log_p + log_share)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(total), 0.0, log_p - total)


def mixture(parts: list[Floats]) -> Floats:
    """ln of the mean of what the densities say, each ln P(y|x)/P(y)."""
    found: Floats = np.logaddexp.reduce(np.stack(parts), axis=0) - np.log(len(parts))
    return found


Column = Binned | KernelDensity | Mixed | LeftOut


class Curves:
    """ln p(x_j|y) of the columns `where`, each of one of the shapes "binned", "kernel", "mixed" and "none"."""

    def __init__(
        self,
        statistics: Statistics,
        where: list[int],
        shapes: list[str],
        smoothing: float,
        floor: float,
        ddof: int,
        n_jobs: int | None = None,
    ) -> None:
        self.where, self.shapes = where, shapes
        self.names = [statistics.schema.names[j] for j in where]
        self.statistics, self.how = statistics, (smoothing, floor, ddof)
        self._refuse_too_wide()
        share = log_prior(statistics.rows, "smoothed", 1.0)
        columns = packed(statistics, where, smoothing, floor, ddof)
        self.curves = kernels.Curves(columns, shapes, share, 200_000 * len(where), n_jobs)
        self.at: Ints = np.array(where, dtype=np.int64)  # of a matrix as it came
        self.every = np.arange(len(where), dtype=np.int64)

    def _refuse_too_wide(self) -> None:
        """Kernels are as wide as the column's variance says, which must fit into a float."""
        found = views(self.statistics, self.where)
        for histogram, shape, name in zip(found, self.shapes, self.names):
            if shape in ("kernel", "mixed") and len(histogram.values):
                reach = float(histogram.values[-1]) - float(histogram.values[0])
                if not math.isfinite(reach * reach * max(float(histogram.table.sum()), 1.0)):
                    raise BadValue(f"column {name!r}: {FAR}")

    def column(self, k: int) -> Column:
        """The k-th column alone, in NumPy: what its curve is specified by."""
        (smoothing, floor, ddof), j, stats = self.how, self.where[k], self.statistics
        (histogram,) = views(stats, [j])
        if self.shapes[k] == "kernel":
            return KernelDensity(j, self.names[k], histogram, floor)
        if self.shapes[k] == "binned":
            return Binned(j, self.names[k], histogram, smoothing)
        moments = stats.moments.select_columns([stats.where("moments").index(j)])
        if self.shapes[k] == "none":
            return LeftOut(j, self.names[k], moments, *self.how)
        return Mixed(j, self.names[k], histogram, moments, stats.rows, smoothing, floor, ddof)

    def add_to(self, start: Floats, frame: Frame, n_jobs: int | None) -> tuple[Floats, Seen]:
        x, at = self._matrix(frame)
        out, met = self.curves.score(x, at, start, n_jobs)
        if met & kernels.INF:
            refuse_infinite(x[:, at], self.names)
        return out, Seen(int(np.isnan(x[:, at]).sum()) if met & kernels.NAN else 0)

    def _matrix(self, frame: Frame) -> tuple[Array, Ints]:
        """(numbers, which of its columns are mine): the caller's own matrix where it is one."""
        if frame.matrix is not None and frame.matrix.dtype.kind in "biuf":
            return frame.matrix, self.at
        return numbers(frame, self.where), self.every

    def parts(self, frame: Frame) -> Floats:
        return self.curves.parts(*self._matrix(frame))

    def draw(self, y: Array, rng: np.random.Generator) -> list[Array]:
        return [self.column(k).draw(y, rng)[0] for k in range(len(self.where))]

    def tables(self, schema: Schema) -> dict[str, Any]:
        return {name: self.column(k).tables(schema)[name] for k, name in enumerate(self.names)}

    def information(self, prior: Floats) -> Floats:
        return self.curves.information(prior)


def views(statistics: Statistics, where: list[int]) -> list[Histogram]:
    """The histograms of some columns, as densities read them."""
    kept = {j: k for k, j in enumerate(statistics.where("histogram"))}
    return [statistics.histograms[kept[j]].view for j in where]


def packed(statistics: Statistics, where: list[int], smoothing: float, floor: float, ddof: int) -> Any:
    """The histograms of some columns end to end, and their moments, as the kernels read them."""
    found = views(statistics, where)
    cells, classes = sum(len(h.values) for h in found), statistics.n_classes
    what = f"densities of {len(where)} columns, {cells} cells, for {classes} classes"
    refuse_over(None, 40.0 * cells * classes, what, 'choose density="gaussian", fewer columns or classes')
    offsets = starts_of([len(h.values) for h in found])
    values = np.concatenate([h.values for h in found])
    centres = values if all(h.exact for h in found) else np.concatenate([h.centres for h in found])
    table = np.concatenate([h.table for h in found]).astype(np.float64, order="C")
    moments = np.zeros((len(where), statistics.n_classes, 3))
    m, mine = statistics.moments, {j: k for k, j in enumerate(statistics.where("moments"))}
    both = [(k, mine[j]) for k, j in enumerate(where) if j in mine]
    if both:
        here, there = map(list, zip(*both))
        moments[here] = np.stack([m.n, m.mean, m.m2], axis=2)[:, there].transpose(1, 0, 2)
    exact = np.array([h.exact for h in found], dtype=np.uint8)
    return kernels.NumericColumns(values, centres, table, offsets, exact, moments, smoothing, floor, float(ddof))
