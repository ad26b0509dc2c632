"""The kernel matrix of the training rows, of which the solver asks for pieces, and a cache of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import ModelError
from ..kernels.margin import KernelSpec, Packed, kernel_rows, kernel_sums, pack, square

KernelFunction = Callable[[Any, Any], Any]

FEWEST = 16  # kernel rows held, whatever the bound
AT_ONCE = 2**33  # multiplications of one compiled call: a few tenths of a second, so that Ctrl-C is obeyed


class Gram(Protocol):
    """K over the training rows; `only` restricts it to some of them, in any order, repeated or not."""

    @property
    def dtype(self) -> Any: ...

    def __len__(self) -> int: ...

    def block(self, index: Ints, room: Array | None = None) -> Array:
        """K[index, index] in the first columns of a `kernels.margin.square`, in the bytes of `room` where they suffice."""

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        """out[slot] = K[index, :]."""

    def sums(self, targets: Ints, index: Ints, coef: Floats) -> Floats:
        """Σ_j coef_j K[targets, index_j]; `targets` are in order."""

    def only(self, index: Ints) -> Gram:
        """K[index, index], as a matrix to ask for pieces of."""

    def spread(self) -> float:
        """√max K(x, x): no two points are further apart than twice this."""


def parts(n: int, each: int) -> list[slice]:
    """Slices of range(n) so long that `each` elementary steps per item stay within one call's share."""
    size = max(1, AT_ONCE // max(1, each))
    return [slice(a, min(n, a + size)) for a in range(0, n, size)]


@dataclass(frozen=True, slots=True)
class DenseGram:
    """The kernel matrix of dense rows, computed by the compiled block kernels in the precision of the rows."""

    spec: KernelSpec
    packed: Packed
    n_jobs: int | None = None

    @property
    def dtype(self) -> Any:
        return self.packed.rows.dtype

    def __len__(self) -> int:
        return self.packed.n

    def block(self, index: Ints, room: Array | None = None) -> Array:
        here = self.only(index)
        out = square(len(index), self.dtype, room)
        here.rows(np.arange(len(index)), out, np.arange(len(index)))
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        x, norms = self.packed.rows[index], self.packed.norms[index]
        for part in parts(len(index), self.packed.rows.size):
            kernel_rows(self.spec, x[part], norms[part], self.packed, out, slot[part], self.n_jobs)

    def sums(self, targets: Ints, index: Ints, coef: Floats) -> Floats:
        support = pack(self.packed.rows[index], self.n_jobs)
        every = len(targets) == len(self)  # then in order: no copy
        x, norms = (a if every else a[targets] for a in (self.packed.rows, self.packed.norms[: len(self)]))
        out = np.empty(len(targets))
        for part in parts(len(targets), support.rows.size):
            out[part] = kernel_sums(self.spec, x[part], norms[part], support, coef[None], self.n_jobs)[:, 0]
        return out

    def only(self, index: Ints) -> DenseGram:
        return DenseGram(self.spec, pack(self.packed.rows[index], self.n_jobs), self.n_jobs)

    def spread(self) -> float:
        kind, scale, shift, degree = self.spec
        top = scale * float(self.packed.norms.max(initial=0.0)) + shift
        return float(np.sqrt(abs({"dot": top, "polynomial": top**degree}.get(kind, 1.0))))


@dataclass(frozen=True, slots=True)
class WholeGram:
    """A kernel matrix that is there already; `index` names the rows in play."""

    K: Array
    index: Ints | None = None

    @property
    def dtype(self) -> Any:
        return self.K.dtype

    def __len__(self) -> int:
        return len(self.K) if self.index is None else len(self.index)

    def _of(self, index: Ints) -> Ints:
        return index if self.index is None else self.index[index]

    def block(self, index: Ints, room: Array | None = None) -> Array:
        at, out = self._of(index), square(len(index), self.dtype, room)
        out[:, : len(index)] = self.K[np.ix_(at, at)]
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        rows = self.K[self._of(index)]
        out[slot] = rows if self.index is None else rows[:, self.index]

    def sums(self, targets: Ints, index: Ints, coef: Floats) -> Floats:
        at = self._of(targets)
        out: Floats = self.K[at][:, self._of(index)] @ coef
        return out

    def only(self, index: Ints) -> WholeGram:
        return WholeGram(self.K, self._of(index))

    def spread(self) -> float:
        diagonal = self.K.diagonal() if self.index is None else self.K.diagonal()[self.index]
        return float(np.sqrt(np.abs(diagonal).max(initial=0.0)))


@dataclass(frozen=True, slots=True)
class FunctionGram:
    """The kernel matrix by a Python function of two tables (a callable kernel, or sparse rows)."""

    function: KernelFunction
    X: Any
    dtype: Any = np.float64

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def _values(self, a: Any, b: Any) -> Array:
        return checked_values(self.function, a, b, self.dtype)

    def block(self, index: Ints, room: Array | None = None) -> Array:
        out = square(len(index), self.dtype, room)
        self.only(index).rows(np.arange(len(index)), out[:, : len(index)], np.arange(len(index)))
        return out

    def rows(self, index: Ints, out: Array, slot: Ints) -> None:
        for part in parts(len(index), 8 * len(self)):
            out[slot[part]] = self._values(self.X[index[part]], self.X)

    def sums(self, targets: Ints, index: Ints, coef: Floats) -> Floats:
        return sums_by_function(self.function, self.X[targets], self.X[index], coef[None])[:, 0]

    def only(self, index: Ints) -> FunctionGram:
        return FunctionGram(self.function, self.X[index], self.dtype)

    def spread(self) -> float:
        one = [abs(float(self._values(self.X[i : i + 1], self.X[i : i + 1])[0, 0])) for i in range(min(100, len(self)))]
        return float(np.sqrt(max(one, default=0.0)))


class RowCache:
    """Kernel rows held in the bytes of `room` (16 rows where it is less); the least recently used leave first."""

    def __init__(self, gram: Gram, room: Array) -> None:
        n, item = len(gram), np.dtype(gram.dtype).itemsize
        self.gram = gram
        self.capacity = int(min(n, room.nbytes // (n * item)))
        if self.capacity < FEWEST:
            self.capacity, room = min(n, FEWEST), np.empty(FEWEST * n * item, np.uint8)
        self.buffer: Array = room[: self.capacity * n * item].view(gram.dtype).reshape(self.capacity, n)
        self.owner: Ints = np.full(self.capacity, -1, np.int64)
        self.slot_of: Ints = np.full(n, -1, np.int64)
        self.used: Ints = np.zeros(self.capacity, np.int64)
        self.clock = 0

    def slots(self, index: Ints) -> Ints:
        """Where the rows of `index` (no more than the capacity) stand; those not held are computed."""
        self.clock += 1
        held = self.slot_of[index]
        self.used[held[held >= 0]] = self.clock
        missing = index[held < 0]
        if len(missing):
            if len(missing) < self.capacity:
                free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            else:
                free = np.arange(self.capacity)
            evicted = self.owner[free]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.owner[free], self.slot_of[missing], self.used[free] = missing, free, self.clock
            self.gram.rows(missing, self.buffer, free)
        return self.slot_of[index]


def checked_values(function: KernelFunction, a: Any, b: Any, dtype: Any = np.float64) -> Array:
    """K(a, b) of a Python function, which may give anything."""
    with np.errstate(over="ignore", invalid="ignore"):  # told below, by name
        K = np.ascontiguousarray(function(a, b), dtype=dtype)
    shape = (a.shape[0], b.shape[0])
    if K.shape != shape:
        raise ModelError(
            f"a callable kernel gives K(A, B) of shape (rows of A, rows of B) = {shape}; it gave {K.shape}"
        )
    if not np.isfinite(K).all():
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
