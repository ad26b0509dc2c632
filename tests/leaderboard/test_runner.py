"""An attempt is a value; a runner takes what came of it."""

from __future__ import annotations

import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Perceptron

import posteriori as po
from posteriori.decision.loss import Loss
from posteriori.leaderboard.board import calibration_error
from posteriori.leaderboard.data import Data, Fold
from posteriori.leaderboard.lineup import Entry
from posteriori.leaderboard.runner import MOST_CALLS, Attempt, Runner, timed


def made(model, n=40, weights=None):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    data = Data.open(pd.DataFrame({"a": rng.normal(size=n) + 2 * y}), y, None, weights)
    fold = np.arange(n) // (n // 4)
    return Runner(Entry("it", "a model", lambda t: None), model), data, fold


def test_all_folds_make_a_row_and_the_posterior_of_every_row():
    runner, data, fold = made(po.NaiveBayes())
    for f in range(4):
        part = Fold(data, fold == f)
        found = runner.attempt(part, None)
        again = pickle.loads(pickle.dumps(found))
        assert again.scores == found.scores
        runner.take(found, f, part, True)
        assert runner.done == f + 1
    row = runner.row(4, data, fold)
    assert row.status == "finished"
    assert row.posterior.shape == (40, 2)
    assert np.allclose(row.posterior.sum(axis=1), 1)
    pooled = calibration_error(row.posterior, data.codes, np.ones(40))
    assert row.mean("calibration_error") == pytest.approx(pooled)
    assert row.sd("calibration_error") >= 0
    assert all(len(values) == 4 for values in row.folds.values())
    by_hand = po.NaiveBayes().fit(data.X[fold != 2], fold_labels(data, fold != 2)).predict_proba(data.X[fold == 2])
    assert np.allclose(row.posterior[fold == 2], by_hand)


def fold_labels(data, some):
    return data.labels[data.codes[some]]


class Breaks(DummyClassifier):
    """Says why in two lines."""

    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("first line\nsecond line")


def test_what_breaks_is_a_reason_with_its_fold():
    runner, data, fold = made(Breaks())
    part = Fold(data, fold == 0)
    found = runner.attempt(part, None)
    assert found.failed == "RuntimeError: first line"
    runner.take(found, 0, part, True)
    assert (runner.status, runner.reason) == ("failed", "fold 1: RuntimeError: first line")
    assert runner.row(4, data, fold).posterior is None


class Warns(DummyClassifier):
    """Warns in every fold, of what matters and of what does not."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn("look here\nand there", UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return super().fit(X, y)


def test_warnings_are_notes_with_their_count():
    runner, data, fold = made(Warns())
    for f in range(4):
        part = Fold(data, fold == f)
        runner.take(runner.attempt(part, None), f, part, False)
    row = runner.row(4, data, fold)
    assert row.notes == ("look here (4 of 4 folds)",)
    assert row.posterior is None  # not kept


def test_a_race_that_ended_early_leaves_a_reason():
    runner, data, fold = made(po.NaiveBayes())
    part = Fold(data, fold == 0)
    runner.take(runner.attempt(part, None), 0, part, True)
    row = runner.row(4, data, fold)
    assert (row.status, row.reason) == ("skipped", "the time was over after 1 of 4 folds")


def test_labels_alone_have_an_error_and_a_cost():
    runner, data, fold = made(Perceptron(random_state=0), weights=np.arange(1.0, 41.0))
    part = Fold(data, fold == 0)
    found = runner.attempt(part, Loss([[0, 3], [1, 0]], classes=[0, 1], actions=[0, 1]))
    assert set(found.scores) == {"error", "cost", "fit_seconds", "row_microseconds"}
    said = Perceptron(random_state=0).fit(part.raw()[0], part.y, sample_weight=part.w).predict(part.raw()[1])
    wrong = said != data.labels[part.truth]
    assert found.scores["error"] == pytest.approx(part.w_test @ wrong / part.w_test.sum())
    cost = np.where(said == 0, 3, 1) * wrong
    assert found.scores["cost"] == pytest.approx(part.w_test @ cost / part.w_test.sum())
    assert found.posterior is None


def test_who_takes_weights():
    assert made(po.NaiveBayes())[0].takes_weights()
    assert not Runner(Entry("x", "", lambda t: None), NoWeights()).takes_weights()


class NoWeights(DummyClassifier):
    def fit(self, X, y):
        return self


def test_a_subclass_gets_the_rows_as_they_came():
    class Mine(po.NaiveBayes):
        def fit(self, X, y, sample_weight=None):
            assert list(X["a"])
            return super().fit(X, y)

    runner, data, fold = made(Mine())
    assert runner.attempt(Fold(data, fold == 0), None).failed == ""


def test_a_short_call_is_timed_several_times_and_its_answer_kept():
    calls = []
    found, seconds = timed(lambda rows: calls.append(rows) or len(calls), 3)
    assert calls == [3] * MOST_CALLS
    assert found == MOST_CALLS
    assert 0 <= seconds < 0.02


def test_an_attempt_is_empty_by_default():
    assert Attempt().failed == ""
    assert Attempt().scores == {}


class Late(DummyClassifier):
    """Learns when it is first asked."""

    def predict_proba(self, X):
        if not hasattr(self, "ready_"):
            time.sleep(0.1)
            self.ready_ = True
        return super().predict_proba(X)


def test_what_is_made_at_the_first_question_is_learning():
    runner, data, fold = made(Late())
    scores = runner.attempt(Fold(data, fold == 1), None).scores
    assert scores["fit_seconds"] >= 0.1
    assert scores["row_microseconds"] < 1e6 * 0.1 / 10
