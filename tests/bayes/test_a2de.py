"""A2DE against its definition: the mean over pairs of parents, each pair's joint counted by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes import averaged as module
from posteriori.errors import MemoryBudgetError

SIZES = (2, 3, 2, 2)


def by_hand(X, y, row, smoothing, least):
    """Σ over pairs (i, j), i > j, frequent enough, of P(y, x_i, x_j) Π_k P(x_k | y, x_i, x_j), over their number."""
    n, K = len(y), 2
    total, used = np.zeros(K), 0
    for i, j in itertools.combinations(range(len(SIZES)), 2):
        both = (X[:, i] == row[i]) & (X[:, j] == row[j])
        if both.sum() < least:
            continue
        used += 1
        for k in range(K):
            rows = both & (y == k)
            p = (rows.sum() + smoothing) / (n + K * SIZES[i] * SIZES[j] * smoothing)
            for a, size in enumerate(SIZES):
                if a not in (i, j):
                    p *= ((rows & (X[:, a] == row[a])).sum() + smoothing) / (rows.sum() + size * smoothing)
            total[k] += p
    return total / used if used else None


@given(st.integers(0, 30), st.sampled_from([0.5, 1.0]), st.sampled_from([0, 1, 8]))
def test_posterior_by_the_definition(seed, smoothing, least):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, s, 70) for s in SIZES])
    X[:3] = np.array([[i % s for s in SIZES] for i in range(3)])
    y = np.concatenate([[0, 1], rng.integers(0, 2, 68)])
    X[:, 0] = np.where(rng.random(70) < 0.7, y, X[:, 0])
    model = po.A2DE(kinds="categorical", smoothing=smoothing, min_frequency=least).fit(X, y)
    some = X[rng.integers(0, 70, 6)]
    for row, got in zip(some, model.predict_proba(some)):
        wanted = by_hand(X, y, row, smoothing, least)
        if wanted is not None:
            assert got == pytest.approx(wanted / wanted.sum(), rel=1e-9)


def test_where_no_pair_is_frequent_enough_one_parent_answers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, s, 40) for s in SIZES])
    y = rng.integers(0, 2, 40)
    a2de = po.A2DE(kinds="categorical", min_frequency=1000).fit(X, y).predict_proba(X)
    aode = po.AODE(kinds="categorical", min_frequency=1000).fit(X, y).predict_proba(X)
    assert np.allclose(a2de, aode)
    few = po.A2DE(kinds="categorical").fit(X[:, :1], y).predict_proba(X[:, :1])
    assert np.allclose(few, po.AODE(kinds="categorical").fit(X[:, :1], y).predict_proba(X[:, :1]))


@pytest.mark.parametrize("cell", [None, "new"])
def test_columns_of_one_value_say_nothing_of_a_cell_that_is_missing_or_unseen(cell):
    X, y = np.full((6, 2), "a", dtype=object), [0, 0, 0, 0, 1, 1]
    model = po.A2DE(min_frequency=0).fit(X, y)
    row = np.array([[cell, "a"]], dtype=object)
    assert model.predict_proba(row) == pytest.approx(po.NaiveBayes().fit(X, y).predict_proba([["a", "a"]]), abs=0.02)
    assert model.predict_proba(np.full((1, 2), cell, dtype=object))[0] == pytest.approx([5 / 8, 3 / 8], abs=0.08)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_tables_of_pairs_are_refused_at_the_bytes_that_they_take(K):
    """A number for every pair of values, every value, and every class, of which the kernel has 2 or a multiple of 4."""
    rng = np.random.default_rng(K)
    X, y = rng.integers(0, 3, (300, 4)), np.arange(300) % K
    model = po.A2DE(kinds="categorical", min_frequency=0).fit(X, y)
    room = 8 * (6 * 3 * 3) * (4 * 3) * {2: 2, 3: 4, 5: 8}[K]
    model.set_params(max_memory=room - 1)
    with pytest.raises(MemoryBudgetError, match="tables of 54 pairs of values as super-parents"):
        model.predict(X)
    model.set_params(max_memory=room).predict(X)


@pytest.mark.parametrize("least", [1, 6])
def test_pairs_are_looked_up_or_searched_with_gaps_and_in_blocks(monkeypatch, least):
    """A row's posterior is the same alone, among others, and however its pairs are found; gaps take no part."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, s, 90) for s in SIZES]).astype(float)
    y = rng.integers(0, 3, 90)
    model = po.A2DE(least, kinds="categorical").fit(X, y)
    rows = X[:40].copy()
    rows[::3, 0], rows[1::4, 3], rows[2::5, 1] = np.nan, np.nan, 9.0
    rows[7], rows[8, 1:] = np.nan, np.nan
    expected = model.predict_joint_log_proba(rows)
    monkeypatch.setattr(module, "ROWS", 1)
    monkeypatch.setattr(module, "LOOKED_UP", 0)
    searched = po.A2DE(least, kinds="categorical").fit(X, y)
    np.testing.assert_allclose(searched.predict_joint_log_proba(rows), expected, rtol=1e-12)
    many = np.tile(rows, (10, 1))
    np.testing.assert_allclose(searched.predict_joint_log_proba(many), np.tile(expected, (10, 1)), rtol=1e-12)
    one = po.AODE(least, kinds="categorical").fit(X, y)
    np.testing.assert_allclose(expected[[7, 8]], one.predict_joint_log_proba(rows[[7, 8]]))  # no two values


def test_draws_have_the_chances_of_the_model():
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3, 2], (80, 3))
    y = (X[:, 0] + rng.integers(0, 2, 80)) % 2
    model = po.A2DE(1, kinds="categorical").fit(X, y)
    cells = np.array(list(itertools.product(range(2), range(3), range(2))))
    p = np.exp(model.predict_joint_log_proba(cells))
    assert p.sum() == pytest.approx(1.0)
    n = 8000
    rows, classes = model.sample(n, random_state=1)
    at = np.asarray(rows, dtype=int) @ [6, 2, 1]
    share = np.bincount(at * 2 + classes, minlength=24).reshape(12, 2) / n
    assert np.abs(share - p).max() < 4.5 * np.sqrt(p.max() / n)
    rare = po.A2DE(1000, kinds="categorical").fit(X, y)
    drawn, _ = rare.sample(500, random_state=0)
    assert np.asarray(drawn).shape == (500, 3)


def test_two_columns_of_many_values_have_no_triples() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 300, (3000, 2)).astype(str), rng.integers(0, 2, 3000)
    assert po.A2DE().fit(X, y).predict_proba(X[:5]).shape == (5, 2)
