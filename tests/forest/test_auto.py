"""AutoBayes: the same bits for any threads, answers that are none of its own rows', parts left out with a reason."""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer

import posteriori as po
from posteriori.errors import MemoryBudgetError
from posteriori.forest import growing
from posteriori.forest.growing import PARTS
from posteriori.forest.linear import Landmarks

from .making import IRIS, mixed


def small(**how):
    return po.AutoBayes(**{"n_trees": 15, "n_members": 8, "random_state": 0} | how)


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    one, three = (small(n_jobs=j).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))


def test_the_same_seed_gives_the_same_pool_and_another_another():
    X, y = mixed()
    first, again, other = (small(random_state=s).fit(X, y) for s in (0, 0, 1))
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = small(random_state=np.random.default_rng(3)).fit(X, y)
    assert (stream.predict(X) == first.predict(X)).mean() > 0.8


def test_the_posterior_is_the_product_of_its_parts():
    X, y = mixed()
    model = small().fit(X, y)
    pool, frame = model.grown_, model._open(X)
    codes = pool.coding.code(frame, model._seen)
    Z = pool.points(frame, codes)
    said = {
        "trees": lambda: pool.trees.sums(codes, pool.concentration)[0] / len(pool.trees),
        "members": lambda: pool.members.sums(codes)[0] / len(pool.members),
        "linear": lambda: pool.linear.posterior(Z),
        "kernel": lambda: pool.curved.posterior(pool.landmarks(Z)),
        "boosted": lambda: pool.rounds.posterior(codes),
    }
    logs = sum(u * np.log(said[name]()) for name, u in zip(pool.names, pool.exponents))
    p = np.exp(logs + pool.exponents[-1] * np.log(pool.prior))
    p = (1 - pool.noise) * p / p.sum(axis=1, keepdims=True) + pool.noise / p.shape[1]
    assert_allclose(model.predict_proba(X), p, atol=1e-9)
    assert model.noise_ == pool.noise
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_wrong_labels_are_taken_for_noise():
    """Of a rule that rows of four values tell for sure a few labels are turned."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (600, 4))
    y, turned = (X[:, 0] > 1).astype(int), rng.permutation(600)[:12]
    assert small().fit(X, y).noise_ == pytest.approx(1 / 600, rel=0.1)
    y[turned] = 1 - y[turned]
    model = small().fit(X, y)
    assert 0.01 < model.noise_ < 0.06  # of 2% turned, for half of the blind guesses are right
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() >= model.noise_ / 2 * (1 - 1e-9)
    assert model.oob_decision_function_[~np.isnan(model.oob_decision_function_)].min() >= model.noise_ / 2 * (1 - 1e-9)


def test_a_kernel_of_the_width_that_foretells_better():
    """A parity of signs wants near neighbours, a plane wants far ones; few rows are all landmarks."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    parity = np.sign(X[:, 0] * X[:, 1]) * np.sign(X[:, 2]) > 0
    plane = X @ [1.0, 2.0, -1.0] + 0.5 * rng.normal(size=400) > 0
    near, far = (small().fit(X, y.astype(int)).grown_.landmarks for y in (parity, plane))
    assert near.v < 2 * X.var(axis=0).sum() / X.var(axis=0).mean() < far.v
    assert near.at.shape == far.at.shape == (400, 3)


@pytest.mark.parametrize(
    ("wrong", "note"), [(0.0, r"the other parts leave \S+ nats a row"), (0.05, "256 landmarks have .* 0.0")]
)
def test_a_kernel_that_has_nothing_to_say_is_left_out(wrong, note):
    """A rule of two columns of words, with wrong labels and without: distances only blur it."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (1200, 8))
    y = (X[:, 0] > 2) ^ (X[:, 1] > 1) ^ (rng.random(1200) < wrong)
    model = po.AutoBayes(random_state=0).fit(X.astype(str), y.astype(int))
    (kernel,) = (row for row in model.parts_ if row.part == "kernel")
    assert re.match(note, kernel.note)
    assert (kernel.exponent, model.grown_.landmarks) == (0, None)


def test_many_rows_ask_for_more_landmarks_where_few_have_paid():
    """Far from and near to the middle, in six columns, beside a plane that a linear part tells as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    ball, plane = np.square(X).sum(axis=1) < 5.3, X.sum(axis=1) + rng.normal(size=1200) > 0
    many, few = (po.AutoBayes(random_state=0).fit(X, y.astype(int)).grown_.landmarks for y in (ball, plane))
    assert len(many.at) == 1024
    assert few is None or len(few.at) == 256


