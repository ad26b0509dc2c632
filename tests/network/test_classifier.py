"""A network as a classifier: what a network says of its class node, counts that add, cells that are missing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import posteriori as po
from posteriori.errors import BadParameter, ModelError, StatisticsError, UnknownColumn

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


@parametrize_with_checks([po.BayesNetClassifier(), po.BayesNetClassifier("tan"), po.BayesNetClassifier("kdb", k=1)])
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@settings(max_examples=25)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.3]), how=st.sampled_from(sorted(STRUCTURES)))
def test_what_the_network_says(seed, missing, how):
    X, y = table(seed, 60, missing)
    model = po.BayesNetClassifier(STRUCTURES[how], kinds="categorical").fit(X, y)
    asked = table(seed + 1, 20, 0.4)[0]
    net, node = model.net_, model.class_node_
    np.testing.assert_allclose(model.predict_proba(asked), net.predict_proba(asked, node), atol=1e-10)
    for r, row in enumerate(asked.to_dict("records")):
        seen = {k: v for k, v in row.items() if v is not None}
        each = [net.log_probability({**seen, node: label}) for label in model.classes_]
        np.testing.assert_allclose(model.predict_joint_log_proba(asked)[r], each, atol=1e-9)
    assert net == po.BayesNet.fit(model.dag_, X.assign(**{node: y}), states={n: net.states(n) for n in net.nodes})


def test_tan_and_kdb_are_what_they_are_elsewhere():
    X, y = table(0, 200)
    tan = po.BayesNetClassifier("tan", kinds="categorical").fit(X, y)
    assert set(tan.edges_) == set(po.TAN(kinds="categorical").fit(X, y).edges_)
    kdb = po.BayesNetClassifier("kdb", k=2, kinds="categorical").fit(X, y)
    assert set(kdb.edges_) == set(po.KDB(k=2, kinds="categorical").fit(X, y).edges_)
    naive = po.BayesNetClassifier("kdb", k=0, kinds="categorical").fit(X, y)
    np.testing.assert_allclose(
        naive.predict_proba(X), po.NaiveBayes(kinds="categorical").fit(X, y).predict_proba(X), atol=1e-12
    )


def test_the_search_is_the_search():
    X, y = table(1, 2000)
    model = po.BayesNetClassifier(kinds="categorical").fit(X, y)
    found = po.learn_structure({**{k: X[k].to_numpy() for k in X}, "class": y}).dag
    assert model.dag_.equivalent_to(found)
    assert set(model.blanket_) == set(model.dag_.markov_blanket("class"))
    few = po.BayesNetClassifier(max_parents=1, kinds="categorical").fit(X, y)
    assert max(len(few.dag_.parents(n)) for n in few.dag_.nodes) == 1


@given(seed=seeds, cut=st.integers(10, 50), how=st.sampled_from(sorted(STRUCTURES)))
def test_rows_add_and_subtract(seed, cut, how):
    X, y = table(seed, 60)
    first = po.BayesNetClassifier(STRUCTURES[how], kinds="categorical").fit(X[:cut], y[:cut])
    told = first.dag_
    whole = po.BayesNetClassifier(told, kinds="categorical").fit(X, y)
    grown = clone(first).set_params(structure=told).fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    assert grown.statistics_ == whole.statistics_
    rest = po.BayesNetClassifier(told, kinds="categorical").fit(X[cut:], y[cut:])
    start = po.BayesNetClassifier(told, kinds="categorical").fit(X[:cut], y[:cut])
    np.testing.assert_allclose((start + rest).predict_proba(X), whole.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(grown.forget(X[cut:], y[cut:]).predict_proba(X), start.predict_proba(X), atol=1e-12)
    again = clone(whole).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(again.predict_proba(X), whole.predict_proba(X))


def test_mixed_columns_are_cut():
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    X = iris.data.assign(word=np.where(iris.data.iloc[:, 0] > 5.8, "long", "short"))
    for how in ("hill-climb", "tan", "kdb"):
        model = po.BayesNetClassifier(how).fit(X, iris.target)
        assert model.score(X, iris.target) > 0.9
        holes = X.copy()
        holes.iloc[::3, 2] = np.nan
        assert model.score(holes, iris.target) > 0.9
    rows, classes = model.sample(50, random_state=0)
    assert rows.shape == (50, 5)
    assert set(classes) <= {0, 1, 2}


def test_what_cannot_be_is_named():
    X, y = table(0, 40)
    with pytest.raises(UnknownColumn, match="the one node of a structure that is no column is the class"):
        po.BayesNetClassifier(po.Dag("abcd"), kinds="categorical").fit(X, y)
    with pytest.raises(BadParameter, match="did you mean 'hill-climb'"):
        po.BayesNetClassifier("hill-climbing").fit(X, y)
    one, other = (po.BayesNetClassifier(s, kinds="categorical").fit(X, y) for s in ("tan", DAG))
    with pytest.raises(StatisticsError, match="other structures"):
        one + other


@pytest.mark.parametrize("continuous", ["cuts", "gaussian"])
def test_how_it_searches(continuous):
    """Walks repeat themselves, a line a step names the columns, time may end the search at once."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = {"word": np.where(rng.random(300) < 0.8, y, 1 - y).astype(str), "size": y + rng.normal(size=300)}
    X["twice"] = 2 * X["size"] + rng.normal(size=300)
    lines: list[str] = []
    how = {"tabu": 5, "restarts": 3, "random_state": 0, "progress": lines.append}
    model = po.BayesNetClassifier(continuous=continuous, search=how).fit(X, y)
    assert any("step 1: add" in line and {*line.split()} & {*X} for line in lines)
    assert clone(model).fit(X, y).dag_ == model.dag_
    late = po.BayesNetClassifier(continuous=continuous, search={"time_limit": 0}).fit(X, y)
    assert set(late.dag_.edges) == {(late.class_node_, v) for v in X}  # the better of the two starts
    with pytest.raises(BadParameter, match="did you mean 'tabu'"):
        po.BayesNetClassifier(continuous=continuous, search={"tabo": 1}).fit(X, y)
    with pytest.raises(BadParameter, match="restarts is a whole number"):
        po.BayesNetClassifier(continuous=continuous, search={"restarts": -1}).fit(X, y)


