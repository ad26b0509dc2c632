"""Points from mixed columns: only the rows of `fit` say what they are."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from posteriori.leaderboard.prepare import MOST_VALUES, Prepare


def table():
    return pd.DataFrame(
        {"age": [20.0, 30.0, np.nan, 40.0], "job": ["a", "b", None, "a"], "on": [True, False, True, True]}
    )


def test_numbers_are_filled_and_scaled_by_the_training_rows():
    fitted = Prepare().fit(table())
    known = fitted.transform(table())
    assert known[:, 0].mean() == pytest.approx(0.0)
    assert known[:, 0].std() == pytest.approx(1.0)
    assert known[:, 1].tolist() == [0.0, 0.0, 1.0, 0.0]  # a gap is said
    far = fitted.transform(pd.DataFrame({"age": [1e6], "job": ["z"], "on": [False]}))
    assert far[0, 0] > 1000
    assert far[0, 2:5].tolist() == [0.0, 0.0, 0.0]  # an unseen value is at no corner
    assert np.array_equal(fitted.transform(table()), known)


def test_columns_are_matched_by_name():
    fitted = Prepare().fit(table())
    assert np.array_equal(fitted.transform(table()[["on", "job", "age"]]), fitted.transform(table()))


def test_rare_values_share_a_corner_and_pickling_keeps_it():
    job = [f"v{i}" for i in range(MOST_VALUES + 5)] + [f"v{i}" for i in range(MOST_VALUES)]
    fitted = pickle.loads(pickle.dumps(Prepare().fit(pd.DataFrame({"job": job}))))
    rare = fitted.transform(pd.DataFrame({"job": [f"v{MOST_VALUES + 1}", f"v{MOST_VALUES + 3}", "never"]}))
    assert np.array_equal(rare[0], rare[1])
    assert rare[0].sum() == 1.0
    assert rare[2].sum() == 1.0  # as rare as can be


def test_many_coordinates_are_sparse_and_the_same():
    wide = pd.DataFrame({f"c{j}": [f"{j}{i}" for i in range(60)] for j in range(12)})
    found = Prepare().fit(wide).transform(wide)
    assert sparse.issparse(found)
    assert found.sum() == 60 * 12


def test_words_of_a_text():
    text = pd.DataFrame({"say": ["win cash cash", "see you", None]})
    found = Prepare({"say": "text"}).fit(text).transform(text)
    assert found.toarray().max() == pytest.approx(np.log(3))
    assert Prepare({"say": "text"}).fit(text[:2]).transform(text[2:]).nnz == 0


def test_ordinal_keeps_missing_numbers_missing():
    found = Prepare(view="ordinal").fit(table()).transform(table())
    assert np.isnan(found[2, 0])
    assert found.shape == (4, 3)


def test_a_constant_or_an_empty_column_stays_finite():
    odd = pd.DataFrame({"c": [7.0, 7.0], "none": [np.nan, np.nan]})
    assert np.isfinite(Prepare().fit(odd).transform(odd)).all()
