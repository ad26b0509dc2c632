"""LinearSVC beside liblinear, and its errors."""

from __future__ import annotations

import warnings
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import svm as peers
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin import linear_svc
from posteriori.margin.kernel import wide_csr
from posteriori.margin.linear_svc import objective


@settings(max_examples=30)
@given(st.integers(0, 2**20), st.sampled_from([1e-2, 1.0, 100.0]), st.booleans())
def test_newton_ends_at_the_optimum_whatever_the_units_of_the_columns(seed, C, wide):
    """Beside the exact minimum (Newton's method to the last digit on columns in units of 1e-4 to 1e4)."""
    random = np.random.RandomState(seed)
    x = random.normal(size=(120, 60 if wide else 5)) * 10.0 ** random.randint(-4, 5, 60 if wide else 5)
    y = np.where(random.normal(size=120) + x[:, 0] / np.abs(x[:, 0]).mean() > 0, 1, -1)
    table = sparse.csr_array(x) if wide else x  # over 50 columns, sparse rows go by conjugate gradients
    found, exact = (po.LinearSVC(C=C, solver="newton", tol=t).fit(table, y) for t in (1e-4, 1e-12))
    value, best = (
        objective(x, y.astype(float), np.full(120, C), np.append(m.coef_[0], m.intercept_), 1.0, "squared_hinge")
        for m in (found, exact)
    )
    assert best <= value * (1 + 1e-12)
    assert value <= best * (1 + 1e-5)


