"""The error of a mean over chains, and whether they agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from posteriori.errors import BadParameter, BadValue
from posteriori.network.sampling import Sampled, at_least, batch_error, effective, half_width, seeds, unseen


def test_chains_that_differ_are_told():
    """R̂ = √((B − 1)/B + between/within) over B batches a chain."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=(4, 10, 2)) + np.array([0.0, 1.0])[None, None] * np.arange(4)[:, None, None]
    mean, error, r_hat = batch_error(means)
    within, between = means.var(axis=1, ddof=1).mean(axis=0), means.mean(axis=1).var(axis=0, ddof=1)
    assert mean == pytest.approx(means.mean(axis=(0, 1)))
    assert r_hat == pytest.approx(np.sqrt(0.9 + between / within))
    assert r_hat[1] > 1.5 > r_hat[0]
    assert (error > 0).all()


def test_independent_batches_have_the_error_of_a_mean():
    means = np.random.default_rng(1).normal(size=(4, 500, 1))
    assert batch_error(means)[1] == pytest.approx([1 / np.sqrt(2000)], rel=0.25)


@given(st.integers(0, 300), st.integers(1, 3), st.integers(2, 9))
def test_errors_by_autocovariances(seed, chains, batches):
    means = np.random.default_rng(seed).normal(size=(chains, batches, 2)).cumsum(axis=1)
    mean, error, _ = batch_error(means)
    gap = means - mean
    n = chains * batches
    for k in range(2):
        gamma = [
            sum((gap[c, : batches - t, k] * gap[c, t:, k]).sum() for c in range(chains)) / n
            for t in range(batches // 2)
        ]
        variance = gamma[0]
        for t in range(1, len(gamma) - 1, 2):
            if gamma[t] + gamma[t + 1] <= 0:
                break
            variance += 2 * (gamma[t] + gamma[t + 1])
        variance *= n / max(n - 1, 1)
        assert error[k] == pytest.approx(np.sqrt(variance / n), rel=1e-9)


def test_chains_that_do_not_move_agree():
    still = np.ones((2, 4, 1))
    mean, error, r_hat = batch_error(still)
    assert (mean.tolist(), error.tolist(), r_hat.tolist()) == ([1.0], [0.0], [1.0])
    assert batch_error(np.random.default_rng(0).normal(size=(1, 6, 1)))[2] == pytest.approx([np.sqrt(5 / 6)])


@pytest.mark.parametrize("state", [7, np.random.SeedSequence(3)])
def test_streams_that_are_told_repeat(state):
    assert seeds(state, 5).tolist() == seeds(7 if state == 7 else np.random.SeedSequence(3), 5).tolist()
    assert len(set(seeds(state, 5).tolist())) == 5
    assert seeds(state, 5).dtype == np.uint64


def test_streams_of_generators_go_on():
    for make in (np.random.default_rng, np.random.RandomState):
        mine = make(1)
        first, second = seeds(mine, 3).tolist(), seeds(mine, 3).tolist()
        assert first != second
        assert first == seeds(make(1), 3).tolist()
    assert seeds(None, 2).tolist() != seeds(None, 2).tolist()
    for bad in (-1, 1.5, True, "1"):
        with pytest.raises(BadParameter, match="random_state"):
            seeds(bad, 1)


def test_widths_and_effective_draws():
    from scipy.stats import t

    wide = half_width(np.array([0.5]), np.array([2.0]), 9.0, 4)
    assert wide == pytest.approx([2.0 * t.ppf(1 - 0.01 / 8, 9)])
    assert half_width(np.array([0.5]), np.array([1.0]), 1.0, 0) == pytest.approx([t.ppf(0.995, 1)])
    assert half_width(np.array([0.0, 1.0]), np.zeros(2), 9.0, 4).tolist() == [0.0, 0.0]
    p, n = 0.01, 1000  # Wilson's upper end, by the textbook
    z = t.ppf(1 - 0.01 / 8, 1e9)
    upper = (p + z**2 / (2 * n) + z * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)) / (1 + z**2 / n)
    for share in (p, 1 - p):
        spread = np.array([np.sqrt(p * (1 - p) / n)])
        assert half_width(np.array([share]), spread, 1e9, 4) == pytest.approx([upper - p])
    assert effective(np.array([0.2]), np.array([0.04]), 1000) == pytest.approx([100.0])
    assert effective(np.array([0.2]), np.array([1e-4]), 1000).tolist() == [1000.0]
    assert effective(np.array([0.2]), np.array([0.0]), 1000).tolist() == [1000.0]
    assert unseen(0.0, 0) == pytest.approx(np.log(100))
    assert unseen(50.0, 7) == pytest.approx(np.log(700) / 50)


