"""DiscriminativeNB: it begins as naive Bayes, ends as logistic regression, and obeys what every model obeys."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.bayes import discriminative
from posteriori.bayes.ridge import Fitted
from posteriori.errors import BadParameter, BadValue, MemoryBudgetError, ModelError, TableError
from posteriori.table import encode


def table(n=240, K=3, seed=0, gaps=True):
    """Mixed columns that tell of the class, one of them twice, with missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    sky = np.array(["blue", "grey", "green", "red"])[(y + rng.integers(0, 2, n)) % 4]
    X = pd.DataFrame(
        {
            "sky": sky,
            "again": sky,
            "warm": rng.random(n) < (y + 1) / (K + 1),
            "wind": rng.normal(size=n) + y,
            "rain": rng.exponential(size=n) * (y + 1),
        }
    )
    if gaps:
        X.loc[::7, "wind"] = np.nan
        X.loc[::11, "sky"] = None
    return X, np.array(["in", "out", "off", "a", "b", "c"])[y]


def posterior(model, X):
    return model.predict_proba(X)


@pytest.mark.parametrize("weights", ["values", "columns"])
@pytest.mark.parametrize("smoothing", [1.0, 0.1])
def test_it_begins_as_naive_bayes(weights, smoothing):
    X, y = table()
    model = po.DiscriminativeNB(weights, smoothing=smoothing, penalty=1.0, max_iter=0).fit(X, y)
    naive = po.NaiveBayes(density="binned", smoothing=smoothing).fit(X, y)
    new = X.copy()
    new.loc[3, "again"], new.loc[5, "rain"], new.loc[8, "sky"] = None, np.nan, "purple"
    assert_allclose(posterior(model, new), posterior(naive, new), atol=1e-12)
    assert model.n_iter_ == 0
    assert model.n_unseen_ == 1


def test_a_large_penalty_is_naive_bayes_with_one_exponent():
    X, y = table()
    model = po.DiscriminativeNB(penalty=1e12, tol=1e-13).fit(X, y)
    start = po.DiscriminativeNB(penalty=1.0, max_iter=0).fit(X, y)
    told = start.log_odds_.ravel()
    exponent = (model.log_odds_.ravel() @ told) / (told @ told)
    assert exponent > 0
    assert_allclose(model.log_odds_, exponent * start.log_odds_, atol=1e-6)
    assert_allclose(model.coef_, 0.0, atol=1e-8)


def features(model, X):
    """The features that a model gives its rows, without those that no row has."""
    return model._read(X).dense()


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("penalty", [2.0, 0.1])
def test_it_ends_as_logistic_regression(K, penalty):
    X, y = table(K=K)
    model = po.DiscriminativeNB(pull="zero", penalty=penalty, tol=1e-13, max_iter=1000).fit(X, y)
    Z = features(model, X)
    peer = LogisticRegression(C=(2 if K == 2 else 1) / penalty, tol=1e-11, max_iter=50_000).fit(Z, y)
    assert_allclose(posterior(model, X), peer.predict_proba(Z), atol=1e-6)
    losses = [
        -np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]).sum() for p in map(posterior, [model], [X])
    ]
    assert model.loss_curve_[-1] * len(y) >= losses[0]  # the ridge comes on top


def test_rows_left_out_say_where_the_ridge_pulls():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    said = y + rng.normal(size=120)
    repeated = said[:, None] + 0.1 * rng.normal(size=(120, 8))  # eight columns say the same, cut where these rows part
    model = po.DiscriminativeNB().fit(repeated, y)
    assert model.pull_ == "zero"
    few = rng.integers(0, 6, 60)  # ten rows a class, and columns that do not repeat each other
    apart = np.where(rng.random((60, 10)) < rng.uniform(0.3, 0.9, 10), few[:, None], rng.integers(0, 6, (60, 10)))
    alone = po.DiscriminativeNB(kinds="categorical").fit(apart, few)
    assert alone.pull_ == "naive"
    for found, (X, t) in ((model, (repeated, y)), (alone, (apart, few))):
        named = clone(found).set_params(pull=found.pull_, penalty=found.penalty_).fit(X, t)
        assert_array_equal(posterior(found, X), posterior(named, X))
    told = po.DiscriminativeNB(penalty=2.0).fit(repeated, y)
    assert (told.pull_, told.penalty_) == ("zero", 2.0)


