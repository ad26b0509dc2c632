"""Every native kernel of naive Bayes is its NumPy twin: any dtype, stride, size, weight and number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from posteriori import kernels
from posteriori.statistics.counts import class_rows

from .reference import naive as reference

CODES = [np.uint8, np.uint16, np.uint32, np.int32, np.int64]
LAYOUTS = ["C", "F", "list", "mixed", "strided", "reversed", "read-only"]
seeds = st.integers(0, 2**32 - 1)


def make_codes(rng: np.random.Generator, n: int, sizes: np.ndarray, dtype: Any, layout: str) -> Any:
    """Codes below `sizes` in one of the layouts that a caller may have them in."""
    X = (rng.random((n, len(sizes))) * sizes).astype(dtype)
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "list":
        return [X[:, j] for j in range(len(sizes))]
    if layout == "mixed":
        return [X[:, j].astype(CODES[j % len(CODES)]) for j in range(len(sizes))]
    if layout == "strided":
        wide = np.zeros((2 * n, 3 * len(sizes)), dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if layout == "reversed":
        return np.ascontiguousarray(X[::-1])[::-1]
    X.flags.writeable = layout != "read-only"
    return X


@st.composite
def coded(draw: st.DrawFn) -> tuple[Any, np.ndarray, np.ndarray, int, np.random.Generator]:
    """(columns, y, offsets, K, rng)."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.sampled_from([1, 2, 31, 255, 256, 257, 600, 5000]))
    d = draw(st.sampled_from([1, 2, 7, 31, 32, 33, 40, 70, 300]))
    n = min(n, 20_000 // d + 1)
    top = draw(st.sampled_from([1, 2, 4, 6, 32, 33, 250]))
    n_classes = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 70]))
    sizes = rng.integers(1, top + 1, d)
    columns = make_codes(rng, n, sizes, draw(st.sampled_from(CODES)), draw(st.sampled_from(LAYOUTS)))
    y = rng.integers(0, n_classes, n).astype(draw(st.sampled_from(CODES[:3])))
    return columns, y, np.concatenate([[0], np.cumsum(sizes)]), n_classes, rng


@given(coded())
def test_count_cells(case: Any) -> None:
    columns, y, offsets, k, rng = case
    expected = reference.count_cells(columns, y, offsets, k)
    for threads in (1, 2, 3):
        counted = kernels.count_cells(columns, y, offsets, k, n_jobs=threads)
        assert counted.dtype == np.int64
        assert_array_equal(counted, expected)
    weights = rng.random(len(y))
    summed = kernels.count_cells(columns, y, offsets, k, weights)
    assert_allclose(summed, reference.count_cells(columns, y, offsets, k, weights), rtol=1e-12, atol=1e-12)


@given(coded())
def test_shares(case: Any) -> None:
    columns, y, offsets, k, rng = case
    soft = rng.dirichlet(np.ones(k), len(y))
    expected = reference.count_cells(columns, y, offsets, k, soft)
    one = kernels.count_cells(columns, y, offsets, k, soft, n_jobs=1)
    assert_allclose(one, expected, rtol=1e-12, atol=1e-12)
    for threads in (2, 3):
        assert_array_equal(kernels.count_cells(columns, y, offsets, k, soft, n_jobs=threads), one)
    hard = np.eye(k)[y]
    assert_array_equal(kernels.count_cells(columns, y, offsets, k, hard), reference.count_cells(columns, y, offsets, k))
    assert_allclose(class_rows(y, k, soft), soft.sum(axis=0), rtol=1e-12)


def test_shares_of_wide_tables_and_bad_codes() -> None:
    rng = np.random.default_rng(0)
    n, k = 3000, 7
    columns = [rng.integers(0, 40_000, n).astype(np.uint32), rng.integers(0, 3, n).astype(np.uint8)] * 2
    offsets, soft = np.cumsum([0, 40_000, 3, 40_000, 3]), rng.dirichlet(np.ones(k), n)
    found = kernels.count_cells(columns, columns[1], offsets, k, soft, n_jobs=2)
    assert_allclose(found, reference.count_cells(columns, columns[1], offsets, k, soft), rtol=1e-12)
    with pytest.raises(ValueError, match="column 0 holds code"):
        kernels.count_cells(columns, columns[1], np.cumsum([0, 100, 3, 40_000, 3]), k, soft)


@given(coded())
def test_class_rows(case: Any) -> None:
    _, y, _, k, rng = case
    assert_array_equal(class_rows(y, k), np.bincount(y, minlength=k))
    weights = rng.random(len(y))
    assert_allclose(class_rows(y, k, weights), np.bincount(y, weights, minlength=k), rtol=1e-13)


