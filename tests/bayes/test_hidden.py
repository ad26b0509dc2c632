"""Rows without a label: the laws of EM over a hidden class, and what it is for."""

from __future__ import annotations

import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.bayes import hidden as room
from posteriori.em import ROUNDING
from posteriori.errors import BadParameter, BadValue, ModelError
from posteriori.statistics.collect import collect, collect_codes
from posteriori.statistics.joint import collect_pairs, collect_triples
from posteriori.table.encode import Coded
from posteriori.table.frame import open_frame
from posteriori.table.schema import Column, Schema

COLUMNS = (
    Column("word", "categorical"),
    Column("bit", "binary"),
    Column("number", "numeric"),
    Column("wide", "numeric"),
)
SPECTRUM = [po.NaiveBayes, po.TAN, po.AODE, po.KDB, po.SPODE, po.A2DE]
seeds = st.integers(0, 2**32 - 1)
BUNDLED = [load_iris, load_wine, load_breast_cancer, load_digits]


def mixed(rng, n, K=3):
    """Words, numbers, counts of events and holes, with the class that made them."""
    z = rng.integers(0, K, n)
    word = np.array(["red", "green", "blue"], dtype=object)[(z + (rng.random(n) < 0.3)) % 3]
    word[rng.random(n) < 0.1] = None
    number = rng.normal(size=n) + 3 * z
    number[rng.random(n) < 0.1] = np.nan
    return {"word": word, "bit": rng.random(n) < 0.3 + 0.2 * (z == 1), "number": number, "wide": 1e3 * number**2}, z


def bits(rng, n, d=8, p=(0.25, 0.8)):
    """Binary columns that tell of a class of two."""
    z = rng.integers(0, 2, n)
    return (rng.random((n, d)) < np.asarray(p)[z][:, None]).astype(np.uint8), z


def monotone(trace):
    return all(b >= a - ROUNDING * abs(b) for a, b in itertools.pairwise(trace))


# ---- counting by shares ------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(seeds, st.sampled_from([1, 2, 3, 5, 20]), st.sampled_from([1, 7, 300]), st.booleans())
@example(0, 3, 70_000, True)
def test_hard_shares_are_counting_bit_for_bit(seed, K, n, text):
    rng = np.random.default_rng(seed)
    X, _ = mixed(rng, n)
    roles = ["cells", "cells", "moments", "histogram"]
    columns = list(COLUMNS)
    if text:
        X |= {
            "said": np.array(["a b", "b c c", "d"], dtype=object)[rng.integers(0, 3, n)],
            "times": rng.poisson(2.0, n),
        }
        columns += [Column("said", "text"), Column("times", "count")]
        roles += ["words", "events"]
    y = rng.integers(0, K, n).astype(np.uint8)
    schema, frame = Schema(tuple(columns), tuple(range(K))), open_frame(X)
    roles = tuple(roles)
    (plain, _), (one, _) = collect(frame, schema, roles, y), collect(frame, schema, roles, y, np.ones(n))
    shares = np.zeros((n, K))
    shares[np.arange(n), y] = 1.0
    for n_jobs in (1, 3):
        found, _ = collect(frame, schema, roles, y, shares, n_jobs)
        assert replace(found, moments=one.moments) == one
        assert np.array_equal(found.moments.n, one.moments.n)
        for part in ("mean", "m2"):  # of the same rows about other pivots
            np.testing.assert_allclose(getattr(found.moments, part), getattr(one.moments, part), rtol=1e-12, atol=1e-14)
        assert np.array_equal(found.rows, plain.rows)
        assert (found.cells, found.words, found.histograms) == (plain.cells, plain.words, plain.histograms)
    weights = rng.random(n) + 0.5
    one, found = (collect(frame, schema, roles, y, w)[0] for w in (weights, shares * weights[:, None]))
    np.testing.assert_allclose(found.cells.table, one.cells.table, rtol=1e-12)
    for part in ("mean", "m2"):
        np.testing.assert_allclose(getattr(found.moments, part), getattr(one.moments, part), rtol=1e-10, atol=1e-10)


@given(seeds, st.sampled_from([2, 3, 7]), st.booleans())
def test_hard_shares_of_several_columns_are_counting(seed, K, holes):
    rng = np.random.default_rng(seed)
    sizes, n = (2, 3, 5, 4), 200
    codes = [rng.integers(0, s + holes, n).astype(np.uint8) for s in sizes]
    y = rng.integers(0, K, n).astype(np.uint8)
    missing = sum(int((c == s).sum()) for c, s in zip(codes, sizes))
    coded = Coded(tuple(tuple(range(s)) for s in sizes), codes, missing)
    schema = Schema(
        tuple(Column(f"x{j}", "categorical", tuple(range(s)), frozenset(range(s))) for j, s in enumerate(sizes)),
        tuple(range(K)),
    )
    shares = np.zeros((n, K))
    shares[np.arange(n), y] = 1.0
    table, _ = collect_codes(coded, schema, y, None, 1)
    for collected in (collect_pairs, collect_triples):
        assert collected(table, y, K, None, 2, None) == collected(table, y, K, shares, 2, None)
    soft = rng.dirichlet(np.ones(K), n)
    tiled, _ = collect_codes(
        Coded(coded.values, [np.tile(c, K) for c in codes], missing * K),
        schema,
        np.repeat(np.arange(K), n).astype(np.uint8),
        None,
        1,
    )
    wanted = collect_pairs(tiled, np.repeat(np.arange(K), n).astype(np.uint8), K, soft.T.ravel(), 1, None)
    np.testing.assert_allclose(collect_pairs(table, y, K, soft, 1, None).counts.table, wanted.counts.table, rtol=1e-12)


