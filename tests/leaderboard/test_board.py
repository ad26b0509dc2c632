"""The board as a value: means, spreads, order, text, frame, JSON; scores against scikit-learn's and their formulas
written another way.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import posteriori as po
from posteriori.errors import BadValue, ModelError, UnknownValue
from posteriori.leaderboard import board as scores
from posteriori.leaderboard.board import HEADS, SCORES, Leaderboard, Row, cell, text_lines

numbers = st.lists(st.floats(0, 1e3), min_size=1, max_size=6)


@given(numbers)
def test_a_row_has_the_mean_and_the_spread_of_its_folds(values):
    row = Row("a", "model", None, folds={"error": tuple(values)})
    assert row.mean("error") == pytest.approx(np.mean(values))
    assert row.sd("error") == pytest.approx(np.std(values, ddof=1)) if len(values) > 1 else math.isnan(row.sd("error"))
    assert math.isnan(row.mean("cost"))
    assert math.isnan(row.sd("cost"))


def test_a_score_of_all_rows_together_is_no_mean_of_folds():
    row = Row("a", "model", None, folds={"calibration_error": (0.5, 0.7)}, pooled={"calibration_error": (0.1, 0.02)})
    assert (row.mean("calibration_error"), row.sd("calibration_error")) == (0.1, 0.02)


@pytest.mark.parametrize(
    ("values", "score", "spread", "shown"),
    [
        ((0.25, 0.75), "error", True, "0.500 ±.354"),
        ((0.25, 0.75), "error", False, "0.500"),
        ((0.5,), "error", True, "0.500"),
        ((), "error", True, "–"),
        ((12.0, 14.0), "fit_seconds", False, "13"),
        ((1.24, 1.26), "fit_seconds", False, "1.2"),
        ((0.0123, 0.0123), "fit_seconds", False, "0.012"),
        ((0.0,), "fit_seconds", False, "0.0"),
        ((100.0, 104.0), "row_microseconds", True, "102 ±3"),
    ],
)
def test_a_cell_has_as_many_digits_as_it_deserves(values, score, spread, shown):
    assert cell(Row("a", "", None, folds={score: values} if values else {}), score, spread) == shown


def board():
    rows = (
        Row("best", "first", None, folds={"log_loss": (0.1, 0.3), "fit_seconds": (1.0, 2.0)}, notes=("slow",)),
        Row("next", "second", None, folds={"log_loss": (0.4, 0.6), "fit_seconds": (0.1, 0.2)}),
        Row("bad", "third", None, "failed", "fold 1: it broke"),
        Row("late", "fourth", None, "skipped", "no time"),
    )
    return Leaderboard(rows, "log_loss", 2, 10, (np.int64(0), np.int64(1)), ("a note",))


def test_rows_by_name_and_by_status():
    found = board()
    assert len(found) == 4
    assert [row.name for row in found] == ["best", "next", "bad", "late"]
    assert [row.name for row in found.finished] == ["best", "next"]
    assert found.best is found["best"]
    assert found.scores == ("log_loss", "fit_seconds")
    with pytest.raises(UnknownValue, match="did you mean 'best'"):
        found["bset"]
    with pytest.raises(ModelError, match="bad: fold 1: it broke"):
        _ = Leaderboard(found.rows[2:], "log_loss", 2, 10).best


def test_text_has_every_model_and_every_reason():
    lines = list(text_lines(board()))
    assert lines[0].split() == ["model", "log", "loss", "fit", "s"]
    assert [line.split()[0] for line in lines[1:3]] == ["best", "next"]
    assert lines[3:] == ["bad: failed, fold 1: it broke", "late: skipped, no time", "best: slow", "a note"]
    assert str(board()) == "\n".join(lines)
    assert len({len(line) for line in lines[:3]}) == 1  # one column under the other


@pytest.mark.parametrize("name", ["a", "a name that is longer than any score"])
def test_columns_stand_under_their_heads_however_long_a_name_is(name):
    lines = list(text_lines(Leaderboard((Row(name, "", None, folds={"log_loss": (0.5,)}),), "log_loss", 1, 9)))
    assert lines == [f"{'model':{max(len(name), 5)}}  log loss", f"{name:{max(len(name), 5)}}     0.500"]


def test_frame_and_json_say_the_same():
    found, frame = board(), board().frame()
    told = json.loads(found.to_json())
    assert told["classes"] == [0, 1]
    assert (told["by"], told["folds"], told["rows"], told["notes"]) == ("log_loss", 2, 10, ["a note"])
    for i, row in enumerate(told["models"]):
        assert row["model"] == frame["model"][i]
        assert row["status"] == frame["status"][i]
        for score in found.scores:
            same = row[score] if row[score] is not None else math.nan
            assert same == pytest.approx(frame[score][i], nan_ok=True)
    assert told["models"][0]["folds"]["log_loss"] == [0.1, 0.3]
    assert told["models"][2]["log_loss"] is None


def test_every_score_has_a_head():
    assert set(SCORES) == set(HEADS)


def draw(seed, n, k):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, rng.integers(0, k, n), rng.random(n) + 0.1


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 5))
def test_scores_are_those_of_scikit_learn(seed, n, k):
    p, y, w = draw(seed, n, k)
    labels = list(range(k))
    expected = metrics.log_loss(y, p, sample_weight=w, labels=labels)
    assert scores.log_loss(p, y, w) == pytest.approx(expected, rel=1e-9)
    assert scores.error(p, y, w) == pytest.approx(1 - metrics.accuracy_score(y, p.argmax(axis=1), sample_weight=w))
    whole = metrics.brier_score_loss(y, p, sample_weight=w, labels=labels, scale_by_half=False)
    assert scores.brier(p, y, w) == pytest.approx(whole, rel=1e-9, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(2, 5))
def test_calibration_error_is_the_sum_over_bins(seed, n, k):
    p, y, w = draw(seed, n, k)
    confidence, hit = p.max(axis=1), (p.argmax(axis=1) == y).astype(float)
    total = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            gap = np.average(hit[inside], weights=w[inside]) - np.average(confidence[inside], weights=w[inside])
            total += w[inside].sum() / w.sum() * abs(gap)
    assert scores.calibration_error(p, y, w) == pytest.approx(total, abs=1e-12)


@given(st.integers(0, 10**6))
def test_cost_is_the_mean_loss_of_what_decide_says(seed):
    p, y, w = draw(seed, 40, 3)
    loss = po.Loss([[0, 1, 5], [2, 0, 1], [9, 3, 0]], classes=[0, 1, 2]).with_reject(0.7)
    said = po.decide(p, loss, classes=[0, 1, 2])
    assert scores.cost(p, y, w, loss) == pytest.approx(po.mean_loss(y, said, loss, sample_weight=w))


def test_a_class_without_probability_costs_thirty_six_nats_and_no_infinity():
    p = scores.over_classes(np.array([[1.0]]), [0], 2)
    assert scores.log_loss(p, np.array([1]), np.ones(1)) == pytest.approx(36.0437, abs=1e-3)
    assert scores.error(p, np.array([1]), np.ones(1)) == 1.0


@pytest.mark.parametrize("p", [[[0.5, 0.2]], [[np.nan, 1.0]], [[-0.5, 1.5]], [[1.0]]])
def test_what_is_no_posterior_is_refused(p):
    with pytest.raises(BadValue):
        scores.over_classes(np.array(p), [0, 1], 2)


def test_a_board_is_shown_without_the_fold_and_class_of_every_row():
    rows = (Row("a", "", None, folds={"log_loss": (0.5,)}),)
    long = Leaderboard(rows, "log_loss", 1, 9, fold=np.arange(9), truth=np.arange(9))
    assert repr(long) == repr(Leaderboard(rows, "log_loss", 1, 9))
    assert "array" not in repr(long)
    short = Leaderboard(rows, "log_loss", 1, 9)
    assert (short.fold.tolist(), short.truth.tolist()) == ([], [])


@pytest.mark.parametrize("off", [0.0, 9e-4, -9e-4, 1.1e-3, -1.1e-3, np.nan])
def test_a_posterior_may_be_off_by_a_thousandth(off):
    p = np.array([[0.25, 0.75], [0.5, 0.5 + off]])
    if abs(off) < 1e-3:
        found = scores.over_classes(p, [2, 0], 3)
        assert found.tolist() == [[0.75, 0.0, 0.25], [0.5 + off, 0.0, 0.5]]
    else:
        with pytest.raises(BadValue, match="row 1 of the test rows"):
            scores.over_classes(p, [2, 0], 3)
    with pytest.raises(BadValue, match="row 0 of the test rows"):
        scores.over_classes(np.array([[-0.1, 1.1]]), [0, 1], 2)
    with pytest.raises(BadValue, match=r"the shape \(2, 2\), where there are 3 classes"):
        scores.over_classes(p, [0, 1, 2], 3)
