"""ComplementNB beside scikit-learn's, the prior of a single class included."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.naive_bayes import ComplementNB as Theirs

import posteriori as po

X = np.array([[1, 2, 0], [0, 3, 1], [4, 0, 1], [2, 2, 2]])


@pytest.mark.parametrize("prior", [None, [1.0], [0.3]])
def test_a_single_class_has_its_prior(prior):
    ours, theirs = (kind(class_prior=prior).fit(X, [1] * 4) for kind in (po.ComplementNB, Theirs))
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X))


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_several_classes_have_none(norm, prior):
    y = [0, 1, 0, 1]
    ours, theirs = (kind(class_prior=prior, norm=norm).fit(X, y) for kind in (po.ComplementNB, Theirs))
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X))
