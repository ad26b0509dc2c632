"""BayesTree: laws of counts, oracles by hand and by scikit-learn, and tables at the edge."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.errors import MemoryBudgetError, ModelError, NotLearned, PosterioriError, StatisticsError
from posteriori.forest import tree as tree_room
from posteriori.table.schema import Schema

IRIS = load_iris(return_X_y=True)
CRITERIA = ("entropy", "gain_ratio", "gini")


@st.composite
def tables(draw):
    """(mixed rows with missing cells, labels, whole weights)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    X = pd.DataFrame(
        {
            "word": rng.choice(list("abc"), n).astype(object),
            "number": rng.normal(size=n).round(draw(st.integers(0, 3))),
            "flag": rng.integers(0, 2, n).astype(bool),
        }
    )
    X.loc[rng.random(n) < 0.15, "word"] = None
    X.loc[rng.random(n) < 0.15, "number"] = np.nan
    X.loc[0, ["word", "number"]] = ["a", 1.0]  # a column of missing cells alone has no type
    return X, rng.integers(0, k, n), rng.integers(1, 4, n)


def table_of(model):
    tree = model.statistics_.tree
    return [tree.column, tree.cut, tree.child, tree.counts, tree.bits]


@pytest.mark.parametrize("criterion", CRITERIA)
@given(tables())
def test_a_weight_of_two_is_the_row_twice_in_any_order(criterion, table):
    X, y, w = table
    twice = np.repeat(np.arange(len(y)), w)
    order = np.random.default_rng(0).permutation(len(twice))
    heavy = po.BayesTree(criterion).fit(X, y, sample_weight=w)
    often = po.BayesTree(criterion).fit(X.iloc[twice[order]], y[twice[order]])
    for a, b in zip(table_of(heavy), table_of(often)):
        assert_array_equal(a, b)
    assert heavy.backoff_ == often.backoff_
    assert_array_equal(heavy.predict_proba(X), often.predict_proba(X))


@given(tables(), st.integers(1, 39))
def test_learning_more_and_forgetting_it_again_changes_nothing(table, at):
    X, y, _ = table
    at = min(at, len(y) - 1)
    model = po.BayesTree(ccp_alpha=0, backoff=1.0).fit(X[:at], y[:at])
    before, classes = table_of(model), model.classes_.tolist()
    model.partial_fit(X[at:], y[at:])
    assert set(model.classes_) == set(y)
    assert_allclose(model.class_count_.sum(), len(y))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    model.forget(X[at:], y[at:], keep=KEEP)
    for a, b in zip(table_of(model), before):
        assert_array_equal(a, b)
    assert model.classes_.tolist() == classes


@given(tables())
def test_counts_add_in_any_chunks(table):
    X, y, _ = table
    grown = po.BayesTree(ccp_alpha=0, backoff=1.0).fit(X, y)
    again = clone(grown).fit(X, y)
    for start in range(0, len(y), 7):
        again.partial_fit(X[start : start + 7], y[start : start + 7])
    twice = grown + grown
    for a, b in zip(table_of(twice), table_of(again)):
        assert_array_equal(a, b)
    assert_allclose(grown.decay(0.5).statistics_.table, again.decay(0.25).statistics_.table)


@given(tables())
def test_without_backing_off_the_leaf_answers(table):
    X, y, _ = table
    model = po.BayesTree(ccp_alpha=0, backoff=0.0).fit(X, y)
    leaf = model.statistics_.table[model.apply(X)]
    assert_allclose(model.predict_proba(X), leaf / leaf.sum(axis=1, keepdims=True))
    assert_allclose(model.set_params(backoff=3.0).node_posteriors_[model.apply(X)], model.predict_proba(X))


