"""The super-parent is the best one by the criterion that was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.bayes import super_parents
from posteriori.bayes.super_parents import (
    Places,
    conditional_table,
    raw_tables,
    reaches,
    set_own,
    symmetric_counts,
    totals_of,
)
from posteriori.statistics.counts import Counts
from posteriori.statistics.cuts import CodedTable
from posteriori.statistics.joint import Joint, collect_pairs


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_every_value_of_every_column_has_one_place(sizes):
    places = Places(sizes)
    told = [(j, v) for j, size in enumerate(sizes) for v in range(size)]
    assert len(places) == len(told) == sum(sizes)
    assert list(zip(places.column.tolist(), places.value.tolist())) == told
    assert [places.first[j] + v for j, v in told] == list(range(len(told)))


@pytest.mark.parametrize("least", [1, 30, 0.3, 1e6])
def test_as_many_rows_as_asked_are_enough_however_their_weights_are_summed(least):
    """Ten weights of a tenth may sum to a last digit less than one."""
    summed = np.array([least * (1 - 1e-12), least, least * (1 + 1e-12)])
    assert reaches(summed, least).all()
    assert not reaches(np.array([0.0, least * (1 - 1e-7), least - min(0.5, least / 2)]), least).any()
    assert reaches(np.add.accumulate(np.full(10, least / 10))[-1:], least).all()


def counted(seed=0, n=60, weighted=False):
    """Pairs of three columns of 2, 3 and 4 values and of one without any, as counts and as rows."""
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, s, n).astype(np.uint8) for s in SIZES]
    for codes, s in zip(X, SIZES):
        codes[:s] = np.arange(s)
        codes[rng.random(n) < 0.1] = s  # missing
    y, w = rng.integers(0, 3, n).astype(np.uint8), rng.uniform(0.5, 2.0, n) if weighted else None
    table = CodedTable(X, SIZES, n_missing=1)
    return collect_pairs(table, y, 3, w, 1, None), X, y, np.ones(n) if w is None else w


SIZES = (2, 3, 4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_pairs_and_their_shares_are_counted_by_hand(monkeypatch, weighted, wide):
    """N[a, b, y], M[a, j, y] and P(b | y, a) of every two values, also where only met cells are kept, in blocks."""
    monkeypatch.setattr(super_parents, "BLOCK", 20)
    pairs, X, y, w = counted(weighted=weighted)
    places = Places(SIZES)
    if wide:
        parts = [pairs.part(s) for s in range(len(pairs.scopes))]
        kept = [(np.flatnonzero(t.any(axis=1)), t[t.any(axis=1)]) for _, t in parts]
        pairs = Joint(
            pairs.scopes,
            pairs.full,
            Counts(np.concatenate([t for _, t in kept]), np.cumsum([0, *(len(t) for _, t in kept)])),
            np.concatenate([c for c, _ in kept]),
        )
    rows, lam = np.array([8, 0, 3]), 0.5
    n = np.zeros((9, 9, 3))
    for a, b, k in np.ndindex(9, 9, 3):
        i, j = places.column[a], places.column[b]
        if i != j:
            n[a, b, k] = w[(X[i] == places.value[a]) & (X[j] == places.value[b]) & (y == k)].sum()
    found = symmetric_counts(pairs, places, rows)
    assert found == pytest.approx(n[rows])
    whole = np.stack([n[:, places.column == j].sum(axis=1) for j in range(3)], axis=1)
    assert totals_of(found, places) == pytest.approx(whole[rows])
    for gone in (0.0, 1.0):
        above = np.maximum(n - gone, 0) + lam
        below = np.maximum(whole - gone, 0)[:, places.column] + lam * np.array(SIZES)[places.column, None]
        theta = above / below
        theta[places.column[:, None] == places.column] = 1.0
        got = conditional_table(pairs, places, rows, lam, gone)
        assert got[:, :, :3] == pytest.approx(theta[rows])
        assert (got[:, :, 3:] == 1.0).all()
    own, totals = raw_tables(pairs, places, lam)
    assert own[:, :, :3] == pytest.approx(n + lam)
    assert totals[:, :, :3] == pytest.approx(whole + lam * np.array(SIZES)[:, None])
    set_own(own, np.arange(9), np.arange(27.0).reshape(9, 3))
    assert own[4, 4, :3].tolist() == [12.0, 13.0, 14.0]
    assert own[4, 5, :3] == pytest.approx(n[4, 5] + lam)


@given(st.integers(0, 50), st.integers(1, 40), st.integers(1, 60))
def test_blocks_are_all_rows_in_order_none_of_them_large(n, numbers, most):
    before = super_parents.BLOCK
    super_parents.BLOCK = most
    try:
        found = super_parents.blocks(np.arange(n), numbers)
    finally:
        super_parents.BLOCK = before
    assert [int(r) for part in found for r in part] == list(range(n))
    assert all(len(part) <= max(1, most // numbers + 1) for part in found)


def test_columns_of_no_values_have_no_sums():
    assert totals_of(np.zeros((2, 0, 3)), Places([0, 0])).tolist() == np.zeros((2, 2, 3)).tolist()
    ones = totals_of(np.ones((1, 5, 1)), Places([2, 0, 3]))
    assert ones[0, :, 0].tolist() == [2.0, 0.0, 3.0]


def table(seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (40, 5)).astype(str), rng.integers(0, 2, 40)


@pytest.mark.parametrize("folds", [None, 4])
def test_the_chosen_parent_has_the_least_loss_of_its_criterion(folds):
    choices = []
    for seed in range(8):
        X, y = table(seed)
        chosen = {}
        for criterion in ("log_loss", "rmse", "error"):
            model = po.SPODE(criterion=criterion, folds=folds, random_state=0).fit(X, y)
            scores = model.scores_[criterion].round(12)
            assert scores.iloc[list(scores.index).index(model.super_parent_)] == scores.min()
            chosen[criterion] = model.super_parent_
        choices.append(set(chosen.values()))
    assert any(len(found) > 1 for found in choices)  # else the criteria were not told apart


def test_scores_are_there_only_where_a_parent_was_chosen_and_name_the_best_first():
    X, y = table(0)
    model = po.SPODE().fit(X, y)
    scores = model.scores_
    assert scores.shape == (6, 3)
    assert scores["log_loss"].is_monotonic_increasing
    assert scores.index[0] == model.super_parent_
    assert set(scores.index) == {None, *(f"x{j}" for j in range(5))}
    told = po.SPODE("x3").fit(X, y)
    assert told.super_parent_ == "x3"
    with pytest.raises(AttributeError, match="only where the super-parent was chosen"):
        told.scores_  # noqa: B018
    assert po.SPODE(-2).fit(X, y).super_parent_ == "x3"
    with pytest.raises(ValueError, match="different super-parents do not add: 'x3' and 'x1'"):
        told + po.SPODE("x1").fit(X, y)
    with pytest.raises(ValueError, match="tell super_parent where every class is hidden"):
        po.SPODE(unlabelled=None)._hidden(X, None, None, 2, False)


def test_the_structure_is_a_star_around_the_super_parent():
    X, y = table(0)
    X = X.astype(object)
    X[:, 2] = None  # a column without values
    model = po.SPODE("x3").fit(X, y)
    assert model.structure_.parents == ((3,), (3,), (), (), (3,))
    assert model._edge_weights() == pytest.approx(
        [float(po.TAN().fit(X, y).information_[p, i]) for p, i in model.structure_.edges]
    )
    assert po.SPODE("x2").fit(X, y).structure_.parents == ((),) * 5
    chosen = po.SPODE().fit(X, y)
    assert "x2" not in set(chosen.scores_.index)  # a column without values is no super-parent


def test_weights_count_as_rows_in_folds_too():
    X, y = table(1)
    w = np.random.default_rng(0).integers(1, 3, 40)
    heavy = po.SPODE().fit(X, y, w)
    twice = po.SPODE().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        heavy.scores_.sort_index(na_position="last"), twice.scores_.sort_index(na_position="last")
    )
    one = po.SPODE(folds=4, random_state=0).fit(X, y, np.ones(40))
    none = po.SPODE(folds=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(one.scores_, none.scores_)
    half = po.SPODE(folds=4, random_state=0, smoothing=0.5).fit(X, y, np.full(40, 0.5))
    full = po.SPODE(folds=4, random_state=0, smoothing=1.0).fit(X, y)
    np.testing.assert_allclose(half.scores_, full.scores_)  # means of losses, whatever unit the weights have


@pytest.mark.parametrize("folds", [None, 3])
def test_a_column_of_numbers_without_a_number_is_nobodys_parent(folds):
    """It has one bin, which no row has: under it every other column would say nothing."""
    rng = np.random.default_rng(0)
    words, y = rng.choice(list("pqr"), 40), rng.integers(0, 2, 40)
    words[y == 1] = np.where(rng.random((y == 1).sum()) < 0.7, "p", words[y == 1])
    empty = np.full(40, np.nan)
    rows = {"a": words, "zz": empty}
    chosen = po.SPODE(folds=folds, random_state=0).fit(rows, y)
    assert chosen.super_parent_ != "zz"
    assert np.isnan(chosen._sums[1]).all()
    assert "zz" not in chosen.scores_.index
    told, naive = po.SPODE(super_parent="zz").fit(rows, y), po.NaiveBayes().fit({"a": words}, y)
    np.testing.assert_allclose(told.predict_proba(rows), naive.predict_proba({"a": words}), rtol=1e-12)
    assert po.SPODE().fit({"zz": empty}, y).super_parent_ is None
