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
from posteriori.errors import BadParameter, BadValue, ModelError, SingularCovariance
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


# the functions themselves


@pytest.mark.parametrize(
    ("metric", "p", "found"),
    [
        ("minkowski", 1, ("manhattan", 1.0)), ("minkowski", 2, ("euclidean", 2.0)),
        ("minkowski", np.inf, ("chebyshev", np.inf)),
        ("minkowski", 3, ("minkowski", 3.0)), ("l1", 2, ("manhattan", 2.0)), ("cityblock", 2, ("manhattan", 2.0)),
        ("l2", 1, ("euclidean", 1.0)), ("infinity", 2, ("chebyshev", 2.0)),
    ],
)  # fmt: skip
def test_metrics_by_the_names_of_the_kernels(metric, p, found):
    assert metrics.metric_named(metric, p) == found


def distance(space, x, z):
    """L_p of two rows in a space's coordinates."""
    a, b = space(np.array([x, z]))
    gap = np.abs(a - b)
    p = {"manhattan": 1.0, "euclidean": 2.0, "chebyshev": np.inf}.get(space.metric, space.p)
    return gap.max() if p == np.inf else (gap**p).sum() ** (1 / p)


@pytest.mark.parametrize(
    ("metric", "p", "formula"),
    [
        ("manhattan", 2, lambda g, w: (w * g).sum()),
        ("euclidean", 2, lambda g, w: np.sqrt((w * g**2).sum())),
        ("chebyshev", 2, lambda g, w: (w * g).max()),
        ("minkowski", 3, lambda g, w: (w * g**3).sum() ** (1 / 3)),
        ("minkowski", 1, lambda g, w: (w * g).sum()),
    ],
)
def test_weights_of_columns_are_a_change_of_coordinates(metric, p, formula):
    x, z, w = np.array([1.0, -2.0, 5.0]), np.array([2.5, 1.0, 4.0]), np.array([0.5, 2.0, 3.0])
    for told in (w, np.ones(3)):
        found = metrics.space(metric, p, {"w": told}, np.zeros((2, 3)))
        assert distance(found, x, z) == pytest.approx(formula(np.abs(x - z), told))
    assert metrics.space(metric, p, None, np.zeros((2, 3))).map is None
    assert found(np.asfortranarray(np.ones((2, 3)))).flags.c_contiguous


def test_standardised_and_whitened_distances():
    A = np.array([[1.0, 2.0, 7.0], [3.0, 1.0, 7.0], [2.0, 5.0, 7.0], [4.0, 4.0, 7.0]])
    x, z = A[0], A[2]
    told = metrics.space("seuclidean", 2, {"V": [4.0, 0.25, 0.0]}, A)
    assert distance(told, x, z) == pytest.approx(np.sqrt(1 / 4 + 9 / 0.25))  # a constant column is as it is
    own = metrics.space("seuclidean", 2, None, A)
    assert distance(own, x, z) == pytest.approx(np.sqrt(1 / A[:, 0].var(ddof=1) + 9 / A[:, 1].var(ddof=1)))
    assert metrics.space("seuclidean", 2, None, A[:1]).map.tolist() == [1, 1, 1]
    B = A[:, :2]
    V = np.cov(B, rowvar=False)
    gap = B[0] - B[2]
    for params, VI in [(None, np.linalg.inv(V)), ({"V": [[2.0, 0.5], [0.5, 1.0]]}, np.linalg.inv([[2.0, 0.5], [0.5, 1.0]])),
                       ({"VI": [[2.0, 0.5], [0.5, 1.0]]}, np.array([[2.0, 0.5], [0.5, 1.0]]))]:  # fmt: skip
        found = metrics.space("mahalanobis", 2, params, B)
        assert distance(found, B[0], B[2]) == pytest.approx(np.sqrt(gap @ VI @ gap))
    one = metrics.space("mahalanobis", 2, None, B[:, :1])
    assert distance(one, B[0, :1], B[2, :1]) == pytest.approx(abs(gap[0]) / B[:, 0].std(ddof=1))
    assert metrics.space("canberra", 2, None, A) is None


