"""The kernel matrix of sparse rows is that of the same rows made dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from posteriori.kernels.margin import KernelSpec
from posteriori.kernels.reference import margin as reference
from posteriori.margin import gram
from posteriori.margin.sparse_gram import SparseGram, row_squares, wide_csr

SPECS = [KernelSpec("dot"), KernelSpec("rbf", 0.3), KernelSpec("polynomial", 0.5, 1.0, 2)]


def rows(n=14, d=9):
    X = np.random.default_rng(0).normal(size=(n, d)) * (np.random.default_rng(1).random((n, d)) < 0.3)
    X[3] = 0.0  # a row without cells
    return X


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: s.kind)
def test_every_part_of_it(monkeypatch, spec, at_once):
    monkeypatch.setattr(gram, "AT_ONCE", at_once)  # rows in parts of one, or all together
    X = rows()
    K, found = reference.kernel_rows(spec, X, X), SparseGram(spec, sparse.csr_array(X))
    index = np.array([5, 3, 0, 13])
    assert found.width == 14
    assert found.block(index)[:, :4] == pytest.approx(K[np.ix_(index, index)], abs=1e-12)
    out = np.zeros((6, 14))
    found.rows(index, out, np.array([4, 0, 5, 2]))
    assert out[[4, 0, 5, 2]] == pytest.approx(K[index], abs=1e-12)
    assert not out[[1, 3]].any()
    coef = np.array([1.0, -2.0, 0.5, 3.0])
    assert found.sums(np.arange(14), index, coef) == pytest.approx(K[:, index] @ coef, abs=1e-12)
    assert found.sums_at(sparse.csr_array(X[:5]), np.ones((2, 14))) == pytest.approx(
        np.repeat(K[:5].sum(axis=1)[:, None], 2, axis=1), abs=1e-12
    )
    empty = found.only(np.zeros(0, dtype=np.int64))
    assert not empty.sums_at(sparse.csr_array(X[:2]), np.zeros((1, 0))).any()


def test_squares_and_cells_that_are_stored_twice():
    X = rows()
    assert row_squares(wide_csr(sparse.csr_array(X))) == pytest.approx((X**2).sum(axis=1))
    assert row_squares(wide_csr(sparse.csr_array((2, 3)))).tolist() == [0.0, 0.0]
    twice = sparse.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    found = wide_csr(twice)
    assert (found.nnz, found.indptr.dtype, found.indices.dtype) == (2, np.int64, np.int32)
    assert row_squares(found).tolist() == [9.0, 16.0]
