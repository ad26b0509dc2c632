"""Folds that spread the classes, weights that are relative, and rounds whose number rows out of fold choose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from posteriori.decision.folds import stratified
from posteriori.errors import MemoryBudgetError
from posteriori.forest import rounds as rounds_file
from posteriori.forest.rounds import FOLDS, grow_rounds, softmax
from posteriori.kernels.trees import Boosting, Codes


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
    at, n = rounds.trees.leaves(codes), rounds.n_rounds
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
    given, own = [], rounds_file.boost
    monkeypatch.setattr(rounds_file, "boost", lambda *told: (given.append(told[3]), own(*told))[1])
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
        monkeypatch.setattr(rounds_file, "refuse_over", lambda _, peak, *words: told.append(peak))
        codes = Codes(np.zeros((2, n), np.uint8), sizes, (False, True))
        rounds_file._refuse_large(codes, K, Boosting(rounds=rounds, depth=depth), None)
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
    given, own = [], rounds_file.boost
    monkeypatch.setattr(rounds_file, "boost", lambda *told: given.append(own(*told)) or given[-1])
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
        patch.setattr(rounds_file, "refuse_over", lambda _, peak, *words: told.append((peak, *words)))
        codes = Codes(np.zeros((len(sizes), n), dtype), sizes, (False,) * len(sizes))
        rounds_file._refuse_large(codes, K, Boosting(rounds=rounds, depth=depth), None)
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
