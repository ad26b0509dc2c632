"""LinearSVC: the linear margin as a scikit-learn classifier, for tables too long for a kernel matrix."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from functools import partial
from numbers import Real
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..errors import ModelError
from ..estimator import ABOVE_0, AT_LEAST_1, ClassWeight, Estimator, NJobs, RandomState, learning, parameters
from ..kernels import n_threads
from ..table.frame import ScoresTables
from .gram import LARGEST, wide_csr
from .linear import FEW_COLUMNS, Plane, by_descent, by_newton, by_pairs
from .machines import refuse_rounding, together
from .merge import merge, read_classes, read_table


@parameters
class LinearSVC(ScoresTables, ClassifierMixin, Estimator):  # type: ignore[misc]
    """Linear support vector classifier: min ½(‖w‖² + b²/s²) + Σ C_i loss(1 − y_i(wᵀx_i + b)), one plane a class.

    Parameters
    ----------
    C : the price of a violated margin.
    loss : "squared_hinge" or "hinge".
    solver : "dual" (coordinate descent), "newton" (the squared hinge only), or "auto": newton where it applies, with up to
        1000 columns or more rows than columns; the hinge of dense rows by pairs, as `SVC`; else "dual".
    tol : for "dual" the spread of projected gradients, for "newton" the share of the objective that the last step may
        promise to gain.
    intercept_scaling : s, the constant column that carries the intercept; larger is less regularised.
    max_iter : passes over the rows, or Newton steps; a ConvergenceWarning says when they did not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[3., 3.], [4., 3.], [1., 1.]]), np.array([1, 1, -1])
    >>> LinearSVC(C=1e6, intercept_scaling=100.0).fit(X, y).coef_.round(2).tolist()
    [[0.5, 0.5]]
    """

    _: KW_ONLY
    C: Annotated[float, Interval(Real, 0.0, None, closed="right")] = 1.0
    loss: Annotated[str, StrOptions({"hinge", "squared_hinge"})] = "squared_hinge"
    solver: Annotated[str, StrOptions({"auto", "dual", "newton"})] = "auto"
    tol: Annotated[float, ABOVE_0] = 1e-4
    fit_intercept: bool = True
    intercept_scaling: Annotated[float, ABOVE_0] = 1.0
    class_weight: ClassWeight = None
    max_iter: Annotated[int, AT_LEAST_1] = 1000
    random_state: RandomState = None
    n_jobs: NJobs = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @learning
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Find the plane of each class against the rest (two classes: one plane)."""
        X, codes, weight, of_class = read_classes(self, X, y, sample_weight)
        bounds = self.C * weight * of_class[codes]
        if not (bounds > 0).all():
            X, codes, bounds = X[bounds > 0], codes[bounds > 0], bounds[bounds > 0]
        largest = float(np.abs(X.data if sparse.issparse(X) else X).max(initial=self._bias()))
        if not largest * largest * X.shape[1] * float(bounds.max()) < LARGEST:
            raise ModelError(
                f"a cell of {largest:.3g} is too large for C={self.C:g} and a weight of {float(weight.max()):g}: its "
                "square overflows. Scale the columns, or intercept_scaling, which is one of them, or the weights"
            )
        planes = self._planes(X, codes, bounds)
        w = np.stack([p.w for p in planes])
        self.coef_ = np.ascontiguousarray(w[:, :-1])
        self.intercept_ = w[:, -1] * self._bias()
        self.n_iter_ = max(p.rounds for p in planes)
        if not all(p.converged for p in planes):
            refuse_rounding("LinearSVC", float(bounds.max()), self.tol)
            warnings.warn(
                f"LinearSVC stopped after max_iter={self.max_iter} rounds with its gradient above tol={self.tol:g}. "
                "Raise max_iter, lower C, or scale the columns",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not np.isfinite(self.C):
            raise ModelError("LinearSVC needs a finite C; for a hard margin use SVC(kernel='linear', C=inf)")
        if self.solver == "newton" and self.loss == "hinge":
            raise ModelError("solver='newton' takes the squared hinge only; the hinge has no Hessian: use 'dual'")

    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _planes(self, X: Any, codes: Any, bounds: Floats) -> list[Plane]:
        newton = self._use_newton(X)
        if not newton:  # the order of the rows counts: a weighted table and one written out must be the same
            merged = merge(X, codes, bounds)
            X, codes, bounds = X[merged.first], codes[merged.first], merged.weight
        X = _rows(X)
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(codes == k, 1.0, -1.0) for k in positives]
        rule = (bounds, self._bias(), self.tol, self.max_iter)
        if newton:  # its time is in BLAS, which has its own threads
            return [by_newton(X, sign, *rule, self.n_jobs) for sign in signs]
        seed = int(check_random_state(self.random_state).randint(1, 2**31 - 1))
        seeds = [seed + 1_000_003 * k for k in positives]
        pairs = self.solver == "auto" and self.loss == "hinge" and isinstance(X, np.ndarray)
        planes = [by_pairs(X, sign, *rule, at, self.n_jobs) if pairs else None for sign, at in zip(signs, seeds)]
        left = [i for i, plane in enumerate(planes) if plane is None]
        tasks = [partial(by_descent, X, signs[i], *rule, self.loss, seeds[i]) for i in left]
        found = iter(together(tasks, n_threads(self.n_jobs, len(tasks), 1)))
        return [next(found) if plane is None else plane for plane in planes]

    def _use_newton(self, X: Any) -> bool:
        suits = self.loss == "squared_hinge" and X.shape[1] <= max(FEW_COLUMNS, X.shape[0])
        return self.solver == "newton" or (self.solver == "auto" and suits)

    def decision_function(self, X: Any) -> Floats:
        """wᵀx + b: one value a row for two classes, else a column a class."""
        check_is_fitted(self)
        X = read_table(self, X)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(X @ self.coef_.T) + self.intercept_
        if not np.isfinite(scores).all():
            raise ModelError("a row is so far out that wᵀx overflows. Scale the columns")
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class on whose side of its plane x lies furthest."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


def _rows(X: Any) -> Any:
    """Rows as the compiled kernels take them."""
    return wide_csr(X) if sparse.issparse(X) else np.ascontiguousarray(X)
