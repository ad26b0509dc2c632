"""The rows of a race: checked once, those of no weight left out, folds that share what they made of training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from posteriori.decision.on_points import OnPoints
from posteriori.errors import BadValue, ModelError
from posteriori.leaderboard.data import Data, Fold, names_of
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
