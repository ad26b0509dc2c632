"""CategoricalNB beside scikit-learn's, in every type of code; categories as they come and as they are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import CategoricalNB as Peer

import posteriori as po
from posteriori.bayes.drop_ins import MANY, SAMPLE
from posteriori.errors import BadValue, UnknownValue

TYPES = [np.uint8, np.uint16, np.uint32, np.int32, np.int64, np.int8, float]


def rows(seed=0, n=30):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, s, n) for s in (2, 3, 5)]), rng.integers(0, 3, n)


@given(st.integers(0, 300), st.sampled_from(TYPES), st.sampled_from([0.5, 1.0]), st.booleans(), st.booleans())
def test_it_is_scikit_learn_s(seed, dtype, alpha, weighted, prior):
    X, y = rows(seed)
    w = np.random.default_rng(seed).random(30) if weighted else None
    ours, theirs = (M(alpha=alpha, fit_prior=prior).fit(X.astype(dtype), y, w) for M in (po.CategoricalNB, Peer))
    assert ours.predict_log_proba(X.astype(dtype)) == pytest.approx(theirs.predict_log_proba(X), rel=1e-9)
    for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        assert a == pytest.approx(b)
    for a, b in zip(ours.category_count_, theirs.category_count_, strict=True):
        assert a == pytest.approx(b)
    assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
    prior, parts = ours._log_parts(X.astype(dtype))
    joint = parts.sum(axis=1) + prior
    assert joint - np.logaddexp.reduce(joint, axis=1)[:, None] == pytest.approx(ours.predict_log_proba(X.astype(dtype)))


@pytest.mark.parametrize("least", [7, [2, 9, 5], np.array([1, 1, 1])])
def test_categories_that_no_row_has(least):
    X, y = rows()
    ours, theirs = (M(min_categories=least).fit(X, y) for M in (po.CategoricalNB, Peer))
    assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
    far = ours.n_categories_[None] - 1
    assert ours.predict_proba(far) == pytest.approx(theirs.predict_proba(far))


@pytest.mark.parametrize(
    ("least", "said"),
    [
        ([2, 3], r"shape \(3,\).*Got \(2,\)"),
        (2.5, "integral type"),
        (["a", "b", "c"], "integral type"),
        ([[1], [1, 2]], "numbers"),
    ],
)
def test_categories_that_are_none(least, said):
    X, y = rows()
    with pytest.raises((BadValue, ValueError), match=said + "|min_categories"):
        po.CategoricalNB(min_categories=least).fit(X, y)


def test_a_category_that_comes_late_is_counted():
    X = np.zeros((SAMPLE + 3, 2), dtype=np.uint8)
    X[-1] = [4, 200]
    y = np.arange(len(X)) % 2
    model = po.CategoricalNB().fit(X, y)
    assert model.n_categories_.tolist() == [5, 201]
    assert sum(c.sum() for c in model.category_count_) == 2 * len(X)
    later = po.CategoricalNB().partial_fit(X[:10], y[:10], classes=[0, 1]).partial_fit(X[-1:], y[-1:])
    assert later.n_categories_.tolist() == [5, 201]


def test_what_the_model_does_not_know_is_named():
    X, y = rows()
    model = po.CategoricalNB().fit(X, y)
    with pytest.raises(UnknownValue, match="row 1 has category 3 in column 1, but the model knows 0 to 2"):
        model.predict([[0, 0, 0], [0, 3, 0]])
    with pytest.raises(UnknownValue, match="row 0 has category 2 in column 0"):
        model.predict_proba([[2, 0, 0]])
    with pytest.raises(UnknownValue):
        model._log_parts(np.array([[0, 0, 5]]))
    for bad in (np.array([[-1, 0, 0]]), np.array([[-1, 0, 0]], dtype=np.int32)):
        with pytest.raises(ValueError, match="Negative"):
            model.predict(bad)
        with pytest.raises(ValueError, match="Negative"):
            po.CategoricalNB().fit(bad, [0])
    with pytest.raises(AttributeError, match="category_count_"):
        model.feature_count_  # noqa: B018
    tags = model.__sklearn_tags__().input_tags
    assert tags.categorical
    assert tags.positive_only
    assert not tags.sparse


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32, float])
def test_many_cells_of_any_type_are_bytes(dtype, order):
    X, y = rows(n=MANY // 3 + 1)
    small, wide = X.astype(np.uint8), np.array(X, dtype=dtype, order=order)
    told, model = (po.CategoricalNB().fit(A, y) for A in (small, wide))
    assert model._border(wide, False).dtype == np.uint8
    assert (model.statistics_.table.table == told.statistics_.table.table).all()
    assert model.class_count_.tolist() == np.bincount(y).tolist()
    assert (model.predict_proba(wide) == told.predict_proba(small)).all()
    wide[-1, 2] = 300  # no byte
    more = po.CategoricalNB().fit(wide, y)
    assert more.n_categories_.tolist() == [2, 3, 301]
    with pytest.raises(UnknownValue, match=f"row {len(X) - 1} has category 300"):
        model.predict_proba(wide)
    wide[-1, 2] = -2
    with pytest.raises(ValueError, match="Negative values"):
        po.CategoricalNB().fit(wide, y)


def test_a_float_among_many_that_is_no_number():
    X, y = rows(n=MANY // 3 + 1)
    X = X.astype(float)
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        po.CategoricalNB().fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_a_class_are_counted_once(weighted):
    X, y = rows()
    w = np.random.default_rng(1).random(30) if weighted else None
    model = po.CategoricalNB().fit(X, y, w)
    assert (model.class_count_ == np.bincount(y, w)).all()


@pytest.mark.parametrize("far", [2.0**40, 2.0**62, 2.0**63, 1e19, 2**63 - 1, 2**40])
@pytest.mark.parametrize("dtype", [None, object, np.uint64])
@pytest.mark.filterwarnings("error")
def test_a_category_beyond_memory_is_named(far, dtype):
    X = np.array([[0, 1], [1, far], [0, 0]], dtype=dtype)
    named = r"row 1 has category \S+ in column 1" if dtype is not object or far < 2**63 else "larger than 2⁶³"
    with pytest.raises(BadValue, match=named):
        po.CategoricalNB().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match=named):
        po.CategoricalNB().fit([[0, 1], [1, 0]], [0, 1]).predict(X)


@pytest.mark.parametrize("low", [-1, -1.5, -1e19, -(2**63)])
@pytest.mark.filterwarnings("error")
def test_negative_categories_are_said_to_be_negative(low):
    with pytest.raises(ValueError, match="Negative values in data passed to CategoricalNB"):
        po.CategoricalNB().fit(np.array([[low], [1]]), [0, 1])
