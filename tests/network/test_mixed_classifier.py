"""Families with a class as an axis, by brute force; numbers in a classifier as the hybrid network says, part or whole."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import posteriori as po
from posteriori.errors import BadParameter, BadValue, InvalidNetwork, StatisticsError, UnknownColumn
from posteriori.network.classifier import family_counts, scopes, told_parents

from .making import seeds

DAG = po.Dag(["a", "b", "c", "class", "d"], [("a", "class"), ("class", "b"), ("b", "c"), ("class", "c"), ("c", "d")])
STRUCTURES = {"hill-climb": "hill-climb", "tan": "tan", "kdb": "kdb", "told": DAG}


def table(seed: int, n: int, missing: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < 0.7, a > 0, rng.random(n) < 0.5).astype(int)
    b = np.where(rng.random(n) < 0.7, y, rng.integers(0, 2, n))
    c = np.where(rng.random(n) < 0.7, (b + y) % 3, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.7, c, rng.integers(0, 3, n))
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(object)
    X = X.mask(rng.random(X.shape) < missing, None)
    X.iloc[:3] = [[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 2, 2]]
    y[:2] = 0, 1
    return X, y


def mixed_table(seed: int, n: int, missing: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.7, y > 0, rng.random(n) < 0.5).astype(int)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))
    u = np.round(rng.normal(size=n) + y - b, 2)
    v = np.round(u * (1 + a) + rng.normal(size=n), 2)
    X = pd.DataFrame({"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b], "u": u, "v": v})
    return X.mask(rng.random(X.shape) < missing), np.array(["p", "q", "r"])[y]


MIXED = po.Dag(
    ["u", "v", "a", "b", "class"],
    [("class", "u"), ("u", "v"), ("a", "v"), ("class", "a"), ("a", "b"), ("b", "u")],
)
GAUSSIAN = {"hill-climb": "hill-climb", "tan": "tan", "kdb": "kdb", "told": MIXED}


@parametrize_with_checks([po.BayesNetClassifier(s, continuous="gaussian") for s in ("hill-climb", "tan", "kdb")])
def test_scikit_learns_own_checks_of_gaussian_numbers(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@settings(max_examples=25)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.3]), how=st.sampled_from(sorted(GAUSSIAN)))
def test_what_the_hybrid_network_says(seed, missing, how):
    X, y = mixed_table(seed, 60, missing)
    model = po.BayesNetClassifier(GAUSSIAN[how], continuous="gaussian").fit(X, y)
    asked = mixed_table(seed + 1, 12, 0.4)[0]
    for name in ("a", "b"):  # a network knows no new value
        asked[name] = asked[name].where(asked[name].isin(X[name].dropna()))
    net, node = model.net_, model.class_node_
    np.testing.assert_allclose(model.predict_proba(asked), net.predict_proba(asked, node), atol=1e-10)
    for r, row in enumerate(asked.to_dict("records")):
        each = [net.log_density({**row, node: label}) for label in model.classes_]
        np.testing.assert_allclose(model.predict_joint_log_proba(asked)[r], each, atol=1e-8)
    assert not any(p in ("u", "v") and c not in ("u", "v") for p, c in model.dag_.edges)
    states = {n: net.discrete.states(n) for n in net.discrete.nodes}
    again = po.HybridNet.fit(model.dag_, X.assign(**{node: y}), states=states)
    for n in ("u", "v"):
        np.testing.assert_allclose(net.regression(n).to_numpy(), again.regression(n).to_numpy(), rtol=1e-6, atol=1e-9)
    for n in net.discrete.nodes:
        assert net.cpt(n).equals(again.cpt(n))


@settings(max_examples=20)
@given(seed=seeds, how=st.sampled_from(sorted(GAUSSIAN)), weighted=st.booleans())
def test_gaussian_numbers_in_parts_are_the_whole(seed, how, weighted):
    X, y = mixed_table(seed, 90, 0.1)
    w = np.random.default_rng(seed).integers(1, 4, 90).astype(float) if weighted else None
    rows = [np.arange(40), np.arange(40, 41), np.arange(41, 90)]
    part = lambda r: None if w is None else w[r]  # noqa: E731
    model = po.BayesNetClassifier(GAUSSIAN[how], continuous="gaussian").fit(X.iloc[rows[0]], y[rows[0]], part(rows[0]))
    dag = model.dag_
    before = model.predict_joint_log_proba(X)
    for r in rows[1:]:
        model.partial_fit(X.iloc[r], y[r], sample_weight=part(r))
    assert model.dag_ == dag
    whole = po.BayesNetClassifier(dag, continuous="gaussian").fit(X, y, w)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-7, atol=1e-8)
    parts = [
        po.BayesNetClassifier(dag, continuous="gaussian").fit(X.iloc[r], y[r], part(r)) for r in (rows[0], rows[2])
    ]
    parts[0].partial_fit(X.iloc[rows[1]], y[rows[1]], sample_weight=part(rows[1]))
    np.testing.assert_allclose(sum(parts).predict_proba(X), whole.predict_proba(X), atol=1e-8)
    for r in rows[:0:-1]:
        model.forget(X.iloc[r], y[r], sample_weight=part(r), keep="structure")
    np.testing.assert_allclose(model.predict_joint_log_proba(X), before, rtol=1e-6, atol=1e-6)


def test_numbers_alone_under_the_class_are_naive_bayes_and_values_alone_the_other_mode():
    X, y = mixed_table(3, 200, 0.1)
    naive = po.Dag([*X.columns, "class"], [("class", c) for c in X])
    model = po.BayesNetClassifier(naive, continuous="gaussian").fit(X, y)
    asked = mixed_table(4, 50, 0.3)[0]
    np.testing.assert_allclose(
        model.predict_proba(asked), po.NaiveBayes(density="gaussian").fit(X, y).predict_proba(asked), atol=1e-9
    )
    zero = po.BayesNetClassifier("kdb", k=0, continuous="gaussian").fit(X, y)
    np.testing.assert_allclose(zero.predict_proba(asked), model.predict_proba(asked), atol=1e-12)
    Z, t = table(0, 200)
    for how in STRUCTURES.values():
        both = [po.BayesNetClassifier(how, kinds="categorical", continuous=c) for c in ("cuts", "gaussian")]
        cut, not_cut = (model.fit(Z, t) for model in both)
        assert not_cut.dag_.equivalent_to(cut.dag_)
        np.testing.assert_allclose(
            not_cut.predict_proba(Z), cut.predict_proba(Z), atol=0.01 if how == "hill-climb" else 1e-10
        )


def test_gaussian_numbers_of_every_awkward_kind():
    rng = np.random.default_rng(0)
    y = np.array(["p"] * 30 + ["q"] * 29 + ["r"])  # a class of one row
    X = pd.DataFrame({
        "x": rng.normal(size=60), "same": 7.0, "twin": 0.0, "never": np.nan, "none": pd.Series([None] * 60, dtype=object),
        "one": "only", "word": rng.choice(["s", "t"], 60),
    })  # fmt: skip
    X["twin"] = 2 * X["x"] - 1
    asked = X.iloc[:4].assign(word=["s", "new", None, "t"], never=[1.0, np.nan, 2.0, 3.0], same=[7.0, 8.0, np.nan, 7.0])
    everything = po.Dag([*X.columns, "class"], [("class", "x"), ("none", "x"), ("none", "word"), ("class", "never")])
    for how in ("hill-climb", "tan", "kdb", everything):
        model = po.BayesNetClassifier(how, continuous="gaussian").fit(X, y)
        found = model.predict_proba(asked)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert np.isfinite(model.predict_joint_log_proba(asked)).all()
        assert model.n_unseen_ == 1
        drawn, labels = model.sample(5, random_state=0)
        assert list(drawn.columns) == list(X.columns)
        assert set(labels) <= set("pqr")
        assert model.summary()["information"].min() >= 0
    with pytest.raises(BadParameter, match="numbers that are not cut are scored by one of"):
        po.BayesNetClassifier(continuous="gaussian", criterion="bdeu").fit(X, y)
    for large, what in ((np.inf, "infinity"), (1e308, "so large"), (1e160, "so large")):
        with pytest.raises(BadValue, match=what):
            po.BayesNetClassifier(continuous="gaussian").fit([[1.0], [large], [-1e155]], [0, 1, 0])
    least = po.BayesNetClassifier(continuous="gaussian").fit([[0.0], [5e-324], [1e-323]], [0, 1, 0])
    assert np.isfinite(least.predict_proba([[1.0], [0.0]])).all()


@pytest.mark.parametrize("child", ["a", "class"])
@pytest.mark.parametrize("others", [[], [("b", "a"), ("b", "class")]])
def test_a_number_above_a_value_is_refused_by_name(child, others):
    X, y = mixed_table(0, 40)
    told = po.Dag([*X.columns, "class"], [*others, ("u", child)])
    with pytest.raises(InvalidNetwork, match=f"{child!r} has the continuous parent 'u'"):
        po.BayesNetClassifier(told, continuous="gaussian").fit(X, y)


@pytest.mark.parametrize("how", ["tan", "kdb"])
def test_numbers_far_beyond_all_others_are_answered_or_refused_without_a_warning(how):
    X, y = mixed_table(0, 60)
    model = po.BayesNetClassifier(how, continuous="gaussian").fit(X, y)
    for far in (1e100, -1e150, 1e200, 1e308):
        for name in ("u", "v"):
            for missing in ([], ["a"], ["u" if name == "v" else "v"]):
                asked = X[:1].assign(**{name: far}, **dict.fromkeys(missing))
                assert not np.isnan(model.predict_joint_log_proba(asked.astype({"u": float, "v": float}))).any()


def test_a_line_between_numbers_is_found_and_helps():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    u = rng.normal(size=2000) + 0.5 * y
    X = pd.DataFrame({"u": u, "v": np.where(y, u, -u) + 0.3 * rng.normal(size=2000)})
    model = po.BayesNetClassifier(continuous="gaussian").fit(X[:1000], y[:1000])
    assert ("u", "v") in model.edges_ or ("v", "u") in model.edges_
    assert (
        model.score(X[1000:], y[1000:]) > 0.8 > 0.7 > po.NaiveBayes().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    )
    rows, labels = model.sample(2000, random_state=1)
    assert np.corrcoef(rows["u"][labels == 1], rows["v"][labels == 1])[0, 1] > 0.9


def test_parents_are_numbered_by_column_and_the_class_is_last():
    dag = po.Dag(["b", "y", "a"], [("y", "b"), ("a", "b"), ("a", "y")])
    assert told_parents(dag, ["a", "b", "unused"]) == ((), (3, 0), (), (0,))
    with pytest.raises(UnknownColumn, match=r"is the class; none is no column\. Columns: 'a', 'b', 'y'"):
        told_parents(dag, ["a", "b", "y"])
    with pytest.raises(UnknownColumn, match="'y', 'a' is no column"):
        told_parents(dag, ["b"])


def test_what_is_counted_together():
    parents = ((), (0, 3), (1, 0, 3), (0, 1))  # three columns, then the class
    assert scopes(parents) == [(0, 1), (1, 0, 2)]  # the class counts (0, 1), as column 1 does
    assert scopes(parents, {2}) == [(0, 1)]
    assert scopes(parents, {1}) == [(1, 0, 2), (0, 1)]
    assert scopes(((2,), (2,), ())) == []  # alone under the class: counted anyway


def test_counts_of_every_kind_of_family():
    rng = np.random.default_rng(0)
    n = 200
    columns = {"a": rng.integers(0, 2, n), "b": rng.integers(0, 3, n), "c": rng.integers(0, 4, n)}
    y = rng.integers(0, 5, n)
    edges = [("y", "a"), ("c", "b"), ("y", "b"), ("a", "b"), ("c", "y")]
    dag = po.Dag(["a", "b", "c", "y"], edges)
    model = po.BayesNetClassifier(dag, kinds="categorical").fit(pd.DataFrame(columns), y)
    every = {**columns, "y": y}
    sizes = {"a": 2, "b": 3, "c": 4, "y": 5}
    parents = told_parents(dag, ["a", "b", "c"])
    for v, node in enumerate(every):
        family = [*dag.parents(node), node]
        want = np.zeros([sizes[k] for k in family], int)
        np.add.at(want, tuple(every[k] for k in family), 1)
        found = family_counts(model.statistics_, v, parents)
        assert found.shape == want.shape
        assert found.tolist() == want.tolist()
    with pytest.raises(StatisticsError, match="no counts of columns 0, 2 together"):
        family_counts(model.statistics_, 2, ((), (), (0,), ()))
