"""compare: honest folds, failures that are listed, the same board for a seed."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

import posteriori as po
from posteriori.decision.folds import stratified
from posteriori.errors import BadParameter, BadValue, LossError, ModelError, UnknownValue
from posteriori.leaderboard.compare import _notes
from posteriori.leaderboard.lineup import lineup

QUICK = ["baseline", "naive", "tan", "logistic"]


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n) + y,
            "b": np.where(rng.random(n) < 0.7, y, 1 - y).astype(str),
            "c": rng.choice(["x", "y", "z"], n),
        }
    )
    X.loc[::9, "a"] = np.nan
    X.loc[::11, "b"] = None
    return X, np.array(["no", "yes"])[y]


def times_apart(board):
    told = json.loads(board.to_json())
    for row in told["models"]:
        for name in ("fit_seconds", "fit_seconds_sd", "row_microseconds", "row_microseconds_sd"):
            row.pop(name, None)
        for name in ("fit_seconds", "row_microseconds"):
            row["folds"].pop(name, None)
    told["models"].sort(key=lambda row: row["model"])
    return told


def test_everybody_runs_on_a_mixed_table():
    board = po.compare(*mixed(), cv=3)
    assert {row.name for row in board} == set(lineup())
    odd = {row.name: row.reason for row in board if row.status != "finished"}
    assert set(odd) == {"gaussian", "mixture"}
    assert "needs numbers" in odd["mixture"]
    for row in board.finished:
        assert set(row.folds) == {"log_loss", "error", "brier", "calibration_error", "fit_seconds", "row_microseconds"}
        assert all(len(v) == 3 and np.isfinite(v).all() for v in row.folds.values())
    means = [row.mean("log_loss") for row in board.finished]
    assert means == sorted(means)
    assert board.best.mean("log_loss") < board["baseline"].mean("log_loss")


def test_numbers_alone_let_densities_take_part():
    board = po.compare(*load_iris(return_X_y=True), models=["gaussian", "mixture", "knn", "svc"], cv=3)
    assert len(board.finished) == 4


def test_a_seed_gives_the_same_board_and_another_seed_another():
    X, y = mixed()
    models = [*QUICK, "forest", "mlp"]
    one, two = (times_apart(po.compare(X, y, models, cv=3, seed=4)) for _ in range(2))
    assert one == two
    assert one != times_apart(po.compare(X, y, models, cv=3, seed=5))


@pytest.mark.parametrize("as_table", [lambda X: X, lambda X: X.to_dict("list")], ids=["pandas", "dict"])
def test_any_table_gives_the_same_board(as_table):
    X, y = mixed()
    X = X.drop(columns="a")
    told = times_apart(po.compare(as_table(X), list(y), QUICK, cv=3))
    polars = pytest.importorskip("polars")
    assert times_apart(po.compare(polars.from_pandas(X), y, QUICK, cv=3)) == told


def test_noise_tells_nothing_however_it_is_encoded():
    """An id, a rare category and a target's own echo in the test fold: whoever peeks is better than the prior here."""
    rng = np.random.default_rng(0)
    n = 200
    y = rng.integers(0, 2, n)
    X = pd.DataFrame({"id": [f"row{i}" for i in range(n)], "rare": rng.integers(0, 150, n).astype(str)})
    X["noise"] = rng.normal(size=n)
    board = po.compare(X, y, cv=5)
    assert not [row.name for row in board if row.status == "failed"]
    for row in board.finished:
        assert row.mean("error") > 0.35, row.name


class Peeks(ClassifierMixin, BaseEstimator):
    """Remembers every row it was fitted on: perfect on those, the prior on all others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen = dict(zip(X["id"], y))
        return self

    def predict_proba(self, X):
        known = [self.seen.get(i) for i in X["id"]]
        return np.array([[0.5, 0.5] if c is None else (self.classes_ == c).astype(float) for c in known])


def test_no_test_row_is_ever_in_training():
    n = 60
    X = pd.DataFrame({"id": range(n)})
    y = np.arange(n) % 2
    board = po.compare(X, y, {"peeks": Peeks()}, cv=4)
    assert board["peeks"].folds["log_loss"] == pytest.approx([np.log(2)] * 4)


def test_what_is_learned_of_a_fold_is_learned_from_its_training_rows(monkeypatch):
    """Cells of a test row may be changed to anything: no other row's score moves."""
    X, y = mixed(90)
    codes = (y == "yes").astype(int)
    inside = np.flatnonzero(stratified(codes, 3, 0) == 0)
    changed = X.copy()
    changed.loc[inside, "a"] = 1e9
    changed.loc[inside, "c"] = "never"
    changed.loc[inside, "b"] = None
    names = [*QUICK, "knn", "boosting", "svc", "linear-svc", "aode", "network"]
    seen = {}

    def watch(original):
        def fit(self, *args, **kwargs):
            made = original(self, *args, **kwargs)
            seen.setdefault(type(self).__name__, []).append(made)
            return made

        return fit

    for model in (po.NaiveBayes, LogisticRegression):
        monkeypatch.setattr(model, "fit", watch(model.fit))
    po.compare(X, y, names, cv=3)
    before, seen = seen, {}
    board = po.compare(changed, y, names, cv=3)
    assert not [row for row in board if row.status == "failed"]
    assert before["NaiveBayes"][0].statistics_ == seen["NaiveBayes"][0].statistics_
    assert np.array_equal(before["LogisticRegression"][0].coef_, seen["LogisticRegression"][0].coef_)


