"""Weighted cases: weights whose mean is P(e), never over their bound; answers that could be turned over are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from posteriori.errors import BadParameter, BadValue, ImpossibleEvidence, Unreliable
from posteriori.network import sampling as weighting
from posteriori.network.elimination import Term
from posteriori.network.numbers import Numbers, one_hot
from posteriori.network.sampling import (
    Sampled,
    at_least,
    batch_error,
    effective,
    forward_sample,
    half_width,
    likelihood_weighting,
    proposal,
    seeds,
    unseen,
    unseen_share,
    weighted_sample,
)

from .making import random_network


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


def joint(model):
    """P(x) of every state, an axis for each node."""
    n = len(model)
    out = np.ones(model.sizes)
    for v in range(n):
        scope = (*model.parents[v], v)
        table = np.asarray(model.tables[v]).reshape([model.sizes[u] for u in scope])
        order = np.argsort(scope)
        shape = [model.sizes[u] if u in scope else 1 for u in range(n)]
        out = out * table.transpose(order).reshape(shape)
    return out


def evidence(model, rng, soft):
    vectors = {}
    for v in rng.choice(len(model), 2, replace=False).tolist():
        size = model.sizes[v]
        vectors[v] = rng.random(size) * 7 + 0.1 if soft else one_hot(size, int(rng.integers(size)))
    return vectors


@settings(max_examples=25)
@given(st.integers(0, 500), st.booleans(), st.sampled_from([1, 1 << 18]))
def test_weights_estimate_the_evidence_and_keep_their_bound(seed, soft, cells):
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5, max_parents=2, max_states=3)
    vectors = evidence(model, rng, soft)
    p = joint(model)
    for v, x in vectors.items():
        p = p * x.reshape([-1 if u == v else 1 for u in range(5)])
    old, weighting.MOST_CELLS = weighting.MOST_CELLS, cells
    try:
        made = proposal(model, {v: x / x.max() for v, x in vectors.items()})
        x, log_w = weighted_sample(model, vectors, 4000, seed)
        answer = likelihood_weighting(model, vectors, draws=4000, random_state=seed)
    finally:
        weighting.MOST_CELLS = old
    scale = np.prod([v.max() for v in vectors.values()])
    w = np.exp(log_w)
    assert w.max() <= np.exp(made.log_bound) * scale * (1 + 1e-9)
    assert w.mean() == pytest.approx(p.sum(), abs=6 * w.std() / np.sqrt(4000) + 1e-9 * p.sum())
    if cells > 1:  # nothing was split: every case weighs P(e)
        assert np.exp(made.log_bound) * scale == pytest.approx(p.sum())
        assert w == pytest.approx(p.sum())
    assert np.exp(answer.log_probability) == pytest.approx(w.mean(), rel=1e-9)
    for v in range(5):
        exact = p.sum(axis=tuple(u for u in range(5) if u != v)) / p.sum()
        assert (np.abs(answer.marginals[v] - exact) <= answer.error[v] + 1e-9).all()
        if not soft and v in vectors:
            assert answer.error[v].tolist() == [0.0] * model.sizes[v]
            assert (x[:, v] == vectors[v].argmax()).all()
        else:
            assert (answer.error[v] > 0).all()
    assert answer.ess[0][0] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert answer.log_error == pytest.approx(w.std(ddof=1) / np.sqrt(4000) / w.mean(), abs=1e-9)


def test_forward_cases_have_the_chances_of_the_tables():
    model = random_network(np.random.default_rng(3), 3, max_parents=2, max_states=3)
    codes = forward_sample(model, 30_000, random_state=0)
    at = np.ravel_multi_index(codes.T, model.sizes)
    truth = joint(model).ravel()
    share = np.bincount(at, minlength=truth.size) / 30_000
    assert np.abs(share - truth).max() < 0.015
    assert forward_sample(model, 0).shape == (0, 3)
    assert np.array_equal(forward_sample(model, 50, 7), forward_sample(model, 50, 7, n_jobs=2))
    with pytest.raises(BadValue, match="n"):
        forward_sample(model, -1)


def test_what_was_not_drawn_may_outweigh_what_was():
    assert unseen_share(1000.0, 3, 5000) == pytest.approx(np.log(300) / 1000)
    edge = 2 * np.log(100.0)
    assert unseen_share(edge * 1.0001, 1, 100) < 0.5
    with pytest.raises(Unreliable, match="could turn the answer over"):
        unseen_share(edge * 0.999, 1, 100)
    with pytest.raises(Unreliable):
        unseen_share(0.0, 1, 100)


def test_impossible_evidence():
    model = Numbers.of([2, 2], [(), (0,)], [[1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]], ["rain", "wet"])
    with pytest.raises(ImpossibleEvidence, match=r"none of 100 cases met the findings on nodes .*wet"):
        likelihood_weighting(model, {1: [0, 1]}, draws=100, random_state=0)
    x, log_w = weighted_sample(model, {1: [0, 1]}, 5, 0)
    assert np.isneginf(log_w).all()
    assert (x[:, 1] == 1).all()
    with pytest.raises(BadValue, match="draws"):
        likelihood_weighting(model, {}, draws=1)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("cells", [1, 1 << 18])
def test_marginals_and_errors_by_their_formulas(soft, cells, monkeypatch):
    """p = Σ w [x = k] / Σ w; Wilson's with SE = √(Σ w² ([x = k] − p)²) / Σ w, or what may lie where nothing was drawn."""
    rng = np.random.default_rng(11)
    model = random_network(rng, 6, max_parents=2, max_states=4)
    vectors = evidence(model, rng, soft)
    monkeypatch.setattr(weighting, "MOST_CELLS", cells)
    bound = proposal(model, {v: x / x.max() for v, x in vectors.items()}).log_bound
    x, log_w = weighted_sample(model, vectors, 700, 5)
    found = likelihood_weighting(model, vectors, draws=700, random_state=5)
    w = np.exp(log_w)
    hard = [v for v, vector in vectors.items() if np.count_nonzero(vector) == 1]
    free = sum(s - 1 for v, s in enumerate(model.sizes) if v not in hard)
    ess = w.sum() ** 2 / (w**2).sum()
    scale = math.prod(vector.max() for vector in vectors.values())
    hidden = math.log(free / 0.01) / (w / scale / math.exp(bound)).sum()
    for v, size in enumerate(model.sizes):
        for k in range(size):
            p = w[x[:, v] == k].sum() / w.sum()
            spread = math.sqrt((w**2 * ((x[:, v] == k) - p) ** 2).sum()) / w.sum()
            width = half_width(np.array([p]), np.array([spread]), ess, free)[0]
            assert found.marginals[v][k] == pytest.approx(p)
            assert found.error[v][k] == pytest.approx(0.0 if v in hard else min(max(width, hidden), 1.0))
            assert found.ess[v][k] == pytest.approx(ess)
    assert found.draws == 700
    assert found.log_probability == pytest.approx(math.log(w.mean()))


