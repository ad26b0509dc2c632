"""Attempts in a child process: the same answers, ended in time, and Ctrl-C ends the race."""

from __future__ import annotations

import os
import re
import signal
import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info, threadpool_limits

import posteriori as po
from posteriori.leaderboard import runner
from posteriori.leaderboard.lane import hearing


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
    monkeypatch.setattr(runner, "LITTLE", little)
    with threadpool_limits(2, user_api="openmp"):
        board = po.compare(*load_iris(return_X_y=True), {"counts": Counts()}, cv=2, time_limit=limit)
    (note,) = board["counts"].notes
    assert set(re.findall(r"\d", note.partition("]")[0])) == {threads}