def problem(seed, n=60, d=3, form=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[np.abs(X) < 0.3] = 0.0
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return form(X), y, rng.random(n) + 0.2


def value(X, y, C, w, bias, loss):
    """The objective, written out."""
    slack = np.maximum(0, 1 - y * (X @ w[:-1] + bias * w[-1]))
    return 0.5 * w @ w + (C * (slack if loss == "hinge" else slack**2)).sum()


@pytest.mark.parametrize("form", [np.asarray, wide_csr])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_descent_ends_where_no_step_is_better(form, loss, bias, seed):
    X, y, C = problem(seed, form=form)
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    found = linear_svc.by_descent(X, y, C, bias, 1e-8, 5000, loss, 0)
    assert found.converged
    assert found.rounds < 5000
    best = value(dense, y, C, found.w, bias, loss)
    assert linear_svc.objective(X, y, C, found.w, bias, loss) == pytest.approx(best)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(20):
            step = rng.normal(size=4) * size * (1.0 if bias else np.array([1, 1, 1, 0]))
            assert value(dense, y, C, found.w + step, bias, loss) >= best - 1e-9 * best
    if loss == "hinge" and isinstance(X, np.ndarray):
        plane = linear_svc.by_pairs(X, y, C, bias, 1e-8, 5000, 0)
        assert plane.converged
        assert 0 < plane.rounds < 100
        assert value(X, y, C, plane.w, bias, loss) == pytest.approx(best, rel=1e-7)
    if loss == "squared_hinge":
        newton = linear_svc.by_newton(X, y, C, bias, 1e-10, 100)
        assert newton.converged
        assert newton.rounds < 30
        assert value(dense, y, C, newton.w, bias, loss) == pytest.approx(best, rel=1e-7)
        assert newton.w == pytest.approx(found.w, abs=1e-4)


def test_rounds_that_are_not_enough_are_told():
    X, y, C = problem(0)
    assert not linear_svc.by_descent(X, y, C, 1.0, 1e-12, 1, "hinge", 0).converged
    assert linear_svc.by_descent(X, y, C, 1.0, 1e-12, 2, "hinge", 0).rounds == 2
    assert not linear_svc.by_newton(X, y, C, 1.0, 1e-14, 1).converged
    capped = linear_svc.by_pairs(X, y, C, 1.0, 1e-8, 1, 0)
    assert (capped.rounds, capped.converged) == (1, False)
    stop = Event()
    stop.set()
    ended = linear_svc.by_descent(X, y, C, 1.0, 1e-12, 50, "hinge", 0, stop)
    assert (ended.rounds, ended.converged, ended.w.tolist()) == (0, False, [0.0] * 4)


@pytest.mark.parametrize("form", [np.asarray, wide_csr])
@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_directions_solve_the_hessian(form, bias):
    X, _y, C = problem(1, form=form)
    dense = np.column_stack([X if isinstance(X, np.ndarray) else X.toarray(), np.full(60, bias)])
    whole, thin, rng = linear_svc.Hessian(X, C, bias), linear_svc.Products(X, C, bias, 1), np.random.default_rng(0)
    for _ in range(4):  # rows enter and leave
        inside, g = rng.random(60) < 0.5, rng.normal(size=4)
        H = np.eye(4) + 2 * (dense[inside] * C[inside, None]).T @ dense[inside]
        assert whole.direction(g, inside) == pytest.approx(-np.linalg.solve(H, g))
        assert pytest.approx(H) == whole.H
        found = thin.direction(g, inside)
        rest = -g - H @ found
        scale = thin.scale
        assert rest @ (scale * rest) <= 0.0101 * (g @ (scale * g))
    nobody = np.zeros(60, bool)
    assert linear_svc.Hessian(X, C, bias).direction(np.ones(4), nobody) == pytest.approx(-np.ones(4))


def test_a_hessian_worn_out_is_made_anew():
    X, _y, C = problem(2)
    worn = linear_svc.Hessian(X, C, 1.0)
    worn.direction(np.ones(4), np.ones(60, bool))
    worn.H = -np.eye(4)
    dense = np.column_stack([X, np.ones(60)])
    H = np.eye(4) + 2 * (dense * C[:, None]).T @ dense
    assert worn.direction(np.ones(4), np.ones(60, bool)) == pytest.approx(-np.linalg.solve(H, np.ones(4)), rel=1e-6)


@given(st.integers(0, 300), st.floats(0.01, 100))
def test_a_step_shrinks_the_slope(seed, stretch):
    rng = np.random.default_rng(seed)
    X, y, C = problem(seed)
    w = rng.normal(size=4)
    dense = np.column_stack([X, np.ones(60)])
    margin = y * (dense @ w)
    g = w - 2 * dense.T @ (C * y * np.maximum(0, 1 - margin))
    move = -g * stretch
    slope = y * (dense @ move)

    def derivative(t):
        return (w + t * move) @ move - 2 * (C * np.maximum(0, 1 - margin - t * slope) * slope).sum()

    start = float(g @ move)
    assert derivative(0.0) == pytest.approx(start)
    t = linear_svc._step(margin, slope, C, w, move, start)
    assert t > 0
    assert abs(derivative(t)) <= 0.03 * abs(start) * (1 + 1e-9)


def test_a_step_of_all_free_rows_never_climbs():
    X, y, C = problem(5, n=200)
    ends = [linear_svc.by_descent(X, y, C, 1.0, 1e-10, rounds, "hinge", 0) for rounds in (9, 10, 11, 12)]
    values = [value(X, y, C, e.w, 1.0, "hinge") for e in ends]
    best = value(X, y, C, linear_svc.by_descent(X, y, C, 1.0, 1e-10, 5000, "hinge", 0).w, 1.0, "hinge")
    assert min(values[1:]) - best <= max(values[0] - best, 1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("passes", [0, 3, 10])
def test_rows_that_are_not_in_doubt_are_held(monkeypatch, C, passes):
    """Passes of descent leave some rows, who violates joins them: the optimum of all, however few there were at first."""
    monkeypatch.setattr(linear_svc, "PASSES", passes)
    X, y, weight = problem(3, n=700, d=4)
    found = linear_svc.by_pairs(X, y, C * weight, 1.0, 1e-6, 5000, 0)
    assert found.converged
    monkeypatch.setattr(linear_svc, "ALL_AT_ONCE", 700)
    whole = linear_svc.by_pairs(X, y, C * weight, 1.0, 1e-6, 5000, 0)
    assert found.w == pytest.approx(whole.w, abs=1e-4)
    values = [value(X, y, C * weight, w, 1.0, "hinge") for w in (found.w, whole.w)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_too_many_rows_in_doubt_are_left_to_descent(monkeypatch):
    X, y, C = problem(3, n=700, d=4)
    assert linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 10, 0) is None  # all rounds were passes
    monkeypatch.setattr(linear_svc, "TURNS", 0)
    assert linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 5000, 0) is None
    monkeypatch.setattr(linear_svc, "TURNS", 10)
    monkeypatch.setattr(linear_svc, "FEW_ROWS", 5)
    assert linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 5000, 0) is None
    monkeypatch.setattr(linear_svc, "FEW_ROWS", 1000)
    monkeypatch.setattr(linear_svc, "solve_together", lambda *args: [None])
    assert linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 5000, 0) is None


