"""The kernels K(x, z), by name, and the choice of their numbers.

| name | K(x, z) |
|---|---|
| linear | xᵀz + c |
| polynomial | (a·xᵀz + c)^d |
| rbf (gaussian) | exp(−‖x−z‖²/2σ²) = exp(−γ‖x−z‖²) |
| exponential | exp(−‖x−z‖/2σ²) |
| laplacian | exp(−‖x−z‖/σ), or exp(−γ‖x−z‖₁) with norm=1 |
| sigmoid | tanh(a·xᵀz + c) |

In scikit-learn's words a is `gamma`, c is `coef0`, d is `degree`. Where `sigma` is not given, `gamma` stands in the place
of 1/2σ² or 1/σ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Floats
from ..errors import ModelError
from ..kernels.margin import KernelSpec, kernel_sums, pack
from .gram import (
    LARGEST,
    DenseGram,
    FunctionGram,
    Gram,
    KernelFunction,
    SparseGram,
    WholeGram,
    checked_values,
    parts,
    small_enough,
    sums_by_function,
)

KIND = {
    "linear": "dot",
    "polynomial": "polynomial",
    "poly": "polynomial",
    "rbf": "rbf",
    "gaussian": "rbf",
    "exponential": "distance",
    "laplacian": "distance",
    "sigmoid": "sigmoid",
}
NAMES = (*KIND, "auto", "precomputed")
SINGLE_FROM = 900  # rows from which single precision is worth a thought
CORRECTED = 0.2  # an error of f that the solver, summing anew in double precision, takes out
FAR = 1e15  # a coordinate beyond this has a square that single precision may not hold
UNCENTRED = ("polynomial", "sigmoid")  # their values change when the data are shifted


def automatic(n_rows: int, n_columns: int) -> str:
    """The kernel of `kernel="auto"`: linear where attributes outnumber rows, else RBF (with gamma="scale").

    >>> automatic(100, 5000), automatic(2000, 30)
    ('linear', 'rbf')
    """
    return "linear" if n_columns > n_rows else "rbf"


def gamma_of(gamma: str | float, X: Any, weight: Floats | None = None) -> float:
    """γ as a number: "scale" is 1/(d·var X), rows counting as often as they weigh; "auto" is 1/d.

    >>> gamma_of("scale", np.array([[0., 2.], [2., 0.]])), gamma_of("auto", np.zeros((3, 4)))
    (0.5, 0.25)
    """
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return float(1.0 / d)
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weight is None else weight / weight.sum()
    mean = float((share @ X).sum()) / d
    squares = _squares(X) if sparse.issparse(X) else _lengths(X - mean)
    variance = float(share @ squares) / d - (mean * mean if sparse.issparse(X) else 0.0)
    return 1.0 / (d * variance) if variance > 0 else 1.0


def spec_of(model: Any, name: str, X: Any, weight: Floats | None = None) -> KernelSpec:
    """The numbers of a named kernel for the training rows X, by the parameters of an estimator."""
    gamma = model.gamma
    if model.sigma is not None:
        gamma = 1.0 / model.sigma if name == "laplacian" else 0.5 / model.sigma / model.sigma
    kind = "manhattan" if name == "laplacian" and model.norm == 1 else KIND[name]
    scale = 1.0 if kind == "dot" else gamma_of(gamma, X, weight)
    return KernelSpec(kind, scale, float(model.coef0), int(model.degree) if kind == "polynomial" else 0)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel function made ready for one training set: its numbers, the point rows are measured from, its precision."""

    name: str
    spec: KernelSpec | None = None
    function: KernelFunction | None = None
    centre: Floats | None = None
    single: bool = False  # in sums of any use
    coarse: bool = False  # in a solver that corrects itself
    sparse: bool = False  # whether the training rows are

    @property
    def precomputed(self) -> bool:
        return self.name == "precomputed"

    def table(self, X: Any, single: bool | None = None) -> Any:
        """Dense rows as the compiled kernels take them, in this kernel's precision or the one asked for."""
        if sparse.issparse(X):
            X = X.toarray()
        moved = X if self.centre is None else X - self.centre
        return np.ascontiguousarray(
            moved, dtype=np.float32 if (self.single if single is None else single) else np.float64
        )

    def gram(self, X: Any, megabytes: float, n_jobs: int | None = None) -> Gram:
        """The kernel matrix of the training rows X (or X itself, precomputed)."""
        if self.precomputed:
            return WholeGram(small_enough(np.ascontiguousarray(X, dtype=np.float64)))
        if self.function is None and self.spec is not None:
            if self.sparse:
                return SparseGram(self.spec, X, np.dtype(np.float32 if self.single else np.float64), n_jobs)
            fine = pack(self.table(X, single=False), n_jobs) if self.coarse else None
            return DenseGram(self.spec, pack(self.table(X, self.single or self.coarse), n_jobs), n_jobs, fine)
        assert self.function is not None
        n, definite = X.shape[0], self.spec is not None and self.spec.scale > 0  # spec: the 1-norm of sparse rows
        if n * n * 8 <= megabytes * 2**20:
            return WholeGram(checked_values(self.function, X, X), definite=definite)
        return FunctionGram(self.function, X, np.dtype(np.float32), definite)

    def ready(self, support: Any, n_jobs: int | None = None) -> Any:
        """Support vectors as `sums` takes them: packed for the compiled kernels, or as they are."""
        if self.function is not None:
            return support
        assert self.spec is not None
        return SparseGram(self.spec, support, n_jobs=n_jobs) if self.sparse else pack(self.table(support), n_jobs)

    def sums(self, X: Any, parts_of: Sequence[tuple[Any, Floats]], n_jobs: int | None = None) -> list[Floats]:
        """out[i, c] = Σ_j coef[c, j] K(x_i, support_j), for each (support made `ready`, coef)."""
        if self.sparse and self.function is None:
            X = sparse.csr_array(X)  # trained on sparse rows, it may meet dense ones
            return [support.sums_at(X, coef) for support, coef in parts_of]
        if self.function is not None:
            return [sums_by_function(self.function, X, support, coef) for support, coef in parts_of]
        assert self.spec is not None
        packed = [support for support, _ in parts_of]
        outs = [np.empty((X.shape[0], len(coef))) for _, coef in parts_of]
        single = packed[0].rows.dtype == np.float32
        for part in parts(X.shape[0], max(support.rows.size for support in packed)):
            if single and abs(X[part]).max() > FAR:
                packed, single = [pack(support.rows.astype(np.float64), n_jobs) for support in packed], False
            rows = pack(self.table(X[part], single), n_jobs)
            for support, (_, coef), out in zip(packed, parts_of, outs):
                out[part] = kernel_sums(self.spec, rows.rows, rows.norms[: rows.n], support, coef, n_jobs)
        if not all(np.isfinite(out).all() for out in outs):
            raise ModelError(f"a row is too far out for the {self.name} kernel: its value overflows. Scale the columns")
        return outs