@given(st.integers(0, 2000), st.booleans())
def test_a_proposal_draws_every_node_once_and_its_bound_is_one(seed, split):
    """Each node after those its terms hang on; P(x, e) / q(x) ≤ W in every state, and Σ_x q(x) = 1."""
    rng = np.random.default_rng(seed)
    model = random_network(rng, 5, max_parents=2, max_states=3)
    vectors = evidence(model, rng, bool(rng.integers(2)))
    vectors = {v: x / x.max() for v, x in vectors.items()}
    old, weighting.MOST_CELLS = weighting.MOST_CELLS, 1 if split else 1 << 18
    try:
        made = proposal(model, vectors)
    finally:
        weighting.MOST_CELLS = old
    hard = {v: int(x.argmax()) for v, x in vectors.items() if np.count_nonzero(x) == 1}
    order = [v for v, _ in made.nodes]
    assert sorted(order) == [v for v in range(5) if v not in hard]
    p = joint(model)
    for v, x in vectors.items():
        p = p * x.reshape([-1 if u == v else 1 for u in range(5)])
    total = 0.0
    for state in np.ndindex(*model.sizes):
        if any(state[v] != k for v, k in hard.items()):
            continue
        q = 1.0
        for i, (v, terms) in enumerate(made.nodes):
            weights = np.ones(model.sizes[v])
            for scope, table in terms:
                assert set(scope) <= {*order[: i + 1], *hard}
                assert v in scope
                wide = np.asarray(table).reshape([model.sizes[u] for u in scope])
                weights = weights * wide[tuple(slice(None) if u == v else state[u] for u in scope)]
            q *= weights[state[v]] / weights.sum()
        assert p[state] <= q * math.exp(made.log_bound) * (1 + 1e-9)
        total += q
    assert total == pytest.approx(1.0)
    below = [v for v, _ in made.nodes[made.counted :]]
    assert all(v not in model.parents[u] or u in below for v in below for u in range(5))
    assert not set(below) & set(vectors)


