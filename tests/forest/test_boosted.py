"""BoostedBayes: the same bits for any threads, answers out of fold, both losses, tables at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import posteriori as po
from posteriori.decision.folds import stratified
from posteriori.errors import MemoryBudgetError
from posteriori.forest import boosted
from posteriori.forest.boosted import FOLDS, grow_rounds, softmax
from posteriori.forest.forest import pooled
from posteriori.kernels import tree_leaves
from posteriori.kernels.trees import Boosting, Codes

from .making import IRIS, mixed


def table(n=300, K=2, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 6, (3, n)).astype(np.uint8)
    y = (cells[0] * K // 6 + (rng.random(n) < 0.2)) % K
    return Codes(cells, (6, 6, 6), (False, True, False)), y


def grown(codes, y, K=2, weights=None, seed=0, **how):
    return grow_rounds(codes, y, K, weights, np.random.default_rng(seed), how=Boosting(**{"depth": 0, **how}))


def test_the_posterior_of_a_row_is_the_mean_of_five():
    codes, y = table(K=3)
    rounds, out = grown(codes, y, 3)
    at, n = tree_leaves(rounds.trees, codes), rounds.n_rounds
    assert n > 0
    parts = []
    for f in range(FOLDS):
        F = np.tile(rounds.start[f], (codes.n, 1))
        for t in range(f * n, (f + 1) * n):
            F += rounds.trees.counts[rounds.trees.starts[t] + at[t]]
        parts.append(softmax(F))
    assert_allclose(rounds.posterior(codes), np.mean(parts, axis=0), rtol=1e-4, atol=1e-6)
    fold = stratified(y, FOLDS, np.random.default_rng(0))
    assert_allclose(out, np.array(parts)[fold, np.arange(codes.n)], rtol=1e-4, atol=1e-5)
    assert_allclose(out.sum(axis=1), 1.0)


@pytest.mark.parametrize(("d", "drawn"), [(1, 1), (6, 6), (7, 6), (12, 6), (13, 7)])
def test_half_of_the_columns_and_at_least_six_are_drawn_for_a_node(d, drawn):
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(0, 4, (d, 120)).astype(np.uint8), (4,) * d, (False,) * d)
    y = (codes.cells[0] > 1).astype(int)
    assert_array_equal(grown(codes, y)[1], grown(codes, y, tried=drawn)[1])
    if drawn > 1:
        assert (grown(codes, y)[1] != grown(codes, y, tried=drawn - 1)[1]).any()


def test_noise_gets_no_rounds():
    rng = np.random.default_rng(1)
    codes = Codes(rng.integers(0, 50, (5, 400)).astype(np.uint8), (50,) * 5, (False, True) * 2 + (True,))
    y = rng.integers(0, 2, 400)
    rounds, out = grown(codes, y)
    assert rounds.n_rounds <= 20
    assert rounds.losses.min() < np.log(2) + 0.01
    assert np.abs(out - 0.5).max() < 0.3


@pytest.mark.parametrize("scale", [0.25, 3.0, 1e-300, 1e300])
def test_weights_are_relative(scale):
    codes, y = table()
    w = np.random.default_rng(2).integers(1, 4, codes.n).astype(float)
    one, two = grown(codes, y, weights=w), grown(codes, y, weights=w * scale)
    assert_allclose(one[1], two[1], rtol=1e-6)
    even, plain = grown(codes, y, weights=np.full(codes.n, scale)), grown(codes, y)
    assert_array_equal(even[1], plain[1])


def test_weights_are_one_on_average(monkeypatch):
    given, own = [], boosted.boost
    monkeypatch.setattr(boosted, "boost", lambda *told: (given.append(told[3]), own(*told))[1])
    codes, y = table()
    w = np.random.default_rng(2).uniform(1, 9, codes.n)
    grown(codes, y, weights=w)
    assert_allclose(given[0], w / w.mean())


def test_a_weight_draws_the_answer_to_its_class():
    codes, y = table()
    heavy = grown(codes, y, weights=np.where(y == 1, 20.0, 1.0))[1]
    assert heavy[:, 1].mean() > grown(codes, y)[1][:, 1].mean() + 0.1


def test_one_class_needs_no_tree():
    codes, y = table()
    rounds, out = grown(codes, np.zeros_like(y), 1)
    assert (rounds.n_rounds, out.shape) == (0, (300, 1))
    assert_array_equal(rounds.posterior(codes), 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("exponential", [False, True])
def test_a_few_rows(n, exponential):
    codes = Codes(np.arange(n, dtype=np.uint8)[None], (n,), (True,))
    K = max(n, 2) if n > 1 else 1
    rounds, out = grown(codes, np.arange(n), K, exponential=exponential)
    assert_allclose(out.sum(axis=1), 1.0)
    assert_allclose(rounds.posterior(codes).sum(axis=1), 1.0)


def test_depth_follows_the_rows():
    codes, y = table(2999)
    assert max(np.diff(grown(codes, y, rounds=10)[0].trees.starts)) <= 2**5 - 1
    codes, y = table(3000)
    assert max(np.diff(grown(codes, y, rounds=10)[0].trees.starts)) > 2**5 - 1


def test_more_of_anything_takes_more_memory(monkeypatch):
    """At least what the trees, the rows and the sums over all values take."""

    def room(n=300, K=3, sizes=(6, 9), rounds=50, depth=4):
        told = []
        monkeypatch.setattr(boosted, "refuse_over", lambda _, peak, *words: told.append(peak))
        codes = Codes(np.zeros((2, n), np.uint8), sizes, (False, True))
        boosted._refuse_large(codes, K, Boosting(rounds=rounds, depth=depth), None)
        return told[0]

    wider = [{"n": 600}, {"K": 4}, {"K": 30}, {"sizes": (6, 200)}, {"rounds": 100}, {"depth": 6}]
    assert all(room(**more) > room() for more in wider)
    assert room(K=3) > room(K=2) > 0
    assert room() > FOLDS * 50 * 2**5 * 4 * 3  # a value for every class in every node
    assert room(n=10**6) > 10**6 * (FOLDS * 3 * 4 + 2 + 8 * 3)  # scores of every row in every fold
    assert room(sizes=(6, 60_000), K=30) - room(K=30) > FOLDS * 16 * 30 * 60


def test_rounds_that_do_not_fit_are_refused():
    codes, y = table()
    with pytest.raises(MemoryBudgetError, match="max_rounds"):
        grow_rounds(codes, y, 2, None, np.random.default_rng(0), max_memory=1e5)


def test_softmax_of_scores():
    F = np.array([[0.0, 1.0, -2.0], [900.0, 901.0, 0.0]], dtype=np.float32)
    wanted = np.exp(F - F.max(axis=1, keepdims=True).astype(float))
    assert_allclose(softmax(F), wanted / wanted.sum(axis=1, keepdims=True))
    assert softmax(F).dtype == np.float64
    odds = np.array([[0.3], [-2.0]])
    assert_allclose(softmax(odds)[:, 1], 1 / (1 + np.exp(-odds[:, 0])))
    assert_allclose(softmax(odds).sum(axis=1), 1.0)


def test_gains_are_those_of_each_column_and_the_first_loss_is_that_of_the_shares(monkeypatch):
    given, own = [], boosted.boost
    monkeypatch.setattr(boosted, "boost", lambda *told: given.append(own(*told)) or given[-1])
    codes, y = table(K=3)
    found, _ = grown(codes, y, 3)
    trees, gain = given[0][:2]
    wanted = [gain[trees.column == j].astype(float).sum() for j in range(3)]
    assert_allclose(found.gains, wanted)
    assert found.gains[0] > found.gains[1:].sum()
    assert found.n_classes == 3
    assert found.n_rounds == len(trees) // 5
    start = np.bincount(y) / len(y)
    assert found.losses[0] == pytest.approx(-(start * np.log(start)).sum(), rel=0.02)


def room(monkeypatch, n=300, K=3, sizes=(6, 9), rounds=50, depth=4, dtype=np.uint8):
    told = []
    with monkeypatch.context() as patch:
        patch.setattr(boosted, "refuse_over", lambda _, peak, *words: told.append((peak, *words)))
        codes = Codes(np.zeros((len(sizes), n), dtype), sizes, (False,) * len(sizes))
        boosted._refuse_large(codes, K, Boosting(rounds=rounds, depth=depth), None)
    return told[0]


def test_what_is_refused_grows_as_what_it_is_made_of(monkeypatch):
    """Trees by rounds, nodes and values of a node; no tree has more nodes than its leaves of three rows allow."""

    def of(**more):
        return room(monkeypatch, **more)[0]

    assert of(rounds=100) - of() == pytest.approx(of(rounds=150) - of(rounds=100))
    node = (of(rounds=51) - of()) / (5 * 31.0)
    assert 20 + 4 * 3 <= node <= 2 * (20 + 4 * 3) * 32 / 31  # bytes: column, cut, child, gain, a value of each class
    assert of(rounds=51, depth=40) - of(depth=40) == pytest.approx(of(rounds=51, depth=90) - of(depth=90))
    few = (of(n=3, rounds=51, depth=20) - of(n=3, depth=20)) / 5
    assert few == pytest.approx((of(n=6, rounds=51, depth=20) - of(n=6, depth=20)) / 5 * 3 / 5)  # 3 and 5 nodes
    assert of(K=2, rounds=51) - of(K=2) == pytest.approx((of(rounds=51) - of()) * 24 / 32)  # two classes are one score
    row = (of(n=20_000, rounds=0) - of(n=10_000, rounds=0)) / 10_000
    assert row >= 2 + 5 * (16 + 4 * 3) + 8 * 3  # codes; scores and two derivatives in every fold; answers
    assert of(n=20_000, dtype=np.uint16) - of(n=20_000) == 2 * 20_000
    one, two = of(sizes=(6, 9), rounds=0), of(sizes=(6, 9 + 1000), rounds=0)
    assert two - one >= 5 * 16 * 3 * 1000  # sums of every value in every fold
    assert room(monkeypatch, n=1234)[1:] == ("boosting 1,234 rows of 3 classes", "give fewer, or max_rounds")


def small(loss="log", **how):
    return po.BoostedBayes(loss, **{"max_rounds": 40, "random_state": 0, **how})


def test_any_number_of_threads_gives_the_same_bits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = np.tile(X, (8, 1)), np.tile(y, 8)  # enough work for threads
    one, three = (small(n_jobs=j, max_rounds=20).fit(X, y) for j in (1, 3))
    assert one.exponents_ == three.exponents_
    assert_array_equal(one.oob_decision_function_, three.oob_decision_function_)
    assert_array_equal(one.predict_proba(X), three.predict_proba(X))
    assert_array_equal(one.feature_importances_, three.feature_importances_)


def test_the_same_seed_gives_the_same_trees_and_another_others():
    X, y = mixed()
    first, again = small().fit(X, y), small().fit(X, y)
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = small().set_params(random_state=1).fit(X, y)
    assert (other.predict_proba(X) != first.predict_proba(X)).any()
    stream = np.random.default_rng(3)
    assert (small(random_state=stream).fit(X, y).predict(X) == first.predict(X)).mean() > 0.8


@pytest.mark.parametrize("loss", ["log", "exponential"])
def test_the_posterior_is_the_tempered_mean_of_five(loss):
    X, y = mixed()
    model = small(loss).fit(X, y)
    codes, _ = model.grown_.coding.code(model._open(X))
    mean = model.grown_.rounds.posterior(codes)
    assert_allclose(mean.sum(axis=1), 1.0)
    wanted = pooled([mean], model.class_prior_, np.array([*model.exponents_.values()]))
    assert_allclose(model.predict_proba(X), wanted)
    assert_allclose(wanted.sum(axis=1), 1.0)
    assert_allclose(model.class_prior_, [(y == c).mean() for c in model.classes_])
    assert model.n_rounds_ == 10 * int(np.argmin(model.losses_))
    right = model.classes_[model.oob_decision_function_.argmax(axis=1)] == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_a_row_is_not_known_to_the_model_of_its_fold():
    X, y = mixed()
    codes = np.unique(y, return_inverse=True)[1]
    fold = stratified(codes, 5, np.random.default_rng(0))
    model = small().fit(X, y)
    at = int(np.flatnonzero((fold == 2) & (y == "no"))[0])
    changed = X.copy()
    changed.loc[at, "flag"] = not changed.loc[at, "flag"]  # what others learn from it is not what is said of the fold
    other = small().fit(changed, y)
    rest = (fold == 2) & (np.arange(len(y)) != at)
    if model.exponents_ == other.exponents_ and model.n_rounds_ == other.n_rounds_:
        assert_array_equal(model.oob_decision_function_[rest], other.oob_decision_function_[rest])
    own = [m.grown_.rounds for m in (model, other)]
    n = min(r.n_rounds for r in own)
    for t in range(2 * own[0].n_rounds, 2 * own[0].n_rounds + n):
        a = slice(*own[0].trees.starts[t : t + 2])
        s = t - 2 * own[0].n_rounds + 2 * own[1].n_rounds
        assert_array_equal(own[0].trees.counts[a], own[1].trees.counts[slice(*own[1].trees.starts[s : s + 2])])


def test_out_of_fold_is_honest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    model = small().fit(X, y)
    assert model.oob_score_ < 0.62  # there is nothing to know
    assert np.abs(model.predict_proba(rng.normal(size=(300, 4))) - 0.5).mean() < 0.1


@pytest.mark.parametrize("loss", ["log", "exponential"])
def test_it_learns_as_well_as_a_peer(loss):
    X, y = load_breast_cancer(return_X_y=True)
    mine = small(loss, max_rounds=300).fit(X[::2], y[::2])
    peer = HistGradientBoostingClassifier(random_state=0).fit(X[::2], y[::2])
    own = np.arange(len(y[1::2])), y[1::2]
    found = [-np.log(np.maximum(m.predict_proba(X[1::2])[own], 1e-15)).mean() for m in (mine, peer)]
    assert found[0] < min(found[1], 0.16)
    assert mine.feature_importances_.sum() == pytest.approx(1.0)


def test_weights():
    X, y = IRIS
    without = small().fit(X, y, sample_weight=np.where(y == 2, 0.0, 1.0))
    assert without.classes_.tolist() == [0, 1]
    some = np.arange(150) % 3 > 0
    zero, absent = small().fit(X, y, sample_weight=some * 2.0), small().fit(X[some], y[some])
    assert_array_equal(zero.predict_proba(X), absent.predict_proba(X))  # a weight of 0 is a row that is not there
    assert len(zero.oob_decision_function_) == 100
    heavy = small(class_weight={0: 1, 1: 1, 2: 50}).fit(X, y)
    assert heavy.predict_proba(X)[:, 2].mean() > small().fit(X, y).predict_proba(X)[:, 2].mean()
    for scale in (1e-300, 1e300):
        assert_allclose(small().fit(X, y, np.full(150, scale)).predict_proba(X), small().fit(X, y).predict_proba(X))
    apart = small().fit(X, y, sample_weight=np.where(np.arange(150) % 2, 1e-300, 1e300))
    assert np.isfinite(apart.predict_proba(X)).all()


@pytest.mark.parametrize("loss", ["log", "exponential"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.arange(3.0)[:, None], ["a", "b", "c"]),
        (np.ones((5, 1)), [1] * 5),
        (np.full((4, 1), np.nan), [0, 1, 0, 1]),
        (np.array([[1e-150], [1e150], [-1e150], [0.0]] * 4), [0, 1, 0, 1] * 4),
    ],
    ids=["one row", "constant", "three rows", "one class", "all missing", "far apart"],
)
def test_the_smallest_tables(X, y, loss):
    model = small(loss).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert_allclose(model.oob_decision_function_.sum(axis=1), 1.0)
    assert set(model.exponents_) == {"trees", "prior"}
    assert np.isfinite(model.feature_importances_).all()


def test_constant_columns_change_nothing_but_the_draws():
    X, y = IRIS
    p = small().fit(np.column_stack([X, np.ones(150)]), y)
    assert p.feature_importances_[-1] == 0
    assert p.score(X=np.column_stack([X, np.ones(150)]), y=y) > 0.95


def test_many_columns_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 10_000))
    y = (X[:, 0] > 0).astype(int)
    model = small(max_rounds=10).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    classes = np.repeat(np.arange(1000), 5)
    many = small(max_rounds=2).fit(classes[:, None] + 0.0, classes)
    assert many.predict_proba([[3.0]]).shape == (1, 1000)
    ids = small(max_rounds=3).fit({"id": [f"v{i}" for i in range(700)]}, np.arange(700) % 2)  # 16-bit codes
    assert np.abs(ids.predict_proba({"id": ["v3", "new"]}) - 0.5).max() < 0.1


def test_refusals_name_the_reason():
    X, y = IRIS
    with pytest.raises(MemoryBudgetError, match="max_rounds"):
        po.BoostedBayes(max_memory=1e5).fit(X, y)
    for wrong in (
        {"loss": "hinge"},
        {"max_rounds": 0},
        {"learning_rate": 0.0},
        {"max_depth": 0},
        {"max_depth": "deep"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            small().set_params(**wrong).fit(X, y)


def test_progress_is_told_and_may_end_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    said = []
    small(n_jobs=1, progress=lambda *a: said.append(a)).fit(X, y)
    assert said[-1] == (40, 40)
    assert said == sorted(said)

    def enough(done, total):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        small(progress=enough).fit(X, y)


def test_three_rows_have_the_posterior_of_their_shares_or_a_flatter_one():
    found = po.BoostedBayes(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 0, 1]).predict_proba([[0.0], [5.0]])
    assert (found[:, 0] > 0.5).all()
    assert (found[:, 0] <= 2 / 3 + 1e-9).all()
