"""What the discrete drop-ins share, beside scikit-learn: the prior in its three forms."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import naive_bayes as sk

import posteriori as po

X, Y = np.array([[0, 1, 2], [1, 0, 0], [2, 1, 1], [0, 0, 1], [1, 2, 0]]), np.array([0, 1, 2, 0, 0])


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("how", [{}, {"fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}], ids=str)
def test_the_prior_is_scikit_learns(name, how):
    mine, theirs = (getattr(library, name)(**how).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["BernoulliNB", "ComplementNB", "MultinomialNB"])
@given(seed=st.integers(0, 2**32 - 1))
def test_cells_that_are_stored_twice_are_their_sum(name, seed):
    rng = np.random.default_rng(seed)
    n, d, m = 8, 5, 30
    place = rng.integers(0, n, m), rng.integers(0, d, m)
    data, y = rng.integers(0, 3, m).astype(float), np.arange(n) % 3
    order = np.argsort(place[0], kind="stable")
    indptr = np.searchsorted(place[0][order], np.arange(n + 1))
    stored = sparse.csr_matrix((data[order], place[1][order], indptr), shape=(n, d))
    before = stored.copy()
    model = getattr(po, name)()
    found = model.fit(stored, y).predict_proba(stored)
    assert_allclose(found, model.fit(before.toarray(), y).predict_proba(before.toarray()), rtol=1e-9)
    assert np.array_equal(stored.data, before.data)  # what was given is left as it was
    assert np.array_equal(stored.indices, before.indices)


@pytest.mark.parametrize("name", ["ComplementNB", "MultinomialNB"])
def test_a_smoothing_of_each_feature_is_scikit_learns(name):
    mine, theirs = (getattr(library, name)(alpha=[0.5, 1.0, 2.0]).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    for alpha in ([1.0, 1.0], [1.0, -1.0, 1.0]):
        with pytest.raises(ValueError, match="alpha"):
            getattr(po, name)(alpha=alpha).fit(X, Y).predict(X)


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
def test_a_smoothing_that_is_too_small_is_raised_and_told(name):
    small = getattr(po, name)(alpha=1e-12, force_alpha=False)
    with pytest.warns(UserWarning, match="alpha too small"):
        found = small.fit(X, Y).predict_proba(X)
    assert_allclose(found, getattr(po, name)(alpha=1e-10).fit(X, Y).predict_proba(X))


@pytest.mark.parametrize("least", [4, [3, 4, 5]])
def test_least_categories_are_scikit_learns(least):
    mine, theirs = (library.CategoricalNB(min_categories=least).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    for bad in ([3, 4], [[3, 4, 5]], 2.5):
        with pytest.raises(ValueError, match="min_categories"):
            po.CategoricalNB(min_categories=bad).fit(X, Y)


@pytest.mark.parametrize("name", ["ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("cell", [-1.0, np.nan, np.inf])
def test_a_cell_that_is_no_count_is_refused_sparse_or_not(name, cell):
    bad = np.array([[1.0, 0, 0], [0, cell, 0]])
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
            getattr(po, name)().fit(form(bad), [0, 1])
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
            getattr(po, name)().fit(X, Y).predict(form(bad))


def test_an_alpha_of_zero_may_stand_in_an_array():
    X, y = np.array([[1, 0, 2], [1, 3, 1], [2, 1, 1]]), [0, 1, 0]
    alpha = np.array([0.0, 0.5, 1.0])
    ours, theirs = (m(alpha=alpha).fit(X, y) for m in (po.MultinomialNB, sk.MultinomialNB))
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_)
    with pytest.raises(ValueError, match="greater than 0"):
        po.MultinomialNB(alpha=np.array([-1e-9, 0.5, 1.0])).fit(X, y)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB", "GaussianNB"])
@pytest.mark.parametrize("named", [False, True])
def test_to_explain_a_row_changes_nothing_of_a_model(name, named):
    """Neither the names that training had nor that it had none."""
    X, y = np.array([[1, 0], [0, 2], [2, 1], [0, 1], [1, 2]]), [0, 1, 0, 1, 0]
    X = pd.DataFrame(X if name == "CategoricalNB" else X.astype(float), columns=["a", "b"])
    model = getattr(po, name)().fit(X if named else X.to_numpy(), y)
    before = {key: value for key, value in vars(model).items() if key != "_kept"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.explain(X[:1])
    assert hasattr(model, "feature_names_in_") == named
    assert all(vars(model)[key] is value for key, value in before.items())
