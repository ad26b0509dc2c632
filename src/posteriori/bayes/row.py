"""One row at a time: the kernels of a block on a block of one, with the look-ups made beforehand.

For models of categories and Gaussians only. The codes come from dictionaries instead of a pass over columns; what is
summed, and in which order, is the same, so a row has the same bits alone and among others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..kernels import naive as kernels
from ..table.labels import warn_of_types
from ..table.schema import Schema, is_missing
from .densities import Categories, Gaussian, Seen
from .factored import Factored


class RowScorer:
    """log P(y, x) of a dict, or of an array of one row; None for anything else (the block's path takes it)."""

    def __init__(self, log_prior: Floats, cells: Categories | None, normal: Gaussian | None, schema: Schema) -> None:
        self.log_prior = log_prior
        self.names = schema.names
        self.cells, self.normal = cells, normal
        if cells is not None:
            self.places = [column.place for column in cells.columns]
            self.cell_names = [schema.names[j] for j in cells.where]
            self.unseen = [len(place) for place in self.places]  # then comes the row for missing
            parts = [
                np.vstack([cells.rows_of(k, cells.log_theta), cells.log_unseen[k], np.zeros(len(log_prior))])
                for k in range(len(self.places))
            ]
            self.table = np.vstack(parts)
            self.offsets = np.concatenate([[0], np.cumsum([len(p) for p in parts])])
        if normal is not None:
            self.normal_names = [schema.names[j] for j in normal.where]

    @classmethod
    def of(cls, factored: Factored, schema: Schema) -> RowScorer | None:
        """A scorer, or None where the model has other densities or so many columns that a block is as good."""
        kinds = {type(d): d for d in factored.densities}
        if not set(kinds) <= {Categories, Gaussian} or len(kinds) < len(factored.densities) or len(schema) > 200:
            return None
        return cls(factored.log_prior, kinds.get(Categories), kinds.get(Gaussian), schema)  # type: ignore[arg-type]

    def log_joint(self, X: Any, seen: Seen) -> Floats | None:
        """log P(y, x), shape (1, K)."""
        if type(X) is dict:
            return self._of_dict(X, seen)
        if type(X) is np.ndarray and X.shape == (1, len(self.names)) and X.dtype.kind in "biuf":
            return self._of_array(X, seen)
        return None

    def _of_dict(self, row: dict[str, Any], seen: Seen) -> Floats | None:
        try:
            cells = [row[name] for name in self.cell_names] if self.cells is not None else []
            x = np.array([[row[name] for name in self.normal_names]], np.float64) if self.normal is not None else None
            codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)] if cells else []
        except (KeyError, TypeError, ValueError):  # the block's path says what is wrong
            return None
        if len(row) != len(self.names) or (x is not None and x.ndim != 2):
            return None
        return self._sum(codes, cells, x, seen)

    def _of_array(self, X: NDArray[Any], seen: Seen) -> Floats | None:
        if self.cells is None:
            return self._sum([], [], X, seen)
        row = X[0].tolist()
        cells = [row[j] for j in self.cells.where]
        codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)]
        x = np.array([[row[j] for j in self.normal.where]], np.float64) if self.normal is not None else None
        return self._sum(codes, cells, x, seen)

    def _sum(self, codes: list[int], cells: list[Any], x: NDArray[Any] | None, seen: Seen) -> Floats | None:
        out: Floats = self.log_prior
        if cells:
            if min(codes) < 0:
                for k, code in enumerate(codes):
                    if code < 0:
                        missing = is_missing(cells[k])
                        codes[k] = self.unseen[k] + missing
                        seen.missing += missing
                        seen.unseen += not missing
                        if not missing:
                            warn_of_types(self.cell_names[k], [cells[k]], self.places[k])
            out = kernels.log_joint_cells(np.array([codes], np.uint32), self.table, self.offsets, out, 1)
        if x is not None:
            assert self.normal is not None
            out, _, met = kernels.score_gaussian(x, self.normal.mean, self.normal.variance, out, False, 1)
            if met & kernels.INF:
                return None  # the block's path says where
            seen.missing += int(np.isnan(x).sum()) if met else 0
        return out
