"""What the discrete drop-ins share, beside scikit-learn: the prior in its three forms."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import naive_bayes as sk

import posteriori as po
from posteriori.bayes import drop_ins, linear_nb
from posteriori.errors import BadParameter, BadValue, UnknownValue
from posteriori.smoothing.theta import MOST_SMOOTHING

X, Y = np.array([[0, 1, 2], [1, 0, 0], [2, 1, 1], [0, 0, 1], [1, 2, 0]]), np.array([0, 1, 2, 0, 0])


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("how", [{}, {"fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}], ids=str)
def test_the_prior_is_scikit_learns(name, how):
    mine, theirs = (getattr(library, name)(**how).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["BernoulliNB", "ComplementNB", "MultinomialNB"])
@given(seed=st.integers(0, 2**32 - 1))
def test_cells_that_are_stored_twice_are_their_sum(name, seed):
    rng = np.random.default_rng(seed)
    n, d, m = 8, 5, 30
    place = rng.integers(0, n, m), rng.integers(0, d, m)
    data, y = rng.integers(0, 3, m).astype(float), np.arange(n) % 3
    order = np.argsort(place[0], kind="stable")
    indptr = np.searchsorted(place[0][order], np.arange(n + 1))
    stored = sparse.csr_matrix((data[order], place[1][order], indptr), shape=(n, d))
    before = stored.copy()
    model = getattr(po, name)()
    found = model.fit(stored, y).predict_proba(stored)
    assert_allclose(found, model.fit(before.toarray(), y).predict_proba(before.toarray()), rtol=1e-9)
    assert np.array_equal(stored.data, before.data)  # what was given is left as it was
    assert np.array_equal(stored.indices, before.indices)


@pytest.mark.parametrize("name", ["ComplementNB", "MultinomialNB"])
def test_a_smoothing_of_each_feature_is_scikit_learns(name):
    mine, theirs = (getattr(library, name)(alpha=[0.5, 1.0, 2.0]).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    for alpha in ([1.0, 1.0], [1.0, -1.0, 1.0]):
        with pytest.raises(ValueError, match="alpha"):
            getattr(po, name)(alpha=alpha).fit(X, Y).predict(X)


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
def test_a_smoothing_that_is_too_small_is_raised_and_told(name):
    small = getattr(po, name)(alpha=1e-12, force_alpha=False)
    with pytest.warns(UserWarning, match="alpha too small"):
        found = small.fit(X, Y).predict_proba(X)
    assert_allclose(found, getattr(po, name)(alpha=1e-10).fit(X, Y).predict_proba(X))


@pytest.mark.parametrize("least", [4, [3, 4, 5]])
def test_least_categories_are_scikit_learns(least):
    mine, theirs = (library.CategoricalNB(min_categories=least).fit(X, Y) for library in (po, sk))
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)
    for bad in ([3, 4], [[3, 4, 5]], 2.5):
        with pytest.raises(ValueError, match="min_categories"):
            po.CategoricalNB(min_categories=bad).fit(X, Y)


@pytest.mark.parametrize("name", ["ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("cell", [-1.0, np.nan, np.inf])
def test_a_cell_that_is_no_count_is_refused_sparse_or_not(name, cell):
    bad = np.array([[1.0, 0, 0], [0, cell, 0]])
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
            getattr(po, name)().fit(form(bad), [0, 1])
        with pytest.raises(ValueError, match=r"[Nn]egative|NaN|infinity"):
            getattr(po, name)().fit(X, Y).predict(form(bad))


def test_an_alpha_of_zero_may_stand_in_an_array():
    X, y = np.array([[1, 0, 2], [1, 3, 1], [2, 1, 1]]), [0, 1, 0]
    alpha = np.array([0.0, 0.5, 1.0])
    ours, theirs = (m(alpha=alpha).fit(X, y) for m in (po.MultinomialNB, sk.MultinomialNB))
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_)
    with pytest.raises(ValueError, match="greater than 0"):
        po.MultinomialNB(alpha=np.array([-1e-9, 0.5, 1.0])).fit(X, y)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB", "GaussianNB"])
@pytest.mark.parametrize("named", [False, True])
def test_to_explain_a_row_changes_nothing_of_a_model(name, named):
    """Neither the names that training had nor that it had none."""
    X, y = np.array([[1, 0], [0, 2], [2, 1], [0, 1], [1, 2]]), [0, 1, 0, 1, 0]
    X = pd.DataFrame(X if name == "CategoricalNB" else X.astype(float), columns=["a", "b"])
    model = getattr(po, name)().fit(X if named else X.to_numpy(), y)
    before = {key: value for key, value in vars(model).items() if key != "_kept"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.explain(X[:1])
    assert hasattr(model, "feature_names_in_") == named
    assert all(vars(model)[key] is value for key, value in before.items())


LINEAR = ["BernoulliNB", "ComplementNB", "MultinomialNB"]


def a_model(**known):
    return SimpleNamespace(**({"n_features_in_": 3} | known))


def test_an_array_is_plain_if_the_kernels_read_it_as_it_is():
    floats = (np.dtype(float), np.dtype(np.int8))
    good = np.ones((2, 3))
    shifted = np.frombuffer(b"\0" * 49, dtype=np.uint8)[1:].view(np.float64).reshape(2, 3)
    assert not shifted.flags.aligned

    class Kin(np.ndarray):
        pass

    for X in (good, good.astype(np.int8), good[::-1], np.asfortranarray(good)):
        assert drop_ins.plain(a_model(), X, floats, False)
    for X in (
        [[1.0, 1.0, 1.0]],
        good.view(Kin),
        good[0],
        good[None],
        good.astype(np.float32),
        good[:0],
        shifted,
        good[:, :2],
        sparse.csr_matrix(good),
    ):
        assert not drop_ins.plain(a_model(), X, floats, False)
    assert not drop_ins.plain(a_model(feature_names_in_=["a"]), good, floats, False)  # it has names, X has none
    model = a_model(n_features_in_=7)
    assert drop_ins.plain(model, good, floats, True)
    assert model.n_features_in_ == 3


def test_sparse_rows_are_plain_if_the_kernels_read_them_as_they_are():
    good = sparse.csr_matrix(np.eye(3))
    for X in (good, sparse.csr_array(good)):
        assert drop_ins.plain_rows(a_model(), X, False)
    mixed = good.copy()
    mixed.indptr = mixed.indptr.astype(np.int64)
    for X in (good.tocsc(), good.astype(np.float32), good[:0], mixed, good[:, :2], np.eye(3)):
        assert not drop_ins.plain_rows(a_model(), X, False)
    assert not drop_ins.plain_rows(a_model(feature_names_in_=["a"]), good, False)
    model = a_model(n_features_in_=7)
    assert drop_ins.plain_rows(model, good, True)
    assert model.n_features_in_ == 3


def test_numbers_that_a_parameter_may_be():
    assert drop_ins.array_of("alpha", [1, 2]).tolist() == [1.0, 2.0]
    assert drop_ins.array_of("alpha", -3).tolist() == -3.0
    for wrong in ([], ["a"], [1.0, np.nan], np.inf, [[1], [2, 3]], None, {}):
        with pytest.raises(BadParameter, match="alpha must be finite numbers"):
            drop_ins.array_of("alpha", wrong)
    two = np.array(["x", "y"])
    assert drop_ins.told_priors([0.25, 0.75], two).tolist() == [0.25, 0.75]
    assert drop_ins.told_priors([0.0, 1.0], two).tolist() == [0.0, 1.0]
    for wrong in ([1.0], [-0.5, 1.5], [0.5, 0.6], [[0.5, 0.5]]):
        with pytest.raises(BadValue, match="priors must be 2 numbers that are not negative and sum to 1"):
            drop_ins.told_priors(wrong, two)


@pytest.mark.parametrize("wanted", [False, True])
def test_linear_scores_are_sums_dense_or_sparse(wanted):
    rng = np.random.default_rng(0)
    W, start, low = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3) * 1e-9
    X = rng.integers(0, 3, (5, 4)).astype(float)
    linear = linear_nb.LinearSum.of(W, start, low)
    assert not linear.infinite
    expected = X @ W + start + low
    if wanted:
        expected = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    for rows in (X, sparse.csr_matrix(X)):
        found, row, seen = linear.score(rows, wanted=wanted)
        assert_allclose(found, expected, rtol=1e-12)
        assert (row, seen) == (-1, 0)
    above = linear.score(sparse.csr_matrix(X), 1.0)[0]
    assert_allclose(above, (X > 1) @ W + start + low)
    wide = np.tile(X, (2000, 1))  # a product that BLAS would share out
    assert_allclose(linear.score(wide)[0], np.tile(linear.score(X)[0], (2000, 1)), rtol=1e-12)
    assert_allclose(linear_nb.LinearSum.of(W, start).score(X)[0], X @ W + start)


def test_weights_that_are_infinite_are_counted_beside():
    W = np.array([[1.0, -np.inf], [-np.inf, 2.0], [3.0, 4.0]])
    hits, start = np.isinf(W), np.array([0.5, 0.25])
    X = np.array([[1.0, 0, 1], [0, 2, 0], [1, 1, 0], [0, 0, 1]])
    linear = linear_nb.LinearSum.of(W, start, hits=hits)
    assert linear.infinite
    assert linear.n_classes == 2
    found = linear.score(X)[0]
    assert_allclose(found[:, :2], X @ np.where(hits, 0.0, W) + start)
    assert_array_equal(found[:, 2:], X @ hits)
    always = linear_nb.LinearSum.of(W, start, np.array([1e-3, 0.0]), hits, np.array([2.0, 1.0])).score(X)[0]
    assert_array_equal(always[:, 2:], X @ hits + [2.0, 1.0])
    assert_allclose(always[:, :2], found[:, :2] + [1e-3, 0.0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [3, 40_000])
def test_dense_counts_are_sums_by_class_in_any_number_of_blocks(n, weighted):
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(0, 5, (n, 2)), rng.integers(0, 3, n)
    w = rng.uniform(size=n) if weighted else None
    expected = [[np.bincount(codes, cells[:, j] * (1 if w is None else w), minlength=3)] for j in range(2)]
    assert_allclose(drop_ins.dense_count(cells, codes, 3, w), np.concatenate(expected))


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("alpha", [1.0, 0.0, [0.5, 1.0, 2.0]], ids=str)
def test_the_parts_of_a_score_add_up(name, form, alpha):
    cells = form(np.array(X, dtype=float))
    model = getattr(po, name)(alpha=alpha).fit(cells, Y)
    start, parts = model._log_parts(cells)
    assert parts.shape == (5, 3, 3)
    joint = model._log_joint(cells)
    if name != "ComplementNB" or alpha != 0.0:  # whose infinities are counted
        with np.errstate(invalid="ignore"):
            assert_allclose(start + parts.sum(axis=1), joint, rtol=1e-9)


@pytest.mark.parametrize("binarize", [0.0, 1.0, None])
def test_the_parts_of_bits_are_logs_of_their_chances(binarize):
    cells = X / 2 if binarize is None else X
    model = po.BernoulliNB(binarize=binarize).fit(cells, Y)
    bits = cells if binarize is None else cells > binarize
    theta = np.stack([(bits[c == Y].sum(axis=0) + 1) / ((c == Y).sum() + 2) for c in range(3)], axis=1)
    expected = bits[:, :, None] * np.log(theta) + (1 - bits[:, :, None]) * np.log(1 - theta)
    start, parts = model._log_parts(cells)
    assert_allclose(parts, expected)
    assert_allclose(np.exp(start), [0.6, 0.2, 0.2])


@pytest.mark.parametrize("name", [*LINEAR, "CategoricalNB"])
def test_a_smoothing_raised_after_training_is_told_when_predicting(name):
    model = getattr(po, name)().fit(X, Y).set_params(alpha=0.0, force_alpha=False)
    with pytest.warns(UserWarning, match="setting alpha = 1.0e-10"):
        model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(alpha=1e-10).predict(X)
        model.set_params(alpha=0.0, force_alpha=True).fit(X, Y)


def test_what_a_smoothing_may_be():
    model = po.MultinomialNB().fit(X, Y)
    for alpha, whole in ((2, 6.0), (np.array(0.5), 1.5), ([0.5, 1.0, 2.0], 3.5), ([0.0, 0.0, MOST_SMOOTHING], 1e290)):
        assert model.set_params(alpha=alpha)._whole_smoothing() == whole
    small = model.set_params(alpha=[0.0, 1e-12, 1.0], force_alpha=False)._smoothing()
    assert small.tolist() == [1e-10, 1e-10, 1.0]
    model.set_params(force_alpha=True)
    with pytest.raises(BadValue, match=r"alpha must be at most 1e\+290\. Got 1\.1e\+290"):
        model.set_params(alpha=[0.0, 0.0, 1.1e290])._smoothing()
    with pytest.raises(BadValue, match="Got 2 elements instead of 3"):
        model.set_params(alpha=[1.0, 1.0])._smoothing()


def test_what_a_class_prior_may_be():
    model = po.MultinomialNB(class_prior=[0.0, 0.5, 0.5]).fit(X, Y)
    assert_array_equal(np.exp(model.class_log_prior_), [0.0, 0.5, 0.5])
    with pytest.raises(BadValue, match="class_prior must not be negative"):
        model.set_params(class_prior=[-0.1, 0.6, 0.5]).predict(X)
    with pytest.raises(BadValue, match="Number of priors must match number of classes"):
        model.set_params(class_prior=[0.5, 0.5]).predict(X)


def test_classes_are_told_by_the_first_call():
    model = po.MultinomialNB()
    with pytest.raises(BadValue, match="classes must be passed on the first call"):
        model.partial_fit(X, Y)
    model.partial_fit(X[:1], Y[:1], classes=[2, 0, 1]).partial_fit(X, Y).partial_fit(X, Y, classes=[0, 1, 2])
    assert model.class_count_.tolist() == [7.0, 2.0, 2.0]
    with pytest.raises(BadValue, match="not the same as on last call to partial_fit"):
        model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(UnknownValue, match=r"label\(s\) \[3\] in y do not exist in the initial classes \[0 1 2\]"):
        model.partial_fit(X, [0, 1, 3, 3, 0])


@pytest.mark.parametrize("name", [*LINEAR, "CategoricalNB", "GaussianNB"])
def test_which_rows_of_a_drop_in_wait(name):
    """One row of an array, of a class that is known, with cells that no later check could refuse."""
    cells = X if name == "CategoricalNB" else X.astype(float)
    model = getattr(po, name)().fit(cells, Y)

    def waits(row, y, **how):
        twin = copy.deepcopy(model).set_params(**how)
        twin.predict(cells)
        twin.partial_fit(row, y)
        return twin._pending is not None

    assert waits(cells[:1], [0])
    assert not waits(cells[:2], [0, 1])
    assert not waits(cells[:1].tolist(), [0])
    if name == "BernoulliNB":
        assert not waits(cells[:1] / 2, [0], binarize=None)
    if name in LINEAR:
        for cell, so in ((0.0, True), (np.nextafter(2.0**32, 0), True), (2.0**32, False)):
            assert waits(np.array([[cell, 0.0, 0.0]]), [0]) == so
        assert not waits(X[:1], [0])  # whole numbers, which are turned into floats first
    if name == "GaussianNB":
        for cell, so in ((-0.99e100, True), (0.99e100, True), (1.01e100, False), (-1.01e100, False)):
            assert waits(np.array([[cell, 0.0, 0.0]]), [0]) == so
    if name == "CategoricalNB":
        assert waits(np.array([[4, 0, 0]]), [0])  # a category that is new


def test_what_scikit_learn_is_told():
    for name in [*LINEAR, "CategoricalNB"]:
        tags = getattr(po, name)().__sklearn_tags__()
        assert tags.input_tags.sparse == (name != "CategoricalNB")
        assert tags.classifier_tags.poor_score
        assert tags.input_tags.positive_only == (name != "BernoulliNB")
        assert tags.input_tags.categorical == (name == "CategoricalNB")
