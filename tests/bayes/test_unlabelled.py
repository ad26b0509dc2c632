"""What a row without a label weighs: chosen by the labels, and never dearly."""

from __future__ import annotations

from dataclasses import replace

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
    for seed in range(24):  # of three draws one decides
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


def partly(n=14, weighted=False):
    """Rows of which the first eight have labels, as the choice sees them."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.arange(n) % 7, rng.integers(0, 3, n)]).astype(object)
    y = np.array([["a", "b", "c"][i % 3] if i < 8 else None for i in range(n)], dtype=object)
    w = rng.uniform(0.5, 2.0, n) if weighted else None
    model = po.NaiveBayes(kinds="categorical", unlabelled=None, unlabelled_weight=1.0)
    return model, model._rows(X, y, w, ()), X, y


def judged(monkeypatch, losses, weighted=True):
    """The weight that is chosen if these are the losses of the labels under each weight, and the labels' own weights."""
    model, rows, _, _ = partly(weighted=weighted)
    own = []

    def told(m, some, known, fold, weight):
        own.append(some.weights[known])
        return losses(weight, len(known))

    monkeypatch.setattr(unlabelled, "_losses", told)
    monkeypatch.setattr(unlabelled, "TIMES", (0.25, 0.5))
    monkeypatch.setattr(unlabelled, "_dealt", lambda codes, evidence: np.arange(len(codes)) % 2)
    return unlabelled.choose_weight(model, rows), own[0]


def test_a_weight_must_be_better_by_half_a_standard_error(monkeypatch):
    """Of the paired differences by weight, half a label that is foretold wrongly among them."""
    gain = np.array([0.3, 0.1, 0.5, -0.2, 0.4, 0.0, 0.2, 0.1, 0.3])

    def bound(own):
        w = np.append(own, 0.5)
        mean = (w * gain).sum() / w.sum()
        return mean - 0.5 * np.sqrt((w * (gain - mean) ** 2).sum()) / w.sum()

    _, own = judged(monkeypatch, lambda weight, n: np.zeros(n + 1))
    for shift, taken in ((-1e-6, True), (1e-6, False)):
        need = bound(own) + shift  # what is left of the gain
        found, _ = judged(monkeypatch, lambda weight, n, need=need: 0.5 - (weight > 0) * (gain - need))
        assert (found > 0) == taken


def test_a_weight_must_be_better_than_a_guess(monkeypatch):
    """ln K a label; what a wrong label costs does not count there."""
    for shift, taken in ((-1e-6, True), (1e-6, False)):
        losses = {False: 5.0, True: np.log(3) + shift}
        found, _ = judged(monkeypatch, lambda weight, n, of=losses: np.append(np.full(n, of[weight > 0]), 9.0))
        assert (found > 0) == taken


def test_of_weights_the_best_is_taken_and_of_equals_the_least(monkeypatch):
    low, own = judged(monkeypatch, lambda weight, n: np.full(n + 1, 1.0 if not weight else 0.5))
    seen = []
    judged(monkeypatch, lambda weight, n: (seen.append(weight), np.full(n + 1, 1.0 - weight))[1])
    assert low == pytest.approx(min(w for w in seen if w) * 8 / 8)
    best, _ = judged(monkeypatch, lambda weight, n: np.full(n + 1, 1.0 - weight))
    assert best == pytest.approx(max(seen))
    none, _ = judged(monkeypatch, lambda weight, n: np.full(n + 1, 1.0))
    assert none == 0.0
    assert len(own) == 8


def test_labels_are_dealt_by_the_different_rows_of_their_class():
    codes, evidence = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([3.0, 1.0, 3.0, 2.0, 5.0, 4.0, 5.0])
    assert unlabelled._dealt(codes, evidence).tolist() == [2, 0, 2, 1, 1, 0, 1]
    assert unlabelled._dealt(codes, np.where(codes == 1, 9.0, evidence)) is None
    many = unlabelled._dealt(np.zeros(7, int), np.arange(7.0))
    assert many.tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_rows_are_taken_evenly_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(unlabelled, "MOST", 4)
    assert unlabelled._evenly(np.arange(4) + 10).tolist() == [10, 11, 12, 13]
    assert unlabelled._evenly(np.arange(10)).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_of_either_sort_stand_for_all(monkeypatch, weighted):
    model, rows, X, _ = partly(weighted=weighted)
    monkeypatch.setattr(unlabelled, "MOST", 3)
    some, share, evidence = unlabelled._some(model, rows)
    assert share == pytest.approx((6 / 3) / (8 / 3))
    assert some.hidden.tolist() == [False] * 3 + [True] * 3
    assert some.frame.n == len(some.codes) == len(some.weights) == 6
    assert (np.diff(evidence) >= 0).all()  # in the order of ln P(x) under the labels alone
    alone = model._of_known(rows, np.arange(8))
    from_table = np.sort(alone.score_samples(X[:8]))
    assert evidence == pytest.approx(from_table[[0, 3, 7]], abs=1e-7)
    assert (some.weights == 1.0).all() != weighted
    monkeypatch.setattr(unlabelled, "MOST", 100)
    assert unlabelled._some(model, rows)[1] == 1.0


def test_losses_are_of_labels_foretold_without_their_fold(monkeypatch):
    """−ln P(y|x) by a model of the other folds' labels, and the mean of what a wrong one would cost; 35 at most."""
    model, rows, X, y = partly()
    rows = replace(rows, weights=np.ones(14))
    known, fold = np.arange(8), np.arange(8) // 3
    found = unlabelled._losses(model, rows, known, fold, 0.0)
    wrong = []
    for i in range(8):
        others = [j for j in range(8) if fold[j] != fold[i]]
        p = po.NaiveBayes(kinds="categorical").fit(X[others], y[others].astype(str)).predict_proba(X[[i]])[0]
        assert found[i] == pytest.approx(-np.log(p["abc".index(y[i])]))
        wrong.append(-np.log((1 - p.max()) / 2))
    assert found[8] == pytest.approx(np.mean(wrong))
    told = {"a": [0.0, -np.inf, -np.inf]}
    monkeypatch.setattr(unlabelled, "_foretold", lambda m, r, at, w: np.array([told["a"]] * len(at)))
    assert unlabelled._losses(model, rows, known, fold, 0.0).tolist() == [0, 35, 35, 0, 35, 35, 0, 35, 35]


def test_a_label_is_hidden_while_it_is_foretold(monkeypatch):
    """With a weight its row is learned among those without a label, each of which weighs so much."""
    model, rows, _, _ = partly()
    rows = replace(rows, weights=np.linspace(1, 2, 14))
    kept = []
    plain = unlabelled.HiddenClass
    monkeypatch.setattr(unlabelled, "HiddenClass", lambda m, r: (kept.append(r), plain(m, r))[1])
    at = np.array([1, 4])
    found = unlabelled._foretold(model, rows, at, 0.25)
    (asked,) = kept
    hidden = np.arange(14) >= 8
    hidden[at] = True
    assert asked.hidden.tolist() == hidden.tolist()
    assert asked.weights == pytest.approx(np.where(hidden, 0.25, 1.0) * rows.weights)
    assert asked.hidden_weight == 0.25
    assert found.shape == (2, 3)
    assert rows.hidden.tolist() == (np.arange(14) >= 8).tolist()  # what was asked is as it was
