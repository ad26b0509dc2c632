"""A super-parent takes part from `min_frequency` rows on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

import posteriori as po
from posteriori.bayes.averaged import RowStore, always, collect_rows
from posteriori.errors import NotLearned
from posteriori.statistics.cuts import CodedTable


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


def test_a_rare_value_is_no_parent_of_a_draw():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 3)) < 0.5, "p", "q").astype(object)
    y = rng.integers(0, 2, 200)
    X[:4, 0] = "rare"
    for lazy in (False, True):
        rows, _ = po.AODE(lazy=lazy, min_frequency=30).fit(X, y).sample(2000, random_state=1)
        assert (np.asarray(rows)[:, 0] == "rare").mean() < 0.06  # as a parent it would be drawn as often as the others


def test_a_store_of_rows_adds_and_takes_away():
    a, b = (
        RowStore.of(np.array(rows, np.uint32), np.array(w)) for rows, w in [([[0, 1], [0, 1]], [1, 2]), ([[0, 0]], [2])]
    )
    both = a + b
    assert (both.rows.tolist(), both.weight.tolist()) == ([[0, 0], [0, 1]], [2, 3])
    left = both - b
    assert (left.rows.tolist(), left.weight.tolist()) == (a.rows.tolist(), a.weight.tolist())
    assert a.scaled(2.5).weight.tolist() == [7.5]
    with pytest.raises(NotLearned):
        a - b


def wide(n=300, seed=0):
    """A column of 256 values, whose missing cell needs a code of its own, beside others; and its rows."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.arange(n) % 256, rng.integers(0, 3, n), rng.integers(0, 2, n)]).astype(float)
    return X, rng.integers(0, 3, n)


@pytest.mark.parametrize("how", [{}, {"weights": "information"}, {"subsumption": 2}, {"subsumption": 0}], ids=str)
@pytest.mark.parametrize("least", [1, 4, 1000])
def test_lazy_is_eager_with_gaps_and_new_values_and_many_of_them(how, least):
    X, y = wide()
    X[:40, 2] = X[:40, 1] > 0  # values that follow from others
    lazy, eager = (po.AODE(least, lazy=k, kinds="categorical", **how).fit(X, y) for k in (True, False))
    rows = X[:60].copy()
    rows[::3, 0], rows[1::4, 1], rows[2::5, 2] = np.nan, np.nan, 9.0
    rows[7] = np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(lazy.predict_joint_log_proba(rows), eager.predict_joint_log_proba(rows), rtol=1e-9)


def test_weights_are_counted_and_rows_of_none_left_out():
    rows, y = (
        CodedTable([np.array([0, 1, 0, 0], np.uint8), np.array([2, 0, 2, 1], np.uint8)], (2, 2)),
        np.array([1, 0, 1, 0]),
    )
    plain, weighed = collect_rows(rows, y, None), collect_rows(rows, y, np.array([0.5, 0.0, 1.5, 2.0]))
    assert plain.rows.tolist() == [[0, 1, 0], [0, 2, 1], [1, 0, 0]]
    assert plain.weight.tolist() == [1, 2, 1]
    assert plain.weight.dtype == np.int64
    assert weighed.rows.tolist() == [[0, 1, 0], [0, 2, 1]]
    assert weighed.weight.tolist() == [2.0, 2.0]
    assert plain == collect_rows(rows, y, None)
    assert plain != weighed
    assert plain != plain.scaled(2)
    assert plain != 3
    turned = plain.reorder_columns([1, 0], (2, 2))
    assert turned.rows.tolist() == [[0, 1, 0], [1, 0, 0], [2, 0, 1]]
    assert turned.weight.tolist() == [1, 1, 2]


def test_rows_move_to_the_codes_of_another_schema():
    a = po.AODE(lazy=True, kinds="categorical").fit([["u", "p"], ["w", "q"], [None, "p"]], ["y", "x", "x"])
    b = po.AODE(lazy=True, kinds="categorical").fit([["v", "p"]], ["z"])
    both = a + b
    store = both.statistics_.joints[0]
    assert both.schema_["x0"].values == ("u", "v", "w")
    assert store.rows.tolist() == [[0, 0, 1], [1, 0, 2], [2, 1, 0], [3, 0, 0]]  # 3: missing
    own = a.statistics_.joints[0]
    assert own.reindex(a.schema_, a.schema_) is own
    less = both.forget([["v", "p"]], ["z"])
    assert less.statistics_.joints[0].rows.tolist() == own.rows.tolist()


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("weights", ["uniform", "information"])
def test_draws_have_the_chances_of_the_model(lazy, weights):
    """Σ_i w_i P(y, x_i) Π_j P(x_j|y, x_i)/Σ w, summed over every row there is."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 3], (80, 2))
    y = (X[:, 0] + rng.integers(0, 2, 80)) % 2
    model = po.AODE(1, lazy=lazy, weights=weights, kinds="categorical").fit(X, y)
    cells = np.array([[a, b] for a in range(2) for b in range(3)])
    p = np.exp(model.predict_joint_log_proba(cells))
    assert p.sum() == pytest.approx(1.0)
    n = 8000
    rows, classes = model.sample(n, random_state=1)
    at = np.asarray(rows, dtype=int) @ [3, 1]
    share = np.bincount(at * 2 + classes, minlength=12).reshape(6, 2) / n
    assert np.abs(share - p).max() < 4.5 * np.sqrt(p.max() / n)


@pytest.mark.parametrize("lazy", [False, True])
def test_where_no_value_is_frequent_naive_bayes_answers_and_draws(lazy):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (30, 3)), rng.integers(0, 2, 30)
    model = po.AODE(31, lazy=lazy, kinds="categorical").fit(X, y)
    naive = po.NaiveBayes(kinds="categorical").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), naive.predict_proba(X))
    rows, classes = model.sample(4000, random_state=0)
    for k in (0, 1):
        share = np.bincount(np.asarray(rows, dtype=int)[classes == k, 0], minlength=3) / (classes == k).sum()
        assert share == pytest.approx(naive.tables_["x0"].to_numpy()[:, k], abs=0.05)


def test_what_always_comes_with_it():
    both = np.array([[3.0, 3.0 - 1e-12, 2.9], [0.0, 1.0, 1.0]])
    assert always(both, np.array([3.0, 1.0])).tolist() == [[True, True, False], [False, True, True]]
