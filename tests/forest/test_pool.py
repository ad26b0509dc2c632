"""The pool: exponents by an oracle, bounds, and what is left where rows say nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

from posteriori.forest import pool
from posteriori.forest.pool import FLOOR, MOST_NOISE, expected_noise, fit_exponents, fit_noisy, pooled


def loss(parts, prior, y, u, noise=0.0):
    p = pooled(parts, prior, np.asarray(u), noise=noise)
    usual = np.array([*[1.1 / len(parts)] * len(parts), 0.0])
    charged = len(parts) / len(y) * ((u - usual) ** 2).sum()
    return -np.log(p[np.arange(len(y)), y]).mean() + charged


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 4))
def test_no_other_exponents_are_better(seed, P, K):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    y = rng.integers(0, K, n)
    parts = [rng.dirichlet(np.ones(K), n) * 0.7 + 0.3 * np.eye(K)[y] for _ in range(P)]
    prior = (np.bincount(y, minlength=K) + 0.5) / (n + K / 2)
    u = fit_exponents(parts, prior, y)
    assert ((u[:-1] >= 0) & (u[:-1] <= 4)).all()
    assert abs(u[-1]) <= 1
    best = loss(parts, prior, y, u)
    for _ in range(20):
        other = np.clip(u + rng.normal(size=P + 1) * 0.2, [*[0.0] * P, -1], [*[4.0] * P, 1])
        assert loss(parts, prior, y, other) >= best - 1e-6


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 4), st.integers(0, 3))
def test_no_other_noise_nearby_is_better_nor_is_none(seed, P, K, turned):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    y = rng.integers(0, K, n)
    parts = [rng.dirichlet(np.ones(K), n) * 0.1 + 0.9 * np.eye(K)[y] for _ in range(P)]
    y[:turned] = (y[:turned] + 1) % K
    prior = (np.bincount(y, minlength=K) + 0.5) / (n + K / 2)
    u, noise = fit_noisy(parts, prior, y)
    assert ((u[:-1] >= 0) & (u[:-1] <= 4)).all()
    assert 0 <= noise <= MOST_NOISE
    best = loss(parts, prior, y, u, noise)
    assert best <= loss(parts, prior, y, fit_exponents(parts, prior, y)) + 1e-12
    for size in (0.2, 0.01):
        for _ in range(10):
            other = np.clip(u + rng.normal(size=P + 1) * size, [*[0.0] * P, -1], [*[4.0] * P, 1])
            near = np.clip((noise or size / 20) * np.exp(rng.normal() * size), 0, MOST_NOISE)
            assert loss(parts, prior, y, other, near) >= best - 1e-6


def test_noise_is_looked_for_where_the_way_without_it_ends():
    """Along ε alone the loss at the answer falls to neither side."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        K, n, P = (int(rng.integers(*b)) for b in ((2, 6), (10, 300), (1, 4)))
        y = rng.integers(0, K, n)
        sure = rng.beta(0.5, 0.1, (n, 1))
        parts = [sure * np.eye(K)[y] + (1 - sure) * rng.dirichlet(np.ones(K), n) for _ in range(P)]
        turned = rng.random(n) < rng.choice([0.0, 0.01, 0.05])
        y[turned] = rng.integers(0, K, turned.sum())
        prior = (np.bincount(y, minlength=K) + 0.5) / (n + K / 2)
        u, noise = fit_noisy(parts, prior, y)
        best = loss(parts, prior, y, u, noise)
        for other in (noise + 1e-4, noise + 1e-3, noise + 1e-2, max(noise - 1e-3, 0.0), noise / 2):
            assert loss(parts, prior, y, u, min(other, MOST_NOISE)) >= best - 1e-9


