"""The race: folds outside, models inside, the quick are not robbed of their time by the slow; attempts in a child
process give the same answers and end in time.
"""

from __future__ import annotations

import os
import pickle
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
from sklearn.linear_model import LogisticRegression, Perceptron
from threadpoolctl import threadpool_info, threadpool_limits

import posteriori as po
from posteriori.decision.loss import Loss
from posteriori.decision.on_points import OnPoints
from posteriori.errors import BadValue, ModelError
from posteriori.leaderboard import race as race_file
from posteriori.leaderboard.board import calibration_error
from posteriori.leaderboard.lineup import Entry
from posteriori.leaderboard.race import (
    ENOUGH,
    MOST_CALLS,
    SPARE,
    Attempt,
    Data,
    Fold,
    Race,
    Runner,
    TimeOver,
    hearing,
    names_of,
    timed,
)
from posteriori.table.frame import open_frame

rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20)


@given(rows)
def test_rows_without_weight_are_not_there_and_come_back_blank(cells):
    y, w = np.array(cells).T
    X = {"a": np.arange(len(y)).astype(float)}
    if len(np.unique(y[w > 0])) < 2:
        with pytest.raises((ModelError, ValueError)):
            Data.open(X, y, None, w)
        return
    data = Data.open(X, y, None, w)
    assert data.n == (w > 0).sum()
    assert data.of == len(y)
    assert data.where.tolist() == np.flatnonzero(w > 0).tolist()
    assert np.array_equal(data.labels[data.codes], y[w > 0])
    assert np.array_equal(data.weights, w[w > 0])
    whole = data.whole(data.codes, -1)
    assert (whole[w == 0] == -1).all()
    assert np.array_equal(whole[w > 0], data.codes)
    two = data.whole(np.ones((data.n, 2)), np.nan)
    assert np.isnan(two[w == 0]).all()
    assert (two[w > 0] == 1).all()


def test_what_cannot_be_told_apart_or_matched_is_named():
    with pytest.raises(BadValue, match="2 rows but y has 3"):
        Data.open({"a": [1.0, 2.0]}, [0, 1, 1], None, None)
    with pytest.raises(ModelError, match="one class only, 'x'"):
        Data.open({"a": [1.0, 2.0]}, ["x", "x"], None, None)


def test_kinds_are_told_by_name_or_by_place():
    X = {"a": [1.0, 2.0], "b": [1, 0]}
    assert Data.open(X, [0, 1], {"b": "categorical"}, None).kinds == ("numeric", "categorical")
    assert Data.open(X, [0, 1], ("categorical", "numeric"), None).kinds == ("categorical", "numeric")
    assert names_of(open_frame(X)) == ("a", "b")
    assert names_of(open_frame(np.zeros((2, 3)))) == (0, 1, 2)


def test_a_fold_parts_the_rows_and_makes_points_once():
    X = pd.DataFrame({"a": np.arange(6.0), "b": list("uvuvuw")})
    data = Data.open(X, [0, 1] * 3, None, np.arange(1.0, 7.0))
    fold = Fold(data, np.arange(6) < 2)
    assert fold.train.tolist() == [2, 3, 4, 5]
    assert fold.test.tolist() == [0, 1]
    assert fold.y.tolist() == [0, 1, 0, 1]
    assert fold.truth.tolist() == [0, 1]
    assert fold.w.tolist() == [3, 4, 5, 6]
    assert fold.w_test.tolist() == [1, 2]
    raw = fold.raw()
    assert [len(part) for part in raw] == [4, 2]
    assert [part.n for part in fold.frames()] == [4, 2]
    model = OnPoints(LogisticRegression(), kinds={"a": "numeric", "b": "categorical"})
    train, seconds, test, more = fold.points(model)
    assert train[:, 0].mean() == pytest.approx(0.0)  # scaled by the rows of training alone
    assert test[:, 0].mean() < -1
    assert seconds >= 0
    assert more >= 0
    assert fold.points(model)[0] is train
    assert fold.points(OnPoints(LogisticRegression(), view="ordinal"))[0] is not train


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
    monkeypatch.setattr(race_file, "LITTLE", little)
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
