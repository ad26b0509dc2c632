"""Linear models of points: means of zero, the kernel by its formula, scikit-learn's optimum, folds that are honest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from posteriori.decision.folds import stratified
from posteriori.forest import linear
from posteriori.forest.grown import learn_coding
from posteriori.forest.linear import FOLDS, Landmarks, Linear, fit_folds, learn_points
from posteriori.table.rows import read_rows


def kernel(A, B, v):
    return np.exp(-np.square(A[:, None] - B[None]).sum(axis=2) / v)


@settings(max_examples=40)
@given(st.integers(1, 5), st.floats(0.1, 100), st.integers(1, 30), st.integers(0, 100))
def test_products_are_the_kernel_between_landmarks_and_no_more_elsewhere(size, v, m, seed):
    rng = np.random.default_rng(seed)
    marks = Landmarks.draw(rng.normal(size=(m, size)), v)
    Z = rng.normal(size=(6, size))
    assert_allclose(marks(Z), kernel(Z, marks.at, v), atol=1e-13)
    turn = marks.axes()
    phi = marks(marks.at) @ turn
    assert_allclose(phi @ phi.T, kernel(marks.at, marks.at, v), atol=1e-4)  # but for directions that are rounding
    away = marks(Z) @ turn
    assert (np.square(away).sum(axis=1) <= 1 + 1e-9).all()  # k(z, z) = 1
    left = kernel(Z, Z, v) - away @ away.T  # what the landmarks do not span is a kernel too
    assert np.linalg.eigvalsh(left).min() > -1e-6


def test_a_point_that_stands_twice_is_one_landmark():
    rows = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]])
    marks = Landmarks.draw(rows, 3.0)
    assert_array_equal(marks.at, [[0.0, 5.0], [1.0, 2.0]])
    assert marks.at.dtype == np.float32
    assert_array_equal(Landmarks.draw(rows[::-1], 3.0).at, marks.at)
    assert marks.v == 3.0
    assert marks.axes().shape == (2, 2)


def test_points_that_do_not_differ_are_one():
    marks = Landmarks.draw(np.zeros((4, 3)), 0.0)
    assert_array_equal(marks(np.zeros((2, 3))), np.ones((2, 1)))
    assert_allclose(np.abs(marks.axes()), [[1.0]])


def test_a_point_never_lies_nearer_than_itself():
    """‖z‖² + ‖l‖² − 2 zᵀl may round below zero."""
    Z = np.random.default_rng(0).normal(size=(50, 40)) * 1e4
    found = Landmarks(Z, 1e-9)(Z)  # of doubles, which are themselves
    assert found.max() <= 1.0


def learned(X, weights=None):
    rows = read_rows(X, np.zeros(len(next(iter(X.values()))), dtype=int), weights, who="test")
    coding, codes, _ = learn_coding(rows.frame, rows.schema, rows.weights, None, 1)
    return rows.frame, coding, codes, learn_points(rows.frame, codes, coding.blank, rows.weights)


TABLE = {
    "number": [1.0, 2.0, 4.0, None, 9.0],
    "two": ["a", "b", "a", "a", "b"],
    "three": ["x", "y", None, "x", "z"],
    "one": ["k"] * 5,
    "flat": [3.0] * 5,
}


def test_coordinates_by_hand():
    frame, _, codes, points = learned(TABLE)
    Z = points(frame, codes)
    assert points.sizes.tolist() == [2, 1, 4, 0, 0]
    x = np.array([1.0, 2.0, 4.0, 9.0])
    assert_allclose(Z[[0, 1, 2, 4], 0], (x - x.mean()) / x.std())
    assert Z[3, 0] == 0
    assert_allclose(Z[:, 1], [-0.2, -0.2, -0.2, 0.8, -0.2])
    assert_allclose(Z[:, 2], np.array([0, 1, 0, 0, 1]) - 0.4)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-15)
    assert_allclose(points.centre[3:].sum(), 1)


def test_rows_one_by_one_are_rows_together():
    frame, _, codes, points = learned(TABLE)
    whole = points(frame, codes)
    for r in range(5):
        assert_array_equal(points(frame, codes, np.array([r])), whole[[r]])


@pytest.mark.parametrize("scale", [1e-150, 1e150, -3.0])
def test_the_scale_of_a_column_means_nothing(scale):
    x = np.array([1.0, 2.0, 4.0, 9.0])
    frame, _, codes, points = learned({"x": x})
    plain = points(frame, codes)
    frame, _, codes, points = learned({"x": x * scale})
    assert_allclose(points(frame, codes), np.sign(scale) * plain, rtol=1e-9)


def test_cells_of_which_nothing_is_known_are_zero():
    frame, coding, codes, points = learned(TABLE)
    asked = pd.DataFrame({**TABLE, "two": ["c"] * 5, "number": [1e300] * 5})
    rows = read_rows(asked, np.zeros(5), who="test")
    Z = points(rows.frame, coding.code(rows.frame)[0])
    assert (Z[:, 2] == 0).all()
    assert (Z[:, 0] == linear.CLIP).all()
    for j in range(5):
        end = points.sizes[: j + 1].sum()
        assert (points(frame, codes.without(j))[:, end - points.sizes[j] : end] == 0).all()


def test_rare_values_share_a_coordinate(monkeypatch):
    monkeypatch.setattr(linear, "MOST_VALUES", 2)
    points = learned({"v": ["a", "a", "b", "b", "c", "d"]})[3]
    assert points.places[0].tolist() == [0, 1, 2, 2, -1]
    assert points.size == 3


def test_weights_are_repeated_rows():
    x = np.array([1.0, 5.0, 6.0])
    one = learned({"x": x, "v": np.array(["a", "b", "c"])}, np.array([1.0, 2.0, 1.0]))[3]
    two = learned({"x": x[[0, 1, 1, 2]], "v": np.array(["a", "b", "b", "c"])})[3]
    assert_allclose(one.centre, two.centre)
    assert_allclose([one.mean, one.sd], [two.mean, two.sd])
    tiny = learned({"x": x, "v": np.array(["a", "b", "c"])}, np.array([1e-300, 2e-300, 1e-300]))[3]
    assert_allclose(tiny.centre, one.centre)


def test_a_deviation_that_is_rounding_is_none():
    even = np.full(3, 1 / 3)
    for x, wanted in (
        ([2.0, 2.0, 2.0], (0.0, 0.0)),
        ([0.0, 0.0, 0.0], (0.0, 0.0)),
        ([np.nan] * 3, (0.0, 0.0)),
        ([1.0, 1.0, 1.0 + 1e-13], (0.0, 0.0)),
        ([1e-320, 3e-320, 1e-320], (0.0, 0.0)),  # its square is no float
        ([-3.0, np.nan, 1.0], (-1.0, 2.0)),
        ([0.5, 0.25, 0.0], (0.25, np.sqrt(0.125 / 3))),
    ):
        assert linear._moments(np.array(x), even) == pytest.approx(wanted)
    small = linear._moments(np.array([1.0, 1.0 + 3e-12, 1.0]), even)
    assert small == pytest.approx((1.0, 1e-12 * np.sqrt(2)), rel=1e-3)
    assert linear._moments(np.array([1.0, 5.0, 9.0]), np.array([0.5, 0.5, 0.0])) == pytest.approx((3.0, 2.0))


@pytest.mark.parametrize(
    ("mass", "most", "places"),
    [
        ([3.0, 0.0], 9, [-1, -1]),  # one value tells nothing
        ([3.0, 1.0, 0.0], 9, [-1, 0, -1]),  # the second of two alone
        ([0.0, 3.0, 0.0, 1.0, 7.0], 9, [-1, -1, -1, 0, -1]),  # the last code is of no value
        ([1.0, 2.0, 3.0, 0.0], 9, [0, 1, 2, -1]),
        ([1.0, 2.0, 3.0, 0.0], 3, [0, 1, 2, -1]),
        ([1.0, 2.0, 3.0, 0.0], 2, [2, 0, 1, -1]),  # the rare ones share the last
        ([2.0, 1.0, 2.0, 1.0, 5.0, 0.0], 3, [0, 3, 1, 3, 2, -1]),
        ([1.0, 1.0, 1.0, 0.0], 2, [0, 1, 2, -1]),  # of equals the first
    ],
)
def test_places_of_values(monkeypatch, mass, most, places):
    monkeypatch.setattr(linear, "MOST_VALUES", most)
    found = np.full(len(mass), -1)
    linear._number(found, np.array(mass))
    assert found.tolist() == places


def test_means_of_coordinates_are_shares_of_the_weight():
    X = {"n": [1.0, None, 3.0, None], "v": ["a", "b", "c", "a"]}
    points = learned(X, np.array([1.0, 2.0, 3.0, 4.0]))[3]
    assert points.sizes.tolist() == [2, 3]
    assert_allclose(points.centre, [0.0, 0.6, 0.5, 0.2, 0.3])
    assert_allclose([points.mean[0], points.sd[0]], [2.5, np.sqrt(0.25 * 1.5**2 + 0.75 * 0.5**2)])
    assert (points.mean[1], points.sd[1]) == (0.0, 0.0)
    assert points.size == 5
    empty = linear.Points(np.zeros(0), np.zeros(0), (), np.zeros(0))
    assert (empty.size, empty.sizes.tolist()) == (0, [])


def test_numbers_end_at_four_deviations_and_sparse_rows_are_read():
    x = np.array([0.0] * 50 + [1.0])
    frame, _, codes, points = learned({"x": x})
    assert points(frame, codes)[-1, 0] == 4.0
    assert points(frame, codes)[0, 0] == pytest.approx(-x.mean() / x.std())
    rows = read_rows(sparse.csr_array(x[:, None]), np.zeros(51), who="test")
    coding, codes, _ = learn_coding(rows.frame, rows.schema, None, None, 1)
    again = learn_points(rows.frame, codes, coding.blank, None)
    assert_allclose(again(rows.frame, codes), points(frame, codes))
    some = np.array([50, 3])
    assert_allclose(again(rows.frame, codes, some), points(frame, codes)[some])


def data(n=120, f=4, K=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, f))
    Z -= Z.mean(axis=0)
    y = (Z[:, :K] + rng.gumbel(size=(n, K))).argmax(axis=1)
    return Z, y, np.ones(n)


def fitted(Z, y, w, K, seed=0, n_jobs=None):
    return fit_folds(lambda rows: Z[rows], y, w, K, np.random.default_rng(seed), n_jobs)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("f", [4, 60])
def test_the_mean_of_five_optima(monkeypatch, K, f):
    """Every fold ends where scikit-learn does; f above the rows is turned by fewer coordinates, and none is lost."""
    monkeypatch.setattr(linear, "PENALTIES", (2.0,))
    monkeypatch.setattr(linear, "STEPS", 500)
    monkeypatch.setattr(linear, "ROUGH", 1e-16)
    monkeypatch.setattr(linear, "INTERCEPT", 0.0)
    Z, y, w = data(50, f, K)
    model, said = fitted(Z, y, w, K)
    fold = stratified(y, FOLDS, np.random.default_rng(0))
    peers = []
    for m in range(FOLDS):
        C = 1.0 if K == 2 else 0.5  # of two classes it has one row of weights, which stands for two
        peer = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(Z[fold != m], y[fold != m])
        assert_allclose(said[fold == m], peer.predict_proba(Z[fold == m]), atol=2e-5)
        peers.append(peer.predict_log_proba(Z))
    mean = np.exp(np.mean(peers, axis=0))
    assert_allclose(model.posterior(Z), mean / mean.sum(axis=1, keepdims=True), atol=2e-5)


def test_what_is_said_of_a_row_does_not_know_its_class():
    Z = np.eye(60) - 1 / 60  # a coordinate of its own for every row
    noise = np.random.default_rng(0).integers(0, 2, 60)
    said = fitted(Z, noise, np.ones(60), 2)[1]
    assert -np.log(said[np.arange(60), noise]).mean() > 0.65


def test_the_penalty_follows_what_the_rows_say():
    Z, _, w = data(400, 3, 2)
    assert fitted(Z, (Z[:, 0] > 0).astype(int), w, 2)[0].penalty < 1
    assert fitted(Z, np.random.default_rng(5).integers(0, 2, 400), w, 2)[0].penalty >= 4


def test_many_coordinates_are_not_turned(monkeypatch):
    Z, y, w = data(300, 20, 3)
    turned = fitted(Z, y, w, 3)[0].posterior(Z)
    monkeypatch.setattr(linear, "ROTATED", 5)
    assert_allclose(fitted(Z, y, w, 3)[0].posterior(Z), turned, atol=0.02)


def test_blocks_and_draws_of_large_tables(monkeypatch):
    Z, y, w = data(500, 4, 3)
    whole = fitted(Z, y, w, 3)
    monkeypatch.setattr(linear, "BLOCK", 64)
    assert_allclose(fitted(Z, y, w, 3)[1], whole[1], atol=1e-12)
    monkeypatch.setattr(linear, "MOST_ROWS", 100)
    some = fitted(Z, y, w, 3)
    assert some[1].shape == (500, 3)
    assert np.abs(some[0].posterior(Z) - whole[0].posterior(Z)).mean() < 0.1


def test_a_fold_learns_from_other_rows_none_of_them_twice(monkeypatch):
    monkeypatch.setattr(linear, "MOST_ROWS", 60)
    made, own = [], linear._Path.__init__
    monkeypatch.setattr(linear._Path, "__init__", lambda self, *told: (made.append(told), own(self, *told))[1])
    Z, y, w = data(200, 4, 3)
    fitted(Z, y, w, 3)
    ((_, labels, _, folds, *_),) = made
    assert len(folds) == FOLDS
    for rows in folds:
        assert len(np.unique(rows)) == len(rows) == 60
        assert rows.max() < len(labels)


def test_threads_change_no_bit():
    Z, y, w = data(3000, 30, 3)
    one, three = (fitted(Z, y, w, 3, n_jobs=j) for j in (1, 3))
    assert_array_equal(one[1], three[1])
    assert_array_equal(one[0].B, three[0].B)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_fewest_rows(n):
    Z = np.arange(n, dtype=float)[:, None] - (n - 1) / 2
    for y in (np.zeros(n, dtype=int), np.arange(n) % 2, np.arange(n)):
        K = int(y.max()) + 1
        model, said = fitted(Z, y, np.ones(n), K)
        for p in (said, model.posterior(Z)):
            assert p.shape == (n, K)
            assert_allclose(p.sum(axis=1), 1)


def test_a_model_of_no_coordinates_is_the_shares():
    model, said = fitted(np.zeros((40, 0)), np.arange(40) % 4 // 3, np.ones(40), 2)
    assert isinstance(model, Linear)
    assert_allclose(said[0], [0.75, 0.25], atol=0.02)


def test_rows_that_no_model_learned_are_answered_in_any_blocks(monkeypatch):
    monkeypatch.setattr(linear, "MOST_ROWS", 20)
    Z, y, w = data()
    found = []
    for block in (1, 28, 1 << 22):
        monkeypatch.setattr(linear, "BLOCK", block)
        found.append(fitted(Z, y, w, 3)[1])
        assert_allclose(found[-1].sum(axis=1), 1)
        assert_array_equal(found[-1].argmax(axis=1), found[0].argmax(axis=1))
        assert_allclose(found[-1], found[0], rtol=1e-9)


def test_nothing_to_hold_out_is_the_shares_with_half_a_row_more():
    for y, K in (([1], 3), ([0, 0], 1)):
        Z, w = np.ones((len(y), 5)), np.full(len(y), 2.0)
        model, said = fitted(Z, np.array(y), w, K)
        share = (np.bincount(y, w, minlength=K) + 0.5) / (w.sum() + K / 2)
        assert_array_equal(model.B, np.zeros((5, K)))
        assert_allclose(np.exp(model.b), share)
        assert_allclose(said, np.tile(share, (len(y), 1)))
        assert model.penalty == 64.0


@pytest.mark.parametrize(("n", "f", "rotated", "sample"), [(30, 4, 4, 2048), (200, 4, 512, 20), (40, 4, 3, 2048)])
def test_axes_make_the_weighted_squares_diagonal(monkeypatch, n, f, rotated, sample):
    """turnᵀ ZᵀWZ turn is the diagonal of mean squares; of very many rows some; of very many coordinates none is turned."""
    monkeypatch.setattr(linear, "ROTATED", rotated)
    monkeypatch.setattr(linear, "SAMPLE", sample)
    rng = np.random.default_rng(1)
    Z, w = rng.normal(size=(n, f)) @ rng.normal(size=(f, f)), rng.uniform(0.5, 3.0, n)
    turn, spread = linear._axes(Z, w)
    some = slice(None, None, n // max(sample, 4 * f)) if n > sample else slice(None)
    whole = (Z[some].T * w[some]) @ Z[some] / w[some].sum()
    if rotated < f:
        assert_array_equal(turn, np.ones(f))
        assert_allclose(spread, np.diag(whole))
    else:
        assert_allclose(turn.T @ turn, np.eye(f), atol=1e-12)
        assert_allclose(turn.T @ whole @ turn, np.diag(spread), atol=1e-10)


def test_fewer_rows_than_coordinates_have_as_many_axes_as_their_rank(monkeypatch):
    rng = np.random.default_rng(2)
    Z, w = rng.normal(size=(6, 11)), rng.uniform(0.5, 3.0, 6)
    Z[5] = Z[0] - 2 * Z[1]
    turn, spread = linear._axes(Z, w)
    assert turn.shape == (11, 5)
    assert_allclose(turn.T @ turn, np.eye(5), atol=1e-9)
    assert_allclose((Z @ turn) @ (Z @ turn).T, Z @ Z.T, atol=1e-9)  # no distance is lost
    assert_allclose(spread, w @ np.square(Z @ turn) / w.sum())
    turn, spread = linear._axes(np.zeros((3, 7)), np.ones(3))
    assert (turn.shape, spread.shape) == ((7, 0), (0,))
    monkeypatch.setattr(linear, "ROTATED", 6)
    assert linear._axes(Z, w)[0].shape == (11, 5)
    monkeypatch.setattr(linear, "ROTATED", 5)  # more rows than that
    turn, spread = linear._axes(Z, w)
    assert_array_equal(turn, np.ones(11))
    assert_allclose(spread, w @ np.square(Z) / w.sum())


def a_path(K, n=40, f=5):
    Z, y, _ = data(n, f, K)
    rng = np.random.default_rng(3)
    w, share = rng.uniform(0.5, 2.0, n), rng.dirichlet(np.full(K, 5.0))
    rows = [np.arange(0, n, 2), np.arange(1, n, 2)]
    return linear._Path(Z, y, w, rows, share, 1), Z, y, w, share, rows


@pytest.mark.parametrize("K", [2, 4])
def test_a_model_of_turned_points_is_one_of_the_points(K):
    path, Z, _, _, share, _ = a_path(K)
    m = 1 if K == 2 else K  # one row of weights stands for two
    B = np.random.default_rng(4).normal(size=(m, 6))
    weights, b = path.whole(B)
    assert (weights.shape, b.shape) == ((5, K), (K,))
    some = np.array([5, 3, 8])
    eta = Z @ weights + b
    log_p = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
    assert_allclose(path.log_posterior(B, some), log_p[some])
    assert_allclose(Linear(weights, b, 1.0).posterior(Z), np.exp(log_p))
    none = path.whole(np.zeros((m, 6)))
    assert_array_equal(none[0], np.zeros((5, K)))
    assert_allclose(np.exp(none[1]) / np.exp(none[1]).sum(), share)
    if K == 2:
        assert_allclose(weights.sum(axis=1), 0.0, atol=1e-12)
        assert_allclose(b.sum(), 0.0, atol=1e-12)


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("best", [0, 2, 6])
def test_the_penalty_falls_as_long_as_rows_out_of_fold_are_foretold_better(monkeypatch, K, best):
    """λ = 64, 16, …, 1/64; the metric is the diagonal of the curvature, p(1 − p) z² + λ/W, at the shares."""
    path, _, y, w, share, rows = a_path(K)
    charges, asked = [], 4.0 ** np.arange(3, -4, -1)
    target = np.random.default_rng(5).normal(size=(len(path.offset), 6))
    held = [np.isin(np.arange(40), rows[1]), np.isin(np.arange(40), rows[0])]

    def lost(B):
        return -sum(float(w[r] @ path.log_posterior(B, r)[np.arange(r.sum()), y[r]]) for r in held)

    worse = [s * target for s in (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)]
    order = sorted(worse, key=lost, reverse=True)  # each better than the last
    told = [*order[:best], order[-1], order[0], order[-1], *order][:7] if best < 6 else order

    def step(self, charge, metric, B):
        doubt = share * (1 - share)
        total = np.mean([w[r].sum() for r in rows])
        assert_allclose(metric, 1 / ((doubt[1:] if K == 2 else doubt)[:, None] * [*path.spread, 1.0] + charge / total))
        B[:] = told[len(charges)]
        charges.append(charge)

    monkeypatch.setattr(linear._Path, "_step", step)
    B, penalty = path.walk(held)
    assert penalty == asked[best]
    assert len(charges) == min(best + 2, 7)
    assert B.shape == (2, len(path.offset), 6)
    assert_array_equal(B, np.stack([told[best]] * 2))
    for charge, lam in zip(charges, asked):
        assert_allclose(charge, [*[lam / 2 if K == 2 else lam] * 5, linear.INTERCEPT])


def test_rows_that_no_model_learned_get_the_answer_of_their_fold(monkeypatch):
    monkeypatch.setattr(linear, "MOST_ROWS", 30)
    kept, plain = [], linear._Path.walk
    monkeypatch.setattr(linear._Path, "walk", lambda self, held: kept.append((self, plain(self, held))) or kept[0][1])
    Z, y, w = data(97, 4, 3)
    model, said = fitted(Z, y, w, 3)
    ((path, (B, penalty)),) = kept
    fold = stratified(y, FOLDS, np.random.default_rng(0))
    for m in range(FOLDS):
        mine = fold == m
        assert_allclose(said[mine], Linear(*path.whole(B[m]), penalty).posterior(Z[mine]), rtol=1e-9)
    assert_allclose(model.B, np.mean([path.whole(b)[0] for b in B], axis=0))
    assert_allclose(model.b, np.mean([path.whole(b)[1] for b in B], axis=0))
    assert model.penalty == penalty
