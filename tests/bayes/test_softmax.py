"""Ridge logistic regression over codes: the objective in fifty digits, scikit-learn's optimum, fewer passes."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from posteriori.bayes.design import ByColumn, ByValue
from posteriori.bayes.softmax import fit_ridge


def problem(n=300, sizes=(2, 3, 5, 4), q=2, K=3, seed=0, n_jobs=None):
    """Columns of codes that tell of the class, the first of them twice, and numbers."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    codes = [((y * (rng.random(n) < 0.5) + rng.integers(0, s, n)) % s).astype(np.uint8) for s in sizes]
    codes.append(codes[0])
    offsets = np.concatenate([[0], np.cumsum([*sizes, sizes[0]])]).astype(np.int64)
    numbers = rng.normal(size=(n, q)) + y[:, None] * 0.5
    return ByValue(codes, offsets, numbers, n_jobs), y, rng.uniform(0.5, 2.0, n)


HOLD = 0.02


def rest(B, towards):
    """(what of B is no multiple of a table, the multiple), by least squares."""
    if towards is None:
        return B, 1.0
    tau = np.linalg.lstsq(towards.reshape(-1, 1), B.ravel(), rcond=None)[0][0]
    return B - tau * towards, tau


def objective(Z, y, w, ridge, B, b, towards=None):
    eta = Z @ B + b
    own = np.logaddexp.reduce(eta, axis=1) - eta[np.arange(len(y)), y]
    other, tau = rest(B, towards)
    return w @ own + 0.5 * ridge * np.square(other).sum() + HOLD * (tau - 1) ** 2


def zero(design, K):
    return np.zeros((design.size, K)), np.zeros(K)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 2), st.integers(1, 40))
def test_scores_and_sums_are_those_of_the_dense_features(seed, K, q, n):
    design, _, _ = problem(n, q=q, K=K, seed=seed)
    rng, Z = np.random.default_rng(seed), design.dense()
    B, b, G = rng.normal(size=(design.size, K)), rng.normal(size=K), rng.normal(size=(n, K))
    assert_allclose(design.scores(B, b), Z @ B + b, atol=1e-12)
    assert_allclose(design.sums(G), Z.T @ G, atol=1e-12)
    some = np.arange(0, n, 2)
    assert_array_equal(design.take(some).dense(), Z[some])


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_weights_of_columns_are_the_chain_rule(seed, K):
    design, _, _ = problem(40, q=0, K=K, seed=seed)
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(design.cells, K))
    columns = ByColumn(design.codes, design.offsets, table, design.n)
    B, b, G = rng.normal(size=(5, 1)), rng.normal(size=K), rng.normal(size=(40, K))
    assert_allclose(columns.scores(B, b), design.scores(columns.spread_out(B), b), atol=1e-12)
    step = 1e-6
    for j in range(5):
        moved = B.copy()
        moved[j] += step
        slope = ((columns.scores(moved, b) - columns.scores(B, b)) * G).sum() / step
        assert_allclose(columns.sums(G)[j, 0], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_no_direction_is_downhill_at_the_end(K, ridge):
    design, y, w = problem(K=K)
    w, Z = w / w.sum(), design.dense()
    pull = np.random.default_rng(1).normal(size=(design.size, K))
    found = fit_ridge(design, y, w, ridge, (pull, np.zeros(K)), pull, HOLD, 1e-14, 500)
    assert found.converged
    rng, step = np.random.default_rng(2), 1e-6
    for _ in range(20):
        dB, db = rng.normal(size=pull.shape), rng.normal(size=K)
        up, down = (objective(Z, y, w, ridge, found.B + s * dB, found.b + s * db, pull) for s in (step, -step))
        assert abs(up - down) / (2 * step) < 1e-5
    assert (np.diff(found.trace) <= 1e-12).all()


def test_the_loss_in_fifty_digits():
    design, y, w = problem(25)
    w, ridge = w / w.sum(), 0.1
    pull = np.random.default_rng(1).normal(size=(design.size, 3))
    found = fit_ridge(design, y, w, ridge, (pull, np.zeros(3)), pull, HOLD, 1e-14, 100)
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for z, c, weight in zip(design.dense(), y, w):
            eta = [
                mpmath.fdot(zip(map(mpmath.mpf, z), map(mpmath.mpf, found.B[:, k]))) + mpmath.mpf(found.b[k])
                for k in range(3)
            ]
            total += mpmath.mpf(weight) * (mpmath.log(mpmath.fsum(map(mpmath.exp, eta))) - eta[c])
        other, tau = rest(found.B, pull)
        total += mpmath.mpf(ridge) / 2 * mpmath.fsum(mpmath.mpf(v) ** 2 for v in other.ravel())
        total += mpmath.mpf(HOLD) * (mpmath.mpf(tau) - 1) ** 2
        assert abs(total - mpmath.mpf(found.trace[-1])) < mpmath.mpf(10) ** -13


def peer(Z, y, w, ridge, K, **how):
    """scikit-learn's optimum of the same objective, as one vector for each class."""
    C = (2 if K == 2 else 1) / (ridge * len(y))
    model = LogisticRegression(C=C, **how).fit(Z, y, sample_weight=w * len(y))
    if K > 2:
        return model.coef_.T, model.intercept_, int(model.n_iter_.max())
    half = model.coef_[0] / 2
    return np.stack([-half, half], axis=1), np.array([-1, 1]) * model.intercept_ / 2, int(model.n_iter_.max())


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("ridge", [1e-2, 1e-4])
def test_the_optimum_is_scikit_learns(K, ridge):
    design, y, w = problem(K=K)
    w, Z = w / w.sum(), design.dense()
    B, b, _ = peer(Z, y, w, ridge, K, max_iter=20_000, tol=1e-10)
    start = np.random.default_rng(0).normal(size=(design.size, K)), np.zeros(K)
    found = fit_ridge(design, y, w, ridge, start, None, HOLD, 1e-15, 500)
    assert objective(Z, y, w, ridge, found.B, found.b) <= objective(Z, y, w, ridge, B, b) + 1e-10
    ours, theirs = (
        np.exp(e - np.logaddexp.reduce(e, axis=1)[:, None]) for e in (design.scores(found.B, found.b), Z @ B + b)
    )
    assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("K", "ridge", "seed"), [(2, 1e-2, 0), (2, 1e-4, 1), (3, 1e-2, 2), (3, 1e-4, 3), (6, 1e-3, 4)])
