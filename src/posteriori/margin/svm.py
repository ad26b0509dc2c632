"""Support vector classification: the widest margin between classes, under a kernel, with slack."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..errors import ModelError, TableError, UnknownValue, did_you_mean, listed
from .border import checked_table, checked_weights, every_class_counts, positive, square_or_error
from .gram import KernelFunction
from .kernel_functions import KernelChoice, make_kernel
from .machine import Machine, Settings, rows_at, side_by_side, train, warn_unfinished
from .merge import Merged, as_they_are, merge
from .multiclass import Expansion, Split, expansion, splits, votes, written_out
from .platt import couple, deal, fit_sigmoid, normalised, sigmoid
from .undo import whole_or_nothing

FOLDS = 5


class Margins(NamedTuple):
    """The functional margin y·f(x) and the geometric margin y·f(x)/‖w‖ of each row."""

    functional: Floats
    geometric: Floats


def _gives_posteriors(self: SVC) -> bool:
    if not self.probability:
        raise AttributeError("predict_proba is there after SVC(probability=True).fit(X, y)")
    return True


class SVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classifier: min ½‖w‖² + Σ C_i ξ_i with y_i(wᵀφ(x_i) + b) ≥ 1 − ξ_i, ξ ≥ 0.

    Parameters
    ----------
    C : the price of slack; `inf` is the hard margin, an error by name where no margin separates the classes.
    kernel : "linear", "polynomial", "rbf", "exponential", "laplacian", "sigmoid", "auto", "precomputed" or a callable
        K(A, B). "auto" is linear where columns outnumber rows, else rbf.
    gamma, sigma, coef0, degree, norm : numbers of the kernel, see `posteriori.margin.kernel_functions`.
    multi_class : "ovo" (each pair of classes) or "ovr" (each class against the rest).
    decision_function_shape : with "ovo" machines, one column a class ("ovr") or one a pair ("ovo").
    class_weight, sample_weight of `fit` : factors of C.
    probability : fit Platt's sigmoids on cross-validated scores, for `predict_proba`.
    tol : the largest violation of the optimality conditions that may be left.
    cache_size : megabytes of kernel values held while fitting.
    max_iter, max_seconds : caps; where one ends the work, a ConvergenceWarning says so.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1, 1, -1])
    >>> machine = SVC(kernel="linear", C=np.inf).fit(X, y)
    >>> machine.coef_.round(9).tolist(), machine.intercept_.round(9).tolist()
    ([[0.5, 0.5]], [-2.0])
    >>> machine.margins(X, y).geometric.round(4).tolist()
    [1.4142, 2.1213, 1.4142]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | KernelFunction = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        sigma: float | None = None,
        coef0: float = 0.0,
        norm: int = 2,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        class_weight: Any = None,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        max_iter: int = -1,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.sigma = sigma
        self.coef0 = coef0
        self.norm = norm
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Solve the dual of every pair of classes (or of every class against the rest)."""
        self._check_options()
        X, y = checked_table(self, X, y, reset=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ModelError(
                f"a margin lies between two classes; y has only one class: {listed(self.classes_.tolist())}"
            )
        weight = checked_weights(sample_weight, X)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        every_class_counts(weight, self.class_weight_, codes, self.classes_)
        if self.kernel == "precomputed":
            square_or_error(X)
        merged = as_they_are(weight) if self.kernel == "precomputed" else merge(X, codes, weight)
        rows, codes_of = rows_at(self.kernel, X, merged.first), codes[merged.first]
        bounds = self.C * merged.weight * self.class_weight_[codes_of]
        choice = KernelChoice(self.kernel, self.gamma, self.sigma, self.coef0, self.degree, self.norm)
        self._kernel = make_kernel(choice, rows, merged.weight, float(bounds.max()), self.tol)
        self._settings = Settings(self.tol, self.max_iter, self.max_seconds, self.cache_size, self.n_jobs)
        problems = splits(codes_of, len(self.classes_), self.multi_class)
        tasks = [partial(train, self._kernel, rows, s.rows, s.sign, bounds[s.rows]) for s in problems]
        machines = side_by_side(tasks, self._settings)
        warn_unfinished(machines, self._settings, type(self).__name__)
        self._keep(machines, merged, rows, X, codes)
        self._platt = self._calibrate(rows, problems, bounds, merged.weight) if self.probability else None
        return self

    def _check_options(self) -> None:
        positive(C=self.C, tol=self.tol, cache_size=self.cache_size)
        for name in ("multi_class", "decision_function_shape"):
            if getattr(self, name) not in ("ovo", "ovr"):
                value = getattr(self, name)
                raise ModelError(f"{name} must be 'ovo' or 'ovr'; got {value!r}{did_you_mean(value, ['ovo', 'ovr'])}")

    def _keep(self, machines: list[Machine], merged: Merged, rows: Any, X: Any, codes: Any) -> None:
        """Fitted attributes, named and laid out as scikit-learn's; decisions use the distinct rows."""
        found = expansion(machines, codes[merged.first], len(self.classes_), self.multi_class)
        public = written_out(found, merged, codes)
        self._expansion: Expansion = found
        self._columns_used = merged.first[found.support]
        self._vectors: Any = None if self._kernel.precomputed else rows[found.support]
        self.support_ = public.support.astype(np.int32)
        self.n_support_ = public.n_support.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.precomputed else X[public.support]
        self.dual_coef_ = public.coef
        self.intercept_ = self._original_intercept(found)
        self.n_iter_ = np.array([m.steps for m in machines], dtype=np.int64)
        self.gap_ = np.array([m.gap for m in machines])
        self.w_norm_ = np.array([m.w_norm for m in machines])
        self.fit_status_ = int(not all(m.converged for m in machines))
        self.kernel_ = self._kernel.name
        self.shape_fit_ = X.shape

    def _original_intercept(self, found: Expansion) -> Floats:
        """b for rows as they came: a linear machine is solved on centred rows, and xᵀz moves with the origin."""
        if self._kernel.name != "linear" or self._kernel.centre is None:
            return found.intercept
        return found.intercept - self._plane(found) @ self._kernel.centre

    def _plane(self, found: Expansion) -> Floats:
        """w = Σ β_i x_i of every machine."""
        by_class = np.split(np.arange(len(found.support)), np.cumsum(found.n_support)[:-1])
        rows = self._vectors
        sums = [np.asarray(found.coef[:, at] @ rows[at]).T for at in by_class]
        flat = Expansion(found.support, found.n_support, found.coef, np.zeros(len(found.intercept)), found.paired)
        return flat.decisions(sums).T

    @property
    def coef_(self) -> Floats:
        """w of every machine, for the linear kernel."""
        check_is_fitted(self)
        if self.kernel_ != "linear":
            raise AttributeError(f"coef_ is there for the linear kernel only; this one is {self.kernel_!r}")
        return self._plane(self._expansion)

    def _machine_decisions(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        found = self._expansion
        if self._kernel.precomputed and X.shape[1] != self.shape_fit_[0]:
            raise TableError(
                f"X must hold K against the {self.shape_fit_[0]} training rows; it has {X.shape[1]} columns"
            )
        if not found.paired:
            return found.decisions([self._sums(X, slice(None))])
        ends = np.cumsum(found.n_support)
        return found.decisions([self._sums(X, slice(e - n, e)) for e, n in zip(ends, found.n_support)])

    def _sums(self, X: Any, which: slice) -> Floats:
        found = self._expansion
        if self._kernel.precomputed:
            return np.asarray(X[:, self._columns_used[which]] @ found.coef[:, which].T)
        coef = np.ascontiguousarray(found.coef[:, which])
        return self._kernel.sums(X, self._vectors[which], coef, self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """f(x) = Σ β_i K(x_i, x) + b: one value a row for two classes, else a column a class (or a pair)."""
        decisions = self._machine_decisions(X)
        if len(self.classes_) == 2:
            return np.asarray(decisions[:, 0])
        if self._expansion.paired and self.decision_function_shape == "ovr":
            return votes(decisions, len(self.classes_))
        return decisions

    def predict(self, X: Any) -> Any:
        """The class on whose side of the margin x lies; of several, the one with most votes, then the surest."""
        decisions = self._machine_decisions(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions[:, 0] > 0).astype(np.int64)]
        if self._expansion.paired:
            decisions = votes(decisions, len(self.classes_))
        return self.classes_[decisions.argmax(axis=1)]

    def margins(self, X: Any, y: Any) -> Margins:
        """The functional margin y·f(x) and the geometric one y·f(x)/‖w‖ of each row; negative on the wrong side.

        With more than two classes, that of the machine in which the row's class fares worst ("ovo"), or of the machine of
        its class ("ovr").
        """
        decisions = self._machine_decisions(X)
        y = np.asarray(y)
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            value = y[unknown][0].item() if hasattr(y[unknown][0], "item") else y[unknown][0]
            known = self.classes_.tolist()
            raise UnknownValue(
                f"y has {value!r}, no class of this model{did_you_mean(value, known)} classes: {listed(known)}"
            )
        if len(y) != len(decisions):
            raise TableError(f"X has {len(decisions)} rows and y {len(y)}")
        codes = np.searchsorted(self.classes_, y)
        norms = np.where(self.w_norm_ > 0, self.w_norm_, 1.0)
        signs = _signs(codes, len(self.classes_), self.multi_class)
        functional = np.where(signs == 0, np.inf, decisions * signs)
        worst = functional.argmin(axis=1)
        lowest = functional[np.arange(len(y)), worst]
        return Margins(lowest, lowest / norms[worst])

    def _calibrate(self, X: Any, problems: list[Split], bounds: Floats, weight: Floats) -> list[tuple[float, float]]:
        """(A, B) of each machine's sigmoid, from scores of rows that the scoring machine had not seen.

        A merged row stands for many: each fold holds out its share of the row's weight and trains on the rest.
        """
        random = check_random_state(self.random_state)
        tasks, tests = [], []
        for at, split in enumerate(problems):
            for share in deal(split.sign > 0, weight[split.rows], FOLDS, random):
                held, seen = np.flatnonzero(share), np.flatnonzero(share < 1)
                if not len(held):
                    continue
                rows, signs = split.rows[seen], split.sign[seen]
                constant = 1.0 if not len(signs) else float(signs[0]) if np.ptp(signs) == 0 else None
                tests.append((at, held, share[held], constant))
                if constant is None:
                    tasks.append(partial(train, self._kernel, X, rows, signs, bounds[rows] * (1 - share[seen])))
        machines = iter(side_by_side(tasks, self._settings))
        found: list[list[Any]] = [[] for _ in problems]
        for at, held, share, constant in tests:
            rows, sign = problems[at].rows[held], problems[at].sign[held]
            score = self._score(next(machines), X, rows) if constant is None else np.full(len(held), constant)
            found[at].append((score, sign > 0, weight[rows] * share))
        return [fit_sigmoid(*map(np.concatenate, zip(*parts))) for parts in found]

    def _score(self, machine: Machine, X: Any, rows: Any) -> Floats:
        used = machine.beta != 0
        support, beta = machine.rows[used], machine.beta[used]
        if self._kernel.precomputed:
            return np.asarray(rows_at(self._kernel.name, X, rows, support) @ beta + machine.b)
        return self._kernel.sums(X[rows], X[support], beta[None], self.n_jobs)[:, 0] + machine.b

    @available_if(_gives_posteriors)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """P(y | x): Platt's sigmoid of f; of several classes, coupled pairs ("ovo") or normalised sigmoids ("ovr")."""
        decisions = self._machine_decisions(X)
        if self._platt is None:
            raise ModelError("fit again with probability=True: this model was fitted without posteriors")
        K = len(self.classes_)
        if K > 2 and not self._expansion.paired:
            return normalised(decisions, self._platt)
        sure = np.stack([sigmoid(decisions[:, k], *ab) for k, ab in enumerate(self._platt)], axis=1)
        if K == 2:
            return np.stack([1 - sure[:, 0], sure[:, 0]], axis=1)
        r = np.zeros((len(sure), K, K))
        r[:, *np.triu_indices(K, 1)] = sure
        r += np.swapaxes(np.triu(1 - r, 1), 1, 2)
        return couple(r)

    @available_if(_gives_posteriors)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(y | x)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def plot_margin(self, X: Any, y: Any, ax: Any = None) -> Any:
        """Draw the separating line, the margin lines and the support vectors of a two-column, two-class problem."""
        from .plot import plot_margin

        return plot_margin(self, X, y, ax)


def _signs(codes: NDArray[np.int64], n_classes: int, scheme: str) -> Floats:
    """+1, −1 or 0 (not asked): the side on which each row should be, for every machine."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    if scheme == "ovr":
        return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)
    first, second = np.triu_indices(n_classes, 1)
    return np.asarray((codes[:, None] == first) * 1.0 - (codes[:, None] == second) * 1.0)
