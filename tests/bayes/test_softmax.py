"""Ridge logistic regression over codes: the objective in fifty digits, scikit-learn's optimum, fewer passes."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from posteriori.bayes import ridge as module
from posteriori.bayes.ridge import ByColumn, ByValue, Point, _Memory, _search, fit_ridge


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


def on_a_line(f, slope_of, ridge_part=0.25):
    """(here, step, along, at, slope of the ridge, the lengths that were tried) of a function of one length."""
    tried = []

    def point(t):
        return Point(np.array([[t]]), np.zeros(1), np.array([[t]]), f(t), np.array([[(1 - ridge_part) * slope_of(t)]]))

    def at(B, b, eta):
        assert_allclose(B, eta)
        tried.append(float(eta[0, 0]))
        return point(tried[-1])

    step = np.ones((1, 1)), np.zeros(1)
    return point(0.0), step, np.ones((1, 1)), at, lambda p: ridge_part * slope_of(float(p.eta[0, 0])), tried


@pytest.mark.parametrize("foot", [0.03, 0.1, 0.45, 2.5, 7.0, -0.1, -3.0])
def test_a_parabola_is_searched_to_its_foot(foot):
    """L = (t − foot)²: after one length that will not do, the next is the foot; uphill the line is walked back."""
    here, step, along, at, ridge_slope, tried = on_a_line(lambda t: (t - foot) ** 2, lambda t: 2 * (t - foot))
    found = _search(here, step, along, -2 * foot, at, ridge_slope)
    accepted = abs(1 - abs(foot)) <= 0.9 * abs(foot) and (1 - abs(foot)) ** 2 <= foot**2 - 2e-4 * abs(foot)
    assert tried[0] == np.sign(foot)
    if not accepted:
        assert_allclose(tried[1:] and found.eta[0, 0], foot, rtol=1e-9)
        assert len(tried) == 2


@pytest.mark.parametrize(
    ("fallen", "slope", "well"),
    [
        (1.01e-4, -0.5, True),
        (0.99e-4, -0.5, False),  # not far enough
        (0.5, -0.89, True),
        (0.5, -0.91, False),  # as steep as before
        (0.5, 0.89, True),
        (0.5, 0.91, False),  # as steep on the other side
    ],
)
def test_a_length_is_taken_under_the_conditions_of_wolfe(fallen, slope, well):
    """L(t) ≤ L(0) + 10⁻⁴ t L′(0) and |L′(t)| ≤ 0.9 |L′(0)| (Nocedal and Wright, chapter 3)."""
    told = {0.0: (0.0, -1.0), 1.0: (-fallen, slope)}
    here, step, along, at, ridge_slope, tried = on_a_line(
        lambda t: told.get(t, (-1.0, 0.0))[0], lambda t: told.get(t, (-1.0, 0.0))[1]
    )
    found = _search(here, step, along, -1.0, at, ridge_slope)
    assert (len(tried) == 1) == well
    assert (found.eta[0, 0] == 1.0) == well
    if not well and (fallen < 1e-4 or slope > 0):
        assert 0 < tried[1] < 1  # the bracket is closed above
    if slope == -0.91:
        assert tried[1] > 1


def test_no_way_down_is_no_point():
    flat = on_a_line(lambda t: 0.0, lambda t: 0.0)
    assert _search(*flat[:3], 0.0, *flat[3:5]) is None
    assert flat[5] == []
    wall = on_a_line(lambda t: abs(t), lambda t: -1.0 if t == 0 else 1.0)  # it lies: no length is downhill
    assert _search(*wall[:3], -1.0, *wall[3:5]) is None
    assert len(wall[5]) == module.TRIES
    assert (np.diff(wall[5]) < 0).all()
    assert wall[5][-1] < 1e-6


def test_a_bracket_closes_in_where_slopes_are_far_from_a_parabola():
    """L = |t − 0.7| but for its roundness, and e^t − 50 t, whose foot is far away: found within few tries."""
    for f, slope in (
        (lambda t: np.sqrt((t - 0.7) ** 2 + 1e-8), lambda t: (t - 0.7) / np.sqrt((t - 0.7) ** 2 + 1e-8)),
        (lambda t: np.exp(t) - 50 * t, lambda t: np.exp(t) - 50),
    ):
        here, step, along, at, ridge_slope, tried = on_a_line(f, slope)
        found = _search(here, step, along, slope(0.0), at, ridge_slope)
        t = float(found.eta[0, 0])
        assert abs(slope(t)) <= 0.9 * abs(slope(0.0))
        assert f(t) <= f(0.0) + 1e-4 * t * slope(0.0)
        assert len(tried) <= 15


def test_the_memory_is_the_dense_formula_of_bfgs():
    """H ← (I − ρ s qᵀ) H (I − ρ q sᵀ) + ρ s sᵀ from γH₀, γ = ⟨s, q⟩/⟨q, H₀q⟩ of the last step."""
    rng = np.random.default_rng(0)
    f, K = 4, 3
    size = f * K + K
    A, metric = (m @ m.T + np.eye(size) for m in rng.normal(size=(2, size, size)))

    def split(x):
        return x[: f * K].reshape(f, K), x[f * K :]

    memory = _Memory()
    memory.first = lambda a, b: split(metric @ np.concatenate([a.ravel(), b]))
    steps = rng.normal(size=(4, size))
    for s in steps:
        memory.add(split(s), split(A @ s))
    memory.add(split(steps[0]), split(-A @ steps[0]))  # curved downward: not believed
    memory.add(split(steps[0]), split(np.zeros(size)))
    last = A @ steps[-1]
    H = (steps[-1] @ last) / (last @ metric @ last) * metric
    for s in steps:
        q = A @ s
        left = np.eye(size) - np.outer(s, q) / (s @ q)
        H = left @ H @ left.T + np.outer(s, s) / (s @ q)
    g = rng.normal(size=size)
    found = memory.direction(*split(g))
    assert found[0].shape == (f, K)
    assert_allclose(np.concatenate([found[0].ravel(), found[1]]), -H @ g, rtol=1e-9)
    assert len(memory.steps) == 4


class Watched(ByValue):
    """Rows that tell when they were summed and when their metric was made."""

    def sums(self, G):
        EVENTS.append("pass")
        return super().sums(G)

    def metric(self, *how):
        EVENTS.append("metric")
        found = super().metric(*how)
        while EVENTS[-1] == "pass":  # its own
            EVENTS.pop()
        EVENTS.append(f"few={how[-1]}")
        return found


EVENTS: list[str] = []


def test_the_metric_is_made_after_1_2_4_and_8_steps():
    design, y, w = problem()
    watched = Watched(design.codes, design.offsets, design.numbers)
    EVENTS.clear()
    found = fit_ridge(watched, y, w / w.sum(), 1e-5, zero(design, 3), None, HOLD, 0.0, 10, few=77)
    passes, made = 0, []
    for event in EVENTS:
        passes += event == "pass"
        made += [passes - 1] if event == "metric" else []
    assert made == [0, 1, 2, 4, 8]  # steps that were taken before
    assert {e for e in EVENTS if e.startswith("few")} == {"few=77"}
    assert not found.converged
    assert len(found.trace) == 11
    EVENTS.clear()
    fit_ridge(watched, y, w / w.sum(), 1e-5, zero(design, 3), None, HOLD, 0.0, 10, anew=frozenset({0, 3}))
    assert EVENTS.count("metric") == 2


def test_the_walk_ends_when_a_step_promises_less_than_tol():
    """½⟨g, H₀g⟩ at the start; from zero there is no temperature to find."""
    design, y, w = problem()
    w, ridge, K = w / w.sum(), 0.01, 3
    p = np.full((design.n, K), 1 / K)
    G = w[:, None] * (p - (y[:, None] == np.arange(K)))
    g = design.dense().T @ G, G.sum(axis=0)
    B, b = design.metric(w, p, ridge).newton(*g)
    promise = 0.5 * (np.vdot(g[0], B) + np.vdot(g[1], b))
    for tol, steps in ((promise * 1.001, 0), (promise * 0.999, 1)):
        found = fit_ridge(design, y, w, ridge, zero(design, K), None, HOLD, tol, 1)
        assert len(found.trace) == 1 + steps
        assert found.converged == (steps == 0)
    assert_allclose(found.trace[0], np.log(K))
    assert_allclose(found.trace[1], objective(design.dense(), y, w, ridge, found.B, found.b))


def test_the_first_step_is_a_temperature_of_the_start():
    """Scores that are ten times too sure are cooled before any column is looked at; ones that are too dull are heated."""
    design, y, w = problem()
    w, Z = w / w.sum(), design.dense()
    good = fit_ridge(design, y, w, 1e-4, zero(design, 3), None, HOLD, 1e-10, 100)
    for sure in (10.0, 0.05):
        start = sure * good.B, sure * good.b
        found = fit_ridge(design, y, w, 1e-4, start, None, HOLD, np.inf, 5)
        multiple = found.b[0] / start[1][0]
        assert (multiple < 1) == (sure > 1)
        assert_allclose(found.B, multiple * start[0], atol=1e-12)
        assert_allclose(found.b, multiple * start[1], atol=1e-12)
        assert objective(Z, y, w, 1e-4, found.B, found.b) < objective(Z, y, w, 1e-4, *start)
        assert found.converged
        assert_allclose(found.trace, [objective(Z, y, w, 1e-4, *start)])


def test_no_step_is_the_start_and_has_converged():
    design, y, w = problem()
    start = np.random.default_rng(0).normal(size=(design.size, 3)), np.arange(3.0)
    found = fit_ridge(design, y, w / w.sum(), 0.1, start, None, HOLD, 0.0, 0)
    assert found.converged
    assert_array_equal(found.B, start[0])
    assert_array_equal(found.b, start[1])


def test_a_table_of_zeros_pulls_to_zero():
    design, y, w = problem()
    nothing = np.zeros((design.size, 3))
    start = np.random.default_rng(0).normal(size=(design.size, 3)), np.zeros(3)
    a, b = (fit_ridge(design, y, w / w.sum(), 0.3, start, t, 5.0, 1e-12, 50) for t in (nothing, None))
    assert a.trace == b.trace
    assert_array_equal(a.B, b.B)
