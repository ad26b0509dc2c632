"""BayesForest: the same bits for any threads, out-of-bag answers that are none of its own rows', tables at the edge."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.forest import forest as forest_room
from posteriori.forest.counts import impurity
from posteriori.forest.forest import FLOOR, grown_trees, mean_loss, member_tables, tree_bytes, tried
from posteriori.forest.pool import pooled
from posteriori.kernels.trees import Codes, draw_bags

from .making import IRIS, mixed


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 16, 100, 1000])
def test_a_node_looks_at_about_one_and_a_half_roots_of_the_columns(d):
    assert 1 <= tried(d) <= d
    assert abs(tried(d) - 1.5 * d**0.5) <= 0.5 or tried(d) == d


def codes(n, sizes=(3, 5), named=(True, False)):
    rng = np.random.default_rng(0)
    return Codes(np.array([rng.integers(0, min(size, 255), n) for size in sizes], np.uint8), sizes, named)


def test_a_member_has_at_most_thirteen_values_of_a_column_and_its_two_parents():
    assert member_tables(codes(50), 2) == 2 * (3 + 5) + 2 * 4 * 13**3 * 2
    assert member_tables(codes(50), 100) == 2 * (3 + 5) + 2 * 4 * 2**16  # not more numbers than that,
    assert member_tables(codes(20_000), 100) == 2 * (3 + 5) + 2 * 4 * 4 * 20_000  # or four a row


@pytest.mark.parametrize("K", [2, 7])
def test_trees_take_what_their_nodes_take(K):
    """Up to 1.3 n nodes, of two copies; where that does not fit, as many as two of them have."""
    table, y = codes(200, (70, 5)), np.arange(200) % K
    most = 10 * 1.3 * 200 * (2 * (12 + 4 * K) + 16 * 2)  # sets of 70 values are two words, twice
    assert tree_bytes(table, y, K, None, 10, most, 1) == pytest.approx(most)
    measured = tree_bytes(table, y, K, None, 10, most - 1, 1)
    assert 0 < measured < most
    trees, _, _ = grown_trees(table, y, K, None, np.arange(2, dtype=np.uint64), 1, None)
    assert measured == pytest.approx(10 * 1.1 * (len(trees.column) * (12 + 4 * K) + trees.bits.nbytes))


def test_the_loss_is_over_the_rows_of_which_something_is_said():
    said = np.array([[0.5, 0.5], [np.nan, np.nan], [0.0, 1.0], [0.25, 0.75]])
    y = np.array([0, 1, 0, 1])
    losses = -np.log([0.5, FLOOR, 0.75])
    assert mean_loss(said, y, None) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1.0, 9.0, 2.0, 5.0])) == pytest.approx(np.average(losses, weights=[1, 2, 5]))
    assert mean_loss(said, y, np.array([0.0, 9.0, 0.0, 0.0])) == pytest.approx(losses.mean())
    assert mean_loss(said, y, np.array([1e-320, 0.0, 1e-320, 1e-320])) == pytest.approx(losses.mean())
    assert np.isnan(mean_loss(said[1:2], y[1:2], None))


def test_the_concentration_is_the_best_out_of_bag():
    table, y = codes(300), np.random.default_rng(1).integers(0, 2, 300)
    trees, c, said = grown_trees(table, y, 2, None, np.arange(20, dtype=np.uint64), 1, None)
    assert c == forest_room.CONCENTRATIONS[-1]  # of labels that are noise, the leaves are to say least
    bags = draw_bags(300, None, np.arange(20, dtype=np.uint64), 1)
    losses = []
    for other in forest_room.CONCENTRATIONS:
        sums, times = trees.sums(table, other, bags, 1)
        losses.append(mean_loss(sums / times[:, None], y, None))
    assert np.argmin(losses) == forest_room.CONCENTRATIONS.index(c)
    assert mean_loss(said, y, None) == pytest.approx(min(losses))


def small(**how):
    return po.BayesForest(n_trees=20, n_members=5, random_state=0, **how)


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)  # enough work for threads
    one, three = (small(n_jobs=j).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_the_same_seed_gives_the_same_forest_and_another_another():
    X, y = mixed()
    first, again = small().fit(X, y), small().fit(X, y)
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = small().set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = np.random.default_rng(3)
    assert (clone(small()).set_params(random_state=stream).fit(X, y).predict(X) == first.predict(X)).mean() > 0.8


def test_the_posterior_is_the_pool_of_means():
    X, y = mixed()
    model = small().fit(X, y)
    grown = model.grown_
    codes = grown.coding.code(model._open(X), model._seen)
    parts = [grown.members.sums(codes)[0] / 5, grown.trees.sums(codes, model.concentration_)[0] / 20]
    for part in parts:
        assert_allclose(part.sum(axis=1), 1.0)
    wanted = pooled(parts, grown.prior, np.array([*model.exponents_.values()]))
    assert_allclose(model.predict_proba(X), wanted)
    assert_allclose(wanted.sum(axis=1), 1.0)
    assert_allclose(grown.prior, [(y == c).mean() for c in model.classes_])


def test_out_of_bag_answers_are_of_those_that_have_not_drawn_the_row():
    X, y = mixed(60)
    model = small().fit(X, y)
    grown, seeds = model.grown_, np.random.default_rng(0).integers(0, 1 << 63, 25, dtype=np.uint64)
    codes = grown.coding.code(model._open(X), model._seen)
    sums = [
        grown.members.sums(codes, draw_bags(60, None, seeds[:5])),
        grown.trees.sums(codes, model.concentration_, draw_bags(60, None, seeds[5:])),
    ]
    out = (sums[0][1] > 0) & (sums[1][1] > 0)
    assert_array_equal(np.isnan(model.oob_decision_function_[:, 0]), ~out)
    parts = [found[out] / times[out, None] for found, times in sums]
    wanted = pooled(parts, grown.prior, grown.exponents)
    assert_allclose(model.oob_decision_function_[out], wanted)
    assert model.oob_score_ == pytest.approx((model.classes_[wanted.argmax(axis=1)] == y[out]).mean())


def test_out_of_bag_is_honest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    model = po.BayesForest(random_state=0, n_trees=60).fit(X, y)
    assert model.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(model.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.15


def test_it_beats_its_parts_alone_where_they_differ():
    X, y = load_breast_cancer(return_X_y=True)
    model = small().fit(X[::2], y[::2])
    p = model.predict_proba(X[1::2])
    assert -np.log(p[np.arange(len(p)), y[1::2]]).mean() < 0.16
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_weights_are_chances_to_be_drawn():
    X, y = IRIS
    w = np.where(y == 2, 0.0, 1.0)
    without = small().fit(X, y, sample_weight=w)
    assert without.classes_.tolist() == [0, 1]
    assert len(without.oob_decision_function_) == 100
    scaled = small().fit(X, y, sample_weight=np.full(len(y), 8.0))
    assert_array_equal(scaled.predict_proba(X), small().fit(X, y, sample_weight=np.full(len(y), 2.0)).predict_proba(X))
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert (heavy.predict_proba(X)[:, 2].mean()) > small().fit(X, y).predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        tiny = small().fit(X, y, sample_weight=np.full(len(y), scale))
        assert tiny.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
    ],
    ids=["one row", "constant", "three rows", "one class", "all missing"],
)
def test_the_smallest_tables(X, y):
    model = small().fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert set(model.exponents_) == {"members", "trees", "prior"}


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10_000))
    y = (X[:, :50].sum(axis=1) > 0).astype(int)
    model = po.BayesForest(n_trees=3, n_members=1, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    classes = np.repeat(np.arange(1000), 2)
    many = po.BayesForest(n_trees=3, n_members=2, random_state=0).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.BayesForest(max_memory=1e6).fit(X, y)
    with pytest.raises(ValueError, match="n_trees"):
        small().set_params(n_trees=0).fit(X, y)


def test_sets_of_many_values_are_counted_before_the_work():
    rng = np.random.default_rng(0)
    X, y = {"id": rng.integers(0, 3000, 3000).astype(str)}, rng.integers(0, 2, 3000)
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.BayesForest(random_state=0, max_memory=1e7).fit(X, y)
    model = po.BayesForest(20, 2, random_state=0, max_memory=1e8).fit(X, y)
    assert model.grown_.trees.bits.nbytes > model.grown_.trees.counts.nbytes  # what makes it large


def test_progress_is_told_and_may_end_it():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 10)), rng.integers(0, 2, 4000)
    said = []
    po.BayesForest(60, 5, random_state=0, n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said[-1] == (65, 65)
    assert said == sorted(said)

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        po.BayesForest(60, 5, random_state=0, progress=enough).fit(X, y)


def test_importances_are_what_questions_gain_in_all_trees():
    X, y = mixed()
    model = po.BayesForest(n_trees=3, n_members=1, random_state=0).fit(X, y)
    trees, gains = model.grown_.trees, np.zeros(4)
    for t in range(3):
        first = int(trees.starts[t])
        for i in range(first, int(trees.starts[t + 1])):
            if trees.column[i] >= 0:
                at = first + int(trees.child[i])
                own, left, right = (impurity(trees.counts[[k]].astype(float), "entropy")[0] for k in (i, at, at + 1))
                gains[trees.column[i]] += max(own - left - right, 0.0)
    assert_allclose(model.feature_importances_, gains / gains.sum(), rtol=1e-9)
    assert model.exponents_ == dict(zip(("members", "trees", "prior"), model.grown_.exponents.tolist()))
    assert model.concentration_ == model.grown_.concentration
    flat = po.BayesForest(n_trees=2, n_members=1, random_state=0).fit({"a": ["x", "x", "x"]}, [0, 1, 0])
    assert flat.feature_importances_.tolist() == [0.0]


def test_memory_is_that_of_members_rows_and_trees(monkeypatch):
    told = []
    monkeypatch.setattr(forest_room, "refuse_over", lambda limit, need, *words: told.append((limit, need, *words)))
    monkeypatch.setattr(forest_room, "member_tables", lambda codes, K: 1000.0 * K)
    monkeypatch.setattr(forest_room, "memory_budget", lambda limit: 1e6)
    asked = []
    monkeypatch.setattr(forest_room, "tree_bytes", lambda *given: asked.append(given[4:6]) or 5e5)
    model = po.BayesForest(n_trees=7, n_members=3, max_memory=9.0)
    model._refuse_large(SimpleNamespace(n=1234), None, 2, None)
    rest = 3 * 2000.0 + 40 * 1234 * 2
    assert asked == [(7, 1e6 - rest)]
    assert told[0][:3] == (9.0, 5e5 + rest, "a forest of 1,234 rows")
