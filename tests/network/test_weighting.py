"""Weighted cases: weights whose mean is P(e), never over their bound; answers that could be turned over are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori.errors import BadValue, ImpossibleEvidence, Unreliable
from posteriori.network import weighting
from posteriori.network.elimination import Term
from posteriori.network.numbers import Numbers, one_hot
from posteriori.network.sampling import half_width
from posteriori.network.weighting import forward_sample, likelihood_weighting, proposal, unseen_share, weighted_sample

from .making import random_network


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