class Fails(DummyClassifier):
    """Fails in the second fold."""

    calls = 0

    def fit(self, X, y, sample_weight=None):
        type(self).calls += 1
        if type(self).calls == 2:
            raise ValueError("the <b>sky</b> fell\nin two lines")
        return super().fit(X, y)


def test_a_failure_is_listed_with_its_fold_and_the_others_go_on():
    Fails.calls = 0
    board = po.compare(*mixed(), {"bad": Fails(), "good": GaussianNB(), "naive": "naive"}, cv=4)
    bad = board["bad"]
    assert (bad.status, bad.reason) == ("failed", "fold 2: ValueError: the <b>sky</b> fell")
    assert board["good"].status == "failed"  # words are no numbers
    assert board.best.name == "naive"
    assert "bad: failed, fold 2" in str(board)
    assert "&lt;b&gt;" in board._repr_html_()
    assert "<b>sky" not in board._repr_html_()


def test_costs_sort_the_board_and_rejecting_is_an_action():
    X, y = mixed()
    costs = {"no": 1, "yes": 20}
    board = po.compare(X, y, QUICK, cv=3, loss=costs, reject=0.4)
    assert board.by == "cost"
    assert "cost" in board.scores
    found = [row.mean("cost") for row in board.finished]
    assert found == sorted(found)
    assert max(found) <= 0.4 + 1e-9 or board.best.mean("cost") <= 0.4 + 1e-9
    with pytest.raises(LossError):
        po.compare(X, y, QUICK, loss={"no": 1, "maybe": 2})


def test_a_model_of_labels_alone_has_an_error_and_no_log_loss():
    X, y = load_iris(return_X_y=True)
    board = po.compare(X, y, [Perceptron(), "naive"], cv=3, loss={0: 1, 1: 2, 2: 3})
    row = board["Perceptron"]
    assert np.isnan(row.mean("log_loss"))
    assert row.mean("error") < 0.4
    assert row.mean("cost") > 0
    assert "–" in str(board)


def test_small_classes_are_spread_and_a_class_of_one_row_is_said():
    X, y = mixed(60)
    y = y.astype(object)
    y[0], y[1:4] = "alone", "few"
    board = po.compare(X, y, [*QUICK, "linear-svc", "perceptron", "boosting", "svc"], cv=5)
    assert not [row.reason for row in board if row.status == "failed"]
    assert any("'alone'" in note for note in board.notes)
    assert any("'few'" in note for note in board.notes)


def test_weights_count_in_training_and_in_scores_and_a_row_of_none_is_not_there():
    X, y = mixed()
    w = np.ones(len(y))
    w[::5] = 0
    board = po.compare(X, y, QUICK, cv=3, sample_weight=w)
    bare = po.compare(X[w > 0].reset_index(drop=True), y[w > 0], QUICK, cv=3)
    for name in QUICK:
        assert board[name].folds["log_loss"] == pytest.approx(bare[name].folds["log_loss"])
    assert po.compare(X, y, ["naive", "mixture"], cv=3, sample_weight=w)["naive"].status == "finished"


def test_no_time_lists_everybody_as_skipped_and_keeps_the_baseline():
    board = po.compare(*mixed(), ["baseline", "naive", "forest"], cv=3, time_limit=0)
    assert [row.name for row in board.finished] == ["baseline"]
    assert "time limit" in board["forest"].reason


