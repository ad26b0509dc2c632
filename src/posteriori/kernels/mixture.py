"""The steps of k-means: rows in single precision as long as that settles them, and bounds that spare most."""

from __future__ import annotations

import numpy as np

from .. import kernels
from ..arrays import Array, Codes, Floats

SETTLED = 3e-3  # the share of labels that change from which on bounds spare more than they cost
FEW = 1e-12  # the share of its largest size from which on a centre's sums have lost digits


class Nearest:
    """The rows of k-means, step after step: labels, and bounds that spare rows whose label no step could have changed.

    Rows are x − shift, in units (a power of two) in which none is much longer than one. Products are in single precision
    until too many rows have to be settled in double. `kept` says that there will be many steps: rows are then kept as the
    products read them. Bounds are kept if `bounded`, or from the step on in which few labels change (None).
    """

    def __init__(
        self,
        X: Array,
        weights: Floats | None,
        shift: Floats,
        unit: float,
        n_jobs: int | None,
        *,
        bounded: bool | None = False,
        kept: bool = False,
    ):
        self.X, self.weights, self.shift, self.unit, self.n_jobs = X, weights, shift, unit, n_jobs
        self.label: Codes = np.full(len(X), -1, np.int32)
        self.bounded = bounded
        self.bounds: Array | None = None
        self.panels = kernels.kmeans_panels(X, shift, unit, n_jobs) if kept else None
        self.wide = False
        self.before: Floats | None = None  # the centres of the last step, and of the bounds
        # by centre and column, the sizes in the last: a sum and what it has rounded away
        self.sums = np.empty((2, 0, 0))
        self.most = np.empty(0)  # the largest that each centre was since its rows were summed

    def step(self, centres: Floats) -> tuple[int, Floats, Floats]:
        """(labels that changed, S, N) for these centres, (K, d), from the shift."""
        drift = None
        if self.before is None:
            self._empty(centres)
        elif self.bounds is not None:
            drift = np.sqrt(((centres - self.before) ** 2).sum(axis=1)) * self.unit * (1 + 1e-9)
        if self.bounded and self.bounds is None:
            self.bounds = np.empty((2, len(self.X)), np.float32)
        changed = self._look(centres, self.shift, centres, self.label, drift, self.sums)
        self.before = centres
        if self.bounded is None and changed < SETTLED * len(self.X):
            self.bounded = True
        self.most = np.maximum(self.most, self.sums[0, :, -1])
        if (self.sums[0, :, -1] < FEW * self.most).any():  # next to nothing is left of heavy rows: it is summed anew
            self._empty(centres)
            self._look(centres, self.shift, centres, self.label, None, self.sums)
            self.most = self.sums[0, :, -1].copy()
        total = self.sums[0] + self.sums[1]
        return changed, total[:, :-1], total[:, -1]

    def assigned(self, centres: Floats) -> Codes:
        """The label of each row for centres in the data's own place; ties are settled there, whatever the shift."""
        label: Codes = np.full(len(self.X), -1, np.int32)
        centres = np.ascontiguousarray(centres)
        self._look(np.ascontiguousarray(centres - self.shift), np.zeros_like(self.shift), centres, label)
        return label

    def _empty(self, centres: Floats) -> None:
        self.sums, self.most = np.zeros((2, len(centres), centres.shape[1] + 1)), np.zeros(len(centres))
        self.label.fill(-1)

    def _look(
        self,
        centres: Floats,
        origin: Floats,
        places: Floats,
        label: Codes,
        drift: Floats | None = None,
        sums: Floats | None = None,
    ) -> int:
        """How many labels changed."""
        rows = (self.X, self.weights, self.shift, self.unit, self.panels)
        bounds = None if sums is None else self.bounds
        ask = (*rows, centres, origin, places, drift, self.wide, label, bounds, sums, self.n_jobs)
        changed, settled, self.looked = kernels.kmeans_step(*ask)
        self.wide = self.wide or 10 * settled > len(self.X)
        return changed
