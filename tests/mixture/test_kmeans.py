"""k-means: the steps of scikit-learn's from the same start, exact labels, and the limit of a mixture that shrinks."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans as Peer
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import posteriori as po
from posteriori.errors import BadParameter, BadValue, MemoryBudgetError
from posteriori.mixture import kmeans as kmeans_room
from posteriori.mixture.kmeans import (
    Lloyd,
    Turn,
    _same,
    assign,
    at_random,
    batch_step,
    plus_plus,
    stream,
    told_centres,
    unit_of,
)


@given(st.integers(0, 500), st.integers(1, 9), st.booleans())
def test_rows_are_those_of_scikit_learn(seed, K, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) + rng.integers(0, 3, (40, 1)) * 5
    w = rng.integers(1, 5, 40).astype(float) if weighted else None
    _, theirs = kmeans_plusplus(X, K, sample_weight=w, random_state=seed)
    assert plus_plus(X, w, K, np.random.RandomState(seed)).tolist() == theirs.tolist()


def test_a_row_on_a_centre_is_not_drawn_again():
    X = np.repeat([[0.0], [1.0], [5.0]], 5, axis=0)
    for seed in range(20):
        chosen = plus_plus(X, None, 3, np.random.RandomState(seed))
        assert sorted(X[chosen, 0].tolist()) == [0.0, 1.0, 5.0]
        w = np.repeat([1.0, 0.0, 1.0], 5)
        assert 1.0 not in X[plus_plus(X, w, 2, np.random.RandomState(seed)), 0]


@given(st.integers(0, 500), st.integers(1, 6))
def test_different_rows_drawn_by_weight(seed, K):
    rng = np.random.default_rng(seed)
    w = rng.integers(0, 3, 6).astype(float)
    w[0] += 1
    found = at_random(6, w, K, np.random.RandomState(seed))
    assert len(set(found.tolist())) == K
    heavy = np.flatnonzero(w)
    assert set(found.tolist()) <= set(heavy.tolist()) or set(heavy.tolist()) <= set(found.tolist())
    assert len(set(at_random(6, None, K, np.random.RandomState(seed)).tolist())) == K


def test_streams():
    assert stream(3).randint(1000) == np.random.RandomState(3).randint(1000)
    mine = np.random.RandomState(5)
    assert stream(mine) is mine
    a, b = (stream(np.random.default_rng(7)).randint(10**6) for _ in range(2))
    assert a == b
    assert stream(np.random.default_rng(8)).randint(10**6) != a


def test_centres_that_were_told():
    found = told_centres([[1, 2], [3, 4]], 2, 2)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    refused = [
        ([[1, 2]], "number of clusters 2"),
        ([1, 2], "number of clusters 2"),
        ([[1], [2]], "features of the data 2"),
        ([[1, np.nan], [0, 0]], "not finite"),
        ([["a", "b"]], "init must be"),
    ]
    for bad, said in refused:
        with pytest.raises(BadValue, match=said):
            told_centres(bad, 2, 2)


def brute(X, centres):
    square = ((X[:, None] - centres[None]) ** 2).sum(axis=2)
    return square.argmin(axis=1), square.min(axis=1)


@given(
    st.integers(0, 300),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["lloyd", "elkan", "auto"]),
    st.sampled_from([1.0, 1e-100, 1e100]),
)
def test_a_turn_is_means_of_the_nearest(seed, K, weighted, algorithm, scale):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(50, 3)) + 4) * scale
    w = rng.random(50) + 0.1 if weighted else None
    weight = np.ones(50) if w is None else w
    work = Lloyd(X, w, 1)
    work.begin(algorithm, K)
    assert work.mass == pytest.approx(weight.sum())
    mean = np.average(X, axis=0, weights=weight)
    assert work.shift == pytest.approx(mean, rel=1e-9)
    assert work.total / scale**2 == pytest.approx((weight * (((X - mean) / scale) ** 2).sum(axis=1)).sum())
    assert work.variance / scale**2 == pytest.approx((X / scale).var(axis=0).mean())
    centres = X[rng.choice(50, K, replace=False)]
    turn = Turn(centres - work.shift)
    for _ in range(3):
        label, _ = brute(X / scale, (turn.centres + work.shift) / scale)
        found, value = work.expect(turn)
        after = np.array([np.average(X[label == k], axis=0, weights=weight[label == k]) for k in range(K)])
        assert (found.after + work.shift) / scale == pytest.approx(after / scale)
        left = (weight * (((X - after[label]) / scale) ** 2).sum(axis=1)).sum()
        assert value / scale**2 == pytest.approx(-left / weight.sum())
        turn = Lloyd.maximise(found)
    label, inertia = work.finish(after)
    nearest, square = brute(X / scale, after / scale)
    assert label.tolist() == nearest.tolist()
    assert inertia / scale**2 == pytest.approx((weight * square).sum())
    assert assign(X, after, 1).tolist() == nearest.tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_empty_centres_go_to_the_farthest_rows(weighted):
    X = np.array([[0.0], [1.0], [2.0], [10.0], [20.0]])
    w = np.array([1.0, 1.0, 1.0, 2.0, 3.0]) if weighted else None
    work = Lloyd(X, w, 1)
    work.begin("lloyd", 3)
    centres = np.array([[1.0], [500.0], [600.0]])
    found, _ = work.expect(Turn(centres - work.shift))
    assert (found.after + work.shift).ravel().tolist() == pytest.approx([1.0, 20.0, 10.0])
    few = Lloyd(np.zeros((4, 1)), None, 1)
    few.begin("lloyd", 2)
    turn, value = few.expect(Turn(np.array([[0.0], [0.0]])))
    assert turn.after.ravel().tolist() == [0.0, 0.0]
    assert value == 0.0


def test_units():
    for reach in (1e-140, 0.3, 1.0, 7.5, 1e140):
        assert 0.5 <= unit_of(reach, 1) * reach <= 1.0
        assert np.frexp(unit_of(reach, 1))[0] == 0.5
    assert unit_of(0.0, 3) == 1.0
    for reach, d in ((1.1e150, 1), (0.6e150, 4)):
        with pytest.raises(BadValue, match="too large"):
            unit_of(reach, d)
    assert unit_of(0.4e150, 4) > 0
    with pytest.raises(BadValue, match="too small"):
        unit_of(0.9e-150, 1)
    assert unit_of(1.1e-150, 1) > 0


def test_the_objective_has_its_digits_however_far_apart_tight_clusters_are():
    rng = np.random.default_rng(1)
    tight = rng.normal(size=(800, 3)) * 1e-3
    passes = []
    for apart in (1e2, 1e6):
        X = tight + np.repeat([-apart, apart], 400)[:, None]
        start = np.concatenate([X[:4], X[400:404]])
        whole = po.KMeans(8, init=start, n_init=1, tol=0, max_iter=50).fit(X)
        assert -whole.trace_[-1] * len(X) == pytest.approx(whole.inertia_, rel=1e-6)
        assert (np.diff(whole.trace_) >= -1e-6 * abs(whole.trace_[0])).all()
        some = po.KMeans(8, init=start, n_init=1, tol=0, max_iter=50, batch_size=100, random_state=0).fit(X)
        passes.append(some.inertia_)
    assert passes[1] == pytest.approx(passes[0], rel=1e-3)


@pytest.mark.parametrize("weights", [[0.1, 0.2, 1, 1], [0.2, 0.1, 1, 1], [1, 1, 1, 1], [1e-17, 3e-17, 1, 1]])
def test_a_cluster_that_gives_all_its_rows_away_keeps_its_centre(weights):
    model = po.KMeans(4, init=[[0.0], [0.0], [0.0], [20.0]], n_init=1, max_iter=1, tol=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model.fit([[5.0], [6.0], [20.0], [20.1]], sample_weight=weights)
    assert model.cluster_centers_.ravel() == pytest.approx([0.0, 6.0, 5.0, 20.05], abs=1e-9)


def test_light_rows_are_not_lost_when_a_heavy_one_leaves():
    X = np.array([[1.0], [2.0], [3.0], [9.0], [20.0], [20.1]])
    model = po.KMeans(3, init=[[0.0], [0.0], [20.0]], n_init=1, max_iter=1, tol=0)
    assert model.fit(X, sample_weight=[1, 1, 2, 1e17, 1, 1]).cluster_centers_[0, 0] == pytest.approx(2.25)


def test_more_centres_than_different_rows_come_to_an_end():
    rng = np.random.default_rng(0)
    for _ in range(100):
        values = rng.normal(size=3).round(1)
        X = rng.choice(values, 12)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = po.KMeans(6, init=rng.choice(values, 6)[:, None], n_init=1).fit(X)
        assert model.n_iter_ < 20
        assert model.inertia_ == pytest.approx(0, abs=1e-28)


@pytest.mark.parametrize("scale", [1e-160, 1e-140, 1.0, 1e140, 1e160])
def test_rows_go_to_the_nearest_of_centres_at_any_scale(scale):
    """Near 1e±150 squares leave the floats; labels may then be any, but rows between are told apart."""
    X, centres = np.array([[0.0], [1.0], [2.1], [4.0]]) * scale, np.array([[0.0], [4.0]]) * scale
    found = assign(X, centres, 1).tolist()
    if 1e-150 < scale < 1e150:
        assert found == [0, 0, 1, 1]
    assert len(found) == 4
    far = np.array([[1e9], [1e9 + 1.0], [1e9 + 3.0]])
    assert assign(far, np.array([[1e9], [1e9 + 3.0]]), 1).tolist() == [0, 0, 1]
    assert assign(np.array([[1.0]]), np.array([[0.0], [2.0]]), 1).tolist() == [0]  # the first of equals


def test_rows_that_move_leave_their_cluster_its_other_rows():
    """Two empty centres take the two farthest rows, each from its own cluster; a row that lies on a centre stays."""
    X = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 0.0], [50.0, 0.0], [50.0, 1.0], [57.0, 0.0]])
    w = np.array([1.0, 3.0, 2.0, 1.0, 1.0, 5.0])
    work = Lloyd(X, w, 1)
    work.begin("lloyd", 4)
    centres = np.array([[0.0, 1.0], [50.0, 0.5], [900.0, 900.0], [901.0, 901.0]])
    found, value = work.expect(Turn(centres - work.shift))
    after = found.after + work.shift
    assert after == pytest.approx(np.array([[0.0, 1.5], [50.0, 0.5], [9.0, 0.0], [57.0, 0.0]]))
    left = 1 * 1.5**2 + 3 * 0.5**2 + 2 * 0.25
    assert value == pytest.approx(-left / 13)
    twins = Lloyd(np.array([[1.0], [1.0], [3.0]]), None, 1)
    twins.begin("lloyd", 4)
    found, value = twins.expect(Turn(np.array([[1.0], [3.0], [70.0], [80.0]]) - twins.shift))
    assert (found.after + twins.shift).ravel() == pytest.approx([1.0, 3.0, 70.0, 80.0])  # nobody is left to move
    assert value == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(("algorithm", "K", "d", "bounded"), [
    ("lloyd", 4, 3, False), ("elkan", 4, 3, True), ("hamerly", 4, 3, True), ("elkan", 1, 3, False),
    ("auto", 4, 3, False), ("auto", 700, 3, None), ("auto", 1, 3000, False), ("auto", 2, 1024, None),
    ("auto", 2, 1023, False),
])  # fmt: skip
def test_bounds_are_kept_where_they_are_worth_it(monkeypatch, algorithm, K, d, bounded):
    told = []
    monkeypatch.setattr(kmeans_room, "Nearest", lambda *rows, **how: told.append(how))
    Lloyd(np.zeros((2, d)), None, 1).begin(algorithm, K)
    assert told == [{"bounded": bounded, "kept": not bounded}]


ALGORITHMS = ("auto", "lloyd", "hamerly", "elkan")


def blobs(n: int, d: int, K: int, seed: int = 0, apart: float = 2.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + apart * rng.normal(size=(K, d))[rng.integers(0, K, n)]


def quiet(model: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 30),
    st.sampled_from(ALGORITHMS),
    st.booleans(),
    st.sampled_from([0.0, 3.0]),
)
def test_the_same_start_has_scikit_learns_end(
    seed: int, d: int, K: int, algorithm: str, weighted: bool, apart: float
) -> None:
    X = blobs(300, d, max(K // 2, 1), seed, apart)
    w = np.random.default_rng(seed).uniform(0.1, 3, size=300) if weighted else None
    start = X[:K].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = po.KMeans(K, init=start, n_init=1, algorithm=algorithm).fit(X, sample_weight=w)
        theirs = Peer(K, init=start, n_init=1).fit(X, sample_weight=w)
    assert ours.n_iter_ == theirs.n_iter_
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    assert ours.score(X, sample_weight=w) == pytest.approx(-ours.inertia_)
    assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
    assert_array_equal(ours.predict(X), ours.labels_)
    assert all(b >= a - 1e-12 * abs(a) for a, b in itertools.pairwise(ours.trace_))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_seeds_are_drawn_as_scikit_learn_draws_them(dtype: type, weighted: bool) -> None:
    X = blobs(500, 3, 5).astype(dtype)
    w = np.random.default_rng(0).uniform(size=500) if weighted else None
    for seed in range(5):
        ours = plus_plus(X, w, 12, np.random.RandomState(seed))
        assert_array_equal(ours, kmeans_plusplus(X, 12, sample_weight=w, random_state=seed)[1])


def test_the_limit_of_a_mixture_that_shrinks() -> None:
    """With one sphere, ever smaller, for all components, responsibilities become labels, and EM becomes k-means."""
    X = blobs(400, 2, 3, seed=4, apart=3.0)
    start = X[:3].copy()
    hard = po.KMeans(3, init=start, n_init=1, tol=0).fit(X)
    gaps = []
    for variance in (1.0, 0.1, 0.01, 1e-3, 1e-4):
        means = start
        for _ in range(hard.n_iter_ + 30):
            told = {"weights_init": np.full(3, 1 / 3), "means_init": means, "precisions_init": np.full(3, 1 / variance)}
            soft = quiet(po.GaussianMixture(3, covariance_type="spherical", max_iter=1, **told), X)
            means = soft.means_
        gaps.append(np.abs(means - hard.cluster_centers_).max())
    assert all(b < a for a, b in itertools.pairwise(gaps[:4]))
    assert gaps[-1] < 1e-3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weight_two_is_the_row_twice(algorithm: str) -> None:
    X = blobs(300, 3, 5)
    times = np.random.default_rng(1).integers(0, 4, size=300)
    model = po.KMeans(6, init=X[:6], n_init=1, algorithm=algorithm)
    a, b = quiet(clone(model), X, sample_weight=times), quiet(clone(model), np.repeat(X, times, axis=0))
    assert_allclose(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == pytest.approx(b.inertia_)
    for scale in (1e-300, 1e290):
        c = quiet(clone(model), X, sample_weight=times * scale)
        assert_allclose(c.cluster_centers_, a.cluster_centers_)
        assert c.inertia_ == pytest.approx(a.inertia_ * scale)


@pytest.mark.parametrize("algorithm", ["lloyd", "hamerly"])
def test_order_changes_nothing_but_rounding_and_threads_nothing(algorithm: str) -> None:
    X = blobs(20_000, 5, 8)
    model = po.KMeans(9, init=X[:9], n_init=1, algorithm=algorithm, max_iter=15)
    first = quiet(clone(model), X)
    for n_jobs in (1, 2, 3):
        again = quiet(clone(model).set_params(n_jobs=n_jobs), X)
        assert_array_equal(again.cluster_centers_, first.cluster_centers_)
        assert again.inertia_ == first.inertia_
    turned = quiet(clone(model), X[::-1].copy())
    assert_allclose(turned.cluster_centers_, first.cluster_centers_, atol=1e-10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_empty_clusters_are_seeded_anew(algorithm: str) -> None:
    X = blobs(200, 2, 3)
    start = np.vstack([X[:3], np.full((3, 2), 1e3) + np.arange(3)[:, None]])
    model = po.KMeans(6, init=start, n_init=1, algorithm=algorithm).fit(X)
    assert len(np.unique(model.labels_)) == 6
    assert (np.abs(model.cluster_centers_) < 50).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_ends_of_the_data(algorithm: str) -> None:
    same = np.full((1_000_000 if algorithm == "auto" else 1000, 2), 3.3)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(1\)"):
        model = po.KMeans(3, random_state=0, algorithm=algorithm).fit(same)
    assert_allclose(model.cluster_centers_, 3.3)
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    points = np.array([[0.0, 1.0], [5.0, -2.0], [9.0, 4.0]])
    model = po.KMeans(3, random_state=0, algorithm=algorithm).fit(np.repeat(points, 7, axis=0))
    assert_allclose(model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])], points)
    every = po.KMeans(3, random_state=0, algorithm=algorithm).fit(points)
    assert every.inertia_ == pytest.approx(0, abs=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        one = po.KMeans(1, algorithm=algorithm).fit(points)
    assert_allclose(one.cluster_centers_[0], points.mean(axis=0))
    with pytest.raises(BadValue, match="n_samples=3 should be >= n_clusters=4"):
        po.KMeans(4, algorithm=algorithm).fit(points)


@pytest.mark.parametrize("far", [1e9, -1e6])
def test_unit_noise_far_away(far: float) -> None:
    X = blobs(500, 3, 4, apart=6.0).round(3)
    near = po.KMeans(4, init=X[:4], n_init=1).fit(X)
    away = po.KMeans(4, init=X[:4] + far, n_init=1).fit(X + far)
    assert_array_equal(away.labels_, near.labels_)
    assert_allclose(away.cluster_centers_ - far, near.cluster_centers_, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
def test_any_scale(scale: float) -> None:
    X = blobs(500, 3, 4, apart=6.0)
    near = po.KMeans(4, init=X[:4], n_init=1).fit(X)
    away = po.KMeans(4, init=X[:4] * scale, n_init=1).fit(X * scale)
    assert_array_equal(away.labels_, near.labels_)
    assert_allclose(away.cluster_centers_ / scale, near.cluster_centers_)
    assert_array_equal(away.predict(X * scale), near.labels_)


@pytest.mark.parametrize(("scale", "says"), [(1e160, "too large"), (1e-160, "too small")])
def test_squares_beyond_the_floats_are_refused(scale: float, says: str) -> None:
    X = blobs(50, 2, 2) * scale
    with pytest.raises(BadValue, match=says):
        po.KMeans(2).fit(X)
    with pytest.raises(BadValue, match=says):
        po.KMeans(2).partial_fit(X)


def test_an_outlier_spoils_no_label() -> None:
    """One row a billion away leaves single precision no digits for the rest: labels are settled in double."""
    X = np.vstack([blobs(400, 3, 4, apart=6.0), np.full((1, 3), 1e9)])
    start = np.vstack([X[:4], X[-1:]])
    ours, theirs = po.KMeans(5, init=start, n_init=1).fit(X), Peer(5, init=start, n_init=1).fit(X)
    labels = ((X[:, None] - ours.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(ours.labels_, labels)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-6)


def test_single_precision_sparse_tables_and_any_memory() -> None:
    X = blobs(300, 4, 4, apart=5.0)
    model = po.KMeans(4, init=X[:4], n_init=1)
    first = clone(model).fit(X)
    small = clone(model).fit(X.astype(np.float32))
    assert small.cluster_centers_.dtype == np.float32
    assert small.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(small.cluster_centers_, first.cluster_centers_, rtol=1e-5)
    wide = np.zeros((300, 8))
    wide[:, ::2] = X
    readonly = X.copy()
    readonly.flags.writeable = False
    for other in (np.asfortranarray(X), wide[:, ::2], readonly, X.tolist(), sp.csr_matrix(X)):
        assert_array_equal(clone(model).fit(other).labels_, first.labels_)
    assert_array_equal(first.predict(sp.csr_array(X)), first.labels_)
    assert_array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.labels_)
    with pytest.raises(MemoryBudgetError, match="made dense"):
        po.KMeans(2).fit(sp.csr_matrix(([1.0, 2.0], ([0, 1], [0, 1])), shape=(10**6, 10**7)))


def test_rubbish_is_refused_by_name_and_changes_nothing() -> None:
    X = blobs(50, 2, 2)
    model = po.KMeans(2, random_state=0).fit(X)
    before = {k: v for k, v in vars(model).items() if k != "_kept"}
    spoilt = X.copy()
    for value, says in ((np.inf, "infinite"), (np.nan, "missing cell")):
        spoilt[7, 1] = value
        with pytest.raises(BadValue, match=f"{says}.*row 7, column 1"):
            model.fit(spoilt)
    with pytest.raises(BadValue, match="weight"):
        model.fit(X, sample_weight=-np.ones(50))
    with pytest.raises(BadParameter, match="n_clusters was 2"):
        clone(model).fit(X).set_params(n_clusters=3).partial_fit(X)
    after = {k: v for k, v in vars(model).items() if k != "_kept"}
    assert all(before[k] is after[k] for k in before)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    X = blobs(500, 2, 20)

    def stop(turn: int, value: float) -> None:
        if turn == 3:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted in turn 3"):
        model = po.KMeans(20, init=X[:20], n_init=1, tol=0, progress=stop).fit(X)
    reached = quiet(po.KMeans(20, init=X[:20], n_init=1, tol=0, max_iter=3), X)
    assert_array_equal(model.cluster_centers_, reached.cluster_centers_)


@pytest.mark.parametrize("weights", [None, 3.0, "some", 1e-5])
def test_batches_after_a_fit_weigh_its_rows(weights: Any) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(7, 2)) + 5
    w = np.ones(40) if weights is None else rng.integers(0, 5, 40) * 1.0 if weights == "some" else np.full(40, weights)
    model = po.KMeans(1).fit(X, sample_weight=None if weights is None else w).partial_fit(new)
    assert_allclose(model.cluster_centers_[0], (w @ X + new.sum(axis=0)) / (w.sum() + len(new)), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 20), st.sampled_from(["random", "k-means++"]))
def test_weights_that_vanish_beside_others_are_no_crash(seed: int, n: int, init: str) -> None:
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, 2)), 10.0 ** rng.uniform(-320, 300, n)
    w[0] = 1e-320
    for K in {1, n // 2, n}:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a row that weighs nothing needs no centre
            model = po.KMeans(max(K, 1), init=init, random_state=0).fit(X, sample_weight=w)
        assert np.isfinite(model.cluster_centers_).all()
        assert_array_equal(model.labels_, ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1))


def test_batches_come_near_and_keep_the_best() -> None:
    X = blobs(5000, 3, 5, apart=6.0)
    whole = po.KMeans(5, random_state=0, n_init=5).fit(X)
    parts = po.KMeans(5, random_state=0, n_init=5, batch_size=200).fit(X)
    assert parts.inertia_ < 1.05 * whole.inertia_
    stream = po.KMeans(5, random_state=0)
    for begin in range(0, 5000, 250):
        stream.partial_fit(X[begin : begin + 250])
    assert -stream.score(X) < 1.6 * whole.inertia_
    assert stream.n_iter_ == 20
    on = clone(whole).fit(X)
    on.partial_fit(X[:100])
    assert np.abs(on.cluster_centers_ - whole.cluster_centers_).max() < 0.5


def test_one_batch_is_one_step_of_lloyd() -> None:
    X = blobs(300, 2, 4)
    one = quiet(po.KMeans(4, init=X[:4], n_init=1, max_iter=1), X)
    part = po.KMeans(4, init=X[:4], n_init=1).partial_fit(X)
    assert_allclose(part.cluster_centers_, one.cluster_centers_)


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "weights and repeated rows lead k-means++ to other seeds",
    "check_sample_weight_equivalence_on_sparse_data": "weights and repeated rows lead k-means++ to other seeds",
}


@pytest.mark.parametrize("algorithm", ["lloyd", "hamerly"])
def test_check_estimator(algorithm: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(po.KMeans(algorithm=algorithm), expected_failed_checks=EXPECTED, on_fail=None)
    failed = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
    assert failed == {}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.permutations(range(4)), st.data())
def test_two_labellings_are_one_but_for_the_names(a, names, data):
    a = np.array(a, dtype=np.int32)
    renamed = np.array(names, dtype=np.int32)[a]
    assert _same(a, renamed, 4)
    at = data.draw(st.integers(0, len(a) - 1))
    other = a.copy()
    other[at] = (other[at] + 1) % 4
    groups = {frozenset(np.flatnonzero(a == k).tolist()) for k in a.tolist()}
    assert _same(a, other, 4) == all(len({other[i] for i in group}) == 1 for group in groups)


@pytest.mark.parametrize("batch_size", [None, 10])
def test_turns_are_told_from_the_first_to_the_most_that_may_be(batch_size):
    X, said = np.random.default_rng(0).normal(size=(60, 2)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"n_init": 1, "max_iter": 3, "tol": 0.0, "batch_size": batch_size, "random_state": 0}
        found = po.KMeans(5, progress=lambda turn, _: said.append(turn), **how).fit(X)
    assert said == [1, 2, 3]
    assert found.n_iter_ == 3


@pytest.mark.parametrize(("tol", "said"), [(0.0, "Converged: strict convergence."), (0.5, "within tolerance")])
def test_who_asks_for_it_is_told_how_it_ended(capsys, tol, said):
    X = np.concatenate([np.random.default_rng(s).normal(8 * s, 1, (30, 2)) for s in range(2)])
    po.KMeans(2, n_init=1, tol=tol, verbose=1, random_state=0).fit(X)
    told = capsys.readouterr().out
    assert told.count("Converged") == 1
    assert said in told
    assert "Iteration 0, inertia" in told
    po.KMeans(2, n_init=1, tol=tol, random_state=0).fit(X)
    assert capsys.readouterr().out == ""


# -- the pieces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_moves_each_centre_to_the_mean_of_all_it_was_ever_given(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(9, 2)), rng.random(9) + 0.1
    shift, centres = np.array([0.3, -0.2]), np.array([[-1.0, 0.0], [1.0, 0.0], [50.0, 50.0], [60.0, 60.0]])
    sizes = np.array([3.0, 0.0, 4.0, 0.0])
    moved, now = batch_step(X, w if weighted else None, shift, 1.0, centres - shift, sizes, 1)
    weight = w if weighted else np.ones(9)
    square = ((X[:, None] - centres[None]) ** 2).sum(axis=2)
    label = square.argmin(axis=1)
    for k in range(2):
        mine = label == k
        total = sizes[k] + weight[mine].sum()
        assert now[k] == pytest.approx(total)
        assert_allclose(moved[k] + shift, (sizes[k] * centres[k] + weight[mine] @ X[mine]) / total)
    assert_allclose(moved[2] + shift, centres[2])  # it had rows once
    assert_allclose(moved[3] + shift, X[square.min(axis=1).argmax()])  # it never had one: to the farthest
    assert now[2:].tolist() == [4.0, 0.0]
    assert sizes.tolist() == [3.0, 0.0, 4.0, 0.0]
    same, _ = batch_step(np.ones((2, 2)), None, np.ones(2), 1.0, np.array([[0.0, 0.0], [7.0, 7.0]]), np.zeros(2), 1)
    assert same.tolist() == [[0.0, 0.0], [7.0, 7.0]]  # no row is away from its centre


@pytest.mark.parametrize(
    ("how", "starts", "says"),
    [
        ({}, 1, None),
        ({"init": "random"}, 10, None),
        ({"init": lambda X, K, random_state: X[:K]}, 10, None),
        ({"init": [[0.0], [1.0]]}, 1, None),
        ({"init": [[0.0], [1.0]], "n_init": 1}, 1, None),
        ({"init": [[0.0], [1.0]], "n_init": 4}, 1, "performing only one init in KMeans instead of n_init=4"),
        ({"init": "random", "n_init": 3}, 3, None),
        ({"n_init": 2}, 2, None),
        ({"n_clusters": 1, "algorithm": "elkan"}, 1, "doesn't make sense for a single cluster"),
        ({"n_clusters": 1, "algorithm": "lloyd"}, 1, None),
    ],
)
def test_how_many_starts_there_are(how: dict[str, Any], starts: int, says: str | None) -> None:
    model = po.KMeans(**{"n_clusters": 2} | how)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert model._starts() == starts
    assert [str(w.message) for w in heard if says and says in str(w.message)] == [str(w.message) for w in heard]
    assert len(heard) == (says is not None)


def test_a_function_that_gives_centres() -> None:
    X, asked = np.array([[0.0], [1.0], [8.0], [9.0]]), []

    def init(X, K, random_state):
        asked.append((len(X), K, random_state.randint(100)))
        return X[[0, 3]]

    model = po.KMeans(2, init=init, n_init=3, random_state=5).fit(X)
    draws = np.random.RandomState(5).randint(100, size=3)
    assert asked == [(4, 2, int(d)) for d in draws]
    assert model.cluster_centers_.ravel().tolist() == [0.5, 8.5]
    with pytest.raises(BadParameter, match="init is called with X, n_clusters and random_state"):
        po.KMeans(2, init=lambda X: X).fit(X)
    with pytest.raises(BadValue, match="number of clusters 2"):
        po.KMeans(2, init=lambda X, K, random_state: X).fit(X)


def test_attributes_with_weights_and_rows_that_weigh_nothing() -> None:
    X, w = np.array([[0.0], [1.0], [8.0], [9.0], [100.0]]), np.array([3.0, 1.0, 1.0, 1.0, 0.0])
    model = po.KMeans(2, init=[[0.0], [9.0]], n_init=1, tol=0).fit(X, sample_weight=w)
    assert model.cluster_centers_.ravel() == pytest.approx([0.25, 8.5])
    assert model.labels_.tolist() == [0, 0, 1, 1, 1]
    inertia = 3 * 0.0625 + 0.5625 + 0.5
    assert model.inertia_ == pytest.approx(inertia)
    assert model.score(X, sample_weight=w) == pytest.approx(-inertia)
    assert model.score(X[:4]) == pytest.approx(-(0.0625 + 0.5625 + 0.5))
    assert model._sizes == pytest.approx([4.0, 2.0])
    assert -model.trace_[-1] * 6 == pytest.approx(inertia)
    assert model.n_iter_ == len(model.trace_) == 2
    plain = po.KMeans(2, init=[[0.0], [9.0]], n_init=1, tol=0).fit(X[:4])
    assert plain._sizes.tolist() == [2.0, 2.0]
    assert plain.inertia_ == pytest.approx(1.0)
    with pytest.raises(BadValue, match="n_samples=4 should be >= n_clusters=5"):
        po.KMeans(5).fit(X, sample_weight=w)
    assert po.KMeans(4, random_state=0).fit(X, sample_weight=w).inertia_ == pytest.approx(0.0)
    assert_allclose(model.transform(X), np.abs(X - model.cluster_centers_.T))


def test_steps_one_after_another_are_counted_and_weighed() -> None:
    X = np.array([[0.0], [10.0]])
    with pytest.raises(BadValue, match="n_samples=1 should be >= n_clusters=2"):
        po.KMeans(2).partial_fit(X[:1])
    model = po.KMeans(2, init=[[0.0], [10.0]]).partial_fit(X)
    assert (model.n_iter_, model._sizes.tolist(), model.inertia_, model.trace_) == (1, [1.0, 1.0], 0.0, ())
    model.partial_fit([[3.0], [10.0], [14.0]], sample_weight=[2.0, 1.0, 1.0])
    assert model.cluster_centers_.ravel() == pytest.approx([2.0, 34 / 3])
    assert (model.n_iter_, model._sizes.tolist(), model.labels_.tolist()) == (2, [3.0, 3.0], [0, 1, 1])
    assert model.inertia_ == pytest.approx(2 * 1 + (4 / 3) ** 2 + (8 / 3) ** 2)
    model.partial_fit([[2.0]])
    assert model.n_iter_ == 3
    with pytest.raises(BadParameter, match="n_clusters was 2 and is 3: fit again"):
        model.set_params(n_clusters=3).partial_fit(X)


def test_passes_of_batches_end_when_none_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Centres that go on moving though nothing is gained: the best is kept, and ten passes more are made."""
    X, values = np.arange(20.0)[:, None], iter([5.0, 4.0, *[6.0] * 50])
    work = Lloyd(X, None, 1)
    at = []

    def step(rows, w, shift, unit, centres, sizes, jobs):
        at.append(len(rows))
        return centres + 1.0, sizes

    monkeypatch.setattr(kmeans_room, "batch_step", step)
    monkeypatch.setattr(Lloyd, "expect", lambda self, turn: (turn, -next(values)))
    model = po.KMeans(2, batch_size=8, max_iter=40)
    found = model._batches(work, np.zeros((2, 1)), np.random.RandomState(0))
    assert found.turns == 2 + kmeans_room.PATIENCE
    assert found.trace[:3] == (-5.0, -4.0, -6.0)
    assert found.converged
    assert found.parameters.after.ravel().tolist() == [6.0, 6.0]  # three steps a pass, after two of them
    assert at[:3] == [8, 8, 4]
    values = iter([5.0, 4.0])
    monkeypatch.setattr(kmeans_room, "batch_step", lambda rows, w, shift, unit, c, sizes, jobs: (c, sizes))
    still = model._batches(work, np.zeros((2, 1)), np.random.RandomState(0))
    assert (still.turns, still.converged) == (1, True)


@pytest.mark.parametrize("name", ["n_clusters", "max_iter", "n_init", "tol", "batch_size"])
def test_truth_is_no_number(name: str) -> None:
    with pytest.raises(BadParameter, match=f"{name} must be a number. Got True"):
        po.KMeans(**{name: True}).fit(np.arange(9.0)[:, None])