def test_fewer_passes_than_scikit_learn(K, ridge, seed):
    design, y, w = problem(400, K=K, seed=seed)
    w, Z = w / w.sum(), design.dense()
    found = fit_ridge(design, y, w, ridge, zero(design, K), None, HOLD, 1e-13, 300)
    for enough in (1e-4, 1e-6):
        passes = int(np.flatnonzero(np.array(found.trace) <= found.trace[-1] + enough)[0])
        B, b, n_iter = peer(Z, y, w, ridge, K, max_iter=passes, tol=1e-12)
        assert n_iter == passes  # it has not ended by itself
        assert objective(Z, y, w, ridge, B, b) > found.trace[-1] + enough


def test_threads_change_no_bit():
    found = []
    for n_jobs in (1, 2, 3):
        design, y, w = problem(60_000, n_jobs=n_jobs)
        found.append(fit_ridge(design, y, w / w.sum(), 1e-4, zero(design, 3), None, HOLD, 1e-9, 8))
    for other in found[1:]:
        assert_array_equal(found[0].B, other.B)
        assert found[0].trace == other.trace


@pytest.mark.parametrize("ridge", [0.0, 1e-300, 1e300])
def test_any_ridge(ridge):
    design, y, w = problem()
    pull = np.ones((design.size, 3))
    found = fit_ridge(design, y, w / w.sum(), ridge, (pull, np.zeros(3)), pull, HOLD, 1e-10, 50)
    assert np.isfinite(found.B).all()
    if ridge > 1:
        assert_allclose(found.B, found.B[0, 0] * pull, rtol=1e-9)


def test_many_features_have_a_diagonal():
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 3, 80).astype(np.uint8) for _ in range(400)]
    y = (codes[0] + codes[1] > 2).astype(np.int64)
    design = ByValue(codes, np.arange(0, 1203, 3).astype(np.int64), np.zeros((80, 0)))
    w, Z = np.full(80, 1 / 80), design.dense()
    found = fit_ridge(design, y, w, 1e-2, zero(design, 2), None, HOLD, 1e-12, 300)
    B, b, _ = peer(Z, y, w, 1e-2, 2, max_iter=5000, tol=1e-10)
    assert abs(objective(Z, y, w, 1e-2, B, b) - found.trace[-1]) < 1e-8
