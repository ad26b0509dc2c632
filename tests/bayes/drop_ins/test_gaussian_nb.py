"""GaussianNB's parameters beside scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import naive_bayes as sk

import posteriori as po
from posteriori.errors import SingularCovariance

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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_parts_are_normal_densities_with_epsilon(dtype):
    """ln N(x_j; μ_yj, σ²_yj + ε), ε = var_smoothing · the greatest variance of a column."""
    cells, w = X.astype(dtype), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    model = po.GaussianNB(var_smoothing=0.1).fit(cells, Y, w)
    mean = np.stack([np.average(X[c == Y], axis=0, weights=w[c == Y]) for c in (0, 1)])
    var = np.stack([np.average((X[c == Y] - mean[c]) ** 2, axis=0, weights=w[c == Y]) for c in (0, 1)])
    middle = np.average(X, axis=0, weights=w)
    epsilon = 0.1 * np.average((X - middle) ** 2, axis=0, weights=w).max()
    assert_allclose(model.epsilon_, epsilon)
    assert_allclose(model.var_, var + epsilon, rtol=1e-6)
    assert model.var_.dtype == model.theta_.dtype == model.class_prior_.dtype == model.class_count_.dtype == dtype
    start, parts = model._log_parts(cells)
    expected = -0.5 * (np.log(2 * np.pi * (var + epsilon)) + (X[:, None] - mean) ** 2 / (var + epsilon))
    assert_allclose(parts, expected.swapaxes(1, 2), rtol=1e-6)
    assert_allclose(start + parts.sum(axis=1), model.predict_joint_log_proba(cells), rtol=1e-6)


def test_a_row_so_far_out_that_every_class_underflows_has_a_posterior():
    model = po.GaussianNB().fit(X, Y)
    for far in (1e10, -1e10, 1e120):
        p = model.predict_proba([[far, 0.0]])
        assert_allclose(p.sum(), 1.0)
        assert p.max() == 1.0


def test_a_column_without_variance_is_named():
    flat = {"var_smoothing": 0.0}
    cells = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [5.0, 2.0]])
    named = po.GaussianNB(**flat).fit(pd.DataFrame(cells, columns=["a", "b"]), [0, 0, 1, 1])
    with pytest.raises(SingularCovariance, match="class 0 has variance 0 in column 'b'"):
        named.predict(pd.DataFrame(cells, columns=["a", "b"]))
    with pytest.raises(SingularCovariance, match="class 0 has variance 0 in column 1"):
        po.GaussianNB(**flat).fit(cells, [0, 0, 1, 1]).predict(cells)
    with pytest.raises(ValueError, match="rescale the columns"):
        po.GaussianNB().fit([[1e160], [-1e160]], [0, 1])
