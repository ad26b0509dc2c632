"""The solver's v is p − Kβ, also after steps whose rounding would carry it away."""

from __future__ import annotations

import _thread
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import posteriori as po
from posteriori.errors import ModelError, NotSeparable, TableError
from posteriori.kernels.margin import KernelSpec, Machines, pack
from posteriori.margin import machines, smo
from posteriori.margin.kernel import DenseGram, FunctionGram, RowCache, SharedGram, WholeGram
from posteriori.margin.platt import normalised
from posteriori.margin.smo import Limits, Problem, solve, solve_together, trace

from ..kernels.reference import margin as reference


def problem(seed, n=30):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X @ X.T + np.eye(n), y


@pytest.mark.parametrize("seed", range(5))
def test_the_solution_is_optimal(seed):
    K, y = problem(seed)
    found = solve(WholeGram(K), y, np.minimum(0, y), np.maximum(0, y), Limits(tol=1e-8))
    v = y - K @ found.beta
    assert found.converged
    assert abs(found.beta.sum()) < 1e-9
    assert_allclose(found.v, v, atol=1e-9)
    up, down = found.beta < np.maximum(0, y), found.beta > np.minimum(0, y)
    assert v[up].max() <= v[down].min() + 2e-8


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_is_the_steps_of_the_reference(seed):
    """Pair by pair: two rows move and yᵀα stays 0, the dual value never falls, and the end is the solver's."""
    K, y = problem(seed)
    steps = trace(K, y, C=1.0, tol=1e-6)
    beta, v = np.zeros(len(y)), y.copy()
    for step in steps[:20]:
        assert reference.smo_block(K, np.minimum(0, y), np.maximum(0, y), beta, v, 1e-6, 1)[0] == 1
        assert_allclose(step.alpha, y * beta, atol=1e-12)
        assert len(step.rows) == 2
        assert abs(step.alpha @ y) < 1e-12
        assert_allclose(step.dual, beta @ y - beta @ K @ beta / 2)
    assert (np.diff([step.dual for step in steps]) >= -1e-12).all()
    end = solve(WholeGram(K), y, np.minimum(0, y), np.maximum(0, y), Limits(tol=1e-6))
    assert steps[-1].gap <= 1e-6
    assert_allclose(steps[-1].alpha, y * end.beta, atol=1e-5)
    assert len(trace(K, y, C=1.0, max_steps=3)) == 3


def test_a_v_that_has_drifted_is_summed_anew_and_the_problem_solved_on(monkeypatch):
    """v begins wrong by more than the tolerance, as after many steps: only a new sum can show it."""
    K, y = problem(7)
    low, high = np.minimum(0, y), np.maximum(0, y)
    wrong = np.linspace(0, 0.5, len(y))
    block = smo.smo_block
    spoilt = []

    def drifting(K, low, high, beta, v, tol, steps):
        done = block(K, low, high, beta, v, tol, steps)
        if not spoilt:
            v += wrong
            spoilt.append(True)
        return done

    monkeypatch.setattr(smo, "smo_block", drifting)
    monkeypatch.setattr(smo, "_drift", lambda problem, steps: 1.0 if len(spoilt) == 1 else 0.0)
    found = solve(WholeGram(K), y, low, high, Limits(tol=1e-6))
    v = y - K @ found.beta
    assert_allclose(found.v, v, atol=1e-9)
    up, down = found.beta < high, found.beta > low
    assert v[up].max() - v[down].min() <= 2e-6


def test_drift_is_a_rounding_error_a_step():
    K, y = problem(1)
    stand_in = smo.Problem(WholeGram(K), y, y, y, np.full(len(y), 2.0), y)
    one = smo._drift(stand_in, 1)
    assert 0 < one < 1e-12
    assert smo._drift(stand_in, 1000) == pytest.approx(1000 * one)