@given(coded(), st.booleans(), st.booleans())
def test_log_joint_cells(case: Any, matrix: bool, impossible: bool) -> None:
    columns, y, offsets, k, rng = case
    log_theta = np.log(rng.random((offsets[-1], k)))
    if impossible:
        log_theta[rng.random(log_theta.shape) < 0.3] = -np.inf
    start = rng.normal(size=(len(y), k) if matrix else k)
    expected = reference.log_joint_cells(columns, log_theta, offsets, start)
    scores = kernels.log_joint_cells(columns, log_theta, offsets, start)
    assert_allclose(scores, expected, rtol=1e-13, atol=1e-13)
    answer, row = kernels.posterior_cells(columns, log_theta, offsets, start)
    expected_answer, expected_row = reference.posterior_cells(columns, log_theta, offsets, start)
    assert row == expected_row
    assert_allclose(answer, expected_answer, rtol=1e-11, atol=1e-300)
    one = [c[:1] for c in columns] if isinstance(columns, list) else columns[:1]
    begin = start[:1] if matrix else start
    assert_array_equal(kernels.log_joint_cells(one, log_theta, offsets, begin), scores[:1])
    assert_array_equal(kernels.posterior_cells(one, log_theta, offsets, begin)[0], answer[:1])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("n", [0, 1, 3, 5000, 20_001])
def test_count_families(dtype: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    sizes = [2, 7, 1, 40]
    matrix = np.stack([rng.integers(0, s, n) for s in sizes], axis=1).astype(dtype)
    families = [(0,), (1, 0), (3, 2, 1), (3, 1, 0, 2), (), (0, 1)]
    expected = [np.array([n]) if not f else reference.count_families(matrix, sizes, [f])[0] for f in families]
    for columns in (matrix, list(matrix.T), [np.ascontiguousarray(c) for c in matrix.T]):
        for threads in (1, 2):
            for found, want in zip(kernels.count_families(columns, sizes, families, threads), expected, strict=True):
                np.testing.assert_array_equal(found, want)


def test_families_that_do_not_fit_are_refused() -> None:
    X = np.array([[0, 1], [1, 5]], np.uint8)
    with pytest.raises(ValueError, match="column 1 holds code 5, but its table has 3 values"):
        kernels.count_families(X, [2, 3], [(0, 1)])
    for sizes, family, what in (([2, 6], (0, 2), "no column"), ([2], (0,), "one size"), ([2, 1 << 32], (0, 1), "2³²")):
        with pytest.raises(ValueError, match=what):
            kernels.count_families(X, sizes, [family])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("n", [3, 1000])
def test_codes_out_of_range_are_refused_by_name(dtype: Any, n: int) -> None:
    X = np.zeros((n, 5), dtype)
    X[n - 1, 3] = 9
    y = np.zeros(n, np.uint8)
    offsets = np.arange(0, 11, 2)
    with pytest.raises(ValueError, match="column 3 holds code 9, but its table has 2 values"):
        kernels.count_cells(X, y, offsets, 1)
    with pytest.raises(ValueError, match="column 3 holds code 9"):
        kernels.count_cells(X, y, offsets, 1, np.ones(n))
    with pytest.raises(ValueError, match="column 3 holds code 9"):
        kernels.log_joint_cells(X, np.zeros((10, 1)), offsets, np.zeros(1))
    with pytest.raises(ValueError, match="column 3 holds code 9"):
        kernels.log_joint_cells([X[:, j] for j in range(5)], np.zeros((10, 1)), offsets, np.zeros(1))
    with pytest.raises(ValueError, match="y holds class code 1, but there are 1 classes"):
        kernels.count_cells(np.zeros_like(X), np.ones(n, np.uint8), offsets, 1)


def test_negative_codes_and_wrong_shapes_are_refused() -> None:
    X = np.array([[0, -1]])
    with pytest.raises(ValueError, match="column 1 holds code"):
        kernels.count_cells(X, np.zeros(1, np.uint8), np.array([0, 2, 4]), 1)
    with pytest.raises(ValueError, match="one entry more"):
        kernels.count_cells(abs(X), np.zeros(1, np.uint8), np.array([0, 2]), 1)
    with pytest.raises(ValueError, match="differ in length"):
        kernels.count_cells(abs(X), np.zeros(2, np.uint8), np.array([0, 2, 4]), 1)
    with pytest.raises(TypeError):
        kernels.count_cells(abs(X).astype(float), np.zeros(1, np.uint8), np.array([0, 2, 4]), 1)


def test_no_rows_and_no_columns() -> None:
    none = np.zeros(0, np.uint8)
    assert_array_equal(kernels.count_cells(np.zeros((0, 2), np.uint8), none, np.array([0, 2, 4]), 2), np.zeros((4, 2)))
    scores = kernels.log_joint_cells(np.zeros((0, 2), np.uint8), np.zeros((4, 2)), np.array([0, 2, 4]), np.zeros(2))
    assert scores.shape == (0, 2)
    assert kernels.normalise(np.zeros((0, 3)))[0].shape == (0, 3)
    n, mean, m2, *_ = kernels.class_moments(np.zeros((0, 2)), none, 2)
    assert not np.hstack([n, mean, m2]).any()


@given(seeds, st.sampled_from([1, 2, 3, 4, 5, 15, 16, 17, 203]), st.sampled_from([1, 5, 255, 256, 700]))
def test_normalise(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    log_joint = rng.normal(size=(n, k)) * rng.choice([1.0, 100.0, 1e5])
    log_joint[rng.random((n, k)) < 0.2] = -np.inf
    answer, evidence = kernels.normalise(log_joint)
    expected, expected_evidence = reference.normalise(log_joint)
    assert_allclose(answer, expected, rtol=4e-15, atol=1e-307)
    assert_allclose(evidence, expected_evidence, rtol=1e-14, atol=1e-14)
    again, row = kernels.posterior(log_joint.copy())
    assert_array_equal(again, answer)
    assert row == reference.posterior(log_joint)[1]
    r = int(rng.integers(n))
    assert_array_equal(kernels.normalise(log_joint[r : r + 1])[0][0], answer[r])


def test_exponential_to_the_last_digit() -> None:
    """exp(x − 0) over its whole range, against 50 digits."""
    import mpmath

    x = np.concatenate([-np.logspace(-18, np.log10(745), 4000), [0.0, -708.4, -744.5, -745.13, -746.0, -1e9, -np.inf]])
    answer = kernels.normalise(np.column_stack([np.zeros(len(x)), x]))[0]
    ratio = answer[:, 1] / answer[:, 0]
    for value, got in zip(x, ratio):
        exact = float(mpmath.exp(mpmath.mpf(float(value)))) if np.isfinite(value) else 0.0
        assert abs(got - exact) <= max(3 * np.spacing(exact), 5e-324), value


@st.composite
def numbers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, np.random.Generator]:
    """(X, y, K, rng) with or without NaN, float32 or float64, any layout."""
    rng = np.random.default_rng(draw(seeds))
    n, d = draw(st.sampled_from([1, 2, 40, 900, 3000])), draw(st.sampled_from([1, 2, 4, 7, 40]))
    k = draw(st.sampled_from([1, 2, 3, 5, 9]))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.1] = np.nan
    X = X.astype(draw(st.sampled_from([np.float64, np.float32])))
    layout = draw(st.sampled_from(["C", "F", "strided", "read-only"]))
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "strided":
        wide = np.zeros((2 * n, 2 * d), X.dtype)
        wide[::2, ::2] = X
        X = wide[::2, ::2]
    X.flags.writeable = layout != "read-only"
    return X, rng.integers(0, k, n).astype(np.uint8), k, rng


