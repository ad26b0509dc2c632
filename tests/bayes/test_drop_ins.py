"""The five drop-ins: one path for rows, batches and shards; forgetting; what scikit-learn's answer NaN to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes as peer

import posteriori as po
from posteriori.errors import (
    BadValue,
    ImpossibleEvidence,
    NotLearned,
    SingularCovariance,
    StatisticsError,
    UnknownColumn,
    UnknownValue,
)

DISCRETE = [po.CategoricalNB, po.BernoulliNB, po.MultinomialNB, po.ComplementNB]
ALL = [*DISCRETE, po.GaussianNB, po.GaussianBayes]
each = pytest.mark.parametrize("Model", ALL, ids=lambda m: m.__name__)


def rows(Model: Any, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) if Model in (po.GaussianNB, po.GaussianBayes) else rng.integers(0, 3, (n, 4))
    y = np.array(["a", "b", "c"])[np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])]
    return X, y


def build(Model: Any) -> Any:
    return Model(shrinkage=0.2) if Model is po.GaussianBayes else Model()


def same(a: Any, b: Any, X: np.ndarray) -> None:
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.class_count_, b.class_count_, rtol=1e-12)
    assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-10, atol=1e-10)


@each
@settings(max_examples=15)
@given(seed=st.integers(0, 1000), weighted=st.booleans())
def test_any_batches_in_any_order_equal_fit(Model: Any, seed: int, weighted: bool) -> None:
    X, y = rows(Model, 60, seed)
    rng = np.random.default_rng(seed)
    w = rng.random(60) + 0.1 if weighted else np.ones(60)
    whole = build(Model).fit(X, y, sample_weight=w if weighted else None)
    order = rng.permutation(60)
    cuts = np.sort(rng.integers(1, 60, 4))
    parts = [p for p in np.split(order, cuts) if len(p)]
    batches = build(Model)
    for p in parts:
        batches.partial_fit(X[p], y[p], classes=["a", "b", "c"], sample_weight=w[p] if weighted else None)
    same(batches, whole, X)
    shards = [build(Model).fit(X[p], y[p], sample_weight=w[p] if weighted else None) for p in parts]
    merged = shards[0]
    for shard in shards[1:]:
        merged = merged + shard
    same(merged, whole, X)


@each
def test_rows_one_by_one_equal_fit(Model: Any) -> None:
    X, y = rows(Model, 40)
    single = build(Model)
    for r in range(40):
        single.partial_fit(X[r : r + 1], y[r : r + 1], classes=["a", "b", "c"])
    same(single, build(Model).fit(X, y), X)


@each
def test_forgetting_restores_what_was(Model: Any) -> None:
    X, y = rows(Model, 50)
    if Model is po.CategoricalNB:
        X[40:, 0] += 3  # categories that only the forgotten rows have
    extra_y = np.where(np.arange(50) >= 45, "z", y)  # and a class
    model = build(Model).fit(X, extra_y).forget(X[40:], extra_y[40:])
    same(model, build(Model).fit(X[:40], y[:40]), X[:40])
    before = model.predict_joint_log_proba(X[:40])
    strange = X[:40].copy() * 50 + 1 if Model in (po.GaussianNB, po.GaussianBayes) else np.full((40, 4), 2)
    with pytest.raises(NotLearned):
        model.forget(np.vstack([strange] * 3), np.repeat("a", 120))
    with pytest.raises(NotLearned, match="never learned"):
        model.forget(X[:1], ["nobody"])
    assert_array_equal(model.predict_joint_log_proba(X[:40]), before)
    with pytest.raises(StatisticsError, match="the last row cannot be forgotten"):
        model.forget(X[:40], y[:40])
    assert_array_equal(model.predict_joint_log_proba(X[:40]), before)


@each
def test_parameters_may_change_after_training(Model: Any) -> None:
    X, y = rows(Model, 50)
    knob = {po.GaussianNB: {"var_smoothing": 0.5}, po.GaussianBayes: {"covariance": "tied"}}.get(Model, {"alpha": 0.1})
    changed = build(Model).fit(X, y).set_params(**knob)
    assert_allclose(changed.predict_proba(X), build(Model).set_params(**knob).fit(X, y).predict_proba(X), rtol=1e-12)


@each
def test_merging_what_does_not_fit_is_refused(Model: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows(Model, 30)
    a = build(Model).fit(pandas.DataFrame(X, columns=list("abcd")), y)
    b = build(Model).fit(pandas.DataFrame(X, columns=list("abce")), y)
    with pytest.raises(UnknownColumn, match="'e'"):
        a + b
    with pytest.raises(ValueError, match="4 and 3 features"):
        a + build(Model).fit(X[:, :3], y)
    with pytest.raises(TypeError):
        a + 1


@pytest.mark.parametrize("Model", [*DISCRETE, po.GaussianNB], ids=lambda m: m.__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_of_scikit_learn(Model: Any, weighted: bool) -> None:
    X, y = rows(Model, 200)
    w = np.random.default_rng(1).random(200) if weighted else None
    ours, theirs = Model().fit(X, y, sample_weight=w), getattr(peer, Model.__name__)().fit(X, y, sample_weight=w)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-7)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in (n for n in vars(theirs) if n.endswith("_") and n != "epsilon_"):
        mine, his = getattr(ours, name), getattr(theirs, name)
        for one, other in zip(mine, his) if isinstance(his, list) else [(mine, his)]:
            if getattr(other, "dtype", np.dtype(int)).kind == "f":
                assert_allclose(one, other, rtol=1e-8, err_msg=name)
            else:
                assert_array_equal(one, other, err_msg=name)


@pytest.mark.parametrize("Model", [po.BernoulliNB, po.MultinomialNB, po.ComplementNB], ids=lambda m: m.__name__)
@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_sparse_rows_are_dense_rows(Model: Any, alpha: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (80, 30)) * rng.integers(0, 4, (80, 30)), rng.integers(0, 3, 80)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array):
        dense, sparse = Model(alpha=alpha).fit(X, y), Model(alpha=alpha).fit(kind(X), y)
        assert_array_equal(dense.feature_count_, sparse.feature_count_)
        assert_allclose(sparse.predict_joint_log_proba(kind(X)), dense.predict_joint_log_proba(X), rtol=1e-12)
        assert_allclose(sparse.predict_proba(kind(X)[:5]), dense.predict_proba(X[:5]), rtol=1e-9, atol=1e-300)


def test_lambda_zero_is_exact() -> None:
    """At α = 0 an unseen value rules its class out; where all are ruled out the row is named, and no NaN comes out."""
    X, y = [[1, 0, 1], [1, 1, 0]], [0, 1]
    for Model in (po.BernoulliNB, po.MultinomialNB, po.CategoricalNB):
        model = Model(alpha=0.0).fit(X, y)
        assert_allclose(model.predict_proba(X), [[1, 0], [0, 1]])
        assert_array_equal(model.predict_joint_log_proba(X)[[0, 1], [1, 0]], [-np.inf, -np.inf])
        with pytest.raises(ImpossibleEvidence, match="row 1 has probability zero under every class"):
            model.predict_proba([X[0], [1, 1, 1]])
        with pytest.raises(ImpossibleEvidence, match="row 0"):
            model.predict([[1, 1, 1]])
        assert model.score_samples([[1, 1, 1]]).tolist() == [-np.inf]
    assert np.isfinite(po.ComplementNB(alpha=0.0).fit(X, y).predict_proba(X)).all()
    with pytest.raises(BadValue, match="give a positive alpha"):
        po.ComplementNB(alpha=0.0, norm=True).fit([[1, 0], [0, 1]], y)


def test_gaussian_keeps_its_epsilon_out_of_its_moments() -> None:
    X, y = rows(po.GaussianNB, 200)
    X[100:] *= 100
    ours = po.GaussianNB(var_smoothing=0.1).partial_fit(X[:100], y[:100], classes=["a", "b", "c"])
    ours.partial_fit(X[100:], y[100:])
    assert_allclose(ours.var_, peer.GaussianNB(var_smoothing=0.1).fit(X, y).var_)
    assert_allclose(ours.epsilon_, 0.1 * X.var(axis=0).max())


def test_gaussian_odd_cases() -> None:
    flat = po.GaussianNB(var_smoothing=0).fit([[1.0, 2.0], [1.0, 3.0], [1.0, 7.0]], ["a", "a", "b"])
    with pytest.raises(SingularCovariance, match="class 'a' has variance 0 in column 0"):
        flat.predict([[1.0, 2.0]])
    model = po.GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    for bad, message in [(np.nan, "contains NaN"), (np.inf, "contains infinity")]:
        with pytest.raises(ValueError, match=message):
            model.predict_proba([[bad]])
        with pytest.raises(ValueError, match=message):
            po.GaussianNB().fit([[0.0], [bad]], [0, 1])
    with pytest.raises(BadValue, match="too large"):
        po.GaussianNB().fit([[1e200], [-1e200]], [0, 1])
    assert model.predict_proba([[1e150]]).sum() == 1.0
    one = po.GaussianNB().fit([[1.0], [2.0]], ["only", "only"])
    assert one.predict([[9.0]]).tolist() == ["only"]
    assert one.predict_proba([[9.0]]).tolist() == [[1.0]]
    assert po.GaussianNB().fit(np.array([[1.0], [2.0]], np.float32), [0, 1]).theta_.dtype == np.float32


@each
def test_weights_and_labels_that_cannot_be(Model: Any) -> None:
    X, y = rows(Model, 20)
    with pytest.raises(ValueError, match="a sample weight must be finite and not negative"):
        build(Model).fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="all sample weights are zero"):
        build(Model).fit(X, y, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match="NaN"):
        build(Model).fit(X, np.full(20, np.nan))
    with pytest.raises(ValueError, match=r"label\(s\) 'c' in y do not exist in the initial classes 'a', 'b'"):
        build(Model).partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="Complex data not supported"):
        build(Model).fit(X + 1j, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        build(Model).fit(X, y[:-1])
    empty = build(Model).partial_fit(X, y, classes=["a", "b", "c", "nobody"])
    assert_array_equal(
        empty.predict_proba(X)[:, 3], 0.0 if Model is not po.ComplementNB else empty.predict_proba(X)[:, 3]
    )


def test_categorical_odd_cases() -> None:
    model = po.CategoricalNB().fit([[0, 1], [1, 0]], ["a", "b"])
    with pytest.raises(UnknownValue, match="row 1 has category 5 in column 0, but the model knows 0 to 1"):
        model.predict([[0, 0], [5, 0]])
    with pytest.raises(ValueError, match="Negative values"):
        model.predict_proba(np.array([[-1, 0]]))
    with pytest.raises(ValueError, match="Negative values"):
        po.CategoricalNB().fit(np.array([[-1, 0]]), [0])
    late = np.zeros((10_000, 1), np.uint8)
    late[-1] = 7  # a category that the first rows do not show
    assert po.CategoricalNB().fit(late, np.arange(10_000) % 2).n_categories_.tolist() == [8]
    many = np.arange(1_000_000).reshape(-1, 1)
    wide = po.CategoricalNB().fit(many, np.arange(1_000_000) % 2)
    assert wide.n_categories_.tolist() == [1_000_000]
    assert_allclose(wide.predict_proba(many[:2]), [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    for dtype in (np.int8, np.int32, np.uint16, np.float64):
        assert model.predict(np.array([[1, 0]], dtype)).tolist() == ["b"]


def test_bernoulli_without_binarize() -> None:
    X, y = np.array([[1, 0], [0, 1], [1, 1]]), [0, 1, 1]
    assert_allclose(po.BernoulliNB(binarize=None).fit(X, y).feature_count_, po.BernoulliNB().fit(X, y).feature_count_)
    half = po.BernoulliNB(binarize=None).fit(X * 0.5, y)
    assert_allclose(half.predict_proba(X * 0.5), peer.BernoulliNB(binarize=None).fit(X * 0.5, y).predict_proba(X * 0.5))
    with pytest.raises(BadValue, match="binarize=None needs cells between 0 and 1"):
        po.BernoulliNB(binarize=None).fit(X * 3, y)
