"""Rows as points: numbers in standard deviations from their mean, a coordinate for every value of a category.

Symbols: n rows, f coordinates, each with the mean 0 over the training rows. Where nothing is known of a cell its
coordinates are 0, which is their mean: it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Array, Floats, Ints
from ..kernels.trees import Codes
from ..statistics.cuts import column_numbers
from ..table.encode import dense
from ..table.frame import Frame

CLIP = 4.0  # standard deviations
MOST_VALUES = 250  # of a column that have a coordinate of their own; the rarer ones share one


@dataclass(frozen=True, eq=False)
class Points:
    """How coded rows become points; `learn_points` learns it.

    A column of numbers has a coordinate, (x − mean)/sd within ±4, and where training had missing cells one that says so. A
    column of names has one for each value (for the second of two alone): `places[j]` says which of the column's own each
    code has, −1 for none.
    """

    mean: Floats
    sd: Floats
    places: tuple[Ints, ...]
    centre: Floats

    @cached_property
    def sizes(self) -> Ints:
        """Coordinates of each column."""
        found = [int(p.max(initial=-1)) + 1 + (s > 0) for p, s in zip(self.places, self.sd)]
        return np.array(found, dtype=np.int64)

    @property
    def size(self) -> int:
        """Coordinates in all."""
        return len(self.centre)

    def __call__(self, frame: Frame, codes: Codes, rows: Array | None = None) -> Floats:
        """Points of these rows, all by default; `codes` are those of the frame."""
        if rows is not None:
            frame, cells = frame.take_rows(rows), codes.cells[:, rows]
        else:
            cells = codes.cells
        frame = dense(frame) if frame.sparse is not None else frame
        n, ends = cells.shape[1], np.cumsum(self.sizes)
        out = np.zeros((n, self.size))
        for j, (own, end) in enumerate(zip(self.sizes.tolist(), ends.tolist())):
            at = end - own
            known = cells[j] < codes.sizes[j]
            if self.sd[j] > 0:
                with np.errstate(over="ignore"):
                    z = column_numbers(frame, j) / self.sd[j] - self.mean[j] / self.sd[j]
                out[known, at] = np.clip(np.nan_to_num(z[known]), -CLIP, CLIP)
                at += 1
            if end > at:
                place = self.places[j][cells[j]]
                hot = np.flatnonzero(place >= 0)
                out[hot, at + place[hot]] = 1.0
                out[known, at:end] -= self.centre[at:end]
        return out


def learn_points(frame: Frame, codes: Codes, blank: tuple[bool, ...], weights: Floats | None) -> Points:
    """Means, deviations and values of these rows."""
    frame = dense(frame) if frame.sparse is not None else frame
    d, n = len(codes.sizes), codes.n
    mean, sd, places, centre = np.zeros(d), np.zeros(d), list[Ints](), list[Floats]()
    w = np.full(n, 1.0 / n) if weights is None else np.maximum(weights / weights.max(), 1e-300)
    for j in range(d):
        place = np.full(codes.sizes[j] + 1, -1, dtype=np.int64)
        if not codes.named[j]:
            mean[j], sd[j] = _moments(column_numbers(frame, j), w)
            if blank[j]:
                place[0] = 0
        else:
            _number(place, np.bincount(codes.cells[j], w, minlength=len(place)).astype(np.float64))
        places.append(place)
        mass = np.bincount(place[codes.cells[j]] + 1, w, minlength=int(place.max()) + 2)[1:] / w.sum()
        centre += [np.zeros(int(sd[j] > 0)), np.minimum(mass, 1.0)]  # sums in another order may be an ulp above
    return Points(mean, sd, tuple(places), np.concatenate(centre) if centre else np.zeros(0))


def _number(place: Ints, mass: Floats) -> None:
    """Coordinates for the values of a column, the commonest first come; the last code is of values never seen."""
    there = np.flatnonzero(mass[:-1] > 0)
    if len(there) == 2:
        place[there[1]] = 0
    elif len(there) > 2:
        place[there] = MOST_VALUES
        common = np.sort(there[np.argsort(-mass[there], kind="stable")[:MOST_VALUES]])
        place[common] = np.arange(len(common))


def _moments(x: Floats, w: Floats) -> tuple[float, float]:
    """Mean and deviation of the cells there are; a deviation of 0 where they do not differ, but for rounding."""
    there = ~np.isnan(x)
    size = float(np.abs(x[there]).max(initial=0.0))
    if size == 0.0:
        return 0.0, 0.0
    part, share = x[there] / size, w[there] / w[there].sum()
    mean = float(share @ part)
    sd = float(np.sqrt(share @ np.square(part - mean)))
    if sd < 1e-12 or not sd * size > np.finfo(float).tiny:
        return 0.0, 0.0
    return mean * size, sd * size
