"""Seeds of k-means: as scikit-learn draws them, far apart by their squares, and centres that were told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import kmeans_plusplus

from posteriori.errors import BadValue
from posteriori.mixture.seeds import at_random, plus_plus, stream, told_centres


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