def test_progress_is_told_before_every_fit():
    heard = []
    po.compare(*mixed(), ["naive", "tan"], cv=3, progress=heard.append)
    assert [(p.model, p.fold) for p in heard[:3]] == [("naive", 0), ("tan", 0), ("naive", 1)]
    assert (heard[0].done, heard[0].total, heard[0].seconds_left) == (0, 6, None)
    assert heard[-1].seconds_left > 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"cv": 1}, BadParameter),
        ({"cv": 2.5}, BadParameter),
        ({"seed": -1}, BadParameter),
        ({"time_limit": "1"}, BadParameter),
        ({"progress": 3}, BadParameter),
        ({"models": ["naiv"]}, BadParameter),
        ({"models": []}, BadParameter),
        ({"models": [3]}, BadParameter),
        ({"sample_weight": [1.0]}, BadValue),
    ],
)
def test_wrong_options_are_named(options, error):
    with pytest.raises(error):
        po.compare(*mixed(), **{"models": ["naive"], **options})


def test_one_class_no_rows_and_labels_that_do_not_fit_are_errors():
    X, y = mixed()
    with pytest.raises(ModelError, match="one class only"):
        po.compare(X, ["a"] * len(X))
    with pytest.raises(ValueError):
        po.compare(X[:0], [])
    with pytest.raises(BadValue, match="labels"):
        po.compare(X, y[:-1])


def test_the_board_shows_itself():
    board = po.compare(*mixed(), QUICK, cv=3)
    frame = board.frame()
    assert list(frame["model"]) == [row.name for row in board]
    assert {"log_loss", "log_loss_sd"} <= set(frame.columns)
    assert json.loads(board.to_json())["folds"] == 3
    assert str(board).splitlines()[0].split()[:3] == ["model", "log", "loss"]
    with pytest.raises(UnknownValue, match="naive"):
        board["naiv"]


def test_two_rows_are_enough_for_an_answer():
    board = po.compare({"a": [1.0, 2.0]}, ["x", "y"])
    assert board.n_folds == 2
    assert len(board) == len(lineup())


def test_what_read_gives_brings_labels_and_kinds(tmp_path):
    X, y = mixed()
    X["class"] = y
    X["n"] = np.arange(len(X)) % 3
    X.to_csv(tmp_path / "t.csv", index=False)
    table = po.read(tmp_path / "t.csv", target="class")
    board = po.compare(table, models=["naive"], cv=3)
    assert board["naive"].estimator.kinds["n"] == "categorical"


class Slow(DummyClassifier):
    """Never ends by itself."""

    def fit(self, X, y, sample_weight=None):
        while True:
            time.sleep(0.01)


def test_the_time_limit_ends_a_fit_that_would_not():
    start = time.monotonic()
    board = po.compare(*mixed(), {"baseline": "baseline", "naive": "naive", "slow": Slow()}, cv=3, time_limit=6)
    assert time.monotonic() - start < 20
    assert (board["slow"].status, board["naive"].status) == ("skipped", "finished")
    assert "fold 1 of 3 took more" in board["slow"].reason


class Slower(DummyClassifier):
    """Quick in folds whose training rows have row 0, endless in the fold in which it is tested."""

    def fit(self, X, y, sample_weight=None):
        while "first" not in set(X["c"]):
            time.sleep(0.01)
        return super().fit(X, y)


def test_a_race_that_ran_out_of_time_is_scored_by_the_folds_that_all_have_finished():
    X, y = mixed()
    third = np.flatnonzero(stratified((y == "yes").astype(int), 5, 0) == 2)[0]
    X.loc[third, "c"] = "first"
    start = time.monotonic()
    board = po.compare(X, y, {"naive": "naive", "slower": Slower(strategy="prior")}, cv=5, time_limit=7)
    assert time.monotonic() - start < 30
    assert board.n_folds == 2
    assert [len(row.folds["error"]) for row in board.finished] == [2, 2]
    assert "first 2 of 5 folds" in board.notes[-1]


def test_of_equals_the_simpler_is_first():
    board = po.compare({"a": ["u"] * 20}, [0, 1] * 10, ["tan", "naive", "aode"], cv=2)
    assert board["naive"].mean("log_loss") == pytest.approx(board["tan"].mean("log_loss"))
    assert [row.name for row in board] == ["tan", "naive", "aode"]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((1, 9), ["one row only: class 'a'"]),
        ((2, 9), ["fewer rows than the 3 folds: class 'a'"]),
        ((3, 9), []),
        ((1, 2), ["one row only: class 'a'", "fewer rows than the 3 folds: class 'b'"]),
    ],
)
def test_classes_of_few_rows_are_noted_where_folds_lack_them(counts, said):
    data = SimpleNamespace(codes=np.repeat([0, 1], counts), labels=np.array(["a", "b"]))
    assert [note.split(";")[0] for note in _notes(data, 3)] == said