@given(seeds, st.sampled_from([1, 2, 3, 5, 16, 21]), st.sampled_from([0, 1, 3, 255, 700]), st.booleans(), st.booleans())
def test_share_out(seed: int, k: int, n: int, weighted: bool, hard: bool) -> None:
    rng = np.random.default_rng(seed)
    log_joint = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-2, 4)
    log_joint[rng.random((n, k)) < 0.1] = -np.inf
    log_joint[:, 0] = np.where(np.isfinite(log_joint).any(axis=1), log_joint[:, 0], 0.0)
    known = np.where(rng.random(n) < rng.random(), rng.integers(0, k, n), -1).astype(np.int32)
    weights = rng.random(n) * (rng.random(n) < 0.9) if weighted else None
    log_joint[np.arange(n), known] = np.where(known < 0, log_joint[np.arange(n), known], -1.0)
    wanted, total = reference.share_out(log_joint, known, weights, hard)
    for threads in (1, 3):
        shares, value = kernels.share_out(log_joint.copy(), known, weights, hard, threads)
        assert_allclose(shares, wanted, rtol=1e-9, atol=1e-300)
        assert_allclose(value, total, rtol=1e-12, atol=1e-9)
    if n:
        with pytest.raises(ValueError, match="none of the"):
            kernels.share_out(log_joint, np.full(n, k, np.int32))


@given(numbers(), st.booleans())
def test_class_moments(case: Any, weighted: bool) -> None:
    X, y, k, rng = case
    weights = rng.random(len(y)) * (rng.random(len(y)) < 0.8) if weighted else None
    got = kernels.class_moments(X, y, k, weights)
    for one, other in zip(got, reference.class_moments(X, y, k, weights)):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.nanmax(np.abs(X), initial=0.0)))
    for threads in (2, 3):
        for one, other in zip(got, kernels.class_moments(X, y, k, weights, n_jobs=threads)):
            assert_array_equal(one, other)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [*"?bBhHiIqQ", "f4"])
def test_numbers_of_any_type_are_read_as_floats(dtype: str, order: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype == "?" else 120, (700, 5)).astype(dtype, order=order)[::2]
    y, mean, variance, start = (
        rng.integers(0, 3, 350).astype(np.uint8),
        rng.random((3, 5)),
        np.ones((3, 5)),
        np.zeros(3),
    )
    wide = X.astype(np.float64)
    for one, other in zip(kernels.class_moments(X, y, 3), kernels.class_moments(wide, y, 3)):
        assert_allclose(one, other, rtol=1e-12) if dtype == "f4" else assert_array_equal(one, other)
    scores = [log_joint_gaussian(numbers, mean, variance, start) for numbers in (X, wide)]
    assert_array_equal(*scores)