@pytest.mark.parametrize("weights", ["values", "columns"])
@pytest.mark.parametrize("penalty", ["auto", 1.0])
def test_a_row_of_weight_two_is_two_rows_in_any_order(weights, penalty):
    X, y = table(120)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = po.DiscriminativeNB(weights, penalty=penalty, tol=1e-13)
    heavy = clone(model).fit(X, y, sample_weight=w.astype(float))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), w))
    twice = clone(model).fit(X.iloc[rows], y[rows])
    assert heavy.penalty_ == twice.penalty_
    assert_allclose(posterior(heavy, X), posterior(twice, X), atol=1e-5)
    by_class = clone(model).set_params(class_weight={"in": 2.0, "out": 1.0, "off": 3.0}).fit(X, y)
    same = clone(model).fit(X, y, sample_weight=pd.Series(y).map({"in": 2.0, "out": 1.0, "off": 3.0}))
    assert_array_equal(posterior(by_class, X), posterior(same, X))


def test_threads_change_no_bit():
    X, y = table(30_000, gaps=False)
    found = [po.DiscriminativeNB(penalty=1.0, n_jobs=n, max_iter=6, tol=0).fit(X, y) for n in (1, 2, 3)]
    for other in found[1:]:
        assert_array_equal(found[0].log_odds_, other.log_odds_)
        assert_array_equal(posterior(found[0], X), posterior(other, X))


@pytest.mark.parametrize("weights", ["values", "columns"])
def test_threads_take_a_fold_each_and_choose_alike(monkeypatch, weights):
    teams = []

    def team_map(work, items, cells, n_jobs):
        teams.append((cells, n_jobs))
        return encode.team_map(work, items, 1 << 24, n_jobs)

    monkeypatch.setattr(discriminative, "team_map", team_map)
    X, y = table(300)
    found = [po.DiscriminativeNB(weights, n_jobs=n).fit(X, y) for n in (1, 2, 5)]
    for other in found[1:]:
        assert (other.pull_, other.penalty_) == (found[0].pull_, found[0].penalty_)
        assert_array_equal(found[0].log_odds_, other.log_odds_)
    assert {n for _, n in teams} == {1, 2, 5}
    assert {cells for cells, _ in teams} == {
        5 * 3 * 300 * (17 if weights == "values" else 15) // 10
    }  # no threads for so few


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("scale", [2.0**300, 2.0**-300, -1024.0])
def test_units_change_nothing(scale):
    X, y = table()
    other = X.assign(wind=X.wind * scale, rain=X.rain * abs(scale))
    model = po.DiscriminativeNB(penalty=1.0, tol=1e-12)
    a, b = clone(model).fit(X, y), clone(model).fit(other, y)
    assert_allclose(posterior(a, X), posterior(b, other), atol=1e-6)


@pytest.mark.parametrize("weight", [1e-300, 1e-10, 1e10, 1e300])
def test_weights_of_any_size(weight):
    X, y = table(60)
    model = po.DiscriminativeNB().fit(X, y, sample_weight=np.full(60, weight))
    assert np.isfinite(model.log_odds_).all()
    assert_allclose(posterior(model, X).sum(axis=1), 1.0)


def test_rows_of_no_weight_are_not_there():
    X, y = table(90)
    w = np.r_[np.ones(60), np.zeros(30)]
    a = po.DiscriminativeNB(penalty=1.0).fit(X, y, sample_weight=w)
    b = po.DiscriminativeNB(penalty=1.0).fit(X[:60], y[:60])
    assert_array_equal(posterior(a, X), posterior(b, X))


