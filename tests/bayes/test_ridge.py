"""Ridge logistic regression in folds: scikit-learn's optimum at the same λ, folds that are honest, turned points."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from posteriori.bayes import ridge
from posteriori.bayes.ridge import FOLDS, Linear, fit_folds
from posteriori.decision.folds import stratified


def data(n=120, f=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, f))
    Z -= Z.mean(axis=0)
    y = (Z[:, :K] + rng.gumbel(size=(n, K))).argmax(axis=1)
    return Z, y, np.ones(n)


def fitted(Z, y, w, K, seed=0, n_jobs=None):
    return fit_folds(lambda rows: Z[rows], y, w, K, np.random.default_rng(seed), n_jobs)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("f", [4, 60])
def test_the_mean_of_five_optima(monkeypatch, K, f):
    """Every fold ends where scikit-learn does; f above the rows is turned by fewer coordinates, and none is lost."""
    monkeypatch.setattr(ridge, "PENALTIES", (2.0,))
    monkeypatch.setattr(ridge, "STEPS", 500)
    monkeypatch.setattr(ridge, "ROUGH", 1e-16)
    monkeypatch.setattr(ridge, "INTERCEPT", 0.0)
    Z, y, w = data(50, f, K)
    model, said = fitted(Z, y, w, K)
    fold = stratified(y, FOLDS, np.random.default_rng(0))
    peers = []
    for m in range(FOLDS):
        C = 1.0 if K == 2 else 0.5  # of two classes it has one row of weights, which stands for two
        peer = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(Z[fold != m], y[fold != m])
        assert_allclose(said[fold == m], peer.predict_proba(Z[fold == m]), atol=2e-5)
        peers.append(peer.predict_log_proba(Z))
    mean = np.exp(np.mean(peers, axis=0))
    assert_allclose(model.posterior(Z), mean / mean.sum(axis=1, keepdims=True), atol=2e-5)


def test_what_is_said_of_a_row_does_not_know_its_class():
    Z = np.eye(60) - 1 / 60  # a coordinate of its own for every row
    noise = np.random.default_rng(0).integers(0, 2, 60)
    said = fitted(Z, noise, np.ones(60), 2)[1]
    assert -np.log(said[np.arange(60), noise]).mean() > 0.65


def test_the_penalty_follows_what_the_rows_say():
    Z, _, w = data(400, 3, 2)
    assert fitted(Z, (Z[:, 0] > 0).astype(int), w, 2)[0].penalty < 1
    assert fitted(Z, np.random.default_rng(5).integers(0, 2, 400), w, 2)[0].penalty >= 4


def test_many_coordinates_are_not_turned(monkeypatch):
    Z, y, w = data(300, 20, 3)
    turned = fitted(Z, y, w, 3)[0].posterior(Z)
    monkeypatch.setattr(ridge, "ROTATED", 5)
    assert_allclose(fitted(Z, y, w, 3)[0].posterior(Z), turned, atol=0.02)


def test_blocks_and_draws_of_large_tables(monkeypatch):
    Z, y, w = data(500, 4, 3)
    whole = fitted(Z, y, w, 3)
    monkeypatch.setattr(ridge, "BLOCK", 64)
    assert_allclose(fitted(Z, y, w, 3)[1], whole[1], atol=1e-12)
    monkeypatch.setattr(ridge, "MOST_ROWS", 100)
    some = fitted(Z, y, w, 3)
    assert some[1].shape == (500, 3)
    assert np.abs(some[0].posterior(Z) - whole[0].posterior(Z)).mean() < 0.1


def test_a_fold_learns_from_other_rows_none_of_them_twice(monkeypatch):
    monkeypatch.setattr(ridge, "MOST_ROWS", 60)
    made, own = [], ridge._Path.__init__
    monkeypatch.setattr(ridge._Path, "__init__", lambda self, *told: (made.append(told), own(self, *told))[1])
    Z, y, w = data(200, 4, 3)
    fitted(Z, y, w, 3)
    ((_, labels, _, folds, *_),) = made
    assert len(folds) == FOLDS
    for rows in folds:
        assert len(np.unique(rows)) == len(rows) == 60
        assert rows.max() < len(labels)


def test_threads_change_no_bit():
    Z, y, w = data(3000, 30, 3)
    one, three = (fitted(Z, y, w, 3, n_jobs=j) for j in (1, 3))
    assert_array_equal(one[1], three[1])
    assert_array_equal(one[0].B, three[0].B)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_fewest_rows(n):
    Z = np.arange(n, dtype=float)[:, None] - (n - 1) / 2
    for y in (np.zeros(n, dtype=int), np.arange(n) % 2, np.arange(n)):
        K = int(y.max()) + 1
        model, said = fitted(Z, y, np.ones(n), K)
        for p in (said, model.posterior(Z)):
            assert p.shape == (n, K)
            assert_allclose(p.sum(axis=1), 1)


def test_a_model_of_no_coordinates_is_the_shares():
    model, said = fitted(np.zeros((40, 0)), np.arange(40) % 4 // 3, np.ones(40), 2)
    assert isinstance(model, Linear)
    assert_allclose(said[0], [0.75, 0.25], atol=0.02)


def test_rows_that_no_model_learned_are_answered_in_any_blocks(monkeypatch):
    monkeypatch.setattr(ridge, "MOST_ROWS", 20)
    Z, y, w = data()
    found = []
    for block in (1, 28, 1 << 22):
        monkeypatch.setattr(ridge, "BLOCK", block)
        found.append(fitted(Z, y, w, 3)[1])
        assert_allclose(found[-1].sum(axis=1), 1)
        assert_array_equal(found[-1].argmax(axis=1), found[0].argmax(axis=1))
        assert_allclose(found[-1], found[0], rtol=1e-9)
