"""The solver's v is p − Kβ, also after steps whose rounding would carry it away."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import ModelError
from posteriori.kernels.margin import Machines
from posteriori.margin import machines, smo
from posteriori.margin.gram import WholeGram
from posteriori.margin.smo import Limits, solve, solve_together


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
            solve(WholeGram(np.eye(2)), y, np.minimum(0, y), np.maximum(0, y))


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