@pytest.mark.parametrize(("fitting", "cache", "whole"), [(1000, 200.0, True), (1000, 1.0, False), (50, 200.0, False)])
def test_a_middling_problem_is_one_block_where_its_matrix_fits(monkeypatch, fitting, cache, whole):
    """One block or rounds, as there is room: the same machine to tol."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600) > 0
    wanted = po.SVC(tol=1e-5).fit(X, y).decision_function(X)
    monkeypatch.setattr(machines, "ONE_MATRIX", 0)
    monkeypatch.setattr(smo, "SMALL", 50)
    monkeypatch.setattr(smo, "FITTING", fitting)
    asked = []
    solved = smo._solve_whole
    monkeypatch.setattr(smo, "_solve_whole", lambda left, *more: asked.append(len(left.p)) or solved(left, *more))
    found = po.SVC(tol=1e-5, cache_size=cache).fit(X, y).decision_function(X)
    assert (600 in asked) == whole
    assert_allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_multipliers_and_gradients_that_overflow_are_refused(monkeypatch, value):
    y = np.array([1.0, -1.0])
    for name in ("beta", "v"):  # either alone is enough

        def spoil(problem, clock, cache, name=name):
            getattr(problem, name)[0] = value

        monkeypatch.setattr(smo, "_solve_with_shrinking", spoil)
        with pytest.raises(ModelError, match="the multipliers overflow"), np.errstate(all="ignore"):
            solve(WholeGram(np.eye(2)), y, np.minimum(0, y), np.maximum(0, y), Limits(1e-3))


def together(limits=None, C=1.0, gram=WholeGram):
    """Three problems over the rows of one matrix: what `solve_together` finds, and `solve` of each."""
    K, y = problem(3)
    rows = [np.arange(30), np.arange(5, 20), np.arange(0, 30, 2)]
    sign = np.concatenate([y[r] for r in rows])
    low, high = np.minimum(0, C * sign), np.maximum(0, C * sign)
    some = Machines(np.array([0, 30, 45, 60]), np.concatenate(rows), sign, low, high)
    found = solve_together(gram(K), some, Limits(tol=1e-8) if limits is None else limits)
    parts = [(r, slice(a, b)) for r, a, b in zip(rows, some.starts, some.starts[1:])]
    return found, [(WholeGram(K[np.ix_(r, r)]), sign[at], low[at], high[at]) for r, at in parts]


def test_problems_together_are_solved_as_each_alone():
    found, problems = together()
    for one, alone in zip(found, problems, strict=True):
        other = solve(*alone, Limits(tol=1e-8))
        assert one.converged
        assert_allclose(one.beta, other.beta, atol=1e-7)
        assert_allclose(one.v, other.v, atol=1e-7)
        assert one.b == pytest.approx(other.b, abs=1e-7)
        assert one.gap <= 1e-8
        assert one.energy == pytest.approx(other.energy, rel=1e-6)
        assert isinstance(one.steps, int)


def test_what_has_to_be_solved_alone_is_left(monkeypatch):
    assert together(C=np.inf)[0] == [None] * 3  # a hard margin

    class Coarse(WholeGram):
        coarse = True

    assert together(gram=Coarse)[0] == [None] * 3
    capped = together(Limits(1e-8, steps=1))[0]
    assert [(one.steps, one.converged) for one in capped] == [(1, False)] * 3
    assert together(Limits(1e-15))[0] == [None] * 3  # v has drifted by more than a hundredth of this
    monkeypatch.setattr(smo, "PATIENCE", 60)  # a step each
    assert together()[0] == [None] * 3


@pytest.mark.parametrize("can", [(18, 3), (3, 18), (2, 1), (20, 20)])
def test_a_working_set_has_each_variable_once_and_only_those_that_can_move(can):
    rng = np.random.default_rng(0)
    up, down = (rng.permutation(20) < n for n in can)
    left = SimpleNamespace(up=up, down=down, v=rng.normal(size=20))
    for last in (np.zeros(0, dtype=np.int64), np.flatnonzero(up & down)[:2]):
        found = smo._choose(left, last)
        assert len(set(found.tolist())) == len(found)
        assert (up | down)[found].all()


# -- the problem and its pieces -----------------------------------------------------------------------------------------


def state(beta, v, low=-1.0, high=1.0, gram=None, p=None):
    """A problem at some β, whose bounds and v are told."""
    n = len(beta)
    of = WholeGram(np.eye(n)) if gram is None else gram
    low, high = np.broadcast_to(low, n).astype(float), np.broadcast_to(high, n).astype(float)
    p = np.zeros(n) if p is None else p
    return smo.Problem(of, p, low, high, np.array(beta, dtype=float), np.array(v, dtype=float))


def test_the_gap_is_between_what_may_grow_and_what_may_fall():
    here = state([-1.0, 0.0, 1.0], [5.0, 1.0, -7.0])  # the first may only grow, the last only fall
    assert (here.up.tolist(), here.down.tolist()) == ([True, True, False], [False, True, True])
    assert here.ends() == (5.0, -7.0)
    assert here.gap() == 12.0
    assert state([-1.0, 1.0], [-3.0, 4.0]).gap() == -7.0
    assert state([1.0, 1.0], [2.0, 3.0]).gap() == 0.0  # none may grow
    assert state([-1.0, -1.0], [2.0, 3.0]).gap() == 0.0  # none may fall
    assert state([1.0, 1.0], [2.0, 3.0]).ends() == (-np.inf, 2.0)
    for low, high, hard in ((-1, 1, False), (-np.inf, 1, True), (-1, np.inf, True), (-np.inf, np.inf, True)):
        assert state([0.0], [0.0], low, high).hard == hard


def test_the_intercept_is_that_of_the_free_or_lies_between_the_ends():
    assert smo._intercept(state([-1.0, 0.5, 0.2, 1.0], [5.0, 1.0, 2.0, -7.0])) == 1.5
    assert smo._intercept(state([-1.0, -1.0, 1.0], [-3.0, -5.0, 4.0])) == 0.5
    assert smo._intercept(state([1.0, 1.0], [2.0, 3.0])) == 2.0
    assert smo._intercept(state([-1.0, -1.0], [2.0, 3.0])) == 3.0
    assert smo._intercept(state([], [])) == 0.0


def test_settled_are_those_at_a_bound_beyond_the_gap():
    here = state([0.0, 0.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0], [2.0, -1.0, 2.0, 2.1, 0.0, -1.0, -1.1, 0.0])
    assert here.ends() == (2.0, -1.0)
    assert smo._not_settled(here).tolist() == [0, 1, 2, 4, 5, 7]  # 3 is above the top, 6 below the bottom


def shared(n=6):
    """A matrix of n rows, its variables (two a row but for the last) and the matrix between these."""
    X = np.random.default_rng(2).normal(size=(n, 3))
    K, place = X @ X.T, np.r_[np.arange(n), np.arange(n - 1)]
    return SharedGram(WholeGram(K), place), K[np.ix_(place, place)], K


def test_v_summed_anew_and_carried_is_p_minus_K_beta():
    rng = np.random.default_rng(3)
    both, Q, K = shared()
    for gram, whole in ((WholeGram(K), K), (both, Q)):
        n = len(whole)
        beta, p = rng.normal(size=n), rng.normal(size=n)
        beta[2] = 0.0
        here = state(beta, np.zeros(n), -9, 9, gram, p)
        some = np.array([1, 4])
        here.renew(some)
        assert_allclose(here.v, np.where(np.isin(np.arange(n), some), p - whole @ beta, 0.0), atol=1e-12)
        assert not here.fresh
        here.renew(np.arange(n))
        assert_allclose(here.v, p - whole @ beta, atol=1e-12)
        assert here.fresh
        change = rng.normal(size=6)
        before = here.v.copy()
        here.shift(change)
        assert_allclose(here.v, before - (change if gram is not both else change[both.place]), atol=1e-12)
        rows, steps = here.rows_of(np.array([1, n - 1, 3]), np.array([1.0, 2.0, 4.0]))
        if gram is both:  # variable 10 has row 4
            assert (rows.tolist(), steps.tolist()) == ([1, 3, 4], [1.0, 4.0, 2.0])
            rows, steps = here.rows_of(np.array([1, 7, 3]), np.array([1.0, 2.0, 4.0]))
            assert (rows.tolist(), steps.tolist()) == ([1, 3], [3.0, 4.0])
        else:
            assert (rows.tolist(), steps.tolist()) == ([1, n - 1, 3], [1.0, 2.0, 4.0])
        part = here.only(some)
        for name in ("p", "low", "high", "beta", "v"):
            assert getattr(part, name).tolist() == getattr(here, name)[some].tolist()
        assert_allclose(part.gram.block(np.arange(2))[:, :2], whole[np.ix_(some, some)])


@pytest.mark.parametrize("pairs", [False, True])
def test_what_moved_is_carried_to_every_v_and_free_rows_are_held(pairs):
    rng = np.random.default_rng(4)
    if pairs:
        gram, whole, K = shared(20)
    else:
        _, _, K = shared(20)
        gram, whole = WholeGram(K), K
    n = len(whole)
    beta = np.where(np.arange(n) % 3 == 0, 1.0, 0.3)
    here = state(beta, rng.normal(size=n), gram=gram)
    cache = RowCache(gram, np.empty(0, np.uint8))  # of sixteen rows
    moved, before = np.arange(1, n - 1), here.v.copy()
    step = rng.normal(size=len(moved))
    cache.slots(np.array([3]))  # that of a variable at its bound, held already
    smo._carry(here, moved, step, cache)
    assert_allclose(here.v, before - whole[:, moved] @ step, atol=1e-10)
    held = set(np.flatnonzero(cache.slot_of >= 0).tolist())
    free = {i if gram.place is None else int(gram.place[i]) for i in moved if beta[i] < 1}
    assert held <= free | {3}
    assert len(held) == min(16, len(free | {3}))
    again = here.v.copy()
    smo._carry(here, np.array([0]), np.array([2.0]), cache)  # at its bound, and not held: passes through
    assert_allclose(here.v, again - 2 * whole[:, 0], atol=1e-10)
    assert set(np.flatnonzero(cache.slot_of >= 0).tolist()) == held


def test_a_round_solves_its_block_and_says_whether_anything_moved():
    K, y = problem(5)
    low, high = np.minimum(0, y), np.maximum(0, y)
    here = smo.Problem(WholeGram(K), y, low, high, np.zeros(30), y.copy())
    clock, chosen = smo._Clock(Limits(1e-3)), np.r_[np.flatnonzero(y > 0)[:4], np.flatnonzero(y < 0)[:5]]
    cache, gap = RowCache(here.gram, np.empty(0, np.uint8)), here.gap()
    assert smo._round(here, chosen, here.gram.block(chosen), cache, clock)
    assert clock.steps > 0
    assert_allclose(here.v, y - K @ here.beta, atol=1e-12)
    assert not here.beta[np.setdiff1d(np.arange(30), chosen)].any()
    inside = here.only(chosen)
    assert inside.gap() <= 0.2 * gap  # a fifth of the gap, at which a block is left
    up = np.flatnonzero(here.beta == 0)[:1]
    assert not smo._round(here, up, here.gram.block(up), cache, clock)  # one alone cannot keep the sum


def test_a_clock_counts_to_its_limits():
    stop = threading.Event()
    clock = smo._Clock(Limits(0.25, steps=10, interrupted=stop))
    assert (clock.goal, clock.steps) == (0.25, 0)
    clock.steps = 9
    assert not clock.spent()
    assert clock.share(5) == 1
    clock.steps = 10
    assert clock.spent()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        clock.spent()
    assert smo._Clock(Limits(0.1, seconds=-1.0)).spent()
    assert not smo._Clock(Limits(0.1, seconds=60.0)).spent()


@pytest.mark.parametrize(
    ("n", "free", "high", "room", "wanted"),
    [
        (5, 0, 1.0, 0, True),  # small
        (6, 0, 1.0, 6 * 14 * 8 - 1, False),
        (6, 0, 1.0, 6 * 14 * 8, True),  # up to eight where there is room
        (8, 0, 1.0, 9999, True),
        (9, 4, 1.0, 9999, False),
        (9, 5, 1.0, 9999, True),  # more where half of the variables are in use
        (10, 5, 1.0, 9999, True),
        (9, 5, 1.0, 9 * 17 * 8 - 1, False),
        (9, 0, np.inf, 9999, True),  # or the margin is hard
    ],
)
def test_when_the_matrix_is_computed_as_a_whole(monkeypatch, n, free, high, room, wanted):
    monkeypatch.setattr(smo, "SMALL", 5)
    monkeypatch.setattr(smo, "FITTING", 8)
    here = state([0.5] * free + [0.0] * (n - free), np.zeros(n), 0.0, high)
    assert smo._at_once(here, np.empty(room, np.uint8)) is wanted


@pytest.mark.parametrize("seed", range(8))
def test_the_working_set_is_the_free_of_the_last_and_the_worst_of_either_side(monkeypatch, seed):
    monkeypatch.setattr(smo, "BLOCK", 8)
    monkeypatch.setattr(smo, "MOST", 14)
    rng = np.random.default_rng(seed)
    n = [3, 9, 40, 41, 60][seed % 5]
    up, down = rng.random(n) < 0.7, rng.random(n) < 0.6
    last, v = rng.permutation(n)[: n // 3], rng.normal(size=n)
    inside = up & down
    size = min(max(inside.sum() + 4, 8), 14)
    free = [i for i in last if inside[i]][: size // 2]
    half = min((size - len(free)) // 2, n // 2)
    first = sorted((i for i in range(n) if up[i] and i not in free), key=lambda i: -v[i])[:half]
    second = sorted((i for i in range(n) if down[i] and i not in free and i not in first), key=lambda i: v[i])[:half]
    found = smo._choose(SimpleNamespace(up=up, down=down, v=v), last).tolist()
    assert found[: len(free)] == free
    assert sorted(found) == sorted([*free, *first, *second])


# -- by rounds, in little memory ----------------------------------------------------------------------------------------


def small_blocks(monkeypatch, whole=0):
    """Problems of more than so many variables in rounds of a few."""
    for name, value in (("SMALL", whole), ("FITTING", whole), ("BLOCK", 12), ("MOST", 20), ("FEW", 10)):
        monkeypatch.setattr(smo, name, value)


def is_optimal(found, Q, p, low, high, tol):
    v = p - Q @ found.beta
    assert found.converged
    assert abs(found.beta.sum()) < 1e-9
    assert (found.beta >= low).all()
    assert (found.beta <= high).all()
    assert_allclose(found.v, v, atol=tol / 20)
    assert v[found.beta < high].max() - v[found.beta > low].min() <= 1.1 * tol
    assert found.energy == pytest.approx(found.beta @ Q @ found.beta, rel=1e-6)


@pytest.mark.parametrize("cache", [0.001, 1.0])
@pytest.mark.parametrize("whole", [0, 40, 1000])
@pytest.mark.parametrize("pairs", [False, True])
def test_rounds_blocks_and_shrinking_lead_to_the_optimum(monkeypatch, pairs, whole, cache):
    small_blocks(monkeypatch, whole)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(90, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    if pairs:  # regression: two multipliers a row
        y, place = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=90), np.tile(np.arange(90), 2)
        p, Q = np.r_[y - 0.1, y + 0.1], K[np.ix_(place, place)]
        low, high = np.r_[np.zeros(90), np.full(90, -2.0)], np.r_[np.full(90, 2.0), np.zeros(90)]
        gram = SharedGram(WholeGram(K), place)
    else:
        p, Q, gram = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=90) > 0, 1.0, -1.0), K, WholeGram(K)
        low, high = np.minimum(0, 2 * p), np.maximum(0, 2 * p)
    found = solve(gram, p, low, high, Limits(1e-6), cache)
    is_optimal(found, Q, p, low, high, 1e-6)
    capped = solve(gram, p, low, high, Limits(1e-6, steps=7), cache)
    assert (capped.steps, capped.converged) == (7, False)
    assert_allclose(capped.v, p - Q @ capped.beta, atol=1e-9)
    assert capped.gap == pytest.approx(
        capped.v[capped.beta < high].max() - capped.v[capped.beta > low].min(), abs=1e-12
    )


@pytest.mark.parametrize("whole", [0, 1000])
def test_single_precision_ends_in_double_where_it_is_too_coarse(monkeypatch, whole):
    small_blocks(monkeypatch, whole)
    rng = np.random.default_rng(7)
    X, spec = rng.normal(size=(60, 3)), KernelSpec("rbf", 0.5)
    p = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    low, high = np.minimum(0, p), np.maximum(0, p)
    for tol in (1e-3, 1e-9):
        gram = DenseGram(spec, pack(X.astype(np.float32)), 1, fine=pack(X))
        is_optimal(solve(gram, p, low, high, Limits(tol)), K, p, low, high, tol)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_a_hard_margin_is_left_to_the_interior_point_once_where_pairs_are_slow(monkeypatch, hard, many, narrow):
    """After many pairs, or where the margin is narrow; a soft one never is."""
    asked, rng = [], np.random.default_rng(0)
    monkeypatch.setattr(smo, "MANY", 0 if many else 20_000)
    monkeypatch.setattr(smo, "PATIENCE", 40)  # two pairs a call
    monkeypatch.setattr(smo, "width", lambda left: 0.0 if narrow else 1.0)
    monkeypatch.setattr(smo, "refuse_inseparable", lambda left: None)
    monkeypatch.setattr(smo, "by_interior", lambda left, K: asked.append(K.shape))
    y = np.where(np.arange(20) < 10, 1.0, -1.0)
    X = rng.normal(size=(20, 2)) + 5 * y[:, None]
    C = np.inf if hard else 1.0
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    found = solve(WholeGram(X @ X.T), y, low, high, Limits(1e-6))
    is_optimal(found, X @ X.T, y, low, high, 1e-6)
    assert bool(asked) == (hard and (many or narrow))
    assert all(q == k for q, k in asked)


@pytest.mark.parametrize("whole", [0, 1000])
def test_classes_that_overlap_have_no_hard_margin_either_way(monkeypatch, whole):
    small_blocks(monkeypatch, whole)
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 2))
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    with pytest.raises(NotSeparable, match="no margin is wider"):
        solve(WholeGram(X @ X.T), y, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0), Limits(1e-3))
    apart = X + 5 * y[:, None]
    found = solve(WholeGram(apart @ apart.T), y, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0), Limits(1e-8))
    assert (y * (apart @ apart.T @ found.beta + found.b)).min() == pytest.approx(1.0, abs=1e-7)
    assert found.energy == pytest.approx(np.abs(found.beta).sum(), rel=1e-6)  # ‖w‖² = Σα


def test_rounding_is_feared_in_proportion_to_steps_multipliers_and_the_kernel():
    here = state([0.5, -2.0], [0.0, 0.0], -3, 3, WholeGram(np.diag([3.0, 5.0])))
    assert smo._drift(here, 7) == pytest.approx(np.finfo(float).eps * 7 * 2.0 * 5.0)
    assert smo._drift(state([], [], gram=WholeGram(np.eye(0))), 7) == 0.0
    here.gram.coarse = True
    assert smo._drift(here, 0) == np.inf


def test_posteriors_of_repeated_rows_are_their_frequencies():
    x = np.repeat([0.0, 1.0], 500)[:, None]
    y = np.r_[np.arange(500) < 50, np.arange(500) < 450].astype(int)
    found = po.SVC(probability=True, random_state=0).fit(x, y).predict_proba([[0.0], [1.0]])
    assert_allclose(found, [[0.9, 0.1], [0.1, 0.9]], atol=0.02)


def test_sigmoids_that_all_underflow_still_sum_to_one():
    found = normalised(np.array([[-800.0, -900.0, -1e3], [-np.inf] * 3]), [(-1.0, 0.0)] * 3)
    assert_allclose(found, [[1.0, 0.0, 0.0], [1 / 3] * 3], atol=1e-12)


@pytest.mark.parametrize("model", [po.SVC(kernel="linear"), po.SVR(kernel="linear"), po.LinearSVC()], ids=repr)
def test_a_failed_fit_leaves_the_model_as_it_was(model):
    x, y = np.random.RandomState(0).normal(size=(30, 2)), np.arange(30) % 2
    before = model.fit(x, y).predict(x)
    state = dict(vars(model))
    with pytest.raises(ValueError):
        model.fit(np.ones((4, 3)), np.array(["a", "b", "c", "d"]), sample_weight=[-1, 1, 1, 1])
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[k] is v for k, v in state.items())
    assert (model.predict(x) == before).all()


def test_linear_svc_in_threads_obeys_ctrl_c():
    x = np.random.RandomState(0).normal(size=(20_000, 30))
    y = np.random.RandomState(1).randint(0, 6, 20_000)
    model = po.LinearSVC(loss="hinge", C=1e4, tol=1e-12, max_iter=5_000, n_jobs=2)  # ends by itself, if late
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent in the background ignores Ctrl-C
    try:
        threading.Timer(1.0, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, y)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", [po.SVC, po.LinearSVC])
def test_class_weights_that_leave_no_class_are_errors(kind):
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with pytest.raises(ModelError, match="class 1 has -1"):
        kind(class_weight={0: 1.0, 1: -1.0}).fit(x, y)
    with pytest.raises(ModelError, match="no row of positive weight"):
        kind(class_weight={0: 1.0, 1: 0.0}).fit(x, y)
    with pytest.raises(ModelError, match="no row of positive weight"):
        kind().fit(x, y, sample_weight=1.0 - y)


def test_far_queries_of_a_machine_in_single_precision():
    x = np.random.RandomState(0).normal(size=(2500, 2))
    model = po.SVC(tol=0.1).fit(x, (x[:, 0] > 0).astype(int))
    assert model._kernel.single
    far = model.decision_function([[1e25, 1e25], [1e16, -1e16]])
    assert_allclose(far, model.intercept_[0], rtol=1e-6)


def test_a_kernel_that_overflows_says_so():
    x, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = po.SVC(kernel="polynomial").fit(x, y)
    with pytest.raises(ModelError, match=r"polynomial kernel.*: its value overflows"):
        model.predict([[1e200]])
    with pytest.raises(ModelError, match=r"polynomial kernel.*: its value overflows"):
        po.SVC(kernel="polynomial", gamma=1.0).fit(x * 1e100, y)


def test_blocks_of_a_callable_kernel_are_checked():
    x = np.ones((4, 1))
    for wrong in (np.full((2, 4), np.nan), np.ones((2, 2))):
        with pytest.raises(ModelError, match="kernel g"):
            FunctionGram(lambda a, b, K=wrong: K, x).rows(np.arange(2), np.empty((2, 4)), np.arange(2))


@pytest.mark.parametrize("wrong", [{"coef0": np.nan}, {"degree": np.inf}, {"degree": np.nan}], ids=repr)
def test_numbers_of_a_kernel_are_finite(wrong):
    with pytest.raises(ModelError, match=next(iter(wrong))):
        po.SVC(kernel="polynomial", **wrong).fit(np.arange(8.0)[:, None], np.arange(8) % 2)


def test_a_sparse_precomputed_kernel_is_an_error():
    K = np.eye(8)
    for model in (po.SVC(kernel="precomputed", probability=True), po.SVR(kernel="precomputed")):
        with pytest.raises(TableError, match="dense"):
            model.fit(sparse.csr_array(K), np.arange(8) % 2)
        model.fit(K, np.arange(8) % 2)
        for ask in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, ask):
                with pytest.raises(TableError, match="dense"):
                    getattr(model, ask)(sparse.csr_array(K))


# -- the hard margin ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=60)
@given(
    st.integers(0, 2**20),
    st.sampled_from(["precomputed", "sigmoid", "callable"]),
    st.sampled_from([1.0, 1e6, 1e300, np.inf]),
    st.sampled_from([1e-6, 1.0, 1e6, 1e150, 1e300]),
    st.sampled_from([po.SVC, po.SVR]),
)
def test_no_answer_is_nan_though_the_kernel_is_none(seed, kernel, C, size, kind):
    """A matrix that is not positive semi-definite, of any size: an error by name, or finite answers."""
    random = np.random.RandomState(seed)
    n = random.randint(2, 30)
    x, y = random.normal(size=(n, 3)), np.r_[0, 1, random.randint(0, 2, n - 2)]
    B = random.normal(size=(3, 3))
    options = {"C": C, "max_iter": 20_000}
    if kernel == "sigmoid":
        model, x = kind(kernel="sigmoid", gamma=1.0, coef0=float(random.normal()), **options), x * min(size, 1e70)
    elif kernel == "callable":
        model = kind(kernel=lambda a, b: size * (a @ (B + B.T) @ b.T), **options)
    else:
        model, x = kind(kernel="precomputed", **options), size * (x @ (B + B.T) @ x.T)
    try:
        model.fit(x, y)
        answers = [model.predict(x)] + ([model.decision_function(x)] if kind is po.SVC else [])
    except ModelError:
        return
    assert all(np.isfinite(a).all() for a in answers)


def test_a_hard_margin_under_no_kernel_is_refused_by_name():
    K = np.random.RandomState(0).normal(size=(40, 40))
    with pytest.raises(ModelError, match="positive semi-definite"):
        po.SVC(kernel="precomputed", C=np.inf).fit(K + K.T, np.arange(40) % 2)


@settings(max_examples=25)
@given(
    st.integers(0, 2**20),
    st.sampled_from([(100, 2, 1.0), (500, 2, 10.0), (500, 2, 100.0), (500, 5, 0.2), (300, 8, 0.1)]),
)
def test_distinct_points_under_a_definite_kernel_are_separable(seed, shape):
    """Whatever their labels; though the margin may be so narrow that the values of K have not the digits to tell."""
    n, d, gamma = shape
    random = np.random.RandomState(seed)
    x, y = random.normal(size=(n, d)), random.randint(0, 2, n)
    y[:2] = 0, 1
    machine = po.SVC(gamma=gamma, C=np.inf).fit(x, y)
    assert machine.score(x, y) == 1.0
    assert machine.margins(x, y).functional.min() > 1 - 2e-3
    assert machine.fit_status_ == 0


def test_a_margin_too_narrow_for_double_precision_is_not_called_inseparable():
    random = np.random.RandomState(0)
    x, y = random.normal(size=(200, 1)), random.randint(0, 2, 200)
    with pytest.raises(ModelError, match="too narrow for double precision") as found:
        po.SVC(C=np.inf).fit(x, y)
    assert not isinstance(found.value, NotSeparable)
    x[1], y[:2] = x[0], (0, 1)
    with pytest.raises(NotSeparable, match="row occurs in two classes"):
        po.SVC(C=np.inf).fit(x, y)


# -- the linear margin --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=80)
@given(
    st.integers(0, 2**20),
    st.integers(-200, 200),
    st.sampled_from([1e-200, 1e-3, 1.0, 1e6, 1e200]),
    st.sampled_from(["linear", "poly", "rbf", "laplacian", "LinearSVC", "hinge", "SVR"]),
    st.booleans(),
)
def test_no_answer_is_nan_whatever_the_units(seed, power, C, kind, is_sparse):
    """Cells of any size and any C: an error by name, or finite answers."""
    random = np.random.RandomState(seed)
    x, y = random.normal(size=(20, 3)) * 10.0**power, np.arange(20) % 2
    model = {
        "LinearSVC": lambda: po.LinearSVC(C=C, max_iter=50),
        "hinge": lambda: po.LinearSVC(C=C, loss="hinge", max_iter=50),
        "SVR": lambda: po.SVR(C=C, max_iter=5000),
    }.get(kind, lambda: po.SVC(kernel=kind, C=C, max_iter=5000))()
    table = sparse.csr_array(x) if is_sparse else x
    try:
        model.fit(table, y)
        answer = model.predict(table) if kind == "SVR" else model.decision_function(table)
    except ModelError:
        return
    assert np.isfinite(answer).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1.0, 1e3, 1e-3])
def test_an_interior_point_is_as_good_as_pairs_after_few_steps(monkeypatch, seed, size):
    """Newton's steps are few, as each costs the factor of a matrix."""
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(40, 2)), np.where(random.random(40) < 0.5, 1.0, -1.0)
    K, p, factors = size * np.exp(-9 * ((x[:, None] - x) ** 2).sum(axis=-1)), y + 0.1 * random.normal(size=40), []
    own = smo.cho_factor
    monkeypatch.setattr(smo, "cho_factor", lambda *a, **k: (factors.append(1), own(*a, **k))[1])
    beta = smo.interior(K, p, y)
    assert (y * beta >= 0).all()
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert len(factors) <= 15
    best = np.zeros(40)
    reference.smo_block(K, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0), best, p.copy(), 1e-9, 100_000)
    value, least = (0.5 * b @ K @ b - p @ b for b in (beta, best))
    assert value == pytest.approx(least, rel=1e-5)


