"""What every semi-naive classifier obeys: merge, forgetting, chunks, order, threads; and who is whose special case."""

from __future__ import annotations

import numpy as np
import pytest

import posteriori as po
from posteriori.bayes.learning import KEEP
from posteriori.errors import StatisticsError

SPODE, TAN, AODE, A2DE, KDB = po.SPODE, po.TAN, po.AODE, po.A2DE, po.KDB
MODELS = [
    SPODE(super_parent=0, kinds="categorical"),
    TAN(kinds="categorical"),
    AODE(min_frequency=3, kinds="categorical"),
    AODE(min_frequency=3, lazy=True, kinds="categorical"),
    A2DE(min_frequency=3, kinds="categorical"),
]
ids = [type(m).__name__ + ("_lazy" if getattr(m, "lazy", False) else "") for m in MODELS]


def table(seed=0, n=120, d=5, missing=0.1, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, d)).astype(object)
    X[:, 2] = (X[:, 0] + rng.integers(0, 2, n)) % 4
    y = np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1] + rng.integers(0, 2, n)).astype(int) % classes]
    X[rng.random(X.shape) < missing] = None
    return X, y


def same(a, b, X):
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.statistics_ == b.statistics_
    assert np.array_equal(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X))


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_shards_chunks_and_order_do_not_matter(model):
    from sklearn.base import clone

    X, y = table()
    whole = clone(model).fit(X, y)
    parts = [clone(model).fit(X[rows], y[rows]) for rows in (slice(0, 30), slice(30, 31), slice(31, 120))]
    same((parts[0] + parts[1]) + parts[2], whole, X)
    same(parts[2] + (parts[0] + parts[1]), whole, X)
    chunks = clone(model)
    for rows in np.array_split(np.arange(len(y)), 7):
        chunks.partial_fit(X[rows], y[rows])
    same(chunks, whole, X)
    order = np.random.default_rng(1).permutation(len(y))
    same(clone(model).fit(X[order], y[order]), whole, X)


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_forgetting_restores_values_classes_and_counts(model):
    from sklearn.base import clone

    X, y = table()
    X[100:, 3] = "only late"
    y[110:] = "z"
    same(clone(model).fit(X, y).forget(X[100:], y[100:], keep=KEEP), clone(model).fit(X[:100], y[:100]), X[:100])


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_weight_two_is_two_rows_and_threads_do_not_matter(model):
    from sklearn.base import clone

    X, y = table()
    twice = clone(model).fit(np.concatenate([X, X]), np.concatenate([y, y]))
    heavy = clone(model).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert np.allclose(twice.predict_joint_log_proba(X), heavy.predict_joint_log_proba(X), rtol=1e-12)
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    same(clone(model).set_params(n_jobs=2).fit(X, y), one, X)


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_posteriors_sum_to_one_and_follow_from_the_joint(model):
    X, y = table()
    model.fit(X, y)
    joint = model.predict_joint_log_proba(X)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert model.score_samples(X) == pytest.approx(np.logaddexp.reduce(joint, axis=1))


def kdb_parts(X, y, **how):
    first = KDB(**how, kinds="categorical").fit(X, y)
    half = KDB(**how, kinds="categorical")
    return first, half


@pytest.mark.parametrize("k", [0, 1, 2])
def test_kdb_counts_add_under_one_structure(k):
    X, y = table(missing=0)
    whole, later = kdb_parts(X, y, k=k)
    later.partial_fit(X, y)
    later.partial_fit(X, y).forget(X, y, keep=KEEP)  # the structure of the first batch stays
    same(later, whole, X)
    twice = whole + later
    heavy = KDB(k=k, kinds="categorical").fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert np.allclose(twice.predict_joint_log_proba(X), heavy.predict_joint_log_proba(X), rtol=1e-12)
    if k:
        rng = np.random.default_rng(3)
        other = KDB(k=k, kinds="categorical").fit(rng.permuted(X, axis=0), y)
        if other.structure_ != whole.structure_:
            with pytest.raises(StatisticsError, match="different parents"):
                whole + other


@pytest.mark.parametrize("smoothing", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("as_codes", [True, False])
def test_kdb_without_parents_is_naive_bayes_to_the_last_bit(smoothing, as_codes):
    X, y = table(missing=0 if as_codes else 0.1)
    X = X.astype(np.uint8) if as_codes else X
    how = {"smoothing": smoothing, "kinds": "categorical"}
    naive = po.NaiveBayes(**how).fit(X, y).predict_joint_log_proba(X)
    assert np.array_equal(KDB(k=0, **how).fit(X, y).predict_joint_log_proba(X), naive)


def test_tan_of_one_attribute_is_naive_bayes():
    X, y = table()
    X = X[:, :1]
    naive = po.NaiveBayes(kinds="categorical").fit(X, y).predict_joint_log_proba(X)
    assert np.array_equal(TAN(kinds="categorical").fit(X, y).predict_joint_log_proba(X), naive)
    assert np.allclose(SPODE(kinds="categorical").fit(X, y).predict_joint_log_proba(X), naive)


@pytest.mark.parametrize(
    "model", [TAN(), AODE(min_frequency=3), A2DE(min_frequency=3), KDB(k=1), SPODE(super_parent=1)]
)
def test_numeric_columns_with_equal_cuts_add_and_others_say_so(model):
    from sklearn.base import clone

    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0.2).astype(int) + (X[:, 1] > 0)
    whole = clone(model).fit(X, y)
    assert sorted(whole.cuts_) == ["x0", "x1", "x2"]
    told = clone(model).set_params(cuts=whole.cuts_)
    parts = clone(told).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    if not isinstance(model, KDB):
        same(parts, whole, X)
        same(clone(told).fit(X[:150], y[:150]) + clone(told).fit(X[150:], y[150:]), whole, X)
    with pytest.raises(StatisticsError, match="cut in different places"):
        clone(model).fit(X[:150], y[:150]).statistics_ + clone(model).fit(X[:140] * 2, y[:140]).statistics_


@pytest.mark.parametrize("model", [*MODELS, KDB(1, kinds="categorical")], ids=[*ids, "KDB"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_rows_that_come_and_go_one_by_one_though_few_columns_have_few_pairs(model, d):
    """A row lacks values and classes that the model has: its counts move into another schema, of no pairs too."""
    from sklearn.base import clone

    X, y = table(seed=d, n=30, d=max(d, 3))
    X = X[:, :d]
    whole, half = clone(model).fit(X, y), clone(model).fit(X[:15], y[:15])
    if not isinstance(model, KDB):  # whose structure follows the rows
        grown = clone(model).fit(X[:15], y[:15])
        for r in range(15, 30):
            grown.partial_fit(X[r : r + 1], y[r : r + 1])
        same(grown, whole, X)
    for r in range(29, 14, -1):
        whole.forget(X[r : r + 1], y[r : r + 1], keep=KEEP)
    if not isinstance(model, KDB):
        same(whole, half, X)
    assert whole.class_count_.sum() == 15
