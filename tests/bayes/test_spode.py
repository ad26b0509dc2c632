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