@st.composite
def centres(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    """(queries, centres, weights, width): clusters, ties, heavy tails, weights of all sizes; queries near and far."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.sampled_from([1, 2, 31, 33, 200, 3000]))
    v = draw(
        st.sampled_from(
            [rng.normal(size=n), rng.standard_cauchy(n), rng.normal(size=n).round(1), 10.0 ** rng.uniform(-5, 5, n)]
        )
    )
    v = np.unique(np.concatenate([v, 1000 + v[: n // 2] * 1e-3]))
    w = 10.0 ** rng.uniform(-draw(st.sampled_from([0, 3, 30, 280])), 0, len(v))
    h = float((np.std(v) or 1.0) * 10.0 ** draw(st.integers(-4, 1)))
    away = h * 10.0 ** rng.uniform(-2, 4, 20)
    x = np.concatenate([rng.choice(v, 20), rng.choice(v, 20) + away, v[0] - away, v[-1] + away])
    return x, v, w / w.sum(), h


@given(centres())
def test_kernel_sums(case: Any) -> None:
    """A millionth of the sum, in the tails too; there the logarithm itself is rounded."""
    x, *centres = case
    tree = kernels.kernel_tree(*centres)
    got, wanted = kernels.log_kernel_sums(x, *centres, tree), reference.log_kernel_sums(x, *centres)
    assert_allclose(got, wanted, rtol=2e-15, atol=1e-7)
    for threads in (2, 3):
        again = kernels.kernel_tree(*centres, n_jobs=threads)
        assert_array_equal(again, tree)
        assert_array_equal(kernels.log_kernel_sums(x, *centres, again, n_jobs=threads), got)


def test_kernel_sums_of_weights_that_no_double_compares() -> None:
    v, w = np.array([0.0, 30.0, 31.0]), np.array([1.0, 1e-320, 1e-310])
    x = np.array([-1.0, 15.0, 29.0, 30.0, 40.0, 1e200])
    got, wanted = (
        kernels.log_kernel_sums(x, v, w, 1.0, kernels.kernel_tree(v, w, 1.0)),
        reference.log_kernel_sums(x[:-1], v, w, 1.0),
    )
    assert_allclose(got[:-1], wanted, rtol=1e-12)
    assert got[-1] == -np.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 40])
@pytest.mark.parametrize("how", ["plain", "sorted", "outlier", "constant", "drift", "heavy"])
def test_moments_about_a_guess_are_those_of_long_doubles(dtype: Any, d: int, how: str) -> None:
    """However poor the mean of the first rows is as a guess, and wherever a block or a piece of it ends."""
    rng = np.random.default_rng(d)
    n = 5000
    X = rng.normal(3, 2, (n, d))
    if how == "sorted":
        X.sort(axis=0)
    elif how == "outlier":
        X[:8] = 1e6
    elif how == "constant":
        X[:] = 0.1
    elif how == "drift":
        X += np.repeat(np.arange(50.0), n // 50)[:, None] * 100
    elif how == "heavy":
        X = rng.standard_cauchy((n, d))
    X, y = X.astype(dtype), rng.integers(0, 3, n).astype(np.uint8)
    w = rng.random(n) * (rng.random(n) < 0.7)
    for weights in (None, w):
        count, mean, m2, low, high, _ = kernels.class_moments(X, y, 3, weights)
        for k in range(3):
            mine = y == k
            weigh = np.ones(mine.sum(), np.longdouble) if weights is None else w[mine].astype(np.longdouble)
            rows = X[mine].astype(np.longdouble)
            exact = (weigh[:, None] * rows).sum(axis=0) / weigh.sum()
            spread = (weigh[:, None] * (rows - exact) ** 2).sum(axis=0)
            assert_allclose(count[k], float(weigh.sum()), rtol=1e-12)
            scale = float(np.abs(rows).max()) * 1e-13
            assert_allclose(mean[k], exact.astype(float), rtol=1e-11, atol=scale)
            assert_allclose(m2[k], spread.astype(float), rtol=1e-9, atol=1e-20)
            seen = rows[weigh > 0]
            assert_allclose(low[k], seen.min(axis=0).astype(float), rtol=0)
            assert_allclose(high[k], seen.max(axis=0).astype(float), rtol=0)
        if how == "constant":
            assert (m2 <= 1e-20).all()
            assert weights is not None or (m2 == 0).all()
        for threads in (1, 3):
            for one, other in zip(
                kernels.class_moments(X, y, 3, weights, n_jobs=threads), (count, mean, m2, low, high)
            ):
                assert np.array_equal(one, other)


def test_moments_keep_their_digits() -> None:
    """A base of 1e9 under unit noise, and an outlier in the first row: as good as two passes over everything."""
    rng = np.random.default_rng(0)
    X = 1e9 + rng.normal(size=(100_000, 3))
    y = rng.integers(0, 2, len(X)).astype(np.uint8)
    n, mean, m2, *_ = kernels.class_moments(X, y, 2)
    for c in (0, 1):
        rows = X[y == c].astype(np.longdouble)
        exact = rows.mean(axis=0)
        assert_allclose(mean[c], exact.astype(float), rtol=0, atol=1.2e-7)  # the spacing of floats at 1e9
        assert_allclose(m2[c] / n[c], ((rows - exact) ** 2).mean(axis=0).astype(float), rtol=1e-12)
    X = rng.normal(size=(50_000, 2))
    X[0] = 1e12
    _, mean, m2, *_ = kernels.class_moments(X, np.zeros(len(X), np.uint8), 1)
    rows = X.astype(np.longdouble)
    assert_allclose(mean[0], rows.mean(axis=0).astype(float), rtol=1e-14)
    assert_allclose(m2[0], ((rows - rows.mean(axis=0)) ** 2).sum(axis=0).astype(float), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["as drawn", "sorted"])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_moments_by_shares_keep_their_digits(K: int, order: str, dtype: type) -> None:
    """A far base, rows in order, classes that begin late or are far apart, holes: as good as two passes by class."""
    rng = np.random.default_rng(0)
    n = 6000
    z = rng.integers(0, K, n)
    X = np.column_stack([rng.normal(size=n) + 1e4 * z, rng.normal(size=n), np.full(n, 0.1)]).astype(dtype)
    if dtype is np.float64:
        wide = rng.normal(size=(n, 6)) * 10.0 ** np.arange(-150, 150, 50)
        X = np.column_stack([X, wide, 1e9 + rng.normal(size=n)])
    shares = rng.dirichlet(np.ones(K), n) * (rng.random((n, K)) < 0.9)
    shares[: n // 2, 0] *= 1e-30  # the first class is hardly there at first
    shares[np.arange(n), z] += 1e-3
    if order == "sorted":
        at = np.argsort(X[:, 0])
        X, shares = X[at], shares[at]
    for holes in (False, True):
        if holes:
            X[rng.random(X.shape) < 0.1] = np.nan
        size, mean, m2, *_ = kernels.class_moments(X, np.zeros(n, np.uint8), K, shares)
        for k in range(K):
            there = ~np.isnan(X)
            w, wide = (
                np.where(there, shares[:, k, None], 0).astype(np.longdouble),
                np.where(there, X, 0).astype(np.longdouble),
            )
            total = w.sum(axis=0)
            exact = (w * wide).sum(axis=0) / total
            assert_allclose(size[k], total.astype(float), rtol=1e-12)
            top = np.abs(wide).max(axis=0)
            assert (np.abs(mean[k] - exact) <= 1e-13 * top).all()
            wanted = (w * (wide - exact) ** 2).sum(axis=0).astype(float)
            rounding = 1e-30 * (total * top**2).astype(float)  # of cells that are all alike
            for j in range(X.shape[1]):
                assert_allclose(m2[k, j], wanted[j], rtol=2e-10, atol=rounding[j])
        again = kernels.class_moments(X, np.zeros(n, np.uint8), K, shares, n_jobs=3)
        assert_array_equal(again[2], m2)


def test_infinity_is_seen() -> None:
    y = np.zeros(3, np.uint8)
    for bad, seen in ((np.inf, kernels.INF), (-np.inf, kernels.INF), (np.nan, kernels.NAN), (0.0, 0)):
        assert kernels.class_moments(np.array([[1.0], [bad], [2.0]]), y, 1)[5] == seen


def log_joint_gaussian(X: Any, mean: Any, variance: Any, start: Any, n_jobs: int | None = None) -> Any:
    return kernels.score_gaussian(X, mean, variance, start, False, n_jobs)[0]


@given(numbers(), st.booleans())
def test_log_joint_gaussian(case: Any, matrix: bool) -> None:
    X, _, k, rng = case
    mean, variance = rng.normal(size=(k, X.shape[1])), rng.random((k, X.shape[1])) + 1e-3
    start = rng.normal(size=(len(X), k) if matrix else k)
    got = log_joint_gaussian(X, mean, variance, start)
    expected = reference.log_joint_gaussian(X, mean, variance, start)
    assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(got, log_joint_gaussian(X, mean, variance, start, n_jobs=3))
    assert_array_equal(log_joint_gaussian(X[:1], mean, variance, start[:1] if matrix else start), got[:1])
    answer, row, _ = kernels.score_gaussian(X, mean, variance, start, True)
    wanted, first = reference.posterior(got)
    assert row == first == -1
    assert_allclose(answer, wanted, rtol=1e-12, atol=1e-300)


def test_gaussian_refuses_variance_zero() -> None:
    with pytest.raises(ValueError, match="class 1 has variance 0"):
        log_joint_gaussian(np.zeros((1, 1)), np.zeros((2, 1)), np.array([[1.0], [0.0]]), np.zeros(2))


@st.composite
def sparse(draw: st.DrawFn) -> Any:
    """(indptr, indices, data or None, d, y, K, rng)."""
    rng = np.random.default_rng(draw(seeds))
    n, d, k = (
        draw(st.sampled_from([1, 3, 300])),
        draw(st.sampled_from([1, 5, 900])),
        draw(st.sampled_from([1, 2, 3, 4, 5, 7, 20, 33, 110])),
    )
    most = draw(st.sampled_from([0, 3, 60, 400]))
    index = draw(st.sampled_from([np.int32, np.int64]))
    lengths = rng.integers(0, most + 1, n)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = rng.integers(0, d, indptr[-1]).astype(index)
    kind = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.int8, bool, None]))
    data = None if kind is None else rng.integers(0, 5, len(indices)).astype(kind)
    return indptr, indices, data, d, rng.integers(0, k, n).astype(np.uint8), k, rng


@given(sparse(), st.booleans(), st.sampled_from([None, 0.0, 2.0]))
def test_count_sparse(case: Any, weighted: bool, above: float | None) -> None:
    indptr, indices, data, d, y, k, rng = case
    weights = rng.random(len(y)) if weighted else None
    got, seen = kernels.count_sparse(indptr, indices, data, d, y, k, weights, above)
    expected, wanted = reference.count_sparse(indptr, indices, data, d, y, k, weights, above)
    assert seen == wanted == 0
    assert_allclose(got, expected, rtol=1e-12)
    assert_array_equal(got, kernels.count_sparse(indptr, indices, data, d, y, k, weights, above, n_jobs=3)[0])


@given(sparse(), st.booleans(), st.booleans(), st.sampled_from([None, 0.0, 2.0]))
def test_score_sparse(case: Any, matrix: bool, impossible: bool, above: float | None) -> None:
    indptr, indices, data, d, y, k, rng = case
    table, start, low = rng.normal(size=(d, k)), rng.normal(size=(len(y), k) if matrix else k), rng.normal(size=k)
    if impossible:
        start[rng.random(start.shape) < 0.5] = -np.inf
    args = indptr, indices, data, table, start
    got, _, seen = kernels.score_sparse(*args, None, above)
    assert seen == 0
    assert_allclose(got, reference.log_joint_sparse(*args, above)[0], rtol=1e-12, atol=1e-11)
    for wanted in (False, True):
        answer, row, met = kernels.score_sparse(*args, low, above, wanted)
        expected, expected_row, expected_met = reference.score_sparse(*args, low, above, wanted)
        assert met == expected_met == 0
        assert_allclose(answer, expected, rtol=1e-10, atol=1e-11)
        assert row == expected_row
    first = slice(0, int(indptr[1]))
    alone, *_ = kernels.score_sparse(
        indptr[:2],
        indices[first],
        None if data is None else data[first],
        table,
        start[:1] if matrix else start,
        None,
        above,
    )
    assert_array_equal(alone, got[:1])


@pytest.mark.parametrize("posterior", [False, True])
@pytest.mark.parametrize("k", [4101, 4224])
def test_classes_of_a_large_table_in_parts(k: int, posterior: bool) -> None:
    """Rows that are many enough for a pass of each part of the classes have the bits that they have alone."""
    rng = np.random.default_rng(k)
    d, n, each = 1200, 110, 45
    indptr, indices = np.arange(0, n * each + 1, each), rng.integers(0, d, n * each)
    data, table, start = rng.random(n * each), rng.normal(size=(d, k)), rng.normal(size=(n, k))
    low = rng.normal(size=k) * 1e-17
    found = [
        kernels.score_sparse(indptr, indices, data, table, start, low, None, posterior, jobs)[0] for jobs in (1, 3)
    ]
    assert_array_equal(*found)
    for r in (0, 57, n - 1):
        own = slice(indptr[r], indptr[r + 1])
        alone, _, _ = kernels.score_sparse(
            indptr[:2], indices[own], data[own], table, start[r : r + 1], low, None, posterior
        )
        assert_array_equal(alone[0], found[0][r])
    data[7 * each] = np.nan
    assert kernels.score_sparse(indptr, indices, data, table, start, low, None, posterior)[2] == kernels.NOT_FINITE
    indices[8 * each] = d
    with pytest.raises(ValueError, match="row 8 of the CSR matrix"):
        kernels.score_sparse(indptr, indices, data, table, start, low, None, posterior)


@pytest.mark.parametrize("k", [1, 3, 5, 40])
@pytest.mark.parametrize("cells", [60, 2000, 100_000])
def test_sparse_sums_keep_their_digits(k: int, cells: int) -> None:
    """The terms of a row cancel its start: less is lost than by rounding their sum once, the longer the row the less."""
    table = -np.random.default_rng(0).random((cells, k)) * 1e3
    exact = table.astype(np.longdouble).sum(axis=0)
    start = -exact.astype(np.float64)
    low = (-exact - start).astype(np.float64)
    indptr, indices = np.array([0, cells]), np.arange(cells)
    got, _, _ = kernels.score_sparse(indptr, indices, None, table, start, low, None, False)
    assert_allclose(got[0], 0.0, atol=1e-14 * 1e3 * cells**0.5)


def test_sparse_reports_and_refuses() -> None:
    indptr, indices = np.array([0, 2]), np.array([0, 1])
    y = np.zeros(1, np.uint8)
    for data, flag in [([1.0, -1.0], 1), ([np.nan, 1.0], 2), ([1.0, np.inf], 2), ([-1.0, np.inf], 3), ([0.0, 1.0], 0)]:
        args = indptr, indices, np.array(data)
        assert kernels.count_sparse(*args, 2, y, 1)[1] == flag == reference.count_sparse(*args, 2, y, 1)[1]
        assert kernels.score_sparse(*args, np.zeros((2, 1)), np.zeros(1))[2] == flag
    with pytest.raises(ValueError, match="index 1, but there are 1 columns"):
        kernels.count_sparse(indptr, indices, None, 1, y, 1)
    with pytest.raises(ValueError, match="index -1"):
        kernels.score_sparse(indptr, np.array([0, -1]), None, np.zeros((2, 1)), np.zeros(1))
    with pytest.raises(ValueError, match="reaches beyond"):
        kernels.count_sparse(np.array([0, 3]), indices, None, 2, y, 1)
    with pytest.raises(ValueError, match="falls"):
        kernels.count_sparse(np.array([0, 2, 1]), indices, None, 2, np.zeros(2, np.uint8), 1)


@given(seeds, st.sampled_from([np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]))
def test_encode_integers(seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    begin = int(rng.integers(low, high, dtype=np.int64 if low < 0 else np.uint64))
    end = min(high, begin + int(rng.choice([1, 3, 200, 300, 5000, 70_000])))
    y = rng.integers(begin, end, 500, dtype=dtype, endpoint=True)[:: int(rng.choice([1, 3]))]
    got, expected = kernels.encode_integers(y), reference.encode_integers(y)
    assert (got is None) == (expected is None)
    if got is not None and expected is not None:
        assert_array_equal(got[0], expected[0])
        assert_array_equal(got[1], expected[1])
        assert [a.dtype for a in got] == [a.dtype for a in expected]


@pytest.mark.parametrize("distinct", [1, 2, 255, 256, 257, 300])
@pytest.mark.parametrize("step", [1, 3])
def test_codes_of_integers_are_as_narrow_as_their_number_allows(distinct: int, step: int) -> None:
    y = np.arange(distinct)[::-1] * step - 7
    for found, codes in (kernels.encode_integers(y), reference.encode_integers(y)):
        assert found.tolist() == sorted(y.tolist())
        assert codes.tolist() == list(range(distinct))[::-1]
        assert codes.dtype == (np.uint8 if distinct <= 256 else np.uint16)


@pytest.mark.parametrize(
    ("n", "span"), [(1, 1), (2, 287), (2, 288), (3, 303), (3, 304), (5000, 65_535), (5000, 65_536)]
)
def test_integers_too_far_apart_are_not_coded(n: int, span: int) -> None:
    """They span less than 65536 and 256 + 16 n, or are left."""
    y = np.full(n, 11)
    y[-1] += span
    fits = span < min(65_536, 256 + 16 * n)
    assert (kernels.encode_integers(y) is not None) == (reference.encode_integers(y) is not None) == fits


@given(
    seeds,
    st.sampled_from([np.dtype(t) for t in ("f8", "f4", "i8", "i4")]),
    st.sampled_from("CF"),
    st.sampled_from([1, 7, 500, 70_000]),
)
def test_narrow(seed: int, dtype: Any, order: Any, n: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.asarray(rng.integers(0, 256, (n, 3)) + rng.choice([0, 0.9]), dtype=dtype, order=order)
    odd = rng.choice([0, 255, -1, 256, 2**30, -(2**31), *([-0.5, 255.9, np.nan, np.inf] if dtype.kind == "f" else [])])
    X[rng.integers(n), rng.integers(3)] = odd
    expected = reference.narrow(X)
    for threads in (1, 3):
        found = kernels.narrow(X, threads)
        assert (found is None) == (expected is None)
        if found is not None:
            assert_array_equal(found, expected)
            assert (found.flags.c_contiguous, found.flags.f_contiguous) == (X.flags.c_contiguous, X.flags.f_contiguous)


@pytest.mark.parametrize("odd", [-3, 2, 300, 10**6, -(10**18)])
@pytest.mark.parametrize("place", [0, 1, 4999, 100_000, 199_998, 199_999])
def test_a_label_that_no_sample_shows_is_found(odd: int, place: int) -> None:
    y = np.arange(200_000) % 2
    y[place] = odd
    got, expected = kernels.encode_integers(y), reference.encode_integers(y)
    assert (got is None) == (expected is None)
    if got is not None and expected is not None:
        assert_array_equal(got[0], expected[0])
        assert_array_equal(got[1], expected[1])


@given(seeds, st.sampled_from([1, 2, 3, 4, 5, 20, 3000]), st.sampled_from(["", "others", "class"]), st.booleans())
def test_log_counts(seed: int, k: int, whole: str, whole_numbers: bool) -> None:
    """Counts, and what they leave of a whole; zero, numbers too small to be normal, and infinite ones below."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, rng.integers(1, 6)))])
    counts = rng.integers(0, 4, (offsets[-1], k)) * (
        1 if whole_numbers else rng.random() * 10.0 ** rng.integers(-320, 300)
    )
    counts[rng.random(len(counts)) < rng.choice([0.0, 0.9])] = 0  # tables of words are nearly empty
    alpha = rng.choice([0.0, 1e-310, 1e-10, 0.3, 1.0], (len(counts) or 1) if rng.random() < 0.5 else 1)
    below = rng.normal(size=(len(offsets) - 1, k)) + rng.choice([0.0, np.inf], p=[0.9, 0.1])
    by = {"others": {"others": True}, "class": {"by_class": counts.max(axis=0, initial=0) * 1.0}}
    digits = 5e-16 if whole != "others" else 1e-13  # a sum of the row, in another order
    expected, finite = reference.log_counts(counts, offsets, alpha, below, **by.get(whole, {}))
    for threads in (1, 3):
        got, sound = kernels.log_counts(counts, offsets, alpha, below, **by.get(whole, {}), n_jobs=threads)
        assert_allclose(got, expected, rtol=1e-15, atol=digits * np.abs(below[np.isfinite(below)]).max(initial=1.0))
        assert sound == finite
    if finite:
        less = rng.normal(size=counts.shape)
        assert_array_equal(
            kernels.log_counts(counts, offsets, alpha, below, **by.get(whole, {}), less=less)[0], got - less
        )


@pytest.mark.parametrize("shape", [(0, 3), (3, 1), (5, 2), (70_000, 1), (300, 3000)])
def test_tables_on_large_pages(shape: tuple[int, int]) -> None:
    """An array like any other: zeros, its own, to be written, and it outlives what it came from."""
    no_rows = np.zeros(1, np.int64), np.zeros(0, np.int64), None, shape[0], np.zeros(0, np.uint8), shape[1]
    for _ in range(3):
        found, _ = kernels.count_sparse(*no_rows)
        assert (found.shape, found.dtype) == (shape, np.float64)
        assert found.flags.c_contiguous
        assert not found.any()
        found += 1.0
        kernels.count_sparse(*no_rows)
        assert (found == 1.0).all()


def test_logarithms_to_the_last_digit() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.random(10**5), 1 + 1e-3 * rng.normal(size=10**5), 10.0 ** rng.uniform(-307, 308, 10**5)])
    got, _ = kernels.log_counts(x[:, None], np.array([0, len(x)]), np.zeros(1), np.zeros((1, 1)))
    exact = np.log(x.astype(np.longdouble))
    assert np.abs((got[:, 0] - exact) / np.spacing(np.abs(exact).astype(float))).max() < 1


