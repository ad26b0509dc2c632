"""What a report rests on: scores by their definitions, posteriors of rows that a fold had not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.report.evidence import _folds, gather


def weather(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame({"sky": np.array(["blue", "grey", "red"])[(y + (rng.random(n) < 0.3)) % 3], "warm": rng.normal(y)})
    return X, np.array(["in", "out", "up"])[y]


def gathered(model, X, y, posterior=None, loss=None, reject=None, folds=4, seed=0):
    return gather(model, X, y, posterior, loss, reject, False, folds, seed)


def test_scores_are_what_they_are_called():
    X, y = weather()
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), len(y))
    p[0] = [1.0, 0.0, 0.0]
    loss = po.Loss([[0, 4, 1], [2, 0, 3], [1, 1, 0]], classes=["in", "out", "up"])
    e = gathered(po.NaiveBayes().fit(X, y), X, y, p, loss, 0.6)
    codes = np.searchsorted(["in", "out", "up"], y)
    assert e.y.tolist() == codes.tolist()
    assert e.unseen
    assert e.scores["error"] == pytest.approx((p.argmax(axis=1) != codes).mean())
    assert e.scores["log_loss"] == pytest.approx(log_loss(codes, np.clip(p, 1e-15, 1)), rel=1e-6)
    assert e.scores["calibration"] == pytest.approx(po.calibration_error(p, codes))
    risks = np.column_stack([p @ np.array(loss.matrix).T, np.full(len(p), 0.6)])
    decided = risks.argmin(axis=1)
    full = np.vstack([loss.matrix, np.full(3, 0.6)])
    assert e.decided.tolist() == decided.tolist()
    assert e.scores["cost"] == pytest.approx(full[decided, codes].mean())
    assert e.scores["rejected"] == pytest.approx((decided == 3).mean())
    assert 0 < e.scores["rejected"] < 1
    assert e.reject == 0.6
    share = np.bincount(codes) / len(codes)
    assert e.baseline["error"] == pytest.approx(1 - share.max())
    assert e.baseline["log_loss"] == pytest.approx(-(share * np.log(share)).sum())
    assert e.baseline["cost"] == pytest.approx((full @ share).min())
    assert e.actions[:3] == ["in", "out", "up"]
    assert len(e.actions) == 4
    assert e.names == ("sky", "warm")
    assert e.place == {"sky": 0, "warm": 1}
    plain = gathered(po.NaiveBayes().fit(X, y), X, y, p)
    assert plain.reject is None
    assert plain.scores["rejected"] == 0.0
    assert plain.target == "class"


def test_posteriors_are_those_of_models_that_had_not_seen_the_row():
    X, y = weather(60)
    model = po.NaiveBayes(density="gaussian").fit(X, y)
    e = gathered(model, X, pd.Series(y, name="where"), folds=3, seed=5)
    fold = _folds(e.y, 3, 5)
    for f in range(3):
        fresh = clone(model).fit(X[fold != f], y[fold != f])
        assert np.allclose(e.posterior[fold == f], fresh.predict_proba(X[fold == f]))
    assert e.unseen
    assert e.target == "where"


def test_folds_deal_out_every_class():
    codes = np.array([0] * 10 + [1] * 5 + [2] * 3)
    fold = _folds(codes, 5, 0)
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 1
    for c in range(3):
        count = np.bincount(fold[codes == c], minlength=5)
        assert count.max() - count.min() <= 1
    assert _folds(codes, 5, 0).tolist() == fold.tolist() != _folds(codes, 5, 1).tolist()
    assert sorted(_folds(np.array([0, 1]), 5, 0)) == [0, 1]


def test_a_class_of_one_row_is_left_to_the_others():
    X, y = {"a": ["u", "v"] * 6 + ["u"]}, ["p", "q"] * 6 + ["alone"]
    e = gathered(po.NaiveBayes().fit(X, y), X, y, folds=13)
    assert e.unseen
    assert e.posterior[-1, 0] == 0  # no other row has that class
    two = gathered(po.NaiveBayes().fit({"a": ["u", "v"]}, ["p", "q"]), {"a": ["u", "v"]}, ["p", "q"])
    assert not two.unseen  # a fold would have one class alone
    only = gathered(po.NaiveBayes().fit({"a": ["u"] * 4}, ["p"] * 4), {"a": ["u"] * 4}, ["p"] * 4)
    assert only.posterior.tolist() == [[1.0]] * 4
    assert only.unseen


def test_a_risk_classifier_brings_its_loss():
    X, y = weather()
    model = po.RiskClassifier(po.NaiveBayes(), loss={"in": 1, "out": 5, "up": 1}, reject=0.4).fit(X, y)
    e = gathered(model, X, y)
    assert e.reject == 0.4
    assert e.loss.reject
    assert isinstance(e.inner, po.NaiveBayes)
    with pytest.raises(ModelError, match="already"):
        gathered(model, X, y, loss={"in": 1, "out": 5, "up": 1})
    with pytest.raises(ModelError, match="already"):
        gathered(model, X, y, reject=0.3)


def test_columns_are_those_that_the_model_knows():
    X, y = weather()
    model = po.NaiveBayes().fit(X, y)
    turned = gathered(model, X[["warm", "sky"]], y, np.full((90, 3), 1 / 3))
    assert turned.names == ("sky", "warm")
    assert turned.kinds == model.schema_.kinds
    with pytest.raises(BadValue, match="rows, each"):
        gathered(model, X[:0], [])
    bare = gathered(po.GaussianNB().fit(X[["warm"]].to_numpy(), y), X[["warm"]].to_numpy(), y)
    assert bare.kinds == ("numeric",)