@pytest.mark.parametrize("draws", [50, 400, 20_000])
@pytest.mark.parametrize("estimates", [1, 4, 30, 300, 1000])
def test_bars_hold_whatever_the_share(draws, estimates):
    """Σ_k Binomial(k; n, q) [|k/n − q| > bar] · estimates ≤ 1% and a grain, from q of 1e-6 up."""
    seen = np.arange(draws + 1)
    p = seen / draws
    bar = np.maximum(half_width(p, np.sqrt(p * (1 - p) / draws), draws, estimates), unseen(draws, estimates))
    for q in 10 ** np.linspace(-6, np.log10(0.5), 60):
        assert binom.pmf(seen, draws, q)[np.abs(p - q) > bar].sum() * estimates <= 0.011


def test_an_answer_by_name():
    found = Sampled(
        [np.array([0.4, 0.6])], [np.array([0.1, 0.2])], [np.array([9.0, 9.0])], 100, [np.array([1.1, 1.0])], ((0,),)
    )
    assert found.worst_error == 0.2
    assert found.worst_r_hat == 1.1
    told = found.named({"a": ("no", "yes")})
    assert told.marginals == {"a": {"no": 0.4, "yes": 0.6}}
    assert told.worst_error == 0.2
    assert told.worst_r_hat == 1.1
    assert told.blocks == (("a",),)
    frame = told.to_frame()
    assert frame.columns.tolist() == ["node", "state", "p", "error", "ess", "r_hat"]
    assert frame["error"].tolist() == [0.1, 0.2]
    assert "<table" in told._repr_html_()
    bare = Sampled([np.array([1.0])], [np.array([0.0])], [np.array([5.0])], 5).named({"a": ("x",)})
    assert bare.worst_r_hat == 1.0
    assert "r_hat" not in bare.to_frame()
    assert Sampled([], [], [], 1).worst_error == 0.0
    for bad in (1, 1.0, True, "5"):
        with pytest.raises(BadValue, match=r"draws=.*at least 2"):
            at_least("draws", bad, 2)


def test_what_is_certain_has_as_many_draws_as_there_were():
    """A mean of draws that never differ has an error of rounding alone."""
    means = np.full((2, 50, 1), 0.1) + 1e-17 * np.arange(50)[None, :, None]
    mean, error, r_hat = batch_error(means)
    assert effective(mean, error, 300).tolist() == [300.0]
    assert r_hat.tolist() == [1.0]
    assert effective(np.array([0.5]), np.array([1e-6]), 10**15) == pytest.approx([0.25e12])


def test_two_chains_apart_without_a_spread_do_not_agree():
    still = np.stack([np.zeros((5, 1)), np.ones((5, 1))])
    assert batch_error(still)[2][0] > 1e6


def test_estimates_by_name_and_state():
    part = [np.array([0.4, 0.6]), np.array([0.1, 0.2, 0.7])]
    found = Sampled(part, [p / 10 for p in part], [p * 100 for p in part], 50, log_probability=-2.5)
    told = found.named({"a": ("no", "yes"), "b": (1, 2, 3)})
    frame = told.to_frame()
    assert frame["node"].tolist() == ["a", "a", "b", "b", "b"]
    assert frame["state"].tolist() == ["no", "yes", 1, 2, 3]
    assert frame["p"].tolist() == [0.4, 0.6, 0.1, 0.2, 0.7]
    assert frame["ess"].tolist() == pytest.approx([40, 60, 10, 20, 70])
    assert told.error["b"][3] == pytest.approx(0.07)
    assert (told.draws, told.log_probability, told.r_hat, told.blocks) == (50, -2.5, None, ())
    assert told.worst_error == found.worst_error == pytest.approx(0.07)
    assert found.worst_r_hat == 1.0
    assert at_least("draws", 2, 2) == 2
    assert at_least("n", np.int32(0), 0) == 0
