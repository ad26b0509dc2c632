"""All numeric columns that are no normals, scored together: bins, kernels, both mixed with a normal, or left out.

`numeric` and `mixed` define what each column says; here it is computed for whole tables, to 1e-6: in pieces, on each of
which ln p(x|y) is a polynomial (`kernels/native/naive/curves.cpp`). One row and many take the same pieces, and so the same
bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import Array, Floats, Ints
from ...errors import BadValue
from ...kernels import densities as kernels
from ...kernels import naive
from ...smoothing import log_prior
from ...statistics.counts import starts_of
from ...statistics.moments import FAR
from ...statistics.statistics import Statistics
from ...table.encode import numbers
from ...table.frame import Frame
from ...table.schema import Schema
from .base import Seen
from .gaussian import refuse_infinite
from .mixed import LeftOut, Mixed
from .numeric import Binned, KernelDensity

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
        kept = {j: k for k, j in enumerate(self.statistics.where("histogram"))}
        for j, shape, name in zip(self.where, self.shapes, self.names):
            histogram = self.statistics.histograms[kept[j]]
            if shape in ("kernel", "mixed") and len(histogram.values):
                reach = float(histogram.values[-1]) - float(histogram.values[0])
                if not math.isfinite(reach * reach * max(float(histogram.table.sum()), 1.0)):
                    raise BadValue(f"column {name!r}: {FAR}")

    def column(self, k: int) -> Column:
        """The k-th column alone, in NumPy: what its curve is specified by."""
        (smoothing, floor, ddof), j, stats = self.how, self.where[k], self.statistics
        histogram = stats.histograms[stats.where("histogram").index(j)]
        if self.shapes[k] == "kernel":
            return KernelDensity(j, self.names[k], histogram, floor)
        if self.shapes[k] == "binned":
            return Binned(j, self.names[k], histogram, smoothing)
        moments = stats.moments.columns([stats.where("moments").index(j)])
        if self.shapes[k] == "none":
            return LeftOut(j, self.names[k], moments, floor, ddof)
        return Mixed(j, self.names[k], histogram, moments, stats.rows, smoothing, floor, ddof)

    def add_to(self, start: Floats, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        x, at = self._matrix(frame)
        out, met = self.curves.score(x, at, start, n_jobs)
        if met & naive.INF:
            refuse_infinite(x[:, at], self.names)
        if met & naive.NAN:
            seen.missing += int(np.isnan(x[:, at]).sum())
        return out

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


def packed(
    statistics: Statistics, where: list[int], smoothing: float, floor: float, ddof: int, most: int | None = None
) -> Any:
    """The histograms of some columns end to end, each in at most so many cells, and their moments, as the kernels read."""
    kept = {j: k for k, j in enumerate(statistics.where("histogram"))}
    found = [statistics.histograms[kept[j]] for j in where]
    found = found if most is None else [h.coarser(most) for h in found]
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
    return kernels.numeric_columns(values, centres, table, offsets, exact, moments, smoothing, floor, float(ddof))
