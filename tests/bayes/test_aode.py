"""A super-parent takes part from `min_frequency` rows on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

import posteriori as po


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.choice(list("pqr"), (50, 3)).astype(object)
    X[:, 0] = ["rare"] * 4 + ["usual"] * 46
    return X, rng.integers(0, 2, 50)


def test_a_value_of_just_so_many_rows_is_a_parent(table):
    X, y = table
    row = X[:1]
    at, below, above = (po.AODE(min_frequency=m).fit(X, y).predict_log_proba(row) for m in (4, 3.5, 4.5))
    assert np.array_equal(at, below)
    assert not np.allclose(at, above)


@pytest.mark.parametrize("model", [po.AODE(), po.SPODE(super_parent=0), po.TAN(), po.KDB(k=1), po.A2DE()], ids=repr)
def test_edges_are_as_strong_as_the_information_between_their_ends(model, table):
    """I(x_i; x_j | y) in nats, as scikit-learn's mutual information counts it class by class."""
    X, y = table
    model.fit(X, y)
    expected = [
        sum(
            (y == c).mean() * mutual_info_score(*(X[y == c, model.schema_.names.index(e)] for e in edge))
            for c in (0, 1)
        )
        for edge in model.edges_
    ]
    assert model.edges_
    assert model._edge_weights() == pytest.approx(expected)


def test_parents_weigh_what_they_tell_of_the_class(table):
    X, y = table
    model = po.AODE(weights="information").fit(X, y)
    expected = [mutual_info_score(X[:, j], y) for j in range(3)]
    assert model._weights_of(model.statistics_) == pytest.approx(expected)
    assert po.AODE().fit(X, y)._weights_of(model.statistics_).tolist() == [1, 1, 1]


def test_weights_that_add_up_to_the_frequency_reach_it():
    X, y = {"a": ["x", "y"] * 300, "b": ["u", "u", "v", "v"] * 150}, [0, 1] * 300
    tenths = po.AODE(min_frequency=30).fit(X, y, sample_weight=np.full(600, 0.1))
    assert tenths.statistics_.cells.table.sum(axis=1).min() < 30  # by rounding
    assert len(tenths._parents.places) == 4


def test_where_no_column_tells_of_the_class_all_weigh_alike():
    X, y = {"a": ["p", "q"] * 4, "b": ["u", "u", "v", "v"] * 2}, [0, 0, 0, 0, 1, 1, 1, 1]
    weighed, plain = (po.AODE(1, weights=w, kinds="categorical").fit(X, y) for w in ("information", "uniform"))
    assert weighed._weights_of(weighed.statistics_).tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(weighed.predict_proba(X), plain.predict_proba(X))