def test_backing_off_by_pencil():
    """c = 1 at the root and at a leaf, 16 between them."""
    X = {"a": ["x"] * 4 + ["y"] * 4, "b": [0, 0, 0, 1, 0, 0, 0, 0]}
    model = po.BayesTree(backoff=1.0, kinds="categorical").fit(X, [0, 0, 0, 1, 1, 1, 1, 1])
    root = (5 + 0.5) / 9  # of class 1
    between = (1 + 16 * root) / 20
    wanted = [between / 4, (1 + between) / 2, (4 + root) / 5]
    assert_allclose(model.predict_proba({"a": ["x", "x", "y"], "b": [0, 1, 0]})[:, 1], wanted)
    assert_allclose(model.predict_proba({"a": ["x"], "b": [7]})[:, 1], [between])  # the way ends before the leaf


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.05, 0.2])
def test_numbers_are_split_and_pruned_as_scikit_learn_does(criterion, alpha):
    X, y = IRIS
    nats = alpha * (np.log(2) if criterion == "entropy" else 1.0)  # it counts bits
    ours = po.BayesTree(criterion, ccp_alpha=nats, backoff=0.0).fit(X, y)
    theirs = DecisionTreeClassifier(criterion=criterion, ccp_alpha=alpha, random_state=0).fit(X, y)
    # of splits that gain the same ours takes the first column, theirs any
    assert abs(ours.n_leaves_ - theirs.get_n_leaves()) <= 2
    share = ours.predict_proba(X)[np.arange(len(y)), y].mean()
    assert abs(share - theirs.predict_proba(X)[np.arange(len(y)), y].mean()) < 0.02


def test_gain_by_pencil():
    """The first question of a table small enough for paper: outlook gains .2467 bits of .9403."""
    outlook = ["sunny"] * 2 + ["overcast"] + ["rainy"] * 3 + ["overcast"] + ["sunny"] * 2 + ["rainy", "sunny"]
    outlook += ["overcast"] * 2 + ["rainy"]
    play = ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "yes", "yes", "yes", "no"]
    windy = [0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1]
    model = po.BayesTree(max_depth=1, ccp_alpha=0, backoff=0.0).fit({"windy": windy, "outlook": outlook}, play)
    assert model.rules() == (
        "if outlook is overcast then yes (P = 1.000, 4 of 4)\nif outlook is rainy or sunny then no (P = 0.500, 5 of 10)"
    )
    assert_array_equal(model.feature_importances_, [0.0, 1.0])


def test_gain_ratio_minds_how_many_parts_a_split_has():
    X = {"even": [0, 0, 1, 1, 0, 0, 1, 1], "rare": [1, 0, 0, 0, 0, 0, 0, 0]}
    y = [0, 0, 1, 1, 0, 1, 0, 1]
    gain, ratio = (po.BayesTree(c, max_depth=1, ccp_alpha=0).fit(X, y).rules() for c in ("entropy", "gain_ratio"))
    assert gain.startswith("if even")
    assert ratio.startswith("if rare")


def test_a_difference_that_only_two_columns_show_is_found():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    model = po.BayesTree(ccp_alpha=0, backoff=0.0).fit(X, X[:, 0] ^ X[:, 1])
    assert (model.predict(X) == X[:, 0] ^ X[:, 1]).all()


def test_missing_and_unseen():
    X = pd.DataFrame({"a": ["x", "x", "y", "y", None, None], "b": [1.0, 2, 3, 4, 5, 6]})
    y = [0, 0, 1, 1, 2, 2]
    model = po.BayesTree(ccp_alpha=0, backoff=0.0).fit(X[["a"]], y)
    assert_array_equal(model.predict_proba({"a": [None, "y"]}), [[0, 0, 1], [0, 1, 0]])
    assert model.n_missing_ == 1
    assert_array_equal(model.predict_proba({"a": ["new"]}), [[0, 0, 1]])  # taken for missing, which is a value here
    assert model.n_unseen_ == 1
    numbers = po.BayesTree(ccp_alpha=0, backoff=0.0).fit(X[["b"]], y)
    assert_allclose(numbers.predict_proba({"b": [np.nan]}), [[1 / 3] * 3])  # nothing is known: the root answers
    assert model.predict({"a": "x"}).tolist() == [0]


def test_what_is_learned_later_finds_its_way():
    model = po.BayesTree(ccp_alpha=0, backoff=1.0).fit({"a": ["x", "x", "y", "y"]}, [0, 0, 1, 1])
    model.partial_fit({"a": ["z", "y"]}, [2, 1])  # z stays at the root
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.statistics_.table.tolist() == [
        [2, 3, 1],
        [0, 3, 0],
        [2, 0, 0],
    ] or model.statistics_.table.tolist() == [
        [2, 3, 1],
        [2, 0, 0],
        [0, 3, 0],
    ]
    with pytest.raises(NotLearned):
        model.forget({"a": ["z"] * 2}, [2, 2], keep=KEEP)
    assert model.classes_.tolist() == [0, 1, 2]


