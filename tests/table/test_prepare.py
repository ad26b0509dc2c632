"""Points from mixed columns: only the rows of `prepare` say what they are."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from posteriori.table.frame import open_frame
from posteriori.table.kinds import resolve_kinds
from posteriori.table.prepare import MOST_VALUES, _measured, prepare
from posteriori.table.schema import Column, Schema


def learned(X, kinds=None, view="one-hot"):
    frame = open_frame(X)
    return prepare(frame, Schema(tuple(map(Column, frame.names, resolve_kinds(frame, kinds)))), view)


def points(how, X):
    return how(open_frame(X).matched(how.schema.names))


def points_seen(how, X):
    return how.with_seen(open_frame(X).matched(how.schema.names))


def table():
    return pd.DataFrame(
        {"age": [20.0, 30.0, np.nan, 40.0], "job": ["a", "b", None, "a"], "on": [True, False, True, True]}
    )


def test_numbers_are_filled_and_scaled_by_the_training_rows():
    how = learned(table())
    known = points(how, table())
    assert known[:, 0].mean() == pytest.approx(0.0)
    assert known[:, 0].std() == pytest.approx(1.0)
    assert known[:, 1].tolist() == [0.0, 0.0, 1.0, 0.0]  # a gap is said
    far = points(how, pd.DataFrame({"age": [1e6], "job": ["z"], "on": [False]}))
    assert far[0, 0] > 1000
    assert far[0, 2:5].tolist() == [0.0, 0.0, 0.0]  # an unseen value is at no corner
    assert np.array_equal(points(how, table()), known)


def test_missing_and_unseen_cells_are_counted():
    X = pd.DataFrame({"age": [np.nan, 1.0], "job": ["z", None], "on": [True, True]})
    _, seen = points_seen(learned(table()), X)
    assert (seen.missing, seen.unseen) == (2, 1)


def test_rare_values_share_a_corner_and_pickling_keeps_it():
    job = [f"v{i}" for i in range(MOST_VALUES + 5)] + [f"v{i}" for i in range(MOST_VALUES)]
    how = pickle.loads(pickle.dumps(learned(pd.DataFrame({"job": job}))))
    rare = points(how, pd.DataFrame({"job": [f"v{MOST_VALUES + 1}", f"v{MOST_VALUES + 3}", "never"]}))
    assert np.array_equal(rare[0], rare[1])
    assert rare[0].sum() == 1.0
    assert rare[2].sum() == 1.0  # as rare as can be


def test_many_coordinates_are_sparse_and_the_same():
    wide = pd.DataFrame({f"c{j}": [f"{j}{i}" for i in range(60)] for j in range(12)})
    found = points(learned(wide), wide)
    assert sparse.issparse(found)
    assert found.sum() == 60 * 12


def test_words_of_a_text():
    text = pd.DataFrame({"say": ["win cash cash", "see you", None]})
    found = points(learned(text, {"say": "text"}), text)
    assert found.toarray().max() == pytest.approx(np.log(3))
    assert points(learned(text[:2], {"say": "text"}), text[2:]).nnz == 0


def test_ordinal_keeps_missing_numbers_missing():
    found = points(learned(table(), view="ordinal"), table())
    assert np.isnan(found[2, 0])
    assert found.shape == (4, 3)


def test_a_constant_or_an_empty_column_stays_finite():
    odd = pd.DataFrame({"c": [7.0, 7.0], "none": [np.nan, np.nan]})
    assert np.isfinite(points(learned(odd), odd)).all()


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d"]))
numbers = st.one_of(st.just(np.nan), st.floats(-1e6, 1e6))


@given(st.lists(st.tuples(numbers, cells, cells), min_size=1, max_size=30), st.sampled_from(["one-hot", "ordinal"]))
@settings(max_examples=60, deadline=None)
def test_a_row_is_itself_whatever_stands_beside_it(rows, view):
    """Points of a row are those it has alone; every coordinate belongs to the column that moves it."""
    X = {"n": np.array([r[0] for r in rows]), "a": [r[1] for r in rows], "b": [r[2] for r in rows]}
    how = learned(X, {"n": "numeric", "a": "categorical", "b": "categorical"}, view)
    whole = points(how, X)
    assert whole.shape == (len(rows), len(how.owner))
    for i in range(len(rows)):
        alone = points(how, {name: np.array([column[i]], dtype=object) for name, column in X.items()})
        assert np.array_equal(alone[0], whole[i], equal_nan=True)
    changed = points(how, {**X, "a": ["never"] * len(rows)})
    same = (changed == whole) | (np.isnan(changed) & np.isnan(whole))
    assert same[:, how.owner != 1].all()
    if view == "one-hot":
        assert (changed[:, how.owner == 1] == 0).all()
        assert (whole[:, how.owner == 2].sum(axis=1) == 1).all()  # of a value or a gap that training had


def test_what_is_kept_of_numbers_is_their_middle_mean_spread_and_ends():
    x = np.array(
        [[1.0, np.nan, 5.0], [4.0, np.nan, 5.0], [np.nan, np.nan, 5.0], [7.0, np.nan, 5.0], [-9.0, np.nan, 5.0]]
    )
    found, gaps = _measured(open_frame(x), [0, 1, 2])
    filled = np.array([1.0, 4.0, 2.5, 7.0, -9.0])
    assert found[:, 0] == pytest.approx([2.5, filled.mean(), filled.std(), -9.0, 7.0])
    assert found[:, 1].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert found[:, 2].tolist() == [5.0, 5.0, 1.0, 5.0, 5.0]
    assert gaps.tolist() == [0, 1]


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=1, max_size=12),
    st.sampled_from(["one-hot", "ordinal"]),
)
def test_only_values_that_rows_have_are_known(cells, view):
    """Categories of a dtype that no cell has are no values: neither a corner, nor known to the schema."""
    X = pd.DataFrame({"c": pd.Categorical(cells, categories=["d", "c", "b", "a", "never"])})
    how = learned(X, {"c": "categorical"}, view)
    there = set(cells) - {None}
    (column,) = how.schema.columns
    assert set(column.values) == there
    assert len(column.values) == len(there)
    asked = ["a", "b", "c", "d", "never", None]
    found, seen = points_seen(how, pd.DataFrame({"c": asked}, dtype=object))
    assert seen.unseen == sum(v not in there for v in asked[:-1])
    assert seen.missing == 1
    if view == "one-hot":
        assert found.shape == (6, len(there) + (None in cells))
        assert found.sum(axis=1).tolist() == [float(v in there or (v is None and None in cells)) for v in asked]
        assert (found.sum(axis=0) == 1.0).all()
    else:
        assert np.isnan(found[:, 0]).tolist() == [v not in there and not (v is None and None in cells) for v in asked]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-3, 9), st.integers(0, 4)), min_size=1, max_size=9))
def test_of_a_range_of_integers_only_those_that_stand_in_it_are_known(cells):
    X = np.array(cells)
    frame = open_frame(X)
    how = prepare(frame, Schema((Column("u", "categorical"), Column("v", "categorical"))))
    for j, column in enumerate(how.schema.columns):
        assert column.values == tuple(sorted(set(X[:, j].tolist())))
    found = how(frame)
    wanted = [X[:, j] == v for j in (0, 1) for v in sorted(set(X[:, j].tolist()))]
    assert np.array_equal(found, np.column_stack(wanted).astype(float))
