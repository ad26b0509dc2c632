"""A row and its copies: in the form that its model takes, cell by cell."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import posteriori as po
from posteriori.errors import BadValue
from posteriori.explain.rows import Case


def model():
    X = {"warm": [1.5, 2.5, 3.5, 4.5], "sky": ["blue", "grey", "blue", None], "times": [1, 2, 3, 4]}
    return po.NaiveBayes(kinds={"times": "count"}, density="gaussian").fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("form", [dict, lambda r: pd.DataFrame([r]), pd.Series], ids=["dict", "frame", "series"])
def test_a_row_by_its_cells(form):
    case = Case(model(), form({"sky": "blue", "times": 3, "warm": 2.0}))
    assert case.names == ("warm", "sky", "times")
    assert case.cells == [2.0, "blue", 3]
    assert [case.measured(j) for j in range(3)] == [True, False, True]
    copies = case.copies([{}, {0: 9.5, 1: "grey"}, {0: None, 1: None}])
    assert copies.names == ("warm", "sky", "times")
    warm, sky, times = copies.columns
    assert warm.dtype == times.dtype == np.float64
    assert warm.tolist()[:2] == [2.0, 9.5]
    assert np.isnan(warm[2])
    assert sky.tolist() == ["blue", "grey", None]
    assert times.tolist() == [3.0, 3.0, 3.0]
    assert case.table.n == 1


def test_empty_cells_and_numbers_in_any_spelling():
    case = Case(model(), {"warm": "2.5", "sky": None, "times": np.nan})
    assert case.cells[0] == 2.5
    assert [case.missing(j) for j in range(3)] == [False, True, True]
    when = {"d": np.array(["2020-01-01", "2020-01-03"] * 2, dtype="datetime64[D]")}
    day = po.NaiveBayes(density="gaussian").fit(when, [0, 1, 0, 1])
    assert Case(day, {"d": datetime.datetime(1970, 1, 11)}).cells == [10.0]
    for none in (pd.NA, pd.NaT, None):
        assert (
            Case(model(), pd.DataFrame({"warm": [1.0], "sky": pd.Series([none], dtype=object), "times": [1]})).cells[1]
            is None
        )


def test_one_row_it_must_be():
    for n in (0, 2):
        with pytest.raises(BadValue, match=f"explain takes one row. Got {n}"):
            Case(model(), {"warm": [1.0] * n, "sky": ["blue"] * n, "times": [1] * n})


def test_rows_without_names_are_arrays():
    X = np.arange(12.0).reshape(4, 3)
    bare = po.GaussianNB().fit(X, [0, 1, 0, 1])
    case = Case(bare, X[:1])
    assert not case.named
    copies = case.copies([{1: 9.0}])
    assert isinstance(copies, np.ndarray)
    assert copies.tolist() == [[0.0, 9.0, 2.0]]
    assert copies.dtype == np.float64
    coded = po.CategoricalNB().fit(np.array([[0, 1], [1, 0]]), [0, 1])
    assert not Case(coded, np.array([[0, 1]])).measured(0)
    assert Case(coded, np.array([[0, 1]])).copies([{0: 1}]).tolist() == [[1, 1]]


def test_a_foreign_model_gets_its_columns_in_order():
    X = pd.DataFrame({"b": [0.0, 1.0], "a": [1.0, 0.0]})
    foreign = LogisticRegression().fit(X, [0, 1])
    case = Case(foreign, {"a": 5.0, "b": 7.0})
    assert case.names == ("b", "a")
    assert case.copies([{}]).to_numpy().tolist() == [[7.0, 5.0]]
    assert not Case(foreign, pd.DataFrame({"b": [True], "a": [1.0]})).measured(0)
