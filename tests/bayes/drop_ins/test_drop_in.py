"""What the discrete drop-ins share, beside scikit-learn: the prior in its three forms."""

from __future__ import annotations

import numpy as np
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