@pytest.mark.parametrize("continuous", ["cuts", "gaussian"])
@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_two_columns_that_tell_the_class_only_together_are_found(continuous, criterion):
    """A XOR among noise: no single arrow gains; from naive Bayes, which is given up again, one does."""
    rng = np.random.default_rng(0)
    a, b, *noise = rng.integers(0, 2, (7, 600)).astype(str)
    X = {"a": a, "b": b, **{f"z{j}": z for j, z in enumerate(noise)}}
    y = a == b
    model = po.BayesNetClassifier(criterion=criterion, continuous=continuous).fit(X, y)
    assert model.score(X, y) == 1
    assert {"a", "b"} <= set(model.blanket_)
    for most in (0, 1):
        held = po.BayesNetClassifier(criterion=criterion, continuous=continuous, max_parents=most).fit(X, y)
        assert max(len(held.dag_.parents(v)) for v in held.dag_.nodes) <= most


def test_ctrl_c_keeps_the_structure_so_far():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    common = rng.normal(size=200)
    X = {f"x{j}": y + common + rng.normal(size=200) for j in range(4)}

    def stop(line: str) -> None:
        if "step 2" in line:
            raise KeyboardInterrupt

    model = po.BayesNetClassifier(continuous="gaussian", search={"progress": stop}).fit(X, y)
    whole = po.BayesNetClassifier(continuous="gaussian").fit(X, y)
    assert 4 <= len(model.dag_.edges) <= 6 < len(whole.dag_.edges)  # two steps from naive Bayes


@pytest.mark.parametrize("names", [["a", "b"], ["class", "b"], ["class", "class_"]])
@pytest.mark.parametrize("structure", ["tan", "hill-climb"])
def test_the_class_is_called_like_no_column(structure, names):
    X, y = table(0, 40)
    model = po.BayesNetClassifier(structure, kinds="categorical").fit(X[["a", "b"]].set_axis(names, axis=1), y)
    (other,) = set(model.dag_.nodes) - set(names)
    assert other == "class" + "_" * names.count("class") + "_" * names.count("class_")