@pytest.mark.parametrize(
    ("metric", "params", "error", "said"),
    [
        ("minkowski", {"w": [1, 2]}, ModelError, r"for each of the 3 columns, got shape \(2,\)"),
        ("minkowski", {"w": [1, 2, -1]}, ModelError, "w must be a weight of at least 0"),
        ("minkowski", {"w": ["a"]}, BadParameter, r"'w' must hold numbers. Got \['a'\] instead"),
        ("minkowski", {"w": [1, 2, np.inf]}, BadParameter, "'w' holds NaN or infinite"),
        ("minkowski", {"ww": 1}, BadParameter, r"minkowski takes no 'ww'.*\(it knows 'p', 'w'\)"),
        ("euclidean", {"V": 1}, BadParameter, r"euclidean takes no 'V'.*\(it knows 'w'\)"),
        ("seuclidean", {"V": [1, 1]}, ModelError, "a variance of at least 0 for each of the 3 columns"),
        ("seuclidean", {"V": [1, 1, -1]}, ModelError, "a variance of at least 0"),
        ("seuclidean", {"W": 1}, BadParameter, r"\(it knows 'V'\)"),
        ("mahalanobis", {"V": np.eye(2)}, ModelError, r"over 3 columns needs a 3 × 3 matrix, got shape \(2, 2\)"),
        ("mahalanobis", {"V": np.diag([1.0, 1.0, -1.0])}, ModelError, "negative eigenvalue"),
        ("mahalanobis", {"V": np.diag([1.0, 1.0, 0.0])}, SingularCovariance, "the covariance has no inverse"),
        ("mahalanobis", {"VIV": 1, "VI": np.eye(3)}, BadParameter, r"\(it knows 'V', 'VI'\)"),
    ],
)
def test_parameters_that_a_metric_cannot_have(metric, params, error, said):
    with pytest.raises(error, match=said):
        metrics.space(metric, 3, params, np.zeros((2, 3)))


def test_an_exponent_among_the_parameters_is_taken_out():
    params = {"p": 3, "w": 1}
    with pytest.warns(SyntaxWarning, match=r"metric_params says p=3 and the parameter p is 2: 3 it is"):
        assert metrics.exponent("minkowski", 2, params) == 3.0
    assert params == {"w": 1}
    assert metrics.exponent("minkowski", 2, {}) == 2
    untouched = {"p": 3}
    assert metrics.exponent("euclidean", 2, untouched) == 2
    assert untouched == {"p": 3}


TABLE = pd.DataFrame(
    {"c": ["u", "v", "u", None], "x": [1.0, 3.0, np.nan, 7.0], "d": ["k", "k", "l", "l"], "n": [2, 2, 5, 4]}
)
CLASSES = np.array([0, 1, 0, 1])


def test_gower_is_the_mean_of_gaps():
    found = metrics.mixed_space("gower", TABLE, None, {"n": "count"})
    assert (found.norm, found.numeric, found.widths) == ("manhattan", [1, 3], [1, 1, 3, 3])
    assert found.order == [2, 0, 3, 1]  # where c, x, d, n stand
    assert [(c.name, c.kind, c.values) for c in found.columns] == [
        ("c", "categorical", ("u", "v")), ("x", "numeric", ()), ("d", "categorical", ("k", "l")), ("n", "numeric", ()),
    ]  # fmt: skip
    assert found.spans() == [None, (1.0, 7.0, None), None, (2.0, 5.0, None)]
    points = found(TABLE)
    for a, b in itertools.combinations(range(4), 2):
        gaps = [
            None if TABLE["c"].isna()[[a, b]].any() else float(TABLE["c"][a] != TABLE["c"][b]),
            None if TABLE["x"].isna()[[a, b]].any() else abs(TABLE["x"][a] - TABLE["x"][b]) / 6,
            float(TABLE["d"][a] != TABLE["d"][b]),
            abs(TABLE["n"][a] - TABLE["n"][b]) / 3,
        ]
        there = [g for g in gaps if g is not None]
        (wanted,) = metrics.gower_missing(points[[a]], points[[b]], found.widths)[0]
        assert wanted == pytest.approx(sum(there) / len(there))
        if len(there) == 4:
            assert np.abs(points[a] - points[b]).sum() == pytest.approx(wanted)
    new = found(pd.DataFrame({"c": ["w", "u"], "x": [1.0, 1.0], "d": ["k", "k"], "n": [2, 2]}))
    assert np.abs(new[0] - new[1]).sum() == pytest.approx(1 / 4)  # a value never seen differs from all
    same = metrics.mixed_space("gower", pd.DataFrame({"x": [3.0, 3.0], "y": [1.0, 2.0]}), None, None)
    assert same(pd.DataFrame({"x": [9.0], "y": [1.5]})).tolist() == [[0.0, 0.25]]  # a constant column tells nothing
    assert metrics.gower_missing(np.array([[np.nan]]), np.array([[1.0]]), [1]).tolist() == [[np.inf]]


