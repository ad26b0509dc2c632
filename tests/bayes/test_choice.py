"""Losses by which models choose: each row left out of the counts, row by row as the definition says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.bayes.choice import losses, naive_losses
from posteriori.statistics.cuts import CodedTable

rng = np.random.default_rng(0)
N, SIZES, K = 40, (2, 3, 4), 3
CODES = [np.concatenate([np.arange(s), rng.integers(0, s, N - s)]).astype(np.uint8) for s in SIZES]
Y = np.concatenate([np.arange(K), rng.integers(0, K, N - K)]).astype(np.uint8)
WEIGHTS = {
    "none": None,
    "whole": rng.integers(1, 4, N).astype(float),
    "parts": rng.choice([0.25, 0.5, 1.0, 2.5], N),  # less than a row is taken away whole, more by one row
}


@pytest.mark.parametrize("left_out", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("prior", ["smoothed", "empirical", "uniform"])
@pytest.mark.parametrize("which", WEIGHTS)
def test_a_row_is_judged_by_the_counts_of_the_others(which, prior, smoothing, left_out):
    w = WEIGHTS[which]
    mass = np.ones(N) if w is None else w
    base = po.TAN(kinds="categorical").fit(np.stack(CODES, axis=1), Y, w).statistics_
    joint = np.empty((N, K))
    for i, c in np.ndindex(joint.shape):
        gone = min(mass[i], 1.0) if left_out and c == Y[i] else 0.0
        of_class = mass[c == Y].sum()
        if prior != "uniform":
            lam = smoothing if prior == "smoothed" else 0.0
            theta = [max(of_class + lam - gone, 0.0)]
        else:
            theta = [1 / K]
        for codes, size in zip(CODES, SIZES):
            above = max(mass[(c == Y) & (codes == codes[i])].sum() - gone, 0.0) + smoothing
            below = max(of_class - gone, 0.0) + size * smoothing
            theta.append(above / below if below > 0 else 1 / size)
        with np.errstate(divide="ignore"):
            joint[i, c] = np.log(theta).sum()
    found = naive_losses(CodedTable(CODES, SIZES), base, Y, w, prior, smoothing, left_out, 1)
    assert_allclose(found, losses(joint, Y.astype(np.intp), w, 1), rtol=1e-9)


@pytest.mark.parametrize("which", WEIGHTS)
def test_a_column_of_one_value_says_nothing_where_it_is_missing(which):
    w = WEIGHTS[which]
    gaps = np.where(np.arange(N) % 3 == 0, None, "a")
    X = {**{f"x{j}": codes for j, codes in enumerate(CODES)}, "same": gaps}
    base = po.TAN(kinds="categorical").fit(X, Y, w).statistics_
    less = po.TAN(kinds="categorical").fit(np.stack(CODES, axis=1), Y, w).statistics_
    table = CodedTable([*CODES, (gaps != "a").astype(np.uint8)], (*SIZES, 1), n_missing=1)
    found = naive_losses(table, base, Y, w, "smoothed", 1.0, True, 1)
    assert_allclose(found, naive_losses(CodedTable(CODES, SIZES), less, Y, w, "smoothed", 1.0, True, 1), rtol=1e-9)