@np.errstate(over="ignore", invalid="ignore")  # rows too large are told by name, in `_fits`
def make_kernel(model: Any, X: Any, weight: Floats, top_C: float) -> Kernel:
    """The kernel of an estimator for its training rows."""
    if callable(model.kernel):
        return Kernel("callable", function=model.kernel)
    name = model.kernel
    if name == "precomputed":
        return Kernel(name)
    if name == "auto":
        name = automatic(*X.shape)
    spec = spec_of(model, name, X, weight)
    if sparse.issparse(X):
        largest = float(_squares(X).max(initial=0.0))
        _fits(name, spec, largest)
        single = _error_in_single(spec, X.shape[0], largest, top_C) <= model.tol
        function = partial(manhattan, spec.scale) if spec.kind == "manhattan" else None
        return Kernel(name, spec, function, single=single, sparse=True)
    centre = None if spec.kind in UNCENTRED else np.add.reduce(X, axis=0, dtype=np.float64) / len(X)
    largest = float(_lengths(X if centre is None else X - centre).max(initial=0.0))
    _fits(name, spec, largest)
    error = _error_in_single(spec, len(X), largest, top_C)
    single = error <= model.tol
    return Kernel(name, spec, None, centre, single, not single and error <= CORRECTED and model.tol >= 1e-5)


def _fits(name: str, spec: KernelSpec, largest: float) -> None:
    """The largest value of the kernel on the training rows is a number."""
    top = np.float64(spec.scale) * largest + abs(spec.shift)
    top = top**spec.degree if spec.kind == "polynomial" else top
    if not (largest < LARGEST and top < LARGEST):
        raise ModelError(
            f"the rows are too large for the {name} kernel and its gamma (or sigma) and coef0, or so small that gamma "
            "is huge: its value overflows. Scale the columns"
        )


def _error_in_single(spec: KernelSpec, n: int, largest: float, top_C: float) -> float:
    """How far f may be off in single precision; infinite where that is not worth a thought.

    A kernel value is wrong by about 2⁻²² of the numbers it is made of; f is a sum of up to n of them with weights up to C,
    whose errors are of either sign: C·√n·error.
    """
    line = np.float64(abs(spec.scale) * largest + abs(spec.shift))
    size = {"dot": largest, "polynomial": float(line**spec.degree) * spec.degree}
    magnitude = max(1.0, size.get(spec.kind, spec.scale * largest))
    if n < SINGLE_FROM or max(largest, magnitude) > FAR**2:
        return np.inf
    return float(top_C * np.sqrt(n) * magnitude * 2.0**-22)


def manhattan(scale: float, A: Any, B: Any) -> Array:
    """exp(−scale·‖a−b‖₁) between sparse rows."""
    from sklearn.metrics.pairwise import manhattan_distances

    return np.asarray(np.exp(-scale * manhattan_distances(sparse.csr_matrix(A), sparse.csr_matrix(B))))


def _lengths(A: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _squares(A: Any) -> Floats:
    return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