def test_a_step_goes_as_far_as_no_value_turns_negative():
    assert smo._room(np.array([1.0, 3.0, 2.0]), np.array([-2.0, -1.0, 5.0])) == 0.5
    assert smo._room(np.array([1.0, 0.0]), np.array([-4.0, 0.0])) == 0.25
    assert smo._room(np.array([1.0]), np.array([-1e-9])) == smo._room(np.ones(1), np.ones(1)) == 1 / smo.NEAR


@pytest.mark.parametrize("definite", [True, False])
def test_a_margin_is_refused_below_the_narrowest(monkeypatch, definite):
    problem = SimpleNamespace(hard=True, gram=SimpleNamespace(spread=lambda: 1.0, definite=definite))
    monkeypatch.setattr(smo, "width", lambda problem: smo.TINY_MARGIN)
    smo.refuse_inseparable(problem)
    monkeypatch.setattr(smo, "width", lambda problem: smo.TINY_MARGIN * (1 - 1e-15))
    with pytest.raises(ModelError if definite else NotSeparable, match="narrower" if definite else "no margin"):
        smo.refuse_inseparable(problem)


# -- the pieces, by hand ------------------------------------------------------------------------------------------------


def at(beta, K, p, low=0.0, high=np.inf):
    """A problem at β, its v = p − Kβ."""
    beta, p = np.asarray(beta, dtype=float), np.asarray(p, dtype=float)
    low, high = np.broadcast_to(low, len(p)).astype(float), np.broadcast_to(high, len(p)).astype(float)
    return Problem(WholeGram(K), p, low, high, beta, p - K @ beta)


