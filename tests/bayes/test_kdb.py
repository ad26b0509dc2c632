"""How many parents is chosen for the attributes that are used, by the criterion that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes import kdb
from posteriori.bayes.choice import fewest, losses, prefix_losses
from posteriori.bayes.families import Families, Rung
from posteriori.statistics.cuts import CodedTable


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


@pytest.mark.parametrize("most", [0, 2])
@pytest.mark.parametrize("wide", [0, 1 << 16])
def test_losses_of_prefixes_are_those_of_the_ladders(most, wide):
    """The kernel's one pass against the ladders added up, with tables and without, missing cells and weights."""
    rng = np.random.default_rng(most)
    X = rng.integers(0, 3, (200, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y, w = rng.integers(0, 3, 200), rng.random(200) + 0.5
    model = po.KDB(k=most, kinds="categorical").fit(X, y)
    how = model.smoothing, model.prior, model.backoff, None, None, False
    families = Families.of(model.statistics_, model.structure_, *how, wide=wide)
    table = CodedTable(np.where(np.isnan(X), 3, X).astype(np.uint8), (3,) * 4, int(np.isnan(X).sum()))
    assert any(isinstance(rung, Rung) for ladder in families.levels for rung in ladder) == (most > 0 and not wide)
    order = model._order
    found = prefix_losses(families, order, table, y.astype(np.uint8), w, 3, True, None)
    for k in range(4):
        joint = np.tile(families.log_prior, (200, 1))
        for t in range(len(order) + 1):
            joint += 0.0 if t == 0 else families.ladder(table, order[t - 1])[: k + 1][-1]
            np.testing.assert_allclose(found[k, t], losses(joint, y, w), rtol=1e-10)
