"""Planes for many rows: the optimum, whatever the units."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import posteriori as po
from posteriori.margin.linear import objective


@settings(max_examples=30)
@given(st.integers(0, 2**20), st.sampled_from([1e-2, 1.0, 100.0]), st.booleans())
def test_newton_ends_at_the_optimum_whatever_the_units_of_the_columns(seed, C, wide):
    """Beside the exact minimum (Newton's method to the last digit on columns in units of 1e-4 to 1e4)."""
    random = np.random.RandomState(seed)
    x = random.normal(size=(120, 60 if wide else 5)) * 10.0 ** random.randint(-4, 5, 60 if wide else 5)
    y = np.where(random.normal(size=120) + x[:, 0] / np.abs(x[:, 0]).mean() > 0, 1, -1)
    table = sparse.csr_array(x) if wide else x  # over 50 columns, sparse rows go by conjugate gradients
    found, exact = (po.LinearSVC(C=C, solver="newton", tol=t).fit(table, y) for t in (1e-4, 1e-12))
    value, best = (
        objective(x, y.astype(float), np.full(120, C), np.append(m.coef_[0], m.intercept_), 1.0, "squared_hinge")
        for m in (found, exact)
    )
    assert best <= value * (1 + 1e-12)
    assert value <= best * (1 + 1e-5)