def test_no_margin_is_wider_than_the_points_that_the_multipliers_name():
    x, y = np.array([4.0, -1.0, 0.5]), np.array([1.0, -1.0, -1.0])
    K = np.outer(x, x)
    for size in (1e-3, 1.0, 40.0):  # Σα does not matter: the points are 4 and ¼·(−1) + ¾·0.5
        found = smo.width(at(size * np.array([1.0, -0.25, -0.75]), K, y))
        assert found == pytest.approx((4 - 0.125) / 4)
    assert smo.width(at([0.0] * 3, K, y)) == np.inf
    assert smo.width(at([1.0, -1.0, 0.0], np.zeros((3, 3)), y)) == np.inf
    same = np.ones((2, 2))  # two equal points: no margin, whatever α
    assert smo.width(at([3.0, -3.0], same, [1.0, -1.0])) == 0.0


def test_what_is_below_zero_by_more_than_rounding_is_no_kernel():
    """βᵀKβ against 1e-9 of (Σ|β|)²·max K."""
    for below, refused in ((0.9e-9, False), (1.1e-9, True)):
        K = np.array([[2.0, 2.0], [2.0, 2.0 - 4 * below * 2.0]])  # βᵀKβ of (1, −1) is −8·below = −below·2²·2
        problem = at([5.0, -5.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0])
        assert (smo.width(problem) < 0) == refused
        with pytest.raises(ModelError, match="only a positive semi-definite kernel has" if refused else "no margin"):
            smo.refuse_inseparable(problem)