def test_noise_makes_parts_sure_again():
    """Of rows that a part is sure of 2% are turned; of those where it says 80% it is right 80% of the time."""
    said = np.array([[0.999, 0.001]] * 400 + [[0.8, 0.2]] * 400)
    y = np.array([1] * 8 + [0] * 392 + [1] * 80 + [0] * 320)
    half = np.array([0.5, 0.5])
    u, noise = fit_noisy([said], half, y)
    assert 0.02 < noise < 0.05
    assert u[0] > fit_exponents([said], half, y)[0] + 0.1
    assert fit_noisy([said[8:]], half, y[8:])[1] == 0
    heavy = np.where(np.arange(800) < 8, 2.0, 1.0)  # a row that weighs two is two rows
    weighed = fit_noisy([said], half, y, heavy / 808)
    twice = fit_noisy([np.concatenate([said[:8], said])], half, np.concatenate([y[:8], y]))
    assert weighed[1] == pytest.approx(twice[1], rel=0.02)
    assert weighed[1] > noise + 0.01
    none = np.zeros((0, 2))
    assert fit_noisy([none], np.array([0.5, 0.5]), np.zeros(0, int))[1] == 0


def by_quadrature(own, K, w):
    """E sin²t over t in [0, π/4], all as likely before, by an adaptive rule in pieces around the likeliest."""

    def likely(t):
        return float((w * np.log((1 - np.sin(t) ** 2) * own + np.sin(t) ** 2 / K)).sum())

    end = np.pi / 4
    grid = np.linspace(1e-9, end, 2001)
    found = [likely(t) for t in grid]
    top, best = grid[int(np.argmax(found))], max(found)
    steps = np.linspace(-9, 9, 19) / np.sqrt(max(w.sum(), 1))
    ends = sorted({0.0, end, *np.clip(top + steps, 0, end).tolist()})

    def summed(p):
        return sum(
            quad(lambda t: np.sin(t) ** p * np.exp(likely(t) - best), a, b, epsabs=0)[0] for a, b in pairwise(ends)
        )

    return summed(2) / summed(0)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([1, 2, 7, 60, 900]), st.booleans())
@settings(max_examples=15)
def test_the_noise_expected_is_an_integral(seed, K, n, weighted):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    said = 0.1 * rng.dirichlet(np.full(K, rng.choice([0.05, 1.0])), n) + 0.9 * np.eye(K)[y]
    turned = rng.random(n) < rng.choice([0.0, 0.02, 0.9])
    y[turned] = rng.integers(0, K, turned.sum())
    prior, u = np.full(K, 1 / K), np.array([rng.uniform(0.5, 2), 0.0])
    w = rng.dirichlet(np.ones(n)) if weighted else None
    own = pooled([said], prior, u)[np.arange(n), y]
    found = expected_noise([said], prior, y, u, w)
    exact = by_quadrature(own, K, np.ones(n) if w is None else n * w)
    assert found == pytest.approx(
        exact, rel=1e-4 if weighted else 1e-8
    )  # a row that weighs a little has t to a small power
    assert 0 < found < MOST_NOISE


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_where_no_row_is_wrong_noise_is_one_over_n(n):
    """Two classes, rows foretold for sure: ∏(1 − ε/2) and Jeffreys's prior, a Beta of ½ and, nearly, n/2."""
    sure, half, u = np.array([[1.0, 0.0]] * n), np.array([0.5, 0.5]), np.array([1.0, 0.0])
    found = expected_noise([sure], half, np.zeros(n, int), u)
    assert found == pytest.approx(1 / n, rel=2 / np.sqrt(n))
    assert [expected_noise([sure], half, np.zeros(n, int), u, None, jobs) for jobs in (1, 2)] == [found, found]


def test_of_one_class_or_without_rows_no_noise_is_expected():
    assert expected_noise([np.ones((5, 1))], np.ones(1), np.zeros(5, int), np.array([1.0, 0.0])) == 0
    assert expected_noise([np.ones((0, 2))], np.full(2, 0.5), np.zeros(0, int), np.array([1.0, 0.0])) == 0


