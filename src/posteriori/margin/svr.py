"""Support vector regression: a tube of half-width ε around the data, under a kernel."""

from __future__ import annotations

import threading
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_y, check_is_fitted

from ..arrays import Array, Floats
from ..errors import BadValue
from ..estimator import AT_LEAST_0, learning, parameters
from ..kernels.margin import Machines
from ..table.frame import ScoresTables, labelled
from ..table.labels import flat_labels
from ..table.weights import weights_or_ones
from .gram import SharedGram
from .kernel_functions import make_kernel
from .machines import KernelMachine, Part, rows_at, warn_unfinished
from .merge import read_table
from .smo import solve, solve_together


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
