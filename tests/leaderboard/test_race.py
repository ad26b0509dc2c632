"""The race: folds outside, models inside, the quick are not robbed of their time by the slow; attempts in a child
process give the same answers and end in time.
"""

from __future__ import annotations

import os
import re
import signal
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

import posteriori as po
from posteriori.leaderboard import race as race_file
from posteriori.leaderboard import runner as runner_file
from posteriori.leaderboard.data import Data
from posteriori.leaderboard.lineup import Entry
from posteriori.leaderboard.race import ENOUGH, SPARE, Race, TimeOver, hearing
from posteriori.leaderboard.runner import Attempt, Runner


def race(models, k=4, limit=None, n=40):
    data = Data.open(pd.DataFrame({"a": np.arange(float(n))}), np.arange(n) % 2, None, None)
    runners = [Runner(Entry(name, name, lambda t: None), model) for name, model in models.items()]
    return Race(data, np.arange(n) % k, k, None, runners, limit, None)


class Clock:
    """Time that passes only where models take some."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def simulated(monkeypatch, costs, k, limit):
    """A race of models that take so many seconds a fold, on a clock of its own."""
    clock = Clock()

    class Lane(race_file.Lane):
        def attempt(self, at, seconds):
            cost = costs[self.runners[at].entry.name]
            clock.now += min(cost, seconds)
            if cost > seconds:
                raise TimeOver
            return Attempt(scores={"log_loss": cost})

    monkeypatch.setattr(race_file, "time", clock)
    monkeypatch.setattr(race_file, "Lane", Lane)
    found = race(dict.fromkeys(costs, DummyClassifier()), k=k, limit=limit)
    found.run()
    return found, clock.now


costs = st.lists(st.floats(0.001, 200.0), min_size=1, max_size=12)


@given(costs, st.integers(2, 10), st.floats(1.0, 300.0))
@settings(max_examples=60, deadline=None)
def test_the_limit_holds_and_the_quick_finish_whatever_the_slow_take(seconds, k, limit):
    with pytest.MonkeyPatch.context() as patch:
        found, spent = simulated(patch, {f"m{i}": s for i, s in enumerate(seconds)}, k, limit)
    assert spent <= limit * (1 + 1e-9)
    first = found.runners[0]
    if seconds[0] * min(ENOUGH + 1, k) <= limit:  # the first of ours has scores, of as many folds as there was time for
        assert any(r.status == "finished" and r.entry.ours for r in found.runners)
    if SPARE * k * seconds[0] <= limit and seconds[0] == min(seconds):
        assert first.status == "finished"
        assert first.done == found.done
    if SPARE * k * max(seconds) * len(seconds) * 4 <= limit:
        assert all(r.status == "finished" and r.done == k for r in found.runners)


def test_shares_of_the_first_fold_leave_what_is_promised():
    found = race({"a": DummyClassifier(), "b": DummyClassifier()}, k=5, limit=10.0)
    assert found._share(12.0, 0) == 4.0  # none has finished a fold: three of them would do
    found.runners[0].done, found.runners[0].seconds = 1, 2.0
    assert found._share(11.0, 0) == (11.0 - SPARE * 2.0 * 4) / 5
    assert found._share(5.0, 0) == 0.0
    assert found._share(8.0, 1) == 8.0


def test_who_would_not_finish_goes_after_the_first_fold_but_one_of_ours_stays():
    found = race(dict.fromkeys("abcd", DummyClassifier()), k=5, limit=9.0)
    for runner, seconds in zip(found.runners, (1.0, 0.5, 2.0, 9.0)):
        runner.done, runner.seconds = 1, seconds
    found._keep_what_fits(7.0)
    assert [r.status for r in found.runners] == ["finished", "finished", "skipped", "skipped"]
    assert "8 s more" in found.runners[2].reason
    alone = race({"slow": DummyClassifier()}, k=5, limit=9.0)
    alone.runners[0].done, alone.runners[0].seconds = 1, 4.0
    alone._keep_what_fits(5.0)
    assert alone.runners[0].status == "finished"


@pytest.mark.parametrize(("limit", "slow"), [(None, "finished"), (60.0, "finished"), (24.0, "skipped")])
def test_after_the_first_fold_those_go_on_for_whom_there_is_time(monkeypatch, limit, slow):
    """The baseline runs without a share of its own: what it took is what others lack."""
    found, _ = simulated(monkeypatch, {"quick": 1.0, "slow": 3.0, "baseline": 5.0}, 5, limit)
    assert [r.status for r in found.runners] == ["finished", slow, "finished"]
    if slow == "skipped":
        assert found.runners[1].reason == "needs about 12 s more, past the time limit of 24 s"


def test_a_race_cut_short_counts_whole_folds_alone():
    found = race({"a": po.NaiveBayes()}, k=4)
    found.run()
    found._end(2)
    assert found.done == 2
    assert found.runners[0].done == 2
    assert all(len(values) == 2 for values in found.runners[0].scores.values())


@pytest.fixture(autouse=True)
def heard():
    """Ctrl-C is heard, as where a person sits: workers of a test run ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
