"""What a report rests on: rows, folds and posteriors as they were told; a survey that counts what the rows have."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss

import posteriori as po
from posteriori.decision.folds import stratified
from posteriori.errors import BadValue, ModelError
from posteriori.explain.whatif import FEWEST_ROWS
from posteriori.report.evidence import BINS, MOST_COLUMNS, MOST_VALUES, class_order, gather, ranking, survey
from posteriori.table.frame import open_frame


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
    assert e.scores["log_loss"] == pytest.approx(log_loss(codes, p), rel=1e-6)
    assert e.scores["calibration_error"] == pytest.approx(po.calibration_error(p, codes))
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
    fold = stratified(e.y, 3, 5)
    for f in range(3):
        fresh = clone(model).fit(X[fold != f], y[fold != f])
        assert np.allclose(e.posterior[fold == f], fresh.predict_proba(X[fold == f]))
    assert e.unseen
    assert e.target == "where"


def test_a_class_of_one_row_is_left_to_the_others():
    X, y = {"a": ["u", "v"] * 6 + ["u"]}, ["p", "q"] * 6 + ["alone"]
    e = gathered(po.NaiveBayes().fit(X, y), X, y, folds=13)
    assert e.unseen
    assert e.posterior[-1, 0] == 0  # no other row has that class
    two = gathered(po.NaiveBayes().fit({"a": ["u", "v"]}, ["p", "q"]), {"a": ["u", "v"]}, ["p", "q"])
    assert two.scores["log_loss"] == pytest.approx(36.04, abs=0.01)  # as the leaderboard counts a class never seen
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
    assert e.called == gathered(po.NaiveBayes().fit(X, y), X, y).called == "NaiveBayes"
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


def skies(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sky = np.array(["blue", "grey", "green"])[np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n))]
    return pd.DataFrame({"sky": sky, "warm": rng.normal(15 + 4 * y, 3)}), np.array(["in", "out"])[y]


def told(model, X, y, board=None, chosen=None, folds=None, seed=0, **options):
    loss, reject = options.pop("loss", None), options.pop("reject", None)
    weight = options.pop("sample_weight", None)
    return gather(model, X, y, None, loss, reject, False, folds, seed, weight, board, chosen)


SAME = ("log_loss", "error", "brier", "calibration_error")


@pytest.mark.parametrize("name", ["naive", "tan", "svc", "knn"])
def test_the_figures_are_the_leaderboard_s(name):
    X, y = skies()
    board = po.compare(X, y, ["baseline", name], cv=4, seed=3, loss={"in": 1, "out": 5})
    fitted = board[name].estimator.fit(X, y)
    by_board = told(fitted, X, y, board, name, loss={"in": 1, "out": 5})
    by_itself = told(fitted, X, y, folds=4, seed=3, loss={"in": 1, "out": 5})
    for e in (by_board, by_itself):
        assert e.unseen
        for score in (*SAME, "cost"):
            assert e.scores[score] == pytest.approx(board[name].mean(score), abs=1e-12), score
            assert e.baseline[score] == pytest.approx(board["baseline"].mean(score), abs=1e-12), score
    assert np.array_equal(by_board.posterior, by_itself.posterior)


def test_a_board_of_other_rows_is_not_taken():
    X, y = skies()
    board = po.compare(X, y, ["naive"], cv=4)
    other = y[::-1].copy()
    e = told(po.NaiveBayes().fit(X, other), X, other, board, "naive")
    assert not np.array_equal(e.posterior, board["naive"].posterior)
    assert e.unseen


def test_no_fold_knows_a_value_of_its_test_rows():
    """A schema with all values is told to the model; the folds are judged without it."""
    X, y = skies()
    X.loc[3, "sky"] = "violet"
    schema = po.Schema.infer(X, y)
    fitted = po.NaiveBayes(kinds=schema).fit(X, y)
    plain = po.NaiveBayes(kinds=dict(zip(schema.names, schema.kinds))).fit(X, y)
    assert np.array_equal(told(fitted, X, y, folds=3).posterior, told(plain, X, y, folds=3).posterior)


def test_a_frozen_model_is_judged_by_models_that_had_not_seen_the_rows():
    X, y = skies()
    inside = po.NaiveBayes().fit(X, y)
    frozen = po.RiskClassifier(FrozenEstimator(inside), reject=0.3)
    assert np.array_equal(told(frozen, X, y, folds=3).posterior, told(inside, X, y, folds=3).posterior)


def test_a_weight_of_none_is_no_row_and_weights_count_in_every_figure():
    X, y = skies()
    w = np.arange(len(y)) % 3
    model = po.NaiveBayes().fit(X, y, sample_weight=w)
    e = told(model, X, y, folds=3, sample_weight=w)
    left = told(model, X[w > 0].reset_index(drop=True), y[w > 0], folds=3, sample_weight=w[w > 0])
    assert e.scores == pytest.approx(left.scores)
    assert e.frame.n == (w > 0).sum()
    assert e.count.sum() == w.sum()
    board = po.compare(X, y, ["naive"], cv=3, sample_weight=w)
    again = told(model, X, y, board, "naive", sample_weight=w)
    assert again.scores["log_loss"] == pytest.approx(board["naive"].mean("log_loss"), abs=1e-12)
    assert told(model, X, y, folds=3).scores != pytest.approx(e.scores)


def test_a_report_of_weighted_rows(tmp_path):
    X, y = skies()
    model = po.NaiveBayes().fit(X, y)
    one = po.write_report(tmp_path / "a.html", model, X, y, sample_weight=np.full(len(y), 2.5)).read_text()
    assert "225" in one  # 90 rows of 2.5


def counted(X, y, kinds, rows=False, classes=("a", "b", "c"), ranked=None):
    frame = open_frame(pd.DataFrame(X))
    ranked = ranked if ranked is not None else [(j, None, "") for j in range(frame.d)]
    return survey(frame, kinds, np.asarray(y), np.ones(len(y)), classes, ranked, rows)


@given(st.integers(0, 1000), st.integers(5, 200), st.booleans())
def test_shares_are_those_of_each_class(seed, n, rows):
    rng = np.random.default_rng(seed)
    y, word = rng.integers(0, 3, n), rng.choice(list("uvwxyz") + ["rare", "also"], n, p=[0.16] * 6 + [0.03, 0.01])
    holes = rng.random(n) < 0.1
    cells = pd.Series(np.where(holes, None, word), dtype=object)
    found = counted({"x": cells}, y, ("categorical",), rows).columns[0]
    by_hand = cells.value_counts()
    assert found.n_values == len(by_hand)
    assert found.missing == pytest.approx(holes.mean())
    assert len(found.labels) == min(len(by_hand), MOST_VALUES)
    assert sorted(by_hand, reverse=True)[:MOST_VALUES] == [
        round(float((found.table[i] * [((y == k) & ~holes).sum() for k in range(3)]).sum()))
        for i in range(len(found.labels))
    ]
    for label, shares in zip(found.labels, found.table):
        if label is None:
            assert not rows
            continue
        assert rows or by_hand[label] >= FEWEST_ROWS
        for k in range(3):
            whole = ((y == k) & ~holes).sum()
            assert shares[k] == pytest.approx(((cells == label) & (y == k)).sum() / max(whole, 1))


@given(st.integers(0, 1000), st.integers(30, 300))
def test_bins_hold_every_number(seed, n):
    rng = np.random.default_rng(seed)
    y, x = rng.integers(0, 3, n), rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    x[0], x[1] = 50.0, -50.0  # beyond: they are taken into the ends
    found = counted({"x": x}, y, ("numeric",)).columns[0]
    seen = ~np.isnan(x)
    assert found.missing == pytest.approx(1 - seen.mean())
    assert 2 <= len(found.grid) <= BINS + 3
    assert np.allclose(np.diff(found.grid), found.grid[1] - found.grid[0])
    edges = np.concatenate([[-np.inf], found.grid[1:-1], [np.inf]])
    for k in range(3):
        own = x[seen & (y == k)]
        wanted = np.array([((a <= own) & (own < b)).sum() for a, b in itertools.pairwise(edges)])
        assert found.table[:, k] == pytest.approx(wanted / max(len(own), 1))
    assert found.labels == ()
    assert found.n_values is None


def test_columns_without_a_picture():
    X = {"none": [np.nan] * 8, "same": [2.0] * 8, "said": ["a b", None, "c", "d"] * 2}
    found = counted(X, [0, 1] * 4, ("numeric", "numeric", "text"), classes=("a", "b"))
    assert [c.table is None for c in found.columns] == [True, found.columns[1].grid is None, True]
    assert [c.missing for c in found.columns] == [1.0, 0.0, 0.25]
    assert found.missing == pytest.approx(1.25 / 3)
    assert (found.n, found.d, found.left_out) == (8, 3, 0)
    assert found.class_count.tolist() == [4, 4]
    wide = counted({f"x{j}": [1.0, 2.0] for j in range(MOST_COLUMNS + 7)}, [0, 1], ("numeric",) * (MOST_COLUMNS + 7))
    assert (len(wide.columns), wide.left_out) == (MOST_COLUMNS, 7)


def test_columns_come_as_the_model_ranks_them():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({"noise": rng.choice(["u", "v"], 80), "signal": y.astype(str)})
    model = po.NaiveBayes().fit(X, y)
    ranked = ranking(model, 2)
    assert [j for j, _, _ in ranked] == [1, 0]
    assert ranked[0][1] == pytest.approx(model.summary()["information"].max())
    assert counted(X, y, ("categorical",) * 2, ranked=ranked).columns[0].name == "signal"
    assert ranking(object(), 3) == [(0, None, ""), (1, None, ""), (2, None, "")]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(1, 9))
def test_the_commonest_classes_keep_their_order(count, most):
    found = class_order(np.array(count), most)
    assert found == sorted(found)
    assert len(found) == min(most, len(count))
    left = [c for i, c in enumerate(count) if i not in found]
    assert not left or max(left) <= min(count[i] for i in found)
