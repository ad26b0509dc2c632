"""Support vector machines under a kernel: the widest margin between classes, with slack; a tube around a number."""

from __future__ import annotations

import threading
from dataclasses import KW_ONLY, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_y, check_is_fitted

from .. import views
from ..arrays import Array, Floats, Ints
from ..budget import refuse_answer, refuse_over
from ..errors import BadValue, ModelError, NotSeparable, TableError
from ..estimator import AT_LEAST_0, ClassWeight, Explains, RandomState, learning, parameters
from ..fields import MAYBE, UNBOUNDED, Natural, need
from ..kernels.margin import Machines
from ..table.frame import ScoresTables, count_rows, labelled
from ..table.labels import encode_labels, flat_labels
from ..table.weights import weights_or_ones
from .kernel import SharedGram, make_kernel
from .machines import (
    Expansion,
    KernelMachine,
    Machine,
    Merged,
    Part,
    Split,
    expansion,
    merge,
    read_classes,
    read_table,
    rows_at,
    splits,
    train_all,
    votes,
    warn_unfinished,
    written_out,
)
from .platt import couple, deal, fit_sigmoid, normalised, sigmoid
from .smo import solve, solve_together

FOLDS = 5
FEW_CLASSES = 6


class Margins(NamedTuple):
    """The functional margin y·f(x) and the geometric margin y·f(x)/‖w‖ of each row."""

    functional: Floats
    geometric: Floats


def _gives_posteriors(self: SVC) -> bool:
    if not self.probability:
        raise AttributeError("predict_proba is there after SVC(probability=True).fit(X, y)")
    return True


