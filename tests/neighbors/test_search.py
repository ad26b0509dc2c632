"""The searches: told distances, and what a model reads again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import neighbors as sk
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances

import posteriori as po
from posteriori.errors import BadValue, ModelError
from posteriori.neighbors.search import make_search, merged, smallest

X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input")
@pytest.mark.parametrize("mode", ["distance", "every"])
def test_a_sparse_graph_of_neighbours_is_scikit_learns(mode):
    A, y, Q = X[::2], Y[::2], X[1::4]
    graph = sk.NearestNeighbors(n_neighbors=20).fit(A)
    learned, asked = (graph.kneighbors_graph(Z, mode="distance") for Z in (A, Q))
    if mode == "every":
        learned, asked = sparse.csr_matrix(pairwise_distances(A)), sparse.csr_matrix(pairwise_distances(Q, A))
    mine = po.KNeighborsClassifier(7, metric="precomputed").fit(learned, y)
    theirs = sk.KNeighborsClassifier(7, metric="precomputed").fit(learned, y)
    assert np.array_equal(mine.predict(asked), theirs.predict(asked))
    np.testing.assert_allclose(mine.kneighbors(asked)[0], theirs.kneighbors(asked)[0])
    assert mine.score(asked, Y[1::4]) > 0.9


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_stored_entries_are_all_there_is(seed, k, own):
    """Dense distances with the absent ones at infinity; zeros that are stored are neighbours."""
    rng = np.random.default_rng(seed)
    n = 12
    D = rng.integers(0, 4, (n, n)).astype(float)
    stored = rng.random((n, n)) < 0.6
    stored[:, : k + 1] = True
    row, column = np.nonzero(stored)
    graph = sparse.csr_matrix((D[stored], (row, column)), shape=(n, n))
    model = po.KNeighborsRegressor(k, metric="precomputed").fit(graph, np.arange(n))
    distance, index = model.kneighbors() if own else model.kneighbors(graph)
    for i in range(n):
        who = [j for j in np.flatnonzero(stored[i]) if not (own and j == i)]
        who = sorted(who, key=lambda j: (D[i, j], j))[:k]
        assert index[i].tolist() == who
        assert distance[i].tolist() == D[i, who].tolist()


def test_a_graph_that_stores_too_few_is_named():
    graph = sparse.csr_matrix(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))  # zeros are not stored
    model = po.KNeighborsClassifier(2, metric="precomputed").fit(graph, [0, 1, 1])
    with pytest.raises(ModelError, match="2 neighbors are required for every row, but row 1"):
        model.predict(graph)
    auto = po.KNeighborsClassifier("auto", metric="precomputed").fit(graph, [0, 1, 1])
    assert auto.n_neighbors_ == 1 == len(auto.loo_curve_)
    for D in (np.array([[0.0, -1.0], [-1.0, 0.0]]), sparse.csr_matrix([[1.0, -1.0], [-1.0, 1.0]])):
        with pytest.raises(BadValue, match="Negative"):
            po.KNeighborsClassifier(1, metric="precomputed").fit(D, [0, 1])


RUBBISH = {
    "n_neighbors": [0, -1, 2.5, "five", None, np.nan, True],
    "weights": ["unifrom", 3, [1, 2]],
    "algorithm": ["kdtree", None, 1],
    "leaf_size": [0, -5, 2.5, "big", None, np.nan],
    "p": [0, -1, np.nan, "two", None],
    "metric": ["euclidian", 7, None],
    "metric_params": ["w", 3, [1]],
    "kinds": [7, "numbr", {"nobody": "numeric"}],
    "n_jobs": [0, 2.5, "all"],
    "smoothing": [-1, np.nan, np.inf, "some"],
}


@pytest.mark.parametrize("name", RUBBISH)
@pytest.mark.parametrize("kind", [po.KNeighborsClassifier, po.KNeighborsRegressor])
def test_rubbish_is_named_at_fit_and_when_it_is_next_read(kind, name):
    if name not in kind().get_params():
        return
    metric = "gower" if name == "kinds" else "minkowski"
    for value in RUBBISH[name]:
        with pytest.raises(ValueError) as error:
            kind(**{"metric": metric, name: value}).fit(X, Y)
        assert type(error.value).__module__ == "posteriori.errors"
        model = kind(metric=metric).fit(X, Y)
        before = model.predict(X)
        with pytest.raises(ValueError) as error:
            model.set_params(**{name: value}).predict(X)
        assert type(error.value).__module__ == "posteriori.errors"
        model.set_params(**kind(metric=metric).get_params())
        np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": 3},
        {"metric": None},
        {"p": "two"},
        {"p": np.nan},
        {"leaf_size": 2.5},
        {"leaf_size": "big"},
        {"n_jobs": 0},
        {"n_jobs": "all"},
    ],
    ids=str,
)
def test_rubbish_for_a_tree(wrong):
    with pytest.raises(ModelError):
        po.KDTree(X, **wrong)


@pytest.mark.parametrize(
    "rows",
    [
        X.astype(complex),
        X.astype(str),
        np.array([["2020-01-01"]], dtype="M8[D]"),
        sparse.csr_matrix(X),
        [[1.0], [1.0, 2.0]],
        [["a", 1]],
        np.ma.masked_greater(X, 3),
        X[0],
        X[None],
        None,
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_that_are_no_points(rows):
    with pytest.raises(BadValue):
        po.KDTree(rows)
    with pytest.raises(BadValue):
        po.KDTree(X).query(rows)


def test_rubbish_for_a_query():
    tree = po.KDTree(X)
    for k in (2.5, "3", None, 0, 151):
        with pytest.raises(ModelError):
            tree.query(X, k)
    for skip in ([1], np.arange(150.0), np.arange(150) + 1, np.arange(150) - 1, ["a"] * 150):
        with pytest.raises(BadValue, match="skip"):
            tree.query(X, 2, skip=skip)
    for r in ("far", [1.0, 2.0], None, np.nan, 1j):
        with pytest.raises(BadValue):
            tree.query_radius(X, r)
    assert tree.count(X[:2], [1, 2]).tolist() == [len(f) for f in tree.query_radius(X[:2], [1.0, 2.0])]


def surface(n: int, d: int, k: int) -> np.ndarray:
    """Points near a surface of k dimensions in d columns."""
    rng = np.random.default_rng(0)
    return np.tanh(rng.standard_normal((n, k)) @ rng.standard_normal((k, d))) + 0.01 * rng.standard_normal((n, d))


@pytest.mark.parametrize(
    ("points", "way"),
    [
        (surface(4000, 20, 2), "Tree"),
        (surface(4000, 54, 3), "Tree"),
        (np.random.default_rng(0).standard_normal((4000, 20)), "Products"),
        (np.random.default_rng(0).standard_normal((4000, 5)), "Tree"),
        (surface(500, 20, 2), "Products"),
        (np.zeros((2000, 9)), "Products"),
        (surface(4000, 20, 2) * 1e-200, "Tree"),
    ],
)
def test_auto_looks_at_the_points_and_changes_no_answer(points, way):
    made = make_search(points, "euclidean", 2.0, "auto", "auto", None)
    assert type(made).__name__ == way
    Q = np.concatenate([points[:50], points[50:100] * 1.01])
    found = [make_search(points, "euclidean", 2.0, a, "auto", 1).query(Q, 12, None, 1) for a in ("kd_tree", "brute")]
    for other in found:
        for a, b in zip(made.query(Q, 12, None, None), other):
            assert np.array_equal(a, b)


@given(st.integers(0, 300), st.integers(1, 5), st.integers(1, 9), st.data())
def test_the_smallest_are_those_of_a_sort_by_value_and_column(seed, n, m, data):
    """Few values, so that many are equal; and the nearest of two answers are those of both together."""
    D = np.random.default_rng(seed).integers(0, 4, (n, m)).astype(float)
    k, at = data.draw(st.integers(1, m)), data.draw(st.integers(0, m))
    wanted = np.array([sorted(range(m), key=lambda j: (row[j], j))[:k] for row in D])
    distance, index = smallest(D, k)
    assert index.tolist() == wanted.tolist()
    assert np.array_equal(distance, np.take_along_axis(D, wanted, axis=1))
    parts = [(D[:, cut], np.broadcast_to(np.arange(m)[cut], D[:, cut].shape)) for cut in (slice(at, m), slice(0, at))]
    both = merged(*parts, k)
    assert both[1].tolist() == wanted.tolist()
    assert np.array_equal(both[0], distance)
