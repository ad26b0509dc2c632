"""The k nearest rows vote: P(y|x) is their share of each class, ŷ the mean of their targets.

Symbols: k neighbours, k_c of them in class c, K classes, λ smoothing; y targets (n, outputs), w weights of the neighbours.

What the classifier and the regressor share: the border where tables are checked, the space, the neighbours.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import KW_ONLY, field, replace
from functools import partial
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..arrays import Array, Floats, Ints
from ..budget import refuse_answer
from ..errors import BadParameter, BadValue, ModelError, listed
from ..estimator import AT_LEAST_1, AUTO, Estimator, Explains, NJobs, alike, learning, parameters
from ..fields import DERIVED, MAYBE, NOT_NEGATIVE, UNBOUNDED, AnyFloats, Natural, need
from ..smoothing.theta import Smoothing, share
from ..table.frame import Frame, ScoresTables, count_rows, labelled, open_frame
from ..table.labels import encode_labels, read_targets
from ..table.points import Border, read_points
from ..table.schema import Schema
from ..table.weights import weights_or_ones
from . import metrics
from .kdtree import ALGORITHMS, LEAF_SIZE, Pairwise, Search, Store, Told, make_search
from .loo import NAMES, error_curve, largest_k, needs_next, repeated_weights, squared_curve, summable, vote_weights
from .metrics import Mixed, Space, gower_without

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
    _store: Annotated[Store, DERIVED] = field(init=False)
    _weight: Annotated[Floats | None, "rows", NOT_NEGATIVE] = field(init=False)
    _space: metrics.Space | metrics.Mixed | None = field(init=False)
    _learned_by: dict[str, Any] = field(init=False)
    n_neighbors_: Natural = field(init=False)
    loo_curve_: Annotated[Floats, "k", UNBOUNDED, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need(set(self._learned_by) == {"metric", "metric_params", "kinds"}, "what the rows were learned by")

    def _check_rows(self, rows: Any) -> None:
        """Refuse rows that no index can be built of, or that are not those of the votes."""
        d, space = self.n_features_in_, self._space
        need(sparse.issparse(rows) or type(rows) is np.ndarray, "the rows must be a table")
        fits = rows.ndim == 2 and rows.shape[0] > 0 and d > 0 and rows.dtype.kind in "fiub"
        need(fits, "the rows must be a table of numbers")
        need(self._weight is None or len(self._weight) == rows.shape[0], "a weight of every row")
        need(isinstance(space, metrics.Mixed) == self._is_mixed, "mixed rows have a mixed metric")
        if space is None:
            need(rows.shape[1] == d, "the rows must have all columns")
            need(self.metric != "precomputed" or rows.shape[0] == d, "precomputed distances must be square")
            return
        plain = type(rows) is np.ndarray and rows.dtype.char in "df" and rows.flags.c_contiguous
        need(plain, "the rows must be numbers")
        known, wide = space.shape_of(d)
        need(known == d, "the space must have all columns")
        need(rows.shape[1] == wide, "the rows must have all coordinates")
        missing = isinstance(space, metrics.Mixed) and space.metric == "gower"
        need(not np.isinf(rows).any() and (missing or not np.isnan(rows).any()), "finite coordinates in every column")
        need(not self._is_mixed or space.metric == self.metric, "the space must be that of the metric")

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
        self._cached("ready", self._same_metric)
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
        self._cached("ready", self._same_metric)
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


WIDE = 1000  # columns


@parameters
class KNeighborsClassifier(Explains, ScoresTables, ClassifierMixin, Neighbors):  # type: ignore[misc]
    """P(y=c|x) = (k_c + λ)/(k + Kλ): the class that most of the k nearest rows have.

    Majority vote is the least empirical risk under zero-one loss; other losses through `decide` and `RiskClassifier`. A row
    with a sample weight of w counts as w rows.

    Parameters
    ----------
    n_neighbors : int or "auto"
        k; "auto" takes the k of least leave-one-out error, from one search (`loo_curve_` has the error of every k).
    weights : "uniform", "distance", a kernel ("triangular", "epanechnikov", "biweight", "tricube", "cosine", "gaussian") or
        a function of the distances. A kernel's bandwidth is the distance of the (k+1)-th neighbour.
    algorithm : "auto", "kd_tree" or "brute" ("ball_tree" is taken for "kd_tree")
        They differ in time only.
    leaf_size : int or "auto"
    p : exponent of "minkowski"
    metric : an L_p metric, "seuclidean", "mahalanobis", "nan_euclidean" (missing cells), "gower" or "vdm" (mixed columns),
        "precomputed", any metric of scikit-learn's, or a function of two rows.
    metric_params : dict
        `w` weighs the columns of an L_p metric; `V`, `VI` are those of "seuclidean" and "mahalanobis".
    kinds : for "gower" and "vdm", the kinds of the columns as `NaiveBayes` takes them
    n_jobs : threads, None for all cores

    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [9]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]), model.predict_proba([[1.1]]).round(2)
    (array(['a'], dtype='<U1'), array([[0.67, 0.33]]))
    """

    _: KW_ONLY
    smoothing: Smoothing = 0.0
    classes_: Annotated[Array, "K"] = field(init=False)
    _codes: Annotated[Ints, "rows", NOT_NEGATIVE] = field(init=False)

    def _check_rows(self, rows: Any) -> None:
        super()._check_rows(rows)
        fits = len(self._codes) == rows.shape[0] and self._codes.max() < len(self.classes_)
        need(fits, "a class of every row")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it. New classes are welcome.

        The metric (its variances, ranges or P(y|x_j)) is learned from the first rows. "auto" chooses k anew.
        """
        return self._learn(X, y, classes, sample_weight, first=not hasattr(self, "_store"))

    @learning
    def _learn(self, X: Any, y: Any, declared: Any, sample_weight: Any, first: bool) -> Self:
        X, y = labelled(X, y)
        table = self._open(X, first)
        found, codes = encode_labels(y)
        _check_alike(table, codes)
        self._weight = self._weigh(sample_weight, len(codes), first)
        known = found[:0] if first else self.classes_
        self.classes_ = united_classes(known, found, declared)
        mine = np.searchsorted(self.classes_, found)[codes]
        theirs = mine[:0] if first else np.searchsorted(self.classes_, known)[self._codes]
        self._codes = np.concatenate([theirs, mine]).astype(np.int64)
        self._keep_rows(table, found[codes], first)
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return error_curve(distance, index, self._codes, len(self.classes_), self.weights, self._weight, most)

    @property
    def schema_(self) -> Schema:
        """The columns of a mixed table ("gower", "vdm") and the classes, with the values that the rows have."""
        space = vars(self).get("_space")
        if not isinstance(space, Mixed):
            raise AttributeError("only 'gower' and 'vdm' know the values of columns")
        return Schema(space.columns, tuple(self.classes_.tolist()))

    def _log_without(self, X: Any) -> Floats | None:
        """ln P(y|x₋ⱼ) of every column of one row, under Gower: the distances to all rows less what the column adds."""
        if not isinstance(self._space, Mixed) or self._space.metric != "gower":
            return None
        k, rows, _ = self._ask(X)
        distances = gower_without(rows[0], self._store.rows, self._space.widths)[self._space.order]
        index, w = self._voting(k, distances, None, Told().query)
        counted = votes(index, w, self._codes, len(self.classes_)) + self.smoothing
        with np.errstate(divide="ignore"):
            return np.log(share(counted, counted.sum(axis=1, keepdims=True), len(self.classes_)))[None]

    @property
    def _stored(self) -> bool:
        """Whether an answer costs a long visit of the rows."""
        return self.n_features_in_ > WIDE

    def _spans(self) -> Any:
        return self._space.spans() if isinstance(self._space, Mixed) else [None] * self.n_features_in_

    def _own_rows(self) -> Any:
        as_they_came = isinstance(self._space, Space) and self._space.map is None
        return self._store.rows if as_they_came else None

    def predict_proba(self, X: Any) -> Floats:
        """P(y=c|x) = (k_c + λ)/(k + Kλ), k_c and k weighted where the neighbours are.

        X=None asks for the training rows; a row is then no neighbour of itself. So in `predict` and `score`.
        """
        check_is_fitted(self)
        K = len(self.classes_)
        refuse_answer(len(self._codes) if X is None else count_rows(X), K)
        index, w = self._weighted(X)
        counted = votes(index, w, self._codes, K) + self.smoothing
        return share(counted, counted.sum(axis=1, keepdims=True), K)

    def predict(self, X: Any) -> Array:
        """The class of the most votes; the first of equals."""
        posterior = self.predict_proba(X)
        answer: Array = self.classes_[posterior.argmax(axis=1)]
        return answer

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(y|x); −inf for a class that no neighbour has, unless λ > 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def votes(index: Array, weights: Floats | None, codes: Array, K: int) -> Floats:
    """k_c = Σ_r w_r [y_r = c], shape (m, K).

    >>> votes(np.array([[0, 1, 2]]), None, np.array([0, 1, 1]), 2)
    array([[1., 2.]])
    """
    m = len(index)
    cell = codes[index].astype(np.int64) + K * np.arange(m)[:, None]
    counted = np.bincount(cell.ravel(), None if weights is None else weights.ravel(), minlength=m * K)
    return counted.reshape(m, K).astype(np.float64)


