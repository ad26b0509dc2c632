"""ComplementNB beside scikit-learn's, the prior of a single class included."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import naive_bayes
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


@pytest.mark.parametrize("model", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
@pytest.mark.parametrize("form", ["int64", "float32", "int32 data", "unsorted", "duplicates", "csc", "read-only"])
def test_csr_in_any_form_is_scikit_learns(model: str, form: str) -> None:
    rng = np.random.default_rng(5)
    X = sp.random(90, 40, 0.2, "csr", random_state=6, data_rvs=lambda n: rng.integers(1, 5, n).astype(float))
    y = np.arange(90) % 7
    if form == "int64":
        X.indptr, X.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    elif form in ("float32", "int32 data"):
        X = X.astype(form.split()[0])
    elif form == "unsorted":
        X = sp.csr_matrix((X.data[::-1].copy(), X.indices[::-1].copy(), X.nnz - X.indptr[::-1]), shape=X.shape)
        assert not X.has_sorted_indices
    elif form == "duplicates":
        X = sp.csr_matrix((np.repeat(X.data, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    elif form == "csc":
        X = X.tocsc()
    else:
        for part in (X.data, X.indices, X.indptr):
            part.flags.writeable = False
    theirs = X.copy()
    theirs.sum_duplicates()  # or its BernoulliNB counts a cell that is stored twice as two
    mine, his = getattr(po, model)().fit(X, y), getattr(naive_bayes, model)().fit(theirs, y)
    assert_allclose(mine.feature_log_prob_, his.feature_log_prob_, rtol=1e-12)
    assert_allclose(mine.predict_joint_log_proba(X), his.predict_joint_log_proba(theirs), rtol=1e-12)
    assert_allclose(mine.predict_proba(X), his.predict_proba(theirs), rtol=1e-10)


def test_one_class_without_smoothing_has_nothing_outside():
    X = np.array([[1, 2], [0, 1]])
    model = po.ComplementNB(alpha=0.0).fit(X, ["a", "a"])
    assert (model.feature_log_prob_ == np.inf).all()
    assert model.predict(X).tolist() == ["a", "a"]
    assert model.predict_proba(X).tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="cannot be normalised: feature 0 never occurs outside it and alpha is 0"):
        po.ComplementNB(alpha=0.0, norm=True).fit(X, ["a", "a"])