MODELS = ["baseline", "naive", "tan", "svc", "linear-svc", "logistic", "boosting"]


def test_a_limit_that_is_long_enough_changes_nothing():
    X, y = load_iris(return_X_y=True)
    HistGradientBoostingClassifier(max_iter=3).fit(
        np.repeat(X, 100, axis=0), np.repeat(y, 100)
    )  # OpenMP is at work here
    free, told = (po.compare(X, y, MODELS, cv=3, time_limit=limit) for limit in (None, 300.0))
    for name in MODELS:
        assert told[name].folds["log_loss"] == free[name].folds["log_loss"], name
        assert np.array_equal(told[name].posterior, free[name].posterior)


class Compiled(DummyClassifier):
    """One call of compiled code that hears nothing for a minute."""

    def fit(self, X, y, sample_weight=None):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGALRM, signal.SIGTERM})
        time.sleep(60)
        return self


def test_no_call_outlives_the_limit():
    start = time.monotonic()
    board = po.compare(*load_iris(return_X_y=True), {"naive": "naive", "long": Compiled()}, cv=2, time_limit=6)
    assert time.monotonic() - start < 30
    assert board["long"].status == "skipped"
    assert board["naive"].status == "finished"


class Dies(DummyClassifier):
    """Takes its process with it."""

    def fit(self, X, y, sample_weight=None):
        os._exit(7)


def test_a_process_that_dies_is_a_failure_and_the_next_model_runs():
    board = po.compare(*load_iris(return_X_y=True), {"dies": Dies(), "naive": "naive"}, cv=2, time_limit=60)
    assert board["dies"].status == "failed"
    assert "exit 7" in board["dies"].reason
    assert board["naive"].status == "finished"


class Swallows(DummyClassifier):
    """A search that Ctrl-C ends, and which goes on with what it has."""

    def fit(self, X, y, sample_weight=None):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        return super().fit(X, y)


def test_ctrl_c_inside_a_search_that_keeps_what_it_has_ends_the_comparison():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        po.compare(*load_iris(return_X_y=True), {"search": Swallows(), "naive": "naive"}, cv=2)
    assert signal.getsignal(signal.SIGINT) is before


def test_hearing_remembers_and_passes_on():
    with hearing() as heard:
        heard.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert heard.pressed
        with pytest.raises(KeyboardInterrupt):
            heard.check()


def test_ctrl_c_ends_a_child_too():
    def press(progress):
        if progress.model == "long":
            signal.setitimer(signal.ITIMER_REAL, 0.3)

    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            po.compare(*load_iris(return_X_y=True), {"long": Compiled()}, cv=2, time_limit=50, progress=press)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 30


class Counts(DummyClassifier):
    """Says how many threads OpenMP would take."""

    def fit(self, X, y, sample_weight=None):
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
        warnings.warn(f"threads {threads}", stacklevel=1)
        return super().fit(X, y)


@pytest.mark.parametrize(("little", "limit", "threads"), [(0, None, "2"), (0, 60, "1"), (1 << 20, None, "1")])
def test_openmp_has_one_thread_in_a_child_and_for_a_small_table(monkeypatch, little, limit, threads):
    """Its others are not there after a fork, and would be waited for in vain."""
    if not any(pool["user_api"] == "openmp" for pool in threadpool_info()):
        pytest.skip("scikit-learn was built without OpenMP")
    monkeypatch.setattr(runner_file, "LITTLE", little)
    with threadpool_limits(2, user_api="openmp"):
        board = po.compare(*load_iris(return_X_y=True), {"counts": Counts()}, cv=2, time_limit=limit)
    (note,) = board["counts"].notes
    assert set(re.findall(r"\d", note.partition("]")[0])) == {threads}


@pytest.mark.parametrize("f", [0, 1, 2])
def test_progress_tells_folds_done_and_seconds_left_of_those_that_run(f):
    """Σ seconds of a fold · folds that are left; unknown while the first fold runs; who has stopped is not counted."""
    told = []
    some = [(0.5, 2, "finished"), (3.0, 1, "finished"), (100.0, 1, "failed")]
    runners = [SimpleNamespace(seconds=s, done=d, status=w, entry=SimpleNamespace(name=f"m{s:g}")) for s, d, w in some]
    race = SimpleNamespace(progress=told.append, runners=runners, k=5)
    Race._tell(race, runners[1], f)
    (said,) = told
    assert tuple(vars(said).values() if hasattr(said, "__dict__") else said) == (
        3, 10, "m3", f, 0.5 * 3 + 3.0 * 4 if f else None
    )  # fmt: skip
    race.progress = None
    Race._tell(race, runners[0], f)
    assert len(told) == 1
