"""Rows that are points: one border for distances and margins, whatever the table."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import posteriori as po
from posteriori.errors import BadValue, TableError, UnknownColumn
from posteriori.table.points import Border, read_points

pandas = pytest.importorskip("pandas")
NEAR = Border(
    "a distance needs every cell", "Try metric='nan_euclidean'.", "Try metric='gower'.", (np.float64, np.float32)
)
MARGIN = Border("a margin needs every coordinate", "Impute first.", one_hot=True)
X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


class Model(BaseEstimator):
    """An estimator that only has a border."""


def tables():
    yield X
    yield X.astype(np.float32)
    yield X.astype(np.int64)
    yield X.astype(object)
    yield X.tolist()
    yield np.asfortranarray(X)
    yield sparse.csc_matrix(X)
    yield pandas.DataFrame(X)
    yield pandas.DataFrame(X, columns=["a", "b"])
    yield pandas.DataFrame(X, columns=["a", "b"]).convert_dtypes()
    yield {"a": X[:, 0], "b": X[:, 1].tolist()}
    yield pytest.importorskip("pyarrow").table({"a": X[:, 0], "b": X[:, 1]})


@pytest.mark.parametrize("border", [NEAR, MARGIN], ids=["near", "margin"])
@pytest.mark.parametrize("table", list(tables()), ids=lambda t: type(t).__name__)
def test_every_table_is_the_same_points(table, border):
    model = Model()
    for reset in (True, False):
        points = read_points(model, table, border, reset=reset)
        dense = points.toarray() if sparse.issparse(points) else points
        np.testing.assert_array_equal(dense, X)
        assert points.dtype in border.floats
        assert sparse.issparse(points) or points.flags.c_contiguous
        assert model.n_features_in_ == 2
    names = isinstance(table, dict) or [*getattr(table, "columns", [])] == ["a", "b"] or hasattr(table, "column_names")
    assert hasattr(model, "feature_names_in_") == names


def test_columns_are_matched_by_name():
    model = Model()
    frame = pandas.DataFrame(X, columns=["a", "b"])
    read_points(model, frame, NEAR, reset=True)
    np.testing.assert_array_equal(read_points(model, frame[["b", "a"]], NEAR, reset=False), X)
    with pytest.raises(UnknownColumn, match="missing columns: 'b'; did you mean 'bb'"):
        read_points(model, frame.rename(columns={"b": "bb"}), NEAR, reset=False)
    with pytest.warns(UserWarning, match="valid feature names"):
        read_points(model, X, NEAR, reset=False)
    plain = Model()
    read_points(plain, X, NEAR, reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(read_points(plain, frame, NEAR, reset=False), X)
    for wide in (np.ones((1, 3)), {"a": [1], "b": [2], "c": [3]}):
        with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 2 features"):
            read_points(plain, wide, NEAR, reset=False)


@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix, lambda x: pandas.DataFrame(x, columns=["a", "b"])])
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_no_point_is_named(make, cell):
    broken = X.copy()
    broken[1, 1] = cell
    named = hasattr(make(X), "iloc")
    what = r"\(NaN\)" if np.isnan(cell) else r"\(inf\)"
    with pytest.raises(BadValue, match=f"{what} in row 1, column {repr('b') if named else 1}: a distance needs"):
        read_points(Model(), make(broken), NEAR, reset=True)
    if np.isnan(cell):
        allowed = read_points(Model(), make(broken), Border("", allow_missing=True), reset=True)
        assert np.isnan(allowed.toarray() if sparse.issparse(allowed) else allowed).sum() == 1
    else:
        with pytest.raises(BadValue, match="infinite"):
            read_points(Model(), make(broken), Border("", allow_missing=True), reset=True)


def test_large_finite_cells_are_points():
    big = np.full((4, 2), 1e308)  # their sum is not finite
    assert read_points(Model(), big, NEAR, reset=True) is not None


@pytest.mark.parametrize(
    "table", [{"a": [1, 2], "b": ["x", "y"]}, pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), [[1, "x"], [2, "y"]]]
)
def test_words_hint_at_a_way(table):
    with pytest.raises(BadValue, match=r"column ('b'|x1) holds 'x'.*metric='gower'"):
        read_points(Model(), table, NEAR, reset=True)


def test_categories_become_corners():
    model, frame = Model(), {"a": [1.0, 2.0], "b": ["y", "x"]}
    assert read_points(model, frame, MARGIN, reset=True).tolist() == [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    assert model.columns_.coordinates == ("a", "b=x", "b=y")
    assert read_points(model, {"b": ["z"], "a": [3]}, MARGIN, reset=False).tolist() == [[3.0, 0.0, 0.0]]
    with pytest.raises(BadValue, match=r"missing cell.*row 0, column 'b'.*Impute"):
        read_points(model, {"b": [None], "a": [3]}, MARGIN, reset=False)
    read_points(model, X, MARGIN, reset=True)
    assert not hasattr(model, "columns_")
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("empty", [np.ones((0, 2)), np.ones((2, 0)), {}, {"a": []}, pandas.DataFrame({"a": []})])
def test_no_rows_or_columns_are_refused(empty):
    with pytest.raises(ValueError, match="minimum of 1 is required") as caught:
        read_points(Model(), empty, NEAR, reset=True)
    assert isinstance(caught.value, TableError) or isinstance(empty, np.ndarray)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize(("shape", "said"), [((3, 2, 2), "dim 3"), ((2,), "1D array"), ((), "scalar array")])
def test_points_lie_in_a_matrix(shape, said, reset):
    model = Model()
    read_points(model, X, NEAR, reset=True)
    with pytest.raises(ValueError, match=said):
        read_points(model, np.ones(shape), NEAR, reset=reset)


@pytest.mark.parametrize("Model", [po.GaussianNB, po.GaussianBayes, po.CategoricalNB, po.BernoulliNB, po.MultinomialNB])
@pytest.mark.parametrize("X", [[["u", 1], ["v", 2]], {"b": ["u", "v"], "a": [1, 2]}])
def test_a_word_given_to_a_matrix_is_named_with_the_way_out(Model, X):
    with pytest.raises(BadValue, match=r"column .* holds 'u'.*NaiveBayes takes words"):
        Model().fit(pandas.DataFrame(X), [0, 1])


@pytest.mark.parametrize(
    "model",
    [
        po.LinearSVC(random_state=0),
        po.LinearSVC(loss="hinge", C=0.01, random_state=0),
        po.SVC(),
        po.SVC(kernel="linear"),
        po.SVR(),
        po.KNeighborsClassifier(),
        po.KMeans(3, random_state=0),
        po.MultinomialNB(),
        po.BernoulliNB(),
        po.ComplementNB(),
    ],
    ids=repr,
)
def test_the_width_of_a_sparse_table_s_indices_changes_nothing(model):
    rng = np.random.default_rng(0)
    narrow, y = sparse.random(80, 12, 0.3, format="csr", rng=0), rng.integers(0, 3, 80)
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = model.fit(narrow, y).predict(narrow)
    assert np.array_equal(model.fit(wide, y).predict(wide), expected)
    assert wide.indices.dtype == np.int64  # the caller's table stays as it was
