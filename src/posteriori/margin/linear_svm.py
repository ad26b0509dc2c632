"""LinearSVC: the linear margin as a scikit-learn classifier, for tables too long for a kernel matrix."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..errors import ModelError, did_you_mean, listed
from .border import checked_table, checked_weights, every_class_counts, positive
from .linear import FEW_COLUMNS, Plane, by_descent, by_newton
from .machine import crew, together
from .merge import merge
from .undo import whole_or_nothing


class LinearSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear support vector classifier: min ½(‖w‖² + b²/s²) + Σ C_i loss(1 − y_i(wᵀx_i + b)), one plane a class.

    Parameters
    ----------
    C : the price of a violated margin.
    loss : "squared_hinge" or "hinge".
    solver : "dual" (coordinate descent), "newton" (the squared hinge only), or "auto": newton where it applies, with up to
        1000 columns or more rows than columns.
    tol : for "dual" the spread of projected gradients, for "newton" the size of the gradient relative to that at w = 0.
    intercept_scaling : s, the constant column that carries the intercept; larger is less regularised.
    max_iter : passes over the rows, or Newton steps; a ConvergenceWarning says when they did not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1, 1, -1])
    >>> LinearSVC(C=1e6, intercept_scaling=100.0).fit(X, y).coef_.round(2).tolist()
    [[0.5, 0.5]]
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        solver: str = "auto",
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Find the plane of each class against the rest (two classes: one plane)."""
        self._check_options()
        X, y = checked_table(self, X, y, reset=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ModelError(
                f"a margin lies between two classes; y has only one class: {listed(self.classes_.tolist())}"
            )
        weight = checked_weights(sample_weight, X)
        of_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        every_class_counts(weight, of_class, codes, self.classes_)
        bounds = self.C * weight * of_class[codes]
        if not (bounds > 0).all():
            X, codes, bounds = X[bounds > 0], codes[bounds > 0], bounds[bounds > 0]
        planes = self._planes(_with_wide_starts(X), codes, bounds)
        w = np.stack([p.w for p in planes])
        self.coef_ = np.ascontiguousarray(w[:, :-1])
        self.intercept_ = w[:, -1] * self._bias()
        self.n_iter_ = max(p.rounds for p in planes)
        if not all(p.converged for p in planes):
            warnings.warn(
                f"LinearSVC stopped after max_iter={self.max_iter} rounds with its gradient above tol={self.tol:g}. "
                "Raise max_iter, lower C, or scale the columns",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _check_options(self) -> None:
        positive(C=self.C, tol=self.tol, max_iter=self.max_iter, intercept_scaling=self.intercept_scaling)
        if not np.isfinite(self.C):
            raise ModelError("LinearSVC needs a finite C; for a hard margin use SVC(kernel='linear', C=inf)")
        for name, known in (("loss", ["hinge", "squared_hinge"]), ("solver", ["auto", "dual", "newton"])):
            value = getattr(self, name)
            if value not in known:
                raise ModelError(f"{name} must be one of {listed(known)}; got {value!r}{did_you_mean(value, known)}")

    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _planes(self, X: Any, codes: Any, bounds: Floats) -> list[Plane]:
        newton = self._use_newton(X)
        if (
            not newton
        ):  # descent depends on the order of the rows: a weighted table and one written out must be the same
            merged = merge(X, codes, bounds)
            X, codes, bounds = _with_wide_starts(X[merged.first]), codes[merged.first], merged.weight
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        tasks: list[Any] = []
        for k in positives:
            sign = np.where(codes == k, 1.0, -1.0)
            if newton:
                tasks.append(partial(by_newton, X, sign, bounds, self._bias(), self.tol, self.max_iter))
            else:
                options = (self._bias(), self.loss, self.tol, self.max_iter, seed + 1_000_003 * k)
                tasks.append(partial(by_descent, X, sign, bounds, *options))
        if newton:  # its time is in BLAS, which has its own threads
            return [task() for task in tasks]
        return together(tasks, crew(len(tasks), self.n_jobs))

    def _use_newton(self, X: Any) -> bool:
        able = self.loss == "squared_hinge"
        if self.solver == "newton" and not able:
            raise ModelError("solver='newton' takes the squared hinge only; the hinge has no Hessian: use 'dual'")
        return able and (
            self.solver == "newton" or (self.solver == "auto" and X.shape[1] <= max(FEW_COLUMNS, X.shape[0]))
        )

    def decision_function(self, X: Any) -> Floats:
        """wᵀx + b: one value a row for two classes, else a column a class."""
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class on whose side of its plane x lies furthest."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


def _with_wide_starts(X: Any) -> Any:
    """CSR with the index types of the compiled descent; dense rows as they are."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    return X
