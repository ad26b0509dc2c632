"""One row at a time: the same sum as for a block, without the block. For models of cells and Gaussians only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..table.encode import is_missing
from ..table.schema import Schema
from .densities import Cells, Gaussian, Seen
from .factored import Factored


class RowScorer:
    """log P(y, x) of a dict, or of an array of one row; None for anything else (the block's path takes it)."""

    def __init__(self, log_prior: Floats, cells: Cells | None, normal: Gaussian | None, schema: Schema) -> None:
        self.log_prior = log_prior
        self.cells = cells
        self.normal = normal
        self.names = schema.names
        self.cell_keys = [(schema.names[j], j, place) for j, place in zip(cells.where, cells.places)] if cells else []
        if cells is not None:
            self.log_theta = np.vstack([cells.log_theta, cells.log_unseen])
            self.first_unseen = len(cells.log_theta)
        if normal is not None:
            with np.errstate(over="ignore"):  # an infinite precision sends the row to the block's path
                self.mean, self.half = normal.mean, -0.5 / normal.variance
            self.constant = log_prior - 0.5 * np.log(2 * np.pi * normal.variance).sum(axis=1)
            self.normal_names = [schema.names[j] for j in normal.where]
            self.all_normal = len(normal.where) == len(schema)

    @classmethod
    def of(cls, factored: Factored, schema: Schema) -> RowScorer | None:
        """A scorer, or None where the model has other densities or so many columns that a block is as good."""
        kinds = {type(d): d for d in factored.densities}
        if not set(kinds) <= {Cells, Gaussian} or len(kinds) < len(factored.densities) or len(schema) > 200:
            return None
        return cls(factored.log_prior, kinds.get(Cells), kinds.get(Gaussian), schema)  # type: ignore[arg-type]

    def log_joint(self, X: Any, seen: Seen) -> Floats | None:
        """log P(y, x), shape (1, K)."""
        if type(X) is dict:
            return self._of_dict(X, seen)
        if type(X) is np.ndarray and X.shape == (1, len(self.names)) and X.dtype.kind in "biuf":
            return self._of_array(X[0], seen)
        return None

    def _of_dict(self, row: dict[str, Any], seen: Seen) -> Floats | None:
        try:
            rows = [place.get(row[name], ~k) for k, (name, _, place) in enumerate(self.cell_keys)]
            x = (
                np.array([row[name] for name in self.normal_names], dtype=np.float64)
                if self.normal is not None
                else None
            )
        except (KeyError, TypeError, ValueError):  # the block's path says what is wrong
            return None
        if len(row) != len(self.names) or (x is not None and x.ndim != 1):
            return None
        return self._sum(rows, [row[name] for name, *_ in self.cell_keys] if min(rows, default=0) < 0 else [], x, seen)

    def _of_array(self, cells: NDArray[Any], seen: Seen) -> Floats | None:
        if self.cells is None:
            return self._sum([], [], np.asarray(cells, dtype=np.float64), seen)
        row = cells.tolist()
        rows = [place.get(row[j], ~k) for k, (_, j, place) in enumerate(self.cell_keys)]
        x = np.array([row[j] for j in self.normal.where], dtype=np.float64) if self.normal is not None else None
        return self._sum(rows, [row[j] for _, j, _ in self.cell_keys] if min(rows, default=0) < 0 else [], x, seen)

    def _sum(self, rows: list[int], cells: list[Any], x: Floats | None, seen: Seen) -> Floats | None:
        out = self.log_prior.copy()
        if cells:
            found = []
            for r, cell in zip(rows, cells):
                if r >= 0:
                    found.append(r)
                elif is_missing(cell):
                    seen.missing += 1
                else:
                    seen.unseen += 1
                    found.append(self.first_unseen + ~r)
            rows = found
        if x is not None:
            gap = x - self.mean
            with np.errstate(all="ignore"):
                out = self.constant + np.vecdot(gap * gap, self.half)
            if not math.isfinite(np.add.reduce(out)):
                return None  # missing or infinite: the block's path knows what to do
        if rows:
            out = out + np.add.reduce(self.log_theta[rows], axis=0)
        return out[None, :]
