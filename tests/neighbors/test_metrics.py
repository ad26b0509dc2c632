"""Every metric that has a name, and what is said of the others."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import neighbors as sk
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances

import posteriori as po
from posteriori.errors import BadParameter, BadValue, ModelError
from posteriori.neighbors import metrics
from posteriori.neighbors.metrics import BOOLEAN

RNG = np.random.default_rng(0)
X, Y = RNG.random((60, 4)), RNG.integers(0, 3, 60)
NAMED = sorted({*sk.VALID_METRICS["brute"]} - {"precomputed", "haversine", "mahalanobis", "seuclidean"})


@pytest.mark.parametrize("metric", NAMED)
def test_every_metric_of_scikit_learns_brute_force(metric):
    A = RNG.integers(0, 2, (60, 4)).astype(bool) if metric in BOOLEAN else X
    mine = po.KNeighborsClassifier(7, metric=metric).fit(A, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        D = np.nan_to_num(pairwise_distances(A[:9], A, metric=metric), nan=np.inf)
    np.testing.assert_allclose(mine.kneighbors(A[:9])[0], np.sort(D, axis=1)[:, :7], atol=1e-7)
    assert np.isfinite(mine.predict_proba(A[:9])).all()


def test_a_metric_of_zeros_and_ones_says_that_it_sees_nothing_else():
    with pytest.warns(DataConversionWarning, match="zero"):
        po.KNeighborsClassifier(3, metric="jaccard").fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        po.KNeighborsClassifier(3, metric="jaccard").fit((X > 0.5).astype(int), Y)


def test_what_a_metric_cannot_compare_is_named():
    for metric, params in (("cosine", {"nonsense": 1}), ("haversine", None)):
        with pytest.raises(ModelError, match=metric):
            po.KNeighborsClassifier(metric=metric, metric_params=params).fit(X, Y)
    with pytest.raises(ModelError, match="canberra"):
        po.KNeighborsClassifier(metric="canberra").fit(sparse.csr_matrix(X), Y)


@pytest.mark.parametrize("metric", ["minkowski", "cosine"])
@pytest.mark.parametrize("model", [po.KNeighborsClassifier, po.KNeighborsRegressor])
def test_words_hint_at_mixed_metrics_and_gaps_at_theirs(metric, model):
    mixed = pd.DataFrame({"a": RNG.random(60), "drink": RNG.choice(["tea", "beer"], 60)})
    for table in (mixed, mixed.to_numpy(), mixed.to_numpy().tolist()):
        with pytest.raises(BadValue, match="gower"):
            model(metric=metric).fit(table, Y)
    gap = X.copy()
    gap[7, 2] = np.nan
    for table in (gap, pd.DataFrame(gap, columns=list("abcd"))):
        with pytest.raises(BadValue, match=r"row 7, column (2|'c').*nan_euclidean"):
            model(metric=metric).fit(table, Y)
    fitted = model(metric=metric).fit(X, Y)
    with pytest.raises(BadValue, match="nan_euclidean"):
        fitted.predict(gap)


def test_an_exponent_is_said_once():
    with pytest.warns(SyntaxWarning, match="p=3"):
        model = po.KNeighborsClassifier(3, metric_params={"p": 3}).fit(X, Y)
    np.testing.assert_array_equal(model.kneighbors(X)[0], po.KNeighborsClassifier(3, p=3).fit(X, Y).kneighbors(X)[0])
    with pytest.warns(SyntaxWarning, match="p=1"):
        po.KNeighborsClassifier(3, metric_params={"p": 1}).fit(sparse.csr_matrix(X), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        po.KNeighborsClassifier(3, p=3, metric_params={"p": 3}).fit(X, Y)
    for metric in ("euclidean", "seuclidean", "gower", "precomputed"):
        with pytest.raises(BadParameter, match="takes no"):
            po.KNeighborsClassifier(3, metric=metric, metric_params={"p": 3}).fit(X[:4], Y[:4])


@pytest.mark.parametrize("params", [{"w": "abc"}, {"w": [1, np.nan, 1, 1]}, {"w": [1, 2]}, {"w": [-1] * 4}, {"p": "x"}])
def test_parameters_of_a_metric_are_checked(params):
    with pytest.raises(ModelError):
        po.KNeighborsClassifier(metric_params=params).fit(X, Y)


@pytest.mark.parametrize("metric", ["minkowski", "mahalanobis", "cosine"])
def test_a_metric_that_changes_after_training_is_refused(metric):
    model = po.KNeighborsClassifier(3, metric=metric).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ModelError, match=r"metric was .* fit again"):
        model.set_params(metric="manhattan").predict(X)
    assert np.array_equal(model.set_params(metric=metric).predict_proba(X), before)
    with pytest.raises(ModelError, match="fit again"):
        model.set_params(p=1).predict(X)


METRICS = [
    ("minkowski", {}),
    ("minkowski", {"algorithm": "brute"}),
    ("minkowski", {"algorithm": "kd_tree"}),
    ("manhattan", {"algorithm": "brute"}),
    ("chebyshev", {}),
    ("seuclidean", {}),
    ("mahalanobis", {"algorithm": "brute"}),
    ("cosine", {}),
    ("canberra", {}),
    ("nan_euclidean", {}),
    ("gower", {}),
    ("precomputed", {}),
    ("jaccard", {}),
]


@given(
    st.sampled_from(METRICS),
    st.sampled_from(["array", "frame", "sparse"]),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from(["uniform", "distance"]),
)
def test_the_callers_arrays_are_his(case, kind, dtype, weights):
    """Whatever he writes into them after training, the answers stay."""
    metric, more = case
    if kind == "sparse" and metric not in ("minkowski", "manhattan", "cosine", "precomputed"):
        return
    A = {"precomputed": pairwise_distances(X), "jaccard": (X > 0.5)}.get(metric, X).astype(dtype)
    table = {"array": A.copy(), "frame": pd.DataFrame(A.copy(), columns=[f"c{j}" for j in range(A.shape[1])])}.get(kind)
    table = sparse.csr_matrix(A) if table is None else table
    y, w, targets = Y.copy(), np.arange(1.0, 61), X[:, 0].copy()
    asked = table.copy()
    models = [
        po.KNeighborsClassifier(5, metric=metric, weights=weights, **more).fit(table, y, w),
        po.KNeighborsRegressor(5, metric=metric, weights=weights, **more).fit(table, targets, w),
    ]
    before = [(m.predict(asked), *m.kneighbors(asked), *m.kneighbors()) for m in models]
    for array in (table.data if kind == "sparse" else table.to_numpy() if kind == "frame" else table, y, w, targets):
        if array.flags.writeable:
            array[...] = 0
    for j in range(A.shape[1]) if kind == "frame" else ():
        table.isetitem(j, np.zeros(60, dtype))
    for model, was in zip(models, before):
        for a, b in zip((model.predict(asked), *model.kneighbors(asked), *model.kneighbors()), was):
            np.testing.assert_array_equal(a, b)


def test_vdm_takes_booleans_as_values():
    y = ["p", "q", "p", "q"]
    tables = [pd.DataFrame({"a": a}) for a in ([True, False, False, False], ["y", "n", "n", "n"])]
    flags, words = (po.KNeighborsClassifier(1, metric="vdm", kinds="categorical").fit(X, y) for X in tables)
    np.testing.assert_array_equal(flags._store.rows, words._store.rows)


@given(st.integers(0, 1000), st.integers(1, 4), st.floats(0, 0.5))
@settings(max_examples=40, deadline=None)
def test_gower_without_each_column_is_gower_of_copies_that_lack_it(seed, d, gaps):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 4, d).tolist()
    X = rng.normal(size=(9, sum(widths)))
    ends = np.cumsum([0, *widths])
    for row in X:
        for a, b in itertools.pairwise(ends):
            if rng.random() < gaps:
                row[a:b] = np.nan
    copies = np.repeat(X[:1], d, axis=0)
    for j in range(d):
        copies[j, ends[j] : ends[j + 1]] = np.nan
    expected = metrics.gower_missing(copies, X, widths)
    assert np.allclose(metrics.gower_without(X[0], X, widths), expected)


def test_a_mahalanobis_distance_that_sees_nothing_is_one():
    X = np.arange(6.0).reshape(3, 2)
    blind = po.KNeighborsClassifier(1, metric="mahalanobis", metric_params={"VI": np.zeros((2, 2))})
    assert (blind.fit(X, [0, 1, 2]).kneighbors(X)[0] == 0).all()
    with pytest.raises(ModelError, match="negative eigenvalue"):
        blind.set_params(metric_params={"VI": np.diag([1.0, -1e-9])}).fit(X, [0, 1, 2])
