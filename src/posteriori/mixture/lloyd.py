"""k-means: where it begins (k-means++, the greedy one, rows at random, or centres that were told), and the two steps that
`em.ascend` is given.

Symbols: z = x − shift; c centres, S and N the weighted sums and sizes of their rows, T = Σ w ‖z‖².

    E   each row to its nearest centre, the first of equals
    M   c = S / N, and then Σ w ‖z − c‖² = T − Σ_k ‖S_k‖² / N_k, which never grows

A centre without rows is put on the row that is farthest from its own (and the next one on the next). With D²(x) the squared
distance from a row to the nearest centre so far, k-means++ draws the next centre with probability w D² / Σ w D², several
times, and keeps the draw that leaves the least Σ w D² (Arthur and Vassilvitskii, 2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..arrays import Array, Codes, Floats, Ints
from ..errors import BadValue
from ..kernels.mixture import Nearest, kmeans_candidates, kmeans_distances
from ..kernels.naive import class_moments_seen
from ..kernels.neighbors import bounds

CANCELLED = 1e-9  # share of T below which the difference has too few digits: the squares are summed themselves
SAME = 4 * np.finfo(np.float64).eps  # of a row's length: so near a centre lies on it, but for the rounding of means
WORTH_BOUNDS = 2048  # products of a row with all centres: with fewer, looking costs no more than the bounds do


def stream(random_state: Any) -> np.random.RandomState:
    """scikit-learn's stream of random numbers; a Generator gives the seed of one."""
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(1 << 32))
    found: np.random.RandomState = check_random_state(random_state)
    return found


def plus_plus(
    X: Array, weights: Floats | None, K: int, random: np.random.RandomState, n_jobs: int | None = None
) -> Ints:
    """The rows that k-means++ takes for centres, drawn as scikit-learn draws them.

    >>> plus_plus(np.array([[0.0], [0.1], [9.0], [9.1]]), None, 2, np.random.RandomState(0)).tolist()
    [2, 1]
    """
    n = len(X)
    w = np.ones(n) if weights is None else weights
    trials = 2 + int(np.log(K))
    shift = np.asarray(X[0], dtype=np.float64)
    chosen = np.empty(K, np.int64)
    chosen[0] = random.choice(n, p=w / w.sum())
    closest = kmeans_candidates(X, shift, chosen[:1], np.full(n, np.inf), n_jobs)[0]
    for c in range(1, K):
        steps = np.cumsum(closest if weights is None else w * closest)
        drawn = random.uniform(size=trials) * steps[-1]
        at = np.searchsorted(steps, drawn).astype(np.int64)
        left = kmeans_candidates(X, shift, at, closest, n_jobs)
        best = int(np.argmin((left if weights is None else left * w).sum(axis=1)))
        chosen[c], closest = at[best], left[best]
    return chosen


def at_random(n: int, weights: Floats | None, K: int, random: np.random.RandomState) -> Ints:
    """K different rows, drawn by weight; where fewer weigh anything beside the others, all of these and the heaviest left.

    >>> sorted(at_random(4, np.array([0.0, 1.0, 1e-320, 1e-310]), 3, np.random.RandomState(0)).tolist())
    [1, 2, 3]
    """
    if weights is None:
        return np.asarray(random.choice(n, size=K, replace=False))
    p = weights / weights.sum()
    if np.count_nonzero(p) >= K:
        return np.asarray(random.choice(n, size=K, replace=False, p=p))
    return np.asarray(np.argsort(-p, kind="stable")[:K])


def told_centres(given: Any, K: int, d: int) -> Floats:
    """Centres that were told, as (K, d) floats."""
    try:
        found = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise BadValue(
            f"init must be 'k-means++', 'random', a function or centres of shape {(K, d)}. Got {given!r}"
        ) from None
    if found.ndim != 2 or found.shape[0] != K:
        raise BadValue(
            f"The shape of the initial centers {found.shape} does not match the number of clusters {K} (init)."
        )
    if found.shape[1] != d:
        raise BadValue(
            f"The shape of the initial centers {found.shape} does not match the number of features of the data {d} (init)."
        )
    if not np.isfinite(found).all():
        raise BadValue("init holds a centre that is not finite")
    return found


@dataclass(eq=False)
class Turn:
    """Centres and, once rows were given to them, the centres of these rows."""

    centres: Floats
    after: Floats | None = None
    changed: int = 0


