"""The kernel matrix of the training rows, of which the solver asks for pieces, and a cache of its rows.

The kernels K(x, z), by name, and the choice of their numbers.

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

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Floats, Ints
from ..errors import ModelError
from ..fields import DERIVED, OneOf, need
from ..kernels import kernel_rows, kernel_square, kernel_sums, sparse_kernel_rows
from ..kernels.margin import KernelSpec, Packed, SparseColumns, pack, square

KernelFunction = Callable[[Any, Any], Any]

DEFINITE = ("rbf", "distance", "manhattan")
LARGEST = 1e150  # of a kernel value: its square is a number
FEWEST = 16  # kernel rows held, whatever the bound
AT_ONCE = 2**33  # multiplications of one compiled call: a few tenths of a second, so that Ctrl-C is obeyed


class Gram(abc.ABC):
    """K over the variables of a problem.

    Variables may share their rows (the two multipliers of a row in regression): variable i has row `place[i]`, or row i
    where `place` is None, and a row of K has a column for each of the `width` rows.
    """

    dtype: Any
    width: int
    place: Ints | None = None
    n_jobs: int | None = None
    definite: bool = False  # whether distinct points always have a margin
    coarse: bool = False  # whether pieces are in a precision that f may feel; `exact` sums are not

    @abc.abstractmethod
    def block(self, index: Ints, room: Array | None = None) -> Array:
        """K between these variables, in the first columns of a `kernels.margin.square`, in the bytes of `room`."""

    def whole(self, room: Array | None = None) -> Array:
        """`block` of all variables, where none share a row."""
        return self.block(np.arange(self.width), room)

    @abc.abstractmethod
    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        """out[slot] = rows `index` of K."""

    @abc.abstractmethod
    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        """Σ_j coef_j K between rows `targets`, which are in order, and rows index_j."""

    @abc.abstractmethod
    def only(self, index: Ints) -> Gram:
        """K between these variables, as a matrix to ask for pieces of."""

    @abc.abstractmethod
    def spread(self) -> float:
        """√max K(x, x): no two points are further apart than twice this."""

    def finer(self) -> Gram:
        """The same matrix, not coarse."""
        return self


def is_definite(spec: KernelSpec) -> bool:
    """Whether a kernel is strictly positive definite: distinct points are separable."""
    return spec.kind in DEFINITE and spec.scale > 0


def spread_of(spec: KernelSpec, norms: Floats) -> float:
    """√max K(x, x) of rows with these squared norms."""
    kind, scale, shift, degree = spec
    top = scale * float(norms.max(initial=0.0)) + shift
    return float(np.sqrt(abs({"dot": top, "polynomial": top**degree}.get(kind, 1.0))))


def parts(n: int, each: int) -> list[slice]:
    """Slices of range(n) so long that `each` elementary steps per item stay within one call's share."""
    size = max(1, AT_ONCE // max(1, each))
    return [slice(a, min(n, a + size)) for a in range(0, n, size)]


def distinct(place: Ints, width: int) -> tuple[Ints, Ints]:
    """The numbers below `width` that occur, in order, and where each stands among them: `np.unique` without sorting.

    >>> distinct(np.array([5, 2, 5]), 6)
    (array([2, 5]), array([1, 0, 1]))
    """
    held = np.zeros(width, dtype=np.bool_)
    held[place] = True
    return np.flatnonzero(held), (np.cumsum(held) - 1)[place]


class DenseGram(Gram):
    """The kernel matrix of dense rows, computed by the compiled block kernels in the precision of the packed rows.

    `fine` are the same rows in double precision, where single is too coarse for the last digits of f.
    """

    def __init__(self, spec: KernelSpec, packed: Packed, n_jobs: int | None = None, fine: Packed | None = None) -> None:
        self.spec, self.packed, self.n_jobs, self.fine = spec, packed, n_jobs, fine
        self.dtype, self.width = packed.rows.dtype, packed.n
        self.definite, self.coarse = is_definite(spec), fine is not None

    def block(self, index: Ints, room: Array | None = None) -> Array:
        every = len(index) == self.width and bool((index == np.arange(self.width)).all())
        return (self if every else self.only(index)).whole(room)

    def whole(self, room: Array | None = None) -> Array:
        n, out = self.width, square(self.width, self.dtype, room)
        if n * self.packed.rows.size <= AT_ONCE:
            kernel_square(self.spec, self.packed, out, self.n_jobs)
        else:
            self.rows(np.arange(n), out, np.arange(n))
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        x, norms = self.packed.rows[index], self.packed.norms[index]
        for part in parts(len(index), self.packed.rows.size):
            kernel_rows(self.spec, x[part], norms[part], self.packed, out, slot[part], self.n_jobs)

    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        of = self.fine if exact and self.fine is not None else self.packed
        support = pack(of.rows[index], self.n_jobs)
        every = len(targets) == self.width  # then in order: no copy
        x, norms = (a if every else a[targets] for a in (of.rows, of.norms[: self.width]))
        out = np.empty(len(targets))
        for part in parts(len(targets), support.rows.size):
            out[part] = kernel_sums(self.spec, x[part], norms[part], support, coef[None], self.n_jobs)[:, 0]
        return out

    def only(self, index: Ints) -> DenseGram:
        return DenseGram(self.spec, pack(self.packed.rows[index], self.n_jobs), self.n_jobs)

    def finer(self) -> DenseGram:
        return self if self.fine is None else DenseGram(self.spec, self.fine, self.n_jobs)

    def spread(self) -> float:
        return spread_of(self.spec, self.packed.norms)


class SparseGram(Gram):
    """The kernel matrix of sparse rows: a row's cells meet only the rows that have their columns."""

    def __init__(self, spec: KernelSpec, X: Any, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.spec, self.X, self.dtype, self.n_jobs = spec, wide_csr(X), dtype, n_jobs
        self.width = int(self.X.shape[0])
        self.definite = is_definite(spec)
        self.norms = row_squares(self.X)
        columns = self.X.tocsc()
        starts, at = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        self.columns = SparseColumns(starts, at, columns.data, self.norms)

    def block(self, index: Ints, room: Array | None = None) -> Array:
        out, every = square(len(index), self.dtype, room), np.arange(len(index))
        self.only(index).rows(every, out, every)
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        for part in parts(len(index), 4 * self.width + self.X.nnz):
            self.between(wide_csr(self.X[index[part]]), out, slot[part])

    def between(self, rows: Any, out: Array, slot: Ints) -> None:
        """out[slot] = K(rows, X)."""
        sparse_kernel_rows(self.spec, rows, row_squares(rows), self.columns, out, slot, self.n_jobs)

    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        return self.only(index).sums_at(self.X[targets], coef[None])[:, 0]

    def sums_at(self, X: Any, coef: Floats) -> Floats:
        """out[i, c] = Σ_j coef[c, j] K(x_i, X_j) for other rows x."""
        out = np.zeros((X.shape[0], len(coef)))
        for part in parts(X.shape[0], max(2048 * self.width, 4 * self.width + self.X.nnz)) if self.width else ():
            rows = wide_csr(X[part])
            K = np.empty((rows.shape[0], self.width))
            self.between(rows, K, np.arange(len(K)))
            out[part] = small_enough(K) @ coef.T
        return out

    def only(self, index: Ints) -> SparseGram:
        return SparseGram(self.spec, self.X[index], self.dtype, self.n_jobs)

    def spread(self) -> float:
        return spread_of(self.spec, self.norms)


class WholeGram(Gram):
    """A kernel matrix that is there already; `index` names the rows in play."""

    def __init__(self, K: Array, index: Ints | None = None, definite: bool = False) -> None:
        self.K, self.index, self.definite = K, index, definite
        self.dtype, self.width = K.dtype, len(K if index is None else index)

    def _of(self, index: Ints) -> Ints:
        return index if self.index is None else self.index[index]

    def block(self, index: Ints, room: Array | None = None) -> Array:
        at, out = self._of(index), square(len(index), self.dtype, room)
        out[:, : len(index)] = self.K[np.ix_(at, at)]
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        rows = self.K[self._of(index)]
        out[slot] = rows if self.index is None else rows[:, self.index]

    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        out: Floats = self.K[self._of(targets)][:, self._of(index)] @ coef
        return out

    def only(self, index: Ints) -> WholeGram:
        return WholeGram(self.K, self._of(index), self.definite)

    def spread(self) -> float:
        diagonal = self.K.diagonal() if self.index is None else self.K.diagonal()[self.index]
        return float(np.sqrt(np.abs(diagonal).max(initial=0.0)))


class FunctionGram(Gram):
    """The kernel matrix by a Python function of two tables (a callable kernel, or sparse rows)."""

    def __init__(self, function: KernelFunction, X: Any, dtype: Any = np.float64, definite: bool = False) -> None:
        self.function, self.X, self.dtype, self.definite = function, X, dtype, definite
        self.width = int(X.shape[0])

    def _values(self, a: Any, b: Any) -> Array:
        return checked_values(self.function, a, b, self.dtype)

    def block(self, index: Ints, room: Array | None = None) -> Array:
        out, q = square(len(index), self.dtype, room), len(index)
        self.only(index).rows(np.arange(q), out[:, :q], np.arange(q))
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        for part in parts(len(index), 8 * self.width):
            out[slot[part]] = self._values(self.X[index[part]], self.X)

    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        return sums_by_function(self.function, self.X[targets], self.X[index], coef[None])[:, 0]

    def only(self, index: Ints) -> FunctionGram:
        return FunctionGram(self.function, self.X[index], self.dtype, self.definite)

    def spread(self) -> float:
        one = [
            abs(float(self._values(self.X[i : i + 1], self.X[i : i + 1])[0, 0])) for i in range(min(100, self.width))
        ]
        return float(np.sqrt(max(one, default=0.0)))


class SharedGram(Gram):
    """Variables that share rows: variable i has row place[i] of another matrix."""

    def __init__(self, of: Gram, place: Ints) -> None:
        self.of, self.place, self.dtype, self.width = of, place, of.dtype, of.width
        self.n_jobs, self.definite, self.coarse = of.n_jobs, of.definite, of.coarse

    def block(self, index: Ints, room: Array | None = None) -> Array:
        assert self.place is not None
        return self.of.block(self.place[index], room)

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        self.of.rows(index, out, slot)

    def sums(self, targets: Ints, index: Ints, coef: Floats, exact: bool = False) -> Floats:
        return self.of.sums(targets, index, coef, exact)

    def only(self, index: Ints) -> SharedGram:
        assert self.place is not None
        rows, place = distinct(self.place[index], self.width)
        return SharedGram(self.of.only(rows), place)

    def finer(self) -> SharedGram:
        assert self.place is not None
        return SharedGram(self.of.finer(), self.place)

    def spread(self) -> float:
        return self.of.spread()


class RowCache:
    """Kernel rows held in the bytes of `room` (16 rows where it is less); the least recently used leave first."""

    def __init__(self, gram: Gram, room: Array) -> None:
        n, item = gram.width, np.dtype(gram.dtype).itemsize
        self.gram, self.room = gram, room
        self.capacity = int(min(n, room.nbytes // (n * item)))
        if self.capacity < FEWEST:
            self.capacity, room = min(n, FEWEST), np.empty(FEWEST * n * item, np.uint8)
        self.buffer: Array = room[: self.capacity * n * item].view(gram.dtype).reshape(self.capacity, n)
        self.owner: Ints = np.full(self.capacity, -1, np.int64)
        self.slot_of: Ints = np.full(n, -1, np.int64)
        self.used: Ints = np.arange(-self.capacity, 0)  # from the front: memory not yet touched costs more than a row
        self.clock = 0

    def slots(self, index: Ints) -> Ints:
        """Where the rows of `index` (no more than the capacity) stand; those not held are computed."""
        self.clock += 1
        held = self.slot_of[index]
        self.used[held[held >= 0]] = self.clock
        missing = index[held < 0]
        if len(missing):
            free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            evicted = self.owner[free]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.owner[free], self.slot_of[missing], self.used[free] = missing, free, self.clock
            self.gram.rows(missing, self.buffer, free)
        return self.slot_of[index]

    def only(self, gram: Gram, keep: Ints) -> RowCache:
        """The cache of a matrix restricted to rows `keep`, in order: what is held stays, in the same bytes."""
        now = RowCache(gram, self.room)
        if now.buffer.base is not self.buffer.base:  # too few rows to be worth the care
            return now
        renamed = np.full(len(self.slot_of), -1, np.int64)
        renamed[keep] = np.arange(len(keep))
        live = np.flatnonzero((self.owner >= 0) & (renamed[self.owner] >= 0))
        for slot, old in enumerate(live):  # forward: a row never lands on one not yet moved
            now.buffer[slot] = self.buffer[old].take(keep)
        now.owner[: len(live)] = renamed[self.owner[live]]
        now.slot_of[now.owner[: len(live)]] = np.arange(len(live))
        now.used[: len(live)], now.clock = self.used[live], self.clock
        return now


def checked_values(function: KernelFunction, a: Any, b: Any, dtype: Any = np.float64) -> Array:
    """K(a, b) of a Python function, which may give anything."""
    with np.errstate(over="ignore", invalid="ignore"):  # told below, by name
        K = np.ascontiguousarray(function(a, b), dtype=dtype)
    shape = (a.shape[0], b.shape[0])
    if K.shape != shape:
        raise ModelError(
            f"a callable kernel gives K(A, B) of shape (rows of A, rows of B) = {shape}; it gave {K.shape}"
        )
    return small_enough(K)


def small_enough(K: Array) -> Array:
    """K, whose values are numbers that can be squared."""
    largest = K.dtype.type(min(LARGEST, float(np.finfo(K.dtype).max)))
    if not (np.abs(K) < largest).all():
        raise ModelError("the kernel gave a value that is not finite, or too large for its precision")
    return K


def sums_by_function(function: KernelFunction, X: Any, support: Any, coef: Floats) -> Floats:
    """out[i, c] = Σ_j coef[c, j] K(x_i, s_j), a slice of rows at a time so that the kernel values fit in memory."""
    out = np.empty((X.shape[0], len(coef)))
    if not support.shape[0]:
        out[:] = 0.0
        return out
    for part in parts(X.shape[0], 512 * support.shape[0]):
        out[part] = checked_values(function, X[part], support) @ coef.T
    return out


def wide_csr(X: Any) -> Any:
    """CSR as the compiled kernels take it: int64 starts, int32 columns, each once, float64 values."""
    X = sparse.csr_array(X, dtype=np.float64)
    X.sum_duplicates()
    X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    return X


def row_squares(X: Any) -> Floats:
    """‖x‖² of each row of a CSR matrix."""
    squares = np.append(X.data[: X.indptr[-1]] ** 2, 0.0)
    return np.where(np.diff(X.indptr) > 0, np.add.reduceat(squares, X.indptr[:-1]), 0.0)


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

    name: Annotated[str, OneOf(NAMES)]
    spec: KernelSpec | None = None
    function: Annotated[KernelFunction | None, DERIVED] = None
    centre: Annotated[Floats | None, "d"] = None
    single: bool = False  # in sums of any use
    coarse: bool = False  # in a solver that corrects itself
    sparse: bool = False  # whether the training rows are

    def check(self) -> None:
        """Refuse a kernel without its numbers."""
        need(self.precomputed == (self.spec is None), "a kernel must have its numbers")
        need(self.centre is None or not (self.precomputed or self.sparse), "rows of this kernel have no centre")

    def check_vectors(self, tables: Sequence[Any], d: int) -> None:
        """Refuse support vectors that the kernel cannot be asked about."""
        need(self.centre is None or len(self.centre) == d, "the centre must have a place in every column")
        for held in tables:
            if self.precomputed:
                there = isinstance(held, np.ndarray) and held.ndim == 1 and held.dtype == np.int64
                need(there and (not len(held) or (held.min() >= 0 and held.max() < d)), "a column that is not there")
                continue
            fits = held.ndim == 2 and held.shape[1] == d and held.dtype.char in "df"
            need(fits, "support vectors have other columns")
            need(sparse.issparse(held) == self.sparse, "sparse support vectors have a sparse kernel")
            cells = held.data if sparse.issparse(held) else held
            need(np.isfinite(cells).all(), "the cells of support vectors must be finite")

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