def test_only_a_hard_margin_is_refused_and_its_width_is_told():
    K = np.array([[4.0, 4.0], [4.0, 4.0]])
    soft = at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -9.0], high=[9.0, 0.0])
    smo.refuse_inseparable(soft)
    K = np.array([[4.0, 4.0], [4.0, 4.0 + 1e-12]])
    with pytest.raises(NotSeparable, match=r"no margin is wider than 1e-06 \(the data spread over 2\)"):
        smo.refuse_inseparable(at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0]))
    sharp = at([1.0, -1.0], K, [1.0, -1.0], low=[0.0, -np.inf], high=[np.inf, 0.0])
    sharp.gram.definite = True
    with pytest.raises(ModelError, match="narrower than 5e-07 of their spread"):
        smo.refuse_inseparable(sharp)


def test_an_interior_point_puts_on_its_bound_what_is_not_a_support_vector():
    """(3,3)+, (4,3)+, (1,1)−: α = (¼, 0, ¼)."""
    X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    beta = smo.interior(X @ X.T, y, y)
    assert beta == pytest.approx([0.25, 0.0, -0.25], abs=1e-8)
    assert beta[1] == 0.0
    assert beta.sum() == 0.0
    nan = np.full((3, 3), np.nan)
    with np.errstate(all="ignore"):
        assert smo.interior(nan, y, y) is None


@pytest.mark.parametrize("better", [True, False])
def test_an_interior_point_is_taken_where_it_is_nearer(monkeypatch, better):
    X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1.0, 1.0, -1.0])
    K, best = X @ X.T, np.array([0.25, 0.0, -0.25])
    problem = at([0.1, 0.1, -0.2] if better else best, K, y, np.where(y > 0, 0, -np.inf), np.where(y > 0, np.inf, 0))
    asked, there = [], best if better else np.array([0.2, 0.0, -0.2])

    def interior(K, p, sides):
        asked.append(sides.tolist())
        return there

    monkeypatch.setattr(smo, "interior", interior)
    smo.by_interior(problem, K)
    assert asked == [y.tolist()]
    assert problem.beta.tolist() == best.tolist()
    assert problem.v == pytest.approx(y - K @ best)
    for nothing in (None, np.array([np.inf, 0.0, -np.inf])):
        monkeypatch.setattr(smo, "interior", lambda *_, nothing=nothing: nothing)
        smo.by_interior(problem, K)
        assert problem.beta.tolist() == best.tolist()
        assert problem.v == pytest.approx(y - K @ best)