@pytest.mark.parametrize("size", [1e-300, 0.3, 7.0, 1e290])
def test_weights_are_relative_to_the_noise(size):
    """Rows that weigh alike are rows without weights, and rows that weigh nothing are none; all weight need not be here."""
    said = np.array([[0.99, 0.01]] * 40 + [[0.6, 0.4]] * 20)
    y, half, u = np.array([1, 0] * 2 + [0] * 56), np.array([0.5, 0.5]), np.array([1.3, 0.0])
    plain = expected_noise([said], half, y, u)
    assert expected_noise([said], half, y, u, np.full(60, size)) == pytest.approx(plain, rel=1e-9)
    uneven = np.where(np.arange(60) % 3, 1.0, 2.0)
    once, again = (expected_noise([said], half, y, u, w) for w in (uneven, uneven * size))
    assert once == pytest.approx(again, rel=1e-9)
    assert once != pytest.approx(plain, rel=1e-3)
    assert expected_noise([said], half, y, u, np.zeros(60)) == plain


@given(st.integers(0, 2**32 - 1))
def test_a_pool_is_a_posterior(seed):
    rng = np.random.default_rng(seed)
    parts = [rng.dirichlet(np.full(3, 0.05), 9) for _ in range(2)]
    found = pooled(parts, np.array([1.0, 0.0, 0.0]), np.array([1.0, 2.0, -1.0]))
    assert_allclose(found.sum(axis=1), 1.0)
    assert np.isfinite(found).all()


def test_one_part_with_exponent_one_is_the_part():
    said = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    assert_allclose(pooled([said], np.ones(3) / 3, np.array([1.0, 0.0])), np.maximum(said, FLOOR), rtol=1e-9)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 50))
