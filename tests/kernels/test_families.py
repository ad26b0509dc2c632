"""Scores of families: native against NumPy, on every instruction set, for wide tables and any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from posteriori.kernels import pairs
from posteriori.kernels.reference import pairs as reference


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([("penalised", 0.0), ("penalised", 1.3), ("bdeu", 2.0), ("k2", 0.0)]),
    weighted=st.booleans(),
    missing=st.booleans(),
    width=st.sampled_from([np.uint8, np.uint16, np.uint32]),
)
def test_native_is_the_reference(seed, kind, weighted, missing, width):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 7)), int(rng.integers(0, 60))
    sizes = [int(s) for s in rng.integers(1, 5, d)]
    codes = np.array([rng.integers(0, s + missing, n) for s in sizes], dtype=width).reshape(d, n)
    child = int(rng.integers(d))
    others = [j for j in range(d) if j != child]
    parents = [j for j in others if rng.random() < 0.4]
    weights = rng.random(n) if weighted else None
    expected = reference.toggle_scores(codes, sizes, child, parents, others, *kind, weights)
    found = pairs.toggle_scores(codes, sizes, child, parents, others, *kind, weights)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-9)
    if not weighted and kind[0] == "penalised":
        rows = np.arange(n + 1.0)
        table = rows * np.log(np.maximum(rows, 1.0))
        again = pairs.toggle_scores(codes, sizes, child, parents, others, *kind, x_log_x=table)
        assert_allclose(again, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("missing", [0, 1])
def test_configurations_that_no_table_could_hold(missing):
    rng = np.random.default_rng(0)
    sizes = [60, 50, 40, 30, 3]
    codes = np.array([rng.integers(0, s + missing, 500) for s in sizes], dtype=np.uint8)
    expected = reference.toggle_scores(codes, sizes, 4, [0, 1], [0, 1, 2, 3], "penalised", 0.5)
    for n_jobs in (1, 2):
        found = pairs.toggle_scores(codes, sizes, 4, [0, 1], [0, 1, 2, 3], "penalised", 0.5, n_jobs=n_jobs)
        assert_allclose(found, expected, rtol=1e-10)
    # 60 · 50 · 40 · 30 configurations and their children: only those that occur are counted
    found = pairs.toggle_scores(codes, sizes, 4, [0, 1, 2, 3], [3], "bdeu", 1.0)
    assert_allclose(found, reference.toggle_scores(codes, sizes, 4, [0, 1, 2, 3], [3], "bdeu", 1.0), rtol=1e-7)


def test_threads_change_no_bit():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (12, 60_000)).astype(np.uint8)
    found = [pairs.toggle_scores(codes, [4] * 12, 0, [1, 2], range(1, 12), "bdeu", 1.0, n_jobs=k) for k in (1, 2)]
    assert (found[0] == found[1]).all()