def test_trees_of_other_rows_do_not_add():
    X, y = IRIS
    with pytest.raises(StatisticsError, match="partial_fit"):
        po.BayesTree().fit(X, y) + po.BayesTree().fit(X[::2], y[::2])


def test_a_declared_class_stays():
    schema = Schema.declare({"a": ["x", "y"]}, classes=["n", "p", "q"])
    model = po.BayesTree(kinds=schema, backoff=1.0).fit({"a": ["x", "y"]}, ["n", "p"])
    assert model.classes_.tolist() == ["n", "p", "q"]
    assert (model.predict_proba({"a": ["x"]}) > 0).all()


def test_a_column_of_noise_changes_little():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 1))
    y = (X[:, 0] + 0.5 * rng.normal(size=600) > 0).astype(int)
    noise, asked = rng.normal(size=(600, 1)), rng.normal(size=(300, 2))
    alone = po.BayesTree().fit(X, y).predict_proba(asked[:, :1])
    beside = po.BayesTree().fit(np.hstack([X, noise]), y).predict_proba(asked)
    assert np.abs(alone - beside).mean() < 0.1


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
    ],
    ids=["one row", "constant", "three rows", "one class", "all missing"],
)
def test_the_smallest_tables(X, y):
    model = po.BayesTree().fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert model.rules()
    assert model.depth_ >= 0
    assert model.feature_importances_.sum() in (0.0, 1.0)


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    y = (X[:, 9_000] > 0).astype(int)
    assert po.BayesTree(ccp_alpha=0, backoff=0.1).fit(X, y).rules().startswith("if x9000 <")
    classes = np.arange(1000)
    model = po.BayesTree(ccp_alpha=0, backoff=0.1).fit(np.repeat(classes, 2)[:, None], np.repeat(classes, 2))
    assert (model.predict(classes[:, None]) == classes).mean() > 0.1  # bins are fewer than classes


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_and_numbers_of_any_scale(scale, criterion):
    X, y = IRIS
    plain = po.BayesTree(criterion, ccp_alpha=0, backoff=0.0).fit(X, y)
    scaled = po.BayesTree(criterion, ccp_alpha=0, backoff=0.0).fit(
        X * (scale * 2.0**9), y, sample_weight=np.full(len(y), scale)
    )
    assert_array_equal(plain.statistics_.tree.column, scaled.statistics_.tree.column)
    assert_allclose(plain.predict_proba(X), scaled.predict_proba(X * (scale * 2.0**9)))


def test_memory_layout_does_not_matter():
    X, y = IRIS
    wanted = po.BayesTree().fit(X, y).predict_proba(X)
    frozen = X.copy()
    frozen.setflags(write=False)
    wide = np.zeros((len(X), 8))
    wide[:, ::2] = X
    for same in (np.asfortranarray(X), frozen, wide[:, ::2], X.astype(object)):
        assert_array_equal(po.BayesTree().fit(same, y).predict_proba(same), wanted)
    assert po.BayesTree().fit(X.astype(np.float32), y).score(X.astype(np.float32), y) > 0.95


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (X.sum(axis=1) + rng.normal(size=20_000) > 0).astype(int)
    one, three = (po.BayesTree(n_jobs=j).fit(X, y) for j in (1, 3))
    assert one.backoff_ == three.backoff_ > 1
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_refusals_name_the_reason():
    X, y = IRIS
    model = po.BayesTree(ccp_alpha=0, backoff=1.0).fit(X, y)
    assert model.backoff_ == 1.0
    assert_array_equal(
        model.set_params(backoff="auto").predict_proba(X), model.set_params(backoff=1.0).predict_proba(X)
    )
    with pytest.raises(ModelError, match="is text"):
        po.BayesTree(kinds={"a": "text"}).fit({"a": ["x y", "z"]}, [0, 1])
    with pytest.raises(MemoryBudgetError, match="max_memory"):
        po.BayesTree(max_memory=100).fit(X, y)
    with pytest.raises(ModelError, match="more than a tree can ask for"):
        po.BayesTree().fit({"id": [str(i) for i in range(70_000)]}, [0, 1] * 35_000)
    with pytest.raises(PosterioriError, match="infinity"):
        po.BayesTree().fit([[np.inf], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="balanced"):
        po.BayesTree(class_weight="balanced").partial_fit(X, y)


def test_class_weights_are_weights():
    X, y = IRIS
    by_class = po.BayesTree(ccp_alpha=0, backoff=1.0, class_weight={0: 2, 1: 1, 2: 1}).fit(X, y)
    by_row = po.BayesTree(ccp_alpha=0, backoff=1.0).fit(X, y, sample_weight=np.where(y == 0, 2, 1))
    assert_array_equal(by_class.predict_proba(X), by_row.predict_proba(X))


def test_pruning_chosen_by_folds_forgets_noise():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 4))
    y = ((X[:, 0] > 0) ^ (rng.random(400) < 0.2)).astype(int)
    whole, small = po.BayesTree().fit(X, y), po.BayesTree(ccp_alpha="auto").fit(X, y)
    assert whole.n_leaves_ > 50 > small.n_leaves_ >= 2
    assert small.ccp_alpha_ > 0 == whole.ccp_alpha_
    asked = rng.normal(size=(400, 4))
    assert ((small.predict(asked) == (asked[:, 0] > 0)).mean()) > 0.9


