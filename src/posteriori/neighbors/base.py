"""What the classifier and the regressor share: the border where tables are checked, the space, the neighbours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..arrays import Array, Floats, Ints
from ..errors import BadValue, ModelError, did_you_mean, listed
from ..table.frame import open_frame
from . import metrics, mixed
from .kdtree import NAMES, metric_named
from .loo import largest_k
from .search import Pairwise, make_search
from .store import Store
from .weights import check_weights, needs_next, repeated_weights, vote_weights


def told_distances(Q: Any, X: Any) -> Array:
    """Distances that are given as they are."""
    found: Array = Q.toarray() if hasattr(Q, "toarray") else Q
    return found


class Neighbors(BaseEstimator):  # type: ignore[misc]
    """Parameters and searches; a subclass says what the neighbours vote on."""

    _space: metrics.Space | mixed.Mixed | None
    _store: Store
    _weight: Floats | None
    n_neighbors: int | str
    weights: Any
    algorithm: str
    leaf_size: int | str
    p: float
    metric: Any
    metric_params: dict[str, Any] | None
    kinds: Any
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_mixed
        tags.input_tags.allow_nan = self.metric == "nan_euclidean" or self._is_mixed
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    @property
    def _is_mixed(self) -> bool:
        return isinstance(self.metric, str) and self.metric in mixed.METRICS

    def _check_parameters(self) -> None:
        k = self.n_neighbors
        if k != "auto" and (isinstance(k, str | bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ModelError(f"n_neighbors must be a number of at least 1, or 'auto'. Got {k!r} instead.")
        check_weights(self.weights)
        if not callable(self.metric):
            known = {*NAMES, *metrics.MAPPED, *mixed.METRICS, *PAIRWISE_DISTANCE_FUNCTIONS, "precomputed"}
            if self.metric not in known:
                hint = did_you_mean(self.metric, known)
                raise ModelError(
                    f"metric={self.metric!r} is none{hint} (metrics: {listed(sorted(known), 40)}, or a function)"
                )

    def _open(self, X: Any, reset: bool) -> Any:
        """The border: a checked table, in the caller's order of columns."""
        if self._is_mixed:
            return self._open_mixed(X, reset)
        checked = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            order="C",
            accept_sparse="csr",
            ensure_all_finite="allow-nan" if self.metric == "nan_euclidean" else True,
        )
        if self.metric == "precomputed" and reset and checked.shape[0] != checked.shape[1]:
            raise BadValue(f"precomputed distances must be square to learn from, got shape {checked.shape}")
        return checked

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

    def _begin(self, table: Any, classes: Array | None) -> None:
        """Learn the space and the store from the first rows."""
        if self._is_mixed:
            self._space = mixed.mixed_space(self.metric, table, classes, self.kinds)
        elif isinstance(self.metric, str) and isinstance(table, np.ndarray):
            self._space = metrics.space(self.metric, self.p, self.metric_params, table)
        else:
            self._space = None
        rows = self._rows(table)
        self._store = Store(rows, self._index)

    def _rows(self, table: Any) -> Any:
        """The rows in the coordinates of the space."""
        rows = self._space(table) if self._space is not None else table
        if isinstance(rows, np.ndarray) and hasattr(self, "_store") and isinstance(self._store.rows, np.ndarray):
            rows = np.ascontiguousarray(rows, dtype=self._store.rows.dtype)
        return rows

    def _index(self, rows: Any) -> Any:
        """A search over rows: an index for L_p, else all distances."""
        space = self._space
        if isinstance(space, mixed.Mixed):
            if not np.isnan(rows).any():
                return make_search(rows, space.norm, 1.0, self.algorithm, self.leaf_size, self.n_jobs)
            return Pairwise(rows, partial(mixed.gower_missing, widths=space.widths))
        if space is not None:
            return make_search(rows, space.metric, space.p, self.algorithm, self.leaf_size, self.n_jobs)
        if self.metric == "precomputed":
            return Pairwise(rows, told_distances)
        named, given = self.metric, dict(self.metric_params or {})
        if hasattr(rows, "tocsr"):
            named, given = self._sparse_metric(given)
        return Pairwise(rows, partial(pairwise_distances, metric=named, **given))

    def _sparse_metric(self, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """scikit-learn's name of an L_p metric for sparse rows, whose distances are all computed."""
        if not isinstance(self.metric, str) or self.metric not in NAMES:
            return self.metric, given
        name, _ = metric_named(self.metric, given.pop("p", self.p))
        if name not in ("euclidean", "manhattan") or given:
            raise ModelError(f"metric={self.metric!r} with these parameters needs a dense table: X.toarray()")
        return name, given

    def _neighbors(self, table: Any, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        rows = table if skip is not None and table is self._store.rows else self._rows(table)
        if isinstance(self._space, mixed.Mixed) and np.isnan(rows).any():  # an index knows no missing cells
            pairs = Pairwise(self._store.rows, partial(mixed.gower_missing, widths=self._space.widths))
            return pairs.query(rows, k, skip)
        return self._store.query(rows, k, skip)

    def _weighted(self, table: Any, k: int) -> tuple[Ints, Array | None]:
        """(rows, weights) of the k neighbours; weights None where all weigh the same."""
        if self._weight is not None:
            distance, index = self._enough(table, k)
            return index, repeated_weights(distance, self._weight[index], self.weights, k)
        more = int(needs_next(self.weights) and k < len(self._store))
        distance, index = self._neighbors(table, k + more)
        if not more:
            return index, vote_weights(distance, self.weights)
        return index[:, :k], vote_weights(distance[:, :k], self.weights, distance[:, k:].astype(np.float64))

    def _enough(self, table: Any, k: int, skip: Ints | None = None) -> tuple[Array, Ints]:
        """As many neighbours as it takes until their weights add up to more than k."""
        n = len(self._store) - (skip is not None)
        count = min(k + 1, n)
        while True:
            distance, index = self._neighbors(table, count, skip)
            if self._weight is None or count == n or (self._weight[index].sum(axis=1) > k).all():
                return distance, index
            count = min(2 * count, n)

    def _own_neighbors(self, k: int) -> tuple[Array, Ints]:
        """The neighbours of every training row, itself left out."""
        return self._neighbors(self._store.rows, k, skip=np.arange(len(self._store)))

    def _k(self) -> int:
        return int(self.n_neighbors_ if self.n_neighbors == "auto" else self.n_neighbors)

    def _choose_k(self, curve: Any) -> None:
        """n_neighbors_: what was asked for, or the k of least leave-one-out loss (the smallest of equals)."""
        self.__dict__.pop("loo_curve_", None)
        if self.n_neighbors != "auto":
            self.n_neighbors_ = int(self.n_neighbors)
            return
        n = len(self._store)
        if n < 2:
            raise ModelError(
                "n_neighbors='auto' leaves one row out, so it needs at least 2 rows. Got n_samples = 1 instead."
            )
        most = largest_k(n)
        distance, index = self._enough(self._store.rows, most, np.arange(n))
        self.loo_curve_ = curve(distance.astype(np.float64), index, most)
        self.n_neighbors_ = int(np.argmin(self.loo_curve_)) + 1

    def _sample_weight(self, sample_weight: Any, n: int) -> Floats | None:
        if sample_weight is None:
            return None
        w: Floats = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
        return w

    def _join_weights(self, old: Floats | None, n_old: int, new: Floats | None, n_new: int) -> Floats | None:
        if old is None and new is None:
            return None
        return np.concatenate([np.ones(n_old) if old is None else old, np.ones(n_new) if new is None else new])

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
        check_is_fitted(self)
        k = self._k() if n_neighbors is None else n_neighbors
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ModelError(f"Expected n_neighbors > 0. Got {k}")
        distance, index = self._own_neighbors(int(k)) if X is None else self._neighbors(self._open(X, False), int(k))
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

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the model as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _forget_fit(self) -> None:
        for name in ("_store", "_space", "_weight", "_codes", "_targets", "classes_", "n_neighbors_"):
            self.__dict__.pop(name, None)

    def _add(self, X: Any) -> None:
        """More rows for the store."""
        if self.metric == "precomputed":
            raise ModelError("precomputed distances cannot be learned in parts: fit again on the whole matrix")
        table = self._open(X, False)
        rows = self._rows(table)
        if not isinstance(rows, np.ndarray):
            raise ModelError("sparse rows cannot be learned in parts: give partial_fit dense ones")
        self._store.add(rows)