def test_the_bound_of_drawing_forward():
    """W = Π over the findings of the likeliest that each can be, whatever its parents."""
    rows = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    model = Numbers.of([2, 3, 2], [(), (0,), (1,)], [[0.4, 0.6], rows, [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]])
    soft = np.array([1.0, 0.5, 0.25])
    nodes, bound = weighting._forward(model, {1: soft, 2: one_hot(2, 1)}, {0, 1, 2})
    assert math.exp(bound) == pytest.approx((rows @ soft).max() * 0.8)
    assert [(v, [t.scope for t in terms]) for v, terms in nodes] == [(0, [(0,)]), (1, [(0, 1), (1,)])]
    assert weighting._forward(model, {1: np.zeros(3)}, {0, 1})[1] == -math.inf
    assert weighting._forward(model, {0: one_hot(2, 1)}, {0}) == ([], pytest.approx(math.log(0.6)))


def test_terms_are_split_into_tables_that_fit():
    model = Numbers.of([2, 3, 2, 5], [()] * 4, [np.ones(s) for s in (2, 3, 2, 5)])
    small, middle, large = (Term(s, np.ones(n)) for s, n in (((0,), 2), ((0, 1), 6), ((2, 3), 10)))

    def parts(most):
        return [(sorted(scope), [len(t.table) for t in part]) for scope, part in weighting._split(model, terms, most)]

    terms = [small, middle, large]
    assert parts(60) == [([0, 1, 2, 3], [10, 6, 2])]
    assert parts(59) == [([0, 2, 3], [10, 2]), ([0, 1], [6])]
    assert parts(19) == [([2, 3], [10]), ([0, 1], [6, 2])]  # the largest is summed over, the others bounded
    assert parts(1) == [([2, 3], [10]), ([0, 1], [6]), ([0], [2])]


def test_logarithms_become_numbers_that_are_zero_only_where_they_were():
    plain = Term((0,), np.array([0.5, 0.0]))
    assert weighting._as_numbers(plain) is plain
    term = weighting._as_numbers(Term((0,), np.array([-np.inf, -5000.0, -3.0, 0.0]), True))
    assert not term.in_logs
    assert term.table[[0, 2, 3]].tolist() == [0.0, math.exp(-3.0), 1.0]
    assert 0 < term.table[1] < 1e-290


def test_what_more_draws_would_do_is_told():
    with pytest.raises(Unreliable, match=r"is 50 times the mean of 100 draws: .* or with 2e\+03 draws or more"):
        unseen_share(2.0, 1, 100)  # ln(100)/2 = 2.3 of the posterior; a tenth of it takes 23 times as many
    with pytest.raises(Unreliable, match=r"or with 5e\+06 draws or more"):  # less than one: not as if it were one
        unseen_share(1e-3, 1, 100)
    with pytest.raises(Unreliable, match="no number of draws would do"):
        unseen_share(1e-20, 1, 100)
