"""SVR beside libsvm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm as peers
from sklearn.datasets import make_regression

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.margin import svr

from ..kernels.reference import margin as reference


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


def by_hand(K, y, C, epsilon, gap=1e-9):
    """β and b of the dual, by the solver's own twin: two multipliers a row."""
    n = len(y)
    place, beta = np.tile(np.arange(n), 2), np.zeros(2 * n)
    p = np.r_[y - epsilon, y + epsilon]
    v = p.copy()
    reference.smo_block(K[np.ix_(place, place)], np.r_[np.zeros(n), -C], np.r_[C, np.zeros(n)], beta, v, gap, 100_000)
    return beta[:n] + beta[n:]


@pytest.mark.parametrize("together", [True, False])
def test_weights_equal_rows_and_an_offset_by_the_dual(monkeypatch, together):
    """Rows merged, alone or in one call: the multipliers of the rows as they came, and their attributes."""
    if not together:
        monkeypatch.setattr(svr, "solve_together", lambda *_: [None])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) + 5.0
    y = X[:, 0] - 2 * X[:, 1] + 0.3 * rng.normal(size=20)
    X[3], y[3] = X[7], y[7]
    w = rng.integers(1, 4, 20).astype(float)
    w[11] = 0.0
    model = po.SVR(kernel="linear", C=0.7, epsilon=0.2, tol=1e-8).fit(X, y, w)
    keep = np.flatnonzero(w)
    beta = np.zeros(20)
    beta[keep] = by_hand(X[keep] @ X[keep].T, y[keep], 0.7 * w[keep], 0.2)
    assert model.coef_[0] == pytest.approx(beta @ X, abs=1e-5)
    assert model.predict(X) == pytest.approx(X @ model.coef_[0] + model.intercept_[0], abs=1e-9)
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert 11 not in model.support_
    if 3 in model.support_:  # equal rows share as they weigh
        shares = [model.dual_coef_[0][model.support_.tolist().index(i)] for i in (3, 7)]
        assert shares[0] * w[7] == pytest.approx(shares[1] * w[3])
    assert model.n_support_.tolist() == [len(model.support_)]
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.shape_fit_ == (20, 2)
    assert (model.fit_status_, model.gap_ <= 1e-8, model.n_iter_ > 0) == (0, True, True)
    free = [i for i in keep if i not in (3, 7) and 0 < abs(beta[i]) < 0.7 * w[i] - 1e-6]
    assert free  # on the edge of the tube
    assert np.abs(y[free] - model.predict(X[free])) == pytest.approx(0.2, abs=1e-5)


def test_quantities_are_numbers():
    assert svr._numbers(np.array([1, 2])).dtype == np.float64
    same = np.array([1.0, 2.0])
    assert svr._numbers(same) is same
    for bad, message in (([1.0, np.nan], "NaN"), ([np.inf, 1.0], "infinity")):
        with pytest.raises(ValueError, match=message):
            svr._numbers(np.array(bad))
    huge = np.array([1e308, 1e308])  # whose sum is not finite, but they are
    assert svr._numbers(huge).tolist() == huge.tolist()
    with pytest.raises(BadValue, match="larger than any float"):
        svr._numbers(np.array([10**400, 1], dtype=object))
    with pytest.raises(ValueError, match="inconsistent"):
        po.SVR().fit([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(AttributeError, match="linear kernel only; this one is 'rbf'"):
        _ = po.SVR().fit([[1.0], [2.0]], [1.0, 2.0]).coef_


def test_a_precomputed_matrix_has_columns_and_no_vectors():
    x = np.array([[0.0], [1.0], [2.0], [4.0]])
    y = np.array([0.0, 1.0, 2.0, 5.0])
    told = po.SVR(kernel="precomputed", tol=1e-8).fit(x @ x.T, y, [1, 0, 2, 1])
    plain = po.SVR(kernel="linear", tol=1e-8).fit(x, y, [1, 0, 2, 1])
    assert told.predict(x @ x.T) == pytest.approx(plain.predict(x), abs=1e-6)
    assert told.support_vectors_.shape == (0, 0)
    assert 1 not in told.support_
