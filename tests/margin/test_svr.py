"""SVR beside libsvm."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose
from sklearn import svm as peers
from sklearn.datasets import make_regression

import posteriori as po
from posteriori.errors import ModelError


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_svr_is_libsvms(kernel, C):
    A, t = make_regression(200, 5, noise=3, random_state=0)
    t = t / t.std()
    options = {"kernel": kernel, "C": C, "epsilon": 0.05, "tol": 1e-6}
    ours, theirs = po.SVR(**options).fit(A, t), peers.SVR(**options).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=1e-4)
    assert abs(len(ours.support_) - len(theirs.support_)) <= 1
    if kernel == "linear":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_svr_by_rounds_and_precomputed():
    A, t = make_regression(1500, 5, noise=3, random_state=1)
    t = t / t.std()
    ours, theirs = po.SVR(tol=1e-4).fit(A, t), peers.SVR(tol=1e-4).fit(A, t)
    assert_allclose(ours.predict(A), theirs.predict(A), atol=2e-3)
    K = A[:200] @ A[:200].T
    fitted = po.SVR(kernel="precomputed").fit(K, t[:200])
    assert_allclose(fitted.predict(K), po.SVR(kernel="linear").fit(A[:200], t[:200]).predict(A[:200]), atol=5e-3)
    with pytest.raises(ModelError, match="epsilon"):
        po.SVR(epsilon=-1).fit(A, t)