def test_it_boosts():
    X, y = IRIS
    assert AdaBoostClassifier(po.BayesTree(max_depth=1), n_estimators=10).fit(X, y).score(X, y) > 0.9


def test_a_better_probability_than_the_leaf():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=1000) > 0).astype(int)
    half = slice(0, 500), slice(500, None)

    def loss(model):
        p = np.clip(model.fit(X[half[0]], y[half[0]]).predict_proba(X[half[1]]), 1e-15, 1)
        return -np.log(p[np.arange(500), y[half[1]]]).mean()

    assert loss(po.BayesTree()) < 0.6 < loss(DecisionTreeClassifier(random_state=0))


def test_explain_ends_the_way_where_a_column_is_asked_for():
    X = {"a": ["x", "x", "y", "y"], "b": ["u", "v", "u", "v"]}
    model = po.BayesTree(backoff=1.0).fit(X, [0, 0, 1, 1])
    why = model.explain({"a": "x", "b": "u"})
    parts = {p.column: p.log_odds for p in why.parts}
    assert parts["b"] == 0.0
    assert parts["a"] == pytest.approx(np.log(2.5 / 0.5))  # the root alone says nothing
    assert str(why.changes[0]).startswith("a: x → y")


def test_pictures_and_pickles():
    X, y = IRIS
    model = po.BayesTree().fit(pd.DataFrame(X, columns=list("abcd")), [f"<{c}>" for c in y])
    face = model._repr_html_()
    assert "<svg" in face
    assert "&lt;0&gt;" in face
    assert "<0>" not in face
    assert "BayesTree" in po.BayesTree()._repr_html_()
    again = pickle.loads(pickle.dumps(model))
    asked = pd.DataFrame(X, columns=list("abcd"))
    assert_array_equal(again.predict_proba(asked), model.predict_proba(asked))
    pytest.importorskip("matplotlib")
    ax = model.plot(max_depth=2)
    assert any("rows" in t.get_text() for t in ax.texts)


def test_check_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(po.BayesTree(), on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}
    assert len(results) >= 55


# -- what is chosen, by brute force ---------------------------------------------------------------------------------------


def noted(monkeypatch, model, X, y, w=None):
    """A fit, and the losses of each fold that it has summed."""
    found = []

    def one_by_one(work, folds, size, jobs):
        found.append([work(fold) for fold in folds])
        return found[-1]

    with monkeypatch.context() as patch:
        patch.setattr(tree_room, "team_map", one_by_one)
        model.fit(X, y, w)
    return model, found


