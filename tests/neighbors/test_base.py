"""What both neighbour models share, by brute force: distances, weights that are repetitions, the best k, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import pairwise_distances

import posteriori as po
from posteriori.errors import BadParameter, BadValue, ModelError

MODELS = [po.KNeighborsClassifier, po.KNeighborsRegressor]
seeds = st.integers(0, 300)


def rows(seed=0, n=20, d=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, 3, n)


@given(seeds, st.sampled_from(MODELS), st.integers(1, 6), st.booleans())
def test_neighbours_by_brute_force(seed, Model, k, itself):
    X, y = rows(seed)
    Q = X if itself else rows(seed + 1)[0]
    model = Model(k).fit(X, y)
    distance, index = model.kneighbors(None if itself else Q)
    D = np.sqrt(((Q[:, None] - X[None]) ** 2).sum(axis=2))
    if itself:
        D[np.arange(20), np.arange(20)] = np.inf
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    assert index.tolist() == order.tolist()
    assert distance == pytest.approx(np.take_along_axis(D, order, axis=1))
    assert model.kneighbors(None if itself else Q, return_distance=False).tolist() == index.tolist()
    assert model.kneighbors(None if itself else Q, n_neighbors=2)[1].shape == (20, 2)
    graph = model.kneighbors_graph(None if itself else Q)
    assert graph.shape == (20, 20)
    assert (graph.toarray() == 1).sum() == 20 * k
    far = model.kneighbors_graph(None if itself else Q, mode="distance").toarray()
    assert np.take_along_axis(far, index, axis=1) == pytest.approx(distance)
    assert model.n_samples_fit_ == 20


@given(seeds, st.integers(1, 6))
def test_weights_are_repetitions(seed, k):
    X, y = rows(seed)
    w = np.random.default_rng(seed).integers(0, 4, 20)
    w[0] += 1
    Q = rows(seed + 1)[0]
    weighted = po.KNeighborsRegressor(k).fit(X, y, sample_weight=w)
    if w.sum() >= k:
        written = po.KNeighborsRegressor(k).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert weighted.predict(Q) == pytest.approx(written.predict(Q))


@given(seeds)
def test_rows_in_parts_are_the_rows(seed):
    X, y = rows(seed)
    w = np.random.default_rng(seed).random(20) + 0.5
    Q = rows(seed + 1)[0]
    whole = po.KNeighborsClassifier(3).fit(X, y)
    parts = po.KNeighborsClassifier(3).partial_fit(X[:7], y[:7], classes=np.unique(y)).partial_fit(X[7:], y[7:])
    assert np.array_equal(whole.predict_proba(Q), parts.predict_proba(Q))
    heavy = po.KNeighborsClassifier(3).fit(X, y, sample_weight=np.r_[np.ones(7), w[7:]])
    later = (
        po.KNeighborsClassifier(3)
        .partial_fit(X[:7], y[:7], classes=np.unique(y))
        .partial_fit(X[7:], y[7:], sample_weight=w[7:])
    )
    assert heavy.predict_proba(Q) == pytest.approx(later.predict_proba(Q))


@given(seeds)
def test_auto_is_the_k_of_least_error_left_out(seed):
    X, y = rows(seed, n=15)
    model = po.KNeighborsRegressor("auto").fit(X, y.astype(float))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")
    losses = [((y[order[:, :k]].mean(axis=1) - y) ** 2).mean() for k in range(1, len(model.loo_curve_) + 1)]
    assert model.loo_curve_ == pytest.approx(losses)
    assert model.n_neighbors_ == int(np.argmin(np.round(losses, 12))) + 1 or losses[
        model.n_neighbors_ - 1
    ] == pytest.approx(min(losses))
    assert model.set_params(n_neighbors=3).fit(X, y).n_neighbors_ == 3
    assert "loo_curve_" not in vars(model)
    with pytest.raises(ModelError, match="at least 2 rows"):
        po.KNeighborsRegressor("auto").fit(X[:1], y[:1])


def test_precomputed_distances():
    X, y = rows()
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    told, own = po.KNeighborsClassifier(3, metric="precomputed").fit(D, y), po.KNeighborsClassifier(3).fit(X, y)
    assert np.array_equal(told.predict_proba(D), own.predict_proba(X))
    assert told.effective_metric_ == "precomputed"
    assert own.effective_metric_ == "euclidean"
    with pytest.raises(BadValue, match=r"must be square to learn from, got shape \(19, 20\)"):
        po.KNeighborsClassifier(metric="precomputed").fit(D[1:], y[1:])
    bad = D.copy()
    bad[0, 1] = -1e-9
    with pytest.raises(BadValue, match="Negative values"):
        told.predict(bad)
    with pytest.raises(ModelError, match="learned in parts"):
        told.partial_fit(D, y)
    with pytest.raises(BadParameter, match="precomputed takes none"):
        po.KNeighborsClassifier(metric="precomputed", metric_params={"p": 1}).fit(D, y)
    tags = told.__sklearn_tags__().input_tags
    assert tags.pairwise
    assert tags.positive_only
    assert not own.__sklearn_tags__().input_tags.pairwise
    assert own.__sklearn_tags__().input_tags.sparse


def test_metrics_of_bits_tell_where_numbers_are_none():
    X = np.array([[0, 1], [1, 1], [0, 0]])
    quiet = po.KNeighborsClassifier(1, metric="jaccard").fit(X, [0, 1, 2])
    assert quiet.predict(X).tolist() == [0, 1, 2]
    with pytest.warns(DataConversionWarning, match="sees only whether a cell is zero"):
        po.KNeighborsClassifier(1, metric="jaccard").fit(X * 2, [0, 1, 2])


def test_sparse_rows():
    X, y = rows()
    X[np.abs(X) < 0.5] = 0
    S = sparse.csr_array(X)
    for metric in ("euclidean", "manhattan", "cosine"):
        dense, thin = (po.KNeighborsClassifier(3, metric=metric).fit(T, y) for T in (X + 0.0, S))
        assert thin.kneighbors(S)[0] == pytest.approx(dense.kneighbors(X)[0], abs=1e-7)
    with pytest.raises(ModelError, match="needs a dense table"):
        po.KNeighborsClassifier(metric="chebyshev").fit(S, y)
    with pytest.raises(ModelError, match="sparse rows cannot be learned in parts"):
        po.KNeighborsClassifier().fit(X, y).partial_fit(S, y)
    with pytest.raises(ModelError, match="are sparse, and cannot be added to"):
        po.KNeighborsClassifier().fit(S, y).partial_fit(X, y)


def test_mixed_tables():
    X = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "b": ["u", "v", "u", None]})
    model = po.KNeighborsClassifier(1, metric="gower").fit(X, [0, 1, 0, 1])
    assert model.predict(X).tolist() == [0, 1, 0, 1]
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.n_features_in_ == 2
    tags = model.__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert not tags.sparse
    with pytest.raises(BadValue, match=r"0 sample\(s\) and 2 feature"):
        model.predict(X[:0])
    with pytest.raises(BadParameter, match="gower takes none"):
        po.KNeighborsClassifier(metric="gower", metric_params={"a": 1}).fit(X, [0, 1, 0, 1])
    assert po.KNeighborsClassifier(metric="nan_euclidean").__sklearn_tags__().input_tags.allow_nan
    assert not po.KNeighborsClassifier().__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize(
    ("change", "said"),
    [({"metric": "manhattan"}, "metric was 'minkowski'"), ({"p": 1}, "metric_params was"),
     ({"metric_params": {"w": [1, 2]}}, "metric_params"), ({"kinds": "numeric"}, "kinds was")],
)  # fmt: skip
def test_another_metric_asks_for_another_fit(change, said):
    X, y = rows()
    model = po.KNeighborsClassifier(3).fit(X, y).set_params(**change)
    with pytest.raises(ModelError, match=f"{said}.*fit again"):
        model.predict(X)
    assert po.KNeighborsClassifier(3).fit(X, y).set_params(n_neighbors=1).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("Model", MODELS)
def test_what_is_asked_wrongly(Model):
    X, y = rows()
    model = Model(3).fit(X, y)
    for k in (0, -1):
        with pytest.raises(ModelError, match="n_neighbors > 0"):
            model.kneighbors(X, k)
    for k in (True, 1.5, "2"):
        with pytest.raises(BadParameter, match="enter integer"):
            model.kneighbors(X, k)
    with pytest.raises(ModelError, match="mode must be"):
        model.kneighbors_graph(X, mode="both")
    with pytest.raises(BadParameter, match="Got True"):
        Model(True).fit(X, y)
    with pytest.raises(ModelError, match="cannot compare these rows"):
        Model(metric="haversine").fit(np.ones((3, 3)), [0, 1, 2])

    def broken(a, b):
        raise ValueError("my own")

    with pytest.raises(ValueError, match="my own"):
        Model(metric=broken).fit(X, y)


@pytest.mark.parametrize("metric", ["minkowski", "chebyshev", "manhattan"])
def test_sparse_queries_of_dense_rows_are_an_error_by_name(metric):
    X, y = rows()
    model = po.KNeighborsClassifier(3, metric=metric).fit(X, y)
    with pytest.raises(ModelError, match=r"dense, these are sparse: give them as X.toarray\(\)"):
        model.predict(sparse.csr_array(X))


def test_two_rows_are_enough_to_leave_one_out():
    model = po.KNeighborsClassifier(n_neighbors="auto").fit([[0.0], [1.0]], ["a", "a"])
    assert model.n_neighbors_ == 1
    with pytest.raises(ModelError, match="at least 2 rows"):
        po.KNeighborsClassifier(n_neighbors="auto").fit([[0.0]], ["a"])


def test_entries_of_told_distances_that_are_repeated_are_sums():
    """As SciPy reads them; the caller's matrix stays as it is."""
    from posteriori.neighbors.knn import _distances

    D = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    found = _distances(D)
    assert found.nnz == 2
    assert found.toarray().tolist() == [[0.0, 3.0], [4.0, 0.0]]
    assert D.nnz == 3


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("metric", ["cosine", "canberra", "braycurtis", "own"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_any_metric_of_any_number_of_rows(Model, metric, n):
    """One row is enough to be a neighbour, whatever the distance."""
    X = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, 4.0]])[:n]
    metric = (lambda a, b: abs(a - b).max()) if metric == "own" else metric
    model = Model(1, metric=metric).fit(X, np.arange(n))
    assert model.predict(X).tolist() == list(range(n))
    distance, index = model.kneighbors(X, n)
    wanted = pairwise_distances(X, X, metric=metric)
    np.testing.assert_allclose(distance, np.sort(wanted, axis=1), atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(wanted, index, axis=1), distance, atol=1e-12)
