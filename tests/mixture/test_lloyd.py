"""The two steps of k-means against brute force: nearest centres, their means, what is left, empty ones moved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

import posteriori as po
from posteriori.errors import BadValue
from posteriori.mixture import lloyd as lloyd_room
from posteriori.mixture.lloyd import Lloyd, Turn, assign, at_random, plus_plus, stream, told_centres, unit_of


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
    monkeypatch.setattr(lloyd_room, "Nearest", lambda *rows, **how: told.append(how))
    Lloyd(np.zeros((2, d)), None, 1).begin(algorithm, K)
    assert told == [{"bounded": bounded, "kept": not bounded}]
