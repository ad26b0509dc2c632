"""What a row without a label weighs: chosen by the labels, and never dearly."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import posteriori as po
from posteriori.bayes import unlabelled

BUNDLED = [load_iris, load_wine, load_breast_cancer, load_digits]


def log_loss(model, X, y):
    p = np.clip(model.predict_proba(X), 1e-15, 1)
    return float(-np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)] / p.sum(axis=1)).mean())


def few(rng, z, each):
    """Labels for so many rows of every class."""
    y = np.full(len(z), -1)
    for k in np.unique(z):
        y[rng.permutation(np.flatnonzero(z == k))[:each]] = k
    return y


def independent(rng, n, d=12, p=(0.35, 0.65)):
    """Bits that know nothing of each other within a class: naive Bayes is true."""
    z = rng.integers(0, 2, n)
    return (rng.random((n, d)) < np.asarray(p)[z][:, None]).astype(float), z


def clustered(rng, n):
    """Bits of a class that shows a little, and of clusters, said ten times over, that have nothing to do with it."""
    z, cluster = rng.integers(0, 2, (2, n))
    says = (rng.random((n, 3)) < np.where(z == 1, 0.75, 0.25)[:, None]).astype(float)
    loud = (rng.random((n, 10)) < np.where(cluster == 1, 0.95, 0.05)[:, None]).astype(float)
    return np.hstack([says, loud, rng.normal(size=(n, 2)) + 4 * cluster[:, None]]), z


def both(X, z, y):
    known = y >= 0
    return po.NaiveBayes().fit(X[known], z[known]), po.NaiveBayes(unlabelled=-1).fit(X, y)


def test_where_the_model_is_true_rows_without_a_label_are_taken_and_help():
    taken, better = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, z = independent(rng, 1000)
        alone, chosen = both(X, z, few(rng, z, 10))
        taken.append(chosen.unlabelled_weight_ > 0)
        better.append(log_loss(alone, X, z) - log_loss(chosen, X, z))
    assert np.mean(taken) > 0.6
    assert np.mean(better) > 0.05


def test_where_other_clusters_are_louder_than_the_class_the_labels_are_not_outvoted():
    worse, one = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, z = clustered(rng, 400)
        y = few(rng, z, 8)
        alone, chosen = both(X, z, y)
        worse.append(log_loss(chosen, X, z) - log_loss(alone, X, z))
        one.append(log_loss(po.NaiveBayes(unlabelled=-1, unlabelled_weight=1).fit(X, y), X, z) - log_loss(alone, X, z))
    assert np.mean(one) > 1  # what it costs to take every row as it is
    assert np.mean(worse) < 0.05


@pytest.mark.parametrize("load", BUNDLED)
@pytest.mark.parametrize("each", [4, 10])
def test_the_default_is_no_worse_than_the_labels_alone(load, each):
    X, z = load(return_X_y=True)
    X, z = X[::3], z[::3]
    losses = []
    for seed in range(3):
        y = few(np.random.default_rng(seed), z, each)
        alone, chosen = both(X, z, y)
        rest = y < 0
        losses.append((log_loss(alone, X[rest], z[rest]), log_loss(chosen, X[rest], z[rest])))
    without, found = np.mean(losses, axis=0)
    assert found < max(1.2 * without, without + 0.1)


def test_the_weight_is_that_of_a_model_which_is_told_it():
    rng = np.random.default_rng(0)
    X, z = independent(rng, 600)
    y = few(rng, z, 12)
    chosen = po.NaiveBayes(unlabelled=-1).fit(X, y)
    told = po.NaiveBayes(unlabelled=-1, unlabelled_weight=chosen.unlabelled_weight_).fit(X, y)
    assert 0 < chosen.unlabelled_weight_ <= 1
    np.testing.assert_array_equal(chosen.predict_proba(X), told.predict_proba(X))
    assert "unlabelled_weight_" not in vars(told)
    assert "unlabelled_weight_" not in vars(chosen.fit(X, z))


@pytest.mark.parametrize("Model", [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE, po.A2DE])
def test_a_class_with_one_label_cannot_be_judged_so_the_labels_stay_alone(Model):
    rng = np.random.default_rng(1)
    X, z = independent(rng, 100, 4)
    y = few(rng, z, 5)
    y[np.flatnonzero(y == 1)[1:]] = -1
    model = Model(unlabelled=-1).fit(X, y)
    assert model.unlabelled_weight_ == 0
    known = y >= 0
    np.testing.assert_array_equal(model.predict_proba(X), Model().fit(X[known], y[known]).predict_proba(X))
    assert model.partial_fit(X[:3], z[:3]).n_features_in_ == 4  # nothing was inferred


def test_order_and_copies_change_no_choice():
    rng = np.random.default_rng(2)
    X, z = independent(rng, 300, 8)
    y = few(rng, z, 10)
    order, twice = rng.permutation(300), rng.random(300) < 0.3
    one = po.NaiveBayes(unlabelled=-1).fit(X, y)
    turned = po.NaiveBayes(unlabelled=-1).fit(X[order], y[order])
    np.testing.assert_allclose(turned.predict_proba(X), one.predict_proba(X), atol=1e-8)
    values = {"kinds": "categorical", "unlabelled": -1}
    weighted = po.NaiveBayes(**values).fit(X, y, sample_weight=1.0 + twice)
    copied = po.NaiveBayes(**values).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-8)


def test_labels_that_rule_rows_out_begin_no_climb():
    X = np.array([["a"], ["a"], ["b"], ["b"], ["c"], ["c"], ["a"], ["b"]] * 3, dtype=object)
    y = np.array([0, 0, 1, 1, -1, -1, 0, 1] * 3)
    model = po.NaiveBayes(smoothing=0, unlabelled=-1).fit(X, y)
    assert model.unlabelled_weight_ == 0


def test_many_rows_are_judged_by_some_of_them():
    rng = np.random.default_rng(3)
    X, z = independent(rng, 40_000, 10)
    model = po.NaiveBayes(unlabelled=-1).fit(X, few(rng, z, 15))
    assert model.score(X, z) > 0.75


def test_weights_are_tried_by_what_the_labelled_rows_weigh(monkeypatch):
    """From a share of their weight for all others together up to one for each."""
    tried = []
    monkeypatch.setattr(unlabelled, "_losses", lambda m, rows, known, fold, w: (tried.append(w), np.zeros(31))[1])
    X = np.random.default_rng(0).integers(0, 3, (90, 3))
    y = np.where(np.arange(90) < 30, np.array(["a", "b"])[np.arange(90) % 2], "")
    po.NaiveBayes(kinds="categorical", unlabelled=("",)).fit(X, y)
    assert tried[0] == 0.0
    assert tried[1:] == pytest.approx(sorted({min(times * 30 / 60, 1.0) for times in unlabelled.TIMES}))