def test_the_hinge_of_unscaled_columns_is_the_optimum_of_pairs():
    """Columns of a thousand and C = 1: what the pairs' solver sums up has drifted, what is judged is summed anew."""
    X, y = load_wine(return_X_y=True)
    for k in range(3):
        labels = np.where(y == k, 1.0, -1.0)
        C = np.ones(len(y))
        found = linear_svc.by_pairs(X, labels, C, 1.0, 1e-4, 1_000_000, 0)
        assert found is not None
        assert found.converged
        best = objective(X, labels, C, found.w, 1.0, "hinge")
        rng = np.random.default_rng(k)
        for size in (1e-3, 1e-4, 1e-5):
            other = found.w * (1 + size * rng.normal(size=len(found.w)))
            assert objective(X, labels, C, other, 1.0, "hinge") >= best * (1 - 1e-3)


# -- the pieces ---------------------------------------------------------------------------------------------------------


def test_sparse_rows_without_a_cell_have_a_plane():
    """Many columns, not one cell: conjugate gradients have nothing to share out."""
    nobody = po.LinearSVC().fit(sparse.csr_array((7, 60)), [0, 1, 1, 0, 1, 1, 1])
    same = po.LinearSVC().fit(np.zeros((7, 60)), [0, 1, 1, 0, 1, 1, 1])
    assert not nobody.coef_.any()
    assert nobody.intercept_ == pytest.approx(same.intercept_, rel=1e-3)


@pytest.mark.parametrize("form", [np.asarray, wide_csr])
def test_descent_begins_at_zero_with_the_curvature_of_each_row(form):
    X, C = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 2.0, 4.0])
    y = np.array([1.0, -1.0, 1.0])
    hinge = linear_svc._begin(form(X), y, C, 0.0, "hinge")
    assert hinge.upper.tolist() == C.tolist()
    assert hinge.ridge.tolist() == [0.0] * 3
    assert hinge.curvature.tolist() == [25.0, 1.0, 1.0]  # a row of zeros goes to its bound at once
    assert linear_svc._begin(form(X), y, C, 2.0, "hinge").curvature.tolist() == [29.0, 4.0, 5.0]
    squared = linear_svc._begin(form(X), y, C, 2.0, "squared_hinge")
    assert squared.upper.tolist() == [np.inf] * 3
    assert squared.ridge.tolist() == [1.0, 0.25, 0.125]  # 1/2C
    assert squared.curvature.tolist() == [30.0, 4.25, 5.125]
    assert not squared.alpha.any()
    assert squared.w.tolist() == [0.0] * 3
    assert squared.order.tolist() == [0, 1, 2]


