"""What the discrete drop-ins share, beside scikit-learn: the prior in its three forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import naive_bayes as sk

import posteriori as po

X, Y = np.array([[0, 1, 2], [1, 0, 0], [2, 1, 1], [0, 0, 1], [1, 2, 0]]), np.array([0, 1, 2, 0, 0])


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("how", [{}, {"fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}], ids=str)
def test_the_prior_is_scikit_learns(name, how):
    mine, theirs = (getattr(library, name)(**how).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