@parameters
class SVC(Explains, ScoresTables, ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """Support vector classifier: min ½‖w‖² + Σ C_i ξ_i with y_i(wᵀφ(x_i) + b) ≥ 1 − ξ_i, ξ ≥ 0.

    Parameters
    ----------
    C : the price of slack; `inf` is the hard margin, an error by name where no margin separates the classes.
    kernel : "linear", "polynomial", "rbf", "exponential", "laplacian", "sigmoid", "auto", "precomputed" or a callable
        K(A, B). "auto" is linear where columns outnumber rows, else rbf.
    gamma, sigma, coef0, degree, norm : numbers of the kernel, see `posteriori.margin.kernel`.
    multi_class : "ovo" (each pair of classes) or "ovr" (each class against the rest).
    decision_function_shape : with "ovo" machines, one column a class ("ovr") or one a pair ("ovo").
    class_weight, sample_weight of `fit` : factors of C.
    probability : fit Platt's sigmoids on cross-validated scores, for `predict_proba`.
    tol : the largest violation of the optimality conditions that may be left.
    cache_size : megabytes of kernel values held while fitting; of several machines side by side, half of it for each.
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

    _: KW_ONLY
    multi_class: Annotated[str, StrOptions({"ovo", "ovr"})] = "ovo"
    decision_function_shape: Annotated[str, StrOptions({"ovo", "ovr"})] = "ovr"
    class_weight: ClassWeight = None
    probability: bool = False
    random_state: RandomState = None
    classes_: Annotated[Array, "K"] = field(init=False)
    class_weight_: Annotated[Floats, "K"] = field(init=False)
    _expansion: Expansion = field(init=False)
    n_iter_: Annotated[Ints, "machines"] = field(init=False)
    gap_: Annotated[Floats, "machines", UNBOUNDED] = field(init=False)
    w_norm_: Annotated[Floats, "machines", UNBOUNDED] = field(init=False)
    dual_value_: Annotated[Floats, "machines", UNBOUNDED, MAYBE] = field(init=False)
    primal_value_: Annotated[Floats, "machines", UNBOUNDED, MAYBE] = field(init=False)
    kernel_: str = field(init=False)
    _platt: Annotated[list[tuple[float, float]] | None, "machines"] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        found, K = self._expansion, len(self.classes_)
        need(K >= 2 and len(found.n_support) == K, "a machine must have two classes")
        need(not found.paired or K > 2, "two classes have one machine")
        machines = K * (K - 1) // 2 if found.paired else 1 if K == 2 else K
        need(
            len(found.intercept) == len(self.intercept_) == len(self.n_iter_) == machines,
            "an intercept of every machine",
        )
        need(len(found.coef) == (K - 1 if found.paired else machines), "coefficients of every machine")
        sizes = found.n_support.tolist() if found.paired else [len(found.support)]
        need([p.coef.shape for p in self._parts] == [(len(found.coef), n) for n in sizes], "the vectors of every class")
        need(self.kernel_ == self._kernel.name, "kernel_ must be the kernel's name")
        need(len(self.dual_coef_) == len(found.coef) and len(self.n_support_) == K, "dual_coef_ of every machine")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVC:
        """Solve the dual of every pair of classes (or of every class against the rest)."""
        self._learn(X, y, sample_weight)
        self._support()
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, codes, weight, self.class_weight_ = read_classes(self, X, y, sample_weight)
        merged = self._merged(X, codes, weight)
        rows, codes_of = rows_at(self.kernel, X, merged.first), codes[merged.first]
        bounds = self._bounds(merged.weight * self.class_weight_[codes_of])
        if np.isinf(self.C):
            self._refuse_twins(rows)
        self._kernel = make_kernel(self, rows, merged.weight, float(bounds.max()))
        problems, settings = splits(codes_of, len(self.classes_), self.multi_class), self._settings()
        machines = train_all(self._kernel, rows, [(s.rows, s.sign, bounds[s.rows]) for s in problems], settings)
        warn_unfinished(machines, settings, type(self).__name__)
        self._keep_machines(machines, merged, rows, X, codes)
        self._platt = self._calibrate(rows, problems, bounds, merged.weight) if self.probability else None

    def _refuse_twins(self, rows: Any) -> None:
        """No hard margin lies between two equal rows of different classes."""
        n = rows.shape[0]
        if not self._is_precomputed() and len(merge(rows, np.zeros(n), np.ones(n)).first) < n:
            raise NotSeparable(
                "C=inf asks for a hard margin, but a row occurs in two classes; give a finite C for a soft margin"
            )

    def _keep_machines(self, machines: list[Machine], merged: Merged, rows: Any, X: Any, codes: Ints) -> None:
        """Fitted attributes, named and laid out as scikit-learn's; decisions use the distinct rows."""
        found = expansion(machines, codes[merged.first], len(self.classes_), self.multi_class)
        public = written_out(found, merged, codes)
        self._expansion: Expansion = found
        self._parts = found.parts((merged.first if self._kernel.precomputed else rows)[found.support])
        self.support_ = public.support.astype(np.int32)
        self.n_support_ = public.n_support.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.precomputed else X[public.support]
        self.dual_coef_ = public.coef
        self.intercept_ = found.intercept
        if self._kernel.name == "linear" and self._kernel.centre is not None:  # for rows as they came, not centred
            self.intercept_ = found.intercept - self._plane() @ self._kernel.centre
        self.n_iter_ = np.array([m.steps for m in machines], dtype=np.int64)
        self.gap_ = np.array([m.gap for m in machines])
        self.w_norm_ = np.array([m.w_norm for m in machines])
        self.dual_value_ = np.array([m.dual for m in machines])
        self.primal_value_ = np.array([m.primal for m in machines])
        self.fit_status_ = int(not all(m.converged for m in machines))
        self.kernel_ = self._kernel.name
        self.shape_fit_ = X.shape

    def _ready(self) -> list[tuple[Any, Floats]]:
        """Of few classes the vectors all at once: what pairs have zeros for costs less than a call for each class."""
        if self._kernel.precomputed or not self._expansion.paired or len(self.classes_) > FEW_CLASSES:
            return super()._ready()
        vectors = [part.vectors for part in self._parts]
        every = sparse.vstack(vectors, "csr") if sparse.issparse(vectors[0]) else np.concatenate(vectors)
        return [(self._kernel.ready(every, self.n_jobs), self._expansion.of_pairs())]

    def _plane(self) -> Floats:
        """w = Σ β_i x_i of every machine."""
        sums = [np.asarray(part.coef @ part.vectors).T for part in self._parts]
        return (self._expansion.decisions(sums) - self._expansion.intercept).T

    @property
    def coef_(self) -> Floats:
        """w of every machine, for the linear kernel."""
        check_is_fitted(self)
        if self.kernel_ != "linear":
            raise AttributeError(f"coef_ is there for the linear kernel only; this one is {self.kernel_!r}")
        return self._plane()

    @property
    def alpha_(self) -> Floats:
        """α of every training row, 0 off the support vectors; shape (machines, rows)."""
        check_is_fitted(self)
        found, n = self._expansion, self.shape_fit_[0]
        refuse_over(None, 8 * n * len(found.intercept), "a multiplier of every row and machine", "read dual_coef_")
        public = replace(found, n_support=self.n_support_.astype(np.int64), coef=self.dual_coef_)
        alpha = np.zeros((len(found.intercept), n))
        alpha[:, self.support_] = np.abs(public.of_pairs() if found.paired else public.coef)
        return alpha

    def _machine_decisions(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._expansion.decisions(self._sums(X))

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
        codes = encode_labels(y, self.classes_)[1]
        if len(codes) != len(decisions):
            raise TableError(f"X has {len(decisions)} rows and y {len(codes)}")
        norms = np.where(self.w_norm_ > 0, self.w_norm_, 1.0)
        signs = self._signs(codes)
        functional = np.where(signs == 0, np.inf, decisions * signs)
        worst = functional.argmin(axis=1)
        lowest = functional[np.arange(len(codes)), worst]
        return Margins(lowest, lowest / norms[worst])

    def _signs(self, codes: Ints) -> Floats:
        """+1, −1 or 0 (not asked): the side on which each row should be, for every machine."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        if not self._expansion.paired:
            return np.asarray(codes[:, None] == np.arange(n_classes), dtype=np.float64)
        first, second = np.triu_indices(n_classes, 1)
        return np.asarray((codes[:, None] == first) * 1.0 - (codes[:, None] == second) * 1.0)

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
                    tasks.append((rows, signs, bounds[rows] * (1 - share[seen])))
        machines = iter(train_all(self._kernel, X, tasks, self._settings()))
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
        ready = self._kernel.ready(X[support], self.n_jobs)
        return self._kernel.sums(X[rows], [(ready, beta[None])], self.n_jobs)[0][:, 0] + machine.b

    def _own_rows(self) -> Any:
        kept = self.support_vectors_
        return kept if isinstance(kept, np.ndarray) and kept.size else None

    @available_if(_gives_posteriors)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """P(y | x): Platt's sigmoid of f; of several classes, coupled pairs ("ovo") or normalised sigmoids ("ovr")."""
        check_is_fitted(self)
        pairs = len(self.classes_) if self._expansion.paired else 1
        refuse_answer(count_rows(X), len(self.classes_) * pairs, 3, "pairs of classes" if pairs > 1 else "classes")
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
        return views.axes("a margin", self, X, y, ax)


@parameters
class SVR(ScoresTables, RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Support vector regression: min ½‖w‖² + Σ C_i (|y_i − f(x_i)| − ε)₊, f(x) = wᵀφ(x) + b.

    In the solver's form every row has two multipliers: 0 ≤ β⁺ ≤ C with p = y − ε, and −C ≤ β⁻ ≤ 0 with p = y + ε.

    Parameters
    ----------
    epsilon : half the width of the tube within which an error costs nothing.
    C, kernel, gamma, sigma, coef0, degree, norm, tol, cache_size, max_iter, max_seconds : as for `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 6, 60)[:, None]
    >>> line = SVR(kernel="linear", epsilon=0.1, C=10).fit(x, 2 * x[:, 0] + 1)
    >>> bool(abs(line.predict([[3.0]])[0] - 7) <= 0.11)
    True
    """

    _: KW_ONLY
    epsilon: Annotated[float, AT_LEAST_0] = 0.1
    _b: float = field(init=False)
    n_iter_: Annotated[Natural, MAYBE] = field(init=False)
    gap_: Annotated[float, UNBOUNDED, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        need([len(part.coef) for part in self._parts] == [1], "a regression has one machine")
        need(len(self.dual_coef_) == len(self.n_support_) == len(self.intercept_) == 1, "a regression has one machine")

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVR:
        """Solve the dual for the tube."""
        self._learn(X, y, sample_weight)
        self._support()
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = labelled(X, y)
        X = read_table(self, X, reset=True)
        y = _numbers(flat_labels(y))
        check_consistent_length(X, y)
        weight = weights_or_ones(sample_weight, len(y))
        merged = self._merged(X, y, weight)
        rows, y, C = rows_at(self.kernel, X, merged.first), y[merged.first], self._bounds(merged.weight)
        self._kernel = make_kernel(self, rows, merged.weight, float(C.max()))
        n, settings = len(y), self._settings()
        gram = self._kernel.gram(rows, self.cache_size, self.n_jobs)
        p = np.concatenate([y - self.epsilon, y + self.epsilon])
        low, high = np.concatenate([np.zeros(n), -C]), np.concatenate([C, np.zeros(n)])
        limits = settings.limits(2 * n, threading.Event())
        place, found = np.tile(np.arange(n), 2), None
        if settings.together(n, [2 * n]):
            found = solve_together(gram, Machines(np.array([0, 2 * n]), place, p, low, high), limits)[0]
        if found is None:
            found = solve(SharedGram(gram, place), p, low, high, limits, self.cache_size)
        warn_unfinished([found], settings, type(self).__name__)
        distinct = found.beta[:n] + found.beta[n:]
        vectors = merged.first if self._kernel.precomputed else rows
        self._parts = [Part(vectors[distinct != 0], np.ascontiguousarray(distinct[None, distinct != 0]))]
        beta = merged.spread(distinct)
        used = np.flatnonzero(beta)
        self.support_ = used.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self._kernel.precomputed else X[used]
        self.dual_coef_ = np.ascontiguousarray(beta[None, used])
        self._b = found.b
        self.n_support_ = np.array([len(used)], dtype=np.int32)
        self.intercept_ = np.array([found.b])
        if self._kernel.name == "linear" and self._kernel.centre is not None:
            self.intercept_ = self.intercept_ - self.coef_ @ self._kernel.centre
        self.n_iter_, self.gap_, self.fit_status_ = found.steps, found.gap, int(not found.converged)
        self.shape_fit_ = X.shape

    @property
    def coef_(self) -> Floats:
        """w, for the linear kernel."""
        check_is_fitted(self, "dual_coef_")
        if self._kernel.name != "linear":
            raise AttributeError(f"coef_ is there for the linear kernel only; this one is {self._kernel.name!r}")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def predict(self, X: Any) -> Floats:
        """f(x) = Σ β_i K(x_i, x) + b."""
        check_is_fitted(self)
        return self._sums(X)[0][:, 0] + self._b


def _numbers(y: Array) -> Floats:
    """The quantities as floats, all finite. scikit-learn's check says what is wrong, but takes as long as a small fit."""
    with np.errstate(over="ignore", invalid="ignore"):
        if y.dtype == np.float64 and np.isfinite(y.sum()):
            return y
    try:
        return np.asarray(_check_y(y, y_numeric=True), dtype=np.float64)
    except OverflowError:
        raise BadValue("y must be numbers; a whole number in it is larger than any float") from None