@pytest.mark.parametrize("bias", [0.0, 2.0])
def test_rows_in_doubt_are_at_their_optimum_without_a_sum_to_keep(bias):
    """g = X̃X̃ᵀβ − p is 0 between the bounds, ≥ 0 at the lower, ≤ 0 at the upper."""
    rng = np.random.default_rng(4)
    X, p = rng.normal(size=(25, 3)), rng.normal(size=25)
    low, high = -rng.random(25), rng.random(25)
    found = linear_svc._in_doubt(X, p, low, high, bias, 1e-8, 1000)
    wide, beta = np.column_stack([X, np.full(25, bias)]), found.beta[:-1]
    g = wide @ (wide.T @ beta) - p
    free = (beta > low) & (beta < high)
    assert len(found.beta) == 26
    assert free.any()
    assert np.abs(g[free]).max() <= 1e-8
    assert (g[beta == low] >= -1e-8).all()
    assert (g[beta == high] <= 1e-8).all()
    assert linear_svc._in_doubt(X, p, low, high, bias, 1e-8, 1).steps <= 25  # as many steps as rows in a round


def dual(X, state):
    """½‖Σ α y x̃‖² + ½ Σ ridge α² − Σ α."""
    w = (state.alpha * state.y) @ np.column_stack([X, np.full(len(X), state.bias)])
    return 0.5 * w @ w + 0.5 * (state.ridge * state.alpha**2).sum() - state.alpha.sum()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_step_of_all_free_rows_keeps_w_and_the_bounds_and_falls(loss):
    X, y, C = problem(6, n=40)
    state, last = linear_svc._begin(X, y, C, 1.5, loss), linear_svc.Epoch(40)
    for k in range(3):
        last = linear_svc.descend(X, state, last, k)
    before, start, held = state.alpha.copy(), dual(X, state), (state.alpha == 0) | (state.alpha == state.upper)
    linear_svc._move_free(X, state, np.arange(40))
    assert dual(X, state) < start
    assert (state.alpha[held] == before[held]).all()
    assert (state.alpha >= 0).all()
    assert (state.alpha <= state.upper).all()
    wide = np.column_stack([X, np.full(40, 1.5)])
    assert state.w == pytest.approx((state.alpha * y) @ wide)


def test_only_active_rows_move_and_a_step_that_climbs_is_not_taken(monkeypatch):
    X, y, C = problem(6, n=40)
    state, last = linear_svc._begin(X, y, C, 1.0, "squared_hinge"), linear_svc.Epoch(40)
    last = linear_svc.descend(X, state, last, 0)
    before, w = state.alpha.copy(), state.w.copy()
    active = np.flatnonzero(state.alpha > 0)[:5]
    linear_svc._move_free(X, state, active)
    assert set(np.flatnonzero(state.alpha != before)) <= set(active)
    assert (state.alpha != before).any()
    before, w = state.alpha.copy(), state.w.copy()
    best = linear_svc.free_move(X, state, active, 20)
    for away in (-best, np.full(5, np.nan)):
        monkeypatch.setattr(linear_svc, "free_move", lambda *_, away=away: away)
        linear_svc._move_free(X, state, active)
        assert np.array_equal(state.alpha, before)
        assert np.array_equal(state.w, w)


def test_steps_too_long_are_halved_up_to_three_times(monkeypatch):
    """One row, the squared hinge: the dual falls up to twice the best step."""
    X, y = np.array([[2.0]]), np.array([1.0])
    for times, part in ((1.9, 1.0), (3.9, 0.5), (7.9, 0.25), (15.9, 0.125), (16.1, None)):
        state = linear_svc._begin(X, y, np.array([1.0]), 0.0, "squared_hinge")
        state.alpha[:], state.w[:] = 0.1, [0.2, 0.0]
        best = (1 - 4.5 * 0.1) / 4.5
        monkeypatch.setattr(linear_svc, "free_move", lambda *_, step=times * best: np.array([step]))
        linear_svc._move_free(X, state, np.array([0]))
        wanted = 0.1 + (0.0 if part is None else part * times * best)
        assert state.alpha == pytest.approx([wanted])
        assert state.w == pytest.approx([2 * wanted, 0.0])