def test_blocks_are_all_rows_in_their_order(n, K, near):
    usual, pool.NEAR = pool.NEAR, near
    try:
        found = pool.in_blocks(lambda rows: np.arange(n)[rows], n, K, 1)
    finally:
        pool.NEAR = usual
    assert np.concatenate(found).tolist() == [*range(n)]
    assert all(len(rows) * K <= max(near, K) for rows in found)


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_blocks_nor_threads_change_the_exponents(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    n, K = 30_000, 5
    y = rng.integers(0, K, n)
    parts = [rng.dirichlet(np.ones(K), n) * 0.9 + 0.1 * np.eye(K)[y] for _ in range(2)]
    prior, w = np.full(K, 1 / K), rng.dirichlet(np.ones(n)) if weighted else None
    found = [fit_exponents(parts, prior, y, w, jobs) for jobs in (1, 2)]
    assert found[0].tolist() == found[1].tolist()
    y[:900] = (y[:900] + 1) % K
    noisy = [fit_noisy([0.02 * part + 0.98 * np.eye(K)[y % K] for part in parts], prior, y, w, jobs) for jobs in (1, 2)]
    assert (noisy[0][0].tolist(), noisy[0][1]) == (noisy[1][0].tolist(), noisy[1][1])
    y[:900] = (y[:900] - 1) % K
    said = pooled(parts, prior, found[0], 3)
    monkeypatch.setattr(pool, "NEAR", 1 << 30)
    assert_allclose(fit_exponents(parts, prior, y, w), found[0], rtol=1e-6, atol=1e-9)
    assert said.tolist() == pooled(parts, prior, found[0]).tolist()


def test_without_rows_nothing_is_said():
    none = np.zeros((0, 2))
    assert_allclose(fit_exponents([none, none], np.array([0.5, 0.5]), np.zeros(0, int)), [0.55, 0.55, 0.0])
    light = np.array([[0.9, 0.1]] * 4)
    u = fit_exponents([light, light], np.array([0.5, 0.5]), np.ones(4, int), np.full(4, 1e-12))
    assert u == pytest.approx([0.55, 0.55, 0.0], abs=1e-6)


def test_a_step_of_newton_is_taken_whole_where_it_leads_downhill():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    parts = [rng.dirichlet(np.ones(3), 60) * 0.7 + 0.3 * np.eye(3)[y] for _ in range(2)]
    fit = pool._Fit(parts, np.full(3, 1 / 3), y, None, 1)
    u = np.array([0.6, 0.5, 0.0])
    here = fit.look(u, 0.0)
    whole = np.clip(u - np.linalg.solve(here.bend, here.slope), fit.low, fit.high)
    assert fit.look(whole, 0.0).loss < here.loss
    assert_allclose(fit.newton(u, here, 0.0)[0], whole)


# -- the pieces ---------------------------------------------------------------------------------------------------------


def some_rows(seed, n=23, K=3, P=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    parts = [rng.dirichlet(np.ones(K), n) * 0.7 + 0.3 * np.eye(K)[y] for _ in range(P)]
    return parts, rng.dirichlet(np.ones(K)), y, rng.dirichlet(np.ones(n))


def plain_loss(parts, prior, y, w, u, noise):
    """Σ w −ln((1 − ε) P(y|x) + ε/K), written out."""
    z = sum(a * np.log(part) for a, part in zip(u, parts)) + u[-1] * np.log(prior)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return -(w * np.log((1 - noise) * p[np.arange(len(y)), y] + noise / len(prior))).sum()


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_slope_and_bend_are_derivatives_of_the_loss(seed, noise):
    """What u is charged, (P/n) Σ (u − u°)², among them; with noise the bend is that of a bound above the loss."""
    parts, prior, y, w = some_rows(seed)
    fit = pool._Fit(parts, prior, y, w, 1)
    u, usual = np.array([0.7, 1.9, -0.3]), np.array([0.55, 0.55, 0.0])

    def charged(u):
        return plain_loss(parts, prior, y, w, u, noise) + 2 / 23 * ((u - usual) ** 2).sum()

    here, step = fit.look(u, noise), 1e-5 * np.eye(3)
    assert here.loss == pytest.approx(charged(u))
    assert here.own == pytest.approx(pooled(parts, prior, u)[np.arange(23), y])
    slope = [(charged(u + e) - charged(u - e)) / 2e-5 for e in step]
    assert_allclose(here.slope, slope, atol=1e-8)
    bend = np.array([(fit.look(u + e, noise).slope - fit.look(u - e, noise).slope) / 2e-5 for e in step])
    if noise == 0:
        assert_allclose(here.bend, bend, atol=1e-7)
    else:
        assert np.linalg.eigvalsh(here.bend - bend).min() > -1e-7


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5))
def test_the_likeliest_noise_by_brute_force(seed, start):
    rng = np.random.default_rng(seed)
    parts, prior, y, w = some_rows(seed, n=9)
    fit = pool._Fit(parts, prior, y, w, 1)
    own = rng.choice([1e-9, 0.05, 0.3, 0.6, 0.99], 9)
    grid = np.linspace(0, 0.5, 5001)
    likely = (w * np.log((1 - grid[:, None]) * own + grid[:, None] / 3)).sum(axis=1)
    found = fit.likeliest(own, start)
    assert 0 <= found <= 0.5
    best = (w * np.log((1 - found) * own + found / 3)).sum()
    assert best >= likely.max() - 1e-7
    assert found == pytest.approx(grid[likely.argmax()], abs=2e-4)


def test_noise_ends_at_its_bounds():
    parts, prior, y, w = some_rows(0, n=4)
    fit = pool._Fit(parts, prior, y, w, 1)
    assert fit.likeliest(np.full(4, 0.9), 0.1) == 0.0
    assert fit.likeliest(np.full(4, 1e-6), 0.1) == pytest.approx(0.5, abs=1e-8)
    assert fit.likeliest(np.full(4, 1 / 3), 0.1) <= 0.5  # every ε is as good


