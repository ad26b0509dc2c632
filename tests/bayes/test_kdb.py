"""How many parents is chosen for the attributes that are used, by the criterion that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes import kdb
from posteriori.bayes.choice import fewest


@pytest.mark.parametrize("criterion", ["log_loss", "rmse", "error"])
@pytest.mark.parametrize("select", [False, True])
def test_what_is_judged_is_what_will_be_used(criterion, select, monkeypatch):
    """Without selection all attributes are used: a k that is best for some of them alone does not count."""
    judged = []
    monkeypatch.setattr(kdb, "fewest", lambda by_fold: judged.append(by_fold) or fewest(by_fold))
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 3, (40, 5)).astype(str), rng.integers(0, 2, 40)
    model = po.KDB(k="auto", criterion=criterion, select=select).fit(X, y)
    losses = model.losses_[criterion].unstack().to_numpy() ** (2 if criterion == "rmse" else 1)
    np.testing.assert_allclose(judged[-1].sum(axis=0), losses if select else losses[:, -1:])
    k, used = fewest(judged[-1])
    assert model.k_ == k
    assert len(model.selected_) == (used if select else 5)