def test_values_differ_as_their_classes_do():
    found = metrics.mixed_space("vdm", TABLE, CLASSES, {"n": "count"})
    assert (found.norm, found.widths) == ("euclidean", [1, 1, 2, 2])
    points = found(TABLE)
    x = TABLE["x"].to_numpy()
    sigma = np.nanstd(x)
    np.testing.assert_allclose(points[[0, 1, 3], 0], (x[[0, 1, 3]] - np.nanmean(x)) / (4 * sigma))
    assert points[2, 0] == 0.0  # a missing measurement is the mean
    n = TABLE["n"].to_numpy()
    np.testing.assert_allclose(points[:, 1], (n - n.mean()) / (4 * n.std()))
    spans = found.spans()
    np.testing.assert_allclose(spans[1][:2], [np.nanmean(x) - 2 * sigma, np.nanmean(x) + 2 * sigma])
    model = po.NaiveBayes(kinds="categorical").fit(TABLE[["c", "d"]], CLASSES)
    given, prior = model.tables_["c"].to_numpy(), model.tables_["class"]["P"].to_numpy()
    joint = given * prior
    posterior = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(points[[0, 1], 2:4], posterior)
    np.testing.assert_allclose(points[3, 2:4], prior)  # a missing cell says no more
    never = found(TABLE.assign(c="w"))
    np.testing.assert_allclose(never[:, 2:4], np.tile(prior, (4, 1)))
    with pytest.raises(ModelError, match="so it needs classes: use 'gower' for regression"):
        metrics.mixed_space("vdm", TABLE, None, None)


def test_tables_that_have_no_mixed_distance():
    with pytest.raises(BadValue, match="X holds infinite cells"):
        metrics.mixed_space("gower", pd.DataFrame({"x": [1.0, np.inf]}), None, None)
    with pytest.raises(BadValue, match="column 'y' has no value at all"):
        metrics.mixed_space("gower", pd.DataFrame({"x": [1.0, 2.0], "y": [np.nan, np.nan]}), None, None)
    bare = metrics.mixed_space("gower", np.array([[1.0, 2.0], [3.0, 4.0]]), None, {0: "categorical"})
    assert [c.name for c in bare.columns] == ["x0", "x1"]
    with pytest.raises(BadValue, match="X has 3 features, but the model was fitted on 2 features"):
        bare(np.zeros((1, 3)))


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "mahalanobis", "gower", "vdm"])
@pytest.mark.parametrize("seed", range(8))
def test_a_row_of_weight_w_is_w_rows_to_the_metric_too(metric, seed):
    """Variances, covariances, ranges and P(y|x_j) are those of the copies; a row of weight 0 is not there."""
    rng = np.random.default_rng(seed)
    n = 30
    words, y, w = rng.choice(list("pqr"), n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    numbers = rng.normal(size=(n, 2)) * [1, 5]
    numbers[np.flatnonzero(w == 0)[:1]] = 1e3
    words[np.flatnonzero(w == 0)[:1]] = "nowhere else"
    rows, ask = numbers, rng.normal(size=(50, 2)) * [1, 5]
    if metric in ("gower", "vdm"):
        rows = pd.DataFrame({"a": words, "b": numbers[:, 0], "c": np.where(rng.random(n) < 0.2, np.nan, numbers[:, 1])})
        ask = pd.DataFrame({"a": rng.choice(list("pqrs"), 50), "b": ask[:, 0], "c": ask[:, 1]})
    copies = np.repeat(np.arange(n), w)
    again = rows.iloc[copies] if isinstance(rows, pd.DataFrame) else rows[copies]
    weighed = po.KNeighborsClassifier(5, metric=metric).fit(rows, y, sample_weight=w)
    repeated = po.KNeighborsClassifier(5, metric=metric).fit(again, y[copies])
    np.testing.assert_allclose(weighed.predict_proba(ask), repeated.predict_proba(ask), atol=1e-12)
    far, near = (m.kneighbors(ask, 1)[0] for m in (weighed, repeated))
    if metric not in ("euclidean", "gower", "vdm"):
        assert (far <= near * (1 + 1e-9)).all()  # rows of no weight are stored, and may be nearer


def test_variances_of_weights_that_are_no_more_than_one_row():
    few = metrics.space("seuclidean", 2, None, X, np.full(len(X), 0.01))
    np.testing.assert_allclose(few.map, 1 / X.std(axis=0))
    np.testing.assert_allclose(
        metrics.space("mahalanobis", 2, None, X, np.full(len(X), 2.0)).map,
        metrics.space("mahalanobis", 2, None, np.repeat(X, 2, axis=0)).map,
    )
