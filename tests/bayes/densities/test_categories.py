"""Categories of a sparse table: the joint is the product of its cells, to the last zero."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import posteriori as po
from posteriori.bayes.densities import Categories
from posteriori.table.frame import open_frame


@given(seed=st.integers(0, 2**32 - 1), smoothing=st.sampled_from([0.0, 0.5]))
def test_a_sparse_table_has_the_joint_of_a_dense_one(seed, smoothing):
    """Without smoothing a cell may be impossible: one such cell of a row is enough."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (6, 3)), np.array([0, 0, 0, 1, 1, 1])
    X[0] = 1 - X[3]  # both values of every column are known
    rows = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    theta = np.array([(X[y == c].sum(axis=0) + smoothing) / (3 + 2 * smoothing) for c in (0, 1)])
    joint = 0.5 * np.prod(np.where(rows[:, None] == 1, theta, 1 - theta), axis=2)
    model = po.NaiveBayes(smoothing=smoothing, kinds="binary").fit(sparse.csr_matrix(X == 1), y)
    assert np.exp(model.predict_joint_log_proba(sparse.csr_matrix(rows == 1))) == pytest.approx(joint)


def table(smoothing=0.5, unseen="missing"):
    """A model of three columns of 3, 2 and 4 values, with gaps, and its rows."""
    rng = np.random.default_rng(0)
    y = np.concatenate([[0, 1, 2], rng.integers(0, 3, 40)])
    X = pd.DataFrame(
        {
            "a": rng.choice(["u", "v", "w"], 43),
            "b": rng.choice([True, False], 43),
            "c": rng.choice([1, 2, 5, 9], 43),
        }
    ).astype(object)
    X.loc[::9, "c"] = None
    model = po.NaiveBayes(kinds={"a": "categorical", "b": "binary", "c": "categorical"}).fit(X, y)
    return Categories(model.statistics_, smoothing, unseen), X, y, model


def chances(X, y, name, value, lam=0.5, more=0):
    """(N + λ)/(N_y + (S + more)λ) by counting."""
    there = X[name].notna()
    size = X[name].dropna().nunique() + more
    n = [((X[name] == value) & there & (y == k)).sum() for k in range(3)]
    return (np.array(n) + lam) / ([(there & (y == k)).sum() + size * lam for k in range(3)])


@pytest.mark.parametrize("unseen", ["missing", "mass"])
def test_cells_are_counted_by_hand_and_strangers_told(unseen):
    found, X, y, _ = table(unseen=unseen)
    asked = pd.DataFrame({"a": ["w", "new", None, "u"], "b": [True, False, True, None], "c": [9, 7, 5, None]})
    frame = open_frame(asked.astype(object))
    start = np.log([0.2, 0.3, 0.5])
    (whole, seen), parts = found.add_to(start, frame, 1), found.parts(frame)
    assert (seen.missing, seen.unseen) == (3, 2)
    assert parts.shape == (4, 3, 3)
    for i, j in np.ndindex(4, 3):
        name, value = asked.columns[j], asked.iloc[i, j]
        if value is None or pd.isna(value):
            expected = np.ones(3)
        elif value in ("new", 7):
            expected = chances(X, y, name, value, more=1) if unseen == "mass" else np.ones(3)
        else:
            expected = chances(X, y, name, value)
        assert np.exp(parts[i, j]) == pytest.approx(expected), (i, j)
    assert whole == pytest.approx(start + parts.sum(axis=1))


def test_a_value_of_another_type_is_warned_of_if_a_row_has_it():
    found, _, _, _ = table()
    asked = pd.DataFrame({"a": ["u"], "b": [True], "c": ["9"]}).astype(object)
    with pytest.warns(UserWarning, match="'c'"):
        found.add_to(np.zeros(3), open_frame(asked), 1)


def test_values_are_drawn_with_their_chances():
    found, X, y, _ = table()
    n = 6000
    for k in range(3):
        for name, drawn in zip(X.columns, found.draw(np.full(n, k), np.random.default_rng(k))):
            for value in X[name].dropna().unique():
                p = chances(X, y, name, value)[k]
                assert (drawn == value).mean() == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))
    tables = found.tables(None)
    assert list(tables) == ["a", "b", "c"]
    assert tables["c"][5] == pytest.approx(chances(X, y, "c", 5))
    assert [len(t) for t in tables.values()] == [3, 2, 4]


def test_a_column_of_no_values_says_nothing():
    model = po.NaiveBayes(kinds="categorical").fit({"a": ["u", "v"], "gap": [None, None]}, [0, 1])
    found = Categories(model.statistics_, 1.0, "missing")
    frame = open_frame({"a": ["u"], "gap": np.array([None], dtype=object)})
    assert np.exp(found.parts(frame)[0]) == pytest.approx(np.array([[2 / 3, 1 / 3], [1.0, 1.0]]))
    assert found.draw(np.array([0, 1]), np.random.default_rng(0))[1].tolist() == [None, None]


def test_bins_are_values():
    """Names, draws and codes of numbers that were cut."""
    x, y = np.arange(40.0), np.arange(40) // 20
    model = po.TAN().fit({"x": x, "s": np.where(y, "u", "v")}, y)
    found = Categories(model.statistics_, 1.0, "missing")
    (cut,) = model.cuts_["x"]
    assert 19 < cut <= 20
    assert len(found.names(0)) == 2
    assert list(found.names(1)) == ["u", "v"]
    parts = np.exp(found.parts(open_frame({"x": [3.0, 33.0, np.nan], "s": ["u", "u", "v"]})))
    assert parts[:, 0] == pytest.approx(np.array([[21 / 22, 1 / 22], [1 / 22, 21 / 22], [1.0, 1.0]]))
    drawn = found.draw(np.repeat([0, 1], 2000), np.random.default_rng(0))[0]
    assert (drawn[:2000] < cut).mean() == pytest.approx(21 / 22, abs=0.02)
    assert (drawn[2000:] < cut).mean() == pytest.approx(1 / 22, abs=0.02)


def test_some_columns_of_a_sparse_table():
    X, y = np.array([[1, 0, 3], [0, 1, 0], [1, 1, 2], [0, 0, 1]]), [0, 1, 1, 0]
    kinds = {"x0": "binary", "x1": "binary", "x2": "count"}
    dense, thin = (po.NaiveBayes(kinds=kinds).fit(form(X), y) for form in (np.asarray, sparse.csr_matrix))
    assert thin.predict_joint_log_proba(sparse.csr_matrix(X)) == pytest.approx(dense.predict_joint_log_proba(X))
    stored = sparse.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))  # a zero kept
    assert thin.predict_joint_log_proba(stored) == pytest.approx(dense.predict_joint_log_proba([[0, 1, 0]]))
    factors = thin.factored_.parts(open_frame(stored))
    assert factors == pytest.approx(dense.factored_.parts(open_frame(np.array([[0, 1, 0]]))))
