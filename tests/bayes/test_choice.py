"""Losses by which models choose: each row left out of the counts, row by row as the definition says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import posteriori as po
from posteriori.bayes import choice
from posteriori.bayes.choice import fewest, folds_of, held_out, leave_out_prior, losses, naive_losses, prefix_losses
from posteriori.bayes.families import Families
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


def test_the_three_losses_are_their_sums():
    """−ln p, (1 − p)² and whether another class is first, by weight; a row that no class allows has lost."""
    p = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.5, 0.5, 0.0]])
    y, w, rows = np.array([0, 1, 1, 1]), np.array([1.0, 2.0, 0.5, 3.0]), np.arange(4)
    own = p[rows, y]
    with np.errstate(divide="ignore"):
        log_joint = np.log(p) + np.array([[0.0], [-3.0], [2.0], [-800.0]])  # whatever the evidence
    terms = np.stack([-np.log(own), (1 - own) ** 2, [0.0, 1.0, 0.0, 1.0]])  # of equals the first is foretold
    assert_allclose(losses(log_joint, y, w), terms @ w)
    assert_allclose(losses(log_joint, y, None), terms.sum(axis=1))
    never = losses(np.array([[-np.inf, -np.inf]]), np.array([0]), None)
    assert never.tolist() == [np.inf, 1.0, 1.0]


def dealt(table, y, n_folds, weights=None):
    """[row, fold]: how much of each row's weight lies in each fold."""
    out = np.zeros((table.n, n_folds))
    for f, (rows, mass) in enumerate(folds_of(table, y, weights, n_folds)):
        assert (mass is None) == (weights is None)
        out[rows, f] = 1.0 if mass is None else mass
    return out


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 40))
def test_folds_share_out_every_row_and_every_class_evenly(seed, n_folds, n):
    rng = np.random.default_rng(seed)
    table = CodedTable([rng.integers(0, 4, n).astype(np.uint8), rng.integers(0, 3, n).astype(np.uint8)], (3, 3))
    y, w = rng.integers(0, 3, n), rng.choice([0.25, 1.0, 1.5, 4.0], n)
    for weights in (None, w):
        mass = np.ones(n) if weights is None else weights
        found = dealt(table, y, n_folds, weights)
        assert_allclose(found.sum(axis=1), mass)
        for c in range(3):
            of_class = found[y == c].sum(axis=0)
            assert of_class.max() - of_class.min() <= 1 + 1e-9
    assert len(folds_of(table, y, None, n_folds)) == min(n, n_folds)


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_a_heavy_row_is_dealt_as_the_row_repeated_in_any_order(seed, n_folds):
    rng = np.random.default_rng(seed)
    cells = np.unique(rng.integers(0, 5, (12, 3)), axis=0)
    y, times = rng.integers(0, 2, len(cells)), rng.integers(1, 4, len(cells))
    heavy = dealt(CodedTable(list(cells.T), (5, 5, 5)), y, n_folds, times.astype(float))
    order = rng.permutation(np.repeat(np.arange(len(cells)), times))
    single = dealt(CodedTable(list(cells[order].T), (5, 5, 5)), y[order], n_folds)
    assert_allclose(np.stack([single[order == i].sum(axis=0) for i in range(len(cells))]), heavy, atol=1e-9)


def test_rows_are_dealt_in_the_order_of_a_hash_that_stays():
    """Steele's splitmix64 without its last shift, over Fibonacci's steps: every release deals a table alike."""

    def mixed(codes):
        h, most = 0, 1 << 64
        for code in codes:
            h = (h * 0x9E3779B97F4A7C15 + code + 1) % most
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 % most
        return (h ^ (h >> 27)) * 0x94D049BB133111EB % most

    cells = [(a, b) for a in range(4) for b in range(5)]
    table = CodedTable([np.array(c, np.uint8) for c in zip(*cells)], (3, 5))  # 3 is missing in the first
    y = np.arange(20) % 2
    order = sorted(range(20), key=lambda i: (y[i], mixed(cells[i])))
    found = dealt(table, y, 3).argmax(axis=1)
    assert found[order].tolist() == [k % 3 for k in range(20)]
    beyond = CodedTable([np.where(table.column(0) == 3, 7, table.column(0)), table.column(1)], (3, 5))
    assert_array_equal(dealt(beyond, y, 3), dealt(table, y, 3))  # any code from the size on is missing


