"""The race: folds outside, models inside, and the quick are not robbed of their time by the slow."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier

import posteriori as po
from posteriori.leaderboard.data import Data
from posteriori.leaderboard.lineup import Entry
from posteriori.leaderboard.race import SPARE, Race
from posteriori.leaderboard.runner import Runner


def race(models, k=4, limit=None, n=40):
    data = Data.open(pd.DataFrame({"a": np.arange(float(n))}), np.arange(n) % 2, None, None)
    runners = [Runner(Entry(name, name, lambda t: None), model) for name, model in models.items()]
    return Race(data, np.arange(n) % k, k, None, runners, limit, None)


class Sleeps(DummyClassifier):
    """Takes its time."""

    def __init__(self, seconds=0.0, strategy="prior"):
        super().__init__(strategy=strategy)
        self.seconds = seconds

    def fit(self, X, y, sample_weight=None):
        time.sleep(self.seconds)
        return super().fit(X, y)


def test_the_quick_finish_all_their_folds_whatever_the_slow_take():
    slow = {f"slow {i}": Sleeps(60.0) for i in range(6)}
    begun = time.monotonic()
    found = race({"quick": Sleeps(0.02), **slow, "last": Sleeps(0.01)}, k=4, limit=3.0)
    found.run()
    assert time.monotonic() - begun < 8
    status = {r.entry.name: r.status for r in found.runners}
    assert status["quick"] == "finished"
    assert set(status.values()) == {"finished", "skipped"}
    assert found.done >= 2


def test_shares_of_the_first_fold_leave_what_is_promised():
    found = race({"a": Sleeps(), "b": Sleeps()}, k=5, limit=10.0)
    found.runners[0].done, found.runners[0].seconds = 1, 2.0
    assert found._share(11.0, 0) == (11.0 - SPARE * 2.0 * 4) / 5
    assert found._share(5.0, 0) == 0.0
    assert found._share(8.0, 1) == 2.0
    assert found._share(3.0, 2) == 3.0


def test_who_would_not_finish_goes_after_the_first_fold_the_quickest_last():
    found = race({"a": Sleeps(), "b": Sleeps(), "c": Sleeps()}, k=5, limit=9.0)
    for runner, seconds in zip(found.runners, (1.0, 0.5, 2.0)):
        runner.done, runner.seconds = 1, seconds
    found._keep_what_fits(7.0)
    assert [r.status for r in found.runners] == ["finished", "finished", "skipped"]
    assert "8 s more" in found.runners[2].reason


def test_a_race_cut_short_counts_whole_folds_alone():
    found = race({"a": po.NaiveBayes()}, k=4)
    found.run()
    found._end(2)
    assert found.done == 2
    assert found.runners[0].done == 2
    assert all(len(values) == 2 for values in found.runners[0].scores.values())
