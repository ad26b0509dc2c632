"""The least change is one, and the least."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import posteriori as po


def fewest(model, row, values):
    """By trying everything: the least number of cells to change for another answer, or None."""
    said = model.predict([row])[0]
    for n in range(1, len(row) + 1):
        for where in combinations(range(len(row)), n):
            for cells in product(*(values[j] for j in where)):
                other = list(row)
                for j, cell in zip(where, cells):
                    other[j] = cell
                if model.predict([other])[0] != said:
                    return n
    return None


@given(seed=st.integers(0, 10_000), K=st.integers(2, 4))
@settings(max_examples=40)
def test_naive_bayes_changes_as_few_attributes_as_can_be(seed, K):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (40, 5)), rng.integers(0, K, 40)
    X[:, :2] = np.where(rng.random((40, 2)) < 0.6, y[:, None] % 3, X[:, :2])
    model = po.NaiveBayes(kinds="categorical").fit(X, y)
    row = X[0].tolist()
    why = model.explain([row])
    least = fewest(model, row, [list(c.values) for c in model.schema_.columns])
    if least is None:
        assert why.changes == ()
    else:
        assert {len(c.values) for c in why.changes} == {least}
    for change in why.changes:
        other = [change.values.get(f"x{j}", (None, cell))[1] for j, cell in enumerate(row)]
        assert model.predict([other])[0] == change.decision != why.decision
        assert change.probability == pytest.approx(model.predict_proba([other])[0].max())
        assert all(old == row[int(name[1:])] for name, (old, _) in change.values.items())


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 1e9]))
@settings(max_examples=25)
def test_a_number_moves_no_further_than_to_the_border(seed, scale):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(3, 1, 50)]) * scale
    model = po.GaussianBayes("tied").fit(x[:, None], np.repeat(["low", "high"], 50))
    border = model.means_.mean()  # equal shares and one variance: midway
    at = float(x[rng.integers(100)])
    (change,) = model.explain([[at]]).changes
    ((_, to),) = change.values.values()
    assert abs(to - at) == pytest.approx(abs(border - at), abs=0.26 * abs(border - at) + 1e-4 * scale)
    assert model.predict([[to]])[0] != model.predict([[at]])[0]


def test_whole_numbers_stay_whole():
    rng = np.random.default_rng(1)
    age = np.concatenate([rng.integers(18, 40, 60), rng.integers(35, 90, 60)])
    model = po.NaiveBayes(density="gaussian").fit(pd.DataFrame({"age": age}), np.repeat([0, 1], 60))
    ((_, to),) = model.explain({"age": 20}).changes[0].values.values()
    assert float(to).is_integer()


def test_fixed_columns_stay():
    X = pd.DataFrame({"a": list("ppqq") * 5, "b": list("uuvv") * 5})
    model = po.NaiveBayes().fit(X, [0, 0, 1, 1] * 5)
    assert {n for c in model.explain({"a": "p", "b": "u"}).changes for n in c.values} == {"a", "b"}
    both = model.explain({"a": "p", "b": "u"}, fixed=["a", "b"])
    assert both.changes == ()
    one = model.explain({"a": "p", "b": "v"}, fixed=["a"])
    assert all(set(c.values) == {"b"} for c in one.changes)


def test_a_missing_cell_may_be_filled():
    X = pd.DataFrame({"a": list("ppqq") * 5, "n": [0.0, 0.1, 5.0, 5.1] * 5})
    model = po.NaiveBayes(density="gaussian").fit(X, [0, 0, 1, 1] * 5)
    changes = model.explain({"a": "p", "n": None}).changes
    assert changes
    for change in changes:
        row = {"a": "p", "n": np.nan} | {name: new for name, (_, new) in change.values.items()}
        assert model.predict(row)[0] == change.decision


def test_a_wide_table_is_searched_within_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2000))
    X[25:, 7] += 6
    model = po.GaussianNB().fit(X, np.repeat([0, 1], 25))
    why = model.explain(X[[0]])
    assert why.changes == () or all(len(c.values) <= 5 for c in why.changes)