def test_a_scale_serves_while_most_of_its_rows_are_inside():
    """It is made anew where fewer than four fifths are left, or where rows have come."""
    X, _y, C = problem(1, n=100)
    thin, g = linear_svc.Products(X, C, 2.0, 1), np.ones(4)
    wide = np.column_stack([X, np.full(100, 2.0)])

    def scale(inside):
        return 1 / (1 + 2 * (C[inside, None] * wide[inside] ** 2).sum(axis=0) / np.sqrt(100))

    for rows, anew in ((50, True), (40, False), (39, True), (39, False), (40, True)):
        inside = np.arange(100) < rows
        before = thin.scale
        thin.direction(g, inside)
        assert (thin.scale is not before) == anew
        if anew:
            assert thin.scale == pytest.approx(scale(inside))
    few = linear_svc.Products(wide_csr(np.array([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0]])), np.ones(2), 0.0, 1)
    assert few.root == pytest.approx(np.sqrt([2, 1, 1, 2]))  # cells of each column, at least one; the bias has all rows


def test_newton_ends_by_its_share_of_the_objective():
    """The first step from zero promises gᵀH⁻¹g/2 of an objective of Σ C."""
    X, y, C = problem(2)
    wide = np.column_stack([X, np.ones(60)])
    g = -2 * wide.T @ (C * y)
    H = np.eye(4) + 2 * (wide * C[:, None]).T @ wide
    promised = 0.5 * g @ np.linalg.solve(H, g) / C.sum()
    assert (ends := linear_svc.by_newton(X, y, C, 1.0, promised * 1.001, 50)).rounds == 1
    assert ends.converged
    assert linear_svc.by_newton(X, y, C, 1.0, promised * 0.999, 50).rounds > 1
    capped = linear_svc.by_newton(X, y, C, 1.0, 1e-12, 2)
    assert (capped.rounds, capped.converged) == (2, False)


@pytest.mark.parametrize(
    ("loss", "wanted"), [("hinge", 0.625 + 0.5 * 2 + 3 * 1.5), ("squared_hinge", 0.625 + 0.5 * 4 + 3 * 2.25)]
)
def test_the_objective_by_hand(loss, wanted):
    """Slacks of 2, 0 and 1½; the norm has the intercept's share."""
    X, y, w = np.array([[0.0], [4.0], [-0.5]]), np.array([-1.0, 1.0, -1.0]), np.array([1.0, 0.5])
    assert linear_svc.objective(X, y, np.array([0.5, 7.0, 3.0]), w, 2.0, loss) == pytest.approx(wanted)


