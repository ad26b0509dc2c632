"""Laws of counting: any order, any batches, any shards, any threads give the same model; forgetting undoes learning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posteriori as po
from posteriori.errors import NotLearned, StatisticsError

KINDS = {"word": "categorical", "flag": "binary", "hits": "count", "size": "numeric", "note": "text"}


@st.composite
def tables(draw, min_rows=2, max_rows=24):
    n = draw(st.integers(min_rows, max_rows))
    cell = lambda *v: st.lists(st.sampled_from(v), min_size=n, max_size=n)  # noqa: E731
    sizes = st.one_of(st.none(), st.integers(-1000, 1000).map(lambda v: v / 8))
    frame = pd.DataFrame(
        {
            "word": pd.Series(draw(cell("a", "b", "c", "d", None)), dtype=object),
            "flag": pd.Series(draw(cell(True, False, None)), dtype=object),
            "hits": draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)),
            "size": np.array(draw(st.lists(sizes, min_size=n, max_size=n)), dtype=float),
            "note": pd.Series(draw(cell("win cash", "see you", "cash you", "", None)), dtype=object),
        }
    )
    return frame, np.array(draw(cell("x", "y", "z")))


def model(**k):
    density = k.pop("density", None)
    return po.NaiveBayes(kinds=KINDS, density=density, **k)


def same(a, b, exact=True):
    s, t = a.statistics_, b.statistics_
    assert s.schema == t.schema
    assert np.array_equal(s.rows, t.rows)
    assert s.cells == t.cells
    assert s.words == t.words
    assert s.histograms == t.histograms
    assert s.sample == t.sample
    np.testing.assert_array_equal(s.moments.n, t.moments.n)
    np.testing.assert_allclose(s.moments.mean, t.moments.mean, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(s.moments.m2, t.moments.m2, rtol=1e-9, atol=1e-7)


DENSITIES = [None, {"size": "kernel", "hits": "poisson"}, {"size": "binned"}, {"size": "gaussian"}]


@pytest.mark.parametrize("density", DENSITIES, ids=str)
@given(data=tables(), cuts=st.lists(st.integers(1, 23), max_size=4), seed=st.integers(0, 9))
def test_batches_order_and_shards(density, data, cuts, seed):
    X, y = data
    whole = model(density=density).fit(X, y)
    order = np.random.default_rng(seed).permutation(len(y))
    parts = [p for p in np.split(order, sorted({c for c in cuts if c < len(y)})) if len(p)]
    grown = model(density=density)
    for rows in parts:
        grown.partial_fit(X.iloc[rows], y[rows])
    same(whole, grown)
    shards = [model(density=density).fit(X.iloc[rows], y[rows]) for rows in parts]
    merged = shards[-1]
    for shard in shards[:-1]:
        merged = shard + merged
    same(whole, merged)
    assert whole.density_ == grown.density_ == merged.density_
    np.testing.assert_allclose(whole.predict_proba(X), merged.predict_proba(X), rtol=1e-7, atol=1e-9)


@given(data=tables(max_rows=10))
def test_row_by_row(data):
    X, y = data
    grown = model()
    for i in range(len(y)):
        grown.partial_fit(X.iloc[[i]], y[[i]])
    same(model().fit(X, y), grown)


@pytest.mark.parametrize("density", DENSITIES, ids=str)
@given(data=tables(min_rows=3), split=st.integers(1, 20))
def test_forget_restores(density, data, split):
    X, y = data
    split = min(split, len(y) - 1)
    kept = model(density=density).fit(X[:split], y[:split])
    both = model(density=density).fit(X, y)
    try:
        both.forget(X[split:], y[split:])
    except StatisticsError as error:  # a column of which nothing but rounding would stay
        if "fit again" not in str(error):
            raise
        assert X["size"][:split].nunique() <= 1 or X["hits"][:split].nunique() <= 1
        return
    same(kept, both)


@given(data=tables(min_rows=3), split=st.integers(1, 20))
def test_what_was_not_learned_is_refused_whole(data, split):
    X, y = data
    split = min(split, len(y) - 1)
    m = model().fit(X[:split], y[:split])
    before = m.statistics_
    odd = X[:1].assign(word="never")
    with pytest.raises(NotLearned):
        m.forget(odd, y[:1])
    with pytest.raises(NotLearned):
        m.forget(pd.concat([X[:split]] * 2), np.concatenate([y[:split]] * 2))
    assert m.statistics_ is before
    m.decay(0.5)
    with pytest.raises(NotLearned, match="decay"):
        m.forget(X[:1], y[:1])


@given(data=tables())
def test_weight_two_is_two_rows(data):
    X, y = data
    weights = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weights.astype(int))
    a = model().fit(X, y, sample_weight=weights)
    b = model().fit(X.iloc[twice], y[twice])
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)


@given(data=tables())
def test_posteriors_sum_to_one_and_threads_change_nothing(data):
    X, y = data
    one, many = model(n_jobs=1).fit(X, y), model(n_jobs=3).fit(X, y)
    p = one.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.array_equal(p, many.predict_proba(X))
    assert not np.isnan(p).any()


def test_threads_change_no_count_on_a_large_table():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (300_000, 8)).astype(np.uint8), rng.integers(0, 3, 300_000)
    F = rng.normal(size=(300_000, 8))
    for kinds, data in (("categorical", X), (None, F)):
        one = po.NaiveBayes(kinds=kinds, n_jobs=1).fit(data, y)
        two = po.NaiveBayes(kinds=kinds, n_jobs=2).fit(data, y)
        assert one.statistics_ == two.statistics_
        assert np.array_equal(one.predict_proba(data), two.predict_proba(data))


@given(data=tables(), factor=st.sampled_from([0.25, 0.5, 1.0]))
def test_decay_is_a_weight(data, factor):
    X, y = data
    a = model().fit(X, y).decay(factor)
    b = model().fit(X, y, sample_weight=np.full(len(y), factor))
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)
