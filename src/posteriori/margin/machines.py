"""Machines of two classes, many of them side by side, and what all estimators on the dual solver share.

Rows are read once at the border, equal ones merged. Equal rows with equal targets are one row of summed weight: the
same problem, with fewer multipliers. They come out in an order of their own, so a table with weights and the table
with its rows written out as often as they weigh are one and the same problem.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache, partial
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import Interval, Options, StrOptions

from ..arrays import Bools, Codes, Floats, Ints
from ..errors import ModelError, TableError, listed
from ..estimator import ABOVE_0, AT_LEAST_0, Estimator, NJobs, parameters
from ..fields import NOT_NEGATIVE, Natural, Within, need
from ..kernels import merge_rows, n_threads, pair_votes
from ..kernels.margin import Machines
from ..table.frame import labelled
from ..table.labels import encode_labels
from ..table.points import Border, read_points
from ..table.weights import class_weights, weights_or_ones
from .kernel import NAMES, Kernel
from .smo import Limits, Solution, solve, solve_together


def read_table(model: Any, X: Any, *, reset: bool = False) -> Any:
    """X as float64 rows, dense or CSR: categories are corners, and a missing cell is an error that names a pipeline."""
    pipeline = f"make_pipeline(SimpleImputer(), StandardScaler(), {type(model).__name__}())"
    way_out = f"Impute first, in a pipeline: {pipeline}; words by SimpleImputer(strategy='most_frequent')"
    return read_points(model, X, Border("a margin needs every coordinate", way_out, one_hot=True), reset=reset)


def read_classes(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Ints, Floats, Floats]:
    """(rows, the class of each, its weight, the weight of each class); sets `classes_`."""
    X, y = labelled(X, y)
    X = read_table(model, X, reset=True)
    model.classes_, narrow = encode_labels(y)
    codes = narrow.astype(np.int64)
    check_consistent_length(X, codes)
    if len(model.classes_) < 2:
        raise ModelError(f"a margin lies between two classes; y has only one class: {listed(model.classes_.tolist())}")
    weight = weights_or_ones(sample_weight, len(codes))
    of_class = class_weights(model.class_weight, model.classes_, codes)
    if not np.bincount(codes, weight * of_class[codes] > 0, len(of_class)).all():
        raise ModelError("a class has no row of positive weight: the rows that count have fewer classes than y")
    return X, codes, weight, of_class


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Distinct rows: `first[g]` is a row of group g; `group[i]` (−1: weight 0) and `share[i]` place original row i."""

    first: Ints
    weight: Floats
    group: Ints
    share: Floats

    def spread(self, beta: Floats) -> Floats:
        """The multipliers of the original rows: each has its share of its group's (last axis)."""
        return np.asarray(np.where(self.group >= 0, beta[..., self.group] * self.share, 0.0))


def as_they_are(weight: Floats) -> Merged:
    """Every row of positive weight a group of its own, in its order."""
    first = np.flatnonzero(weight > 0)
    group = np.full(len(weight), -1)
    group[first] = np.arange(len(first))
    return Merged(first, weight[first], group, np.ones(len(weight)))


def merge(X: Any, target: Floats | Ints, weight: Floats) -> Merged:
    """Find the equal rows among those of positive weight.

    >>> found = merge(np.array([[1.], [2.], [1.], [1.]]), np.array([0, 0, 0, 1]), np.array([1., 1., 2., 1.]))
    >>> sorted(found.weight.tolist()), found.group[0] == found.group[2]
    ([1.0, 1.0, 3.0], np.True_)
    """
    if not sparse.issparse(X):
        rows = np.ascontiguousarray(X, dtype=np.float64)
        return Merged(*merge_rows(rows, target.astype(np.float64), weight, _directions(X.shape[1])))
    live = np.flatnonzero(weight > 0)
    keys = _keys(X, live)
    order = live[np.lexsort((*keys, target[live]))]
    position = np.empty(X.shape[0], np.int64)
    position[live] = np.arange(len(live))
    same = target[order[1:]] == target[order[:-1]]
    for key in keys:
        sorted_key = key[position[order]]
        same &= sorted_key[1:] == sorted_key[:-1]
    at = np.flatnonzero(same)
    same[at] = _equal(X, order[at], order[at + 1])
    number = np.concatenate([[0], np.cumsum(~same)])
    group = np.full(X.shape[0], -1)
    group[order] = number
    total = np.asarray(np.bincount(number, weight[order]), dtype=np.float64)
    return Merged(order[np.concatenate([[True], ~same])], total, group, weight / total[group])