@given(seeds, st.sampled_from([0, 1, 4096, 4097, 30_000]), st.sampled_from([1, 2, 5, 40]))
def test_column_sums(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 8, (n, k))
    high, low = kernels.column_sums(table)
    wanted, rest = reference.column_sums(table)
    assert_allclose((high - wanted) + low, rest, rtol=0, atol=1e-18 * np.abs(table).sum(axis=0).max(initial=0) + 1e-300)
    for threads in (2, 3):
        assert_array_equal(kernels.column_sums(table, threads), (high, low))
    for sums in (kernels.column_sums, reference.column_sums):
        assert [v.tolist() for v in sums(np.array([[1.0], [-np.inf]]))] == [[-np.inf], [0.0]]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float32, np.float64])
def test_counts_of_any_type_are_read(dtype: Any) -> None:
    counts = np.array([[1, 2], [3, 0], [5, 6]], order="F").astype(dtype)
    got, finite = kernels.log_counts(counts, np.array([0, 1, 3]), np.ones(1), np.zeros((2, 2)))
    assert finite
    assert_allclose(got, np.log(counts.astype(float) + 1), rtol=1e-15)
    assert kernels.log_counts(counts, np.array([0, 1, 3]), np.zeros(1), np.zeros((2, 2)))[1] is False


