"""k-means: hard EM, the limit of a mixture of spheres that shrink together.

Symbols: c centres, a[n] the centre of row n; Σ_n w_n ‖x_n − c_a[n]‖² is what falls (`inertia_`).

It begins at k-means++, the greedy one, rows at random, or centres that are given, and `em.ascend` repeats two steps.

Symbols: z = x − shift; c centres, S and N the weighted sums and sizes of their rows, T = Σ w ‖z‖².

    E   each row to its nearest centre, the first of equals
    M   c = S / N, and then Σ w ‖z − c‖² = T − Σ_k ‖S_k‖² / N_k, which never grows

A centre without rows is put on the row that is farthest from its own (and the next one on the next). With D²(x) the squared
distance from a row to the nearest centre so far, k-means++ draws the next centre with probability w D² / Σ w D², several
times, and keeps the draw that leaves the least Σ w D² (Arthur and Vassilvitskii, 2007).
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import views
from ..arrays import Array, Codes, Floats, Ints
from ..budget import refuse_over
from ..em import Ascent, ascend
from ..errors import BadParameter, BadValue
from ..estimator import (
    AT_LEAST_0,
    AT_LEAST_1,
    AUTO,
    Estimator,
    NJobs,
    Progress,
    RandomState,
    learning,
    parameters,
)
from ..fields import MAYBE, NOT_NEGATIVE, UNBOUNDED, AnyFloats, Natural, need
from ..kernels import class_moments, column_bounds, kmeans_candidates, kmeans_distances
from ..kernels.mixture import Nearest
from ..table.points import Border, read_points
from ..table.weights import check_weights

if TYPE_CHECKING:
    from ..views import Drawing

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
        _, mean, m2, low, high, _ = class_moments(X, one, 1, None, n_jobs)
        self.unit = unit_of(float((high / 2 - low / 2).max()), X.shape[1])
        self.variance = float(m2.sum()) / X.size
        if weights is not None:
            _, mean, m2, _, _, _ = class_moments(X, one, 1, weights, n_jobs)
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
    lo, hi, _ = column_bounds(X, n_jobs)
    shift = centres.mean(axis=0)
    reach = float(max(np.abs(lo - shift).max(), np.abs(hi - shift).max(), np.abs(centres - shift).max()))
    unit = float(np.ldexp(1.0, -int(np.frexp(reach)[1]))) if 1e-150 < reach < 1e150 else 1.0
    return Nearest(X, None, shift, unit, n_jobs).assigned(centres)


BORDER = Border(
    "a distance needs every coordinate",
    missing="GaussianMixture(covariance_type='spherical') takes missing cells",
    words="Encode words as numbers first",
    floats=(np.float64, np.float32),
)
PATIENCE = 3  # passes in batches that find nothing better, after which there are no more


@parameters
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):  # type: ignore[misc]
    """K centres with the least Σ w ‖x − c‖², by Lloyd's steps, with scikit-learn's parameters and attributes.

    Labels are exact: products in single precision leave candidates, and differences in double precision settle what is
    close. A sparse table is made dense (within the memory budget).

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"}, callable or array-like of shape (n_clusters, n_features), default="k-means++"
    n_init : "auto" or int, default="auto"
        Starts: with "auto" one for k-means++ and told centres, else ten.
    max_iter : int, default=300
    tol : float, default=1e-4
        Steps end where the centres move (squared, summed) by no more than tol times the mean variance of the columns.
    verbose, random_state, copy_x : as in scikit-learn; X is never written to
    algorithm : {"auto", "lloyd", "hamerly", "elkan"}, default="auto"
        "hamerly" keeps bounds and leaves rows alone whose centre cannot have changed; "elkan", scikit-learn's name for
        exact bounds, takes the same way; "lloyd" looks at every row. "auto" is the faster for the shape: it looks at every
        row until few labels change, and keeps bounds from then on where there are many centres. The answer is the same.
    batch_size : int, default=None
        Rows of a step, for tables of very many rows: each centre moves to the mean of all rows it was ever given. The best
        of the passes is kept.
    progress : callable, default=None
        Called with the turn and −Σ w ‖x − c‖² / Σ w.
    n_jobs : int, default=None
        Threads; they never change a result.

    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> model.cluster_centers_.tolist(), model.predict([[0, 0], [12, 3]]).tolist()
    ([[10.0, 2.0], [1.0, 2.0]], [1, 0])
    """

    n_clusters: Annotated[int, AT_LEAST_1] = 8
    _: KW_ONLY
    init: Annotated[Any, StrOptions({"k-means++", "random"}), callable, "array-like"] = "k-means++"
    n_init: Annotated[int | str, AUTO, AT_LEAST_1] = "auto"
    max_iter: Annotated[int, AT_LEAST_1] = 300
    tol: Annotated[float, AT_LEAST_0] = 1e-4
    verbose: Annotated[int, "verbose"] = 0
    random_state: RandomState = None
    copy_x: bool = True
    algorithm: Annotated[str, StrOptions({"auto", "lloyd", "hamerly", "elkan"})] = "auto"
    batch_size: Annotated[int | None, AT_LEAST_1, None] = None
    progress: Progress = None
    n_jobs: NJobs = None
    cluster_centers_: Annotated[AnyFloats, "k d"] = field(init=False)
    labels_: Annotated[Codes, "rows", NOT_NEGATIVE] = field(init=False)
    inertia_: Annotated[float, UNBOUNDED] = field(init=False)
    n_iter_: Natural = field(init=False)
    trace_: Annotated[tuple[float, ...], UNBOUNDED, MAYBE] = field(init=False)
    _n_init: Annotated[Natural, MAYBE] = field(init=False)
    _interrupted: Annotated[bool, MAYBE] = field(init=False)
    _n_features_out: Annotated[Natural, "k"] = field(init=False)
    _sizes: Annotated[Floats, "k", NOT_NEGATIVE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need(self.cluster_centers_.size, "there must be a centre, and a column")
        need(self.labels_.max(initial=0) < self._n_features_out, "a label must be a centre's")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_clusters", "max_iter", "n_init", "tol", "batch_size"):
            if isinstance(getattr(self, name), bool):
                raise BadParameter(f"{name} must be a number. Got {getattr(self, name)} instead.")

    def _open(self, X: Any, reset: bool) -> Array:
        found = read_points(self, X, BORDER, reset=reset)
        if not isinstance(found, np.ndarray):
            refuse_over(None, 8.0 * found.shape[0] * found.shape[1], "the table made dense", "give fewer columns")
            found = found.toarray()
        return np.asarray(found)

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """The best of `n_init` starts; y is not used."""
        X = self._open(X, reset=True)
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        rows, w = X, weights
        if weights is not None and (weights == 0).any():
            rows, w = np.ascontiguousarray(X[weights > 0]), weights[weights > 0]
        if len(rows) < self.n_clusters:
            raise BadValue(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        if w is not None:  # by a power of two: sums stay within the floats
            exponent = int(np.frexp(w.max())[1])
            w = np.maximum(np.ldexp(w, -exponent), np.finfo(np.float64).smallest_subnormal)
        self._n_init = self._starts()
        lloyd, random = Lloyd(rows, w, self.n_jobs), stream(self.random_state)
        best: tuple[float, Floats, Codes, Ascent[Turn]] | None = None
        stopped = False
        for _ in range(self._n_init):
            centres = self._begin(rows, w, random) - lloyd.shift
            self._say("Initialization complete")
            found = self._batches(lloyd, centres, random) if self.batch_size else self._ascend(lloyd, centres)
            after = found.parameters.after
            assert after is not None
            public = (after + lloyd.shift).astype(X.dtype)
            label, inertia = lloyd.finish(public.astype(np.float64))
            if best is None or (inertia < best[0] and not _same(label, best[2], self.n_clusters)):
                best = inertia, public, label, found
            stopped = found.interrupted
            if stopped:
                warnings.warn(
                    f"interrupted in turn {found.turns}: the best so far is kept", ConvergenceWarning, stacklevel=3
                )
                break
        assert best is not None
        self.inertia_, self.cluster_centers_, self.labels_, found = best
        if w is not None:
            self.inertia_ = float(np.ldexp(self.inertia_, exponent))
        if rows is not X:
            self.labels_ = assign(X, self.cluster_centers_.astype(np.float64), self.n_jobs)
        self.n_iter_ = found.turns
        self.trace_ = found.trace
        self._interrupted = stopped
        self._n_features_out = self.n_clusters
        rows_of = np.bincount(best[2], minlength=self.n_clusters)
        mass: Floats = rows_of.astype(np.float64)
        if w is not None:
            mass = np.ldexp(np.bincount(best[2], w, minlength=self.n_clusters), exponent)
        self._sizes = mass  # from which partial_fit goes on
        distinct = int(np.count_nonzero(rows_of))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). Possibly due "
                "to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _starts(self) -> int:
        """How many starts there are; centres that were told are one."""
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=4,
            )
        told = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 1 if told or (isinstance(self.init, str) and self.init == "k-means++") else 10
        if told and self.n_init != 1:
            warnings.warn(
                f"Explicit initial center position passed: performing only one init in {type(self).__name__} instead of "
                f"n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=4,
            )
            return 1
        return int(self.n_init)

    def _begin(self, X: Array, weights: Floats | None, random: np.random.RandomState) -> Floats:
        K, d = self.n_clusters, X.shape[1]
        if isinstance(self.init, str):
            if self.init == "random":
                return X[at_random(len(X), weights, K, random)].astype(np.float64)
            return X[plus_plus(X, weights, K, random, self.n_jobs)].astype(np.float64)
        if not callable(self.init):
            return told_centres(self.init, K, d)
        try:
            found = self.init(X, K, random_state=random)
        except TypeError as error:
            raise BadParameter(f"init is called with X, n_clusters and random_state=…: {error}") from error
        return told_centres(found, K, d)

    def _say(self, text: str) -> None:
        if self.verbose:
            print(text)

    def _ascend(self, lloyd: Lloyd, centres: Floats) -> Ascent[Turn]:
        """Steps until no label changes, or the centres stay."""
        here: list[Turn] = []
        tol = self.tol * lloyd.variance
        lloyd.begin(self.algorithm, self.n_clusters)

        def expect(turn: Turn) -> tuple[Turn, float]:
            here[:] = [turn]
            return lloyd.expect(turn)

        def told(turn: int, value: float) -> None:
            self._say(f"Iteration {turn - 1}, inertia {-value * lloyd.mass}.")
            if self.progress is not None:
                self.progress(turn, value)

        def close(before: float, value: float) -> bool:
            turn = here[0]
            assert turn.after is not None
            if turn.changed == 0:
                self._say("Converged: strict convergence.")
                return True
            moved = float(((turn.after - turn.centres) ** 2).sum())
            if moved <= tol:
                self._say(f"Converged: center shift {moved} within tolerance {tol}.")
            return moved <= tol

        return ascend([Turn(centres)], expect, lloyd.maximise, max_iter=self.max_iter, progress=told, close=close)

    def _batches(self, lloyd: Lloyd, centres: Floats, random: np.random.RandomState) -> Ascent[Turn]:
        """Passes over the rows in batches, in an order drawn anew for each; the best of them."""
        assert self.batch_size is not None
        sizes, trace = np.zeros(len(centres)), []
        best, least, since, done, interrupted = centres, np.inf, 0, False, False
        try:
            for turn in range(1, self.max_iter + 1):
                before, order = centres, random.permutation(len(lloyd.X))
                for begin in range(0, len(order), self.batch_size):
                    at = order[begin : begin + self.batch_size]
                    w = None if lloyd.weights is None else lloyd.weights[at]
                    centres, sizes = batch_step(lloyd.X[at], w, lloyd.shift, lloyd.unit, centres, sizes, self.n_jobs)
                lloyd.begin("lloyd", len(centres))
                value = -lloyd.expect(Turn(centres))[1]  # of the rows' means, which are no farther than the centres
                trace.append(-value)
                if self.progress is not None:
                    self.progress(turn, -value)
                since += 1
                if value < least:
                    best, least, since = centres, value, 0
                done = bool(((centres - before) ** 2).sum() <= self.tol * lloyd.variance) or since >= PATIENCE
                if done:
                    break
        except KeyboardInterrupt:
            if not trace:
                raise
            interrupted = True
        return Ascent(Turn(best, best), tuple(trace), done, interrupted)

    @learning
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """One step with these rows: each centre moves to the mean of all rows it was ever given."""
        first = "cluster_centers_" not in self.__dict__
        X = self._open(X, reset=first)
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        if first:
            if len(X) < self.n_clusters:
                raise BadValue(f"n_samples={len(X)} should be >= n_clusters={self.n_clusters}.")
            centres = self._begin(X, weights, stream(self.random_state))
            sizes = np.zeros(self.n_clusters)
        else:
            if len(self.cluster_centers_) != self.n_clusters:
                raise BadParameter(f"n_clusters was {len(self.cluster_centers_)} and is {self.n_clusters}: fit again")
            centres = self.cluster_centers_.astype(np.float64)
            sizes = self._sizes
        shift = centres.mean(axis=0)
        reach = float(np.abs(X.astype(np.float64) - shift).max())
        unit = unit_of(reach, X.shape[1])
        moved, self._sizes = batch_step(X, weights, shift, unit, centres - shift, sizes, self.n_jobs)
        self.cluster_centers_ = (moved + shift).astype(X.dtype)
        self.labels_ = assign(X, self.cluster_centers_.astype(np.float64), self.n_jobs)
        square = kmeans_distances(X, shift, np.ascontiguousarray(moved), self.labels_, self.n_jobs)
        self.inertia_ = float(square.sum() if weights is None else (square * weights).sum())
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self.trace_ = ()
        self._n_features_out, self._n_init = self.n_clusters, 1
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Codes:
        """Fit, and the centre of each row."""
        labels: Codes = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and the distances to the centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def _asked(self, X: Any) -> Array:
        check_is_fitted(self, "cluster_centers_")
        self._cached("checked", lambda: None)
        return self._open(X, reset=False)

    def predict(self, X: Any) -> Codes:
        """The nearest centre of each row, the first of equals."""
        return assign(self._asked(X), np.asarray(self.cluster_centers_, dtype=np.float64), self.n_jobs)

    def transform(self, X: Any) -> Array:
        """‖x − c‖ of each row and centre."""
        from scipy.spatial.distance import cdist

        X = self._asked(X)
        return np.asarray(cdist(X, self.cluster_centers_).astype(X.dtype))

    def plot(self, X: Any, columns: tuple[int, int] = (0, 1)) -> Drawing:
        """Two columns of the rows in the colours of their centres."""
        return views.drawing("k-means", self, X, columns)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """−Σ w ‖x − c‖² for the nearest centres."""
        X = self._asked(X)
        weights = None if sample_weight is None else check_weights(sample_weight, len(X))
        centres = np.asarray(self.cluster_centers_, dtype=np.float64)
        shift = centres.mean(axis=0)
        label = assign(X, centres, self.n_jobs)
        square = kmeans_distances(X, shift, np.ascontiguousarray(centres - shift), label, self.n_jobs)
        return -float(square.sum() if weights is None else (square * weights).sum())


def batch_step(
    X: Array, weights: Floats | None, shift: Floats, unit: float, centres: Floats, sizes: Floats, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """(centres, sizes) after a batch: c + (S − N c) / (size + N). One that never had a row goes to the farthest row."""
    rows = Nearest(X, weights, shift, unit, n_jobs)
    centres = np.ascontiguousarray(centres)
    _, sums, here = rows.step(centres)
    square = kmeans_distances(X, shift, centres, rows.label, n_jobs)
    sizes = sizes + here
    moved = centres + (sums - here[:, None] * centres) / np.where(sizes > 0, sizes, 1.0)[:, None]
    for k, r in zip(np.flatnonzero(sizes == 0), np.argsort(-square, kind="stable")):
        if square[r] > 0:
            moved[k] = X[r].astype(np.float64) - shift
    return moved, sizes


def _same(a: Codes, b: Codes, K: int) -> bool:
    """Whether two labellings are one but for the names."""
    name = np.full(K, -1, np.int64)
    name[a] = b
    return bool((name[a] == b).all())