def united_classes(known: Array, found: Array, declared: Any) -> Array:
    """The classes known so far, in these labels and declared, in order; numbers and words do not mix."""
    parts = [part for part in (known, found, None if declared is None else np.asarray(declared)) if part is not None]
    if any(part.ndim != 1 for part in parts):
        raise BadValue(f"classes must be a list of labels. Got {declared!r} instead.")
    parts = [part for part in parts if len(part)]
    if len({part.dtype.kind in "iufb" for part in parts}) > 1:
        raise BadValue(f"numbers and words do not mix as labels: {' and '.join(listed(p.tolist()) for p in parts)}")
    return found if len(parts) == 1 else np.unique(np.concatenate(parts))


class KNeighborsRegressor(ScoresTables, RegressorMixin, Neighbors):  # type: ignore[misc]
    """ŷ = Σ_r w_r y_r / Σ_r w_r over the k nearest rows; parameters as those of `KNeighborsClassifier`.

    `n_neighbors="auto"` takes the k of least leave-one-out squared error.

    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [5]], [0.0, 1.0, 5.0]).predict([[0.4]])
    array([0.5])
    """

    _targets: Annotated[AnyFloats, "rows targets"]
    _flat: bool

    def _check_rows(self, rows: Any) -> None:
        super()._check_rows(rows)
        need(len(self._targets) == rows.shape[0] and self._targets.size, "a target of every row")
        need(not self._flat or self._targets.shape[1] == 1, "a flat target has one column")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the rows and index them."""
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep more rows; the latest wait in a buffer until a new index is worth it."""
        return self._learn(X, y, sample_weight, first=not hasattr(self, "_store"))

    @learning
    def _learn(self, X: Any, y: Any, sample_weight: Any, first: bool) -> Self:
        X, y = labelled(X, y)
        table = self._open(X, first)
        target = read_targets(y)
        _check_alike(table, target)
        self._weight = self._weigh(sample_weight, len(target), first)
        columns = target.reshape(len(target), -1)
        if first:
            self._flat, self._targets = target.ndim == 1, columns
        elif columns.shape[1] != self._targets.shape[1]:
            raise BadValue(f"y has {columns.shape[1]} outputs, the model was fitted on {self._targets.shape[1]}")
        else:
            self._targets = np.concatenate([self._targets, columns])
        self._keep_rows(table, None, first)
        self._choose_k(self._curve)
        return self

    def _curve(self, distance: Floats, index: Array, most: int) -> Floats:
        return squared_curve(distance, index, self._targets, self.weights, self._weight, most)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbours' targets; X=None asks for the training rows, none its own neighbour."""
        index, w = self._weighted(X)
        near = self._targets[index]
        if w is None:
            mean = near.mean(axis=1)
        else:
            w = summable(np.where(w.sum(axis=1, keepdims=True) > 0, w, 1.0), 0)
            mean = np.einsum("mk,mko->mo", w, near) / w.sum(axis=1, keepdims=True)
        answer: Floats = mean[:, 0] if self._flat else mean
        return answer


def _check_alike(table: Any, y: Array) -> None:
    """As many rows as answers; a dict of columns has the length of its columns, not of its keys."""
    check_consistent_length(range(table.n) if isinstance(table, Frame) else table, y)
