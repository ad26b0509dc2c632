"""GaussianNB's parameters beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import naive_bayes as sk

import posteriori as po

X, Y = np.array([[0.0, 1], [1, 3], [4, 2], [5, 1], [6, 2]]), np.array([0, 0, 1, 1, 1])


@pytest.mark.parametrize("priors", [None, [0.2, 0.8], [0.0, 1.0]])
def test_priors_are_scikit_learns(priors):
    mine, theirs = (library.GaussianNB(priors=priors).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.class_prior_, theirs.class_prior_)
    with np.errstate(divide="ignore"):
        assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("priors", [[1.0], [0.2, 0.7], [-0.2, 1.2], [0.5, 0.3, 0.2]])
def test_priors_that_are_none_are_refused(priors):
    with pytest.raises(ValueError, match=r"[Pp]riors"):
        po.GaussianNB(priors=priors).fit(X, Y)
