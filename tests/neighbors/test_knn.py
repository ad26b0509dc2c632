"""The models: what scikit-learn's give, and what they do not."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import neighbors as sk
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import BadValue, ModelError, SingularCovariance

MODELS = [
    po.KNeighborsClassifier(),
    po.KNeighborsRegressor(),
    po.KNeighborsClassifier(algorithm="brute", weights="tricube", smoothing=0.5),
    po.KNeighborsRegressor(algorithm="kd_tree", weights="distance"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scikit_learns_checks(model):
    failed = [r for r in check_estimator(model, on_fail=None, on_skip=None) if r["status"] == "failed"]
    assert not failed, [(r["check_name"], r["exception"]) for r in failed]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def near_iris(seed: int = 0) -> np.ndarray:
    X = load_iris().data
    rng = np.random.default_rng(seed)
    return X[rng.integers(0, 150, 60)] + rng.standard_normal((60, 4)) * 0.3


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "brute", "ball_tree"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize(
    ("metric", "p", "params"),
    [
        ("minkowski", 2, None),
        ("minkowski", 1, None),
        ("minkowski", 3, None),
        ("euclidean", 2, None),
        ("manhattan", 2, None),
        ("chebyshev", 2, None),
        ("minkowski", 3, {"w": [1.0, 2.0, 0.5, 3.0]}),
        ("minkowski", 2, {"w": [1.0, 2.0, 0.5, 3.0]}),
        ("seuclidean", 2, {"V": [1.0, 2.0, 0.5, 3.0]}),
        ("mahalanobis", 2, {"VI": np.linalg.inv(np.cov(load_iris().data, rowvar=False))}),
        ("cosine", 2, None),
        ("nan_euclidean", 2, None),
    ],
)
def test_scikit_learn_gives_the_same(iris, metric, p, params, weights, algorithm):
    X, y = iris
    Q = near_iris()
    params = None if params is None else dict(params)  # scikit-learn writes into it
    given = {"n_neighbors": 7, "weights": weights, "metric": metric, "p": p, "metric_params": params}
    mine = po.KNeighborsClassifier(**given, algorithm=algorithm).fit(X, y)
    theirs = sk.KNeighborsClassifier(**given, algorithm="brute").fit(X, y)
    np.testing.assert_allclose(mine.kneighbors(Q)[0], theirs.kneighbors(Q)[0], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(mine.predict_proba(Q), theirs.predict_proba(Q), atol=1e-6)
    assert (mine.predict(Q) == theirs.predict(Q)).mean() > 0.98  # ties at the k-th distance
    assert mine.n_samples_fit_ == 150


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
def test_regression_gives_the_same(weights):
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -y])
    for target in (y, Y):
        mine = po.KNeighborsRegressor(6, weights=weights).fit(X[:300], target[:300])
        theirs = sk.KNeighborsRegressor(6, weights=weights).fit(X[:300], target[:300])
        np.testing.assert_allclose(mine.predict(X[300:]), theirs.predict(X[300:]), rtol=1e-9)


def test_own_neighbors_leave_the_row_out(iris):
    X, y = iris
    mine, theirs = po.KNeighborsClassifier(4).fit(X, y), sk.KNeighborsClassifier(4).fit(X, y)
    np.testing.assert_allclose(mine.kneighbors()[0], theirs.kneighbors()[0], atol=1e-12)
    assert not (mine.kneighbors(return_distance=False) == np.arange(150)[:, None]).any()
    graph = mine.kneighbors_graph(near_iris(), mode="distance")
    np.testing.assert_allclose(
        graph.sum(axis=1), theirs.kneighbors_graph(near_iris(), mode="distance").sum(axis=1), rtol=1e-9
    )
    assert mine.kneighbors_graph().sum() == 4 * 150


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("k", [1, 4])
def test_without_a_table_the_training_rows_are_asked_as_scikit_learn_asks_them(k, weights):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((90, 3)), rng.integers(0, 3, 90)
    mine, theirs = (kind.KNeighborsClassifier(k, weights=weights).fit(X, y) for kind in (po, sk))
    np.testing.assert_allclose(mine.predict_proba(None), theirs.predict_proba(None), rtol=1e-9, atol=1e-12)
    assert mine.predict(None).tolist() == theirs.predict(None).tolist()
    assert mine.score(None, y) == theirs.score(None, y) < 0.6
    mine, theirs = (kind.KNeighborsRegressor(k, weights=weights).fit(X, X @ X.T[:, :2]) for kind in (po, sk))
    np.testing.assert_allclose(mine.predict(None), theirs.predict(None), rtol=1e-9)
    assert mine.score(None, X @ X.T[:, :2]) == pytest.approx(theirs.score(None, X @ X.T[:, :2]))


@pytest.mark.parametrize("weights", ["uniform", "distance", "triangular", "gaussian"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "gower", "precomputed", "sparse"])
def test_a_training_row_is_asked_as_if_it_had_not_been_learned(metric, weighted, weights):
    """Leaving each row out and fitting again: equal rows, rows that count more than once, up to the last neighbour."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 5, (25, 2)).astype(float), np.arange(25) % 2
    X += rng.random(X.shape) * 1e-3 if metric == "gower" else 0  # its distances round by the table's ranges
    w = rng.integers(1, 4, 25).astype(float) if weighted else None
    D = np.abs(X[:, None] - X).sum(axis=2)
    told = metric in ("precomputed", "sparse")
    Z = sparse.csr_matrix((D.ravel(), np.tile(np.arange(25), 25), np.arange(0, 626, 25))) if metric == "sparse" else D
    Z = Z if told else X
    for k in (1, 3, 23, 24):
        how = {"weights": weights, "metric": "precomputed" if told else metric, "smoothing": 0.1}
        model = po.KNeighborsClassifier(k, **how).fit(Z, y, w)
        found = model.predict_proba(None)
        for i in range(0, 25, 4):
            rest = np.delete(np.arange(25), i)
            again = po.KNeighborsClassifier(k, **how)
            again.fit(D[np.ix_(rest, rest)] if told else X[rest], y[rest], None if w is None else w[rest])
            asked = D[i : i + 1, rest] if told else X[i : i + 1]
            if metric != "gower" or np.ptp(X[rest], axis=0).tolist() == np.ptp(X, axis=0).tolist():
                np.testing.assert_allclose(found[i], again.predict_proba(asked)[0], rtol=1e-9)
    with pytest.raises(ModelError, match="at most 24"):
        po.KNeighborsClassifier(25, metric="precomputed" if told else metric).fit(Z, y).predict(None)


