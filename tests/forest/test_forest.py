"""BayesForest: the same bits for any threads, out-of-bag answers that are none of its own rows', tables at the edge."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.forest import forest as forest_room
from posteriori.forest.counts import impurity
from posteriori.forest.forest import (
    FLOOR,
    MOST_NOISE,
    expected_noise,
    fit_exponents,
    fit_noisy,
    grown_trees,
    mean_loss,
    member_tables,
    pooled,
    tree_bytes,
    tried,
)
from posteriori.kernels import draw_bags
from posteriori.kernels.trees import Codes

from .making import IRIS, mixed


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
    usual, forest_room.NEAR = forest_room.NEAR, near
    try:
        found = forest_room.in_blocks(lambda rows: np.arange(n)[rows], n, K, 1)
    finally:
        forest_room.NEAR = usual
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
    monkeypatch.setattr(forest_room, "NEAR", 1 << 30)
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
    fit = forest_room._Fit(parts, np.full(3, 1 / 3), y, None, 1)
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
    fit = forest_room._Fit(parts, prior, y, w, 1)
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
    fit = forest_room._Fit(parts, prior, y, w, 1)
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
    fit = forest_room._Fit(parts, prior, y, w, 1)
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
    fit = forest_room._Fit(parts, prior, y, w, 1)
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
    assert forest_room.class_shares(np.array([2, 0, 2]), 4, np.array([1.0, 2.0, 5.0])).tolist() == [
        0.25,
        0.0,
        0.75,
        0.0,
    ]


@pytest.mark.parametrize(("n", "K", "near", "sizes"), [(7, 2, 6, [3, 3, 1]), (3, 5, 4, [1, 1, 1]), (6, 3, 9, [3, 3])])
def test_blocks_have_so_many_numbers(monkeypatch, n, K, near, sizes):
    monkeypatch.setattr(forest_room, "NEAR", near)
    assert [len(part) for part in forest_room.in_blocks(lambda rows: np.arange(n)[rows], n, K, 1)] == sizes


def test_a_search_that_begins_with_noise_holds_it_and_one_without_has_none():
    said = np.array([[0.999, 0.001]] * 100 + [[0.8, 0.2]] * 100)
    y = np.array([1] * 2 + [0] * 98 + [1] * 20 + [0] * 80)
    fit = forest_room._Fit([said], np.array([0.5, 0.5]), y, None, 1)
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
    none = forest_room._Fit([said[:0]], np.array([0.5, 0.5]), y[:0], None, 1)
    assert none.descend(0.05)[1:] == (0.0, 0.0)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 16, 100, 1000])
def test_a_node_looks_at_about_one_and_a_half_roots_of_the_columns(d):
    assert 1 <= tried(d) <= d
    assert abs(tried(d) - 1.5 * d**0.5) <= 0.5 or tried(d) == d


def codes(n, sizes=(3, 5), named=(True, False)):
    rng = np.random.default_rng(0)
    return Codes(np.array([rng.integers(0, min(size, 255), n) for size in sizes], np.uint8), sizes, named)


def test_a_member_has_at_most_thirteen_values_of_a_column_and_its_two_parents():
    assert member_tables(codes(50), 2) == 2 * (3 + 5) + 2 * 4 * 13**3 * 2
    assert member_tables(codes(50), 100) == 2 * (3 + 5) + 2 * 4 * 2**16  # not more numbers than that,
    assert member_tables(codes(20_000), 100) == 2 * (3 + 5) + 2 * 4 * 4 * 20_000  # or four a row


@pytest.mark.parametrize("K", [2, 7])
def test_trees_take_what_their_nodes_take(K):
    """Up to 1.3 n nodes, of two copies; where that does not fit, as many as two of them have."""
    table, y = codes(200, (70, 5)), np.arange(200) % K
    most = 10 * 1.3 * 200 * (2 * (12 + 4 * K) + 16 * 2)  # sets of 70 values are two words, twice
    assert tree_bytes(table, y, K, None, 10, most, 1) == pytest.approx(most)
    measured = tree_bytes(table, y, K, None, 10, most - 1, 1)
    assert 0 < measured < most
    trees, _, _ = grown_trees(table, y, K, None, np.arange(2, dtype=np.uint64), 1, None)
    assert measured == pytest.approx(10 * 1.1 * (len(trees.column) * (12 + 4 * K) + trees.bits.nbytes))


def test_the_loss_is_over_the_rows_of_which_something_is_said():
    said = np.array([[0.5, 0.5], [np.nan, np.nan], [0.0, 1.0], [0.25, 0.75]])
    y = np.array([0, 1, 0, 1])
    losses = -np.log([0.5, FLOOR, 0.75])
    assert mean_loss(said, y, None) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1.0, 9.0, 2.0, 5.0])) == pytest.approx(np.average(losses, weights=[1, 2, 5]))
    assert mean_loss(said, y, np.array([0.0, 9.0, 0.0, 0.0])) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1e-320, 0.0, 1e-320, 1e-320])) == pytest.approx(losses.mean())
    assert np.isnan(mean_loss(said[1:2], y[1:2], None))


def test_the_concentration_is_the_best_out_of_bag():
    table, y = codes(300), np.random.default_rng(1).integers(0, 2, 300)
    trees, c, said = grown_trees(table, y, 2, None, np.arange(20, dtype=np.uint64), 1, None)
    assert c == forest_room.CONCENTRATIONS[-1]  # of labels that are noise, the leaves are to say least
    bags = draw_bags(300, None, np.arange(20, dtype=np.uint64), 1)
    losses = []
    for other in forest_room.CONCENTRATIONS:
        sums, times = trees.sums(table, other, bags, 1)
        losses.append(mean_loss(sums / times[:, None], y, None))
    assert np.argmin(losses) == forest_room.CONCENTRATIONS.index(c)
    assert mean_loss(said, y, None) == pytest.approx(min(losses))


def small(**how):
    return po.BayesForest(n_trees=20, n_members=5, random_state=0, **how)


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)  # enough work for threads
    one, three = (small(n_jobs=j).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_the_same_seed_gives_the_same_forest_and_another_another():
    X, y = mixed()
    first, again = small().fit(X, y), small().fit(X, y)
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = small().set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = np.random.default_rng(3)
    assert (clone(small()).set_params(random_state=stream).fit(X, y).predict(X) == first.predict(X)).mean() > 0.8


def test_the_posterior_is_the_pool_of_means():
    X, y = mixed()
    model = small().fit(X, y)
    grown = model.grown_
    codes, _ = grown.coding.code(model._open(X))
    parts = [grown.members.sums(codes)[0] / 5, grown.trees.sums(codes, model.concentration_)[0] / 20]
    for part in parts:
        assert_allclose(part.sum(axis=1), 1.0)
    wanted = pooled(parts, grown.prior, np.array([*model.exponents_.values()]))
    assert_allclose(model.predict_proba(X), wanted)
    assert_allclose(wanted.sum(axis=1), 1.0)
    assert_allclose(grown.prior, [(y == c).mean() for c in model.classes_])


def test_out_of_bag_answers_are_of_those_that_have_not_drawn_the_row():
    X, y = mixed(60)
    model = small().fit(X, y)
    grown, seeds = model.grown_, np.random.default_rng(0).integers(0, 1 << 63, 25, dtype=np.uint64)
    codes, _ = grown.coding.code(model._open(X))
    sums = [
        grown.members.sums(codes, draw_bags(60, None, seeds[:5])),
        grown.trees.sums(codes, model.concentration_, draw_bags(60, None, seeds[5:])),
    ]
    out = (sums[0][1] > 0) & (sums[1][1] > 0)
    assert_array_equal(np.isnan(model.oob_decision_function_[:, 0]), ~out)
    parts = [found[out] / times[out, None] for found, times in sums]
    wanted = pooled(parts, grown.prior, grown.exponents)
    assert_allclose(model.oob_decision_function_[out], wanted)
    assert model.oob_score_ == pytest.approx((model.classes_[wanted.argmax(axis=1)] == y[out]).mean())


def test_out_of_bag_is_honest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    model = po.BayesForest(random_state=0, n_trees=60).fit(X, y)
    assert model.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(model.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.15


def test_it_beats_its_parts_alone_where_they_differ():
    X, y = load_breast_cancer(return_X_y=True)
    model = small().fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    assert -np.log(p[np.arange(len(p)), y[1::2]]).mean() < 0.16
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_weights_are_chances_to_be_drawn():
    X, y = IRIS
    w = np.where(y == 2, 0.0, 1.0)
    without = small().fit(X, y, sample_weight=w)
    assert without.classes_.tolist() == [0, 1]
    assert len(without.oob_decision_function_) == 100
    scaled = small().fit(X, y, sample_weight=np.full(len(y), 8.0))
    assert_array_equal(scaled.predict_proba(X), small().fit(X, y, sample_weight=np.full(len(y), 2.0)).predict_proba(X))
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert (heavy.predict_proba(X)[:, 2].mean()) > small().fit(X, y).predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        tiny = small().fit(X, y, sample_weight=np.full(len(y), scale))
        assert tiny.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
    ],
    ids=["one row", "constant", "three rows", "one class", "all missing"],
)
def test_the_smallest_tables(X, y):
    model = small().fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.exponents_) == {"members", "trees", "prior"}


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10_000))
    y = (X[:, :50].sum(axis=1) > 0).astype(int)
    model = po.BayesForest(n_trees=3, n_members=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    classes = np.repeat(np.arange(1000), 2)
    many = po.BayesForest(n_trees=3, n_members=2, random_state=0).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.BayesForest(max_memory=1e6).fit(X, y)
    with pytest.raises(ValueError, match="n_trees"):
        small().set_params(n_trees=0).fit(X, y)


def test_sets_of_many_values_are_counted_before_the_work():
    rng = np.random.default_rng(0)
    X, y = {"id": rng.integers(0, 3000, 3000).astype(str)}, rng.integers(0, 2, 3000)
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.BayesForest(random_state=0, max_memory=1e7).fit(X, y)
    model = po.BayesForest(20, 2, random_state=0, max_memory=1e8).fit(X, y)
    assert model.grown_.trees.bits.nbytes > model.grown_.trees.counts.nbytes  # what makes it large


def test_progress_is_told_and_may_end_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 10)), rng.integers(0, 2, 4000)
    said = []
    po.BayesForest(60, 5, random_state=0, n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said[-1] == (65, 65)
    assert said == sorted(said)

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        po.BayesForest(60, 5, random_state=0, progress=enough).fit(X, y)


def test_importances_are_what_questions_gain_in_all_trees():
    X, y = mixed()
    model = po.BayesForest(n_trees=3, n_members=1, random_state=0).fit(X, y)
    trees, gains = model.grown_.trees, np.zeros(4)
    for t in range(3):
        first = int(trees.starts[t])
        for i in range(first, int(trees.starts[t + 1])):
            if trees.column[i] >= 0:
                at = first + int(trees.child[i])
                own, left, right = (impurity(trees.counts[[k]].astype(float), "entropy")[0] for k in (i, at, at + 1))
                gains[trees.column[i]] += max(own - left - right, 0.0)
    assert_allclose(model.feature_importances_, gains / gains.sum(), rtol=1e-9)
    assert model.exponents_ == dict(zip(("members", "trees", "prior"), model.grown_.exponents.tolist()))
    assert model.concentration_ == model.grown_.concentration
    flat = po.BayesForest(n_trees=2, n_members=1, random_state=0).fit({"a": ["x", "x", "x"]}, [0, 1, 0])
    assert flat.feature_importances_.tolist() == [0.0]


def test_memory_is_that_of_members_rows_and_trees(monkeypatch):
    told = []
    monkeypatch.setattr(forest_room, "refuse_over", lambda limit, need, *words: told.append((limit, need, *words)))
    monkeypatch.setattr(forest_room, "member_tables", lambda codes, K: 1000.0 * K)
    monkeypatch.setattr(forest_room, "memory_budget", lambda limit: 1e6)
    asked = []
    monkeypatch.setattr(forest_room, "tree_bytes", lambda *given: asked.append(given[4:6]) or 5e5)
    model = po.BayesForest(n_trees=7, n_members=3, max_memory=9.0)
    model._refuse_large(SimpleNamespace(n=1234), None, 2, None)
    rest = 3 * 2000.0 + 40 * 1234 * 2
    assert asked == [(7, 1e6 - rest)]
    assert told[0][:3] == (9.0, 5e5 + rest, "a forest of 1,234 rows")
