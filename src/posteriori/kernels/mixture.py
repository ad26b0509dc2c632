"""One turn of EM for a Gaussian mixture, and one of k-means, compiled.

The twins in `reference.mixture` say what each function computes."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Codes, Floats, Ints
from . import n_threads, native

GRAIN = 500_000  # products that are worth a thread
SIDE = 16  # rows side by side
SETTLED = 3e-3  # the share of labels that change from which on bounds spare more than they cost
FEW = 1e-12  # the share of its largest size from which on a centre's sums have lost digits
NO_MATRIX, NO_DIAGONAL = np.empty((0, 0, 0)), np.empty((0, 0))


def _threads(X: Array, factors: Floats, n_jobs: int | None) -> int:
    return n_threads(n_jobs, len(X) * (factors.size + 16 * len(factors)), GRAIN)


def _factors(factors: Floats) -> tuple[Floats, Floats]:
    return (factors, NO_MATRIX) if factors.ndim == 2 else (NO_DIAGONAL, factors)


def mixture_log_joint(
    X: Array, unit: Floats, means: Floats, factors: Floats, log_weights: Floats, n_jobs: int | None = None
) -> Floats:
    """log π_k + log N(x_n; k), shape (n, K); by diagonal factors (K, d) a missing cell (NaN) takes no part."""
    out = np.empty((len(X), len(means)))
    native().mixture_log_joint(X, unit, means, *_factors(factors), log_weights, out, _threads(X, factors, n_jobs))
    return out


def mixture_sums(
    X: Array,
    weights: Floats | None,
    unit: Floats,
    means: Floats,
    factors: Floats,
    log_weights: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of one pass over the rows."""
    n, first, second = np.empty(len(means)), np.empty_like(means), np.empty(factors.size)
    ask = (X, weights, unit, means, *_factors(factors), log_weights, pivots, shares)
    total: float = native().mixture_sums(*ask, n, first, second, _threads(X, factors, n_jobs))
    return total, n, first, second.reshape(factors.shape)


def broken_log_joint(
    Z: Floats,
    starts: Ints,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    n_jobs: int | None = None,
) -> Floats:
    """log π_k + log N(cells that are there; k) of rows with missing cells, pattern after pattern."""
    out = np.empty((len(Z), len(means)))
    threads = n_threads(n_jobs, len(Z) * covariances.size, GRAIN)
    native().broken_log_joint(Z, starts, means, covariances, log_weights, log_unit, out, threads)
    return out


def broken_sums(
    Z: Floats,
    starts: Ints,
    weights: Floats | None,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of rows with missing cells, what is missing as it is expected."""
    n, first, second = np.empty(len(means)), np.empty_like(means), np.empty_like(covariances)
    ask = (Z, starts, weights, means, covariances, log_weights, log_unit, pivots, shares)
    total: float = native().broken_sums(*ask, n, first, second, n_threads(n_jobs, len(Z) * covariances.size, GRAIN))
    return total, n, first, second


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
        self.panels = _panels(X, shift, unit, n_jobs) if kept else None
        self.wide = False
        self.before: Floats | None = None  # the centres of the last step, and of the bounds
        self.sums = np.empty(
            (2, 0, 0)
        )  # by centre and column, the sizes in the last: a sum and what it has rounded away
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
        K, d = centres.shape
        threads = n_threads(self.n_jobs, len(self.X) * (K * d + 4 * K + 8 * d), GRAIN)
        rows = (self.X, self.weights, self.shift, self.unit, self.panels)
        bounds = None if sums is None else self.bounds
        ask = (*rows, centres, origin, places, drift, self.wide, label, bounds, sums, threads)
        changed, settled, self.looked = native().kmeans_step(*ask)
        self.wide = self.wide or 10 * settled > len(self.X)
        return int(changed)


def _panels(X: Array, shift: Floats, unit: float, n_jobs: int | None) -> Array:
    """Rows in single precision, sixteen side by side, as the products of `Nearest` read them."""
    out = np.empty((-(-len(X) // SIDE), X.shape[1] + 1, SIDE), np.float32)
    native().kmeans_panels(X, shift, unit, out, n_threads(n_jobs, 4 * X.size, GRAIN))
    return out


def kmeans_distances(X: Array, shift: Floats, centres: Floats, label: Codes, n_jobs: int | None = None) -> Floats:
    """‖x − shift − c_label‖² of each row."""
    out = np.empty(len(X))
    native().kmeans_distances(X, shift, centres, label, out, n_threads(n_jobs, X.size, GRAIN))
    return out


def kmeans_candidates(X: Array, shift: Floats, candidates: Ints, closest: Floats, n_jobs: int | None = None) -> Floats:
    """min(closest[r], ‖x_r − x_c‖²) of each candidate c and row r."""
    out = np.empty((len(candidates), len(X)))
    threads = n_threads(n_jobs, X.size * len(candidates), GRAIN)
    native().kmeans_candidates(X, shift, candidates, closest, out, threads)
    return out
