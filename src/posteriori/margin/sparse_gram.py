"""The kernel matrix of sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, Floats, Ints
from ..kernels.margin import KernelSpec, SparseColumns, sparse_kernel_rows, square
from .gram import Gram, is_definite, parts, small_enough, spread_of


class SparseGram(Gram):
    """The kernel matrix of sparse rows: a row's cells meet only the rows that have their columns."""

    def __init__(self, spec: KernelSpec, X: Any, dtype: Any = np.float64, n_jobs: int | None = None) -> None:
        self.spec, self.X, self._dtype, self.n_jobs = spec, wide_csr(X), dtype, n_jobs
        self.definite = is_definite(spec)
        self.norms = row_squares(self.X)
        columns = self.X.tocsc()
        starts, at = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        self.columns = SparseColumns(starts, at, columns.data, self.norms)

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def width(self) -> int:
        return int(self.X.shape[0])

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
