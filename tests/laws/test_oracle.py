"""Log joints against 50 digits: error ≤ 1e-12 · max(1, |log joint|)."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mpf

import posteriori as po

mpmath.mp.dps = 50


def close(got: np.ndarray, exact: list[Any]) -> None:
    for g, e in zip(got, exact):
        if e == mpmath.ninf:
            assert g == -np.inf
        else:
            assert abs(mpf(float(g)) - e) <= mpf("1e-12") * max(1, abs(e)), (float(g), e)


def log(x: Any) -> Any:
    return mpmath.log(x) if x > 0 else mpmath.ninf


@pytest.mark.parametrize("d", [3, 100_000])
@pytest.mark.parametrize("alpha", [1.0, 0.0, 1e-300])
def test_categorical(d: int, alpha: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, d), dtype=np.uint8), rng.integers(0, 2, 40)
    X[:3] = 0
    X[y == 0, 0], X[y == 1, 0] = 1, 0  # one value rules a class out at α = 0
    model = po.CategoricalNB(alpha=alpha).fit(X, y)
    row = X[3]
    exact = []
    for c in (0, 1):
        rows = X[y == c]
        hits = (rows == row).sum(axis=0)
        sizes = X.max(axis=0).astype(int) + 1
        cells = {}
        for h, s in zip(hits.tolist(), sizes.tolist()):
            cells[h, s] = cells.get((h, s), 0) + 1
        terms = [n * log((h + mpf(alpha)) / (len(rows) + s * mpf(alpha))) for (h, s), n in cells.items()]
        exact.append(log(mpf(len(rows)) / 40) + (mpmath.ninf if mpmath.ninf in terms else mpmath.fsum(terms)))
    close(model.predict_joint_log_proba(row[None])[0], exact)
    close(model.predict_joint_log_proba(X)[3], exact)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("ones", [0.5, 0.999])
def test_bernoulli_with_100_000_attributes(sparse: bool, ones: float) -> None:
    """Nearly all ones is the hard case: Σ log(1−θ) must cancel against Σ log θ/(1−θ)."""
    rng = np.random.default_rng(1)
    d = 100_000
    X, y = (rng.random((30, d)) < ones).astype(np.uint8), np.arange(30) % 2
    data = sp.csr_matrix(X.astype(np.float64)) if sparse else X
    model = po.BernoulliNB(alpha=1e-3).fit(data, y)
    exact = []
    for c in (0, 1):
        count = X[y == c].sum(axis=0, dtype=int)
        cells: dict[tuple[int, int], int] = {}
        for n, x in zip(count.tolist(), X[0].tolist()):
            cells[n, x] = cells.get((n, x), 0) + 1
        alpha, rows = mpf(1e-3), 15
        terms = [m * log(((n if x else rows - n) + alpha) / (rows + 2 * alpha)) for (n, x), m in cells.items()]
        exact.append(log(mpf("0.5")) + mpmath.fsum(terms))
    close(model.predict_joint_log_proba(data[:1])[0], exact)


def test_multinomial() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 4, (20, 2000)), np.arange(20) % 2
    model = po.MultinomialNB(alpha=0.5).fit(X, y)
    exact = []
    for c in (0, 1):
        count = [mpf(int(v)) + mpf("0.5") for v in X[y == c].sum(axis=0)]
        total = mpmath.fsum(count)
        exact.append(log(mpf("0.5")) + mpmath.fsum(int(x) * log(v / total) for x, v in zip(X[0], count)))
    close(model.predict_joint_log_proba(X[:1])[0], exact)
    close(model.predict_joint_log_proba(sp.csr_matrix(X[:1]))[0], exact)


def gaussian_exact(X: np.ndarray, y: np.ndarray, row: np.ndarray, epsilon: float) -> list[Any]:
    exact = []
    for c in (0, 1):
        total = log(mpf(int((y == c).sum())) / len(y))
        for j in range(X.shape[1]):
            cells = [mpf(float(v)) for v in X[y == c, j]]
            mean = mpmath.fsum(cells) / len(cells)
            variance = mpmath.fsum((v - mean) ** 2 for v in cells) / len(cells) + mpf(epsilon)
            total -= (mpmath.log(2 * mpmath.pi * variance) + (mpf(float(row[j])) - mean) ** 2 / variance) / 2
        exact.append(total)
    return exact


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1.0, np.float64), (1e-155, np.float64), (1e100, np.float64), (1.0, np.float32), (1e15, np.float32)],
)
def test_gaussian(scale: float, dtype: Any) -> None:
    """At 1e-155 the variances are denormal, or nearly so; float32 rows are read as the numbers that they are."""
    rng = np.random.default_rng(3)
    X, y = (rng.normal(size=(30, 20)) * scale).astype(dtype), np.arange(30) % 2
    model = po.GaussianNB().fit(X, y)
    got = model.predict_joint_log_proba(X[:2])
    if scale == 1e-155:  # a variance of 1e-310 holds few digits itself: the density of the stored variance is exact
        mean, variance = model.theta_, model.var_
        for c in (0, 1):
            terms = [
                (mpmath.log(2 * mpmath.pi * mpf(float(v))) + (mpf(float(x)) - mpf(float(m))) ** 2 / mpf(float(v))) / 2
                for x, m, v in zip(X[0], mean[c], variance[c])
            ]
            close(got[0, c : c + 1], [log(mpf("0.5")) - mpmath.fsum(terms)])
    else:
        close(got[0], gaussian_exact(X, y, X[0], model.epsilon_))


def test_gaussian_with_100_000_attributes() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(6, 100_000)) * 0.146, np.arange(6) % 2  # log densities near 0, so that they cancel
    model = po.GaussianNB().fit(X, y)
    mean, variance = model.theta_, model.var_
    exact = []
    for c in (0, 1):
        # one logarithm of a product of a thousand variances instead of a thousand logarithms
        wide = [mpf(v) for v in variance[c].tolist()]
        logs = [mpmath.log(mpmath.fprod(wide[i : i + 1000])) for i in range(0, len(wide), 1000)]
        cells = zip(X[0].tolist(), mean[c].tolist(), wide)
        squares = mpmath.fsum((mpf(x) - mpf(m)) ** 2 / v for x, m, v in cells)
        constant = len(wide) * mpmath.log(2 * mpmath.pi)
        exact.append(log(mpf("0.5")) - (constant + mpmath.fsum(logs) + squares) / 2)
    close(model.predict_joint_log_proba(X[:1])[0], exact)


def test_base_1e9_with_unit_noise() -> None:
    """The mean as close as a float holds it; the rest follows from it: (x − μ)²/2σ² moves by (x − μ)·ulp(1e9)/σ²."""
    rng = np.random.default_rng(5)
    X, y = 1e9 + rng.normal(size=(2000, 3)), np.arange(2000) % 2
    model = po.GaussianNB(var_smoothing=0).fit(X, y)
    for c in (0, 1):
        for j in range(3):
            cells = [mpf(float(v)) for v in X[y == c, j]]
            mean = mpmath.fsum(cells) / len(cells)
            assert abs(mpf(float(model.theta_[c, j])) - mean) <= np.spacing(1e9)
            variance = mpmath.fsum((v - mean) ** 2 for v in cells) / len(cells)
            assert abs(mpf(float(model.var_[c, j])) - variance) <= mpf("1e-12") * variance
    got, exact = model.predict_joint_log_proba(X[:5]), [gaussian_exact(X, y, X[r], 0.0) for r in range(5)]
    assert max(abs(float(g - e)) for a, b in zip(got, exact) for g, e in zip(a, b)) < 3e-6