class Lloyd:
    """Rows, weights and where distances are measured from."""

    def __init__(self, X: Array, weights: Floats | None, n_jobs: int | None) -> None:
        self.X, self.weights, self.n_jobs = X, weights, n_jobs
        one = np.zeros(len(X), np.uint8)
        _, mean, m2, low, high, _ = class_moments_seen(X, one, 1, None, n_jobs)
        self.unit = unit_of(float((high / 2 - low / 2).max()), X.shape[1])
        self.variance = float(m2.sum()) / X.size
        if weights is not None:
            _, mean, m2, _, _, _ = class_moments_seen(X, one, 1, weights, n_jobs)
        self.shift, self.total = mean[0], float(m2.sum())  # the mean: nothing cancels in T
        self.mass = float(len(X) if weights is None else weights.sum())

    def begin(self, algorithm: str, K: int) -> None:
        """Forget the labels of an earlier climb."""
        bounded: bool | None = algorithm != "lloyd" and K > 1
        if algorithm == "auto":
            bounded = None if K > 1 and K * self.X.shape[1] >= WORTH_BOUNDS else False
        rows = (self.X, self.weights, self.shift, self.unit, self.n_jobs)
        self.nearest = Nearest(*rows, bounded=bounded, kept=not bounded)

    def expect(self, turn: Turn) -> tuple[Turn, float]:
        """Rows to centres, and −Σ w ‖z − c‖² / Σ w for the centres that follow."""
        turn.changed, sums, sizes = self.nearest.step(turn.centres)
        moved = self._move_empty(turn.centres, sums, sizes)
        full = sizes > 0
        turn.after = np.where(full[:, None], sums / np.where(full, sizes, 1.0)[:, None], turn.centres)
        within = self.total - float(((sums[full] ** 2).sum(axis=1) / sizes[full]).sum())
        if within < CANCELLED * self.total:
            square = kmeans_distances(self.X, self.shift, turn.after, self.nearest.label, self.n_jobs)
            square[moved] = 0.0
            within = float(square.sum() if self.weights is None else (self.weights * square).sum())
        return turn, -within / self.mass

    @staticmethod
    def maximise(turn: Turn) -> Turn:
        assert turn.after is not None
        return Turn(turn.after)

    def _move_empty(self, centres: Floats, sums: Floats, sizes: Floats) -> Ints:
        """Centres without rows take the farthest rows, which are returned; what these leave behind is summed anew."""
        empty = np.flatnonzero(sizes == 0)
        if not len(empty):
            return empty
        label = self.nearest.label
        square = kmeans_distances(self.X, self.shift, centres, label, self.n_jobs)
        far = np.argsort(-square, kind="stable")[: len(empty)]
        Z = self.X[far].astype(np.float64) - self.shift
        apart = square[far] > SAME**2 * (Z**2).sum(axis=1)  # else there are more centres than different rows
        n = len(far) if apart.all() else int(apart.argmin())
        moved, filled = far[:n], empty[:n]
        sizes[filled] = 1.0 if self.weights is None else self.weights[moved]
        sums[filled] = Z[:n] * sizes[filled, None]
        stays = np.isin(label, label[moved])
        stays[moved] = False
        rows = np.flatnonzero(stays)
        w = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        Z = (self.X[rows].astype(np.float64) - self.shift) * w[:, None]
        for k in np.unique(label[moved]):
            mine = label[rows] == k
            sums[k], sizes[k] = Z[mine].sum(axis=0), w[mine].sum()
        return moved

    def finish(self, centres: Floats) -> tuple[Codes, float]:
        """(labels, Σ w ‖x − c‖²) for centres in the data's own place."""
        label = self.nearest.assigned(centres)
        square = kmeans_distances(self.X, self.shift, np.ascontiguousarray(centres - self.shift), label, self.n_jobs)
        return label, float(square.sum() if self.weights is None else (self.weights * square).sum())


def unit_of(reach: float, d: int) -> float:
    """The power of two by which rows that reach so far are about one long; squares that no float holds are refused."""
    if reach * np.sqrt(d) > 1e150:
        raise BadValue("the squares of X are too large for float64 (values beyond about 1e150); rescale the columns")
    if 0 < reach < 1e-150:
        raise BadValue(
            "the squares of X are too small for float64 (differences below about 1e-150); rescale the columns"
        )
    return float(np.ldexp(1.0, -int(np.frexp(reach)[1]))) if reach > 0 else 1.0


def assign(X: Array, centres: Floats, n_jobs: int | None) -> Codes:
    """The nearest centre of each row, the first of equals."""
    lo, hi, _ = bounds(X, n_jobs)
    shift = centres.mean(axis=0)
    reach = float(max(np.abs(lo - shift).max(), np.abs(hi - shift).max(), np.abs(centres - shift).max()))
    unit = float(np.ldexp(1.0, -int(np.frexp(reach)[1]))) if 1e-150 < reach < 1e150 else 1.0
    return Nearest(X, None, shift, unit, n_jobs).assigned(centres)
