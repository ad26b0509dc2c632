"""Weighted cases: weights whose mean is P(e), never over their bound; answers that could be turned over are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posteriori.errors import BadValue, ImpossibleEvidence, Unreliable
from posteriori.network import weighting
from posteriori.network.numbers import Numbers, one_hot
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
