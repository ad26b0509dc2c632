"""Starts of a mixture: shares that are ones, and told parameters that are refused by name where they are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posteriori.errors import BadValue
from posteriori.mixture.starts import INITS, _in_reach, shares, told_means, told_precisions, told_weights


@given(st.integers(0, 200), st.sampled_from(INITS), st.integers(1, 4))
def test_shares_are_shares(seed, how, K):
    X = np.random.default_rng(seed).normal(size=(20, 2))
    r = shares(X, None, K, how, np.random.RandomState(seed), 1)
    again = shares(X, None, K, how, np.random.RandomState(seed), 1)
    assert np.array_equal(r, again)
    assert r.shape == (20, K)
    if how in ("kmeans", "random"):
        assert r.sum(axis=1) == pytest.approx(1.0)
    else:  # one row speaks for each component
        assert r.sum(axis=0).tolist() == [1.0] * K
        assert set(np.unique(r)) <= {0.0, 1.0}
        assert (r.sum(axis=1) <= 1).all()
    if how == "random":
        assert (r > 0).all()
    else:
        assert set(np.unique(r)) <= {0.0, 1.0}


def test_groups_are_found_by_k_means():
    X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 10, axis=0) + np.random.default_rng(0).normal(size=(20, 2))
    r = shares(X, None, 2, "kmeans", np.random.RandomState(0), 1)
    assert np.ptp(r[:10], axis=0).max() == np.ptp(r[10:], axis=0).max() == 0
    assert r[0].tolist() != r[-1].tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_far_out_are_brought_where_they_have_squares(dtype):
    near = np.array([[1.0], [3.0]], dtype=dtype)
    assert _in_reach(near, 1) is near
    edge = 2.0 ** (398 if dtype is np.float64 else 58)
    inside = np.array([[0.0], [edge]], dtype=dtype)
    assert _in_reach(inside, 1) is inside
    far = np.array([[0.0], [edge * 8]], dtype=dtype)
    found = _in_reach(far, 1)
    assert found is not far
    assert np.ptp(found) == pytest.approx(np.ptp(found.ravel()))
    assert 0.5 <= np.abs(found).max() <= 1.0
    tiny = _in_reach(np.array([[0.0], [1 / edge / 8]], dtype=dtype), 1)
    assert 0.5 <= np.abs(tiny).max() <= 1.0


def test_told_weights():
    assert told_weights([0.25, 0.75], 2).tolist() == [0.25, 0.75]
    assert told_weights([0.0, 1.0], 2).tolist() == [0.0, 1.0]
    assert told_weights([0.5, 0.5 + 5e-7], 2) is not None
    for bad, said in (([0.5], "shape"), ([0.5, 0.4], "normalized"), ([-0.5, 1.5], "range"), ([1.5, 0.0], "range"),
                      ([np.nan, 1.0], "finite"), (["a", "b"], "numbers"), ([0.5, 0.5 + 5e-6], "normalized"),
                      ([-0.1, 1.0], "range")):  # fmt: skip
        with pytest.raises(BadValue, match=f"{said}.*|.*weights_init"):
            told_weights(bad, 2)
    with pytest.raises(BadValue, match=r"shape of \(2, 3\).*means_init"):
        told_means([[1.0, 2.0]], 2, 3)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_told_precisions(kind):
    good = {"full": np.array([np.eye(2), 2 * np.eye(2)]), "tied": 3 * np.eye(2), "diag": np.array([[1.0, 2.0], [3.0, 4.0]]),
            "spherical": np.array([1.0, 5.0])}[kind]  # fmt: skip
    found = told_precisions(good, kind, 2, 2)
    wanted = {
        "full": good,
        "tied": np.array([good, good]),
        "diag": good,
        "spherical": np.array([[1.0, 1.0], [5.0, 5.0]]),
    }[kind]
    assert np.array_equal(found, wanted)
    bad = good.copy()
    bad.flat[0] = 0.0
    with pytest.raises(BadValue, match=f"'{kind} precision' should be .*positive"):
        told_precisions(bad, kind, 2, 2)
    with pytest.raises(BadValue, match="positive"):
        told_precisions(-good, kind, 2, 2)
    if kind in ("full", "tied"):
        lopsided = good.copy()
        lopsided[..., 0, 1] = 0.5
        with pytest.raises(BadValue, match="symmetric"):
            told_precisions(lopsided, kind, 2, 2)
        flat = np.ones_like(good)
        with pytest.raises(BadValue, match="positive-definite"):
            told_precisions(flat, kind, 2, 2)
        units = np.array([1e-100, 1e100])
        scaled = good * units[:, None] * units  # correlations are what counts
        assert np.array_equal(told_precisions(scaled, kind, 2, 2)[0], scaled[0] if kind == "full" else scaled)


@pytest.mark.parametrize("ends", [(-1e200, 1e200), (0.0, 1e200), (-1e200, 0.0), (3e-200, 5e-200)])
def test_rows_beyond_squares_come_into_reach_around_their_middle(ends):
    found = _in_reach(np.array(ends)[:, None], None)
    assert 0.25 <= np.abs(found).max() <= 1
    assert found[0] == pytest.approx(-found[1])