def test_exponents_stay_within_their_bounds_where_the_loss_falls_beyond():
    """A part that is always wrong, one that is right and timid, a prior that is upside down, each with many rows."""
    y = np.array([0, 1] * 3000)
    right = np.where(np.eye(2)[y] > 0, 0.51, 0.49)
    half = np.array([0.5, 0.5])
    assert fit_exponents([right], half, y)[0] == 4.0
    assert fit_exponents([1 - right], half, y)[0] == 0.0
    common = np.zeros(6000, dtype=int)
    even = np.full((6000, 2), 0.5)
    assert fit_exponents([even], np.array([0.9, 0.1]), common)[1] == 1.0
    assert fit_exponents([even], np.array([0.1, 0.9]), common)[1] == -1.0
    both = fit_exponents([right, 1 - right], half, y)
    assert (both[0], both[1]) == (4.0, 0.0)


def test_a_step_that_climbs_is_halved_until_it_does_not(monkeypatch):
    parts, prior, y, w = some_rows(1)
    fit = pool._Fit(parts, prior, y, w, 1)
    u = np.array([0.7, 0.9, 0.1])
    here = fit.look(u, 0.0)
    step = -np.linalg.solve(here.bend, here.slope)
    flat = here._replace(bend=here.bend / 16)  # a bend too small: sixteen times too far, at least twice downhill
    found, then = fit.newton(u, flat, 0.0)
    assert then.loss < here.loss
    taken = (found - u) / step
    assert np.allclose(taken, taken[0])
    assert np.log2(16 / taken[0]) == pytest.approx(round(np.log2(16 / taken[0])))
    longer = np.clip(u + 2 * taken[0] * step, fit.low, fit.high)
    assert taken[0] == 16 or fit.look(longer, 0.0).loss >= here.loss
    uphill = here._replace(bend=-here.bend)
    same, there = fit.newton(u, uphill, 0.0)
    assert same is u
    assert there is uphill
    at_rest = here._replace(slope=np.full(3, 1e-11))
    assert fit.newton(u, at_rest, 0.0)[0] is u


def test_a_pool_with_noise_by_hand():
    said = [np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[0.5, 0.5], [0.1, 0.9]])]
    prior, u = np.array([0.25, 0.75]), np.array([2.0, 0.5, -1.0])
    z = said[0] ** 2 * said[1] ** 0.5 / prior
    p = z / z.sum(axis=1, keepdims=True)
    assert_allclose(pooled(said, prior, u), p)
    assert_allclose(pooled(said, prior, u, noise=0.3), 0.7 * p + 0.15)
    assert pool.class_shares(np.array([2, 0, 2]), 4, np.array([1.0, 2.0, 5.0])).tolist() == [0.25, 0.0, 0.75, 0.0]


@pytest.mark.parametrize(("n", "K", "near", "sizes"), [(7, 2, 6, [3, 3, 1]), (3, 5, 4, [1, 1, 1]), (6, 3, 9, [3, 3])])
def test_blocks_have_so_many_numbers(monkeypatch, n, K, near, sizes):
    monkeypatch.setattr(pool, "NEAR", near)
    assert [len(part) for part in pool.in_blocks(lambda rows: np.arange(n)[rows], n, K, 1)] == sizes


def test_a_search_that_begins_with_noise_holds_it_and_one_without_has_none():
    said = np.array([[0.999, 0.001]] * 100 + [[0.8, 0.2]] * 100)
    y = np.array([1] * 2 + [0] * 98 + [1] * 20 + [0] * 80)
    fit = pool._Fit([said], np.array([0.5, 0.5]), y, None, 1)
    plain, noisy = fit.descend(0.0), fit.descend(0.05)
    again = fit.descend(0.05, plain[0])
    assert plain[1] == 0.0
    assert plain[0] == pytest.approx(fit_exponents([said], np.array([0.5, 0.5]), y))
    for u, noise, loss in (plain, noisy, again):
        assert loss == pytest.approx(fit.look(u, noise).loss)
    assert noisy[2] < plain[2]
    assert noisy[1] == pytest.approx(again[1], abs=1e-4)
    best = fit_noisy([said], np.array([0.5, 0.5]), y)
    assert best[1] in (noisy[1], again[1])
    none = pool._Fit([said[:0]], np.array([0.5, 0.5]), y[:0], None, 1)
    assert none.descend(0.05)[1:] == (0.0, 0.0)