@pytest.mark.parametrize("weights", ["uniform", "distance", "epanechnikov", lambda d: 1 / (1 + d)])
def test_auto_k_is_exact_leave_one_out(weights):
    """Every point of the curve is what leaving each row out and fitting again gives."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    model = po.KNeighborsClassifier("auto", weights=weights).fit(X, y)
    assert len(model.loo_curve_) == 25
    for k in (1, 2, 5, 13, 25):
        again = cross_val_predict(po.KNeighborsClassifier(k, weights=weights), X, y, cv=LeaveOneOut())
        assert model.loo_curve_[k - 1] == pytest.approx((again != y).mean())
    assert model.n_neighbors_ == np.argmin(model.loo_curve_) + 1
    z = X[:, 0] + 0.3 * rng.standard_normal(60)
    regression = po.KNeighborsRegressor("auto", weights=weights).fit(X, z)
    for k in (1, 4, 25):
        again = cross_val_predict(po.KNeighborsRegressor(k, weights=weights), X, z, cv=LeaveOneOut())
        assert regression.loo_curve_[k - 1] == pytest.approx(((again - z) ** 2).mean())


def test_smoothed_posterior():
    model = po.KNeighborsClassifier(3, smoothing=1.0).fit([[0], [1], [2], [9]], ["a", "a", "b", "c"])
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[3 / 6, 2 / 6, 1 / 6]])
    assert np.isfinite(model.predict_log_proba([[1.0]])).all()


def test_kernels_weigh_by_the_next_neighbour():
    X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 1, 1, 1]
    found = po.KNeighborsClassifier(3, weights="triangular").fit(X, y).predict_proba([[0.0]])
    np.testing.assert_allclose(found, [[1 / 2.25, 1.25 / 2.25]])  # u = 0, 1/4, 2/4
    for kernel in ("epanechnikov", "biweight", "tricube", "cosine", "gaussian"):
        share = po.KNeighborsClassifier(3, weights=kernel).fit(X, y).predict_proba([[0.0]])[0, 0]
        assert share > 1 / 3


@pytest.mark.parametrize("weights", ["uniform", "distance", "biweight"])
@pytest.mark.parametrize("k", [1, 4, 40, "auto"])
def test_sample_weight_is_repetition(k, weights):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((50, 2)), rng.integers(0, 2, 50), rng.integers(0, 4, 50)
    Q = rng.standard_normal((20, 2))
    weighted = po.KNeighborsClassifier(k, weights=weights).fit(X, y, sample_weight=w)
    k = weighted.n_neighbors_
    repeated = po.KNeighborsClassifier(k, weights=weights).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(Q), repeated.predict_proba(Q), atol=1e-12)
    weighted = po.KNeighborsRegressor(k, weights=weights).fit(X, X[:, 0], sample_weight=w)
    repeated = po.KNeighborsRegressor(k, weights=weights).fit(np.repeat(X, w, axis=0), np.repeat(X[:, 0], w))
    np.testing.assert_allclose(weighted.predict(Q), repeated.predict(Q), atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_partial_fit_is_fit(metric):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 3)), rng.integers(0, 4, 3000)
    Q = rng.standard_normal((50, 3))
    whole = po.KNeighborsClassifier(6, metric=metric).fit(X, y)
    parts = po.KNeighborsClassifier(6, metric=metric)
    for b, e in ((0, 900), (900, 1000), (1000, 2600), (2600, 3000)):
        parts.partial_fit(X[b:e], y[b:e])
        assert parts.n_samples_fit_ == e
    assert parts._store.n_buffered == 400
    for a, b in zip(whole.kneighbors(Q) + whole.kneighbors(), parts.kneighbors(Q) + parts.kneighbors()):
        np.testing.assert_array_equal(a, b)
    assert np.array_equal(whole.predict_proba(Q), parts.predict_proba(Q))


def test_partial_fit_welcomes_new_classes_and_weights():
    model = po.KNeighborsClassifier(1).partial_fit([[0.0]], ["b"])
    model.partial_fit([[5.0]], ["a"], classes=["c"], sample_weight=[2.0])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict([[0.1], [4.0]]).tolist() == ["b", "a"]
    regression = po.KNeighborsRegressor(1).partial_fit([[0.0]], [1.0]).partial_fit([[5.0]], [2.0])
    assert regression.predict([[4.0]]).tolist() == [2.0]


def test_missing_cells_are_scikit_learns_nan_euclidean():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 4)), rng.integers(0, 2, 80)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = po.KNeighborsClassifier(5, metric="nan_euclidean").fit(X, y)
    D = pairwise_distances(X[:10], X, metric="nan_euclidean")
    np.testing.assert_allclose(
        model.kneighbors(X[:10])[0], np.sort(np.nan_to_num(D, nan=np.inf), axis=1)[:, :5], atol=1e-7
    )
    assert not np.isnan(model.kneighbors(np.full((1, 4), np.nan))[0]).any()
    with pytest.raises(ValueError, match="NaN"):
        po.KNeighborsClassifier(5).fit(X, y)


def test_sparse_rows_are_searched_by_brute_force(iris):
    X, y = iris
    model = po.KNeighborsClassifier(5).fit(sparse.csr_matrix(X), y)
    assert np.array_equal(model.predict(sparse.csr_matrix(X)), po.KNeighborsClassifier(5).fit(X, y).predict(X))
    with pytest.raises(ModelError, match="dense"):
        po.KNeighborsClassifier(5, metric="chebyshev").fit(sparse.csr_matrix(X), y)
    with pytest.raises(ModelError, match="dense"):
        model.partial_fit(sparse.csr_matrix(X), y)


def test_precomputed_and_functions(iris):
    X, y = iris
    wanted = po.KNeighborsClassifier(5).fit(X, y).predict_proba(X)
    D = pairwise_distances(X)
    np.testing.assert_allclose(
        po.KNeighborsClassifier(5, metric="precomputed").fit(D, y).predict_proba(D), wanted, atol=0.41
    )
    by_hand = po.KNeighborsClassifier(5, metric=lambda a, b: float(np.abs(a - b).max())).fit(X, y)
    np.testing.assert_allclose(
        by_hand.kneighbors(X[:9])[0], po.KNeighborsClassifier(5, metric="chebyshev").fit(X, y).kneighbors(X[:9])[0]
    )


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40 + 10 * y, 8),
            "town": np.where(rng.random(n) < 0.2 + 0.6 * y, "Rome", rng.choice(["Oslo", "Bonn"], n)),
            "noise": rng.choice(list("pqrs"), n),
        }
    )
    return frame, y


def test_gower_is_its_formula():
    X, y = table(60, 0)
    model = po.KNeighborsClassifier(60, metric="gower").fit(X, y)
    distance, index = model.kneighbors(X.iloc[:5])
    span = X["age"].max() - X["age"].min()
    for i in range(5):
        gaps = np.abs(X["age"] - X["age"][i]) / span + (X["town"] != X["town"][i]) + (X["noise"] != X["noise"][i])
        np.testing.assert_allclose(distance[i], (gaps / 3).to_numpy()[index[i]], atol=1e-12)
    X.loc[3, "town"] = None
    X.loc[4, "age"] = np.nan
    gappy = po.KNeighborsClassifier(60, metric="gower").fit(X, y)
    distance, index = gappy.kneighbors(X.iloc[[3]])
    to_four = distance[0][index[0] == 4]
    np.testing.assert_allclose(to_four, X["noise"][3] != X["noise"][4])  # the one column that both rows have
    for a, b in zip(model.kneighbors(X.iloc[[4]]), gappy.kneighbors(X.iloc[[4]])):  # a gap in the query only
        assert a.shape == b.shape
    strange = X.iloc[[0]].assign(town="Paris")
    assert model.kneighbors(strange)[0][0, 0] == pytest.approx(1 / 3)  # a town that no row has differs from all


def test_vdm_is_naive_bayes_own_posterior():
    X, y = table(400, 1)
    words = X[["town", "noise"]]
    model = po.KNeighborsClassifier(400, metric="vdm").fit(words, y)
    distance, index = model.kneighbors(words.iloc[:4])
    bayes = po.NaiveBayes().fit(words, y)

    def posterior(column: str) -> pd.DataFrame:
        joint = bayes.tables_[column] * bayes.tables_["class"]["P"]
        return joint.div(joint.sum(axis=1), axis=0)

    for i in range(4):
        square = sum(
            ((posterior(c).loc[X[c]].to_numpy() - posterior(c).loc[X[c][i]].to_numpy()) ** 2).sum(axis=1) for c in words
        )
        np.testing.assert_allclose(distance[i], np.sqrt(square)[index[i]], atol=1e-12)


def test_vdm_knows_which_column_matters():
    X, y = table(600, 2)
    Q, truth = table(400, 3)
    vdm = po.KNeighborsClassifier(15, metric="vdm").fit(X, y)
    gower = po.KNeighborsClassifier(15, metric="gower").fit(X, y)
    assert vdm.score(Q, truth) > 0.8
    assert gower.score(Q, truth) > 0.7
    Q.loc[0, "town"] = "Atlantis"
    Q.loc[1, "age"] = np.nan
    assert np.isfinite(vdm.predict_proba(Q)).all()
    assert vdm.partial_fit(Q.iloc[2:50], truth[2:50]).n_samples_fit_ == 648
    with pytest.raises(ModelError, match="needs classes"):
        po.KNeighborsRegressor(metric="vdm").fit(X, y.astype(float))
    assert po.KNeighborsRegressor(metric="gower").fit(X, y.astype(float)).predict(Q).shape == (400,)


def test_other_losses_through_the_decision_layer(iris):
    X, y = iris
    model = po.KNeighborsClassifier(15, smoothing=0.5).fit(X, y)
    posterior = model.predict_proba(X)
    assert np.array_equal(po.decide(posterior), model.predict(X))  # majority vote: zero-one loss
    careful = po.RiskClassifier(po.KNeighborsClassifier(15), loss={0: 1, 1: 1, 2: 20}).fit(X, y)
    assert (careful.predict(X) == 2).sum() > (model.predict(X) == 2).sum()
    rejecting = po.RiskClassifier(po.KNeighborsClassifier(15), reject=0.1).fit(X, y)
    sure = rejecting.predict(X) != -1
    assert 0 < sure.mean() < 1
    assert (rejecting.predict(X)[sure] == y[sure]).mean() > model.score(X, y)


def test_errors_say_what_came(iris):
    X, y = iris
    for wrong, words in (
        ({"n_neighbors": 0}, r"int in the range \[1, inf\)"),
        ({"n_neighbors": 2.5}, r"int in the range \[1, inf\)"),
        ({"weights": "unifrom"}, "did you mean 'uniform'"),
        ({"metric": "euclidian"}, "did you mean 'euclidean'"),
        ({"algorithm": "kdtree"}, "did you mean 'kd_tree'"),
        ({"smoothing": -1}, r"float in the range \[0.0, 1e\+290\]"),
        ({"metric": "seuclidean", "metric_params": {"VV": 1}}, "did you mean 'V'"),
    ):
        with pytest.raises(ModelError, match=words):
            po.KNeighborsClassifier(**wrong).fit(X, y)
    with pytest.raises(ModelError, match="n_neighbors = 151, n_samples_fit = 150"):
        po.KNeighborsClassifier(151).fit(X, y).predict(X)
    with pytest.raises(SingularCovariance, match="no inverse"):
        po.KNeighborsClassifier(metric="mahalanobis").fit(np.hstack([X, X[:, :1]]), y)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "precomputed", "mahalanobis"])
def test_pickle_and_clone(iris, metric):
    X, y = iris
    X = pairwise_distances(X) if metric == "precomputed" else X
    model = po.KNeighborsClassifier(3, metric=metric).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_rows_are_not_added_to_sparse_ones():
    model = po.KNeighborsClassifier(1).fit(sparse.csr_matrix(np.eye(4)), [0, 1, 0, 1])
    with pytest.raises(ModelError, match="sparse"):
        model.partial_fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("cell", ["a", None])
def test_more_neighbours_than_rows_are_refused_by_name_where_cells_are_missing(cell):
    X = np.array([["a", 1.0], ["b", 2.0], [cell, 3.0]], dtype=object)
    model = po.KNeighborsClassifier(9, metric="gower").fit(X, [0, 1, 0])
    with pytest.raises(ModelError, match="n_neighbors = 9, n_samples_fit = 3"):
        model.predict_proba(X)
    assert model.set_params(n_neighbors=3).predict_proba(X).sum() == pytest.approx(3)


@pytest.mark.parametrize("metric", ["minkowski", "gower", "vdm"])
def test_a_dict_of_columns_is_a_table(metric):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=12), "b": rng.normal(size=12)}
    frame, y = pd.DataFrame(columns), np.arange(12) % 2
    models = [po.KNeighborsClassifier(3, metric=metric)]
    models += [po.KNeighborsRegressor(3, metric=metric)] if metric != "vdm" else []
    for model in models:
        wanted = clone(model).fit(frame, y).predict(frame)
        model.fit({n: c[:6] for n, c in columns.items()}, y[:6]).partial_fit(
            {n: c[6:] for n, c in columns.items()}, y[6:]
        )
        if metric == "minkowski":  # whose space does not depend on the first rows
            np.testing.assert_array_equal(model.predict(columns), wanted)
        np.testing.assert_array_equal(clone(model).fit(columns, y).predict(columns), wanted)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(columns, y[:11])


def test_labels_that_do_not_mix_are_shown_where_they_came_from():
    X = np.zeros((2, 1))
    with pytest.raises(BadValue, match=r"as labels: 'a', 'b' and 0, 1$"):
        po.KNeighborsClassifier(1).partial_fit(X, ["a", "b"], classes=[0, 1])
    with pytest.raises(BadValue, match=r"as labels: 0, 1 and 'a', 'b'$"):
        po.KNeighborsClassifier(1).fit(X, [0, 1]).partial_fit(X, ["a", "b"])


@pytest.mark.parametrize("metric", ["gower", "vdm", "euclidean"])
def test_a_schema_is_known_where_columns_have_values(metric):
    if metric == "euclidean":
        model = po.KNeighborsClassifier(1).fit([[0.0], [1.0]], ["u", "v"])
        assert not hasattr(model, "schema_")
        assert not hasattr(po.KNeighborsClassifier(1, metric="gower"), "schema_")  # nor before it has seen any
        with pytest.raises(AttributeError, match="only 'gower' and 'vdm'"):
            model.schema_  # noqa: B018
    else:
        X = {"c": ["x", "y", "x"], "d": ["p", "q", "r"]}
        model = po.KNeighborsClassifier(1, metric=metric).fit(X, ["v", "u", "v"])
        assert model.schema_.classes == ("u", "v")
        assert {c.name: set(c.values) for c in model.schema_.columns} == {"c": {"x", "y"}, "d": {"p", "q", "r"}}