def test_pairs_count_their_steps_in_passes():
    X, y, C = problem(0)
    whole = linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 5000, 0)
    steps = []
    found = linear_svc.solve_together

    def noted(*args):
        steps.append(found(*args)[0].steps)
        return found(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_svc, "solve_together", noted)
        assert linear_svc.by_pairs(X, y, C, 1.0, 1e-6, 5000, 0).rounds == whole.rounds
    assert whole.rounds == sum(-(-s // 60) for s in steps)


X, Y = make_classification(300, 6, n_informative=4, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("solver", ["dual", "newton"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scaling", [1.0, 5.0])
def test_linear_reaches_liblinears_objective(solver, loss, kind, scaling):
    if (solver, loss) == ("newton", "hinge"):
        with pytest.raises(ModelError, match="squared hinge"):
            po.LinearSVC(loss=loss, solver=solver).fit(X, Y)
        return
    weight = np.random.RandomState(1).random_sample(300) + 0.1
    options = {
        "loss": loss,
        "tol": 1e-5,
        "C": 0.3,
        "intercept_scaling": scaling,
        "max_iter": 100_000,
        "random_state": 0,
    }
    ours = po.LinearSVC(solver=solver, **options).fit(kind(X), Y, sample_weight=weight)
    theirs = peers.LinearSVC(**options).fit(X, Y, sample_weight=weight)
    sign = np.where(Y == 1, 1.0, -1.0)
    value, best = (
        objective(X, sign, 0.3 * weight, np.append(m.coef_[0], m.intercept_ / scaling), scaling, loss)
        for m in (ours, theirs)
    )
    assert_allclose(value, best, rtol=1e-5)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-2)


def test_linear_with_more_columns_than_a_hessian_takes():
    random = np.random.RandomState(0)
    A = sparse.random_array((1500, 1200), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = (A @ random.normal(size=1200) > 0).astype(int)
    ours, theirs = (po.LinearSVC(tol=1e-5), peers.LinearSVC(tol=1e-6))
    sign = np.where(y == 1, 1.0, -1.0)
    value, best = (
        objective(A, sign, np.ones(1500), np.append(m.coef_[0], m.intercept_), 1.0, "squared_hinge")
        for m in (ours.fit(A, y), theirs.fit(sparse.csr_matrix(A), y))
    )
    assert_allclose(value, best, rtol=1e-6)


def test_linear_of_several_classes_and_its_errors():
    A, y = load_iris(return_X_y=True)
    ours, theirs = po.LinearSVC(tol=1e-6).fit(A, y), peers.LinearSVC(tol=1e-6, dual=False, max_iter=10_000).fit(A, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert (ours.predict(A) == theirs.predict(A)).mean() > 0.99
    hinge = po.LinearSVC(loss="hinge", C=0.01, random_state=0, max_iter=20_000)
    assert (hinge.fit(A, y).coef_ == clone(hinge).fit(A, y).coef_).all()
    assert po.LinearSVC(fit_intercept=False).fit(A, y).intercept_.tolist() == [0, 0, 0]
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        po.LinearSVC(loss="hinge", max_iter=1, random_state=0).fit(A, y)
    with pytest.raises(ModelError, match="did you mean 'hinge'"):
        po.LinearSVC(loss="hing").fit(A, y)
    with pytest.raises(ModelError, match="hard margin"):
        po.LinearSVC(C=np.inf).fit(A, y)


def test_the_hinge_of_few_rows_is_solved_by_pairs(monkeypatch):
    """Three classes, weights and equal rows; what pairs leave, descent ends, and both give the same planes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)).round(1), np.arange(90) % 3
    X[:9] = X[9:18]
    weight = rng.integers(1, 4, 90).astype(float)
    options = {"loss": "hinge", "tol": 1e-7, "max_iter": 100_000}
    pairs = po.LinearSVC(**options).fit(X, y, weight)
    descent = po.LinearSVC(solver="dual", **options).fit(X, y, weight)
    assert pairs.coef_ == pytest.approx(descent.coef_, abs=1e-4)
    assert pairs.intercept_ == pytest.approx(descent.intercept_, abs=1e-4)
    assert 0 < pairs.n_iter_ < descent.n_iter_
    solved = linear_svc.by_pairs
    monkeypatch.setattr(linear_svc, "by_pairs", lambda X, sign, *args: None if sign[0] > 0 else solved(X, sign, *args))
    mixed = po.LinearSVC(random_state=0, **options).fit(X, y, weight)
    assert mixed.coef_ == pytest.approx(descent.coef_, abs=1e-4)
    monkeypatch.setattr(linear_svc, "by_pairs", None)  # sparse rows do not ask it
    found = po.LinearSVC(random_state=0, **options).fit(sparse.csr_array(X), y, weight)
    assert found.coef_ == pytest.approx(descent.coef_, abs=1e-4)


@pytest.mark.parametrize(
    ("solver", "loss", "shape", "newton"),
    [
        ("newton", "squared_hinge", (5, 5000), True),
        ("dual", "squared_hinge", (5, 5), False),
        ("auto", "hinge", (5, 5), False),
        ("auto", "squared_hinge", (5, 1000), True),  # up to 1000 columns
        ("auto", "squared_hinge", (5, 1001), False),
        ("auto", "squared_hinge", (1001, 1001), True),  # or up to as many as there are rows
        ("auto", "squared_hinge", (1001, 1002), False),
    ],
)
def test_who_is_solved_by_newton(solver, loss, shape, newton):
    assert po.LinearSVC(solver=solver, loss=loss)._use_newton(SimpleNamespace(shape=shape)) == newton


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_weigh_nothing_and_class_weights(loss):
    weight = np.where(np.arange(300) % 5 == 0, 0.0, 1.0 + np.arange(300) % 3)
    options = {"loss": loss, "tol": 1e-8, "max_iter": 100_000, "random_state": 0, "C": 0.2}
    whole = po.LinearSVC(**options).fit(X, Y, weight)
    part = po.LinearSVC(**options).fit(X[weight > 0], Y[weight > 0], weight[weight > 0])
    assert_allclose(whole.coef_, part.coef_, atol=1e-5)
    by_class = po.LinearSVC(**options | {"class_weight": {0: 0.5, 1: 2.0}}).fit(X, Y)
    by_row = po.LinearSVC(**options).fit(X, Y, np.where(Y == 1, 2.0, 0.5))
    assert_allclose(by_class.coef_, by_row.coef_, atol=1e-5)
    assert_allclose(by_class.intercept_, by_row.intercept_, atol=1e-5)


def test_a_cell_whose_square_overflows_is_named():
    """largest² · columns · C below 1e150."""
    for size, fits in ((0.9e74, True), (1.1e74, False)):
        table = X[:, :4].copy()
        table[0, 0] = size * 5  # (5e74)² · 4 = 1e150
        model = po.LinearSVC(max_iter=1, solver="dual")
        if fits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(table, Y)
        else:
            with pytest.raises(ModelError, match=r"a cell of 5.5e\+74 is too large for C=1"):
                model.fit(table, Y)
    with pytest.raises(ModelError, match="is too large for C=1"):
        po.LinearSVC(intercept_scaling=1e80).fit(X, Y)
    model = po.LinearSVC().fit(X, Y)
    model.coef_[:] = 2.0
    with pytest.raises(ModelError, match="overflows"):
        model.decision_function(np.full((1, 6), 1e308))


def test_the_intercept_is_that_of_its_scale_and_a_tie_falls_to_the_first():
    model = po.LinearSVC(intercept_scaling=4.0, tol=1e-9).fit(X, Y)
    assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    assert model.coef_.shape == (1, 6)
    model.coef_[:], model.intercept_[:] = 0.0, 0.0
    assert model.predict(X[:2]).tolist() == [0, 0]
    three = po.LinearSVC().fit(X, np.arange(300) % 3)
    assert three.coef_.shape == (3, 6)
    assert_allclose(three.decision_function(X), X @ three.coef_.T + three.intercept_)
    assert (three.predict(X) == three.decision_function(X).argmax(axis=1)).all()
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 rounds with its gradient above tol=1e-09") as said:
        po.LinearSVC(max_iter=1, tol=1e-9).fit(X, Y)
    assert said[0].filename == __file__


def test_every_class_has_a_seed_of_its_own(monkeypatch):
    seeds = []

    def by_descent(X, y, C, bias, tol, rounds, loss, seed, stop):
        seeds.append(seed)
        return linear_svc.Plane(np.zeros(X.shape[1] + 1), 1, True)

    monkeypatch.setattr(linear_svc, "by_descent", by_descent)
    po.LinearSVC(solver="dual", random_state=3, n_jobs=1).fit(X, np.arange(300) % 3)
    assert len(set(seeds)) == 3
    again = list(seeds)
    po.LinearSVC(solver="dual", random_state=3, n_jobs=1).fit(X, np.arange(300) % 3)
    assert seeds == again * 2