@pytest.mark.parametrize("weights", ["values", "columns"])
def test_few_rows_one_class_constant_columns(weights):
    model = po.DiscriminativeNB(weights)
    for n in (1, 2, 3):
        X = {"a": ["x", "y", "x"][:n], "b": [1.0, 2.0, 3.0][:n]}
        found = clone(model).fit(X, [0, 1, 0][:n])
        assert_allclose(posterior(found, X).sum(axis=1), 1.0)
    alone = clone(model).fit({"a": [1.0, 2.0]}, ["x", "x"])
    assert_array_equal(posterior(alone, {"a": [5.0]}), [[1.0]])
    constant = clone(model).fit({"a": [1.0] * 6, "b": ["x"] * 6, "c": [np.nan] * 6}, [0, 0, 0, 0, 1, 1])
    assert_allclose(posterior(constant, {"a": [1.0], "b": ["x"], "c": [np.nan]})[0, 0], 2 / 3, atol=0.05)


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 3, (60, 4_000))
    y = (wide[:, 0] > 0).astype(int)
    model = po.DiscriminativeNB(kinds="categorical", penalty=1.0).fit(wide, y)
    assert np.isfinite(posterior(model, wide)).all()
    many = np.arange(1200) % 400
    found = po.DiscriminativeNB(kinds="categorical", penalty=1.0, max_iter=5)
    X = np.stack([many // 100, many // 10 % 10, many % 10], axis=1)
    assert found.fit(X, many).score(X, many) == 1.0


def test_separable_rows_need_a_ridge():
    X, y = {"a": [0.0, 1.0, 2.0, 3.0] * 5}, [0, 0, 1, 1] * 5
    model = po.DiscriminativeNB(penalty=1.0).fit(X, y)
    assert 0.5 < posterior(model, {"a": [3.0]})[0, 1] < 1
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or penalty"):
        po.DiscriminativeNB(penalty=0.0, tol=0.0, max_iter=3).fit(X, y)
    sure = po.DiscriminativeNB(penalty=0.0).fit(X, y)
    assert posterior(sure, {"a": [3.0]})[0, 1] > 0.99


def test_a_gap_that_training_never_had_is_the_mean_of_its_column():
    X, y = table(gaps=False)
    model = po.DiscriminativeNB(penalty=0.5).fit(X, y)
    row = X.iloc[[0]].astype({"warm": object})
    without = posterior(model, row.assign(sky=None))
    assert_allclose(without, posterior(model, row.assign(sky="purple")))
    start = po.DiscriminativeNB(penalty=0.5, max_iter=0).fit(X, y)
    values = [str(v) for v in model.schema_["sky"].values]
    share = X.sky.value_counts(normalize=True)
    said = np.vstack([start.log_odds_, start.coef_])
    fitted = np.vstack([model.log_odds_, model.coef_])
    filled = np.where(np.isin(np.arange(len(said)), model._read(X).offsets[1:] - 1)[:, None], 0.0, fitted)
    tau = np.vdot(filled, said) / np.vdot(said, said)
    moved = (model.log_odds_ - tau * start.log_odds_)[: len(values)]
    mean = sum(share[v] * m for v, m in zip(values, moved))
    assert_allclose(model.log_odds_[len(values)], mean, atol=1e-9)


def test_explain_adds_up():
    X, y = table()
    model = po.DiscriminativeNB(penalty=1.0).fit(X, y)
    for i in (0, 1, 7, 11):
        why = model.explain(X.iloc[[i]], changes=1)
        log_p = dict(zip(model.classes_, model.predict_log_proba(X.iloc[[i]])[0]))
        assert_allclose(
            why.prior + sum(p.log_odds for p in why.parts), log_p[why.target] - log_p[why.against], atol=1e-9
        )


@pytest.mark.parametrize("weights", ["values", "columns"])
def test_check_estimator(weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(po.DiscriminativeNB(weights, penalty=1.0, tol=1e-12), on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert len(results) >= 50


def test_frames_arrays_sparse_and_pickles_agree():
    rng = np.random.default_rng(0)
    Z = rng.integers(0, 3, (80, 4)).astype(float)
    y = (Z[:, 0] + Z[:, 1] > 2).astype(int)
    model = po.DiscriminativeNB(penalty=1.0).fit(Z, y)
    expected = posterior(model, Z)
    frozen = np.asfortranarray(Z)
    frozen.flags.writeable = False
    for X in (sp.csr_matrix(Z), frozen, Z.astype(np.float32), np.repeat(Z, 2, axis=0)[::2], Z.tolist()):
        assert_array_equal(posterior(po.DiscriminativeNB(penalty=1.0).fit(X, y), X), expected)
    assert_array_equal(posterior(pickle.loads(pickle.dumps(model)), Z), expected)
    one = np.concatenate([posterior(model, row[None]) for row in Z])
    assert_allclose(one, expected, atol=1e-14)


def test_what_is_refused_is_named():
    X, y = table(30)
    model = po.DiscriminativeNB(penalty=1.0)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="no partial_fit"):
        model.partial_fit(X, y)
    for wrong in (
        {"penalty": -1.0},
        {"penalty": np.inf},
        {"smoothing": 0},
        {"weights": "cells"},
        {"pull": "one"},
        {"max_iter": -1},
    ):
        with pytest.raises(BadParameter):
            clone(model).set_params(**wrong).fit(X, y)
    with pytest.raises(ModelError, match="'note' is text"):
        clone(model).set_params(kinds={"note": "text"}).fit({"note": ["a b", "c"]}, [0, 1])
    with pytest.raises(BadValue, match="infinity"):
        clone(model).fit(X.assign(wind=np.inf), y)
    with pytest.raises(MemoryBudgetError):
        clone(model).set_params(max_memory=100.0).fit(X, y)
    fitted = model.fit(X, y)
    before = dict(vars(fitted))
    with pytest.raises(TableError):
        fitted.fit(X, y[:-1])
    assert {k: id(v) for k, v in vars(fitted).items()} == {k: id(v) for k, v in before.items()}
    with pytest.raises(TableError, match="0 sample"):
        fitted.predict(X[:0])


def test_auto_takes_the_penalty_that_foretells_best():
    X, y = table(400, seed=3)
    model = po.DiscriminativeNB().fit(X[:300], y[:300])
    assert model.penalty_ in {4.0**i for i in range(-3, 5)}
    rest = np.searchsorted(model.classes_, y[300:])

    def loss(m):
        return -np.log(posterior(m, X[300:])[np.arange(100), rest]).mean()

    others = [loss(po.DiscriminativeNB(penalty=p).fit(X[:300], y[:300])) for p in (1e4, 1e-3)]
    assert loss(model) <= min(others) + 0.02


def test_numbers_are_in_standard_deviations_from_their_mean_by_weight():
    """z = (x − mean)/sd within ±4, 0 where missing; a constant has the sd max(|x|, 1), zeros and gaps alone have 1."""
    x = np.array([1.0, 2.0, 4.0, np.nan, 50.0, 3.0])
    w = np.array([1.0, 2.0, 1.0, 5.0, 0.25, 3.0])
    X = {"x": x, "five": [5.0] * 6, "half": [-0.5] * 6, "zero": [0.0] * 6, "gap": [np.nan] * 6, "near": 1 + 1e-14 * x}
    X["near"][3] = 1.0
    model = po.DiscriminativeNB(penalty=1.0).fit(X, [0, 1, 0, 1, 0, 1], sample_weight=w)
    there = ~np.isnan(x)
    mean = np.average(x[there], weights=w[there])
    sd = np.sqrt(np.average((x[there] - mean) ** 2, weights=w[there]))
    assert_allclose(model.mean_[:5], [mean, 5.0, -0.5, 0.0, 0.0])
    assert_allclose(model.sd_, [sd, 5.0, 1.0, 1.0, 1.0, 1.0])
    asked = np.array([mean + 4.5 * sd, mean + 3.9 * sd, mean - 3.9 * sd, mean - 4.1 * sd, np.nan, mean])
    z = model._read({k: asked if k == "x" else [0.0] * 6 for k in X}).numbers
    assert z.shape == (6, 6)
    assert_allclose(z[:, 0], [4.0, 3.9, -3.9, -4.0, 0.0, 0.0], atol=1e-12)
    assert_allclose(z[:, 1], -1.0)
    plain = po.DiscriminativeNB(penalty=1.0).fit({"x": x}, [0, 1, 0, 1, 0, 1])
    assert_allclose([plain.mean_[0], plain.sd_[0]], [x[there].mean(), x[there].std()])


def chosen(monkeypatch, losses, **how):
    """(pull, penalty) that a model takes if these are the losses of its folds, and what was asked."""
    asked = []
    X, y = table(40)

    def judged(self, fold):
        _, held, pull, penalty, start = fold
        asked.append((pull, penalty, start))
        return (pull, penalty), float(held.w.sum()) * losses(pull, penalty)

    monkeypatch.setattr(po.DiscriminativeNB, "_judged", judged)
    monkeypatch.setattr(po.DiscriminativeNB, "_fit", lambda self, task, *a: Fitted(*task.naive, (1.0, 0.5), True))
    model = po.DiscriminativeNB(n_jobs=1, **how).fit(X, y, sample_weight=np.linspace(0.5, 1.5, 40))
    assert len(asked) % 5 == 0
    return (model.pull_, model.penalty_), [a for i, a in enumerate(asked) if i % 5 == 0]


def test_penalties_fall_by_quarters_until_two_in_a_row_gain_nothing(monkeypatch):
    """From 256 to 1/64; each fit begins where the last one of its fold ended."""
    falls = {256.0: 5.0, 64.0: 4.0, 16.0: 4.5, 4.0: 3.0, 1.0: 3.5, 0.25: 3.1, 0.0625: 1.0, 0.015625: 0.5}
    found, asked = chosen(monkeypatch, lambda pull, p: falls[p], pull="naive")
    assert found == ("naive", 4.0)
    assert [p for _, p, _ in asked] == [4.0**i for i in range(4, -2, -1)]  # 0.0625 is not reached
    assert [s for *_, s in asked] == [None, *(("naive", 4.0**i) for i in range(4, -1, -1))]


def test_a_pull_or_a_penalty_must_gain_more_than_nothing(monkeypatch):
    found, asked = chosen(monkeypatch, lambda pull, p: 2.0, pull="auto")
    assert found == ("naive", 256.0)
    assert [(pull, p) for pull, p, _ in asked] == [(q, p) for q in ("naive", "zero") for p in (256.0, 64.0, 16.0)]
    found, _ = chosen(monkeypatch, lambda pull, p: 2.0 - 9e-6 * (pull == "zero"), penalty=3.0)
    assert found == ("naive", 3.0)
    found, asked = chosen(monkeypatch, lambda pull, p: 2.0 - 1.1e-5 * (pull == "zero"), penalty=3.0)
    assert found == ("zero", 3.0)
    assert len(asked) == 2
    found, asked = chosen(monkeypatch, lambda pull, p: p, pull="zero")
    assert found == ("zero", 0.015625)
    assert len(asked) == 8


def test_one_row_leaves_nothing_to_choose_by():
    one = po.DiscriminativeNB().fit({"a": ["x"]}, [0])
    assert (one.pull_, one.penalty_) == ("naive", 1.0)
    told = po.DiscriminativeNB(penalty=7.0).fit({"a": ["x"]}, [0])
    assert (told.pull_, told.penalty_) == ("naive", 7.0)
    assert (one.n_iter_, one.classes_.tolist()) == (0, [0])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fold_is_cut_counted_and_judged_without_its_rows(monkeypatch, weighted):
    X, y = table(83)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.5], len(y)) if weighted else None
    kept, plain = [], po.DiscriminativeNB._judged

    def judged(self, fold):
        found = plain(self, fold)
        kept.append((self, fold, found))
        return found

    monkeypatch.setattr(po.DiscriminativeNB, "_judged", judged)
    po.DiscriminativeNB(pull="zero", n_jobs=1).fit(X, y, sample_weight=w)
    mass = np.zeros(3)
    for model, (rest, held, pull, penalty, start), (fitted, loss) in kept[:5]:
        assert (pull, penalty, start) == ("zero", 256.0, None)
        rows = np.bincount(rest.y, rest.w, minlength=3), np.bincount(held.y, held.w, minlength=3)
        assert_allclose(sum(rows), np.bincount(np.searchsorted(["in", "off", "out"], y), w, minlength=3))
        assert_allclose(rest.statistics.rows, rows[0])
        assert rest.statistics.schema == held.statistics.schema
        assert (rest.design.n_jobs, held.design.n_jobs) == (1, 1)
        assert rest.design.numbers.shape == (len(rest.y), 2)
        mass += rows[1]
        eta = held.design.dense() @ model._tables(rest, fitted) + fitted.b
        lost = np.log(np.exp(eta).sum(axis=1)) - eta[np.arange(len(eta)), held.y]
        assert_allclose(loss, held.w @ lost)
    assert_allclose(mass, np.bincount(np.searchsorted(["in", "off", "out"], y), w, minlength=3))


def test_rows_are_told_apart_by_numbers_and_not_by_bins():
    X = pd.DataFrame({"a": ["x", "y", "x", "x"], "b": [1.0, 1.5, np.nan, 1.5]})
    model = po.DiscriminativeNB(penalty=1.0)
    kept = []
    told, plain = discriminative._told_apart, model._choose
    model._choose = lambda *how: (kept.append(how), plain(*how))[1]
    model.fit(X, [0, 1, 0, 1])
    ((frame, schema, _, coded),) = kept
    apart = told(frame, schema, coded)
    assert [c.tolist() for c in apart.columns()] == [[0, 1, 0, 0], [0, 1, 2, 1]]
    assert apart.sizes == (2, 3)


def test_a_new_fit_leaves_nothing_of_the_last():
    X, y = table(60)
    model = po.DiscriminativeNB("columns", penalty=1.0).fit(X, y)
    assert model.column_weights_.shape == (5,)
    assert_allclose(
        model.log_odds_,
        np.repeat(model.column_weights_, [s + 1 for s in model.statistics_.sizes])[:, None]
        * po.DiscriminativeNB("columns", penalty=1.0, max_iter=0).fit(X, y).log_odds_,
    )
    assert model.coef_.shape == (0, 3)
    assert model.n_iter_ == len(model.loss_curve_) - 1 > 0
    model.set_params(weights="values").fit(X, y)
    assert not hasattr(model, "column_weights_")
    assert model.coef_.shape == (2, 3)
    assert list(model.cuts_) == ["wind", "rain"]


def test_who_adds_rows_is_named():
    model = po.DiscriminativeNB()
    for name in ("partial_fit", "forget", "decay"):
        with pytest.raises(AttributeError, match=f"has no {name}: its weights are fitted to all rows together"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="'DiscriminativeNB' object has no attribute 'foretell'"):
        model.foretell  # noqa: B018


def test_log_posteriors_below_all_floats_and_the_parts_of_scores():
    X, y = table(200)
    model = po.DiscriminativeNB(penalty=1.0).fit(X, y)
    start, parts = model._log_parts(X)
    assert parts.shape == (200, 5, 3)
    scores = start + parts.sum(axis=1)
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    assert_allclose(model.predict_log_proba(X), log_p, atol=1e-9)
    assert_allclose(posterior(model, X), np.exp(log_p), atol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    model.intercept_ = model.intercept_ + [0.0, 2000.0, 0.0]
    assert_allclose(model.predict_log_proba(X)[:, 0], scores[:, 0] - scores[:, 1] - 2000, rtol=1e-12)


def test_a_warning_says_when_the_steps_did_not_suffice_and_not_otherwise():
    X, y = table(60)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps, each still worth more than tol=0 nats"):
        po.DiscriminativeNB(penalty=1e-3, tol=0.0, max_iter=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        po.DiscriminativeNB(penalty=1.0).fit(X, y)
        po.DiscriminativeNB(penalty=1.0, max_iter=0).fit(X, y)


def test_the_ridge_is_the_penalty_whatever_the_rows_weigh():
    """L as the docstring has it: −Σ w ln P + ½λ‖β − τ ln θ, γ‖² + 4(τ − 1)², divided by Σw, is what the curve shows."""
    X, y = table(90)
    w = np.random.default_rng(0).uniform(0.5, 3.0, 90)
    for pull in ("naive", "zero"):
        model = po.DiscriminativeNB(penalty=2.0, pull=pull).fit(X, y, sample_weight=w)
        start = po.DiscriminativeNB(penalty=2.0, max_iter=0).fit(X, y, sample_weight=w)
        own = -np.log(posterior(model, X)[np.arange(90), np.searchsorted(model.classes_, y)])
        last = np.cumsum([s + 1 for s in model.statistics_.sizes]) - 1
        moved, theta = (np.vstack([m.log_odds_, m.coef_]) for m in (model, start))
        never = [j for j in last if j not in (last[0], last[3])]  # columns without gaps
        moved[never] = 0.0  # those weights were made after the walk
        tau = np.vdot(moved, theta) / np.vdot(theta, theta) if pull == "naive" else 0.0
        charge = np.square(moved - tau * theta).sum() + (4 * (tau - 1) ** 2 if pull == "naive" else 0.0)
        assert_allclose(model.loss_curve_[-1], (w @ own + charge) / w.sum(), rtol=1e-6)
        assert_allclose(start.intercept_.sum(), 0.0, atol=1e-12)
        assert_allclose(start.log_odds_.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "K", "columns", "values"),
    [
        (20_000, 10, 3, 3),  # scores
        (20_000, 2, 30, None),  # numbers
        (500, 3, 4, 200),  # matrices of a metric
        (4000, 20, 4, 2000),  # features of many classes
    ],
)
def test_what_is_refused_for_memory_is_about_the_peak(monkeypatch, n, K, columns, values):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, columns)) if values is None else rng.integers(0, values, (n, columns)).astype(str)
    asked, peaks, plain = [], [], po.DiscriminativeNB._fit
    monkeypatch.setattr(discriminative, "refuse_over", lambda budget, needed, what: asked.append(needed))

    def fit(self, *told):
        tracemalloc.start()
        found = plain(self, *told)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        return found

    monkeypatch.setattr(po.DiscriminativeNB, "_fit", fit)
    po.DiscriminativeNB(penalty=1.0, pull="zero", max_iter=3, n_jobs=1).fit(X, rng.integers(0, K, n))
    assert 0.4 < peaks[0] / asked[-1] < 1.5


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("options", [{}, {"penalty": 1.0}, {"penalty": 0.0}, {"weights": "columns"}], ids=str)
def test_where_no_feature_varies_the_classes_have_their_shares(K, options):
    y = np.repeat(np.arange(K), np.arange(4, 4 + K))
    model = po.DiscriminativeNB(**options).fit({"a": ["x"] * len(y), "b": ["u"] * len(y)}, y)
    found = model.predict_proba({"a": ["x", "new"], "b": ["u", "u"]})
    np.testing.assert_allclose(found, np.tile(np.bincount(y) / len(y), (2, 1)), atol=2e-3)


def test_rows_that_part_without_a_penalty_end_with_finite_weights():
    model = po.DiscriminativeNB(penalty=0.0, weights="columns").fit({"a": ["x", "y", "y"]}, ["p", "q", "q"])
    found = model.predict_proba({"a": ["x", "y"]})
    assert np.isfinite(found).all()
    assert found.argmax(axis=1).tolist() == [0, 1]