def words(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.choice(["a", "b"], n), rng.choice(["u", "v", "w"], n), rng.choice(["x", "y"], n)])
    y = ((X[:, 0] == "a") ^ (X[:, 1] == "u") ^ (rng.random(n) < 0.15)).astype(int)
    return {f"c{j}": X[:, j] for j in range(3)}, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_costs_and_concentrations_are_weighed_by_rows_that_took_no_part(monkeypatch, criterion, weighted):
    X, y, w = words()
    w = w if weighted else None
    total = 40.0 if w is None else w.sum()
    model, losses = noted(monkeypatch, po.BayesTree(criterion, ccp_alpha="auto"), X, y, w)
    cs, alphas = tree_room.CONCENTRATIONS, [a / total for a in tree_room.COSTS]
    coding = model.statistics_.coding
    codes, _ = coding.code(model._open(X))
    folds = tree_room.folds_of(tree_room.CodedTable(list(codes.cells), codes.sizes), y, w, 5)
    assert len(losses[0]) == len(folds) == 5
    for fold, loss in zip(folds, losses[0]):
        rows, mass = fold
        out = np.zeros(40)
        out[rows] = 1.0 if mass is None else mass
        left = (1.0 if w is None else w) - out
        kept = left > 1e-6
        part = {name: cells[kept] for name, cells in X.items()}
        for a in (0, 2, 5):
            for c in (0, 5, 12):
                own = po.BayesTree(criterion, ccp_alpha=alphas[a], backoff=cs[c]).fit(part, y[kept], left[kept])
                p = own.predict_proba({name: cells[rows] for name, cells in X.items()})[np.arange(len(rows)), y[rows]]
                assert loss[a, c] == pytest.approx(-(out[rows] * np.log(p)).sum() / total)
    whole = np.sum(losses[0], axis=0)
    a, c = np.argwhere(whole <= whole.min() + 1e-12)[-1]
    assert (model.ccp_alpha_, model.backoff_) == (alphas[a], cs[c])
    told = noted(monkeypatch, po.BayesTree(criterion, ccp_alpha=0.01, backoff=3.0), X, y, w)
    assert (told[0].ccp_alpha_, told[0].backoff_, told[1]) == (0.01, 3.0, [])
    half = noted(monkeypatch, po.BayesTree(criterion, ccp_alpha=alphas[2]), X, y, w)
    assert np.sum(half[1][0], axis=0) == pytest.approx(whole[2:3])
    other = noted(monkeypatch, po.BayesTree(criterion, ccp_alpha="auto", backoff=cs[5]), X, y, w)
    assert np.sum(other[1][0], axis=0) == pytest.approx(whole[:, 5:6])


@pytest.mark.parametrize(("total", "are_shares"), [(1.0, True), (1.999, True), (2.0, False), (80.0, False)])
def test_weights_that_do_not_sum_to_two_rows_are_shares(monkeypatch, total, are_shares):
    X, y, w = words()
    rows, losses = noted(monkeypatch, po.BayesTree(ccp_alpha="auto"), X, y, 40 * w / w.sum())
    model, shares = noted(monkeypatch, po.BayesTree(ccp_alpha="auto"), X, y, total * w / w.sum())
    same = len(shares[0]) == len(losses[0]) and np.allclose(np.sum(shares[0], axis=0), np.sum(losses[0], axis=0))
    assert same == are_shares
    if are_shares:
        assert model.backoff_ == pytest.approx(rows.backoff_ * total / 40)
        assert model.ccp_alpha_ == pytest.approx(rows.ccp_alpha_)


def test_nodes_back_off_from_the_root_to_the_leaf():
    """c at the root and at a leaf, 16 c between them."""
    X, y, w = words()
    model = po.BayesTree(backoff=0.7).fit(X, y, w)
    tree, found = model.statistics_.tree, model.node_posteriors_
    assert model.depth_ >= 2
    above = {0: np.full(2, 0.5)}
    for i, n in enumerate(tree.counts):
        asks = tree.column[i] >= 0
        c = 0.7 * (16.0 if asks and i else 1.0)
        p = (n + c * above[i]) / (n.sum() + c)
        assert found[i] == pytest.approx(p)
        if asks:
            above[int(tree.child[i])] = above[int(tree.child[i]) + 1] = p
    assert model.n_nodes_ == len(tree.column)
    assert model.n_leaves_ == (tree.column < 0).sum()
    at = model.apply(X)
    assert_allclose(model.predict_proba(X), found[at])
    for name in ("apply", "rules"):
        with pytest.raises(NotFittedError):
            getattr(po.BayesTree(), name)(*([X] if name == "apply" else []))
    with pytest.raises(NotFittedError):
        po.BayesTree().plot()


def test_what_is_known_of_a_row_but_for_one_column():
    X, y, w = words()
    model = po.BayesTree(backoff=0.7).fit(X, y, w)
    found = model._log_without(X)
    assert found.shape == (40, 3, 2)
    for j, name in enumerate(X):
        blind = {**X, name: np.full(40, "never seen")}
        assert_allclose(np.exp(found[:, j]), model.predict_proba(blind))
    assert model.cuts_ == {}
    assert model.schema_.classes == (0, 1)