def test_rows_are_answered_in_blocks_that_landmarks_fit_into(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 1))
    model = small().fit(X, (np.sin(3 * X[:, 0]) > 0).astype(int))
    assert len(model.grown_.landmarks.at) > 200
    whole = model.predict_proba(X)
    sizes = []
    monkeypatch.setattr(growing, "BLOCK", 2000)
    ask = Landmarks.__call__
    monkeypatch.setattr(Landmarks, "__call__", lambda self, Z: sizes.append(len(Z) * len(self.at)) or ask(self, Z))
    assert_allclose(model.predict_proba(X), whole, rtol=1e-9, atol=1e-12)
    assert max(sizes) <= 2000
    monkeypatch.setattr(growing, "BLOCK", 3000)
    sizes.clear()
    again = small().fit(X, (np.sin(3 * X[:, 0]) > 0).astype(int))
    assert_allclose(again.predict_proba(X), whole, rtol=1e-6, atol=1e-9)


def test_a_kernel_looks_at_the_clock(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(700, 2))
    y = (np.square(X).sum(axis=1) < 1.4).astype(int)
    assert len(small().fit(X, y).grown_.landmarks.at) == 700
    monkeypatch.setattr(growing.Growing, "_left", lambda self: 1e-9)
    hurried = small().fit(X, y)
    assert len(hurried.grown_.landmarks.at) == 256


@pytest.mark.parametrize(("affordable", "rounds"), [(1, 10), (10, 10), (25, 25)])
def test_boosting_has_its_share_of_the_time(affordable, rounds, monkeypatch):
    """It would else take all that is left, and have nothing to show for it."""
    X, y = mixed(400)
    plain = growing.Growing._affordable
    of_boosting = growing.PARTS.index("boosted")
    monkeypatch.setattr(
        growing.Growing,
        "_affordable",
        lambda self, each, most, i: affordable if i == of_boosting else plain(self, each, most, i),
    )
    model = small(time_limit=1e6).fit(X, y)
    assert len(model.grown_.rounds.losses) == 1 + -(-rounds // 10)
    assert {row.part: row.note for row in model.parts_}["boosted"] == ""


def test_rounds_that_outlast_the_time_leave_the_first_ones(monkeypatch):
    X, y = mixed(400)

    def grow(*given, how, **options):
        if how.rounds > how.every:
            raise growing.NotMade("the time was over")
        return plain(*given, how=how, **options)

    plain = growing.grow_rounds
    monkeypatch.setattr(growing, "grow_rounds", grow)
    model = small(time_limit=1e6).fit(X, y)
    assert len(model.grown_.rounds.losses) == 2


def test_weights_that_are_all_alike_are_none_to_the_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    for trees in (1, 3, 20):
        plain, alike = (
            po.AutoBayes(trees, trees, random_state=0).fit(X, y, w).noise_ for w in (None, np.full(200, 5.0))
        )
        assert alike == pytest.approx(plain, rel=0.3)
    heavy = np.where(np.arange(200) < 10, 1000.0, 1.0)
    assert po.AutoBayes(20, 10, random_state=0).fit(X, y, heavy).noise_ < 0.05


def test_weights_of_many_decades():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    w = np.where(np.arange(200) < 20, 1e25, 1e-300)
    p = small().fit(X, y, sample_weight=w).predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)


def test_a_file_whose_parts_stand_in_another_order(tmp_path):
    """So files were written in which the kernel came third."""
    X, y = mixed()
    model = small().fit(X, y)
    asked = model.predict_proba(X)
    model.parts_ = tuple(sorted(model.parts_, key=lambda row: row.part))
    po.save(model, tmp_path / "model.posteriori")
    assert_array_equal(po.load(tmp_path / "model.posteriori").predict_proba(X), asked)


def test_a_column_without_cells_comes_back_from_its_file(tmp_path):
    for n in (9, 11, 18):
        rng = np.random.default_rng(n)
        X = np.column_stack([rng.normal(size=n), np.full(n, np.nan)])
        model = small().fit(X, np.arange(n) % 2)
        po.save(model, tmp_path / "model.posteriori")
        assert_array_equal(po.load(tmp_path / "model.posteriori").predict_proba(X), model.predict_proba(X))


def test_more_rows_than_landmarks():
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(1500, 2)), 2)
    model = small().fit(X, (np.square(X).sum(axis=1) < 1.4).astype(int))
    marks = model.grown_.landmarks
    assert 900 < len(marks.at) <= 1024
    assert len(np.unique(marks.at, axis=0)) == len(marks.at)
    assert model.exponents_["kernel"] > 0.2
    assert model.score(X, (np.square(X).sum(axis=1) < 1.4).astype(int)) > 0.97


