"""Compiled kernel blocks, solvers and ridge regression against their NumPy twins, on both instruction sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from posteriori import kernels
from posteriori.kernels import margin
from posteriori.kernels.margin import Descent, Epoch, KernelSpec
from posteriori.margin.kernel import SparseGram, wide_csr

from .reference import margin as reference

SPECS = [
    KernelSpec("dot", 1.0, 0.5),
    KernelSpec("polynomial", 0.3, 1.0, 3),
    KernelSpec("polynomial", 0.3, 1.0, 0),
    KernelSpec("sigmoid", 0.2, -0.1),
    KernelSpec("rbf", 0.4),
    KernelSpec("distance", 0.7),
    KernelSpec("manhattan", 0.3),
]
TOLERANCE = {np.float32: 3e-5, np.float64: 1e-12}


pytestmark = pytest.mark.usefixtures("instruction_set")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.kind}{s.degree}")
@pytest.mark.parametrize(("m", "n", "d"), [(1, 1, 1), (7, 33, 5), (13, 1100, 3), (100, 40, 17)])
def test_blocks_are_the_formula(spec, dtype, m, n, d):
    random = np.random.default_rng(m + n)
    a, b = (random.normal(size=(k, d)).astype(dtype) for k in (m, n))
    pa, pb = margin.pack(a), margin.pack(b)
    slot = random.permutation(m + 2)[:m]
    out = np.full((m + 2, n + 3), 7.0, dtype)
    kernels.kernel_rows(spec, a, pa.norms[:m], pb, out, slot)
    expected = reference.kernel_rows(spec, a, b)
    assert_allclose(out[slot, :n], expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert (out[:, n:] == 7).all()  # nothing beyond its own columns is written
    coef = random.normal(size=(3, n))
    sums = kernels.kernel_sums(spec, a, pa.norms[:m], pb, coef)
    assert_allclose(
        sums,
        reference.kernel_sums(spec, a, b, coef),
        rtol=1e-3 if dtype == np.float32 else 1e-9,
        atol=1e-3 if dtype == np.float32 else 1e-9,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spec", [s for s in SPECS if s.kind in ("rbf", "distance", "manhattan")], ids=lambda s: s.kind)
def test_equal_rows_have_kernel_one_exactly(spec, dtype):
    x = (np.random.default_rng(0).normal(size=(50, 37)) * 1e3).astype(dtype)
    packed = margin.pack(np.concatenate([x, x]))
    out = np.empty((50, 100), dtype)
    kernels.kernel_rows(spec, x, packed.norms[:50], packed, out, np.arange(50))
    assert (out[np.arange(50), np.arange(50)] == 1).all()
    assert (out[np.arange(50), np.arange(50) + 50] == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential_over_its_whole_range(dtype):
    x = np.linspace(0, 120 if dtype == np.float32 else 800, 4001).astype(dtype)[:, None]
    zero = margin.pack(np.zeros((1, 1), dtype))
    out = np.empty((len(x), 1), dtype)
    kernels.kernel_rows(KernelSpec("manhattan", 1.0), x, margin.pack(x).norms[: len(x)], zero, out, np.arange(len(x)))
    expected = np.exp(-x.astype(np.float64))
    assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps, atol=2e-38 if dtype == np.float32 else 1e-307)


@given(st.integers(1, 40), st.integers(0, 2**20), st.sampled_from([np.float32, np.float64]))
def test_pairs_reach_the_twin(q, seed, dtype):
    random = np.random.default_rng(seed)
    x = random.normal(size=(q, 3))
    K = np.exp(-((x[:, None] - x) ** 2).sum(-1)).astype(dtype)
    y = np.where(random.random(q) < 0.5, 1.0, -1.0)
    low, high = np.minimum(0, 2 * y), np.maximum(0, 2 * y)
    beta, v, twin_beta, twin_v = np.zeros(q), y.copy(), np.zeros(q), y.copy()
    steps, gap = kernels.smo_block(K, low, high, beta, v, 1e-6, 10_000)
    reference.smo_block(K, low, high, twin_beta, twin_v, 1e-6, 10_000)
    for most in (0, 1, 2):  # steps of the twin, each of which moves a pair
        moved = np.zeros(q)
        taken, left = reference.smo_block(K, low, high, moved, y.copy(), 1e-6, most)
        assert taken == most or (taken < most and left <= 1e-6)
        assert np.count_nonzero(moved) <= 2 * taken
    wide = K.astype(np.float64)
    assert gap <= 1e-6 or steps == 10_000
    assert_allclose(v, y - wide @ beta, atol=1e-9)
    assert ((beta >= low) & (beta <= high)).all()
    value, best = (0.5 * b @ wide @ b - y @ b for b in (beta, twin_beta))
    assert_allclose(value, best, rtol=1e-5, atol=1e-8)


@given(st.floats(-0.9, 0.9), st.floats(0.1, 3.0), st.floats(0.1, 3.0))
def test_one_pair_is_solved_in_one_step(k, a, b):
    """The minimum of ½tᵀKt − pt along the pair, t = (p_1 − p_2)/(K_11 + K_22 − 2K_12)."""
    K, low, high, p = np.array([[a, k * np.sqrt(a * b)], [k * np.sqrt(a * b), b]]), -1e9, 1e9, np.array([1.0, -1.0])
    for solve in (reference.smo_block, kernels.smo_block):
        beta = np.zeros(2)
        assert solve(K, np.full(2, low), np.full(2, high), beta, p.copy(), 1e-9, 100)[0] == 1
        assert_allclose(beta, p * 2 / (a + b - 2 * K[0, 1]), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_free_variables_move_together(dtype, C):
    """Dots of few columns and a large C: pairs alone would zigzag for tens of thousands of steps."""
    random = np.random.default_rng(4)
    X = random.normal(size=(120, 8))
    y = np.where(X[:, 0] + 0.7 * random.normal(size=120) > 0, 1.0, -1.0)
    K = (X @ X.T).astype(dtype)
    low, high, beta, v = np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(120), y.copy()
    tol = 1e-3 if dtype == np.float32 else 1e-6
    steps = sum(kernels.smo_block(K, low, high, beta, v, tol, 20_000)[0] for _ in range(3))
    assert steps < 20_000
    assert v[beta < high].max() - v[beta > low].min() <= tol
    assert_allclose(v, y - K.astype(np.float64) @ beta, atol=1e-9 * C)
    assert abs(beta.sum()) < 1e-9 * C
    assert ((beta >= low) & (beta <= high)).all()


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**20), st.sampled_from([np.float32, np.float64]))
def test_machines_over_one_matrix_are_blocks_of_it(n, count, seed, dtype):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3))
    K = margin.square(n, dtype)
    K[:, :n] = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    rows = [np.sort(random.integers(0, n, random.integers(0, 2 * n))) for _ in range(count)] + [np.arange(n)]
    starts = np.cumsum([0, *map(len, rows)])
    p = np.where(random.random(starts[-1]) < 0.5, 1.0, -1.0)
    some = margin.Machines(starts, np.concatenate(rows), p, np.minimum(0, 2 * p), np.maximum(0, 2 * p))
    beta, v, ends = kernels.smo_machines(K, some, 1e-6, 10_000)
    for own, a, b, (steps, gap, intercept, energy, drift) in zip(rows, starts, starts[1:], ends):
        block, mine, low, high = K[np.ix_(own, own)], beta[a:b], some.low[a:b], some.high[a:b]
        alone, its = np.zeros(b - a), p[a:b].copy()
        if b > a:
            reference.smo_block(block, low, high, alone, its, 1e-6, 10_000)
        wide = block.astype(np.float64)
        assert gap <= 1e-6 or steps == 10_000
        assert_allclose(v[a:b], p[a:b] - wide @ mine, atol=1e-9)
        assert_allclose(energy, mine @ wide @ mine, atol=1e-8)
        best = 0.5 * alone @ wide @ alone - p[a:b] @ alone
        assert_allclose(0.5 * energy - p[a:b] @ mine, best, rtol=1e-5, atol=1e-6)
        top, bottom = v[a:b][mine < high].max(initial=-np.inf), v[a:b][mine > low].min(initial=np.inf)
        assert gap == (top - bottom if np.isfinite(top) and np.isfinite(bottom) else 0.0)
        free = (mine > low) & (mine < high)
        if free.any():
            assert intercept == pytest.approx(v[a:b][free].mean())
        elif np.isfinite(top) and np.isfinite(bottom):
            assert intercept == pytest.approx((top + bottom) / 2)
        largest = np.abs(block.diagonal()).max(initial=0.0) * np.abs(mine).max(initial=0.0)
        assert drift == pytest.approx(np.finfo(float).eps * steps * largest)


def test_threads_change_no_machine():
    random = np.random.default_rng(2)
    x = random.normal(size=(700, 3))
    K = margin.square(700, np.float64)
    K[:, :700] = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    rows = [np.sort(random.permutation(700)[:500]) for _ in range(6)]
    p = np.where(random.random(3000) < 0.5, 1.0, -1.0)
    some = margin.Machines(np.arange(7) * 500, np.concatenate(rows), p, np.minimum(0, p), np.maximum(0, p))
    for one, two in zip(kernels.smo_machines(K, some, 1e-3, 10_000, 1), kernels.smo_machines(K, some, 1e-3, 10_000, 2)):
        assert_array_equal(one, two)


@given(st.integers(0, 30), st.integers(1, 5), st.integers(0, 2**20))
def test_equal_rows_are_merged(n, d, seed):
    random = np.random.default_rng(seed)
    X, target = random.integers(-1, 2, (n, d)).astype(float), random.integers(0, 2, n).astype(float)
    weight = random.integers(0, 3, n).astype(float)
    first, total, group, share = kernels.merge_rows(X, target, weight, random.uniform(0.5, 1.5, (2, d)))
    wanted = reference.merge_rows(X, target, weight)
    assert {tuple(np.flatnonzero(group == g).tolist()) for g in range(len(first))} == set(map(tuple, wanted))
    assert group[first].tolist() == list(range(len(first)))
    assert (np.diff(target[first]) >= 0).all()
    assert total.tolist() == [weight[group == g].sum() for g in range(len(first))]
    assert_allclose(share, [weight[i] / total[g] if g >= 0 else 0.0 for i, g in enumerate(group)])


def test_rows_whose_sums_are_no_numbers_have_an_order():
    X = np.array([[1e308, -1e308, 1e308], [1e308, 1e308, -1e308], [1e308, -1e308, 1e308], [1.0, 2.0, 3.0]])
    group = kernels.merge_rows(X, np.zeros(4), np.ones(4), np.full((2, 3), 1.5))[2]
    assert len({group[0], group[1], group[3]}) == 3  # equal ones may lie apart there, others are never one


@given(st.integers(0, 9), st.integers(1, 6), st.integers(0, 2**20))
def test_votes_of_pairs(n, K, seed):
    decisions = np.random.default_rng(seed).integers(-2, 3, (n, K * (K - 1) // 2)) / 2
    assert_array_equal(kernels.pair_votes(decisions, K), reference.pair_votes(decisions, K))


def test_a_step_cap_is_kept():
    K, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    beta = np.zeros(4)
    assert kernels.smo_block(K, np.minimum(0, y), np.maximum(0, y), beta, y.copy(), 1e-9, 1)[0] == 1
    assert np.count_nonzero(beta) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, 5000])
@pytest.mark.parametrize("m", [0, 1, 6])
def test_rows_are_subtracted(dtype, n, m):
    random = np.random.default_rng(n)
    rows = random.normal(size=(8, n + 2)).astype(dtype)
    slot, step, v = random.permutation(8)[:m], random.normal(size=m), random.normal(size=n)
    expected = v.copy()
    reference.subtract_rows(rows, slot, step, expected)
    kernels.subtract_rows(rows, slot, step, v)
    assert_allclose(v, expected, rtol=1e-12, atol=1e-12)


def test_threads_change_no_bit():
    random = np.random.default_rng(3)
    x = random.normal(size=(3000, 20)).astype(np.float32)
    packed, coef = margin.pack(x), random.normal(size=(1, 3000))
    one, two = (kernels.kernel_sums(KernelSpec("rbf", 0.1), x, packed.norms[:3000], packed, coef, j) for j in (1, 2))
    assert_array_equal(one, two)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_descent_keeps_w_and_lowers_the_dual(kind, loss):
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 7)) * (random.random((60, 7)) < 0.6)
    y = np.where(X @ random.normal(size=7) + 0.3 * random.normal(size=60) > 0, 1.0, -1.0)
    ridge = np.zeros(60) if loss == "hinge" else np.full(60, 0.5)
    upper = np.ones(60) if loss == "hinge" else np.full(60, np.inf)
    wide = np.column_stack([X, np.full(60, 0.7)])
    state = Descent(y, upper, ridge, (wide**2).sum(1) + ridge, 0.7, np.zeros(60), np.zeros(8), np.arange(60))
    table = sparse.csr_array(X)
    table.indptr = table.indptr.astype(np.int64)
    values, last = [], Epoch(60)
    for k in range(300):
        last = Epoch(*kernels.descend(X if kind == "dense" else table, state, last, k))
        last = Epoch(60) if last.top - last.bottom < 1e-9 and last.active < 60 else last
        values.append(reference.descent_dual(wide, y, ridge, state.alpha))
        assert_allclose(state.w, wide.T @ (state.alpha * y), atol=1e-10)
        assert ((state.alpha >= 0) & (state.alpha <= upper)).all()
    assert (np.diff(values) <= 1e-10).all()
    gradient = y * (wide @ state.w) - 1 + ridge * state.alpha
    projected = np.where(
        state.alpha <= 0, np.minimum(gradient, 0), np.where(state.alpha >= upper, np.maximum(gradient, 0), gradient)
    )
    assert np.abs(projected).max() < 1e-4
    assert_array_equal(np.sort(state.order), np.arange(60))


@pytest.mark.parametrize(
    "call",
    [
        lambda: kernels.smo_block(np.eye(3), np.zeros(2), np.ones(3), np.zeros(3), np.zeros(3), 1e-3, 1),
        lambda: kernels.subtract_rows(np.eye(3), np.array([5]), np.ones(1), np.zeros(3)),
        lambda: kernels.kernel_rows(
            KernelSpec("dot"), np.ones((2, 3)), np.ones(2), margin.pack(np.ones((4, 2))), np.ones((2, 4)), np.arange(2)
        ),
        lambda: kernels.kernel_sums(
            KernelSpec("dot"), np.ones((2, 2)), np.ones(2), margin.pack(np.ones((4, 2))), np.ones((1, 3))
        ),
    ],
)
def test_shapes_are_checked_before_a_kernel_runs(call):
    with pytest.raises(ValueError, match="shapes do not fit"):
        call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spec", SPECS, ids=lambda s: f"{s.kind}{s.degree}")
@pytest.mark.parametrize("n", [1, 7, 130, 700])
def test_a_square_is_its_rows(spec, dtype, n):
    packed = margin.pack(np.random.default_rng(n).normal(size=(n, 5)).astype(dtype))
    rows, square = margin.square(n, dtype), margin.square(n, dtype)
    kernels.kernel_rows(spec, packed.rows, packed.norms[:n], packed, rows, np.arange(n))
    kernels.kernel_square(spec, packed, square)
    assert_array_equal(square, rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spec", [s for s in SPECS if s.kind != "manhattan"], ids=lambda s: f"{s.kind}{s.degree}")
def test_sparse_rows_are_the_formula(spec, dtype):
    random = np.random.default_rng(5)
    a, b = (sparse.random_array((n, 40), density=0.2, rng=random, format="csr") for n in (9, 23))
    gram = SparseGram(spec, b, np.dtype(dtype))
    out = np.full((11, 25), 7.0, dtype)
    slot = random.permutation(11)[:9]
    gram.between(wide_csr(a), out, slot)
    expected = reference.kernel_rows(spec, a.toarray(), b.toarray())
    assert_allclose(out[slot, :23], expected, rtol=TOLERANCE[dtype], atol=1e-7)
    assert (out[:, 23:] == 7).all()


@pytest.mark.parametrize("kind", [np.asarray, wide_csr], ids=["dense", "sparse"])
def test_dots_and_sums_of_rows(kind):
    random = np.random.default_rng(6)
    X = random.normal(size=(70, 9)) * (random.random((70, 9)) < 0.5)
    w, weight = random.normal(size=10), np.maximum(random.normal(size=70), 0.0)
    wide = np.column_stack([X, np.full(70, 0.7)])
    assert_allclose(kernels.row_dots(kind(X), w, 0.7), wide @ w, atol=1e-12)
    assert_allclose(kernels.row_sums(kind(X), weight, 0.7), wide.T @ weight, atol=1e-12)
    assert_allclose(kernels.row_sums(kind(X), weight, 0.7, w), wide.T @ (weight * (wide @ w)), atol=1e-12)
    assert_allclose(kernels.row_squares(kind(X), weight, 0.7), (wide**2).T @ weight, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, wide_csr], ids=["dense", "sparse"])
def test_large_sums_are_summed_in_parts(kind):
    """A million cells, from which on a sum has parts; threads change nothing."""
    random = np.random.default_rng(7)
    X, w, weight = random.normal(size=(10_001, 101)), random.normal(size=102), random.random(10_001)
    wide = np.column_stack([X, np.full(len(X), 0.7)])
    for n_jobs in (1, 2):
        assert_array_equal(
            kernels.row_sums(kind(X), weight, 0.7, w, n_jobs), kernels.row_sums(kind(X), weight, 0.7, w, 3)
        )
    assert_allclose(kernels.row_sums(kind(X), weight, 0.7, w), wide.T @ (weight * (wide @ w)), rtol=1e-9, atol=1e-9)
    assert_allclose(kernels.row_squares(kind(X), weight, 0.7), (wide**2).T @ weight, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, wide_csr], ids=["dense", "sparse"])
@pytest.mark.parametrize("share", [1, 3, 1000])
def test_conjugate_gradients_end_at_the_solution_in_any_number_of_calls(kind, share):
    random = np.random.default_rng(8)
    X = random.normal(size=(40, 12)) * (random.random((40, 12)) < 0.5)
    weight, g = np.maximum(random.normal(size=40), 0.0), random.normal(size=13)
    wide = np.column_stack([X, np.full(40, 0.7)])
    H = np.eye(13) + (wide.T * weight) @ wide
    scale = 1.0 / np.sqrt(H.diagonal())
    state = (np.zeros(13), g.copy(), scale * g)
    taken = [kernels.conjugate(kind(X), weight, 0.7, scale, state, 1e-20, share) for _ in range(60)]
    assert all(steps <= share for steps in taken)
    assert 0 < sum(taken) < 60
    assert_allclose(state[0], np.linalg.solve(H, g), rtol=1e-8)
    assert_allclose(state[1], g - H @ state[0], atol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9, 50])
def test_the_squared_hinge_along_a_line(n):
    random = np.random.default_rng(n)
    m, slope, C = random.normal(size=n), random.normal(size=n), random.random(n)
    for t in (0.0, 0.4, 2.0):
        slack = np.maximum(0.0, 1.0 - m - t * slope)
        expected = C @ slack**2, (C * slack) @ slope, (C * (slack > 0)) @ slope**2
        assert_allclose(kernels.squared_hinge(m, slope, C, t), expected, rtol=1e-12, atol=1e-14)


def test_v_in_single_lanes_ends_as_in_double():
    """K in float: the pairs move in single precision; v is what β says, and no pair violates by more than the gap asked."""
    random = np.random.default_rng(9)
    X = random.normal(size=(300, 4))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * random.normal(size=300) > 0, 1.0, -1.0)
    for C, tol in ((1.0, 1e-3), (100.0, 1e-3), (1.0, 1e-7)):  # the last is beyond single precision: double lanes end it
        low, high, beta, v = np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(300), y.copy()
        for _ in range(50):
            steps, _ = kernels.smo_block(K, low, high, beta, v, tol, 10_000)
            if not steps:
                break
        assert_allclose(v, y - K.astype(np.float64) @ beta, atol=1e-10 * C)
        assert v[beta < high].max() - v[beta > low].min() <= tol


def test_a_problem_without_an_end_is_left():
    """Two variables without bounds and no curvature between them: the step has no end, and β stays a number."""
    K, y = np.array([[0.0, 5.0], [5.0, 0.0]]), np.array([1.0, -1.0])
    beta, v = np.zeros(2), y.copy()
    kernels.smo_block(K, np.minimum(0, y * np.inf), np.maximum(0, y * np.inf), beta, v, 1e-3, 10_000)
    assert np.isfinite(beta).all()
    assert np.isfinite(v).all()


@pytest.mark.parametrize("kind", [np.asarray, wide_csr], ids=["dense", "sparse"])
def test_the_move_of_the_free_rows_is_newtons(kind):
    random = np.random.default_rng(7)
    X, y, ridge = random.normal(size=(30, 9)), np.where(random.random(30) < 0.5, 1.0, -1.0), random.random(30) + 0.1
    wide, alpha, free = np.column_stack([X, np.full(30, 0.7)]), random.random(30), np.arange(3, 25, 2)
    state = Descent(
        y, np.ones(30), ridge, (wide**2).sum(1) + ridge, 0.7, alpha, wide.T @ (alpha * y), np.arange(30, dtype=np.int64)
    )
    signed = y[free, None] * wide[free]
    g = signed @ state.w - 1.0 + ridge[free] * alpha[free]
    wanted = reference.free_move(signed @ signed.T + np.diag(ridge[free]), g)
    scale = np.abs(wanted).max()
    found = kernels.free_move(kind(X), state, free, 200)
    assert_allclose(found, wanted, atol=0.15 * scale)  # to a tenth of g
    assert_allclose(kernels.free_move(kind(X), state, free, 0), np.zeros(len(free)))
    assert len(kernels.free_move(kind(X), state, free[:0], 5)) == 0
    assert_allclose(state.alpha, alpha)
    with pytest.raises(ValueError, match="not there"):
        kernels.free_move(kind(X), state, np.array([30]), 5)


@pytest.mark.parametrize("kind", [np.asarray, wide_csr], ids=["dense", "sparse"])
def test_rows_and_their_weights_fit(kind):
    X = kind(np.eye(3))
    for call in (
        lambda: kernels.row_dots(X, np.ones(3), 1.0),
        lambda: kernels.row_sums(X, np.ones(2), 1.0),
        lambda: kernels.row_sums(X, np.ones(3), 1.0, np.ones(3)),
        lambda: kernels.row_squares(X, np.ones(2), 1.0),
        lambda: kernels.conjugate(X, np.ones(2), 1.0, *(lambda v: (v, (v, v, v)))(np.ones(4)), 0.0, 1),
        lambda: kernels.conjugate(X, np.ones(3), 1.0, np.ones(3), (np.ones(4), np.ones(4), np.ones(4)), 0.0, 1),
        lambda: kernels.conjugate(X, np.ones(3), 1.0, np.ones(4), (np.ones(4), np.ones(3), np.ones(4)), 0.0, 1),
        lambda: kernels.squared_hinge(np.ones(3), np.ones(2), np.ones(3)),
    ):
        with pytest.raises(ValueError, match=r"do not fit|outside X"):
            call()


def test_a_square_and_sparse_rows_fit():
    with pytest.raises(ValueError, match="shapes do not fit"):
        kernels.kernel_square(KernelSpec("dot"), margin.pack(np.ones((4, 2))), np.ones((4, 3)))
    gram, rows = SparseGram(KernelSpec("dot"), np.eye(3)), wide_csr(np.eye(3))
    with pytest.raises(ValueError, match="shapes do not fit"):
        gram.between(rows, np.ones((3, 2)), np.arange(3))
    with pytest.raises(ValueError, match="shapes do not fit"):
        gram.between(rows, np.ones((2, 3)), np.arange(3))
    rows.indices[0] = 7
    with pytest.raises(ValueError, match="outside X"):
        gram.between(rows, np.ones((3, 3)), np.arange(3))


@pytest.mark.parametrize("block", [kernels.smo_block, reference.smo_block], ids=["native", "reference"])
def test_a_pair_is_chosen_by_the_square_of_its_fall_over_its_bend(block):
    """fall 2 and 3, bend 2 and 5: 4/2 is more than 9/5, though 8/2 is less than 27/5."""
    K, beta, v = np.diag([1.0, 1.0, 4.0]), np.zeros(3), np.array([3.0, 1.0, 0.0])
    assert block(K, np.full(3, -10.0), np.full(3, 10.0), beta, v, 1e-3, 1) == (1, pytest.approx(2.0))
    assert beta.tolist() == [1.0, -1.0, 0.0]
    assert v.tolist() == [2.0, 2.0, 0.0]


@pytest.mark.parametrize("block", [kernels.smo_block, reference.smo_block], ids=["native", "reference"])
@pytest.mark.parametrize("first", [True, False])
def test_a_step_to_a_bound_ends_exactly_there(block, first):
    """−0.1 + (0.3 + 0.1) is more than 0.3, and 0.3 − (0.3 + 0.1) less than −0.1."""
    low, high = np.array([-9.0, -9.0 if first else -0.1]), np.array([0.3 if first else 9.0, 9.0])
    beta, v = np.array([-0.1, 0.3]), np.array([10.0, -10.0])
    block(np.eye(2), low, high, beta, v, 1e-3, 1)
    assert (beta[0] if first else beta[1]) == (0.3 if first else -0.1)


def task(n, f, K, seed):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(n, f)), rng.integers(0, K, n)
    C = 1 if K == 2 else K
    rows = [np.sort(rng.choice(n, max(1, n - n // 3), replace=False)) for _ in range(3)]
    charge = np.append(np.full(f, 0.5), 0.25)
    metric = 1.0 / (0.2 + np.tile(charge / n, (C, 1)))
    return Z, y, rng.random(n) + 0.1, rows, rng.normal(size=C), charge, metric, np.zeros((3, C, f + 1))


@pytest.mark.parametrize(("n", "f", "K"), [(40, 3, 2), (60, 17, 3), (30, 1, 2), (50, 0, 4), (20, 33, 5), (3, 2, 2)])
def test_the_end_has_no_slope(n, f, K):
    Z, y, w, rows, offset, charge, metric, B = task(n, f, K, n + f)
    loss = kernels.ridge_folds(Z, y, w, rows, offset, charge, metric, B, 500, 1e-16)
    for m, own in enumerate(rows):
        wanted, slope = reference.ridge_loss(Z, y, w, own, offset, charge, B[m])
        assert loss[m] == pytest.approx(wanted, rel=1e-10)
        assert np.abs(slope).max() < 1e-6
        rng = np.random.default_rng(0)
        for _ in range(5):  # L is convex: this is the least of all
            near = B[m] + 0.1 * rng.normal(size=B[m].shape)
            assert reference.ridge_loss(Z, y, w, own, offset, charge, near)[0] > wanted


@given(st.integers(2, 30), st.integers(0, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_every_step_goes_down(n, f, K, seed):
    Z, y, w, rows, offset, charge, metric, B = task(n, f, K, seed)
    before = np.inf
    for _ in range(4):
        loss = kernels.ridge_folds(Z, y, w, rows, offset, charge, metric, B, 1, 0.0)
        assert (loss <= before).all()
        before = loss


def test_slopes_of_the_twin_are_differences():
    Z, y, w, rows, offset, charge, _, B = task(20, 3, 3, 0)
    at = np.random.default_rng(0).normal(size=B[0].shape)
    slope = reference.ridge_loss(Z, y, w, rows[0], offset, charge, at)[1]
    for c, j in np.ndindex(*at.shape):
        step = np.zeros_like(at)
        step[c, j] = 1e-6
        up, down = (reference.ridge_loss(Z, y, w, rows[0], offset, charge, at + s * step)[0] for s in (1, -1))
        assert slope[c, j] == pytest.approx((up - down) / 2e-6, abs=1e-7)


def test_threads_change_no_bit_of_a_ridge():
    one, three = (task(3000, 40, 3, 0) for _ in range(2))
    kernels.ridge_folds(*one, 20, 0.0, 1)
    kernels.ridge_folds(*three, 20, 0.0, 3)
    assert_array_equal(one[-1], three[-1])


def test_two_classes_are_two_rows_of_half_the_weight():
    Z, y, w, rows, _, _, _, _ = task(60, 4, 2, 1)
    ends = []
    for C, charge in ((1, 0.5), (2, 1.0)):
        B = np.zeros((3, C, 5))
        full = np.full(5, charge)
        kernels.ridge_folds(Z, y, w, rows, np.zeros(C), full, np.full((C, 5), 3.0), B, 500, 1e-16)
        ends.append(B[:, 0] if C == 1 else B[:, 1] - B[:, 0])
    assert_allclose(*ends, atol=1e-5)
