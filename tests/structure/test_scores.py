"""Scores of structures: by hand, from counts in NumPy, and the law that structures of one class score alike."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import posteriori as po
from posteriori.errors import BadParameter, BadValue
from posteriori.structure.scores import EQUIVALENT, MOST_COUNTS, SCORES, Scored, _two_values, log_regret, price_of
from posteriori.structure.search import coded
from posteriori.structure.separation import equivalent, reversed_rows, topological

from ..kernels.reference.families import family_counts


def table(seed: int, d: int = 3, n: int = 40) -> tuple[np.ndarray, tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(2, 4, d))
    return np.array([rng.integers(0, s, n) for s in sizes], dtype=np.uint8), sizes


def dags(d: int) -> list[list[list[int]]]:
    """Every DAG of d nodes, as lists of parents."""
    pairs = list(itertools.combinations(range(d), 2))
    found = []
    for ways in itertools.product(range(3), repeat=len(pairs)):
        parents: list[list[int]] = [[] for _ in range(d)]
        for (a, b), way in zip(pairs, ways):
            if way:
                parents[b if way == 1 else a].append(a if way == 1 else b)
        if len(topological(parents, reversed_rows(parents))) == d:
            found.append(parents)
    return found


def test_by_hand():
    codes = np.array([[0, 0, 0, 1], [0, 1, 1, 1]], np.uint8)
    ll = 2 * math.log(2 / 3) + math.log(1 / 3)
    assert Scored(codes, (2, 2), "loglik").family(1, [0]) == pytest.approx(ll)
    assert Scored(codes, (2, 2), "aic").family(1, [0]) == pytest.approx(ll - 2)
    assert Scored(codes, (2, 2), "bic").family(1, [0]) == pytest.approx(ll - math.log(4))
    assert Scored(codes, (2, 2), "mdl").family(1, [0]) == Scored(codes, (2, 2), "bic").family(1, [0])
    # Cooper and Herskovits: Π (r−1)!/(N+r−1)! Π N!
    k2 = math.log(1 / math.factorial(4) * 1 * 2 * 1 / math.factorial(2))
    assert Scored(codes, (2, 2), "k2").family(1, [0]) == pytest.approx(k2)


@pytest.mark.parametrize("score", EQUIVALENT)
@given(seed=st.integers(0, 10_000))
def test_structures_of_one_class_score_alike(score, seed):
    codes, sizes = table(seed)
    scored = Scored(codes, sizes, score, ess=2.5)
    every = dags(3)
    worth = [scored.whole(parents) for parents in every]
    for (a, x), (b, y) in itertools.combinations(zip(every, worth), 2):
        if equivalent(a, b):
            assert_allclose(x, y, rtol=1e-10, atol=1e-9)


@given(seed=st.integers(0, 10_000), score=st.sampled_from(SCORES))
def test_weight_two_is_two_rows_and_zero_is_none(seed, score):
    codes, sizes = table(seed)
    weights = np.random.default_rng(seed).integers(0, 3, codes.shape[1]).astype(float)
    twice = np.repeat(codes, weights.astype(int), axis=1)
    a, b = Scored(codes, sizes, score, weights=weights), Scored(np.ascontiguousarray(twice), sizes, score)
    assert_allclose(a.toggles(0, [1], [1, 2]), b.toggles(0, [1], [1, 2]), rtol=1e-10, atol=1e-9)


@given(seed=st.integers(0, 10_000))
def test_the_likelihood_never_falls_with_more_parents(seed):
    codes, sizes = table(seed, d=4)
    found = Scored(codes, sizes, "loglik").toggles(0, [1], [2, 3])
    assert (found[1:] >= found[0] - 1e-9).all()


def test_bdeu_is_the_probability_of_the_rows_one_after_the_other():
    codes, sizes = table(3)
    alpha = 2.0 / (sizes[0] * sizes[1])
    counts, log_p = np.zeros((sizes[1], sizes[0])), 0.0
    for x, p in zip(codes[0], codes[1]):
        log_p += math.log((counts[p, x] + alpha) / (counts[p].sum() + alpha * sizes[0]))
        counts[p, x] += 1
    assert Scored(codes, sizes, "bdeu", ess=2.0).family(0, [1]) == pytest.approx(log_p)
    assert (counts == family_counts(codes, (sizes[1], sizes[0]), [1, 0])).all()


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_the_regret_by_enumeration(r):
    found = log_regret(6, r)
    for n in range(1, 7):
        total = 0.0
        for sample in itertools.product(range(r), repeat=n):
            share = np.bincount(sample, minlength=r) / n
            total += math.prod(share[x] for x in sample)  # the likelihood of the sample at its own best θ
        assert found[n] == pytest.approx(math.log(total), rel=1e-12)
    assert found[0] == 0.0


def test_the_regret_of_many_rows():
    found = log_regret(4000, 2)
    for n in (998, 999, 1000, 1001, 4000):  # where the expansion takes over from the sum
        h = np.arange(n + 1)
        log_terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in h]
        log_terms += np.where(h > 0, h * np.log(np.maximum(h, 1) / n), 0) + np.where(
            h < n, (n - h) * np.log(np.maximum(n - h, 1) / n), 0
        )
        assert found[n] == pytest.approx(np.logaddexp.reduce(log_terms), rel=1e-11)
    assert np.isfinite(log_regret(2000, 4000)).all()


def test_fnml_is_the_normalised_likelihood():
    """Σ over all children of exp(score) is one for each assignment of the parents: no prior, no price, a distribution."""
    parent, r = np.array([0, 0, 1, 1, 1], np.uint8), 2
    total = 0.0
    for child in itertools.product(range(r), repeat=len(parent)):
        codes = np.array([parent, child], np.uint8)
        total += math.exp(Scored(codes, (2, r), "fnml").family(1, [0]))
    assert total == pytest.approx(1.0)
    with pytest.raises(BadParameter, match="whole numbers"):
        Scored(codes, (2, 2), "fnml", weights=np.full(5, 0.5))


def test_a_missing_parent_is_one_more_value_and_a_missing_child_no_row():
    codes = np.array([[0, 1, 2, 2, 0], [0, 1, 1, 0, 2]], np.uint8)
    told = np.array([[0, 1, 2, 2], [0, 1, 1, 0]], np.uint8)
    for score in ("loglik", "bdeu", "k2"):
        assert Scored(codes, (2, 2), score).family(1, [0]) == Scored(told, (3, 2), score).family(1, [0])


def test_asia_beside_others():
    """2,002 rows in the proportions of asia: BIC is pyAgrum's and pgmpy's, BDeu (ess 10) and K2 are pgmpy's.

    pyAgrum takes ln Γ approximately: its K2 is right to 1e-8, its BDeu to a few percent where a configuration is unseen.
    """
    net = po.networks.asia()
    cases = [dict(zip(net.nodes, states)) for states in itertools.product(("no", "yes"), repeat=8)]
    counts = [round(2000 * net.probability(case)) for case in cases]
    data = {v: [case[v] for case, k in zip(cases, counts) for _ in range(k)] for v in net.nodes}
    for score, value in (("bic", -4537.040573431526), ("bdeu", -4565.170443049153), ("k2", -4536.067890833443)):
        _, scored = coded(data, score, 10.0, None, None)
        assert scored.whole(net.dag.numbered_parents) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("ess", [1e-100, 1e-9, 0.01, 1e3, 3e4, 1e6, 1e9, 1e17, 1e100])
def test_gamma_scores_by_many_digits(ess):
    codes, sizes = table(11)
    counts = family_counts(codes, (sizes[1], sizes[2], sizes[0]), [1, 2, 0]).reshape(-1, sizes[0])
    with mpmath.workdps(160):
        for score, a in (("bdeu", mpmath.mpf(ess) / counts.size), ("k2", mpmath.mpf(1))):
            exact = mpmath.mpf(0)
            for row in counts:
                exact += mpmath.loggamma(a * len(row)) - mpmath.loggamma(a * len(row) + row.sum())
                exact += sum(mpmath.loggamma(a + n) - mpmath.loggamma(a) for n in row)
            found = Scored(codes, sizes, score, ess=ess).family(0, [1, 2])
            assert found == pytest.approx(float(exact), rel=2e-12)


def test_what_is_no_score_is_named():
    codes, sizes = table(0)
    with pytest.raises(BadParameter, match=r"score is one of.*'bic'.*Got 'bick' instead"):
        Scored(codes, sizes, "bick")
    for ess in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(BadParameter, match="equivalent sample size"):
            Scored(codes, sizes, "bdeu", ess=ess)
    for ess in (5e-324, 1e-101, 1e101, 1e308):
        with pytest.raises(BadParameter, match="ess is a number from 1e-100 to 1e"):
            Scored(codes, sizes, "bdeu", ess=ess)


@pytest.mark.parametrize("score", [s for s in SCORES if s != "fnml"])
def test_weights_that_no_score_can_hold_are_named(score):
    rows = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 1], "c": [0, 0, 1, 1]}
    for size in (1e305, 1e308 / 4.1):
        with pytest.raises(BadValue, match="overflows; rescale them"):
            po.learn_structure(rows, score, sample_weight=[size] * 4)
    for size in (1e300, 1e-300, 5e-324):
        found = po.learn_structure(rows, score, sample_weight=[size] * 4)
        assert np.isfinite(found.score)
        assert found.finished


def test_the_price_of_a_parameter():
    assert [price_of(s, 9.0) for s in ("loglik", "aic")] == [0.0, 1.0]
    assert price_of("bic", 9.0) == price_of("mdl", 9.0) == pytest.approx(math.log(3))
    assert price_of("bic", 0.25) == 0.0  # never a reward
    assert price_of("k2", 9.0) is None


def test_a_parent_that_misses_cells_has_one_state_more():
    codes = np.array([[0, 1, 2, 1], [0, 1, 1, 1], [0, 0, 1, 3]], np.uint8)
    table = Scored(codes, (2, 2, 3))
    assert table.states == (3, 2, 4)
    assert not table.complete
    assert Scored(codes[:2], (3, 2)).complete
    assert (table.d, table.m) == (3, 4.0)
    turned = table.taking([2, 0])
    assert (turned.codes.tolist(), turned.sizes, turned.states) == (codes[[2, 0]].tolist(), (3, 2), (4, 3))
    assert turned.family(1, [0]) == table.family(0, [2])
    weighed = Scored(codes, (2, 2, 3), weights=np.array([0.5, 1.0, 0.0, 2.0]))
    assert weighed.m == 3.5
    assert weighed.bits is None
    assert weighed.x_log_x is None  # counts are not whole
    assert table.bits is not None
    whole = Scored(codes, (2, 2, 3), weights=np.array([2.0, 1.0, 0.0, 2.0]))
    assert whole.x_log_x == pytest.approx([n * math.log(n) if n else 0.0 for n in range(6)])
    assert whole.regret(2) is whole.regret(2)
    assert len(whole.regret(3)) == 6


@pytest.mark.parametrize("m", [MOST_COUNTS, MOST_COUNTS + 1])
def test_counts_are_looked_up_to_a_limit(m):
    table = Scored(np.zeros((1, 2), np.uint8), (1,), weights=np.array([m - 1.0, 1.0]))
    assert (table.x_log_x is None) == (m > MOST_COUNTS)


@pytest.mark.parametrize("ess", [1e-100, 1e100, 1, np.float64(3)])
def test_ess_at_its_ends(ess):
    assert np.isfinite(Scored(np.array([[0, 1], [1, 1]], np.uint8), (2, 2), "bdeu", ess).family(0, [1]))


def test_many_values_do_not_overflow():
    """C(N, r) of a million values is about r^N/… far beyond the largest float: against fifty digits."""
    with mpmath.workdps(50):
        for n, r in ((7, 400), (300, 900)):
            before, now = (
                mpmath.mpf(1),
                sum(mpmath.factorial(n) / (mpmath.factorial(n - k) * mpmath.mpf(n) ** k) for k in range(n + 1)),
            )
            for k in range(2, r):
                before, now = now, now + mpmath.mpf(n) / (k - 1) * before
            assert log_regret(n, r)[n] == pytest.approx(float(mpmath.log(now)), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 999, 1000, 1001, 30_000])
def test_the_sum_of_ramanujan_and_its_expansion(n):
    with mpmath.workdps(40):
        term, total = mpmath.mpf(1), mpmath.mpf(1)
        for k in range(n):
            term = term * (n - k) / n
            total += term
    assert _two_values(np.arange(n + 1.0))[n] == pytest.approx(float(total), rel=1e-14)
