"""Equal rows are one row of their weight: groups by brute force, shares that add up, dense or sparse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import posteriori as po
from posteriori.errors import ModelError
from posteriori.margin.merge import as_they_are, merge, read_classes


@given(st.integers(0, 500), st.sampled_from([np.asarray, sparse.csr_array]), st.integers(1, 25))
def test_groups_are_equal_rows_with_equal_targets(seed, form, n):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n, 2)).astype(float), rng.integers(0, 2, n)
    w = rng.integers(0, 4, n).astype(float)
    w[rng.integers(n)] += 1.0
    found = merge(form(X), y, w)
    keys = [(*X[i], y[i]) if w[i] > 0 else None for i in range(n)]
    for i in range(n):
        assert (found.group[i] == -1) == (keys[i] is None)
        for j in range(n):
            if keys[i] is not None and keys[j] is not None:
                assert (found.group[i] == found.group[j]) == (keys[i] == keys[j])
    assert found.group[found.first].tolist() == list(range(len(found.first)))
    for g, total in enumerate(found.weight):
        assert total == w[found.group == g].sum()
        assert found.share[found.group == g] == pytest.approx(w[found.group == g] / total)
    beta = rng.normal(size=(3, len(found.first)))
    back = found.spread(beta)
    assert (back[:, w == 0] == 0).all()
    for g in range(len(found.first)):
        assert back[:, found.group == g].sum(axis=1) == pytest.approx(beta[:, g])


@given(st.integers(0, 500))
def test_the_order_of_rows_and_how_weights_are_written_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.integers(0, 3, (12, 2)).astype(float), rng.integers(0, 2, 12), rng.integers(1, 4, 12)
    a = merge(X, y, w.astype(float))
    turn = rng.permutation(12)
    b = merge(X[turn], y[turn], w[turn].astype(float))
    c = merge(np.repeat(X, w, axis=0), np.repeat(y, w), np.ones(w.sum()))
    for other, rows in ((b, X[turn]), (c, np.repeat(X, w, axis=0))):
        assert np.array_equal(X[a.first], rows[other.first])
        assert np.array_equal(a.weight, other.weight)


def test_rows_as_they_are():
    found = as_they_are(np.array([1.0, 0.0, 2.0]))
    assert found.first.tolist() == [0, 2]
    assert found.weight.tolist() == [1.0, 2.0]
    assert found.group.tolist() == [0, -1, 1]
    assert found.spread(np.array([5.0, 7.0])).tolist() == [5.0, 0.0, 7.0]


def test_rows_whose_projections_agree_are_still_told_apart():
    far = np.array([[1e300, 1.0], [1e300, 2.0]])  # the second column is lost beside the first
    assert len(merge(far, np.zeros(2), np.ones(2)).first) == 2


@pytest.mark.parametrize("model", [po.SVC(), po.LinearSVC()])
def test_classes_are_read_with_their_weights(model):
    X, y = np.arange(8.0).reshape(4, 2), ["a", "b", "b", "b"]
    rows, codes, weight, of_class = read_classes(model, X, y, [1, 2, 3, 4])
    assert (codes.tolist(), weight.tolist(), of_class.tolist()) == ([0, 1, 1, 1], [1, 2, 3, 4], [1, 1])
    assert model.classes_.tolist() == ["a", "b"]
    assert rows.dtype == np.float64
    with pytest.raises(ModelError, match="only one class: 'b'"):
        read_classes(model, X, ["b"] * 4, None)
    with pytest.raises(ModelError, match="no row of positive weight"):
        read_classes(model, X, y, [0, 1, 1, 1])
    model.set_params(class_weight={"a": 0.0, "b": 1.0})
    with pytest.raises(ModelError, match="no row of positive weight"):
        read_classes(model, X, y, None)
    model.set_params(class_weight=None)
    with pytest.raises(ValueError, match="inconsistent"):
        read_classes(model, X, y[:3], None)


def test_weights_and_rows_of_no_weight_by_hand():
    X, y = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0], [5.0, 5.0]]), np.array([1, 0, 1, 0, 0])
    for form in (np.asarray, sparse.csr_array):
        found = merge(form(X), y, np.array([1.0, 2.0, 3.0, 4.0, 0.0]))
        assert len(found.first) == 3
        assert found.group[4] == -1
        assert found.group[0] == found.group[2]
        assert found.share.tolist() == [0.25, 1.0, 0.75, 1.0, 0.0]
        assert y[found.first].tolist() == sorted(y[found.first])
        assert found.spread(np.arange(1.0, 4.0))[[0, 2, 4]].tolist() == [0.75, 2.25, 0.0]
        alone = merge(form(X[:1]), y[:1], np.array([3.0]))
        assert (alone.first.tolist(), alone.weight.tolist(), alone.group.tolist()) == ([0], [3.0], [0])


def test_sparse_rows_whose_projections_agree_are_still_told_apart():
    far = sparse.csr_array(np.array([[1e300, 1.0], [1e300, 2.0], [1e300, 1.0]]))
    assert sorted(merge(far, np.zeros(3), np.ones(3)).weight.tolist()) in ([1.0, 2.0], [1.0, 1.0, 1.0])


def test_a_class_that_weighs_nothing_is_named_whoever_took_its_weight():
    X = np.arange(4.0)[:, None]
    for weights, of_class, fine in (([1, 0, 1, 0], None, False), ([1, 0, 1, 2], None, True), (None, None, True)):
        model = po.SVC(class_weight=of_class)
        if fine:
            assert read_classes(model, X, [0, 1, 0, 1], weights)[1].tolist() == [0, 1, 0, 1]
        else:
            with pytest.raises(ModelError, match="no row of positive weight"):
                read_classes(model, X, [0, 1, 0, 1], weights)
    assert read_classes(po.SVC(class_weight={0: 0.5, 1: 3.0}), X, [0, 1, 0, 1], None)[3].tolist() == [0.5, 3.0]
