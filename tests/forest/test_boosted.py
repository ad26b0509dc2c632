"""BoostedBayes: the same bits for any threads, answers out of fold, both losses, tables at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import posteriori as po
from posteriori.decision.folds import stratified
from posteriori.errors import MemoryBudgetError
from posteriori.forest.pool import pooled

from .making import IRIS, mixed


def small(loss="log", **how):
    return po.BoostedBayes(loss, **{"max_rounds": 40, "random_state": 0, **how})


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)  # enough work for threads
    one, three = (small(n_jobs=j, max_rounds=20).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))
    assert_array_equal(one.feature_importances_, three.feature_importances_)


def test_the_same_seed_gives_the_same_trees_and_another_others():
    X, y = mixed()
    first, again = small().fit(X, y), small().fit(X, y)
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = small().set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = np.random.default_rng(3)
    assert (small(random_state=stream).fit(X, y).predict(X) == first.predict(X)).mean() > 0.8


@pytest.mark.parametrize("loss", ["log", "exponential"])
def test_the_posterior_is_the_tempered_mean_of_five(loss):
    X, y = mixed()
    model = small(loss).fit(X, y)
    codes = model.grown_.coding.code(model._open(X), model._seen)
    mean = model.grown_.rounds.posterior(codes)
    assert_allclose(mean.sum(axis=1), 1.0)
    wanted = pooled([mean], model.class_prior_, np.array([*model.exponents_.values()]))
    assert_allclose(model.predict_proba(X), wanted)
    assert_allclose(wanted.sum(axis=1), 1.0)
    assert_allclose(model.class_prior_, [(y == c).mean() for c in model.classes_])
    assert model.n_rounds_ == 10 * int(np.argmin(model.losses_))
    right = model.classes_[model.oob_decision_function_.argmax(axis=1)] == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_a_row_is_not_known_to_the_model_of_its_fold():
    X, y = mixed()
    codes = np.unique(y, return_inverse=True)[1]
    fold = stratified(codes, 5, np.random.default_rng(0))
    model = small().fit(X, y)
    at = int(np.flatnonzero((fold == 2) & (y == "no"))[0])
    changed = X.copy()
    changed.loc[at, "flag"] = not changed.loc[at, "flag"]  # what others learn from it is not what is said of the fold
    other = small().fit(changed, y)
    rest = (fold == 2) & (np.arange(len(y)) != at)
    if model.exponents_ == other.exponents_ and model.n_rounds_ == other.n_rounds_:
        assert_array_equal(model.oob_decision_function_[rest], other.oob_decision_function_[rest])
    own = [m.grown_.rounds for m in (model, other)]
    n = min(r.n_rounds for r in own)
    for t in range(2 * own[0].n_rounds, 2 * own[0].n_rounds + n):
        a = slice(*own[0].trees.starts[t : t + 2])
        s = t - 2 * own[0].n_rounds + 2 * own[1].n_rounds
        assert_array_equal(own[0].trees.counts[a], own[1].trees.counts[slice(*own[1].trees.starts[s : s + 2])])


def test_out_of_fold_is_honest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    model = small().fit(X, y)
    assert model.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(model.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.1


@pytest.mark.parametrize("loss", ["log", "exponential"])
def test_it_learns_as_well_as_a_peer(loss):
    X, y = load_breast_cancer(return_X_y=True)
    mine = small(loss, max_rounds=300).fit(X[::2], y[::2])
    peer = HistGradientBoostingClassifier(random_state=0).fit(X[::2], y[::2])
    own = np.arange(len(y[1::2])), y[1::2]
    found = [-np.log(np.maximum(m.predict_proba(X[1::2])[own], 1e-15)).mean() for m in (mine, peer)]
    assert found[0] < min(found[1], 0.16)
    assert mine.feature_importances_.sum() == pytest.approx(1.0)


def test_weights():
    X, y = IRIS
    without = small().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert without.classes_.tolist() == [0, 1]
    some = np.arange(150) % 3 > 0
    zero, absent = small().fit(X, y, sample_weight=some * 2.0), small().fit(X[some], y[some])
    assert_array_equal(zero.predict_proba(X), absent.predict_proba(X))  # a weight of 0 is a row that is not there
    assert len(zero.oob_decision_function_) == 100
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert heavy.predict_proba(X)[:, 2].mean() > small().fit(X, y).predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        assert_allclose(small().fit(X, y, np.full(150, scale)).predict_proba(X), small().fit(X, y).predict_proba(X))
    apart = small().fit(X, y, sample_weight=np.where(np.arange(150) % 2, 1e-300, 1e300))
    assert np.isfinite(apart.predict_proba(X)).all()


@pytest.mark.parametrize("loss", ["log", "exponential"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
        (np.array([[1e-150], [1e150], [-1e150], [0.0]] * 4), [0, 1, 0, 1] * 4),
    ],
    ids=["one row", "constant", "three rows", "one class", "all missing", "far apart"],
)
def test_the_smallest_tables(X, y, loss):
    model = small(loss).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.oob_decision_function_.sum(axis=1), 1.0)
    assert set(model.exponents_) == {"trees", "prior"}
    assert np.isfinite(model.feature_importances_).all()


def test_constant_columns_change_nothing_but_the_draws():
    X, y = IRIS
    p = small().fit(np.column_stack([X, np.ones(150)]), y)
    assert p.feature_importances_[-1] == 0
    assert p.score(X=np.column_stack([X, np.ones(150)]), y=y) > 0.95


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10_000))
    y = (X[:, 0] > 0).astype(int)
    model = small(max_rounds=10).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    classes = np.repeat(np.arange(1000), 5)
    many = small(max_rounds=2).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)
    ids = small(max_rounds=3).fit({"id": [f"v{i}" for i in range(700)]}, np.arange(700) % 2)  # 16-bit codes
    assert np.abs(ids.predict_proba({"id": ["v3", "new"]}) - 0.5).max() < 0.1


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="max_rounds"):
        po.BoostedBayes(max_memory=1e5).fit(X, y)
    for wrong in (
        {"loss": "hinge"},
        {"max_rounds": 0},
        {"learning_rate": 0.0},
        {"max_depth": 0},
        {"max_depth": "deep"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            small().set_params(**wrong).fit(X, y)


def test_progress_is_told_and_may_end_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    said = []
    small(n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said[-1] == (40, 40)
    assert said == sorted(said)

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        small(progress=enough).fit(X, y)


def test_three_rows_have_the_posterior_of_their_shares_or_a_flatter_one():
    found = po.BoostedBayes(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 0, 1]).predict_proba([[0.0], [5.0]])
    assert (found[:, 0] > 0.5).all()
    assert (found[:, 0] <= 2 / 3 + 1e-9).all()