def _keys(X: Any, live: Ints) -> tuple[Floats, Floats]:
    """Two projections of each row: equal for equal rows, almost surely not for others (which `_equal` then tells apart)."""
    directions = _directions(X.shape[1])
    rows = X if len(live) == X.shape[0] else X[live]
    return rows @ directions[0], rows @ directions[1]


def _directions(d: int) -> Floats:
    return _kept_directions(d) if d <= 1000 else _kept_directions.__wrapped__(d)


@lru_cache(maxsize=8)  # a generator takes longer to make than some hundred rows to merge
def _kept_directions(d: int) -> Floats:
    return np.random.RandomState(20_05).uniform(0.5, 1.5, (2, d))


def _equal(X: Any, a: Ints, b: Ints) -> Bools:
    return np.asarray(np.asarray(abs(X[a] - X[b]).sum(axis=1)).ravel() == 0)


T = TypeVar("T")
ONE_MATRIX = 1500  # rows and variables up to which machines share the matrix of all


SMALL = Within(-1e150, 1e150)  # of an intercept: what several machines say is added up


class Part(NamedTuple):
    """Support vectors (of a precomputed kernel: their columns) and the coefficients of every machine on them."""

    vectors: Any
    coef: Annotated[Floats, "machines n"]

    def check(self) -> None:
        """Refuse vectors without coefficients."""
        table = isinstance(self.vectors, np.ndarray) or sparse.issparse(self.vectors)
        fits = table and self.vectors.shape[0] == self.coef.shape[1]
        need(fits, "every support vector must have its coefficients")


