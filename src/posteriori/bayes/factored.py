"""Statistics + smoothing → log P(y, x): the model of independent columns, ready to score rows, a block or one at a time.

One row alone (`RowScorer`, for models of categories and numbers) takes the kernels of a block on a block of one, with the
look-ups made beforehand: what is summed, and in which order, is the same, so that a row has the
same bits alone and among others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from ..arrays import Floats, Ints
from ..errors import ModelError, did_you_mean, listed
from ..kernels import naive as kernels
from ..kernels.densities import SHAPES
from ..smoothing.theta import log_prior
from ..statistics.counts import starts_of
from ..statistics.statistics import Statistics
from ..table.encode import Seen
from ..table.frame import Frame
from ..table.labels import warn_of_types
from ..table.schema import Schema, is_missing
from .densities import Categories, Curves, Density, Events, Gaussian, Poisson, Words
from .densities.choice import choose

# density → the kind of column it is for, and what the statistics keep for it
DENSITIES = {
    "auto": ("numeric", "numbers"),
    "gaussian": ("numeric", "moments"),
    "kernel": ("numeric", "histogram"),
    "binned": ("numeric", "histogram"),
    "multinomial": ("count", "events"),
    "poisson": ("count", "moments"),
}
USUAL = {"numeric": "auto", "count": "multinomial", "categorical": "cells", "binary": "cells", "text": "words"}


def choose_densities(schema: Schema, density: Any) -> tuple[str, ...]:
    """A density for each column: what was told for it or for its kind, else the usual one."""
    told: dict[str, str] = {}
    general: dict[str, str] = dict(USUAL)
    if isinstance(density, str):
        general[DENSITIES[_check(density, "density")][0]] = density
    elif density is not None:
        nameless = schema.names == tuple(f"x{j}" for j in range(len(schema)))
        for key, d in dict(density).items():
            name = f"x{key}" if nameless and isinstance(key, int) else str(key)
            told[schema[name].name] = _check(d, name)
    for name, d in told.items():
        if DENSITIES[d][0] != schema[name].kind:
            raise ModelError(
                f"column {name!r} is {schema[name].kind}, but the density {d!r} is for {DENSITIES[d][0]} columns"
            )
    return tuple(told.get(c.name, general[c.kind]) for c in schema.columns)


def _check(density: Any, name: str) -> str:
    if not isinstance(density, str) or density not in DENSITIES:
        hint = (did_you_mean(density, DENSITIES) if isinstance(density, str) else "") or "."
        raise ModelError(f"{name}: a density is one of {listed(DENSITIES)}{hint} Got {density!r} instead.")
    return str(density)


def roles_of(densities: tuple[str, ...]) -> tuple[str, ...]:
    """What the statistics keep of each column."""
    return tuple(DENSITIES[d][1] if d in DENSITIES else d for d in densities)


def kept_for(densities: tuple[str, ...], roles: tuple[str, ...]) -> bool:
    """Whether what was kept of each column is enough for its density."""
    return all(
        need == role or (need in ("moments", "histogram") and role == "numbers")
        for need, role in zip(roles_of(densities), roles)
    )


class Factored:
    """log P(y, x) = log P(y) + Σ_j log P(x_j|y); `names` are the densities of the columns, with those that were chosen."""

    def __init__(
        self,
        statistics: Statistics,
        densities: tuple[str, ...],
        *,
        smoothing: float,
        prior: Any,
        unseen: str,
        floor: float,
        ddof: int,
        n_jobs: int | None = None,
        inferred: bool = False,
    ) -> None:
        self.schema, self.smoothing, self.prior = statistics.schema, smoothing, prior
        self.inferred = inferred
        self.log_prior = log_prior(statistics.rows, prior, smoothing, self.schema.classes)
        self.densities: list[Density] = []
        if statistics.where("cells"):
            self.densities.append(Categories(statistics, smoothing, unseen))
        for k in range(len(statistics.where("words"))):
            self.densities.append(Words(statistics, k, smoothing, unseen))
        if statistics.where("events"):
            self.densities.append(Events(statistics, smoothing))
        free = [j for j, d in enumerate(densities) if d == "auto"]
        if free:
            found = choose(statistics, free, smoothing, prior, unseen, floor, ddof, n_jobs)
            told = dict(zip(free, found))
            densities = tuple(told.get(j, d) for j, d in enumerate(densities))
        self.names = densities
        self._add_moments(statistics, densities, smoothing, floor, ddof)
        where = [j for j, d in enumerate(densities) if d in SHAPES]
        if where:
            shapes = [densities[j] for j in where]
            self.densities.append(Curves(statistics, where, shapes, smoothing, floor, ddof, n_jobs))

    def _add_moments(
        self, statistics: Statistics, densities: tuple[str, ...], smoothing: float, floor: float, ddof: int
    ) -> None:
        where, m = statistics.where("moments"), statistics.moments
        for kind in ("gaussian", "poisson"):
            some = [k for k, j in enumerate(where) if densities[j] == kind]
            if not some:
                continue
            part = m.columns(some)
            columns = [where[k] for k in some]
            names = [self.schema.names[j] for j in columns]
            if kind == "gaussian":
                self.densities.append(Gaussian(columns, names, part, floor, ddof, smoothing, self.inferred))
            else:
                self.densities.append(Poisson(columns, names, part, smoothing))

    def log_joint(self, frame: Frame, seen: Seen, n_jobs: int | None) -> Floats:
        """log P(y, x) of each row, shape (n, K)."""
        out: Floats = self.log_prior
        for density in self.densities:
            out = density.add_to(out, frame, seen, n_jobs)
        return np.array(np.broadcast_to(out, (frame.n, len(self.log_prior))), order="C") if out.ndim == 1 else out

    def log_prior_of_theta(self) -> float:
        """λ Σ ln θ over the tables, and over P(y) where it is smoothed: the log density of the Dirichlets, but a constant.

        Of a Poisson rate r, λ(x̄ ln r − r); of the variances of normals what `Gaussian` says. Kernels have none.
        """
        found, lam = 0.0, self.smoothing
        if lam > 0 and isinstance(self.prior, str) and self.prior == "smoothed":
            found += lam * float(self.log_prior.sum())
        for density in self.densities:
            if isinstance(density, Gaussian):
                found += density.log_prior
            elif lam == 0:
                continue
            elif isinstance(density, Categories | Words | Events):
                found += lam * float(density.log_theta.sum())
            elif isinstance(density, Poisson):
                found += lam * float((xlogy(density.middle, density.rate) - density.rate).sum())
        return found

    def parts(self, frame: Frame) -> Floats:
        """log P(x_j|y) of each column alone, shape (n, d, K), in the order of the schema."""
        out = np.zeros((frame.n, len(self.schema), len(self.log_prior)))
        for density in self.densities:
            out[:, density.where] = density.parts(frame)
        return out


class RowScorer:
    """log P(y, x) of a dict, or of an array of one row; None for anything else (the block's path takes it)."""

    def __init__(
        self,
        log_prior: Floats,
        cells: Categories | None,
        normal: Gaussian | None,
        curves: Curves | None,
        schema: Schema,
    ) -> None:
        self.log_prior = log_prior
        self.names = schema.names
        self.cells, self.normal, self.curves = cells, normal, curves
        self.all_normal = normal is not None and len(normal.where) == len(schema)
        self.normal_names = [schema.names[j] for j in normal.where] if normal is not None else []
        self.curve_names = [schema.names[j] for j in curves.where] if curves is not None else []
        if cells is not None:
            self.places = [column.place for column in cells.columns]
            self.cell_names = [schema.names[j] for j in cells.where]
            self.unseen = [len(place) for place in self.places]  # then comes the row for missing
            parts = [
                np.vstack([cells.rows_of(k, cells.log_theta), cells.log_unseen[k], np.zeros(len(log_prior))])
                for k in range(len(self.places))
            ]
            self.table = np.vstack(parts)
            self.offsets = starts_of([len(p) for p in parts])

    @classmethod
    def of(cls, factored: Factored, schema: Schema) -> RowScorer | None:
        """A scorer, or None where the model has other densities or so many columns that a block is as good."""
        kinds: dict[type, Any] = {type(d): d for d in factored.densities}
        if not set(kinds) <= {Categories, Gaussian, Curves} or len(schema) > 200:
            return None
        if Categories in kinds and any(cut is not None for cut in kinds[Categories].cuts):
            return None
        return cls(factored.log_prior, kinds.get(Categories), kinds.get(Gaussian), kinds.get(Curves), schema)

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
            normal = np.array([[row[name] for name in self.normal_names]], np.float64) if self.normal_names else None
            curves = np.array([[row[name] for name in self.curve_names]], np.float64) if self.curve_names else None
            codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)] if cells else []
        except (KeyError, TypeError, ValueError):  # the block's path says what is wrong
            return None
        if len(row) != len(self.names) or any(x is not None and x.ndim != 2 for x in (normal, curves)):
            return None
        at = self.curves.every if self.curves is not None else None
        return self._sum(codes, cells, normal, curves, at, seen)

    def _of_array(self, X: NDArray[Any], seen: Seen) -> Floats | None:
        cells: list[Any] = []
        codes: list[int] = []
        if self.cells is not None:
            row = X[0].tolist()
            cells = [row[j] for j in self.cells.where]
            codes = [place.get(cell, -1) for place, cell in zip(self.places, cells)]
        normal = None if self.normal is None else X if self.all_normal else X[:, self.normal.where]
        if self.curves is None:
            return self._sum(codes, cells, normal, None, None, seen)
        return self._sum(codes, cells, normal, X, self.curves.at, seen)

    def _sum(
        self,
        codes: list[int],
        cells: list[Any],
        normal: NDArray[Any] | None,
        curves: NDArray[Any] | None,
        at: Ints | None,
        seen: Seen,
    ) -> Floats | None:
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
        met = 0
        if normal is not None:
            assert self.normal is not None
            out, _, met = kernels.score_gaussian(normal, self.normal.mean, self.normal.variance, out, False, 1)
            seen.missing += int(np.isnan(normal).sum()) if met & kernels.NAN else 0
        if curves is not None:
            assert self.curves is not None
            assert at is not None
            out, also = self.curves.curves.score(curves, at, out, 1)
            seen.missing += int(np.isnan(curves[:, at]).sum()) if also & kernels.NAN else 0
            met |= also
        return None if met & kernels.INF else out  # the block's path says where