@pytest.mark.parametrize("which", WEIGHTS)
def test_what_a_fold_leaves_are_the_counts_of_the_others(which):
    w = WEIGHTS[which]
    X, table = np.stack(CODES, axis=1), CodedTable(CODES, SIZES)
    base = po.TAN(kinds="categorical").fit(X, Y, w).statistics_
    rows = np.array([5, 9, 30, 2])
    mass = None if w is None else w[rows] / 2
    part, rest, own, weights = held_out(table, base, Y, (rows, mass))
    left = np.ones(N) if w is None else w.copy()
    left[rows] -= 1.0 if mass is None else mass
    assert_array_equal(np.stack(part.columns(), axis=1), X[rows])
    assert_array_equal(own, Y[rows])
    assert weights is mass
    assert_allclose(rest.rows, np.bincount(Y, left, minlength=K))
    for j, codes in enumerate(CODES):
        expected = [[left[(codes == v) & (c == Y)].sum() for c in range(K)] for v in range(SIZES[j])]
        assert_allclose(rest.cells.scope(j), expected, atol=1e-9)


def test_the_fewest_parents_within_one_standard_error():
    """The error of a paired difference of F folds, of sums: sd(gap)·√F."""
    best = np.array([1.0, 1.2, 0.9, 1.1])
    gap = np.array([0.3, -0.1, 0.2, 0.0])  # its sum is 0.4, its error 2·sd
    error = 2 * gap.std(ddof=1)

    def by_fold(shift):
        return np.stack([np.stack([best + 9, best + gap + shift / 4], 1), np.stack([best, best + 9], 1)], 1)

    assert error == pytest.approx(0.3651, abs=1e-4)
    assert fewest(by_fold(error - 0.4 - 1e-9)) == (0, 1)
    assert fewest(by_fold(error - 0.4 + 1e-9)) == (1, 0)
    assert fewest(by_fold(0.0)[:1]) == (1, 0)  # one fold has no error
    three = np.stack([best, best, best], 1)[:, :, None] + [[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    assert fewest(three) == (0, 0)  # of equals the first
    equal = np.array([[[2.0], [2.0 - 1e-14]], [[2.0], [2.0]]])
    assert fewest(equal) == (0, 0)  # rounding decides nothing


def test_the_prior_without_a_row():
    base = po.TAN(kinds="categorical").fit(np.stack(CODES, axis=1), Y).statistics_
    n, w = np.bincount(Y, minlength=K), np.linspace(0.2, 2.0, N)
    others, own = leave_out_prior(base, "smoothed", 0.5, Y, w, True)
    assert_allclose(others, n + 0.5)
    assert_allclose(own, n[Y] + 0.5 - np.minimum(w, 1.0))
    assert_allclose(leave_out_prior(base, "empirical", 0.5, Y, None, True)[1], n[Y] - 1)
    assert_allclose(leave_out_prior(base, "empirical", 0.5, Y, None, False)[1], n[Y])
    for told, share in (("uniform", [1 / 3] * 3), ({0: 0.5, 1: 0.3, 2: 0.2}, [0.5, 0.3, 0.2])):
        others, own = leave_out_prior(base, told, 0.5, Y, None, True)
        assert_allclose(others, share)
        assert_allclose(own, np.array(share)[Y])


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("wide", [0, 7, 1 << 20])
@pytest.mark.parametrize("which", ["none", "parts"])
def test_losses_of_the_first_attributes_with_so_many_parents(monkeypatch, which, wide, every):
    """Each sum of a ladder's rungs, taken apart; wide rungs in blocks of rows."""
    monkeypatch.setattr(choice, "ROWS", 9)
    w = WEIGHTS[which]
    model = po.KDB(2, kinds="categorical", select=False).fit(np.stack(CODES, axis=1), Y, w)
    families = Families.of(model.statistics_, model.structure_, 1.0, "smoothed", 3.0, exact=False, wide=wide)
    table, order = CodedTable(CODES, SIZES), list(model.structure_.order)
    found = prefix_losses(families, order, table, Y, w, 2, every, 1)
    assert found.shape == (3, 4, 3)
    for k, t in np.ndindex(3, 4):
        if every or t == 3:
            steps = [families.ladder(table, j) for j in order[:t]]
            log_joint = families.log_prior + sum(s[min(k, len(s) - 1)] for s in steps) + np.zeros((N, K))
            assert_allclose(found[k, t], losses(log_joint, Y.astype(np.intp), w), rtol=1e-9)