@parameters
class KernelMachine(Estimator):
    """What SVC and SVR share: the parameters of kernel and solver, and Σ β_i K(x_i, x)."""

    _: KW_ONLY
    C: Annotated[float, Interval(Real, 0.0, None, closed="right")] = 1.0
    kernel: Annotated[Any, StrOptions(set(NAMES)), callable] = "rbf"
    degree: Annotated[int, Interval(Integral, 0, 2**31 - 1, closed="both")] = 3
    gamma: Annotated[str | float, StrOptions({"scale", "auto"}), AT_LEAST_0] = "scale"
    sigma: Annotated[float | None, ABOVE_0, None] = None
    coef0: Annotated[float, Interval(Real, None, None, closed="neither")] = 0.0
    norm: Annotated[int, Options(Integral, {1, 2})] = 2
    tol: Annotated[float, ABOVE_0] = 1e-3
    cache_size: Annotated[float, ABOVE_0] = 200.0
    max_iter: Annotated[int, Interval(Integral, -1, None, closed="left")] = -1
    max_seconds: Annotated[float | None, AT_LEAST_0, None] = None
    n_jobs: NJobs = None
    _kernel: Kernel = field(init=False)
    _parts: list[Part] = field(init=False)
    support_: Annotated[Codes, "n", NOT_NEGATIVE] = field(init=False)
    n_support_: Annotated[Codes, "groups"] = field(init=False)
    support_vectors_: Any = field(init=False)
    dual_coef_: Annotated[Floats, "rows n"] = field(init=False)
    intercept_: Annotated[Floats, "intercepts"] = field(init=False)
    fit_status_: Natural = field(init=False)
    shape_fit_: tuple[Natural, Natural] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        d, kernel, vectors = self.n_features_in_, self._kernel, self.support_vectors_
        need(d > 0, "a machine must have a column")
        kernel.check_vectors([part.vectors for part in self._parts], d)
        need(self.shape_fit_[1] == d, "shape_fit_ must be rows and columns")
        need(self.support_.max(initial=-1) < self.shape_fit_[0], "a support vector must be a row")
        need(len(self.support_) == self.n_support_.sum(dtype=float), "a coefficient of every support vector")
        need(type(vectors) is np.ndarray or sparse.issparse(vectors), "support_vectors_ must be a table")
        shape = (0, 0) if kernel.precomputed else (len(self.support_), d)
        need(vectors.shape == shape, "support_vectors_ must have every column")
        fits = sparse.issparse(vectors) == kernel.sparse and vectors.dtype.kind in "fiub"
        need(fits, "support vectors must be numbers")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.sigma is not None and not (isinstance(self.gamma, str) and self.gamma == "scale"):
            raise ModelError(
                f"sigma and gamma say the same thing twice; got sigma={self.sigma!r} and gamma={self.gamma!r}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _settings(self) -> Settings:
        return Settings(self.tol, self.max_iter, self.max_seconds, self.cache_size, self.n_jobs)

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _bounds(self, weight: Floats) -> Floats:
        """C·weight of each row."""
        with np.errstate(over="ignore"):
            bounds = self.C * weight
        if np.isfinite(self.C) and not np.isfinite(bounds).all():
            raise ModelError(
                f"C={self.C:g} times the largest weight overflows; lower C, or give C=inf for a hard margin"
            )
        return np.asarray(bounds)

    def _merged(self, X: Any, target: Any, weight: Floats) -> Merged:
        """Equal rows as one; those of a precomputed kernel, which must be square, as they are."""
        if not self._is_precomputed():
            return merge(X, target, weight)
        _dense(X)
        if X.shape[0] != X.shape[1]:
            raise TableError(f"Precomputed matrix must be a square matrix of the training rows; got shape {X.shape}")
        return as_they_are(weight)

    def _sums(self, X: Any) -> list[Floats]:
        """Σ coef K over each part of the support vectors, shape (n, machines)."""
        X = read_table(self, X)
        if self._kernel.precomputed:
            _dense(X)
            with np.errstate(over="ignore", invalid="ignore"):  # told here, by name
                sums = [np.asarray(X[:, part.vectors] @ part.coef.T) for part in self._parts]
            if not all(np.isfinite(s).all() for s in sums):
                raise ModelError("a kernel value is so large that the decision overflows")
            return sums
        return self._kernel.sums(X, self._support(), self.n_jobs)

    def _support(self) -> list[tuple[Any, Floats]]:
        """The support vectors of each part, made ready for sums, and their coefficients."""
        return self._cached("support", self._ready)

    def _ready(self) -> list[tuple[Any, Floats]]:
        if self._kernel.precomputed:
            return []
        return [(self._kernel.ready(part.vectors, self.n_jobs), part.coef) for part in self._parts]


def _dense(K: Any) -> None:
    if sparse.issparse(K):
        raise TableError("a precomputed kernel matrix must be dense; pass X.toarray()")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to solve: tolerance, caps, cache."""

    tol: float
    max_iter: int
    max_seconds: float | None
    cache_size: float
    n_jobs: int | None

    def limits(self, n: int, interrupted: threading.Event) -> Limits:
        steps = self.max_iter if self.max_iter >= 0 else max(10_000_000, 100 * n)
        return Limits(self.tol, steps, np.inf if self.max_seconds is None else self.max_seconds, interrupted)

    def together(self, n: int, sizes: Sequence[int]) -> bool:
        """Whether problems of these sizes, over n rows, are small enough for one matrix and one call."""
        most = max(n, *sizes) if sizes else 0
        fits = most * (most + 8) * 8 <= self.cache_size * 2**19  # half of the cache, as for machines side by side
        return 0 < most <= ONE_MATRIX and fits and self.max_seconds is None


class Machine(NamedTuple):
    """f(x) = Σ β_i K(x_i, x) + b over training rows `rows`."""

    rows: Ints
    beta: Floats
    b: float
    w_norm: float
    gap: float
    steps: int
    converged: bool
    dual: float
    primal: float

    @classmethod
    def of(cls, rows: Ints, found: Solution, sign: Floats, C: Floats) -> Machine:
        """‖w‖² = βᵀKβ; the dual Σα − ½‖w‖² and the primal ½‖w‖² + ΣC_i ξ_i of these (w, b), ξ_i = max(0, y_i (v_i − b)).

        A hard margin has no slack: its primal is that of (w, b) divided by the least functional margin.
        """
        short, half = sign * (found.v - found.b), found.energy / 2  # short: 1 − y f(x)
        if np.isinf(C).any():
            least = 1.0 - float(short.max())
            primal = half / least**2 if least > 0 else math.inf
        else:
            with np.errstate(over="ignore"):  # a price of 1e300
                primal = half + float(C @ np.maximum(0.0, short))
        dual, w_norm = float(found.beta @ sign) - half, math.sqrt(max(0.0, found.energy))
        return cls(rows, found.beta, found.b, w_norm, found.gap, found.steps, found.converged, dual, primal)


def rows_at(kernel: Any, X: Any, rows: Ints, columns: Ints | None = None) -> Any:
    """The training rows of a part; of a precomputed matrix, their columns too."""
    if not isinstance(kernel, str) or kernel != "precomputed":
        return X[rows]
    return X[np.ix_(rows, rows if columns is None else columns)]


def train(
    kernel: Kernel, X: Any, rows: Ints, sign: Floats, C: Floats, settings: Settings, interrupted: threading.Event
) -> Machine:
    """The machine that separates sign > 0 from sign < 0; `sign` and C belong to `rows`."""
    gram = kernel.gram(rows_at(kernel.name, X, rows), settings.cache_size, settings.n_jobs)
    low, high = np.minimum(0.0, sign * C), np.maximum(0.0, sign * C)
    found = solve(gram, sign, low, high, settings.limits(len(rows), interrupted), settings.cache_size)
    return Machine.of(rows, found, sign, C)


def train_all(
    kernel: Kernel, X: Any, problems: Sequence[tuple[Ints, Floats, Floats]], settings: Settings
) -> list[Machine]:
    """The machine of every problem (rows, sign, C): small ones together, out of one matrix, others as `train` does."""
    sizes = [len(rows) for rows, _, _ in problems]
    if not settings.together(X.shape[0], sizes):
        return side_by_side([partial(train, kernel, X, *problem) for problem in problems], settings)
    rows, sign, C = (part[0] if len(part) == 1 else np.concatenate(part) for part in zip(*problems))
    low, high = np.minimum(0.0, sign * C), np.maximum(0.0, sign * C)
    gram, starts = kernel.gram(X, settings.cache_size, settings.n_jobs), np.cumsum([0, *sizes])
    found = solve_together(
        gram, Machines(starts, rows, sign, low, high), settings.limits(max(sizes), threading.Event())
    )
    alone = [partial(train, kernel, X, *problem) for problem, one in zip(problems, found) if one is None]
    others = iter(side_by_side(alone, settings) if alone else ())
    return [Machine.of(p[0], one, *p[1:]) if one is not None else next(others) for p, one in zip(problems, found)]


def side_by_side(tasks: Sequence[Callable[[Settings, threading.Event], Machine]], settings: Settings) -> list[Machine]:
    """Run the tasks, each on one core and with half of the cache where there are several of them.

    Half, whatever the number of threads: the way a problem is solved depends on the cache, and its answer must not depend
    on the threads.
    """
    team = n_threads(settings.n_jobs, len(tasks), 1)
    if len(tasks) > 1:
        settings = replace(settings, cache_size=settings.cache_size / 2, n_jobs=1 if team > 1 else settings.n_jobs)
    return together([partial(task, settings) for task in tasks], team)


def together(tasks: Sequence[Callable[[threading.Event], T]], team: int) -> list[T]:
    """The tasks' answers, `team` of them at work at once; on Ctrl-C or an error the others are told to stop.

    The caller is one of the team: on a busy machine it has done much before another thread gets its first turn.
    """
    interrupted = threading.Event()
    if team <= 1:
        return [task(interrupted) for task in tasks]
    found: dict[int, T] = {}
    left = iter(range(len(tasks)))

    def work() -> None:
        try:
            for i in left:  # a thread at a time takes the next: `next` of an iterator is one step
                if interrupted.is_set():
                    return
                found[i] = tasks[i](interrupted)
        except BaseException:
            interrupted.set()
            raise

    with ThreadPoolExecutor(team - 1) as pool:
        try:
            others = [pool.submit(work) for _ in range(team - 1)]
            work()
            for other in others:
                if not other.cancel():  # one that never got its turn has nothing left to do
                    other.result()
        except BaseException:
            interrupted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[i] for i in range(len(tasks))]


def refuse_rounding(name: str, size: float, tol: float) -> None:
    """Refuse multipliers so large that their last digit is more than tol: what they add up to is noise."""
    if np.finfo(np.float64).eps * size > tol:
        raise ModelError(
            f"{name} found no solution: multipliers of rows reach {size:.3g}, whose last digit is more than tol={tol:g}. "
            "Lower C, or the weights, which are factors of C: weights times s and C/s are one model"
        )


def warn_unfinished(machines: Sequence[Machine | Solution], settings: Settings, name: str) -> None:
    """Say that a cap ended the work before the gap was closed; refuse where no work would have closed it."""
    open_ones = [m for m in machines if not m.converged]
    if open_ones:
        refuse_rounding(name, max(float(np.abs(m.beta).max(initial=0.0)) for m in open_ones), settings.tol)
        worst = max(m.gap for m in open_ones)
        warnings.warn(
            f"{name} stopped before its gap was under tol={settings.tol:g}: gap {worst:.3g} after "
            f"{max(m.steps for m in open_ones)} steps. Raise max_iter or max_seconds, lower C, or scale the columns",
            ConvergenceWarning,
            stacklevel=5,
        )


# More than two classes: the machines of one-vs-one and one-vs-rest, and scikit-learn's layout of their coefficients.


class Split(NamedTuple):
    """A two-class problem: `rows`, and for each whether it is on the positive side."""

    rows: Ints
    sign: Floats


def splits(codes: Ints, n_classes: int, scheme: str) -> list[Split]:
    """The problems of a scheme.

    Two classes: one problem, the second class positive. "ovo": each pair, its first class positive. "ovr": each class
    against the others.
    """
    everything = np.arange(len(codes))
    if n_classes == 2:
        return [Split(everything, np.where(codes == 1, 1.0, -1.0))]
    if scheme == "ovr":
        return [Split(everything, np.where(codes == k, 1.0, -1.0)) for k in range(n_classes)]
    sorted_ = not (codes[1:] < codes[:-1]).any()
    order = everything if sorted_ else np.argsort(codes, kind="stable")
    sizes, pairs = np.bincount(codes, minlength=n_classes), _pairs(n_classes)
    held = [order[a:b] for a, b in pairwise([0, *np.cumsum(sizes).tolist()])]
    rows, lengths = np.concatenate([held[k] for k in pairs.ravel().tolist()]), sizes[pairs]
    sign = np.repeat(np.array([1.0, -1.0] * len(pairs)), lengths.ravel())
    whole = lengths.sum(axis=1)
    if not sorted_:  # rows of a pair in the table's order, whatever its classes'
        turn = np.lexsort((rows, np.repeat(np.arange(len(pairs)), whole)))
        rows, sign = rows[turn], sign[turn]
    return [Split(rows[a:b], sign[a:b]) for a, b in pairwise([0, *np.cumsum(whole).tolist()])]


@lru_cache(maxsize=16)
def _pairs(n_classes: int) -> Ints:
    """Each pair of classes, in order; shape (pairs, 2)."""
    pairs = np.array(list(combinations(range(n_classes), 2)), dtype=np.int64).reshape(-1, 2)
    pairs.flags.writeable = False
    return pairs


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """The machines over one list of support vectors, sorted by class: coef (machines or K−1, support)."""

    support: Annotated[Ints, "n", NOT_NEGATIVE]
    n_support: Annotated[Ints, "K", NOT_NEGATIVE]
    coef: Annotated[Floats, "machines n"]
    intercept: Annotated[Floats, "intercepts", SMALL]
    paired: bool

    def check(self) -> None:
        """Refuse support vectors that are not those of the classes."""
        same = len(self.support) == self.n_support.sum(dtype=float)
        need(same, "every support vector must have its coefficients")

    def parts(self, vectors: Any) -> list[Part]:
        """The vectors of all machines at once or, in pairs, of each class."""
        ends = np.cumsum(self.n_support if self.paired else [len(self.support)])
        at = [slice(*ends) for ends in zip([0, *ends[:-1]], ends)]
        return [Part(vectors[here], np.ascontiguousarray(self.coef[:, here])) for here in at]

    def of_pairs(self) -> Floats:
        """The coefficients of every pair on all support vectors, 0 on those of other classes; shape (pairs, support)."""
        K = len(self.n_support)
        (first, second), of = _pairs(K).T[:, :, None], np.repeat(np.arange(K), self.n_support)
        coef = np.where(of == first, self.coef[second[:, 0] - 1], np.where(of == second, self.coef[first[:, 0]], 0.0))
        return np.ascontiguousarray(coef)

    def decisions(self, sums: Sequence[Floats]) -> Floats:
        """f of every machine from Σ coef K over each part, or over all at once; shape (n, machines)."""
        if len(sums) == 1:
            return np.asarray(sums[0] + self.intercept)
        K, at = len(self.n_support), 0
        out = np.empty((len(sums[0]), len(self.intercept)))
        for i in range(K - 1):
            out[:, at : at + K - 1 - i] = sums[i][:, i:]
            for j in range(i + 1, K):
                out[:, at] += sums[j][:, i]
                at += 1
        out += self.intercept
        return out


def expansion(machines: Sequence[Machine], codes: Ints, n_classes: int, scheme: str) -> Expansion:
    """Gather the machines over rows of classes `codes`.

    In pairs, the support vector of class i keeps its β against class j in row j−1 (j > i) or j.
    """
    paired = n_classes > 2 and scheme == "ovo"
    full = np.zeros((n_classes - 1 if paired else len(machines), len(codes)))
    if paired:
        rows, beta = (np.concatenate(part) for part in zip(*((m.rows, m.beta) for m in machines)))
        sizes = [len(m.rows) for m in machines]
        first, second = (np.repeat(side, sizes) for side in _pairs(n_classes).T)
        full[np.where(codes[rows] == first, second - 1, first), rows] = beta
    else:
        for k, machine in enumerate(machines):
            full[k, machine.rows] = machine.beta
    return _by_class(full, codes, n_classes, np.array([m.b for m in machines]), paired)


def written_out(found: Expansion, merged: Merged, codes: Ints) -> Expansion:
    """The same machines over the original rows, equal rows sharing their multiplier."""
    full = np.zeros((len(found.coef), len(merged.first)))
    full[:, found.support] = found.coef
    return _by_class(merged.spread(full), codes, len(found.n_support), found.intercept, found.paired)


def _by_class(full: Floats, codes: Ints, n_classes: int, intercept: Floats, paired: bool) -> Expansion:
    used = np.flatnonzero((full != 0).any(axis=0))
    support = used[np.argsort(codes[used], kind="stable")]
    n_support = np.bincount(codes[support], minlength=n_classes)
    return Expansion(support, n_support, np.ascontiguousarray(full[:, support]), intercept, paired)


def votes(decisions: Floats, n_classes: int) -> Floats:
    """One score a class from the pairs: its wins, and below them (under ½) the sum of its decisions.

    >>> votes(np.array([[2.0, 1.0, 0.5]]), 3).argmax()
    np.int64(0)
    """
    return pair_votes(decisions, n_classes)
