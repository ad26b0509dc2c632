"""Single precision is used only where its error stays under the tolerance."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.kernels.margin import KernelSpec
from posteriori.margin.kernel_functions import SINGLE_FROM, _error_in_single

RBF = KernelSpec("rbf", 1.0)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4, 1e-6])
def test_single_ends_where_its_error_reaches_the_tolerance(tol):
    """C·√n·2⁻²² is the error of a sum of n values of size 1."""
    n = max(SINGLE_FROM, 10_000)
    most = tol * 2.0**22 / np.sqrt(n)
    assert _error_in_single(RBF, n, 1.0, 0.99 * most) <= tol
    assert _error_in_single(RBF, n, 1.0, 1.01 * most) > tol


def test_single_is_not_for_few_rows_nor_far_ones():
    assert _error_in_single(RBF, SINGLE_FROM - 1, 1.0, 1e-9) > 1e-3
    assert _error_in_single(RBF, SINGLE_FROM, 1.0, 1e-9) <= 1e-3
    assert _error_in_single(RBF, SINGLE_FROM, 1e30, 1e-9) > 1e-3


def test_larger_kernels_have_larger_errors():
    n, tol = max(SINGLE_FROM, 10_000), 1e-3
    most = tol * 2.0**22 / np.sqrt(n)
    for spec, size in (
        (KernelSpec("dot"), 4.0),
        (KernelSpec("polynomial", 1.0, 1.0, 2), 50.0),
        (KernelSpec("rbf", 5.0), 20.0),
    ):
        assert _error_in_single(spec, n, 4.0, 0.99 * most / size) <= tol
        assert _error_in_single(spec, n, 4.0, 1.01 * most / size) > tol
