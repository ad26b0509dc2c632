"""What the classifier and the regressor share: the border where tables are checked, the space, the neighbours."""

from __future__ import annotations

import copy
import warnings
from dataclasses import KW_ONLY, field, replace
from functools import partial
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Array, Floats, Ints
from ..errors import BadParameter, BadValue, ModelError
from ..estimator import AT_LEAST_1, AUTO, Estimator, NJobs, alike, parameters
from ..table.frame import open_frame
from ..table.points import Border, read_points
from ..table.weights import weights_or_ones
from . import metrics
from .kdtree import LEAF_SIZE
from .loo import largest_k
from .search import ALGORITHMS, Pairwise, Search, Store, Told, make_search
from .weights import NAMES, needs_next, repeated_weights, vote_weights

BORDER = Border(
    "a distance needs every coordinate",
    missing="metric='nan_euclidean' takes missing cells, 'gower' and 'vdm' in mixed tables too",
    words="metric='gower' and metric='vdm' compare words and numbers",
    floats=(np.float64, np.float32),
)


@parameters
class Neighbors(Estimator):
    """Parameters and searches; a subclass says what the neighbours vote on."""

    n_neighbors: Annotated[int | str, AT_LEAST_1, AUTO] = 5
    _: KW_ONLY
    weights: Annotated[Any, StrOptions(set(NAMES)), callable, None] = "uniform"
    algorithm: Annotated[str, StrOptions(set(ALGORITHMS))] = "auto"
    leaf_size: Annotated[int | str, *LEAF_SIZE] = "auto"
    p: Annotated[float, *metrics.EXPONENT] = 2
    metric: Annotated[Any, StrOptions(metrics.KNOWN), callable] = "minkowski"
    metric_params: Annotated[dict[str, Any] | None, dict, None] = None
    kinds: Any = None
    n_jobs: NJobs = None
    _store: Store = field(init=False)
    _space: metrics.Space | metrics.Mixed | None = field(init=False)
    _weight: Floats | None = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_mixed
        named = self.metric if isinstance(self.metric, str) else ""
        tags.input_tags.allow_nan = named == "nan_euclidean" or self._is_mixed
        tags.input_tags.pairwise = named == "precomputed"
        tags.input_tags.positive_only = named == "precomputed"
        return tags

    @property
    def _is_mixed(self) -> bool:
        return isinstance(self.metric, str) and self.metric in metrics.MIXED

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.n_neighbors, bool):
            raise BadParameter(f"n_neighbors must be a number of neighbours or 'auto'. Got {self.n_neighbors} instead.")

    def _open(self, X: Any, reset: bool) -> Any:
        """The border: a checked table, in the caller's order of columns."""
        if self._is_mixed:
            return self._open_mixed(X, reset)
        border = replace(BORDER, allow_missing=self.metric == "nan_euclidean")
        points = read_points(self, X, border, reset=reset)
        if self.metric == "precomputed":
            if reset and points.shape[0] != points.shape[1]:
                raise BadValue(f"precomputed distances must be square to learn from, got shape {points.shape}")
            return _distances(points)
        if isinstance(self.metric, str) and self.metric in metrics.BOOLEAN and isinstance(points, np.ndarray):
            if not np.isin(points, (0, 1)).all():
                said = f"metric={self.metric!r} sees only whether a cell is zero"
                warnings.warn(said, DataConversionWarning, stacklevel=5 if reset else 4)
            return points != 0
        return points

    def _open_mixed(self, X: Any, reset: bool) -> Any:
        frame = open_frame(X)
        if frame.n == 0 or frame.d == 0:
            raise BadValue(
                f"Found array with {frame.n} sample(s) and {frame.d} feature(s) (shape=({frame.n}, {frame.d})) while a "
                "minimum of 1 is required."
            )
        if reset:
            self.n_features_in_ = frame.d
            self.__dict__.pop("feature_names_in_", None)
            if frame.names is not None:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
        return frame

    def _keep_rows(self, table: Any, y: Array | None, first: bool) -> None:
        """The rows into the store; the first ones give it its space."""
        if first:
            self._space = None
            self._learned_by = copy.deepcopy(self._measure())
            if self.metric_params and (self._is_mixed or self.metric == "precomputed"):
                raise BadParameter(f"metric_params: {self.metric} takes none. Got {self.metric_params!r} instead.")
            if self._is_mixed:
                self._space = metrics.mixed_space(self.metric, table, y, self.kinds, self._weight)
            elif isinstance(self.metric, str) and isinstance(table, np.ndarray):
                self._space = metrics.space(self.metric, self.p, self.metric_params, table, self._weight)
            rows = self._space(table) if self._space is not None else table
            self._store = Store(rows.copy() if rows is table else rows, self._index)
            return
        if self.metric == "precomputed":
            raise ModelError("precomputed distances cannot be learned in parts: fit again on the whole matrix")
        if hasattr(table, "tocsr"):
            raise ModelError("sparse rows cannot be learned in parts: give partial_fit dense ones")
        if not isinstance(self._store.rows, np.ndarray):
            raise ModelError(
                "the rows learned so far are sparse, and cannot be added to: fit dense ones, or all at once"
            )
        self._store = self._store.with_rows(self._rows(table), self._index)

    def _rows(self, table: Any) -> Any:
        """The rows in the coordinates of the space, of the store's type."""
        if self._space is not None and hasattr(table, "tocsr"):
            raise ModelError("the rows that were learned are dense, these are sparse: give them as X.toarray()")
        rows = self._space(table) if self._space is not None else table
        if isinstance(rows, np.ndarray) and isinstance(self._store.rows, np.ndarray):
            rows = np.ascontiguousarray(rows, dtype=self._store.rows.dtype)
        return rows

    def _index(self, rows: Any) -> Search:
        """A search over rows: an index for L_p, else all distances."""
        space = self._space
        if isinstance(space, metrics.Mixed):
            if not np.isnan(rows).any():
                return make_search(rows, space.norm, 1.0, self.algorithm, self.leaf_size, self.n_jobs)
            return Pairwise(rows, partial(metrics.gower_missing, widths=space.widths))
        if space is not None:
            return make_search(rows, space.metric, space.p, self.algorithm, self.leaf_size, self.n_jobs)
        if self.metric == "precomputed":
            return Told()
        named, given = self.metric, copy.deepcopy(self.metric_params or {})
        if hasattr(rows, "tocsr"):
            named, given = self._sparse_metric(given)
        found = Pairwise(rows, partial(pairwise_distances, metric=named, **given))
        try:
            found.query(rows[:1], 1, None)
        except (TypeError, ValueError, OverflowError) as error:
            if callable(named):
                raise
            raise ModelError(f"metric={named!r} cannot compare these rows: {error}") from error
        return found

    def _sparse_metric(self, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """scikit-learn's name of an L_p metric for sparse rows, whose distances are all computed."""
        if not isinstance(self.metric, str) or self.metric not in metrics.NAMES:
            return self.metric, given
        name, _ = metrics.metric_named(self.metric, metrics.exponent(self.metric, self.p, given))
        if name not in ("euclidean", "manhattan") or given:
            raise ModelError(f"metric={self.metric!r} with these parameters needs a dense table: X.toarray()")
        return name, given

    def _neighbors(self, rows: Any, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        """(distance, row) of the k nearest of rows that are in the space's coordinates."""
        store: Search = self._store
        if isinstance(self._space, metrics.Mixed) and np.isnan(rows).any():  # an index knows no missing cells
            self._store.check(k, skip)
            store = Pairwise(self._store.rows, partial(metrics.gower_missing, widths=self._space.widths))
        return store.query(rows, k, skip, self.n_jobs)

    def _weighted(self, X: Any) -> tuple[Ints, Array | None]:
        """(rows, weights) of the k neighbours; weights None where all weigh the same."""
        return self._voting(*self._ask(X), self._neighbors)

    def _voting(self, k: int, rows: Any, skip: Ints | None, near: Any) -> tuple[Ints, Array | None]:
        """(rows, weights) of the k neighbours that `near` finds."""
        if self._weight is not None:
            distance, index = self._enough(rows, k, skip, near)
            return index, repeated_weights(distance, self._weight[index], self.weights, k)
        more = int(needs_next(self.weights) and k < len(self._store) - (skip is not None))
        distance, index = near(rows, k + more, skip)
        if not more:
            return index, vote_weights(distance, self.weights)
        return index[:, :k], vote_weights(distance[:, :k], self.weights, distance[:, k:].astype(np.float64))

    def _ask(self, X: Any) -> tuple[int, Any, Ints | None]:
        """(k, the queries' rows, the row that is no neighbour of each: itself, where the training rows are asked)."""
        check_is_fitted(self)
        self._made("ready", self._same_metric)
        k = int(self.n_neighbors_ if self.n_neighbors == "auto" else self.n_neighbors)
        if X is None:
            return k, self._store.rows, np.arange(len(self._store))
        return k, self._rows(self._open(X, False)), None

    def _same_metric(self) -> None:
        """Refuse a metric that is another than the one by which the rows were kept."""
        for name, now in self._measure().items():
            then = self._learned_by[name]
            if not alike(then, now):
                raise ModelError(f"{name} was {then!r} when the rows were learned and is {now!r} now: fit again")

    def _measure(self) -> dict[str, Any]:
        """The parameters that say how far two rows are apart."""
        return {
            "metric": self.metric,
            "metric_params": {"p": self.p, **(self.metric_params or {})},
            "kinds": self.kinds,
        }

    def _enough(self, rows: Any, k: int, skip: Ints | None = None, near: Any = None) -> tuple[Array, Ints]:
        """As many neighbours as it takes until their weights add up to more than k."""
        n, near = self._most(rows, skip), near or self._neighbors
        count = min(k + 1, n)
        while True:
            distance, index = near(rows, count, skip)
            if self._weight is None or count == n or (self._weight[index].sum(axis=1) > k).all():
                return distance, index
            count = min(2 * count, n)

    def _most(self, rows: Any, skip: Ints | None) -> int:
        """How many neighbours every query has: all rows, or as many as a sparse matrix of distances stores."""
        if self.metric != "precomputed" or isinstance(rows, np.ndarray):
            return len(self._store) - (skip is not None)
        stored = np.diff(rows.indptr)
        if skip is not None:
            row = np.repeat(np.arange(len(stored)), stored)
            stored = np.bincount(row[rows.indices != skip[row]], minlength=len(stored))
        return int(stored.min(initial=len(self._store)))

    def _choose_k(self, curve: Any) -> None:
        """n_neighbors_: what was asked for, or the k of least leave-one-out loss (the smallest of equals)."""
        self._made("ready", self._same_metric)
        self.__dict__.pop("loo_curve_", None)
        if self.n_neighbors != "auto":
            self.n_neighbors_ = int(self.n_neighbors)
            return
        n = len(self._store)
        if n < 2:
            raise ModelError(
                "n_neighbors='auto' leaves one row out, so it needs at least 2 rows. Got n_samples = 1 instead."
            )
        most = min(largest_k(n), max(1, self._most(self._store.rows, np.arange(n))))
        distance, index = self._enough(self._store.rows, most, np.arange(n))
        self.loo_curve_ = curve(distance.astype(np.float64), index, most)
        self.n_neighbors_ = int(np.argmin(self.loo_curve_)) + 1

    def _weigh(self, sample_weight: Any, n: int, first: bool) -> Floats | None:
        """The weights of the old rows and of n new ones, None where all weigh one."""
        old = None if first else self._weight
        if old is None and sample_weight is None:
            return None
        new = weights_or_ones(sample_weight, n)
        return new if first else np.concatenate([np.ones(len(self._store)) if old is None else old, new])

    @property
    def n_samples_fit_(self) -> int:
        """The number of training rows."""
        return len(self._store)

    @property
    def effective_metric_(self) -> Any:
        """The metric in use, after the simplest name for it."""
        return self._space.metric if self._space is not None else self.metric

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """(distance, row) of the nearest training rows; without X, those of each training row, the row itself left out."""
        k, rows, skip = self._ask(X)
        k = k if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise BadParameter(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ModelError(f"Expected n_neighbors > 0. Got {k}")
        distance, index = self._neighbors(rows, int(k), skip)
        return (distance, index) if return_distance else index

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The neighbours as a sparse matrix (queries, training rows): ones, or distances with mode="distance"."""
        from scipy.sparse import csr_matrix

        if mode not in ("connectivity", "distance"):
            raise ModelError(f"mode must be 'connectivity' or 'distance'. Got {mode!r} instead.")
        distance, index = self.kneighbors(X, n_neighbors)
        m, k = index.shape
        data = np.ones(m * k) if mode == "connectivity" else distance.ravel()
        return csr_matrix((data, index.ravel(), np.arange(0, m * k + 1, k)), shape=(m, self.n_samples_fit_))


def _distances(D: Any) -> Any:
    """Distances told in advance: none negative, a sparse matrix without repeated entries."""
    if not isinstance(D, np.ndarray) and not D.has_canonical_format:
        D = D.copy()
        D.sum_duplicates()
    cells = D if isinstance(D, np.ndarray) else D.data
    if cells.size and cells.min() < 0:
        raise BadValue(f"Negative values in data passed to a precomputed distance matrix: {cells.min()} is no distance")
    return D