def test_the_table_of_parts():
    X, y = mixed()
    model = small().fit(X, y)
    assert [row.part for row in model.parts_] == list(PARTS)
    assert model.exponents_ == {
        **{row.part: row.exponent for row in model.parts_},
        "prior": model.grown_.exponents[-1],
    }
    for row in model.parts_:
        assert row.seconds >= 0
        assert np.isnan(row.loss) == bool(row.note)
        assert (row.part in model.grown_.names) == (row.exponent > 0 or row.part == "trees")
    assert len(pd.DataFrame(model.parts_).columns) == 5
    own = model.oob_decision_function_[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert -np.log(own[~np.isnan(own)]).mean() < min(row.loss for row in model.parts_ if not row.note) + 0.02


def test_unseen_rows_are_foretold_as_well_as_the_pool_says():
    X, y = load_breast_cancer(return_X_y=True)
    model = po.AutoBayes(random_state=0).fit(X[::2], y[::2])
    p, own = model.predict_proba(X[1::2]), y[1::2]
    assert -np.log(p[np.arange(len(p)), own]).mean() < 0.14
    rng = np.random.default_rng(0)
    Z, noise = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    blind = small(n_trees=60).fit(Z, noise)
    assert blind.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(blind.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.12


def test_columns_of_noise_change_little():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(1)
    more = np.column_stack([X, rng.normal(size=(len(X), 3))])
    losses = []
    for table in (X, more):
        p = po.AutoBayes(random_state=0).fit(table[::2], y[::2]).predict_proba(table[1::2])
        losses.append(-np.log(p[np.arange(len(p)), y[1::2]]).mean())
    assert abs(losses[0] - losses[1]) < 0.02


def test_weights_are_relative_and_zero_is_not_there():
    X, y = IRIS
    without = small().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert without.classes_.tolist() == [0, 1]
    assert len(without.oob_decision_function_) == 100
    scaled = [small().fit(X, y, sample_weight=np.full(len(y), w)).predict_proba(X) for w in (2.0, 8.0)]
    assert_array_equal(*scaled)
    plain = small().fit(X, y)
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert heavy.predict_proba(X)[:, 2].mean() > plain.predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        assert small().fit(X, y, sample_weight=np.full(len(y), scale)).score(X, y) > 0.9
    uneven = small().fit(X, y, sample_weight=np.where(y == 1, 1e-300, 1.0))
    assert_allclose(uneven.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.arange(2.0)[:, None], [0, 1]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
        (np.array([[1e-150, 1e150]] * 3 + [[2e-150, -1e150]] * 3), [0] * 3 + [1] * 3),
    ],
    ids=["one row", "constant", "three rows", "two rows", "one class", "all missing", "far apart"],
)
def test_the_smallest_tables(X, y):
    model = small().fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert len(model.parts_) == len(PARTS)


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    y = (X[:, :50].sum(axis=1) > 0).astype(int)
    model = small(n_trees=3).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    notes = {row.part: row.note for row in model.parts_}
    assert "columns squared" in notes["members"]
    assert "values of all columns" in notes["boosted"]
    classes = np.repeat(np.arange(1000), 2)
    many = small(n_trees=3, n_members=2).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)


def test_what_cannot_help_is_left_out(monkeypatch):
    X, y = mixed()
    monkeypatch.setattr(growing, "MOST_WORK", 100)
    notes = {row.part: row.note for row in small().fit(X, y).parts_}
    assert "coordinates" in notes["linear"]
    assert notes["kernel"]
    monkeypatch.undo()
    monkeypatch.setattr(growing, "IDLE", 9.0)
    idle = small().fit(X, y)
    assert "6 of them have the exponent" in {row.part: row.note for row in idle.parts_}["members"]
    assert idle.grown_.members is None
    assert_allclose(idle.predict_proba(X).sum(axis=1), 1.0)


def test_time_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    none = po.AutoBayes(time_limit=0, random_state=0).fit(X, y)
    assert none.grown_.names == ("trees",)
    assert [row.note for row in none.parts_[1:]] == ["the time was over"] * (len(PARTS) - 1)
    assert none.score(X, y) > 0.8
    start = time.perf_counter()
    po.AutoBayes(n_trees=100_000, n_members=10_000, time_limit=2.0, random_state=0).fit(X, y)
    assert time.perf_counter() - start < 30
    much = po.AutoBayes(20, 7, time_limit=1e6, random_state=0).fit(X, y)
    assert len(much.grown_.trees) == 20


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="n_trees"):
        po.AutoBayes(max_memory=1e5).fit(X, y)
    tight = {row.part: row.note for row in small(max_memory=3e5).fit(X, y).parts_}
    assert "over the budget" in tight["members"]
    for wrong in ({"n_trees": 0}, {"time_limit": -1}, {"time_limit": "1 h"}, {"n_jobs": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            small(**wrong).fit(X, y)


def test_progress_is_told_and_may_end_it():
    X, y = mixed(2000)
    said = []
    small(n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said == sorted(said)
    assert said[-1][0] == said[-1][1]

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        small(progress=enough).fit(X, y)


def test_single_precision_and_a_limit_changed_later():
    X, y = IRIS
    narrow = small().fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    assert_allclose(narrow.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="time_limit"):
        small().fit(X, y).set_params(time_limit=-1).predict(X)