@given(seeds)
def test_soft_counting_is_every_row_in_every_class(seed):
    rng = np.random.default_rng(seed)
    K, n = 3, 150
    X, _ = mixed(rng, n)
    roles = ("cells", "cells", "moments", "numbers")
    schema, soft = Schema(COLUMNS, tuple(range(K))), rng.dirichlet(np.ones(K), n)
    found, _ = collect(open_frame(X), schema, roles, np.zeros(n, np.uint8), soft)
    tiled = {name: np.tile(cells, K) for name, cells in X.items()}
    wanted, _ = collect(open_frame(tiled), schema, roles, np.repeat(np.arange(K), n).astype(np.uint8), soft.T.ravel())
    for a, b in [(found.rows, wanted.rows), (found.cells.table, wanted.cells.table)]:
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for part in ("n", "mean", "m2"):
        np.testing.assert_allclose(getattr(found.moments, part), getattr(wanted.moments, part), rtol=1e-9)
    np.testing.assert_allclose(found.histograms[0].table, wanted.histograms[0].table, rtol=1e-12)
    np.testing.assert_allclose(found.sample.table, wanted.sample.table, rtol=1e-12)


# ---- the climb ---------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.3, 1.0, 5.0]), st.sampled_from([0.1, 1.0, 7.0]), st.booleans(), st.booleans())
def test_the_objective_of_counts_never_falls(seed, smoothing, weight, hard, weighted):
    rng = np.random.default_rng(seed)
    n = 120
    X, z = bits(rng, n, 5)
    X = X.astype(object)
    X[rng.random(X.shape) < 0.1] = None
    X[:, 4] = rng.integers(0, 4, n)
    y = np.where(rng.random(n) < 0.2, z, -1)
    y[:2] = [0, 1]
    w = rng.random(n) + 0.1 if weighted else None
    model = po.NaiveBayes(smoothing=smoothing, kinds="categorical", unlabelled=-1, unlabelled_weight=weight)
    if smoothing == 0:
        X[:2] = [[0, 0, 0, 0, 0]] * 2  # every value of every column is possible in both classes
        X, y = (
            np.vstack([X, [[v] * 5 for v in (0, 1)] * 2, [[0, 0, 0, 0, v] for v in range(4)] * 2]),
            np.append(y, [0, 0, 1, 1] + [0] * 4 + [1] * 4),
        )
        w = None
    found = po.expectation_maximization(model, X, y, sample_weight=w, hard=hard, tol=1e-9, max_iter=60)
    assert monotone(found.trace)
    assert not found.marks
    assert found.best == found.turns


@settings(max_examples=15, deadline=None)
@given(seeds, st.booleans())
def test_the_objective_of_words_rates_and_normals_never_falls(seed, hard):
    rng = np.random.default_rng(seed)
    X, z = mixed(rng, 300)
    X["wide"] = np.cbrt(X["number"])  # no class so narrow beside the others that it borrows their width
    X |= {"said": np.array(["a b", "b c c", "d"], dtype=object)[(z + (rng.random(300) < 0.4)) % 3]}
    X |= {"times": rng.poisson(1 + z), "rate": rng.poisson(2 * z + 1)}
    y = np.where(rng.random(300) < 0.2, z, -1)
    y[:3] = [0, 1, 2]
    kinds = {"said": "text", "times": "count", "rate": "count"}
    model = po.NaiveBayes(kinds=kinds, density={"rate": "poisson"}, unlabelled=-1)
    found = po.expectation_maximization(model, X, y, hard=hard, tol=1e-10, max_iter=40)
    assert monotone(found.trace)


