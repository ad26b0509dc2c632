"""Support vector regression: a tube of half-width ε around the data, under a kernel."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..errors import ModelError, TableError
from .border import checked_table, checked_weights, positive, square_or_error
from .gram import KernelFunction
from .kernel_functions import KernelChoice, make_kernel
from .machine import Settings, machine_of, rows_at, warn_unfinished
from .merge import as_they_are, merge
from .smo import solve
from .undo import whole_or_nothing


class SVR(RegressorMixin, BaseEstimator):  # type: ignore[misc]
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: str | KernelFunction = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        sigma: float | None = None,
        coef0: float = 0.0,
        norm: int = 2,
        tol: float = 1e-3,
        cache_size: float = 200.0,
        max_iter: int = -1,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.sigma = sigma
        self.coef0 = coef0
        self.norm = norm
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Solve the dual for the tube."""
        positive(C=self.C, tol=self.tol, cache_size=self.cache_size)
        if not self.epsilon >= 0:
            raise ModelError(f"epsilon must be at least 0; got {self.epsilon!r}")
        X, y = checked_table(self, X, y, reset=True, numeric_y=True)
        weight, y = checked_weights(sample_weight, X), np.asarray(y, dtype=np.float64)
        if self.kernel == "precomputed":
            square_or_error(X)
        merged = as_they_are(weight) if self.kernel == "precomputed" else merge(X, y, weight)
        rows, y, C = rows_at(self.kernel, X, merged.first), y[merged.first], self.C * merged.weight
        choice = KernelChoice(self.kernel, self.gamma, self.sigma, self.coef0, self.degree, self.norm)
        self._kernel = make_kernel(choice, rows, merged.weight, float(C.max()), self.tol)
        n = len(y)
        settings = Settings(self.tol, self.max_iter, self.max_seconds, self.cache_size, self.n_jobs)
        gram = self._kernel.gram(rows, self.cache_size, self.n_jobs)
        p = np.concatenate([y - self.epsilon, y + self.epsilon])
        low, high = np.concatenate([np.zeros(n), -C]), np.concatenate([C, np.zeros(n)])
        limits = settings.limits(2 * n, threading.Event())
        found = solve(gram.only(np.tile(np.arange(n), 2)), p, low, high, limits, self.cache_size)
        machine = machine_of(merged.first, found, p)
        warn_unfinished([machine], settings, type(self).__name__)
        distinct = found.beta[:n] + found.beta[n:]
        self._vectors = None if self._kernel.precomputed else rows[distinct != 0]
        self._coef = np.ascontiguousarray(distinct[None, distinct != 0])
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
        return self

    @property
    def coef_(self) -> Floats:
        """w, for the linear kernel."""
        if self._kernel.name != "linear":
            raise AttributeError(f"coef_ is there for the linear kernel only; this one is {self._kernel.name!r}")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def predict(self, X: Any) -> Floats:
        """f(x) = Σ β_i K(x_i, x) + b."""
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        if self._kernel.precomputed:
            if X.shape[1] != self.shape_fit_[0]:
                raise TableError(
                    f"X must hold K against the {self.shape_fit_[0]} training rows; it has {X.shape[1]} columns"
                )
            return np.asarray(X[:, self.support_] @ self.dual_coef_[0] + self._b)
        return self._kernel.sums(X, self._vectors, self._coef, self.n_jobs)[:, 0] + self._b