EMPTY = {
    "under the class": [("class", "x"), ("class", "none"), ("class", "w")],
    "above": [("class", "x"), ("none", "x"), ("none", "w")],
    "below two": [("class", "none"), ("x", "none"), ("class", "x"), ("x", "w")],
    "above the class": [("none", "class"), ("class", "x"), ("x", "w")],
}


@pytest.mark.parametrize("how", [*EMPTY, "tan", "kdb", "hill-climb"])
def test_a_column_without_values_tells_nothing(how):
    """As where numbers stay numbers, of which there are none here: children are even, rows with holes too."""
    X, y = table(0, 60)
    X = pd.DataFrame({"x": X["a"], "none": pd.Series([None] * 60, dtype=object), "w": X["b"]})
    structure = po.Dag(["x", "none", "w", "class"], EMPTY[how]) if how in EMPTY else how
    cut = po.BayesNetClassifier(structure, kinds="categorical").fit(X, y)
    hybrid = po.BayesNetClassifier(cut.dag_, kinds="categorical", continuous="gaussian").fit(X, y)
    assert isinstance(hybrid.net_, po.HybridNet)
    asked = X.iloc[:8].copy()
    asked.loc[0, "x"] = asked.loc[1, "w"] = asked.loc[2, "x"] = asked.loc[2, "w"] = None
    np.testing.assert_allclose(
        cut.predict_joint_log_proba(asked), hybrid.predict_joint_log_proba(asked), rtol=1e-9, atol=1e-12
    )
    rows, labels = cut.sample(400, random_state=0)
    assert rows["none"].isna().all()
    assert set(rows["x"]) == {0, 1, 2}
    assert set(labels) == {0, 1}
    with pytest.raises(ModelError, match="'none' has no value left"):
        cut.net_  # noqa: B018


def test_draws_have_the_chances_of_the_network():
    X, y = table(5, 300)
    model = po.BayesNetClassifier(DAG, kinds="categorical").fit(X, y)
    rows, labels = model.sample(6000, random_state=1)
    net = model.net_
    want = net.query(["class", "c"]).values
    for k, label in enumerate(model.classes_):
        for c in range(3):
            share = ((labels == label) & (rows["c"] == c)).mean()
            assert share == pytest.approx(want[k, c], abs=0.03)
    assert model.edges_ == [("b", "c"), ("c", "d")]
    assert set(model.blanket_) == {"a", "b", "c"}


def test_weights_are_rows_in_a_search():
    X, y = table(2, 120)
    w = np.random.default_rng(0).integers(1, 4, 120)
    heavy = po.BayesNetClassifier(kinds="categorical").fit(X, y, sample_weight=w.astype(float))
    many = po.BayesNetClassifier(kinds="categorical").fit(X.loc[X.index.repeat(w)], np.repeat(y, w))
    assert heavy.dag_ == many.dag_
    np.testing.assert_allclose(heavy.predict_proba(X), many.predict_proba(X), atol=1e-9)


def test_the_class_has_the_name_that_a_structure_gives_it():
    X, y = table(0, 40)
    told = po.Dag(["a", "what", "b"], [("what", "a"), ("what", "b")])
    model = po.BayesNetClassifier(told, kinds="categorical").fit(X, y)
    assert model.class_node_ == "what"
    assert set(model.dag_.nodes) == {"a", "b", "c", "d", "what"}
    assert model.net_.states("what") == (0, 1)


def test_where_no_column_has_a_value_the_classes_are_as_often_as_they_came():
    X = pd.DataFrame({"none": pd.Series([None] * 5, dtype=object)})
    model = po.BayesNetClassifier("tan", kinds="categorical").fit(X, [0, 0, 0, 1, 2])
    np.testing.assert_allclose(model.predict_proba(X.iloc[:2]), [[4 / 8, 2 / 8, 2 / 8]] * 2)


def test_a_column_of_one_value_stays_alone_in_a_search_even_where_it_is_missing():
    X, y = table(3, 200)
    X["one"] = np.where(y == 1, "v", None)
    for how in ("cuts", "gaussian"):
        model = po.BayesNetClassifier(kinds="categorical", continuous=how).fit(X, y)
        assert not any("one" in arrow for arrow in model.dag_.edges)
        assert len(model.dag_.edges) > 1