@settings(max_examples=30, deadline=None)
@given(seeds, st.booleans(), st.sampled_from(["auto", "gaussian"]), st.booleans())
def test_no_class_is_so_narrow_that_a_turn_falls(seed, hard, density, labels):
    """Outliers, bits, constants, holes and repeated rows: a class would shrink to a floor, were there no prior."""
    rng = np.random.default_rng(seed)
    X, z = mixed(rng, 120)
    X |= {"bits": (rng.random(120) < 0.1 + 0.3 * z).astype(float), "same": np.full(120, 7.0)}
    X["wide"] = np.where(rng.random(120) < 0.05, 1e6, np.round(X["wide"]))
    X["number"][rng.random(120) < 0.3] = 2.0
    y = np.where(rng.random(120) < 0.2, z, -1)
    y[:3] = [0, 1, 2]
    model = po.NaiveBayes(density=density, unlabelled=-1)
    how = {"hard": hard, "tol": 1e-9, "max_iter": 60}
    if labels:
        found = po.expectation_maximization(model, X, y, **how)
    else:
        found = po.expectation_maximization(model, X, n_classes=3, n_init=1, random_state=seed, **how)
    assert monotone(found.trace)
    assert not found.marks


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5]), st.booleans(), st.booleans())
@settings(max_examples=20)
def test_counting_raises_what_it_expects(seed, smoothing, hard, weighted):
    """Q(θ'|θ) ≥ Q(θ|θ) and ℓ(θ') − ℓ(θ) ≥ Q(θ'|θ) − Q(θ|θ), with the prior that both have."""
    rng = np.random.default_rng(seed)
    X, w = bits(rng, 60)[0], rng.integers(1, 4, 60) if weighted else None
    model = po.NaiveBayes(kinds="categorical", smoothing=smoothing)
    how = {"sample_weight": w, "n_classes": 3, "hard": hard, "random_state": seed, "n_init": 2}
    found = po.expectation_maximization(model, X, expected=True, **how)
    plain = po.expectation_maximization(model, X, **how)
    assert (found.trace, plain.expected) == (plain.trace, ())
    assert len(found.expected) == found.turns - 1
    own, raised = np.array(found.expected).reshape(-1, 2).T
    slack = 1e-9 * abs(found.objective)
    assert (raised >= own - slack).all()
    assert (np.diff(found.trace) >= raised - own - slack).all()


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_what_a_turn_expects_by_hand(smoothing):
    """Σ over all classes of all rows: P(z|X, θ_t) ln P(X, z|θ), and ln of the prior: λ pseudo-counts of every cell."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (6, 2)), np.array([0, 1, -1, -1, -1, -1])
    start = rng.dirichlet([1, 1], 6)
    model = po.NaiveBayes(kinds="categorical", smoothing=smoothing, unlabelled=-1, unlabelled_weight=1)
    found = po.expectation_maximization(model, X, y, start=start, max_iter=3, tol=0, expected=True)
    models = [
        po.expectation_maximization(model, X, y, start=start, max_iter=n, tol=0).model
        for n in range(1, found.turns + 1)
    ]

    def prior(theta):
        cells = [theta.tables_["class"]["P"].to_numpy(), *(theta.tables_[n].to_numpy().ravel() for n in ("x0", "x1"))]
        return smoothing * sum(np.log(c).sum() for c in cells) if smoothing else 0.0

    pairs = []
    for before, after in itertools.pairwise(models):
        r, pair = before.predict_proba(X), []
        r[:2] = np.eye(2)
        for theta in (before, after):
            joint = theta.predict_joint_log_proba(X)
            total = 0.0
            for z in itertools.product((0, 1), repeat=6):
                at = np.arange(6), np.array(z)
                if r[at].prod() > 0:
                    total += r[at].prod() * joint[at].sum()
            pair.append(total + prior(theta))
        pairs.append(pair)
    assert np.diff(np.array(found.expected), axis=1) == pytest.approx(np.diff(pairs, axis=1), rel=1e-9)
    assert np.array(found.expected) == pytest.approx(np.array(pairs) + (found.expected[0][0] - pairs[0][0]), rel=1e-9)
    assert smoothing or found.expected[0][0] == pytest.approx(pairs[0][0])


def test_one_turn_by_hand():
    """An EM step of naive Bayes in plain NumPy: λ-smoothed tables, normal columns, missing cells, weights."""
    rng = np.random.default_rng(5)
    n, K, lam, u = 80, 2, 0.7, 0.6
    z = rng.integers(0, K, n)
    a, b = (z + (rng.random(n) < 0.3)) % 2, rng.integers(0, 3, n)
    x = rng.normal(size=n) + 2 * z
    x[rng.random(n) < 0.2] = np.nan
    known = rng.random(n) < 0.3
    known[:4] = True
    w = rng.random(n) + 0.5
    w = w * np.where(known, 1.0, u)
    theta = {}

    def m_step(r):
        N = r.sum(axis=0)
        theta["prior"] = (N + lam) / (N.sum() + K * lam)
        for name, codes, S in (("a", a, 2), ("b", b, 3)):
            counts = np.stack([r[codes == v].sum(axis=0) for v in range(S)])
            theta[name] = (counts + lam) / (counts.sum(axis=0) + S * lam)
        seen = ~np.isnan(x)
        weight = r[seen].sum(axis=0)
        middle = (r[seen].sum(axis=1) * x[seen]).sum() / weight.sum()
        theta["all"] = (r[seen].sum(axis=1) * (x[seen] - middle) ** 2).sum() / weight.sum() / K**2
        theta["mean"] = (r[seen] * x[seen, None]).sum(axis=0) / weight
        m2 = (r[seen] * (x[seen, None] - theta["mean"]) ** 2).sum(axis=0)
        theta["var"] = (m2 + theta["all"]) / (weight + 1)  # a row as wide as a K-th of the column

    def e_step():
        logs = np.log(theta["prior"]) + np.log(theta["a"])[a] + np.log(theta["b"])[b]
        normal = -0.5 * (np.log(2 * np.pi * theta["var"]) + (x[:, None] - theta["mean"]) ** 2 / theta["var"])
        logs = logs + np.where(np.isnan(x)[:, None], 0.0, normal)
        top = np.logaddexp.reduce(logs, axis=1)
        value = np.where(known, logs[np.arange(n), z], top)
        prior = lam * (np.log(theta["prior"]).sum() + np.log(theta["a"]).sum() + np.log(theta["b"]).sum())
        prior -= 0.5 * (np.log(theta["var"]) + theta["all"] / theta["var"]).sum()
        r = np.where(known[:, None], np.eye(K)[z], np.exp(logs - top[:, None]))
        return w[:, None] * r, (w * value).sum() + prior

    m_step(w[:, None] * np.where(known[:, None], np.eye(K)[z], 0.0))
    trace = []
    for _ in range(4):
        r, value = e_step()
        trace.append(value)
        m_step(r)
    X = {"a": a, "b": b, "x": x}
    model = po.NaiveBayes(
        smoothing=lam,
        kinds={"a": "categorical", "b": "categorical"},
        density="gaussian",
        unlabelled=-1,
        unlabelled_weight=u,
    )
    y = np.where(known, z, -1)
    given_weights = np.where(known, w, w / u)
    found = po.expectation_maximization(model, X, y, sample_weight=given_weights, tol=0, max_iter=4)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-10)
    fifth = po.expectation_maximization(model, X, y, sample_weight=given_weights, tol=0, max_iter=5).model
    np.testing.assert_allclose(fifth.tables_["x"].loc["mean"], theta["mean"], rtol=1e-9)
    np.testing.assert_allclose(fifth.tables_["b"].to_numpy(), theta["b"], rtol=1e-9)


@pytest.mark.parametrize("Model", SPECTRUM)
def test_weight_two_is_the_row_twice(Model):
    rng = np.random.default_rng(2)
    X, z = bits(rng, 150, 4)
    y = np.where(rng.random(150) < 0.3, z, -1)
    twice = rng.random(150) < 0.4
    how = {"kinds": "categorical", "unlabelled": -1}
    one = Model(**how).fit(X, y, sample_weight=np.where(twice, 2.0, 1.0))
    two = Model(**how).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    np.testing.assert_allclose(one.em_.trace, two.em_.trace, rtol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("Model", SPECTRUM)
@pytest.mark.parametrize("mark", [None, float("nan"), -1, "?"])
def test_weight_nothing_is_the_supervised_fit(Model, mark):
    rng = np.random.default_rng(3)
    X, z = mixed(rng, 200)
    known = rng.random(200) < 0.5
    X["word"][~known] = "only without a label"
    label = np.array(["p", "q", "r"], dtype=object)[z] if not isinstance(mark, int) else z
    y = label.copy()
    y[~known] = mark
    supervised = Model().fit({k: v[known] for k, v in X.items()}, label[known])
    found = Model(unlabelled=mark, unlabelled_weight=0).fit(X, y)
    assert "em_" not in vars(found)
    assert found.statistics_ == supervised.statistics_
    assert found.statistics_.rows.dtype == supervised.statistics_.rows.dtype
    assert found.classes_.tolist() == supervised.classes_.tolist()


@pytest.mark.parametrize("Model", SPECTRUM)
def test_order_and_threads_change_nothing(Model):
    rng = np.random.default_rng(4)
    X, z = bits(rng, 200, 5)
    y = np.where(rng.random(200) < 0.2, z, -1)
    how = {"kinds": "categorical", "unlabelled": -1}
    one, order = Model(**how, n_jobs=1).fit(X, y), rng.permutation(200)
    three, turned = Model(**how, n_jobs=3).fit(X, y), Model(**how, n_jobs=1).fit(X[order], y[order])
    assert np.array_equal(one.predict_proba(X), three.predict_proba(X))
    np.testing.assert_allclose(one.predict_proba(X), turned.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("unit", [1e-100, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("density", ["auto", "gaussian"])
def test_the_unit_of_a_column_changes_nothing(unit, density):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 3)) + 1.5 * rng.integers(0, 2, 200)[:, None]
    y = np.where(np.arange(200) < 8, (X[:, 0] > 0.7).astype(int), -1)
    how = {"unlabelled": -1, "unlabelled_weight": 1, "density": density}
    one, other = (po.NaiveBayes(**how).fit(x, y) for x in (X, X * unit))
    assert one.em_.turns == other.em_.turns > 3
    np.testing.assert_allclose(other.predict_proba(X * unit), one.predict_proba(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("Model", SPECTRUM)
def test_labels_help_more_with_rows_that_have_none(Model):
    """Where naive Bayes is true and labels are few, rows without one tell what the columns have to do with each other."""
    better = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, z = bits(rng, 1500, 12, (0.35, 0.65))
        y = np.full(1500, -1)
        some = np.concatenate([np.flatnonzero(z == k)[:4] for k in (0, 1)])
        y[some] = z[some]
        how = {"kinds": "categorical"}
        semi = Model(**how, unlabelled=-1, unlabelled_weight=1).fit(X, y)
        supervised = Model(**how).fit(X[some], z[some])
        better += (semi.predict(X) == z).mean() - (supervised.predict(X) == z).mean()
    assert better / 5 > 0.03


def test_a_hidden_class_is_found_again_but_for_its_name():
    rng = np.random.default_rng(0)
    truth = po.NaiveBayes(kinds="categorical").fit(*bits(rng, 300, 8, (0.15, 0.85)))
    X, z = truth.sample(2000, random_state=1)
    found = po.expectation_maximization(po.NaiveBayes(kinds="categorical"), X, n_classes=2, random_state=0)
    same = (found.model.predict(X) == z).mean()
    assert max(same, 1 - same) > 0.97
    named = found.model.predict_proba(X)[:, :: 1 if same > 0.5 else -1]
    assert np.abs(named - truth.predict_proba(X)).mean() < 0.02


# ---- the face ----------------------------------------------------------------------------------------------------------


def test_without_the_mark_a_missing_label_stays_an_error():
    X = {"a": ["x", "y", "x"]}
    for y in (["p", None, "q"], np.array([0.0, np.nan, 1.0])):
        for Model in SPECTRUM:
            with pytest.raises(BadValue, match="Input y contains NaN"):
                Model().fit(X, y)
            with pytest.raises(BadValue, match=r"Input y contains NaN.*row 1"):
                Model(unlabelled="?").fit(X, y)


@pytest.mark.parametrize("Model", SPECTRUM)
def test_nothing_but_unlabelled_rows_points_to_latent_class(Model):
    with pytest.raises(BadValue, match="LatentClass"):
        Model(unlabelled=None).fit({"a": ["x", "y"]}, [None, None])
    with pytest.raises(BadValue, match="weigh nothing"):
        Model(unlabelled=-1).fit({"a": ["x", "y"]}, [0, -1], sample_weight=[0.0, 1.0])


def test_marks_of_many_kinds_are_the_same_rows():
    import pandas as pd
    import polars as pl

    X = {"a": ["x", "y", "x", "y", "x", "x"]}
    wanted = po.NaiveBayes(unlabelled=-1).fit(X, [0, 1, -1, 1, -1, 0])
    same = [
        (None, [0, 1, None, 1, None, 0]),
        (float("nan"), [0, 1, None, 1, float("nan"), 0]),
        (None, np.array([0, 1, np.nan, 1, np.nan, 0])),
        (None, pd.Series([0, 1, None, 1, None, 0], dtype="Int64")),
        (None, pl.Series([0, 1, None, 1, None, 0])),
        (None, np.ma.masked_array([0, 1, 7, 1, 7, 0], [0, 0, 1, 0, 1, 0])),
        ((-1, None), np.array([0, 1, -1, 1, None, 0], dtype=object)),
    ]
    for mark, y in same:
        found = po.NaiveBayes(unlabelled=mark).fit(X, y)
        assert [float(c) for c in found.classes_] == [0.0, 1.0]
        assert np.array_equal(found.predict_proba(X), wanted.predict_proba(X)), mark
    text = po.NaiveBayes(unlabelled=float("nan")).fit(X, ["p", "q", float("nan"), "q", float("nan"), "p"])
    assert text.classes_.tolist() == ["p", "q"]
    assert np.array_equal(text.predict_proba(X), wanted.predict_proba(X))


@pytest.mark.parametrize("Model", SPECTRUM)
def test_after_em_nothing_is_added_or_taken_away(Model):
    rng = np.random.default_rng(6)
    X, z = bits(rng, 60, 4)
    y = np.where(np.arange(60) < 20, z, -1)
    model = Model(kinds="categorical", unlabelled=-1, unlabelled_weight=1).fit(X, y)
    before = pickle.dumps(model.statistics_)
    plain = Model(kinds="categorical").fit(X, z)
    calls = [
        lambda: model.partial_fit(X, z),
        lambda: model.partial_fit(X[:1], z[:1]),
        lambda: model.forget(X[:1], z[:1]),
        lambda: model.decay(0.5),
        lambda: model + plain,
        lambda: plain + model,
    ]
    for call in calls:
        with pytest.raises(ModelError, match="after EM"):
            call()
    with pytest.raises(BadValue, match="fit alone"):
        Model(kinds="categorical", unlabelled=-1).fit(X, z).partial_fit(X, y)
    with pytest.raises(BadValue, match="unlabelled"):
        Model(kinds="categorical", unlabelled=-1).fit(X, z).partial_fit(X[:1], [-1])
    assert pickle.dumps(model.statistics_) == before
    assert "em_" not in vars(model.fit(X, z))
    assert "em_" not in vars(Model(kinds="categorical", unlabelled=-1).partial_fit(X, z).partial_fit(X, z))


@pytest.mark.parametrize("Model", SPECTRUM)
def test_a_fitted_model_pickles_clones_and_takes_other_parameters(Model):
    rng = np.random.default_rng(7)
    X, z = mixed(rng, 200)
    y = np.where(rng.random(200) < 0.4, z, -1)
    model = Model(unlabelled=-1, unlabelled_weight=1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.em_ == model.em_
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "em_" not in vars(clone(model))
    assert np.isfinite(model.set_params(smoothing=2.0).predict_log_proba(X)).all()
    assert not any(c.declared for c in model.schema_.columns if c.kind == "categorical")
    with pytest.raises(BadParameter, match="unlabelled_weight"):
        Model(unlabelled=-1, unlabelled_weight=-1.0).fit(X, y)


@pytest.mark.parametrize("Model", SPECTRUM)
def test_rubbish_changes_nothing(Model):
    rng = np.random.default_rng(8)
    X, z = bits(rng, 60, 3)
    y = np.where(np.arange(60) < 20, z, -1)
    model = Model(kinds="categorical", unlabelled=-1, unlabelled_weight=1).fit(X, y)
    before = model.predict_proba(X)
    for y, w in [([-1] * 60, None), (z[:5], None), (z, np.full(60, np.nan)), (z * 1.5, None)]:
        with pytest.raises(ValueError):
            model.fit(X, y, w)
        assert np.array_equal(model.predict_proba(X), before)
        assert "em_" in vars(model)


def test_turns_that_run_out_are_told(monkeypatch):
    import posteriori.bayes.hidden as hidden

    monkeypatch.setattr(hidden, "MAX_ITER", 2)
    X, z = bits(np.random.default_rng(9), 200, 6)
    model = po.NaiveBayes(kinds="categorical", unlabelled=-1, unlabelled_weight=1)
    with pytest.warns(ConvergenceWarning, match="NaiveBayes: EM has not converged after 2 turns"):
        model.fit(X, np.where(np.arange(200) < 6, z, -1))
    assert model.em_.turns == 2


def test_chosen_once_by_labels_or_refused():
    rng = np.random.default_rng(10)
    X, z = mixed(rng, 300, 2)
    y = np.where(rng.random(300) < 0.4, z, -1)
    part = y >= 0
    tan = po.TAN(unlabelled=-1).fit(X, y)
    alone = po.TAN().fit({k: v[part] for k, v in X.items()}, y[part])
    assert all(np.array_equal(tan.cuts_[name], cut) for name, cut in alone.cuts_.items())
    bins = po.NaiveBayes(unlabelled=-1, unlabelled_weight=1).fit(X, y)
    assert bins.density_ == {"number": "binned", "wide": "binned"}
    assert len(bins.tables_["number"]) == 10
    assert po.KDB(select=True, unlabelled=-1).fit(X, y).selected_
    with pytest.raises(ModelError, match="lazy"):
        po.AODE(lazy=True, unlabelled=-1).fit(X, y)
    for model in (po.KDB(select=True), po.KDB(k="auto"), po.SPODE(), po.AODE(lazy=True)):
        with pytest.raises(ModelError):
            po.expectation_maximization(model, X, n_classes=2)
    for model in (po.KDB(), po.SPODE(super_parent="word"), po.AODE(), po.TAN(), po.A2DE(), po.NaiveBayes()):
        with warnings.catch_warnings():
            found = po.expectation_maximization(model, X, n_classes=2, random_state=0, n_init=3, max_iter=30)
        assert found.model.classes_.tolist() == [0, 1]
        assert found.objective == max(found.trace)


# ---- the functions alone -----------------------------------------------------------------------------------------------


def hidden_rows(weighted=True, n=9, K=3, labels=True):
    """A hidden class of a few rows, the first of which have labels."""
    rng = np.random.default_rng(0)
    X = {"a": rng.choice(["u", "v", "w"], n), "b": rng.choice(["p", "q"], n)}
    y = np.array([f"c{i % K}" if labels and i < 5 else None for i in range(n)], dtype=object)
    w = rng.uniform(0.5, 2.0, n) if weighted else None
    model = po.NaiveBayes(unlabelled=None, unlabelled_weight=1.0)
    if labels:
        return model._hidden(X, y, w, None, False), X, y, np.ones(n) if w is None else w
    return model._hidden(X, None, w, K, False), X, y, np.ones(n) if w is None else w


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_weights_times_responsibilities_and_what_is_known(weighted):
    data, _, y, w = hidden_rows(weighted)
    r = np.random.default_rng(1).dirichlet(np.ones(3), 9)
    expected = w[:, None] * r
    for i in range(5):
        expected[i] = w[i] * (np.arange(3) == int(y[i][1]))
    assert data.shares(r.copy()) == pytest.approx(expected)
    assert data.weight == pytest.approx(w.sum())
    assert data.plain == (not weighted)
    assert (data.known.tolist(), data.hidden.tolist()) == ([0, 1, 2, 3, 4], [5, 6, 7, 8])
    assert data.own.tolist() == [0, 1, 2, 0, 1, -1, -1, -1, -1]


@pytest.mark.parametrize("hard", [False, True])
def test_expectations_are_posteriors_and_their_sum(hard):
    """(w·r, Σ_known w ln P(y, x) + Σ_hidden w ln P(x) + the log prior of θ); hard: of the best class."""
    data, X, _, w = hidden_rows()
    data.hard = hard
    model = data.maximise(data.shares(np.random.default_rng(1).dirichlet(np.ones(3), 9)))
    shares, value = data.expect(model)
    joint = model.predict_joint_log_proba(X)
    r = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    r = (joint == joint.max(axis=1, keepdims=True)).astype(float) if hard else r
    assert shares == pytest.approx(data.shares(r))
    whole = joint.max(axis=1) if hard else np.logaddexp.reduce(joint, axis=1)
    of_rows = np.where(data.own >= 0, joint[np.arange(9), data.own], whole)
    tables = model.tables_
    prior = sum(np.log(t.to_numpy()).sum() for t in tables.values())  # λ = 1
    assert value == pytest.approx(w @ of_rows + prior)


def test_starts_are_the_labels_and_beside_them_chance_mixed_with_their_answers():
    data, X, _, w = hidden_rows()
    (only,) = data.starts(1, 0)
    assert only.class_count_ == pytest.approx(np.bincount(data.codes[:5], w[:5]))
    assert len(data.starts(2, 0)) == 2
    first, second, third = data.starts(3, 0)
    assert first.statistics_ == only.statistics_
    assert [m.class_count_.sum() for m in (second, third)] == pytest.approx([w.sum()] * 2)
    answer = only.predict_proba(X)[5:] * w[5:, None]
    for other in (second, third):
        mass = other.class_count_ - first.class_count_
        assert (mass >= 0.5 * answer.sum(axis=0) - 1e-9).all()
        assert mass != pytest.approx(answer.sum(axis=0))


def test_without_labels_a_start_is_a_row_of_each_class_and_next_to_nothing_of_all():
    data, _, _, w = hidden_rows(labels=False)
    shares = data._drawn(np.random.default_rng(0))
    around = room.AROUND * w / w.sum() / 3
    assert shares.shape == (9, 3)
    rest = shares - around[:, None]
    assert np.sort(rest, axis=None)[:-3] == pytest.approx(0, abs=1e-12)
    assert rest.sum(axis=0) == pytest.approx([1.0, 1.0, 1.0])
    chosen = np.argwhere(rest > 0.5)
    assert sorted(chosen[:, 1].tolist()) == [0, 1, 2]
    evidence = data._evidence[chosen[:, 0]]
    assert len(np.unique(evidence)) == 3  # rows that differ
    with pytest.raises(ModelError, match=r"4 classes need at least as many rows\. Got 3 instead"):
        po.NaiveBayes()._hidden({"a": ["u", "v", "w"]}, None, None, 4, False)._drawn(np.random.default_rng(0))
    alike = po.NaiveBayes()._hidden({"a": ["u"] * 5}, None, None, 2, False)
    assert alike._drawn(np.random.default_rng(0)).sum() == pytest.approx(2 + room.AROUND)  # rows that are all alike


def test_rows_are_drawn_by_their_weight():
    data, _, _, _ = hidden_rows(labels=False, weighted=False)
    data.weights = np.where(np.arange(9) < 4, 1.0, 1e-9)
    for seed in range(20):
        found = np.argwhere(data._drawn(np.random.default_rng(seed)) > 0.5)[:, 0]
        assert len(found) == 3
        if len(np.unique(data._evidence[:4])) >= 3:
            assert (found < 4).all()


def test_a_start_is_a_model_or_responsibilities():
    data, X, _, w = hidden_rows()
    r = np.random.default_rng(1).uniform(1, 2, (9, 3))
    found = data.started(r)
    share = r / r.sum(axis=1, keepdims=True)
    assert found.statistics_ == data.maximise(data.shares(share.copy())).statistics_
    other = po.NaiveBayes().fit({k: v[:5] for k, v in X.items()}, [f"c{i % 3}" for i in range(5)], w[:5])
    by_model = data.started(other)
    assert by_model.class_count_ == pytest.approx(data.shares(other.predict_proba(X)).sum(axis=0))
    strange = po.NaiveBayes().fit(X, np.arange(9) % 2)
    with pytest.raises(BadParameter, match=r"start has the classes \[0, 1\], the rows \['c0', 'c1', 'c2'\]"):
        data.started(strange)
    for wrong in (r[:8], r[:, :2], -r, r * np.nan, "here", [[1], [1, 2]]):
        with pytest.raises(BadParameter, match="responsibilities of 9 rows in 3 classes"):
            data.started(wrong)
    zero = r.copy()
    zero[0] = 0.0  # a row that is known needs none
    data.started(zero)


def test_a_sweep_is_the_formula():
    """S ← (1 − γ) S + γ S_batch·(all/batch), γ = (t + 2)^−decay, beside the known rows."""
    data, X, _, w = hidden_rows()
    model = data.maximise(data.shares(np.full((9, 3), 1 / 3)))
    data.rng = np.random.default_rng(3)
    order = np.random.default_rng(3).permutation(data.hidden)
    known = np.bincount(data.codes[:5], w[:5], minlength=3)
    after, running, t = data.sweep((model, None, 0), 3, 0.7)
    assert t == 2
    now, mass = model, None
    for step, rows in enumerate(np.array_split(order, 2)):
        some = {k: v[rows] for k, v in X.items()}
        own = (now.predict_proba(some) * w[rows][:, None]).sum(axis=0) * w[5:].sum() / w[rows].sum()
        gamma = (step + 2.0) ** -0.7
        mass = own if mass is None else (1 - gamma) * mass + gamma * own
        if step == 0:
            shares = np.zeros((9, 3))
            shares[rows] = now.predict_proba(some) * (w[5:].sum() / w[rows].sum())
            shares[:5] = 1 / 3
            now = data.maximise(data.shares(shares))
    assert running.rows == pytest.approx(mass)
    assert after.class_count_ == pytest.approx(known + mass)
    again, same, t = data.sweep((after, running, t), 100, 0.7)
    assert t == 3
    assert again.class_count_.sum() == pytest.approx(w.sum())
    assert same.rows.sum() == pytest.approx(w[5:].sum())


def test_the_next_table_of_a_stream_is_the_formula():
    """S ← N'·[(1 − γ) S/N + γ S_table/n], and ln P of its rows a row before they were learned."""
    data, _, _, _ = hidden_rows()
    model = data.finish(data.maximise(data.shares(np.full((9, 3), 1 / 3))))
    table = {"a": np.array(["u", "w"]), "b": np.array(["q", "q"])}
    w, before = np.array([0.5, 2.0]), model.class_count_
    joint = model.predict_joint_log_proba(table)
    p = model.predict_proba(table)
    for labels in (None, ["c2", None]):
        after, value = data.follow(model, (table, labels, w), 1, 0.6)
        r, said = p.copy(), np.logaddexp.reduce(joint, axis=1)
        if labels is not None:
            r[0], said[0] = [0, 0, 1], joint[0, 2]
        own, gamma, total = w @ r, 3**-0.6, before.sum() + w.sum()
        expected = total * ((1 - gamma) * before / before.sum() + gamma * own / own.sum())
        assert after.class_count_ == pytest.approx(expected)
        assert value == pytest.approx(w @ said / w.sum())
    with pytest.raises(BadValue, match=r"classes of its first table\. Got 'c9' instead"):
        data.follow(model, (table, ["c9", "c0"], None), 0, 0.6)
    model.unlabelled_weight = 0.25
    after, _ = data.follow(model, (table, ["c2", None], None), 1, 0.6)
    own = np.array([0, 0, 1]) + 0.25 * p[1]
    expected = (before.sum() + own.sum()) * ((1 - 3**-0.6) * before / before.sum() + 3**-0.6 * own / own.sum())
    assert after.class_count_ == pytest.approx(expected)


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
    X, z = X[::3, :: 1 + X.shape[1] // 30], z[::3]
    losses = []
    for seed in range(12):  # of three draws one decides
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
    monkeypatch.setattr(room, "_losses", lambda m, rows, known, fold, w: (tried.append(w), np.zeros(31))[1])
    X = np.random.default_rng(0).integers(0, 3, (90, 3))
    y = np.where(np.arange(90) < 30, np.array(["a", "b"])[np.arange(90) % 2], "")
    po.NaiveBayes(kinds="categorical", unlabelled=("",)).fit(X, y)
    assert tried[0] == 0.0
    assert tried[1:] == pytest.approx(sorted({min(times * 30 / 60, 1.0) for times in room.TIMES}))


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

    monkeypatch.setattr(room, "_losses", told)
    monkeypatch.setattr(room, "TIMES", (0.25, 0.5))
    monkeypatch.setattr(room, "_dealt", lambda codes, evidence: np.arange(len(codes)) % 2)
    return room.choose_weight(model, rows), own[0]


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
    assert room._dealt(codes, evidence).tolist() == [2, 0, 2, 1, 1, 0, 1]
    assert room._dealt(codes, np.where(codes == 1, 9.0, evidence)) is None
    many = room._dealt(np.zeros(7, int), np.arange(7.0))
    assert many.tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_rows_are_taken_evenly_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(room, "MOST", 4)
    assert room._evenly(np.arange(4) + 10).tolist() == [10, 11, 12, 13]
    assert room._evenly(np.arange(10)).tolist() == [0, 3, 6, 9]


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_of_either_sort_stand_for_all(monkeypatch, weighted):
    model, rows, X, _ = partly(weighted=weighted)
    monkeypatch.setattr(room, "MOST", 3)
    some, share, evidence = room._some(model, rows)
    assert share == pytest.approx((6 / 3) / (8 / 3))
    assert some.hidden.tolist() == [False] * 3 + [True] * 3
    assert some.frame.n == len(some.codes) == len(some.weights) == 6
    assert (np.diff(evidence) >= 0).all()  # in the order of ln P(x) under the labels alone
    alone = room._of_known(model, rows, np.arange(8))
    from_table = np.sort(alone.score_samples(X[:8]))
    assert evidence == pytest.approx(from_table[[0, 3, 7]], abs=1e-7)
    assert (some.weights == 1.0).all() != weighted
    monkeypatch.setattr(room, "MOST", 100)
    assert room._some(model, rows)[1] == 1.0


def test_losses_are_of_labels_foretold_without_their_fold(monkeypatch):
    """−ln P(y|x) by a model of the other folds' labels, and the mean of what a wrong one would cost; 35 at most."""
    model, rows, X, y = partly()
    rows = replace(rows, weights=np.ones(14))
    known, fold = np.arange(8), np.arange(8) // 3
    found = room._losses(model, rows, known, fold, 0.0)
    wrong = []
    for i in range(8):
        others = [j for j in range(8) if fold[j] != fold[i]]
        p = po.NaiveBayes(kinds="categorical").fit(X[others], y[others].astype(str)).predict_proba(X[[i]])[0]
        assert found[i] == pytest.approx(-np.log(p["abc".index(y[i])]))
        wrong.append(-np.log((1 - p.max()) / 2))
    assert found[8] == pytest.approx(np.mean(wrong))
    told = {"a": [0.0, -np.inf, -np.inf]}
    monkeypatch.setattr(room, "_foretold", lambda m, r, at, w: np.array([told["a"]] * len(at)))
    assert room._losses(model, rows, known, fold, 0.0).tolist() == [0, 35, 35, 0, 35, 35, 0, 35, 35]


def test_a_label_is_hidden_while_it_is_foretold(monkeypatch):
    """With a weight its row is learned among those without a label, each of which weighs so much."""
    model, rows, _, _ = partly()
    rows = replace(rows, weights=np.linspace(1, 2, 14))
    kept = []
    plain = room.HiddenClass
    monkeypatch.setattr(room, "HiddenClass", lambda m, r: (kept.append(r), plain(m, r))[1])
    at = np.array([1, 4])
    found = room._foretold(model, rows, at, 0.25)
    (asked,) = kept
    hidden = np.arange(14) >= 8
    hidden[at] = True
    assert asked.hidden.tolist() == hidden.tolist()
    assert asked.weights == pytest.approx(np.where(hidden, 0.25, 1.0) * rows.weights)
    assert asked.hidden_weight == 0.25
    assert found.shape == (2, 3)
    assert rows.hidden.tolist() == (np.arange(14) >= 8).tolist()  # what was asked is as it was


@pytest.mark.parametrize("known", [False, True])
def test_what_a_model_of_hidden_classes_shows_is_made_of_what_it_ended_with(known):
    """Nothing stays that was made while values were held open for all rows."""
    rng = np.random.default_rng(0)
    X, y = {"c": rng.choice(["x", "y", "z"], 40), "n": rng.normal(size=40)}, rng.choice(["u", "v"], 40).astype(object)
    if known:
        y[::3] = None
        model = po.NaiveBayes(unlabelled=(None,)).fit(X, y)
    else:
        model = po.expectation_maximization(po.NaiveBayes(), X, n_classes=2, random_state=0).parameters
    assert model.factored_.schema == model.statistics_.schema
    assert not model.statistics_.schema.columns[0].declared
    again = pickle.loads(pickle.dumps(model))
    assert again.factored_.schema == model.factored_.schema
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