@pytest.mark.parametrize("rows", [np.int32, np.int64, np.uint32, np.int16])
@pytest.mark.parametrize("columns", [np.int32, np.int64, np.uint32, np.int16])
def test_places_of_stored_cells_may_be_of_any_type(rows: Any, columns: Any) -> None:
    indptr, indices = np.array([0, 2, 3], rows), np.array([1, 0, 1], columns)
    for data in (None, np.array([2, 3, 4], np.int16), np.array([2, 3, 4], np.float32), np.array([2, 3, 4], object)):
        found, seen = kernels.count_sparse(indptr, indices, data, 2, np.array([0, 1], np.uint8), 2)
        assert found.tolist() == ([[1, 0], [1, 1]] if data is None else [[3, 0], [2, 4]])
        assert seen == 0
        scores, *_ = kernels.score_sparse(indptr, indices, data, np.array([[1.0], [10.0]]), np.zeros(1))
        assert scores.tolist() == ([[11], [10]] if data is None else [[23], [40]])


def test_shares_of_stored_cells_are_counted_in_every_class() -> None:
    indptr, indices, data = np.array([0, 2, 3]), np.array([1, 0, 1]), np.array([2.0, -3.0, np.inf])
    shares = np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]])
    y = np.zeros(2, np.uint8)
    found, seen = kernels.count_sparse(indptr, indices, None, 3, y, 3, shares)
    assert (found.tolist(), seen) == ([[0.25, 0.5, 0.25], [1.25, 0.5, 0.25], [0.0, 0.0, 0.0]], 0)
    found, seen = kernels.count_sparse(indptr, indices, data, 3, y, 3, shares, above=0.0)
    assert (found.tolist(), seen) == ([[0.0, 0.0, 0.0], [1.25, 0.5, 0.25], [0.0, 0.0, 0.0]], 3)


@pytest.mark.parametrize("n", [(1 << 14) - 1, 1 << 14, (1 << 14) + 1])
def test_rows_of_many_classes_are_counted_either_way(n: int) -> None:
    y = (np.arange(n) % 7).astype(np.uint16)
    found = class_rows(y, 9)
    assert found.tolist() == np.bincount(y, minlength=9).tolist()
    assert found.dtype == np.int64
