"""The super-parent is the best one by the criterion that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po


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
