"""What grown models share, each in turn: rows not seen, cells not known, refusals, Ctrl-C, copies."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import ModelError
from posteriori.forest.grown import GrownClassifier
from posteriori.table.encode import Seen

from .making import IRIS, mixed

MODELS = {
    "forest": po.BayesForest(n_trees=20, n_members=5, random_state=0),
    "auto": po.AutoBayes(n_trees=15, n_members=8, random_state=0),
    "boosted": po.BoostedBayes(max_rounds=40, random_state=0),
    "exponential": po.BoostedBayes("exponential", max_rounds=20, random_state=0),
}
LONG = {  # a minute and more, on 20,000 rows
    "forest": {"n_trees": 5000},
    "auto": {"n_trees": 5000},
    "boosted": {"max_rounds": 100_000, "learning_rate": 0.001},
}
each = pytest.mark.parametrize("name", MODELS)


@each
def test_rows_not_seen(name):
    """The score is the weighted share of right answers among the rows that something has not seen."""
    X, y = IRIS
    w = np.where(y == 2, 3.0, np.where(np.arange(150) % 5 == 0, 0.0, 1.0))
    model = clone(MODELS[name]).fit(X, y, w)
    there = w > 0
    oob, own, mass = model.oob_decision_function_, y[there], w[there]
    assert oob.shape == (len(own), 3)
    known = ~np.isnan(oob[:, 0])
    right = model.classes_[oob[known].argmax(axis=1)] == own[known]
    assert model.oob_score_ == pytest.approx(mass[known][right].sum() / mass[known].sum())
    assert_allclose(model.class_prior_, np.bincount(own, mass) / mass.sum())
    assert model.schema_.classes == (0, 1, 2)


def test_where_all_has_seen_every_row_there_is_no_score():
    class Knows(GrownClassifier):
        def __init__(self):
            super().__init__(None, None, None, None, None, None)

        def _grow(self, coding, codes, rows):
            return coding, np.full((codes.n, 2), np.nan)

    assert np.isnan(Knows().fit([[0.0], [1.0]], [0, 1]).oob_score_)


@each
def test_missing_and_unseen_values(name):
    X, y = mixed()
    model = clone(MODELS[name]).fit(X, y)
    asked = pd.DataFrame(
        {"word": ["zebra", None], "number": [np.nan, 9e9], "flag": [True, False], "noise": [np.nan, 0.0]}
    )
    assert_allclose(model.predict_proba(asked).sum(axis=1), 1.0)
    assert (model.n_missing_, model.n_unseen_) == (3, 1)
    assert model.predict({"word": "a", "number": 3.0, "flag": True, "noise": 0.0}).tolist() == ["yes"]


@each
def test_explain_leaves_columns_out(name):
    X, y = mixed()
    model = clone(MODELS[name]).fit(X, y)
    why = model.explain({"word": "a", "number": 2.0, "flag": True, "noise": 0.1}, "yes", "no")
    parts = {p.column: p.log_odds for p in why.parts}
    assert set(parts) == set(X.columns)
    assert max(parts["word"], parts["number"]) > abs(parts["flag"])
    some = X[:7]
    without = model._log_without(some)
    assert without.shape == (7, 4, 3)
    frame = model._open(some)
    codes = model.grown_.coding.code(frame, Seen())
    for j in range(4):
        assert_array_equal(without[:, j], np.log(model._answer(frame, codes.without(j))))
    assert_array_equal(model._answer(frame, codes), model.predict_proba(some))


@each
def test_refusals_name_the_reason(name):
    model, (X, y) = clone(MODELS[name]), IRIS
    with pytest.raises(ModelError, match="is text"):
        clone(model).set_params(kinds={"a": "text"}).fit({"a": ["x y", "z"]}, [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf], [1.0]], [0, 1])
    for wrong in ({"n_jobs": 0}, {"max_memory": 0}, {"class_weight": "even"}, {"progress": 3}, {"random_state": "a"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(model).set_params(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs"):
        model.fit(X, y).set_params(n_jobs=0).predict(X)


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_the_growing_and_changes_nothing(name):
    X = np.random.default_rng(0).normal(size=(20_000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = clone(MODELS[name]).fit(X[:50], y[:50])
    before = model.predict_proba(X[:5])
    model.set_params(n_jobs=1, **LONG[name])
    alarm = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
    start = time.perf_counter()
    try:
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, heard)
    assert time.perf_counter() - start < 60
    assert_array_equal(model.predict_proba(X[:5]), before)


@each
def test_pickles_clones_and_layouts(name):
    X, y = IRIS
    model = clone(MODELS[name]).fit(X, y)
    said = model.predict_proba(X)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), said)
    other = clone(model).fit(np.asfortranarray(X), y)
    assert_array_equal(other.predict_proba(X), said)
    assert_allclose(other.predict_proba(X[::-1])[::-1], said, rtol=1e-9)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert_array_equal(clone(model).fit(frozen, y).predict_proba(frozen), said)


@each
def test_check_estimator(name):
    reason = "rows are drawn: a weight is a chance, and which rows are drawn hangs on their number and order"
    expected = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    model = clone(MODELS[name])
    few = {"max_rounds": 20} if hasattr(model, "max_rounds") else {"n_trees": 10, "n_members": 3}
    model.set_params(random_state=None, **few)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert len(results) >= 55


@pytest.mark.parametrize("name", MODELS)
def test_rows_that_weigh_one_are_rows(name):
    X, y = IRIS
    plain, weighed = clone(MODELS[name]).fit(X, y), clone(MODELS[name]).fit(X, y, sample_weight=np.ones(len(y)))
    assert_array_equal(plain.predict_proba(X), weighed.predict_proba(X))
    assert_array_equal(plain.oob_decision_function_, weighed.oob_decision_function_)
